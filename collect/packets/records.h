/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What DtcPackets consists of, for collect/packets, for those who read each packet of long lists several times, which
 * is compiled into their loops, and for tests that break it. Nobody else writes.
 */
#pragma once

#include "collect/packets/flow_index.h"
#include "collect/packets/homes.h"
#include "collect/packets/packed.h"
#include "collect/packets/packets.h"

/* Where a flow's packets were seen. */
struct dtc_flow_seen {
	uint16_t interface;
	uint8_t directions; /* bits 1 << enum dtc_direction */
	bool is_on_many;    /* interfaces */
};
_Static_assert(sizeof(struct dtc_flow_seen) == 4, "written to files as it is");

struct dtc_flow_entry {
	struct dtc_flow flow;
	uint32_t previous;	 /* generation before, or DTC_NONE */
	uint32_t last_seq;	 /* of the latest packet */
	bool seen;		 /* has a packet */
	bool beyond_syn;	 /* has a packet other than a SYN */
	struct dtc_flow_seen in; /* sealed */
};

struct DtcPackets {
	DtcPacked *packed;
	gsize are_flows_here; /* 0: they, and the table, come with the first that is asked for */
	struct dtc_flow_entry *flows;
	uint32_t flow_count, flow_capacity;
	uint32_t *table;     /* open addressing, DTC_NONE: free; value: flow of the latest generation */
	uint32_t table_size; /* power of two */
	uint32_t key_count;
	uint32_t recent_slots[2]; /* of table: where keys were found last, by which port is larger */
	uint64_t seed;		  /* addresses come from foreign files: no one shall choose the collisions */
	DtcFlowIndex *by_flow;	  /* after sealing: packet ids grouped by flow */
	GPtrArray *interfaces;	  /* owned names */
	GHashTable *interface_ids;
	uint16_t last_interfaces[2]; /* that were looked for, the latest first, if there are any */
	GHashTable *shared; /* addresses (owned) that several namespaces have; loopback stands for all of its kind */
	bool has_shared;    /* some are */
	struct dtc_packet *latest; /* if some are: the latest packets, also those that were forgotten; owned */
	uint64_t latest_count;	   /* that were ever there */
	GArray *netns;		   /* inodes; the first is 0 */
	DtcHomes *homes;
	DtcSpace *space;   /* owned; where records grow; NULL: in files of their own, or they are sealed */
	DtcSpace *scratch; /* owned; where what is not kept of them does; NULL: the same */
	DtcImage *image;   /* owned; that has packed and by_flow; NULL: they are our own */
	bool sealed;
};

/*
 * As dtc_packets_get, for those who read each packet many times: what they do not look at is not unpacked, and nothing
 * is looked after.
 */
__attribute__((always_inline)) static inline struct dtc_packet dtc_packets_read(const DtcPackets *packets,
										uint32_t packet)
{
	return dtc_packed_get(packets->packed, packet);
}

static inline uint32_t dtc_packets_read_flow_packet(const DtcPackets *packets, const struct dtc_flow *flow,
						    uint32_t index)
{
	return dtc_flow_index_get(packets->by_flow, flow->packet_first + index);
}

/* Sealed. */
struct dtc_flow_seen dtc_packets_get_flow_seen(const DtcPackets *packets, uint32_t flow);

/* Whether a packet's headers may be another's. */
static inline bool dtc_packets_have_inferred(const DtcPackets *packets)
{
	return packets->packed->has_inferred;
}
