/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A runtime that schedules by itself asks others by one thread, takes their answer by another, and goes on by a third
 * (goroutines, coroutines over a pool of threads, callbacks of a pool). The thread that writes waited in a pool, or
 * worked for others, when the answer was taken: what it had done before is no part of the request.
 */
#include "analyze/path/traverse_build.h"

#include <dtrace-chain/bisect.h>

/* Whether a thread worked for another request, as far as is known. */
static bool works_for_another(const struct dtc_traverse *t, int64_t at_ns)
{
	guint count;
	const struct dtc_served *spans = dtc_serving_get(t->of->serving, t->stand.node, t->stand.thread, &count);
	guint i = DTC_BISECT(k, 0, count, spans[k].end_ns <= at_ns);
	return i < count && spans[i].begin_ns <= at_ns && !spans[i].leads && spans[i].request + 1 != t->stand.owner;
}

/* Whether a wait may have ended since something was taken by another thread of the process. */
static bool may_be_for_taken(const DtcHistory *h, const struct dtc_interval *wait)
{
	struct dtc_wake wake_place;
	struct dtc_call call_place;
	const struct dtc_wake *wake = wait->ref == DTC_NONE ? NULL : dtc_history_get_wake(h, wait->ref, &wake_place);
	if (!wake)
		return false;
	if (wake->waker == DTC_WAKER_THREAD)
		return dtc_history_get_thread(h, wake->thread)->pid == dtc_history_get_thread(h, wait->thread)->pid;
	return wait->call != DTC_NONE && dtc_history_get_call(h, wait->call, &call_place)->kind == DTC_CALL_POLL;
}

/* Whether the stand's thread was free for the request, or at another one, when something was taken for it. */
static bool was_elsewhere(const struct dtc_traverse *t, int64_t taken_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, t->stand.thread, taken_ns + 1, &place);
	if (!v)
		return false;
	return dtc_state_is_wait(v->state) ? may_be_for_taken(h, v) : works_for_another(t, taken_ns);
}

bool dtc_traverse_find_taken(const struct dtc_traverse *t, uint32_t call, const struct dtc_asked *asked,
			     struct dtc_asked *ret_taken)
{
	const struct dtc_stand *stand = &t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	if (!stand->owner || call == DTC_NONE)
		return false;
	uint32_t file = dtc_history_copy_call(h, call).file;
	if (stand->purpose == DTC_PURPOSE_ARRIVAL && stand->arrival.file == file && file != asked->arrival.file)
		return false; /* the first that is asked on a connection follows from its handshake */
	const struct dtc_owned *owned = dtc_serving_find_owned(t->of->serving, stand->node, call, 0);
	int64_t since_ns = asked->read_ns;
	if (owned && owned->read != DTC_NONE) /* what the thread took itself is nearer, if it is later */
		since_ns = MAX(since_ns, dtc_history_copy_call(h, owned->read).end_ns);
	uint32_t read = dtc_serving_find_taken(t->of->serving, stand->owner - 1, stand->node,
					       dtc_history_get_thread(h, stand->thread)->pid, since_ns, stand->at_ns);
	if (read == DTC_NONE)
		return false;
	const struct dtc_call took = dtc_history_copy_call(h, read);
	struct dtc_asked taken = { .thread = took.thread, .call = read, .read_ns = took.end_ns };
	if (took.thread == stand->thread || took.end_ns == DTC_TIME_NONE || !was_elsewhere(t, took.end_ns) ||
	    !dtc_arrival_find_for_read(t->links, stand->node, read, &taken.arrival) ||
	    taken.arrival.time_ns <= asked->arrival.time_ns)
		return false;
	*ret_taken = taken;
	return true;
}
