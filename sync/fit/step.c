/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/step.h"

#include <dtrace-chain/sort.h>

#include <math.h>
#include <stdlib.h>

#define WINDOWS_MAX 256
#define WINDOWS_MIN 8
#define MESSAGES_PER_WINDOW 16
/* Of a window's messages the low quantile that stands for the envelope: a few wrong ones do not move it. */
#define QUANTILE 0.08
/* Windows on each side whose medians are compared. */
#define REACH 3
/* A jump must be this many times the usual difference of neighbouring windows, and the directions must agree. */
#define NOISE_FACTOR 12
#define LEAST_STEP_NS 1000

struct window {
	double x;     /* middle, relative to the begin */
	double upper; /* envelope levels */
	double lower;
};

static double get_median(double *values, guint count)
{
	dtc_sort_double(values, count);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Low quantile of sign * v among points [*next, ...) before limit; NAN if there are too few. */
static double get_level(const struct dtc_placed *placed, guint *next, int64_t limit, int sign, double *values)
{
	guint found = 0;
	for (; *next < placed->count; ++*next) {
		struct dtc_point point = dtc_placed_get_point(placed, *next);
		if (point.x >= limit)
			break;
		values[found++] = sign * (double)point.v;
	}
	if (found < MESSAGES_PER_WINDOW / 4)
		return NAN;
	dtc_sort_double(values, found);
	return sign * values[(guint)(found * QUANTILE)];
}

static GArray *get_windows(const struct dtc_message_points *placed, int64_t begin, int64_t end)
{
	GArray *windows = g_array_new(FALSE, FALSE, sizeof(struct window));
	guint fewer = MIN(placed->upper.count, placed->lower.count);
	guint count = MIN(fewer / MESSAGES_PER_WINDOW, WINDOWS_MAX), next_upper = 0, next_lower = 0;
	g_autofree double *values = g_new(double, MAX(placed->upper.count, placed->lower.count) + 1);
	for (guint k = 0; k < count; k++) {
		int64_t limit =
			k + 1 == count ? INT64_MAX : begin + (int64_t)((__int128)(end - begin) * (k + 1) / count);
		struct window window = { .x = (double)(end - begin) * (k + 0.5) / count };
		window.upper = get_level(&placed->upper, &next_upper, limit, 1, values);
		window.lower = get_level(&placed->lower, &next_lower, limit, -1, values);
		if (!isnan(window.upper) && !isnan(window.lower))
			g_array_append_val(windows, window);
	}
	return windows;
}

static const struct window *get_window(const GArray *windows, guint index)
{
	return &g_array_index(windows, struct window, index);
}

static double get_middle(const struct window *window)
{
	return (window->upper + window->lower) / 2;
}

/* The slope around a window, from pairs that do not span it. */
static double get_slope(const GArray *windows, guint at)
{
	double slopes[4 * REACH];
	guint count = 0;
	for (guint k = at > 2 * REACH ? at - 2 * REACH : 0; k + 1 < windows->len && k < at + 2 * REACH; k++) {
		const struct window *left = get_window(windows, k), *right = get_window(windows, k + 1);
		if (k + 1 >= at && k <= at)
			continue;
		slopes[count++] = (get_middle(right) - get_middle(left)) / (right->x - left->x);
	}
	return count ? get_median(slopes, count) : 0;
}

/* Level at the window's place from REACH windows on one side; upper, lower and middle. */
static bool get_side(const GArray *windows, guint at, bool before, double slope, double ret_levels[3])
{
	double levels[3][REACH];
	if (before ? at < REACH : at + REACH >= windows->len)
		return false;
	for (guint i = 0; i < REACH; i++) {
		const struct window *window = get_window(windows, before ? at - 1 - i : at + 1 + i);
		double shift = slope * (get_window(windows, at)->x - window->x);
		levels[0][i] = window->upper + shift;
		levels[1][i] = window->lower + shift;
		levels[2][i] = get_middle(window) + shift;
	}
	for (guint i = 0; i < 3; i++)
		ret_levels[i] = get_median(levels[i], REACH);
	return true;
}

/* The usual difference of the middles of neighbouring windows once their trend is taken off. */
static double get_noise(const GArray *windows)
{
	guint count = 0;
	g_autofree double *bends = g_new(double, windows->len);
	for (guint k = 1; k + 1 < windows->len; k++)
		bends[count++] = fabs(get_middle(get_window(windows, k - 1)) - 2 * get_middle(get_window(windows, k)) +
				      get_middle(get_window(windows, k + 1)));
	return count ? get_median(bends, count) / 1.6 : INFINITY;
}

struct line {
	double x, before, after, slope;
};

/*
 * Where exactly: a message below the later level of the upper cloud (above the one of the lower) fits on one side only.
 * The split with the fewest messages on the wrong side wins.
 */
static bool locate(const struct dtc_message_points *placed, int64_t origin, int64_t begin, int64_t end,
		   const struct line *line, struct dtc_step *ret_step)
{
	struct sided {
		int64_t x;
		int side; /* -1: only before, 1: only after */
	};
	g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(struct sided));
	guint i = 0, j = 0, after_count = 0;
	const struct dtc_placed *upper = &placed->upper, *lower = &placed->lower;
	while (i < upper->count || j < lower->count) {
		bool is_upper = j == lower->count ||
				(i < upper->count && dtc_placed_get_x(upper, i) <= dtc_placed_get_x(lower, j));
		struct dtc_point point = is_upper ? dtc_placed_get_point(upper, i++) : dtc_placed_get_point(lower, j++);
		if (point.x < begin || point.x > end)
			continue;
		double shift = line->slope * ((double)(point.x - origin) - line->x);
		double before = line->before + shift, after = line->after + shift, v = (double)point.v;
		bool not_before = is_upper ? v < before : v > before, not_after = is_upper ? v < after : v > after;
		if (not_before == not_after)
			continue;
		struct sided sided = { point.x, not_after ? -1 : 1 };
		after_count += sided.side > 0;
		g_array_append_val(list, sided);
	}
	/* errors of a split before entry k: 'after' ones left of it plus 'before' ones right of it */
	guint wrong = list->len - after_count, least = wrong, best = 0;
	for (guint k = 0; k < list->len; k++) {
		wrong = g_array_index(list, struct sided, k).side > 0 ? wrong + 1 : wrong - 1;
		if (wrong < least) {
			least = wrong;
			best = k + 1;
		}
	}
	if (best == 0 || best == list->len)
		return false;
	ret_step->begin = g_array_index(list, struct sided, best - 1).x;
	ret_step->end = g_array_index(list, struct sided, best).x;
	ret_step->change = line->after - line->before;
	return ret_step->begin < ret_step->end;
}

GArray *dtc_step_find(const struct dtc_message_points *placed, int64_t begin, int64_t end)
{
	GArray *steps = g_array_new(FALSE, FALSE, sizeof(struct dtc_step));
	g_autoptr(GArray) windows = get_windows(placed, begin, end);
	if (windows->len < WINDOWS_MIN)
		return steps;
	double threshold = MAX(NOISE_FACTOR * get_noise(windows), LEAST_STEP_NS);
	g_autofree double *jumps = g_new0(double, windows->len);
	g_autofree struct line *lines = g_new0(struct line, windows->len);
	for (guint k = 0; k < windows->len; k++) {
		double before[3], after[3], slope = get_slope(windows, k);
		if (!get_side(windows, k, true, slope, before) || !get_side(windows, k, false, slope, after))
			continue;
		double jump = after[2] - before[2], upper = after[0] - before[0], lower = after[1] - before[1];
		if (fabs(jump) <= threshold || fabs(upper - lower) > 0.5 * fabs(jump))
			continue;
		jumps[k] = fabs(jump);
		lines[k] = (struct line){ get_window(windows, k)->x, before[2], after[2], slope };
	}
	double length = (double)(end - begin) / windows->len;
	for (guint k = 0; k < windows->len; k++) {
		bool highest = jumps[k] > 0;
		for (guint i = k > REACH ? k - REACH : 0; highest && i < windows->len && i <= k + REACH; i++)
			highest = i < k ? jumps[i] < jumps[k] : jumps[i] <= jumps[k];
		struct dtc_step step;
		int64_t from = begin + llrint(lines[k].x - 2 * length), to = begin + llrint(lines[k].x + 2 * length);
		if (highest && locate(placed, begin, from, to, &lines[k], &step) &&
		    (!steps->len || g_array_index(steps, struct dtc_step, steps->len - 1).end < step.begin))
			g_array_append_val(steps, step);
	}
	return steps;
}
