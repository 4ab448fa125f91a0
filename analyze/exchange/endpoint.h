/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which end of a connection a file is, and where the other one lies. */
#pragma once

#include "dtrace-chain/history.h"

/* A connection whose two ends are on one machine. Only for files with flow_out. */
bool dtc_endpoint_is_local(const DtcHistory *history, uint32_t file);
/* A connection between two sockets of this node that no packet shows; both ends are known. */
bool dtc_endpoint_has_local_peer(const DtcHistory *history, uint32_t file);
/* The process connected it, as a call before the first bytes tells. */
bool dtc_endpoint_has_connected(const DtcHistory *history, uint32_t file);
/*
 * True if this end answers: the other one connected. Without a connect() or SYN in the trace, the end with the lower
 * port (services have small ones, ephemeral ports are large: ip_local_port_range). False if no packet told the
 * connection's addresses, and its other end is not known either.
 */
bool dtc_endpoint_is_server(const DtcHistory *history, uint32_t file);
/* The same of a connection without a file, by what one of its ends sends: TCP. */
bool dtc_endpoint_is_answering(const DtcHistory *history, uint32_t flow);
/*
 * Of datagrams, by the flow by which a peer's come: whether the peer asks. A small port, or one that no client is given
 * (ip_local_port_range), is asked; else who sent first asks.
 */
bool dtc_endpoint_is_asked(const DtcHistory *history, uint32_t flow_in);
/* The same for TCP alone: a datagram socket may talk to many, and what it read last is not what it answers. */
bool dtc_endpoint_is_stream_server(const DtcHistory *history, uint32_t file);
/*
 * Which connection this is over there: the flow with the same ends among other packets (of another node, or a capture's
 * among a trace's). Ports are used again: of several generations the one whose initial sequence number, of either
 * direction, is the same; if no number tells, of those that none contradicts the one nearest to a time of those packets
 * and at most a minute off, or the last one without a time (DTC_TIME_NONE). DTC_NONE if there is none. is_same_node:
 * what is there was seen on this node, so that namespaces are the same; a flow that was seen in another one first is it
 * only if its numbers tell. Else those there are all looked at.
 */
uint32_t dtc_endpoint_find_flow(const DtcPackets *here, uint32_t flow, const DtcPackets *there, bool is_same_node,
				int64_t there_ns);
