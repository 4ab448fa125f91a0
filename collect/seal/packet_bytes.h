/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The packet's own bytes, in events that the recorder made out of net events' pointers (collect/record/eprobes.h): the
 * headers of the net event of the same buffer beside it. They hold the begin of the payload too, and stay behind when
 * the recording is sealed.
 */
#pragma once

#include "collect/packets/headers.h"
#include "collect/seal/formats.h"
#include "collect/seal/pages.h"

#include <stdbool.h>
#include <stdint.h>

struct dtc_packet_bytes_layout {
	uint16_t buffer; /* offsets in the event */
	uint16_t head;
	uint16_t data;
	uint16_t network;
	uint16_t protocol;
	uint16_t netns;
	uint16_t bytes;
	bool is_received;
};

/* Whether the format is of an event that the recorder made, of whatever kind. */
bool dtc_raw_format_is_made(const struct dtc_raw_format *format);
/* False: it has no packet's bytes. */
bool dtc_packet_bytes_find(const struct dtc_raw_format *format, struct dtc_packet_bytes_layout *ret_layout);
uint64_t dtc_packet_bytes_get_buffer(const struct dtc_packet_bytes_layout *layout, const struct dtc_raw_event *event);
/* False: no IP, or not where it should be. The event has the bytes that its format says. */
bool dtc_packet_bytes_read(const struct dtc_packet_bytes_layout *layout, const struct dtc_raw_event *event,
			   struct dtc_wire_headers *ret_headers);
