/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/sync_view.h"

#include "analyze/report/layout.h"
#include "analyze/report/units.h"
#include "collect/console/printable.h"
#include "sync/fit/clocks.h"

#include <math.h>

/* Trimmed messages and nodes beyond these are counted, not listed: JSON has them all. */
#define FINDING_CHARACTERS 2000
#define TRIMMED_SHOWN 8
#define NODES_SHOWN 64
#define PAIRS_SHOWN 64

static char *format_offset(int64_t ns)
{
	guint64 size = ns < 0 ? -(guint64)ns : (guint64)ns;
	return g_strdup_printf("%c%" G_GUINT64_FORMAT ".%09u", ns < 0 ? '-' : '+', size / 1000000000,
			       (guint)(size % 1000000000));
}

/* A node is called as its folder is, and that may be anything. Caller frees. */
static char *show_name(const DtcSync *sync, guint node)
{
	return dtc_printable(dtc_sync_get_node_name(sync, node), DTC_PRINTABLE_NAME_MAX);
}

static void add_clipped(DtcLayout *layout, const DtcSync *sync, guint node, guint columns)
{
	g_autofree char *name = show_name(sync, node);
	g_autofree char *fitted = dtc_printable_fit(name, columns);
	dtc_layout_add_left(layout, fitted, columns, DTC_STYLE_PLAIN);
}

static char *format_half(int64_t width_ns)
{
	g_autofree char *text = dtc_duration_format(width_ns / 2);
	return g_strdup_printf("±%s", text);
}

static enum dtc_style get_style(enum dtc_pair_status status)
{
	if (status == DTC_PAIR_ALIGNED)
		return DTC_STYLE_GREEN;
	return status == DTC_PAIR_NONE ? DTC_STYLE_DIM : DTC_STYLE_YELLOW;
}

/* What a pair that is not aligned is good for. */
static void add_verdict(DtcLayout *layout, const DtcSync *sync, const struct dtc_sync_pair *pair)
{
	g_autofree char *a = show_name(sync, pair->a);
	g_autofree char *b = show_name(sync, pair->b);
	g_autofree char *text = NULL;
	bool is_ab;
	switch (pair->status) {
	case DTC_PAIR_ONE_WAY:
		is_ab = pair->messages_ab + pair->bounds_ab > 0;
		text = g_strdup_printf("    all from %s to %s: that bounds the difference on one side only",
				       is_ab ? a : b, is_ab ? b : a);
		break;
	case DTC_PAIR_CONTRADICTORY:
		text = g_strdup("    not used: no clock within the limits satisfies them, or other pairs contradict "
				"them");
		break;
	case DTC_PAIR_NONE:
		text = g_strdup("    packets, but none that is the same on both sides and only once");
		break;
	default:
		return;
	}
	dtc_layout_add_paragraph(layout, text, 4);
}

static void add_pair_details(DtcLayout *layout, const DtcSync *sync, const struct dtc_sync_pair *pair)
{
	if (pair->status == DTC_PAIR_ALIGNED && pair->wander_ppm < dtc_sync_get_options(sync)->max_wander_ppm) {
		dtc_layout_add(layout, DTC_STYLE_DIM,
			       "    the rate stays within %.2f ppm of a constant, its messages show", pair->wander_ppm);
		dtc_layout_end_line(layout);
	}
	if (pair->bounds_ab || pair->bounds_ba) {
		dtc_layout_add(layout, DTC_STYLE_DIM, "    and %u > < %u bounds from virtual CPUs", pair->bounds_ab,
			       pair->bounds_ba);
		dtc_layout_end_line(layout);
	}
	add_verdict(layout, sync, pair);
	if (pair->unmatched_a || pair->unmatched_b || pair->ambiguous) {
		g_autofree char *a = show_name(sync, pair->a);
		g_autofree char *b = show_name(sync, pair->b);
		dtc_layout_add(layout, DTC_STYLE_DIM,
			       "    not matched: %" G_GUINT64_FORMAT " on %s, %" G_GUINT64_FORMAT
			       " on %s; ambiguous: %" G_GUINT64_FORMAT,
			       pair->unmatched_a, a, pair->unmatched_b, b, pair->ambiguous);
		dtc_layout_end_line(layout);
	}
	for (guint i = 0; i < pair->step_count; i++) {
		g_autofree char *change = format_offset(pair->steps[i].change_ns);
		g_autofree char *gap = dtc_duration_format(pair->steps[i].end_ns - pair->steps[i].begin_ns);
		dtc_layout_add(layout, DTC_STYLE_YELLOW, "    step of %s s, %.3f s after the first message (within %s)",
			       change, (double)(pair->steps[i].a_ns - pair->begin_ns) / 1e9, gap);
		dtc_layout_end_line(layout);
	}
	if (pair->status != DTC_PAIR_ALIGNED)
		return;
	for (guint i = 0; i < MIN(pair->trimmed_count, TRIMMED_SHOWN); i++) {
		const struct dtc_sync_trimmed *trimmed = &pair->trimmed[i];
		g_autofree char *by = dtc_duration_format(trimmed->by_ns);
		g_autofree char *from = show_name(sync, trimmed->from);
		dtc_layout_add(layout, DTC_STYLE_DIM, "    left out: from %s, sent %" G_GINT64_FORMAT " ns, %s%s", from,
			       (gint64)trimmed->sent_ns, trimmed->by_ns ? by : "far earlier than its neighbours",
			       trimmed->by_ns ? " too early" : "");
		dtc_layout_end_line(layout);
	}
	if (pair->trimmed_count > TRIMMED_SHOWN) {
		dtc_layout_add(layout, DTC_STYLE_DIM, "    left out: %u more messages (all of them in --format json)",
			       pair->trimmed_count - TRIMMED_SHOWN);
		dtc_layout_end_line(layout);
	}
}

static void add_pairs(DtcLayout *layout, const DtcSync *sync, guint width)
{
	guint count = dtc_sync_get_pair_count(sync), name = width > 100 ? 16 : 10;
	dtc_layout_add_heading(layout, "pairs", "clock b minus clock a; ± is certified, at start, middle, end");
	for (guint i = 0; i < MIN(count, PAIRS_SHOWN); i++) {
		const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, i);
		g_autofree char *messages = g_strdup_printf("%" G_GUINT64_FORMAT " > < %" G_GUINT64_FORMAT,
							    pair->messages_ab, pair->messages_ba);
		dtc_layout_add_space(layout, 2);
		add_clipped(layout, sync, pair->a, name);
		dtc_layout_add_space(layout, 1);
		add_clipped(layout, sync, pair->b, name);
		dtc_layout_add_space(layout, 1);
		dtc_layout_add_left(layout, dtc_pair_status_to_string(pair->status), 13, get_style(pair->status));
		dtc_layout_add_space(layout, 1);
		dtc_layout_add_left(layout, messages, 16, DTC_STYLE_PLAIN);
		if (pair->status == DTC_PAIR_ALIGNED) {
			g_autofree char *offset = format_offset(pair->offset_ns);
			dtc_layout_add_right(layout, offset, 20, DTC_STYLE_PLAIN);
			dtc_layout_add(layout, DTC_STYLE_PLAIN, " s");
			dtc_layout_end_line(layout);
			g_autofree char *start = format_half(pair->width_ns[0]), *end = format_half(pair->width_ns[2]);
			g_autofree char *middle = format_half(pair->width_ns[1]);
			dtc_layout_add(layout, DTC_STYLE_PLAIN, "    drift %+.4f ppm   %s  %s  %s   hulls %u, %u",
				       pair->drift_ppm, start, middle, end, pair->hull_ab, pair->hull_ba);
		}
		dtc_layout_end_line(layout);
		add_pair_details(layout, sync, pair);
	}
	if (!count) {
		dtc_layout_add(layout, DTC_STYLE_DIM, "  none: no packet was seen on two nodes");
		dtc_layout_end_line(layout);
	}
	if (count > PAIRS_SHOWN) {
		dtc_layout_add(layout, DTC_STYLE_DIM, "  %u more pairs (all of them in --format json)",
			       count - PAIRS_SHOWN);
		dtc_layout_end_line(layout);
	}
}

static void add_node(DtcLayout *layout, const DtcSync *sync, guint node)
{
	const DtcClocks *clocks = dtc_sync_get_clocks(sync);
	guint count, group = dtc_clocks_get_group(clocks, node);
	const struct dtc_clock_knot *knots = dtc_clocks_get_knots(clocks, node, &count);
	const struct dtc_clock_knot *first = &knots[0], *middle = &knots[count / 2], *last = &knots[count - 1];
	dtc_layout_add_space(layout, 2);
	add_clipped(layout, sync, node, 12);
	dtc_layout_add_space(layout, 1);
	if (node == dtc_clocks_get_reference(clocks)) {
		dtc_layout_add(layout, DTC_STYLE_BOLD, "the reference");
	} else if (count == 1) {
		dtc_layout_add(layout, DTC_STYLE_RED, "not aligned with any node");
	} else if (group && middle->lo_ns == middle->hi_ns) {
		dtc_layout_add(layout, DTC_STYLE_RED, "not aligned: the reference of group %u", group);
	} else {
		if (group)
			dtc_layout_add(layout, DTC_STYLE_RED, "group %u: ", group);
		g_autofree char *offset = format_offset(middle->cluster_ns - middle->node_ns);
		g_autofree char *start = format_half(first->hi_ns - first->lo_ns);
		g_autofree char *half = format_half(middle->hi_ns - middle->lo_ns);
		g_autofree char *end = format_half(last->hi_ns - last->lo_ns);
		double rate = 1 / (1 + dtc_clocks_get_rate(clocks, node)) - 1; /* of cluster time minus node time */
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "%s s  %+.3f ppm  %s  %s  %s", offset, rate * 1e6, start, half,
			       end);
	}
	dtc_layout_end_line(layout);
}

char *dtc_sync_to_text(const DtcSync *sync, const DtcFindings *findings, guint width, bool has_color, bool has_utf8)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(width, has_color, has_utf8);
	const struct dtc_fit_options *options = dtc_sync_get_options(sync);
	guint nodes = dtc_sync_get_node_count(sync), findings_count = dtc_findings_get_count(findings);
	g_autofree char *reference = nodes ? show_name(sync, (guint)options->reference) : NULL;
	if (nodes)
		dtc_layout_add(layout, DTC_STYLE_BOLD, "clocks of %u nodes on the time of '%s'", nodes, reference);
	dtc_layout_end_line(layout);
	dtc_layout_add_heading(layout, "nodes", "cluster time minus node time, rate; ± at start, middle, end");
	for (guint i = 0; i < MIN(nodes, NODES_SHOWN); i++)
		add_node(layout, sync, i);
	if (nodes > NODES_SHOWN) {
		dtc_layout_add(layout, DTC_STYLE_DIM, "  %u more nodes (all of them in --format json)",
			       nodes - NODES_SHOWN);
		dtc_layout_end_line(layout);
	}
	add_pairs(layout, sync, width);
	dtc_layout_add_heading(layout, "assumptions", NULL);
	g_autofree char *text = g_strdup_printf(
		"  Certified means: true if the rates of any two clocks differ by at most %g ppm and stay within %g "
		"ppm of a constant between steps (less where a pair's messages show it, as listed), no message is "
		"faster than %" G_GINT64_FORMAT " ns, and the messages that were not left out are what they seem.",
		options->max_drift_ppm, options->max_wander_ppm, (gint64)options->min_delay_ns);
	dtc_layout_add_paragraph(layout, text, 2);
	if (findings_count)
		dtc_layout_add_heading(layout, "findings", NULL);
	for (guint i = 0; i < findings_count; i++) {
		const struct dtc_finding *finding = dtc_findings_get(findings, i);
		g_autofree char *line =
			g_strdup_printf("  %s: %s%s%s", dtc_severity_to_string(finding->severity),
					finding->node ? finding->node : "", finding->node ? ": " : "", finding->text);
		g_autofree char *printable = dtc_printable(line, FINDING_CHARACTERS);
		dtc_layout_add_paragraph(layout, printable, 4);
	}
	return dtc_layout_steal(layout);
}
