/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which end of a connection a file is, and where the other one lies. */
#pragma once

#include "dtrace-chain/history.h"

/* A connection whose two ends are on one machine. Only for files with flow_out. */
bool dtc_endpoint_is_local(const DtcHistory *history, uint32_t file);
/*
 * True if this end answers: the other one connected. Without a connect() or SYN in the trace, the end with the lower
 * port (services have small ones, ephemeral ports are large: ip_local_port_range). False if no packet told the
 * connection's addresses.
 */
bool dtc_endpoint_is_server(const DtcHistory *history, uint32_t file);
/* The same for TCP alone: a datagram socket may talk to many, and what it read last is not what it answers. */
bool dtc_endpoint_is_stream_server(const DtcHistory *history, uint32_t file);
