/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decodes one captured frame, of which only a part may be there: link layer, tunnels, IP, TCP and UDP. */
#pragma once

#include "collect/packets/capture.h"

#include <glib.h>

/* What a frame begins with. */
enum dtc_frame_kind {
	DTC_FRAME_ETHERNET,
	DTC_FRAME_COOKED,   /* Linux "any" device, v1 */
	DTC_FRAME_COOKED2,  /* v2 */
	DTC_FRAME_RAW,	    /* begins with the IP header */
	DTC_FRAME_LOOPBACK, /* four bytes of address family */
};

/* Of libpcap's link type (capture.c, which alone knows those). False: it cannot be decoded. */
bool dtc_frame_find_kind(int data_link, enum dtc_frame_kind *ret_kind);

/*
 * Fills captured but for time_ns; direction is set if the link layer tells it. wire_bytes is the frame's length on the
 * wire, of which captured_bytes are at bytes. Whatever the bytes are, nothing is read behind them.
 */
void dtc_frame_decode(enum dtc_frame_kind kind, const uint8_t *bytes, uint32_t captured_bytes, uint32_t wire_bytes,
		      struct dtc_captured *captured);

/* What a frame tells of its sender besides its headers. */
struct dtc_frame_hints {
	uint8_t ttl;		/* time-to-live or hop limit; 0: not IP, or cut */
	uint32_t padding_bytes; /* behind the IP packet or ARP message */
};
struct dtc_frame_hints dtc_frame_get_hints(enum dtc_frame_kind kind, const uint8_t *bytes, uint32_t captured_bytes,
					   uint32_t wire_bytes);

/*
 * The outermost headers as they are on the wire, and how long the packet is from the network header on. False if the
 * link layer is cut. netns is left alone.
 */
bool dtc_frame_get_wire(enum dtc_frame_kind kind, const uint8_t *bytes, uint32_t captured_bytes, uint32_t wire_bytes,
			struct dtc_wire_headers *ret_headers, uint32_t *ret_length);

/*
 * The same of bytes that begin with the network header of that Ethernet type: a packet's in the kernel's memory. False
 * if it is no IP.
 */
bool dtc_frame_get_network(uint16_t type, const uint8_t *bytes, uint32_t byte_count,
			   struct dtc_wire_headers *ret_headers);
