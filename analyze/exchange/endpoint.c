/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/endpoint.h"

#include <string.h>

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
	const struct dtc_packet *first = dtc_packets_get(packets, dtc_packets_get_flow_packets(packets, index)[0]);
	return flow->protocol == DTC_PROTOCOL_TCP && (first->tcp_flags & (DTC_TCP_SYN | DTC_TCP_ACK)) == DTC_TCP_SYN;
}

/* A connect comes before all data, so that this ends at the first call that moves some. */
static bool has_connected(const DtcHistory *h, uint32_t file)
{
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);
	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_call *call = dtc_history_get_call(h, calls[i]);
		if (call->kind == DTC_CALL_CONNECT)
			return true;
		if (call->result > 0 && (call->kind == DTC_CALL_READ || call->kind == DTC_CALL_WRITE))
			return false;
	}
	return false;
}

bool dtc_endpoint_is_server(const DtcHistory *h, uint32_t file)
{
	if (dtc_history_get_file(h, file)->flow_out == DTC_NONE || has_connected(h, file))
		return false;
	const struct dtc_flow *out = get_flow_out(h, file);
	const struct dtc_flow *in = dtc_packets_get_flow(dtc_history_get_packets(h), out->reverse);
	if (is_opener(h, in))
		return true;
	if (is_opener(h, out))
		return false;
	return out->source_port < out->destination_port;
}

bool dtc_endpoint_is_stream_server(const DtcHistory *h, uint32_t file)
{
	return dtc_endpoint_is_server(h, file) && get_flow_out(h, file)->protocol == DTC_PROTOCOL_TCP;
}
