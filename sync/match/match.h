/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages between nodes: a send event and the receive event that it caused, found by comparing the packets that the
 * nodes saw. A message is one inequality (the receive happened after the send), and a message that is doubtful (sent
 * twice, seen twice on one interface) is counted and left out: the certified bounds of the clocks rest on this.
 *
 * Times are node times: the kernel trace's clock, or the capture's clock for a node that has only a capture. A node
 * with both gets the relation of its two clocks estimated from packets that both saw.
 *
 * Cost: linear in packets but for sorting (flows, and packets without sequence space); memory 24 bytes per flow and
 * direction, and while a flow is in work 8 to 40 per packet of it; 16 bytes per message are in unlinked files, but for
 * pairs of few of them.
 */
#pragma once

#include "collect/packets/packets.h"
#include "dtrace-chain/finding.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Times beyond this distance from zero (73 years) are refused, so that differences cannot overflow. */
#define DTC_MATCH_TIME_LIMIT ((int64_t)1 << 61)
static inline bool dtc_match_is_time(int64_t ns)
{
	return ns >= -DTC_MATCH_TIME_LIMIT && ns <= DTC_MATCH_TIME_LIMIT;
}

typedef struct DtcBrief DtcBrief;

struct dtc_match_source {
	const char *node;	   /* name; borrowed during the call */
	const DtcPackets *kernel;  /* sealed; may be NULL */
	const DtcPackets *capture; /* sealed; may be NULL */
	const DtcBrief *brief;	   /* of both (brief.h), which are looked at only for what it does not tell; or NULL */
};

struct dtc_message {
	int64_t sent_ns;     /* the sender's node time */
	int64_t received_ns; /* the receiver's node time */
};

/* What was found between two nodes; a < b. The arrays are in the order in which the messages were found. */
struct dtc_match_pair {
	guint a;
	guint b;
	const struct dtc_message *ab; /* borrowed; sent by a, received by b */
	const struct dtc_message *ba;
	guint ab_count;
	guint ba_count;
	guint bounds_ab; /* of the messages, the last ones: they are bounds */
	guint bounds_ba;
	guint64 unmatched_a; /* packets that a saw, of traffic with b, without a counterpart at b */
	guint64 unmatched_b;
	guint64 ambiguous; /* packets left out because their key occurs more than once */
};

typedef struct DtcMatches DtcMatches;

/*
 * Messages between the nodes of sources (node i is sources[i]), which grow in scratch, as lists that are needed for a
 * while do; NULL: in files of their own. Never fails; oddities go to findings. Caller owns.
 */
DtcMatches *dtc_match_packets(const struct dtc_match_source *sources, guint count, DtcSpace *scratch,
			      DtcFindings *findings);

/* An empty set of messages between named nodes, to be filled by dtc_matches_add. */
DtcMatches *dtc_matches_new(const char *const *names, guint count);
/* Where messages grow that are too many for the heap; NULL: in files of their own. While there are none. */
void dtc_matches_set_space(DtcMatches *matches, DtcSpace *space);
/* That space. Borrowed; NULL: there is none. */
DtcSpace *dtc_matches_get_space(const DtcMatches *matches);
/* False (and nothing added) if from and to are the same node or a time is beyond DTC_MATCH_TIME_LIMIT. */
bool dtc_matches_add(DtcMatches *matches, guint from, guint to, int64_t sent_ns, int64_t received_ns);
/*
 * The same for an order of two events that something else than a packet tells (a guest's event comes after its virtual
 * CPU was entered). All messages are added before the first bound.
 */
bool dtc_matches_add_bound(DtcMatches *matches, guint from, guint to, int64_t sent_ns, int64_t received_ns);
void dtc_matches_drop_bounds(DtcMatches *matches);
/* Counts packets of the traffic between two nodes that are no messages; node is the one that saw them. */
void dtc_matches_add_unmatched(DtcMatches *matches, guint node, guint peer, guint64 packet_count);
void dtc_matches_add_ambiguous(DtcMatches *matches, guint node, guint peer, guint64 packet_count);

/*
 * Reads a message file: text, '#' comments, first the number of nodes N (named "0" to "N-1"), then lines
 * SENDER RECEIVER SEND_TIME RECEIVE_TIME in decimal seconds, which are read exactly, never through a double.
 * Caller owns; NULL with DTC_SYNC_ERROR (UNREADABLE, DAMAGED with the line's number).
 */
DtcMatches *dtc_matches_read_file(const char *path, GError **error);

void dtc_matches_free(DtcMatches *matches);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcMatches, dtc_matches_free)

guint dtc_matches_get_node_count(const DtcMatches *matches);
const char *dtc_matches_get_node_name(const DtcMatches *matches, guint node);
/* Pairs with at least one packet, sorted by (a, b). */
guint dtc_matches_get_pair_count(const DtcMatches *matches);
void dtc_matches_get_pair(const DtcMatches *matches, guint index, struct dtc_match_pair *ret_pair);

/*
 * Node time at which the node's capture clock shows capture_ns: identity for a node with only a capture. False if the
 * relation is not known (no capture, or no packet that both sources saw).
 */
bool dtc_matches_capture_to_node(const DtcMatches *matches, guint node, int64_t capture_ns, int64_t *ret_node_ns);
/*
 * Seconds of the capture's clock in one of node time, of the packets that both saw: 1 but for a thousandth, unless the
 * times of one are in another unit. 0 if too few say so, or those of too short a time.
 */
double dtc_matches_get_capture_rate(const DtcMatches *matches, guint node);
/* How far that can be wrong, in ns: the spread of the relation; 0 for a node with only a capture. */
int64_t dtc_matches_get_capture_error_ns(const DtcMatches *matches, guint node);
