/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Windows of equal length; in each the fastest message of a direction. Its second difference over three windows is free
 * of offset and drift: what is left is noise of the delays, about their mean gap, and the clock's wander. Windows are
 * doubled from scale to scale. A rate that goes up and down by w within four windows of length t moves d by about w t,
 * so that second differences over t are compared with the wander as w >= FACTOR * difference / t.
 */
#include "sync/fit/wander.h"

#include <math.h>

/*
 * The shortest window holds this many messages of the direction with fewer, as far as that lies between the two
 * lengths: shorter ones show noise only, and nothing is taken to go up and down within less than two of the longer.
 */
#define MESSAGES_PER_WINDOW 64
#define WINDOW_LEAST_NS 5e9
#define WINDOW_MOST_NS 8e9
#define WINDOWS_MAX 65536
#define WINDOWS_MIN 32
/* Of the windows of a scale so many may be without a message: one in... */
#define EMPTY_PART 16
/* Never less than this part of what is assumed. */
#define LEAST_PART 8
#define FACTOR_LEAST 1.1
#define FACTOR_MOST 3

/*
 * Multiple of the root mean square of the second differences. Where windows are short there are many of them and noise
 * is most of what they show; where they are long it is nothing against any wander that counts, but few windows have to
 * speak for a whole swing.
 */
static double get_factor(double window_ns)
{
	return CLAMP(FACTOR_LEAST * sqrt(window_ns / WINDOW_MOST_NS), FACTOR_LEAST, FACTOR_MOST);
}

/* Lowest sign * v in each window, NAN where there is no message. */
static void find_floors(const struct dtc_placed *placed, guint begin, guint end, int sign, int64_t origin,
			double window_ns, double *floors, guint count)
{
	for (guint k = 0; k < count; k++)
		floors[k] = NAN;
	for (guint i = begin; i < end; i++) {
		if (dtc_placed_is_trimmed(placed, i))
			continue;
		struct dtc_point point = dtc_placed_get_point(placed, i);
		guint k = MIN((guint)((double)(point.x - origin) / window_ns), count - 1);
		double v = sign * (double)point.v;
		floors[k] = v < floors[k] || isnan(floors[k]) ? v : floors[k];
	}
}

/* Root mean square of the second differences; infinite if too many windows are empty. */
static double get_bend(const double *floors, guint count)
{
	double sum = 0;
	guint found = 0;
	for (guint k = 1; k + 1 < count; k++) {
		double bend = floors[k - 1] - 2 * floors[k] + floors[k + 1];
		if (isnan(bend))
			continue;
		sum += bend * bend;
		found++;
	}
	return found * EMPTY_PART >= (count - 2) * (EMPTY_PART - 3) ? sqrt(sum / found) : INFINITY;
}

static guint merge_windows(double *floors, guint count)
{
	for (gsize k = 0; 2 * k < count; k++) {
		double left = floors[2 * k], right = 2 * k + 1 < count ? floors[2 * k + 1] : NAN;
		floors[k] = isnan(left) || right < left ? right : left;
	}
	return count / 2; /* the half window at the end, if there is one, says nothing */
}

double dtc_wander_measure(const struct dtc_message_points *placed, const guint begin[2], const guint end[2],
			  int64_t span_begin, int64_t span_end, double most)
{
	double span = (double)(span_end - span_begin), wander = most / LEAST_PART;
	guint messages = MIN(end[0] - begin[0], end[1] - begin[1]);
	double wanted_ns = CLAMP(span * MESSAGES_PER_WINDOW / MAX(messages, 1), WINDOW_LEAST_NS, WINDOW_MOST_NS);
	guint count = (guint)MIN(span / wanted_ns, WINDOWS_MAX);
	if (count < WINDOWS_MIN)
		return most;
	double window_ns = span / count;
	g_autofree double *upper = g_new(double, count), *lower = g_new(double, count), *middle = g_new(double, count);
	find_floors(&placed->upper, begin[0], end[0], 1, span_begin, window_ns, upper, count);
	find_floors(&placed->lower, begin[1], end[1], -1, span_begin, window_ns, lower, count);
	while (count >= 4 && wander < most) {
		for (guint k = 0; k < count; k++)
			middle[k] = (upper[k] - lower[k]) / 2;
		/* what shows least is right: noise adds, and the clock is in all of them */
		double bend = MIN(get_bend(middle, count), MIN(get_bend(upper, count), get_bend(lower, count)));
		wander = MAX(wander, get_factor(window_ns) * bend / window_ns);
		merge_windows(upper, count);
		count = merge_windows(lower, count);
		window_ns *= 2;
	}
	return MIN(wander, most);
}
