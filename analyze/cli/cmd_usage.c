/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain usage: CPU, disk and network of every process, and what its servers used on its behalf. */
#include "analyze/cli/command.h"
#include "analyze/cli/export.h"
#include "analyze/cli/load.h"
#include "analyze/cli/moment.h"
#include "analyze/cli/options.h"
#include "analyze/cli/subject.h"
#include "analyze/cli/terminal.h"
#include "analyze/path/usage.h"
#include "analyze/report/usage_view.h"
#include "collect/bundle/output.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define ROWS_SHOWN 12

struct usage_options {
	struct dtc_common_options common;
	struct dtc_subject subject;
	char *interval; /* all strings owned */
	char *dot;
	char *reference;
	int limit;
	gboolean is_exact;
	/* derived */
	int64_t interval_ns; /* 0: not given */
	bool is_json;
};

static void options_clear(struct usage_options *options)
{
	dtc_common_options_clear(&options->common);
	dtc_subject_clear(&options->subject);
	g_free(options->interval);
	g_free(options->dot);
	g_free(options->reference);
}

static bool parse_options(struct usage_options *options, int *argc, char ***argv, GError **error)
{
	const GOptionEntry entries[] = {
		{ "interval", 'i', 0, G_OPTION_ARG_STRING, &options->interval,
		  "Length of a step over time, e.g. 100ms (default: a 50th of the span)", "SPAN" },
		{ "dot", 0, 0, G_OPTION_ARG_FILENAME, &options->dot,
		  "Write the graph of processes and what they sent each other, for Graphviz", "FILE" },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock is cluster time (default: the best known)", "NODE" },
		{ "limit", 'n', 0, G_OPTION_ARG_INT, &options->limit,
		  "Rows of each printed table (default: 12, 0: all)", "N" },
		{ "exact", 0, 0, G_OPTION_ARG_NONE, &options->is_exact, "Show all times in nanoseconds", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autoptr(DtcCommandLine) line = dtc_command_line_new("usage");

	options->limit = ROWS_SHOWN;
	dtc_common_options_add(&options->common, line);
	dtc_subject_add_options(&options->subject, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
	return dtc_command_line_parse(line, argc, argv, error);
}

static bool check_options(struct usage_options *options, GError **error)
{
	if (options->limit < 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "--limit is negative\n0 is no limit");
		return false;
	}
	if (options->interval) {
		if (!dtc_span_parse("--interval", options->interval, &options->interval_ns, error))
			return false;
		if (options->interval_ns == 0) {
			g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
				    "--interval is empty\ngive a span, e.g. 100ms");
			return false;
		}
	}
	return dtc_common_options_get_json(&options->common, &options->is_json, error);
}

static bool write_dot(const struct usage_options *options, const struct dtc_usage_input *input, GError **error)
{
	g_autofree char *graph = dtc_usage_to_dot(input);

	return dtc_output_write(options->dot, graph, strlen(graph), error);
}

static bool print(const struct usage_options *options, const struct dtc_usage_input *input, GError **error)
{
	const struct dtc_terminal terminal = dtc_terminal_get(options->common.color);
	const struct dtc_usage_view_options view_options = {
		.width = terminal.width,
		.has_color = terminal.has_color,
		.has_utf8 = terminal.has_utf8,
		.is_exact = options->is_exact,
		.limit = (guint)options->limit,
	};
	g_autofree char *text = options->is_json ? dtc_usage_to_json(input) : dtc_usage_to_text(input, &view_options);

	return dtc_terminal_write(text, error);
}

static bool answer(struct usage_options *options, int argc, char **argv, bool *ret_complete, GError **error)
{
	const struct dtc_load_options load_options = {
		.reference = options->reference,
		.sync_file = options->common.sync_file,
	};
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = dtc_common_options_open_bundle(&options->common, argc, argv, error);
	if (!bundle || !dtc_export_check_file(options->dot, bundle, error) ||
	    !dtc_subject_locate(&options->subject, bundle, error))
		return false;
	g_autoptr(DtcProgress) progress = dtc_progress_new(options->common.quiet);
	g_autoptr(DtcLoad) load = dtc_load_bundle(bundle, &load_options, progress, findings, error);
	if (!load)
		return false;
	struct dtc_selection selection;
	if (!dtc_subject_select(&options->subject, load, findings, &selection, error))
		return false;
	bool has_subject = options->subject.thread || options->subject.process;
	const struct dtc_usage_options usage_options = {
		.interval_ns = options->interval_ns,
		.asked = has_subject ? (const uint8_t *const *)selection.wanted : NULL,
	};
	dtc_progress_show(progress, "adding up");
	g_autoptr(DtcUsage) usage = dtc_usage_new(dtc_load_get_links(load), &usage_options, error);
	dtc_selection_clear(&selection);
	if (!usage || !dtc_usage_check(usage, error))
		return false;

	const char *const *names = dtc_load_get_node_names(load);
	const struct dtc_usage_input input = {
		.usage = usage,
		.node_names = names,
		.reference = names[dtc_clocks_get_reference(dtc_load_get_clocks(load))],
		.findings = findings,
	};
	dtc_progress_clear(progress);
	*ret_complete = dtc_findings_get_complete(findings);
	return (!options->dot || write_dot(options, &input, error)) && print(options, &input, error);
}

int dtc_command_usage(int argc, char **argv)
{
	struct usage_options options = { 0 };
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
