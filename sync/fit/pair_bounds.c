/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/pair_bounds.h"

#include "sync/fit/network.h"

#include <dtrace-chain/bisect.h>

#include <math.h>

/* So many ways are remembered at most: 5 MB... */
#define WAYS_MAX 65536
/* ...and all ways from some nodes, of so many ends in all: another 4 MB. */
#define ENDS_MAX 262144

/* The bounds of b against a at a knot: neighbours in a list of requests ask for the same ones. */
struct way {
	guint knot, a, b;
	bool is_possible;
	double lo, hi;
};

/* Those of all nodes against a at a knot: to find one takes as long as to find all of them. */
struct row {
	guint knot, a;
	bool is_possible;
	double bounds[]; /* lo of each node, then hi */
};

struct DtcPairBounds {
	int64_t *cluster_ns; /* owned */
	guint knot_count;
	struct dtc_node_pair *pairs; /* owned */
	guint pair_count;
	guint node_count;	  /* one more than the highest of the pairs */
	struct dtc_bound *bounds; /* owned; knot * pair_count + pair */
	GMutex lock;
	GHashTable *ways; /* struct way; under the lock, as the next one */
	GHashTable *rows; /* struct row */
};

static guint row_hash(gconstpointer data)
{
	const struct row *row = data;
	return row->knot * 4099 + row->a;
}

static gboolean row_equal(gconstpointer left, gconstpointer right)
{
	const struct row *x = left, *y = right;
	return x->knot == y->knot && x->a == y->a;
}

static guint way_hash(gconstpointer data)
{
	const struct way *way = data;
	return (way->knot * 31 + way->a) * 4099 + way->b;
}

static gboolean way_equal(gconstpointer left, gconstpointer right)
{
	const struct way *x = left, *y = right;
	return x->knot == y->knot && x->a == y->a && x->b == y->b;
}

DtcPairBounds *dtc_pair_bounds_new(const int64_t *cluster_ns, guint knot_count, const struct dtc_node_pair *pairs,
				   guint pair_count)
{
	g_assert(knot_count > 0);
	for (guint k = 1; k < knot_count; k++)
		g_assert(cluster_ns[k - 1] < cluster_ns[k]);
	DtcPairBounds *bounds = g_new0(DtcPairBounds, 1);
	bounds->cluster_ns = g_memdup2(cluster_ns, knot_count * sizeof(*cluster_ns));
	bounds->knot_count = knot_count;
	bounds->pairs = g_memdup2(pairs, pair_count * sizeof(*pairs));
	bounds->pair_count = pair_count;
	for (guint p = 0; p < pair_count; p++)
		bounds->node_count = MAX(bounds->node_count, MAX(pairs[p].a, pairs[p].b) + 1);
	gsize cells = (gsize)knot_count * pair_count;
	bounds->bounds = g_new(struct dtc_bound, cells + 1);
	for (gsize i = 0; i < cells; i++)
		bounds->bounds[i] = (struct dtc_bound){ -DTC_BOUND_UNKNOWN_NS, DTC_BOUND_UNKNOWN_NS };
	g_mutex_init(&bounds->lock);
	bounds->ways = g_hash_table_new_full(way_hash, way_equal, g_free, NULL);
	bounds->rows = g_hash_table_new_full(row_hash, row_equal, g_free, NULL);
	return bounds;
}

void dtc_pair_bounds_free(DtcPairBounds *bounds)
{
	if (!bounds)
		return;
	g_free(bounds->cluster_ns);
	g_free(bounds->pairs);
	g_free(bounds->bounds);
	g_mutex_clear(&bounds->lock);
	g_hash_table_unref(bounds->ways);
	g_hash_table_unref(bounds->rows);
	g_free(bounds);
}

void dtc_pair_bounds_set(DtcPairBounds *bounds, guint knot, guint pair, struct dtc_bound bound)
{
	g_assert(knot < bounds->knot_count && pair < bounds->pair_count && bound.lo_ns <= bound.hi_ns);
	g_assert(g_hash_table_size(bounds->ways) == 0);
	bounds->bounds[(gsize)knot * bounds->pair_count + pair] = (struct dtc_bound){
		CLAMP(bound.lo_ns, -DTC_BOUND_UNKNOWN_NS, DTC_BOUND_UNKNOWN_NS),
		CLAMP(bound.hi_ns, -DTC_BOUND_UNKNOWN_NS, DTC_BOUND_UNKNOWN_NS),
	};
}

guint dtc_pair_bounds_get_knot_count(const DtcPairBounds *bounds)
{
	return bounds->knot_count;
}

int64_t dtc_pair_bounds_get_knot(const DtcPairBounds *bounds, guint knot)
{
	g_assert(knot < bounds->knot_count);
	return bounds->cluster_ns[knot];
}

guint dtc_pair_bounds_get_pair_count(const DtcPairBounds *bounds)
{
	return bounds->pair_count;
}

struct dtc_node_pair dtc_pair_bounds_get_pair(const DtcPairBounds *bounds, guint pair)
{
	g_assert(pair < bounds->pair_count);
	return bounds->pairs[pair];
}

struct dtc_bound dtc_pair_bounds_get(const DtcPairBounds *bounds, guint knot, guint pair)
{
	g_assert(knot < bounds->knot_count && pair < bounds->pair_count);
	return bounds->bounds[(gsize)knot * bounds->pair_count + pair];
}

/* The last knot that is not after cluster_ns; 0 before the first. */
static guint find_knot(const DtcPairBounds *bounds, int64_t cluster_ns)
{
	return DTC_BISECT(i, 1, bounds->knot_count, bounds->cluster_ns[i] <= cluster_ns) - 1;
}

static double get_weight(int64_t ns)
{
	return ABS(ns) >= DTC_BOUND_UNKNOWN_NS ? copysign(INFINITY, (double)ns) : (double)ns;
}

/* Caller owns. */
static struct row *compute_row(const DtcPairBounds *bounds, guint knot, guint a)
{
	g_autofree struct dtc_network_edge *edges = g_new0(struct dtc_network_edge, bounds->pair_count);
	struct row *row = g_malloc0(sizeof(*row) + 2 * (gsize)bounds->node_count * sizeof(double));
	guint unused;
	row->knot = knot;
	row->a = a;
	for (guint p = 0; p < bounds->pair_count; p++) {
		struct dtc_bound bound = dtc_pair_bounds_get(bounds, knot, p);
		edges[p] = (struct dtc_network_edge){ .a = bounds->pairs[p].a,
						      .b = bounds->pairs[p].b,
						      .lo = get_weight(bound.lo_ns),
						      .hi = get_weight(bound.hi_ns) };
	}
	row->is_possible = dtc_network_get_bounds(edges, bounds->pair_count, bounds->node_count, a, row->bounds,
						  row->bounds + bounds->node_count, &unused);
	return row;
}

static void keep_row(DtcPairBounds *bounds, struct row *row)
{
	if (((gsize)g_hash_table_size(bounds->rows) + 1) * bounds->node_count > ENDS_MAX)
		g_hash_table_remove_all(bounds->rows);
	g_hash_table_replace(bounds->rows, row, row);
}

static void keep_way(DtcPairBounds *bounds, const struct way *way)
{
	if (g_hash_table_size(bounds->ways) >= WAYS_MAX)
		g_hash_table_remove_all(bounds->ways);
	g_hash_table_add(bounds->ways, g_memdup2(way, sizeof(*way)));
}

static void take_way(const DtcPairBounds *bounds, const struct row *row, struct way *way)
{
	way->is_possible = row->is_possible;
	way->lo = row->bounds[way->b];
	way->hi = row->bounds[bounds->node_count + way->b];
}

static bool find_way(const DtcPairBounds *bounds, guint knot, guint a, guint b, double *ret_lo, double *ret_hi)
{
	DtcPairBounds *kept = (DtcPairBounds *)bounds;
	struct way way = { .knot = knot, .a = a, .b = b };
	g_mutex_lock(&kept->lock);
	const struct way *known = g_hash_table_lookup(kept->ways, &way);
	const struct row *row = known ? NULL : g_hash_table_lookup(kept->rows, &(struct row){ .knot = knot, .a = a });
	if (known) {
		way = *known;
	} else if (row) {
		take_way(bounds, row, &way);
		keep_way(kept, &way);
	}
	g_mutex_unlock(&kept->lock);
	if (!known && !row) {
		struct row *made = compute_row(bounds, knot, a);
		take_way(bounds, made, &way);
		g_mutex_lock(&kept->lock);
		keep_way(kept, &way);
		keep_row(kept, made);
		g_mutex_unlock(&kept->lock);
	}
	*ret_lo = way.lo;
	*ret_hi = way.hi;
	return way.is_possible;
}

static int64_t to_limited(double ns)
{
	return ns >= (double)DTC_BOUND_UNKNOWN_NS    ? DTC_BOUND_UNKNOWN_NS
	       : ns <= -(double)DTC_BOUND_UNKNOWN_NS ? -DTC_BOUND_UNKNOWN_NS
						     : (int64_t)ns;
}

bool dtc_pair_bounds_get_difference(const DtcPairBounds *bounds, guint a, guint b, int64_t cluster_ns,
				    struct dtc_bound *ret_bound)
{
	*ret_bound = (struct dtc_bound){ -DTC_BOUND_UNKNOWN_NS, DTC_BOUND_UNKNOWN_NS };
	if (a >= bounds->node_count || b >= bounds->node_count)
		return true;
	guint knot = find_knot(bounds, cluster_ns);
	double lo, hi, next_lo, next_hi;
	if (!find_way(bounds, knot, a, b, &lo, &hi))
		return false;
	if (cluster_ns > bounds->cluster_ns[knot] && knot + 1 < bounds->knot_count) {
		double part = (double)(cluster_ns - bounds->cluster_ns[knot]) /
			      (double)(bounds->cluster_ns[knot + 1] - bounds->cluster_ns[knot]);
		if (!find_way(bounds, knot + 1, a, b, &next_lo, &next_hi))
			return false;
		/* what is unknown on one side stays so: infinity times nothing is no number */
		lo = isinf(lo) || isinf(next_lo) ? -INFINITY : lo + part * (next_lo - lo);
		hi = isinf(hi) || isinf(next_hi) ? INFINITY : hi + part * (next_hi - hi);
	}
	*ret_bound = (struct dtc_bound){ to_limited(floor(lo)), to_limited(ceil(hi)) };
	return true;
}
