/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From messages to clock maps. Each message says that its receive came after its send (by min_delay_ns at least); with
 * the assumption below that bounds the difference of two clocks at every instant. docs/clock-alignment.md has the
 * mathematics.
 *
 * Assumption, printed with every result: the relative rate of any two clocks is within max_drift_ppm of one, and there
 * is a constant from which it never deviates by more than max_wander_ppm, except at steps; in the span of a pair's
 * messages, by no more than the wander_ppm that they show. Messages that contradict the rest are left out and named;
 * the bounds are guaranteed for the messages kept.
 *
 * The result does not depend on the order of the nodes (ties are broken by name) nor on the run. Cost: linear in
 * messages, then per pair the hull vertices of its cells, then knots times pairs.
 */
#pragma once

#include "dtrace-chain/finding.h"
#include "dtrace-chain/sync.h"
#include "sync/match/match.h"

#include <glib.h>
#include <stdbool.h>

struct dtc_fit_options {
	int reference;	       /* node index, or -1: the node with the smallest sum of certified widths */
	int64_t min_delay_ns;  /* no message is faster than this */
	double max_drift_ppm;  /* of one clock against another */
	double max_wander_ppm; /* of that rate around its mean */
};

/* -1, 0 ns, 500 ppm, 2 ppm */
struct dtc_fit_options dtc_fit_options_default(void);

enum dtc_pair_status {
	DTC_PAIR_ALIGNED,
	DTC_PAIR_ONE_WAY,	/* messages in one direction only: a bound, no alignment */
	DTC_PAIR_NONE,		/* no messages */
	DTC_PAIR_CONTRADICTORY, /* no clock within the assumption satisfies the messages: the pair is not used */
};

/* "aligned", "one-way", "none", "contradictory" */
const char *dtc_pair_status_to_string(enum dtc_pair_status status);

/* A message that contradicts the messages of the other direction. */
struct dtc_sync_trimmed {
	guint from;	     /* node index of the sender */
	int64_t sent_ns;     /* sender's node time */
	int64_t received_ns; /* receiver's node time */
	int64_t by_ns;	     /* how far it lies beyond the bound that the kept messages give; 0: within, but isolated */
};

/* The clocks' difference changed at once. */
struct dtc_sync_step {
	int64_t a_ns;	  /* node time of a: the middle of the gap in which it happened */
	int64_t begin_ns; /* last message before and first message after, node time of a */
	int64_t end_ns;
	int64_t change_ns; /* of b's clock minus a's */
};

/* A corner of the hull of the messages one way: the two readings that it sets against each other, in node times. */
struct dtc_sync_corner {
	int64_t a_ns;
	int64_t b_ns;
	bool is_ab;    /* of the messages from a to b: above the clocks' difference b minus a */
	bool is_first; /* of a hull; there are several where no straight line fits between the two clouds */
};

/* What is known of two nodes from their own messages; a < b. Arrays are borrowed from the DtcSync. */
struct dtc_sync_pair {
	guint a;
	guint b;
	enum dtc_pair_status status;
	guint64 messages_ab;
	guint64 messages_ba;
	guint bounds_ab; /* orders of events beside the messages that something else than packets tells */
	guint bounds_ba;
	guint64 unmatched_a;
	guint64 unmatched_b;
	guint64 ambiguous;
	guint hull_ab; /* vertices that the bounds rest on */
	guint hull_ba;
	const struct dtc_sync_trimmed *trimmed;
	guint trimmed_count;
	const struct dtc_sync_step *steps;
	guint step_count;
	const struct dtc_sync_corner *corners; /* the hulls of both clouds */
	guint corner_count;
	/* Only for aligned pairs, else 0: */
	int64_t begin_ns; /* span of the pair's messages, node time of a */
	int64_t end_ns;
	int64_t offset_ns;   /* b's clock minus a's in the middle of the span, as finally aligned */
	double drift_ppm;    /* mean rate of b's clock against a's, minus one */
	double wander_ppm;   /* that the bounds rest on: what the messages do not exclude, at most max_wander_ppm */
	int64_t width_ns[3]; /* certified width of the difference at start, middle and end, from this pair alone */
};

typedef struct DtcSync DtcSync;

/*
 * Aligns all nodes of matches. Nodes without a way to the reference are in groups of their own; that and every
 * contradiction is a finding, not an error. options NULL: defaults. An error is an option out of range
 * (DTC_SYNC_ERROR, USAGE). Nothing of matches is kept. Caller owns.
 */
DtcSync *dtc_fit_clocks(const DtcMatches *matches, const struct dtc_fit_options *options, DtcFindings *findings,
			GError **error);
/*
 * The same of what an earlier fit found (sync_image.h): maps, which it takes, and the options as they were used. Pairs
 * are added in their order; what they borrow is copied. Caller owns.
 */
DtcSync *dtc_sync_new_of(DtcClocks *clocks, const char *const *names, const struct dtc_fit_options *options);
void dtc_sync_add_pair(DtcSync *sync, const struct dtc_sync_pair *pair);
void dtc_sync_free(DtcSync *sync);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcSync, dtc_sync_free)

/* Borrowed. */
const DtcClocks *dtc_sync_get_clocks(const DtcSync *sync);
DtcClocks *dtc_sync_steal_clocks(DtcSync *sync);
const struct dtc_fit_options *dtc_sync_get_options(const DtcSync *sync); /* as used, reference filled in */
guint dtc_sync_get_node_count(const DtcSync *sync);
const char *dtc_sync_get_node_name(const DtcSync *sync, guint node);
guint dtc_sync_get_pair_count(const DtcSync *sync);
const struct dtc_sync_pair *dtc_sync_get_pair(const DtcSync *sync, guint index);
/* True if every node is in the reference's group. */
bool dtc_sync_is_complete(const DtcSync *sync);
