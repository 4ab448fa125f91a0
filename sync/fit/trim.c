/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/trim.h"

#include <math.h>

void dtc_marks_clear(struct dtc_marks *marks)
{
	g_clear_pointer(&marks->upper, g_free);
	g_clear_pointer(&marks->lower, g_free);
	marks->upper_count = marks->lower_count = 0;
}

/* The kept points of a range, reduced in stretches; index gives the mark of each. */
struct reduced {
	struct dtc_point *points;
	guint *index;
	guint count;
};

static gint32 saturate(double ns)
{
	return ns > G_MAXINT32 ? G_MAXINT32 : ns < 1 ? 1 : (gint32)ns;
}

static struct reduced reduce(const struct dtc_mark *marks, guint begin, guint end)
{
	struct reduced reduced = { g_new(struct dtc_point, end - begin + 1), g_new(guint, end - begin + 1), 0 };
	for (guint i = begin; i < end; i++) {
		if (marks[i].trimmed)
			continue;
		reduced.points[reduced.count] = marks[i].point;
		reduced.index[reduced.count++] = i;
	}
	return reduced;
}

static void reduced_clear(struct reduced *reduced)
{
	g_free(reduced->points);
	g_free(reduced->index);
}

/*
 * How far a point stands out of its own direction: the distance to the envelope of the others around it. A wrong stamp
 * stands alone, a right one has neighbours of about the same delay.
 */
static double get_isolation(const struct reduced *reduced, guint at, double rate, double wander, int sign)
{
	double nearest = INFINITY;
	const struct dtc_point *point = &reduced->points[at];
	guint begin = at > 256 ? at - 256 : 0, end = MIN(reduced->count, at + 257);
	for (guint i = begin; i < end; i++) {
		if (i == at)
			continue;
		double x = (double)(reduced->points[i].x - point->x);
		double distance = sign * ((double)(reduced->points[i].v - point->v) - rate * x) + wander * fabs(x);
		nearest = MIN(nearest, distance);
	}
	return nearest;
}

bool dtc_trim_contradictions(struct dtc_marks *marks, guint upper_begin, guint upper_end, guint lower_begin,
			     guint lower_end, double wander, const struct dtc_rates *box)
{
	guint most = MAX(4, (upper_end - upper_begin + lower_end - lower_begin) / 20);
	for (guint removed = 0;; removed++) {
		struct reduced upper = reduce(marks->upper, upper_begin, upper_end);
		struct reduced lower = reduce(marks->lower, lower_begin, lower_end);
		struct dtc_cloud cloud = { upper.points, upper.count, lower.points, lower.count };
		struct dtc_rates rates;
		struct dtc_witness witness;
		bool ok = dtc_cloud_get_rates(&cloud, wander, box, &rates, &witness);
		bool go_on = !ok && removed < most;
		if (go_on) {
			double slope;
			gint32 by = saturate(-dtc_cloud_get_room(&cloud, wander, rates.lo, &slope, NULL));
			bool blame_upper = get_isolation(&upper, witness.upper, rates.lo, wander, 1) >
					   get_isolation(&lower, witness.lower, rates.lo, wander, -1);
			struct dtc_mark *mark = blame_upper ? &marks->upper[upper.index[witness.upper]]
							    : &marks->lower[lower.index[witness.lower]];
			mark->trimmed = true;
			mark->by_ns = by;
		}
		reduced_clear(&upper);
		reduced_clear(&lower);
		if (!go_on)
			return ok;
	}
}
