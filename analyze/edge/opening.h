/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What comes before any bytes: a connection. Over TCP its handshake, between two Unix sockets of a node the connect,
 * with which the other end can accept at once.
 */
#pragma once

#include "analyze/edge/arrival.h"

/* The SYN-ACK that completed a connect on a file. */
bool dtc_opening_find_handshake(const DtcHistory *history, guint node, uint32_t file, struct dtc_arrival *ret_arrival);
/* The ACK that completed the handshake of the connection that an accept returned. */
bool dtc_opening_find_accepted(const DtcHistory *history, guint node, const struct dtc_call *accept,
			       struct dtc_arrival *ret_arrival);
/* The same, or the connect on this node that made the connection. */
bool dtc_opening_find_for_accept(const DtcLinks *links, guint node, uint32_t accept, struct dtc_arrival *ret_arrival);
/*
 * A connect to a Unix socket ended the wait of a thread that polled, or was to accept: whoever wakes up for that had
 * waited for nobody else.
 */
bool dtc_opening_find_connected(guint node, const DtcHistory *history, const struct dtc_interval *wait,
				const struct dtc_wake *wake, uint32_t connect, struct dtc_arrival *ret_arrival);
/*
 * A write gives the first bytes on a connection of which nothing was read before: who accepts says who it is, as the
 * connection came (SMTP, FTP, MySQL, postfix' own servers). What began the turn may be another one, which came before.
 */
bool dtc_opening_find_greeted(const DtcLinks *links, guint node, uint32_t file, uint32_t write, int64_t time_ns,
			      struct dtc_arrival *ret_arrival);
