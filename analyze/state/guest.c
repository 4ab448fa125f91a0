/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that enter a guest (KVM). The vCPU is the thread that runs, whatever vcpu_id says. The processor leaves the
 * guest before kvm_exit is logged: on SVM the host's interrupts are served in between. But from kvm_entry to the exit
 * itself interrupts are off, so that an interrupt, a system call or a switch on that CPU shows that the guest was left.
 * Other events do not: kvm_wait_lapic_expire, for one, comes after kvm_entry and before the guest runs (arch/x86/kvm,
 * Linux 6.1).
 */
#include "analyze/state/machine_state.h"

void dtc_machine_leave_guest(DtcMachine *m, uint32_t thread, int64_t time_ns)
{
	struct dtc_guest_span *span =
		DTC_AT(m->history->guest_spans, struct dtc_guest_span, DTC_TASK(m, thread)->guest_span);
	if (span->left_ns == DTC_TIME_NONE)
		span->left_ns = MAX(time_ns, span->entry_ns);
}

static void close_span(DtcMachine *m, uint32_t thread)
{
	dtc_machine_leave_guest(m, thread, m->now_ns);
	DTC_TASK(m, thread)->guest_span = DTC_NONE;
}

static struct dtc_vcpu *get_vcpu(DtcMachine *m, uint32_t thread)
{
	GArray *vcpus = m->history->vcpus;
	for (guint i = vcpus->len; i-- > 0;) /* a host has some dozens of them at most that ran in one trace */
		if (g_array_index(vcpus, struct dtc_vcpu, i).thread == thread)
			return &g_array_index(vcpus, struct dtc_vcpu, i);
	struct dtc_vcpu fresh = { .thread = thread, .number = -2 };
	g_array_append_val(vcpus, fresh);
	return &g_array_index(vcpus, struct dtc_vcpu, vcpus->len - 1);
}

/* The number is credible as long as it stays the same. */
static void observe_number(struct dtc_vcpu *vcpu, int64_t number)
{
	bool possible = number != DTC_ABSENT && number >= 0 && number < DTC_VCPU_LIMIT;
	if (vcpu->number == -2)
		vcpu->number = possible ? (int32_t)number : -1;
	else if (vcpu->number != number)
		vcpu->number = -1;
}

static void apply_entry(DtcMachine *m, const struct dtc_event *event, uint32_t thread)
{
	if (DTC_TASK(m, thread)->guest_span != DTC_NONE) /* entered again on a fast path, which logs no exit */
		close_span(m, thread);
	struct dtc_vcpu *vcpu = get_vcpu(m, thread);
	observe_number(vcpu, event->v[DTC_KVM_VCPU]);
	vcpu->span_count++;
	const struct dtc_guest_span span = {
		.entry_ns = m->now_ns,
		.left_ns = DTC_TIME_NONE,
		.exit_ns = DTC_TIME_NONE,
		.thread = thread,
		.reason = DTC_EXIT_UNKNOWN,
	};
	DTC_TASK(m, thread)->guest_span = m->history->guest_spans->len;
	dtc_table_append(m->history->guest_spans, &span);
}

static void apply_exit(DtcMachine *m, const struct dtc_event *event, uint32_t thread)
{
	uint32_t index = DTC_TASK(m, thread)->guest_span;
	if (index == DTC_NONE)
		return; /* it was entered before the trace, or the entry was lost: since when it ran is not known */
	close_span(m, thread);
	struct dtc_guest_span *span = DTC_AT(m->history->guest_spans, struct dtc_guest_span, index);
	span->exit_ns = m->now_ns;
	int64_t reason = event->v[DTC_KVM_REASON], isa = event->v[DTC_KVM_ISA];
	if (reason != DTC_ABSENT && reason >= 0 && reason < DTC_EXIT_UNKNOWN)
		span->reason = (uint16_t)reason;
	if (isa == 1 || isa == 2)
		span->isa = (uint8_t)isa;
}

static void apply_irq(DtcMachine *m, const struct dtc_event *event, struct dtc_cpu *cpu)
{
	bool is_injection = event->kind == DTC_EVENT_KVM_INJECT;
	int64_t vector = event->v[DTC_KVM_VECTOR], apic = event->v[DTC_KVM_APIC];
	if (vector == DTC_ABSENT || vector < 0 || vector > 0xff)
		return;
	const struct dtc_guest_irq irq = {
		.time_ns = m->now_ns,
		.thread = is_injection || cpu->depth == 0 ? cpu->current : DTC_NONE,
		.apic = apic >= 0 && apic <= 0xff ? (uint8_t)apic : 0,
		.vector = (uint8_t)vector,
		.is_injection = is_injection,
	};
	dtc_table_append(m->history->guest_irqs, &irq);
}

void dtc_machine_apply_guest(DtcMachine *m, const struct dtc_event *event)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	if (event->kind == DTC_EVENT_KVM_ACCEPT || event->kind == DTC_EVENT_KVM_INJECT) {
		apply_irq(m, event, cpu);
		return;
	}
	if (cpu->current == DTC_NONE || DTC_THREAD(m, cpu->current)->idle_cpu >= 0)
		return; /* which thread runs is not known */
	if (event->kind == DTC_EVENT_KVM_ENTRY)
		apply_entry(m, event, cpu->current);
	else
		apply_exit(m, event, cpu->current);
}
