/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain requests: all requests of a bundle, who is slow and why. */
#include "analyze/cli/all_requests.h"
#include "analyze/cli/command.h"
#include "analyze/cli/export.h"
#include "analyze/cli/moment.h"
#include "analyze/cli/options.h"
#include "analyze/cli/terminal.h"
#include "analyze/report/requests_html.h"
#include "analyze/report/summary_view.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define DEFAULT_LIMIT 20 /* rows that a person looks at */

struct requests_options {
	struct dtc_common_options common;
	char *sort; /* all strings owned */
	char *tier;
	char *min_duration;
	char *reference;
	char *html;
	char **id_headers;
	int limit; /* -1: not given */
	int slowest;
	gboolean is_exact;
	/* derived */
	enum dtc_summary_order order;
	int64_t min_ns;
	bool is_json;
};

static void options_clear(struct requests_options *options)
{
	dtc_common_options_clear(&options->common);
	g_free(options->sort);
	g_free(options->tier);
	g_free(options->min_duration);
	g_free(options->reference);
	g_free(options->html);
	g_strfreev(options->id_headers);
}

static bool parse_options(struct requests_options *options, int *argc, char ***argv, GError **error)
{
	const GOptionEntry entries[] = {
		{ "sort", 0, 0, G_OPTION_ARG_STRING, &options->sort,
		  "By duration (default, longest first), start, or id", "duration|start|id" },
		{ "slowest", 0, 0, G_OPTION_ARG_INT, &options->slowest, "Only the N that took longest", "N" },
		{ "min-duration", 0, 0, G_OPTION_ARG_STRING, &options->min_duration,
		  "Only requests that took at least this, e.g. 50ms", "SPAN" },
		{ "tier", 0, 0, G_OPTION_ARG_STRING, &options->tier,
		  "Only requests that spent most of their time there: process@node, process or node", "TIER" },
		{ "limit", 0, 0, G_OPTION_ARG_INT, &options->limit,
		  "Rows shown; 0: all (default: 20 in text, all in JSON)", "N" },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock times are on (default: the best known)", "NODE" },
		{ "id-header", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->id_headers,
		  "Another HTTP header that carries an id; repeatable", "NAME" },
		{ "exact", 0, 0, G_OPTION_ARG_NONE, &options->is_exact, "Show all times in nanoseconds", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	const GOptionEntry files[] = {
		{ "html", 0, 0, G_OPTION_ARG_FILENAME, &options->html, "A page for the browser", "FILE" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autoptr(DtcCommandLine) line = dtc_command_line_new("requests");

	options->limit = -1;
	dtc_common_options_add(&options->common, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
	dtc_command_line_add(line, DTC_HEADING_FILES, files, NULL);
	return dtc_command_line_parse(line, argc, argv, error);
}

static bool set_usage(GError **error, const char *message, const char *hint)
{
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "%s\n%s", message, hint);
	return false;
}

static bool check_options(struct requests_options *options, GError **error)
{
	static const char *const orders[] = { "duration", "start", "id" };
	bool has_limit = options->limit != -1;

	if (options->sort) {
		guint order = 0;
		while (order < G_N_ELEMENTS(orders) && strcmp(options->sort, orders[order]) != 0)
			order++;
		if (order == G_N_ELEMENTS(orders)) {
			g_autofree char *message = g_strdup_printf("--sort '%s' is not an order", options->sort);
			return set_usage(error, message, "the orders are duration, start, id");
		}
		options->order = (enum dtc_summary_order)order;
	}
	if ((has_limit && options->limit < 0) || options->slowest < 0)
		return set_usage(error, "a count of rows is negative", "0 is no limit");
	if (options->min_duration && !dtc_span_parse("--min-duration", options->min_duration, &options->min_ns, error))
		return false;
	if (!dtc_common_options_get_json(&options->common, &options->is_json, error))
		return false;
	if (!has_limit)
		options->limit = options->is_json || options->slowest ? 0 : DEFAULT_LIMIT;
	return true;
}

static bool is_tier(const struct dtc_share *share, const char *tier)
{
	return strcmp(share->tier, tier) == 0 || strcmp(share->node, tier) == 0 || strcmp(share->process, tier) == 0;
}

/* True if most of the time of the request lies in tiers of that name. */
static bool is_in_tier(const DtcSummary *summary, const struct dtc_summary_row *row, const char *name)
{
	int64_t ns;
	const char *tier = dtc_summary_get_tier(summary, row, &ns);

	for (guint i = 0; i < row->share_count; i++) {
		const struct dtc_share *share = dtc_summary_get_share(summary, row, i);
		if (share->tier == tier)
			return is_tier(share, name);
	}
	return false;
}

static void filter(DtcSummary *summary, const struct requests_options *options)
{
	for (guint i = summary->rows->len; i-- > 0;) {
		const struct dtc_summary_row *row = &g_array_index(summary->rows, struct dtc_summary_row, i);
		if (row->duration_ns < options->min_ns || (options->tier && !is_in_tier(summary, row, options->tier)))
			g_array_remove_index(summary->rows, i);
	}
	if (options->slowest && (guint)options->slowest < summary->rows->len) {
		dtc_summary_sort(summary, DTC_SUMMARY_BY_DURATION);
		g_array_set_size(summary->rows, (guint)options->slowest);
	}
	dtc_summary_sort(summary, options->order);
}

/* The earliest event of the nodes that are aligned with the reference. */
static int64_t find_origin(const DtcLoad *load)
{
	const DtcClocks *clocks = dtc_load_get_clocks(load);
	int64_t origin_ns = INT64_MAX;

	for (guint i = 0; i < dtc_load_get_node_count(load); i++) {
		const DtcHistory *history = dtc_load_get_history(load, i);
		if (!history || dtc_clocks_get_group(clocks, i) != 0)
			continue;
		DtcNodeTime begin = { dtc_history_get_begin_ns(history) };
		if (begin.ns != DTC_TIME_NONE)
			origin_ns = MIN(origin_ns, dtc_clocks_to_cluster(clocks, i, begin).ns);
	}
	return origin_ns == INT64_MAX ? 0 : origin_ns;
}

static bool print(const struct dtc_requests_input *input, const struct requests_options *options, GError **error)
{
	const struct dtc_terminal terminal = dtc_terminal_get(options->common.color);
	const struct dtc_summary_text_options text_options = {
		.width = terminal.width,
		.has_color = terminal.has_color,
		.has_utf8 = terminal.has_utf8,
		.is_exact = options->is_exact,
	};
	g_autofree char *text =
		options->is_json ? dtc_requests_to_json(input) : dtc_requests_to_text(input, &text_options);

	return dtc_terminal_write(text, error);
}

/* Midway between the begin of the first request and the end of the last. */
static DtcClusterTime find_middle(const DtcSummary *summary)
{
	int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;

	for (guint i = 0; i < summary->rows->len; i++) {
		const struct dtc_summary_row *row = &g_array_index(summary->rows, struct dtc_summary_row, i);
		begin_ns = MIN(begin_ns, row->begin_ns);
		end_ns = MAX(end_ns, row->begin_ns + row->duration_ns);
	}
	return (DtcClusterTime){ begin_ns < end_ns ? begin_ns + (end_ns - begin_ns) / 2 : 0 };
}

static bool answer(const struct requests_options *options, int argc, char **argv, bool *ret_complete, GError **error)
{
	const struct dtc_load_options load_options = {
		.sync_file = options->common.sync_file,
		.reference = options->reference,
		.needs_exchanges = true,
		.id_headers = (const char *const *)options->id_headers,
	};
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = dtc_common_options_open_bundle(&options->common, argc, argv, error);
	if (!bundle || !dtc_export_check_file(options->html, bundle, error))
		return false;
	g_autoptr(DtcProgress) progress = dtc_progress_new(options->common.quiet);
	g_autoptr(DtcLoad) load = dtc_load_bundle(bundle, &load_options, progress, findings, error);
	if (!load)
		return false;
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	struct dtc_requests_input input = { .summary = summary, .findings = findings };
	if (!dtc_all_requests_add(summary, load, progress, &input.skipped_count, findings, error))
		return false;
	filter(summary, options);
	input.limit = (guint)options->limit;
	input.origin_ns = find_origin(load);
	input.reference = dtc_load_get_node_names(load)[dtc_clocks_get_reference(dtc_load_get_clocks(load))];
	*ret_complete = dtc_findings_get_complete(findings);
	if (options->html) {
		g_autoptr(DtcQuality) quality = dtc_load_new_quality(load, find_middle(summary));
		g_autofree char *page = dtc_requests_to_html(&input, quality);
		if (!dtc_export_write_text(options->html, page, error))
			return false;
	}
	return print(&input, options, error);
}

int dtc_command_requests(int argc, char **argv)
{
	struct requests_options options = { 0 };
	g_autoptr(GError) error = NULL;
	bool is_complete;
	int code;

	if (parse_options(&options, &argc, &argv, &error) && check_options(&options, &error) &&
	    answer(&options, argc, argv, &is_complete, &error))
		code = is_complete ? 0 : 3;
	else
		code = dtc_cli_report_error(error);
	options_clear(&options);
	return code;
}
