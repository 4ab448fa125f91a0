/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/requests_view.h"

#include "analyze/engine/wall_clock.h"
#include "analyze/report/finding_list.h"
#include "analyze/report/layout.h"
#include "analyze/report/share_words.h"
#include "analyze/report/summary_tables.h"
#include "analyze/report/units.h"
#include "analyze/report/verdict_json.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"

#include <string.h>

#define COUNT_COLUMNS 6
#define CLOCK_COLUMNS 14
#define STATUS_COLUMNS 6
#define BAND_COLUMNS 11
#define BAND_SHARES 3 /* parts of a band that are named */
#define URLS_SHOWN 10 /* and tiers */

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

static guint count_anonymous(const DtcSummary *summary)
{
	guint count = 0;

	for (guint i = 0; i < summary->rows->len; i++)
		count += g_array_index(summary->rows, struct dtc_summary_row, i).is_anonymous;
	return count;
}

/* The rest of a table that is not shown. */
static void add_more(DtcLayout *layout, guint count, const char *what)
{
	if (!count)
		return;
	dtc_layout_add(layout, DTC_STYLE_DIM, "%u more%s; --limit 0 shows all", count, what);
	dtc_layout_end_line(layout);
}

/* ---- by URL ---- */

/* "GET /cart/8": the query is in the JSON. */
static char *name_url(const char *method, const char *url)
{
	if (!url || !*url)
		return g_strdup(method && *method ? method : "not known");
	return g_strdup_printf("%s%s%.*s", method ? method : "", method && *method ? " " : "",
			       (int)MAX(strcspn(url, "?"), 1), url);
}

static void add_urls(DtcLayout *layout, const struct dtc_requests_input *input, struct dtc_scale scale, guint width)
{
	g_autoptr(GArray) urls = dtc_summary_get_urls(input->summary);
	g_autofree char *note =
		g_strdup_printf("times in %s, most time first; the largest part of the slowest quarter", scale.unit);
	guint shown = input->limit ? MIN(urls->len, URLS_SHOWN) : urls->len, columns = 8;

	for (guint i = 0; i < shown; i++) {
		const struct dtc_url_row *url = &g_array_index(urls, struct dtc_url_row, i);
		g_autofree char *name = name_url(url->method, url->pattern);
		columns = MAX(columns, dtc_printable_get_columns(name));
	}
	columns = MIN(columns, width / 4);
	dtc_layout_add_heading(layout, "By URL", note);
	dtc_layout_add_left(layout, "URL", columns, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "n", COUNT_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "p50", DTC_FIGURE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "p99", DTC_FIGURE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "max", DTC_FIGURE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_end_line(layout);
	for (guint i = 0; i < shown; i++) {
		const struct dtc_url_row *url = &g_array_index(urls, struct dtc_url_row, i);
		g_autofree char *name = name_url(url->method, url->pattern);
		g_autofree char *count = g_strdup_printf("%u", url->figures.count);
		dtc_layout_add_left(layout, name, columns, DTC_STYLE_PLAIN);
		dtc_layout_add_right(layout, count, COUNT_COLUMNS, DTC_STYLE_PLAIN);
		dtc_figure_add(layout, scale, url->figures.p50_ns, DTC_STYLE_PLAIN);
		dtc_figure_add(layout, scale, url->figures.p99_ns, DTC_STYLE_BOLD);
		dtc_figure_add(layout, scale, url->figures.max_ns, DTC_STYLE_PLAIN);
		if (url->slow_shares->len)
			dtc_share_add(layout, &g_array_index(url->slow_shares, struct dtc_share, 0), url->slow_ns);
		dtc_layout_end_line(layout);
	}
	add_more(layout, urls->len - shown, "");
}

/* ---- one by one ---- */

/* What a row is called: of a name without an id, the client's end; start and URL stand beside it. */
static char *shorten_name(const struct dtc_summary_row *row)
{
	return row->is_anonymous ? g_strndup(row->id, strcspn(row->id, "-")) : g_strdup(row->id);
}

static guint get_name_columns(const DtcSummary *summary, guint shown, guint width)
{
	guint columns = 8;

	for (guint i = 0; i < shown; i++) {
		g_autofree char *name = shorten_name(&g_array_index(summary->rows, struct dtc_summary_row, i));
		columns = MAX(columns, dtc_printable_get_columns(name));
	}
	return MIN(columns, MAX(width / 5, 12));
}

static guint get_url_columns(const DtcSummary *summary, guint shown, guint width)
{
	guint columns = 4;

	for (guint i = 0; i < shown; i++) {
		const struct dtc_summary_row *row = &g_array_index(summary->rows, struct dtc_summary_row, i);
		g_autofree char *name = name_url(row->method, row->url);
		columns = MAX(columns, dtc_printable_get_columns(name));
	}
	return MIN(columns, MAX(width / 5, 12));
}

/* "09:58:31.598"; of a clock that does not know the date, since the recording's begin. */
static char *format_start(int64_t at_ns, int64_t origin_ns)
{
	char *wall = dtc_wall_clock_format_time(at_ns);

	return wall ? wall : g_strdup_printf("+%.3f s", (double)(at_ns - origin_ns) / 1e9);
}

/* "start on 2026-11-20 in UTC": what the column leaves out. */
static char *describe_start(int64_t at_ns)
{
	g_autofree char *wall = dtc_wall_clock_format(at_ns);
	const char *time = wall ? strchr(wall, ' ') : NULL, *zone = time ? strchr(time + 1, ' ') : NULL;

	if (!zone)
		return g_strdup("start since the recording's begin");
	return g_strdup_printf("start on %.*s in %s", (int)(time - wall), wall, zone + 1);
}

static void add_row(DtcLayout *layout, const struct dtc_requests_input *input, const struct dtc_summary_row *row,
		    struct dtc_scale scale, guint url_columns)
{
	const struct dtc_share *dominant = dtc_summary_get_share(input->summary, row, 0);
	g_autofree char *start = format_start(row->begin_ns, input->origin_ns);
	g_autofree char *status = row->status ? g_strdup_printf("%d", row->status) : g_strdup("-");
	g_autofree char *url = name_url(row->method, row->url);

	dtc_layout_add_right(layout, start, CLOCK_COLUMNS, DTC_STYLE_PLAIN);
	dtc_figure_add(layout, scale, row->duration_ns, DTC_STYLE_BOLD);
	dtc_layout_add_right(layout, status, STATUS_COLUMNS, row->status >= 500 ? DTC_STYLE_RED : DTC_STYLE_PLAIN);
	dtc_layout_add_space(layout, 2);
	dtc_layout_add_left(layout, url, url_columns, DTC_STYLE_PLAIN);
	if (dominant)
		dtc_share_add(layout, dominant, row->duration_ns);
	dtc_layout_end_line(layout);
}

static void add_rows(DtcLayout *layout, const struct dtc_requests_input *input, struct dtc_scale scale, guint width)
{
	const DtcSummary *summary = input->summary;
	guint shown = get_shown(input), count = summary->rows->len;
	guint name_columns = get_name_columns(summary, shown, width);
	guint url_columns = get_url_columns(summary, shown, width);
	g_autofree char *part = shown < count ? g_strdup_printf("%u of %u shown, ", shown, count) : g_strdup("");
	g_autofree char *start = describe_start(g_array_index(summary->rows, struct dtc_summary_row, 0).begin_ns);
	g_autofree char *note = g_strdup_printf("%s%s, times in %s", part, start, scale.unit);

	dtc_layout_add_heading(layout, "Requests", note);
	dtc_layout_add_left(layout, "id", name_columns, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "start", CLOCK_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "took", DTC_FIGURE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "status", STATUS_COLUMNS + 1, DTC_STYLE_DIM);
	dtc_layout_add_space(layout, 1);
	dtc_layout_add_left(layout, "URL", url_columns, DTC_STYLE_DIM);
	dtc_layout_add(layout, DTC_STYLE_DIM, "  largest part");
	dtc_layout_end_line(layout);
	for (guint i = 0; i < shown; i++) {
		const struct dtc_summary_row *row = &g_array_index(summary->rows, struct dtc_summary_row, i);
		g_autofree char *name = shorten_name(row);
		dtc_layout_add_left(layout, name, name_columns, DTC_STYLE_PLAIN);
		add_row(layout, input, row, scale, url_columns);
	}
	add_more(layout, get_listed(input) - shown, "");
}

/* ---- by tier and by percentile ---- */

static void add_tiers(DtcLayout *layout, const struct dtc_requests_input *input, struct dtc_scale scale, guint width)
{
	static const char *const heads[] = { "mean", "p50", "p90", "p99" };
	g_autoptr(GArray) tiers = dtc_summary_get_tiers(input->summary);
	g_autofree char *note = g_strdup_printf("what each request that was there spent, in %s", scale.unit);
	guint shown = input->limit ? MIN(tiers->len, URLS_SHOWN) : tiers->len, columns = 8;
	int64_t all_ns = 0;

	for (guint i = 0; i < tiers->len; i++) {
		const struct dtc_tier_row *tier = &g_array_index(tiers, struct dtc_tier_row, i);
		all_ns += tier->total_ns;
		if (i < shown)
			columns = MAX(columns, dtc_printable_get_columns(tier->tier));
	}
	columns = MIN(columns, width / 4);
	dtc_layout_add_heading(layout, "By tier", note);
	dtc_layout_add_left(layout, "tier", columns, DTC_STYLE_DIM);
	dtc_layout_add_right(layout, "n", COUNT_COLUMNS, DTC_STYLE_DIM);
	for (guint i = 0; i < G_N_ELEMENTS(heads); i++)
		dtc_layout_add_right(layout, heads[i], DTC_FIGURE_COLUMNS, DTC_STYLE_DIM);
	dtc_layout_add(layout, DTC_STYLE_DIM, "  of all");
	dtc_layout_end_line(layout);
	for (guint i = 0; i < shown; i++) {
		const struct dtc_tier_row *tier = &g_array_index(tiers, struct dtc_tier_row, i);
		g_autofree char *count = g_strdup_printf("%u", tier->figures.count);
		g_autofree char *percent = dtc_percent_format(tier->total_ns, all_ns);
		g_autofree char *of_all = g_strdup_printf("%s %%", percent);
		dtc_layout_add_left(layout, tier->tier, columns, DTC_STYLE_PLAIN);
		dtc_layout_add_right(layout, count, COUNT_COLUMNS, DTC_STYLE_PLAIN);
		dtc_figure_add(layout, scale, tier->total_ns / tier->figures.count, DTC_STYLE_BOLD);
		dtc_figure_add(layout, scale, tier->figures.p50_ns, DTC_STYLE_PLAIN);
		dtc_figure_add(layout, scale, tier->figures.p90_ns, DTC_STYLE_PLAIN);
		dtc_figure_add(layout, scale, tier->figures.p99_ns, DTC_STYLE_PLAIN);
		dtc_layout_add_right(layout, of_all, 8, DTC_STYLE_PLAIN);
		dtc_layout_end_line(layout);
	}
	add_more(layout, tiers->len - shown, "");
}

static void add_bands(DtcLayout *layout, const DtcSummary *summary, struct dtc_scale scale)
{
	g_autoptr(GArray) bands = dtc_summary_get_bands(summary);

	dtc_layout_add_heading(layout, "By percentile", "mean of each band, and its largest parts");
	for (guint i = 0; i < bands->len; i++) {
		const struct dtc_band *band = &g_array_index(bands, struct dtc_band, i);
		g_autofree char *count = g_strdup_printf("%u", band->request_count);
		dtc_layout_add_left(layout, band->name, BAND_COLUMNS, DTC_STYLE_PLAIN);
		dtc_layout_add_right(layout, count, COUNT_COLUMNS, DTC_STYLE_DIM);
		dtc_figure_add(layout, scale, band->duration_ns, DTC_STYLE_BOLD);
		for (guint k = 0; k < MIN(band->shares->len, BAND_SHARES); k++) {
			const struct dtc_share *share = &g_array_index(band->shares, struct dtc_share, k);
			g_autofree char *ns = dtc_duration_format_short(share->ns);
			if (k)
				dtc_layout_add_space(layout, BAND_COLUMNS + COUNT_COLUMNS + DTC_FIGURE_COLUMNS);
			dtc_layout_add(layout, DTC_STYLE_PLAIN, "  %6s  %s %s", ns, share->tier,
				       dtc_cause_to_string(share->cause));
			dtc_layout_end_line(layout);
		}
	}
}

/* ---- the head ---- */

static void add_figures(DtcLayout *layout, const struct dtc_figures *figures)
{
	const struct {
		const char *name;
		int64_t ns;
	} cells[] = {
		{ "p50", figures->p50_ns },
		{ "p90", figures->p90_ns },
		{ "p99", figures->p99_ns },
		{ "max", figures->max_ns },
	};
	for (guint i = 0; figures->count && i < G_N_ELEMENTS(cells); i++) {
		g_autofree char *ns = dtc_duration_format(cells[i].ns);
		g_autofree char *cell = g_strdup_printf("  %s %s", cells[i].name, ns);
		if (dtc_printable_get_columns(cell) > dtc_layout_get_rest(layout))
			dtc_layout_end_line(layout);
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "%s", cell);
	}
	dtc_layout_end_line(layout);
}

static void add_count(DtcLayout *layout, guint count, const char *what)
{
	g_autofree char *text = g_strdup_printf("%u %s", count, what);

	if (count)
		dtc_layout_add_paragraph(layout, text, 2);
}

static void add_head(DtcLayout *layout, const struct dtc_requests_input *input)
{
	const struct dtc_figures kept = dtc_summary_get_figures(input->summary);
	const struct dtc_skipped *skipped = &input->skipped;

	dtc_layout_add(layout, DTC_STYLE_BOLD, "%u request%s", input->all.count, input->all.count == 1 ? "" : "s");
	add_figures(layout, &input->all);
	if (kept.count < input->all.count) {
		dtc_layout_add(layout, DTC_STYLE_BOLD, "%u of them fit", kept.count);
		add_figures(layout, &kept);
	}
	add_count(layout, count_anonymous(input->summary), "carry no id and are named by connection and time");
	add_count(layout, skipped->parts, "exchanges without an id are parts of requests");
	add_count(layout, skipped->began_before, "more began before the kernel trace and are left out");
	add_count(layout, skipped->ended_after, "more ended after the kernel trace and are left out");
	add_count(layout, skipped->not_traced, "more are in the captures, but in no kernel trace");
}

char *dtc_requests_to_text(const struct dtc_requests_input *input, const struct dtc_summary_text_options *options)
{
	const DtcSummary *summary = input->summary;
	g_autoptr(DtcLayout) layout = dtc_layout_new(options->width, options->has_color, options->has_utf8);

	add_head(layout, input);
	if (summary->rows->len) {
		struct dtc_scale scale = dtc_scale_get(dtc_summary_get_percentile(summary, 100), options->is_exact);
		add_urls(layout, input, scale, options->width);
		add_rows(layout, input, scale, options->width);
		add_tiers(layout, input, scale, options->width);
		add_bands(layout, summary, scale);
	}
	dtc_finding_list_add_text(layout, input->findings);
	return dtc_layout_steal(layout);
}

/* ---- JSON ---- */

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
	for (guint i = 0; i < row->tier_count; i++) {
		const struct dtc_tier_share *share = dtc_summary_get_tier(summary, row, i);
		dtc_json_append_separator(out);
		g_string_append_c(out, '{');
		dtc_json_add_name(out, "tier", share->tier);
		dtc_json_add_name(out, "node", share->node);
		dtc_json_add_name(out, "process", share->process);
		dtc_json_add_integer(out, "ns", share->ns);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
}

static void append_row(GString *out, const DtcSummary *summary, const struct dtc_summary_row *row)
{
	dtc_json_append_separator(out);
	g_string_append(out, "\n{");
	dtc_json_add_text(out, "id", row->id);
	dtc_json_add_bool(out, "anonymous", row->is_anonymous);
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
	const struct dtc_share *dominant = dtc_summary_get_share(summary, row, 0);
	if (dominant) {
		dtc_json_append_key(out, "dominant");
		append_share(out, dominant);
		dtc_json_append_key(out, "verdict");
		dtc_verdict_append_json(out, &row->verdict, dominant->tier, dominant->cause, dominant->ns,
					row->duration_ns);
	} else {
		dtc_json_add_null(out, "dominant");
		dtc_json_add_null(out, "verdict");
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

static void append_figures(GString *out, const struct dtc_figures *figures)
{
	dtc_json_add_integer(out, "p50_ns", figures->p50_ns);
	dtc_json_add_integer(out, "p90_ns", figures->p90_ns);
	dtc_json_add_integer(out, "p99_ns", figures->p99_ns);
	dtc_json_add_integer(out, "max_ns", figures->max_ns);
}

static void append_shares(GString *out, const GArray *shares)
{
	dtc_json_append_key(out, "breakdown");
	g_string_append_c(out, '[');
	for (guint i = 0; i < shares->len; i++)
		append_share(out, &g_array_index(shares, struct dtc_share, i));
	g_string_append_c(out, ']');
}

static void append_urls(GString *out, const DtcSummary *summary)
{
	g_autoptr(GArray) urls = dtc_summary_get_urls(summary);

	dtc_json_append_key(out, "urls");
	g_string_append_c(out, '[');
	for (guint i = 0; i < urls->len; i++) {
		const struct dtc_url_row *url = &g_array_index(urls, struct dtc_url_row, i);
		dtc_json_append_separator(out);
		g_string_append(out, "\n{");
		dtc_json_add_text(out, "method", *url->method ? url->method : NULL);
		dtc_json_add_text(out, "pattern", *url->pattern ? url->pattern : NULL);
		dtc_json_add_integer(out, "requests", url->figures.count);
		dtc_json_add_integer(out, "total_ns", url->total_ns);
		append_figures(out, &url->figures);
		dtc_json_append_key(out, "slowest_quarter");
		g_string_append_c(out, '{');
		dtc_json_add_integer(out, "requests", url->slow_count);
		dtc_json_add_integer(out, "mean_ns", url->slow_ns);
		append_shares(out, url->slow_shares);
		g_string_append(out, "}}");
	}
	g_string_append_c(out, ']');
}

static void append_tier_figures(GString *out, const DtcSummary *summary)
{
	g_autoptr(GArray) tiers = dtc_summary_get_tiers(summary);

	dtc_json_append_key(out, "tiers");
	g_string_append_c(out, '[');
	for (guint i = 0; i < tiers->len; i++) {
		const struct dtc_tier_row *tier = &g_array_index(tiers, struct dtc_tier_row, i);
		dtc_json_append_separator(out);
		g_string_append(out, "\n{");
		dtc_json_add_name(out, "tier", tier->tier);
		dtc_json_add_name(out, "node", tier->node);
		dtc_json_add_name(out, "process", tier->process);
		dtc_json_add_integer(out, "requests", tier->figures.count);
		dtc_json_add_integer(out, "total_ns", tier->total_ns);
		dtc_json_add_integer(out, "mean_ns", tier->total_ns / tier->figures.count);
		append_figures(out, &tier->figures);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
}

static void append_bands(GString *out, const DtcSummary *summary)
{
	g_autoptr(GArray) bands = dtc_summary_get_bands(summary);

	dtc_json_append_key(out, "bands");
	g_string_append_c(out, '[');
	for (guint i = 0; i < bands->len; i++) {
		const struct dtc_band *band = &g_array_index(bands, struct dtc_band, i);
		dtc_json_append_separator(out);
		g_string_append(out, "\n{");
		dtc_json_add_text(out, "name", band->name);
		dtc_json_add_integer(out, "above_ns", band->from_ns);
		dtc_json_add_integer(out, "to_ns", band->to_ns);
		dtc_json_add_integer(out, "requests", band->request_count);
		dtc_json_add_integer(out, "mean_ns", band->duration_ns);
		append_shares(out, band->shares);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
}

static void append_summary(GString *out, const struct dtc_requests_input *input, guint shown)
{
	const DtcSummary *summary = input->summary;
	const struct dtc_figures figures = dtc_summary_get_figures(summary);

	dtc_json_append_key(out, "summary");
	g_string_append(out, "\n{");
	dtc_json_add_integer(out, "count", figures.count);
	dtc_json_add_integer(out, "shown", shown);
	dtc_json_add_integer(out, "anonymous", count_anonymous(summary));
	append_skipped(out, &input->skipped);
	dtc_json_add_integer(out, "parts", input->skipped.parts);
	append_figures(out, &figures);
	dtc_json_append_key(out, "all");
	g_string_append_c(out, '{');
	dtc_json_add_integer(out, "count", input->all.count);
	append_figures(out, &input->all);
	g_string_append_c(out, '}');
	append_urls(out, summary);
	append_tier_figures(out, summary);
	append_bands(out, summary);
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
	append_summary(out, input, shown);
	dtc_finding_list_add_json(out, input->findings);
	g_string_append(out, "}\n");
	return g_string_free(out, FALSE);
}
