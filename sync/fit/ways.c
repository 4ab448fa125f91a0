/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/ways.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Sums are rounded: one that is larger than another by less than this share may be the smaller one. */
#define ROUNDING 1e-9
/* Steps over a pair or out of the queue; a second's worth. */
#define STEPS_MAX ((guint64)100000000)
/* No place in the queue: not reached yet, or left it. */
#define OUTSIDE G_MAXUINT

struct arc {
	double length;
	guint to;
	guint pair;
};

struct DtcWays {
	guint node_count;
	guint *first; /* node -> its first arc; in the order of the pairs */
	struct arc *arcs;
	double *distance;
	guint *queue; /* a heap of nodes by distance, then number */
	guint *place; /* node -> where it is in the queue, or OUTSIDE */
	guint queue_count;
	guint64 steps; /* since it was made */
};

DtcWays *dtc_ways_new(const struct dtc_way_ends *pairs, const double *length, guint pair_count, guint node_count)
{
	DtcWays *ways = g_new0(DtcWays, 1);
	ways->node_count = node_count;
	ways->first = g_new0(guint, (gsize)node_count + 2);
	ways->arcs = g_new(struct arc, 2 * (gsize)pair_count + 1);
	ways->distance = g_new(double, (gsize)node_count + 1);
	ways->queue = g_new(guint, (gsize)node_count + 1);
	ways->place = g_new(guint, (gsize)node_count + 1);
	/* counted one place up, so that filling moves each first to where it belongs */
	for (guint p = 0; p < pair_count; p++) {
		ways->first[pairs[p].a + 2]++;
		ways->first[pairs[p].b + 2]++;
	}
	for (guint i = 2; i < node_count + 2; i++)
		ways->first[i] += ways->first[i - 1];
	for (guint p = 0; p < pair_count; p++) {
		ways->arcs[ways->first[pairs[p].a + 1]++] = (struct arc){ length[p], pairs[p].b, p };
		ways->arcs[ways->first[pairs[p].b + 1]++] = (struct arc){ length[p], pairs[p].a, p };
	}
	return ways;
}

void dtc_ways_free(DtcWays *ways)
{
	if (!ways)
		return;
	g_free(ways->first);
	g_free(ways->arcs);
	g_free(ways->distance);
	g_free(ways->queue);
	g_free(ways->place);
	g_free(ways);
}

/* --- the queue -------------------------------------------------------------------------------------------------- */

static bool comes_before(const double *distance, guint left, guint right)
{
	return distance[left] < distance[right] || (distance[left] == distance[right] && left < right);
}

static void put(DtcWays *ways, guint at, guint node)
{
	ways->queue[at] = node;
	ways->place[node] = at;
}

/* The node goes where it belongs, above the place that is free for it. */
static void raise_node(DtcWays *ways, const double *distance, guint at, guint node)
{
	for (; at > 0; at = (at - 1) / 2) {
		guint above = ways->queue[(at - 1) / 2];
		if (!comes_before(distance, node, above))
			break;
		put(ways, at, above);
	}
	put(ways, at, node);
}

static guint take_nearest(DtcWays *ways, const double *distance)
{
	guint nearest = ways->queue[0], last = ways->queue[--ways->queue_count], at = 0;
	for (guint below; (below = 2 * at + 1) < ways->queue_count; at = below) {
		if (below + 1 < ways->queue_count && comes_before(distance, ways->queue[below + 1], ways->queue[below]))
			below++;
		if (!comes_before(distance, ways->queue[below], last))
			break;
		put(ways, at, ways->queue[below]);
	}
	if (ways->queue_count)
		put(ways, at, last);
	ways->place[nearest] = OUTSIDE;
	return nearest;
}

/* --- ways ------------------------------------------------------------------------------------------------------- */

static void begin(DtcWays *ways, guint from, double *distance)
{
	for (guint i = 0; i < ways->node_count; i++) {
		distance[i] = INFINITY;
		ways->place[i] = OUTSIDE;
	}
	distance[from] = 0;
	ways->queue_count = 1;
	put(ways, 0, from);
}

static void leave(DtcWays *ways, guint node, double *distance, guint *ret_before)
{
	for (guint k = ways->first[node]; k < ways->first[node + 1]; k++) {
		const struct arc *arc = &ways->arcs[k];
		double length = distance[node] + arc->length;
		if (!(length < distance[arc->to]))
			continue;
		distance[arc->to] = length;
		if (ret_before)
			ret_before[arc->to] = arc->pair;
		bool is_new = ways->place[arc->to] == OUTSIDE;
		raise_node(ways, distance, is_new ? ways->queue_count++ : ways->place[arc->to], arc->to);
	}
	ways->steps += 1 + ways->first[node + 1] - ways->first[node];
}

void dtc_ways_find(DtcWays *ways, guint from, double *ret_distance, guint *ret_before, guint *ret_order)
{
	guint done = 0;
	begin(ways, from, ret_distance);
	while (ways->queue_count) {
		guint nearest = take_nearest(ways, ret_distance);
		if (ret_order)
			ret_order[done++] = nearest;
		leave(ways, nearest, ret_distance, ret_before);
	}
	for (guint i = 0; i < ways->node_count && ret_order && done < ways->node_count; i++)
		if (isinf(ret_distance[i]))
			ret_order[done++] = i;
}

/* --- the middle ------------------------------------------------------------------------------------------------- */

/*
 * The sum of the distances from a node, and the nodes by distance; INFINITY as soon as it is certain that it is above a
 * limit: what is still to come is as far as the last one that was reached, or farther.
 */
static double get_sum(DtcWays *ways, guint from, double limit, guint *ret_order)
{
	double sum = 0;
	guint done = 0;
	begin(ways, from, ways->distance);
	while (ways->queue_count) {
		guint nearest = take_nearest(ways, ways->distance);
		ret_order[done++] = nearest;
		sum += ways->distance[nearest];
		if (sum + (ways->node_count - done) * ways->distance[nearest] > limit)
			return INFINITY;
		leave(ways, nearest, ways->distance, NULL);
	}
	/* in the order of the nodes: what is rounded does not depend on who is nearest */
	sum = 0;
	for (guint i = 0; i < ways->node_count; i++)
		sum += ways->distance[i];
	return sum;
}

/*
 * With the distances from one node, sorted, those from another one at distance x are at least |distance - x| each: the
 * sum of these bounds its sum from below (exactly so where the ways of the first lead through the other).
 */
static void raise_bounds(const DtcWays *ways, const guint *order, double sum, double *bound)
{
	double before = 0;
	for (guint t = 0; t < ways->node_count; t++) {
		double x = ways->distance[order[t]], rest = ways->node_count - t;
		double least = t * x - before + (sum - before) - rest * x;
		bound[order[t]] = MAX(bound[order[t]], least);
		before += x;
	}
}

guint dtc_ways_find_middle(DtcWays *ways)
{
	guint count = ways->node_count, best = 0;
	g_autofree double *bound = g_new0(double, count + 1);
	g_autofree guint *order = g_new0(guint, count + 1);
	double best_sum = INFINITY;
	for (guint round = 0; round < count; round++) {
		guint next = 0;
		for (guint i = 1; i < count; i++)
			if (bound[i] < bound[next])
				next = i;
		if (bound[next] > best_sum * (1 + ROUNDING) || (round && ways->steps > STEPS_MAX))
			break;
		double sum = get_sum(ways, next, best_sum * (1 + ROUNDING), order);
		if (sum < best_sum || (sum == best_sum && next < best)) {
			best = next;
			best_sum = sum;
		}
		if (isfinite(sum))
			raise_bounds(ways, order, sum, bound);
		bound[next] = INFINITY;
		ways->steps += count;
	}
	return best;
}
