/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/state/event_context.h"

#include "analyze/state/machine_state.h"

const char *dtc_machine_get_string(const DtcMachine *m, uint32_t string)
{
	if (string == DTC_CONTEXT_IDLER)
		return "idle";
	return string == DTC_NONE ? "" : dtc_history_get_string(m->history, string);
}

static uint32_t get_process_name(const DtcMachine *m, uint32_t thread)
{
	uint32_t leader = DTC_THREAD(m, thread)->leader;

	if (DTC_THREAD(m, thread)->idle_cpu >= 0)
		return DTC_CONTEXT_IDLER;
	return DTC_TASK(m, leader == DTC_NONE ? thread : leader)->name;
}

/* An interrupt, though it is not known upon whom. */
static void set_interrupt(const struct dtc_cpu *cpu, struct dtc_event_context *context)
{
	for (guint i = cpu->depth; i-- > 0;) {
		const struct dtc_context *on_top = &cpu->stack[i];
		if (on_top->kind > DTC_CONTEXT_VECTOR)
			continue; /* timers fire in one of the others */
		bool is_softirq = on_top->kind == DTC_CONTEXT_SOFTIRQ;
		context->state = is_softirq ? DTC_STATE_SOFTIRQ : DTC_STATE_IRQ;
		context->vector = is_softirq ? on_top->value : DTC_NONE;
		context->name = is_softirq ? DTC_NONE : on_top->name;
		return;
	}
}

struct dtc_event_context dtc_machine_get_context(const DtcMachine *m, uint32_t number)
{
	struct dtc_event_context context = { DTC_STATE_UNKNOWN, DTC_NONE, DTC_NONE, DTC_NONE };

	if (number >= m->cpus->len)
		return context;
	const struct dtc_cpu *cpu = &g_array_index(m->cpus, struct dtc_cpu, number);
	if (cpu->current == DTC_NONE) {
		set_interrupt(cpu, &context);
		return context;
	}
	const struct dtc_task *task = DTC_TASK(m, cpu->current);
	context.process = get_process_name(m, cpu->current);
	if (!dtc_state_is_running(task->state) && task->state != DTC_STATE_IDLE)
		return context;
	context.state = task->state;
	if (task->state == DTC_STATE_IRQ)
		context.name = task->ref;
	else if (task->state == DTC_STATE_SOFTIRQ)
		context.vector = task->ref;
	else if (task->state == DTC_STATE_SYSCALL && task->call != DTC_NONE)
		context.name = DTC_AT(m->history->filling->calls, struct dtc_call, task->call)->name;
	return context;
}

static bool begins_context(const struct dtc_event *event)
{
	switch ((enum dtc_event_kind)event->kind) {
	case DTC_EVENT_IRQ_ENTRY:
	case DTC_EVENT_SOFTIRQ_ENTRY:
	case DTC_EVENT_VECTOR_ENTRY:
	case DTC_EVENT_SYSCALL_ENTRY:
		return true;
	default:
		return false;
	}
}

struct dtc_event_context dtc_machine_apply_in_context(DtcMachine *m, const struct dtc_event *event)
{
	struct dtc_event_context context = { DTC_STATE_UNKNOWN, DTC_NONE, DTC_NONE, DTC_NONE };
	bool is_begin = begins_context(event);

	if (!is_begin)
		context = dtc_machine_get_context(m, event->cpu);
	dtc_machine_apply(m, event);
	return is_begin ? dtc_machine_get_context(m, event->cpu) : context;
}
