/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What ended each wait: the one table of edges that path, tree, page and `dtrace-chain edges` read. An edge leads from
 * who ended a wait (node, thread, time) to the thread that went on, with ids of its evidence and no words. Its rules
 * are in README.md beside this file, one kind per file.
 *
 * Edges are found when they are asked for and not kept: a history has all that is needed, and most waits are never
 * asked for. What is put in by hand stands before what the rules find.
 */
#pragma once

#include "analyze/edge/arrival.h"
#include "analyze/edge/host.h"
#include "dtrace-chain/path.h"

enum dtc_edge_kind {
	DTC_EDGE_THREAD,    /* a thread woke it */
	DTC_EDGE_FORK,	    /* its parent made it */
	DTC_EDGE_WORK,	    /* a kernel worker, idle until a thread queued a work item for it */
	DTC_EDGE_DISK,	    /* a disk request completed */
	DTC_EDGE_PACKET,    /* a packet arrived */
	DTC_EDGE_TIMER,	    /* a timer expired */
	DTC_EDGE_INTERRUPT, /* another interrupt or softirq, of a device */
	DTC_EDGE_UNKNOWN,   /* it did not end in the trace, or who ended it cannot be told */
	DTC_EDGE_KINDS
};
/* "thread", "fork", "work", "disk", "packet", "timer", "interrupt", "unknown" */
const char *dtc_edge_kind_to_string(enum dtc_edge_kind kind);

/* The kind of an edge by what woke; no wait that a thread ended is WORK here. */
enum dtc_edge_kind dtc_edge_get_kind(const struct dtc_wake *wake);

struct dtc_edge {
	enum dtc_edge_kind kind;
	enum dtc_link_quality link;
	guint node;	  /* of the thread that waited */
	uint32_t thread;  /* that waited, and went on */
	int64_t begin_ns; /* node time: the wait */
	int64_t end_ns;
	int64_t in_vain_ns;	/* THREAD: so long before begin it had begun to wait for the same (in_vain.h, join.h) */
	guint from_node;	/* where it leads back to */
	uint32_t from_thread;	/* DTC_NONE: to no thread, or to none that is known */
	int64_t from_ns;	/* time of from_node: the wakeup, the send, the making of the request; DTC_TIME_NONE */
	int64_t uncertainty_ns; /* of the two clocks, see dtc_edges_add_uncertainty; 0 on one node */
	uint32_t wake;		/* of the node's history, or DTC_NONE */
	uint32_t block_request; /* DISK: of the node's history; else DTC_NONE */
	const struct dtc_work *work; /* WORK: borrowed from the history; else NULL */
	bool has_arrival;	     /* PACKET: it is known which; THREAD: it wrote to a socket that no packet shows */
	struct dtc_arrival arrival;
	bool has_sender; /* a traced node sent it */
	struct dtc_sender sender;
	bool has_interrupt; /* of a guest: what its host did about the interrupt that ended the wait */
	struct dtc_host_interrupt interrupt;
};

typedef struct DtcEdges DtcEdges;

/* links are borrowed and must outlive the edges. */
DtcEdges *dtc_edges_new(const DtcLinks *links);
void dtc_edges_free(DtcEdges *edges);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcEdges, dtc_edges_free)
const DtcLinks *dtc_edges_get_links(const DtcEdges *edges);

/* What ended a wait (dtc_state_is_wait) of a node's history. */
void dtc_edges_find(const DtcEdges *edges, guint node, const struct dtc_interval *wait, struct dtc_edge *ret_edge);
/* The same for a wait that is known to have been for an arrival, whoever woke its thread. */
void dtc_edges_find_awaited(const DtcEdges *edges, guint node, const struct dtc_interval *wait,
			    const struct dtc_arrival *arrival, struct dtc_edge *ret_edge);
/*
 * Who sent the packet that ended a wait, behind what kernels answered by themselves (handshakes, ACKs): what relayed it
 * is left out, unless it leads back to the thread that waited. That one did not wait for itself, but for the kernel
 * that answered it: then ret_sender->relayed. False if no traced node sent it.
 */
bool dtc_edge_find_origin(const DtcLinks *links, const struct dtc_edge *edge, struct dtc_sender *ret_sender);
/* How uncertain the clocks of a packet's edge are: apart, as walks ask for that of each step by themselves. */
void dtc_edges_add_uncertainty(const DtcEdges *edges, struct dtc_edge *edge);
/* From now on this edge is the one that ended the wait of its thread that ends at its end_ns. Copied. */
void dtc_edges_put(DtcEdges *edges, const struct dtc_edge *edge);
/*
 * The work item that a kernel worker executes at time (node time), if another thread queued it, or the interrupt of a
 * disk request that had completed (queued.waker BLOCK); else NULL. Works that another interrupt queued have nobody to
 * go on with: there the worker's own history tells, and what woke it.
 */
const struct dtc_work *dtc_edges_find_work(const DtcEdges *edges, guint node, uint32_t thread, int64_t time_ns);
