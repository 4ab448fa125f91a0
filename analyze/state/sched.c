/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scheduling: who runs, who is runnable, who waits; forks and exits. */
#include "analyze/state/machine_state.h"

#include <string.h>

#define CLONE_FILES 0x400
#define CLONE_THREAD 0x10000
/* From the switch, or the interrupt, to the sleep of a thread that is frozen: 12 us were seen. */
#define TURNED_BACK_NS 50000

/*
 * What a thread is after it was switched out. prev_state is a mask that changed over the years: since 4.14 it is the
 * reported state (bits 0x01 to 0x80) and 0x100 for a preempted thread (include/trace/events/sched.h); before, a set of
 * task state bits with TASK_STATE_MAX for a preempted one. That is 512 before 3.9, where 512 became TASK_PARKED, 1024
 * before 4.2 (TASK_NOLOAD, with which an uninterruptible kernel thread is idle), 2048 before 4.8 (TASK_NEW), then 4096.
 */
static enum dtc_state state_after_switch(int64_t prev_state, uint32_t state_max)
{
	if (prev_state == DTC_ABSENT)
		return DTC_STATE_UNKNOWN;
	uint64_t mask = (uint64_t)prev_state;
	if (state_max) {
		if (mask & state_max)
			return DTC_STATE_PREEMPTED;
		if (mask & (16 | 32 | 64))
			return DTC_STATE_EXITED;
	} else {
		if (mask & ~(uint64_t)0xff)
			return DTC_STATE_PREEMPTED;
		if (mask & (0x10 | 0x20))
			return DTC_STATE_EXITED;
	}
	if (mask == 0)
		return DTC_STATE_PREEMPTED;
	if (mask & 0x02)
		return DTC_STATE_WAIT_DISK;
	if (mask & (0x04 | 0x08))
		return DTC_STATE_STOPPED;
	return DTC_STATE_WAIT; /* interruptible, parked, idle */
}

/* The events of that time are all there, but of a CPU that has not told since whose they are. */
static bool is_known_since(const DtcMachine *m, int64_t time_ns)
{
	for (guint i = 0; i < m->cpus->len; i++) {
		const struct dtc_cpu *cpu = &g_array_index(m->cpus, struct dtc_cpu, i);
		if (cpu->current == DTC_NONE && cpu->seen_ns >= time_ns)
			return false;
	}
	return true;
}

/*
 * A thread that may have run unseen in a gap is woken: so it waited, since the last gap's end at the latest if it has
 * run nowhere since. A request slept for 300 ms while a flight recorder's buffers grew, for 15, and all 300 were
 * unknown. In which call it waits is not known: it may have left one and entered the next.
 */
static void resume_wait(DtcMachine *m, uint32_t thread)
{
	int64_t end_ns = g_array_index(m->gap_ends, int64_t, m->gap_ends->len - 1);
	if (end_ns > DTC_TASK(m, thread)->since_ns && end_ns < m->now_ns && is_known_since(m, end_ns))
		dtc_machine_set_state(m, thread, DTC_STATE_WAIT, end_ns, 0xffff, DTC_NONE);
}

bool dtc_machine_settle_gap(DtcMachine *m, uint32_t thread)
{
	struct dtc_task *task = DTC_TASK(m, thread);
	bool is_off = dtc_state_is_wait(task->state) || task->state == DTC_STATE_RUNQUEUE ||
		      task->state == DTC_STATE_PREEMPTED;
	if (!is_off || task->cpu == 0xffff)
		return false;
	int64_t gap_ns = dtc_machine_find_gap(m, task->cpu, task->since_ns);
	if (gap_ns == DTC_TIME_NONE)
		return false;
	dtc_machine_abandon_call(m, thread, DTC_STATE_UNKNOWN, gap_ns);
	DTC_TASK(m, thread)->pending_wake = DTC_NONE;
	return true;
}

/* A thread that was seen waiting is now seen running or runnable, and nothing told who woke it. */
static uint32_t add_unknown_wake(DtcMachine *m, uint32_t target, int64_t time_ns, uint16_t cpu)
{
	struct dtc_wake wake = { .waking_ns = time_ns,
				 .wakeup_ns = DTC_TIME_NONE,
				 .target = target,
				 .thread = DTC_NONE,
				 .ref = DTC_NONE,
				 .cpu = cpu,
				 .waker = DTC_WAKER_UNKNOWN };
	return dtc_history_add_wake(m->history, &wake);
}

/* Where a woken or migrated thread will run; 0xffff if the event does not say. */
static uint16_t get_target_cpu(const struct dtc_event *event)
{
	int64_t cpu = event->v[DTC_TASK_TARGET_CPU];
	return cpu >= 0 && cpu < DTC_CPU_LIMIT ? (uint16_t)cpu : 0xffff; /* absent is negative */
}

static void make_runnable(DtcMachine *m, uint32_t thread, int64_t time_ns, uint16_t cpu, uint32_t wake)
{
	struct dtc_task *task = DTC_TASK(m, thread);
	if (dtc_state_is_wait(task->state)) /* of an unknown state it is not known that it was a wait */
		task->ref = wake;
	dtc_machine_set_state(m, thread, DTC_STATE_RUNQUEUE, time_ns, cpu, DTC_NONE);
}

/*
 * A thread that runs on one CPU is switched in or out on another: the first one's events ended unseen, or one of the
 * two switches names a wrong thread (a damaged stream). What the thread did since that CPU's last event is not known,
 * nor who has that CPU now.
 */
static void leave_silent_cpu(DtcMachine *m, uint32_t thread, uint32_t cpu)
{
	uint32_t silent = DTC_TASK(m, thread)->cpu;
	if (!dtc_state_is_running(DTC_TASK(m, thread)->state) || silent == cpu || silent >= m->cpus->len ||
	    dtc_machine_get_cpu(m, silent)->current != thread)
		return;
	struct dtc_cpu *c = dtc_machine_get_cpu(m, silent);
	int64_t since_ns = MAX(c->seen_ns, DTC_TASK(m, thread)->since_ns);
	dtc_machine_abandon_call(m, thread, DTC_STATE_UNKNOWN, since_ns);
	dtc_history_add_run(m->history, silent, since_ns, DTC_NONE);
	c->current = DTC_NONE;
	c->depth = 0;
	c->has_left = true;
}

void dtc_machine_take_cpu(DtcMachine *m, uint32_t thread, uint32_t cpu)
{
	leave_silent_cpu(m, thread, cpu);
	dtc_machine_settle_gap(m, thread);
	struct dtc_task *task = DTC_TASK(m, thread);
	if (dtc_state_is_wait(task->state)) {
		/* the waking was lost with the events of some CPU, or never traced */
		int64_t gap_ns = dtc_machine_find_gap(m, 0xffff, task->since_ns);
		if (gap_ns != DTC_TIME_NONE)
			dtc_machine_set_state(m, thread, DTC_STATE_UNKNOWN, gap_ns, 0xffff, DTC_NONE);
		else
			task->ref = add_unknown_wake(m, thread, m->now_ns, (uint16_t)cpu);
	}
	DTC_TASK(m, thread)->pending_wake = DTC_NONE;
	dtc_machine_get_cpu(m, cpu)->current = thread;
	dtc_machine_set_running(m, thread, m->now_ns, cpu);
	dtc_history_add_run(m->history, cpu, m->now_ns, thread);
}

/*
 * A switch that the recorder put in where the next event showed who runs. From the idle thread it is in its place,
 * since that thread waits for nothing else; from any other, when it happened after the last sign of life is not known.
 */
static bool is_put_in_late(const struct dtc_event *event)
{
	return event->v[DTC_SWITCH_REPAIRED] == 1 && event->v[DTC_SWITCH_PREV_TID] != 0;
}

/* Of a switch that was put in it may be unknown. */
static bool has_next_name(const struct dtc_event *event)
{
	return event->v[DTC_SWITCH_REPAIRED] != 1 || (event->text[1] && *event->text[1]);
}

static void apply_switch(DtcMachine *m, const struct dtc_event *event)
{
	int64_t now = m->now_ns;
	uint32_t previous = dtc_machine_get_thread(m, event->v[DTC_SWITCH_PREV_TID], event->cpu);
	uint32_t next = dtc_machine_get_thread(m, event->v[DTC_SWITCH_NEXT_TID], event->cpu);
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	cpu->depth = 0; /* no switch inside an interrupt: an exit event was lost */
	cpu->last_wake = DTC_NONE;
	cpu->completed = DTC_NONE;
	if (cpu->current != DTC_NONE && DTC_THREAD(m, cpu->current)->idle_cpu < 0) {
		const struct dtc_task *task = DTC_TASK(m, cpu->current);
		if (task->call != DTC_NONE || task->in_kernel) /* the call goes on, but not here */
			dtc_machine_end_act(m, cpu, event->cpu, NULL, task->call);
	}
	if (previous != DTC_NONE && cpu->current != previous)
		leave_silent_cpu(m, previous, event->cpu);
	if (is_put_in_late(event))
		previous = DTC_NONE;
	if (cpu->current != DTC_NONE && cpu->current != previous) /* neither is known to have run here */
		dtc_machine_forget_current(m, event->cpu);
	bool was_elsewhere =
		previous != DTC_NONE && cpu->current != previous && DTC_TASK(m, previous)->state != DTC_STATE_UNKNOWN;
	if (previous != DTC_NONE) {
		if (DTC_THREAD(m, previous)->idle_cpu < 0)
			dtc_machine_observe_name(m, previous, event->text[0], now);
		struct dtc_task *task = DTC_TASK(m, previous);
		enum dtc_state state = DTC_THREAD(m, previous)->idle_cpu >= 0
					       ? DTC_STATE_PREEMPTED
					       : state_after_switch(event->v[DTC_SWITCH_PREV_STATE], m->old_state_max);
		task->is_turned_back =
			task->state == DTC_STATE_USER && task->knows_call && now - task->since_ns <= TURNED_BACK_NS;
		if (was_elsewhere)
			dtc_machine_abandon_call(m, previous, DTC_STATE_UNKNOWN, task->since_ns);
		dtc_machine_set_state(m, previous, state, now, (uint16_t)event->cpu, DTC_NONE);
		if (dtc_state_is_wait(state) && task->pending_wake != DTC_NONE)
			/* woken by another CPU while it was on its way out: no wait at all */
			make_runnable(m, previous, now, (uint16_t)event->cpu, task->pending_wake);
		else if (!dtc_state_is_wait(state))
			task->pending_wake = DTC_NONE;
	}
	if (!dtc_history_get_last_run(m->history, event->cpu) && previous != DTC_NONE)
		/* it had the CPU when the trace began, or came to it from another one before the first switch */
		dtc_history_add_run(m->history, event->cpu, m->history->begin_ns, was_elsewhere ? DTC_NONE : previous);
	if (next != DTC_NONE) {
		if (DTC_THREAD(m, next)->idle_cpu < 0 && has_next_name(event))
			dtc_machine_observe_name(m, next, event->text[1], now);
		dtc_machine_take_cpu(m, next, event->cpu);
	} else {
		dtc_machine_get_cpu(m, event->cpu)->current = DTC_NONE;
		dtc_history_add_run(m->history, event->cpu, now, DTC_NONE);
	}
}

/*
 * The freezer of a cgroup (docker pause) and a suspend have no state of their own: an uninterruptible sleep with the
 * first version (prev_state lies, __task_state_index), an interruptible one with the second (do_freezer_trap). Both
 * break off the thread's call and freeze it on its way to user mode, where it waits for no other thread: a page that it
 * would touch there comes from a disk. A thread that computes is turned back there as soon as it has the CPU, or is
 * interrupted for it (kick_process), and goes on when another process writes so to a file of the cgroup.
 */
static bool is_frozen(DtcMachine *m, const struct dtc_event *event, uint32_t thread)
{
	const struct dtc_task *task = DTC_TASK(m, thread);
	if (task->call != DTC_NONE || DTC_THREAD(m, thread)->is_kernel ||
	    (task->state != DTC_STATE_WAIT && task->state != DTC_STATE_WAIT_DISK))
		return false;
	const struct dtc_wake origin = dtc_machine_get_origin(m, event->cpu);
	if (origin.waker != DTC_WAKER_THREAD || origin.thread == DTC_NONE)
		return false;
	uint32_t call = DTC_TASK(m, origin.thread)->call;
	bool is_written = call != DTC_NONE &&
			  DTC_AT(m->history->filling->calls, struct dtc_call, call)->kind == DTC_CALL_WRITE &&
			  DTC_THREAD(m, origin.thread)->pid != DTC_THREAD(m, thread)->pid;
	return task->is_broken_off || (task->is_turned_back && is_written);
}

static void wake(DtcMachine *m, const struct dtc_event *event, uint32_t target)
{
	if (DTC_TASK(m, target)->freed || DTC_TASK(m, target)->state == DTC_STATE_EXITED)
		return;
	if (dtc_machine_settle_gap(m, target))
		resume_wait(m, target);
	struct dtc_task *task = DTC_TASK(m, target);
	if (is_frozen(m, event, target))
		task->state = DTC_STATE_STOPPED;
	if (dtc_state_is_wait(task->state) || task->state == DTC_STATE_UNKNOWN) {
		uint32_t record = dtc_machine_add_wake(m, target, event);
		make_runnable(m, target, m->now_ns, get_target_cpu(event), record);
		DTC_TASK(m, target)->pending_wake = record;
	} else if (dtc_state_is_running(task->state)) {
		/* on its way out on another CPU, or a spurious wakeup: the switch or the wakeup tells */
		uint32_t record = dtc_machine_add_wake(m, target, event);
		DTC_TASK(m, target)->pending_wake = record;
	}
}

/* Runnable at once: sched_wakeup_new follows; without it the child is in the runqueue all the same. */
static void make_new(DtcMachine *m, uint32_t cpu, uint32_t parent, uint32_t child)
{
	struct dtc_wake new_child = { .waking_ns = m->now_ns,
				      .wakeup_ns = DTC_TIME_NONE,
				      .target = child,
				      .thread = parent,
				      .ref = DTC_NONE,
				      .cpu = (uint16_t)cpu,
				      .waker = DTC_WAKER_NEW };
	DTC_THREAD(m, child)->parent = parent;
	DTC_TASK(m, child)->in_kernel = true; /* until it returns to user mode */
	DTC_TASK(m, child)->pending_wake = dtc_history_add_wake(m->history, &new_child);
	dtc_machine_set_state(m, child, DTC_STATE_RUNQUEUE, m->now_ns, 0xffff, DTC_NONE);
}

/*
 * Threads that the kernel makes for a process by itself, as io_uring's workers, have no fork event (kernel/fork.c,
 * create_io_thread): this one is their first. Their name is still that of who made them.
 */
static void begin_unseen(DtcMachine *m, const struct dtc_event *event)
{
	int64_t tid = event->v[DTC_TASK_TID];
	if (tid <= 0 || tid >= 1 << 22 || m->history->threads->len >= DTC_THREAD_LIMIT)
		return;
	uint32_t known = dtc_history_find_thread(m->history, (int32_t)tid, DTC_TIME_NONE);
	uint32_t parent = dtc_machine_get_cpu(m, event->cpu)->current;
	if (parent == DTC_NONE || (known != DTC_NONE && !DTC_TASK(m, known)->freed))
		return;
	make_new(m, event->cpu, parent, dtc_machine_add_thread(m, tid, m->now_ns, -1));
}

static void apply_waking(DtcMachine *m, const struct dtc_event *event)
{
	if (event->kind == DTC_EVENT_SCHED_WAKEUP_NEW)
		begin_unseen(m, event);
	uint32_t target = dtc_machine_get_thread(m, event->v[DTC_TASK_TID], event->cpu);
	if (target == DTC_NONE || DTC_THREAD(m, target)->idle_cpu >= 0)
		return;
	dtc_machine_observe_name(m, target, event->text[0], m->now_ns);
	if (event->kind == DTC_EVENT_SCHED_WAKING) {
		wake(m, event, target);
		return;
	}
	struct dtc_task *task = DTC_TASK(m, target);
	if (task->pending_wake == DTC_NONE) {
		/* traces without sched_waking (LTTng before 2.8, old kernels): the wakeup is all there is */
		if (!m->saw[DTC_EVENT_SCHED_WAKING] || dtc_state_is_wait(task->state))
			wake(m, event, target);
		task = DTC_TASK(m, target);
	}
	if (task->pending_wake != DTC_NONE) {
		dtc_history_set_wakeup(m->history, task->pending_wake, m->now_ns);
		task->pending_wake = DTC_NONE;
	}
}

static void apply_fork(DtcMachine *m, const struct dtc_event *event)
{
	uint32_t parent = dtc_machine_get_thread(m, event->v[DTC_FORK_PARENT_TID], event->cpu);
	int64_t tid = event->v[DTC_FORK_CHILD_TID], pid = event->v[DTC_FORK_CHILD_PID];
	if (parent == DTC_NONE || tid <= 0 || tid >= 1 << 22 || m->history->threads->len >= DTC_THREAD_LIMIT)
		return;
	dtc_machine_observe_name(m, parent, event->text[0], m->now_ns);
	if (event->v[DTC_FORK_PARENT_PID] != DTC_ABSENT)
		dtc_machine_set_process(m, parent, event->v[DTC_FORK_PARENT_PID]);
	uint32_t old = dtc_history_find_thread(m->history, (int32_t)tid, DTC_TIME_NONE);
	if (old != DTC_NONE && !DTC_TASK(m, old)->freed) { /* its end was not traced */
		dtc_machine_set_state(m, old, DTC_STATE_EXITED, m->now_ns, 0xffff, DTC_NONE);
		DTC_THREAD(m, old)->end_ns = m->now_ns;
		DTC_TASK(m, old)->freed = true;
		DTC_TASK(m, old)->call = DTC_NONE;
	}
	uint32_t child = dtc_machine_add_thread(m, tid, m->now_ns, -1);
	DTC_THREAD(m, child)->is_kernel = DTC_THREAD(m, parent)->is_kernel;
	dtc_machine_inherit_netns(m, parent, child);
	dtc_machine_observe_name(m, child, event->text[1], m->now_ns);
	if (pid == DTC_ABSENT) { /* older tracers: by the flags of the parent's clone */
		uint32_t call = DTC_TASK(m, parent)->call;
		bool thread = call != DTC_NONE &&
			      (DTC_AT(m->history->filling->calls, struct dtc_call, call)->argument & CLONE_THREAD);
		pid = thread && DTC_THREAD(m, parent)->pid > 0 ? DTC_THREAD(m, parent)->pid : tid;
	}
	dtc_machine_set_process(m, child, pid);
	/* A vforked or forked process has a table of its own; threads share their process's. */
	uint32_t clone = DTC_TASK(m, parent)->call;
	const struct dtc_call *call =
		clone == DTC_NONE ? NULL : DTC_AT(m->history->filling->calls, struct dtc_call, clone);
	if (DTC_THREAD(m, child)->pid != DTC_THREAD(m, parent)->pid)
		dtc_machine_copy_files(m, DTC_THREAD(m, parent)->pid, DTC_THREAD(m, child)->pid,
				       call && call->kind == DTC_CALL_FORK && (call->argument & CLONE_FILES));
	make_new(m, event->cpu, parent, child);
}

/*
 * A thread that is not the leader calls exec: all others die, and it goes on under the leader's tid (de_thread,
 * fs/exec.c). The tid that it had is gone.
 */
static void take_leaders_tid(DtcMachine *m, const struct dtc_event *event)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	int64_t old_tid = event->v[DTC_TASK_OLD_TID];
	if (old_tid == DTC_ABSENT || old_tid == event->v[DTC_TASK_TID] || cpu->current == DTC_NONE ||
	    DTC_THREAD(m, cpu->current)->tid != old_tid)
		return;
	uint32_t old = cpu->current, leader = dtc_machine_get_thread(m, event->v[DTC_TASK_TID], event->cpu);
	if (leader == DTC_NONE)
		return;
	dtc_machine_abandon_call(m, old, DTC_STATE_EXITED, m->now_ns);
	DTC_THREAD(m, old)->end_ns = m->now_ns;
	DTC_TASK(m, old)->freed = true;
	struct dtc_task *task = DTC_TASK(m, leader);
	if (dtc_state_is_wait(task->state))
		task->ref = add_unknown_wake(m, leader, m->now_ns, (uint16_t)event->cpu);
	dtc_machine_abandon_call(m, leader, DTC_STATE_KERNEL, m->now_ns);
	task->freed = false;
	task->pending_wake = DTC_NONE;
	task->in_kernel = true; /* in the exec, until it returns */
	cpu = dtc_machine_get_cpu(m, event->cpu);
	cpu->current = leader;
	dtc_machine_set_running(m, leader, m->now_ns, event->cpu);
	dtc_history_add_run(m->history, event->cpu, m->now_ns, leader);
}

static void apply_exec(DtcMachine *m, const struct dtc_event *event)
{
	take_leaders_tid(m, event);
	uint32_t thread = dtc_machine_get_thread(m, event->v[DTC_TASK_TID], event->cpu);
	if (thread == DTC_NONE || !event->text[0])
		return;
	g_autofree char *name = g_path_get_basename(event->text[0]);
	if (strlen(name) > 15) /* TASK_COMM_LEN */
		name[15] = 0;
	DTC_TASK(m, thread)->name_seen_ns = m->now_ns; /* the old name ends here */
	dtc_machine_observe_name(m, thread, name, m->now_ns);
	DTC_THREAD(m, thread)->is_kernel = false;
	dtc_machine_exec_files(m, DTC_THREAD(m, thread)->pid > 0 ? DTC_THREAD(m, thread)->pid
								 : DTC_THREAD(m, thread)->tid);
}

void dtc_machine_apply_sched(DtcMachine *m, const struct dtc_event *event)
{
	switch ((enum dtc_event_kind)event->kind) {
	case DTC_EVENT_SCHED_SWITCH:
		apply_switch(m, event);
		break;
	case DTC_EVENT_SCHED_WAKING:
	case DTC_EVENT_SCHED_WAKEUP:
	case DTC_EVENT_SCHED_WAKEUP_NEW:
		apply_waking(m, event);
		break;
	case DTC_EVENT_SCHED_MIGRATE: {
		uint32_t thread = dtc_machine_get_thread(m, event->v[DTC_TASK_TID], event->cpu);
		if (thread != DTC_NONE) {
			struct dtc_task *task = DTC_TASK(m, thread);
			if (task->state == DTC_STATE_RUNQUEUE || task->state == DTC_STATE_PREEMPTED)
				dtc_machine_set_state(m, thread, task->state, m->now_ns, get_target_cpu(event),
						      DTC_NONE);
		}
		break;
	}
	case DTC_EVENT_SCHED_FORK:
		apply_fork(m, event);
		break;
	case DTC_EVENT_SCHED_EXEC:
		apply_exec(m, event);
		break;
	case DTC_EVENT_SCHED_EXIT: {
		uint32_t thread = dtc_machine_get_thread(m, event->v[DTC_TASK_TID], event->cpu);
		if (thread == DTC_NONE)
			break;
		dtc_machine_observe_name(m, thread, event->text[0], m->now_ns);
		if (DTC_TASK(m, thread)->call != DTC_NONE)
			dtc_machine_close_call(m, thread, DTC_TIME_NONE, DTC_ABSENT);
		DTC_TASK(m, thread)->in_kernel = true;
		if (dtc_state_is_running(DTC_TASK(m, thread)->state))
			dtc_machine_set_running(m, thread, m->now_ns, DTC_TASK(m, thread)->cpu);
		if (DTC_THREAD(m, thread)->pid == DTC_THREAD(m, thread)->tid)
			dtc_machine_drop_files(m, DTC_THREAD(m, thread)->pid);
		break;
	}
	default:
		break;
	}
}
