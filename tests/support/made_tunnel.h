/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Envelopes around made packets. Each takes the inner bytes, frees them, and gives the envelope with them in it. */
#pragma once

#include "tests/support/made_capture.h"

enum made_envelope {
	MADE_VXLAN,
	MADE_GRE,	 /* IPv4 in GRE */
	MADE_GRE_KEY,	 /* with key and sequence number */
	MADE_GRE_BRIDGE, /* Ethernet in GRE */
	MADE_IP_IN_IP,
	MADE_ENVELOPES,
};

/* Sets the checksum of the IPv4 header at that place. */
static inline void made_checksum(GByteArray *frame, guint at)
{
	guint32 sum = 0, bytes = (frame->data[at] & 15u) * 4;
	frame->data[at + 10] = frame->data[at + 11] = 0;
	for (guint i = 0; i < bytes; i += 2)
		sum += (guint32)frame->data[at + i] << 8 | frame->data[at + i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	frame->data[at + 10] = (guint8)(sum >> 8);
	frame->data[at + 11] = (guint8)sum;
}

static inline void made_append(GByteArray *to, GByteArray *inner)
{
	g_byte_array_append(to, inner->data, inner->len);
	g_byte_array_unref(inner);
}

/* An IPv4 packet in its envelope, from the second IP header on: 10.0.0.source -> 10.0.0.destination. */
static inline GByteArray *made_envelope(enum made_envelope kind, guint8 source, guint8 destination, GByteArray *inner)
{
	GByteArray *outer = g_byte_array_new();
	gboolean is_bridged = kind == MADE_VXLAN || kind == MADE_GRE_BRIDGE;
	guint bytes = inner->len + (is_bridged ? 14 : 0);
	switch (kind) {
	case MADE_VXLAN:
		made_ipv4(outer, source, destination, 17, 20 + 16 + bytes, 0, 0, 64);
		made_udp(outer, 50000, 4789, 16 + bytes);
		made_net(outer, 0x08000000, 4);
		made_net(outer, 42 << 8, 4);
		break;
	case MADE_GRE:
		made_ipv4(outer, source, destination, 47, 20 + 4 + bytes, 0, 0, 64);
		made_net(outer, 0x0800, 4);
		break;
	case MADE_GRE_KEY:
		made_ipv4(outer, source, destination, 47, 20 + 12 + bytes, 0, 0, 64);
		made_net(outer, 0x30000800, 4);
		made_net(outer, 7, 4);
		made_net(outer, 1, 4);
		break;
	case MADE_GRE_BRIDGE:
		made_ipv4(outer, source, destination, 47, 20 + 8 + bytes, 0, 0, 64);
		made_net(outer, 0x20006558, 4);
		made_net(outer, 7, 4);
		break;
	default:
		made_ipv4(outer, source, destination, 4, 20 + bytes, 0, 0, 64);
		break;
	}
	if (is_bridged)
		made_ethernet(outer, 0x72, 0x71, 0x0800);
	made_append(outer, inner);
	made_checksum(outer, 0);
	return outer;
}
