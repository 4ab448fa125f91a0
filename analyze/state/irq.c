/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interrupts, softirqs, timer callbacks and vectors: the stack on top of each CPU's thread. */
#include "analyze/state/machine_state.h"

#include <string.h>

static void push(DtcMachine *m, const struct dtc_event *event, enum dtc_context_kind kind, uint32_t value,
		 uint32_t name)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	m->saw_irq = true;
	cpu->last_wake = DTC_NONE;
	if (cpu->depth == DTC_CONTEXT_DEPTH)
		return; /* exits were lost; the next switch clears the stack */
	cpu->stack[cpu->depth++] = (struct dtc_context){ .kind = (uint8_t)kind,
							 .value = value,
							 .name = name,
							 .packet = DTC_NONE,
							 .block = DTC_NONE,
							 .begin_ns = m->now_ns,
							 .raised_ns = DTC_TIME_NONE };
	if (cpu->current == DTC_NONE)
		return;
	if (kind <= DTC_CONTEXT_VECTOR)
		dtc_machine_set_running(m, cpu->current, m->now_ns, event->cpu);
	else if (DTC_TASK(m, cpu->current)->guest_span != DTC_NONE) /* a trace without the vectors of timers */
		dtc_machine_leave_guest(m, cpu->current, m->now_ns);
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

/* The string of a handler's name: a number has the same one nearly always, which is then not looked up. */
static uint32_t add_irq_name(DtcMachine *m, int64_t irq, const char *name)
{
	uint32_t *last = &m->last_irq_names[(uint64_t)irq % G_N_ELEMENTS(m->last_irq_names)];
	if (!*last || strcmp(dtc_history_get_string(m->history, *last - 1), name) != 0)
		*last = dtc_history_add_string(m->history, name) + 1;
	return *last - 1;
}

/* The handler's name, from the event or from the state dump; else its number. */
static uint32_t name_irq(DtcMachine *m, const struct dtc_event *event)
{
	int64_t irq = event->v[DTC_IRQ_NUMBER];
	if (event->text[0])
		return add_irq_name(m, irq, event->text[0]);
	if (irq < 0 || irq > G_MAXINT)
		return DTC_NONE;
	guint known = GPOINTER_TO_UINT(g_hash_table_lookup(m->irq_names, GINT_TO_POINTER((int)irq)));
	if (!known) {
		g_autofree char *name = g_strdup_printf("irq %d", (int)irq);
		known = dtc_history_add_string(m->history, name) + 1;
		g_hash_table_insert(m->irq_names, GINT_TO_POINTER((int)irq), GUINT_TO_POINTER(known));
	}
	return known - 1;
}

/* "local_timer" of x86_irq_vectors_local_timer_entry; what an ipi_entry gives as its reason. */
static uint32_t name_vector(DtcMachine *m, const struct dtc_event *event)
{
	if (event->text[0])
		return dtc_history_add_string(m->history, event->text[0]);
	if (!m->reader)
		return DTC_NONE;
	while (m->vector_names->len <= event->name) {
		uint32_t none = DTC_NONE;
		g_array_append_val(m->vector_names, none);
	}
	uint32_t *known = &g_array_index(m->vector_names, uint32_t, event->name);
	if (*known == DTC_NONE) {
		const char *name = dtc_reader_get_event_name(m->reader, event->name);
		const char *begin = strstr(name, "vectors");
		begin = begin ? begin + strlen("vectors_") : name;
		g_autofree char *stem = g_str_has_suffix(begin, "_entry")
						? g_strndup(begin, strlen(begin) - strlen("_entry"))
						: g_strdup(begin);
		*known = dtc_history_add_string(m->history, stem);
	}
	return *known;
}

static void set_function(struct dtc_cpu *cpu, int64_t function)
{
	struct dtc_context *top = dtc_machine_get_top(cpu);
	if (top && top->kind == DTC_CONTEXT_HRTIMER && function != DTC_ABSENT)
		top->function = (uint64_t)function;
}

/* The network interface asks for the softirq that takes its packets: they have arrived. The first call counts. */
static void raise_softirq(struct dtc_cpu *cpu, int64_t vector, int64_t time_ns)
{
	cpu->raised = (uint32_t)vector;
	if (vector == DTC_SOFTIRQ_NET_RX && cpu->net_raised_ns == DTC_TIME_NONE)
		cpu->net_raised_ns = time_ns;
}

static void begin_softirq(struct dtc_cpu *cpu, int64_t vector)
{
	struct dtc_context *top = dtc_machine_get_top(cpu);
	if (vector != DTC_SOFTIRQ_NET_RX)
		return;
	if (top && top->kind == DTC_CONTEXT_SOFTIRQ)
		top->raised_ns = cpu->net_raised_ns;
	cpu->net_raised_ns = DTC_TIME_NONE;
}

void dtc_machine_apply_irq(DtcMachine *m, const struct dtc_event *event)
{
	switch ((enum dtc_event_kind)event->kind) {
	case DTC_EVENT_IRQ_ENTRY: {
		uint32_t name = name_irq(m, event);
		push(m, event, DTC_CONTEXT_IRQ, name, name);
		break;
	}
	case DTC_EVENT_IRQ_EXIT:
		pop(m, event, DTC_CONTEXT_IRQ);
		break;
	case DTC_EVENT_SOFTIRQ_RAISE:
		raise_softirq(dtc_machine_get_cpu(m, event->cpu), event->v[DTC_SOFTIRQ_VECTOR], m->now_ns);
		break;
	case DTC_EVENT_SOFTIRQ_ENTRY:
		push(m, event, DTC_CONTEXT_SOFTIRQ, (uint32_t)event->v[DTC_SOFTIRQ_VECTOR], DTC_NONE);
		begin_softirq(dtc_machine_get_cpu(m, event->cpu), event->v[DTC_SOFTIRQ_VECTOR]);
		break;
	case DTC_EVENT_SOFTIRQ_EXIT:
		pop(m, event, DTC_CONTEXT_SOFTIRQ);
		break;
	case DTC_EVENT_HRTIMER_ENTRY:
		push(m, event, DTC_CONTEXT_HRTIMER, DTC_NONE, DTC_NONE);
		set_function(dtc_machine_get_cpu(m, event->cpu), event->v[DTC_TIMER_FUNCTION]);
		if (m->period_function && event->v[DTC_TIMER_FUNCTION] == m->period_function)
			dtc_table_append(m->history->period_ends, &m->now_ns);
		break;
	case DTC_EVENT_HRTIMER_EXIT:
		pop(m, event, DTC_CONTEXT_HRTIMER);
		break;
	case DTC_EVENT_TIMER_ENTRY:
		push(m, event, DTC_CONTEXT_TIMER, DTC_NONE, DTC_NONE);
		break;
	case DTC_EVENT_TIMER_EXIT:
		pop(m, event, DTC_CONTEXT_TIMER);
		break;
	case DTC_EVENT_VECTOR_ENTRY:
		push(m, event, DTC_CONTEXT_VECTOR, (uint32_t)event->v[DTC_VECTOR_TYPE], name_vector(m, event));
		break;
	case DTC_EVENT_VECTOR_EXIT:
		pop(m, event, DTC_CONTEXT_VECTOR);
		break;
	default:
		break;
	}
}
