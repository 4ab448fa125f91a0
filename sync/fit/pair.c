/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/pair.h"

#include "sync/fit/curve.h"
#include "sync/fit/step.h"
#include "sync/fit/trim.h"
#include "sync/fit/wander.h"
#include "sync/match/keyed.h"

#include <dtrace-chain/bisect.h>

#include <math.h>
#include <stdlib.h>

/* Points are reduced to hull vertices in cells of about this many messages, at most CELLS_MAX of them. */
#define MESSAGES_PER_CELL 32
#define CELLS_MAX 4096

static void clear_eras(struct dtc_pair *pair)
{
	for (guint i = 0; i < pair->era_count; i++) {
		g_free(pair->eras[i].points);
		g_free(pair->eras[i].curve);
	}
	g_clear_pointer(&pair->eras, g_free);
	pair->era_count = 0;
}

void dtc_pair_clear(struct dtc_pair *pair)
{
	clear_eras(pair);
	g_clear_pointer(&pair->trimmed, g_array_unref);
}

/* --- points ----------------------------------------------------------------------------------------------------- */

static int compare_placed(const void *left, const void *right)
{
	const struct dtc_message_point *p = left, *q = right;
	if (p->point.x != q->point.x)
		return p->point.x < q->point.x ? -1 : 1;
	if (p->point.v != q->point.v)
		return p->point.v < q->point.v ? -1 : 1;
	return (p->message > q->message) - (p->message < q->message);
}

/* By time, then difference. Stamps are rarely the same: those that are get their order in a second step. */
static struct dtc_message_point *sort_placed(const struct dtc_message_point *placed, guint count)
{
	struct dtc_message_point *sorted = g_new0(struct dtc_message_point, (gsize)count + 1);
	g_autofree struct dtc_keyed *keyed = g_new0(struct dtc_keyed, (gsize)count + 1);
	for (guint i = 0; i < count; i++)
		keyed[i] = (struct dtc_keyed){ (guint64)placed[i].point.x ^ (guint64)1 << 63, i, 0 };
	dtc_keyed_sort(keyed, count);
	for (guint i = 0; i < count; i++)
		sorted[i] = placed[keyed[i].index];
	for (guint i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && sorted[next].point.x == sorted[i].point.x; next++)
			;
		if (next - i > 1)
			qsort(&sorted[i], next - i, sizeof(*sorted), compare_placed);
	}
	return sorted;
}

static struct dtc_message_point *place_messages(const struct dtc_message *messages, guint count, bool forward,
						const struct dtc_nominal *a, const struct dtc_nominal *b, int64_t slack)
{
	g_autofree struct dtc_message_point *placed = g_new0(struct dtc_message_point, (gsize)count + 1);
	bool is_sorted = true;
	for (guint i = 0; i < count; i++) {
		int64_t on_a = dtc_nominal_from_node(a, forward ? messages[i].sent_ns : messages[i].received_ns);
		int64_t on_b = dtc_nominal_from_node(b, forward ? messages[i].received_ns : messages[i].sent_ns);
		placed[i].point.x = on_a;
		placed[i].point.v = on_b - on_a + (forward ? slack : -slack);
		placed[i].message = i;
		is_sorted &= i == 0 || placed[i - 1].point.x <= on_a;
	}
	return is_sorted ? g_steal_pointer(&placed) : sort_placed(placed, count);
}

/* Appends the kept points of placed [begin, end), reduced in cells of equal length. */
static guint add_points(const struct dtc_message_point *placed, guint begin, guint end, bool is_upper,
			int64_t span_begin, int64_t span_end, guint cells, const struct dtc_rates *box,
			struct dtc_point *points)
{
	guint count = 0, cell_first = 0;
	guint64 length = (guint64)(span_end - span_begin) / cells + 1, cell = 0;
	for (guint i = begin; i < end; i++) {
		if (placed[i].trimmed)
			continue;
		guint64 place = (guint64)(placed[i].point.x - span_begin) / length;
		if (place != cell) {
			count = cell_first + dtc_points_reduce(points + cell_first, count - cell_first, is_upper, box);
			cell_first = count;
			cell = place;
		}
		points[count++] = placed[i].point;
	}
	return cell_first + dtc_points_reduce(points + cell_first, count - cell_first, is_upper, box);
}

static void make_era(struct dtc_era *era, const struct dtc_message_points *placed, const guint begin[2],
		     const guint end[2], const struct dtc_rates *box, double wander)
{
	guint upper_count = end[0] - begin[0], lower_count = end[1] - begin[1];
	struct dtc_rates wide = { box->lo - wander, box->hi + wander };
	guint cells = CLAMP((upper_count + lower_count) / MESSAGES_PER_CELL, 1, CELLS_MAX);
	g_autofree struct dtc_point *points = g_new(struct dtc_point, upper_count + lower_count + 1);
	guint kept_upper =
		add_points(placed->upper, begin[0], end[0], true, era->begin, era->end, cells, &wide, points);
	guint kept_lower = add_points(placed->lower, begin[1], end[1], false, era->begin, era->end, cells, &wide,
				      points + kept_upper);
	g_free(era->points);
	era->points = g_memdup2(points, (kept_upper + kept_lower + 1) * sizeof(*points));
	era->cloud = (struct dtc_cloud){ era->points, kept_upper, era->points + kept_upper, kept_lower };
}

/* --- fit -------------------------------------------------------------------------------------------------------- */

static void note_trimmed(struct dtc_pair *pair, const struct dtc_message_point *placed, guint count, bool forward)
{
	for (guint i = 0; i < count; i++) {
		if (!placed[i].trimmed)
			continue;
		const struct dtc_message *message =
			forward ? &pair->ab[placed[i].message] : &pair->ba[placed[i].message];
		struct dtc_sync_trimmed item = { forward ? pair->a : pair->b, message->sent_ns, message->received_ns,
						 placed[i].by_ns };
		g_array_append_val(pair->trimmed, item);
	}
}

static void get_era_bounds(const struct dtc_era *era, const int64_t *grid, guint count, double *ret_lo, double *ret_hi)
{
	const struct dtc_cloud *cloud = &era->cloud;
	double wander = era->wander;
	dtc_points_get_bounds(cloud->upper, cloud->upper_count, true, wander, &era->rates, grid, count, ret_hi);
	dtc_points_get_bounds(cloud->lower, cloud->lower_count, false, wander, &era->rates, grid, count, ret_lo);
}

/* The messages of a stretch: from the first that is not before begin up to the last that is not after end. */
static void find_range(const struct dtc_message_point *placed, guint count, int64_t begin, int64_t end,
		       guint *ret_begin, guint *ret_end)
{
	guint first = 0, last = count;
	while (first < count && placed[first].point.x < begin)
		first++;
	while (last > first && placed[last - 1].point.x > end)
		last--;
	*ret_begin = first;
	*ret_end = last;
}

/*
 * What the delays do not show both directions together may: at half the wander all messages must be possible still.
 */
static void settle_wander(struct dtc_era *era, const struct dtc_rates *box, double most)
{
	struct dtc_witness witness;
	struct dtc_rates rates;
	while (era->wander < most && !dtc_cloud_get_rates(&era->cloud, era->wander / 2, box, &rates, &witness))
		era->wander = MIN(2 * era->wander, most);
	if (era->wander < most)
		dtc_cloud_get_rates(&era->cloud, era->wander, box, &era->rates, &witness);
}

/* Fits one stretch; contradictions are left out. False if it contradicts itself. */
static bool fit_era(struct dtc_era *era, struct dtc_message_points *placed, const struct dtc_rates *box,
		    const struct dtc_pair_limits *limits)
{
	guint begin[2], end[2];
	struct dtc_witness witness;
	find_range(placed->upper, placed->upper_count, era->begin, era->end, &begin[0], &end[0]);
	find_range(placed->lower, placed->lower_count, era->begin, era->end, &begin[1], &end[1]);
	make_era(era, placed, begin, end, box, limits->max_wander);
	if (!dtc_cloud_get_rates(&era->cloud, limits->max_wander, box, &era->rates, &witness)) {
		bool ok = dtc_trim_contradictions(placed, begin, end, limits->max_wander, box);
		make_era(era, placed, begin, end, box, limits->max_wander);
		if (!ok || !dtc_cloud_get_rates(&era->cloud, limits->max_wander, box, &era->rates, &witness))
			return false;
	}
	era->wander = dtc_wander_measure(placed, begin, end, era->begin, era->end, limits->max_wander);
	settle_wander(era, box, limits->max_wander);
	if (era->cloud.upper_count && era->cloud.lower_count)
		dtc_curve_fit(era, box, limits->max_change, MIN(end[0] - begin[0], end[1] - begin[1]));
	return true;
}

/* True if the messages of the whole pair can be true together, with nothing left out and no step. */
static bool is_consistent(const struct dtc_pair *pair, const struct dtc_message_points *placed,
			  const struct dtc_rates *box, const struct dtc_pair_limits *limits)
{
	struct dtc_era whole = { .begin = pair->begin, .end = pair->end };
	const guint begin[2] = { 0, 0 }, end[2] = { placed->upper_count, placed->lower_count };
	struct dtc_rates rates;
	struct dtc_witness witness;
	make_era(&whole, placed, begin, end, box, limits->max_wander);
	bool ok = dtc_cloud_get_rates(&whole.cloud, limits->max_wander, box, &rates, &witness);
	g_free(whole.points);
	return ok;
}

static void find_span(struct dtc_pair *pair, const struct dtc_message_points *placed)
{
	pair->begin = INT64_MAX;
	pair->end = INT64_MIN;
	if (placed->upper_count) {
		pair->begin = placed->upper[0].point.x;
		pair->end = placed->upper[placed->upper_count - 1].point.x;
	}
	if (placed->lower_count) {
		pair->begin = MIN(pair->begin, placed->lower[0].point.x);
		pair->end = MAX(pair->end, placed->lower[placed->lower_count - 1].point.x);
	}
}

/* A message that was long on its way has its stamp on b far from the one on a. */
static void find_stamps(struct dtc_pair *pair, const struct dtc_message_point *placed, guint count)
{
	for (guint i = 0; i < count; i++) {
		if (placed[i].trimmed)
			continue;
		pair->earliest = MIN(pair->earliest, placed[i].point.x + MIN(placed[i].point.v, 0));
		pair->latest = MAX(pair->latest, placed[i].point.x + MAX(placed[i].point.v, 0));
	}
}

static void fit_placed(struct dtc_pair *pair, struct dtc_message_points *placed, const struct dtc_rates *box,
		       const struct dtc_pair_limits *limits)
{
	bool consistent = is_consistent(pair, placed, box, limits);
	g_autoptr(GArray) steps = consistent || pair->status != DTC_PAIR_ALIGNED
					  ? g_array_new(FALSE, FALSE, sizeof(struct dtc_step))
					  : dtc_step_find(placed, pair->begin, pair->end);
	pair->eras = g_new0(struct dtc_era, steps->len + 1);
	pair->era_count = steps->len + 1;
	for (guint i = 0; i <= steps->len; i++) {
		struct dtc_era *era = &pair->eras[i];
		era->begin = i ? g_array_index(steps, struct dtc_step, i - 1).end : pair->begin;
		era->end = i < steps->len ? g_array_index(steps, struct dtc_step, i).begin : pair->end;
		bool ok = fit_era(era, placed, box, limits);
		if (!ok || (pair->status == DTC_PAIR_ALIGNED && !era->curve))
			pair->status = DTC_PAIR_CONTRADICTORY;
	}
	pair->earliest = pair->begin;
	pair->latest = pair->end;
	find_stamps(pair, placed->upper, placed->upper_count);
	find_stamps(pair, placed->lower, placed->lower_count);
	note_trimmed(pair, placed->upper, placed->upper_count, true);
	note_trimmed(pair, placed->lower, placed->lower_count, false);
}

void dtc_pair_fit(struct dtc_pair *pair, const struct dtc_nominal *a, const struct dtc_nominal *b,
		  const struct dtc_pair_limits *limits)
{
	clear_eras(pair);
	pair->nominal_a = *a;
	pair->nominal_b = *b;
	pair->outer_wander = limits->max_wander;
	if (pair->trimmed)
		g_array_set_size(pair->trimmed, 0);
	else
		pair->trimmed = g_array_new(FALSE, FALSE, sizeof(struct dtc_sync_trimmed));
	pair->status = pair->ab_count && pair->ba_count	  ? DTC_PAIR_ALIGNED
		       : pair->ab_count || pair->ba_count ? DTC_PAIR_ONE_WAY
							  : DTC_PAIR_NONE;
	if (pair->status == DTC_PAIR_NONE)
		return;
	/* d' = (1 + rate) (1 - excess_b) / (1 - excess_a) - 1 */
	double scale = (1 - b->excess) / (1 - a->excess);
	struct dtc_rates box = { (1 - limits->max_rate) * scale - 1, (1 + limits->max_rate) * scale - 1 };
	int64_t slack = DTC_ROUNDING_NS - limits->min_delay_ns;
	struct dtc_message_points placed = { place_messages(pair->ab, pair->ab_count, true, a, b, slack),
					     pair->ab_count,
					     place_messages(pair->ba, pair->ba_count, false, a, b, slack),
					     pair->ba_count };
	find_span(pair, &placed);
	fit_placed(pair, &placed, &box, limits);
	dtc_message_points_clear(&placed);
}

/* --- what it says ----------------------------------------------------------------------------------------------- */

/*
 * Before the first and after the last message the wander may be any that is assumed: then a rate that was m + w_p may
 * become m + 2 w. Linear in the distance, so that interpolating from inside the span errs outwards.
 */
static void widen_outside(const struct dtc_pair *pair, const int64_t *grid, guint count, double *lo, double *hi)
{
	if (dtc_pair_get_wander(pair) >= pair->outer_wander)
		return;
	for (guint k = 0; k < count; k++) {
		double outside = (double)MAX(MAX(pair->begin - grid[k], grid[k] - pair->end), 0);
		lo[k] -= 2 * pair->outer_wander * outside;
		hi[k] += 2 * pair->outer_wander * outside;
	}
}

void dtc_pair_get_bounds(const struct dtc_pair *pair, int64_t reach, const int64_t *grid, guint count, double *ret_lo,
			 double *ret_hi)
{
	if (pair->era_count == 1) {
		get_era_bounds(&pair->eras[0], grid, count, ret_lo, ret_hi);
		widen_outside(pair, grid, count, ret_lo, ret_hi);
		return;
	}
	g_autofree double *lo = g_new(double, count + 1), *hi = g_new(double, count + 1);
	for (guint k = 0; k < count; k++) {
		ret_lo[k] = INFINITY;
		ret_hi[k] = -INFINITY;
	}
	for (guint i = 0; i < pair->era_count; i++) {
		/* an era counts from where the step before it may have been to where the one after it may be */
		int64_t begin = i ? pair->eras[i - 1].end - reach : INT64_MIN;
		int64_t end = i + 1 < pair->era_count ? pair->eras[i + 1].begin + reach : INT64_MAX;
		guint first = 0, last = count;
		while (first < count && grid[first] <= begin)
			first++;
		while (last > first && grid[last - 1] >= end)
			last--;
		get_era_bounds(&pair->eras[i], grid + first, last - first, lo, hi);
		for (guint k = first; k < last; k++) {
			ret_lo[k] = MIN(ret_lo[k], lo[k - first]);
			ret_hi[k] = MAX(ret_hi[k], hi[k - first]);
		}
	}
	widen_outside(pair, grid, count, ret_lo, ret_hi);
}

int64_t dtc_pair_get_step(const struct dtc_pair *pair, guint index)
{
	int64_t begin = pair->eras[index].end, end = pair->eras[index + 1].begin;
	return begin + (end - begin) / 2;
}

double dtc_pair_get_estimate(const struct dtc_pair *pair, int64_t x, double *ret_margin)
{
	guint at = 0;
	while (at + 1 < pair->era_count && x > dtc_pair_get_step(pair, at))
		at++;
	const struct dtc_era *era = &pair->eras[at];
	const struct dtc_curve_knot *knots = era->curve;
	/* the piece, the outer ones going on */
	const struct dtc_curve_knot *knot = &knots[DTC_BISECT(i, 1, era->curve_count - 1, knots[i].x <= x) - 1];
	double part = (double)(x - knot->x) / (double)(knot[1].x - knot->x);
	*ret_margin = knot->margin + CLAMP(part, 0, 1) * (knot[1].margin - knot->margin);
	return knot->v + part * (knot[1].v - knot->v);
}

double dtc_pair_get_wander(const struct dtc_pair *pair)
{
	double wander = 0;
	for (guint i = 0; i < pair->era_count; i++)
		wander = MAX(wander, pair->eras[i].wander);
	return wander;
}

double dtc_pair_get_steepness(const struct dtc_pair *pair)
{
	double steepest = 0;
	for (guint i = 0; i < pair->era_count; i++) {
		steepest = MAX(steepest, fabs(pair->eras[i].rates.lo));
		steepest = MAX(steepest, fabs(pair->eras[i].rates.hi));
	}
	return steepest + dtc_pair_get_wander(pair);
}
