/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups of nodes that aligned pairs join, each on the clock of its own reference. A pair's offset is only used where
 * its certified interval stands up to the others: pairs that contradict the rest of the network are set aside.
 */
#pragma once

#include "dtrace-chain/sync.h"
#include "sync/fit/pair.h"
#include "sync/fit/pair_bounds.h"

/* What is reported of an aligned pair; a is the node whose name sorts first. */
struct dtc_pair_summary {
	bool is_known;
	int64_t begin_a_ns, end_a_ns, begin_b_ns, end_b_ns; /* node times */
	int64_t offset_ns;				    /* b minus a in the middle */
	double drift, wander;
	int64_t width_ns[3];
	struct dtc_sync_step *steps_a, *steps_b; /* owned; in node time of a, of b; change is of b minus a */
	guint step_count;
};

struct dtc_node_map {
	guint group;   /* 0: the reference's */
	GArray *knots; /* struct dtc_clock_knot, owned */
	double spread;
};

struct dtc_grouping {
	struct dtc_pair *pairs; /* fitted by themselves; sorted by (a, b) */
	guint pair_count;
	guint node_count;
	const struct dtc_pair_limits *limits;
	guint reference;		    /* G_MAXUINT: to be chosen; set on return */
	struct dtc_pair_summary *summaries; /* one per pair, zeroed; filled */
	const guint *node_of;		    /* what nodes are called in pair_bounds, by the number they have here */
	/* by group, node_count + 1 of them, NULL; filled for groups of three nodes and more; owned */
	DtcPairBounds **pair_bounds;
};

/* Maps of all nodes; caller owns the array and each map's knots. */
struct dtc_node_map *dtc_group_align(struct dtc_grouping *grouping);
void dtc_pair_summary_clear(struct dtc_pair_summary *summary);
