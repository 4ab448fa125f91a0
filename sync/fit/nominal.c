/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/nominal.h"

#include "sync/fit/envelope.h"

#include <dtrace-chain/sort.h>

#include <math.h>
#include <string.h>

/* Messages per direction that the first idea is taken from; more say nothing new at this precision. */
#define SAMPLE_MAX 16384
#define STRETCHES_MAX 64
#define MESSAGES_PER_STRETCH 12
/* A few per cent of the messages may be wrong before a stretch's low quantile is. */
#define QUANTILE 0.06
int64_t dtc_nominal_to_node(const struct dtc_nominal *nominal, int64_t coordinate)
{
	return dtc_nominal_add_scaled(nominal->origin_ns, coordinate - nominal->shift,
				      -nominal->excess / (1 - nominal->excess));
}

struct dtc_nominal dtc_nominal_follow(const struct dtc_nominal *known, const struct dtc_coarse *coarse, bool forward)
{
	double scale = 1 - known->excess;
	int64_t b_ns = coarse->a_ns + coarse->offset_ns;
	struct dtc_nominal next;
	if (forward) {
		next.origin_ns = b_ns;
		next.shift = dtc_nominal_from_node(known, coarse->a_ns);
		next.excess = 1 - scale / (1 + coarse->rate);
	} else {
		next.origin_ns = coarse->a_ns;
		next.shift = dtc_nominal_from_node(known, b_ns);
		next.excess = 1 - scale * (1 + coarse->rate);
	}
	return next;
}

static GArray *sample(const struct dtc_message *messages, guint count, bool forward)
{
	GArray *points = g_array_new(FALSE, FALSE, sizeof(struct dtc_point));
	guint stride = (count + SAMPLE_MAX - 1) / SAMPLE_MAX;
	for (guint i = 0; i < count; i += stride) {
		const struct dtc_message *message = &messages[i];
		struct dtc_point point;
		point.x = forward ? message->sent_ns : message->received_ns;
		point.v = forward ? message->received_ns - message->sent_ns : message->sent_ns - message->received_ns;
		g_array_append_val(points, point);
	}
	dtc_points_sort((struct dtc_point *)(void *)points->data, points->len);
	return points;
}

/* Of points [begin, end) the one at the low quantile of sign * (v - rate x), among equal ones by index. */
static guint choose_quantile(const struct dtc_point *points, guint begin, guint end, double rate, int sign,
			     int64_t *ranks)
{
	guint count = end - begin, place = (guint)(count * QUANTILE), less = 0;
	int64_t *parted = ranks + count;
	for (guint i = begin; i < end; i++)
		ranks[i - begin] = dtc_rank_double(sign * ((double)(points[i].v - points[begin].v) -
							   rate * (double)(points[i].x - points[begin].x)));
	memcpy(parted, ranks, count * sizeof(*ranks));
	int64_t rank = dtc_select_int64(parted, count, place);
	for (guint i = 0; i < count; i++)
		less += ranks[i] < rank;
	for (guint i = 0, equal = less; i < count; i++)
		if (ranks[i] == rank && equal++ == place)
			return begin + i;
	g_assert_not_reached();
}

/* Room for the ranks of that many points, twice. Caller frees. */
static int64_t *make_ranks(guint count)
{
	return g_new(int64_t, 2 * (gsize)count);
}

/* Slopes between stretches not far apart, so that a step touches few of them. */
static void collect_slopes(const struct dtc_point *chosen, guint count, GArray *slopes)
{
	guint least = MAX(1, count / 8), most = MAX(1, count / 4);
	for (guint i = 0; i < count; i++) {
		for (guint k = i + least; k < count && k <= i + most; k++) {
			if (chosen[k].x <= chosen[i].x)
				continue;
			double slope = (double)(chosen[k].v - chosen[i].v) / (double)(chosen[k].x - chosen[i].x);
			g_array_append_val(slopes, slope);
		}
	}
}

static double improve_rate(GArray *const lists[2], guint stretches, double rate, double max_rate)
{
	g_autoptr(GArray) slopes = g_array_new(FALSE, FALSE, sizeof(double));
	g_autofree int64_t *ranks = make_ranks(MAX(lists[0]->len, lists[1]->len));
	g_autofree struct dtc_point *chosen = g_new(struct dtc_point, stretches);
	for (guint d = 0; d < 2; d++) {
		const struct dtc_point *points = (const struct dtc_point *)(const void *)lists[d]->data;
		for (guint k = 0; k < stretches; k++) {
			guint begin = (guint)((guint64)lists[d]->len * k / stretches);
			guint end = (guint)((guint64)lists[d]->len * (k + 1) / stretches);
			chosen[k] = points[choose_quantile(points, begin, end, rate, d ? -1 : 1, ranks)];
		}
		collect_slopes(chosen, stretches, slopes);
	}
	if (!slopes->len)
		return rate;
	dtc_sort_double((double *)(void *)slopes->data, slopes->len);
	return CLAMP(g_array_index(slopes, double, slopes->len / 2), -max_rate, max_rate);
}

struct dtc_coarse dtc_coarse_estimate(const struct dtc_message *ab, guint ab_count, const struct dtc_message *ba,
				      guint ba_count, double max_rate)
{
	struct dtc_coarse coarse = { 0 };
	if (!ab_count || !ba_count)
		return coarse;
	g_autoptr(GArray) upper = sample(ab, ab_count, true);
	g_autoptr(GArray) lower = sample(ba, ba_count, false);
	GArray *const lists[2] = { upper, lower };
	const struct dtc_point *up = (const struct dtc_point *)(const void *)upper->data;
	const struct dtc_point *down = (const struct dtc_point *)(const void *)lower->data;
	guint stretches = CLAMP(MIN(upper->len, lower->len) / MESSAGES_PER_STRETCH, 1, STRETCHES_MAX);
	if (stretches >= 4) {
		/* a quantile under a wrong slope is off by the slope times the stretch: each round divides the error */
		for (guint round = 0; round < 5; round++)
			coarse.rate = improve_rate(lists, stretches, coarse.rate, max_rate);
	} else {
		struct dtc_cloud cloud = { up, upper->len, down, lower->len };
		struct dtc_rates box = { -max_rate, max_rate };
		double room;
		coarse.rate = dtc_cloud_get_best_rate(&cloud, 0, &box, &room);
	}
	/* the level: half way between the low quantiles of both directions */
	g_autofree int64_t *ranks = make_ranks(MAX(upper->len, lower->len));
	const struct dtc_point *high = &up[choose_quantile(up, 0, upper->len, coarse.rate, 1, ranks)];
	const struct dtc_point *low = &down[choose_quantile(down, 0, lower->len, coarse.rate, -1, ranks)];
	coarse.a_ns = up[upper->len / 2].x;
	double above = coarse.rate * (double)(coarse.a_ns - high->x);
	double below = (double)(low->v - high->v) + coarse.rate * (double)(coarse.a_ns - low->x);
	coarse.offset_ns = high->v + llrint((above + below) / 2);
	/* few messages or a short span place a clock badly, whatever their spread */
	coarse.quality = fabs(above - below) * (1 + 64.0 / MIN(upper->len, lower->len));
	coarse.is_known = true;
	return coarse;
}
