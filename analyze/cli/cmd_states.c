/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain states: the time of a thread, process or node by state, and the longest single states. */
#include "analyze/cli/cluster_span.h"
#include "analyze/cli/command.h"
#include "analyze/cli/load.h"
#include "analyze/cli/moment.h"
#include "analyze/cli/options.h"
#include "analyze/cli/terminal.h"
#include "analyze/cli/thread_spec.h"
#include "analyze/report/states_view.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define DEFAULT_LIMIT 20

struct states_options {
	struct dtc_common_options common;
	char *thread; /* all strings owned */
	char *process;
	char *from;
	char *to;
	char *reference;
	char *state_class;
	char *min_duration;
	int limit;
	gboolean has_instances;
	gboolean is_exact;
	/* derived */
	char *thread_node;
	int32_t tid;
	enum dtc_state_class only; /* DTC_CLASSES: all */
	int64_t min_ns;
	bool is_json;
};

static void options_clear(struct states_options *options)
{
	dtc_common_options_clear(&options->common);
	g_free(options->thread);
	g_free(options->process);
	g_free(options->from);
	g_free(options->to);
	g_free(options->reference);
	g_free(options->state_class);
	g_free(options->min_duration);
	g_free(options->thread_node);
}

static bool parse_options(struct states_options *options, int *argc, char ***argv, GError **error)
{
	const GOptionEntry entries[] = {
		{ "thread", 't', 0, G_OPTION_ARG_STRING, &options->thread, "Only this thread", "NODE:TID" },
		{ "process", 'p', 0, G_OPTION_ARG_STRING, &options->process,
		  "A tree per process of this name, not one per node", "NAME | NODE:NAME | NODE:PID" },
		{ "instances", 0, 0, G_OPTION_ARG_NONE, &options->has_instances,
		  "The single states, the longest first, instead of sums", NULL },
		{ "class", 0, 0, G_OPTION_ARG_STRING, &options->state_class,
		  "Only instances of this class",
		  "working|interrupted|blocked|idle|exited|unknown" },
		{ "limit", 'n', 0, G_OPTION_ARG_INT, &options->limit, "At most so many instances; 0: all (default: 20)",
		  "N" },
		{ "from", 0, 0, G_OPTION_ARG_STRING, &options->from,
		  "Begin of the span: +1.5s, +200ms (since the traces' begin, or the thread's node's) or the clock of "
		  "the reference (or of the thread's node)", "TIME" },
		{ "to", 0, 0, G_OPTION_ARG_STRING, &options->to, "End of the span", "TIME" },
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
	if (options->thread && options->process)
		return set_usage(error, "--thread and --process are two questions", "give one of them");
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
	if (options->thread && !dtc_thread_spec_parse(options->thread, &options->thread_node, &options->tid, error))
		return false;
	if (options->min_duration &&
	    !dtc_span_parse("--min-duration", options->min_duration, &options->min_ns, error))
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

/* The one thread of --thread, over --from to --to on its node's clock. */
static bool add_thread_scope(struct answer *answer, GError **error)
{
	const struct states_options *options = answer->options;
	const DtcClocks *clocks = dtc_load_get_clocks(answer->load);
	struct dtc_thread_span span;
	guint node;

	if (!dtc_load_find_node(answer->load, options->thread_node, &node, error))
		return false;
	const DtcHistory *history = answer->histories[node];
	if (!history) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "node '%s' has no kernel trace that can be read, so nothing is known about its threads\n"
			    "`dtrace-chain stats` tells what each node has", options->thread_node);
		return false;
	}
	if (!dtc_thread_spec_find(history, options->thread_node, options->tid, options->from, options->to,
				  answer->findings, &span, error))
		return false;
	DtcNodeTime origin = { dtc_history_get_begin_ns(history) };
	struct dtc_states_scope scope = {
		.node = node,
		.pid = dtc_history_get_thread(history, span.thread)->pid,
		.tid = options->tid,
		.comm = dtc_history_get_comm(history, span.thread, span.end.ns),
		.process = dtc_history_get_process(history, span.thread, span.end.ns),
		.begin = dtc_clocks_to_cluster(clocks, node, span.begin),
		.end = dtc_clocks_to_cluster(clocks, node, span.end),
		.tree = dtc_state_tree_new(),
	};
	answer->origins_ns[node] = dtc_clocks_to_cluster(clocks, node, origin).ns;
	add_thread(answer, &scope, span.thread, span.begin, span.end);
	dtc_state_tree_finish(scope.tree);
	g_array_append_val(answer->scopes, scope);
	return true;
}

/* Idle threads have no time of their own: what their CPUs did is in `top`. */
static bool lives_in(const struct dtc_thread *thread, const struct dtc_cluster_span *span)
{
	return thread->idle_cpu < 0 &&
		MAX(thread->begin_ns, span->begin.ns) < MIN(thread->end_ns, span->end.ns);
}

static void add_node_scope(struct answer *answer, guint node, const struct dtc_cluster_span *span)
{
	const DtcHistory *history = answer->histories[node];
	struct dtc_states_scope scope = { .node = node, .pid = -1, .tid = -1, .begin = span->cluster_begin,
					  .end = span->cluster_end, .tree = dtc_state_tree_new() };

	for (uint32_t i = 0; i < dtc_history_get_thread_count(history); i++)
		if (lives_in(dtc_history_get_thread(history, i), span))
			add_thread(answer, &scope, i, span->begin, span->end);
	dtc_state_tree_finish(scope.tree);
	g_array_append_val(answer->scopes, scope);
}

/* --process is a name, which may hold a colon ("kworker/0:1"), or NODE: and a name or pid on that node. */
static bool is_process(const char *wanted, const char *node, const char *name, int32_t pid)
{
	gsize length = strlen(node);
	gint64 number;

	if (strcmp(wanted, name) == 0)
		return true;
	if (strncmp(wanted, node, length) != 0 || wanted[length] != ':')
		return false;
	wanted += length + 1;
	return strcmp(wanted, name) == 0 ||
		(g_ascii_string_to_signed(wanted, 10, 0, INT32_MAX, &number, NULL) && number == pid);
}

/* A tree per process that was asked for, in the order in which the processes appeared. */
static void add_process_scopes(struct answer *answer, guint node, const struct dtc_cluster_span *span)
{
	const DtcHistory *history = answer->histories[node];
	const char *node_name = dtc_load_get_node_names(answer->load)[node];
	g_autoptr(GHashTable) by_leader = g_hash_table_new(g_direct_hash, g_direct_equal);
	guint first = answer->scopes->len;

	for (uint32_t i = 0; i < dtc_history_get_thread_count(history); i++) {
		const struct dtc_thread *thread = dtc_history_get_thread(history, i);
		uint32_t leader = thread->leader == DTC_NONE ? i : thread->leader;
		int64_t leader_end_ns = dtc_history_get_thread(history, leader)->end_ns;
		const char *process = dtc_history_get_comm(history, leader, MIN(leader_end_ns, span->end.ns));
		gpointer key = GUINT_TO_POINTER(leader + 1);
		int32_t pid = thread->pid >= 0 ? thread->pid : thread->tid;
		if (!lives_in(thread, span) || !is_process(answer->options->process, node_name, process, pid))
			continue;
		if (!g_hash_table_contains(by_leader, key)) {
			struct dtc_states_scope fresh = {
				.node = node, .pid = pid, .tid = -1, .process = process,
				.begin = span->cluster_begin, .end = span->cluster_end,
				.tree = dtc_state_tree_new(),
			};
			g_hash_table_insert(by_leader, key, GUINT_TO_POINTER(answer->scopes->len));
			g_array_append_val(answer->scopes, fresh);
		}
		guint index = GPOINTER_TO_UINT(g_hash_table_lookup(by_leader, key));
		add_thread(answer, &g_array_index(answer->scopes, struct dtc_states_scope, index), i, span->begin,
			   span->end);
	}
	for (guint i = first; i < answer->scopes->len; i++)
		dtc_state_tree_finish(g_array_index(answer->scopes, struct dtc_states_scope, i).tree);
}

static bool add_scopes(struct answer *answer, GError **error)
{
	const struct states_options *options = answer->options;
	g_autofree struct dtc_cluster_span *spans = dtc_cluster_span_find(
		dtc_load_get_clocks(answer->load), answer->histories, options->from, options->to, error);

	if (!spans)
		return false;
	for (guint node = 0; node < dtc_load_get_node_count(answer->load); node++) {
		answer->origins_ns[node] = spans[node].origin.ns;
		if (!answer->histories[node] || spans[node].begin.ns >= spans[node].end.ns)
			continue;
		if (options->process)
			add_process_scopes(answer, node, &spans[node]);
		else
			add_node_scope(answer, node, &spans[node]);
	}
	if (answer->scopes->len > 0)
		return true;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
		    options->process ? "no process '%s' lived in that span\n`dtrace-chain top --limit 0` lists all" :
				       "no thread%s lived in that span\n`dtrace-chain stats` tells what each node has",
		    options->process ? options->process : "");
	return false;
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
	g_autofree char *text = options->is_json ? dtc_states_to_json(&input)
						 : dtc_states_to_text(&input, &text_options);
	return dtc_terminal_write(text, error);
}

static bool run(const struct states_options *options, int argc, char **argv, bool *ret_complete, GError **error)
{
	const struct dtc_load_options load_options = {
		.sync_file = options->common.sync_file,
		/* --from and --to of a thread are on its node's clock */
		.reference = options->reference ? options->reference : options->thread_node,
	};
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = dtc_common_options_open_bundle(&options->common, argc, argv, error);
	if (!bundle)
		return false;
	g_autoptr(DtcProgress) progress = dtc_progress_new(options->common.quiet);
	g_autoptr(DtcLoad) load = dtc_load_bundle(bundle, &load_options, progress, findings, error);
	if (!load)
		return false;
	dtc_progress_clear(progress);
	struct answer answer;
	answer_begin(&answer, load, options, findings);
	bool done = (options->thread ? add_thread_scope(&answer, error) : add_scopes(&answer, error)) &&
		print(&answer, error);
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
