/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pair whose messages can all be true together loses none. If they cannot, some stamps are wrong, and then wrong ones
 * that happen to contradict nothing are about as likely: so first, window by window, what stands alone below its own
 * direction's cloud goes (the gap to the next is far beyond what the density of the others explains), then what still
 * contradicts. Leaving out a right message costs width, keeping a wrong one costs the guarantee.
 */
#include "sync/fit/trim.h"

#include <dtrace-chain/bisect.h>
#include <dtrace-chain/sort.h>

#include <math.h>
#include <stdlib.h>

#define MESSAGES_PER_WINDOW 96
#define WINDOWS_MAX 512
/*
 * Delays near the smallest come at a density of about count / spread: a gap of this many mean gaps (e^-14) is no
 * chance.
 */
#define GAP_FACTOR 14
/* No more than this part of a window or of a pair is taken for wrong. */
#define WRONG_PART 8
#define WRONG_PART_OF_PAIR 20
#define REMOVED_MAX 2000
#define CELL_MESSAGES 64

static gint32 saturate(double ns)
{
	return ns > G_MAXINT32 ? G_MAXINT32 : ns < 1 ? 1 : (gint32)ns;
}

/* --- windows ---------------------------------------------------------------------------------------------------- */

struct window {
	guint begin[2], end[2]; /* of points, upper and lower */
	double x;
	double level; /* half way between the low quantiles of both; NAN if a direction is missing */
};

static double get_quantile(const struct dtc_placed *placed, guint begin, guint end, int sign, double part,
			   double *values)
{
	guint count = 0;
	for (guint i = begin; i < end; i++)
		values[count++] = sign * (double)dtc_placed_get_point(placed, i).v;
	if (!count)
		return NAN;
	dtc_sort_double(values, count);
	return sign * values[(guint)(count * part)];
}

/* The smallest level below which points stand alone: -infinity if none does. residuals are sorted. */
static double find_gap(const double *residuals, guint count)
{
	guint most = count / WRONG_PART;
	double spread = residuals[count / 2] - residuals[MIN(count - 1, most)];
	double limit = GAP_FACTOR * spread / count + 10;
	for (guint i = most; i-- > 0;)
		if (residuals[i + 1] - residuals[i] > limit)
			return (residuals[i] + residuals[i + 1]) / 2;
	return -INFINITY;
}

/* How low a message lies, by its direction, beside a line through the window's middle. */
static double get_residual(const struct dtc_placed *placed, guint place, double x, double rate, int sign)
{
	struct dtc_point point = dtc_placed_get_point(placed, place);
	return sign * ((double)point.v - rate * ((double)point.x - x));
}

static void trim_window(struct dtc_placed *placed, guint begin, guint end, double x, double rate, int sign,
			double *values)
{
	guint count = end - begin;
	if (count < WRONG_PART)
		return;
	for (guint i = begin; i < end; i++)
		values[i - begin] = get_residual(placed, i, x, rate, sign);
	dtc_sort_double(values, count);
	double limit = find_gap(values, count), next = INFINITY;
	for (guint i = 0; i < count; i++)
		if (values[i] > limit)
			next = MIN(next, values[i]);
	for (guint i = begin; i < end; i++) {
		double value = get_residual(placed, i, x, rate, sign);
		if (value < limit)
			dtc_placed_trim(placed, i, saturate(next - value));
	}
}

static guint make_windows(const struct dtc_message_points *placed, const guint begin[2], const guint end[2],
			  struct window *windows, double *values)
{
	const struct dtc_placed *lists[2] = { &placed->upper, &placed->lower };
	int64_t first = MIN(dtc_placed_get_x(lists[0], begin[0]), dtc_placed_get_x(lists[1], begin[1]));
	int64_t last = MAX(dtc_placed_get_x(lists[0], end[0] - 1), dtc_placed_get_x(lists[1], end[1] - 1));
	guint fewer = MIN(end[0] - begin[0], end[1] - begin[1]);
	guint count = CLAMP(fewer / MESSAGES_PER_WINDOW, 1, WINDOWS_MAX);
	guint next[2] = { begin[0], begin[1] };
	for (guint k = 0; k < count; k++) {
		int64_t limit = first + (int64_t)((__int128)(last - first) * (k + 1) / count);
		double levels[2];
		for (guint d = 0; d < 2; d++) {
			windows[k].begin[d] = next[d];
			while (next[d] < end[d] && (k + 1 == count || dtc_placed_get_x(lists[d], next[d]) <= limit))
				next[d]++;
			windows[k].end[d] = next[d];
			levels[d] = get_quantile(lists[d], windows[k].begin[d], next[d], d ? -1 : 1, 0.1, values);
		}
		windows[k].x = (double)first + (double)(last - first) * (k + 0.5) / count;
		windows[k].level = (levels[0] + levels[1]) / 2;
	}
	return count;
}

static void trim_isolated(struct dtc_message_points *placed, const guint begin[2], const guint end[2])
{
	if (begin[0] == end[0] || begin[1] == end[1])
		return;
	struct dtc_placed *lists[2] = { &placed->upper, &placed->lower };
	g_autofree double *values = g_new(double, MAX(end[0] - begin[0], end[1] - begin[1]) + 1);
	g_autofree struct window *windows = g_new0(struct window, WINDOWS_MAX);
	guint count = make_windows(placed, begin, end, windows, values);
	for (guint k = 0; k < count; k++) {
		/* the trend within a window, from the windows beside it */
		const struct window *before = &windows[k ? k - 1 : 0], *after = &windows[MIN(k + 1, count - 1)];
		double rate = after->x > before->x ? (after->level - before->level) / (after->x - before->x) : 0;
		if (isnan(rate))
			rate = 0;
		for (guint d = 0; d < 2; d++)
			trim_window(lists[d], windows[k].begin[d], windows[k].end[d], windows[k].x, rate, d ? -1 : 1,
				    values);
	}
}

/* --- contradictions --------------------------------------------------------------------------------------------- */

/* Kept points of a range as hull vertices of cells. */
static guint reduce(const struct dtc_placed *placed, guint begin, guint end, bool is_upper, const struct dtc_rates *box,
		    struct dtc_point *points)
{
	guint first = 0, count = 0, in_cell = 0;
	for (guint i = begin; i < end; i++) {
		if (dtc_placed_is_trimmed(placed, i))
			continue;
		points[count++] = dtc_placed_get_point(placed, i);
		if (++in_cell == CELL_MESSAGES) {
			count = first + dtc_points_reduce(points + first, count - first, is_upper, box);
			first = count;
			in_cell = 0;
		}
	}
	return first + dtc_points_reduce(points + first, count - first, is_upper, box);
}

/*
 * How far a point stands out of its own direction: the distance to the envelope of its neighbours. A wrong stamp stands
 * alone, a right one has others of about the same delay around it.
 */
static double get_isolation(const struct dtc_point *points, guint count, guint at, double rate, double wander, int sign)
{
	double nearest = INFINITY;
	for (guint i = at > 64 ? at - 64 : 0; i < MIN(count, at + 65); i++) {
		if (i == at)
			continue;
		double x = (double)(points[i].x - points[at].x);
		double distance = sign * ((double)(points[i].v - points[at].v) - rate * x) + wander * fabs(x);
		nearest = MIN(nearest, distance);
	}
	return nearest;
}

/* Trims every kept message at that point (there may be several that are equal). */
static guint trim_point(struct dtc_placed *placed, guint begin, guint end, const struct dtc_point *point, gint32 by_ns)
{
	guint count = 0, first = DTC_BISECT(i, begin, end, dtc_placed_get_x(placed, i) < point->x);
	for (guint i = first; i < end && dtc_placed_get_x(placed, i) == point->x; i++) {
		if (dtc_placed_is_trimmed(placed, i) || dtc_placed_get_point(placed, i).v != point->v)
			continue;
		dtc_placed_trim(placed, i, by_ns);
		count++;
	}
	return count;
}

bool dtc_trim_contradictions(struct dtc_message_points *placed, const guint begin[2], const guint end[2], double wander,
			     const struct dtc_rates *box)
{
	guint total = end[0] - begin[0] + end[1] - begin[1], removed = 0;
	guint most = MIN(MAX(4, total / WRONG_PART_OF_PAIR), REMOVED_MAX);
	struct dtc_rates wide = { box->lo - wander, box->hi + wander };
	g_autofree struct dtc_point *upper = g_new(struct dtc_point, end[0] - begin[0] + 1);
	g_autofree struct dtc_point *lower = g_new(struct dtc_point, end[1] - begin[1] + 1);
	struct dtc_rates rates;
	struct dtc_witness witness;
	struct dtc_cloud cloud = { upper, 0, lower, 0 };
	trim_isolated(placed, begin, end);
	for (;;) {
		cloud.upper_count = reduce(&placed->upper, begin[0], end[0], true, &wide, upper);
		cloud.lower_count = reduce(&placed->lower, begin[1], end[1], false, &wide, lower);
		if (dtc_cloud_get_rates(&cloud, wander, box, &rates, &witness))
			return true;
		if (removed >= most)
			return false;
		double slope;
		gint32 by = saturate(-dtc_cloud_get_room(&cloud, wander, rates.lo, &slope, NULL));
		bool blame_upper = get_isolation(upper, cloud.upper_count, witness.upper, rates.lo, wander, 1) >
				   get_isolation(lower, cloud.lower_count, witness.lower, rates.lo, wander, -1);
		removed += blame_upper ? trim_point(&placed->upper, begin[0], end[0], &upper[witness.upper], by)
				       : trim_point(&placed->lower, begin[1], end[1], &lower[witness.lower], by);
	}
}
