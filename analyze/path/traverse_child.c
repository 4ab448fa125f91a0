/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An event loop that has a child of its own do what a request asks for (child_process of node.js, asyncio's
 * subprocesses): the request lies still until the child ends. Its end comes by way of a signal, whose handler calls the
 * loop by a pipe of its own, so that the poll with which the writing turn begins had not to wait, and tells nothing.
 * That the turn takes leave of a child does, if it was made in the turn that read the question.
 */
#include "analyze/path/lineage.h"
#include "analyze/path/traverse_build.h"

/* Calls of the last turns that are looked at. */
#define TURN_CALLS 1024
/* So short is a poll that did not wait. */
#define AT_ONCE_NS 100000

/* Whether a process made a thread, which leads one of its own, after a time and before another. */
static bool is_child(const DtcHistory *h, uint32_t thread, int32_t pid, int64_t begin_ns, int64_t end_ns)
{
	const struct dtc_thread *child = dtc_history_get_thread(h, thread);
	return child->tid == child->pid && child->begin_ns > begin_ns && child->begin_ns <= end_ns &&
	       child->parent != DTC_NONE && dtc_history_get_thread(h, child->parent)->pid == pid;
}

/*
 * The child that a call took leave of, of those that a process made within a span; DTC_NONE: of none of these. In a
 * container the call tells a number that is another one outside: then the last that had ended by then.
 */
static uint32_t find_child(const DtcHistory *h, const struct dtc_call *call, int64_t begin_ns, int64_t end_ns)
{
	int32_t pid = dtc_history_get_thread(h, call->thread)->pid;
	uint32_t child = dtc_history_find_thread(h, (int32_t)call->result, call->begin_ns), last = DTC_NONE;
	int64_t last_ns = INT64_MIN;
	if (child != DTC_NONE && is_child(h, child, pid, INT64_MIN, INT64_MAX))
		return is_child(h, child, pid, begin_ns, end_ns) ? child : DTC_NONE;
	for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++) {
		if (!is_child(h, i, pid, begin_ns, end_ns))
			continue;
		int64_t exit_ns = dtc_lineage_get_exit_ns(h, i);
		if (exit_ns > last_ns && exit_ns <= call->end_ns) {
			last = i;
			last_ns = exit_ns;
		}
	}
	return last;
}

bool dtc_traverse_find_reaped(const struct dtc_traverse *t, uint32_t read, uint32_t write, int64_t still_ns,
			      uint32_t *ret_child, int64_t *ret_exit_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	int64_t read_ns = dtc_history_get_call_begin_ns(h, read);
	for (uint32_t i = write - 1, seen = 0; i > read; i--, seen++) {
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
		uint32_t child = find_child(h, call, read_ns, still_ns);
		int64_t exit_ns = child == DTC_NONE ? INT64_MIN : dtc_lineage_get_exit_ns(h, child);
		if (exit_ns <= still_ns || exit_ns > call->end_ns)
			continue;
		*ret_child = child;
		*ret_exit_ns = exit_ns;
		return true;
	}
	return false;
}
