/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/compare_view.h"

#include "analyze/report/finding_list.h"
#include "analyze/report/share_words.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"

#define GROWTHS_SHOWN 12

#define ALSO_NAMED 2 /* further parts, if the first is less than half */

/* "; then 15.91 ms (13 %) disk on jbd2/vda-8@backend": what grew next, if the first part is less than half. */
static void append_next(GString *out, const struct dtc_comparison *c, int64_t grown_ns)
{
	const struct dtc_growth *growths = (const struct dtc_growth *)(const void *)c->growths->data;

	for (guint i = 1; i <= ALSO_NAMED && i < c->growths->len; i++) {
		const struct dtc_share *share = &growths[i].share;
		if (2 * growths[0].share.ns >= grown_ns || 20 * share->ns < grown_ns)
			return;
		g_autofree char *part = dtc_duration_format(share->ns);
		g_autofree char *percent = dtc_percent_format(share->ns, grown_ns);
		g_string_append_printf(out, "%s %s (%s %%) %s on %s", i == 1 ? "; then" : ",", part, percent,
				       dtc_cause_to_string(share->cause), share->tier);
	}
}

/* One sentence: how much longer, and what makes most of it. */
static char *make_verdict(const struct dtc_comparison *c)
{
	g_autofree char *slow = dtc_printable(c->slow_name, DTC_PRINTABLE_MAX); /* as the user wrote them, or files */
	g_autofree char *fast = dtc_printable(c->fast_name, DTC_PRINTABLE_MAX);
	int64_t grown_ns = c->slow_ns - c->fast_ns;
	g_autofree char *by = dtc_duration_format(ABS(grown_ns));
	const struct dtc_growth *first = c->growths->len ? &g_array_index(c->growths, struct dtc_growth, 0) : NULL;

	if (!c->slow_count || !c->fast_count)
		return g_strdup("one of the groups is empty: nothing to compare");
	if (grown_ns <= 0 || !first || first->share.ns <= 0)
		return g_strdup_printf("%s are not slower than %s: %s less on average", slow, fast, by);
	g_autofree char *part = dtc_duration_format(first->share.ns);
	const char *cause = dtc_cause_to_string(first->share.cause), *tier = first->share.tier;
	const char *colon = first->share.detail ? ": " : "", *detail = first->share.detail ? first->share.detail : "";
	if (first->share.ns > grown_ns) /* something else shrank */
		return g_strdup_printf("%s take %s longer than %s; all of it is %s on %s, which grew by %s%s%s", slow,
				       by, fast, cause, tier, part, colon, detail);
	g_autofree char *percent = dtc_percent_format(first->share.ns, grown_ns);
	GString *out = g_string_new(NULL);
	g_string_append_printf(out, "%s take %s longer than %s; %s of it (%s %%) is %s on %s%s%s", slow, by, fast, part,
			       percent, cause, tier, colon, detail);
	append_next(out, c, grown_ns);
	return g_string_free(out, FALSE);
}

char *dtc_comparison_to_text(const struct dtc_comparison *c, const DtcFindings *findings,
			     const struct dtc_summary_text_options *options)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(options->width, options->has_color, options->has_utf8);
	struct dtc_scale scale = dtc_scale_get(MAX(c->slow_ns, c->fast_ns), options->is_exact);
	g_autofree char *verdict = make_verdict(c);
	g_autofree char *note = g_strdup_printf("means in %s; largest growth first", scale.unit);
	g_autofree char *slow_name = dtc_printable(c->slow_name, DTC_PRINTABLE_MAX);
	g_autofree char *fast_name = dtc_printable(c->fast_name, DTC_PRINTABLE_MAX);
	g_autofree char *slow = g_strdup_printf("%s (%u)", slow_name, c->slow_count);
	g_autofree char *fast = g_strdup_printf("%s (%u)", fast_name, c->fast_count);

	dtc_layout_add_paragraph(layout, verdict, 2);
	dtc_layout_add_heading(layout, "What grew", note);
	dtc_layout_add_right(layout, "slow", DTC_FIGURE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "fast", DTC_FIGURE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "grown", DTC_FIGURE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_end_line(layout);
	int64_t rest_slow_ns = c->slow_ns, rest_fast_ns = c->fast_ns;
	for (guint i = 0; i < MIN(c->growths->len, GROWTHS_SHOWN); i++) {
		const struct dtc_growth *growth = &g_array_index(c->growths, struct dtc_growth, i);
		g_autofree char *what = dtc_share_describe(&growth->share);
		dtc_figure_add(layout, scale, growth->slow_ns, DTC_STYLE_PLAIN);
		dtc_figure_add(layout, scale, growth->fast_ns, DTC_STYLE_PLAIN);
		dtc_figure_add(layout, scale, growth->slow_ns - growth->fast_ns, DTC_STYLE_BOLD);
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "  %s", what);
		dtc_layout_end_line(layout);
		rest_slow_ns -= growth->slow_ns;
		rest_fast_ns -= growth->fast_ns;
	}
	if (c->growths->len > GROWTHS_SHOWN) {
		dtc_figure_add(layout, scale, rest_slow_ns, DTC_STYLE_PLAIN);
		dtc_figure_add(layout, scale, rest_fast_ns, DTC_STYLE_PLAIN);
		dtc_figure_add(layout, scale, rest_slow_ns - rest_fast_ns, DTC_STYLE_PLAIN);
		dtc_layout_add(layout, DTC_STYLE_DIM, "  %u more parts", c->growths->len - GROWTHS_SHOWN);
		dtc_layout_end_line(layout);
	}
	dtc_figure_add(layout, scale, c->slow_ns, DTC_STYLE_BOLD);
	dtc_figure_add(layout, scale, c->fast_ns, DTC_STYLE_BOLD);
	dtc_figure_add(layout, scale, c->slow_ns - c->fast_ns, DTC_STYLE_BOLD);
	dtc_layout_add(layout, DTC_STYLE_BOLD, "  total");
	dtc_layout_end_line(layout);
	dtc_layout_add_heading(layout, "Groups", NULL);
	dtc_layout_add(layout, DTC_STYLE_PLAIN, "slow: %s", slow);
	dtc_layout_end_line(layout);
	dtc_layout_add(layout, DTC_STYLE_PLAIN, "fast: %s", fast);
	dtc_layout_end_line(layout);
	dtc_finding_list_add_text(layout, findings);
	return dtc_layout_steal(layout);
}

static void append_group(GString *out, const char *key, const char *name, guint count, int64_t mean_ns)
{
	dtc_json_append_key(out, key);
	g_string_append_c(out, '{');
	g_autofree char *printable = dtc_printable(name, DTC_PRINTABLE_MAX);
	dtc_json_add_text(out, "name", printable);
	dtc_json_add_integer(out, "requests", count);
	dtc_json_add_integer(out, "mean_ns", mean_ns);
	g_string_append_c(out, '}');
}

char *dtc_comparison_to_json(const struct dtc_comparison *c, const DtcFindings *findings)
{
	GString *out = g_string_new("{");
	g_autofree char *verdict = make_verdict(c);

	dtc_json_add_text(out, "schema", DTC_COMPARE_SCHEMA);
	dtc_json_add_text(out, "verdict", verdict);
	append_group(out, "slow", c->slow_name, c->slow_count, c->slow_ns);
	append_group(out, "fast", c->fast_name, c->fast_count, c->fast_ns);
	dtc_json_add_integer(out, "grown_ns", c->slow_ns - c->fast_ns);
	dtc_json_append_key(out, "segments");
	g_string_append_c(out, '[');
	for (guint i = 0; i < c->growths->len; i++) {
		const struct dtc_growth *growth = &g_array_index(c->growths, struct dtc_growth, i);
		dtc_json_append_separator(out);
		g_string_append(out, "\n{");
		dtc_json_add_name(out, "tier", growth->share.tier);
		dtc_json_add_name(out, "node", growth->share.node);
		dtc_json_add_name(out, "process", growth->share.process);
		dtc_json_add_name(out, "cause", dtc_cause_to_string(growth->share.cause));
		dtc_json_add_text(out, "detail", growth->share.detail);
		dtc_json_add_integer(out, "slow_ns", growth->slow_ns);
		dtc_json_add_integer(out, "fast_ns", growth->fast_ns);
		dtc_json_add_integer(out, "grown_ns", growth->slow_ns - growth->fast_ns);
		g_string_append_c(out, '}');
	}
	g_string_append(out, "]");
	dtc_finding_list_add_json(out, findings);
	g_string_append(out, "}\n");
	return g_string_free(out, FALSE);
}
