/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runtimes that schedule by themselves (goroutines, coroutines over a pool of threads): a question comes in by one
 * thread, its answer leaves by another, and what it waited for in between is memory. What the trace has: in between the
 * process asked nobody for this request, and what made the thread that answered go on. If that was the timeout of a
 * poll, which such a runtime sets to the next timer of all that sleep in it, the request is taken to have waited for
 * that timer. Whatever else it was, it was another request's as far as is known, and what follows from it is inferred.
 */
#include "analyze/path/traverse_build.h"

/* Whether the threads of a process ran for half of a span or more: the request may have run, too. */
static bool ran(const DtcHistory *h, int32_t pid, int64_t begin_ns, int64_t end_ns)
{
	int64_t ran_ns = 0;

	for (uint32_t thread = 0; thread < dtc_history_get_thread_count(h); thread++) {
		if (dtc_history_get_thread(h, thread)->pid != pid)
			continue;
		for (int64_t at_ns = end_ns; at_ns > begin_ns && 2 * ran_ns < end_ns - begin_ns;) {
			struct dtc_interval place;
			const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, at_ns, &place);
			if (!v)
				break;
			if (v->state == DTC_STATE_USER)
				ran_ns += MIN(at_ns, v->end_ns) - MAX(begin_ns, v->begin_ns);
			at_ns = v->begin_ns;
		}
	}
	return 2 * ran_ns >= end_ns - begin_ns;
}

bool dtc_traverse_is_inside(const struct dtc_traverse *t, const struct dtc_asked *asked, guint request)
{
	const struct dtc_stand *stand = &t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	int32_t pid = dtc_history_get_thread(h, stand->thread)->pid;

	return asked->thread != stand->thread && asked->read_ns < stand->at_ns &&
	       !dtc_serving_has_asked(t->of->serving, request, stand->node, pid, asked->read_ns, stand->at_ns);
}

static bool is_timeout(const DtcHistory *h, const struct dtc_interval *wait)
{
	struct dtc_call call_place;
	const struct dtc_call *call = wait->call == DTC_NONE ? NULL : dtc_history_get_call(h, wait->call, &call_place);
	return call && call->kind == DTC_CALL_POLL && call->result == 0;
}

static void stand_at_question(struct dtc_stand *stand, const struct dtc_asked *asked)
{
	stand->thread = asked->thread;
	stand->purpose = DTC_PURPOSE_ARRIVAL;
	stand->arrival = asked->arrival;
	stand->pause = DTC_PAUSE_NONE;
	stand->work = NULL;
}

/* What came for others is followed as long as the request lay still, and the walk comes back to its question. */
static void go_aside(struct dtc_traverse *t, const struct dtc_asked *asked)
{
	const struct dtc_stand at = t->stand;

	stand_at_question(&t->stand, asked);
	dtc_traverse_go_aside(t, asked->read_ns);
	t->stand = at;
}

bool dtc_traverse_follow_inside(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	const struct dtc_scope *scope = dtc_traverse_find_scope(t, dtc_history_get_thread(h, t->stand.thread)->pid);
	if (!scope || !scope->is_inside || wait->end_ns <= scope->asked.read_ns)
		return false;
	if (edge->kind != DTC_EDGE_TIMER || !is_timeout(h, wait) ||
	    ran(h, scope->pid, scope->asked.read_ns, wait->end_ns)) {
		t->doubt_cluster_ns = scope->question_cluster_ns;
		if (edge->kind == DTC_EDGE_PACKET && edge->has_arrival &&
		    edge->arrival.file != scope->asked.arrival.file)
			go_aside(t, &scope->asked);
		return false;
	}
	const struct dtc_asked asked = scope->asked;
	const struct dtc_stand at = t->stand;
	if (t->frames->len > scope->frames)
		dtc_traverse_drop_frames(t, scope->frames);
	t->stand = at;
	struct dtc_visit visit = {
		.kind = DTC_VISIT_WAIT, .cause = DTC_CAUSE_TIMER, .wait = wait, .edge = edge, .by = DTC_NONE
	};
	dtc_traverse_tell(t, &visit, asked.read_ns);
	struct dtc_evidence why = dtc_evidence_of_interval(t->stand.node, wait);
	why.reason = DTC_REASON_INSIDE;
	t->link = DTC_LINK_INFERRED;
	dtc_traverse_explain(t, t->stand.node, t->stand.thread, wait->end_ns,
			     dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, asked.read_ns), DTC_CAUSE_TIMER, why,
			     wait);
	stand_at_question(&t->stand, &asked);
	t->stand.at_ns = asked.read_ns;
	return true;
}
