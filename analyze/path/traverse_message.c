/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From an arrival to who sent it, and from a send to what it was sent for. */
#include "analyze/edge/handoff.h"
#include "analyze/exchange/endpoint.h"
#include "analyze/path/traverse_build.h"

/* Questions that are remembered at least. */
#define SCOPES_KEPT 64

const struct dtc_scope *dtc_traverse_find_scope(const struct dtc_traverse *t, int32_t pid)
{
	for (guint i = t->scopes->len; i-- > 0;) {
		const struct dtc_scope *scope = &g_array_index(t->scopes, struct dtc_scope, i);
		if (scope->node == t->stand.node && scope->pid == pid && scope->asked.arrival.time_ns < t->stand.at_ns)
			return scope;
	}
	return NULL;
}

/* Who received what arrived: the reader of the question, if it lived then and the walk came by another thread. */
void dtc_traverse_go_to_reader(struct dtc_traverse *t, const struct dtc_arrival *arrival)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	for (guint i = t->scopes->len; i-- > 0;) {
		const struct dtc_scope *scope = &g_array_index(t->scopes, struct dtc_scope, i);
		if (scope->node == t->stand.node && scope->asked.arrival.file == arrival->file &&
		    scope->asked.arrival.time_ns == arrival->time_ns &&
		    dtc_history_get_thread(h, scope->asked.thread)->begin_ns < arrival->time_ns)
			t->stand.thread = scope->asked.thread;
	}
}

static bool is_other_question(const struct dtc_traverse *t, uint32_t file, uint32_t question_file)
{
	return file != DTC_NONE && file != question_file &&
	       dtc_endpoint_is_stream_server(dtc_links_get_history(t->links, t->stand.node), file);
}

/* Questions that were reached are dropped, at times that keep the cost of all of them in proportion to their number. */
static void add_scope(struct dtc_traverse *t, int32_t pid, const struct dtc_asked *asked)
{
	struct dtc_scope scope = { .node = t->stand.node,
				   .pid = pid,
				   .asked = *asked,
				   .question_cluster_ns =
					   dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, asked->arrival.time_ns),
				   .frames = t->frames->len };
	if (t->scopes->len >= MAX(t->scopes_max, SCOPES_KEPT)) {
		guint kept = 0;
		for (guint i = 0; i < t->scopes->len; i++)
			if (g_array_index(t->scopes, struct dtc_scope, i).question_cluster_ns <= t->tc)
				g_array_index(t->scopes, struct dtc_scope, kept++) =
					g_array_index(t->scopes, struct dtc_scope, i);
		g_array_set_size(t->scopes, kept);
		t->scopes_max = 2 * kept;
	}
	g_array_append_val(t->scopes, scope);
}

/* The request, plus 1, that a write of the stand's thread was for; 0: not known. */
static guint find_owner(const struct dtc_traverse *t, uint32_t call)
{
	const struct dtc_owned *owned = !t->of->serving || call == DTC_NONE
						? NULL
						: dtc_serving_find_owned(t->of->serving, t->stand.node, call, 0);
	return owned ? owned->request + 1 : 0;
}

/*
 * Another thread gave the answer to the stand's one: there is nothing that this had read since the question, or what it
 * had read is another request's and it took what was given for this one after it.
 */
static bool pursue_given(struct dtc_traverse *t, const struct dtc_asked *asked, uint32_t call)
{
	struct dtc_stand *stand = &t->stand;
	struct dtc_given given;
	bool is_last = stand->arrival.time_ns == asked->arrival.time_ns;
	if ((!is_last && !dtc_traverse_is_others(t, &stand->arrival)) ||
	    !dtc_handoff_find_giver(t->links, stand->node, stand->thread, stand->at_ns, asked, &given) ||
	    !(is_last || given.is_taken))
		return false;
	if (!given.is_for_question && dtc_traverse_pursue_timer(t, call))
		return true;
	stand->purpose = DTC_PURPOSE_GIVEN;
	stand->arrival = asked->arrival;
	stand->giver = given.thread;
	stand->given_ns = given.time_ns;
	return true;
}

/*
 * Another thread took what the write's request had asked others for: what follows answers that, as a question. Or it
 * has done a piece of work for the request, and gave that to the write's thread.
 */
static bool pursue_taken(struct dtc_traverse *t, int32_t pid, uint32_t call, const struct dtc_asked *working)
{
	const struct dtc_asked question = *working; /* it may move when a scope is added */
	struct dtc_stand *stand = &t->stand;
	struct dtc_taken taken;
	struct dtc_arrival arrival;
	if (!dtc_traverse_find_taken(t, call, &question, &taken, &arrival))
		return false;
	stand->arrival = arrival;
	if (taken.call == DTC_NONE) {
		stand->purpose = DTC_PURPOSE_GIVEN;
		stand->giver = taken.thread;
		stand->given_ns = taken.at_ns;
		t->doubt_cluster_ns =
			MIN(t->doubt_cluster_ns, dtc_clocks_to_cluster_ns(t->clocks, stand->node, arrival.time_ns));
		return true;
	}
	const struct dtc_asked asked = {
		.thread = taken.thread, .call = taken.call, .read_ns = taken.at_ns, .arrival = arrival
	};
	add_scope(t, pid, &asked);
	struct dtc_scope *scope = &g_array_index(t->scopes, struct dtc_scope, t->scopes->len - 1);
	scope->is_inside = dtc_traverse_is_inside(t, &asked, stand->owner - 1);
	stand->purpose = DTC_PURPOSE_ARRIVAL;
	t->doubt_cluster_ns = MIN(t->doubt_cluster_ns, scope->question_cluster_ns);
	return true;
}

/*
 * The walk stands at a send on file by its thread: what the thread acted on. An answer leads to its question, by way of
 * who gave it to the thread if that is another one; what a process sends to others while it works on a question it
 * sends for its sake, if the sender is not seen to have read anything since that is no other client's question.
 */
void dtc_traverse_pursue(struct dtc_traverse *t, uint32_t file, uint32_t call)
{
	struct dtc_stand *stand = &t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	struct dtc_asked asked;

	bool has_question = dtc_handoff_find_question(t->links, t->stand.node, file, call, t->stand.at_ns, &asked);
	bool has_arrival = dtc_arrival_find_for_answer(t->links, stand->node, stand->thread, stand->at_ns, file, call,
						       has_question ? &asked : NULL, &stand->arrival);
	stand->purpose = has_arrival ? DTC_PURPOSE_ARRIVAL : DTC_PURPOSE_OWN;
	stand->pause = DTC_PAUSE_NONE;
	stand->owner = find_owner(t, call);
	int32_t pid = dtc_history_get_thread(h, t->stand.thread)->pid;
	if (has_question)
		add_scope(t, pid, &asked);
	const struct dtc_scope *working = dtc_traverse_find_scope(t, pid);
	if (dtc_traverse_pursue_child(t, call, working ? &working->asked : NULL))
		return;
	if (has_question && has_arrival && pursue_given(t, &asked, call))
		return;
	if (working && pursue_taken(t, pid, call, &working->asked))
		return;
	if (working && call != DTC_NONE && dtc_traverse_pursue_set(t, call, &working->asked))
		return;
	if (dtc_traverse_pursue_own(t, call, has_question ? &asked : NULL))
		return;
	if (has_question) {
		struct dtc_scope *own = &g_array_index(t->scopes, struct dtc_scope, t->scopes->len - 1);
		own->is_inside = stand->owner && dtc_traverse_is_inside(t, &asked, stand->owner - 1);
		/* what the thread had read since led to the answer, or is another's: that cannot be told */
		if (own->is_inside && has_arrival && stand->arrival.time_ns > asked.arrival.time_ns)
			t->doubt_cluster_ns = own->question_cluster_ns;
		return;
	}
	const struct dtc_scope *scope = dtc_traverse_find_scope(t, pid);
	if (scope && (!has_arrival || stand->arrival.time_ns < scope->asked.arrival.time_ns ||
		      is_other_question(t, stand->arrival.file, scope->asked.arrival.file))) {
		stand->arrival = scope->asked.arrival;
		stand->purpose = DTC_PURPOSE_ARRIVAL;
	}
}

void dtc_traverse_stay_behind(struct dtc_traverse *t)
{
	int64_t cut_ns = dtc_clocks_to_node(t->clocks, t->stand.node, (DtcClusterTime){ t->tc }).ns;
	if (t->tc < t->of->end.ns || t->stand.at_ns <= cut_ns)
		return;
	t->stand.at_ns = cut_ns;
	if (t->stand.purpose != DTC_PURPOSE_OWN && t->stand.arrival.time_ns > cut_ns)
		t->stand.purpose = DTC_PURPOSE_OWN; /* for what it sends is not yet there */
}

uint32_t dtc_traverse_find_asking(const struct dtc_traverse *t, const struct dtc_arrival *arrival)
{
	guint node = t->stand.node;
	const DtcHistory *h = dtc_links_get_history(t->links, node);
	if (arrival->packet != DTC_NONE && dtc_datagrams_is_socket(h, arrival->file))
		return dtc_datagrams_find_asking(dtc_links_get_datagrams(t->links, node), arrival->file,
						 dtc_packets_get_flow_of(dtc_history_get_packets(h), arrival->packet),
						 arrival->time_ns);
	return dtc_file_calls_find_asking(dtc_links_get_file_calls(t->links, node, arrival->file), arrival->time_ns);
}

/*
 * The peer is not traced. What can be said: since this node's last send on that connection, in this thread's calls, the
 * answer was outstanding. The walk goes on at that send. False if there was none.
 */
static bool follow_untraced(struct dtc_traverse *t, const struct dtc_arrival *arrival)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	if (arrival->file == DTC_NONE)
		return false;
	uint32_t found = dtc_traverse_find_asking(t, arrival);
	if (found == DTC_NONE)
		return false;
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(h, found, &call_place);
	int64_t at_ns = call->end_ns == DTC_TIME_NONE ? arrival->time_ns : MIN(call->end_ns, arrival->time_ns);
	if (call->kind == DTC_CALL_CONNECT) /* a blocking connect ends with the arrival */
		at_ns = call->begin_ns;
	struct dtc_evidence why = dtc_evidence_of(DTC_REASON_UNTRACED_PEER);
	why.node = t->stand.node;
	why.file = arrival->file;
	t->link = DTC_LINK_UNKNOWN;
	dtc_traverse_explain(t, t->stand.node, t->stand.thread, arrival->time_ns,
			     dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, at_ns), DTC_CAUSE_UNKNOWN, why, NULL);
	t->stand.thread = call->thread;
	t->stand.at_ns = at_ns;
	dtc_traverse_pursue(t, arrival->file, found);
	return true;
}

bool dtc_traverse_follow_arrival(struct dtc_traverse *t, const struct dtc_arrival *arrival,
				 const struct dtc_sender *first)
{
	guint node = t->stand.node;
	uint32_t thread = t->stand.thread;
	if (dtc_traverse_take_way(t, arrival, first))
		return true;
	t->stand.node = node;
	t->stand.thread = thread;
	return follow_untraced(t, arrival);
}
