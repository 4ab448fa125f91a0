/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Residuals are drawn, not readings: the vertical axis is the difference of the two clocks' cluster times in
 * microseconds, so that a perfect map is the line at zero, messages one way lie above it and the other way below, and
 * the certified band lies around it. Points are thinned to what a screen can show; hull-like ones (nearest to the line)
 * are kept first.
 */
#include "analyze/report/sync_view.h"

#include <math.h>

#define PAIRS_SHOWN 32
#define WIDTH 960
#define HEIGHT 300
#define LEFT 80
#define TOP 36
#define PLOT_WIDTH (WIDTH - LEFT - 20)
#define PLOT_HEIGHT (HEIGHT - TOP - 60)
/* Columns of the picture; each keeps this many points of each direction. */
#define COLUMNS 420
#define POINTS_PER_COLUMN 3
#define BAND_POINTS 240
#define RATE_HEIGHT 140
#define RATE_POINTS 120

struct dot {
	double x; /* seconds since the pair's begin */
	double y; /* microseconds, above the line for a to b */
};

struct frame {
	double begin_ns, length_s, reach_us;
	int top;
};

static double get_x(const struct frame *frame, double seconds)
{
	return LEFT + PLOT_WIDTH * seconds / frame->length_s;
}

static double get_y(const struct frame *frame, double us)
{
	return frame->top + TOP + PLOT_HEIGHT / 2.0 - CLAMP(us / frame->reach_us, -1, 1) * PLOT_HEIGHT / 2;
}

/* Received minus sent in cluster time, signed by direction. */
static void collect_dots(const DtcClocks *clocks, const struct dtc_message *messages, guint count, guint from, guint to,
			 bool forward, int64_t begin_ns, GArray *dots)
{
	for (guint i = 0; i < count; i++) {
		int64_t sent = dtc_clocks_to_cluster(clocks, from, (DtcNodeTime){ messages[i].sent_ns }).ns;
		int64_t received = dtc_clocks_to_cluster(clocks, to, (DtcNodeTime){ messages[i].received_ns }).ns;
		struct dot dot = { (double)((forward ? sent : received) - begin_ns) / 1e9,
				   (forward ? 1 : -1) * (double)(received - sent) / 1e3 };
		g_array_append_val(dots, dot);
	}
}

static int compare_dots(gconstpointer left, gconstpointer right)
{
	double p = fabs(((const struct dot *)left)->y), q = fabs(((const struct dot *)right)->y);
	return (p > q) - (p < q);
}

static void append_dots(GString *out, const struct frame *frame, GArray *dots, const char *colour)
{
	g_autofree guint8 *used = g_new0(guint8, COLUMNS + 1);
	g_array_sort(dots, compare_dots);
	g_string_append_printf(out, "<g fill=\"%s\">\n", colour);
	for (guint i = 0; i < dots->len; i++) {
		const struct dot *dot = &g_array_index(dots, struct dot, i);
		guint column = (guint)CLAMP(dot->x / frame->length_s * COLUMNS, 0, COLUMNS);
		if (fabs(dot->y) > frame->reach_us || used[column] >= POINTS_PER_COLUMN)
			continue;
		used[column]++;
		g_string_append_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"1.5\"/>\n", get_x(frame, dot->x),
				       get_y(frame, dot->y));
	}
	g_string_append(out, "</g>\n");
}

/* Certified bounds of b's cluster time minus a's, around the map, at one instant of cluster time. */
static void get_band(const DtcClocks *clocks, guint a, guint b, int64_t cluster_ns, double *ret_lo, double *ret_hi)
{
	*ret_lo = *ret_hi = 0;
	for (guint i = 0; i < 2; i++) {
		guint node = i ? b : a;
		DtcClusterTime lo, hi;
		DtcNodeTime at = dtc_clocks_to_node(clocks, node, (DtcClusterTime){ cluster_ns });
		dtc_clocks_get_bounds(clocks, node, at, &lo, &hi);
		*ret_lo += (double)(i ? lo.ns - cluster_ns : cluster_ns - hi.ns) / 1e3;
		*ret_hi += (double)(i ? hi.ns - cluster_ns : cluster_ns - lo.ns) / 1e3;
	}
}

static void append_band(GString *out, const struct frame *frame, const DtcClocks *clocks, guint a, guint b)
{
	g_autoptr(GString) back = g_string_new(NULL);
	g_string_append(out, "<polygon fill=\"#8884\" stroke=\"#888\" points=\"");
	for (guint i = 0; i <= BAND_POINTS; i++) {
		double lo, hi, seconds = frame->length_s * i / BAND_POINTS;
		get_band(clocks, a, b, (int64_t)(frame->begin_ns + seconds * 1e9), &lo, &hi);
		g_string_append_printf(out, "%.1f,%.1f ", get_x(frame, seconds), get_y(frame, hi));
		g_autofree char *point = g_strdup_printf("%.1f,%.1f ", get_x(frame, seconds), get_y(frame, lo));
		g_string_prepend(back, point);
	}
	g_string_append_printf(out, "%s\"/>\n", back->str);
}

static void append_escaped(GString *out, const char *name)
{
	g_autofree char *valid = g_utf8_make_valid(name, -1);
	g_autofree char *escaped = g_markup_escape_text(valid, -1);
	g_string_append(out, escaped);
}

static void append_frame(GString *out, const struct frame *frame, const DtcSync *sync, const struct dtc_sync_pair *pair)
{
	g_string_append_printf(out, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">", LEFT, frame->top + 18);
	append_escaped(out, dtc_sync_get_node_name(sync, pair->a));
	g_string_append(out, " &#8596; ");
	append_escaped(out, dtc_sync_get_node_name(sync, pair->b));
	g_string_append_printf(out,
			       "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\">drift %+.4f ppm, %u left out, %u "
			       "steps</text>\n",
			       WIDTH - 20, frame->top + 18, pair->drift_ppm, pair->trimmed_count, pair->step_count);
	g_string_append_printf(out,
		"<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#aaa\"/>\n", LEFT,
			       frame->top + TOP, PLOT_WIDTH, PLOT_HEIGHT);
	for (int i = -2; i <= 2; i++)
		g_string_append_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%+.4g &#181;s</text>\n",
			LEFT - 6,
				       get_y(frame, frame->reach_us * i / 2) + 4, frame->reach_us * i / 2);
	for (int i = 0; i <= 4; i++)
		g_string_append_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.3g s</text>\n",
				       get_x(frame, frame->length_s * i / 4), frame->top + TOP + PLOT_HEIGHT + 16,
				       frame->length_s * i / 4);
	for (guint i = 0; i < pair->step_count; i++) {
		const DtcClocks *clocks = dtc_sync_get_clocks(sync);
		DtcClusterTime at = dtc_clocks_to_cluster(clocks, pair->a, (DtcNodeTime){ pair->steps[i].a_ns });
		double x = get_x(frame, ((double)at.ns - frame->begin_ns) / 1e9);
		g_string_append_printf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#c60\"/>\n",
				       x, x,
				       frame->top + TOP, frame->top + TOP + PLOT_HEIGHT);
	}
	g_string_append_printf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#000\"/>\n", LEFT,
			       LEFT + PLOT_WIDTH, get_y(frame, 0), get_y(frame, 0));
}

static void append_pair(GString *out, const DtcSync *sync, const struct dtc_sync_pair *pair,
			const struct dtc_match_pair *match, int top)
{
	const DtcClocks *clocks = dtc_sync_get_clocks(sync);
	int64_t begin = dtc_clocks_to_cluster(clocks, pair->a, (DtcNodeTime){ pair->begin_ns }).ns;
	int64_t end = dtc_clocks_to_cluster(clocks, pair->a, (DtcNodeTime){ pair->end_ns }).ns;
	struct frame frame = { .begin_ns = (double)begin, .length_s = MAX((double)(end - begin) / 1e9, 1e-6),
			       .top = top };
	g_autoptr(GArray) there = g_array_new(FALSE, FALSE, sizeof(struct dot));
	g_autoptr(GArray) back = g_array_new(FALSE, FALSE, sizeof(struct dot));
	collect_dots(clocks, match->ab, match->ab_count, match->a, match->b, true, begin, there);
	collect_dots(clocks, match->ba, match->ba_count, match->b, match->a, false, begin, back);
	/* the frame shows the band and as much again */
	int64_t width = MAX(pair->width_ns[1], MIN(pair->width_ns[0], pair->width_ns[2]));
	frame.reach_us = MAX((double)width / 1e3 * 1.5, 0.1);
	append_band(out, &frame, clocks, pair->a, pair->b);
	append_dots(out, &frame, there, "#06c");
	append_dots(out, &frame, back, "#c03");
	append_frame(out, &frame, sync, pair);
}

/* Rate of a node's clock against the reference, minus its mean, over the span of its map. */
static void append_rate(GString *out, const DtcSync *sync, guint node, int top)
{
	const DtcClocks *clocks = dtc_sync_get_clocks(sync);
	guint count;
	const struct dtc_clock_knot *knots = dtc_clocks_get_knots(clocks, node, &count);
	int64_t begin = knots[0].node_ns, span = knots[count - 1].node_ns - begin;
	double mean = (double)(knots[count - 1].cluster_ns - knots[0].cluster_ns - span) / (double)span;
	double rates[RATE_POINTS], reach = 0.01; /* readings are whole nanoseconds: less is rounding */
	for (guint i = 0; i < RATE_POINTS; i++) {
		int64_t x0 = begin + (int64_t)((__int128)span * i / RATE_POINTS);
		int64_t x1 = begin + (int64_t)((__int128)span * (i + 1) / RATE_POINTS);
		int64_t gained = dtc_clocks_to_cluster(clocks, node, (DtcNodeTime){ x1 }).ns -
				 dtc_clocks_to_cluster(clocks, node, (DtcNodeTime){ x0 }).ns - (x1 - x0);
		rates[i] = ((double)gained / (double)MAX(x1 - x0, 1) - mean) * 1e6;
		reach = MAX(reach, fabs(rates[i]));
	}
	double middle = top + 24 + (RATE_HEIGHT - 40) / 2.0, scale = (RATE_HEIGHT - 40) / 2.0 / reach;
	g_string_append_printf(out, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">", LEFT, top + 16);
	append_escaped(out, dtc_sync_get_node_name(sync, node));
	g_string_append_printf(out,
			       "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\">rate of the map %+.4f ppm, "
			       "&#177;%.3g "
			       "ppm around it</text>\n<polyline fill=\"none\" stroke=\"#063\" points=\"",
			       WIDTH - 20, top + 16, mean * 1e6, reach);
	for (guint i = 0; i < RATE_POINTS; i++)
		g_string_append_printf(out, "%.1f,%.1f ", LEFT + PLOT_WIDTH * (i + 0.5) / RATE_POINTS,
				       middle - rates[i] * scale);
	g_string_append_printf(out, "\"/>\n<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#aaa\"/>\n", LEFT,
			       LEFT + PLOT_WIDTH, middle, middle);
}

char *dtc_sync_to_svg(const DtcSync *sync, const DtcMatches *matches)
{
	g_autoptr(GString) body = g_string_new(NULL);
	int top = 10;
	guint shown = 0;
	for (guint i = 0; i < dtc_sync_get_pair_count(sync) && shown < PAIRS_SHOWN; i++) {
		struct dtc_match_pair match;
		if (dtc_sync_get_pair(sync, i)->status != DTC_PAIR_ALIGNED)
			continue;
		dtc_matches_get_pair(matches, i, &match);
		append_pair(body, sync, dtc_sync_get_pair(sync, i), &match, top);
		top += HEIGHT;
		shown++;
	}
	shown = 0;
	for (guint i = 0; i < dtc_sync_get_node_count(sync) && shown < PAIRS_SHOWN; i++) {
		guint count;
		dtc_clocks_get_knots(dtc_sync_get_clocks(sync), i, &count);
		if (count < 2 || i == dtc_clocks_get_reference(dtc_sync_get_clocks(sync)))
			continue;
		append_rate(body, sync, i, top);
		top += RATE_HEIGHT;
		shown++;
	}
	GString *out = g_string_new(NULL);
	g_string_append_printf(out,
			       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
			       "font-family=\"sans-serif\" "
			       "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n%s</svg>\n",
			       WIDTH, top + 10, body->str);
	return g_string_free(out, FALSE);
}
