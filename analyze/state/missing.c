/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A switch that is not in the trace, although no events are said to be lost (seen on Linux 6.18: one process of 566 was
 * switched in and never out, and 136 of 560 requests were its work then). What tells: a switch from a thread that is
 * not the current one, a thread that runs on two CPUs, a call that ends in a thread that did not begin it, or begins in
 * one that is in another. From the thread's last sign of life on, who has that CPU is not known, until a switch tells;
 * where events say in whose context they are, they tell as well.
 *
 * A call that ends without having begun is no proof: seccomp refuses some before their entry is logged. So there must
 * be somebody else who can have returned from it.
 */
#include "analyze/state/machine_state.h"

/* ftrace's events right after a switch still bear the thread before it. */
#define AFTER_SWITCH_NS 20000

void dtc_machine_note_missing(DtcMachine *m, uint32_t cpu)
{
	if (!m->missing_count++)
		m->missing_ns = m->now_ns;
	dtc_history_mark_missing(m->history, cpu);
}

void dtc_machine_forget_current(DtcMachine *m, uint32_t number)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, number);
	uint32_t thread = cpu->current;
	int64_t since_ns = DTC_TASK(m, thread)->since_ns;
	dtc_machine_abandon_call(m, thread, DTC_STATE_UNKNOWN, since_ns);
	DTC_TASK(m, thread)->pending_wake = DTC_NONE;
	dtc_history_add_run(m->history, number, since_ns, DTC_NONE);
	dtc_machine_note_missing(m, number);
	cpu->current = DTC_NONE;
	cpu->depth = 0;
}

/* The tid of the thread that caused the event: its context's, or what some kinds tell of it. DTC_ABSENT: not known. */
static int64_t get_tid(const struct dtc_event *event)
{
	if (event->has_tid)
		return event->tid;
	if (event->kind == DTC_EVENT_SCHED_EXIT)
		return event->v[DTC_TASK_TID];
	return event->kind == DTC_EVENT_SCHED_FORK ? event->v[DTC_FORK_PARENT_TID] : DTC_ABSENT;
}

void dtc_machine_check_context(DtcMachine *m, const struct dtc_event *event)
{
	int64_t tid = get_tid(event);
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	const struct dtc_run *last = dtc_history_get_last_run(m->history, event->cpu);
	if (tid < 0 || (!last && cpu->current == DTC_NONE) || event->kind == DTC_EVENT_SCHED_EXEC ||
	    (cpu->current != DTC_NONE && DTC_THREAD(m, cpu->current)->tid == tid))
		return;
	uint32_t thread = dtc_machine_get_thread(m, tid, event->cpu);
	bool is_before = last && event->has_tid && m->now_ns - last->begin_ns < AFTER_SWITCH_NS;
	if (thread == DTC_NONE || is_before)
		return;
	if (dtc_machine_get_cpu(m, event->cpu)->current != DTC_NONE)
		dtc_machine_forget_current(m, event->cpu);
	dtc_machine_take_cpu(m, thread, event->cpu);
}

/* Where calls of that kind are seen to return. */
bool dtc_machine_is_others_entry(const DtcMachine *m, uint32_t thread)
{
	const struct dtc_call *call = DTC_AT(m->history->filling->calls, struct dtc_call, DTC_TASK(m, thread)->call);
	switch ((enum dtc_call_kind)call->kind) {
	case DTC_CALL_OTHER: /* rt_sigreturn does not */
	case DTC_CALL_REGISTER:
	case DTC_CALL_FORK:
	case DTC_CALL_EXEC:
		return false;
	default:
		return m->exits >> call->kind & 1;
	}
}

/* A thread that had such a call to return from, and has no CPU. */
static bool has_other(DtcMachine *m, uint32_t thread, uint32_t name)
{
	for (guint i = 0; i < m->tasks->len; i++) {
		const struct dtc_task *task = DTC_TASK(m, i);
		bool is_off = dtc_state_is_wait(task->state) || task->state == DTC_STATE_RUNQUEUE ||
			      task->state == DTC_STATE_PREEMPTED;
		if (i != thread && is_off && task->call != DTC_NONE && !task->freed &&
		    DTC_AT(m->history->filling->calls, struct dtc_call, task->call)->name == name)
			return true;
	}
	return false;
}

bool dtc_machine_is_others_exit(DtcMachine *m, uint32_t thread, const struct dtc_event *event)
{
	const struct dtc_task *task = DTC_TASK(m, thread);
	if (event->v[DTC_CALL_NAME] <= 0) /* exit_syscall of old tracers, sigreturn */
		return false;
	uint32_t name = dtc_machine_get_call_name(m, event->v[DTC_CALL_NAME]);
	if (task->call != DTC_NONE) {
		const struct dtc_call *call = DTC_AT(m->history->filling->calls, struct dtc_call, task->call);
		/* after an exec of a program of the other width, numbers mean other calls */
		return call->name != name && call->kind != DTC_CALL_EXEC && has_other(m, thread, name);
	}
	bool is_idle = DTC_THREAD(m, thread)->idle_cpu >= 0;
	return (is_idle || (task->knows_call && !task->in_kernel)) && has_other(m, thread, name);
}

void dtc_machine_report_missing(const DtcMachine *m, DtcFindings *findings)
{
	if (m->missing_count)
		dtc_findings_add_coded(findings, DTC_FINDING_SWITCH_MISSING, DTC_SEVERITY_WARNING, false, m->node,
				       "%" G_GUINT64_FORMAT
				       " switches are not in the trace, the first before %.6f s: from there on who has "
				       "that CPU is unknown, until the next switch tells",
				       m->missing_count, (double)(m->missing_ns - m->history->begin_ns) / 1e9);
}
