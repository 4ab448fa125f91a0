/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A runtime that schedules by itself asks others by one thread, takes their answer by another, and goes on by a third
 * (goroutines, coroutines over a pool of threads, callbacks of a pool). The thread that writes waited in a pool, or
 * worked for others, when the answer was taken: what it had done before is no part of the request. The same goes for a
 * piece of work that a thread of a pool did for the request: the end of that is what took it up again.
 */
#include "analyze/path/traverse_build.h"

/* For which request the stand's thread worked, plus 1, as far as is known; 0: it is not. */
static guint find_work(const struct dtc_traverse *t, int64_t at_ns)
{
	const struct dtc_served *span = dtc_serving_find_span(t->of->serving, t->stand.node, t->stand.thread, at_ns);
	return span && !span->leads ? span->request + 1 : 0;
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

/* Whether a thread went to a wait in the middle of its work for the stand's request. */
static bool waits_at_work(const struct dtc_traverse *t, const DtcHistory *h, const struct dtc_interval *wait)
{
	int64_t begin_ns = wait->call == DTC_NONE ? wait->begin_ns : dtc_history_get_call_begin_ns(h, wait->call);
	return find_work(t, begin_ns - 1) == t->stand.owner;
}

/*
 * Whether the stand's thread was free for the request, or at another one, when something was taken for it. The call at
 * the end of a piece may be what woke it; who goes to that wait from the request's own work had not left it.
 */
static bool was_elsewhere(const struct dtc_traverse *t, const struct dtc_taken *taken)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	bool is_done = taken->call == DTC_NONE;
	struct dtc_interval place;
	const struct dtc_interval *v =
		dtc_history_find_interval_before(h, t->stand.thread, is_done ? taken->at_ns : taken->at_ns + 1, &place);
	if (!v)
		return false;
	if (dtc_state_is_wait(v->state))
		return may_be_for_taken(h, v) && !(is_done && waits_at_work(t, h, v));
	guint work = find_work(t, taken->at_ns);
	return work && work != t->stand.owner;
}

bool dtc_traverse_find_taken(const struct dtc_traverse *t, uint32_t call, const struct dtc_asked *asked,
			     struct dtc_taken *ret_taken, struct dtc_arrival *ret_arrival)
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
	struct dtc_taken taken;
	if (!dtc_serving_find_taken(t->of->serving, stand->owner - 1, stand->node,
				    dtc_history_get_thread(h, stand->thread)->pid, since_ns, stand->at_ns, &taken) ||
	    taken.thread == stand->thread || !was_elsewhere(t, &taken))
		return false;
	*ret_taken = taken;
	*ret_arrival = asked->arrival;
	return taken.call == DTC_NONE || (dtc_arrival_find_for_read(t->links, stand->node, taken.call, ret_arrival) &&
					  ret_arrival->time_ns > asked->arrival.time_ns);
}
