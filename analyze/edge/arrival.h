/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which packet a thread waited for, and who sent it: the rules of docs/wait-graph.md that lead from a wait, a read or a
 * send back to the arrival that caused it, and from an arrival to the thread that wrote those bytes.
 */
#pragma once

#include "analyze/edge/links.h"

/* An arrival on a node: of the bytes of a flow up to seq, or of a packet. */
struct dtc_arrival {
	guint node;
	int64_t time_ns; /* node time */
	uint32_t packet; /* DTC_NONE: its header was not traced; then flow and seq tell */
	uint32_t flow;	 /* remote -> local */
	uint32_t seq;	 /* last byte that had to arrive; only if packet is DTC_NONE */
	uint32_t file;	 /* the socket, or DTC_NONE */
	bool exact;	 /* by bytes; else by order */
	bool is_local;	 /* no packet: between two sockets of the node; then write tells, flow and seq do not */
	uint32_t write;	 /* only if is_local: the call that wrote the last byte that had to arrive */
};

struct dtc_asked; /* analyze/edge/handoff.h, which is made of arrivals */

/* Packets that kernels sent in answer to each other are followed so far: a handshake has three. */
#define DTC_RELAYS_MAX 64

/* What made a sender send bytes again. */
enum dtc_again {
	DTC_AGAIN_NOT,
	DTC_AGAIN_HANDSHAKE,  /* a SYN or SYN-ACK: nobody answered */
	DTC_AGAIN_TIMEOUT,    /* the retransmission timer */
	DTC_AGAIN_PROBE,      /* the tail-loss probe: the last bytes once more, after about two round trips */
	DTC_AGAIN_REORDERING, /* an ACK told of bytes behind them, and RACK's timer gave them up */
	DTC_AGAIN_FAST,	      /* an ACK told that they were lost */
};

/* Why bytes waited in the sender's socket. */
enum dtc_hold {
	DTC_HOLD_NOT_KNOWN,
	DTC_HOLD_RECEIVER,   /* the receiver's window was closed, and an update opened it: flow control */
	DTC_HOLD_CONGESTION, /* until earlier bytes were acknowledged */
	DTC_HOLD_QUEUE,	     /* until qdisc and device had sent earlier ones (TCP small queues) */
	DTC_HOLD_NAGLE,	     /* until all earlier bytes were: a small segment, without TCP_NODELAY */
	DTC_HOLD_TIMER,	     /* a timer of the sender's kernel let them go: corking, a probe of a closed window */
};

/* Who sent what arrived. */
struct dtc_sender {
	guint node;
	uint32_t thread;    /* that wrote the bytes, or in whose context the packet left; DTC_NONE if not known */
	uint32_t call;	    /* the write or connect, or DTC_NONE */
	uint32_t file;	    /* the sender's socket, or DTC_NONE */
	int64_t written_ns; /* node time: where the thread's own work on the send ended */
	int64_t first_ns;   /* first send of the bytes */
	int64_t sent_ns;    /* the send that arrived; later than first_ns after a loss */
	int64_t left_ns;    /* when the qdisc let it go; sent_ns if it did not wait there */
	guint copies;	    /* 1: sent once */
	enum dtc_again again;
	enum dtc_hold hold; /* if first_ns is after written_ns */
	bool exact;
	bool relayed;		  /* an empty segment sent by the kernel alone: cause is what it answered */
	bool is_delayed;	  /* relayed: an ACK that a timer sent (delayed ACK, probe) */
	bool is_let_go;		  /* held by the receiver, until a thread there read: cause is what told of room */
	struct dtc_arrival cause; /* valid if relayed, or let go */
	uint32_t packet;	  /* the send that arrived */
};

/* A packet that came on a file, or DTC_NONE. False if it is of no flow. */
bool dtc_arrival_of_packet(guint node, const DtcHistory *history, uint32_t packet, uint32_t file, bool exact,
			   struct dtc_arrival *ret_arrival);
/* The arrival that completed the bytes a read took (or its end of file). False if it cannot be told. */
bool dtc_arrival_find_for_read(const DtcLinks *links, guint node, uint32_t call, struct dtc_arrival *ret_arrival);
/* The same of so many of the bytes that it took, up to the end of one message of several; 0: of all. */
bool dtc_arrival_find_for_taken(const DtcLinks *links, guint node, uint32_t call, uint32_t bytes,
				struct dtc_arrival *ret_arrival);
/* The arrival that ended a wait: of the bytes read next in poll, the connection's in connect and accept. */
bool dtc_arrival_find_for_wait(const DtcLinks *links, guint node, const struct dtc_interval *wait,
			       struct dtc_arrival *ret_arrival);
/*
 * A thread woke another one by writing to the other end of a connection that no packet shows: what the wait was for, if
 * it was to read that. So is a connection that it made, to who polls or accepts. False if it was for neither.
 */
bool dtc_arrival_find_local(const DtcLinks *links, guint node, const struct dtc_interval *wait,
			    const struct dtc_wake *wake, struct dtc_arrival *ret_arrival);
/* The read that took the last byte of such a write, or DTC_NONE. */
uint32_t dtc_arrival_find_local_read(const DtcLinks *links, const struct dtc_arrival *arrival);
/*
 * What a thread that sends on file at time (node time) had received to do so: the nearest earlier read with data in the
 * same turn of its loop, on the same file if there is one, else on another, else the handshake of a connecting file.
 * write is the call, if it is known, or DTC_NONE: it tells of which stream of a connection.
 */
bool dtc_arrival_find_for_send(const DtcLinks *links, guint node, uint32_t thread, int64_t time_ns, uint32_t file,
			       uint32_t write, struct dtc_arrival *ret_arrival);
/* The same for who knows what dtc_handoff_find_question says of the send; NULL: it answers no question. */
bool dtc_arrival_find_for_answer(const DtcLinks *links, guint node, uint32_t thread, int64_t time_ns, uint32_t file,
				 uint32_t write, const struct dtc_asked *question, struct dtc_arrival *ret_arrival);
/* The last bytes that came on a connection by a time (node time); flow is the other direction, what is sent on it. */
bool dtc_arrival_find_last(const DtcLinks *links, guint node, uint32_t flow, int64_t time_ns,
			   struct dtc_arrival *ret_arrival);
/* The sender of what arrived. False: no traced node sent it. */
bool dtc_arrival_find_sender(const DtcLinks *links, const struct dtc_arrival *arrival, struct dtc_sender *ret_sender);
