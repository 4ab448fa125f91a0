/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A timer of a runtime that schedules by itself (Go, tokio): the thread that reads a question goes to a poll when the
 * request sleeps, and the timeout of that tells when it is due. By then that thread may have been called for something
 * else, and any other one serves the timer: one that was on its way to a CPU, or at another request, or that is called
 * by one that was. It was woken for nothing of this request, and what it did before is no part of it.
 */
#include "analyze/path/traverse_build.h"

/* Calls that are looked at for the poll with which a turn ends, or the one before it. */
#define TURN_CALLS 256
/* Wakes from one thread of a process to the next, from the one that served a timer on. */
#define WAKES_MAX 4

/* Whether a thread's last poll that could wait, before a time, was for a timer that is due then. */
static bool was_set(const DtcHistory *h, uint32_t thread, int64_t before_ns, int64_t due_ns)
{
	uint32_t last = dtc_history_find_call(h, thread, before_ns);
	uint32_t first = dtc_history_get_thread(h, thread)->call_first;
	int64_t set_ns;
	if (last == DTC_NONE)
		return false;
	for (uint32_t i = last + 1, seen = 0; i-- > first && seen < TURN_CALLS; seen++) {
		struct dtc_call place;
		const struct dtc_call *poll = dtc_history_get_call(h, i, &place);
		if (poll->kind == DTC_CALL_POLL && poll->argument)
			return dtc_traverse_find_due_ns(poll, &set_ns) && ABS(set_ns - due_ns) <= DTC_TIMER_GRAIN_NS;
	}
	return false;
}

/* The poll with which the turn of a question ends, if its thread read from no other connection before. */
static uint32_t find_next_poll(const DtcHistory *h, const struct dtc_asked *question, int64_t *ret_due_ns)
{
	const struct dtc_thread *thread = dtc_history_get_thread(h, question->thread);
	uint32_t end = MIN(thread->call_first + thread->call_count, question->call + 1 + TURN_CALLS);
	for (uint32_t i = question->call + 1; i < end; i++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		if (call->kind == DTC_CALL_POLL && call->argument)
			return dtc_traverse_find_due_ns(call, ret_due_ns) ? i : DTC_NONE;
		if (dtc_handoff_is_left(h, question, call))
			return DTC_NONE;
	}
	return DTC_NONE;
}

/* Whether a poll of the process before a question was for a timer that is due then: its turn did not set that. */
static bool is_older(const DtcHistory *h, const struct dtc_asked *question, int64_t due_ns)
{
	int32_t pid = dtc_history_get_thread(h, question->thread)->pid;
	for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++)
		if (dtc_history_get_thread(h, i)->pid == pid && was_set(h, i, question->read_ns, due_ns))
			return true;
	return false;
}

/* Whether a thread was not at the stand's request at a time: it did not run, or worked for another one. */
static bool was_elsewhere(const struct dtc_traverse *t, uint32_t thread, int64_t at_ns)
{
	struct dtc_interval place;
	const struct dtc_interval *v =
		dtc_history_find_interval_before(dtc_links_get_history(t->links, t->stand.node), thread, at_ns, &place);
	if (!v || v->state == DTC_STATE_RUNQUEUE || dtc_state_is_wait(v->state))
		return v != NULL;
	const struct dtc_served *span = dtc_serving_find_span(t->of->serving, t->stand.node, thread, at_ns);
	return span && !span->leads && span->request + 1 != t->stand.owner;
}

const struct dtc_interval *dtc_traverse_find_wait(const DtcHistory *h, uint32_t thread, int64_t at_ns, int64_t since_ns,
						  struct dtc_interval *place)
{
	const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, at_ns, place);
	while (v && !dtc_state_is_wait(v->state) && v->begin_ns > since_ns)
		v = dtc_history_find_interval_before(h, thread, v->begin_ns, place);
	return v && dtc_state_is_wait(v->state) && v->end_ns > since_ns ? v : NULL;
}

/*
 * Whether the stand's thread came to the request by a timer: it was elsewhere when that was due, and waited no more
 * since then, or was called since by a thread of its process of which that is so.
 */
static bool came_by(const struct dtc_traverse *t, int64_t due_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	uint32_t thread = t->stand.thread;
	int64_t at_ns = t->stand.at_ns;
	for (int woken = 0; woken < WAKES_MAX; woken++) {
		struct dtc_interval wait_place;
		const struct dtc_interval *wait =
			dtc_traverse_find_wait(h, thread, at_ns, due_ns + DTC_TIMER_GRAIN_NS, &wait_place);
		if (!wait)
			return was_elsewhere(t, thread, due_ns);
		struct dtc_wake place;
		const struct dtc_wake *wake = wait->ref == DTC_NONE ? NULL : dtc_history_get_wake(h, wait->ref, &place);
		if (!wake || wake->waker != DTC_WAKER_THREAD || wake->waking_ns < due_ns ||
		    dtc_history_get_thread(h, wake->thread)->pid != dtc_history_get_thread(h, thread)->pid)
			return false;
		thread = wake->thread;
		at_ns = wake->waking_ns;
	}
	return false;
}

bool dtc_traverse_pursue_set(struct dtc_traverse *t, uint32_t call, const struct dtc_asked *question)
{
	struct dtc_stand *stand = &t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	const struct dtc_owned *owned =
		stand->owner && call != DTC_NONE ? dtc_serving_find_owned(t->of->serving, stand->node, call, 0) : NULL;
	int64_t due_ns = 0;
	if (!owned || owned->read != DTC_NONE || !dtc_traverse_is_inside(t, question, stand->owner - 1))
		return false;
	uint32_t poll = find_next_poll(h, question, &due_ns);
	if (poll == DTC_NONE || due_ns > stand->at_ns || !came_by(t, due_ns) || is_older(h, question, due_ns))
		return false;
	stand->purpose = DTC_PURPOSE_GIVEN;
	stand->giver = question->thread;
	stand->given_ns = due_ns;
	stand->arrival = question->arrival;
	stand->pause = (struct dtc_pause){ poll, dtc_history_get_call_begin_ns(h, poll), true };
	t->link = DTC_LINK_INFERRED;
	return true;
}

void dtc_traverse_wait_for_set(struct dtc_traverse *t)
{
	struct dtc_stand *stand = &t->stand;
	const struct dtc_interval wait = { .begin_ns = stand->pause.begin_ns,
					   .end_ns = stand->given_ns,
					   .thread = stand->thread,
					   .call = stand->pause.poll,
					   .ref = DTC_NONE,
					   .last_call = stand->pause.poll,
					   .state = DTC_STATE_WAIT };
	struct dtc_evidence why = dtc_evidence_of_interval(stand->node, &wait);
	why.reason = DTC_REASON_INSIDE;
	dtc_traverse_explain(t, stand->node, stand->thread, wait.end_ns,
			     dtc_clocks_to_cluster_ns(t->clocks, stand->node, wait.begin_ns), DTC_CAUSE_TIMER, why,
			     &wait);
	stand->at_ns = MIN(stand->at_ns, wait.begin_ns);
}
