/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/label.h"

#include "analyze/exchange/endpoint.h"

#include <arpa/inet.h>
#include <string.h>

/* With brackets, a port and the end. */
#define ADDRESS_BYTES (INET6_ADDRSTRLEN + sizeof("[]:65535"))

/* Writes a number and gives the place after it: lists of requests have a million addresses, and printf takes its time.
 */
static char *put_decimal(char *at, guint number)
{
	char digits[10];
	guint count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10));
	while (count)
		*at++ = digits[--count];
	return at;
}

static char *put_address(char *at, const uint8_t address[16])
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	if (memcmp(address, mapped, 12) == 0) {
		for (guint i = 12; i < 16; i++) {
			at = put_decimal(at, address[i]);
			*at++ = '.';
		}
		return at - 1;
	}
	*at++ = '[';
	inet_ntop(AF_INET6, address, at, INET6_ADDRSTRLEN);
	at += strlen(at);
	*at++ = ']';
	return at;
}

char *dtc_address_to_host_string(const uint8_t address[16])
{
	char text[ADDRESS_BYTES];
	return g_strndup(text, (gsize)(put_address(text, address) - text));
}

char *dtc_address_to_string(const uint8_t address[16], uint16_t port)
{
	char text[ADDRESS_BYTES], *at = put_address(text, address);
	*at++ = ':';
	return g_strndup(text, (gsize)(put_decimal(at, port) - text));
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
