/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From an arrival to who sent it, and from a send to what it was sent for. */
#include "analyze/edge/handoff.h"
#include "analyze/edge/occupants.h"
#include "analyze/exchange/endpoint.h"
#include "analyze/path/traverse_build.h"

/* Questions that are remembered at least. */
#define SCOPES_KEPT 64

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
	case DTC_HOLD_NOT_KNOWN:
		break;
	}
	return DTC_REASON_HELD;
}

/* A send that seems to come after its arrival: emit gives it no wire time, and the path remembers that. */
static void note_reversal(struct dtc_traverse *t, const struct dtc_arrival *arrival, const struct dtc_sender *sender)
{
	int64_t by_ns = dtc_clocks_to_cluster_ns(t->clocks, sender->node, sender->left_ns) -
			dtc_clocks_to_cluster_ns(t->clocks, arrival->node, arrival->time_ns);
	struct dtc_reversal reversal = { sender->node, arrival->node, by_ns, t->uncertainty_ns };
	if (by_ns > 0 && sender->node != arrival->node && t->visitor->reverse)
		t->visitor->reverse(t->data, &reversal);
}

/* The packet lay in the host, ready for a guest whose vCPU did not run: that part of its way is the host's. */
static void emit_wire_delivery(struct dtc_traverse *t, const struct dtc_arrival *arrival,
			       const struct dtc_sender *sender)
{
	const DtcHistory *h = dtc_links_get_history(t->links, arrival->node);
	struct dtc_host_interrupt interrupt;
	if (arrival->packet == DTC_NONE || arrival->node != t->stand.node)
		return;
	uint32_t on_top_of = dtc_history_get_packet_context(h, arrival->packet).thread;
	if (!dtc_host_find_interrupt(t->links, arrival->node, on_top_of, arrival->time_ns, &interrupt))
		return;
	enum dtc_link_quality link = t->link;
	int64_t uncertainty_ns = t->uncertainty_ns;
	const struct dtc_evidence why = dtc_evidence_of(DTC_REASON_WIRE);
	dtc_traverse_explain_delivery(t, &interrupt, arrival->time_ns,
				      dtc_clocks_to_cluster_ns(t->clocks, sender->node, sender->left_ns),
				      DTC_CAUSE_NETWORK_WIRE, &why);
	t->link = link; /* the step to the sender is still to come */
	t->uncertainty_ns = uncertainty_ns;
}

/* Who had the CPU of a softirq for most of a span before it took a packet; DTC_NONE: nobody. */
static uint32_t find_holder(const DtcHistory *h, uint32_t packet, int64_t begin_ns, int64_t end_ns)
{
	struct dtc_interval span = { .begin_ns = begin_ns,
				     .end_ns = end_ns,
				     .thread = DTC_NONE,
				     .cpu = dtc_packets_get(dtc_history_get_packets(h), packet)->cpu };
	g_autoptr(GArray) occupants = dtc_occupants_find(h, &span);
	if (!occupants->len || 2 * g_array_index(occupants, struct dtc_occupant, 0).ns < end_ns - begin_ns)
		return DTC_NONE;
	return g_array_index(occupants, struct dtc_occupant, 0).thread;
}

/*
 * As long as the receiver's softirq is asked for and has not begun (its CPU is taken, or ksoftirqd waits for it), what
 * comes waits for the receiver, not on the wire. If it was asked for before the packet left, that is all its way, but
 * for as much as the clocks leave open: no more is known of how short a way can be. What came while the softirq ran
 * already has no time of its own and counts as on the wire.
 */
static void emit_softirq_delay(struct dtc_traverse *t, const struct dtc_arrival *arrival,
			       const struct dtc_sender *sender)
{
	const DtcHistory *h = dtc_links_get_history(t->links, arrival->node);
	if (arrival->packet == DTC_NONE)
		return;
	int64_t asked_ns = dtc_history_get_packet_context(h, arrival->packet).queue_ns;
	if (asked_ns == DTC_TIME_NONE || asked_ns >= arrival->time_ns)
		return;
	int64_t asked_cluster_ns = dtc_clocks_to_cluster_ns(t->clocks, arrival->node, asked_ns);
	int64_t left_cluster_ns = dtc_clocks_to_cluster_ns(t->clocks, sender->node, sender->left_ns);
	int64_t way_ns =
		dtc_clocks_get_uncertainty_ns(t->clocks, sender->node, arrival->node, (DtcClusterTime){ t->tc });
	if (left_cluster_ns >= t->tc || (asked_cluster_ns <= left_cluster_ns && way_ns >= t->tc - left_cluster_ns))
		return;
	int64_t begin_cluster_ns = asked_cluster_ns > left_cluster_ns ? asked_cluster_ns : left_cluster_ns + way_ns;
	int64_t begin_ns = dtc_clocks_to_node(t->clocks, arrival->node, (DtcClusterTime){ begin_cluster_ns }).ns;
	struct dtc_evidence why = dtc_evidence_of(DTC_REASON_RECEIVER_SOFTIRQ);
	why.node = why.by_node = arrival->node;
	why.by_thread = find_holder(h, arrival->packet, begin_ns, arrival->time_ns);
	dtc_traverse_explain(t, arrival->node, t->stand.thread, arrival->time_ns, begin_cluster_ns,
			     DTC_CAUSE_NETWORK_RECEIVE, why, NULL);
}

const struct dtc_scope *dtc_traverse_find_scope(const struct dtc_traverse *t, int32_t pid)
{
	for (guint i = t->scopes->len; i-- > 0;) {
		const struct dtc_scope *scope = &g_array_index(t->scopes, struct dtc_scope, i);
		if (scope->node == t->stand.node && scope->pid == pid && scope->asked.arrival.time_ns < t->stand.at_ns)
			return scope;
	}
	return NULL;
}

/* Who received what arrived: the reader of the question, if it lived then and the walk came by another thread. */
void dtc_traverse_go_to_reader(struct dtc_traverse *t, const struct dtc_arrival *arrival)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	for (guint i = t->scopes->len; i-- > 0;) {
		const struct dtc_scope *scope = &g_array_index(t->scopes, struct dtc_scope, i);
		if (scope->node == t->stand.node && scope->asked.arrival.file == arrival->file &&
		    scope->asked.arrival.time_ns == arrival->time_ns &&
		    dtc_history_get_thread(h, scope->asked.thread)->begin_ns < arrival->time_ns)
			t->stand.thread = scope->asked.thread;
	}
}

static bool is_other_question(const struct dtc_traverse *t, uint32_t file, uint32_t question_file)
{
	return file != DTC_NONE && file != question_file &&
	       dtc_endpoint_is_stream_server(dtc_links_get_history(t->links, t->stand.node), file);
}

/* Questions that were reached are dropped, at times that keep the cost of all of them in proportion to their number. */
static void add_scope(struct dtc_traverse *t, int32_t pid, const struct dtc_asked *asked)
{
	struct dtc_scope scope = { .node = t->stand.node,
				   .pid = pid,
				   .asked = *asked,
				   .question_cluster_ns =
					   dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, asked->arrival.time_ns),
				   .frames = t->frames->len };
	if (t->scopes->len >= MAX(t->scopes_max, SCOPES_KEPT)) {
		guint kept = 0;
		for (guint i = 0; i < t->scopes->len; i++)
			if (g_array_index(t->scopes, struct dtc_scope, i).question_cluster_ns <= t->tc)
				g_array_index(t->scopes, struct dtc_scope, kept++) =
					g_array_index(t->scopes, struct dtc_scope, i);
		g_array_set_size(t->scopes, kept);
		t->scopes_max = 2 * kept;
	}
	g_array_append_val(t->scopes, scope);
}

/* The request, plus 1, that a write of the stand's thread was for; 0: not known. */
static guint find_owner(const struct dtc_traverse *t, uint32_t call)
{
	const struct dtc_owned *owned = !t->of->serving || call == DTC_NONE
						? NULL
						: dtc_serving_find_owned(t->of->serving, t->stand.node, call);
	return owned ? owned->request + 1 : 0;
}

/*
 * The walk stands at a send on file by its thread: what the thread acted on. An answer leads to its question, by way of
 * who gave it to the thread if that is another one; what a process sends to others while it works on a question it
 * sends for its sake, if the sender is not seen to have read anything since that is no other client's question.
 */
void dtc_traverse_pursue(struct dtc_traverse *t, uint32_t file, uint32_t call)
{
	struct dtc_stand *stand = &t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	struct dtc_asked asked;

	bool has_arrival = dtc_arrival_find_for_send(t->links, stand->node, stand->thread, stand->at_ns, file, call,
						     &stand->arrival);
	stand->purpose = has_arrival ? DTC_PURPOSE_ARRIVAL : DTC_PURPOSE_OWN;
	stand->pause = DTC_PAUSE_NONE;
	stand->owner = find_owner(t, call);
	int32_t pid = dtc_history_get_thread(h, t->stand.thread)->pid;
	bool has_question = dtc_handoff_find_question(t->links, t->stand.node, file, call, t->stand.at_ns, &asked);
	if (has_question) {
		add_scope(t, pid, &asked);
		struct dtc_given given;
		if (has_arrival && stand->arrival.time_ns == asked.arrival.time_ns &&
		    dtc_handoff_find_giver(t->links, stand->node, stand->thread, stand->at_ns, &asked, &given)) {
			stand->purpose = DTC_PURPOSE_GIVEN;
			stand->giver = given.thread;
			stand->given_ns = given.time_ns;
			return;
		}
	}
	if (dtc_traverse_pursue_own(t, call))
		return;
	if (has_question) {
		struct dtc_scope *own = &g_array_index(t->scopes, struct dtc_scope, t->scopes->len - 1);
		own->is_inside = stand->owner && dtc_traverse_is_inside(t, &asked, stand->owner - 1);
		/* what the thread had read since led to the answer, or is another's: that cannot be told */
		if (own->is_inside && has_arrival && stand->arrival.time_ns > asked.arrival.time_ns)
			t->doubt_cluster_ns = own->question_cluster_ns;
		return;
	}
	const struct dtc_scope *scope = dtc_traverse_find_scope(t, pid);
	if (scope && (!has_arrival || stand->arrival.time_ns < scope->asked.arrival.time_ns ||
		      is_other_question(t, stand->arrival.file, scope->asked.arrival.file))) {
		stand->arrival = scope->asked.arrival;
		stand->purpose = DTC_PURPOSE_ARRIVAL;
	}
}

/* The way of a message from its arrival back to when it was first sent, and to the thread that sent it. */
static void explain_way(struct dtc_traverse *t, const struct dtc_arrival *arrival, const struct dtc_sender *sender)
{
	t->message = arrival;
	t->message_sender = sender;
	emit_softirq_delay(t, arrival, sender);
	t->link = sender->exact ? DTC_LINK_EXACT : DTC_LINK_INFERRED;
	t->uncertainty_ns =
		dtc_clocks_get_uncertainty_ns(t->clocks, sender->node, arrival->node, (DtcClusterTime){ t->tc });
	note_reversal(t, arrival, sender);
	emit_wire_delivery(t, arrival, sender);
	dtc_traverse_explain(t, arrival->node, t->stand.thread, arrival->time_ns,
			     dtc_clocks_to_cluster_ns(t->clocks, sender->node, sender->left_ns), DTC_CAUSE_NETWORK_WIRE,
			     dtc_evidence_of(DTC_REASON_WIRE), NULL);
	if (sender->left_ns > sender->sent_ns)
		dtc_traverse_explain(t, sender->node, sender->thread, sender->left_ns,
				     dtc_clocks_to_cluster_ns(t->clocks, sender->node, sender->sent_ns),
				     DTC_CAUSE_NETWORK_SEND, dtc_evidence_of(DTC_REASON_QDISC), NULL);
	t->stand.node = sender->node;
	t->stand.thread = sender->thread;
	if (sender->sent_ns > sender->first_ns) {
		dtc_traverse_explain(t, sender->node, sender->thread, sender->sent_ns,
				     dtc_clocks_to_cluster_ns(t->clocks, sender->node, sender->first_ns),
				     DTC_CAUSE_RETRANSMISSION, dtc_evidence_of(get_again_reason(sender->again)), NULL);
	}
	t->message = NULL;
}

/* Of a wait that the span's end cuts, the message may be sent after that: up to there the sender's time counts. */
static void stay_behind(struct dtc_traverse *t)
{
	int64_t cut_ns = dtc_clocks_to_node(t->clocks, t->stand.node, (DtcClusterTime){ t->tc }).ns;
	if (t->tc < t->of->end.ns || t->stand.at_ns <= cut_ns)
		return;
	t->stand.at_ns = cut_ns;
	if (t->stand.purpose != DTC_PURPOSE_OWN && t->stand.arrival.time_ns > cut_ns)
		t->stand.purpose = DTC_PURPOSE_OWN; /* for what it sends is not yet there */
}

/*
 * From an arrival to the thread that sent it: wire, retransmission, time in the sender's stack. Several steps when the
 * kernel answered by itself (SYN-ACK, ACK). False if nobody traced sent it: then the walk stays where it is.
 */
static bool jump(struct dtc_traverse *t, struct dtc_arrival arrival, const struct dtc_sender *first)
{
	bool moved = false;
	for (guint relays = 0; relays < DTC_RELAYS_MAX; relays++) {
		struct dtc_sender sender;
		if (first)
			sender = *first;
		else if (!dtc_arrival_find_sender(t->links, &arrival, &sender))
			return moved;
		first = NULL;
		explain_way(t, &arrival, &sender);
		moved = true;
		if (!sender.relayed) {
			if (sender.written_ns < sender.first_ns)
				dtc_traverse_explain(
					t, sender.node, sender.thread, sender.first_ns,
					dtc_clocks_to_cluster_ns(t->clocks, sender.node, sender.written_ns),
					DTC_CAUSE_NETWORK_SEND, dtc_evidence_of(get_hold_reason(sender.hold)), NULL);
			t->stand.at_ns = sender.written_ns;
			/* exact as long as the bytes tell; the loop's rule below is by order within one turn */
			t->stand.purpose = DTC_PURPOSE_OWN;
			t->stand.owner = 0;
			if (sender.thread != DTC_NONE)
				dtc_traverse_pursue(t, sender.file, sender.call);
			stay_behind(t);
			return true;
		}
		t->by_kernel = true;
		dtc_traverse_explain(
			t, sender.node, sender.thread, sender.first_ns,
			dtc_clocks_to_cluster_ns(t->clocks, sender.node, sender.cause.time_ns),
			sender.is_delayed ? DTC_CAUSE_NETWORK_SEND : DTC_CAUSE_SOFTIRQ,
			dtc_evidence_of(sender.is_delayed ? DTC_REASON_DELAYED_ACK : DTC_REASON_KERNEL_ANSWER), NULL);
		t->by_kernel = false;
		arrival = sender.cause;
		t->stand.at_ns = arrival.time_ns;
		if (t->tc <= dtc_traverse_get_bound(t))
			return true;
	}
	dtc_links_note_limit(t->links, DTC_LIMIT_RELAYS);
	return moved;
}

/*
 * The peer is not traced. What can be said: since this node's last send on that connection, in this thread's calls, the
 * answer was outstanding. The walk goes on at that send. False if there was none.
 */
static bool follow_untraced(struct dtc_traverse *t, const struct dtc_arrival *arrival)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	if (arrival->file == DTC_NONE)
		return false;
	uint32_t found = dtc_file_calls_find_asking(dtc_links_get_file_calls(t->links, t->stand.node, arrival->file),
						    arrival->time_ns);
	if (found == DTC_NONE)
		return false;
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(h, found, &call_place);
	int64_t at_ns = call->end_ns == DTC_TIME_NONE ? arrival->time_ns : MIN(call->end_ns, arrival->time_ns);
	if (call->kind == DTC_CALL_CONNECT) /* a blocking connect ends with the arrival */
		at_ns = call->begin_ns;
	struct dtc_evidence why = dtc_evidence_of(DTC_REASON_UNTRACED_PEER);
	why.node = t->stand.node;
	why.file = arrival->file;
	t->link = DTC_LINK_UNKNOWN;
	dtc_traverse_explain(t, t->stand.node, t->stand.thread, arrival->time_ns,
			     dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, at_ns), DTC_CAUSE_UNKNOWN, why, NULL);
	t->stand.thread = call->thread;
	t->stand.at_ns = at_ns;
	dtc_traverse_pursue(t, arrival->file, found);
	return true;
}

bool dtc_traverse_follow_arrival(struct dtc_traverse *t, const struct dtc_arrival *arrival,
				 const struct dtc_sender *first)
{
	guint node = t->stand.node;
	uint32_t thread = t->stand.thread;
	if (jump(t, *arrival, first))
		return true;
	t->stand.node = node;
	t->stand.thread = thread;
	return follow_untraced(t, arrival);
}
