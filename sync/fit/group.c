/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/group.h"

#include "collect/bundle/threads.h"
#include "sync/fit/lp.h"
#include "sync/fit/network.h"
#include "sync/fit/ways.h"

#include <dtrace-chain/bisect.h>
#include <dtrace-chain/sort.h>

#include <math.h>
#include <string.h>

/*
 * Between knots a clock may leave the line by wander * distance / 2; knots are set so that this stays below 0.1 us...
 */
#define KNOT_DISTANCE_NS 100000000
#define KNOTS_MIN 32
#define KNOTS_MAX 2048
/* ...as far as knots times pairs stays affordable; few pairs can have more of them. */
#define KNOTS_TIMES_PAIRS 600000
#define KNOTS_TIMES_FEW_PAIRS 8192
#define VARIANCE_PER_MARGIN_NS 1e5

struct gap {
	int64_t begin;
	int64_t end;
};

/* One component while it is aligned: nodes and pairs by local number. */
struct component {
	struct dtc_grouping *grouping;
	guint *nodes; /* local -> rank */
	guint node_count;
	guint *local; /* rank -> local, for nodes of this component */
	guint *pairs; /* local -> index in grouping->pairs */
	guint pair_count;
	guint root; /* local */
	struct dtc_nominal *nominal;
	int64_t *grid; /* cluster coordinate */
	guint knot_count;
	int64_t reach;			/* how far a node's coordinate may be from the root's at the same instant */
	GArray *gaps;			/* struct gap: where some clock steps */
	bool *is_twice;			/* knots around which some clock shows a reading twice */
	struct dtc_network_edge *edges; /* knot * pair_count + pair */
	double *theta;			/* knot * node_count + node: coordinate of the node minus the root's */
	double *lo, *hi;
	double *wander; /* node against the root: the sum along the way with the least */
};

void dtc_pair_summary_clear(struct dtc_pair_summary *summary)
{
	g_clear_pointer(&summary->steps_a, g_free);
	g_clear_pointer(&summary->steps_b, g_free);
}

static struct dtc_pair *get_pair(const struct component *component, guint index)
{
	return &component->grouping->pairs[component->pairs[index]];
}

/* --- components ------------------------------------------------------------------------------------------------- */

static guint find_leader(guint *leader, guint node)
{
	while (leader[node] != node)
		node = leader[node] = leader[leader[node]];
	return node;
}

/* The lower number leads, so that groups do not depend on the order of pairs. */
static guint *find_components(const struct dtc_grouping *grouping)
{
	guint *leader = g_new(guint, grouping->node_count + 1);
	for (guint i = 0; i < grouping->node_count; i++)
		leader[i] = i;
	for (guint i = 0; i < grouping->pair_count; i++) {
		if (grouping->pairs[i].status != DTC_PAIR_ALIGNED)
			continue;
		guint a = find_leader(leader, grouping->pairs[i].a), b = find_leader(leader, grouping->pairs[i].b);
		leader[MAX(a, b)] = MIN(a, b);
	}
	for (guint i = 0; i < grouping->node_count; i++)
		leader[i] = find_leader(leader, i);
	return leader;
}

/* Certified width in the middle of the pair's own span: what a pair is worth. */
static double get_middle_width(const struct dtc_pair *pair)
{
	int64_t middle = pair->begin + (pair->end - pair->begin) / 2;
	double lo, hi;
	dtc_pair_get_bounds(pair, 0, &middle, 1, &lo, &hi);
	return MAX(hi - lo, 1);
}

/* Caller owns. */
static DtcWays *make_ways(const struct component *component, const double *length)
{
	g_autofree struct dtc_way_ends *ends = g_new(struct dtc_way_ends, component->pair_count + 1);
	for (guint p = 0; p < component->pair_count; p++)
		ends[p] = (struct dtc_way_ends){ component->local[get_pair(component, p)->a],
						 component->local[get_pair(component, p)->b] };
	return dtc_ways_new(ends, length, component->pair_count, component->node_count);
}

static void fit_again(gpointer data, guint index)
{
	const struct component *component = data;
	struct dtc_pair *pair = get_pair(component, index);
	const struct dtc_nominal *a = &component->nominal[component->local[pair->a]];
	const struct dtc_nominal *b = &component->nominal[component->local[pair->b]];
	if (dtc_nominal_is_same(a, &pair->nominal_a) && dtc_nominal_is_same(b, &pair->nominal_b))
		return;
	dtc_pair_fit(pair, a, b, component->grouping->limits);
	dtc_lp_release_thread();
}

/* Coordinates along the tree of the best ways; pairs are fitted again where theirs were others. */
static void set_coordinates(struct component *component, DtcWays *ways)
{
	g_autofree double *distance = g_new(double, component->node_count);
	g_autofree guint *before = g_new0(guint, component->node_count), *order = g_new(guint, component->node_count);
	dtc_ways_find(ways, component->root, distance, before, order);
	component->nominal = g_new0(struct dtc_nominal, component->node_count);
	guint rank = component->nodes[component->root];
	for (guint p = 0; p < component->pair_count; p++) {
		const struct dtc_pair *pair = get_pair(component, p);
		if (pair->a == rank || pair->b == rank) {
			component->nominal[component->root].origin_ns =
				pair->coarse.a_ns + (pair->b == rank ? pair->coarse.offset_ns : 0);
			break;
		}
	}
	for (guint i = 1; i < component->node_count; i++) {
		const struct dtc_pair *pair = get_pair(component, before[order[i]]);
		guint a = component->local[pair->a];
		bool forward = a != order[i];
		guint known = forward ? a : component->local[pair->b];
		component->nominal[order[i]] = dtc_nominal_follow(&component->nominal[known], &pair->coarse, forward);
	}
	dtc_threads_run(component->pair_count, fit_again, component);
}

/* --- grid ------------------------------------------------------------------------------------------------------- */

/* For a pair with the root first, grid and coordinate are the same; else a step is only placed to within the reach. */
static int64_t get_reach(const struct component *component, const struct dtc_pair *pair)
{
	return component->local[pair->a] == component->root ? 0 : component->reach;
}

/* Knots where a step changes what holds: before and after the gap, and on both sides of the place it is given. */
static void add_step_knots(struct component *component, const struct dtc_pair *pair, GArray *grid)
{
	int64_t reach = get_reach(component, pair);
	for (guint s = 0; s + 1 < pair->era_count; s++) {
		struct gap gap = { pair->eras[s].end - reach, pair->eras[s + 1].begin + reach };
		int64_t step = dtc_pair_get_step(pair, s);
		int64_t knots[6] = { gap.begin, gap.begin + 1, step, step + 1, gap.end - 1, gap.end };
		g_array_append_val(component->gaps, gap);
		g_array_append_vals(grid, knots, 6);
	}
}

static void make_grid(struct component *component)
{
	int64_t begin = INT64_MAX, end = INT64_MIN, reach = 1000;
	for (guint p = 0; p < component->pair_count; p++) {
		const struct dtc_pair *pair = get_pair(component, p);
		begin = MIN(begin, pair->earliest);
		end = MAX(end, pair->latest);
		for (guint s = 0; s < pair->era_count; s++) {
			const struct dtc_era *era = &pair->eras[s];
			for (guint i = 0; i < era->cloud.upper_count + era->cloud.lower_count; i++)
				reach = MAX(reach, ABS(era->points[i].v));
		}
	}
	/* every node's messages shall lie between knots, wherever its coordinate is against the root's */
	component->reach = reach = MIN(2 * reach, (end - begin) / 4 + 1000000);
	begin -= reach;
	end += reach;
	guint64 wanted = (guint64)(end - begin) / KNOT_DISTANCE_NS;
	guint pairs = MAX(1, component->pair_count);
	guint limit = MAX(CLAMP(KNOTS_TIMES_PAIRS / pairs, 64, KNOTS_MAX), KNOTS_TIMES_FEW_PAIRS / pairs);
	guint pieces = (guint)CLAMP(wanted, KNOTS_MIN, limit);
	g_autoptr(GArray) grid = g_array_new(FALSE, FALSE, sizeof(int64_t));
	component->gaps = g_array_new(FALSE, FALSE, sizeof(struct gap));
	for (guint k = 0; k <= pieces; k++) {
		int64_t knot = begin + (int64_t)((__int128)(end - begin) * k / pieces);
		g_array_append_val(grid, knot);
	}
	for (guint p = 0; p < component->pair_count; p++)
		add_step_knots(component, get_pair(component, p), grid);
	g_array_sort(grid, dtc_compare_int64);
	component->grid = g_new(int64_t, grid->len);
	for (guint k = 0; k < grid->len; k++) {
		int64_t knot = g_array_index(grid, int64_t, k);
		if (!component->knot_count || component->grid[component->knot_count - 1] < knot)
			component->grid[component->knot_count++] = knot;
	}
}

/* The estimate's margin in the middle of each pair's span: half the sum of its fastest delays both ways. */
static double get_middle_margin(const struct dtc_pair *pair)
{
	double margin;
	dtc_pair_get_estimate(pair, pair->begin + (pair->end - pair->begin) / 2, &margin);
	return MAX(margin, 1);
}

/*
 * Variance that an estimate is given: how the two ways differ is not known, but pairs with longer ways differ more.
 * Tried on meshes of 100 nodes with random asymmetry: margin 4.9 us, margin squared 5.3, equal weights 5.0, what a
 * margin has beyond the least one 5.9. The certified width takes over only far from a pair's messages.
 */
static double get_variance(double margin, double width, double least_width)
{
	double growth = MAX(0, width / 2 - least_width);
	return margin * VARIANCE_PER_MARGIN_NS + growth * growth;
}

static void fill_edges(struct component *component)
{
	guint knots = component->knot_count, pairs = component->pair_count;
	component->edges = g_new(struct dtc_network_edge, (gsize)knots * pairs + 1);
	g_autofree double *lo = g_new(double, knots), *hi = g_new(double, knots);
	for (guint p = 0; p < pairs; p++) {
		const struct dtc_pair *pair = get_pair(component, p);
		double margin = get_middle_margin(pair), least_width = INFINITY;
		dtc_pair_get_bounds(pair, get_reach(component, pair), component->grid, knots, lo, hi);
		for (guint k = 0; k < knots; k++)
			least_width = MIN(least_width, hi[k] - lo[k]);
		for (guint k = 0; k < knots; k++) {
			double here, estimate = dtc_pair_get_estimate(pair, component->grid[k], &here);
			bool inside = component->grid[k] >= pair->begin && component->grid[k] <= pair->end;
			component->edges[(gsize)k * pairs + p] = (struct dtc_network_edge){
				.a = component->local[pair->a],
				.b = component->local[pair->b],
				.lo = lo[k],
				.hi = hi[k],
				.estimate = estimate,
				.margin = inside ? here : -1,
				.weight = 1e8 / get_variance(margin, hi[k] - lo[k], least_width),
			};
		}
	}
}

/* --- network ---------------------------------------------------------------------------------------------------- */

/* The pair that fits worst to the rest at a knot where the intervals contradict each other; it goes. */
static guint find_misfit(const struct component *component, guint knot)
{
	const struct dtc_network_edge *edges = component->edges + (gsize)knot * component->pair_count;
	g_autofree double *theta = g_new0(double, component->node_count);
	dtc_network_estimate(edges, component->pair_count, component->node_count, component->root, theta);
	guint worst = 0;
	double worst_violation = -INFINITY;
	for (guint p = 0; p < component->pair_count; p++) {
		double difference = theta[edges[p].b] - theta[edges[p].a];
		double violation = MAX(edges[p].lo - difference, difference - edges[p].hi);
		if (violation > worst_violation) {
			worst = p;
			worst_violation = violation;
		}
	}
	return worst;
}

static void remove_pair(struct component *component, guint index)
{
	get_pair(component, index)->status = DTC_PAIR_CONTRADICTORY;
	memmove(component->pairs + index, component->pairs + index + 1,
		(component->pair_count - index - 1) * sizeof(*component->pairs));
	component->pair_count--;
	g_clear_pointer(&component->edges, g_free);
	fill_edges(component);
}

/* Nodes' readings at an instant differ from the grid's by their thetas: so much can the pairs' d change on the way. */
static void inflate(struct component *component, double reach)
{
	for (guint p = 0; p < component->pair_count; p++) {
		double more = reach * dtc_pair_get_steepness(get_pair(component, p)) + 0.5;
		for (guint k = 0; k < component->knot_count; k++) {
			struct dtc_network_edge *edge = &component->edges[(gsize)k * component->pair_count + p];
			edge->lo -= more;
			edge->hi += more;
		}
	}
}

static bool find_bounds(struct component *component, guint *ret_knot)
{
	guint edge;
	for (guint k = 0; k < component->knot_count; k++) {
		*ret_knot = k;
		if (!dtc_network_get_bounds(component->edges + (gsize)k * component->pair_count, component->pair_count,
					    component->node_count, component->root,
					    component->lo + (gsize)k * component->node_count,
					    component->hi + (gsize)k * component->node_count, &edge))
			return false;
	}
	return true;
}

static double find_reach(const struct component *component)
{
	double reach = 0;
	for (gsize i = 0; i < (gsize)component->knot_count * component->node_count; i++)
		reach = MAX(reach, MAX(fabs(component->lo[i]), fabs(component->hi[i])));
	return reach;
}

/*
 * A pair with few messages may have a line far outside what the network as a whole allows: it is moved to the nearest
 * value that is possible, and where that breaks its margin the margin says nothing.
 */
static void limit_estimates(struct component *component, guint knot)
{
	const double *lo = component->lo + (gsize)knot * component->node_count;
	const double *hi = component->hi + (gsize)knot * component->node_count;
	for (guint p = 0; p < component->pair_count; p++) {
		struct dtc_network_edge *edge = &component->edges[(gsize)knot * component->pair_count + p];
		double least = MAX(edge->lo, lo[edge->b] - hi[edge->a]);
		double most = MIN(edge->hi, hi[edge->b] - lo[edge->a]);
		double possible = MIN(MAX(edge->estimate, least), most);
		if (fabs(possible - edge->estimate) > edge->margin)
			edge->margin = -1;
		else
			edge->margin -= fabs(possible - edge->estimate);
		edge->estimate = possible;
	}
}

static void solve_network(struct component *component)
{
	gsize cells = (gsize)component->knot_count * component->node_count;
	component->theta = g_new0(double, cells);
	component->lo = g_new(double, cells);
	component->hi = g_new(double, cells);
	guint knot;
	while (!find_bounds(component, &knot))
		remove_pair(component, find_misfit(component, knot));
	/* twice the reach of the first pass covers what the second adds, because steepness is far below one half */
	inflate(component, 2 * find_reach(component));
	while (!find_bounds(component, &knot))
		remove_pair(component, find_misfit(component, knot));
	for (guint k = 0; k < component->knot_count; k++) {
		double *theta = component->theta + (gsize)k * component->node_count;
		if (k)
			memcpy(theta, theta - component->node_count, component->node_count * sizeof(*theta));
		limit_estimates(component, k);
		dtc_network_estimate(component->edges + (gsize)k * component->pair_count, component->pair_count,
				     component->node_count, component->root, theta);
		dtc_network_project(component->edges + (gsize)k * component->pair_count, component->pair_count,
				    component->root, theta);
		for (guint i = 0; i < component->node_count; i++) {
			double lo = component->lo[(gsize)k * component->node_count + i];
			double hi = component->hi[(gsize)k * component->node_count + i];
			theta[i] = CLAMP(theta[i], lo, hi);
		}
	}
}

/* --- maps ------------------------------------------------------------------------------------------------------- */

/* How far a difference of clocks that wanders by this can leave the line between two knots, at knot k. */
static double get_bend(const struct component *component, guint k, double wander)
{
	int64_t before = k ? component->grid[k] - component->grid[k - 1] : 0;
	int64_t after = k + 1 < component->knot_count ? component->grid[k + 1] - component->grid[k] : 0;
	return MIN(component->grouping->limits->max_wander, wander) * (double)MAX(before, after) / 2;
}

/*
 * A clock that steps back shows the readings in between twice: the bounds of such a reading cover both instants. k0 and
 * k1 are knots before and after the gap.
 */
static void cover_both(struct dtc_clock_knot *knots, guint count, guint k0, guint k1, bool *ret_is_twice)
{
	int64_t span = knots[k1].cluster_ns - knots[k0].cluster_ns, more = span / 500 + 2;
	int64_t earliest = knots[k1].node_ns - span - more, latest = knots[k0].node_ns + span + more;
	if (knots[k1].node_ns - knots[k0].node_ns >= span - 1000)
		return; /* forward, or none of this node */
	guint first = k0, last = k1;
	while (first > 0 && knots[first].node_ns >= earliest)
		first--;
	while (last + 1 < count && knots[last].node_ns <= latest)
		last++;
	int64_t lo_width = knots[k0].cluster_ns - knots[k0].lo_ns, hi_width = knots[k1].hi_ns - knots[k1].cluster_ns;
	for (guint k = first; k <= last; k++) {
		int64_t from_before = knots[k].node_ns - knots[k0].node_ns,
			from_after = knots[k].node_ns - knots[k1].node_ns;
		int64_t early = knots[k0].cluster_ns + from_before - ABS(from_before) / 500 - lo_width;
		int64_t late = knots[k1].cluster_ns + from_after + ABS(from_after) / 500 + hi_width;
		knots[k].lo_ns = MIN(knots[k].lo_ns, early);
		knots[k].hi_ns = MAX(knots[k].hi_ns, late);
		ret_is_twice[k] = true;
	}
}

static void cover_gaps(const struct component *component, struct dtc_clock_knot *knots)
{
	for (guint g = 0; g < component->gaps->len; g++) {
		const struct gap *gap = &g_array_index(component->gaps, struct gap, g);
		guint k0 = 0, k1 = component->knot_count - 1;
		while (k0 + 1 < component->knot_count && component->grid[k0 + 1] <= gap->begin)
			k0++;
		while (k1 > 0 && component->grid[k1 - 1] >= gap->end)
			k1--;
		cover_both(knots, component->knot_count, k0, k1, component->is_twice);
	}
}

/* Every node against the root. */
static void find_wanders(struct component *component)
{
	g_autofree double *wander = g_new(double, component->pair_count + 1);
	for (guint p = 0; p < component->pair_count; p++)
		wander[p] = dtc_pair_get_wander(get_pair(component, p));
	component->wander = g_new(double, component->node_count);
	g_autoptr(DtcWays) ways = make_ways(component, wander);
	dtc_ways_find(ways, component->root, component->wander, NULL, NULL);
}

static void make_map(const struct component *component, guint node, struct dtc_node_map *map)
{
	const struct dtc_nominal *root = &component->nominal[component->root];
	guint count = component->knot_count, nodes = component->node_count;
	double wander = component->grouping->limits->max_wander, drift = component->grouping->limits->max_rate;
	double steepness = 2 * drift;
	g_autofree struct dtc_clock_knot *knots = g_new(struct dtc_clock_knot, count);
	for (guint k = 0; k < count; k++) {
		gsize cell = (gsize)k * nodes + node;
		int64_t coordinate = component->grid[k] + llrint(component->theta[cell]);
		knots[k].node_ns = dtc_nominal_to_node(&component->nominal[node], coordinate);
		knots[k].cluster_ns = dtc_nominal_to_node(root, component->grid[k]);
		knots[k].lo_ns = knots[k].hi_ns = knots[k].cluster_ns;
		if (node == component->root)
			continue;
		double width = component->hi[cell] - component->lo[cell];
		double more = get_bend(component, k, component->wander[node]) + steepness * width + DTC_ROUNDING_NS + 2;
		knots[k].lo_ns -= (int64_t)ceil(component->hi[cell] - component->theta[cell] + more);
		knots[k].hi_ns += (int64_t)ceil(component->theta[cell] - component->lo[cell] + more);
	}
	cover_gaps(component, knots);
	map->knots = g_array_new(FALSE, FALSE, sizeof(struct dtc_clock_knot));
	for (guint k = 0; k < count; k++) {
		const struct dtc_clock_knot *last =
			map->knots->len ? &g_array_index(map->knots, struct dtc_clock_knot, map->knots->len - 1) : NULL;
		if (!last || (last->node_ns < knots[k].node_ns && last->cluster_ns < knots[k].cluster_ns))
			g_array_append_val(map->knots, knots[k]);
	}
	double span = (double)(component->grid[count - 1] - component->grid[0]);
	double first = component->hi[node] - component->lo[node];
	double last =
		component->hi[(gsize)(count - 1) * nodes + node] - component->lo[(gsize)(count - 1) * nodes + node];
	map->spread = node == component->root ? 0 : MIN(2 * wander + (first + last) / span, 2 * drift);
}

static int64_t to_bound_limit(double ns)
{
	return (int64_t)CLAMP(ns, -(double)DTC_BOUND_UNKNOWN_NS, (double)DTC_BOUND_UNKNOWN_NS);
}

/*
 * What each pair knows, against the maps. Where a reading stands for two instants the maps' bounds say so, and pair
 * bounds know nothing: they are about instants.
 */
static DtcPairBounds *make_pair_bounds(const struct component *component)
{
	guint nodes = component->node_count;
	double steepness = 2 * component->grouping->limits->max_rate;
	g_autofree int64_t *knots = g_new(int64_t, component->knot_count);
	g_autofree struct dtc_node_pair *pairs = g_new(struct dtc_node_pair, component->pair_count + 1);
	for (guint k = 0; k < component->knot_count; k++)
		knots[k] = dtc_nominal_to_node(&component->nominal[component->root], component->grid[k]);
	for (guint p = 0; p < component->pair_count; p++)
		pairs[p] = (struct dtc_node_pair){ component->grouping->node_of[get_pair(component, p)->a],
						   component->grouping->node_of[get_pair(component, p)->b] };
	DtcPairBounds *bounds = dtc_pair_bounds_new(knots, component->knot_count, pairs, component->pair_count);
	for (guint k = 0; k < component->knot_count; k++) {
		const double *theta = component->theta + (gsize)k * nodes;
		const double *lo = component->lo + (gsize)k * nodes, *hi = component->hi + (gsize)k * nodes;
		for (guint p = 0; p < component->pair_count && !component->is_twice[k]; p++) {
			const struct dtc_network_edge *edge = &component->edges[(gsize)k * component->pair_count + p];
			double width = hi[edge->a] - lo[edge->a] + hi[edge->b] - lo[edge->b];
			double more = get_bend(component, k, dtc_pair_get_wander(get_pair(component, p))) +
				      steepness * width + 2 * DTC_ROUNDING_NS + 2;
			double difference = theta[edge->b] - theta[edge->a];
			dtc_pair_bounds_set(bounds, k, p,
					    (struct dtc_bound){ to_bound_limit(floor(difference - edge->hi - more)),
								to_bound_limit(ceil(difference - edge->lo + more)) });
		}
	}
	return bounds;
}

static double get_theta(const struct component *component, guint node, int64_t coordinate)
{
	guint low = DTC_BISECT(i, 1, component->knot_count - 1, component->grid[i] <= coordinate) - 1;
	double left = component->theta[(gsize)low * component->node_count + node];
	double right = component->theta[(gsize)(low + 1) * component->node_count + node];
	double part =
		(double)(coordinate - component->grid[low]) / (double)(component->grid[low + 1] - component->grid[low]);
	return left + part * (right - left);
}

static void summarise_steps(const struct component *component, const struct dtc_pair *pair,
			    struct dtc_pair_summary *summary)
{
	const struct dtc_nominal *a = &component->nominal[component->local[pair->a]];
	const struct dtc_nominal *b = &component->nominal[component->local[pair->b]];
	summary->step_count = pair->era_count - 1;
	summary->steps_a = g_new0(struct dtc_sync_step, pair->era_count);
	summary->steps_b = g_new0(struct dtc_sync_step, pair->era_count);
	for (guint i = 0; i < summary->step_count; i++) {
		int64_t begin = pair->eras[i].end, at = dtc_pair_get_step(pair, i), end = pair->eras[i + 1].begin;
		double unused, before = dtc_pair_get_estimate(pair, at, &unused);
		double after = dtc_pair_get_estimate(pair, at + 1, &unused);
		int64_t change =
			dtc_nominal_to_node(b, at + llrint(after)) - dtc_nominal_to_node(b, at + llrint(before));
		summary->steps_a[i] = (struct dtc_sync_step){
			.a_ns = dtc_nominal_to_node(a, at),
			.begin_ns = dtc_nominal_to_node(a, begin),
			.end_ns = dtc_nominal_to_node(a, end),
			.change_ns = change,
		};
		summary->steps_b[i] = (struct dtc_sync_step){
			.a_ns = dtc_nominal_to_node(b, at + llrint(before)),
			.begin_ns = dtc_nominal_to_node(b, begin + llrint(before)),
			.end_ns = dtc_nominal_to_node(b, end + llrint(after)),
			.change_ns = change,
		};
	}
}

static void summarise(const struct component *component, guint index)
{
	const struct dtc_pair *pair = get_pair(component, index);
	struct dtc_pair_summary *summary = &component->grouping->summaries[component->pairs[index]];
	guint a = component->local[pair->a], b = component->local[pair->b];
	int64_t at[3] = { pair->begin, pair->begin + (pair->end - pair->begin) / 2, pair->end };
	int64_t on_a[3], on_b[3];
	double lo[3], hi[3];
	dtc_pair_get_bounds(pair, 0, at, 3, lo, hi);
	for (guint i = 0; i < 3; i++) {
		double difference = get_theta(component, b, at[i]) - get_theta(component, a, at[i]);
		on_a[i] = dtc_nominal_to_node(&component->nominal[a], at[i]);
		on_b[i] = dtc_nominal_to_node(&component->nominal[b], at[i] + llrint(difference));
		summary->width_ns[i] = (int64_t)ceil(hi[i] - lo[i]);
	}
	summary->is_known = true;
	summary->wander = dtc_pair_get_wander(pair);
	summary->begin_a_ns = on_a[0];
	summary->end_a_ns = on_a[2];
	summary->begin_b_ns = on_b[0];
	summary->end_b_ns = on_b[2];
	summary->offset_ns = on_b[1] - on_a[1];
	summarise_steps(component, pair, summary);
	if (on_a[2] > on_a[0])
		summary->drift = (double)((on_b[2] - on_b[0]) - (on_a[2] - on_a[0])) / (double)(on_a[2] - on_a[0]);
}

static void component_clear(struct component *component)
{
	g_free(component->nodes);
	g_free(component->local);
	g_free(component->pairs);
	g_free(component->nominal);
	g_free(component->grid);
	if (component->gaps)
		g_array_unref(component->gaps);
	g_free(component->is_twice);
	g_free(component->edges);
	g_free(component->theta);
	g_free(component->lo);
	g_free(component->hi);
	g_free(component->wander);
}

/* False if a pair did not survive its fit in the common coordinates: then the components may be others. */
static bool align_component(struct dtc_grouping *grouping, const guint *leader, guint lead, guint *reference,
			    struct dtc_node_map *maps, DtcPairBounds **ret_bounds)
{
	struct component component = {
		.grouping = grouping,
		.nodes = g_new(guint, grouping->node_count),
		.local = g_new0(guint, grouping->node_count),
		.pairs = g_new(guint, grouping->pair_count + 1),
	};
	for (guint i = 0; i < grouping->node_count; i++) {
		if (leader[i] != lead)
			continue;
		component.local[i] = component.node_count;
		component.nodes[component.node_count++] = i;
	}
	for (guint p = 0; p < grouping->pair_count; p++)
		if (grouping->pairs[p].status == DTC_PAIR_ALIGNED && leader[grouping->pairs[p].a] == lead)
			component.pairs[component.pair_count++] = p;
	g_autofree double *width = g_new(double, component.pair_count + 1);
	for (guint p = 0; p < component.pair_count; p++)
		width[p] = get_middle_width(get_pair(&component, p));
	g_autoptr(DtcWays) ways = make_ways(&component, width);
	component.root = *reference == G_MAXUINT ? dtc_ways_find_middle(ways) : component.local[*reference];
	*reference = component.nodes[component.root];
	set_coordinates(&component, ways);
	bool ok = true;
	for (guint p = 0; p < component.pair_count; p++)
		ok &= get_pair(&component, p)->status == DTC_PAIR_ALIGNED;
	if (ok) {
		make_grid(&component);
		fill_edges(&component);
		solve_network(&component);
		component.is_twice = g_new0(bool, component.knot_count);
		find_wanders(&component);
		for (guint i = 0; i < component.node_count; i++)
			make_map(&component, i, &maps[component.nodes[i]]);
		if (component.node_count > 2) /* of two nodes one is the reference */
			*ret_bounds = make_pair_bounds(&component);
		for (guint p = 0; p < component.pair_count; p++)
			summarise(&component, p);
	}
	component_clear(&component);
	return ok;
}

static void set_identity(struct dtc_node_map *map)
{
	struct dtc_clock_knot origin = { 0, 0, 0, 0 };
	map->knots = g_array_new(FALSE, FALSE, sizeof(struct dtc_clock_knot));
	map->spread = 0;
	g_array_append_val(map->knots, origin);
}

/* One attempt; false if it has to be made again with fewer pairs. */
static bool align_all(struct dtc_grouping *grouping, guint *reference, struct dtc_node_map *maps)
{
	guint count = grouping->node_count;
	g_autofree guint *leader = find_components(grouping), *size = g_new0(guint, count + 1);
	guint main_lead = 0, next_group = 1;
	bool ok = true;
	for (guint i = 0; i < count; i++)
		size[leader[i]]++;
	for (guint i = 0; i < count; i++)
		if (size[i] > size[main_lead])
			main_lead = i;
	if (*reference != G_MAXUINT)
		main_lead = leader[*reference];
	for (guint lead = 0; lead < count && ok; lead++) {
		if (leader[lead] != lead)
			continue;
		guint own = G_MAXUINT, *chosen = lead == main_lead ? reference : &own;
		guint group = lead == main_lead ? 0 : next_group++;
		if (size[lead] == 1) {
			set_identity(&maps[lead]);
			*chosen = lead;
		} else {
			ok = align_component(grouping, leader, lead, chosen, maps, &grouping->pair_bounds[group]);
		}
		for (guint i = lead; i < count; i++)
			if (leader[i] == lead)
				maps[i].group = group;
	}
	return ok;
}

struct dtc_node_map *dtc_group_align(struct dtc_grouping *grouping)
{
	struct dtc_node_map *maps = g_new0(struct dtc_node_map, grouping->node_count + 1);
	guint reference = grouping->reference;
	while (!align_all(grouping, &reference, maps)) { /* each attempt that fails has lost a pair */
		reference = grouping->reference;
		for (guint i = 0; i < grouping->node_count; i++)
			g_clear_pointer(&maps[i].knots, g_array_unref);
		for (guint i = 0; i <= grouping->node_count; i++)
			g_clear_pointer(&grouping->pair_bounds[i], dtc_pair_bounds_free);
	}
	grouping->reference = reference;
	return maps;
}
