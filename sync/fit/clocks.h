/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How clock maps are made: for the fit and for saved alignments. Reading them is in dtrace-chain/sync.h. */
#pragma once

#include "dtrace-chain/sync.h"
#include "sync/fit/pair_bounds.h"

/* What a saved map may say: bounds that widen, but by no more than the time that passes. */
static inline bool dtc_clock_is_spread(double spread)
{
	return spread >= 0 && spread <= 1;
}

/* Maps of node_count nodes, all still identity, each node in a group of its own. */
DtcClocks *dtc_clocks_new(guint node_count, guint reference);
/*
 * Sets a node's map. knots (at least one, copied) must increase strictly in node_ns and cluster_ns, with
 * lo_ns <= cluster_ns <= hi_ns; spread is the widening of each bound beyond the ends, as a rate (2e-6: 2 us per s).
 */
void dtc_clocks_set_node(DtcClocks *clocks, guint node, guint group, const struct dtc_clock_knot *knots, guint count,
			 double spread);
/*
 * Mean rate of a node's clock against cluster time, minus one, over the span of its knots; what the clock steps is no
 * rate. 0 for a single knot.
 */
double dtc_clocks_get_rate(const DtcClocks *clocks, guint node);
double dtc_clocks_get_spread(const DtcClocks *clocks, guint node);
/* What pairs of a group know of each other beyond the maps; takes ownership. At most one for a group. */
void dtc_clocks_take_pair_bounds(DtcClocks *clocks, guint group, DtcPairBounds *bounds);
/* Borrowed; NULL if there are none: two nodes' bounds are then added. */
const DtcPairBounds *dtc_clocks_get_pair_bounds(const DtcClocks *clocks, guint group);
