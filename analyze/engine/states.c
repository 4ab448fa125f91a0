/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/states.h"

#include "analyze/path/lineage.h"
#include "dtrace-chain/error.h"

/* What is being put together. */
struct collection {
	const DtcEngine *engine;
	const struct dtc_states_options *options;
	bool found_any; /* of the line that is wanted */
	GArray *scopes; /* struct dtc_states_scope */
	DtcStateInstances *instances;
};

static void scope_clear(void *data)
{
	struct dtc_states_scope *scope = data;
	dtc_state_tree_free(scope->tree);
}

static bool is_wanted(struct collection *c, const DtcHistory *history, const struct dtc_interval *spell)
{
	const struct dtc_states_options *options = c->options;
	bool has_line = dtc_state_line_has(&options->line, history, spell);

	c->found_any |= has_line;
	return has_line && (options->only == DTC_CLASSES || dtc_state_class_get(spell) == options->only);
}

static void add_thread(struct collection *c, struct dtc_states_scope *scope, uint32_t thread, DtcNodeTime begin,
		       DtcNodeTime end)
{
	const DtcHistory *history = dtc_engine_get_history(c->engine, scope->node);
	struct dtc_spells spells;
	struct dtc_interval spell;

	dtc_spells_begin(&spells, dtc_engine_get_links(c->engine), scope->node, history, thread, begin, end);
	while (dtc_spells_next(&spells, &spell)) {
		dtc_state_tree_add(scope->tree, history, &spell);
		if (is_wanted(c, history, &spell))
			dtc_state_instances_add(c->instances, scope->node, &spell);
	}
	dtc_spells_end(&spells);
	scope->thread_count++;
}

static void add_scope(struct collection *c, struct dtc_states_scope scope, const struct dtc_cluster_span *span)
{
	scope.begin = span->cluster_begin;
	scope.end = span->cluster_end;
	scope.tree = dtc_state_tree_new();
	g_array_append_val(c->scopes, scope);
}

/* The thread's own, and one of each parent in the time before. */
static void add_thread_scopes(struct collection *c, const struct dtc_selection *selection)
{
	const DtcClocks *clocks = dtc_engine_get_clocks(c->engine);
	const DtcHistory *history = dtc_engine_get_history(c->engine, selection->node);

	for (guint i = 0; i < selection->lineage->len; i++) {
		const struct dtc_lineage_part *part = dtc_lineage_get(selection->lineage, i);
		const struct dtc_thread *thread = dtc_history_get_thread(history, part->thread);
		const struct dtc_states_scope scope = {
			.node = selection->node,
			.pid = thread->pid,
			.tid = thread->tid,
			.comm = dtc_history_get_comm(history, part->thread, part->end.ns),
			.process = dtc_history_get_process(history, part->thread, part->end.ns),
			.is_parent = i > 0,
		};
		const struct dtc_cluster_span span = {
			.cluster_begin = dtc_clocks_to_cluster(clocks, selection->node, part->begin),
			.cluster_end = dtc_clocks_to_cluster(clocks, selection->node, part->end),
		};
		add_scope(c, scope, &span);
		add_thread(c, &g_array_index(c->scopes, struct dtc_states_scope, i), part->thread, part->begin,
			   part->end);
	}
}

/* A tree per process, in the order in which the processes appeared; or one of all, with pid -1. */
static void add_node_scopes(struct collection *c, guint node, const struct dtc_selection *selection)
{
	const DtcHistory *history = dtc_engine_get_history(c->engine, node);
	const struct dtc_cluster_span *span = &selection->spans[node];
	bool has_processes = selection->wanted[node] != NULL;
	g_autoptr(GHashTable) by_leader = g_hash_table_new(g_direct_hash, g_direct_equal);

	if (!has_processes)
		add_scope(c, (struct dtc_states_scope){ .node = node, .pid = -1, .tid = -1 }, span);
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
			g_hash_table_insert(by_leader, key, GUINT_TO_POINTER(c->scopes->len));
			add_scope(c, fresh, span);
		}
		guint index =
			has_processes ? GPOINTER_TO_UINT(g_hash_table_lookup(by_leader, key)) : c->scopes->len - 1;
		add_thread(c, &g_array_index(c->scopes, struct dtc_states_scope, index), i, span->begin, span->end);
	}
}

DtcStates *dtc_states_new(const DtcEngine *engine, const struct dtc_subject *subject,
			  const struct dtc_states_options *options, DtcFindings *findings, GError **error)
{
	struct dtc_selection selection;

	if (!dtc_selection_find(subject, engine, findings, &selection, error))
		return NULL;
	g_autoptr(DtcStateInstances) instances = dtc_state_instances_new(options->limit ? options->limit : G_MAXUINT);
	g_autoptr(DtcStates) states = g_new0(DtcStates, 1);
	states->origins_ns = g_new0(int64_t, selection.node_count + 1);
	states->scopes = g_array_new(FALSE, FALSE, sizeof(struct dtc_states_scope));
	g_array_set_clear_func(states->scopes, scope_clear);
	struct collection c = { engine, options, false, states->scopes, instances };
	for (guint node = 0; node < selection.node_count; node++) {
		states->origins_ns[node] = selection.spans[node].origin.ns;
		if (!dtc_selection_has_node(&selection, node))
			continue;
		if (selection.thread != DTC_NONE)
			add_thread_scopes(&c, &selection);
		else
			add_node_scopes(&c, node, &selection);
	}
	for (guint i = 0; i < states->scopes->len; i++)
		dtc_state_tree_finish(g_array_index(states->scopes, struct dtc_states_scope, i).tree);
	states->instances = g_array_copy((GArray *)dtc_state_instances_finish(instances));
	dtc_selection_clear(&selection);
	if (!c.found_any && (options->line.state || options->line.call || options->line.file)) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "no state in that span has --state '%s', --call '%s', --file '%s'\n"
			    "`dtrace-chain states` without --instances has all three, as it prints them",
			    options->line.state ? options->line.state : "*",
			    options->line.call ? options->line.call : "*",
			    options->line.file ? options->line.file : "*");
		return NULL;
	}
	return g_steal_pointer(&states);
}

void dtc_states_free(DtcStates *states)
{
	if (!states)
		return;
	g_array_unref(states->scopes);
	g_array_unref(states->instances);
	g_free(states->origins_ns);
	g_free(states);
}
