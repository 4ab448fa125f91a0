/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/packet_bytes.h"

#include "collect/packets/frame.h"
#include "collect/seal/raw.h"

#include <string.h>

#define PACKET_BYTES 88
#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_VLAN 0x8100
#define TYPE_QINQ 0x88a8

bool dtc_raw_format_is_made(const struct dtc_raw_format *format)
{
	return g_str_has_prefix(format->system, DTC_RAW_MADE_SYSTEM);
}

static bool find_offset(const struct dtc_raw_format *format, const char *name, uint32_t bytes, uint16_t *ret_offset)
{
	const struct dtc_raw_field *field = dtc_raw_format_find(format, name);

	if (!field || field->size < bytes || field->offset > G_MAXUINT16)
		return false;
	*ret_offset = (uint16_t)field->offset;
	return true;
}

bool dtc_packet_bytes_find(const struct dtc_raw_format *format, struct dtc_packet_bytes_layout *ret_layout)
{
	struct dtc_packet_bytes_layout layout = { .is_received = g_str_has_prefix(format->name, "netif_receive_skb") };

	if (!dtc_raw_format_is_made(format) || !find_offset(format, "skbaddr", 8, &layout.buffer) ||
	    !find_offset(format, "head", 8, &layout.head) || !find_offset(format, "data", 8, &layout.data) ||
	    !find_offset(format, "network", 2, &layout.network) ||
	    !find_offset(format, "protocol", 2, &layout.protocol) || !find_offset(format, "netns", 4, &layout.netns) ||
	    !find_offset(format, "bytes", PACKET_BYTES, &layout.bytes))
		return false;
	*ret_layout = layout;
	return true;
}

static uint64_t get64(const struct dtc_raw_event *event, uint16_t offset)
{
	uint64_t value;

	memcpy(&value, event->data + offset, sizeof(value));
	return value;
}

uint64_t dtc_packet_bytes_get_buffer(const struct dtc_packet_bytes_layout *layout, const struct dtc_raw_event *event)
{
	return get64(event, layout->buffer);
}

/* Where the network header begins: at data when it is received; not told for what lies before data. */
static uint64_t find_header(const struct dtc_packet_bytes_layout *layout, const struct dtc_raw_event *event)
{
	uint16_t network;

	memcpy(&network, event->data + layout->network, sizeof(network));
	return layout->is_received ? 0 : get64(event, layout->head) + network - get64(event, layout->data);
}

/* With a tag that no device inserts any more the type is the tag's, and the header tells what it is. */
static uint16_t find_type(const uint8_t protocol[2], uint8_t first)
{
	uint16_t type = (uint16_t)(protocol[0] << 8 | protocol[1]);

	if (type != TYPE_VLAN && type != TYPE_QINQ)
		return type;
	return first >> 4 == 4 ? TYPE_IPV4 : first >> 4 == 6 ? TYPE_IPV6 : type;
}

bool dtc_packet_bytes_read(const struct dtc_packet_bytes_layout *layout, const struct dtc_raw_event *event,
			   struct dtc_wire_headers *ret_headers)
{
	uint64_t header = find_header(layout, event);
	struct dtc_wire_headers headers = { 0 };

	if (header >= PACKET_BYTES)
		return false;
	memcpy(&headers.netns, event->data + layout->netns, sizeof(headers.netns));
	const uint8_t *bytes = event->data + layout->bytes + header;
	if (!dtc_frame_get_network(find_type(event->data + layout->protocol, *bytes), bytes,
				   PACKET_BYTES - (uint32_t)header, &headers))
		return false;
	*ret_headers = headers;
	return true;
}
