/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fields.h"

#include <string.h>

#define ETHERNET_BYTES 14
#define IPV6_BYTES 40
#define UDP_BYTES 8
#define FRAGMENT_OFFSET_MASK 0x1fff

static uint64_t get(const struct dtc_header_values *values, enum dtc_header_field field, uint64_t otherwise)
{
	return values->has >> field & 1 ? values->value[field] : otherwise;
}

static uint32_t clamp(int64_t bytes)
{
	return bytes < 0 ? 0 : (uint32_t)MIN(bytes, (int64_t)UINT32_MAX);
}

/* The IP packet's length by the event's own count, which has the Ethernet header on send and not on receive. */
static int64_t get_frame_bytes(const struct dtc_event *event)
{
	int64_t bytes = event->v[DTC_NET_LENGTH];
	if (bytes == DTC_ABSENT)
		return 0;
	return event->kind == DTC_EVENT_NET_RECEIVE ? bytes : bytes - ETHERNET_BYTES;
}

static void set_transport(struct dtc_headers *headers, const struct dtc_header_values *values, int64_t bytes)
{
	headers->source_port = (uint16_t)get(values, DTC_HEADER_SOURCE_PORT, 0);
	headers->destination_port = (uint16_t)get(values, DTC_HEADER_DESTINATION_PORT, 0);
	if (values->layer == DTC_LAYER_TCP) {
		headers->seq = (uint32_t)get(values, DTC_HEADER_SEQ, 0);
		headers->ack = (uint32_t)get(values, DTC_HEADER_ACK, 0);
		headers->tcp_flags = (uint8_t)get(values, DTC_HEADER_FLAGS, 0);
		headers->window = (uint16_t)get(values, DTC_HEADER_WINDOW, 0);
		headers->payload_bytes = clamp(bytes - 4 * (int64_t)get(values, DTC_HEADER_DATA_OFFSET, 5));
	} else {
		headers->payload_bytes = clamp((int64_t)get(values, DTC_HEADER_UDP_LENGTH, UDP_BYTES) - UDP_BYTES);
	}
	headers->has_transport = true;
}

void dtc_headers_set(struct dtc_event *event, const struct dtc_header_values *ip,
		     const struct dtc_header_values *transport)
{
	struct dtc_headers *headers = &event->headers;
	int64_t bytes;
	bool is_first_fragment = true;
	headers->protocol = (uint8_t)get(ip, DTC_HEADER_PROTOCOL, 0);
	/* a length beyond 64 KiB (BIG TCP) is 0 in the header */
	if (ip->layer == DTC_LAYER_IPV4) {
		headers->ip_version = 4;
		headers->ip_id = (uint16_t)get(ip, DTC_HEADER_ID, 0);
		is_first_fragment = !(get(ip, DTC_HEADER_FRAGMENT, 0) & FRAGMENT_OFFSET_MASK);
		bytes = (int64_t)get(ip, DTC_HEADER_TOTAL_LENGTH, 0);
		if (bytes == 0)
			bytes = get_frame_bytes(event);
		bytes -= 4 * (int64_t)get(ip, DTC_HEADER_IHL, 5);
	} else {
		headers->ip_version = 6;
		bytes = (int64_t)get(ip, DTC_HEADER_PAYLOAD_LENGTH, 0);
		if (bytes == 0)
			bytes = get_frame_bytes(event) - IPV6_BYTES;
	}
	headers->payload_bytes = clamp(bytes);
	/* what follows the header of a later fragment is payload, whatever the tracer took it for */
	if (transport && is_first_fragment)
		set_transport(headers, transport, bytes);
}

/*
 * The probe of LTTng 2.1 copied the 16 bits behind the acknowledgement as the C bit fields of struct tcphdr lie on
 * x86: data offset in the low byte, then the flags with FIN as the highest bit. A SYN reads 0x400a, a SYN-ACK 0x480a.
 */
static uint8_t reverse_flags(uint64_t value)
{
	uint8_t flags = 0;
	for (guint bit = 0; bit < 8; bit++)
		if (value & (UINT64_C(0x8000) >> bit))
			flags |= (uint8_t)(1u << bit);
	return flags;
}

void dtc_headers_set_field(struct dtc_headers *headers, guint field, uint64_t value)
{
	switch (field) {
	case DTC_HEADER_SEQ:
		headers->seq = (uint32_t)value;
		break;
	case DTC_HEADER_ACK:
		headers->ack = (uint32_t)value;
		break;
	case DTC_HEADER_WINDOW:
		headers->window = (uint16_t)value;
		break;
	case DTC_HEADER_INET_FLAGS:
		headers->tcp_flags = reverse_flags(value);
		break;
	default:
		break;
	}
}

bool dtc_address_set(uint8_t address[16], const uint8_t *bytes, uint64_t count)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	if (count == 16) {
		memcpy(address, bytes, 16);
	} else if (count == 4) {
		memcpy(address, mapped, sizeof(mapped));
		memcpy(address + sizeof(mapped), bytes, 4);
	} else {
		return false;
	}
	return true;
}
