/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The way back in time through the table of edges, from the end of a span to its begin, as both path and tree take it:
 * each of them sees what a visitor is told. See docs/wait-graph.md for the rules.
 */
#pragma once

#include "analyze/edge/edges.h"
#include "analyze/request/serving.h"
#include "dtrace-chain/path.h"

/* Why a thread did not get on. */
enum dtc_visit_kind {
	DTC_VISIT_WAIT,	 /* it slept: wait, and edge is what ended that */
	DTC_VISIT_ASKED, /* for a message, since it asked for it, whatever it did meanwhile: edge, and wait if it slept
			  * when the message came */
	DTC_VISIT_WORK,	 /* a kernel worker's work was not yet queued: by was at that */
	DTC_VISIT_GIVEN, /* what it was going to answer was not yet given to it: by was at that */
	DTC_VISIT_HOST,	 /* its vCPU was away: host */
};

/* A thread that did not get on from begin to end, as what is told next explains. */
struct dtc_visit {
	enum dtc_visit_kind kind;
	guint node;
	uint32_t thread;
	DtcClusterTime begin;
	DtcClusterTime end;
	enum dtc_cause cause;		 /* seen from this thread */
	const struct dtc_interval *wait; /* of this thread, or NULL */
	const struct dtc_edge *edge;	 /* or NULL */
	const struct dtc_evidence *host; /* or NULL */
	bool came_by_itself;		 /* a message that this thread had not asked for: a server's next question */
	uint32_t by;			 /* thread of the same node, or DTC_NONE */
	int64_t by_ns;			 /* node time: when it did what the thread waited for */
};

/*
 * Between two steps, in no wait that is explained for another thread: where a traversal is, and all that the rest of
 * its way follows from, but for its begin. Two that are at one spot go on alike, down to the later of their begins.
 */
struct dtc_spot;

/* What a traversal tells, from the latest to the earliest. data is the visitor's own. */
struct dtc_visitor {
	/*
	 * A span is explained: contiguous with the one before, never empty. interval is the one that it is a part of,
	 * if it is one of its thread's own, else NULL.
	 */
	void (*explain)(gpointer data, const struct dtc_segment *segment, const struct dtc_interval *interval);
	/* Shorter ones are told with node, thread, times and cause alone. */
	int64_t named_ns;
	/* In explain's place, for who looks at the times alone: nothing else is found out of a span. NULL: explain is
	 * told.
	 */
	void (*check)(gpointer data, DtcClusterTime begin, DtcClusterTime end);
	/* Nobody looks at the uncertainty of segments, which takes a way through the bounds of all clocks: it is 0. */
	bool no_doubts;
	/* What follows, down to visit->begin, is why this thread did not get on. NULL: not told. */
	void (*wait)(gpointer data, const struct dtc_visit *visit);
	/* A thread's wait is explained by what others did, up to when the traversal is back; gives its number. May be
	 * NULL. */
	guint (*enter)(gpointer data, const struct dtc_waiter *waiter);
	/* A message seems to arrive before it was sent. NULL: not told. */
	void (*reverse)(gpointer data, const struct dtc_reversal *reversal);
	/*
	 * It is at that spot, the first one at or before a time that this sets for the next. False: it is to end here.
	 * NULL: not told.
	 */
	bool (*pass)(gpointer data, const struct dtc_spot *spot, int64_t *ret_next_ns);
};

/* A thread, and the span of cluster time in which it is looked at, as it stands at the end. */
struct dtc_traversal {
	guint node;
	uint32_t thread;
	DtcClusterTime begin;
	DtcClusterTime end;
	int64_t end_ns; /* the end in node time, to be met to the nanosecond; DTC_TIME_NONE: as the clocks have it */
	/* the read or write with which the span ends, or DTC_NONE: what the thread had to receive for it is followed */
	uint32_t call;
	const DtcServing *serving;   /* whose a write was; borrowed; NULL: not known of any */
	guint owner;		     /* the request of those, plus 1, that is asked about; 0: not known */
	const struct dtc_spot *from; /* it goes on from there, as if it had come from the end; NULL: from the end */
};

/*
 * Tells the visitor of all time from end down to begin. Every step goes back in time, or enters a wait that was not
 * entered at that time, or leaves one: it ends, in time proportional to what it tells.
 */
void dtc_traverse(const DtcEdges *edges, const struct dtc_traversal *of, const struct dtc_visitor *visitor,
		  gpointer data);
