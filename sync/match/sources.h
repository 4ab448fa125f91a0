/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of one node is asked without any other: which of its sources serves in each direction, how its clocks relate,
 * and its passages.
 */
#pragma once

#include "sync/match/brief.h"
#include "sync/match/passage.h"

struct dtc_node_source {
	const struct dtc_match_source *source; /* borrowed */
	struct dtc_relation *relation;	       /* borrowed; filled */
	struct dtc_node_counts counts;
	const DtcPackets *chosen[2]; /* by direction; borrowed, or NULL */
};

/* Counts, and estimates the relation. scratch: or NULL. */
void dtc_node_source_count(struct dtc_node_source *node, DtcSpace *scratch);
/*
 * Per direction the kernel's events, unless most of them have no headers (GRO off) and there is a capture. The kernel's
 * event is the earlier one of both, in the clock that matters.
 */
void dtc_node_source_choose(struct dtc_node_source *node, DtcFindings *findings);
/* Appends struct dtc_passage of that node number: those sent, then those received, by their flow. */
void dtc_node_source_list(const struct dtc_node_source *node, guint number, GArray *passages);

/* Appends the sightings of a passage of those that dtc_node_source_list gives, not more than limit. All is borrowed. */
struct dtc_sightings dtc_node_source_get_seen(const struct dtc_node_source *node, const struct dtc_passage *passage,
					      guint limit, DtcTable *seen);
/* How many packets of the flow the node saw sent first (less those received first), and sent last; they are added. */
void dtc_node_source_count_turns(const struct dtc_node_source *node, const struct dtc_passage *passage, int *first_sent,
				 int *last_sent);
/* Of the flow of a passage: ends, protocol, and whether it has an initial number. */
const struct dtc_flow *dtc_node_source_get_flow(const struct dtc_node_source *node, const struct dtc_passage *passage);
/* The initial number of one that has it. */
uint32_t dtc_node_source_get_isn(const struct dtc_node_source *node, const struct dtc_passage *passage);

/* Old events (inet_sock_local_*) carry no addresses: no flow, but numbers. Without headers there is nothing at all. */
static inline bool dtc_packet_is_numbered(const struct dtc_packet *packet)
{
	return packet->seq || packet->ack || packet->tcp_flags;
}

/* Fragments but the first have no TCP header, and so no numbers: they are packets like any other. */
static inline bool dtc_flow_has_ranges(const struct dtc_flow *flow)
{
	return flow->protocol == DTC_PROTOCOL_TCP && (flow->source_port || flow->destination_port);
}
/* Of a flow's ends. */
guint64 dtc_flow_hash_ends(const struct dtc_flow *flow);
