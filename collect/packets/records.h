/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What DtcPackets consists of, for collect/packets, for those who read each packet of long lists several times, which
 * is compiled into their loops, and for tests that break it. Nobody else writes.
 */
#pragma once

#include "collect/packets/flow_index.h"
#include "collect/packets/flow_list.h"
#include "collect/packets/homes.h"
#include "collect/packets/packed.h"
#include "collect/packets/packets.h"
#include "collect/packets/table.h"

/* Where a flow's packets were seen. */
struct dtc_flow_seen {
	uint16_t interface;
	uint8_t directions; /* bits 1 << enum dtc_direction */
	bool is_on_many;    /* interfaces */
};
_Static_assert(sizeof(struct dtc_flow_seen) == 4, "written to files as it is");

/* What packets of a flow that are still to come are judged by. */
struct dtc_flow_state {
	uint32_t last_seq;  /* of the latest packet */
	bool has_packet;    /* at all */
	bool is_beyond_syn; /* has a packet other than a SYN */
};

struct DtcPackets {
	DtcPacked *packed;
	gsize are_flows_here; /* 0: they, and the table, come with the first that is asked for */
	DtcFlowList *flows;
	DtcTable *states;      /* struct dtc_flow_state of each; NULL once they are sealed */
	DtcTable *seen;	       /* struct dtc_flow_seen of each, sealed */
	DtcFlowIndex *by_flow; /* after sealing: packet ids grouped by flow */
	GPtrArray *interfaces; /* owned names */
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
	DtcImage *image;   /* owned; that has packed, by_flow, flows and seen; NULL: they are our own */
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
