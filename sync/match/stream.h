/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stream: the packets of one flow that one node saw in one direction through one source, on one interface, in node
 * time. Two streams of the same flow on two nodes, one sent and one received, are compared into messages.
 *
 * Which interface: a packet that leaves a container is seen on veth, bridge and wire. All sightings of the flow on the
 * interface that saw most of it are taken; among equals the outermost (last to send, first to receive).
 */
#pragma once

#include "sync/match/relation.h"

struct dtc_seen {
	int64_t ns; /* node time, made safe by the error of the relation if it came from a capture */
	uint32_t seq;
	uint32_t ack;
	uint32_t payload_bytes;
	uint32_t payload_hash; /* 0: not known */
	uint32_t tsval;	       /* 0: not known */
	uint16_t ip_id;
	uint16_t window;
	uint8_t tcp_flags;
	bool matched;
};

struct dtc_stream {
	guint node;
	enum dtc_direction direction;
	const DtcPackets *packets;	     /* borrowed */
	const struct dtc_relation *relation; /* of the node, if packets are its capture and it has a kernel trace */
	uint32_t flow;
	uint32_t packet_count; /* on the chosen interface */
	uint16_t interface;
	bool used; /* compared with at least one counterpart */
};

struct dtc_stream_result {
	guint64 unmatched_sent;
	guint64 unmatched_received;
	guint64 ambiguous_sent;
	guint64 ambiguous_received;
};

/* Fills packet_count and interface; packet_count 0: the flow has no packets in that direction off loopback. */
void dtc_stream_choose_interface(struct dtc_stream *stream);
/* Appends the stream's packets (struct dtc_seen) in time order. */
void dtc_stream_get_seen(const struct dtc_stream *stream, GArray *seen);

/*
 * Compares the packets of one direction of a connection (has_ranges: TCP with sequence numbers and lengths) and adds
 * the messages from sent_by to received_by.
 */
void dtc_stream_compare(GArray *sent, GArray *received, uint8_t protocol, bool has_ranges, DtcMatches *matches,
			guint sent_by, guint received_by, struct dtc_stream_result *ret_result);
