/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/join.h"

#include <string.h>

/* Pieces of running between two joins: interrupts cut it. */
#define PIECES_MAX 1024

/*
 * Who ended the wait by its own end, or DTC_NONE. A thread that exits clears its tid and wakes who waits for that, in
 * its last call (kernel/fork.c: mm_release); a process's parent is woken a little later.
 */
static uint32_t find_joined(const DtcHistory *h, const struct dtc_interval *wait)
{
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = dtc_state_is_wait(wait->state) && wait->ref != DTC_NONE
					      ? dtc_history_get_wake(h, wait->ref, &wake_place)
					      : NULL;
	struct dtc_call call_place;
	const struct dtc_call *call = wait->call == DTC_NONE ? NULL : dtc_history_get_call(h, wait->call, &call_place);
	if (!wake || !call || wake->waker != DTC_WAKER_THREAD || wake->thread == DTC_NONE ||
	    (call->kind != DTC_CALL_FUTEX && call->kind != DTC_CALL_WAITPID))
		return DTC_NONE;
	uint32_t last = dtc_history_find_call(h, wake->thread, wake->waking_ns);
	if (last == DTC_NONE)
		return DTC_NONE;
	struct dtc_call exit_place;
	const struct dtc_call *exit = dtc_history_get_call(h, last, &exit_place);
	const char *name = dtc_history_get_string(h, exit->name);
	bool ends = exit->end_ns == DTC_TIME_NONE && (strcmp(name, "exit") == 0 || strcmp(name, "exit_group") == 0);
	return ends ? wake->thread : DTC_NONE;
}

/* The wait of the thread that ended last before another one, and what it ran in between; NULL: none is that near. */
static const struct dtc_interval *find_before(const DtcHistory *h, const struct dtc_interval *wait,
					      struct dtc_interval *place, int64_t *ret_ran_ns)
{
	int64_t at_ns = wait->begin_ns;
	*ret_ran_ns = 0;
	for (guint i = 0; i < PIECES_MAX; i++) {
		const struct dtc_interval *v = dtc_history_find_interval_before(h, wait->thread, at_ns, place);
		if (!v || dtc_state_is_wait(v->state))
			return v;
		*ret_ran_ns += v->end_ns - v->begin_ns;
		at_ns = v->begin_ns;
	}
	return NULL;
}

int64_t dtc_join_get_ns(const DtcHistory *h, const struct dtc_interval *wait)
{
	uint32_t leg = find_joined(h, wait);
	struct dtc_interval first = *wait, place;
	const struct dtc_interval *before;
	int64_t ran_ns;
	if (leg == DTC_NONE)
		return 0;
	int64_t begun_ns = dtc_history_get_thread(h, leg)->begin_ns;
	while ((before = find_before(h, &first, &place, &ran_ns)) && before->begin_ns >= begun_ns &&
	       find_joined(h, before) != DTC_NONE &&
	       ran_ns <= MAX(before->end_ns - before->begin_ns, first.end_ns - first.begin_ns))
		first = *before;
	return wait->begin_ns - first.begin_ns;
}
