/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/bands.h"

#include "sync/fit/network.h"

#include <math.h>

struct DtcBands {
	int64_t *cluster_ns; /* owned */
	guint knot_count;
	struct dtc_band_pair *pairs; /* owned */
	guint pair_count;
	guint node_count;	/* one more than the highest of the pairs */
	struct dtc_band *bands; /* owned; knot * pair_count + pair */
};

DtcBands *dtc_bands_new(const int64_t *cluster_ns, guint knot_count, const struct dtc_band_pair *pairs,
			guint pair_count)
{
	g_assert(knot_count > 0);
	for (guint k = 1; k < knot_count; k++)
		g_assert(cluster_ns[k - 1] < cluster_ns[k]);
	DtcBands *bands = g_new0(DtcBands, 1);
	bands->cluster_ns = g_memdup2(cluster_ns, knot_count * sizeof(*cluster_ns));
	bands->knot_count = knot_count;
	bands->pairs = g_memdup2(pairs, pair_count * sizeof(*pairs));
	bands->pair_count = pair_count;
	for (guint p = 0; p < pair_count; p++)
		bands->node_count = MAX(bands->node_count, MAX(pairs[p].a, pairs[p].b) + 1);
	gsize cells = (gsize)knot_count * pair_count;
	bands->bands = g_new(struct dtc_band, cells + 1);
	for (gsize i = 0; i < cells; i++)
		bands->bands[i] = (struct dtc_band){ -DTC_BAND_UNKNOWN_NS, DTC_BAND_UNKNOWN_NS };
	return bands;
}

void dtc_bands_free(DtcBands *bands)
{
	if (!bands)
		return;
	g_free(bands->cluster_ns);
	g_free(bands->pairs);
	g_free(bands->bands);
	g_free(bands);
}

void dtc_bands_set(DtcBands *bands, guint knot, guint pair, struct dtc_band band)
{
	g_assert(knot < bands->knot_count && pair < bands->pair_count && band.lo_ns <= band.hi_ns);
	bands->bands[(gsize)knot * bands->pair_count + pair] = (struct dtc_band){
		CLAMP(band.lo_ns, -DTC_BAND_UNKNOWN_NS, DTC_BAND_UNKNOWN_NS),
		CLAMP(band.hi_ns, -DTC_BAND_UNKNOWN_NS, DTC_BAND_UNKNOWN_NS),
	};
}

guint dtc_bands_get_knot_count(const DtcBands *bands)
{
	return bands->knot_count;
}

int64_t dtc_bands_get_knot(const DtcBands *bands, guint knot)
{
	g_assert(knot < bands->knot_count);
	return bands->cluster_ns[knot];
}

guint dtc_bands_get_pair_count(const DtcBands *bands)
{
	return bands->pair_count;
}

struct dtc_band_pair dtc_bands_get_pair(const DtcBands *bands, guint pair)
{
	g_assert(pair < bands->pair_count);
	return bands->pairs[pair];
}

struct dtc_band dtc_bands_get(const DtcBands *bands, guint knot, guint pair)
{
	g_assert(knot < bands->knot_count && pair < bands->pair_count);
	return bands->bands[(gsize)knot * bands->pair_count + pair];
}

/* The last knot that is not after cluster_ns; 0 before the first. */
static guint find_knot(const DtcBands *bands, int64_t cluster_ns)
{
	guint low = 0, high = bands->knot_count - 1;
	while (low < high) {
		guint middle = low + (high - low + 1) / 2;
		if (bands->cluster_ns[middle] <= cluster_ns)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static double get_weight(int64_t ns)
{
	return ABS(ns) >= DTC_BAND_UNKNOWN_NS ? copysign(INFINITY, (double)ns) : (double)ns;
}

static bool find_way(const DtcBands *bands, guint knot, guint a, guint b, double *ret_lo, double *ret_hi)
{
	g_autofree struct dtc_edge *edges = g_new0(struct dtc_edge, bands->pair_count);
	g_autofree double *work = g_new(double, 2 * (gsize)bands->node_count);
	double *lo = work, *hi = work + bands->node_count;
	guint unused;
	for (guint p = 0; p < bands->pair_count; p++) {
		struct dtc_band band = dtc_bands_get(bands, knot, p);
		edges[p] = (struct dtc_edge){ .a = bands->pairs[p].a,
					      .b = bands->pairs[p].b,
					      .lo = get_weight(band.lo_ns),
					      .hi = get_weight(band.hi_ns) };
	}
	if (!dtc_network_get_bounds(edges, bands->pair_count, bands->node_count, a, lo, hi, &unused))
		return false;
	*ret_lo = lo[b];
	*ret_hi = hi[b];
	return true;
}

static int64_t to_limited(double ns)
{
	return ns >= (double)DTC_BAND_UNKNOWN_NS    ? DTC_BAND_UNKNOWN_NS
	       : ns <= -(double)DTC_BAND_UNKNOWN_NS ? -DTC_BAND_UNKNOWN_NS
						    : (int64_t)ns;
}

bool dtc_bands_get_difference(const DtcBands *bands, guint a, guint b, int64_t cluster_ns, struct dtc_band *ret_band)
{
	*ret_band = (struct dtc_band){ -DTC_BAND_UNKNOWN_NS, DTC_BAND_UNKNOWN_NS };
	if (a >= bands->node_count || b >= bands->node_count)
		return true;
	guint knot = find_knot(bands, cluster_ns);
	double lo, hi, next_lo, next_hi;
	if (!find_way(bands, knot, a, b, &lo, &hi))
		return false;
	if (cluster_ns > bands->cluster_ns[knot] && knot + 1 < bands->knot_count) {
		double part = (double)(cluster_ns - bands->cluster_ns[knot]) /
			      (double)(bands->cluster_ns[knot + 1] - bands->cluster_ns[knot]);
		if (!find_way(bands, knot + 1, a, b, &next_lo, &next_hi))
			return false;
		/* what is unknown on one side stays so: infinity times nothing is no number */
		lo = isinf(lo) || isinf(next_lo) ? -INFINITY : lo + part * (next_lo - lo);
		hi = isinf(hi) || isinf(next_hi) ? INFINITY : hi + part * (next_hi - hi);
	}
	*ret_band = (struct dtc_band){ to_limited(floor(lo)), to_limited(ceil(hi)) };
	return true;
}
