/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain requests: all requests of a bundle, who is slow and why. */
#include "analyze/cli/command.h"
#include "analyze/cli/export.h"
#include "analyze/engine/moment.h"
#include "analyze/report/report_of.h"
#include "analyze/report/requests_html.h"
#include "analyze/report/requests_view.h"
#include "analyze/report/summary_rows.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define DEFAULT_LIMIT 20 /* rows that a person looks at */

struct requests_options {
	struct dtc_common_options common;
	char *sort;
	char *tier;
	char *url;
	char *status;
	char *slower_than;
	char *since;
	char *reference;
	char *html;
	char **id_headers;
	int limit; /* -1: not given */
	int slowest;
	gboolean is_exact;
	/* derived */
	enum dtc_summary_order order;
	struct dtc_row_filter filter;
	struct dtc_moment since_moment;
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct requests_options *options = data;
	const GOptionEntry entries[] = {
		{ "sort", 0, 0, G_OPTION_ARG_STRING, &options->sort,
		  "By duration (default, longest first), start, or id", "duration|start|id" },
		{ "slowest", 0, 0, G_OPTION_ARG_INT, &options->slowest,
		  "List only the N that took longest; percentiles stay those of all", "N" },
		{ "slower-than", 0, 0, G_OPTION_ARG_STRING, &options->slower_than,
		  "Only requests that took at least this, e.g. 50ms", "SPAN" },
		{ "url", 0, 0, G_OPTION_ARG_STRING, &options->url,
		  "Only requests whose URL fits this pattern, with or without its query: '/cart/*'", "PATTERN" },
		{ "status", 0, 0, G_OPTION_ARG_STRING, &options->status,
		  "Only requests that were answered so: 500, 5xx, 400-499", "STATUS" },
		{ "since", 0, 0, G_OPTION_ARG_STRING, &options->since,
		  "Only requests that began then or later: +1.5s since the recording's begin, 12:00:03.5, a date and "
		  "time",
		  "TIME" },
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

	options->limit = -1;
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
	dtc_command_line_add(line, DTC_HEADING_FILES, files, NULL);
}

static bool check(struct dtc_session *session, GError **error)
{
	struct requests_options *options = session->options;
	static const char *const orders[] = { "duration", "start", "id" };

	if (options->sort) {
		guint order = 0;
		while (order < G_N_ELEMENTS(orders) && strcmp(options->sort, orders[order]) != 0)
			order++;
		if (order == G_N_ELEMENTS(orders)) {
			g_autofree char *message = g_strdup_printf("--sort '%s' is not an order", options->sort);
			return dtc_cli_refuse(error, message, "the orders are duration, start, id");
		}
		options->order = (enum dtc_summary_order)order;
	}
	if (options->limit < -1 || options->slowest < 0)
		return dtc_cli_refuse(error, "a count of rows is negative", "0 is no limit");
	options->filter.tier = options->tier;
	options->filter.url = options->url;
	if (options->status && !dtc_row_filter_set_status(&options->filter, options->status, error))
		return false;
	if (options->since && !dtc_moment_parse("--since", options->since, &options->since_moment, error))
		return false;
	return !options->slower_than ||
	       dtc_span_parse("--slower-than", options->slower_than, &options->filter.slower_than_ns, error);
}

static bool set_since(struct requests_options *options, const DtcEngine *engine, GError **error)
{
	options->filter.has_since = options->since != NULL;
	return !options->since ||
	       dtc_moment_resolve("--since", options->since, &options->since_moment, dtc_engine_get_origin(engine).ns,
				  dtc_engine_get_end(engine).ns, &options->filter.since_ns, error);
}

static bool print(struct dtc_session *session, const struct dtc_requests_input *input, GError **error)
{
	const struct requests_options *options = session->options;
	const struct dtc_summary_text_options text_options = {
		.width = session->terminal.width,
		.has_color = session->terminal.has_color,
		.has_utf8 = session->terminal.has_utf8,
		.is_exact = options->is_exact,
	};
	return dtc_session_print(
		session, session->is_json ? dtc_requests_to_json(input) : dtc_requests_to_text(input, &text_options),
		error);
}

static bool write_page(struct dtc_session *session, const struct dtc_requests_input *input, GError **error)
{
	const struct requests_options *options = session->options;
	g_autoptr(DtcQuality) quality = dtc_quality_of(session->engine, dtc_summary_get_middle(input->summary));
	g_autofree char *page = dtc_requests_to_html(input, quality);

	return dtc_export_write_text(options->html, page, error);
}

static bool answer(struct dtc_session *session, GError **error)
{
	struct requests_options *options = session->options;
	const struct dtc_engine_options engine_options = {
		.reference = options->reference,
		.needs_exchanges = true,
		.lists_requests = true,
		.id_headers = (const char *const *)options->id_headers,
	};
	int default_limit = session->is_json || options->slowest ? 0 : DEFAULT_LIMIT;

	if (!dtc_session_open(session, error) || !dtc_export_check_file(options->html, session->bundle, error) ||
	    !dtc_session_read(session, &engine_options, error) || !set_since(options, session->engine, error))
		return false;
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	struct dtc_requests_input input = {
		.summary = summary,
		.slowest = (guint)options->slowest,
		.limit = (guint)(options->limit == -1 ? default_limit : options->limit),
		.origin_ns = dtc_engine_get_origin(session->engine).ns,
		.reference = dtc_engine_get_reference(session->engine),
		.findings = session->findings,
	};
	if (!dtc_summary_add_all(summary, session->engine, &session->watch, &input.skipped, session->findings, error))
		return false;
	input.all = dtc_summary_get_figures(summary);
	if (!dtc_summary_keep(summary, &options->filter, error))
		return false;
	dtc_summary_sort_slowest(summary, (guint)options->slowest, options->order);
	return (!options->html || write_page(session, &input, error)) && print(session, &input, error);
}

const struct dtc_command dtc_command_requests = {
	.name = "requests",
	.options_bytes = sizeof(struct requests_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
};
