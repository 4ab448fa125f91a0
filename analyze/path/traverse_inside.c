/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runtimes that schedule by themselves (goroutines, coroutines over a pool of threads): a question comes in by one
 * thread, its answer leaves by another, and what it waited for in between is memory. What the trace has: in between the
 * process asked nobody for this request, and what made the thread that answered go on. If that was the timeout of a
 * poll, which such a runtime sets to the next timer of all that sleep in it, the request is taken to have waited for
 * that timer. Whatever else it was, it was another request's as far as is known, and what follows from it is inferred.
 * But for a thread that nobody had woken since before: what that one looks for, each time that its sleep ends, lies in
 * memory too, and its sleeps are no reason.
 */
#include "analyze/exchange/endpoint.h"
#include "analyze/path/traverse_build.h"

/* Calls of a thread's stretch that are looked at for an answer. */
#define STRETCH_CALLS 4096
/* Ends of waits of a thread that are looked at for one that was no timer's. */
#define TICKS_MAX 64

/* A thread between two waits. */
struct stretch {
	uint32_t thread;
	int64_t begin_ns;
	int64_t end_ns;
	int64_t ran_ns; /* in user mode, of what is asked about */
};

/* Whether a thread answered another question in it: what it computed was for that one. */
static bool answers_another(const struct dtc_traverse *t, const DtcHistory *h, const struct stretch *stretch,
			    uint32_t question_file)
{
	const struct dtc_thread *of = dtc_history_get_thread(h, stretch->thread);
	uint32_t at = dtc_history_find_call(h, stretch->thread, stretch->end_ns);
	for (uint32_t seen = 0; at != DTC_NONE && at >= of->call_first; at--) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, at, &place);
		if (call->begin_ns < stretch->begin_ns)
			break;
		if (seen++ == STRETCH_CALLS) {
			dtc_links_note_limit(t->links, DTC_LIMIT_TURN);
			break;
		}
		if (call->kind == DTC_CALL_WRITE && call->result > 0 && call->file != DTC_NONE &&
		    call->file != question_file && dtc_endpoint_is_stream_server(h, call->file))
			return true;
		if (at == 0)
			break;
	}
	return false;
}

/* Where a stretch ends that the interval is in: it may go on behind what is asked about. */
static int64_t find_stretch_end(const DtcHistory *h, const struct dtc_interval *from)
{
	struct dtc_interval place = *from;
	int64_t end_ns = from->end_ns;
	for (guint i = 0; i < STRETCH_CALLS; i++) {
		const struct dtc_interval *next = dtc_history_get_next_interval(h, &place);
		if (!next || dtc_state_is_wait(next->state))
			break;
		end_ns = next->end_ns;
	}
	return end_ns;
}

/* The last stretch of a thread before a time, and how long it ran in it; what is before begin_ns is left out. */
static bool find_stretch(const DtcHistory *h, uint32_t thread, int64_t begin_ns, int64_t before_ns,
			 struct stretch *ret_stretch)
{
	struct stretch stretch = { thread, before_ns, DTC_TIME_NONE, 0 };
	while (stretch.begin_ns > begin_ns) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, stretch.begin_ns, &place);
		if (!v)
			break;
		bool is_wait = dtc_state_is_wait(v->state);
		if (is_wait && stretch.end_ns != DTC_TIME_NONE)
			break;
		if (!is_wait && stretch.end_ns == DTC_TIME_NONE)
			stretch.end_ns = find_stretch_end(h, v);
		if (v->state == DTC_STATE_USER)
			stretch.ran_ns += MIN(stretch.begin_ns, v->end_ns) - MAX(begin_ns, v->begin_ns);
		stretch.begin_ns = v->begin_ns;
	}
	*ret_stretch = stretch;
	return stretch.end_ns != DTC_TIME_NONE;
}

/*
 * Whether the threads of a process ran for half of a span or more, but for what they answered others by: the request
 * may have run, too.
 */
static bool ran(const struct dtc_traverse *t, const struct dtc_scope *scope, int64_t end_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, scope->node);
	int64_t begin_ns = scope->asked.read_ns, ran_ns = 0;

	for (uint32_t thread = 0; thread < dtc_history_get_thread_count(h); thread++) {
		if (dtc_history_get_thread(h, thread)->pid != scope->pid)
			continue;
		int64_t at_ns = end_ns;
		struct stretch stretch;
		while (at_ns > begin_ns && 2 * ran_ns < end_ns - begin_ns &&
		       find_stretch(h, thread, begin_ns, at_ns, &stretch)) {
			if (!answers_another(t, h, &stretch, scope->asked.arrival.file))
				ran_ns += stretch.ran_ns;
			at_ns = stretch.begin_ns;
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

/*
 * Whether a timer was due when a wait in a poll ended that a timer woke, whatever else had come by then: its timeout,
 * or a timerfd where it has none (or none that the trace tells).
 */
static bool is_timeout(const DtcHistory *h, const struct dtc_interval *wait)
{
	struct dtc_call call_place;
	const struct dtc_call *call = wait->call == DTC_NONE ? NULL : dtc_history_get_call(h, wait->call, &call_place);
	int64_t due_ns;
	return call && call->kind == DTC_CALL_POLL &&
	       (call->result == 0 || (int64_t)call->argument < 0 ||
		(dtc_traverse_find_due_ns(call, &due_ns) && due_ns <= wait->end_ns));
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

/*
 * Whether a thread had slept more than once since a time, and nothing but timers ended its waits: it looks every so
 * often (Go's sysmon).
 */
static bool ticks(const struct dtc_traverse *t, uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	guint count = 0;
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, end_ns, &place);
	while (v && v->end_ns > begin_ns && count < TICKS_MAX) {
		if (dtc_state_is_wait(v->state)) {
			struct dtc_edge edge;
			dtc_edges_find(t->edges, t->stand.node, v, &edge);
			if (edge.kind != DTC_EDGE_TIMER)
				return false;
			count++;
		}
		v = dtc_history_find_interval_before(h, thread, v->begin_ns, &place);
	}
	return count > 1;
}

/* What it found when it woke the waiter, and since when that was there to be found, is not known. */
static void explain_found(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge)
{
	struct dtc_visit visit = {
		.kind = DTC_VISIT_WAIT, .cause = DTC_CAUSE_UNKNOWN, .wait = wait, .edge = edge, .by = DTC_NONE
	};
	int64_t low_ns = wait->begin_ns;
	if (t->stand.purpose != DTC_PURPOSE_OWN)
		low_ns = MAX(low_ns, t->stand.arrival.time_ns);
	dtc_traverse_tell(t, &visit, low_ns);
	dtc_traverse_explain_rest(t, wait, low_ns, DTC_LINK_UNKNOWN, DTC_CAUSE_UNKNOWN, DTC_REASON_INSIDE);
}

bool dtc_traverse_follow_inside(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	const struct dtc_scope *scope = dtc_traverse_find_scope(t, dtc_history_get_thread(h, t->stand.thread)->pid);
	if (!scope || !scope->is_inside || wait->end_ns <= scope->asked.read_ns)
		return false;
	if (edge->kind != DTC_EDGE_TIMER || !is_timeout(h, wait) || ran(t, scope, wait->end_ns)) {
		t->doubt_cluster_ns = scope->question_cluster_ns;
		if (edge->kind == DTC_EDGE_PACKET && edge->has_arrival &&
		    edge->arrival.file != scope->asked.arrival.file)
			go_aside(t, &scope->asked);
		bool is_found = edge->kind == DTC_EDGE_THREAD && edge->from_thread != DTC_NONE &&
				edge->from_node == t->stand.node && edge->from_thread != scope->asked.thread &&
				dtc_history_get_thread(h, edge->from_thread)->pid == scope->pid &&
				ticks(t, edge->from_thread, wait->begin_ns, edge->from_ns);
		if (is_found)
			explain_found(t, wait, edge);
		return is_found;
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
