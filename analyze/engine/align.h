/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The clocks of what was read: packets are matched, maps fitted, and where guests of traced hosts are among the nodes
 * the stays of their CPUs sharpen the maps, round by round.
 */
#pragma once

#include "analyze/engine/recordings.h"
#include "analyze/guest/guests.h"
#include "dtrace-chain/cluster.h"
#include "sync/fit/fit.h"
#include "sync/match/match.h"

/* Everything is borrowed for the call. */
struct dtc_align_input {
	const struct dtc_recordings *recordings;
	const DtcBundle *bundle;	   /* that they are of; NULL: none is elsewhere */
	const char *const *names;	   /* of the nodes */
	const DtcCluster *cluster;	   /* or NULL */
	int reference;			   /* node whose clock is cluster time; -1: the best one */
	const struct dtc_fit_options *fit; /* NULL: defaults; reference above counts, not the one in here */
	const char *sync_file;		   /* clock maps to use instead of fitting; or NULL */
};

/* Everything is owned. */
struct dtc_alignment {
	DtcMatches *matches;
	DtcSync *sync;	     /* NULL for a single node, or if the clocks came from a file */
	DtcClocks *own;	     /* then these are the clocks; else NULL */
	bool lacks_messages; /* it was kept from before: matches tell of the captures' clocks, and have no messages */
};

/*
 * What was kept of an earlier run with the same recordings and options is taken (alignment_image.h), and what is made
 * is kept. False with an error if the clocks contradict each other, the file cannot be read, or the watcher (or NULL)
 * stops it. To be cleared in either case.
 */
bool dtc_align(struct dtc_alignment *alignment, const struct dtc_align_input *input, const struct dtc_watch *watch,
	       DtcFindings *findings, GError **error);
/* For those who look at messages: makes them, if they are not there. The input is that of dtc_align. */
void dtc_alignment_complete(struct dtc_alignment *alignment, const struct dtc_align_input *input);
void dtc_alignment_clear(struct dtc_alignment *alignment);
const DtcClocks *dtc_alignment_get_clocks(const struct dtc_alignment *alignment);
/* The guests as the clocks show them; caller owns. */
DtcGuests *dtc_alignment_find_guests(const struct dtc_alignment *alignment, const struct dtc_align_input *input,
				     DtcFindings *findings);
