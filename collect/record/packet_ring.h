/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last packets of a capture, in memory: those of the last so many seconds, and of these as many as the memory that
 * all captures share holds. For one thread.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* What the rings of a recording may take together. */
struct dtc_packet_budget {
	gint kib; /* atomic; taken so far */
	gint max_kib;
};

struct dtc_ring_packet {
	int64_t time_ns; /* CLOCK_REALTIME */
	uint32_t captured_bytes;
	uint32_t wire_bytes;
};

typedef struct DtcPacketRing DtcPacketRing;

/* The budget is borrowed. */
DtcPacketRing *dtc_packet_ring_new(int64_t keep_ns, struct dtc_packet_budget *budget);
void dtc_packet_ring_free(DtcPacketRing *ring);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcPacketRing, dtc_packet_ring_free)
/* Copied. What is older than keep_ns before it goes, and what there is no room for. */
void dtc_packet_ring_add(DtcPacketRing *ring, const struct dtc_ring_packet *packet, const uint8_t *bytes);
/* What has become too old without a packet that would have made it go. */
void dtc_packet_ring_age(DtcPacketRing *ring, int64_t now_ns);
/* What is kept now stays, however long it takes to write it, and what came after that time is not wanted. */
void dtc_packet_ring_hold(DtcPacketRing *ring, int64_t until_ns);
/* Up to that time packets went for want of room; INT64_MIN: none did. */
int64_t dtc_packet_ring_get_cut_ns(const DtcPacketRing *ring);
/* Those of that time, in the order in which they came. */
void dtc_packet_ring_each(const DtcPacketRing *ring, int64_t from_ns, int64_t until_ns,
			  void (*call)(const struct dtc_ring_packet *packet, const uint8_t *bytes, void *data),
			  void *data);
