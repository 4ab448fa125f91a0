/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/wake_context.h"

#include <dtrace-chain/bisect.h>

const char *dtc_wake_mode_to_string(enum dtc_wake_mode mode)
{
	static const char *const names[DTC_WAKE_MODES] = { "unknown",	 "user",   "syscall", "return",
							   "page-fault", "kernel", "softirq", "irq" };
	return names[mode];
}

/* Whether the thread faulted in [begin, end]. */
static bool has_faulted(const DtcHistory *h, uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
	uint32_t count = dtc_history_get_fault_count(h);
	uint32_t first = DTC_BISECT(i, 0, count, dtc_history_get_fault(h, i).time_ns < begin_ns);
	for (uint32_t i = first; i < count && dtc_history_get_fault(h, i).time_ns <= end_ns; i++)
		if (dtc_history_get_fault(h, i).thread == thread)
			return true;
	return false;
}

/* User code wakes nobody: it faulted, or is not yet out of its last call. */
static void set_user(const DtcHistory *h, const struct dtc_wake *wake, int64_t since_ns,
		     struct dtc_wake_context *context)
{
	uint32_t index = dtc_history_find_call(h, wake->thread, wake->waking_ns);
	int64_t end_ns = index == DTC_NONE ? DTC_TIME_NONE : dtc_history_copy_call(h, index).end_ns;

	context->mode = DTC_WAKE_IN_USER;
	if (has_faulted(h, wake->thread, since_ns, wake->waking_ns)) {
		context->mode = DTC_WAKE_IN_PAGE_FAULT;
	} else if (end_ns != DTC_TIME_NONE && end_ns <= wake->waking_ns &&
		   wake->waking_ns - end_ns <= DTC_CALL_SETTLED_NS) {
		context->mode = DTC_WAKE_IN_RETURN;
		context->call = index;
	}
}

/*
 * The target's CPU logged the wakeup, and the waker is inferred: it may have gone on since, so that nothing is known of
 * what it was in but a call that lasts.
 */
static struct dtc_wake_context infer_context(const DtcHistory *h, const struct dtc_wake *wake)
{
	uint32_t index = dtc_history_find_call(h, wake->thread, wake->waking_ns);
	struct dtc_wake_context context = { DTC_WAKE_IN_UNKNOWN, wake->thread, DTC_NONE, DTC_NONE };
	struct dtc_call place;
	const struct dtc_call *call = index == DTC_NONE ? NULL : dtc_history_get_call(h, index, &place);

	if (!call || (call->end_ns != DTC_TIME_NONE && call->end_ns < wake->waking_ns))
		return context;
	context.mode = DTC_WAKE_IN_CALL;
	context.call = index;
	return context;
}

/* What the thread did that had the CPU, and what was on top of it. */
static void set_running(const DtcHistory *h, const struct dtc_wake *wake, struct dtc_wake_context *context)
{
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, wake->thread, wake->waking_ns, &place);

	if (!v || !(dtc_state_is_running(v->state) || v->state == DTC_STATE_IDLE))
		return;
	context->call = v->call;
	switch ((enum dtc_state)v->state) {
	case DTC_STATE_USER:
		set_user(h, wake, v->begin_ns, context);
		break;
	case DTC_STATE_SYSCALL:
		context->mode = DTC_WAKE_IN_CALL;
		break;
	case DTC_STATE_KERNEL:
		context->mode = DTC_WAKE_IN_KERNEL;
		break;
	case DTC_STATE_IRQ:
		context->mode = DTC_WAKE_IN_IRQ;
		context->ref = v->ref;
		break;
	case DTC_STATE_SOFTIRQ:
		context->mode = DTC_WAKE_IN_SOFTIRQ;
		context->ref = v->ref;
		break;
	default:
		break;
	}
}

/*
 * On its way out an interrupt wakes ksoftirqd for the softirqs that it leaves, and a timer may fire in one that is not
 * traced: there the history knows who did it, and the intervals no interrupt.
 */
static void set_interrupt(const struct dtc_wake *wake, struct dtc_wake_context *context)
{
	bool is_softirq = wake->waker == DTC_WAKER_SOFTIRQ || wake->waker == DTC_WAKER_PACKET;

	context->mode = is_softirq ? DTC_WAKE_IN_SOFTIRQ : DTC_WAKE_IN_IRQ;
	context->ref = wake->waker == DTC_WAKER_PACKET					  ? DTC_SOFTIRQ_NET_RX
		       : wake->waker == DTC_WAKER_SOFTIRQ || wake->waker == DTC_WAKER_IRQ ? wake->ref
											  : DTC_NONE;
}

struct dtc_wake_context dtc_wake_get_context(const DtcHistory *h, const struct dtc_wake *wake)
{
	struct dtc_wake_context context = { DTC_WAKE_IN_UNKNOWN, wake->thread, DTC_NONE, DTC_NONE };
	bool is_thread = wake->waker == DTC_WAKER_THREAD || wake->waker == DTC_WAKER_NEW;

	if (wake->waker == DTC_WAKER_IPI || wake->waker == DTC_WAKER_UNKNOWN)
		return context;
	if (is_thread && wake->thread == DTC_NONE)
		return context;
	if (is_thread && wake->is_inferred)
		return infer_context(h, wake);
	if (wake->thread != DTC_NONE && !wake->is_inferred)
		set_running(h, wake, &context);
	if (!is_thread && context.mode != DTC_WAKE_IN_IRQ && context.mode != DTC_WAKE_IN_SOFTIRQ)
		set_interrupt(wake, &context);
	return context;
}

const char *dtc_wake_context_get_interrupt(const DtcHistory *h, const struct dtc_wake_context *context)
{
	if (context->mode == DTC_WAKE_IN_SOFTIRQ)
		return dtc_softirq_to_string(context->ref);
	return context->mode == DTC_WAKE_IN_IRQ && context->ref != DTC_NONE ? dtc_history_get_string(h, context->ref)
									    : NULL;
}
