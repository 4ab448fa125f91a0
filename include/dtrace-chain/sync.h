/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Clock alignment: the map from each node's trace clock to cluster time, which is the reference node's clock, with
 * guaranteed bounds. A map is piecewise linear and strictly increasing; before the first and after the last knot it
 * goes on with the slope it had, and its bounds widen. Nodes that no messages join to the reference are in another
 * group: their times are on their own group's reference and mean nothing against the others.
 */
#pragma once

#include "dtrace-chain/time.h"

#include <glib.h>
#include <stdbool.h>

typedef struct DtcClocks DtcClocks;

struct dtc_clock_knot {
	int64_t node_ns;
	int64_t cluster_ns;
	int64_t lo_ns; /* cluster time is certified to lie in [lo_ns, hi_ns] at node_ns */
	int64_t hi_ns;
};

/* Identity maps for n nodes (a single node, or clocks known to be the same), each in its own group but node 0's. */
DtcClocks *dtc_clocks_new_identity(guint node_count);
void dtc_clocks_free(DtcClocks *clocks);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcClocks, dtc_clocks_free)

guint dtc_clocks_get_node_count(const DtcClocks *clocks);
guint dtc_clocks_get_reference(const DtcClocks *clocks); /* node index */
/* Nodes with the same group are aligned with each other; the group of the reference is 0. */
guint dtc_clocks_get_group(const DtcClocks *clocks, guint node);
/* Borrowed; at least one knot. */
const struct dtc_clock_knot *dtc_clocks_get_knots(const DtcClocks *clocks, guint node, guint *ret_count);

DtcClusterTime dtc_clocks_to_cluster(const DtcClocks *clocks, guint node, DtcNodeTime time);
/* The latest node time whose cluster time is not after time (exact inverse up to rounding). */
DtcNodeTime dtc_clocks_to_node(const DtcClocks *clocks, guint node, DtcClusterTime time);
/* The same for times out of records and segments, which say themselves whose clock they are on. */
static inline int64_t dtc_clocks_to_cluster_ns(const DtcClocks *clocks, guint node, int64_t node_ns)
{
	return dtc_clocks_to_cluster(clocks, node, (DtcNodeTime){ node_ns }).ns;
}
static inline int64_t dtc_clocks_to_node_ns(const DtcClocks *clocks, guint node, int64_t cluster_ns)
{
	return dtc_clocks_to_node(clocks, node, (DtcClusterTime){ cluster_ns }).ns;
}
/* Certified bounds of the cluster time of a node time. */
void dtc_clocks_get_bounds(const DtcClocks *clocks, guint node, DtcNodeTime time, DtcClusterTime *ret_lo,
			   DtcClusterTime *ret_hi);
/*
 * Certified bounds of how wrong the maps are against each other near cluster time: an event on b comes by at least
 * *ret_lo_ns and at most *ret_hi_ns later after one on a than their cluster times say. Found by the best way between
 * the two nodes, not by way of the reference only. Both 0 for the same node. False, and nothing set, for nodes of
 * different groups.
 */
bool dtc_clocks_get_difference(const DtcClocks *clocks, guint a, guint b, DtcClusterTime time, int64_t *ret_lo_ns,
			       int64_t *ret_hi_ns);
/*
 * How far the order of an event on a and one on b near cluster time can be wrong, in ns: the larger of the two bounds
 * above; 0 for the same node, INT64_MAX for nodes of different groups.
 */
int64_t dtc_clocks_get_uncertainty_ns(const DtcClocks *clocks, guint a, guint b, DtcClusterTime time);
