/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/broken_off.h"

#include <dtrace-chain/bisect.h>
#include <errno.h>
#include <string.h>

/* From the end of the wait to the stop, on a CPU: 20 us were seen. */
#define ON_THE_WAY_NS 100000
/* Stops of one call. */
#define STOPS_MAX 64

static bool is_interrupted(const struct dtc_call *call)
{
	return call->end_ns == DTC_TIME_NONE || call->result == -EINTR ||
	       (call->result <= -512 && call->result >= -516);
}

static const struct dtc_wake *find_waker(const DtcHistory *h, const struct dtc_interval *wait, struct dtc_wake *place)
{
	const struct dtc_wake *wake = wait->ref == DTC_NONE ? NULL : dtc_history_get_wake(h, wait->ref, place);
	return wake && wake->waker == DTC_WAKER_THREAD ? wake : NULL;
}

/* The next wait of a thread after a time, and what it runs until then; NULL: there is none that near. */
static const struct dtc_interval *find_next(const DtcHistory *h, uint32_t thread, int64_t time_ns, int64_t max_ns,
					    struct dtc_interval *place)
{
	const struct dtc_interval *v = dtc_history_get_interval_after(h, thread, time_ns, place);
	int64_t ran_ns = 0;
	for (; v && !dtc_state_is_wait(v->state); v = dtc_history_get_next_interval(h, place)) {
		if (dtc_state_is_running(v->state))
			ran_ns += v->end_ns - v->begin_ns;
		if (ran_ns > max_ns)
			return NULL;
	}
	return v;
}

/* The stop for which a wait was broken off; NULL: it was not. */
static const struct dtc_interval *find_stop(const DtcHistory *h, const struct dtc_interval *wait,
					    struct dtc_interval *place)
{
	struct dtc_wake wake_place;
	struct dtc_call call_place;
	if (wait->state == DTC_STATE_STOPPED || wait->call == DTC_NONE || !find_waker(h, wait, &wake_place) ||
	    !is_interrupted(dtc_history_get_call(h, wait->call, &call_place)))
		return NULL;
	const struct dtc_interval *stop = find_next(h, wait->thread, wait->end_ns, ON_THE_WAY_NS, place);
	return stop && stop->state == DTC_STATE_STOPPED && stop->last_call == wait->call ? stop : NULL;
}

/* The call goes on, or is made again, with what the kernel remembers, or as it was. */
static bool is_taken_up(const DtcHistory *h, uint32_t broken, uint32_t again)
{
	struct dtc_call a_place, b_place;
	if (again == broken)
		return true;
	if (again != broken + 1)
		return false;
	const struct dtc_call *a = dtc_history_get_call(h, broken, &a_place);
	const struct dtc_call *b = dtc_history_get_call(h, again, &b_place);
	return strcmp(dtc_history_get_string(h, b->name), "restart_syscall") == 0 ||
	       (a->kind == b->kind && a->name == b->name && a->fd == b->fd && a->argument == b->argument);
}

bool dtc_broken_off_find(const DtcHistory *h, const struct dtc_interval *wait, uint32_t *ret_by)
{
	struct dtc_interval stop_place, place = *wait;
	const struct dtc_interval *of = &place, *stop = find_stop(h, wait, &stop_place);
	*ret_by = DTC_NONE;
	if (!stop)
		return false;
	for (guint i = 0; stop && i < STOPS_MAX; i++) {
		uint32_t broken = of->call;
		of = find_next(h, wait->thread, stop->end_ns, ON_THE_WAY_NS, &place);
		if (!of || of->call == DTC_NONE || !is_taken_up(h, broken, of->call))
			return true;
		stop = find_stop(h, of, &stop_place);
	}
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = stop ? NULL : find_waker(h, of, &wake_place);
	if (wake)
		*ret_by = wake->thread;
	return true;
}

/* A write of another process to what is no pipe, socket or event: to a file of a cgroup, if it ends such a wait. */
static uint32_t find_thawing(const DtcHistory *h, const struct dtc_interval *wait, const struct dtc_wake *wake)
{
	struct dtc_call place;
	uint32_t call = wake->signal || wake->thread == DTC_NONE
				? DTC_NONE
				: dtc_history_find_call(h, wake->thread, wake->waking_ns);
	const struct dtc_call *write = call == DTC_NONE ? NULL : dtc_history_get_call(h, call, &place);
	if (!write || write->kind != DTC_CALL_WRITE ||
	    dtc_history_get_thread(h, wake->thread)->pid == dtc_history_get_thread(h, wait->thread)->pid)
		return DTC_NONE;
	const struct dtc_file *file = write->file == DTC_NONE ? NULL : dtc_history_get_file(h, write->file);
	return !file || file->kind == DTC_FILE_PATH || file->kind == DTC_FILE_UNKNOWN ? call : DTC_NONE;
}

bool dtc_broken_off_find_thaw(const DtcHistory *h, const struct dtc_interval *wait, int64_t *ret_since_ns)
{
	struct dtc_wake wake_place;
	struct dtc_call call_place, write_place;
	const struct dtc_wake *wake = find_waker(h, wait, &wake_place);
	*ret_since_ns = DTC_TIME_NONE;
	if (wait->state == DTC_STATE_STOPPED || wait->call == DTC_NONE || !wake)
		return false;
	const struct dtc_call *call = dtc_history_get_call(h, wait->call, &call_place);
	bool is_marked = call->kind == DTC_CALL_SLEEP || call->kind == DTC_CALL_SIGNAL || dtc_call_is_futex_wait(call);
	if (!is_marked || (call->end_ns != DTC_TIME_NONE && is_interrupted(call))) /* by a signal that is not told */
		return false;
	uint32_t thawing = find_thawing(h, wait, wake);
	if (thawing == DTC_NONE)
		return false;
	const struct dtc_call *write = dtc_history_get_call(h, thawing, &write_place);
	uint32_t count = dtc_history_get_wake_count(h);
	uint32_t i = DTC_BISECT(k, 0, count, dtc_history_get_waking_ns(h, k) < write->begin_ns);
	for (; i < count; i++) {
		struct dtc_wake other_place;
		struct dtc_interval place;
		const struct dtc_wake *other = dtc_history_get_wake(h, i, &other_place);
		if (write->end_ns != DTC_TIME_NONE && other->waking_ns > write->end_ns)
			break;
		if (other->waker != DTC_WAKER_THREAD || other->thread != wake->thread)
			continue;
		const struct dtc_interval *v =
			dtc_history_find_interval_before(h, other->target, other->waking_ns, &place);
		if (v && v->state == DTC_STATE_STOPPED && v->begin_ns >= wait->begin_ns &&
		    (*ret_since_ns == DTC_TIME_NONE || v->begin_ns < *ret_since_ns))
			*ret_since_ns = v->begin_ns;
	}
	return true;
}
