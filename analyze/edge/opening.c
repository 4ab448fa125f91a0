/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/opening.h"

#include "collect/packets/records.h"

bool dtc_opening_find_handshake(const DtcHistory *h, guint node, uint32_t file_index, struct dtc_arrival *ret_arrival)
{
	const struct dtc_file *file = dtc_history_get_file(h, file_index);
	if (file->flow_in == DTC_NONE)
		return false;
	const DtcPackets *packets = dtc_history_get_packets(h);
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, file->flow_in);
	/* a connection from before the trace is not looked through: it has no SYN */
	for (uint32_t i = 0; i < flow->packet_count && flow->has_isn; i++) {
		uint32_t id = dtc_packets_get_flow_packet(packets, file->flow_in, i);
		const struct dtc_packet p = dtc_packets_read(packets, id);
		if (p.direction == DTC_RECEIVED && (p.tcp_flags & DTC_TCP_SYN) && (p.tcp_flags & DTC_TCP_ACK))
			return dtc_arrival_of_packet(node, h, id, file_index, true, ret_arrival);
	}
	return false;
}

bool dtc_opening_find_accepted(const DtcHistory *h, guint node, const struct dtc_call *accept,
			       struct dtc_arrival *ret_arrival)
{
	if (accept->result == DTC_ABSENT || accept->result < 0)
		return false;
	uint32_t file = (uint32_t)accept->argument;
	uint32_t flow_in = dtc_history_get_file(h, file)->flow_in;
	if (flow_in == DTC_NONE)
		return false;
	const DtcPackets *packets = dtc_history_get_packets(h);
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, flow_in);
	for (uint32_t i = 0; i < flow->packet_count; i++) {
		uint32_t id = dtc_packets_get_flow_packet(packets, flow_in, i);
		const struct dtc_packet p = dtc_packets_read(packets, id);
		if (p.direction == DTC_RECEIVED && (p.tcp_flags & DTC_TCP_ACK) && !(p.tcp_flags & DTC_TCP_SYN))
			return dtc_arrival_of_packet(node, h, id, file, true, ret_arrival);
	}
	return false;
}

/* The connect to a Unix socket that made what an accept returned. */
static bool find_connected_by(const DtcLinks *links, guint node, const struct dtc_call *accept,
			      struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	uint32_t file = (uint32_t)accept->argument, peer = dtc_history_get_file(h, file)->peer;
	uint32_t connect = peer == DTC_NONE ? DTC_NONE
					    : dtc_file_calls_find_kind(dtc_links_get_file_calls(links, node, peer),
								       DTC_CALL_CONNECT, INT64_MIN);
	if (connect == DTC_NONE || dtc_history_copy_call(h, connect).result != 0)
		return false;
	*ret_arrival = (struct dtc_arrival){ .node = node,
					     .time_ns = dtc_history_get_call_begin_ns(h, connect),
					     .packet = DTC_NONE,
					     .flow = DTC_NONE,
					     .file = file,
					     .exact = dtc_history_get_file(h, file)->pairing == DTC_PAIRING_EXACT,
					     .is_local = true,
					     .write = connect };
	return true;
}

bool dtc_opening_find_for_accept(const DtcLinks *links, guint node, uint32_t call, struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	const struct dtc_call accept = dtc_history_copy_call(h, call);
	if (accept.kind != DTC_CALL_ACCEPT || accept.result == DTC_ABSENT || accept.result < 0)
		return false;
	return dtc_opening_find_accepted(h, node, &accept, ret_arrival) ||
	       find_connected_by(links, node, &accept, ret_arrival);
}

bool dtc_opening_find_connected(guint node, const DtcHistory *h, const struct dtc_interval *wait,
				const struct dtc_wake *wake, uint32_t connect, struct dtc_arrival *ret_arrival)
{
	struct dtc_call place;
	uint8_t kind = dtc_history_get_call(h, wait->call, &place)->kind;
	const struct dtc_file *asking = dtc_history_get_file(h, dtc_history_get_call(h, connect, &place)->file);
	if ((kind != DTC_CALL_POLL && kind != DTC_CALL_ACCEPT) || asking->flow_out != DTC_NONE)
		return false;
	*ret_arrival = (struct dtc_arrival){ .node = node,
					     .time_ns = wake->waking_ns,
					     .packet = DTC_NONE,
					     .flow = DTC_NONE,
					     .file = asking->peer,
					     .exact = !wake->is_inferred,
					     .is_local = true,
					     .write = connect };
	return wake->waking_ns > wait->begin_ns && wake->waking_ns <= wait->end_ns;
}

bool dtc_opening_find_greeted(const DtcLinks *links, guint node, uint32_t file, uint32_t write, int64_t time_ns,
			      struct dtc_arrival *ret_arrival)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	uint32_t accept = file == DTC_NONE ? DTC_NONE : dtc_history_get_file(h, file)->accept;
	struct dtc_call place;
	if (accept == DTC_NONE || write == DTC_NONE)
		return false;
	const struct dtc_call *call = dtc_history_get_call(h, write, &place);
	return call->kind == DTC_CALL_WRITE && call->file == file && call->offset == 0 &&
	       dtc_opening_find_for_accept(links, node, accept, ret_arrival) && ret_arrival->time_ns < time_ns;
}
