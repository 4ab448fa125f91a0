/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/envelope.h"

#include "sync/match/keyed.h"

#include <dtrace-chain/bisect.h>

#include <math.h>
#include <stdlib.h>

/* Rooms this little below zero are rounding, ns. */
#define ROUNDING_NS 0.01
/* Slopes of concave piecewise linear functions are followed; each step passes at least one vertex. */
#define MAX_STEPS 200

static int compare_points(const void *left, const void *right)
{
	const struct dtc_point *p = left, *q = right;
	if (p->x != q->x)
		return p->x < q->x ? -1 : 1;
	return (p->v > q->v) - (p->v < q->v);
}

static void sort_points(struct dtc_point *points, guint count)
{
	g_autofree struct dtc_keyed *keyed = g_new(struct dtc_keyed, 2 * (gsize)count);
	g_autofree struct dtc_point *before = g_memdup2(points, count * sizeof(*points));
	for (guint i = 0; i < count; i++)
		keyed[i] = (struct dtc_keyed){ (guint64)points[i].x ^ (guint64)1 << 63, i, 0 };
	dtc_keyed_sort(keyed, count, keyed + count);
	for (guint i = 0; i < count; i++)
		points[i] = before[keyed[i].index];
	for (guint i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && points[next].x == points[i].x; next++)
			;
		if (next - i > 1)
			qsort(&points[i], next - i, sizeof(*points), compare_points);
	}
}

void dtc_points_sort(struct dtc_point *points, guint count)
{
	for (guint i = 1; i < count; i++) {
		if (compare_points(&points[i - 1], &points[i]) > 0) {
			sort_points(points, count);
			return;
		}
	}
}

/* Is b on or above the line from a to c (times sign)? Exact: products of 63-bit differences. */
static bool is_redundant(const struct dtc_point *a, const struct dtc_point *b, const struct dtc_point *c, int sign)
{
	__int128 left = (__int128)(b->v - a->v) * (c->x - a->x);
	__int128 right = (__int128)(c->v - a->v) * (b->x - a->x);
	return sign > 0 ? left >= right : left <= right;
}

static double get_slope(const struct dtc_point *a, const struct dtc_point *b)
{
	return (double)(b->v - a->v) / (double)(b->x - a->x);
}

guint dtc_points_reduce(struct dtc_point *points, guint count, bool is_upper, const struct dtc_rates *box)
{
	int sign = is_upper ? 1 : -1;
	guint top = 0;
	for (guint i = 0; i < count; i++) {
		struct dtc_point point = points[i];
		if (top && points[top - 1].x == point.x) {
			/* same instant: the tighter of the two */
			if (sign * points[top - 1].v <= sign * point.v)
				continue;
			top--;
		}
		while (top >= 2 && is_redundant(&points[top - 2], &points[top - 1], &point, sign))
			top--;
		points[top++] = point;
	}
	/* a line with a slope in the box touches no vertex whose edges are both steeper than the box on one side */
	guint first = 0, last = top;
	double low = is_upper ? box->lo : -box->hi, high = is_upper ? box->hi : -box->lo;
	while (last - first >= 2 && sign * get_slope(&points[first], &points[first + 1]) < low)
		first++;
	while (last - first >= 2 && sign * get_slope(&points[last - 2], &points[last - 1]) > high)
		last--;
	for (guint i = first; i < last && first; i++)
		points[i - first] = points[i];
	return last - first;
}

double dtc_cloud_get_room(const struct dtc_cloud *cloud, double wander, double rate, double *ret_slope,
			  struct dtc_witness *ret_witness)
{
	*ret_slope = 0;
	if (!cloud->upper_count || !cloud->lower_count)
		return INFINITY;
	int64_t origin = MIN(cloud->upper[0].x, cloud->lower[0].x);
	int64_t base = cloud->upper[0].v;
	double room = INFINITY, x_before = 0;
	double ceiling = INFINITY, floor_value = -INFINITY; /* cones of the points passed, at x_before */
	guint ceiling_point = 0, floor_point = 0;
	struct dtc_witness witness = { 0, 0 };
	guint i = 0, j = 0;
	while (i < cloud->upper_count || j < cloud->lower_count) {
		bool take_upper =
			j == cloud->lower_count || (i < cloud->upper_count && cloud->upper[i].x <= cloud->lower[j].x);
		const struct dtc_point *point = take_upper ? &cloud->upper[i] : &cloud->lower[j];
		double x = (double)(point->x - origin);
		double value = (double)(point->v - base) - rate * x;
		ceiling += wander * (x - x_before);
		floor_value -= wander * (x - x_before);
		x_before = x;
		if (take_upper) {
			if (value - floor_value < room) {
				room = value - floor_value;
				witness = (struct dtc_witness){ i, floor_point };
			}
			if (value < ceiling) {
				ceiling = value;
				ceiling_point = i;
			}
			i++;
		} else {
			if (ceiling - value < room) {
				room = ceiling - value;
				witness = (struct dtc_witness){ ceiling_point, j };
			}
			if (value > floor_value) {
				floor_value = value;
				floor_point = j;
			}
			j++;
		}
	}
	*ret_slope = (double)(cloud->lower[witness.lower].x - cloud->upper[witness.upper].x);
	if (ret_witness)
		*ret_witness = witness;
	return room;
}

/*
 * Newton's method on a concave function from outside: the tangent's zero never passes the function's, so the result
 * errs outwards only. direction 1 looks for the left end of the interval, -1 for the right end.
 */
static bool find_end(const struct dtc_cloud *cloud, double wander, const struct dtc_rates *box, int direction,
		     double *ret_rate, struct dtc_witness *ret_witness)
{
	double rate = direction > 0 ? box->lo : box->hi;
	for (guint step = 0; step < MAX_STEPS; step++) {
		double slope, room = dtc_cloud_get_room(cloud, wander, rate, &slope, ret_witness);
		*ret_rate = rate;
		if (room >= -ROUNDING_NS)
			return true;
		if (slope * direction <= 0)
			return false;
		double next = rate - room / slope;
		if (next == rate)
			return true;
		rate = next;
		if (rate < box->lo || rate > box->hi)
			return false;
	}
	return true; /* still outside the true end: a bound, if not the tightest */
}

bool dtc_cloud_get_rates(const struct dtc_cloud *cloud, double wander, const struct dtc_rates *box,
			 struct dtc_rates *ret_rates, struct dtc_witness *ret_witness)
{
	struct dtc_witness witness;
	struct dtc_rates rates = *box;
	if (find_end(cloud, wander, box, 1, &rates.lo, &witness) &&
	    find_end(cloud, wander, box, -1, &rates.hi, &witness) && rates.lo <= rates.hi) {
		*ret_rates = rates;
		return true;
	}
	double room;
	rates.lo = rates.hi = dtc_cloud_get_best_rate(cloud, wander, box, &room);
	if (room >= -ROUNDING_NS) {
		*ret_rates = rates;
		return true;
	}
	double slope;
	dtc_cloud_get_room(cloud, wander, rates.lo, &slope, ret_witness);
	*ret_rates = rates;
	return false;
}

double dtc_cloud_get_best_rate(const struct dtc_cloud *cloud, double wander, const struct dtc_rates *box,
			       double *ret_room)
{
	double left = box->lo, right = box->hi, left_slope, right_slope;
	double left_room = dtc_cloud_get_room(cloud, wander, left, &left_slope, NULL);
	double right_room = dtc_cloud_get_room(cloud, wander, right, &right_slope, NULL);
	*ret_room = left_room;
	if (isinf(left_room))
		return (left + right) / 2;
	if (left_slope <= 0)
		return left;
	*ret_room = right_room;
	if (right_slope >= 0)
		return right;
	/* cutting planes: the tangents from both sides meet above the maximum */
	for (guint step = 0; step < MAX_STEPS; step++) {
		double rate =
			(right_room - left_room + left_slope * left - right_slope * right) / (left_slope - right_slope);
		double ceiling = left_room + left_slope * (rate - left);
		double slope, room;
		if (!(rate > left && rate < right))
			break;
		room = dtc_cloud_get_room(cloud, wander, rate, &slope, NULL);
		if (slope == 0 || ceiling - room <= 1e-6 * (1 + fabs(room))) {
			*ret_room = room;
			return rate;
		}
		if (slope > 0) {
			left = rate;
			left_room = room;
			left_slope = slope;
		} else {
			right = rate;
			right_room = room;
			right_slope = slope;
		}
	}
	*ret_room = MAX(left_room, right_room);
	return left_room >= right_room ? left : right;
}

/* --- bounds on a grid ------------------------------------------------------------------------------------------- */

/* A chain of hull vertices in doubles relative to an origin; grows at one end. */
struct chain {
	guint *at; /* indexes of points */
	guint count;
};

struct undo {
	guint place;
	guint old_at;
	guint old_count;
};

/* Is entry i of the chain redundant once the point is added, or all above it? */
static bool is_covered(const struct chain *chain, const struct dtc_point *points, guint i,
		       const struct dtc_point *added, int sign, bool ascending)
{
	const struct dtc_point *b = &points[chain->at[i]];
	if (b->x == added->x)
		return sign * added->v <= sign * b->v;
	if (i == 0)
		return false;
	const struct dtc_point *a = &points[chain->at[i - 1]];
	return ascending ? is_redundant(a, b, added, sign) : is_redundant(added, b, a, sign);
}

/*
 * Adds a point to the hull by binary search for its place, so that adding can be undone in constant time: only one
 * entry is overwritten. Points come in order of x, ascending or descending.
 */
static struct undo chain_push(struct chain *chain, const struct dtc_point *points, guint point, int sign,
			      bool ascending)
{
	/* keep as many as stay convex */
	guint keep = DTC_BISECT(i, 0, chain->count, !is_covered(chain, points, i, &points[point], sign, ascending));
	struct undo undo = { keep, chain->at[keep], chain->count };
	chain->at[keep] = point;
	chain->count = keep + 1;
	return undo;
}

static double get_rise(const struct dtc_point *a, const struct dtc_point *b, double rate, int sign)
{
	return sign * ((double)(b->v - a->v) - rate * (double)(b->x - a->x));
}

/* The vertex that minimises sign * (v - rate * x). */
static guint chain_find(const struct chain *chain, const struct dtc_point *points, double rate, int sign)
{
	return chain->at[DTC_BISECT(i, 0, chain->count - 1,
				    get_rise(&points[chain->at[i]], &points[chain->at[i + 1]], rate, sign) < 0)];
}

struct cone {
	double value;
	double slope; /* of the value in the rate */
};

/* Bound at x that the points of a chain give for a rate, with sign so that it is an upper one. */
static struct cone get_cone(const struct chain *chain, const struct dtc_point *points, int64_t x, double rate,
			    double wander, int sign, bool is_left)
{
	if (!chain->count)
		return (struct cone){ INFINITY, 0 };
	double steep = rate + (is_left ? sign * wander : -sign * wander);
	const struct dtc_point *point = &points[chain_find(chain, points, steep, sign)];
	double distance = (double)(x - point->x);
	return (struct cone){ sign * ((double)point->v + steep * distance), sign * distance };
}

/*
 * max over the rates of min(left, right): one rises and one falls with the rate. What is returned bounds the maximum
 * from above even if the search stops early.
 */
static double get_bound(const struct chain *left, const struct chain *right, const struct dtc_point *points, int64_t x,
			const struct dtc_rates *rates, double wander, int sign)
{
	/* for lower points everything is mirrored: the rate that raises the left value is the low end */
	double rise_end = sign > 0 ? rates->hi : rates->lo, fall_end = sign > 0 ? rates->lo : rates->hi;
	struct cone left_a = get_cone(left, points, x, fall_end, wander, sign, true);
	struct cone right_a = get_cone(right, points, x, fall_end, wander, sign, false);
	if (left_a.value >= right_a.value)
		return right_a.value;
	struct cone left_b = get_cone(left, points, x, rise_end, wander, sign, true);
	struct cone right_b = get_cone(right, points, x, rise_end, wander, sign, false);
	if (right_b.value >= left_b.value)
		return left_b.value;
	/* between a and b the two cross */
	double a = fall_end, b = rise_end;
	for (guint step = 0; step < 60; step++) {
		double bound = MIN(left_b.value, right_a.value);
		if (bound - MAX(left_a.value, right_b.value) < 0.25)
			break;
		double gap_a = right_a.value - left_a.value, gap_b = left_b.value - right_b.value;
		double part = gap_a / (gap_a + gap_b);
		if (step % 3 == 2)
			part = 0.5;
		double rate = a + (b - a) * CLAMP(part, 0.001, 0.999);
		if (rate == a || rate == b)
			break;
		struct cone l = get_cone(left, points, x, rate, wander, sign, true);
		struct cone r = get_cone(right, points, x, rate, wander, sign, false);
		if (l.value <= r.value) {
			a = rate;
			left_a = l;
			right_a = r;
		} else {
			b = rate;
			left_b = l;
			right_b = r;
		}
	}
	return MIN(left_b.value, right_a.value);
}

void dtc_points_get_bounds(const struct dtc_point *points, guint count, bool is_upper, double wander,
			   const struct dtc_rates *rates, const int64_t *grid, guint grid_count, double *ret_bounds)
{
	int sign = is_upper ? 1 : -1;
	struct chain left = { g_new0(guint, count + 1), 0 }, right = { g_new0(guint, count + 1), 0 };
	g_autofree struct undo *undo = g_new(struct undo, count + 1);
	for (guint i = count; i-- > 0;) /* all points lie to the right at first; taken back one by one */
		undo[i] = chain_push(&right, points, i, sign, false);
	guint next = 0;
	for (guint k = 0; k < grid_count; k++) {
		for (; next < count && points[next].x <= grid[k]; next++) {
			right.at[undo[next].place] = undo[next].old_at;
			right.count = undo[next].old_count;
			chain_push(&left, points, next, sign, true);
		}
		ret_bounds[k] = sign * get_bound(&left, &right, points, grid[k], rates, wander, sign);
	}
	g_free(left.at);
	g_free(right.at);
}
