/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shortest ways over pairs of nodes, each pair with a length of its own (a width, a wander), and the node in the middle
 * of all. A way costs n log n; the middle is exact, and costs far less than a way from every node where the network is
 * a tree, a line or a star: a sum of distances bounds its neighbours' sums.
 */
#pragma once

#include <glib.h>

typedef struct DtcWays DtcWays;

/* Which nodes a pair joins. */
struct dtc_way_ends {
	guint a;
	guint b;
};

/* length[i] >= 0 is that of pair i, whose ends are nodes below node_count. Nothing is borrowed. */
DtcWays *dtc_ways_new(const struct dtc_way_ends *pairs, const double *length, guint pair_count, guint node_count);
void dtc_ways_free(DtcWays *ways);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcWays, dtc_ways_free)

/*
 * The length of the shortest way from one node to each (INFINITY: none). ret_before: the last pair of that way, not set
 * for from and where there is none. ret_order: nodes by distance, then number; the last ones have no way. Both may be
 * NULL.
 */
void dtc_ways_find(DtcWays *ways, guint from, double *ret_distance, guint *ret_before, guint *ret_order);

/*
 * The node with the smallest sum of distances to all, the first of several. Sums are compared for all nodes as long as
 * that takes fewer than about 10^8 steps (4,000 nodes with 10,000 pairs); in larger networks for those that promise
 * most.
 */
guint dtc_ways_find_middle(DtcWays *ways);
