/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Relation of a node's capture clock (CLOCK_REALTIME) to its trace clock (monotonic plus an offset), estimated from the
 * packets that both sources saw. The kernel event comes before the capture's tap in both directions, so the smallest
 * difference in each stretch of time is the relation plus the shortest way between the two (a few microseconds); the
 * spread of those minima is the error that is stated.
 */
#pragma once

#include "sync/match/match.h"

struct dtc_relation_knot {
	int64_t capture_ns;
	int64_t difference_ns; /* capture clock minus node time */
};

struct dtc_relation {
	struct dtc_relation_knot *knots; /* owned; sorted by capture_ns */
	guint count;			 /* 0: not known, unless identity */
	bool identity;			 /* node time is the capture clock */
	int64_t error_ns;
	double rate; /* seconds of the capture's clock in one of node time; 0: not known */
};

void dtc_relation_clear(struct dtc_relation *relation);
/* The other one is empty before. */
void dtc_relation_copy(struct dtc_relation *to, const struct dtc_relation *from);
/* Estimates the relation from one node's two sources; count stays 0 if they share no packet. scratch: or NULL. */
void dtc_relation_estimate(struct dtc_relation *relation, const DtcPackets *kernel, const DtcPackets *capture,
			   DtcSpace *scratch);
bool dtc_relation_to_node(const struct dtc_relation *relation, int64_t capture_ns, int64_t *ret_node_ns);

/* For the matcher, which fills them: the node's relation, and the final order of the pairs. */
struct dtc_relation *dtc_matches_get_relation(DtcMatches *matches, guint node);
void dtc_matches_sort(DtcMatches *matches);
