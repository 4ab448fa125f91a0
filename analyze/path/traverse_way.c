/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The way of a message, from where it arrived back to the thread that sent it. Between a guest and its host a thread of
 * the host carries it: what that one did meanwhile is that part of the way, in a frame from which the way goes on.
 */
#include "analyze/edge/delivery.h"
#include "analyze/edge/occupants.h"
#include "analyze/path/traverse_build.h"

static enum dtc_reason get_again_reason(enum dtc_again again)
{
	switch (again) {
	case DTC_AGAIN_HANDSHAKE:
		return DTC_REASON_HANDSHAKE_TIMEOUT;
	case DTC_AGAIN_TIMEOUT:
		return DTC_REASON_RETRANSMISSION_TIMEOUT;
	case DTC_AGAIN_PROBE:
		return DTC_REASON_TAIL_LOSS_PROBE;
	case DTC_AGAIN_REORDERING:
		return DTC_REASON_REORDERING_TIMER;
	case DTC_AGAIN_FAST:
		return DTC_REASON_FAST_RETRANSMIT;
	case DTC_AGAIN_NOT:
		break;
	}
	return DTC_REASON_SENT_AGAIN;
}

static enum dtc_reason get_hold_reason(enum dtc_hold hold)
{
	switch (hold) {
	case DTC_HOLD_RECEIVER:
		return DTC_REASON_HELD_BY_RECEIVER;
	case DTC_HOLD_CONGESTION:
		return DTC_REASON_HELD_BY_CONGESTION;
	case DTC_HOLD_QUEUE:
		return DTC_REASON_HELD_BY_QUEUE;
	case DTC_HOLD_TIMER:
		return DTC_REASON_HELD_BY_TIMER;
	case DTC_HOLD_NAGLE:
		return DTC_REASON_HELD_BY_NAGLE;
	case DTC_HOLD_NOT_KNOWN:
		break;
	}
	return DTC_REASON_HELD;
}

/* A send that seems to come after its arrival: it gets no wire time, and the path remembers that. */
static void note_reversal(struct dtc_traverse *t, const struct dtc_way *way)
{
	guint from = way->sender.node, to = way->arrival.node;
	int64_t by_ns = dtc_clocks_to_cluster_ns(t->clocks, from, way->sender.left_ns) -
			dtc_clocks_to_cluster_ns(t->clocks, to, way->arrival.time_ns);
	if (by_ns <= 0 || from == to || !t->visitor->reverse)
		return;
	const struct dtc_reversal reversal = {
		from, to, by_ns, dtc_clocks_get_uncertainty_ns(t->clocks, from, to, (DtcClusterTime){ t->tc })
	};
	t->visitor->reverse(t->data, &reversal);
}

/* Who had the CPU of a softirq for most of a span before it took a packet; DTC_NONE: nobody, or it is not told. */
static uint32_t find_holder(const struct dtc_traverse *t, const DtcHistory *h, uint32_t packet, int64_t begin_ns,
			    int64_t end_ns)
{
	if (t->visitor->check)
		return DTC_NONE;
	struct dtc_interval span = { .begin_ns = begin_ns,
				     .end_ns = end_ns,
				     .thread = DTC_NONE,
				     .cpu = dtc_packets_get(dtc_history_get_packets(h), packet).cpu };
	g_autoptr(GArray) occupants = dtc_occupants_find(h, &span);
	if (!occupants->len || 2 * g_array_index(occupants, struct dtc_occupant, 0).ns < end_ns - begin_ns)
		return DTC_NONE;
	return g_array_index(occupants, struct dtc_occupant, 0).thread;
}

void dtc_traverse_explain_on_cpu(struct dtc_traverse *t, guint node, uint32_t packet, uint32_t thread, int64_t name_ns,
				 int64_t begin_cluster_ns, enum dtc_cause cause, const struct dtc_evidence *why)
{
	const DtcHistory *h = dtc_links_get_history(t->links, node);
	struct dtc_guest_cpu cpu;
	if (packet != DTC_NONE && dtc_guests_get_cpu(dtc_links_get_guests(t->links), node,
						     dtc_packets_get(dtc_history_get_packets(h), packet).cpu, &cpu))
		dtc_traverse_explain_vcpu(t, &cpu, node, thread, name_ns, begin_cluster_ns, cause, why);
	dtc_traverse_explain(t, node, thread, name_ns, begin_cluster_ns, cause, *why, NULL);
}

/* What came waited for the receiver's softirq. */
static void emit_softirq_delay(struct dtc_traverse *t, const struct dtc_arrival *arrival,
			       const struct dtc_sender *sender)
{
	const DtcHistory *h = dtc_links_get_history(t->links, arrival->node);
	int64_t begin_cluster_ns;
	if (!dtc_delivery_find_softirq(t->links, arrival, sender, t->tc, &begin_cluster_ns))
		return;
	int64_t begin_ns = dtc_clocks_to_node(t->clocks, arrival->node, (DtcClusterTime){ begin_cluster_ns }).ns;
	struct dtc_evidence why = dtc_evidence_of(DTC_REASON_RECEIVER_SOFTIRQ);
	why.node = why.by_node = arrival->node;
	if (t->tc - begin_cluster_ns >= t->visitor->named_ns)
		why.by_thread = find_holder(t, h, arrival->packet, begin_ns, arrival->time_ns);
	dtc_traverse_explain_on_cpu(t, arrival->node, arrival->packet, t->stand.thread, arrival->time_ns,
				    begin_cluster_ns, DTC_CAUSE_NETWORK_RECEIVE, &why);
}

/* What is explained next bears the doubts of the step to the sender. */
static void set_step(struct dtc_traverse *t, const struct dtc_way *way)
{
	t->link = way->sender.exact ? DTC_LINK_EXACT : DTC_LINK_INFERRED;
	if (!t->visitor->check && !t->visitor->no_doubts)
		t->uncertainty_ns = dtc_clocks_get_uncertainty_ns(t->clocks, way->sender.node, way->arrival.node,
								  (DtcClusterTime){ t->tc });
}

static int64_t get_left_cluster_ns(const struct dtc_traverse *t, const struct dtc_way *way)
{
	return dtc_clocks_to_cluster_ns(t->clocks, way->sender.node, way->sender.left_ns);
}

/* The segments that are explained now are of this message's way; NULL: of none. */
static void set_message(struct dtc_traverse *t, const struct dtc_way *way)
{
	t->message = way ? &way->arrival : NULL;
	t->message_sender = way ? &way->sender : NULL;
}

/* To what the carrier did until it was done, down to when the packet left. False if the walk stays here. */
static bool enter_carrier(struct dtc_traverse *t, const struct dtc_way *way, const struct dtc_carriage *carriage)
{
	int64_t low = MAX(get_left_cluster_ns(t, way), dtc_traverse_get_bound(t));
	int64_t at_ns = MIN(carriage->done_ns, dtc_clocks_to_node_ns(t->clocks, carriage->host, t->tc));
	if (t->tc <= low || !dtc_traverse_enter(t, carriage->host, carriage->thread,
						dtc_clocks_to_node_ns(t->clocks, t->stand.node, low)))
		return false;
	struct dtc_frame *frame = &g_array_index(t->frames, struct dtc_frame, t->frames->len - 1);
	frame->bound_cluster_ns = low;
	frame->vcpu_node = carriage->host;
	frame->vcpu_thread = carriage->cpu.thread;
	frame->has_way = true;
	frame->way = *way;
	t->device_frames++;
	dtc_traverse_set_host_doubt(t, t->stand.node, &carriage->cpu);
	t->link = carriage->exact ? t->link : MAX(t->link, DTC_LINK_INFERRED);
	t->stand.node = carriage->host;
	t->stand.thread = carriage->thread;
	t->stand.at_ns = at_ns;
	return true;
}

/* The carrier was done, so that the guest had the packet, and its CPU came to it late: it was away, or busy. */
static void explain_reception(struct dtc_traverse *t, const struct dtc_way *way, const struct dtc_delivery *in)
{
	const struct dtc_arrival *arrival = &way->arrival;
	const DtcHistory *h = dtc_links_get_history(t->links, arrival->node);
	int64_t pending_cluster_ns =
		dtc_clocks_to_cluster_ns(t->clocks, in->interrupt.cpu.host, in->interrupt.pending_ns);
	int64_t pending_ns = dtc_clocks_to_node_ns(t->clocks, arrival->node, pending_cluster_ns);
	struct dtc_evidence why = dtc_evidence_of(DTC_REASON_RECEIVER_SOFTIRQ);
	why.node = why.by_node = arrival->node;
	why.by_thread = find_holder(t, h, arrival->packet, MIN(pending_ns, arrival->time_ns), arrival->time_ns);
	dtc_traverse_explain_delivery(t, &in->interrupt, arrival->time_ns, get_left_cluster_ns(t, way),
				      DTC_CAUSE_NETWORK_RECEIVE, &why);
}

/*
 * Into a guest: how its CPU came to the packet, then who had carried it there. Where that is not known, it was on the
 * wire but for what the host did while an interrupt waited. True: the walk is with the carrier.
 */
static bool carry_in(struct dtc_traverse *t, struct dtc_way *way)
{
	const struct dtc_evidence wire = dtc_evidence_of(DTC_REASON_WIRE);
	struct dtc_delivery in;
	if (way->has_come_in || way->arrival.packet == DTC_NONE || way->arrival.node != t->stand.node)
		return false;
	way->has_come_in = true;
	if (!dtc_delivery_find_in(t->links, &way->arrival, &way->sender, t->tc, &in))
		return false;
	set_message(t, way);
	if (in.is_carried)
		explain_reception(t, way, &in);
	else
		dtc_traverse_explain_delivery(t, &in.interrupt, way->arrival.time_ns, get_left_cluster_ns(t, way),
					      DTC_CAUSE_NETWORK_WIRE, &wire);
	set_message(t, NULL);
	return in.is_carried && enter_carrier(t, way, &in.carriage);
}

/* Out of a guest: from where its host had the packet, who had carried it there. True likewise. */
static bool carry_out(struct dtc_traverse *t, struct dtc_way *way)
{
	struct dtc_carriage carriage;
	if (way->has_come_out || way->arrival.node != t->stand.node)
		return false;
	way->has_come_out = true;
	if (!dtc_carriage_find_out(t->links, &way->arrival, &way->sender, &carriage))
		return false;
	if (way->arrival.node != carriage.host) { /* behind its host it goes on over a wire */
		set_message(t, way);
		dtc_traverse_explain(t, way->arrival.node, t->stand.thread, way->arrival.time_ns,
				     dtc_clocks_to_cluster_ns(t->clocks, carriage.host, carriage.done_ns),
				     DTC_CAUSE_NETWORK_WIRE, dtc_evidence_of(DTC_REASON_WIRE), NULL);
		set_message(t, NULL);
	}
	way->is_carried_out = true;
	if (!enter_carrier(t, way, &carriage))
		way->is_carried_out = false;
	return way->is_carried_out;
}

/* The rest of the way, back to when the message was first sent, and to the thread that sent it. */
static void explain_way(struct dtc_traverse *t, const struct dtc_way *way)
{
	const struct dtc_sender *sender = &way->sender;
	const struct dtc_evidence wire = dtc_evidence_of(DTC_REASON_WIRE);
	set_message(t, way);
	set_step(t, way);
	if (way->is_carried_out) /* its driver, and the kick of the carrier */
		dtc_traverse_explain_on_cpu(t, sender->node, sender->packet, sender->thread, sender->left_ns,
					    get_left_cluster_ns(t, way), DTC_CAUSE_NETWORK_WIRE, &wire);
	else
		dtc_traverse_explain(t, way->arrival.node, t->stand.thread, way->arrival.time_ns,
				     get_left_cluster_ns(t, way), DTC_CAUSE_NETWORK_WIRE, wire, NULL);
	if (sender->left_ns > sender->sent_ns)
		dtc_traverse_explain(t, sender->node, sender->thread, sender->left_ns,
				     dtc_clocks_to_cluster_ns(t->clocks, sender->node, sender->sent_ns),
				     DTC_CAUSE_NETWORK_SEND, dtc_evidence_of(DTC_REASON_QDISC), NULL);
	t->stand.node = sender->node;
	t->stand.thread = sender->thread;
	if (sender->sent_ns > sender->first_ns)
		dtc_traverse_explain(t, sender->node, sender->thread, sender->sent_ns,
				     dtc_clocks_to_cluster_ns(t->clocks, sender->node, sender->first_ns),
				     DTC_CAUSE_RETRANSMISSION, dtc_evidence_of(get_again_reason(sender->again)), NULL);
	set_message(t, NULL);
}

/* The message was written by a thread, or is a kernel's: there the walk goes on. */
static void go_to_sender(struct dtc_traverse *t, const struct dtc_sender *sender)
{
	if (sender->written_ns < sender->first_ns)
		dtc_traverse_explain(t, sender->node, sender->thread, sender->first_ns,
				     dtc_clocks_to_cluster_ns(t->clocks, sender->node, sender->written_ns),
				     DTC_CAUSE_NETWORK_SEND, dtc_evidence_of(get_hold_reason(sender->hold)), NULL);
	if (dtc_traverse_end_at_begin(t, sender))
		return;
	t->stand.at_ns = sender->written_ns;
	/* exact as long as the bytes tell; the loop's rule below is by order within one turn */
	t->stand.purpose = DTC_PURPOSE_OWN;
	t->stand.owner = 0;
	if (sender->thread != DTC_NONE && !dtc_traverse_pursue_ring(t, sender))
		dtc_traverse_pursue(t, sender->file, sender->call);
	dtc_traverse_stay_behind(t);
}

/* What arrived before, and made a kernel answer by itself or let bytes go. */
static void explain_relay(struct dtc_traverse *t, const struct dtc_sender *sender)
{
	int64_t begin_ns = dtc_clocks_to_cluster_ns(t->clocks, sender->node, sender->cause.time_ns);
	bool waits = sender->is_let_go || sender->is_delayed;
	enum dtc_reason reason = sender->is_let_go    ? get_hold_reason(sender->hold)
				 : sender->is_delayed ? DTC_REASON_DELAYED_ACK
						      : DTC_REASON_KERNEL_ANSWER;
	t->by_kernel = !sender->is_let_go;
	dtc_traverse_explain(t, sender->node, sender->thread, sender->first_ns, begin_ns,
			     waits ? DTC_CAUSE_NETWORK_SEND : DTC_CAUSE_SOFTIRQ, dtc_evidence_of(reason), NULL);
	t->by_kernel = false;
}

/*
 * A kernel answered by itself (SYN-ACK, ACK) what had arrived before, or was told that there is room: that is the next
 * way. False if it ends here.
 */
static bool go_to_relayed(struct dtc_traverse *t, struct dtc_way *way)
{
	const struct dtc_sender *sender = &way->sender;
	explain_relay(t, sender);
	struct dtc_way next = { .arrival = sender->cause, .relays = way->relays + 1 };
	t->stand.at_ns = next.arrival.time_ns;
	if (t->tc <= dtc_traverse_get_bound(t))
		return false;
	if (next.relays == DTC_RELAYS_MAX) {
		dtc_links_note_limit(t->links, DTC_LIMIT_RELAYS);
		return false;
	}
	if (!dtc_arrival_find_sender(t->links, &next.arrival, &next.sender))
		return false;
	*way = next;
	return true;
}

/* From an arrival on: what the receiver's softirq took. */
static void begin_way(struct dtc_traverse *t, struct dtc_way *way)
{
	if (way->has_begun)
		return;
	way->has_begun = true;
	set_message(t, way);
	emit_softirq_delay(t, &way->arrival, &way->sender);
	set_message(t, NULL);
	note_reversal(t, way);
}

/*
 * A thread of the receiver let the bytes go, down to when they had been written: what the writer did until then comes
 * next, and is as much a reason. False if it is not so.
 */
static bool go_to_reader(struct dtc_traverse *t, const struct dtc_sender *sender)
{
	const struct dtc_stand stand = t->stand;
	t->stand.at_ns = sender->written_ns;
	t->stand.purpose = DTC_PURPOSE_OWN;
	t->stand.owner = 0;
	dtc_traverse_pursue(t, sender->file, sender->call);
	/* the bytes behind these, which it let go later, had been written later: there the traversal comes back already
	 */
	bool is_inside =
		dtc_clocks_to_cluster_ns(t->clocks, sender->node, sender->written_ns) <= dtc_traverse_get_bound(t);
	bool is_aside = sender->thread != DTC_NONE && (is_inside || dtc_traverse_go_aside(t, sender->written_ns));
	t->stand = stand;
	return is_aside;
}

void dtc_traverse_continue_way(struct dtc_traverse *t, const struct dtc_way *from)
{
	struct dtc_way way = *from;
	do {
		begin_way(t, &way);
		if (carry_in(t, &way) || carry_out(t, &way))
			return;
		explain_way(t, &way);
		if (!way.sender.relayed && !(way.sender.is_let_go && go_to_reader(t, &way.sender))) {
			go_to_sender(t, &way.sender);
			return;
		}
	} while (go_to_relayed(t, &way));
}

bool dtc_traverse_take_way(struct dtc_traverse *t, const struct dtc_arrival *arrival, const struct dtc_sender *first)
{
	struct dtc_way way = { .arrival = *arrival };
	if (first)
		way.sender = *first;
	else if (!dtc_arrival_find_sender(t->links, arrival, &way.sender))
		return false;
	dtc_traverse_continue_way(t, &way);
	return true;
}
