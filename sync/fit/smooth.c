/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/smooth.h"

#include <math.h>

/* Points farther away than this many on a side, or lifted by more than this, do not decide anything. */
#define NEAREST_MAX 96
#define LIFT_MAX_NS 50000

struct lifted {
	double t; /* distance from x, positive */
	double y; /* value, lifted, with the sign of an upper point */
};

/* min over points of y + slope * t: for points on one side of x, seen from x. */
static double get_floor(const struct lifted *points, guint count, double slope)
{
	double least = INFINITY;
	for (guint i = 0; i < count; i++)
		least = MIN(least, points[i].y + slope * points[i].t);
	return least;
}

/*
 * max over slopes in [lo, hi] of min(left, right), where left rises with the slope and right falls. What is returned is
 * never below the maximum.
 */
static double get_bound(const struct lifted *left, guint left_count, const struct lifted *right, guint right_count,
			double lo, double hi)
{
	double left_lo = get_floor(left, left_count, lo), right_lo = get_floor(right, right_count, -lo);
	if (left_lo >= right_lo)
		return right_lo;
	double left_hi = get_floor(left, left_count, hi), right_hi = get_floor(right, right_count, -hi);
	if (right_hi >= left_hi)
		return left_hi;
	for (guint step = 0; step < 40; step++) {
		if (MIN(left_hi, right_lo) - MAX(left_lo, right_hi) < 0.5)
			break;
		double part = (right_lo - left_lo) / ((right_lo - left_lo) + (left_hi - right_hi));
		double slope = lo + (hi - lo) * (step % 3 == 2 ? 0.5 : CLAMP(part, 0.001, 0.999));
		if (slope == lo || slope == hi)
			break;
		double l = get_floor(left, left_count, slope), r = get_floor(right, right_count, -slope);
		if (l <= r) {
			lo = slope;
			left_lo = l;
			right_lo = r;
		} else {
			hi = slope;
			left_hi = l;
			right_hi = r;
		}
	}
	return MIN(left_hi, right_lo);
}

void dtc_points_tighten(const struct dtc_point *points, guint count, bool is_upper, double change_rate,
			const struct dtc_rates *rates, const int64_t *grid, guint grid_count, double *ret_bounds)
{
	int sign = is_upper ? 1 : -1;
	/* lower points are upper points of the negative difference, whose slopes are negative */
	double lo = is_upper ? rates->lo : -rates->hi, hi = is_upper ? rates->hi : -rates->lo;
	struct lifted left[NEAREST_MAX], right[NEAREST_MAX];
	guint next = 0;
	for (guint k = 0; k < grid_count; k++) {
		guint left_count = 0, right_count = 0;
		while (next < count && points[next].x <= grid[k])
			next++;
		for (guint i = next; i-- > 0 && left_count < NEAREST_MAX;) {
			double t = (double)(grid[k] - points[i].x), lift = change_rate * t * t / 2;
			if (lift > LIFT_MAX_NS)
				break;
			left[left_count++] = (struct lifted){ t, sign * (double)points[i].v + lift };
		}
		for (guint i = next; i < count && right_count < NEAREST_MAX; i++) {
			double t = (double)(points[i].x - grid[k]), lift = change_rate * t * t / 2;
			if (lift > LIFT_MAX_NS)
				break;
			right[right_count++] = (struct lifted){ t, sign * (double)points[i].v + lift };
		}
		double bound = get_bound(left, left_count, right, right_count, lo, hi);
		if (bound < sign * ret_bounds[k])
			ret_bounds[k] = sign * bound;
	}
}
