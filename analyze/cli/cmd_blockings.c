/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain blockings: what threads were blocked on, and what their wakers were blocked on meanwhile. */
#include "analyze/cli/command.h"
#include "analyze/cli/load.h"
#include "analyze/cli/moment.h"
#include "analyze/cli/options.h"
#include "analyze/cli/terminal.h"
#include "analyze/cli/thread_spec.h"
#include "analyze/path/causality.h"
#include "analyze/path/path_build.h"
#include "analyze/report/blockings_view.h"
#include "dtrace-chain/error.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_SHOWN 25

struct blockings_options {
	struct dtc_common_options common;
	char *thread; /* all strings owned */
	char *process;
	char *from;
	char *to;
	char *min_duration;
	int max_depth;
	int limit;
	gboolean is_exact;
	/* derived */
	char *node;
	char *process_name; /* or its pid in digits */
	int32_t tid;
	int64_t min_ns; /* -1: not given */
	bool is_json;
};

static void options_clear(struct blockings_options *options)
{
	dtc_common_options_clear(&options->common);
	g_free(options->thread);
	g_free(options->process);
	g_free(options->from);
	g_free(options->to);
	g_free(options->min_duration);
	g_free(options->node);
	g_free(options->process_name);
}

static bool parse_options(struct blockings_options *options, int *argc, char ***argv, GError **error)
{
	const GOptionEntry entries[] = {
		{ "thread", 't', 0, G_OPTION_ARG_STRING, &options->thread,
		  "Each blocking of this thread, nested (default: a table of all threads)", "NODE:TID" },
		{ "process", 'p', 0, G_OPTION_ARG_STRING, &options->process, "Only threads of this process",
		  "NODE:PID|NODE:NAME" },
		{ "from", 0, 0, G_OPTION_ARG_STRING, &options->from,
		  "Begin of the span: +1.5s, +200ms (since the trace's begin) or the trace's clock", "TIME" },
		{ "to", 0, 0, G_OPTION_ARG_STRING, &options->to, "End of the span", "TIME" },
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
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
	return dtc_command_line_parse(line, argc, argv, error);
}

static bool set_usage(GError **error, const char *message, const char *hint)
{
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "%s\n%s", message, hint);
	return false;
}

static bool parse_process(struct blockings_options *options, GError **error)
{
	const char *colon = strchr(options->process, ':');

	if (!colon || colon == options->process || !colon[1]) {
		g_set_error(
			error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			"--process '%s' does not name a process\ngive NODE:PID or NODE:NAME, e.g. web:97 or web:nginx",
			options->process);
		return false;
	}
	options->node = g_strndup(options->process, (gsize)(colon - options->process));
	options->process_name = g_strdup(colon + 1);
	return true;
}

static bool check_options(struct blockings_options *options, GError **error)
{
	options->min_ns = -1;
	if (options->thread && options->process)
		return set_usage(error, "--thread and --process are two questions", "give one of them");
	if ((options->from || options->to) && !options->thread && !options->process)
		return set_usage(error, "--from and --to go with --thread or --process",
				 "they are on the clock of that node");
	if (options->max_depth < 0)
		return set_usage(error, "--max-depth is negative", "0 is no limit");
	if (options->limit < 0)
		return set_usage(error, "--limit is negative", "0 is no limit");
	if (options->thread && !dtc_thread_spec_parse(options->thread, &options->node, &options->tid, error))
		return false;
	if (options->process && !parse_process(options, error))
		return false;
	if (options->min_duration && !dtc_span_parse("--min-duration", options->min_duration, &options->min_ns, error))
		return false;
	return dtc_common_options_get_json(&options->common, &options->is_json, error);
}

/* The leader with that pid, or the only process with that name. */
static bool find_process(const DtcHistory *history, const struct blockings_options *options, uint32_t *ret_leader,
			 GError **error)
{
	const char *name = options->process_name;
	bool is_pid = name[strspn(name, "0123456789")] == 0 && strlen(name) < 10;
	uint32_t found = DTC_NONE;
	guint count = 0;
	g_autoptr(GString) pids = g_string_new(NULL);

	for (uint32_t i = 0; i < dtc_history_get_thread_count(history); i++) {
		const struct dtc_thread *thread = dtc_history_get_thread(history, i);
		if ((thread->leader != i && thread->leader != DTC_NONE) || thread->idle_cpu >= 0)
			continue;
		if (is_pid ? thread->tid != atoi(name)
			   : strcmp(dtc_history_get_comm(history, i, thread->end_ns), name) != 0)
			continue;
		found = i;
		if (count++ < 10)
			g_string_append_printf(pids, "%s%d", count > 1 ? ", " : "", thread->tid);
	}
	if (count == 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
			    "node '%s' has no process '%s'\n`dtrace-chain usage` lists the processes", options->node,
			    name);
		return false;
	}
	if (count > 1 && !is_pid) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "node '%s' has %u processes '%s'\ngive the pid of one: %s%s", options->node, count, name,
			    pids->str, count > 10 ? ", ..." : "");
		return false;
	}
	*ret_leader = found; /* of a pid that was used again: the last */
	return true;
}

/* A moment on the node's clock; NULL is the given default. */
static bool find_moment(const DtcHistory *history, const char *option, const char *text, int64_t default_ns,
			DtcNodeTime *ret_time, GError **error)
{
	struct dtc_moment moment;

	ret_time->ns = default_ns;
	if (!text)
		return true;
	if (!dtc_moment_parse(option, text, &moment, error))
		return false;
	if (__builtin_add_overflow(moment.ns, moment.is_relative ? dtc_history_get_begin_ns(history) : 0,
				   &ret_time->ns))
		ret_time->ns = moment.ns < 0 ? INT64_MIN : INT64_MAX;
	return true;
}

static bool select_process(const DtcHistory *history, const struct blockings_options *options,
			   struct dtc_blocked_options *selection, GError **error)
{
	if (!find_process(history, options, &selection->process, error) ||
	    !find_moment(history, "--from", options->from, dtc_history_get_begin_ns(history), &selection->begin,
			 error) ||
	    !find_moment(history, "--to", options->to, dtc_history_get_end_ns(history), &selection->end, error))
		return false;
	if (selection->end.ns <= selection->begin.ns)
		return set_usage(error, "--to is not after --from", "give a span that is not empty");
	return true;
}

static bool select_thread(const DtcHistory *history, const struct blockings_options *options, DtcFindings *findings,
			  struct dtc_blocked_options *selection, GError **error)
{
	struct dtc_thread_span span;

	if (!dtc_thread_spec_find(history, options->node, options->tid, options->from, options->to, findings, &span,
				  error))
		return false;
	selection->thread = span.thread;
	selection->begin = span.begin;
	selection->end = span.end;
	return true;
}

static bool select_waits(const DtcLoad *load, const struct blockings_options *options, DtcFindings *findings,
			 struct dtc_blocked_options *selection, GError **error)
{
	guint node;

	*selection = (struct dtc_blocked_options){
		.node = -1,
		.process = DTC_NONE,
		.thread = DTC_NONE,
		.min_ns = MAX(options->min_ns, 0),
	};
	if (!options->node)
		return true;
	if (!dtc_load_find_node(load, options->node, &node, error))
		return false;
	const DtcHistory *history = dtc_load_get_history(load, node);
	if (!history) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "node '%s' has no kernel trace that can be read, so nothing is known about its threads\n"
			    "`dtrace-chain stats` tells what each node has",
			    options->node);
		return false;
	}
	selection->node = (int)node;
	return options->thread ? select_thread(history, options, findings, selection, error)
			       : select_process(history, options, selection, error);
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
			       const struct dtc_blocked_options *selection)
{
	const DtcClocks *clocks = dtc_load_get_clocks(load);
	const struct dtc_path_target target = {
		.node = (guint)selection->node,
		.thread = selection->thread,
		.begin = dtc_clocks_to_cluster(clocks, (guint)selection->node, selection->begin),
		.end = dtc_clocks_to_cluster(clocks, (guint)selection->node, selection->end),
		.call = DTC_NONE,
	};
	const struct dtc_path_options path_options = {
		.max_depth = (guint)options->max_depth,
		.min_blocking_ns = selection->min_ns,
	};
	DtcPath *path = dtc_path_new(target.begin, target.end);

	dtc_causality_add(dtc_load_get_links(load), &target, &path_options, path);
	dtc_path_finish(path);
	return path;
}

static bool answer(const struct blockings_options *options, int argc, char **argv, bool *ret_complete, GError **error)
{
	const struct dtc_load_options load_options = {
		.sync_file = options->common.sync_file,
		.reference = options->node, /* the clock that --from and --to are on */
	};
	struct dtc_blocked_options selection;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = dtc_common_options_open_bundle(&options->common, argc, argv, error);
	if (!bundle)
		return false;
	g_autoptr(DtcProgress) progress = dtc_progress_new(options->common.quiet);
	g_autoptr(DtcLoad) load = dtc_load_bundle(bundle, &load_options, progress, findings, error);
	if (!load || !select_waits(load, options, findings, &selection, error))
		return false;

	dtc_progress_show(progress, "collecting the waits");
	g_autoptr(DtcBlocked) blocked = dtc_blocked_new(dtc_load_get_links(load), &selection);
	struct dtc_blockings_input input = {
		.links = dtc_load_get_links(load),
		.findings = findings,
		.blocked = blocked,
	};
	g_autoptr(DtcPath) path = NULL;
	if (options->thread) {
		input.path = path = find_causality(load, options, &selection);
		input.node = (guint)selection.node;
		input.thread = selection.thread;
		input.begin = dtc_path_get_begin(path);
		input.end = dtc_path_get_end(path);
	}
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
