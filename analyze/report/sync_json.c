/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers and fixed words are written line by line: an alignment of a hundred nodes has a quarter of a million knots,
 * and a tree of nodes would take a hundred times the memory of its text.
 */
#include "analyze/report/sync_view.h"
#include "collect/console/json_object.h"

#define NS "%" G_GINT64_FORMAT
#define COUNT "%" G_GUINT64_FORMAT
/* Pieces of a pair's span. */
#define DIFFERENCES 32
/* Each is two shortest paths: a mesh of 100 nodes took minutes for what few ask for. */
#define DIFFERENCES_OF_ALL_PAIRS 4096

static void append_string_or_null(GString *out, const char *text)
{
	if (text)
		dtc_json_append_string(out, text);
	else
		g_string_append(out, "null");
}

/* Shortest form that reads back as the same number, with a point whatever the locale. */
static void append_double(GString *out, double value)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];
	for (int digits = 6; digits <= 17; digits += 11) {
		g_snprintf(text, sizeof(text), "%%.%dg", digits);
		char format[8];
		g_strlcpy(format, text, sizeof(format));
		g_ascii_formatd(text, sizeof(text), format, value);
		if (digits == 17 || g_ascii_strtod(text, NULL) == value)
			break;
	}
	g_string_append(out, text);
}

static void append_assumptions(GString *out, const struct dtc_fit_options *options)
{
	g_string_append_printf(out, "{\"min_delay_ns\": " NS ", \"max_drift_ppm\": ", (gint64)options->min_delay_ns);
	append_double(out, options->max_drift_ppm);
	g_string_append(out, ", \"max_wander_ppm\": ");
	append_double(out, options->max_wander_ppm);
	g_string_append(out, ", \"text\": ");
	dtc_json_append_string(
		out, "the relative rate of any two clocks is within max_drift_ppm of one and deviates from a constant "
		     "by at most max_wander_ppm, between a pair's first and last message by at most the "
		     "wander_ppm that its messages do not exclude, except at the steps listed; bounds hold for "
		     "the messages that were not trimmed");
	g_string_append_c(out, '}');
}

static void append_node(GString *out, const DtcSync *sync, guint node)
{
	const DtcClocks *clocks = dtc_sync_get_clocks(sync);
	guint count;
	const struct dtc_clock_knot *knots = dtc_clocks_get_knots(clocks, node, &count);
	g_string_append(out, "{\"node\": ");
	dtc_json_append_string(out, dtc_sync_get_node_name(sync, node));
	g_string_append_printf(out, ", \"group\": %u, \"knots\": [", dtc_clocks_get_group(clocks, node));
	for (guint i = 0; i < count; i++)
		g_string_append_printf(out,
				       "%s\n    {\"node_ns\": " NS ", \"cluster_ns\": " NS ", \"lo_ns\": " NS
				       ", \"hi_ns\": " NS "}",
				       i ? "," : "", (gint64)knots[i].node_ns, (gint64)knots[i].cluster_ns,
				       (gint64)knots[i].lo_ns, (gint64)knots[i].hi_ns);
	g_string_append(out, "]}");
}

/* The two clocks against each other, at instants over the span of their messages. */
static void append_differences(GString *out, const DtcSync *sync, const struct dtc_sync_pair *pair)
{
	const DtcClocks *clocks = dtc_sync_get_clocks(sync);
	int64_t begin = dtc_clocks_to_cluster_ns(clocks, pair->a, pair->begin_ns);
	int64_t end = dtc_clocks_to_cluster_ns(clocks, pair->a, pair->end_ns);
	guint steps = MIN(DIFFERENCES, DIFFERENCES_OF_ALL_PAIRS / dtc_sync_get_pair_count(sync));
	g_string_append(out, ", \"difference\": [");
	for (guint i = 0; i <= steps && steps && pair->status == DTC_PAIR_ALIGNED; i++) {
		int64_t lo, hi, at = begin + (int64_t)((__int128)(end - begin) * i / steps);
		if (!dtc_clocks_get_difference(clocks, pair->a, pair->b, (DtcClusterTime){ at }, &lo, &hi))
			break;
		g_string_append_printf(out, "%s\n    {\"cluster_ns\": " NS ", \"lo_ns\": " NS ", \"hi_ns\": " NS "}",
				       i ? "," : "", (gint64)at, (gint64)lo, (gint64)hi);
	}
	g_string_append_c(out, ']');
}

static void append_trimmed(GString *out, const DtcSync *sync, const struct dtc_sync_pair *pair)
{
	g_string_append(out, ", \"trimmed\": [");
	for (guint i = 0; i < pair->trimmed_count; i++) {
		const struct dtc_sync_trimmed *trimmed = &pair->trimmed[i];
		g_string_append_printf(out, "%s\n    {\"sent_ns\": " NS ", \"received_ns\": " NS ", \"from\": ",
				       i ? "," : "", (gint64)trimmed->sent_ns, (gint64)trimmed->received_ns);
		dtc_json_append_string(out, dtc_sync_get_node_name(sync, trimmed->from));
		g_string_append_printf(out, ", \"by_ns\": " NS "}", (gint64)trimmed->by_ns);
	}
	g_string_append_c(out, ']');
}

static void append_steps(GString *out, const struct dtc_sync_pair *pair)
{
	g_string_append(out, ", \"steps\": [");
	for (guint i = 0; i < pair->step_count; i++) {
		const struct dtc_sync_step *step = &pair->steps[i];
		g_string_append_printf(
			out, "%s{\"a_ns\": " NS ", \"begin_ns\": " NS ", \"end_ns\": " NS ", \"change_ns\": " NS "}",
			i ? ", " : "", (gint64)step->a_ns, (gint64)step->begin_ns, (gint64)step->end_ns,
			(gint64)step->change_ns);
	}
	g_string_append_c(out, ']');
}

static void append_pair(GString *out, const DtcSync *sync, const struct dtc_sync_pair *pair)
{
	g_string_append(out, "{\"a\": ");
	dtc_json_append_string(out, dtc_sync_get_node_name(sync, pair->a));
	g_string_append(out, ", \"b\": ");
	dtc_json_append_string(out, dtc_sync_get_node_name(sync, pair->b));
	g_string_append_printf(out,
			       ", \"status\": \"%s\", \"messages_ab\": " COUNT ", \"messages_ba\": " COUNT
			       ", \"unmatched_a\": " COUNT ", \"unmatched_b\": " COUNT ", \"ambiguous\": " COUNT
			       ", \"bounds_ab\": %u, \"bounds_ba\": %u, \"hull_ab\": %u, \"hull_ba\": %u",
			       dtc_pair_status_to_string(pair->status), pair->messages_ab, pair->messages_ba,
			       pair->unmatched_a, pair->unmatched_b, pair->ambiguous, pair->bounds_ab, pair->bounds_ba,
			       pair->hull_ab, pair->hull_ba);
	if (pair->status == DTC_PAIR_ALIGNED) {
		g_string_append_printf(
			out, ", \"begin_ns\": " NS ", \"end_ns\": " NS ", \"offset_ns\": " NS ", \"drift_ppm\": ",
			(gint64)pair->begin_ns, (gint64)pair->end_ns, (gint64)pair->offset_ns);
		append_double(out, pair->drift_ppm);
		g_string_append(out, ", \"wander_ppm\": ");
		append_double(out, pair->wander_ppm);
		g_string_append_printf(out, ", \"width_ns\": [" NS ", " NS ", " NS "]", (gint64)pair->width_ns[0],
				       (gint64)pair->width_ns[1], (gint64)pair->width_ns[2]);
	} else {
		g_string_append(out, ", \"begin_ns\": null, \"end_ns\": null, \"offset_ns\": null, "
				     "\"drift_ppm\": null, \"wander_ppm\": null, \"width_ns\": null");
	}
	append_differences(out, sync, pair);
	append_trimmed(out, sync, pair);
	append_steps(out, pair);
	g_string_append_c(out, '}');
}

static void append_findings(GString *out, const DtcFindings *findings)
{
	for (guint i = 0; i < dtc_findings_get_count(findings); i++) {
		const struct dtc_finding *finding = dtc_findings_get(findings, i);
		g_string_append_printf(out, "%s\n  {\"severity\": \"%s\", \"code\": ", i ? "," : "",
				       dtc_severity_to_string(finding->severity));
		append_string_or_null(out, finding->code);
		g_string_append(out, ", \"node\": ");
		append_string_or_null(out, finding->node);
		g_string_append(out, ", \"text\": ");
		dtc_json_append_string(out, finding->text);
		g_string_append_c(out, '}');
	}
}

char *dtc_sync_to_json(const DtcSync *sync, const DtcFindings *findings)
{
	GString *out = g_string_new("{\"schema\": \"" DTC_SYNC_SCHEMA "\",\n \"reference\": ");
	const struct dtc_fit_options *options = dtc_sync_get_options(sync);
	if (dtc_sync_get_node_count(sync))
		dtc_json_append_string(out, dtc_sync_get_node_name(sync, (guint)options->reference));
	else
		g_string_append(out, "null");
	g_string_append(out, ",\n \"assumptions\": ");
	append_assumptions(out, options);
	g_string_append(out, ",\n \"nodes\": [");
	for (guint i = 0; i < dtc_sync_get_node_count(sync); i++) {
		g_string_append(out, i ? ",\n  " : "\n  ");
		append_node(out, sync, i);
	}
	g_string_append(out, "],\n \"pairs\": [");
	for (guint i = 0; i < dtc_sync_get_pair_count(sync); i++) {
		g_string_append(out, i ? ",\n  " : "\n  ");
		append_pair(out, sync, dtc_sync_get_pair(sync, i));
	}
	g_string_append(out, "],\n \"findings\": [");
	append_findings(out, findings);
	g_string_append_printf(out, "],\n \"complete\": %s}\n",
			       dtc_sync_is_complete(sync) && dtc_findings_get_complete(findings) ? "true" : "false");
	return g_string_free(out, FALSE);
}
