/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/cause.h"

#include "analyze/edge/broken_off.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

static enum dtc_cause cause_of_call(const DtcHistory *h, const struct dtc_call *call)
{
	const struct dtc_file *file = call->file == DTC_NONE ? NULL : dtc_history_get_file(h, call->file);
	bool network = file && file->flow_out != DTC_NONE;
	bool local = file && strcmp(dtc_history_get_string(h, file->name), "unix socket") == 0;
	switch ((enum dtc_call_kind)call->kind) {
	case DTC_CALL_READ:
	case DTC_CALL_PEEK:
		return network ? DTC_CAUSE_NETWORK_RECEIVE : DTC_CAUSE_IPC;
	case DTC_CALL_WRITE:
		return network ? DTC_CAUSE_NETWORK_SEND : DTC_CAUSE_IPC;
	case DTC_CALL_ACCEPT:
	case DTC_CALL_CONNECT:
		return local ? DTC_CAUSE_IPC : DTC_CAUSE_NETWORK_RECEIVE;
	case DTC_CALL_FUTEX:
	case DTC_CALL_LOCK:
		return DTC_CAUSE_LOCK;
	case DTC_CALL_SYNC:
		return DTC_CAUSE_DISK;
	case DTC_CALL_FORK:
	case DTC_CALL_EXEC:
		return DTC_CAUSE_FORK_EXEC;
	case DTC_CALL_WAITPID:
		return DTC_CAUSE_CHILD;
	case DTC_CALL_POLL:
	case DTC_CALL_RING:
	case DTC_CALL_SLEEP: /* only a signal ends it before its time */
	case DTC_CALL_SIGNAL:
	case DTC_CALL_OTHER:
	case DTC_CALL_REGISTER:
	case DTC_CALL_CLOSE:
	case DTC_CALL_OPEN:
		return DTC_CAUSE_IPC;
	}
	return DTC_CAUSE_UNKNOWN;
}

/* Of all of the wait: a part of it has the same cause. */
static int64_t find_begin_ns(const DtcHistory *h, const struct dtc_interval *wait)
{
	struct dtc_interval place;
	const struct dtc_interval *whole = dtc_history_find_interval_before(h, wait->thread, wait->end_ns, &place);
	return whole ? MIN(whole->begin_ns, wait->begin_ns) : wait->begin_ns;
}

static bool was_running(const DtcHistory *h, const struct dtc_interval *wait)
{
	struct dtc_interval place;
	const struct dtc_interval *before =
		dtc_history_find_interval_before(h, wait->thread, find_begin_ns(h, wait), &place);
	return before && dtc_state_is_running(before->state);
}

/*
 * Page faults have no exit event: a thread that goes from running to waiting outside a call waits for a page, if it
 * faulted in that run. Where the trace has no fault events a user thread is taken to have; one whose wait began before
 * it was first seen may be in any call, and so may every thread where calls are not traced.
 */
static bool is_page_fault(const DtcHistory *h, const struct dtc_interval *wait)
{
	if (dtc_history_get_call_count(h) == 0)
		return false;
	int64_t wait_ns = find_begin_ns(h, wait), begin_ns = wait_ns;
	for (guint i = 0; i < 1024; i++) { /* interrupts cut a run into pieces */
		struct dtc_interval place;
		const struct dtc_interval *before = dtc_history_find_interval_before(h, wait->thread, begin_ns, &place);
		if (!before || !dtc_state_is_running(before->state))
			break;
		begin_ns = before->begin_ns;
	}
	if (begin_ns == wait_ns || dtc_history_get_fault_count(h) == 0)
		return begin_ns < wait_ns;
	uint32_t count = dtc_history_get_fault_count(h);
	uint32_t first = DTC_BISECT(i, 0, count, dtc_history_get_fault(h, i).time_ns < begin_ns);
	for (uint32_t i = first; i < count; i++) {
		const struct dtc_fault fault = dtc_history_get_fault(h, i);
		if (fault.time_ns > wait_ns)
			break;
		if (fault.thread == wait->thread)
			return true;
	}
	return false;
}

/*
 * Who writes faster than the disk is made to sleep by the kernel, uninterruptibly, until a timer (balance_dirty_pages
 * in mm/page-writeback.c; vm.dirty_ratio): 77 % of the writes of 150 MB with 8 MB of vm.dirty_bytes were that, and not
 * one of the program's own timers, whose sleeps are interruptible. A wait for a file server that asks for patience
 * (nfs4_delay) is the same. Sockets and pipes have nothing of it.
 */
static bool is_held_back(const DtcHistory *h, const struct dtc_interval *wait, const struct dtc_call *call)
{
	const struct dtc_file *file = !call || call->file == DTC_NONE ? NULL : dtc_history_get_file(h, call->file);

	return wait->state == DTC_STATE_WAIT_DISK && call &&
	       (call->kind == DTC_CALL_WRITE || call->kind == DTC_CALL_READ || call->kind == DTC_CALL_SYNC) &&
	       (!file || file->kind == DTC_FILE_PATH || file->kind == DTC_FILE_UNKNOWN);
}

static enum dtc_cause cause_of_wait(const DtcHistory *h, const struct dtc_interval *wait)
{
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = wait->ref == DTC_NONE ? NULL : dtc_history_get_wake(h, wait->ref, &wake_place);
	struct dtc_call call_place;
	const struct dtc_call *call = wait->call == DTC_NONE ? NULL : dtc_history_get_call(h, wait->call, &call_place);
	const struct dtc_thread *thread = dtc_history_get_thread(h, wait->thread);
	if (wait->state == DTC_STATE_STOPPED)
		return DTC_CAUSE_STOPPED;
	bool fault = !call && !thread->is_kernel && is_page_fault(h, wait);
	uint32_t by;
	/* of what no thread ended: a sleep is one all the same, where the timer is not in the trace */
	bool is_sleep = call && call->kind == DTC_CALL_SLEEP;
	if (!wake) /* the trace ended before, or events were lost */
		return is_sleep ? DTC_CAUSE_TIMER : DTC_CAUSE_UNKNOWN;
	switch ((enum dtc_waker)wake->waker) {
	case DTC_WAKER_TIMER:
		if (is_held_back(h, wait, call))
			return DTC_CAUSE_DISK;
		return fault && wait->state == DTC_STATE_WAIT_DISK ? DTC_CAUSE_PAGE_FAULT : DTC_CAUSE_TIMER;
	case DTC_WAKER_BLOCK:
		if (fault)
			return DTC_CAUSE_PAGE_FAULT;
		/* an idle kernel worker that a completion gives work did not wait for that request */
		return thread->is_kernel && wait->state != DTC_STATE_WAIT_DISK ? DTC_CAUSE_DEVICE : DTC_CAUSE_DISK;
	case DTC_WAKER_PACKET:
		return call && call->kind == DTC_CALL_WRITE ? DTC_CAUSE_NETWORK_SEND : DTC_CAUSE_NETWORK_RECEIVE;
	case DTC_WAKER_IRQ:
	case DTC_WAKER_SOFTIRQ:
		return is_sleep ? DTC_CAUSE_TIMER : DTC_CAUSE_DEVICE;
	case DTC_WAKER_NEW:
		return DTC_CAUSE_FORK_EXEC;
	case DTC_WAKER_THREAD:
		/* cut short by a stop: it would have lasted */
		if (is_sleep && (!wake->signal || dtc_broken_off_find(h, wait, &by)))
			return DTC_CAUSE_TIMER;
		if (call) /* a signal ends any wait; a child's tells its parent what it waited for */
			return wake->signal && call->kind != DTC_CALL_WAITPID ? DTC_CAUSE_IPC : cause_of_call(h, call);
		if (wake->signal)
			return DTC_CAUSE_IPC;
		if (fault)
			return DTC_CAUSE_PAGE_FAULT;
		/* kernel code that waits for a thread: a kernel thread, a vhost worker, a call from before the trace */
		return thread->is_kernel || was_running(h, wait) ? DTC_CAUSE_IPC : DTC_CAUSE_UNKNOWN;
	case DTC_WAKER_IPI:
	case DTC_WAKER_UNKNOWN:
		break;
	}
	return is_sleep ? DTC_CAUSE_TIMER : DTC_CAUSE_UNKNOWN;
}

enum dtc_cause dtc_cause_of_interval(const DtcHistory *h, const struct dtc_interval *interval)
{
	switch ((enum dtc_state)interval->state) {
	case DTC_STATE_USER:
		return DTC_CAUSE_RUNNING_USER;
	case DTC_STATE_SYSCALL:
	case DTC_STATE_KERNEL:
		return DTC_CAUSE_RUNNING_KERNEL;
	case DTC_STATE_IRQ:
		return DTC_CAUSE_IRQ;
	case DTC_STATE_SOFTIRQ:
		return DTC_CAUSE_SOFTIRQ;
	case DTC_STATE_RUNQUEUE:
		return DTC_CAUSE_RUNQUEUE;
	case DTC_STATE_PREEMPTED:
		return DTC_CAUSE_PREEMPTED;
	case DTC_STATE_WAIT:
	case DTC_STATE_WAIT_DISK:
	case DTC_STATE_STOPPED:
		return cause_of_wait(h, interval);
	case DTC_STATE_GUEST:
		return DTC_CAUSE_RUNNING_GUEST;
	case DTC_STATE_VM_PREEMPTED:
		return DTC_CAUSE_VM_PREEMPTED;
	case DTC_STATE_VM_EXIT:
		return DTC_CAUSE_VM_EXIT;
	case DTC_STATE_UNKNOWN:
	case DTC_STATE_EXITED:
	case DTC_STATE_IDLE:
	case DTC_STATES_OF_SHARES:
		break;
	}
	return DTC_CAUSE_UNKNOWN;
}
