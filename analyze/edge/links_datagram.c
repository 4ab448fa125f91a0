/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a datagram that was sent to who read it. */
#include "analyze/edge/links_build.h"
#include "analyze/exchange/endpoint.h"
#include "collect/packets/records.h"

#include <dtrace-chain/bisect.h>

/* Packets behind the time of a send that are looked at for the one that it is. */
#define RECEIVED_MAX 4096
/* Calls of a thread between what it read and its answer. */
#define ANSWER_CALLS 4096
/* Questions and answers of a thread that are looked back at. */
#define TURNS_SEEN 16

static const DtcPackets *get_packets(const DtcLinks *links, guint node)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	return h ? dtc_history_get_packets(h) : NULL;
}

/* What a node sent by a flow, and the same seen on another node, or on the same one. */
struct sent_datagram {
	guint node;
	uint32_t packet;
	struct dtc_packet sent;
	guint receiver;
	uint32_t flow; /* the receiver's (remote -> local) */
	uint32_t file; /* its socket, or DTC_NONE */
};

/* Whether one like this one left as well before a time of the sender's: then nothing tells which of them it is. */
static bool is_sent_again(const DtcPackets *packets, const struct sent_datagram *datagram, int64_t until_ns)
{
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, datagram->sent.flow);
	uint32_t i = DTC_BISECT(k, 0, flow->packet_count,
				dtc_packets_read_flow_packet(packets, flow, k) <= datagram->packet);
	for (; i < flow->packet_count; i++) {
		const struct dtc_packet p = dtc_packets_read(packets, dtc_packets_read_flow_packet(packets, flow, i));
		if (p.time_ns > until_ns)
			break;
		if (p.direction == DTC_SENT && dtc_links_is_same_segment(&p, &datagram->sent) &&
		    !dtc_links_is_passage(&datagram->sent, &p))
			return true;
	}
	return false;
}

/* The read of the first packet like it that came since it left; it may be seen on several interfaces. */
static struct dtc_datagram find_read_of_datagram(const DtcLinks *links, const struct sent_datagram *datagram)
{
	const struct dtc_datagram none = { DTC_NONE, 0 };
	guint node = datagram->node, receiver = datagram->receiver;
	const DtcPackets *packets = get_packets(links, receiver);
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, datagram->flow);
	DtcDatagrams *datagrams = dtc_links_get_datagrams(links, receiver);
	const DtcClocks *clocks = dtc_links_get_clocks(links);
	DtcClusterTime at = dtc_clocks_to_cluster(clocks, node, (DtcNodeTime){ datagram->sent.time_ns });
	int64_t slack = receiver == node ? 0 : dtc_clocks_get_uncertainty_ns(clocks, receiver, node, at);
	int64_t from_ns = datagram->sent.time_ns, first_ns = DTC_TIME_NONE;
	if (slack == INT64_MAX)
		return none;
	at.ns -= slack;
	if (receiver != node)
		from_ns = dtc_clocks_to_node(clocks, receiver, at).ns;
	uint32_t i =
		DTC_BISECT(k, 0, flow->packet_count,
			   dtc_packets_read(packets, dtc_packets_read_flow_packet(packets, flow, k)).time_ns < from_ns);
	for (uint32_t seen = 0; i < flow->packet_count && seen < RECEIVED_MAX; i++, seen++) {
		uint32_t id = dtc_packets_read_flow_packet(packets, flow, i);
		const struct dtc_packet p = dtc_packets_read(packets, id);
		if (first_ns != DTC_TIME_NONE && p.time_ns - first_ns > DTC_PASSAGE_NS)
			break;
		if (p.direction != DTC_RECEIVED || !dtc_links_is_same_segment(&p, &datagram->sent))
			continue;
		if (first_ns == DTC_TIME_NONE) {
			int64_t until_ns =
				dtc_links_get_latest_send_ns(links, receiver, node, (DtcNodeTime){ p.time_ns });
			if (is_sent_again(get_packets(links, node), datagram, until_ns))
				break;
			first_ns = p.time_ns;
		}
		struct dtc_datagram read = dtc_datagrams_find_read(datagrams, datagram->file, id);
		if (read.call != DTC_NONE)
			return read;
	}
	return none;
}

/* A node's socket that takes what a flow brings, or DTC_NONE. */
static uint32_t find_socket(const DtcLinks *links, guint node, uint32_t flow, int64_t time_ns)
{
	if (flow == DTC_NONE)
		return DTC_NONE;
	return dtc_datagrams_find_file(dtc_links_get_datagrams(links, node), flow, time_ns);
}

/* On this node first, for loopback and containers. */
static bool find_datagram_receiver(const DtcLinks *links, struct sent_datagram *datagram)
{
	guint node = datagram->node, count;
	const DtcPackets *here = get_packets(links, node);
	const struct dtc_flow *flow = dtc_packets_get_flow(here, datagram->sent.flow);
	const DtcClocks *clocks = dtc_links_get_clocks(links);
	DtcClusterTime at = dtc_clocks_to_cluster(clocks, node, (DtcNodeTime){ datagram->sent.time_ns });
	struct dtc_flow_place other;
	if (dtc_translations_find(dtc_links_get_translations(links), node, flow->reverse, &other)) {
		datagram->receiver = other.node;
		datagram->flow = dtc_packets_get_flow(get_packets(links, other.node), other.flow)->reverse;
		datagram->file =
			find_socket(links, other.node, datagram->flow, dtc_clocks_to_node(clocks, other.node, at).ns);
		return datagram->file != DTC_NONE && dtc_links_are_aligned(links, node, other.node);
	}
	const guint *nodes = dtc_flow_nodes_get(dtc_links_get_flow_nodes(links), flow, &count);
	for (guint i = 0; i <= count; i++) {
		guint receiver = i == 0 ? node : nodes[i - 1];
		if ((i > 0 && receiver == node) || !get_packets(links, receiver) ||
		    !dtc_links_are_aligned(links, node, receiver))
			continue;
		int64_t there_ns = dtc_clocks_to_node(clocks, receiver, at).ns;
		datagram->receiver = receiver;
		datagram->flow = receiver == node
					 ? datagram->sent.flow
					 : dtc_endpoint_find_flow(here, datagram->sent.flow,
								  get_packets(links, receiver), false, there_ns);
		datagram->file = find_socket(links, receiver, datagram->flow, there_ns);
		if (datagram->file != DTC_NONE)
			return true;
	}
	return false;
}

bool dtc_links_find_datagram_read(const DtcLinks *links, guint node, struct dtc_datagram write, guint *ret_node,
				  uint32_t *ret_file, struct dtc_datagram *ret_read)
{
	struct sent_datagram datagram = { .node = node,
					  .packet =
						  dtc_datagrams_find_sent(dtc_links_get_history(links, node), write) };
	if (datagram.packet == DTC_NONE)
		return false;
	datagram.sent = dtc_packets_read(get_packets(links, node), datagram.packet);
	if (!find_datagram_receiver(links, &datagram))
		return false;
	*ret_node = datagram.receiver;
	*ret_file = datagram.file;
	*ret_read = find_read_of_datagram(links, &datagram);
	return true;
}

/* The next, or last, call of a thread that moved a datagram of a socket; DTC_NONE: none that is near. */
static uint32_t find_moving(const DtcHistory *h, uint32_t from, bool back)
{
	struct dtc_call place;
	const struct dtc_call *call = dtc_history_get_call(h, from, &place);
	const struct dtc_thread *thread = dtc_history_get_thread(h, call->thread);
	uint32_t file = call->file, id = from;
	for (guint seen = 0; seen < ANSWER_CALLS; seen++) {
		if (id == (back ? thread->call_first : thread->call_first + thread->call_count - 1))
			break;
		id = back ? id - 1 : id + 1;
		call = dtc_history_get_call(h, id, &place);
		if (call->file == file && call->result > 0 &&
		    (call->kind == DTC_CALL_READ || call->kind == DTC_CALL_WRITE))
			return id;
	}
	return DTC_NONE;
}

/* Whether a call moved one datagram. */
static bool moves_one(const DtcHistory *h, uint32_t id, uint8_t kind)
{
	const struct dtc_call call = dtc_history_copy_call(h, id);
	return call.kind == kind && dtc_datagrams_count(&call) == 1;
}

/*
 * The answer of a thread that has one question at a time: it takes none before it has answered the last one, nor did it
 * lately. A loop that has several may answer any of them next.
 */
static uint32_t find_only_answer(const DtcLinks *links, guint node, uint32_t read)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	DtcDatagrams *datagrams = dtc_links_get_datagrams(links, node);
	uint32_t write = find_moving(h, read, false), before = read;
	for (guint i = 0; i < TURNS_SEEN; i++) {
		before = find_moving(h, before, true);
		uint8_t wanted = i % 2 ? DTC_CALL_READ : DTC_CALL_WRITE;
		if (before == DTC_NONE)
			break;
		if (!moves_one(h, before, wanted))
			return DTC_NONE;
	}
	if (write == DTC_NONE || !moves_one(h, read, DTC_CALL_READ) || !moves_one(h, write, DTC_CALL_WRITE) ||
	    dtc_datagrams_find_peer(datagrams, (struct dtc_datagram){ write, 0 }) !=
		    dtc_datagrams_find_peer(datagrams, (struct dtc_datagram){ read, 0 }))
		return DTC_NONE;
	return write;
}

uint32_t dtc_links_find_datagram_answer(const DtcLinks *links, guint node, uint32_t write)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	struct dtc_datagram question = { write, 0 }, read, answer = { DTC_NONE, 0 };
	guint there, back;
	uint32_t file;
	if (!moves_one(h, write, DTC_CALL_WRITE) ||
	    !dtc_links_find_datagram_read(links, node, question, &there, &file, &read) || read.call == DTC_NONE)
		return DTC_NONE;
	answer.call = find_only_answer(links, there, read.call);
	if (answer.call == DTC_NONE || !dtc_links_find_datagram_read(links, there, answer, &back, &file, &read) ||
	    back != node || read.call == DTC_NONE || !moves_one(h, read.call, DTC_CALL_READ) ||
	    file != dtc_history_copy_call(h, write).file)
		return DTC_NONE;
	return read.call;
}

bool dtc_links_find_datagram_write(const DtcLinks *links, guint node, struct dtc_datagram read, guint *ret_node,
				   struct dtc_datagram *ret_write)
{
	struct dtc_send send;
	uint32_t packet = dtc_datagrams_find_taken(dtc_links_get_datagrams(links, node), read);
	if (packet == DTC_NONE || !dtc_links_find_send(links, node, packet, &send))
		return false;
	const DtcHistory *h = dtc_links_get_history(links, send.node);
	*ret_node = send.node;
	*ret_write = dtc_datagrams_find_write(h, send.packet);
	return ret_write->call != DTC_NONE;
}
