/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An event loop that has a child of its own do what a request asks for (child_process of node.js, asyncio's
 * subprocesses): the request lies still until the child ends. Its end comes by way of a signal, whose handler calls the
 * loop by a pipe of its own, so that the poll with which the writing turn begins had not to wait, and tells nothing.
 * That the turn takes leave of a child does, if it was made in the turn that read the question. A runtime that
 * schedules by itself (tokio) makes it by the thread that read the question, and takes leave of it by whichever finds
 * the signal.
 */
#include "analyze/edge/handoff.h"
#include "analyze/path/lineage.h"
#include "analyze/path/traverse_build.h"

/* Calls of the last turns that are looked at. */
#define TURN_CALLS 1024
/* So short is a poll that did not wait. */
#define AT_ONCE_NS 100000

/* Children of a process: who made them, DTC_NONE: whichever of its threads, after a time and before another. */
struct made {
	int32_t pid;
	uint32_t maker;
	int64_t begin_ns, end_ns;
};

/* Whether a thread is one of them; it leads a process of its own. */
static bool is_made(const DtcHistory *h, uint32_t thread, const struct made *made)
{
	const struct dtc_thread *child = dtc_history_get_thread(h, thread);
	return child->tid == child->pid && child->begin_ns > made->begin_ns && child->begin_ns <= made->end_ns &&
	       child->parent != DTC_NONE && dtc_history_get_thread(h, child->parent)->pid == made->pid &&
	       (made->maker == DTC_NONE || made->maker == child->parent);
}

/*
 * The one that a call took leave of; DTC_NONE: of none of these. In a container the call tells a number that is another
 * one outside: then the last that had ended by then.
 */
static uint32_t find_child(const DtcHistory *h, const struct dtc_call *call, const struct made *made)
{
	const struct made ever = { .pid = made->pid, .maker = DTC_NONE, .begin_ns = INT64_MIN, .end_ns = INT64_MAX };
	uint32_t child = dtc_history_find_thread(h, (int32_t)call->result, call->begin_ns), last = DTC_NONE;
	int64_t last_ns = INT64_MIN;
	if (child != DTC_NONE && is_made(h, child, &ever))
		return is_made(h, child, made) ? child : DTC_NONE;
	for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++) {
		if (!is_made(h, i, made))
			continue;
		int64_t exit_ns = dtc_lineage_get_exit_ns(h, i);
		if (exit_ns > last_ns && exit_ns <= call->end_ns) {
			last = i;
			last_ns = exit_ns;
		}
	}
	return last;
}

/* Whether the turn of a write, which did not begin before a call, took leave of one of them, that ended behind them. */
static bool find_reaped(const struct dtc_traverse *t, uint32_t first, uint32_t write, const struct made *made,
			uint32_t *ret_child, int64_t *ret_exit_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	for (uint32_t i = write - 1, seen = 0; i > first; i--, seen++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		if (seen == TURN_CALLS) {
			dtc_links_note_limit(t->links, DTC_LIMIT_TURN);
			break;
		}
		if (call->end_ns == DTC_TIME_NONE ||
		    (call->kind == DTC_CALL_POLL && call->end_ns - call->begin_ns >= AT_ONCE_NS))
			break;
		if (call->kind != DTC_CALL_WAITPID || call->result <= 0)
			continue;
		uint32_t child = find_child(h, call, made);
		int64_t exit_ns = child == DTC_NONE ? INT64_MIN : dtc_lineage_get_exit_ns(h, child);
		if (exit_ns <= made->end_ns || exit_ns > call->end_ns)
			continue;
		*ret_child = child;
		*ret_exit_ns = exit_ns;
		return true;
	}
	return false;
}

bool dtc_traverse_find_reaped(const struct dtc_traverse *t, uint32_t read, uint32_t write, int64_t still_ns,
			      uint32_t *ret_child, int64_t *ret_exit_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	const struct made made = { .pid = dtc_history_get_thread(h, t->stand.thread)->pid,
				   .maker = DTC_NONE,
				   .begin_ns = dtc_history_get_call_begin_ns(h, read),
				   .end_ns = still_ns };
	return find_reaped(t, read, write, &made, ret_child, ret_exit_ns);
}

/* Until when a thread was at a question that it had read: it waited, or read what came by another connection. */
static int64_t find_left_ns(const DtcHistory *h, const struct dtc_asked *question)
{
	const struct dtc_thread *thread = dtc_history_get_thread(h, question->thread);
	struct dtc_interval interval_place;
	uint32_t last = thread->interval_first + thread->interval_count;
	int64_t left_ns = question->read_ns;
	for (uint32_t i = dtc_history_find_interval_after(h, question->thread, left_ns), seen = 0;
	     i < last && seen < TURN_CALLS; i++, seen++) {
		const struct dtc_interval *v = dtc_history_get_interval(h, question->thread, i, &interval_place);
		if (dtc_state_is_wait(v->state))
			break;
		left_ns = v->end_ns;
	}
	for (uint32_t i = question->call + 1; i < thread->call_first + thread->call_count; i++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		if (call->begin_ns >= left_ns)
			break;
		if (dtc_handoff_is_left(h, question, call))
			return call->begin_ns;
	}
	return left_ns;
}

bool dtc_traverse_find_reaped_beside(const struct dtc_traverse *t, const struct dtc_asked *question, uint32_t write,
				     uint32_t *ret_child, int64_t *ret_exit_ns)
{
	const struct dtc_stand *stand = &t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	uint32_t first = dtc_history_find_call(h, stand->thread, question->read_ns);
	if (question->thread == stand->thread || first == DTC_NONE ||
	    dtc_history_copy_call(h, write).thread != stand->thread)
		return false;
	const struct made made = { .pid = dtc_history_get_thread(h, stand->thread)->pid,
				   .maker = question->thread,
				   .begin_ns = question->read_ns,
				   .end_ns = find_left_ns(h, question) };
	return find_reaped(t, first, write, &made, ret_child, ret_exit_ns);
}
