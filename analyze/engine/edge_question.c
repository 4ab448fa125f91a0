/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/edge_question.h"

/* Nothing of any node. */
static void begin_question(struct dtc_edge_question *question, const DtcEngine *engine)
{
	guint count = dtc_engine_get_node_count(engine);

	question->node_count = count;
	question->parts = g_new0(struct dtc_edge_part, count + 1);
	question->origins_ns = g_new0(int64_t, count + 1);
	for (guint node = 0; node < count; node++)
		question->parts[node].end.ns = -1;
}

void dtc_edge_question_clear(struct dtc_edge_question *question)
{
	for (guint node = 0; node < question->node_count; node++)
		g_free(question->parts[node].threads);
	g_free(question->parts);
	g_free(question->origins_ns);
	dtc_serving_free(question->own_serving);
	dtc_question_clear(&question->request);
	*question = (struct dtc_edge_question){ 0 };
}

/* ---- a subject ---- */

/* Of the nodes that are aligned with the reference; of all if none of those is asked about. */
static void set_span(struct dtc_edge_question *question, const DtcEngine *engine, const struct dtc_selection *selection)
{
	const DtcClocks *clocks = dtc_engine_get_clocks(engine);
	guint group = dtc_clocks_get_group(clocks, dtc_clocks_get_reference(clocks));

	for (int round = 0; round < 2; round++) {
		bool has_any = false;
		for (guint node = 0; node < selection->node_count; node++) {
			const struct dtc_cluster_span *span = &selection->spans[node];
			if (!dtc_selection_has_node(selection, node) ||
			    (round == 0 && dtc_clocks_get_group(clocks, node) != group))
				continue;
			question->begin.ns =
				has_any ? MIN(question->begin.ns, span->cluster_begin.ns) : span->cluster_begin.ns;
			question->end.ns = has_any ? MAX(question->end.ns, span->cluster_end.ns) : span->cluster_end.ns;
			has_any = true;
		}
		if (has_any)
			return;
	}
}

static void set_serving(struct dtc_edge_question *question, const DtcEngine *engine)
{
	const DtcRequests *requests = dtc_engine_get_requests(engine);

	if (!requests || !dtc_requests_get_count(requests))
		return;
	g_autoptr(DtcLocator) locator = dtc_engine_new_locator(engine, requests);
	question->serving = question->own_serving = dtc_question_new_serving(engine, locator, G_MAXUINT);
}

bool dtc_edge_question_set_subject(struct dtc_edge_question *question, const DtcEngine *engine,
				   const struct dtc_subject *subject, DtcFindings *findings, GError **error)
{
	struct dtc_selection selection;

	if (!dtc_selection_find(subject, engine, findings, &selection, error))
		return false;
	begin_question(question, engine);
	for (guint node = 0; node < selection.node_count; node++) {
		question->origins_ns[node] = selection.spans[node].origin.ns;
		if (!dtc_selection_has_node(&selection, node))
			continue;
		question->parts[node] = (struct dtc_edge_part){ .begin = selection.spans[node].begin,
								.end = selection.spans[node].end,
								.threads = g_steal_pointer(&selection.wanted[node]) };
	}
	set_span(question, engine, &selection);
	dtc_selection_clear(&selection);
	set_serving(question, engine);
	return true;
}

/* ---- a request ---- */

static bool has_served(const struct dtc_served *spans, guint count, guint request)
{
	for (guint i = 0; i < count; i++)
		if (spans[i].request == request)
			return true;
	return false;
}

/* The request's span on a node's clock; where that is not aligned with its thread's, all that was recorded. */
static void set_part_span(const struct dtc_edge_question *question, const DtcEngine *engine, guint node,
			  struct dtc_edge_part *part)
{
	const DtcClocks *clocks = dtc_engine_get_clocks(engine);
	const DtcHistory *history = dtc_engine_get_history(engine, node);
	guint target = question->request.target.node;

	part->begin.ns = dtc_history_get_begin_ns(history);
	part->end.ns = dtc_history_get_end_ns(history);
	if (dtc_clocks_get_group(clocks, node) != dtc_clocks_get_group(clocks, target))
		return;
	part->begin.ns = MAX(part->begin.ns, dtc_clocks_to_node(clocks, node, question->begin).ns);
	part->end.ns = MIN(part->end.ns, dtc_clocks_to_node(clocks, node, question->end).ns);
}

static void add_servers(struct dtc_edge_question *question, const DtcEngine *engine, guint node)
{
	const DtcHistory *history = dtc_engine_get_history(engine, node);
	const struct dtc_question *request = &question->request;
	g_autofree uint8_t *threads = g_new0(uint8_t, dtc_history_get_thread_count(history) + 1);
	bool has_any = false;

	for (uint32_t i = 0; i < dtc_history_get_thread_count(history); i++) {
		guint count;
		const struct dtc_served *spans = dtc_serving_get(question->serving, node, i, &count);
		threads[i] = has_served(spans, count, request->index) ||
			     (node == request->target.node && i == request->target.thread);
		has_any |= threads[i];
	}
	if (!has_any)
		return;
	question->parts[node].threads = g_steal_pointer(&threads);
	set_part_span(question, engine, node, &question->parts[node]);
}

bool dtc_edge_question_set_request(struct dtc_edge_question *question, const DtcEngine *engine, const char *id,
				   DtcFindings *findings, GError **error)
{
	if (!dtc_question_set_id(&question->request, engine, id, findings, error)) {
		dtc_question_clear(&question->request);
		return false;
	}
	begin_question(question, engine);
	question->begin = question->request.target.begin;
	question->end = question->request.target.end;
	question->serving = question->request.serving;
	for (guint node = 0; node < question->node_count; node++) {
		question->origins_ns[node] = dtc_engine_get_origin(engine).ns;
		if (dtc_engine_get_history(engine, node))
			add_servers(question, engine, node);
	}
	return true;
}
