/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the header fields of a net event, as the trace has them, to packet headers. Absent fields are told apart from 0
 * because their defaults differ.
 */
#pragma once

#include "collect/read/spellings.h"

#include <glib.h>

struct dtc_header_values {
	enum dtc_header_layer layer;
	uint64_t value[DTC_HEADER_FIELDS];
	uint32_t has; /* bits by enum dtc_header_field */
};

/*
 * event: addresses are already in its headers; ip_version, protocol, lengths and the rest are set here. transport may
 * be NULL. The event's DTC_NET_LENGTH stands in for lengths that the IP header cannot hold.
 */
void dtc_headers_set(struct dtc_event *event, const struct dtc_header_values *ip,
		     const struct dtc_header_values *transport);

/* Sets one field of headers that come without a layer (inet_sock_local_*). */
void dtc_headers_set_field(struct dtc_headers *headers, guint field, uint64_t value);

/* 4 bytes become ::ffff:a.b.c.d, 16 bytes are kept; false with any other count. */
bool dtc_address_set(uint8_t address[16], const uint8_t *bytes, uint64_t count);
