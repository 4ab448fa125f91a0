/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One piece: of all lines that the messages allow the mean, each weighted by how well the fastest messages reach it. If
 * each direction's fastest come within 1 / density of the least delay, evenly over time, a line with the room r between
 * the clouds has the likelihood e^(density r). Where they do that often, this is the line with the largest room; where
 * they hardly do, it is the middle of what is possible, about the bisector of the two extreme lines. How often is asked
 * of eight windows, each with one fastest message, around the line with the middle rate: messages come in bursts that
 * are slow or fast together, and single ones would claim more than they know.
 *
 * More pieces: a linear program, continuous, with a margin of its own for each piece and a limit on how much the rate
 * may change from piece to piece.
 *
 * How many pieces? Too few and the line is stiffer than the clock, too many and it follows the noise of the few fastest
 * messages. The margins tell the noise: if clocks and network are steady they differ from piece to piece only by it. A
 * coarser curve is right if it differs from all finer ones by no more than their noise (Lepski's rule).
 */
#include "sync/fit/curve.h"

#include "sync/fit/lp.h"

#include <math.h>

#define PIECES_MAX 128
/* Kept points say little about messages; pieces need enough of them to have an envelope at all. */
#define MESSAGES_PER_PIECE 24
/* Differences beyond this many times the noise of the finer curve are the clock's... */
#define NOISE_FACTOR 2
/* ...but a straight line, far better than pieces when it is right, gets the benefit of more doubt: */
#define LINE_NOISE_FACTOR 6
/*
 * unless the finer curve strays from it steadily. Noise of one knot says nothing about the next (over 269 pairs with
 * steady clocks the correlation never passed 0.3 with 16 pieces), a clock's wander goes the same way for long (0.6 and
 * more).
 */
#define STEADY_CORRELATION 0.4
#define NS_PER_US 1000.0
/* Windows whose fastest messages say how close to the least delay messages come; with fewer nothing is said. */
#define WINDOWS 8
#define WINDOWS_LEAST 4
/* Lines are summed at this many rates, down to a likelihood of e^-40. */
#define RATES 256
#define LOG_LEAST 40

struct curve {
	guint pieces;
	double *value;	/* at pieces + 1 knots, ns above the base line */
	double *margin; /* per piece */
};

struct base {
	int64_t x, length;
	double level, rate;
};

static double get_base(const struct base *base, int64_t x)
{
	return base->level + base->rate * (double)(x - base->x);
}

static int64_t get_knot(const struct base *base, guint pieces, guint k)
{
	return base->x + (int64_t)((__int128)base->length * k / pieces);
}

/* Lowest level at x of a line with that rate through one of the points; sign -1: the negative of the highest. */
static double get_floor(const struct dtc_point *points, guint count, int sign, int64_t x, double rate)
{
	double least = INFINITY;
	for (guint i = 0; i < count; i++)
		least = MIN(least, sign * ((double)points[i].v - rate * (double)(points[i].x - x)));
	return least;
}

/* One over the mean distance of each window's fastest message from the fastest of all, per window; 0: not known. */
static double get_density(const struct dtc_point *points, guint count, int sign, const struct base *base)
{
	double floors[WINDOWS], least = INFINITY, sum = 0;
	guint found = 0;
	for (guint k = 0; k < WINDOWS; k++)
		floors[k] = INFINITY;
	for (guint i = 0; i < count; i++) {
		double part = (double)(points[i].x - base->x) / (double)base->length;
		double *window = &floors[(guint)CLAMP(part * WINDOWS, 0, WINDOWS - 1)];
		*window = MIN(*window, sign * ((double)points[i].v - base->rate * (double)(points[i].x - base->x)));
		least = MIN(least, *window);
	}
	for (guint k = 0; k < WINDOWS; k++) {
		if (isinf(floors[k]))
			continue;
		sum += floors[k] - least;
		found++;
	}
	return found < WINDOWS_LEAST ? 0 : found / MAX(sum / found, 1);
}

/* Points of an era as hulls, and what is known of their densities: all that the likelihood of a line needs. */
struct likelihood {
	struct dtc_point *upper, *lower; /* owned */
	guint upper_count, lower_count;
	double upper_density, lower_density;
	int64_t x;
};

static double get_log(const struct likelihood *likelihood, double rate, double *ret_level)
{
	double above = get_floor(likelihood->upper, likelihood->upper_count, 1, likelihood->x, rate);
	double below = -get_floor(likelihood->lower, likelihood->lower_count, -1, likelihood->x, rate);
	*ret_level = (above + below) / 2;
	return likelihood->upper_density * above - likelihood->lower_density * below;
}

/* The rate in range with the largest likelihood, whose logarithm is concave. */
static double find_peak(const struct likelihood *likelihood, const struct dtc_rates *range)
{
	double left = range->lo, right = range->hi, level;
	for (guint step = 0; step < 100; step++) {
		double a = left + 0.382 * (right - left), b = left + 0.618 * (right - left);
		if (get_log(likelihood, a, &level) < get_log(likelihood, b, &level))
			left = a;
		else
			right = b;
	}
	return (left + right) / 2;
}

/* Where between the peak and an end of the range lines stop to count. */
static double find_end(const struct likelihood *likelihood, double peak, double end)
{
	double level, most = get_log(likelihood, peak, &level), inside = peak, outside = end;
	if (get_log(likelihood, end, &level) > most - LOG_LEAST)
		return end;
	for (guint step = 0; step < 60; step++) {
		double middle = (inside + outside) / 2;
		if (get_log(likelihood, middle, &level) > most - LOG_LEAST)
			inside = middle;
		else
			outside = middle;
	}
	return outside;
}

/* The mean line over the rates in range; base has the place, and gets level and rate. */
static void average(const struct likelihood *likelihood, const struct dtc_rates *range, struct base *base)
{
	double peak = find_peak(likelihood, range), level, sum = 0, rates = 0, levels = 0;
	double most = get_log(likelihood, peak, &level);
	double left = find_end(likelihood, peak, range->lo), right = find_end(likelihood, peak, range->hi);
	for (guint i = 0; i < RATES; i++) {
		double rate = left + (right - left) * (i + 0.5) / RATES;
		double weight = exp(get_log(likelihood, rate, &level) - most);
		sum += weight;
		rates += weight * (rate - peak);
		levels += weight * (level - base->level);
	}
	base->rate = peak + rates / sum;
	/* levels were taken in the middle */
	base->level += levels / sum - base->rate * (double)(likelihood->x - base->x);
}

/*
 * The line of an era that a line can satisfy. base is the line with the largest room; it stays where too few
 * messages say how likely others are.
 */
static void choose_line(const struct dtc_cloud *cloud, const struct dtc_rates *box, struct base *base)
{
	struct dtc_rates range;
	struct dtc_witness witness;
	if (!dtc_cloud_get_rates(cloud, 0, box, &range, &witness) || range.hi <= range.lo)
		return;
	struct base middle = *base;
	middle.rate = (range.lo + range.hi) / 2;
	struct likelihood likelihood = {
		.upper = g_memdup2(cloud->upper, cloud->upper_count * sizeof(*cloud->upper)),
		.lower = g_memdup2(cloud->lower, cloud->lower_count * sizeof(*cloud->lower)),
		.upper_density = get_density(cloud->upper, cloud->upper_count, 1, &middle),
		.lower_density = get_density(cloud->lower, cloud->lower_count, -1, &middle),
		.x = base->x + base->length / 2,
	};
	likelihood.upper_count = dtc_points_reduce(likelihood.upper, cloud->upper_count, true, box);
	likelihood.lower_count = dtc_points_reduce(likelihood.lower, cloud->lower_count, false, box);
	if (likelihood.upper_density > 0 && likelihood.lower_density > 0)
		average(&likelihood, &range, base);
	g_free(likelihood.upper);
	g_free(likelihood.lower);
}

static void curve_clear(struct curve *curve)
{
	g_clear_pointer(&curve->value, g_free);
	g_clear_pointer(&curve->margin, g_free);
}

static double get_value(const struct curve *curve, const struct base *base, int64_t x)
{
	double at = (double)(x - base->x) / (double)base->length * curve->pieces;
	guint piece = (guint)CLAMP(at, 0, curve->pieces - 1);
	return curve->value[piece] + (at - piece) * (curve->value[piece + 1] - curve->value[piece]);
}

/* Rows for the points of one piece: value + margin <= v for upper points, value - margin >= v for lower ones. */
static void add_piece_rows(DtcLp *lp, const struct base *base, guint pieces, guint piece,
			   const struct dtc_point *points, guint count, int sign)
{
	int64_t begin = get_knot(base, pieces, piece), end = get_knot(base, pieces, piece + 1);
	for (guint i = 0; i < count; i++) {
		double part = (double)(points[i].x - begin) / (double)(end - begin);
		guint columns[3] = { piece, piece + 1, pieces + 1 + piece };
		double factors[3] = { sign * (1 - part), sign * part, 1 };
		double limit = sign * ((double)points[i].v - get_base(base, points[i].x)) / NS_PER_US;
		dtc_lp_add_row(lp, columns, factors, 3, limit);
	}
}

/* Hull of the points of one direction in each piece, as rows. False if a piece has none. */
static bool add_points(DtcLp *lp, const struct base *base, guint pieces, const struct dtc_point *points, guint count,
		       bool is_upper, const struct dtc_rates *box)
{
	g_autofree struct dtc_point *hull = g_new(struct dtc_point, count + 1);
	guint next = 0;
	bool ok = true;
	for (guint piece = 0; piece < pieces; piece++) {
		int64_t end = get_knot(base, pieces, piece + 1);
		guint kept = 0;
		while (next < count && (points[next].x <= end || piece + 1 == pieces))
			hull[kept++] = points[next++];
		kept = dtc_points_reduce(hull, kept, is_upper, box);
		ok &= kept > 0;
		add_piece_rows(lp, base, pieces, piece, hull, kept, is_upper ? 1 : -1);
	}
	return ok;
}

/* max_change: of the rate from piece to piece. */
static bool fit_pieces(const struct dtc_era *era, const struct base *base, guint pieces, const struct dtc_rates *box,
		       double max_change, struct curve *ret_curve)
{
	g_autoptr(DtcLp) lp = dtc_lp_new(2 * pieces + 1);
	if (!add_points(lp, base, pieces, era->cloud.upper, era->cloud.upper_count, true, box) ||
	    !add_points(lp, base, pieces, era->cloud.lower, era->cloud.lower_count, false, box))
		return false;
	double length = (double)base->length / pieces;
	for (guint k = 1; k < pieces; k++) {
		guint columns[3] = { k - 1, k, k + 1 };
		double bend[3] = { 1, -2, 1 }, bend_back[3] = { -1, 2, -1 };
		dtc_lp_add_row(lp, columns, bend, 3, max_change * length / NS_PER_US);
		dtc_lp_add_row(lp, columns, bend_back, 3, max_change * length / NS_PER_US);
	}
	for (guint k = 0; k < pieces; k++)
		dtc_lp_set_weight(lp, pieces + 1 + k, 1);
	g_autofree double *values = g_new(double, 2 * pieces + 1);
	if (!dtc_lp_solve(lp, values))
		return false;
	ret_curve->pieces = pieces;
	ret_curve->value = g_new(double, pieces + 1);
	ret_curve->margin = g_new(double, pieces);
	for (guint k = 0; k <= pieces; k++)
		ret_curve->value[k] = values[k] * NS_PER_US;
	for (guint k = 0; k < pieces; k++)
		ret_curve->margin[k] = values[pieces + 1 + k] * NS_PER_US;
	return true;
}

/* How much margins differ between neighbours: the mean difference of two exponential variables is their deviation. */
static double get_noise(const struct curve *curve)
{
	double sum = 0;
	for (guint k = 0; k + 1 < curve->pieces; k++)
		sum += fabs(curve->margin[k + 1] - curve->margin[k]);
	return curve->pieces > 1 ? sum / (curve->pieces - 1) : 0;
}

/* Root mean square of the difference at the finer curve's knots. */
static double get_distance(const struct curve *coarse, const struct curve *fine, const struct base *base)
{
	double sum = 0;
	for (guint k = 0; k <= fine->pieces; k++) {
		double difference = fine->value[k] - get_value(coarse, base, get_knot(base, fine->pieces, k));
		sum += difference * difference;
	}
	return sqrt(sum / (fine->pieces + 1));
}

/* Correlation of neighbouring knots of a curve around the base line. */
static double get_correlation(const struct curve *curve)
{
	double square = 0, product = 0;
	for (guint k = 0; k <= curve->pieces; k++) {
		square += curve->value[k] * curve->value[k];
		product += k ? curve->value[k] * curve->value[k - 1] : 0;
	}
	return square > 0 ? product / square : 0;
}

/* Does the finer curve say that the base line is wrong? */
static bool refutes_line(const struct curve *line, const struct curve *fine, const struct base *base)
{
	double distance = get_distance(line, fine, base), noise = get_noise(fine);
	return distance > LINE_NOISE_FACTOR * noise ||
	       (distance > NOISE_FACTOR * noise && get_correlation(fine) > STEADY_CORRELATION);
}

/*
 * Fits curves of 1, 2, 4, ... pieces and gives the coarsest that the finer ones do not contradict. A first look at one
 * finer curve settles the common case of a straight line.
 */
static struct curve choose_curve(const struct dtc_era *era, const struct base *base, const struct dtc_rates *box,
				 double change_rate, guint pieces_max, double line_margin)
{
	struct curve curves[8] = { { 1, g_new0(double, 2), g_new0(double, 1) } };
	guint levels = 0, chosen = 0;
	curves[0].margin[0] = line_margin;
	while ((2u << levels) <= pieces_max)
		levels++;
	/* fewer than eight pieces do not tell their own noise */
	if (levels < 3)
		return curves[0];
	guint look = MIN(levels, 4);
	/* change_rate is per ns of time between the middles of two pieces */
	double length = (double)base->length;
	bool known = fit_pieces(era, base, 1u << look, box, change_rate * length / (1u << look), &curves[look]);
	if (known && refutes_line(&curves[0], &curves[look], base)) {
		for (guint i = 1; i <= levels; i++)
			if (!curves[i].value)
				fit_pieces(era, base, 1u << i, box, change_rate * length / (1u << i), &curves[i]);
		for (chosen = 1; chosen < levels; chosen++) {
			bool ok = curves[chosen].value;
			for (guint finer = chosen + 1; ok && finer <= levels; finer++)
				if (curves[finer].value)
					ok = get_distance(&curves[chosen], &curves[finer], base) <=
					     NOISE_FACTOR * get_noise(&curves[finer]);
			if (ok)
				break;
		}
		while (!curves[chosen].value)
			chosen--;
	}
	for (guint i = 0; i <= levels; i++)
		if (i != chosen)
			curve_clear(&curves[i]);
	return curves[chosen];
}

/* The room that points really leave around the curve, per piece: what the solver says is checked, not believed. */
static void measure_margins(struct curve *curve, const struct base *base, const struct dtc_cloud *cloud)
{
	for (guint k = 0; k < curve->pieces; k++)
		curve->margin[k] = INFINITY;
	for (guint d = 0; d < 2; d++) {
		const struct dtc_point *points = d ? cloud->lower : cloud->upper;
		guint count = d ? cloud->lower_count : cloud->upper_count, piece = 0;
		for (guint i = 0; i < count; i++) {
			while (piece + 1 < curve->pieces && get_knot(base, curve->pieces, piece + 1) < points[i].x)
				piece++;
			double value = get_base(base, points[i].x) + get_value(curve, base, points[i].x);
			double room = (d ? -1 : 1) * ((double)points[i].v - value);
			curve->margin[piece] = MIN(curve->margin[piece], room);
		}
	}
}

void dtc_curve_fit(struct dtc_era *era, const struct dtc_rates *box, double change_rate, guint message_count)
{
	double room;
	struct base base = { .x = era->begin, .length = MAX(era->end - era->begin, 1) };
	base.rate = dtc_cloud_get_best_rate(&era->cloud, 0, box, &room);
	double above = get_floor(era->cloud.upper, era->cloud.upper_count, 1, base.x, base.rate);
	double below = -get_floor(era->cloud.lower, era->cloud.lower_count, -1, base.x, base.rate);
	base.level = (above + below) / 2;
	choose_line(&era->cloud, box, &base);
	guint pieces_max = (guint)MIN(MIN(message_count / MESSAGES_PER_PIECE, PIECES_MAX), base.length / 1000000);
	struct curve curve = choose_curve(era, &base, box, change_rate, pieces_max, (above - below) / 2);
	measure_margins(&curve, &base, &era->cloud);
	era->curve_count = curve.pieces + 1;
	era->curve = g_new(struct dtc_curve_knot, era->curve_count);
	for (guint k = 0; k <= curve.pieces; k++) {
		int64_t x = get_knot(&base, curve.pieces, k);
		double before = k ? curve.margin[k - 1] : INFINITY,
		       after = k < curve.pieces ? curve.margin[k] : INFINITY;
		era->curve[k] = (struct dtc_curve_knot){ x, get_base(&base, x) + curve.value[k], MIN(before, after) };
	}
	curve_clear(&curve);
}
