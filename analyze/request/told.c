/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/told.h"

#include <signal.h>
#include <string.h>

/* So long a thread may have run between two reads that take one thing. */
#define TAKES_NS 50000
/* So many calls are looked at after a poll, and before and after a wait for polls of the same set. */
#define TURN_CALLS 64
#define SET_CALLS 1024

/* How a sleep in a call is ended by somebody who has something to do for the sleeper. */
enum way { BY_NOBODY, BY_BYTES, BY_MESSAGE, BY_SIGNAL, BY_ANY_READY };

/* A connection of which both ends are known. */
static bool is_followed(const DtcHistory *h, const struct dtc_call *call)
{
	const struct dtc_file *file = call->file == DTC_NONE ? NULL : dtc_history_get_file(h, call->file);
	return file && (file->flow_out != DTC_NONE || file->pairing != DTC_PAIRING_NONE);
}

/* System V's queues and POSIX's; those of 32 bits have a tail ("mq_timedreceive_time64"). */
static bool is_named(const DtcHistory *h, const struct dtc_call *call, const char *system_v, const char *posix)
{
	if (call->kind != DTC_CALL_OTHER)
		return false;
	const char *name = dtc_history_get_string(h, call->name);
	return strcmp(name, system_v) == 0 || g_str_has_prefix(name, posix);
}

static enum way find_way(const DtcHistory *h, const struct dtc_call *sleep)
{
	switch (sleep->kind) {
	case DTC_CALL_READ:
		return is_followed(h, sleep) ? BY_NOBODY : BY_BYTES;
	case DTC_CALL_POLL: /* of descriptors, of which one may be for signals; or a signal's handler ends it */
		return BY_ANY_READY;
	case DTC_CALL_SIGNAL:
		return BY_SIGNAL;
	default:
		return is_named(h, sleep, "msgrcv", "mq_timedreceive") ? BY_MESSAGE : BY_NOBODY;
	}
}

/* kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal */
static bool is_signal(const DtcHistory *h, const struct dtc_call *call)
{
	if (call->kind != DTC_CALL_OTHER)
		return false;
	const char *name = dtc_history_get_string(h, call->name);
	return g_str_has_suffix(name, "kill") || g_str_has_suffix(name, "sigqueueinfo") ||
	       g_str_has_suffix(name, "send_signal");
}

/* Whether a call tells a sleeper something that way. */
static bool tells(const DtcHistory *h, const struct dtc_call *call, enum way way)
{
	switch (way) {
	case BY_BYTES:
		return call->kind == DTC_CALL_WRITE && !is_followed(h, call);
	case BY_MESSAGE:
		return is_named(h, call, "msgsnd", "mq_timedsend");
	case BY_SIGNAL:
		return is_signal(h, call);
	case BY_ANY_READY:
		return is_signal(h, call) || tells(h, call, BY_BYTES);
	case BY_NOBODY:
	default:
		return false;
	}
}

/* Whether the first thing that a thread does after a poll, before the next one, is to read from a socket. */
static bool reads_next(const DtcHistory *h, uint32_t poll, uint32_t end)
{
	for (uint32_t i = poll + 1; i < end && i - poll < TURN_CALLS; i++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		if (call->kind == DTC_CALL_POLL || call->kind == DTC_CALL_WRITE)
			return false;
		if (call->kind == DTC_CALL_READ && call->result > 0 && call->file != DTC_NONE &&
		    dtc_history_get_file(h, call->file)->kind == DTC_FILE_SOCKET)
			return true;
	}
	return false;
}

/*
 * Whether a set is the one with which a thread waits for its clients. In another one it waits in the middle of its
 * work: who signals it then gives it a lock (the latches of PostgreSQL), and not work.
 */
static bool is_for_clients(const DtcHistory *h, uint32_t slept)
{
	const struct dtc_call of = dtc_history_copy_call(h, slept);
	const struct dtc_thread *thread = dtc_history_get_thread(h, of.thread);
	uint32_t end = thread->call_first + thread->call_count, last = MIN(end, slept + SET_CALLS);
	uint32_t first = MAX(thread->call_first, slept - MIN(slept, SET_CALLS));
	for (uint32_t i = first; i < last && of.file != DTC_NONE; i++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		if (call->kind == DTC_CALL_POLL && call->file == of.file && reads_next(h, i, end))
			return true;
	}
	return false;
}

static bool is_same_way(const struct dtc_call *told, const struct dtc_call *call)
{
	return call->kind == told->kind && call->file == told->file &&
	       (call->kind != DTC_CALL_OTHER || call->name == told->name);
}

/* For how long a thread ran in user mode in a span. */
static int64_t sum_user_ns(const DtcHistory *h, uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
	struct dtc_interval place;
	int64_t sum_ns = 0;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, end_ns, &place);
	for (; v && v->end_ns > begin_ns; v = dtc_history_find_interval_before(h, thread, v->begin_ns, &place))
		if (v->state == DTC_STATE_USER)
			sum_ns += MIN(v->end_ns, end_ns) - MAX(v->begin_ns, begin_ns);
	return sum_ns;
}

/* Whether a wait is told by a call as one from before the trace was: of polls it is not known which set that was. */
static bool may_be_told(const DtcHistory *h, const struct dtc_call *telling, const struct dtc_call *wait)
{
	return tells(h, telling, find_way(h, wait)) && !(wait->kind == DTC_CALL_POLL && is_signal(h, telling));
}

/*
 * When a thread has done what it was told: it waits, or looks, for the next in the same way. That is the call in which
 * it slept, or, if it slept since before the trace (NULL), whichever call the way tells. A read right after a read, or
 * after the wakeup, takes the rest: a header and what it announces, a pipe that poll found. DTC_TIME_NONE: not seen.
 */
static int64_t find_done_ns(const DtcHistory *h, const struct dtc_wake *wake, const struct dtc_call *slept,
			    const struct dtc_call *telling)
{
	const struct dtc_thread *thread = dtc_history_get_thread(h, wake->target);
	uint32_t first = dtc_history_find_call(h, wake->target, wake->waking_ns);
	int64_t taken_ns = wake->waking_ns; /* since then nothing but reads; DTC_TIME_NONE: not so */
	for (uint32_t i = first == DTC_NONE ? thread->call_first : first + 1;
	     i < thread->call_first + thread->call_count; i++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &call_place);
		bool takes = call->kind == DTC_CALL_READ && taken_ns != DTC_TIME_NONE &&
			     sum_user_ns(h, wake->target, taken_ns, call->begin_ns) < TAKES_NS;
		if (!takes && !dtc_call_is_glance(call) &&
		    (slept ? is_same_way(slept, call) : may_be_told(h, telling, call)))
			return call->begin_ns;
		taken_ns = takes ? call->end_ns : DTC_TIME_NONE;
	}
	return DTC_TIME_NONE;
}

bool dtc_told_find(const DtcHistory *h, const struct dtc_wake *wake, int64_t *ret_done_ns)
{
	const struct dtc_thread *target = dtc_history_get_thread(h, wake->target);
	struct dtc_interval place;
	struct dtc_call slept_place, telling_place;
	if (wake->waker != DTC_WAKER_THREAD || wake->is_inferred || target->is_kernel ||
	    dtc_history_get_thread(h, wake->thread)->pid == target->pid)
		return false;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, wake->target, wake->waking_ns, &place);
	uint32_t telling = dtc_history_find_call(h, wake->thread, wake->waking_ns);
	if (!v || v->end_ns != wake->waking_ns || v->state != DTC_STATE_WAIT || telling == DTC_NONE ||
	    (v->call == DTC_NONE && v->last_call != DTC_NONE))
		return false;
	const struct dtc_call *slept = v->call == DTC_NONE ? NULL : dtc_history_get_call(h, v->call, &slept_place);
	const struct dtc_call *tell = dtc_history_get_call(h, telling, &telling_place);
	if (slept && !tells(h, tell, find_way(h, slept)))
		return false;
	if (slept && slept->kind == DTC_CALL_POLL && is_signal(h, tell) && !is_for_clients(h, v->call))
		return false;
	*ret_done_ns = find_done_ns(h, wake, slept, tell);
	if (*ret_done_ns == DTC_TIME_NONE && slept)
		*ret_done_ns = target->end_ns;
	return *ret_done_ns != DTC_TIME_NONE;
}
