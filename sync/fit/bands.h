/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the pairs of one group know of each other, kept beside the maps. A map's bounds are against the reference; two
 * other nodes may know each other much better than the sum of both widths, from their own messages or by way of third
 * nodes. So each pair's certified interval stays, along cluster time, and what follows for any two nodes is found when
 * it is asked for: as the shortest path, like the bounds of the maps (sync/fit/network.h).
 *
 * The error of a node's map is the true cluster time of a reading minus the one the map gives. A band holds bounds of
 * the error of b minus that of a. Between knots bounds are interpolated.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Nothing is known: far beyond every difference of clocks, and sums of some do not overflow. */
#define DTC_BAND_UNKNOWN_NS ((int64_t)1 << 60)

struct dtc_band_pair {
	guint a; /* node indexes */
	guint b;
};

struct dtc_band {
	int64_t lo_ns;
	int64_t hi_ns;
};

typedef struct DtcBands DtcBands;

/* Copies knots (at least one, strictly increasing) and pairs; no band is known yet. Caller owns. */
DtcBands *dtc_bands_new(const int64_t *cluster_ns, guint knot_count, const struct dtc_band_pair *pairs,
			guint pair_count);
void dtc_bands_free(DtcBands *bands);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcBands, dtc_bands_free)

/* lo_ns <= hi_ns; both are limited to DTC_BAND_UNKNOWN_NS either way. */
void dtc_bands_set(DtcBands *bands, guint knot, guint pair, struct dtc_band band);

guint dtc_bands_get_knot_count(const DtcBands *bands);
int64_t dtc_bands_get_knot(const DtcBands *bands, guint knot);
guint dtc_bands_get_pair_count(const DtcBands *bands);
struct dtc_band_pair dtc_bands_get_pair(const DtcBands *bands, guint pair);
struct dtc_band dtc_bands_get(const DtcBands *bands, guint knot, guint pair);

/*
 * The error of b's map minus that of a's at cluster_ns, by the best way over all pairs; unknown (both ways) where no
 * way is. Before the first and after the last knot it is that of the knot. False if the bands contradict each other,
 * which those of one fit never do.
 */
bool dtc_bands_get_difference(const DtcBands *bands, guint a, guint b, int64_t cluster_ns, struct dtc_band *ret_band);
