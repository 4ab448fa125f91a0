/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/shares.h"

#include "analyze/edge/delivery.h"

#include <dtrace-chain/bisect.h>

const struct dtc_vcpu *dtc_shares_find_vcpu(const DtcHistory *history, uint32_t thread)
{
	for (uint32_t i = 0; i < dtc_history_get_vcpu_count(history); i++) {
		const struct dtc_vcpu *vcpu = dtc_history_get_vcpu(history, i);
		if (vcpu->thread == thread)
			return vcpu;
	}
	return NULL;
}

void dtc_shares_begin(struct dtc_shares *shares, const DtcLinks *links, guint node, const DtcHistory *history,
		      uint32_t thread)
{
	*shares = (struct dtc_shares){ .links = links, .history = history, .node = node };
	dtc_shares_turn_to(shares, thread);
	shares->is_guest = links && dtc_guests_is_guest(dtc_links_get_guests(links), node);
}

void dtc_shares_turn_to(struct dtc_shares *shares, uint32_t thread)
{
	shares->vcpu = shares->links ? dtc_shares_find_vcpu(shares->history, thread) : NULL;
}

static void add_part(GArray *parts, const struct dtc_interval *of, int64_t begin_ns, int64_t end_ns,
		     enum dtc_state state)
{
	struct dtc_interval part = *of;

	if (begin_ns >= end_ns)
		return;
	if (parts->len && dtc_state_is_wait(state)) { /* what is not told apart is one wait */
		struct dtc_interval *last = &g_array_index(parts, struct dtc_interval, parts->len - 1);
		if (last->state == state && last->begin_ns == end_ns) {
			last->begin_ns = begin_ns;
			return;
		}
	}
	part.begin_ns = begin_ns;
	part.end_ns = end_ns;
	part.state = (uint8_t)state;
	g_array_append_val(parts, part);
}

bool dtc_shares_find_stay(const DtcHistory *history, const struct dtc_vcpu *vcpu, const struct dtc_interval *interval,
			  int64_t end_ns, int64_t *ret_begin_ns)
{
	bool is_own = interval->state == DTC_STATE_USER || interval->state == DTC_STATE_SYSCALL ||
		      interval->state == DTC_STATE_KERNEL;
	uint32_t first = vcpu->span_first;
	uint32_t after = DTC_BISECT(i, first, first + vcpu->span_count,
				    dtc_history_get_guest_span(history, i)->entry_ns < end_ns);

	*ret_begin_ns = interval->begin_ns;
	if (!is_own || after == first)
		return false;
	const struct dtc_guest_span *span = dtc_history_get_guest_span(history, after - 1);
	bool is_inside = end_ns <= span->left_ns;
	*ret_begin_ns = MAX(interval->begin_ns, is_inside ? span->entry_ns : span->left_ns);
	return is_inside;
}

/* From the end to the begin, as all cuts are made. */
static void cut_stays(const struct dtc_shares *shares, const struct dtc_interval *interval, int64_t end_ns,
		      GArray *parts)
{
	while (end_ns > interval->begin_ns) {
		int64_t begin_ns = interval->begin_ns;
		bool is_inside = shares->vcpu &&
				 dtc_shares_find_stay(shares->history, shares->vcpu, interval, end_ns, &begin_ns);
		add_part(parts, interval, begin_ns, end_ns, is_inside ? DTC_STATE_GUEST : interval->state);
		end_ns = begin_ns;
	}
}

static enum dtc_state get_state(const struct dtc_interval *interval, enum dtc_host_doing doing)
{
	switch (doing) {
	case DTC_HOST_PREEMPTED:
		return DTC_STATE_VM_PREEMPTED;
	case DTC_HOST_EXIT:
	case DTC_HOST_BLOCKED:
		return DTC_STATE_VM_EXIT;
	case DTC_HOST_IN_GUEST:
	case DTC_HOST_HALTED:
	case DTC_HOST_UNKNOWN:
		break;
	}
	return interval->state;
}

/* An interval that is cut from its end on. */
struct cut {
	const struct dtc_shares *shares;
	const DtcClocks *clocks;
	const struct dtc_interval *interval;
	int64_t low; /* cluster time: where it begins */
	int64_t at;  /* and down to where it is cut */
	int64_t end_ns;
	GArray *parts;
};

static struct cut begin_cut(const struct dtc_shares *shares, const struct dtc_interval *interval, GArray *parts)
{
	const DtcClocks *clocks = dtc_links_get_clocks(shares->links);

	return (struct cut){ .shares = shares,
			     .clocks = clocks,
			     .interval = interval,
			     .low = dtc_clocks_to_cluster_ns(clocks, shares->node, interval->begin_ns),
			     .at = dtc_clocks_to_cluster_ns(clocks, shares->node, interval->end_ns),
			     .end_ns = interval->end_ns,
			     .parts = parts };
}

static void cut_to(struct cut *cut, int64_t begin_cluster_ns, enum dtc_state state)
{
	int64_t begin_ns = cut->interval->begin_ns;

	if (begin_cluster_ns >= cut->at)
		return;
	cut->at = MAX(begin_cluster_ns, cut->low);
	if (cut->at > cut->low)
		begin_ns = CLAMP(dtc_clocks_to_node_ns(cut->clocks, cut->shares->node, cut->at), begin_ns, cut->end_ns);
	add_part(cut->parts, cut->interval, begin_ns, cut->end_ns, state);
	cut->end_ns = begin_ns;
}

/* What the host did with the vCPU; gives the begin of what it tells nothing of. */
static int64_t cut_away(const struct dtc_shares *shares, const struct dtc_interval *interval, GArray *parts)
{
	struct cut cut = begin_cut(shares, interval, parts);
	struct dtc_host_cut found;

	while (cut.end_ns > interval->begin_ns &&
	       dtc_host_find_cut(shares->links, shares->node, interval, cut.at, &found))
		cut_to(&cut, found.begin_cluster_ns, get_state(interval, found.piece.doing));
	return cut.end_ns;
}

/* The same for a span of the host's time in which what was to end a wait was there. */
static void cut_pieces(struct cut *cut, const struct dtc_guest_cpu *cpu, int64_t begin_ns, int64_t end_ns)
{
	struct dtc_host_piece piece;

	while (cut->at > cut->low && dtc_host_take_piece(cut->shares->links, cpu, begin_ns, &end_ns, &piece))
		cut_to(cut, dtc_clocks_to_cluster_ns(cut->clocks, cpu->host, piece.begin_ns),
		       get_state(cut->interval, piece.doing));
}

/* A CPU of the guest was to do something with the packet, down to begin. */
static void cut_on_cpu(struct cut *cut, const struct dtc_arrival *arrival, int64_t begin_cluster_ns)
{
	const DtcPackets *packets = dtc_history_get_packets(cut->shares->history);
	struct dtc_guest_cpu cpu;

	if (arrival->packet != DTC_NONE && begin_cluster_ns < cut->at &&
	    dtc_guests_get_cpu(dtc_links_get_guests(cut->shares->links), cut->shares->node,
			       dtc_packets_get(packets, arrival->packet).cpu, &cpu))
		cut_pieces(cut, &cpu, dtc_clocks_to_node_ns(cut->clocks, cpu.host, begin_cluster_ns),
			   dtc_clocks_to_node_ns(cut->clocks, cpu.host, cut->at));
	cut_to(cut, begin_cluster_ns, cut->interval->state);
}

static void cut_delivery(struct cut *cut, const struct dtc_host_interrupt *interrupt)
{
	uint32_t host = interrupt->cpu.host;

	cut_to(cut, dtc_clocks_to_cluster_ns(cut->clocks, host, interrupt->entry_ns), cut->interval->state);
	cut_pieces(cut, &interrupt->cpu, interrupt->pending_ns, interrupt->entry_ns);
}

/* A wait for a packet: from where it arrived back to where it left. */
static void cut_way(struct cut *cut, const struct dtc_arrival *arrival)
{
	const DtcLinks *links = cut->shares->links;
	struct dtc_sender sender;
	struct dtc_delivery in;
	int64_t begin_cluster_ns;

	if (arrival->node != cut->shares->node)
		return;
	cut_on_cpu(cut, arrival, dtc_clocks_to_cluster_ns(cut->clocks, arrival->node, arrival->time_ns));
	if (!dtc_arrival_find_sender(links, arrival, &sender))
		return;
	if (dtc_delivery_find_softirq(links, arrival, &sender, cut->at, &begin_cluster_ns))
		cut_on_cpu(cut, arrival, begin_cluster_ns);
	cut->low = MAX(cut->low, dtc_clocks_to_cluster_ns(cut->clocks, sender.node, sender.left_ns));
	if (arrival->packet != DTC_NONE && cut->at > cut->low &&
	    dtc_delivery_find_in(links, arrival, &sender, cut->at, &in))
		cut_delivery(cut, &in.interrupt);
}

/*
 * A wait, if this is the end of it: what was to end it was there already, and the vCPU was away. Gives the begin of
 * that; before, the thread waited.
 */
static int64_t cut_wait(const struct dtc_shares *shares, const struct dtc_interval *wait, GArray *parts)
{
	struct cut cut = begin_cut(shares, wait, parts);
	struct dtc_interval place;
	struct dtc_host_interrupt interrupt;
	struct dtc_arrival arrival;

	if (wait->ref == DTC_NONE)
		return wait->end_ns;
	const struct dtc_interval *whole =
		dtc_history_find_interval_before(shares->history, wait->thread, wait->end_ns, &place);
	if (!whole || whole->end_ns > wait->end_ns)
		return wait->end_ns; /* what ends it comes later */
	const struct dtc_wake wake = dtc_history_copy_wake(shares->history, wait->ref);
	if (dtc_delivery_find_arrival(shares->links, shares->node, wait, &wake, &arrival))
		cut_way(&cut, &arrival);
	else if (dtc_delivery_find_interrupt(shares->links, shares->node, &wake, &interrupt))
		cut_delivery(&cut, &interrupt);
	return cut.end_ns;
}

static void turn_round(GArray *parts)
{
	for (guint i = 0, last = parts->len; i + 1 < last; i++) {
		struct dtc_interval keep = g_array_index(parts, struct dtc_interval, i);
		last--;
		g_array_index(parts, struct dtc_interval, i) = g_array_index(parts, struct dtc_interval, last);
		g_array_index(parts, struct dtc_interval, last) = keep;
	}
}

void dtc_shares_cut(const struct dtc_shares *shares, const struct dtc_interval *interval, GArray *parts)
{
	int64_t end_ns = interval->end_ns;

	g_array_set_size(parts, 0);
	if (!dtc_shares_has_any(shares)) {
		add_part(parts, interval, interval->begin_ns, interval->end_ns, interval->state);
		return;
	}
	if (shares->is_guest)
		end_ns = dtc_state_is_wait(interval->state) ? cut_wait(shares, interval, parts)
							    : cut_away(shares, interval, parts);
	cut_stays(shares, interval, end_ns, parts);
	turn_round(parts);
}
