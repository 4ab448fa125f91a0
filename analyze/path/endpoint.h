/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names for open files under which many can be added up: a server has a thousand connections, each with another port of
 * the client, and they are one line of a table.
 */
#pragma once

#include "dtrace-chain/history.h"

/* A connection whose two ends are on one machine. Only for files with flow_out. */
bool dtc_endpoint_is_local(const DtcHistory *history, uint32_t file);
/*
 * True if this end answers: the other one connected. Without a connect() or SYN in the trace, the end with the lower
 * port. Only for files with flow_out.
 */
bool dtc_endpoint_is_server(const DtcHistory *history, uint32_t file);
/*
 * "to 10.77.0.3:9000", ":8080 from 10.77.0.2", a path, "pipe:[123]", "socket"; NULL if nothing is known of it. Caller
 * owns.
 */
char *dtc_endpoint_name(const DtcHistory *history, uint32_t file);
/* The address without the port. Caller owns. */
char *dtc_endpoint_name_host(const uint8_t address[16]);
