/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names for what a thread did or waited for: cause and detail of an interval, as path and causality print them. */
#pragma once

#include "analyze/link/links.h"
#include "dtrace-chain/path.h"

/* Cause of an interval seen from its own thread, without following its waker. */
enum dtc_cause dtc_explain_interval(const DtcHistory *history, const struct dtc_interval *interval);
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
