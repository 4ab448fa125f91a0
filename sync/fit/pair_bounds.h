/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the pairs of one group know of each other, kept beside the maps. A map's bounds are against the reference; two
 * other nodes may know each other much better than the sum of both widths, from their own messages or by way of third
 * nodes. So each pair's certified interval stays, along cluster time, and what follows for any two nodes is found when
 * it is asked for: as the shortest path, like the bounds of the maps (sync/fit/network.h).
 *
 * The error of a node's map is the true cluster time of a reading minus the one the map gives. A pair's bound is
 * that of the error of b minus that of a. Between knots bounds are interpolated.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Nothing is known: far beyond every difference of clocks, and sums of some do not overflow. */
#define DTC_BOUND_UNKNOWN_NS ((int64_t)1 << 60)

struct dtc_node_pair {
	guint a; /* node indexes */
	guint b;
};

struct dtc_bound {
	int64_t lo_ns;
	int64_t hi_ns;
};

typedef struct DtcPairBounds DtcPairBounds;

/* Copies knots (at least one, strictly increasing) and pairs; no bound is known yet. Caller owns. */
DtcPairBounds *dtc_pair_bounds_new(const int64_t *cluster_ns, guint knot_count, const struct dtc_node_pair *pairs,
				   guint pair_count);
void dtc_pair_bounds_free(DtcPairBounds *bounds);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcPairBounds, dtc_pair_bounds_free)

/* lo_ns <= hi_ns; both are limited to DTC_BOUND_UNKNOWN_NS either way. */
void dtc_pair_bounds_set(DtcPairBounds *bounds, guint knot, guint pair, struct dtc_bound bound);

guint dtc_pair_bounds_get_knot_count(const DtcPairBounds *bounds);
int64_t dtc_pair_bounds_get_knot(const DtcPairBounds *bounds, guint knot);
guint dtc_pair_bounds_get_pair_count(const DtcPairBounds *bounds);
struct dtc_node_pair dtc_pair_bounds_get_pair(const DtcPairBounds *bounds, guint pair);
struct dtc_bound dtc_pair_bounds_get(const DtcPairBounds *bounds, guint knot, guint pair);

/*
 * The error of b's map minus that of a's at cluster_ns, by the best way over all pairs; unknown (both ways) where no
 * way is. Before the first and after the last knot it is that of the knot. False if the bounds contradict each other,
 * which those of one fit never do.
 */
bool dtc_pair_bounds_get_difference(const DtcPairBounds *bounds, guint a, guint b, int64_t cluster_ns,
				    struct dtc_bound *ret_bound);
