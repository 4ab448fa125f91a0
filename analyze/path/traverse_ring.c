/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A loop over io_uring: what it reads and writes are no calls, but what io_uring_enter does, or a kernel worker. Of
 * that the trace has the packets. A server's answer belongs to the last bytes that had come on its connection before.
 * In between the request lay still while the loop waited in io_uring_enter. If the loop asked nobody when the question
 * had come, and its last wait ended by a timer, that timer is what it lay still for; if it asked, and a packet ended
 * the last wait, that packet. Else each wait is explained by itself. All of that is by order, and inferred.
 */
#include "analyze/exchange/endpoint.h"
#include "analyze/path/traverse_build.h"
#include "collect/packets/records.h"

/* Intervals, and packets, between a question and its answer that are looked through. */
#define LOOK_BACK 65536

bool dtc_traverse_is_ring_wait(const struct dtc_traverse *t, const struct dtc_interval *interval)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	struct dtc_call place;
	return dtc_state_is_wait(interval->state) && interval->call != DTC_NONE && interval->ref != DTC_NONE &&
	       dtc_history_get_call(h, interval->call, &place)->kind == DTC_CALL_RING;
}

/* The waits of a loop between a question and its answer: the last one, and when the first one began. */
static bool find_waits(const struct dtc_traverse *t, const DtcHistory *h, int64_t question_ns,
		       struct dtc_interval *ret_last, int64_t *ret_begin_ns)
{
	bool has_found = false;
	int64_t at_ns = t->stand.at_ns;
	for (guint seen = 0; at_ns > question_ns; seen++) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_find_interval_before(h, t->stand.thread, at_ns, &place);
		if (!v || v->begin_ns < question_ns) /* the wait that the question ended is not of these */
			break;
		if (seen == LOOK_BACK) {
			dtc_links_note_limit(t->links, DTC_LIMIT_TURN);
			return false;
		}
		at_ns = v->begin_ns;
		if (!dtc_traverse_is_ring_wait(t, v))
			continue;
		if (!has_found)
			*ret_last = *v;
		has_found = true;
		*ret_begin_ns = v->begin_ns;
	}
	return has_found;
}

/* Whether the loop asked others, in the turn that the question began: before its first wait. */
static bool asked(const struct dtc_traverse *t, const DtcHistory *h, const struct dtc_arrival *question, int64_t end_ns)
{
	const DtcPackets *packets = dtc_history_get_packets(h);
	uint32_t count = dtc_packets_get_count(packets);
	for (uint32_t i = question->packet + 1; i < count; i++) {
		const struct dtc_packet p = dtc_packets_read(packets, i);
		if (p.time_ns >= end_ns)
			break;
		if (i - question->packet == LOOK_BACK) {
			dtc_links_note_limit(t->links, DTC_LIMIT_TURN);
			break;
		}
		if (p.direction == DTC_SENT && p.flow != DTC_NONE && dtc_packet_get_span(&p) &&
		    dtc_history_get_plain_context(h, i).thread == t->stand.thread &&
		    !dtc_endpoint_is_answering(h, p.flow))
			return true;
	}
	return false;
}

/* What the request lay still for, from the begin of the loop's waits on. */
static void set_pause(struct dtc_traverse *t, const DtcHistory *h, const struct dtc_arrival *question)
{
	struct dtc_interval last;
	int64_t begin_ns = question->time_ns;
	if (!find_waits(t, h, question->time_ns, &last, &begin_ns))
		return;
	struct dtc_edge edge;
	dtc_edges_find(t->edges, t->stand.node, &last, &edge);
	bool has_asked = asked(t, h, question, begin_ns);
	if (edge.kind == DTC_EDGE_PACKET && edge.has_sender && has_asked) {
		if (dtc_traverse_go_aside(t, begin_ns))
			t->stand.arrival = edge.arrival;
	} else if (edge.kind == DTC_EDGE_PACKET ? has_asked : edge.kind == DTC_EDGE_TIMER && !has_asked) {
		t->stand.pause = (struct dtc_pause){ .poll = last.call, .begin_ns = begin_ns };
	}
}

bool dtc_traverse_pursue_ring(struct dtc_traverse *t, const struct dtc_sender *sender)
{
	struct dtc_stand *stand = &t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	struct dtc_call place;
	if (sender->call == DTC_NONE || sender->packet == DTC_NONE ||
	    dtc_history_get_call(h, sender->call, &place)->kind != DTC_CALL_RING)
		return false;
	uint32_t flow = dtc_packets_get_flow_of(dtc_history_get_packets(h), sender->packet);
	struct dtc_arrival question;
	if (flow == DTC_NONE || !dtc_endpoint_is_answering(h, flow) ||
	    !dtc_arrival_find_last(t->links, stand->node, flow, stand->at_ns, &question))
		return false;
	stand->purpose = DTC_PURPOSE_ARRIVAL;
	stand->arrival = question;
	stand->pause = DTC_PAUSE_NONE;
	stand->owner = 0;
	t->doubt_cluster_ns = dtc_clocks_to_cluster_ns(t->clocks, stand->node, question.time_ns);
	set_pause(t, h, &question);
	return true;
}
