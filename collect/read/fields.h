/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the header fields of a net event, as the trace has them, to packet headers. Absent fields are told apart from 0
 * because their defaults differ.
 */
#pragma once

#include "collect/read/spellings.h"

#include <glib.h>
#include <string.h>

struct dtc_header_values {
	enum dtc_header_layer layer;
	uint64_t value[DTC_HEADER_FIELDS];
	uint32_t has; /* bits by enum dtc_header_field */
};

#define DTC_ETHERNET_BYTES 14
#define DTC_IPV6_BYTES 40
#define DTC_UDP_BYTES 8
#define DTC_FRAGMENT_OFFSET_MASK 0x1fff

static inline uint64_t dtc_header_get(const struct dtc_header_values *values, enum dtc_header_field field,
				      uint64_t otherwise)
{
	return values->has >> field & 1 ? values->value[field] : otherwise;
}

static inline uint32_t dtc_header_clamp(int64_t bytes)
{
	return bytes < 0 ? 0 : (uint32_t)MIN(bytes, (int64_t)UINT32_MAX);
}

/* The IP packet's length by the event's own count, which has the Ethernet header on send and not on receive. */
static inline int64_t dtc_header_get_frame_bytes(const struct dtc_event *event)
{
	int64_t bytes = event->v[DTC_NET_LENGTH];
	if (bytes == DTC_ABSENT)
		return 0;
	return event->kind == DTC_EVENT_NET_RECEIVE ? bytes : bytes - DTC_ETHERNET_BYTES;
}

static inline void dtc_headers_fill_transport(struct dtc_headers *headers, const struct dtc_header_values *values,
					      int64_t bytes)
{
	headers->source_port = (uint16_t)dtc_header_get(values, DTC_HEADER_SOURCE_PORT, 0);
	headers->destination_port = (uint16_t)dtc_header_get(values, DTC_HEADER_DESTINATION_PORT, 0);
	if (values->layer == DTC_LAYER_TCP) {
		headers->seq = (uint32_t)dtc_header_get(values, DTC_HEADER_SEQ, 0);
		headers->ack = (uint32_t)dtc_header_get(values, DTC_HEADER_ACK, 0);
		headers->tcp_flags = (uint8_t)dtc_header_get(values, DTC_HEADER_FLAGS, 0);
		headers->window = (uint16_t)dtc_header_get(values, DTC_HEADER_WINDOW, 0);
		headers->payload_bytes =
			dtc_header_clamp(bytes - 4 * (int64_t)dtc_header_get(values, DTC_HEADER_DATA_OFFSET, 5));
	} else {
		headers->payload_bytes = dtc_header_clamp(
			(int64_t)dtc_header_get(values, DTC_HEADER_UDP_LENGTH, DTC_UDP_BYTES) - DTC_UDP_BYTES);
	}
	headers->has_transport = true;
}

/* dtc_headers_set, for who has values at hand that the compiler knows to be there or not. */
static inline void dtc_headers_fill(struct dtc_event *event, const struct dtc_header_values *ip,
				    const struct dtc_header_values *transport)
{
	struct dtc_headers *headers = &event->headers;
	int64_t bytes;
	bool is_first_fragment = true;
	headers->protocol = (uint8_t)dtc_header_get(ip, DTC_HEADER_PROTOCOL, 0);
	/* a length beyond 64 KiB (BIG TCP) is 0 in the header */
	if (ip->layer == DTC_LAYER_IPV4) {
		headers->ip_version = 4;
		headers->ip_id = (uint16_t)dtc_header_get(ip, DTC_HEADER_ID, 0);
		is_first_fragment = !(dtc_header_get(ip, DTC_HEADER_FRAGMENT, 0) & DTC_FRAGMENT_OFFSET_MASK);
		bytes = (int64_t)dtc_header_get(ip, DTC_HEADER_TOTAL_LENGTH, 0);
		if (bytes == 0)
			bytes = dtc_header_get_frame_bytes(event);
		bytes -= 4 * (int64_t)dtc_header_get(ip, DTC_HEADER_IHL, 5);
	} else {
		headers->ip_version = 6;
		bytes = (int64_t)dtc_header_get(ip, DTC_HEADER_PAYLOAD_LENGTH, 0);
		if (bytes == 0)
			bytes = dtc_header_get_frame_bytes(event) - DTC_IPV6_BYTES;
	}
	headers->payload_bytes = dtc_header_clamp(bytes);
	/* what follows the header of a later fragment is payload, whatever the tracer took it for */
	if (transport && is_first_fragment)
		dtc_headers_fill_transport(headers, transport, bytes);
}

/*
 * event: addresses are already in its headers; ip_version, protocol, lengths and the rest are set here. transport may
 * be NULL. The event's DTC_NET_LENGTH stands in for lengths that the IP header cannot hold.
 */
void dtc_headers_set(struct dtc_event *event, const struct dtc_header_values *ip,
		     const struct dtc_header_values *transport);

/* Sets one field of headers that come without a layer (inet_sock_local_*). */
void dtc_headers_set_field(struct dtc_headers *headers, guint field, uint64_t value);

/* 4 bytes become ::ffff:a.b.c.d, 16 bytes are kept; false with any other count. */
static inline bool dtc_address_set(uint8_t address[16], const uint8_t *bytes, uint64_t count)
{
	if (count == 16) {
		memcpy(address, bytes, 16);
	} else if (count == 4) {
		/* in one piece, since it is soon read as one: it is not at hand before what is in pieces is in the
		 * cache */
		uint32_t words[4] = { 0, 0, GUINT32_TO_BE(0xffff) };
		memcpy(&words[3], bytes, sizeof(words[3]));
		memcpy(address, words, sizeof(words));
	} else {
		return false;
	}
	return true;
}
