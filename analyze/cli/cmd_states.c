/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain states: the time of a thread, process or node by state, and the longest single states. */
#include "analyze/cli/command.h"
#include "analyze/cli/load.h"
#include "analyze/cli/moment.h"
#include "analyze/cli/options.h"
#include "analyze/cli/subject.h"
#include "analyze/cli/terminal.h"
#include "analyze/report/states_view.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define DEFAULT_LIMIT 20

struct states_options {
	struct dtc_common_options common;
	struct dtc_subject subject;
	char *reference; /* all strings owned */
	char *state_class;
	char *min_duration;
	int limit;
	gboolean has_instances;
	gboolean is_exact;
	/* derived */
	enum dtc_state_class only; /* DTC_CLASSES: all */
	int64_t min_ns;
	bool is_json;
};

static void options_clear(struct states_options *options)
{
	dtc_common_options_clear(&options->common);
	dtc_subject_clear(&options->subject);
	g_free(options->reference);
	g_free(options->state_class);
	g_free(options->min_duration);
}

static bool parse_options(struct states_options *options, int *argc, char ***argv, GError **error)
{
	const GOptionEntry entries[] = {
		{ "instances", 0, 0, G_OPTION_ARG_NONE, &options->has_instances,
		  "The single states, the longest first, instead of sums", NULL },
		{ "class", 0, 0, G_OPTION_ARG_STRING, &options->state_class, "Only instances of this class",
		  "working|interrupted|blocked|idle|exited|unknown" },
		{ "limit", 'n', 0, G_OPTION_ARG_INT, &options->limit, "At most so many instances; 0: all (default: 20)",
		  "N" },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock times are on (default: the thread's, or the best known)", "NODE" },
		{ "min-duration", 0, 0, G_OPTION_ARG_STRING, &options->min_duration,
		  "Fold what is shorter in all, e.g. 250us (default: 2 % of the state)", "SPAN" },
		{ "exact", 0, 0, G_OPTION_ARG_NONE, &options->is_exact, "Show all times in nanoseconds", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autoptr(DtcCommandLine) line = dtc_command_line_new("states");

	options->limit = DEFAULT_LIMIT;
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

static bool check_options(struct states_options *options, GError **error)
{
	options->only = DTC_CLASSES;
	options->min_ns = -1;
	if (options->limit < 0)
		return set_usage(error, "--limit is negative", "0 is no limit");
	if (options->state_class && !options->has_instances)
		return set_usage(error, "--class goes with --instances", "the tree has all classes");
	if (options->state_class && !dtc_state_class_parse(options->state_class, &options->only)) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "--class '%s' is not a class of states\n"
			    "the classes are working, interrupted, blocked, idle, exited and unknown",
			    options->state_class);
		return false;
	}
	if (options->min_duration && !dtc_span_parse("--min-duration", options->min_duration, &options->min_ns, error))
		return false;
	return dtc_common_options_get_json(&options->common, &options->is_json, error);
}

/* What is being put together. */
struct answer {
	const DtcLoad *load;
	const struct states_options *options;
	const DtcHistory **histories; /* owned array */
	int64_t *origins_ns;	      /* owned */
	GArray *scopes;		      /* struct dtc_states_scope; the trees are owned */
	DtcStateInstances *instances; /* owned */
	DtcFindings *findings;
};

static void scope_clear(void *data)
{
	struct dtc_states_scope *scope = data;
	dtc_state_tree_free(scope->tree);
}

static void answer_begin(struct answer *answer, const DtcLoad *load, const struct states_options *options,
			 DtcFindings *findings)
{
	guint count = dtc_load_get_node_count(load);

	*answer = (struct answer){ .load = load, .options = options, .findings = findings };
	answer->histories = g_new0(const DtcHistory *, count + 1);
	answer->origins_ns = g_new0(int64_t, count + 1);
	for (guint i = 0; i < count; i++)
		answer->histories[i] = dtc_load_get_history(load, i);
	answer->scopes = g_array_new(FALSE, FALSE, sizeof(struct dtc_states_scope));
	g_array_set_clear_func(answer->scopes, scope_clear);
	answer->instances = dtc_state_instances_new(options->limit ? (guint)options->limit : G_MAXUINT);
}

static void answer_clear(struct answer *answer)
{
	g_free(answer->histories);
	g_free(answer->origins_ns);
	g_array_unref(answer->scopes);
	dtc_state_instances_free(answer->instances);
}

static void add_thread(struct answer *answer, struct dtc_states_scope *scope, uint32_t thread, DtcNodeTime begin,
		       DtcNodeTime end)
{
	const DtcHistory *history = answer->histories[scope->node];
	struct dtc_spells spells;
	struct dtc_interval spell;

	dtc_spells_begin(&spells, history, thread, begin, end);
	while (dtc_spells_next(&spells, &spell)) {
		dtc_state_tree_add(scope->tree, history, &spell);
		if (answer->options->only == DTC_CLASSES || dtc_state_class_get(&spell) == answer->options->only)
			dtc_state_instances_add(answer->instances, scope->node, &spell);
	}
	scope->thread_count++;
}

static void add_scope(struct answer *answer, struct dtc_states_scope scope, const struct dtc_cluster_span *span)
{
	scope.begin = span->cluster_begin;
	scope.end = span->cluster_end;
	scope.tree = dtc_state_tree_new();
	g_array_append_val(answer->scopes, scope);
}

static void add_thread_scope(struct answer *answer, const struct dtc_selection *selection)
{
	const struct dtc_cluster_span *span = &selection->spans[selection->node];
	const DtcHistory *history = answer->histories[selection->node];
	const struct dtc_thread *thread = dtc_history_get_thread(history, selection->thread);
	const struct dtc_states_scope scope = {
		.node = selection->node,
		.pid = thread->pid,
		.tid = thread->tid,
		.comm = dtc_history_get_comm(history, selection->thread, span->end.ns),
		.process = dtc_history_get_process(history, selection->thread, span->end.ns),
	};

	add_scope(answer, scope, span);
	add_thread(answer, &g_array_index(answer->scopes, struct dtc_states_scope, 0), selection->thread, span->begin,
		   span->end);
}

/* A tree per process, in the order in which the processes appeared; or one of all, with pid -1. */
static void add_node_scopes(struct answer *answer, guint node, const struct dtc_selection *selection)
{
	const DtcHistory *history = answer->histories[node];
	const struct dtc_cluster_span *span = &selection->spans[node];
	bool has_processes = selection->wanted[node] != NULL;
	g_autoptr(GHashTable) by_leader = g_hash_table_new(g_direct_hash, g_direct_equal);

	if (!has_processes)
		add_scope(answer, (struct dtc_states_scope){ .node = node, .pid = -1, .tid = -1 }, span);
	for (uint32_t i = 0; i < dtc_history_get_thread_count(history); i++) {
		const struct dtc_thread *thread = dtc_history_get_thread(history, i);
		uint32_t leader = thread->leader == DTC_NONE ? i : thread->leader;
		gpointer key = GUINT_TO_POINTER(leader + 1);
		/* idle threads have no time of their own: what their CPUs did is in `top` */
		if (thread->idle_cpu >= 0 || !dtc_selection_has_thread(selection, node, i) ||
		    MAX(thread->begin_ns, span->begin.ns) >= MIN(thread->end_ns, span->end.ns))
			continue;
		if (has_processes && !g_hash_table_contains(by_leader, key)) {
			int64_t leader_end_ns = dtc_history_get_thread(history, leader)->end_ns;
			const struct dtc_states_scope fresh = {
				.node = node,
				.pid = thread->pid >= 0 ? thread->pid : thread->tid,
				.tid = -1,
				.process = dtc_history_get_comm(history, leader, MIN(leader_end_ns, span->end.ns)),
			};
			g_hash_table_insert(by_leader, key, GUINT_TO_POINTER(answer->scopes->len));
			add_scope(answer, fresh, span);
		}
		guint index =
			has_processes ? GPOINTER_TO_UINT(g_hash_table_lookup(by_leader, key)) : answer->scopes->len - 1;
		add_thread(answer, &g_array_index(answer->scopes, struct dtc_states_scope, index), i, span->begin,
			   span->end);
	}
}

static bool add_scopes(struct answer *answer, GError **error)
{
	struct dtc_selection selection;

	if (!dtc_subject_select(&answer->options->subject, answer->load, answer->findings, &selection, error))
		return false;
	for (guint node = 0; node < selection.node_count; node++) {
		answer->origins_ns[node] = selection.spans[node].origin.ns;
		if (!dtc_selection_has_node(&selection, node))
			continue;
		if (selection.thread != DTC_NONE)
			add_thread_scope(answer, &selection);
		else
			add_node_scopes(answer, node, &selection);
	}
	for (guint i = 0; i < answer->scopes->len; i++)
		dtc_state_tree_finish(g_array_index(answer->scopes, struct dtc_states_scope, i).tree);
	dtc_selection_clear(&selection);
	return true;
}

static bool print(const struct answer *answer, GError **error)
{
	const struct states_options *options = answer->options;
	const struct dtc_terminal terminal = dtc_terminal_get(options->common.color);
	const struct dtc_states_text_options text_options = {
		.width = terminal.width,
		.has_color = terminal.has_color,
		.has_utf8 = terminal.has_utf8,
		.is_exact = options->is_exact,
		.min_ns = options->min_ns,
	};
	const struct dtc_states_input input = {
		.node_names = dtc_load_get_node_names(answer->load),
		.histories = answer->histories,
		.clocks = dtc_load_get_clocks(answer->load),
		.origins_ns = answer->origins_ns,
		.scopes = (const struct dtc_states_scope *)(void *)answer->scopes->data,
		.scope_count = answer->scopes->len,
		.instances = options->has_instances ? dtc_state_instances_finish(answer->instances) : NULL,
		.findings = answer->findings,
	};
	g_autofree char *text =
		options->is_json ? dtc_states_to_json(&input) : dtc_states_to_text(&input, &text_options);
	return dtc_terminal_write(text, error);
}

static bool run(struct states_options *options, int argc, char **argv, bool *ret_complete, GError **error)
{
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
	if (!load)
		return false;
	dtc_progress_clear(progress);
	struct answer answer;
	answer_begin(&answer, load, options, findings);
	bool done = add_scopes(&answer, error) && print(&answer, error);
	*ret_complete = dtc_findings_get_complete(findings);
	answer_clear(&answer);
	return done;
}

int dtc_command_states(int argc, char **argv)
{
	struct states_options options = { 0 };
	g_autoptr(GError) error = NULL;
	bool is_complete;
	int code;

	if (parse_options(&options, &argc, &argv, &error) && check_options(&options, &error) &&
	    run(&options, argc, argv, &is_complete, &error))
		code = is_complete ? 0 : 3;
	else
		code = dtc_cli_report_error(error);
	options_clear(&options);
	return code;
}
