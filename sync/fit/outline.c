/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/outline.h"

#include <dtrace-chain/bisect.h>

/* Halving ends here: a picture shows no more. */
#define STRETCHES_MAX 64
/* Nothing is steeper than a clock that gains a second per second: the whole hull. */
static const struct dtc_rates every_rate = { -1, 1 };

struct hull {
	struct dtc_point *points; /* owned */
	guint count;
};

/* The first point at or after x. */
static guint find_point(const struct dtc_point *points, guint count, int64_t x)
{
	return DTC_BISECT(i, 0, count, points[i].x < x);
}

static struct hull make_hull(const struct dtc_point *points, guint count, bool is_upper, int64_t begin, int64_t end)
{
	guint first = find_point(points, count, begin), last = find_point(points, count, end);
	struct hull hull = { g_memdup2(points + first, (last - first + 1) * sizeof(*points)), last - first };
	hull.count = dtc_points_reduce(hull.points, hull.count, is_upper, &every_rate);
	return hull;
}

/* Is a corner of one beyond an edge of the other? Both are sorted by x. */
static bool is_crossed(const struct hull *corners, const struct hull *edges, int sign)
{
	guint k = 0;
	for (guint i = 0; i < corners->count; i++) {
		const struct dtc_point *corner = &corners->points[i];
		while (k + 2 < edges->count && edges->points[k + 1].x < corner->x)
			k++;
		if (k + 1 >= edges->count || corner->x < edges->points[k].x || corner->x > edges->points[k + 1].x)
			continue;
		const struct dtc_point *left = &edges->points[k], *right = left + 1;
		__int128 rise = (__int128)(right->v - left->v) * (corner->x - left->x);
		__int128 above = (__int128)(corner->v - left->v) * (right->x - left->x) - rise;
		if (sign * above < 0)
			return true;
	}
	return false;
}

static void append_hull(const struct dtc_pair *pair, const struct hull *hull, bool is_upper, GArray *corners)
{
	for (guint i = 0; i < hull->count; i++) {
		struct dtc_sync_corner corner = {
			.a_ns = dtc_nominal_to_node(&pair->nominal_a, hull->points[i].x),
			.b_ns = dtc_nominal_to_node(&pair->nominal_b, hull->points[i].x + hull->points[i].v),
			.is_ab = is_upper,
			.is_first = i == 0,
		};
		g_array_append_val(corners, corner);
	}
}

void dtc_outline_append(const struct dtc_pair *pair, const struct dtc_era *era, GArray *corners)
{
	const struct dtc_cloud *cloud = &era->cloud;
	int64_t begin = era->begin, least = (era->end - era->begin) / STRETCHES_MAX;
	while (begin <= era->end) {
		int64_t length = era->end + 1 - begin;
		for (;; length /= 2) {
			/* points may lie a little outside of the span that tells where an era is: take them all */
			int64_t from = begin == era->begin ? INT64_MIN : begin;
			int64_t to = begin + length > era->end ? INT64_MAX : begin + length;
			struct hull upper = make_hull(cloud->upper, cloud->upper_count, true, from, to);
			struct hull lower = make_hull(cloud->lower, cloud->lower_count, false, from, to);
			bool is_clear = !is_crossed(&upper, &lower, 1) && !is_crossed(&lower, &upper, -1);
			if (is_clear || length <= least + 1) {
				append_hull(pair, &upper, true, corners);
				append_hull(pair, &lower, false, corners);
			}
			g_free(upper.points);
			g_free(lower.points);
			if (is_clear || length <= least + 1)
				break;
		}
		begin += length;
	}
}
