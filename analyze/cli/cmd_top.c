/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain top: what every process or thread did with its time, per node. */
#include "analyze/cli/command.h"
#include "analyze/cli/load.h"
#include "analyze/cli/options.h"
#include "analyze/cli/subject.h"
#include "analyze/cli/terminal.h"
#include "analyze/report/profile_view.h"
#include "dtrace-chain/error.h"

#define DEFAULT_LIMIT 20 /* rows per node that a person looks at */

struct top_options {
	struct dtc_common_options common;
	struct dtc_subject subject;
	char *sort; /* all strings owned */
	char *reference;
	int limit; /* -1: not given */
	gboolean has_threads;
	gboolean is_exact;
	/* derived */
	enum dtc_profile_column column;
	bool is_json;
};

static void options_clear(struct top_options *options)
{
	dtc_common_options_clear(&options->common);
	dtc_subject_clear(&options->subject);
	g_free(options->sort);
	g_free(options->reference);
}

static bool parse_options(struct top_options *options, int *argc, char ***argv, GError **error)
{
	const GOptionEntry entries[] = {
		{ "threads", 0, 0, G_OPTION_ARG_NONE, &options->has_threads, "A row per thread, not per process",
		  NULL },
		{ "sort", 0, 0, G_OPTION_ARG_STRING, &options->sort,
		  "Largest first of cpu (default), user, system, runqueue, disk, blocked, calls, faults, ...",
		  "COLUMN" },
		{ "limit", 'n', 0, G_OPTION_ARG_INT, &options->limit,
		  "Rows per node; 0: all (default: 20 in text, all in JSON)", "N" },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock times are on (default: the thread's, or the best known)", "NODE" },
		{ "exact", 0, 0, G_OPTION_ARG_NONE, &options->is_exact, "Show all times in nanoseconds", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autoptr(DtcCommandLine) line = dtc_command_line_new("top");

	options->limit = -1;
	dtc_common_options_add(&options->common, line);
	dtc_subject_add_options(&options->subject, line);
	dtc_subject_add_span_options(&options->subject, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
	return dtc_command_line_parse(line, argc, argv, error);
}

static void set_unknown_column(GError **error, const char *name)
{
	g_autoptr(GString) columns = g_string_new(NULL);

	for (guint i = 0; i < DTC_PROFILE_COLUMNS; i++)
		g_string_append_printf(columns, "%s%s", i ? ", " : "",
				       dtc_profile_column_to_string((enum dtc_profile_column)i));
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "--sort '%s' is not a column\nthe columns are %s", name,
		    columns->str);
}

static bool check_options(struct top_options *options, GError **error)
{
	bool has_limit = options->limit != -1;

	options->column = DTC_PROFILE_CPU;
	if (options->sort && !dtc_profile_column_parse(options->sort, &options->column)) {
		set_unknown_column(error, options->sort);
		return false;
	}
	if (options->limit < 0 && has_limit) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "--limit is negative\n0 is no limit");
		return false;
	}
	if (!dtc_common_options_get_json(&options->common, &options->is_json, error))
		return false;
	if (!has_limit)
		options->limit = options->is_json ? 0 : DEFAULT_LIMIT;
	return true;
}

/* Rows and CPUs of one node; both belong to the caller. */
static void profile_node(struct dtc_top_node *node, guint index, const struct dtc_selection *selection,
			 const struct top_options *options)
{
	const struct dtc_cluster_span *span = &selection->spans[index];
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_profile_row));
	guint cpu_count = node->history ? dtc_history_get_cpu_count(node->history) : 0;
	struct dtc_profile_cpu *cpus = g_new0(struct dtc_profile_cpu, cpu_count + 1);

	node->end = span->end;
	node->cluster_begin = span->cluster_begin;
	node->cluster_end = span->cluster_end;
	if (node->history)
		dtc_profile_add_threads(rows, index, node->history, span->begin, span->end);
	for (guint cpu = 0; cpu < cpu_count; cpu++)
		cpus[cpu] = dtc_profile_get_cpu(node->history, cpu, span->begin, span->end);
	node->total = dtc_profile_sum_cpus(cpus, cpu_count);
	for (guint i = rows->len; i-- > 0;) { /* idle threads are the CPUs' lines */
		uint32_t thread = g_array_index(rows, struct dtc_profile_row, i).thread;
		if (dtc_history_get_thread(node->history, thread)->idle_cpu >= 0 ||
		    !dtc_selection_has_thread(selection, index, thread))
			g_array_remove_index(rows, i);
	}
	if (options->has_threads || options->subject.thread) {
		node->rows = g_steal_pointer(&rows);
	} else {
		node->rows = dtc_profile_group_processes(rows, node->history);
	}
	dtc_profile_sort(node->rows, options->column);
	node->cpus = cpus;
}

static bool print(const struct dtc_top_input *input, const struct top_options *options, GError **error)
{
	const struct dtc_terminal terminal = dtc_terminal_get(options->common.color);
	g_autofree char *text = options->is_json ? dtc_top_to_json(input)
						 : dtc_top_to_text(input, terminal.width, terminal.has_color,
								   terminal.has_utf8, options->is_exact);
	return dtc_terminal_write(text, error);
}

static bool show(const DtcLoad *load, const struct top_options *options, DtcFindings *findings, GError **error)
{
	const char *const *names = dtc_load_get_node_names(load);
	guint count = dtc_load_get_node_count(load), shown = 0;
	bool has_subject = options->subject.thread || options->subject.process;
	struct dtc_selection selection;

	if (!dtc_subject_select(&options->subject, load, findings, &selection, error))
		return false;
	g_autofree struct dtc_top_node *nodes = g_new0(struct dtc_top_node, count + 1);
	for (guint i = 0; i < count; i++) {
		if (has_subject && !dtc_selection_has_node(&selection, i))
			continue;
		nodes[shown].name = names[i];
		nodes[shown].history = dtc_load_get_history(load, i);
		nodes[shown].origin = selection.spans[i].origin;
		profile_node(&nodes[shown++], i, &selection, options);
	}
	const struct dtc_top_input input = {
		.nodes = nodes,
		.node_count = shown,
		.reference = names[dtc_clocks_get_reference(dtc_load_get_clocks(load))],
		.sort = options->column,
		.has_threads = options->has_threads || options->subject.thread,
		.limit = (guint)options->limit,
		.findings = findings,
	};
	bool printed = print(&input, options, error);
	for (guint i = 0; i < shown; i++) {
		g_array_unref(nodes[i].rows);
		g_free((void *)nodes[i].cpus);
	}
	dtc_selection_clear(&selection);
	return printed;
}

static bool answer(struct top_options *options, int argc, char **argv, bool *ret_complete, GError **error)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = dtc_common_options_open_bundle(&options->common, argc, argv, error);
	if (!bundle || !dtc_subject_locate(&options->subject, bundle, error))
		return false;
	const struct dtc_load_options load_options = {
		/* --from and --to of a thread are on its node's clock */
		.reference = options->reference ? options->reference : options->subject.spec.node,
		.sync_file = options->common.sync_file,
	};
	g_autoptr(DtcProgress) progress = dtc_progress_new(options->common.quiet);
	g_autoptr(DtcLoad) load = dtc_load_bundle(bundle, &load_options, progress, findings, error);
	if (!load)
		return false;
	dtc_progress_clear(progress);
	*ret_complete = dtc_findings_get_complete(findings);
	return show(load, options, findings, error);
}

int dtc_command_top(int argc, char **argv)
{
	struct top_options options = { 0 };
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
