/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interrupts, softirqs, timer callbacks and vectors: the stack on top of each CPU's thread. */
#include "analyze/state/machine_state.h"

static void push(DtcMachine *m, const struct dtc_event *event, enum dtc_context_kind kind, uint32_t value)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	if (cpu->depth == DTC_CONTEXT_DEPTH)
		return; /* exits were lost; the next switch clears the stack */
	cpu->stack[cpu->depth++] = (struct dtc_context){ (uint8_t)kind, value, DTC_NONE, DTC_NONE, m->now_ns };
	if (cpu->current != DTC_NONE && kind <= DTC_CONTEXT_VECTOR)
		dtc_machine_set_running(m, cpu->current, m->now_ns, event->cpu);
}

/* Leaves the innermost context of that kind, and whatever lies above it (an exit was lost). */
static void pop(DtcMachine *m, const struct dtc_event *event, enum dtc_context_kind kind)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	for (guint i = cpu->depth; i-- > 0;) {
		if (cpu->stack[i].kind != kind)
			continue;
		cpu->depth = i;
		if (cpu->current != DTC_NONE && kind <= DTC_CONTEXT_VECTOR)
			dtc_machine_set_running(m, cpu->current, m->now_ns, event->cpu);
		return;
	}
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
		push(m, event, DTC_CONTEXT_VECTOR, (uint32_t)event->v[DTC_VECTOR_TYPE]);
		break;
	case DTC_EVENT_VECTOR_EXIT:
		pop(m, event, DTC_CONTEXT_VECTOR);
		break;
	default:
		break;
	}
}
