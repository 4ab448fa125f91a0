/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A guest sends: net_dev_queue, the driver's kick, which the host's kernel makes a wakeup of the carrier (ioeventfd;
 * drivers/vhost/vhost.c vhost_poll_wakeup, Linux 6.1), the carrier hands the packet to the tap, which the host's stack
 * receives in the carrier's own context, in no softirq (drivers/net/tun.c tun_xdp_one, tun_rx_batched). A guest
 * receives: the host's stack queues on the tap and wakes the carrier (tun_net_xmit), which copies and raises the
 * guest's interrupt from its own context (irqfd; kvm_msi_set_irq, kvm_apic_accept_irq), unless the guest polls already
 * and wants none.
 */
#include "analyze/edge/carriage.h"

#include "analyze/edge/brought.h"
#include "analyze/exchange/endpoint.h"

#include <dtrace-chain/bisect.h>

/* Packets of one connection that are looked at for the one that went by, or for who carries them. */
#define PACKETS_MAX 256
/* Interrupts for guests between a packet's coming to its carrier and its arrival. */
#define INTERRUPTS_MAX 4096

static struct dtc_packet packet_of(const DtcHistory *h, uint32_t packet)
{
	return dtc_packets_get(dtc_history_get_packets(h), packet);
}

static int64_t time_of(const DtcHistory *h, uint32_t packet)
{
	return dtc_packets_get_time_ns(dtc_history_get_packets(h), packet);
}

/* The packets of a connection on the host that a guest's packet went by. */
struct passing {
	const DtcHistory *h;
	uint32_t flow;
	uint32_t count; /* of its packets */
};

/* The flow of what arrived, as the host has it; false if it has none. reverse: its other direction. */
static bool find_passing(const DtcLinks *links, const struct dtc_arrival *arrival, guint host, int64_t host_ns,
			 bool reverse, struct passing *ret_passing)
{
	const DtcHistory *there = dtc_links_get_history(links, arrival->node), *h = dtc_links_get_history(links, host);
	const DtcPackets *packets = dtc_history_get_packets(h);
	if (arrival->flow == DTC_NONE)
		return false;
	uint32_t flow = arrival->node == host ? arrival->flow
					      : dtc_endpoint_find_flow(dtc_history_get_packets(there), arrival->flow,
								       packets, false, host_ns);
	if (flow == DTC_NONE)
		return false;
	if (reverse)
		flow = dtc_packets_get_flow(packets, flow)->reverse;
	*ret_passing = (struct passing){ h, flow, dtc_packets_get_flow(packets, flow)->packet_count };
	return true;
}

static uint32_t get_id(const struct passing *p, uint32_t index)
{
	return dtc_packets_get_flow_packet(dtc_history_get_packets(p->h), p->flow, index);
}

/* The position behind the last packet up to time. */
static uint32_t find_after(const struct passing *p, int64_t time_ns)
{
	return DTC_BISECT(i, 0, p->count, time_of(p->h, get_id(p, i)) <= time_ns);
}

/* Whether a packet that goes by brings the last byte of another, or, of empty ones, is the same. */
static bool is_same(const struct dtc_packet *passing, const struct dtc_packet *of)
{
	if (!dtc_packet_get_span(of))
		return passing->seq == of->seq && passing->ack == of->ack && passing->tcp_flags == of->tcp_flags &&
		       passing->ip_id == of->ip_id && !dtc_packet_get_span(passing);
	int32_t into = dtc_seq_distance(passing->seq, of->seq + dtc_packet_get_span(of) - 1);
	return into >= 0 && (uint32_t)into < dtc_packet_get_span(passing);
}

/*
 * The last time before end_ns, and not before begin_ns, that a packet went by; DTC_NONE if it did not, or it is not
 * found near its time.
 */
static uint32_t find_passage(const struct passing *p, const struct dtc_packet *of, enum dtc_direction direction,
			     int64_t begin_ns, int64_t end_ns)
{
	for (uint32_t i = find_after(p, end_ns), steps = 0; i-- > 0 && steps < PACKETS_MAX; steps++) {
		const struct dtc_packet packet = packet_of(p->h, get_id(p, i));
		if (packet.time_ns < begin_ns)
			break;
		if (packet.direction == direction && is_same(&packet, of))
			return get_id(p, i);
	}
	return DTC_NONE;
}

/* Where the host's clock is when another node's shows time, and by how much that may be wrong. */
static int64_t to_host_ns(const DtcLinks *links, guint node, int64_t time_ns, guint host, int64_t *ret_error_ns)
{
	const DtcClocks *clocks = dtc_links_get_clocks(links);
	*ret_error_ns = 0;
	if (node == host)
		return time_ns;
	DtcClusterTime at = dtc_clocks_to_cluster(clocks, node, (DtcNodeTime){ time_ns });
	*ret_error_ns = dtc_clocks_get_uncertainty_ns(clocks, node, host, at);
	return dtc_clocks_to_node(clocks, host, at).ns;
}

/* Nodes whose clocks are not aligned tell nothing of each other. */
static bool find_cpu(const DtcLinks *links, guint node, uint32_t packet, struct dtc_guest_cpu *ret_cpu)
{
	const DtcClocks *clocks = dtc_links_get_clocks(links);
	const DtcHistory *h = dtc_links_get_history(links, node);
	return packet != DTC_NONE && packet_of(h, packet).flow != DTC_NONE &&
	       dtc_guests_get_cpu(dtc_links_get_guests(links), node, packet_of(h, packet).cpu, ret_cpu) &&
	       dtc_clocks_get_group(clocks, node) == dtc_clocks_get_group(clocks, ret_cpu->host);
}

/* The wake that ended the last wait of a thread before time, if that was not before begin, in wake_place; or NULL. */
static const struct dtc_wake *find_wake(const DtcHistory *h, uint32_t thread, int64_t time_ns, int64_t begin_ns,
					struct dtc_wake *wake_place)
{
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, time_ns, &place);
	while (v && v->begin_ns > begin_ns && !dtc_state_is_wait(v->state))
		v = dtc_history_find_interval_before(h, thread, v->begin_ns, &place);
	bool is_it =
		v && dtc_state_is_wait(v->state) && v->end_ns <= time_ns && v->end_ns >= begin_ns && v->ref != DTC_NONE;
	return is_it ? dtc_history_get_wake(h, v->ref, wake_place) : NULL;
}

/* Whether a thread received nothing itself from begin on, up to a packet. */
static bool is_first_brought(const DtcHistory *h, uint32_t packet, uint32_t thread, int64_t begin_ns)
{
	for (uint32_t i = packet, steps = 0; i-- > 0 && time_of(h, i) >= begin_ns; steps++)
		if (steps == PACKETS_MAX || dtc_brought_get_thread(h, i) == thread)
			return false;
	return true;
}

/* ---- out of a guest ---- */

bool dtc_carriage_find_out(const DtcLinks *links, const struct dtc_arrival *arrival, const struct dtc_sender *sender,
			   struct dtc_carriage *ret_carriage)
{
	struct dtc_carriage out = { .thread = DTC_NONE };
	struct passing p;
	int64_t error_ns, arrival_error_ns;
	if (arrival->packet == DTC_NONE || sender->packet == DTC_NONE || sender->node == arrival->node ||
	    !find_cpu(links, sender->node, sender->packet, &out.cpu))
		return false;
	out.host = out.cpu.host;
	int64_t left_ns = to_host_ns(links, sender->node, sender->left_ns, out.host, &error_ns);
	int64_t end_ns = to_host_ns(links, arrival->node, arrival->time_ns, out.host, &arrival_error_ns);
	if (!find_passing(links, arrival, out.host, end_ns, false, &p))
		return false;
	const struct dtc_packet arrived = packet_of(dtc_links_get_history(links, arrival->node), arrival->packet);
	uint32_t packet = find_passage(&p, &arrived, DTC_RECEIVED, left_ns - error_ns, end_ns + arrival_error_ns);
	out.thread = packet == DTC_NONE ? DTC_NONE : dtc_brought_get_thread(p.h, packet);
	if (out.thread == DTC_NONE)
		return false;
	out.done_ns = time_of(p.h, packet);
	struct dtc_wake wake_place;
	const struct dtc_wake *kick = find_wake(p.h, out.thread, out.done_ns, left_ns - error_ns, &wake_place);
	out.exact = kick && kick->waker == DTC_WAKER_THREAD && kick->thread == out.cpu.thread &&
		    is_first_brought(p.h, packet, out.thread, kick->waking_ns);
	*ret_carriage = out;
	return true;
}

/* ---- into a guest ---- */

/* Who brings what the guest sends on this connection also takes what is for it: the nearest one. */
static uint32_t find_taker(const struct passing *answers, int64_t time_ns)
{
	uint32_t at = find_after(answers, time_ns), count = answers->count;
	for (uint32_t steps = 1; steps <= PACKETS_MAX && (steps <= at || at + steps <= count); steps++) {
		uint32_t before =
			steps <= at ? dtc_brought_get_thread(answers->h, get_id(answers, at - steps)) : DTC_NONE;
		uint32_t after = at + steps <= count
					 ? dtc_brought_get_thread(answers->h, get_id(answers, at + steps - 1))
					 : DTC_NONE;
		if (before != DTC_NONE || after != DTC_NONE)
			return before != DTC_NONE ? before : after;
	}
	return DTC_NONE;
}

/* The first interrupt for a guest that a thread raised behind begin and up to end; DTC_TIME_NONE: none. */
static int64_t find_raised(const DtcLinks *links, const DtcHistory *h, uint32_t thread, int64_t begin_ns,
			   int64_t end_ns)
{
	uint32_t count = dtc_history_get_guest_irq_count(h);
	uint32_t first = DTC_BISECT(i, 0, count, dtc_history_get_guest_irq(h, i)->time_ns <= begin_ns);
	for (uint32_t i = first; i < count; i++) {
		const struct dtc_guest_irq *irq = dtc_history_get_guest_irq(h, i);
		if (irq->time_ns > end_ns)
			break;
		if (i - first == INTERRUPTS_MAX) {
			dtc_links_note_limit(links, DTC_LIMIT_INTERRUPTS);
			break;
		}
		if (!irq->is_injection && irq->thread == thread)
			return irq->time_ns;
	}
	return DTC_TIME_NONE;
}

/* Nobody told the guest, which polled: its carrier was done when it went to sleep, or when the packet arrived. */
static int64_t find_done(const DtcHistory *h, uint32_t thread, int64_t arrival_ns)
{
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, arrival_ns, &place);
	while (v && (dtc_state_is_wait(v->state) || v->state == DTC_STATE_RUNQUEUE))
		v = dtc_history_find_interval_before(h, thread, v->begin_ns, &place);
	return v && dtc_state_is_running(v->state) ? MIN(v->end_ns, arrival_ns) : DTC_TIME_NONE;
}

/* The interrupt that a carrier raised: pending since then, and in when the CPU next entered the guest. */
static struct dtc_host_interrupt tell(const DtcHistory *h, const struct dtc_guest_cpu *cpu, uint32_t thread,
				      int64_t raised_ns)
{
	const struct dtc_vcpu *vcpu = dtc_history_get_vcpu(h, cpu->vcpu);
	uint32_t end = vcpu->span_first + vcpu->span_count;
	uint32_t next = DTC_BISECT(i, vcpu->span_first, end, dtc_history_get_guest_span(h, i)->left_ns < raised_ns);
	int64_t entry_ns = next < end ? dtc_history_get_guest_span(h, next)->entry_ns : raised_ns;
	return (struct dtc_host_interrupt){ *cpu, raised_ns, MAX(entry_ns, raised_ns), thread };
}

/* When the carrier was done with a packet that was there for it at left; false if it did nothing since. */
static bool find_end(const DtcLinks *links, const struct dtc_arrival *arrival, int64_t left_ns, int64_t arrival_ns,
		     struct dtc_carriage *in)
{
	const DtcHistory *h = dtc_links_get_history(links, in->host);
	uint32_t on_top_of =
		dtc_history_get_plain_context(dtc_links_get_history(links, arrival->node), arrival->packet).thread;
	int64_t raised_ns = find_raised(links, h, in->thread, left_ns, arrival_ns);
	in->has_interrupt =
		dtc_host_find_interrupt(links, arrival->node, on_top_of, arrival->time_ns, &in->interrupt) &&
		in->interrupt.thread == in->thread && in->interrupt.pending_ns > left_ns;
	in->exact = in->has_interrupt && in->interrupt.pending_ns == raised_ns;
	if (!in->has_interrupt && raised_ns != DTC_TIME_NONE) {
		in->interrupt = tell(h, &in->cpu, in->thread, raised_ns);
		in->has_interrupt = true;
	}
	in->done_ns = in->has_interrupt ? in->interrupt.pending_ns : find_done(h, in->thread, arrival_ns);
	return in->done_ns != DTC_TIME_NONE && in->done_ns > left_ns;
}

/* A wakeup happened where a packet was sent: by the same thread, or in a softirq on top of it. */
static bool is_made_by(const struct dtc_wake *wake, struct dtc_packet_context sent)
{
	return wake->thread == sent.thread && (wake->waker == DTC_WAKER_THREAD) == !sent.in_softirq;
}

bool dtc_carriage_find_in(const DtcLinks *links, const struct dtc_arrival *arrival, const struct dtc_sender *sender,
			  struct dtc_carriage *ret_carriage)
{
	struct dtc_carriage in = { .thread = DTC_NONE };
	struct passing p, answers;
	int64_t error_ns, arrival_error_ns;
	if (sender->node == arrival->node || !find_cpu(links, arrival->node, arrival->packet, &in.cpu))
		return false;
	in.host = in.cpu.host;
	int64_t left_ns = to_host_ns(links, sender->node, sender->left_ns, in.host, &error_ns);
	int64_t arrival_ns = to_host_ns(links, arrival->node, arrival->time_ns, in.host, &arrival_error_ns);
	if (!find_passing(links, arrival, in.host, arrival_ns, false, &p) ||
	    !find_passing(links, arrival, in.host, arrival_ns, true, &answers))
		return false;
	/* what comes from another machine, or another guest, is there when the host has sent it on */
	const struct dtc_packet arrived = packet_of(dtc_links_get_history(links, arrival->node), arrival->packet);
	uint32_t on = sender->node == in.host
			      ? DTC_NONE
			      : find_passage(&p, &arrived, DTC_SENT, left_ns - error_ns, arrival_ns + arrival_error_ns);
	uint32_t sent = sender->node == in.host ? sender->packet : on;
	if (on != DTC_NONE)
		left_ns = time_of(p.h, on);
	in.thread = find_taker(&answers, arrival_ns);
	if (in.thread == DTC_NONE || !find_end(links, arrival, left_ns, arrival_ns + arrival_error_ns, &in))
		return false;
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = find_wake(p.h, in.thread, in.done_ns, left_ns, &wake_place);
	in.exact = in.exact && wake && sent != DTC_NONE && is_made_by(wake, dtc_history_get_plain_context(p.h, sent));
	*ret_carriage = in;
	return true;
}

/* ---- who was woken by what was brought ---- */

static bool waits_for_network(const DtcHistory *h, const struct dtc_interval *wait)
{
	if (wait->call == DTC_NONE)
		return false;
	switch ((enum dtc_call_kind)dtc_history_copy_call(h, wait->call).kind) {
	case DTC_CALL_READ:
	case DTC_CALL_PEEK:
	case DTC_CALL_ACCEPT:
	case DTC_CALL_CONNECT:
	case DTC_CALL_POLL:
		return true;
	default:
		return false;
	}
}

bool dtc_carriage_find_brought(const DtcLinks *links, guint node, const struct dtc_interval *wait,
			       const struct dtc_wake *wake, struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	struct dtc_arrival arrival;
	if (wake->waker != DTC_WAKER_THREAD || wake->thread == DTC_NONE || !waits_for_network(h, wait) ||
	    dtc_brought_find_last(h, wake->thread, wake->waking_ns) == DTC_NONE ||
	    !dtc_arrival_find_for_wait(links, node, wait, &arrival) || arrival.packet == DTC_NONE ||
	    arrival.time_ns > wake->waking_ns || dtc_brought_get_thread(h, arrival.packet) != wake->thread ||
	    !dtc_brought_has_run(h, wake->thread, arrival.time_ns, wake->waking_ns))
		return false;
	*ret_arrival = arrival;
	return true;
}
