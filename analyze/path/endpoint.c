/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/path/endpoint.h"
#include "analyze/path/explain.h"

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

bool dtc_endpoint_is_server(const DtcHistory *h, uint32_t file)
{
	const struct dtc_flow *out = get_flow_out(h, file);
	const struct dtc_flow *in = dtc_packets_get_flow(dtc_history_get_packets(h), out->reverse);
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);

	for (uint32_t i = 0; i < count; i++)
		if (dtc_history_get_call(h, calls[i])->kind == DTC_CALL_CONNECT)
			return false;
	if (is_opener(h, in))
		return true;
	if (is_opener(h, out))
		return false;
	return out->source_port < out->destination_port;
}

char *dtc_endpoint_name_host(const uint8_t address[16])
{
	char *text = dtc_explain_address(address, 0);

	text[strlen(text) - strlen(":0")] = 0;
	return text;
}

char *dtc_endpoint_name(const DtcHistory *h, uint32_t index)
{
	const struct dtc_file *file = dtc_history_get_file(h, index);

	if (file->flow_out != DTC_NONE) {
		const struct dtc_flow *flow = get_flow_out(h, index);
		if (dtc_endpoint_is_server(h, index)) {
			g_autofree char *host = dtc_endpoint_name_host(flow->destination);
			return g_strdup_printf(":%u from %s", flow->source_port, host);
		}
		g_autofree char *address = dtc_explain_address(flow->destination, flow->destination_port);
		return g_strconcat("to ", address, NULL);
	}
	if (file->listens)
		return g_strdup("listening socket");
	if (file->name != DTC_NONE)
		return g_strdup(dtc_history_get_string(h, file->name));
	return file->kind == DTC_FILE_SOCKET ? g_strdup("socket") : NULL;
}
