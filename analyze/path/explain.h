/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words for what a thread did or waited for, as path, causality and tables print them. */
#pragma once

#include "analyze/edge/host.h"
#include "dtrace-chain/path.h"

/* System call, file, lock, device, preemptor, interrupt: one line, or NULL. Caller owns. */
char *dtc_explain_detail(const DtcHistory *history, const struct dtc_interval *interval);
/* Who ended a wait, in words: "lab-holder (tid 140)", "timer", "disk vda". Caller owns. */
char *dtc_explain_waker(const DtcHistory *history, const struct dtc_interval *wait);
/* "10.77.0.3:9000" for a connection, else its name; NULL if not known. Caller owns. */
char *dtc_explain_file(const DtcHistory *history, uint32_t file);
/* "fsync(/lab/data/f.1)", "read(10.77.0.3:9000)", "futex(0x4d7348)". Caller owns. */
char *dtc_explain_call(const DtcHistory *history, uint32_t call);
/* "10.77.0.3:9000", "[fe80::1]:80". Caller owns. */
char *dtc_explain_address(const uint8_t address[16], uint16_t port);
/* "53 bytes", "SYN", "FIN", "ACK" of a packet. Caller owns. */
char *dtc_explain_packet(const struct dtc_packet *packet);
/*
 * A name for an open file under which many can be added up: a server has a thousand connections, each with another port
 * of the client, and they are one line of a table. "to 10.77.0.3:9000", ":8080 from 10.77.0.2", a path, "pipe:[123]",
 * "socket"; NULL if nothing is known of it. Caller owns.
 */
char *dtc_explain_endpoint(const DtcHistory *history, uint32_t file);
/* The address without the port. Caller owns. */
char *dtc_explain_host_address(const uint8_t address[16]);
/* What a host did with a vCPU: by whom it was preempted, why it left the guest, who handled that. Owned, never NULL. */
char *dtc_explain_host(const DtcLinks *links, const struct dtc_host_piece *piece);
