/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/endpoint.h"

#include "collect/packets/records.h"

#include <string.h>

/* The same ends again after this time are another connection, if no SYN says so before. */
#define SAME_CONNECTION_NS (60 * G_GINT64_CONSTANT(1000000000))

static const struct dtc_flow *get_flow_out(const DtcHistory *h, uint32_t file)
{
	return dtc_packets_get_flow(dtc_history_get_packets(h), dtc_history_get_file(h, file)->flow_out);
}

bool dtc_endpoint_is_local(const DtcHistory *h, uint32_t file)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const uint8_t loopback6[16] = { [15] = 1 };
	const struct dtc_flow *flow = get_flow_out(h, file);

	return memcmp(flow->source, flow->destination, 16) == 0 || memcmp(flow->destination, loopback6, 16) == 0 ||
	       (memcmp(flow->destination, mapped, 12) == 0 && flow->destination[12] == 127);
}

/* Who sent the SYN, if it was seen: the flow's first packet is one without ACK. */
static bool is_opener(const DtcHistory *h, const struct dtc_flow *flow)
{
	const DtcPackets *packets = dtc_history_get_packets(h);
	uint32_t index = dtc_packets_get_flow(packets, flow->reverse)->reverse;

	if (!flow->packet_count)
		return false;
	const struct dtc_packet first = dtc_packets_read(packets, dtc_packets_get_flow_packet(packets, index, 0));
	return flow->protocol == DTC_PROTOCOL_TCP && (first.tcp_flags & (DTC_TCP_SYN | DTC_TCP_ACK)) == DTC_TCP_SYN;
}

/* A connect comes before all data, so that this ends at the first call that moves some. */
bool dtc_endpoint_has_connected(const DtcHistory *h, uint32_t file)
{
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, calls[i], &call_place);
		if (call->kind == DTC_CALL_CONNECT)
			return true;
		if (call->result > 0 && (call->kind == DTC_CALL_READ || call->kind == DTC_CALL_WRITE))
			return false;
	}
	return false;
}

bool dtc_endpoint_has_local_peer(const DtcHistory *h, uint32_t file)
{
	return dtc_history_get_file(h, file)->pairing != DTC_PAIRING_NONE;
}

static bool is_answering(const DtcHistory *h, const struct dtc_flow *out)
{
	const struct dtc_flow *in = dtc_packets_get_flow(dtc_history_get_packets(h), out->reverse);
	if (is_opener(h, in))
		return true;
	return !is_opener(h, out) && out->source_port < out->destination_port;
}

bool dtc_endpoint_is_answering(const DtcHistory *h, uint32_t flow)
{
	const struct dtc_flow *out = dtc_packets_get_flow(dtc_history_get_packets(h), flow);
	return out->protocol == DTC_PROTOCOL_TCP && is_answering(h, out);
}

bool dtc_endpoint_is_server(const DtcHistory *h, uint32_t file)
{
	if (dtc_endpoint_has_local_peer(h, file))
		return !dtc_history_get_file(h, file)->asks && !dtc_endpoint_has_connected(h, file);
	if (dtc_history_get_file(h, file)->flow_out == DTC_NONE || dtc_endpoint_has_connected(h, file))
		return false;
	return is_answering(h, get_flow_out(h, file));
}

/* Of each class of ports the higher ones are clients' first: well-known, registered, dynamic (by Linux' default). */
static guint get_port_class(uint16_t port)
{
	return port < 1024 ? 0 : port < 32768 ? 1 : 2;
}

bool dtc_endpoint_is_asked(const DtcHistory *h, uint32_t flow_in)
{
	const DtcPackets *packets = dtc_history_get_packets(h);
	const struct dtc_flow *in = dtc_packets_get_flow(packets, flow_in);
	const struct dtc_flow *out = dtc_packets_get_flow(packets, in->reverse);
	guint own = get_port_class(in->destination_port), other = get_port_class(in->source_port);
	if (own != other)
		return own < other;
	if (!in->packet_count || !out->packet_count)
		return in->packet_count > 0;
	return dtc_packets_get_flow_packet(packets, flow_in, 0) < dtc_packets_get_flow_packet(packets, in->reverse, 0);
}

bool dtc_endpoint_is_stream_server(const DtcHistory *h, uint32_t file)
{
	return dtc_endpoint_is_server(h, file) &&
	       (dtc_endpoint_has_local_peer(h, file) || get_flow_out(h, file)->protocol == DTC_PROTOCOL_TCP);
}

/* How far a time is from the packets of one direction; 0 within. */
static int64_t get_flow_distance_ns(const DtcPackets *packets, uint32_t flow, int64_t time_ns)
{
	uint32_t count = dtc_packets_get_flow(packets, flow)->packet_count;
	if (!count)
		return INT64_MAX;
	int64_t first_ns = dtc_packets_read(packets, dtc_packets_get_flow_packet(packets, flow, 0)).time_ns;
	int64_t last_ns = dtc_packets_read(packets, dtc_packets_get_flow_packet(packets, flow, count - 1)).time_ns;
	return time_ns < first_ns ? first_ns - time_ns : time_ns > last_ns ? time_ns - last_ns : 0;
}

static int64_t get_distance_ns(const DtcPackets *packets, uint32_t flow, int64_t time_ns)
{
	uint32_t reverse = dtc_packets_get_flow(packets, flow)->reverse;
	if (time_ns == DTC_TIME_NONE)
		return 0;
	int64_t distance_ns = get_flow_distance_ns(packets, flow, time_ns);
	return MIN(distance_ns, get_flow_distance_ns(packets, reverse, time_ns));
}

enum same { SAME_UNKNOWN, SAME_YES, SAME_NO };

static enum same compare_flow(const struct dtc_flow *a, const struct dtc_flow *b)
{
	return !a->has_isn || !b->has_isn ? SAME_UNKNOWN : a->isn == b->isn ? SAME_YES : SAME_NO;
}

/* One direction suffices: a trace may lack the SYN-ACK, or a receiver's events the headers. */
static enum same compare_connection(const DtcPackets *here, uint32_t flow, const DtcPackets *there, uint32_t other)
{
	const struct dtc_flow *a = dtc_packets_get_flow(here, flow), *b = dtc_packets_get_flow(there, other);
	enum same out = compare_flow(a, b);
	enum same in = compare_flow(dtc_packets_get_flow(here, a->reverse), dtc_packets_get_flow(there, b->reverse));
	return out == SAME_NO || in == SAME_NO ? SAME_NO : out == SAME_YES || in == SAME_YES ? SAME_YES : SAME_UNKNOWN;
}

/* What was found for a connection at another place. */
struct found {
	uint32_t flow;
	uint32_t last; /* looked at */
	int64_t distance_ns;
	bool is_sure;
};

/* Looks at the generations from the latest on. needs_proof: numbers must tell that it is the same connection. */
static void look_at_generations(const DtcPackets *here, uint32_t flow, const DtcPackets *there, uint32_t id,
				bool needs_proof, int64_t there_ns, struct found *found)
{
	for (; id != DTC_NONE && !found->is_sure; id = dtc_packets_find_previous_generation(there, id)) {
		enum same same = compare_connection(here, flow, there, id);
		if (same == SAME_NO || (same == SAME_UNKNOWN && needs_proof))
			continue;
		/* numbers tell, and nobody looks where the packets lie, which are far from here in memory */
		int64_t distance_ns = same == SAME_YES ? 0 : get_distance_ns(there, id, there_ns);
		if (same == SAME_UNKNOWN && distance_ns >= found->distance_ns)
			continue;
		*found = (struct found){ id, found->last, distance_ns, same == SAME_YES };
	}
}

static void look_in_netns(const DtcPackets *here, uint32_t flow, const DtcPackets *there, uint32_t netns,
			  bool needs_proof, int64_t there_ns, struct found *found)
{
	const struct dtc_flow *f = dtc_packets_get_flow(here, flow);
	uint32_t id = dtc_packets_find_flow(there, f->source, f->source_port, f->destination, f->destination_port,
					    f->protocol, netns);

	if (id != found->last) /* once, where namespaces do not count */
		look_at_generations(here, flow, there, id, needs_proof, there_ns, found);
	found->last = id;
}

uint32_t dtc_endpoint_find_flow(const DtcPackets *here, uint32_t flow, const DtcPackets *there, bool is_same_node,
				int64_t there_ns)
{
	struct found found = { DTC_NONE, DTC_NONE, SAME_CONNECTION_NS, false };
	uint16_t count = dtc_packets_get_netns_count(there);

	if (is_same_node)
		look_in_netns(here, flow, there, dtc_packets_get_netns(here, dtc_packets_get_flow(here, flow)->netns),
			      false, there_ns, &found);
	/* inodes of another machine are other namespaces; on the same one it may have been seen elsewhere first */
	for (uint16_t i = 0; i < count && !found.is_sure; i++)
		look_in_netns(here, flow, there, dtc_packets_get_netns(there, i), is_same_node, there_ns, &found);
	return found.flow;
}
