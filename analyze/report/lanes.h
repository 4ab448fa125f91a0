/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What pictures show around a report's path: a lane for every thread on it (and in the causality), with what the thread
 * did a little before, during and after the span, and the messages between lanes. Built once, read by the views.
 * Times are cluster time. Strings are printable, as the report's.
 *
 * Invariants: the bars of a lane are in order of time and do not overlap; every step and blocking of the report has a
 * lane; lanes of one node stand together, nodes and lanes in the order in which the path first comes to them.
 *
 * Cost: the intervals of the lanes' threads within the window, twice; memory as many bars and messages as the limits
 * allow, whatever the recording.
 */
#pragma once

#include "analyze/edge/links.h"
#include "dtrace-chain/report.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_lane {
	const char *node;
	const char *comm;    /* NULL: no thread; time that belongs to none, or to one of too many */
	const char *process; /* never NULL */
	int32_t pid, tid;    /* -1: not known */
	bool is_kernel;
	bool on_path;
	guint bar_first;
	guint bar_count;
};

/* What a thread did. Idle and dead threads have no bar. */
struct dtc_lane_bar {
	int64_t begin_ns;
	int64_t end_ns;
	const char *detail;   /* or NULL */
	enum dtc_cause cause; /* of several intervals: the one with the largest share */
	guint interval_count; /* more than one: too short to be kept apart */
};

struct dtc_lane_message {
	guint from_lane;
	guint to_lane;
	int64_t sent_ns;
	int64_t received_ns;
	int64_t uncertainty_ns; /* INT64_MAX: the clocks are not aligned */
	enum dtc_link_quality link;
	const char *detail; /* or NULL */
	guint step;	    /* of the report; G_MAXUINT: not on the path */
};

struct dtc_lanes_options {
	guint max_lanes;    /* threads with the least time on the path share a lane per node beyond that */
	guint max_bars;	    /* shorter intervals are merged beyond that */
	guint max_messages; /* off the path; thinned evenly beyond that */
};

typedef struct DtcLanes {
	int64_t begin_ns; /* the window: the span and a tenth of it on both sides */
	int64_t end_ns;
	GArray *lanes;	   /* struct dtc_lane */
	GArray *bars;	   /* struct dtc_lane_bar, by lane */
	GArray *messages;  /* struct dtc_lane_message: the path's in its order, then others by the time of arrival */
	guint *step_lanes; /* owned: lane of each step of the report */
	guint *blocking_lanes; /* owned: lane of each blocking of the report */
	int64_t merged_ns;     /* intervals shorter than this were merged; 0: none was */
	guint messages_left_out;
	GStringChunk *strings;
} DtcLanes;

/*
 * report must be made from path. links may be NULL: then lanes have no bars, and only the path's messages are there.
 * Nothing is kept. Caller owns.
 */
DtcLanes *dtc_lanes_new(const DtcReport *report, const DtcPath *path, const DtcLinks *links,
			const struct dtc_lanes_options *options);
void dtc_lanes_free(DtcLanes *lanes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcLanes, dtc_lanes_free)
