/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Workqueues: who queued what a kernel worker does. A worker that was awake already, or was woken for something else,
 * was not woken by whoever queued the work that it now executes; the address of the work joins the two events. It is
 * queued at most once at a time (WORK_STRUCT_PENDING), so the last queueing before the start is the one.
 */
#include "analyze/state/machine_state.h"

static struct dtc_wake *find_queued(DtcMachine *m, int64_t address)
{
	return g_hash_table_lookup(m->queued_works, &address);
}

static void apply_queue(DtcMachine *m, const struct dtc_event *event)
{
	int64_t address = event->v[DTC_WORK_ADDRESS];
	struct dtc_wake *queued = find_queued(m, address);
	if (!queued) {
		int64_t *key = g_new(int64_t, 1);
		*key = address;
		queued = g_new0(struct dtc_wake, 1);
		g_hash_table_insert(m->queued_works, key, queued);
	}
	*queued = dtc_machine_get_origin(m, event->cpu);
}

static void apply_start(DtcMachine *m, const struct dtc_event *event)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	if (cpu->depth || cpu->current == DTC_NONE)
		return;
	struct dtc_work work = { .queued.waking_ns = DTC_TIME_NONE,
				 .queued.wakeup_ns = DTC_TIME_NONE,
				 .queued.thread = DTC_NONE,
				 .queued.ref = DTC_NONE,
				 .begin_ns = m->now_ns,
				 .end_ns = DTC_TIME_NONE,
				 .function = event->v[DTC_WORK_FUNCTION] == DTC_ABSENT
						     ? 0
						     : (uint64_t)event->v[DTC_WORK_FUNCTION] };
	struct dtc_wake *queued = find_queued(m, event->v[DTC_WORK_ADDRESS]);
	if (queued) {
		work.queued = *queued;
		g_hash_table_remove(m->queued_works, &event->v[DTC_WORK_ADDRESS]);
	}
	work.queued.target = cpu->current;
	dtc_table_append(m->history->works, &work);
	dtc_machine_set_running(m, cpu->current, m->now_ns, event->cpu); /* an interval lies in one work, or in none */
	DTC_TASK(m, cpu->current)->work = m->history->works->len - 1;
}

static void apply_end(DtcMachine *m, const struct dtc_event *event)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	if (cpu->depth || cpu->current == DTC_NONE)
		return;
	struct dtc_task *task = DTC_TASK(m, cpu->current);
	if (task->work == DTC_NONE)
		return;
	DTC_AT(m->history->works, struct dtc_work, task->work)->end_ns = m->now_ns;
	task->work = DTC_NONE;
	cpu->completed = DTC_NONE;
	dtc_machine_set_running(m, cpu->current, m->now_ns, event->cpu);
}

void dtc_machine_apply_work(DtcMachine *m, const struct dtc_event *event)
{
	if (event->v[DTC_WORK_ADDRESS] == DTC_ABSENT)
		return;
	if (event->kind == DTC_EVENT_WORK_QUEUE)
		apply_queue(m, event);
	else if (event->kind == DTC_EVENT_WORK_START)
		apply_start(m, event);
	else
		apply_end(m, event);
}
