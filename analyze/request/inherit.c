/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/inherit.h"

#include <dtrace-chain/bisect.h>

/* include/uapi/linux/futex.h */
#define FUTEX_WAIT 0
#define FUTEX_WAIT_BITSET 9

static bool is_sleep(const struct dtc_call *call)
{
	return call->kind == DTC_CALL_FUTEX && (call->operation == FUTEX_WAIT || call->operation == FUTEX_WAIT_BITSET);
}

/* A write with which a thread calls another one of its process. */
static bool is_call(const DtcHistory *h, const struct dtc_call *call)
{
	if (call->kind != DTC_CALL_WRITE || call->file == DTC_NONE)
		return false;
	uint8_t kind = dtc_history_get_file(h, call->file)->kind;
	return kind == DTC_FILE_EVENT || kind == DTC_FILE_PIPE;
}

/* The sleep from which a wake woke its target, or DTC_NONE. */
static uint32_t find_sleep(const DtcHistory *h, const struct dtc_wake *wake)
{
	struct dtc_interval place;
	struct dtc_call call_place;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, wake->target, wake->waking_ns, &place);
	if (!v || v->end_ns != wake->waking_ns || !dtc_state_is_wait(v->state) || v->call == DTC_NONE ||
	    !is_sleep(dtc_history_get_call(h, v->call, &call_place)))
		return DTC_NONE;
	return v->call;
}

/* A mutex on the way is waited for by another operation than a condition. */
static int64_t find_end_ns(const DtcHistory *h, uint32_t sleep)
{
	struct dtc_call from_place;
	const struct dtc_call *from = dtc_history_get_call(h, sleep, &from_place);
	const struct dtc_thread *thread = dtc_history_get_thread(h, from->thread);
	for (uint32_t i = sleep + 1; i < thread->call_first + thread->call_count; i++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &call_place);
		if (is_call(h, call))
			return call->end_ns == DTC_TIME_NONE ? thread->end_ns : call->end_ns;
		if (is_sleep(call) && call->operation == from->operation)
			return call->begin_ns;
	}
	return thread->end_ns;
}

/* A wake that handed work over. */
static bool look(const DtcHistory *h, const struct dtc_wake *wake, struct dtc_handed *ret_handed)
{
	if (wake->waker != DTC_WAKER_THREAD || wake->thread == wake->target || wake->is_inferred ||
	    dtc_history_get_thread(h, wake->thread)->pid != dtc_history_get_thread(h, wake->target)->pid)
		return false;
	uint32_t sleep = find_sleep(h, wake);
	if (sleep == DTC_NONE)
		return false;
	*ret_handed = (struct dtc_handed){ wake->thread, wake->target, wake->waking_ns, find_end_ns(h, sleep) };
	return ret_handed->end_ns > ret_handed->begin_ns;
}

/* The span in which a thread that has calls of requests works at a time, or NULL. */
static const struct dtc_served *find_span(const DtcServing *serving, guint node, uint32_t thread, int64_t time_ns)
{
	guint count;
	const struct dtc_served *spans = dtc_serving_get(serving, node, thread, &count);
	if (!count || dtc_serving_only_inherits(serving, node, thread))
		return NULL;
	guint i = DTC_BISECT(k, 0, count, spans[k].end_ns <= time_ns);
	return i < count && spans[i].begin_ns <= time_ns && !spans[i].leads ? &spans[i] : NULL;
}

void dtc_inherit(DtcServing *serving, const DtcLinks *links)
{
	for (guint node = 0; node < dtc_links_get_node_count(links); node++) {
		const DtcHistory *h = dtc_links_get_history(links, node);
		for (uint32_t i = 0; h && i < dtc_history_get_wake_count(h); i++) {
			struct dtc_wake wake_place;
			const struct dtc_wake *wake = dtc_history_get_wake(h, i, &wake_place);
			const struct dtc_served *span =
				wake->waker == DTC_WAKER_THREAD
					? find_span(serving, node, wake->thread, wake->waking_ns)
					: NULL;
			struct dtc_handed handed;
			if (span && look(h, wake, &handed))
				dtc_serving_add_inherited(serving, node, &handed, span->request);
		}
	}
}
