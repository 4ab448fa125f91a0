/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What messages say about the difference d(x) of two clocks, as a function of the first clock's reading x. A message in
 * one direction is an upper point (d(x) <= v), one in the other direction a lower point (d(x) >= v). The assumption is
 * that a rate m exists with |d' - m| <= wander everywhere; m is known to lie in a box.
 *
 * For a given m the best upper bound at x is min over points of v + m (x - x_i) + wander |x - x_i|: an envelope of
 * cones. It is concave in m, so that the largest bound over all m in an interval is found by following slopes, and only
 * vertices of the convex hull of the points left of x and of those right of x can take part. Orientation of hulls is
 * decided in exact integers (128 bit products).
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_point {
	int64_t x;
	int64_t v;
};

struct dtc_rates {
	double lo;
	double hi;
};

/* Points of one stretch of time, each list sorted by x. Borrowed. */
struct dtc_cloud {
	const struct dtc_point *upper;
	guint upper_count;
	const struct dtc_point *lower;
	guint lower_count;
};

/* The pair of points that decides a margin. */
struct dtc_witness {
	guint upper;
	guint lower;
};

/* Sorts points by (x, v). */
void dtc_points_sort(struct dtc_point *points, guint count);

/*
 * Keeps of sorted points only vertices of the lower hull (is_upper: of the upper points, the low ones matter) or the
 * upper hull, as far as their edges have slopes within the box. Gives the new count; order is kept.
 */
guint dtc_points_reduce(struct dtc_point *points, guint count, bool is_upper, const struct dtc_rates *box);

/*
 * Smallest room between upper and lower points for rate m: negative if no clock with that rate satisfies all. +infinity
 * if one list is empty. ret_slope is the derivative in m; ret_witness may be NULL.
 */
double dtc_cloud_get_room(const struct dtc_cloud *cloud, double wander, double rate, double *ret_slope,
			  struct dtc_witness *ret_witness);

/*
 * The rates within box for which all points can be satisfied: an interval, rounded outwards. False if there is none;
 * then the witness contradicts, and ret_rates is the single rate that violates least.
 */
bool dtc_cloud_get_rates(const struct dtc_cloud *cloud, double wander, const struct dtc_rates *box,
			 struct dtc_rates *ret_rates, struct dtc_witness *ret_witness);

/* The rate within box with the largest room, and that room: the maximum-margin line, for wander 0. */
double dtc_cloud_get_best_rate(const struct dtc_cloud *cloud, double wander, const struct dtc_rates *box,
			       double *ret_room);

/*
 * Certified bound at each x of grid (sorted) from one list: the largest value (is_upper) or the smallest (not) that d
 * can take there for any rate in rates. Infinite where there are no points. Rounded outwards by less than a nanosecond.
 */
void dtc_points_get_bounds(const struct dtc_point *points, guint count, bool is_upper, double wander,
			   const struct dtc_rates *rates, const int64_t *grid, guint grid_count, double *ret_bounds);
