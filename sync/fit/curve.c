/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/curve.h"

#include <math.h>

/* Level of the line with that rate half way between upper and lower points at x; ret_margin: half the room. */
static double get_level(const struct dtc_cloud *cloud, int64_t x, double rate, double *ret_margin)
{
	double above = INFINITY, below = -INFINITY;
	for (guint i = 0; i < cloud->upper_count; i++)
		above = MIN(above, (double)cloud->upper[i].v - rate * (double)(cloud->upper[i].x - x));
	for (guint i = 0; i < cloud->lower_count; i++)
		below = MAX(below, (double)cloud->lower[i].v - rate * (double)(cloud->lower[i].x - x));
	*ret_margin = (above - below) / 2;
	return (above + below) / 2;
}

void dtc_curve_fit(struct dtc_segment *segment, const struct dtc_rates *box)
{
	double room, margin;
	double rate = dtc_cloud_get_best_rate(&segment->cloud, 0, box, &room);
	double level = get_level(&segment->cloud, segment->begin, rate, &margin);
	int64_t end = MAX(segment->end, segment->begin + 1);
	segment->curve = g_new(struct dtc_curve_knot, 2);
	segment->curve_count = 2;
	segment->curve[0] = (struct dtc_curve_knot){ segment->begin, level, margin };
	segment->curve[1] = (struct dtc_curve_knot){ end, level + rate * (double)(end - segment->begin), margin };
}
