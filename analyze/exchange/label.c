/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/label.h"

#include "analyze/exchange/endpoint.h"

#include <arpa/inet.h>
#include <string.h>

char *dtc_address_to_host_string(const uint8_t address[16])
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	if (memcmp(address, mapped, 12) == 0)
		return g_strdup_printf("%u.%u.%u.%u", address[12], address[13], address[14], address[15]);
	char text[INET6_ADDRSTRLEN];
	inet_ntop(AF_INET6, address, text, sizeof(text));
	return g_strdup_printf("[%s]", text);
}

char *dtc_address_to_string(const uint8_t address[16], uint16_t port)
{
	g_autofree char *host = dtc_address_to_host_string(address);
	return g_strdup_printf("%s:%u", host, port);
}

char *dtc_file_to_string(const DtcHistory *h, uint32_t index)
{
	const struct dtc_file *file = dtc_history_get_file(h, index);
	if (file->flow_out != DTC_NONE) {
		const struct dtc_flow *flow = dtc_packets_get_flow(dtc_history_get_packets(h), file->flow_out);
		return dtc_address_to_string(flow->destination, flow->destination_port);
	}
	return file->name == DTC_NONE ? NULL : g_strdup(dtc_history_get_string(h, file->name));
}

struct dtc_label dtc_label_get(const DtcHistory *h, uint32_t index)
{
	const struct dtc_file *file = dtc_history_get_file(h, index);
	struct dtc_label label = { .string = DTC_NONE };

	if (file->flow_out != DTC_NONE) {
		const struct dtc_flow *flow = dtc_packets_get_flow(dtc_history_get_packets(h), file->flow_out);
		bool is_server = dtc_endpoint_is_server(h, index);
		label.kind = is_server ? DTC_LABEL_FROM : DTC_LABEL_TO;
		label.port = is_server ? flow->source_port : flow->destination_port;
		memcpy(label.address, flow->destination, sizeof(label.address));
	} else if (file->listens) {
		label.kind = DTC_LABEL_LISTENS;
	} else if (file->name != DTC_NONE) {
		label.kind = DTC_LABEL_NAMED;
		label.string = file->name;
	} else if (file->kind == DTC_FILE_SOCKET) {
		label.kind = DTC_LABEL_SOCKET;
	}
	return label;
}

const char *dtc_label_get_text(const DtcHistory *h, const struct dtc_label *label)
{
	return label->string == DTC_NONE ? NULL : dtc_history_get_string(h, label->string);
}

guint dtc_label_hash(gconstpointer label)
{
	const uint8_t *bytes = label;
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (gsize i = 0; i < sizeof(struct dtc_label); i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash;
}

gboolean dtc_label_equal(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct dtc_label)) == 0;
}
