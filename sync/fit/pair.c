/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/pair.h"

#include "sync/fit/curve.h"
#include "sync/fit/step.h"
#include "sync/fit/trim.h"
#include "sync/fit/wander.h"

#include <dtrace-chain/bisect.h>

#include <math.h>
#include <string.h>

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

/* Points that are kept: far fewer than there are messages, however many those are. */
struct kept {
	struct dtc_point *points; /* owned */
	guint count;
	guint capacity;
};

static void keep(struct kept *kept, struct dtc_point point)
{
	if (kept->count == kept->capacity) {
		kept->capacity = MAX(2 * kept->capacity, 2 * MESSAGES_PER_CELL);
		kept->points = g_renew(struct dtc_point, kept->points, kept->capacity);
	}
	kept->points[kept->count++] = point;
}

/* Appends the kept points of placed [begin, end), reduced in cells of equal length. */
static void keep_points(struct kept *kept, const struct dtc_placed *placed, guint begin, guint end,
			const struct dtc_era *era, guint cells, const struct dtc_rates *box)
{
	guint cell_first = kept->count;
	guint64 length = (guint64)(era->end - era->begin) / cells + 1, cell = 0;
	for (guint i = begin; i < end; i++) {
		if (dtc_placed_is_trimmed(placed, i))
			continue;
		struct dtc_point point = dtc_placed_get_point(placed, i);
		guint64 place = (guint64)(point.x - era->begin) / length;
		if (place != cell) {
			kept->count = cell_first + dtc_points_reduce(kept->points + cell_first,
								     kept->count - cell_first, placed->is_upper, box);
			cell_first = kept->count;
			cell = place;
		}
		keep(kept, point);
	}
	kept->count = cell_first +
		      dtc_points_reduce(kept->points + cell_first, kept->count - cell_first, placed->is_upper, box);
}

static void make_era(struct dtc_era *era, const struct dtc_message_points *placed, const guint begin[2],
		     const guint end[2], const struct dtc_rates *box, double wander)
{
	guint message_count = end[0] - begin[0] + end[1] - begin[1];
	struct dtc_rates wide = { box->lo - wander, box->hi + wander };
	guint cells = CLAMP(message_count / MESSAGES_PER_CELL, 1, CELLS_MAX);
	struct kept kept = { g_new(struct dtc_point, 2 * MESSAGES_PER_CELL), 0, 2 * MESSAGES_PER_CELL };
	keep_points(&kept, &placed->upper, begin[0], end[0], era, cells, &wide);
	guint upper_count = kept.count;
	keep_points(&kept, &placed->lower, begin[1], end[1], era, cells, &wide);
	g_free(era->points);
	era->points = g_renew(struct dtc_point, kept.points, kept.count + 1);
	era->cloud =
		(struct dtc_cloud){ era->points, upper_count, era->points + upper_count, kept.count - upper_count };
}

/* --- fit -------------------------------------------------------------------------------------------------------- */

static void note_trimmed(struct dtc_pair *pair, const struct dtc_placed *placed)
{
	for (guint i = 0; placed->by_ns && i < placed->count; i++) {
		if (!placed->by_ns[i])
			continue;
		const struct dtc_message *message = &placed->messages[dtc_placed_get_message(placed, i)];
		struct dtc_sync_trimmed item;
		memset(&item, 0, sizeof(item)); /* records are compared as bytes, with what lies between fields */
		item.from = placed->is_upper ? pair->a : pair->b;
		item.sent_ns = message->sent_ns;
		item.received_ns = message->received_ns;
		item.by_ns = placed->by_ns[i];
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
static void find_range(const struct dtc_placed *placed, int64_t begin, int64_t end, guint *ret_begin, guint *ret_end)
{
	*ret_begin = DTC_BISECT(i, 0, placed->count, dtc_placed_get_x(placed, i) < begin);
	*ret_end = DTC_BISECT(i, *ret_begin, placed->count, dtc_placed_get_x(placed, i) <= end);
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

/* What an era's points and their rates say: how the clocks wander, and the most plausible difference. */
static void finish_era(struct dtc_era *era, const struct dtc_message_points *placed, const guint begin[2],
		       const guint end[2], const struct dtc_rates *box, const struct dtc_pair_limits *limits)
{
	era->wander = dtc_wander_measure(placed, begin, end, era->begin, era->end, limits->max_wander);
	settle_wander(era, box, limits->max_wander);
	if (era->cloud.upper_count && era->cloud.lower_count)
		dtc_curve_fit(era, box, limits->max_change, MIN(end[0] - begin[0], end[1] - begin[1]));
}

/* Fits one stretch; contradictions are left out. False if it contradicts itself. */
static bool fit_era(struct dtc_era *era, struct dtc_message_points *placed, const struct dtc_rates *box,
		    const struct dtc_pair_limits *limits)
{
	guint begin[2], end[2];
	struct dtc_witness witness;
	find_range(&placed->upper, era->begin, era->end, &begin[0], &end[0]);
	find_range(&placed->lower, era->begin, era->end, &begin[1], &end[1]);
	make_era(era, placed, begin, end, box, limits->max_wander);
	if (!dtc_cloud_get_rates(&era->cloud, limits->max_wander, box, &era->rates, &witness)) {
		bool ok = dtc_trim_contradictions(placed, begin, end, limits->max_wander, box);
		make_era(era, placed, begin, end, box, limits->max_wander);
		if (!ok || !dtc_cloud_get_rates(&era->cloud, limits->max_wander, box, &era->rates, &witness))
			return false;
	}
	finish_era(era, placed, begin, end, box, limits);
	return true;
}

/*
 * If the messages of the whole pair can be true together, with nothing left out and no step, they are one era: that is
 * fitted. Else false, and it has no points.
 */
static bool fit_whole(struct dtc_era *whole, const struct dtc_message_points *placed, const struct dtc_rates *box,
		      const struct dtc_pair_limits *limits)
{
	const guint begin[2] = { 0, 0 }, end[2] = { placed->upper.count, placed->lower.count };
	struct dtc_witness witness;
	make_era(whole, placed, begin, end, box, limits->max_wander);
	if (!dtc_cloud_get_rates(&whole->cloud, limits->max_wander, box, &whole->rates, &witness)) {
		g_clear_pointer(&whole->points, g_free);
		return false;
	}
	finish_era(whole, placed, begin, end, box, limits);
	return true;
}

static void find_span(struct dtc_pair *pair, const struct dtc_message_points *placed)
{
	const struct dtc_placed *sides[2] = { &placed->upper, &placed->lower };
	pair->begin = INT64_MAX;
	pair->end = INT64_MIN;
	for (guint d = 0; d < 2; d++) {
		if (!sides[d]->count)
			continue;
		pair->begin = MIN(pair->begin, dtc_placed_get_x(sides[d], 0));
		pair->end = MAX(pair->end, dtc_placed_get_x(sides[d], sides[d]->count - 1));
	}
}

/* A message that was long on its way has its stamp on b far from the one on a. */
static void find_stamps(struct dtc_pair *pair, const struct dtc_placed *placed)
{
	for (guint i = 0; i < placed->count; i++) {
		if (dtc_placed_is_trimmed(placed, i))
			continue;
		struct dtc_point point = dtc_placed_get_point(placed, i);
		pair->earliest = MIN(pair->earliest, point.x + MIN(point.v, 0));
		pair->latest = MAX(pair->latest, point.x + MAX(point.v, 0));
	}
}

/* Stretches between steps, of messages that cannot all be true together: some have to go, if there is no step. */
static void fit_stretches(struct dtc_pair *pair, struct dtc_message_points *placed, const struct dtc_rates *box,
			  const struct dtc_pair_limits *limits)
{
	g_autoptr(GArray) steps = pair->status != DTC_PAIR_ALIGNED ? g_array_new(FALSE, FALSE, sizeof(struct dtc_step))
								   : dtc_step_find(placed, pair->begin, pair->end);
	pair->eras = g_new0(struct dtc_era, steps->len + 1);
	pair->era_count = steps->len + 1;
	for (guint i = 0; i <= steps->len; i++) {
		struct dtc_era *era = &pair->eras[i];
		era->begin = i ? g_array_index(steps, struct dtc_step, i - 1).end : pair->begin;
		era->end = i < steps->len ? g_array_index(steps, struct dtc_step, i).begin : pair->end;
		if (!fit_era(era, placed, box, limits))
			pair->status = DTC_PAIR_CONTRADICTORY;
	}
}

static void fit_placed(struct dtc_pair *pair, struct dtc_message_points *placed, const struct dtc_rates *box,
		       const struct dtc_pair_limits *limits)
{
	struct dtc_era whole = { .begin = pair->begin, .end = pair->end };
	if (fit_whole(&whole, placed, box, limits)) {
		pair->eras = g_memdup2(&whole, sizeof(whole));
		pair->era_count = 1;
	} else {
		fit_stretches(pair, placed, box, limits);
	}
	for (guint i = 0; i < pair->era_count; i++)
		if (pair->status == DTC_PAIR_ALIGNED && !pair->eras[i].curve)
			pair->status = DTC_PAIR_CONTRADICTORY;
	pair->earliest = pair->begin;
	pair->latest = pair->end;
	find_stamps(pair, &placed->upper);
	find_stamps(pair, &placed->lower);
	note_trimmed(pair, &placed->upper);
	note_trimmed(pair, &placed->lower);
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
	struct dtc_message_points placed;
	dtc_placed_init(&placed.upper, pair->ab, pair->ab_count, true, a, b, slack, pair->space);
	dtc_placed_init(&placed.lower, pair->ba, pair->ba_count, false, a, b, slack, pair->space);
	find_span(pair, &placed);
	fit_placed(pair, &placed, &box, limits);
	dtc_placed_clear(&placed.upper);
	dtc_placed_clear(&placed.lower);
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
