/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All edges of a part of the recordings, on a path or not, and the spans in which threads worked for requests, in the
 * order of their ends on cluster time. The list is made while it is read: its length costs no memory, only the files
 * and threads that may have something to say (a hundred bytes each).
 *
 * Each wake of a history is told once, whether it ended a wait or came to a thread that still ran; so the wakes of a
 * whole bundle are as many as its histories have. Reads of one pipe that overlap may stand a little out of order.
 */
#pragma once

#include "analyze/edge/edges.h"
#include "analyze/edge/local_bytes.h"
#include "analyze/engine/selection.h"
#include "analyze/request/serving.h"

enum dtc_edge_item_kind {
	DTC_ITEM_WAKE,	      /* a wake; edge.kind tells by whom */
	DTC_ITEM_OPEN,	      /* a wait that nothing was seen to end: of the trace's end, or of lost events */
	DTC_ITEM_WORK,	      /* a kernel worker began a work item: from who queued it */
	DTC_ITEM_LOCAL_BYTES, /* a read took what another thread had written on the same node */
	DTC_ITEM_VCPU,	      /* a thread of a host let the CPU of a guest run: to the guest's thread on it */
	DTC_ITEM_SERVED,      /* no edge: a span in which a thread worked for a request */
	DTC_ITEM_KINDS
};

/* A vCPU of a host that entered its guest. */
struct dtc_guest_entry {
	struct dtc_guest_cpu vcpu;
	uint32_t cpu;			   /* of the guest */
	const struct dtc_guest_span *span; /* the stay that began, borrowed from the host's history */
};

struct dtc_edge_item {
	enum dtc_edge_item_kind kind;
	/*
	 * What ended at end_ns, in node time, and who ended it. begin_ns: of the wait, the work's time in the queue,
	 * the read, the vCPU's stay in its host; DTC_TIME_NONE: not known, or there was none. SERVED: node, thread, the
	 * span, and how sure that is.
	 */
	struct dtc_edge edge;
	bool has_wait;
	struct dtc_interval wait;	 /* the wait that it ended */
	struct dtc_local_bytes bytes;	 /* LOCAL_BYTES */
	struct dtc_guest_entry entry;	 /* VCPU */
	const struct dtc_served *served; /* SERVED; borrowed */
};

/* What is listed of a node: what ends in [begin, end], and waits that the end cuts. Empty if end is before begin. */
struct dtc_edge_part {
	DtcNodeTime begin;
	DtcNodeTime end;
	uint8_t *threads; /* by thread, whether what ends there is listed; NULL: all are */
};

typedef struct DtcEdgeList DtcEdgeList;

/* parts: one per node. All are borrowed and must outlive the list; serving may be NULL. Caller owns. */
DtcEdgeList *dtc_edge_list_new(const DtcEdges *edges, const struct dtc_edge_part *parts, const DtcServing *serving);
void dtc_edge_list_free(DtcEdgeList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcEdgeList, dtc_edge_list_free)

/* The next one, borrowed until the next call; NULL at the end. */
const struct dtc_edge_item *dtc_edge_list_next(DtcEdgeList *list);
