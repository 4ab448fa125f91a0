/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the sources of the join share: its records, by index. */
#pragma once

#include "collect/packets/join.h"
#include "collect/packets/join_clock.h"
#include "collect/packets/table.h"

enum dtc_join_state {
	DTC_JOIN_OPEN,	  /* no packet */
	DTC_JOIN_MATCHED, /* its own */
	DTC_JOIN_CARRIED, /* seen at the other end, in another namespace perhaps */
};

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

/* What was found out of an event; same index. */
struct dtc_join_slot {
	uint32_t packet; /* or DTC_NONE */
	/* net_dev_queue: the transmission that followed; a transmission: the reception of the buffer; and back */
	uint32_t next;
	uint32_t group; /* of device, direction and length */
	/* while matching: the next that waits for its packet, of the same group; then of a whole: its last segment */
	uint32_t open_next;
	uint32_t until_ns;  /* while matching: how far from the event its packet can be */
	uint8_t is_doubted; /* another packet may be it */
	uint8_t is_segment; /* next is the first segment of it */
	uint8_t state;	    /* enum dtc_join_state */
	uint8_t link_bytes; /* of a whole: what length counts before the network header */
};
_Static_assert(sizeof(struct dtc_join_slot) == 24, "one for each net event of a node stays in memory");

struct dtc_join_packet {
	int64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t group;
	uint8_t is_in; /* seen on the way in */
	uint8_t is_matched;
	uint8_t is_tcp;
	uint8_t spare;
};
_Static_assert(sizeof(struct dtc_join_packet) == 16, "one for each captured packet of a node stays in memory");

struct dtc_join_woken {
	uint32_t event; /* a reception */
	int32_t tid;
};
_Static_assert(sizeof(struct dtc_join_woken) == 8, "one for each wake by a packet of a node stays in memory");

#pragma GCC diagnostic pop

struct DtcJoin {
	DtcJoinClock *clock;
	GPtrArray *devices; /* owned names */
	GHashTable *device_ids;
	GHashTable *device_netns; /* name -> its namespace; 0: in several */
	GHashTable *interfaces;	  /* namespace and index -> device + 1; keys owned */
	GHashTable *groups;	  /* device, direction and length -> group + 1; keys owned */
	DtcTable *events;	  /* struct dtc_join_event */
	DtcTable *slots;	  /* struct dtc_join_slot */
	DtcTable *packets;	  /* struct dtc_join_packet */
	DtcTable *headers;	  /* struct dtc_wire_headers, same index */
	DtcTable *own;		  /* the same, of events that have them themselves */
	DtcTable *woken;	  /* struct dtc_join_woken, in no order */
	DtcTable *own_of;	  /* uint32_t by event: its place in own + 1; 0: none. Shorter than events */
	uint32_t *event_order;	  /* run: by time; events of one CPU in their order */
	uint32_t *packet_order;
	uint64_t packets_in_step;
	uint32_t cpu_count; /* the highest, plus one */
	bool is_run;
};

static inline const struct dtc_join_event *dtc_join_event_at(const DtcJoin *join, uint32_t event)
{
	return DTC_AT(join->events, struct dtc_join_event, event);
}

static inline struct dtc_join_slot *dtc_join_slot_at(const DtcJoin *join, uint32_t event)
{
	return DTC_AT(join->slots, struct dtc_join_slot, event);
}

static inline struct dtc_join_packet *dtc_join_packet_at(const DtcJoin *join, uint32_t packet)
{
	return DTC_AT(join->packets, struct dtc_join_packet, packet);
}

/* What a packet's headers say of its place in a connection. */
struct dtc_join_transport {
	const uint8_t *addresses; /* source and destination, address_bytes each */
	const uint8_t *ports;	  /* source and destination, 2 bytes each */
	uint32_t address_bytes;
	uint32_t netns;
	uint32_t header_bytes; /* of network and transport, options included */
	uint32_t seq;	       /* and ack and flags, of TCP */
	uint32_t ack;
	uint8_t flags;
	bool is_tcp;
};

/* False: the packet is neither TCP's nor UDP's. */
bool dtc_join_read_transport(const DtcJoin *join, uint32_t packet, struct dtc_join_transport *ret);

/* join_buffer.c: which events speak of the same buffer, before and after packets were matched. */
void dtc_join_follow_buffers(DtcJoin *join);
void dtc_join_carry_packets(DtcJoin *join);
/* True if both packets are sightings of one: what no device between the ends of a wire changes is alike. */
bool dtc_join_is_same(const DtcJoin *join, uint32_t one, uint32_t other);
/* join_segments.c: after packets were matched, which buffers a queue discipline cut into which segments. */
void dtc_join_link_segments(DtcJoin *join);
/* join_match.c: gives events the packets that they saw themselves. */
void dtc_join_match_packets(DtcJoin *join);
/* join_settle.c: exchanges packets of events that are in doubt, where more than their order tells. */
void dtc_join_settle_doubts(DtcJoin *join);
