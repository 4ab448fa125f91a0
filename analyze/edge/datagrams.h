/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The datagrams of a node's UDP sockets. They have no place in a stream, but a socket's receive queue gives them out in
 * the order in which they came, from whichever peer: so that order, what shows that the queue was empty, and their
 * lengths tell which one a read took. A socket that talks to several peers has a flow with each, and is found by all of
 * them; of several sockets on one port each has what can be told to be its own.
 *
 * An index of the node's UDP flows and sockets is made with the first that is asked for, a socket's queue when it is
 * asked for: linear in its packets and calls, but for a search each. May be asked from several threads.
 */
#pragma once

#include "dtrace-chain/history.h"

typedef struct DtcDatagrams DtcDatagrams;

/* history is borrowed, sealed, and must outlive this. Caller owns. */
DtcDatagrams *dtc_datagrams_new(const DtcHistory *history);
void dtc_datagrams_free(DtcDatagrams *datagrams);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcDatagrams, dtc_datagrams_free)

/* Whether a file is a socket of UDP, as far as packets tell; cheap. */
bool dtc_datagrams_is_socket(const DtcHistory *history, uint32_t file);
/* The socket that had what a flow (remote -> local) brought at a time (node time), or DTC_NONE. */
uint32_t dtc_datagrams_find_file(DtcDatagrams *datagrams, uint32_t flow_in, int64_t time_ns);
/* Whether a socket talks to more than one peer. */
bool dtc_datagrams_has_peers(DtcDatagrams *datagrams, uint32_t file);
/*
 * A datagram that a call moved. One call may move several (recvmmsg, sendmmsg): these are numbered from 1 on, in their
 * order. The number is 0 where the call moved one alone; asked for, the first one.
 */
struct dtc_datagram {
	uint32_t call; /* DTC_NONE: none, or it cannot be told */
	uint32_t number;
};

/* How many datagrams a read or write that succeeded moved. */
uint32_t dtc_datagrams_count(const struct dtc_call *call);
/* The packet that brought what a read took; DTC_NONE: it cannot be told. */
uint32_t dtc_datagrams_find_taken(DtcDatagrams *datagrams, struct dtc_datagram read);
/* The read that took what a received packet of a socket brought. */
struct dtc_datagram dtc_datagrams_find_read(DtcDatagrams *datagrams, uint32_t file, uint32_t packet);
/* The packet that a write sent, where it left first; DTC_NONE: it is not seen. */
uint32_t dtc_datagrams_find_sent(const DtcHistory *history, struct dtc_datagram write);
/* Which of those that a write sent a packet is. */
struct dtc_datagram dtc_datagrams_find_write(const DtcHistory *history, uint32_t packet);
/* The flow (remote -> local) with the peer that a read or write of a socket moved a datagram of, or DTC_NONE. */
uint32_t dtc_datagrams_find_peer(DtcDatagrams *datagrams, struct dtc_datagram datagram);
/*
 * The first write to a peer that began, or read from it that ended, after a time; DTC_NONE: there is none that can be
 * told. flow_in is the peer's.
 */
uint32_t dtc_datagrams_find_next(DtcDatagrams *datagrams, uint32_t file, uint32_t flow_in, bool written,
				 int64_t time_ns);
/*
 * When a socket asked a peer for a datagram that came at a time: the last write to it that began before. DTC_NONE: it
 * did not, or it is the peer that asks. flow_in is the peer's.
 */
uint32_t dtc_datagrams_find_asking(const DtcDatagrams *datagrams, uint32_t file, uint32_t flow_in, int64_t time_ns);
