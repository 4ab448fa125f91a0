/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/host.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

#define ACCEPTANCE_STEPS 4096 /* records of other interrupts between pending and entry */
#define KVM_RUN 0xae80 /* _IO(KVMIO, 0x80), include/uapi/linux/kvm.h; the direction bits differ by architecture */

bool dtc_host_runs_guest(const DtcHistory *h, uint32_t index)
{
	if (index == DTC_NONE)
		return false;
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(h, index, &call_place);
	return (call->argument & 0xffff) == KVM_RUN && strcmp(dtc_history_get_string(h, call->name), "ioctl") == 0;
}

/* The last span of a vCPU that began before time, or NULL. */
static const struct dtc_guest_span *find_span(const DtcHistory *h, const struct dtc_vcpu *vcpu, int64_t time_ns)
{
	uint32_t first = vcpu->span_first;
	uint32_t after =
		DTC_BISECT(i, first, first + vcpu->span_count, dtc_history_get_guest_span(h, i)->entry_ns < time_ns);
	return after > first ? dtc_history_get_guest_span(h, after - 1) : NULL;
}

static enum dtc_host_doing find_doing(const DtcHistory *h, const struct dtc_interval *interval)
{
	switch ((enum dtc_state)interval->state) {
	case DTC_STATE_USER:
	case DTC_STATE_SYSCALL:
	case DTC_STATE_KERNEL:
	case DTC_STATE_IRQ:
	case DTC_STATE_SOFTIRQ:
		return DTC_HOST_EXIT;
	case DTC_STATE_RUNQUEUE:
	case DTC_STATE_PREEMPTED:
		return DTC_HOST_PREEMPTED;
	case DTC_STATE_WAIT:
		/* in KVM_RUN it sleeps until the guest has something to do; traces without calls say nothing */
		return interval->call == DTC_NONE || dtc_host_runs_guest(h, interval->call) ? DTC_HOST_HALTED
											    : DTC_HOST_BLOCKED;
	case DTC_STATE_WAIT_DISK:
	case DTC_STATE_STOPPED:
		return DTC_HOST_BLOCKED;
	case DTC_STATE_UNKNOWN:
	case DTC_STATE_EXITED:
	case DTC_STATE_IDLE:
	case DTC_STATE_GUEST: /* no history has these */
	case DTC_STATE_VM_PREEMPTED:
	case DTC_STATE_VM_EXIT:
	case DTC_STATES_OF_SHARES:
		break;
	}
	return DTC_HOST_UNKNOWN;
}

bool dtc_host_find_piece(const DtcLinks *links, const struct dtc_guest_cpu *cpu, int64_t host_ns,
			 struct dtc_host_piece *ret_piece)
{
	const DtcHistory *h = dtc_links_get_history(links, cpu->host);
	const struct dtc_vcpu *vcpu = dtc_history_get_vcpu(h, cpu->vcpu);
	const struct dtc_guest_span *span = find_span(h, vcpu, host_ns);
	struct dtc_host_piece piece = { .cpu = *cpu, .span = span };
	const struct dtc_interval *interval =
		dtc_history_find_interval_before(h, vcpu->thread, host_ns, &piece.interval);
	if (!span)
		return false;
	piece.has_interval = interval != NULL;
	if (!interval) {
		piece.doing = DTC_HOST_UNKNOWN;
		piece.begin_ns = dtc_history_get_thread(h, vcpu->thread)->end_ns;
		piece.end_ns = INT64_MAX;
	} else if (host_ns <= span->left_ns) {
		piece.doing = DTC_HOST_IN_GUEST;
		piece.begin_ns = span->entry_ns;
		piece.end_ns = span->left_ns;
	} else {
		piece.doing = find_doing(h, interval);
		piece.begin_ns = MAX(interval->begin_ns, span->left_ns);
		piece.end_ns = interval->end_ns;
		const struct dtc_guest_span *last =
			dtc_history_get_guest_span(h, vcpu->span_first + vcpu->span_count - 1);
		if (span != last)
			piece.end_ns = MIN(piece.end_ns, (span + 1)->entry_ns);
	}
	*ret_piece = piece;
	return true;
}

bool dtc_host_take_piece(const DtcLinks *links, const struct dtc_guest_cpu *cpu, int64_t begin_ns, int64_t *end_ns,
			 struct dtc_host_piece *ret_piece)
{
	if (*end_ns <= begin_ns || !dtc_host_find_piece(links, cpu, *end_ns, ret_piece))
		return false;
	ret_piece->begin_ns = MAX(ret_piece->begin_ns, begin_ns);
	ret_piece->end_ns = *end_ns;
	*end_ns = ret_piece->begin_ns;
	return true;
}

bool dtc_host_find_cut(const DtcLinks *links, guint node, const struct dtc_interval *interval, int64_t cluster_ns,
		       struct dtc_host_cut *ret_cut)
{
	const DtcClocks *clocks = dtc_links_get_clocks(links);
	struct dtc_guest_cpu cpu;
	struct dtc_host_cut cut;
	bool has_cpu = dtc_state_is_running(interval->state) || interval->state == DTC_STATE_RUNQUEUE ||
		       interval->state == DTC_STATE_PREEMPTED;
	if (!has_cpu || !dtc_guests_get_cpu(dtc_links_get_guests(links), node, interval->cpu, &cpu))
		return false;
	cut.host_ns = dtc_clocks_to_node_ns(clocks, cpu.host, cluster_ns);
	for (;;) { /* a piece that is empty in cluster time is passed over */
		if (!dtc_host_find_piece(links, &cpu, cut.host_ns, &cut.piece))
			return false;
		cut.begin_cluster_ns = dtc_clocks_to_cluster_ns(clocks, cpu.host, cut.piece.begin_ns);
		if (cut.begin_cluster_ns < cluster_ns)
			break;
		cut.host_ns = cut.piece.begin_ns;
	}
	*ret_cut = cut;
	return true;
}

/* Begin of the interrupts and softirqs on top of thread that lead up to time; false if there are none. */
static bool find_interrupt_begin(const DtcHistory *h, uint32_t thread, int64_t time_ns, int64_t *ret_begin_ns,
				 uint32_t *ret_cpu)
{
	bool found = false;
	for (;;) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, time_ns, &place);
		if (!v || (v->state != DTC_STATE_IRQ && v->state != DTC_STATE_SOFTIRQ))
			break;
		found = true;
		*ret_cpu = v->cpu;
		*ret_begin_ns = time_ns = v->begin_ns;
	}
	return found;
}

/* The first interrupt record after time. */
static uint32_t find_irq_after(const DtcHistory *h, int64_t time_ns)
{
	return DTC_BISECT(i, 0, dtc_history_get_guest_irq_count(h),
			  dtc_history_get_guest_irq(h, i)->time_ns <= time_ns);
}

/* What was put into the guest at the entry of a span, or DTC_NONE: since the span before was left. */
static uint32_t find_injection(const DtcHistory *h, const struct dtc_guest_span *span, int64_t since_ns)
{
	for (uint32_t i = find_irq_after(h, span->entry_ns); i-- > 0;) {
		const struct dtc_guest_irq *irq = dtc_history_get_guest_irq(h, i);
		if (irq->time_ns < since_ns)
			break;
		if (irq->is_injection && irq->thread == span->thread)
			return i;
	}
	return DTC_NONE;
}

/* The record with which an injected interrupt became pending: the first since the injection before; or DTC_NONE. */
static uint32_t find_acceptance(const DtcLinks *links, const struct dtc_guest_cpu *cpu, uint32_t injection)
{
	const DtcHistory *h = dtc_links_get_history(links, cpu->host);
	const struct dtc_guest_irq *injected = dtc_history_get_guest_irq(h, injection);
	uint32_t found = DTC_NONE;
	for (uint32_t i = injection, steps = 0; i-- > 0; steps++) {
		if (steps == ACCEPTANCE_STEPS) {
			dtc_links_note_limit(links, DTC_LIMIT_INTERRUPTS);
			break;
		}
		const struct dtc_guest_irq *irq = dtc_history_get_guest_irq(h, i);
		if (irq->vector != injected->vector)
			continue;
		if (irq->is_injection && irq->thread == cpu->thread)
			break;
		if (!irq->is_injection && irq->apic == cpu->apic)
			found = i;
	}
	return found;
}

bool dtc_host_find_interrupt(const DtcLinks *links, guint node, uint32_t thread, int64_t time_ns,
			     struct dtc_host_interrupt *ret_interrupt)
{
	const DtcClocks *clocks = dtc_links_get_clocks(links);
	struct dtc_guest_cpu cpu;
	int64_t begin_ns;
	uint32_t cpu_number;
	if (thread == DTC_NONE || !dtc_guests_is_guest(dtc_links_get_guests(links), node) ||
	    !find_interrupt_begin(dtc_links_get_history(links, node), thread, time_ns, &begin_ns, &cpu_number) ||
	    !dtc_guests_get_cpu(dtc_links_get_guests(links), node, cpu_number, &cpu) || cpu.apic < 0)
		return false;
	const DtcHistory *h = dtc_links_get_history(links, cpu.host);
	const struct dtc_vcpu *vcpu = dtc_history_get_vcpu(h, cpu.vcpu);
	DtcClusterTime at = dtc_clocks_to_cluster(clocks, node, (DtcNodeTime){ begin_ns });
	int64_t host_ns = dtc_clocks_to_node(clocks, cpu.host, at).ns;
	int64_t error_ns = dtc_clocks_get_uncertainty_ns(clocks, node, cpu.host, at);
	const struct dtc_guest_span *first = dtc_history_get_guest_span(h, vcpu->span_first);
	/* of the stays that it can have begun in, the latest that began with an interrupt */
	for (const struct dtc_guest_span *span = find_span(h, vcpu, host_ns + error_ns + 1);
	     span && span->left_ns >= host_ns - error_ns; span = span > first ? span - 1 : NULL) {
		int64_t since_ns = span > first ? (span - 1)->left_ns : span->entry_ns;
		uint32_t injection = find_injection(h, span, since_ns);
		uint32_t acceptance = injection == DTC_NONE ? DTC_NONE : find_acceptance(links, &cpu, injection);
		if (acceptance == DTC_NONE)
			continue;
		const struct dtc_guest_irq *accepted = dtc_history_get_guest_irq(h, acceptance);
		struct dtc_host_interrupt interrupt = { cpu, accepted->time_ns, span->entry_ns, accepted->thread };
		if (accepted->thread == cpu.thread) {
			/* the vCPU itself saw that its timer was due; if it had halted, it was woken for that */
			struct dtc_interval place;
			const struct dtc_interval *v =
				dtc_history_find_interval_before(h, cpu.thread, accepted->time_ns, &place);
			while (v && v->begin_ns > since_ns && !dtc_state_is_wait(v->state))
				v = dtc_history_find_interval_before(h, cpu.thread, v->begin_ns, &place);
			if (v && v->begin_ns >= since_ns && find_doing(h, v) == DTC_HOST_HALTED)
				interrupt.pending_ns = v->end_ns;
			interrupt.thread = DTC_NONE;
		}
		*ret_interrupt = interrupt;
		return true;
	}
	return false;
}
