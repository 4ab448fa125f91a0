/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/endpoint.h"
#include "analyze/path/explain.h"

#include <string.h>

char *dtc_explain_host_address(const uint8_t address[16])
{
	char *text = dtc_explain_address(address, 0);

	text[strlen(text) - strlen(":0")] = 0;
	return text;
}

char *dtc_explain_endpoint(const DtcHistory *h, uint32_t index)
{
	const struct dtc_file *file = dtc_history_get_file(h, index);

	if (file->flow_out != DTC_NONE) {
		const struct dtc_flow *flow = dtc_packets_get_flow(dtc_history_get_packets(h), file->flow_out);
		if (dtc_endpoint_is_server(h, index)) {
			g_autofree char *host = dtc_explain_host_address(flow->destination);
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
