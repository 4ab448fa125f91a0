/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds the critical path and the nested causality. See docs/wait-graph.md for the rules and their reasons.
 */
#pragma once

#include "analyze/edge/edges.h"
#include "analyze/path/traverse.h"
#include "analyze/request/serving.h"
#include "dtrace-chain/path.h"

struct dtc_path_target {
	guint node;
	uint32_t thread;
	DtcClusterTime begin;
	DtcClusterTime end;
	/*
	 * The read or write with which the span ends, DTC_NONE if it is a mere span of time: what the thread had to
	 * receive for it is followed, whatever else it was busy with.
	 */
	uint32_t call;
	const DtcServing *serving; /* for which request a thread wrote what; borrowed; NULL: not known */
	guint owner;		   /* the request of those, plus 1, that is asked about; 0: none of them */
};

struct dtc_path_options {
	guint max_depth;	 /* of the nested causality; 0: no limit */
	int64_t min_blocking_ns; /* shorter blockings are left out of the causality (not of the path) */
	int64_t told_ns;	 /* shorter ones, and those beneath them, are counted (dtc_path_get_untold_count) */
	bool path_only;		 /* no causality at all: for many paths at once */
	bool no_doubts; /* nor how far clocks may be off: segments have an uncertainty of 0, and no reversal is told */
};

/* Caller owns; NULL with an error if the thread did not exist in the span. */
DtcPath *dtc_path_walk(const DtcEdges *edges, const struct dtc_path_target *target,
		       const struct dtc_path_options *options, GError **error);

/* Inside the stage. False, with an error, unless it is a span of a traced thread. */
bool dtc_path_can_walk(const DtcLinks *links, const struct dtc_path_target *target, GError **error);
/* And the way of it. */
struct dtc_traversal dtc_path_get_traversal(const struct dtc_path_target *target);
