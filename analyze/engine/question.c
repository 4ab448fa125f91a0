/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/question.h"

#include "analyze/finding/findings.h"
#include "analyze/path/busy.h"
#include "analyze/path/lineage.h"
#include "dtrace-chain/error.h"

/* The part of the request that the user does not get to see. */
static void add_outside_findings(const struct dtc_place *place, const DtcEngine *engine, DtcFindings *findings)
{
	const char *node = place->outside ? dtc_engine_get_node_names(engine)[place->outside_node] : NULL;

	if (place->outside & DTC_OUTSIDE_WHOLE)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, true, node,
				 "the request %s this node's kernel trace: what is explained is the part that another "
				 "node's trace has",
				 place->outside & DTC_OUTSIDE_BEGIN ? "ended before" : "began after");
	else if (place->outside)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, true, node,
				 "the request %s this node's kernel trace: only the part inside is explained",
				 !(place->outside & DTC_OUTSIDE_END)	 ? "began before"
				 : !(place->outside & DTC_OUTSIDE_BEGIN) ? "ended after"
									 : "began before and ended after");
	if (place->is_open)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, true, NULL,
				 "no response was seen before the recording ends: the request runs beyond it");
}

/* A server whose trace ended early, or began late, looks like one that nobody traced. */
static void add_hop_finding(const struct dtc_place *place, const struct dtc_hop_side *side, const DtcEngine *engine,
			    DtcFindings *findings)
{
	if (side->outside && side->node != place->outside_node && side->node != G_MAXUINT)
		dtc_findings_add_coded(findings, DTC_FINDING_OUTSIDE, DTC_SEVERITY_WARNING, true,
				       dtc_engine_get_node_names(engine)[side->node],
				       "what requests did on this node %s its kernel trace is missing",
				       side->outside & DTC_OUTSIDE_BEGIN ? "before the begin of" : "after the end of");
}

/* What the reader should know about how the request was placed. */
static void add_place_findings(const struct dtc_place *place, const DtcEngine *engine, DtcFindings *findings)
{
	const char *node = dtc_engine_get_node_names(engine)[place->node];

	if (place->attempt_count > 1)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, NULL,
				 "the request was sent %u times; the span is from the first attempt to the last "
				 "response",
				 place->attempt_count);
	add_outside_findings(place, engine, findings);
	for (guint i = 0; i < place->hops->len; i++) {
		const struct dtc_hop *hop = &g_array_index(place->hops, struct dtc_hop, i);
		add_hop_finding(place, &hop->client, engine, findings);
		add_hop_finding(place, &hop->server, engine, findings);
	}
	if (!place->has_end && !place->is_open)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, NULL,
				 "no whole response was seen: the span ends where the client gave up");
	if (!place->is_client && !(place->outside & DTC_OUTSIDE_WHOLE))
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, node,
				 "the client is not traced: the span is the server's, from the first byte read to "
				 "the last byte written");
	if (place->is_limited)
		dtc_findings_add_coded(findings, DTC_FINDING_LIMIT, DTC_SEVERITY_INFO, false, NULL,
				       "%u hops have this id: not all of them were looked at as the cause of each",
				       place->hops->len);
	if (place->inferred)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, node,
				 "the request's calls were found by order and time, not by the bytes they carried");
}

/* The last attempt of the root hop: its status is what the user got. */
static const struct dtc_exchange *find_answered(const struct dtc_place *place)
{
	const struct dtc_hop *root = &g_array_index(place->hops, struct dtc_hop, place->root);
	const struct dtc_hop *last = root;

	for (guint i = 0; i < place->hops->len; i++) {
		const struct dtc_hop *hop = &g_array_index(place->hops, struct dtc_hop, i);
		if (hop->parent == root->parent && hop->attempt > last->attempt)
			last = hop;
	}
	return last->exchange;
}

/* The call with which the place's span ends: of the attempt that was answered last. */
static uint32_t find_last_call(const struct dtc_place *place)
{
	for (guint i = 0; i < place->hops->len; i++) {
		const struct dtc_hop *hop = &g_array_index(place->hops, struct dtc_hop, i);
		const struct dtc_hop_side *side = place->is_client ? &hop->client : &hop->server;
		if (side->node == place->node && side->thread == place->thread && side->file != DTC_NONE &&
		    side->end.ns == place->end.ns)
			return side->response_last_call;
	}
	return DTC_NONE;
}

void dtc_question_clear(struct dtc_question *question)
{
	dtc_place_free(question->place);
	dtc_serving_free(question->own_serving);
	dtc_usual_clear(&question->usual);
	if (question->lineage)
		g_array_unref(question->lineage);
	*question = (struct dtc_question){ 0 };
}

/* Inner exchanges without an id are for whom the bytes lead back to, but for the one that is asked about. */
DtcServing *dtc_question_new_serving(const DtcEngine *engine, DtcLocator *locator, guint index)
{
	guint count = dtc_requests_get_count(dtc_engine_get_requests(engine));
	DtcServing *serving = dtc_serving_new(dtc_engine_get_links(engine));

	for (guint i = 0; i < count; i++) {
		bool is_inner = dtc_requests_get(dtc_engine_get_requests(engine), i)->is_inner;
		if (i != index && (is_inner || (index != G_MAXUINT && !dtc_locator_may_overlap(locator, index, i))))
			continue;
		struct dtc_place *place = dtc_locator_find(locator, i);
		dtc_serving_add(serving, i, place);
		dtc_place_free(place);
	}
	dtc_serving_seal(serving, true);
	return serving;
}

/* Whether the thread that read the question worked for somebody from then on. */
static bool serves(const DtcServing *serving, const struct dtc_hop_side *side)
{
	return dtc_serving_find_span(serving, side->node, side->thread, side->begin.ns) != NULL;
}

bool dtc_question_is_part(const struct dtc_question *question)
{
	const struct dtc_hop *root = &g_array_index(question->place->hops, struct dtc_hop, question->place->root);
	const struct dtc_hop_side *client = &root->client, *server = &root->server;
	uint32_t asked = client->connect_call == DTC_NONE ? client->request_first_call : client->connect_call;
	if (!question->request->is_inner)
		return false;
	if (client->file != DTC_NONE && asked != DTC_NONE)
		return dtc_serving_find_owned(question->serving, client->node, asked, root->exchange->stream) != NULL;
	return server->file != DTC_NONE && server->thread != DTC_NONE && serves(question->serving, server);
}

#define LACK_SHOWN 6 /* findings in a hint */

/* No thread can be named: what the recordings lack (events that were not recorded, damage) is the likely reason. */
static void set_no_thread(const struct dtc_question *question, const DtcFindings *findings, GError **error)
{
	g_autoptr(GString) lacks = g_string_new(NULL);
	guint shown = 0;

	for (guint i = 0; i < dtc_findings_get_count(findings) && shown < LACK_SHOWN; i++) {
		const struct dtc_finding *finding = dtc_findings_get(findings, i);
		if (finding->severity == DTC_SEVERITY_INFO || !finding->node)
			continue;
		g_string_append_printf(lacks, "\n%s: %s", finding->node, finding->text);
		shown++;
	}
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
		    "the captures show request '%s', but no kernel trace shows a thread that sent or answered it\n%s%s",
		    question->request->id,
		    shown ? "the recordings lack something:"
			  : "the traces may not cover its time: `dtrace-chain stats` tells what each node has",
		    lacks->str);
}

/* The captures hold more than the kernel traces do. */
static void set_outside(const struct dtc_question *question, const char *node, GError **error)
{
	guint outside = question->place->outside;
	const char *how = !(outside & DTC_OUTSIDE_BEGIN) ? "was sent after it"
			  : outside & DTC_OUTSIDE_WHOLE	 ? "was answered before it"
							 : "was sent before it, and nothing in it shows who waited";

	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
		    "request '%s' is outside of the kernel trace of '%s': it %s\n"
		    "only the captures have it, and they do not tell where its time went; `dtrace-chain requests` "
		    "lists those that the traces have, too",
		    question->request->id, node, how);
}

bool dtc_question_set_request(struct dtc_question *question, const DtcEngine *engine, DtcLocator *locator,
			      const DtcServing *serving, guint index, DtcFindings *findings, GError **error)
{
	const DtcClocks *clocks = dtc_engine_get_clocks(engine);
	struct dtc_place *place = dtc_locator_find(locator, index);

	question->place = place;
	question->serving = serving;
	question->index = index;
	question->request = dtc_requests_get(dtc_engine_get_requests(engine), index);
	if (place->thread == DTC_NONE) {
		if (place->outside)
			set_outside(question, dtc_engine_get_node_names(engine)[place->outside_node], error);
		else
			set_no_thread(question, findings, error);
		return false;
	}
	question->exchange = find_answered(place);
	question->target.node = place->node;
	question->target.thread = place->thread;
	question->target.begin = dtc_clocks_to_cluster(clocks, place->node, place->begin);
	question->target.end = dtc_clocks_to_cluster(clocks, place->node, place->end);
	question->target.call = find_last_call(place);
	question->target.serving = serving;
	question->target.owner = question->request->is_inner ? 0 : index + 1;
	add_place_findings(place, engine, findings);
	return true;
}

bool dtc_question_set_id(struct dtc_question *question, const DtcEngine *engine, const char *id, DtcFindings *findings,
			 GError **error)
{
	const DtcRequests *requests = dtc_engine_get_requests(engine);
	guint index;

	if (dtc_engine_get_capture_count(engine) == 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "the bundle has no packet capture, and only captures tell which request has the id '%s'\n"
			    "record NODE.pcap beside the traces, or name a thread and a span: --thread NODE:TID "
			    "--from T --to T",
			    id);
		return false;
	}
	if (!dtc_request_find(requests, id, &index, error))
		return false;
	g_autoptr(DtcLocator) locator = dtc_engine_new_locator(engine, requests);
	if (!dtc_question_set_request(question, engine, locator, NULL, index, findings, error))
		return false;
	question->serving = question->own_serving = dtc_question_new_serving(engine, locator, index);
	question->target.serving = question->serving;
	dtc_usual_find(&question->usual, requests, locator, index);
	return true;
}

bool dtc_question_set_thread(struct dtc_question *question, const DtcEngine *engine, const struct dtc_thread_spec *spec,
			     const char *from, const char *to, DtcFindings *findings, GError **error)
{
	const DtcClocks *clocks = dtc_engine_get_clocks(engine);
	struct dtc_thread_span span;
	guint node;

	if (!dtc_engine_find_node(engine, spec->node, &node, error))
		return false;
	const DtcHistory *history = dtc_engine_get_history(engine, node);
	if (!history) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "node '%s' has no kernel trace, so nothing is known about its threads: %s\n"
			    "`dtrace-chain stats` tells what each node has",
			    spec->node, dtc_engine_get_kernel_problem(engine, node));
		return false;
	}
	if (!dtc_thread_spec_find(history, spec, from, to, true, findings, &span, error))
		return false;
	question->target.node = node;
	question->target.thread = span.thread;
	question->target.begin = dtc_clocks_to_cluster(clocks, node, span.begin);
	question->target.end = dtc_clocks_to_cluster(clocks, node, span.end);
	question->target.call = DTC_NONE;
	question->is_thread = true;
	question->lineage = dtc_lineage_new(history, span.thread, span.begin, span.end);
	return true;
}

static guint count_ambiguous_hops(const struct dtc_question *question)
{
	guint count = 0, ambiguous = 0;
	const struct dtc_followed_hop *hops =
		question->serving ? dtc_serving_get_hops(question->serving, question->index, &count) : NULL;

	for (guint i = 0; i < count; i++)
		ambiguous += hops[i].other != DTC_NO_REQUEST;
	return ambiguous;
}

/* With the names of other requests. Caller owns. */
static DtcPath *find_path(const struct dtc_question *question, const DtcEngine *engine,
			  const struct dtc_path_options *options, GError **error)
{
	g_autoptr(DtcPath) path = dtc_path_walk(dtc_engine_get_edges(engine), &question->target, options, error);
	if (!path)
		return NULL;
	if (question->serving)
		dtc_path_name_busy(path, question->index, dtc_engine_get_requests(engine), question->serving,
				   dtc_engine_get_clocks(engine));
	return dtc_path_check(path, error) ? g_steal_pointer(&path) : NULL;
}

DtcPath *dtc_question_answer(const struct dtc_question *question, const DtcEngine *engine,
			     const struct dtc_path_options *options, DtcFindings *findings, GError **error)
{
	DtcPath *path = find_path(question, engine, options, error);
	if (!path)
		return NULL;
	const struct dtc_finding_input input = { path, dtc_engine_get_links(engine), dtc_engine_get_sync(engine),
						 count_ambiguous_hops(question), dtc_engine_is_part(engine) };
	dtc_finding_add_all(&input, findings);
	if (question->is_thread)
		dtc_finding_add_not_seen(&input, findings);
	return path;
}

DtcPath *dtc_question_answer_row(const struct dtc_question *question, const DtcEngine *engine, DtcFindings *findings,
				 GError **error)
{
	/* a row tells neither */
	static const struct dtc_path_options row = { .path_only = true, .no_doubts = true };
	DtcPath *path = find_path(question, engine, &row, error);
	if (!path)
		return NULL;
	const struct dtc_finding_input input = { .path = path, .links = dtc_engine_get_links(engine) };
	dtc_finding_add_incomplete(&input, findings);
	return path;
}
