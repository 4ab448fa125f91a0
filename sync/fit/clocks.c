/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one file that converts between node time and cluster time. Integers throughout: a double near 1.7e18 ns steps by
 * 256 ns. Between knots the product of two distances needs 128 bits.
 */
#include "sync/fit/clocks.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

struct map {
	guint group;
	guint count;
	struct dtc_clock_knot *knots; /* owned */
	double spread;
	/* the slopes that go on beyond the ends: numerator and denominator of the outermost usable piece */
	int64_t before_cluster_ns, before_node_ns;
	int64_t after_cluster_ns, after_node_ns;
	/* Knots are evenly spaced but for those at steps: where one is looked for first. Pieces for each ns. */
	double per_node_ns, per_cluster_ns;
};

struct DtcClocks {
	guint node_count;
	guint reference;
	struct map *maps;
	/* by group, node_count + 1 of them (groups of a saved file may begin at 1); NULL: none; owned */
	DtcPairBounds **pair_bounds;
};

/* Shorter pieces are steps or noise: their slope says nothing about the clock. */
#define LEAST_PIECE_NS 100000

static int64_t clamp_to_int64(__int128 value)
{
	/* INT64_MIN is DTC_TIME_NONE */
	return value > INT64_MAX ? INT64_MAX : value <= INT64_MIN ? INT64_MIN + 1 : (int64_t)value;
}

static int64_t add_clamped(int64_t a, int64_t b)
{
	return clamp_to_int64((__int128)a + b);
}

static int64_t divide_down(__int128 numerator, int64_t denominator)
{
	int64_t narrow = (int64_t)numerator;
	/* as between knots that lie within a few seconds: 128 bits take five times as long */
	if (narrow == numerator && narrow > INT64_MIN + 1)
		return narrow / denominator - (narrow % denominator < 0);
	__int128 quotient = numerator / denominator;
	return clamp_to_int64(quotient - (numerator % denominator < 0));
}

/*
 * distance * rise / run, rounded down; run is positive. Clocks run about alike, so that what the slope is off from one
 * is small, and 64 bits do for pieces of minutes: a map's time is asked for a thousand times in a request.
 */
static int64_t scale(int64_t distance, int64_t rise, int64_t run)
{
	int64_t off, gained, scaled;

	if (rise == run) /* as of the reference itself */
		return distance;
	if (__builtin_sub_overflow(rise, run, &off) || __builtin_mul_overflow(distance, off, &gained) ||
	    __builtin_add_overflow(distance, gained / run - (gained % run < 0), &scaled))
		return divide_down((__int128)distance * rise, run);
	return scaled;
}

DtcClocks *dtc_clocks_new(guint node_count, guint reference)
{
	DtcClocks *clocks = g_new0(DtcClocks, 1);
	clocks->node_count = node_count;
	clocks->reference = reference;
	clocks->maps = g_new0(struct map, node_count);
	clocks->pair_bounds = g_new0(DtcPairBounds *, node_count + 1);
	struct dtc_clock_knot origin = { 0, 0, 0, 0 };
	for (guint i = 0; i < node_count; i++)
		dtc_clocks_set_node(clocks, i, i == reference ? 0 : i < reference ? i + 1 : i, &origin, 1, 0);
	return clocks;
}

DtcClocks *dtc_clocks_new_identity(guint node_count)
{
	return dtc_clocks_new(node_count, 0);
}

void dtc_clocks_free(DtcClocks *clocks)
{
	if (!clocks)
		return;
	for (guint i = 0; i < clocks->node_count; i++)
		g_free(clocks->maps[i].knots);
	for (guint i = 0; i <= clocks->node_count; i++)
		dtc_pair_bounds_free(clocks->pair_bounds[i]);
	g_free(clocks->pair_bounds);
	g_free(clocks->maps);
	g_free(clocks);
}

/* The outermost piece that is long enough to have a slope; a single knot goes on at rate one. */
static void set_outer_slopes(struct map *map)
{
	map->before_cluster_ns = map->before_node_ns = map->after_cluster_ns = map->after_node_ns = 1;
	const struct dtc_clock_knot *knots = map->knots;
	for (guint i = 1; i < map->count; i++) {
		if (knots[i].node_ns - knots[i - 1].node_ns < LEAST_PIECE_NS)
			continue;
		map->before_cluster_ns = knots[i].cluster_ns - knots[i - 1].cluster_ns;
		map->before_node_ns = knots[i].node_ns - knots[i - 1].node_ns;
		break;
	}
	for (guint i = map->count; i-- > 1;) {
		if (knots[i].node_ns - knots[i - 1].node_ns < LEAST_PIECE_NS)
			continue;
		map->after_cluster_ns = knots[i].cluster_ns - knots[i - 1].cluster_ns;
		map->after_node_ns = knots[i].node_ns - knots[i - 1].node_ns;
		break;
	}
}

void dtc_clocks_set_node(DtcClocks *clocks, guint node, guint group, const struct dtc_clock_knot *knots, guint count,
			 double spread)
{
	g_assert(node < clocks->node_count && count > 0);
	for (guint i = 0; i < count; i++) {
		g_assert(knots[i].lo_ns <= knots[i].cluster_ns && knots[i].cluster_ns <= knots[i].hi_ns);
		g_assert(i == 0 ||
			 (knots[i - 1].node_ns < knots[i].node_ns && knots[i - 1].cluster_ns < knots[i].cluster_ns));
	}
	struct map *map = &clocks->maps[node];
	g_free(map->knots);
	map->knots = g_memdup2(knots, count * sizeof(*knots));
	map->count = count;
	map->group = group;
	map->spread = spread;
	set_outer_slopes(map);
	double pieces = (double)(count - 1);
	map->per_node_ns = count > 1 ? pieces / ((double)knots[count - 1].node_ns - (double)knots[0].node_ns) : 0;
	map->per_cluster_ns =
		count > 1 ? pieces / ((double)knots[count - 1].cluster_ns - (double)knots[0].cluster_ns) : 0;
}

guint dtc_clocks_get_node_count(const DtcClocks *clocks)
{
	return clocks->node_count;
}

guint dtc_clocks_get_reference(const DtcClocks *clocks)
{
	return clocks->reference;
}

guint dtc_clocks_get_group(const DtcClocks *clocks, guint node)
{
	g_assert(node < clocks->node_count);
	return clocks->maps[node].group;
}

double dtc_clocks_get_spread(const DtcClocks *clocks, guint node)
{
	g_assert(node < clocks->node_count);
	return clocks->maps[node].spread;
}

const struct dtc_clock_knot *dtc_clocks_get_knots(const DtcClocks *clocks, guint node, guint *ret_count)
{
	g_assert(node < clocks->node_count);
	*ret_count = clocks->maps[node].count;
	return clocks->maps[node].knots;
}

/* Two knots closer than this on either clock are the two sides of a step. */
#define STEP_PIECE_NS 1000

double dtc_clocks_get_rate(const DtcClocks *clocks, guint node)
{
	g_assert(node < clocks->node_count);
	const struct map *map = &clocks->maps[node];
	double gained = 0, span = 0;
	for (guint i = 1; i < map->count; i++) {
		int64_t on_node = map->knots[i].node_ns - map->knots[i - 1].node_ns;
		int64_t on_cluster = map->knots[i].cluster_ns - map->knots[i - 1].cluster_ns;
		if (on_node < STEP_PIECE_NS || on_cluster < STEP_PIECE_NS)
			continue;
		gained += (double)(on_node - on_cluster);
		span += (double)on_cluster;
	}
	return span > 0 ? gained / span : 0;
}

/* The piece that holds node_ns: the last knot that is not after it; -1 before the first knot. */
static gint64 find_piece(const struct map *map, int64_t node_ns)
{
	const struct dtc_clock_knot *knots = map->knots;
	double guess = ((double)node_ns - (double)knots[0].node_ns) * map->per_node_ns;
	if (guess >= 0 && guess < map->count - 1) {
		gint64 i = (gint64)guess;
		if (knots[i].node_ns <= node_ns && node_ns < knots[i + 1].node_ns)
			return i;
	}
	return (gint64)DTC_BISECT(i, 0, map->count, knots[i].node_ns <= node_ns) - 1;
}

/* The same by cluster time. */
static gint64 find_cluster_piece(const struct map *map, int64_t cluster_ns)
{
	const struct dtc_clock_knot *knots = map->knots;
	double guess = ((double)cluster_ns - (double)knots[0].cluster_ns) * map->per_cluster_ns;
	if (guess >= 0 && guess < map->count - 1) {
		gint64 i = (gint64)guess;
		if (knots[i].cluster_ns <= cluster_ns && cluster_ns < knots[i + 1].cluster_ns)
			return i;
	}
	return (gint64)DTC_BISECT(i, 0, map->count, knots[i].cluster_ns <= cluster_ns) - 1;
}

static int64_t interpolate(int64_t x, int64_t x0, int64_t x1, int64_t y0, int64_t y1)
{
	int64_t rise, run, distance;

	if (__builtin_sub_overflow(y1, y0, &rise) || __builtin_sub_overflow(x1, x0, &run) ||
	    __builtin_sub_overflow(x, x0, &distance))
		return add_clamped(y0, divide_down(((__int128)y1 - y0) * ((__int128)x - x0), x1 - x0));
	return add_clamped(y0, scale(distance, rise, run));
}

static int64_t go_on(int64_t y, int64_t distance, int64_t rise, int64_t run)
{
	return add_clamped(y, scale(distance, rise, run));
}

static int64_t map_to_cluster(const struct map *map, int64_t node_ns)
{
	gint64 piece = find_piece(map, node_ns);
	const struct dtc_clock_knot *knots = map->knots;
	if (piece < 0)
		return go_on(knots[0].cluster_ns, clamp_to_int64((__int128)node_ns - knots[0].node_ns),
			     map->before_cluster_ns, map->before_node_ns);
	const struct dtc_clock_knot *knot = &knots[piece];
	if (piece + 1 == (gint64)map->count)
		return go_on(knot->cluster_ns, clamp_to_int64((__int128)node_ns - knot->node_ns), map->after_cluster_ns,
			     map->after_node_ns);
	return interpolate(node_ns, knot->node_ns, knot[1].node_ns, knot->cluster_ns, knot[1].cluster_ns);
}

DtcClusterTime dtc_clocks_to_cluster(const DtcClocks *clocks, guint node, DtcNodeTime time)
{
	g_assert(node < clocks->node_count);
	if (time.ns == DTC_TIME_NONE)
		return (DtcClusterTime){ DTC_TIME_NONE };
	return (DtcClusterTime){ map_to_cluster(&clocks->maps[node], time.ns) };
}

/*
 * Between two knots: the last reading of the node that is not after the cluster time, as the map rounds. DTC_TIME_NONE
 * where the node runs so much faster that the general way, which looks at a few readings, gives another.
 */
static int64_t find_reading(const struct dtc_clock_knot *knot, int64_t cluster_ns)
{
	int64_t run = knot[1].node_ns - knot->node_ns, rise = knot[1].cluster_ns - knot->cluster_ns;
	if (run / 4 >= rise)
		return DTC_TIME_NONE;
	/*
	 * rise * (reading - node) / run, rounded down, is at most the distance: it is less than the distance and one,
	 * (distance + 1) * run - 1 over rise
	 */
	int64_t beyond, off, gained;
	if (!__builtin_sub_overflow(cluster_ns, knot->cluster_ns, &beyond) &&
	    !__builtin_add_overflow(beyond, 1, &beyond) && !__builtin_sub_overflow(run, rise, &off) &&
	    !__builtin_mul_overflow(beyond, off, &gained) && !__builtin_sub_overflow(gained, 1, &gained))
		return add_clamped(knot->node_ns, beyond + (gained / rise - (gained % rise < 0)));
	__int128 numerator = ((__int128)cluster_ns - knot->cluster_ns + 1) * run - 1;
	return add_clamped(knot->node_ns, divide_down(numerator, rise));
}

DtcNodeTime dtc_clocks_to_node(const DtcClocks *clocks, guint node, DtcClusterTime time)
{
	g_assert(node < clocks->node_count);
	if (time.ns == DTC_TIME_NONE)
		return (DtcNodeTime){ DTC_TIME_NONE };
	const struct map *map = &clocks->maps[node];
	const struct dtc_clock_knot *knots = map->knots;
	gint64 low = find_cluster_piece(map, time.ns);
	int64_t guess = low >= 0 && low + 1 < (gint64)map->count ? find_reading(&knots[low], time.ns) : DTC_TIME_NONE;
	if (guess != DTC_TIME_NONE)
		return (DtcNodeTime){ guess };
	if (low < 0)
		guess = go_on(knots[0].node_ns, clamp_to_int64((__int128)time.ns - knots[0].cluster_ns),
			      map->before_node_ns, map->before_cluster_ns);
	else if (low + 1 == (gint64)map->count)
		guess = go_on(knots[low].node_ns, clamp_to_int64((__int128)time.ns - knots[low].cluster_ns),
			      map->after_node_ns, map->after_cluster_ns);
	else
		guess = interpolate(time.ns, knots[low].cluster_ns, knots[low + 1].cluster_ns, knots[low].node_ns,
				    knots[low + 1].node_ns);
	/* rounding leaves it at most two off where the slopes are near one */
	for (guint i = 0; i < 4 && guess > INT64_MIN + 2 && map_to_cluster(map, guess) > time.ns; i++)
		guess--;
	for (guint i = 0; i < 4 && guess < INT64_MAX - 2 && map_to_cluster(map, guess + 1) <= time.ns; i++)
		guess++;
	return (DtcNodeTime){ guess };
}

/* Widening beyond the ends, rounded up. */
static int64_t get_widening(const struct map *map, int64_t distance_ns)
{
	double widening = map->spread * (double)distance_ns + (distance_ns != 0);
	return widening < 4e18 ? (int64_t)widening : (int64_t)4e18;
}

void dtc_clocks_get_bounds(const DtcClocks *clocks, guint node, DtcNodeTime time, DtcClusterTime *ret_lo,
			   DtcClusterTime *ret_hi)
{
	g_assert(node < clocks->node_count);
	const struct map *map = &clocks->maps[node];
	if (time.ns == DTC_TIME_NONE) {
		ret_lo->ns = ret_hi->ns = DTC_TIME_NONE;
		return;
	}
	gint64 piece = find_piece(map, time.ns);
	bool before = piece < 0, after = piece + 1 == (gint64)map->count;
	const struct dtc_clock_knot *knot = &map->knots[before ? 0 : piece];
	if (before || after) {
		int64_t cluster_ns = map_to_cluster(map, time.ns);
		int64_t distance =
			clamp_to_int64(before ? (__int128)knot->node_ns - time.ns : (__int128)time.ns - knot->node_ns);
		int64_t widening = get_widening(map, distance);
		ret_lo->ns = add_clamped(cluster_ns, knot->lo_ns - knot->cluster_ns - widening);
		ret_hi->ns = add_clamped(cluster_ns, add_clamped(knot->hi_ns - knot->cluster_ns, widening));
		return;
	}
	ret_lo->ns = interpolate(time.ns, knot->node_ns, knot[1].node_ns, knot->lo_ns, knot[1].lo_ns);
	/* rounded up: a bound that is a nanosecond wide of the mark is still a bound */
	ret_hi->ns = add_clamped(interpolate(time.ns, knot->node_ns, knot[1].node_ns, knot->hi_ns, knot[1].hi_ns), 1);
	if (time.ns == knot->node_ns)
		ret_hi->ns = knot->hi_ns;
}

void dtc_clocks_take_pair_bounds(DtcClocks *clocks, guint group, DtcPairBounds *bounds)
{
	g_assert(group <= clocks->node_count && !clocks->pair_bounds[group]);
	clocks->pair_bounds[group] = bounds;
}

const DtcPairBounds *dtc_clocks_get_pair_bounds(const DtcClocks *clocks, guint group)
{
	return group <= clocks->node_count ? clocks->pair_bounds[group] : NULL;
}

/* Bounds of the true cluster time of a node's reading, minus the one its map gives. */
static struct dtc_bound get_error(const DtcClocks *clocks, guint node, DtcClusterTime time)
{
	DtcNodeTime at = dtc_clocks_to_node(clocks, node, time);
	DtcClusterTime lo, hi, map = dtc_clocks_to_cluster(clocks, node, at);
	dtc_clocks_get_bounds(clocks, node, at, &lo, &hi);
	return (struct dtc_bound){ clamp_to_int64((__int128)lo.ns - map.ns), clamp_to_int64((__int128)hi.ns - map.ns) };
}

/* Narrows by what the two nodes know of each other directly or by way of others. */
static void narrow(const DtcClocks *clocks, guint a, guint b, DtcClusterTime time, struct dtc_bound *bound)
{
	const DtcPairBounds *bounds = dtc_clocks_get_pair_bounds(clocks, clocks->maps[a].group);
	/* the bounds of the maps are the shortest paths from the reference already */
	if (!bounds || a == clocks->reference || b == clocks->reference)
		return;
	struct dtc_bound direct;
	if (!dtc_pair_bounds_get_difference(bounds, a, b, time.ns, &direct))
		return;
	__int128 first = dtc_pair_bounds_get_knot(bounds, 0);
	__int128 last = dtc_pair_bounds_get_knot(bounds, dtc_pair_bounds_get_knot_count(bounds) - 1);
	int64_t distance = clamp_to_int64(time.ns < first ? first - time.ns : time.ns > last ? time.ns - last : 0);
	int64_t widening =
		add_clamped(get_widening(&clocks->maps[a], distance), get_widening(&clocks->maps[b], distance));
	int64_t lo = MAX(bound->lo_ns, clamp_to_int64((__int128)direct.lo_ns - widening));
	int64_t hi = MIN(bound->hi_ns, add_clamped(direct.hi_ns, widening));
	if (lo <= hi)
		*bound = (struct dtc_bound){ lo, hi };
}

bool dtc_clocks_get_difference(const DtcClocks *clocks, guint a, guint b, DtcClusterTime time, int64_t *ret_lo_ns,
			       int64_t *ret_hi_ns)
{
	g_assert(a < clocks->node_count && b < clocks->node_count);
	struct dtc_bound bound = { 0, 0 };
	if (clocks->maps[a].group != clocks->maps[b].group)
		return false;
	if (a != b) {
		struct dtc_bound of_a = get_error(clocks, a, time), of_b = get_error(clocks, b, time);
		bound.lo_ns = clamp_to_int64((__int128)of_b.lo_ns - of_a.hi_ns);
		bound.hi_ns = clamp_to_int64((__int128)of_b.hi_ns - of_a.lo_ns);
		narrow(clocks, a, b, time, &bound);
	}
	*ret_lo_ns = bound.lo_ns;
	*ret_hi_ns = bound.hi_ns;
	return true;
}

int64_t dtc_clocks_get_uncertainty_ns(const DtcClocks *clocks, guint a, guint b, DtcClusterTime time)
{
	int64_t lo, hi;
	if (!dtc_clocks_get_difference(clocks, a, b, time, &lo, &hi))
		return INT64_MAX;
	return MAX(MAX(hi, -lo), 0);
}
