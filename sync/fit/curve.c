/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One piece: the maximum-margin line has three unknowns, and its rate maximises a concave function, which envelope.c
 * does exactly. More pieces: a linear program, continuous, with a margin of its own for each piece and a limit on how
 * much the rate may change from piece to piece.
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
	const struct dtc_point *points,
			   guint count, int sign)
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
static bool fit_pieces(const struct dtc_segment *segment, const struct base *base, guint pieces,
		       const struct dtc_rates *box, double max_change, struct curve *ret_curve)
{
	g_autoptr(DtcLp) lp = dtc_lp_new(2 * pieces + 1);
	if (!add_points(lp, base, pieces, segment->cloud.upper, segment->cloud.upper_count, true, box) ||
	    !add_points(lp, base, pieces, segment->cloud.lower, segment->cloud.lower_count, false, box))
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
static struct curve choose_curve(const struct dtc_segment *segment, const struct base *base,
	const struct dtc_rates *box,
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
	bool known = fit_pieces(segment, base, 1u << look, box, change_rate * length / (1u << look), &curves[look]);
	if (known && refutes_line(&curves[0], &curves[look], base)) {
		for (guint i = 1; i <= levels; i++)
			if (!curves[i].value)
				fit_pieces(segment, base, 1u << i, box, change_rate * length / (1u << i), &curves[i]);
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

void dtc_curve_fit(struct dtc_segment *segment, const struct dtc_rates *box, double change_rate, guint message_count)
{
	double room, margin;
	struct base base = { .x = segment->begin, .length = MAX(segment->end - segment->begin, 1) };
	base.rate = dtc_cloud_get_best_rate(&segment->cloud, 0, box, &room);
	base.level = get_level(&segment->cloud, base.x, base.rate, &margin);
	guint pieces_max = (guint)MIN(MIN(message_count / MESSAGES_PER_PIECE, PIECES_MAX), base.length / 1000000);
	struct curve curve = choose_curve(segment, &base, box, change_rate, pieces_max, margin);
	measure_margins(&curve, &base, &segment->cloud);
	segment->curve_count = curve.pieces + 1;
	segment->curve = g_new(struct dtc_curve_knot, segment->curve_count);
	for (guint k = 0; k <= curve.pieces; k++) {
		int64_t x = get_knot(&base, curve.pieces, k);
		double before = k ? curve.margin[k - 1] : INFINITY, after = k < curve.pieces ? curve.margin[k]
			: INFINITY;
		segment->curve[k] = (struct dtc_curve_knot){ x, get_base(&base, x) + curve.value[k],
			MIN(before, after) };
	}
	curve_clear(&curve);
}
