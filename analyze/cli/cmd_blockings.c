/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain blockings: what threads were blocked on, and what their wakers were blocked on meanwhile. */
#include "analyze/cli/command.h"
#include "analyze/cli/load.h"
#include "analyze/cli/moment.h"
#include "analyze/cli/options.h"
#include "analyze/cli/subject.h"
#include "analyze/cli/terminal.h"
#include "analyze/path/causality.h"
#include "analyze/path/path_build.h"
#include "analyze/report/blockings_view.h"
#include "dtrace-chain/error.h"

#define ROWS_SHOWN 25

struct blockings_options {
	struct dtc_common_options common;
	struct dtc_subject subject;
	char *reference; /* all strings owned */
	char *min_duration;
	int max_depth;
	int limit;
	gboolean is_exact;
	/* derived */
	int64_t min_ns; /* -1: not given */
	bool is_json;
};

static void options_clear(struct blockings_options *options)
{
	dtc_common_options_clear(&options->common);
	dtc_subject_clear(&options->subject);
	g_free(options->reference);
	g_free(options->min_duration);
}

static bool parse_options(struct blockings_options *options, int *argc, char ***argv, GError **error)
{
	const GOptionEntry entries[] = {
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock times are on (default: the thread's, or the best known)", "NODE" },
		{ "max-depth", 0, 0, G_OPTION_ARG_INT, &options->max_depth, "Levels of nesting (default: all)", "N" },
		{ "min-duration", 0, 0, G_OPTION_ARG_STRING, &options->min_duration,
		  "Leave out shorter blockings, e.g. 250us (default: none; printed tree: 1 % of the span)", "SPAN" },
		{ "limit", 'n', 0, G_OPTION_ARG_INT, &options->limit, "Rows of the printed table (default: 25, 0: all)",
		  "N" },
		{ "exact", 0, 0, G_OPTION_ARG_NONE, &options->is_exact, "Show all times in nanoseconds", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autoptr(DtcCommandLine) line = dtc_command_line_new("blockings");

	options->limit = ROWS_SHOWN;
	dtc_common_options_add(&options->common, line);
	dtc_subject_add_options(&options->subject, line);
	dtc_subject_add_span_options(&options->subject, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
	return dtc_command_line_parse(line, argc, argv, error);
}

static bool set_usage(GError **error, const char *message, const char *hint)
{
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "%s\n%s", message, hint);
	return false;
}

static bool check_options(struct blockings_options *options, GError **error)
{
	options->min_ns = -1;
	if (options->max_depth < 0)
		return set_usage(error, "--max-depth is negative", "0 is no limit");
	if (options->limit < 0)
		return set_usage(error, "--limit is negative", "0 is no limit");
	if (options->min_duration && !dtc_span_parse("--min-duration", options->min_duration, &options->min_ns, error))
		return false;
	return dtc_common_options_get_json(&options->common, &options->is_json, error);
}

static bool print(const struct blockings_options *options, const struct dtc_blockings_input *input, GError **error)
{
	const struct dtc_terminal terminal = dtc_terminal_get(options->common.color);
	const struct dtc_blockings_options view_options = {
		.width = terminal.width,
		.has_color = terminal.has_color,
		.has_utf8 = terminal.has_utf8,
		.is_exact = options->is_exact,
		.limit = (guint)options->limit,
		.min_ns = options->min_ns,
	};
	g_autofree char *text =
		options->is_json ? dtc_blockings_to_json(input) : dtc_blockings_to_text(input, &view_options);

	return dtc_terminal_write(text, error);
}

static DtcPath *find_causality(const DtcLoad *load, const struct blockings_options *options,
			       const struct dtc_selection *selection)
{
	const struct dtc_path_target target = {
		.node = selection->node,
		.thread = selection->thread,
		.begin = selection->spans[selection->node].cluster_begin,
		.end = selection->spans[selection->node].cluster_end,
		.call = DTC_NONE,
	};
	const struct dtc_path_options path_options = {
		.max_depth = (guint)options->max_depth,
		.min_blocking_ns = MAX(options->min_ns, 0),
	};
	DtcPath *path = dtc_path_new(target.begin, target.end);

	dtc_causality_add(dtc_load_get_links(load), &target, &path_options, path);
	dtc_path_finish(path);
	return path;
}

static DtcBlocked *collect(const DtcLoad *load, const struct blockings_options *options,
			   const struct dtc_selection *selection)
{
	g_autofree struct dtc_blocked_part *parts = g_new0(struct dtc_blocked_part, selection->node_count + 1);
	const struct dtc_blocked_options blocked_options = { .parts = parts, .min_ns = MAX(options->min_ns, 0) };

	for (guint node = 0; node < selection->node_count; node++)
		parts[node] = (struct dtc_blocked_part){ selection->spans[node].begin, selection->spans[node].end,
							 selection->wanted[node] };
	return dtc_blocked_new(dtc_load_get_links(load), &blocked_options);
}

static bool answer(struct blockings_options *options, int argc, char **argv, bool *ret_complete, GError **error)
{
	struct dtc_selection selection;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = dtc_common_options_open_bundle(&options->common, argc, argv, error);
	if (!bundle || !dtc_subject_locate(&options->subject, bundle, error))
		return false;
	const struct dtc_load_options load_options = {
		.sync_file = options->common.sync_file,
		/* --from and --to of a thread are on its node's clock */
		.reference = options->reference ? options->reference : options->subject.spec.node,
	};
	g_autoptr(DtcProgress) progress = dtc_progress_new(options->common.quiet);
	g_autoptr(DtcLoad) load = dtc_load_bundle(bundle, &load_options, progress, findings, error);
	if (!load || !dtc_subject_select(&options->subject, load, findings, &selection, error))
		return false;

	dtc_progress_show(progress, "collecting the waits");
	g_autoptr(DtcBlocked) blocked = collect(load, options, &selection);
	struct dtc_blockings_input input = {
		.links = dtc_load_get_links(load),
		.findings = findings,
		.blocked = blocked,
	};
	g_autoptr(DtcPath) path = NULL;
	if (selection.thread != DTC_NONE) {
		input.path = path = find_causality(load, options, &selection);
		input.node = selection.node;
		input.thread = selection.thread;
		input.begin = dtc_path_get_begin(path);
		input.end = dtc_path_get_end(path);
	}
	dtc_selection_clear(&selection);
	dtc_progress_clear(progress);
	*ret_complete = dtc_findings_get_complete(findings);
	return print(options, &input, error);
}

int dtc_command_blockings(int argc, char **argv)
{
	struct blockings_options options = { 0 };
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
