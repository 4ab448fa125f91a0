/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/summary_view.h"
#include "analyze/report/finding_list.h"
#include "analyze/report/json_object.h"
#include "analyze/report/layout.h"
#include "analyze/report/printable.h"
#include "analyze/report/units.h"

#include <string.h>

#define FIGURE_COLUMNS 10
#define BAND_SHARES 3 /* parts of a band that are named */
#define GROWTHS_SHOWN 12

static char *format_figure(struct dtc_scale scale, int64_t ns)
{
	return dtc_scale_format(scale, ns);
}

static char *describe_share(const struct dtc_share *share)
{
	if (share->detail)
		return g_strdup_printf("%s %s, %s", share->tier, dtc_cause_to_string(share->cause), share->detail);
	return g_strdup_printf("%s %s", share->tier, dtc_cause_to_string(share->cause));
}

static void add_figure(DtcLayout *layout, struct dtc_scale scale, int64_t ns, enum dtc_style style)
{
	g_autofree char *text = format_figure(scale, ns);

	dtc_layout_add_right(layout, text, FIGURE_COLUMNS, style);
}

/* How many rows were asked for: the first ones. */
static guint get_listed(const struct dtc_requests_input *input)
{
	guint count = input->summary->rows->len;

	return input->slowest ? MIN(input->slowest, count) : count;
}

static guint get_shown(const struct dtc_requests_input *input)
{
	guint listed = get_listed(input);

	return input->limit ? MIN(input->limit, listed) : listed;
}

static guint get_id_columns(const DtcSummary *summary, guint shown)
{
	guint columns = 8;

	for (guint i = 0; i < shown; i++)
		columns = MAX(columns,
			      dtc_printable_get_columns(g_array_index(summary->rows, struct dtc_summary_row, i).id));
	return MIN(columns, 24);
}

static void add_rows(DtcLayout *layout, const struct dtc_requests_input *input, struct dtc_scale scale, guint shown)
{
	guint id_columns = get_id_columns(input->summary, shown);
	guint count = input->summary->rows->len, listed = get_listed(input);
	g_autofree char *part = shown < count ? g_strdup_printf("%u of %u shown, ", shown, count) : g_strdup("");
	g_autofree char *note = g_strdup_printf("%stimes in %s, start since the recording's begin", part, scale.unit);

	dtc_layout_add_heading(layout, "Requests", note);
	dtc_layout_add_left(layout, "id", id_columns, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "start", FIGURE_COLUMNS + 2, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "took", FIGURE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "status", 7, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "tiers", 6, DTC_STYLE_DIM);
	dtc_layout_add(layout, DTC_STYLE_DIM, "  largest part");
	dtc_layout_end_line(layout);
	for (guint i = 0; i < shown; i++) {
		const struct dtc_summary_row *row = &g_array_index(input->summary->rows, struct dtc_summary_row, i);
		const struct dtc_share *dominant = dtc_summary_get_share(input->summary, row, 0);
		g_autofree char *start = format_figure(scale, row->begin_ns - input->origin_ns);
		g_autofree char *status = row->status ? g_strdup_printf("%d", row->status) : g_strdup("-");
		dtc_layout_add_left(layout, row->id, id_columns, DTC_STYLE_PLAIN);
		dtc_layout_add_right(layout, start, FIGURE_COLUMNS + 2, DTC_STYLE_PLAIN);
		add_figure(layout, scale, row->duration_ns, DTC_STYLE_BOLD);
		dtc_layout_add_right(layout, status, 7, row->status >= 500 ? DTC_STYLE_RED : DTC_STYLE_PLAIN);
		g_autofree char *tiers = g_strdup_printf("%u", dtc_summary_get_tier_count(input->summary, row));
		dtc_layout_add_right(layout, tiers, 6, DTC_STYLE_PLAIN);
		if (dominant) {
			g_autofree char *percent = dtc_percent_format(dominant->ns, row->duration_ns);
			g_autofree char *what = describe_share(dominant);
			dtc_layout_add(layout, DTC_STYLE_PLAIN, " %3s%% %s", percent, what);
		}
		dtc_layout_end_line(layout);
	}
	if (shown < listed) {
		dtc_layout_add(layout, DTC_STYLE_DIM, "%u more; --limit 0 shows all", listed - shown);
		dtc_layout_end_line(layout);
	}
}

static void add_bands(DtcLayout *layout, const DtcSummary *summary, struct dtc_scale scale)
{
	g_autoptr(GArray) bands = dtc_summary_get_bands(summary);

	dtc_layout_add_heading(layout, "By percentile", "mean of each band, and its largest part");
	for (guint i = 0; i < bands->len; i++) {
		const struct dtc_band *band = &g_array_index(bands, struct dtc_band, i);
		g_autofree char *count = g_strdup_printf("%u", band->request_count);
		dtc_layout_add_left(layout, band->name, 11, DTC_STYLE_PLAIN);
		dtc_layout_add_right(layout, count, 6, DTC_STYLE_DIM);
		add_figure(layout, scale, band->duration_ns, DTC_STYLE_BOLD);
		for (guint k = 0; k < MIN(band->shares->len, BAND_SHARES); k++) {
			const struct dtc_share *share = &g_array_index(band->shares, struct dtc_share, k);
			g_autofree char *ns = dtc_duration_format_short(share->ns);
			if (k)
				dtc_layout_add_space(layout, 11 + 6 + FIGURE_COLUMNS);
			dtc_layout_add(layout, DTC_STYLE_PLAIN, "  %6s  %s %s", ns, share->tier,
				       dtc_cause_to_string(share->cause));
			dtc_layout_end_line(layout);
		}
	}
}

static void add_skipped(DtcLayout *layout, guint count, const char *why)
{
	if (!count)
		return;
	dtc_layout_add(layout, DTC_STYLE_YELLOW, "%u more %s", count, why);
	dtc_layout_end_line(layout);
}

char *dtc_requests_to_text(const struct dtc_requests_input *input, const struct dtc_summary_text_options *options)
{
	const DtcSummary *summary = input->summary;
	g_autoptr(DtcLayout) layout = dtc_layout_new(options->width, options->has_color, options->has_utf8);
	g_autofree char *p50 = dtc_duration_format(dtc_summary_get_percentile(summary, 50));
	g_autofree char *p90 = dtc_duration_format(dtc_summary_get_percentile(summary, 90));
	g_autofree char *p99 = dtc_duration_format(dtc_summary_get_percentile(summary, 99));

	dtc_layout_add(layout, DTC_STYLE_BOLD, "%u requests", summary->rows->len);
	if (summary->rows->len)
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "  p50 %s  p90 %s  p99 %s", p50, p90, p99);
	dtc_layout_end_line(layout);
	add_skipped(layout, input->skipped.began_before, "began before the kernel trace and are left out");
	add_skipped(layout, input->skipped.ended_after, "ended after the kernel trace and are left out");
	add_skipped(layout, input->skipped.not_traced, "are in the captures, but in no kernel trace");
	if (summary->rows->len) {
		struct dtc_scale scale = dtc_scale_get(dtc_summary_get_percentile(summary, 100), options->is_exact);
		add_rows(layout, input, scale, get_shown(input));
		add_bands(layout, summary, scale);
	}
	dtc_finding_list_add_text(layout, input->findings);
	return dtc_layout_steal(layout);
}

/* {"tier","node","process","cause","detail","ns"} */
static void append_share(GString *out, const struct dtc_share *share)
{
	dtc_json_append_separator(out);
	g_string_append_c(out, '{');
	dtc_json_add_name(out, "tier", share->tier);
	dtc_json_add_name(out, "node", share->node);
	dtc_json_add_name(out, "process", share->process);
	dtc_json_add_name(out, "cause", dtc_cause_to_string(share->cause));
	dtc_json_add_text(out, "detail", share->detail);
	dtc_json_add_integer(out, "ns", share->ns);
	g_string_append_c(out, '}');
}

static void append_tiers(GString *out, const DtcSummary *summary, const struct dtc_summary_row *row)
{
	dtc_json_append_key(out, "tiers");
	g_string_append_c(out, '[');
	for (guint i = 0; i < row->share_count; i++) {
		const struct dtc_share *share = dtc_summary_get_share(summary, row, i);
		int64_t ns = 0;
		bool is_first = true;
		for (guint k = 0; k < row->share_count; k++) {
			const struct dtc_share *other = dtc_summary_get_share(summary, row, k);
			if (other->tier != share->tier)
				continue;
			is_first &= k >= i;
			ns += other->ns;
		}
		if (!is_first)
			continue;
		dtc_json_append_separator(out);
		g_string_append_c(out, '{');
		dtc_json_add_name(out, "tier", share->tier);
		dtc_json_add_name(out, "node", share->node);
		dtc_json_add_name(out, "process", share->process);
		dtc_json_add_integer(out, "ns", ns);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
}

static void append_row(GString *out, const DtcSummary *summary, const struct dtc_summary_row *row)
{
	dtc_json_append_separator(out);
	g_string_append(out, "\n{");
	dtc_json_add_text(out, "id", row->id);
	dtc_json_add_integer(out, "start_ns", row->begin_ns);
	dtc_json_add_integer(out, "duration_ns", row->duration_ns);
	dtc_json_add_text(out, "method", row->method);
	dtc_json_add_text(out, "url", row->url);
	if (row->status)
		dtc_json_add_integer(out, "status", row->status);
	else
		dtc_json_add_null(out, "status");
	dtc_json_append_key(out, "target");
	g_string_append_c(out, '{');
	dtc_json_add_name(out, "node", row->node);
	dtc_json_add_id(out, "pid", row->pid);
	dtc_json_add_id(out, "tid", row->tid);
	dtc_json_add_name(out, "comm", row->comm);
	g_string_append_c(out, '}');
	append_tiers(out, summary, row);
	dtc_json_append_key(out, "breakdown");
	g_string_append_c(out, '[');
	for (guint i = 0; i < row->share_count; i++)
		append_share(out, dtc_summary_get_share(summary, row, i));
	g_string_append_c(out, ']');
	dtc_json_append_key(out, "dominant");
	if (row->share_count) {
		GString *dominant = g_string_new(NULL);
		append_share(dominant, dtc_summary_get_share(summary, row, 0));
		g_string_append(out, dominant->str);
		g_string_free(dominant, TRUE);
	} else {
		g_string_append(out, "null");
	}
	dtc_json_add_bool(out, "complete", row->complete);
	g_string_append_c(out, '}');
}

static void append_skipped(GString *out, const struct dtc_skipped *skipped)
{
	dtc_json_add_integer(out, "skipped", skipped->began_before + skipped->ended_after + skipped->not_traced);
	dtc_json_append_key(out, "skipped_reasons");
	g_string_append_c(out, '{');
	dtc_json_add_integer(out, "began_before", skipped->began_before);
	dtc_json_add_integer(out, "ended_after", skipped->ended_after);
	dtc_json_add_integer(out, "not_traced", skipped->not_traced);
	g_string_append_c(out, '}');
}

char *dtc_requests_to_json(const struct dtc_requests_input *input)
{
	const DtcSummary *summary = input->summary;
	GString *out = g_string_new("{");
	guint shown = get_shown(input);

	dtc_json_add_text(out, "schema", DTC_REQUESTS_SCHEMA);
	dtc_json_add_name(out, "reference", input->reference);
	dtc_json_append_key(out, "requests");
	g_string_append_c(out, '[');
	for (guint i = 0; i < shown; i++)
		append_row(out, summary, &g_array_index(summary->rows, struct dtc_summary_row, i));
	g_string_append(out, "]");
	dtc_json_append_key(out, "summary");
	g_string_append(out, "\n{");
	dtc_json_add_integer(out, "count", summary->rows->len);
	dtc_json_add_integer(out, "shown", shown);
	append_skipped(out, &input->skipped);
	dtc_json_add_integer(out, "p50_ns", dtc_summary_get_percentile(summary, 50));
	dtc_json_add_integer(out, "p90_ns", dtc_summary_get_percentile(summary, 90));
	dtc_json_add_integer(out, "p99_ns", dtc_summary_get_percentile(summary, 99));
	dtc_json_append_key(out, "bands");
	g_string_append_c(out, '[');
	g_autoptr(GArray) bands = dtc_summary_get_bands(summary);
	for (guint i = 0; i < bands->len; i++) {
		const struct dtc_band *band = &g_array_index(bands, struct dtc_band, i);
		dtc_json_append_separator(out);
		g_string_append(out, "\n{");
		dtc_json_add_text(out, "name", band->name);
		dtc_json_add_integer(out, "above_ns", band->from_ns);
		dtc_json_add_integer(out, "to_ns", band->to_ns);
		dtc_json_add_integer(out, "requests", band->request_count);
		dtc_json_add_integer(out, "mean_ns", band->duration_ns);
		dtc_json_append_key(out, "breakdown");
		g_string_append_c(out, '[');
		for (guint k = 0; k < band->shares->len; k++)
			append_share(out, &g_array_index(band->shares, struct dtc_share, k));
		g_string_append(out, "]}");
	}
	g_string_append(out, "]}");
	dtc_finding_list_add_json(out, input->findings);
	g_string_append(out, "}\n");
	return g_string_free(out, FALSE);
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
	return g_strdup_printf("%s take %s longer than %s; %s of it (%s %%) is %s on %s%s%s", slow, by, fast, part,
			       percent, cause, tier, colon, detail);
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
	dtc_layout_add_right(layout, "slow", FIGURE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "fast", FIGURE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "grown", FIGURE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_end_line(layout);
	int64_t rest_slow_ns = c->slow_ns, rest_fast_ns = c->fast_ns;
	for (guint i = 0; i < MIN(c->growths->len, GROWTHS_SHOWN); i++) {
		const struct dtc_growth *growth = &g_array_index(c->growths, struct dtc_growth, i);
		g_autofree char *what = describe_share(&growth->share);
		add_figure(layout, scale, growth->slow_ns, DTC_STYLE_PLAIN);
		add_figure(layout, scale, growth->fast_ns, DTC_STYLE_PLAIN);
		add_figure(layout, scale, growth->slow_ns - growth->fast_ns, DTC_STYLE_BOLD);
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "  %s", what);
		dtc_layout_end_line(layout);
		rest_slow_ns -= growth->slow_ns;
		rest_fast_ns -= growth->fast_ns;
	}
	if (c->growths->len > GROWTHS_SHOWN) {
		add_figure(layout, scale, rest_slow_ns, DTC_STYLE_PLAIN);
		add_figure(layout, scale, rest_fast_ns, DTC_STYLE_PLAIN);
		add_figure(layout, scale, rest_slow_ns - rest_fast_ns, DTC_STYLE_PLAIN);
		dtc_layout_add(layout, DTC_STYLE_DIM, "  %u more parts", c->growths->len - GROWTHS_SHOWN);
		dtc_layout_end_line(layout);
	}
	add_figure(layout, scale, c->slow_ns, DTC_STYLE_BOLD);
	add_figure(layout, scale, c->fast_ns, DTC_STYLE_BOLD);
	add_figure(layout, scale, c->slow_ns - c->fast_ns, DTC_STYLE_BOLD);
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
