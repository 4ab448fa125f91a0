/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/profile/profile.h"

#include "analyze/edge/cause.h"
#include "analyze/edge/shares.h"

#include <dtrace-chain/bisect.h>

#include <stdlib.h>
#include <string.h>

static const char *const names[DTC_PROFILE_COLUMNS] = {
	[DTC_PROFILE_USER] = "user",
	[DTC_PROFILE_SYSTEM] = "system",
	[DTC_PROFILE_IRQ] = "irq",
	[DTC_PROFILE_SOFTIRQ] = "softirq",
	[DTC_PROFILE_GUEST] = "guest",
	[DTC_PROFILE_RUNQUEUE] = "runqueue",
	[DTC_PROFILE_PREEMPTED] = "preempted",
	[DTC_PROFILE_VM_PREEMPTED] = "vm-preempted",
	[DTC_PROFILE_VM_EXIT] = "vm-exit",
	[DTC_PROFILE_DISK] = "disk",
	[DTC_PROFILE_PAGE_FAULT] = "page-fault",
	[DTC_PROFILE_NETWORK] = "network",
	[DTC_PROFILE_TIMER] = "timer",
	[DTC_PROFILE_LOCK] = "lock",
	[DTC_PROFILE_IPC] = "ipc",
	[DTC_PROFILE_FORK_EXEC] = "fork-exec",
	[DTC_PROFILE_CHILD] = "child",
	[DTC_PROFILE_DEVICE] = "device",
	[DTC_PROFILE_STOPPED] = "stopped",
	[DTC_PROFILE_WAIT] = "wait",
	[DTC_PROFILE_EXITED] = "exited",
	[DTC_PROFILE_IDLE] = "idle",
	[DTC_PROFILE_UNKNOWN] = "unknown",
	[DTC_PROFILE_CPU] = "cpu",
	[DTC_PROFILE_IO] = "io",
	[DTC_PROFILE_BLOCKED] = "blocked",
	[DTC_PROFILE_LIFE] = "life",
	[DTC_PROFILE_CALLS] = "calls",
	[DTC_PROFILE_FAULTS] = "faults",
	[DTC_PROFILE_WOKEN] = "woken",
	[DTC_PROFILE_WAKES] = "wakes",
	[DTC_PROFILE_SWITCHES] = "switches",
};

const char *dtc_profile_column_to_string(enum dtc_profile_column column)
{
	return column < DTC_PROFILE_COLUMNS ? names[column] : NULL;
}

bool dtc_profile_column_parse(const char *name, enum dtc_profile_column *ret_column)
{
	for (guint i = 0; i < DTC_PROFILE_COLUMNS; i++) {
		if (strcmp(names[i], name) == 0) {
			*ret_column = (enum dtc_profile_column)i;
			return true;
		}
	}
	return false;
}

static enum dtc_profile_column get_wait_column(enum dtc_cause cause)
{
	switch (cause) {
	case DTC_CAUSE_DISK:
		return DTC_PROFILE_DISK;
	case DTC_CAUSE_PAGE_FAULT:
		return DTC_PROFILE_PAGE_FAULT;
	case DTC_CAUSE_NETWORK_SEND:
	case DTC_CAUSE_NETWORK_WIRE:
	case DTC_CAUSE_NETWORK_RECEIVE:
	case DTC_CAUSE_RETRANSMISSION:
		return DTC_PROFILE_NETWORK;
	case DTC_CAUSE_TIMER:
		return DTC_PROFILE_TIMER;
	case DTC_CAUSE_LOCK:
		return DTC_PROFILE_LOCK;
	case DTC_CAUSE_IPC:
		return DTC_PROFILE_IPC;
	case DTC_CAUSE_FORK_EXEC:
		return DTC_PROFILE_FORK_EXEC;
	case DTC_CAUSE_CHILD:
		return DTC_PROFILE_CHILD;
	case DTC_CAUSE_DEVICE:
		return DTC_PROFILE_DEVICE;
	case DTC_CAUSE_STOPPED:
		return DTC_PROFILE_STOPPED;
	default:
		return DTC_PROFILE_WAIT;
	}
}

enum dtc_profile_column dtc_profile_get_column(const DtcHistory *history, const struct dtc_interval *interval)
{
	switch ((enum dtc_state)interval->state) {
	case DTC_STATE_USER:
		return DTC_PROFILE_USER;
	case DTC_STATE_SYSCALL:
	case DTC_STATE_KERNEL:
		return DTC_PROFILE_SYSTEM;
	case DTC_STATE_IRQ:
		return DTC_PROFILE_IRQ;
	case DTC_STATE_SOFTIRQ:
		return DTC_PROFILE_SOFTIRQ;
	case DTC_STATE_RUNQUEUE:
		return DTC_PROFILE_RUNQUEUE;
	case DTC_STATE_PREEMPTED:
		return DTC_PROFILE_PREEMPTED;
	case DTC_STATE_WAIT:
	case DTC_STATE_WAIT_DISK:
	case DTC_STATE_STOPPED:
		return get_wait_column(dtc_cause_of_interval(history, interval));
	case DTC_STATE_EXITED:
		return DTC_PROFILE_EXITED;
	case DTC_STATE_IDLE:
		return DTC_PROFILE_IDLE;
	case DTC_STATE_GUEST:
		return DTC_PROFILE_GUEST;
	case DTC_STATE_VM_PREEMPTED:
		return DTC_PROFILE_VM_PREEMPTED;
	case DTC_STATE_VM_EXIT:
		return DTC_PROFILE_VM_EXIT;
	case DTC_STATE_UNKNOWN:
	case DTC_STATES_OF_SHARES:
		break;
	}
	return DTC_PROFILE_UNKNOWN;
}

static void add_sums(struct dtc_profile_row *row)
{
	int64_t *value = row->value;

	value[DTC_PROFILE_CPU] = value[DTC_PROFILE_USER] + value[DTC_PROFILE_SYSTEM] + value[DTC_PROFILE_IRQ] +
				 value[DTC_PROFILE_SOFTIRQ] + value[DTC_PROFILE_GUEST];
	value[DTC_PROFILE_IO] = value[DTC_PROFILE_DISK] + value[DTC_PROFILE_PAGE_FAULT];
	for (guint i = DTC_PROFILE_NETWORK; i <= DTC_PROFILE_WAIT; i++)
		value[DTC_PROFILE_BLOCKED] += value[i];
}

/* What is summed over: the parts of intervals, as they are cut. */
struct cutting {
	struct dtc_shares shares;
	GArray *parts; /* struct dtc_interval */
};

/* Adds an interval part by part. */
static void add_parts(struct dtc_profile_row *row, const struct dtc_interval *within, struct cutting *cutting)
{
	const DtcHistory *history = cutting->shares.history;

	dtc_shares_cut(&cutting->shares, within, cutting->parts);
	for (guint k = 0; k < cutting->parts->len; k++) {
		const struct dtc_interval *part = &g_array_index(cutting->parts, struct dtc_interval, k);
		row->value[dtc_profile_get_column(history, part)] += part->end_ns - part->begin_ns;
	}
}

#define STATE(name) (1u << DTC_STATE_##name)
/* Of these the state alone says the column. */
#define PLAIN_STATES (((1u << DTC_STATES) - 1) & ~(STATE(WAIT) | STATE(WAIT_DISK) | STATE(STOPPED)))
/* Of a thread that has its CPU. */
#define RUNNING_STATES (STATE(USER) | STATE(SYSCALL) | STATE(KERNEL) | STATE(IRQ) | STATE(SOFTIRQ) | STATE(IDLE))

static void add_intervals(struct dtc_profile_row *row, struct cutting *cutting, int64_t begin_ns, int64_t end_ns)
{
	const DtcHistory *history = cutting->shares.history;
	const struct dtc_thread *thread = dtc_history_get_thread(history, row->thread);
	bool is_cut = dtc_shares_has_any(&cutting->shares);
	struct dtc_state_times times = { .states = is_cut ? 0 : PLAIN_STATES, .cpu = DTC_NONE };
	struct dtc_interval place;
	const struct dtc_interval *interval = dtc_history_get_plain_after(history, row->thread, begin_ns, &place);

	row->value[DTC_PROFILE_LIFE] = MIN(thread->end_ns, end_ns) - MAX(thread->begin_ns, begin_ns);
	for (; interval && interval->begin_ns < end_ns; interval = dtc_history_get_next_plain(history, &place)) {
		int64_t from_ns = MAX(interval->begin_ns, begin_ns);
		interval = dtc_history_add_times(history, &place, from_ns, end_ns, &times);
		if (!interval || interval->begin_ns >= end_ns)
			break;
		dtc_history_fill_interval(history, &place);
		struct dtc_interval within = *interval;
		within.begin_ns = MAX(within.begin_ns, begin_ns);
		within.end_ns = MIN(within.end_ns, end_ns);
		if (is_cut)
			add_parts(row, &within, cutting);
		else
			row->value[dtc_profile_get_column(history, &within)] += within.end_ns - within.begin_ns;
	}
	for (guint state = 0; state < DTC_STATES; state++) {
		const struct dtc_interval plain = { .state = (uint8_t)state };
		if (times.states >> state & 1)
			row->value[dtc_profile_get_column(history, &plain)] += times.ns[state];
	}
}

/* Rows of one node by thread; DTC_NONE: the thread has none. */
struct counting {
	GArray *rows;
	guint first;	  /* of the node */
	uint32_t *row_of; /* by thread */
	int64_t begin_ns;
	int64_t end_ns; /* exclusive */
};

static void count(const struct counting *counting, uint32_t thread, enum dtc_profile_column column, int64_t time_ns)
{
	if (thread == DTC_NONE || time_ns < counting->begin_ns || time_ns >= counting->end_ns)
		return;
	uint32_t row = counting->row_of[thread];
	if (row != DTC_NONE)
		g_array_index(counting->rows, struct dtc_profile_row, row).value[column]++;
}

/* Of an accept in which a thread slept when the trace began there is the exit alone: no entry was traced. */
static bool was_entered(const struct dtc_call *call)
{
	return call->kind != DTC_CALL_ACCEPT || call->fd >= 0 || call->end_ns != call->begin_ns;
}

/* The calls of a thread are in the order of their begins. */
static void count_calls(const struct counting *counting, const DtcHistory *history, struct dtc_profile_row *row)
{
	const struct dtc_thread *thread = dtc_history_get_thread(history, row->thread);
	uint32_t end = thread->call_first + thread->call_count;
	uint32_t first =
		DTC_BISECT(i, thread->call_first, end, dtc_history_get_call_begin_ns(history, i) < counting->begin_ns);
	uint32_t after = DTC_BISECT(i, first, end, dtc_history_get_call_begin_ns(history, i) < counting->end_ns);

	row->value[DTC_PROFILE_CALLS] = 0;
	for (uint32_t i = first; i < after; i++) {
		struct dtc_call place;
		row->value[DTC_PROFILE_CALLS] += was_entered(dtc_history_get_call(history, i, &place));
	}
}

static void count_events(const struct counting *counting, const DtcHistory *history)
{
	for (uint32_t i = 0; i < dtc_history_get_fault_count(history); i++) {
		const struct dtc_fault fault = dtc_history_get_fault(history, i);
		count(counting, fault.thread, DTC_PROFILE_FAULTS, fault.time_ns);
	}
	for (uint32_t i = 0; i < dtc_history_get_wake_count(history); i++) {
		struct dtc_wake wake_place;
		const struct dtc_wake *wake = dtc_history_get_wake(history, i, &wake_place);
		/* made up for a wait that ended although no wakeup was traced: no event */
		if (wake->waker == DTC_WAKER_UNKNOWN && wake->thread == DTC_NONE && wake->wakeup_ns == DTC_TIME_NONE)
			continue;
		count(counting, wake->target, DTC_PROFILE_WOKEN, wake->waking_ns);
		if (wake->waker == DTC_WAKER_THREAD || wake->waker == DTC_WAKER_NEW)
			count(counting, wake->thread, DTC_PROFILE_WAKES, wake->waking_ns);
	}
	for (guint i = counting->first; i < counting->rows->len; i++)
		count_calls(counting, history, &g_array_index(counting->rows, struct dtc_profile_row, i));
	for (guint cpu = 0; cpu < dtc_history_get_cpu_count(history); cpu++) {
		uint32_t run_count = dtc_history_get_run_count(history, cpu);
		for (uint32_t i = 0; i < run_count; i++) {
			const struct dtc_run run = dtc_history_get_run(history, cpu, i);
			/* what had the CPU when the trace began was not switched in */
			if (i > 0 || run.begin_ns > dtc_history_get_begin_ns(history))
				count(counting, run.thread, DTC_PROFILE_SWITCHES, run.begin_ns);
		}
	}
}

void dtc_profile_add_threads(GArray *rows, const DtcLinks *links, guint node, const DtcHistory *history,
			     DtcNodeTime begin, DtcNodeTime end)
{
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(struct dtc_interval));
	struct cutting cutting = { .parts = parts };
	uint32_t thread_count = dtc_history_get_thread_count(history);
	g_autofree uint32_t *row_of = g_new(uint32_t, thread_count + 1);
	guint first = rows->len;

	dtc_shares_begin(&cutting.shares, links, node, history, DTC_NONE);
	for (uint32_t i = 0; i < thread_count; i++) {
		const struct dtc_thread *thread = dtc_history_get_thread(history, i);
		row_of[i] = DTC_NONE;
		if (MAX(thread->begin_ns, begin.ns) >= MIN(thread->end_ns, end.ns))
			continue;
		struct dtc_profile_row row = { .node = node, .thread = i, .thread_count = 1 };
		dtc_shares_turn_to(&cutting.shares, i);
		add_intervals(&row, &cutting, begin.ns, end.ns);
		row_of[i] = rows->len;
		g_array_append_val(rows, row);
	}
	struct counting counting = { rows, first, row_of, begin.ns, end.ns };
	if (end.ns >= dtc_history_get_end_ns(history) && end.ns < INT64_MAX)
		counting.end_ns++; /* what happened with the last event belongs to the span that reaches it */
	count_events(&counting, history);
	for (guint i = first; i < rows->len; i++)
		add_sums(&g_array_index(rows, struct dtc_profile_row, i));
}

static int64_t *find_sum(struct dtc_profile_cpu *sums, enum dtc_state state, bool is_idle)
{
	switch (state) {
	case DTC_STATE_IRQ:
		return &sums->irq_ns;
	case DTC_STATE_SOFTIRQ:
		return &sums->softirq_ns;
	case DTC_STATE_GUEST:
		return &sums->guest_ns;
	case DTC_STATE_VM_PREEMPTED:
		return &sums->vm_preempted_ns;
	case DTC_STATE_VM_EXIT:
		return &sums->vm_exit_ns;
	default:
		return is_idle ? &sums->idle_ns : state == DTC_STATE_USER ? &sums->user_ns : &sums->system_ns;
	}
}

/* What is summed over the runs of one CPU. */
struct summing {
	struct dtc_profile_cpu sums;
	struct dtc_state_times times[2]; /* where nothing is cut; by whether an idle thread ran */
	struct cutting cutting;
	uint32_t *next; /* by thread: one more than its interval that was looked at last; 0: none */
};

/* A span of an interval in which its thread had its CPU, part by part. */
static void add_running(struct summing *summing, const struct dtc_interval *place, int64_t begin_ns, int64_t end_ns,
			bool is_idle)
{
	struct cutting *cutting = &summing->cutting;
	struct dtc_interval interval = *place;

	interval.begin_ns = begin_ns;
	interval.end_ns = end_ns;
	dtc_shares_cut(&cutting->shares, &interval, cutting->parts);
	for (guint k = 0; k < cutting->parts->len; k++) {
		const struct dtc_interval *part = &g_array_index(cutting->parts, struct dtc_interval, k);
		*find_sum(&summing->sums, part->state, is_idle) += part->end_ns - part->begin_ns;
	}
}

/* As dtc_history_get_plain_after; the runs of a thread follow each other, and so do what it did in them. */
static const struct dtc_interval *find_interval(const struct summing *summing, uint32_t thread, int64_t time_ns,
						struct dtc_interval *place)
{
	const DtcHistory *history = summing->cutting.shares.history;
	const struct dtc_interval *found = NULL;

	if (summing->next[thread]) {
		*place = (struct dtc_interval){ .thread = thread, .index = summing->next[thread] - 1 };
		found = dtc_history_find_plain_near(history, thread, time_ns + 1, place);
	}
	return found ? found : dtc_history_get_plain_after(history, thread, time_ns, place);
}

/* What a run's thread did while it had the CPU. */
static void add_run(struct summing *summing, uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
	const DtcHistory *history = summing->cutting.shares.history;
	bool is_idle = dtc_history_get_thread(history, thread)->idle_cpu >= 0;
	bool is_cut = dtc_shares_has_any(&summing->cutting.shares);
	struct dtc_state_times *times = &summing->times[is_idle];
	struct dtc_interval place;
	const struct dtc_interval *next = find_interval(summing, thread, begin_ns, &place);
	int64_t at_ns = begin_ns;

	while (next && at_ns < end_ns) {
		int64_t until_ns = MIN(next->end_ns, end_ns);
		bool is_here = next->cpu == times->cpu && RUNNING_STATES >> next->state & 1;
		summing->next[thread] = place.index + 1;
		if (is_here && !is_cut) {
			next = dtc_history_add_times(history, &place, at_ns, end_ns, times);
			at_ns = next ? next->begin_ns : MIN(place.end_ns, end_ns);
			continue;
		}
		if (is_here) {
			dtc_history_fill_interval(history, &place);
			add_running(summing, &place, at_ns, until_ns, is_idle);
		} else {
			summing->sums.unknown_ns += until_ns - at_ns;
			summing->sums.wrong_count += next->state != DTC_STATE_UNKNOWN;
		}
		at_ns = until_ns;
		next = dtc_history_get_next_plain(history, &place);
	}
	if (at_ns < end_ns) { /* it runs before or after its life */
		summing->sums.unknown_ns += end_ns - at_ns;
		summing->sums.wrong_count++;
	}
}

struct dtc_profile_cpu dtc_profile_sum_cpus(const struct dtc_profile_cpu *cpus, guint count)
{
	struct dtc_profile_cpu sum = { 0 };

	for (guint i = 0; i < count; i++) {
		sum.span_ns += cpus[i].span_ns;
		sum.user_ns += cpus[i].user_ns;
		sum.system_ns += cpus[i].system_ns;
		sum.irq_ns += cpus[i].irq_ns;
		sum.softirq_ns += cpus[i].softirq_ns;
		sum.guest_ns += cpus[i].guest_ns;
		sum.vm_preempted_ns += cpus[i].vm_preempted_ns;
		sum.vm_exit_ns += cpus[i].vm_exit_ns;
		sum.idle_ns += cpus[i].idle_ns;
		sum.unknown_ns += cpus[i].unknown_ns;
		sum.wrong_count += cpus[i].wrong_count;
	}
	return sum;
}

struct dtc_profile_cpu dtc_profile_get_cpu(const DtcLinks *links, guint node, const DtcHistory *history, guint cpu,
					   DtcNodeTime begin, DtcNodeTime end)
{
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(struct dtc_interval));
	g_autofree uint32_t *next = g_new0(uint32_t, dtc_history_get_thread_count(history) + 1);
	const struct dtc_state_times none = { .states = RUNNING_STATES, .cpu = cpu };
	int64_t begin_ns = MAX(begin.ns, dtc_history_get_begin_ns(history));
	int64_t end_ns = MIN(end.ns, dtc_history_get_end_ns(history));
	struct summing summing = { .times = { none, none }, .cutting = { .parts = parts }, .next = next };
	struct dtc_profile_cpu *sums = &summing.sums;
	uint32_t count = dtc_history_get_run_count(history, cpu);
	int64_t first_ns = MIN(count ? dtc_history_get_run(history, cpu, 0).begin_ns : end_ns, end_ns);

	sums->span_ns = MAX(end_ns - begin_ns, 0);
	if (sums->span_ns == 0)
		return *sums;
	sums->unknown_ns = MAX(first_ns - begin_ns, 0);
	dtc_shares_begin(&summing.cutting.shares, links, node, history, DTC_NONE);
	uint32_t after = dtc_history_find_run_after(history, cpu, begin_ns);
	for (uint32_t i = after ? after - 1 : 0; i < count; i++) {
		const struct dtc_run run = dtc_history_get_run(history, cpu, i);
		if (run.begin_ns >= end_ns)
			break;
		int64_t next_ns = i + 1 < count ? dtc_history_get_run(history, cpu, i + 1).begin_ns : end_ns;
		int64_t from_ns = MAX(run.begin_ns, begin_ns), to_ns = MIN(next_ns, end_ns);
		if (to_ns <= from_ns)
			continue;
		if (run.thread == DTC_NONE) {
			sums->unknown_ns += to_ns - from_ns;
			continue;
		}
		dtc_shares_turn_to(&summing.cutting.shares, run.thread);
		add_run(&summing, run.thread, from_ns, to_ns);
	}
	for (guint state = 0; state < DTC_STATES; state++)
		for (guint is_idle = 0; is_idle < 2; is_idle++)
			*find_sum(sums, state, is_idle) += summing.times[is_idle].ns[state];
	return *sums;
}

GArray *dtc_profile_group_processes(const GArray *rows, const DtcHistory *history)
{
	GArray *processes = g_array_new(FALSE, FALSE, sizeof(struct dtc_profile_row));
	g_autoptr(GHashTable) by_leader = g_hash_table_new(g_direct_hash, g_direct_equal);

	for (guint i = 0; i < rows->len; i++) {
		const struct dtc_profile_row *row = &g_array_index(rows, struct dtc_profile_row, i);
		const struct dtc_thread *thread = dtc_history_get_thread(history, row->thread);
		if (thread->idle_cpu >= 0)
			continue;
		uint32_t leader = thread->leader == DTC_NONE ? row->thread : thread->leader;
		guint found = GPOINTER_TO_UINT(g_hash_table_lookup(by_leader, GUINT_TO_POINTER(leader + 1)));
		if (!found) {
			struct dtc_profile_row process = *row;
			process.thread = leader;
			g_array_append_val(processes, process);
			g_hash_table_insert(by_leader, GUINT_TO_POINTER(leader + 1), GUINT_TO_POINTER(processes->len));
			continue;
		}
		struct dtc_profile_row *process = &g_array_index(processes, struct dtc_profile_row, found - 1);
		process->thread_count += row->thread_count;
		for (guint k = 0; k < DTC_PROFILE_COLUMNS; k++)
			process->value[k] += row->value[k];
	}
	return processes;
}

static int compare_rows(const void *a, const void *b, void *data)
{
	const struct dtc_profile_row *x = a, *y = b;
	enum dtc_profile_column columns[] = { *(const enum dtc_profile_column *)data, DTC_PROFILE_CPU };

	for (gsize i = 0; i < G_N_ELEMENTS(columns); i++) {
		int64_t p = x->value[columns[i]], q = y->value[columns[i]];
		if (p != q)
			return p > q ? -1 : 1;
	}
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

void dtc_profile_sort(GArray *rows, enum dtc_profile_column column)
{
	g_array_sort_with_data(rows, compare_rows, &column);
}
