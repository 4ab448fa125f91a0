/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/top.h"

#include "collect/bundle/threads.h"

/* Rows and CPUs of the nodes that were asked for: each of them is a part, which knows nothing of the others. */
struct profiling {
	const DtcLinks *links;
	const struct dtc_selection *selection;
	const struct dtc_top_options *options;
	GArray *nodes; /* struct dtc_top_node */
};

enum { ROWS, CPUS, PARTS };

static void add_rows(const struct profiling *profiling, struct dtc_top_node *node)
{
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_profile_row));

	if (node->history)
		dtc_profile_add_threads(rows, profiling->links, node->index, node->history, node->begin, node->end);
	for (guint i = rows->len; i-- > 0;) { /* idle threads are the CPUs' lines */
		uint32_t thread = g_array_index(rows, struct dtc_profile_row, i).thread;
		if (dtc_history_get_thread(node->history, thread)->idle_cpu >= 0 ||
		    !dtc_selection_has_thread(profiling->selection, node->index, thread))
			g_array_remove_index(rows, i);
	}
	node->rows =
		profiling->options->has_threads ? g_array_ref(rows) : dtc_profile_group_processes(rows, node->history);
	g_array_unref(rows);
	dtc_profile_sort(node->rows, profiling->options->sort);
}

static void add_cpus(const struct profiling *profiling, struct dtc_top_node *node)
{
	guint cpu_count = node->history ? dtc_history_get_cpu_count(node->history) : 0;

	node->cpus = g_new0(struct dtc_profile_cpu, cpu_count + 1);
	for (guint cpu = 0; cpu < cpu_count; cpu++)
		node->cpus[cpu] =
			dtc_profile_get_cpu(profiling->links, node->index, node->history, cpu, node->begin, node->end);
	node->total = dtc_profile_sum_cpus(node->cpus, cpu_count);
}

static void do_part(gpointer data, guint index)
{
	const struct profiling *profiling = data;
	struct dtc_top_node *node = &g_array_index(profiling->nodes, struct dtc_top_node, index / PARTS);

	if (index % PARTS == ROWS)
		add_rows(profiling, node);
	else
		add_cpus(profiling, node);
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
		const struct dtc_cluster_span *span = &selection.spans[i];
		const struct dtc_top_node node = {
			.name = dtc_engine_get_node_names(engine)[i],
			.history = dtc_engine_get_history(engine, i),
			.index = i,
			.origin = span->origin,
			.begin = span->begin,
			.end = span->end,
			.cluster_begin = span->cluster_begin,
			.cluster_end = span->cluster_end,
		};
		g_array_append_val(nodes, node);
	}
	struct profiling profiling = { dtc_engine_get_links(engine), &selection, options, nodes };
	dtc_threads_run(PARTS * nodes->len, do_part, &profiling);
	dtc_selection_clear(&selection);
	return nodes;
}
