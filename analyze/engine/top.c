/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/top.h"

/* Rows and CPUs of one node. */
static void profile_node(struct dtc_top_node *node, const DtcLinks *links, guint index,
			 const struct dtc_selection *selection, const struct dtc_top_options *options)
{
	const struct dtc_cluster_span *span = &selection->spans[index];
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_profile_row));
	guint cpu_count = node->history ? dtc_history_get_cpu_count(node->history) : 0;
	struct dtc_profile_cpu *cpus = g_new0(struct dtc_profile_cpu, cpu_count + 1);

	node->end = span->end;
	node->cluster_begin = span->cluster_begin;
	node->cluster_end = span->cluster_end;
	if (node->history)
		dtc_profile_add_threads(rows, links, index, node->history, span->begin, span->end);
	for (guint cpu = 0; cpu < cpu_count; cpu++)
		cpus[cpu] = dtc_profile_get_cpu(links, index, node->history, cpu, span->begin, span->end);
	node->total = dtc_profile_sum_cpus(cpus, cpu_count);
	for (guint i = rows->len; i-- > 0;) { /* idle threads are the CPUs' lines */
		uint32_t thread = g_array_index(rows, struct dtc_profile_row, i).thread;
		if (dtc_history_get_thread(node->history, thread)->idle_cpu >= 0 ||
		    !dtc_selection_has_thread(selection, index, thread))
			g_array_remove_index(rows, i);
	}
	if (options->has_threads)
		node->rows = g_steal_pointer(&rows);
	else
		node->rows = dtc_profile_group_processes(rows, node->history);
	dtc_profile_sort(node->rows, options->sort);
	node->cpus = cpus;
}

static void node_clear(void *data)
{
	struct dtc_top_node *node = data;

	g_array_unref(node->rows);
	g_free(node->cpus);
}

GArray *dtc_top_new(const DtcEngine *engine, const struct dtc_subject *subject, const struct dtc_top_options *options,
		    DtcFindings *findings, GError **error)
{
	bool has_subject = subject->thread || subject->process;
	struct dtc_selection selection;

	if (!dtc_selection_find(subject, engine, findings, &selection, error))
		return NULL;
	GArray *nodes = g_array_new(FALSE, FALSE, sizeof(struct dtc_top_node));
	g_array_set_clear_func(nodes, node_clear);
	for (guint i = 0; i < selection.node_count; i++) {
		if (has_subject && !dtc_selection_has_node(&selection, i))
			continue;
		struct dtc_top_node node = {
			.name = dtc_engine_get_node_names(engine)[i],
			.history = dtc_engine_get_history(engine, i),
			.origin = selection.spans[i].origin,
		};
		profile_node(&node, dtc_engine_get_links(engine), i, &selection, options);
		g_array_append_val(nodes, node);
	}
	dtc_selection_clear(&selection);
	return nodes;
}
