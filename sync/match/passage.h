/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A passage: the packets of one flow that one node saw in one direction through one source, on one interface, in node
 * time. Two passages of the same flow on two nodes, one sent and one received, are compared into messages.
 *
 * Which interface: a packet that leaves a container is seen on veth, bridge and wire. All sightings of the flow on the
 * interface that saw most of it are taken; among equals the outermost (last to send, first to receive). A node that has
 * seen all of the way, from one container of it to another, may have sent last after it had received first: if another
 * one sees the way, too (a router, or the same kernel recorded as several nodes), what is true is that its receives
 * come after the first send, and its sends before the last receive, so that then the innermost is taken.
 */
#pragma once

#include "collect/packets/table.h"
#include "sync/match/relation.h"

/*
 * One sighting of a packet: small, because there is one for each packet of the largest flow. Its time is asked of the
 * packet, of those that become messages.
 */
struct dtc_seen {
	uint32_t packet;
	bool matched;
};
_Static_assert(sizeof(struct dtc_seen) == 8, "one per packet of a flow");

/* Of lists of them, and others as long: what is longer goes to a file, so that memory does not grow with flows. */
#define DTC_SEEN_BYTES ((gsize)128 << 10)

struct dtc_sightings {
	const DtcPackets *packets; /* borrowed; the packets that seen refers to */
	DtcTable *seen;		   /* struct dtc_seen, by time */
	const int64_t *safe_ns;	   /* by packet; or NULL: it is what the rest makes of the packet's stamp */
	/* what makes node time of the packets' stamps; NULL: they are */
	const struct dtc_relation *relation;
	int64_t shift_ns; /* added to that, which makes it safe: the relation's error, and what a coarse clock hides */
};

struct dtc_passage {
	guint64 key_hash; /* of the flow's ends: for the matcher, which brings passages together by it */
	uint32_t node;
	uint32_t flow;
	uint32_t packet_count; /* on the chosen interface */
	uint16_t interface;
	bool is_received : 1;
	bool is_capture : 1; /* packets are those of the node's capture, else of its kernel */
	bool used : 1;	     /* compared with at least one counterpart */
	uint8_t zeros : 4;   /* decimal digits that are zero in all stamps: 3 for microseconds */
};
_Static_assert(sizeof(struct dtc_passage) == 24, "one per flow and direction, also of traffic with strangers");

/* No capture's clock is coarser than a millisecond. */
#define DTC_PASSAGE_ZEROS_MAX 6

struct dtc_passage_result {
	guint64 unmatched_sent;
	guint64 unmatched_received;
	guint64 ambiguous_sent;
	guint64 ambiguous_received;
};

/*
 * Fills packet_count, interface and zeros; packet_count 0: the flow has no packets in that direction off loopback.
 * is_inside: the node has seen all of the flow's way.
 */
void dtc_passage_choose_interface(struct dtc_passage *passage, const DtcPackets *packets, bool is_inside);
/*
 * Appends the passage's packets (not more than limit) in time order; everything in the answer is borrowed. relation: of
 * the node, if packets are its capture and it has a kernel trace; else NULL. Captures have coarse clocks at times
 * (microseconds in the classic format): a stamp is then the floor of the time, and of a receive the latest time that it
 * can mean is taken.
 */
struct dtc_sightings dtc_passage_get_seen(const struct dtc_passage *passage, const DtcPackets *packets,
					  const struct dtc_relation *relation, guint limit, DtcTable *seen);
/*
 * Of those from begin to end, which have the same stamp: such packets (coarse clocks, several CPUs) come in any order;
 * in the stream's order the later ones do not look like repetitions of bytes that went before.
 */
void dtc_passage_order_tie(const DtcPackets *packets, DtcTable *seen, guint begin, guint end);
/* A packet's stamp in node time, and as safe as it can be. */
int64_t dtc_sightings_get_safe_ns(const struct dtc_sightings *sightings, guint index);

/* What comparisons fill, one after the other: messages are appended, and the room of the other lists is used again. */
struct dtc_passage_lists {
	DtcTable *messages; /* struct dtc_message */
	DtcTable *segments; /* private, as all that follows */
	DtcTable *keyed;
	DtcTable *sorted;
};

/* Long ones grow in that space; NULL: in files of their own. */
void dtc_passage_lists_init(struct dtc_passage_lists *lists, DtcSpace *space);
/* Nothing more will be compared: messages alone stay. */
void dtc_passage_lists_finish(struct dtc_passage_lists *lists);
void dtc_passage_lists_clear(struct dtc_passage_lists *lists);

/*
 * Compares the packets of one direction of a connection (has_ranges: TCP with sequence numbers and lengths) and appends
 * the messages.
 */
void dtc_passage_compare(const struct dtc_sightings *sent, const struct dtc_sightings *received, uint8_t protocol,
			 bool has_ranges, struct dtc_passage_lists *lists, struct dtc_passage_result *ret_result);
