/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/in_vain.h"

#include <dtrace-chain/bisect.h>
#include <errno.h>

/* Of what a handler writes to say that a signal came. */
#define SIGNAL_BYTES 1
/* Calls between two waits: a signal's handler and a look around have some ten. */
#define BETWEEN_MAX 256

/* Of one set of descriptors: poll and select name theirs by pointer, which tells nothing. */
static bool is_set_wait(const struct dtc_call *call)
{
	return call->kind == DTC_CALL_POLL && call->fd >= 0;
}

/* A signal came: it is taken up again (include/linux/errno.h: ERESTARTSYS to ERESTART_RESTARTBLOCK), or told. */
static bool is_interrupted(const struct dtc_call *call)
{
	return call->result == -EINTR || (call->result <= -512 && call->result >= -516);
}

/*
 * One futex, or the two of a condition, at which its waiters wait in turns: those that wait from now on at one, those
 * from before at the other (struct __pthread_cond_s, sysdeps/nptl/bits/thread-shared-types.h of glibc).
 */
static bool is_same_futex(const struct dtc_call *a, const struct dtc_call *b)
{
	const uint64_t in_pair = sizeof(uint64_t) - 1;
	if (a->argument == b->argument)
		return true;
	return dtc_call_get_futex_operation(a) == DTC_FUTEX_WAIT_BITSET &&
	       dtc_call_get_futex_operation(b) == DTC_FUTEX_WAIT_BITSET &&
	       (a->argument & ~in_pair) == (b->argument & ~in_pair);
}

/*
 * A wait that came to its timeout by a clock that nobody sets, before one that has none, or by the time of day: that
 * was asked for, and is no look at whether what the next one waits for is there. Ruby's threads have one condition, at
 * which they sleep, and then wait for their lock.
 */
static bool is_sleep_before(const struct dtc_call *call, const struct dtc_call *same)
{
	return call->result == -ETIMEDOUT && !(call->operation & DTC_FUTEX_BY_WALL_CLOCK) &&
	       dtc_call_get_futex_operation(call) == DTC_FUTEX_WAIT_BITSET &&
	       same->operation == (DTC_FUTEX_WAIT_BITSET | DTC_FUTEX_BY_WALL_CLOCK);
}

/* Whether the call waited, to its timeout or a signal, for the same as another one of its thread. */
static bool is_in_vain(const struct dtc_call *call, const struct dtc_call *same)
{
	if (is_set_wait(same))
		return is_set_wait(call) && call->fd == same->fd && is_interrupted(call);
	return dtc_call_is_futex_wait(call) && is_same_futex(call, same) && !is_sleep_before(call, same) &&
	       (call->result == -ETIMEDOUT || is_interrupted(call));
}

/* The wait of the thread in a call that ended last before a time, and what the thread ran from there to the time. */
static const struct dtc_interval *find_wait(const DtcHistory *h, uint32_t thread, uint32_t call, int64_t time_ns,
					    struct dtc_interval *place, int64_t *ret_ran_ns)
{
	const struct dtc_interval *v;

	*ret_ran_ns = 0;
	for (int64_t at_ns = time_ns; (v = dtc_history_find_interval_before(h, thread, at_ns, place));
	     at_ns = v->begin_ns) {
		if (dtc_state_is_wait(v->state))
			return v->call == call ? v : NULL;
		if (v->end_ns <= dtc_history_get_call_begin_ns(h, call))
			return NULL;
		if (dtc_state_is_running(v->state))
			*ret_ran_ns += v->end_ns - v->begin_ns;
	}
	return NULL;
}

/* Whether all that a call woke were threads that wait for a mutex. */
static bool wakes_for_mutex(const DtcHistory *h, const struct dtc_call *call)
{
	uint32_t count = dtc_history_get_wake_count(h);
	uint32_t i = DTC_BISECT(k, 0, count, dtc_history_get_waking_ns(h, k) < call->begin_ns);
	int64_t woken = 0;
	for (; i < count && dtc_history_get_waking_ns(h, i) <= call->end_ns; i++) {
		struct dtc_wake wake_place;
		struct dtc_interval place;
		struct dtc_call slept_place;
		const struct dtc_wake *wake = dtc_history_get_wake(h, i, &wake_place);
		if (wake->waker != DTC_WAKER_THREAD || wake->thread != call->thread)
			continue;
		const struct dtc_interval *v =
			dtc_history_find_interval_before(h, wake->target, wake->waking_ns, &place);
		const struct dtc_call *slept =
			v && v->call != DTC_NONE ? dtc_history_get_call(h, v->call, &slept_place) : NULL;
		if (!slept || slept->kind != DTC_CALL_FUTEX || dtc_call_get_futex_operation(slept) != DTC_FUTEX_WAIT)
			return false;
		woken++;
	}
	return woken == call->result;
}

/*
 * A condition's mutex is taken before the next wait, which may have to look twice, and given back: nobody waits for it,
 * or whoever does, for that alone.
 */
static bool is_of_mutex(const DtcHistory *h, const struct dtc_call *call)
{
	if (call->kind != DTC_CALL_FUTEX)
		return false;
	if (dtc_call_get_futex_operation(call) == DTC_FUTEX_WAKE)
		return call->result == 0 || wakes_for_mutex(h, call);
	return dtc_call_is_futex_wait(call) && call->result == -EAGAIN;
}

/*
 * What a thread does about a signal that came while it waited for descriptors: PostgreSQL, after deadlock_timeout,
 * signals itself, takes that from its signalfd, looks around, and waits on.
 */
static bool moves_nothing(const DtcHistory *h, const struct dtc_call *call, const struct dtc_call *same)
{
	bool is_event = call->file != DTC_NONE && dtc_history_get_file(h, call->file)->kind == DTC_FILE_EVENT;

	switch ((enum dtc_call_kind)call->kind) {
	case DTC_CALL_READ:
		return call->result <= 0 || is_event;
	case DTC_CALL_POLL:
		return is_set_wait(call) && call->fd == same->fd;
	case DTC_CALL_OTHER:
	case DTC_CALL_REGISTER:
		return true;
	default:
		return is_of_mutex(h, call);
	}
}

/* What a signal's handler does that is not the waiting thread's own matter: it says that it came (CPython, tokio). */
static bool is_handlers(const struct dtc_call *call)
{
	return call->kind == DTC_CALL_OTHER || (call->kind == DTC_CALL_WRITE && call->result == SIGNAL_BYTES);
}

/* The call in vain that comes right before a call of its thread, in which that waited for the same; or DTC_NONE. */
static uint32_t find_before(const DtcHistory *h, uint32_t first_call, uint32_t index, const struct dtc_call *same,
			    bool *ret_is_limited)
{
	bool is_in_handler = false;
	for (guint seen = 0; index-- > first_call; seen++) {
		if (seen == BETWEEN_MAX) {
			if (ret_is_limited)
				*ret_is_limited = true;
			break;
		}
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, index, &call_place);
		if (is_in_vain(call, same))
			return is_in_handler && !is_interrupted(call) ? DTC_NONE : index;
		if (is_set_wait(same) ? moves_nothing(h, call, same) : is_of_mutex(h, call))
			continue;
		if (is_set_wait(same) || !is_handlers(call))
			break;
		is_in_handler = true;
	}
	return DTC_NONE;
}

/*
 * The wait before this one in the same call, if a timer ended that, and the kernel slept on: for a lease that another
 * process is to give up it looks again with each tick (__break_lease, fs/locks.c). A writer that is held back sleeps
 * several times as well, but in another state, and for the disk. NULL: there is none.
 */
static const struct dtc_interval *find_slept_before(const DtcHistory *h, const struct dtc_interval *wait,
						    struct dtc_interval *place)
{
	int64_t ran_ns;
	struct dtc_wake wake_place;
	const struct dtc_interval *before = find_wait(h, wait->thread, wait->call, wait->begin_ns, place, &ran_ns);
	bool is_same = before && before->state == DTC_STATE_WAIT && before->ref != DTC_NONE &&
		       dtc_history_get_wake(h, before->ref, &wake_place)->waker == DTC_WAKER_TIMER;

	return is_same && ran_ns <= MAX(before->end_ns - before->begin_ns, wait->end_ns - wait->begin_ns) ? before
													  : NULL;
}

/* In one call, of which the kernel makes one wait. */
static int64_t get_slept_ns(const DtcHistory *h, const struct dtc_interval *wait, bool *ret_is_limited)
{
	struct dtc_interval first = *wait, place;
	const struct dtc_interval *before;

	for (guint seen = 0; (before = find_slept_before(h, &first, &place)); seen++) {
		if (seen == BETWEEN_MAX) {
			if (ret_is_limited)
				*ret_is_limited = true;
			break;
		}
		first = *before;
	}
	return wait->begin_ns - first.begin_ns;
}

int64_t dtc_in_vain_get_ns(const DtcHistory *h, const struct dtc_interval *wait, bool *ret_is_limited)
{
	struct dtc_call last_place;
	const struct dtc_call *last = wait->call == DTC_NONE ? NULL : dtc_history_get_call(h, wait->call, &last_place);
	struct dtc_interval first = *wait, place;
	uint32_t first_call = dtc_history_get_thread(h, wait->thread)->call_first, call = wait->call;

	if (!last)
		return 0;
	if (last->kind != DTC_CALL_FUTEX && last->kind != DTC_CALL_POLL && last->kind != DTC_CALL_SLEEP)
		return wait->state == DTC_STATE_WAIT ? get_slept_ns(h, wait, ret_is_limited) : 0;
	if (!dtc_call_is_futex_wait(last) && !is_set_wait(last))
		return 0;
	while ((call = find_before(h, first_call, call, last, ret_is_limited)) != DTC_NONE) {
		int64_t ran_ns;
		const struct dtc_interval *before = find_wait(h, wait->thread, call, first.begin_ns, &place, &ran_ns);
		if (!before || ran_ns > MAX(before->end_ns - before->begin_ns, first.end_ns - first.begin_ns))
			break;
		first = *before;
	}
	return wait->begin_ns - first.begin_ns;
}
