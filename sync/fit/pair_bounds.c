/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/pair_bounds.h"

#include "sync/fit/network.h"

#include <dtrace-chain/bisect.h>

#include <math.h>

/* Places for ways that are remembered, each for one: 1 MB, as far as it is used. A power of two. */
#define WAYS 32768
/* Of the places, so that threads hardly ever wait for each other. A power of two. */
#define LOCKS 64

/* The bounds of b against a at a knot: neighbours in a list of requests ask for the same ones. a == b: none. */
struct way {
	guint knot, a, b;
	bool is_possible;
	double lo, hi;
};

/* Of each node at a knot where some pairs are mixed: less the difference, no step is shorter than nothing. */
struct heights {
	bool is_known;
	double *of; /* owned; NULL: bounds contradict each other somewhere */
};

struct DtcPairBounds {
	int64_t *cluster_ns; /* owned */
	guint knot_count;
	struct dtc_node_pair *pairs; /* owned */
	guint pair_count;
	guint node_count;	  /* one more than the highest of the pairs */
	struct dtc_bound *bounds; /* owned; knot * pair_count + pair */
	guint *first;		  /* node -> its first place in incident */
	guint *incident;	  /* the pairs of each node */
	guint *mixed; /* of each knot, the pairs whose bound has no 0 in it: of a fit few, and of most none; without
			 them no way gets shorter by going on */
	struct heights *heights; /* owned; of each knot */
	GMutex heights_lock;
	struct way *ways; /* owned; WAYS, each under one of the locks */
	GMutex locks[LOCKS];
};

static void link_nodes(DtcPairBounds *bounds)
{
	bounds->first = g_new0(guint, (gsize)bounds->node_count + 2);
	bounds->incident = g_new(guint, 2 * (gsize)bounds->pair_count + 1);
	/* counted one place up, so that filling moves each first to where it belongs */
	for (guint p = 0; p < bounds->pair_count; p++) {
		bounds->first[bounds->pairs[p].a + 2]++;
		bounds->first[bounds->pairs[p].b + 2]++;
	}
	for (guint i = 2; i < bounds->node_count + 2; i++)
		bounds->first[i] += bounds->first[i - 1];
	for (guint p = 0; p < bounds->pair_count; p++) {
		bounds->incident[bounds->first[bounds->pairs[p].a + 1]++] = p;
		bounds->incident[bounds->first[bounds->pairs[p].b + 1]++] = p;
	}
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
	for (guint i = 0; i < LOCKS; i++)
		g_mutex_init(&bounds->locks[i]);
	bounds->ways = g_new0(struct way, WAYS);
	bounds->mixed = g_new0(guint, knot_count);
	bounds->heights = g_new0(struct heights, knot_count);
	g_mutex_init(&bounds->heights_lock);
	link_nodes(bounds);
	return bounds;
}

void dtc_pair_bounds_free(DtcPairBounds *bounds)
{
	if (!bounds)
		return;
	g_free(bounds->cluster_ns);
	g_free(bounds->pairs);
	g_free(bounds->bounds);
	g_free(bounds->first);
	g_free(bounds->incident);
	g_free(bounds->mixed);
	for (guint k = 0; k < bounds->knot_count; k++)
		g_free(bounds->heights[k].of);
	g_free(bounds->heights);
	g_mutex_clear(&bounds->heights_lock);
	g_free(bounds->ways);
	for (guint i = 0; i < LOCKS; i++)
		g_mutex_clear(&bounds->locks[i]);
	g_free(bounds);
}

static bool is_mixed(const struct dtc_bound *bound)
{
	return bound->lo_ns > 0 || bound->hi_ns < 0;
}

void dtc_pair_bounds_set(DtcPairBounds *bounds, guint knot, guint pair, struct dtc_bound bound)
{
	g_assert(knot < bounds->knot_count && pair < bounds->pair_count && bound.lo_ns <= bound.hi_ns);
	struct dtc_bound *known = &bounds->bounds[(gsize)knot * bounds->pair_count + pair];
	bounds->mixed[knot] -= is_mixed(known);
	*known = (struct dtc_bound){
		CLAMP(bound.lo_ns, -DTC_BOUND_UNKNOWN_NS, DTC_BOUND_UNKNOWN_NS),
		CLAMP(bound.hi_ns, -DTC_BOUND_UNKNOWN_NS, DTC_BOUND_UNKNOWN_NS),
	};
	bounds->mixed[knot] += is_mixed(known);
	g_clear_pointer(&bounds->heights[knot].of, g_free);
	bounds->heights[knot].is_known = false;
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

/* --- the shortest way ----------------------------------------------------------------------------------------------
 */

struct end {
	double distance;
	guint node;
};

/* The nearest is first; each is no nearer than the one at half its place. */
static void push(GArray *heap, struct end end)
{
	guint at = heap->len;

	g_array_append_val(heap, end);
	for (; at > 0 && g_array_index(heap, struct end, (at - 1) / 2).distance > end.distance; at = (at - 1) / 2)
		g_array_index(heap, struct end, at) = g_array_index(heap, struct end, (at - 1) / 2);
	g_array_index(heap, struct end, at) = end;
}

static struct end pop(GArray *heap)
{
	const struct end first = g_array_index(heap, struct end, 0);
	const struct end last = g_array_index(heap, struct end, heap->len - 1);
	guint at = 0;

	g_array_set_size(heap, heap->len - 1);
	for (guint next; (next = 2 * at + 1) < heap->len; at = next) {
		if (next + 1 < heap->len &&
		    g_array_index(heap, struct end, next + 1).distance < g_array_index(heap, struct end, next).distance)
			next++;
		if (g_array_index(heap, struct end, next).distance >= last.distance)
			break;
		g_array_index(heap, struct end, at) = g_array_index(heap, struct end, next);
	}
	if (heap->len > 0)
		g_array_index(heap, struct end, at) = last;
	return first;
}

/* What does not change from step to step. */
struct walk {
	const DtcPairBounds *bounds;
	guint knot;
	const double *heights; /* NULL: all are the same */
	int direction;	       /* as in sync/fit/network.c */
};

/* How long a pair is on the way from one of its nodes; direction as in sync/fit/network.c. */
static double get_length(const DtcPairBounds *bounds, guint knot, guint pair, guint from, int direction)
{
	struct dtc_bound bound = bounds->bounds[(gsize)knot * bounds->pair_count + pair];

	return (bounds->pairs[pair].a == from) == (direction > 0) ? get_weight(bound.hi_ns) : -get_weight(bound.lo_ns);
}

static guint get_other(const DtcPairBounds *bounds, guint pair, guint node)
{
	return bounds->pairs[pair].a == node ? bounds->pairs[pair].b : bounds->pairs[pair].a;
}

static double get_climb(const double *heights, guint from, guint to, int direction)
{
	return !heights ? 0 : direction > 0 ? heights[to] - heights[from] : heights[from] - heights[to];
}

/* Its length less what it climbs: never less than nothing, and of all ways between two nodes as much too little. */
static double get_step(const struct walk *walk, guint pair, guint from)
{
	return get_length(walk->bounds, walk->knot, pair, from, walk->direction) -
	       get_climb(walk->heights, from, get_other(walk->bounds, pair, from), walk->direction);
}

/* The least of the steps from a node, or of those to it. */
static double find_least_step(const struct walk *walk, guint node, bool is_from)
{
	const DtcPairBounds *bounds = walk->bounds;
	double least = INFINITY;

	for (guint k = bounds->first[node]; k < bounds->first[node + 1]; k++) {
		guint pair = bounds->incident[k];
		least = MIN(least, get_step(walk, pair, is_from ? node : get_other(bounds, pair, node)));
	}
	return least;
}

/* What the two know of each other. */
static double find_direct(const struct walk *walk, guint a, guint b)
{
	const DtcPairBounds *bounds = walk->bounds;
	double least = INFINITY;

	for (guint k = bounds->first[a]; k < bounds->first[a + 1]; k++)
		if (get_other(bounds, bounds->incident[k], a) == b)
			least = MIN(least, get_step(walk, bounds->incident[k], a));
	return least;
}

/* What a thread needs for a walk, kept from one to the next: most look at some of 10,000 nodes. */
struct desk {
	guint node_count;
	double *distances; /* owned; INFINITY between walks */
	GArray *reached;   /* guint: nodes whose distance is another */
	GArray *heap;	   /* struct end */
};

static void desk_free(void *data)
{
	struct desk *desk = data;

	g_free(desk->distances);
	g_array_unref(desk->reached);
	g_array_unref(desk->heap);
	g_free(desk);
}

static GPrivate desk_of_thread = G_PRIVATE_INIT(desk_free);

static struct desk *get_desk(guint node_count)
{
	struct desk *desk = g_private_get(&desk_of_thread);

	if (!desk) {
		desk = g_new0(struct desk, 1);
		desk->reached = g_array_new(FALSE, FALSE, sizeof(guint));
		desk->heap = g_array_new(FALSE, FALSE, sizeof(struct end));
		g_private_set(&desk_of_thread, desk);
	}
	if (desk->node_count < node_count) {
		desk->distances = g_renew(double, desk->distances, node_count);
		for (guint i = desk->node_count; i < node_count; i++)
			desk->distances[i] = INFINITY;
		desk->node_count = node_count;
	}
	return desk;
}

static void reach(struct desk *desk, guint node, double distance)
{
	if (isinf(desk->distances[node]))
		g_array_append_val(desk->reached, node);
	desk->distances[node] = distance;
}

static void clear_desk(struct desk *desk)
{
	for (guint i = 0; i < desk->reached->len; i++)
		desk->distances[g_array_index(desk->reached, guint, i)] = INFINITY;
	g_array_set_size(desk->reached, 0);
	g_array_set_size(desk->heap, 0);
}

/*
 * Dijkstra, which ends where what is left of any other way would be too long. Ways are asked for between nodes that
 * exchange packets, in most cases: of 1,000 nodes some are looked at, and where all know all, hardly any.
 */
static double find_distance(const struct walk *walk, guint a, guint b)
{
	const DtcPairBounds *bounds = walk->bounds;
	double direct = find_direct(walk, a, b), last_step = find_least_step(walk, b, false);

	/* what the two know of each other is short, and often no way over others can be shorter */
	if (find_least_step(walk, a, true) + last_step >= direct)
		return direct + get_climb(walk->heights, a, b, walk->direction);
	struct desk *desk = get_desk(bounds->node_count);
	const double *distances = desk->distances;
	reach(desk, b, direct);
	reach(desk, a, 0);
	push(desk->heap, (struct end){ 0, a });
	while (desk->heap->len > 0) {
		const struct end end = pop(desk->heap);
		if (end.distance + last_step >= distances[b])
			break;
		if (end.distance > distances[end.node])
			continue; /* a longer way, of which a shorter one was found meanwhile */
		for (guint k = bounds->first[end.node]; k < bounds->first[end.node + 1]; k++) {
			guint pair = bounds->incident[k], other = get_other(bounds, pair, end.node);
			double distance = end.distance + get_step(walk, pair, end.node);
			if (distance >= distances[other] || (other != b && distance + last_step >= distances[b]))
				continue;
			reach(desk, other, distance);
			push(desk->heap, (struct end){ distance, other });
		}
	}
	double least = distances[b];
	clear_desk(desk);
	return least + get_climb(walk->heights, a, b, walk->direction);
}

/* --- heights, where a pair makes a way shorter ---------------------------------------------------------------------
 */

/*
 * What Johnson's algorithm calls potentials (JACM 24(1), 1977): the shortest ways to each node from anywhere, by
 * Bellman and Ford's, once for a knot. False: there is none, since going around makes a way shorter.
 */
static bool find_heights(const DtcPairBounds *bounds, guint knot, double *heights)
{
	bool is_changed = true;

	for (guint i = 0; i < bounds->node_count; i++)
		heights[i] = 0;
	for (guint round = 0; is_changed && round <= bounds->node_count; round++) {
		is_changed = false;
		for (guint p = 0; p < bounds->pair_count; p++) {
			guint a = bounds->pairs[p].a, b = bounds->pairs[p].b;
			double to_b = heights[a] + get_length(bounds, knot, p, a, 1);
			double to_a = heights[b] + get_length(bounds, knot, p, b, 1);
			is_changed |= to_b < heights[b] || to_a < heights[a];
			heights[b] = MIN(heights[b], to_b);
			heights[a] = MIN(heights[a], to_a);
		}
	}
	return !is_changed;
}

/* NULL: there are none. */
static const double *get_heights(DtcPairBounds *bounds, guint knot)
{
	g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&bounds->heights_lock);
	struct heights *heights = &bounds->heights[knot];

	if (!heights->is_known) {
		heights->of = g_new(double, bounds->node_count);
		if (!find_heights(bounds, knot, heights->of))
			g_clear_pointer(&heights->of, g_free);
		heights->is_known = true;
	}
	return heights->of;
}

/* --- ways ----------------------------------------------------------------------------------------------------------
 */

/* Where others contradict each other, which may not concern these two. */
static void compute_doubtful_way(const DtcPairBounds *bounds, struct way *way)
{
	g_autofree struct dtc_network_edge *edges = g_new0(struct dtc_network_edge, bounds->pair_count);
	g_autofree double *lo = g_new(double, bounds->node_count);
	g_autofree double *hi = g_new(double, bounds->node_count);
	guint unused;

	for (guint p = 0; p < bounds->pair_count; p++) {
		struct dtc_bound bound = dtc_pair_bounds_get(bounds, way->knot, p);
		edges[p] = (struct dtc_network_edge){ .a = bounds->pairs[p].a,
						      .b = bounds->pairs[p].b,
						      .lo = get_weight(bound.lo_ns),
						      .hi = get_weight(bound.hi_ns) };
	}
	way->is_possible =
		dtc_network_get_bounds(edges, bounds->pair_count, bounds->node_count, way->a, lo, hi, &unused);
	way->lo = lo[way->b];
	way->hi = hi[way->b];
}

static void compute_way(DtcPairBounds *bounds, struct way *way)
{
	bool is_mixed = bounds->mixed[way->knot] > 0;
	struct walk walk = { bounds, way->knot, is_mixed ? get_heights(bounds, way->knot) : NULL, 1 };

	if (is_mixed && !walk.heights) {
		compute_doubtful_way(bounds, way);
		return;
	}
	way->is_possible = true;
	way->hi = find_distance(&walk, way->a, way->b);
	walk.direction = -1;
	way->lo = -find_distance(&walk, way->a, way->b);
}

/* Where it is remembered. */
static guint get_place(guint knot, guint a, guint b)
{
	guint64 hash = ((guint64)a << 32 | b) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15) + knot;

	return (guint)(hash * G_GUINT64_CONSTANT(0x9fb21c651e98df25) >> 32) % WAYS;
}

static struct way get_way(const DtcPairBounds *bounds, guint knot, guint a, guint b)
{
	DtcPairBounds *kept = (DtcPairBounds *)bounds;
	guint place = get_place(knot, a, b);
	GMutex *lock = &kept->locks[place % LOCKS];

	g_mutex_lock(lock);
	struct way way = kept->ways[place];
	g_mutex_unlock(lock);
	if (way.knot == knot && way.a == a && way.b == b)
		return way;
	way = (struct way){ .knot = knot, .a = a, .b = b };
	compute_way(kept, &way);
	g_mutex_lock(lock);
	kept->ways[place] = way;
	g_mutex_unlock(lock);
	return way;
}

/* An answer goes the way of its question, backward. */
static bool find_way(const DtcPairBounds *bounds, guint knot, guint a, guint b, double *ret_lo, double *ret_hi)
{
	bool is_backward = a > b;
	const struct way way = is_backward ? get_way(bounds, knot, b, a) : get_way(bounds, knot, a, b);

	*ret_lo = is_backward ? -way.hi : way.lo;
	*ret_hi = is_backward ? -way.lo : way.hi;
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
	if (a == b) {
		*ret_bound = (struct dtc_bound){ 0, 0 };
		return true;
	}
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
