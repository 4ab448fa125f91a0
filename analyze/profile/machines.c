/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/profile/machines.h"

#include "analyze/edge/occupants.h"
#include "analyze/edge/shares.h"

static void cpu_clear(void *data)
{
	struct dtc_vm_cpu *cpu = data;
	g_array_unref(cpu->thieves);
	g_array_unref(cpu->exits);
}

static void add_thief(struct dtc_vm_cpu *cpu, const struct dtc_occupant *occupant, int64_t ns)
{
	for (guint i = 0; i < cpu->thieves->len; i++) {
		struct dtc_vm_thief *thief = &g_array_index(cpu->thieves, struct dtc_vm_thief, i);
		if (thief->thread == occupant->thread &&
		    (thief->thread != DTC_NONE || (thief->state == occupant->state && thief->ref == occupant->ref))) {
			thief->ns += ns;
			return;
		}
	}
	const struct dtc_vm_thief fresh = { occupant->thread, occupant->state, occupant->ref, ns };
	g_array_append_val(cpu->thieves, fresh);
}

/* Who had the CPU in a part of an interval of the vCPU's thread. */
static void add_theft(struct dtc_vm_cpu *cpu, const DtcHistory *h, const struct dtc_interval *interval,
		      int64_t begin_ns, int64_t end_ns)
{
	struct dtc_interval part = *interval;

	part.begin_ns = begin_ns;
	part.end_ns = end_ns;
	g_autoptr(GArray) occupants = dtc_occupants_find(h, &part);
	for (guint i = 0; i < occupants->len; i++) {
		const struct dtc_occupant *occupant = &g_array_index(occupants, struct dtc_occupant, i);
		add_thief(cpu, occupant, occupant->ns);
	}
}

static struct dtc_vm_exit *get_exit(struct dtc_vm_cpu *cpu, const struct dtc_guest_span *span)
{
	for (guint i = 0; i < cpu->exits->len; i++) {
		struct dtc_vm_exit *exit = &g_array_index(cpu->exits, struct dtc_vm_exit, i);
		if (exit->reason == span->reason && exit->isa == span->isa)
			return exit;
	}
	const struct dtc_vm_exit fresh = { .reason = span->reason, .isa = span->isa };
	g_array_append_val(cpu->exits, fresh);
	return &g_array_index(cpu->exits, struct dtc_vm_exit, cpu->exits->len - 1);
}

static gint compare_thieves(gconstpointer a, gconstpointer b)
{
	const struct dtc_vm_thief *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static gint compare_exits(gconstpointer a, gconstpointer b)
{
	const struct dtc_vm_exit *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->reason < y->reason ? -1 : x->reason > y->reason;
}

static void add_piece(struct dtc_vm_cpu *cpu, const DtcHistory *h, const struct dtc_host_piece *piece, int64_t begin_ns,
		      int64_t end_ns)
{
	int64_t ns = end_ns - begin_ns;

	switch (piece->doing) {
	case DTC_HOST_IN_GUEST:
		cpu->running_ns += ns;
		break;
	case DTC_HOST_PREEMPTED:
		cpu->stolen_ns += ns;
		add_theft(cpu, h, &piece->interval, begin_ns, end_ns);
		break;
	case DTC_HOST_EXIT:
		cpu->handled_ns += ns;
		get_exit(cpu, piece->span)->ns += ns;
		break;
	case DTC_HOST_BLOCKED:
		cpu->blocked_ns += ns;
		break;
	case DTC_HOST_HALTED:
		cpu->halted_ns += ns;
		break;
	case DTC_HOST_UNKNOWN:
		cpu->unknown_ns += ns;
		break;
	}
}

/* The next entry after a halt, or the end. */
static int64_t find_entry(const DtcHistory *h, const struct dtc_vcpu *vcpu, const struct dtc_guest_span *before,
			  int64_t end_ns)
{
	const struct dtc_guest_span *last = dtc_history_get_guest_span(h, vcpu->span_first + vcpu->span_count - 1);

	return before < last ? MIN((before + 1)->entry_ns, end_ns) : end_ns;
}

/* From the end back, as pieces are found. */
static void add_pieces(struct dtc_vm_cpu *cpu, const DtcLinks *links, const struct dtc_guest_cpu *of)
{
	const DtcHistory *h = dtc_links_get_history(links, cpu->host);
	const struct dtc_vcpu *vcpu = dtc_history_get_vcpu(h, of->vcpu);
	int64_t at_ns = cpu->end_ns;
	struct dtc_host_piece piece;

	while (at_ns > cpu->begin_ns && dtc_host_find_piece(links, of, at_ns, &piece)) {
		int64_t begin_ns = MAX(piece.begin_ns, cpu->begin_ns);
		add_piece(cpu, h, &piece, begin_ns, at_ns);
		if (piece.doing == DTC_HOST_HALTED && at_ns == piece.end_ns && at_ns < cpu->end_ns) {
			int64_t woken_ns = find_entry(h, vcpu, piece.span, cpu->end_ns) - at_ns;
			cpu->wakeups++;
			cpu->woken_ns += woken_ns;
			cpu->woken_max_ns = MAX(cpu->woken_max_ns, woken_ns);
		}
		at_ns = begin_ns;
	}
	cpu->unknown_ns += at_ns - cpu->begin_ns;
}

static void count_exits(struct dtc_vm_cpu *cpu, const DtcHistory *h, const struct dtc_vcpu *vcpu)
{
	for (uint32_t i = vcpu->span_first; i < vcpu->span_first + vcpu->span_count; i++) {
		const struct dtc_guest_span *span = dtc_history_get_guest_span(h, i);
		if (span->left_ns >= cpu->begin_ns && span->left_ns < cpu->end_ns)
			get_exit(cpu, span)->count++;
	}
	for (uint32_t i = 0; i < dtc_history_get_guest_irq_count(h); i++) {
		const struct dtc_guest_irq *irq = dtc_history_get_guest_irq(h, i);
		cpu->injections += irq->is_injection && irq->thread == vcpu->thread && irq->time_ns >= cpu->begin_ns &&
				   irq->time_ns < cpu->end_ns;
	}
}

/* The guest's CPU that a vCPU is, if that is known. */
static void find_guest(struct dtc_vm_cpu *cpu, const DtcLinks *links)
{
	struct dtc_guest_cpu mapped;

	for (guint node = 0; node < dtc_links_get_node_count(links); node++) {
		const DtcHistory *h = dtc_links_get_history(links, node);
		for (guint i = 0; h && i < dtc_history_get_cpu_count(h); i++) {
			if (!dtc_guests_get_cpu(dtc_links_get_guests(links), node, i, &mapped) ||
			    mapped.host != cpu->host || mapped.thread != cpu->thread)
				continue;
			cpu->guest = node;
			cpu->number = (int32_t)i;
			cpu->is_verified = mapped.is_verified;
		}
	}
}

struct order {
	const DtcHistory *history;
};

static gint compare_cpus(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct order *order = data;
	const struct dtc_thread *x = dtc_history_get_thread(order->history, ((const struct dtc_vm_cpu *)a)->thread);
	const struct dtc_thread *y = dtc_history_get_thread(order->history, ((const struct dtc_vm_cpu *)b)->thread);

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

GArray *dtc_machines_list(const DtcLinks *links, guint host, DtcNodeTime begin, DtcNodeTime end)
{
	const DtcHistory *h = dtc_links_get_history(links, host);
	GArray *cpus = g_array_new(FALSE, FALSE, sizeof(struct dtc_vm_cpu));
	struct order order = { h };

	g_array_set_clear_func(cpus, cpu_clear);
	for (uint32_t i = 0; i < dtc_history_get_vcpu_count(h); i++) {
		const struct dtc_vcpu *vcpu = dtc_history_get_vcpu(h, i);
		const struct dtc_thread *thread = dtc_history_get_thread(h, vcpu->thread);
		struct dtc_vm_cpu cpu = { .host = host,
					  .thread = vcpu->thread,
					  .number = vcpu->number,
					  .guest = G_MAXUINT,
					  .begin_ns = MAX(dtc_history_get_guest_span(h, vcpu->span_first)->entry_ns,
							  begin.ns),
					  .end_ns = MIN(thread->end_ns, end.ns) };
		if (cpu.begin_ns >= cpu.end_ns)
			continue;
		const struct dtc_guest_cpu of = { .host = host, .vcpu = i, .thread = vcpu->thread, .apic = -1 };
		cpu.thieves = g_array_new(FALSE, FALSE, sizeof(struct dtc_vm_thief));
		cpu.exits = g_array_new(FALSE, FALSE, sizeof(struct dtc_vm_exit));
		find_guest(&cpu, links);
		add_pieces(&cpu, links, &of);
		count_exits(&cpu, h, vcpu);
		g_array_sort(cpu.thieves, compare_thieves);
		g_array_sort(cpu.exits, compare_exits);
		g_array_append_val(cpus, cpu);
	}
	g_array_sort_with_data(cpus, compare_cpus, &order);
	return cpus;
}
