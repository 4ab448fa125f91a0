/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Joins the histories of all nodes through their packets: which send carried a received packet, which packet completed
 * the bytes that a call read, which write produced the bytes of a segment. Everything is looked up on demand; the
 * histories stay in node time and the clocks map them.
 */
#pragma once

#include "analyze/edge/datagrams.h"
#include "analyze/edge/turn_marks.h"
#include "analyze/exchange/file_calls.h"
#include "analyze/exchange/flow_nodes.h"
#include "analyze/exchange/frames.h"
#include "analyze/exchange/shingles.h"
#include "analyze/guest/guests.h"
#include "dtrace-chain/history.h"
#include "dtrace-chain/sync.h"

#include <glib.h>

typedef struct DtcLinks DtcLinks;

/*
 * histories[i] is the history of node i, or NULL for a node without a kernel trace; names[i] its name. All borrowed and
 * must outlive the links.
 */
DtcLinks *dtc_links_new(guint node_count, const char *const *names, const DtcHistory *const *histories,
			const DtcClocks *clocks);
void dtc_links_free(DtcLinks *links);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcLinks, dtc_links_free)

guint dtc_links_get_node_count(const DtcLinks *links);
const char *dtc_links_get_node_name(const DtcLinks *links, guint node);
const DtcHistory *dtc_links_get_history(const DtcLinks *links, guint node); /* may be NULL */
const DtcClocks *dtc_links_get_clocks(const DtcLinks *links);
/* Which nodes run on vCPUs of which; NULL: not looked for. Borrowed, must outlive the links. */
void dtc_links_set_guests(DtcLinks *links, const DtcGuests *guests);
const DtcGuests *dtc_links_get_guests(const DtcLinks *links);
/*
 * The frames of HTTP/2 in the captures of the nodes, by node; NULL for a node without. Borrowed, must outlive the
 * links.
 */
void dtc_links_set_frames(DtcLinks *links, const DtcPackets *const *captures, const DtcFrames *const *frames);
/* The shingles of these captures, after them; likewise. */
void dtc_links_set_shingles(DtcLinks *links, const DtcShingles *const *shingles);

/* How a received packet, or a byte of a flow, was sent. */
struct dtc_send {
	guint node;	 /* the sender's */
	uint32_t packet; /* the send event that arrived */
	uint32_t first;	 /* the earliest send of these bytes: differs from packet for a retransmission */
	uint32_t before; /* the last send of these bytes before the one that arrived; = packet if there is none */
	guint copies;	 /* how often these bytes had been sent by then */
	bool is_tail;	 /* nothing behind these bytes had been sent by then */
	bool exact;	 /* bytes or all header fields matched; else by order alone */
};

/*
 * The send that brought a received packet of a node. False if no node sent it (untraced peer, or no headers).
 */
bool dtc_links_find_send(const DtcLinks *links, guint node, uint32_t packet, struct dtc_send *ret_send);

/*
 * The send that brought byte seq of a flow to a node, at the latest by time: for receivers whose kernel events carry no
 * headers. flow is the receiver's (remote -> local).
 */
bool dtc_links_find_send_of_byte(const DtcLinks *links, guint node, uint32_t flow, uint32_t seq, DtcNodeTime arrival,
				 struct dtc_send *ret_send);

/*
 * The received packet on a node with which all bytes of the flow up to and including seq had arrived (a hole filled by
 * a retransmission counts). DTC_NONE if not seen.
 */
uint32_t dtc_links_find_completing_packet(const DtcLinks *links, guint node, uint32_t flow, uint32_t seq);

/*
 * The initial sequence number of a flow (remote -> local) as the node that sends it knows it: for receivers that saw no
 * header. False if no traced node sent the SYN.
 */
bool dtc_links_find_isn(const DtcLinks *links, guint node, uint32_t flow, uint32_t *ret_isn);

/* What is looked through only so far, so that no recording makes an answer take forever. */
enum dtc_limit {
	DTC_LIMIT_TURN,	      /* calls of a thread that never polls, back from a send or on from a poll */
	DTC_LIMIT_HANDOVER,   /* calls, waits and writes, back from an answer that another thread made */
	DTC_LIMIT_SENDS,      /* sends without bytes that look alike */
	DTC_LIMIT_RELAYS,     /* packets that the kernel sent in answer to each other */
	DTC_LIMIT_INTERRUPTS, /* interrupts of a host before the one that a guest got */
	DTC_LIMIT_CIRCLE,     /* causes at one instant that lead back to each other */
	DTC_LIMITS
};
/* A look was ended by its limit: what it looked for may be behind. May be called from several threads. */
void dtc_links_note_limit(const DtcLinks *links, enum dtc_limit limit);
/* How often, since the links were made. */
guint dtc_links_get_limit_count(const DtcLinks *links, enum dtc_limit limit);

/* The nodes that may know a flow, of those with a history. */
const DtcFlowNodes *dtc_links_get_flow_nodes(const DtcLinks *links);
/* The calls of a file by the bytes that they moved; made when first asked for, by several threads, too. Borrowed. */
const DtcFileCalls *dtc_links_get_file_calls(const DtcLinks *links, guint node, uint32_t file);
/* Where the turns of a node's threads begin; made when first asked for. Borrowed. */
DtcTurnMarks *dtc_links_get_turn_marks(const DtcLinks *links, guint node);
/* The datagrams of a node's UDP sockets; made when first asked for. Borrowed. */
DtcDatagrams *dtc_links_get_datagrams(const DtcLinks *links, guint node);
/*
 * The file whose packets leave by a flow (local -> remote) at a time (node time), or DTC_NONE: as the history tells,
 * and of datagrams each of those that a socket sends by.
 */
uint32_t dtc_links_find_file_of_flow(const DtcLinks *links, guint node, uint32_t flow_out, int64_t time_ns);
/*
 * Who read the datagram that a write on a socket of UDP sent: the socket on whatever node, and the read there. False:
 * no node has such a socket; a read of DTC_NONE: nobody is seen to read it.
 */
bool dtc_links_find_datagram_read(const DtcLinks *links, guint node, struct dtc_datagram write, guint *ret_node,
				  uint32_t *ret_file, struct dtc_datagram *ret_read);
/*
 * The read that took what answers such a datagram, where who read it has one question at a time, and answers that one.
 * DTC_NONE: it has several, or that is not seen.
 */
uint32_t dtc_links_find_datagram_answer(const DtcLinks *links, guint node, uint32_t write);
/* The write that sent the datagram that a read took. False: it cannot be told. */
bool dtc_links_find_datagram_write(const DtcLinks *links, guint node, struct dtc_datagram read, guint *ret_node,
				   struct dtc_datagram *ret_write);
/* The sequence number of the first byte that a file's reads count. False if that cannot be told. */
bool dtc_links_find_base_in(const DtcLinks *links, guint node, uint32_t file, uint32_t *ret_base);
/*
 * The write that produced byte seq of the flow (local -> remote) on a node, or DTC_NONE. near_ns (node time) tells
 * which of several, 4 GiB apart.
 */
uint32_t dtc_links_find_write(const DtcLinks *links, guint node, uint32_t flow, uint32_t seq, int64_t near_ns);
/*
 * The read that took byte seq of a flow (remote -> local) on a node, or DTC_NONE. Where the bytes have no known
 * position, the nearest one to near_ns (node time; DTC_TIME_NONE: then none is).
 */
uint32_t dtc_links_find_read_of_byte(const DtcLinks *links, guint node, uint32_t flow, uint32_t seq, int64_t near_ns);
/*
 * The read that took the last byte that a received packet brought. DTC_NONE: it brought none, nobody read it in the
 * trace, or another copy had brought it.
 */
uint32_t dtc_links_find_read(const DtcLinks *links, guint node, uint32_t packet);
/*
 * The frames of HTTP/2 that a read or write moved bytes of, by the capture of any node, and the sequence number of the
 * first byte that it moved. NULL: it is no such connection, or they are not all known. Borrowed.
 */
const struct dtc_http2_frame *dtc_links_find_frames(const DtcLinks *links, guint node, uint32_t call, uint32_t *ret_seq,
						    guint *ret_count);
/*
 * The shingles of what a read or write moved, by the node's own capture. Borrowed; NULL with 0: there are none.
 */
const struct dtc_shingle *dtc_links_find_shingles(const DtcLinks *links, guint node, uint32_t call, guint *ret_count);
/*
 * The node's shingles, or NULL; of which of their flows those of a flow of its kernel trace are, and of which flow of
 * the kernel trace a shingle is; DTC_NONE: of none.
 */
const DtcShingles *dtc_links_get_shingles(const DtcLinks *links, guint node);
uint32_t dtc_links_find_flow_of_shingles(const DtcLinks *links, guint node, uint32_t flow);
uint32_t dtc_links_find_shingle_flow(const DtcLinks *links, guint node, const struct dtc_shingle *shingle);
/* The other end of a connection, on the same node or another one. False if that is not traced, or for datagrams. */
bool dtc_links_find_peer(const DtcLinks *links, guint node, uint32_t file, int64_t node_ns, guint *ret_node,
			 uint32_t *ret_file);
