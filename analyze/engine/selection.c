/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/selection.h"

#include "analyze/path/lineage.h"
#include "collect/bundle/suggest.h"
#include "dtrace-chain/error.h"

#include <string.h>

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

/* Marks the threads of the wanted processes; false if the node has none of them in the span. */
static bool mark_processes(const DtcHistory *history, const char *wanted, const char *node,
			   const struct dtc_cluster_span *span, uint8_t *marks)
{
	bool found = false;

	for (uint32_t i = 0; i < dtc_history_get_thread_count(history); i++) {
		const struct dtc_thread *thread = dtc_history_get_thread(history, i);
		if (thread->idle_cpu >= 0 || MAX(thread->begin_ns, span->begin.ns) >= MIN(thread->end_ns, span->end.ns))
			continue;
		uint32_t leader = thread->leader == DTC_NONE ? i : thread->leader;
		int64_t leader_end_ns = dtc_history_get_thread(history, leader)->end_ns;
		const char *name = dtc_history_get_comm(history, leader, MIN(leader_end_ns, span->end.ns));
		marks[i] = is_process(wanted, node, name, thread->pid >= 0 ? thread->pid : thread->tid);
		found |= marks[i];
	}
	return found;
}

/* With the name that is nearest, if it is not the same: then it is the span that is wrong. */
static void set_no_process(GError **error, const DtcEngine *engine, const char *wanted)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	for (guint node = 0; node < dtc_engine_get_node_count(engine); node++) {
		const DtcHistory *history = dtc_engine_get_history(engine, node);
		uint32_t count = history ? dtc_history_get_thread_count(history) : 0;
		for (uint32_t i = 0; i < count; i++) {
			const struct dtc_thread *thread = dtc_history_get_thread(history, i);
			const char *name = dtc_history_get_comm(history, i, thread->end_ns);
			if (thread->leader != DTC_NONE && thread->leader != i)
				continue;
			g_ptr_array_add(names, g_strdup(name));
			g_ptr_array_add(names, g_strdup_printf("%s:%s", dtc_engine_get_node_names(engine)[node], name));
		}
	}
	g_ptr_array_add(names, NULL);
	const char *nearest = dtc_suggest(wanted, (const char *const *)names->pdata);
	bool is_known = nearest && strcmp(nearest, wanted) == 0;
	bool is_alike = nearest && !is_known;
	g_set_error(error, DTC_ANALYZE_ERROR, is_known ? DTC_ERROR_NOT_FOUND : DTC_ERROR_USAGE,
		    "no process '%s' lived in that span\n%s%s%s`dtrace-chain top --limit 0` lists all", wanted,
		    is_alike ? "did you mean '" : "", is_alike ? nearest : "", is_alike ? "'? " : "");
}

static bool select_processes(const struct dtc_subject *subject, const DtcEngine *engine,
			     struct dtc_selection *selection, GError **error)
{
	bool found = false;

	for (guint node = 0; node < selection->node_count; node++) {
		const DtcHistory *history = dtc_engine_get_history(engine, node);
		struct dtc_cluster_span *span = &selection->spans[node];
		if (!history || !dtc_selection_has_node(selection, node))
			continue;
		selection->wanted[node] = g_new0(uint8_t, dtc_history_get_thread_count(history) + 1);
		if (mark_processes(history, subject->process, dtc_engine_get_node_names(engine)[node], span,
				   selection->wanted[node]))
			found = true;
		else
			span->end = span->begin;
	}
	if (!found)
		set_no_process(error, engine, subject->process);
	return found;
}

static bool select_thread(const struct dtc_subject *subject, const DtcEngine *engine, DtcFindings *findings,
			  struct dtc_selection *selection, GError **error)
{
	const DtcClocks *clocks = dtc_engine_get_clocks(engine);
	struct dtc_thread_span found;
	guint node;

	if (!dtc_engine_find_node(engine, subject->thread->node, &node, error))
		return false;
	const DtcHistory *history = dtc_engine_get_history(engine, node);
	if (!history) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "node '%s' has no kernel trace that can be read, so nothing is known about its threads\n"
			    "`dtrace-chain stats` tells what each node has",
			    subject->thread->node);
		return false;
	}
	if (!dtc_thread_spec_find(history, subject->thread, subject->from, subject->to, subject->with_parents, findings,
				  &found, error))
		return false;
	selection->node = node;
	selection->thread = found.thread;
	selection->lineage = dtc_lineage_new(history, found.thread, found.begin, found.end);
	selection->spans = g_new0(struct dtc_cluster_span, selection->node_count + 1);
	selection->spans[node] = (struct dtc_cluster_span){
		.begin = found.begin,
		.end = found.end,
		.cluster_begin = dtc_clocks_to_cluster(clocks, node, found.begin),
		.cluster_end = dtc_clocks_to_cluster(clocks, node, found.end),
		.origin = dtc_clocks_to_cluster(clocks, node, (DtcNodeTime){ dtc_history_get_begin_ns(history) }),
	};
	selection->wanted[node] = g_new0(uint8_t, dtc_history_get_thread_count(history) + 1);
	selection->wanted[node][found.thread] = true;
	return true;
}

bool dtc_selection_find(const struct dtc_subject *subject, const DtcEngine *engine, DtcFindings *findings,
			struct dtc_selection *ret_selection, GError **error)
{
	guint count = dtc_engine_get_node_count(engine);
	struct dtc_selection selection = { .node_count = count,
					   .thread = DTC_NONE,
					   .wanted = g_new0(uint8_t *, count + 1) };
	bool selected;

	if (subject->thread) {
		selected = select_thread(subject, engine, findings, &selection, error);
	} else {
		selection.spans = dtc_cluster_span_find(dtc_engine_get_clocks(engine), dtc_engine_get_histories(engine),
							G_MAXUINT, subject->from, subject->to, error);
		selected =
			selection.spans && (!subject->process || select_processes(subject, engine, &selection, error));
	}
	if (selected)
		*ret_selection = selection;
	else
		dtc_selection_clear(&selection);
	return selected;
}

void dtc_selection_clear(struct dtc_selection *selection)
{
	for (guint i = 0; i < selection->node_count; i++)
		g_free(selection->wanted[i]);
	g_free(selection->wanted);
	if (selection->lineage)
		g_array_unref(selection->lineage);
	g_free(selection->spans);
}
