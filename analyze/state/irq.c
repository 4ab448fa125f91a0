/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interrupts, softirqs, timer callbacks and vectors: the stack on top of each CPU's thread. */
#include "analyze/state/machine_state.h"

static void push(DtcMachine *m, const struct dtc_event *event, enum dtc_context_kind kind, uint32_t value)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	m->saw_irq = true;
	cpu->last_wake = DTC_NONE;
	if (cpu->depth == DTC_CONTEXT_DEPTH)
		return; /* exits were lost; the next switch clears the stack */
	cpu->stack[cpu->depth++] = (struct dtc_context){
		.kind = (uint8_t)kind, .value = value, .packet = DTC_NONE, .block = DTC_NONE, .begin_ns = m->now_ns
	};
	if (cpu->current != DTC_NONE && kind <= DTC_CONTEXT_VECTOR)
		dtc_machine_set_running(m, cpu->current, m->now_ns, event->cpu);
}

/* Leaves the innermost context of that kind, and whatever lies above it (an exit was lost). */
static void pop(DtcMachine *m, const struct dtc_event *event, enum dtc_context_kind kind)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	cpu->last_wake = DTC_NONE;
	for (guint i = cpu->depth; i-- > 0;) {
		if (cpu->stack[i].kind != kind)
			continue;
		cpu->depth = i;
		dtc_machine_end_act(m, cpu, event->cpu, &cpu->stack[i], DTC_NONE);
		if (kind == DTC_CONTEXT_VECTOR)
			cpu->sent_count = 0; /* what was sent before is taken */
		if (cpu->current != DTC_NONE && kind <= DTC_CONTEXT_VECTOR)
			dtc_machine_set_running(m, cpu->current, m->now_ns, event->cpu);
		return;
	}
}

static void set_function(struct dtc_cpu *cpu, int64_t function)
{
	struct dtc_context *top = dtc_machine_get_top(cpu);
	if (top && top->kind == DTC_CONTEXT_HRTIMER && function != DTC_ABSENT)
		top->function = (uint64_t)function;
}

void dtc_machine_apply_irq(DtcMachine *m, const struct dtc_event *event)
{
	switch ((enum dtc_event_kind)event->kind) {
	case DTC_EVENT_IRQ_ENTRY: {
		uint32_t name = event->text[0] ? dtc_history_add_string(m->history, event->text[0]) : DTC_NONE;
		push(m, event, DTC_CONTEXT_IRQ, name);
		break;
	}
	case DTC_EVENT_IRQ_EXIT:
		pop(m, event, DTC_CONTEXT_IRQ);
		break;
	case DTC_EVENT_SOFTIRQ_ENTRY:
		m->saw_softirq = true;
		push(m, event, DTC_CONTEXT_SOFTIRQ, (uint32_t)event->v[DTC_SOFTIRQ_VECTOR]);
		break;
	case DTC_EVENT_SOFTIRQ_EXIT:
		pop(m, event, DTC_CONTEXT_SOFTIRQ);
		break;
	case DTC_EVENT_HRTIMER_ENTRY:
		push(m, event, DTC_CONTEXT_HRTIMER, DTC_NONE);
		set_function(dtc_machine_get_cpu(m, event->cpu), event->v[DTC_TIMER_FUNCTION]);
		break;
	case DTC_EVENT_HRTIMER_EXIT:
		pop(m, event, DTC_CONTEXT_HRTIMER);
		break;
	case DTC_EVENT_TIMER_ENTRY:
		push(m, event, DTC_CONTEXT_TIMER, DTC_NONE);
		break;
	case DTC_EVENT_TIMER_EXIT:
		pop(m, event, DTC_CONTEXT_TIMER);
		break;
	case DTC_EVENT_VECTOR_ENTRY:
		m->saw_vector = true;
		push(m, event, DTC_CONTEXT_VECTOR, (uint32_t)event->v[DTC_VECTOR_TYPE]);
		break;
	case DTC_EVENT_VECTOR_EXIT:
		pop(m, event, DTC_CONTEXT_VECTOR);
		break;
	default:
		break;
	}
}
