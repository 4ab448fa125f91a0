/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every analysis promises about its own figures, verified over whole recordings: states, waits, CPUs, clocks,
 * messages, paths. A check counts what it looked at and what was wrong, and keeps the first wrong thing in words. A
 * failed check is a defect of dtrace-chain (or, for messages, a pair of clocks that is not what it seems), never of the
 * traced system.
 */
#pragma once

#include "analyze/edge/links.h"
#include "dtrace-chain/finding.h"
#include "sync/match/match.h"

#include <glib.h>

struct dtc_check {
	const char *name; /* static: "intervals", "waits", ...: the order is the one in which they are run */
	const char *text; /* static: what holds if nothing is wrong */
	guint node;	  /* G_MAXUINT: of all nodes */
	uint64_t count;	  /* things looked at */
	uint64_t wrong_count;
	char *detail; /* owned: the first wrong thing, or what else is to be said; or NULL */
};

/* A message that the alignment left out because it contradicts the others. */
struct dtc_check_exception {
	guint from;
	guint to;
	int64_t sent_ns;
	int64_t received_ns;
};

struct dtc_check_input {
	const DtcLinks *links;	   /* histories and clocks */
	const DtcMatches *matches; /* of the same nodes */
	const GArray *exceptions;  /* struct dtc_check_exception */
	guint path_count;	   /* critical paths per node, of the threads that used the CPUs most */
};

/* Counts one thing that was looked at; the first wrong one is described. */
void dtc_check_look(struct dtc_check *check, bool is_right, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Runs all checks but those of requests (request_check.h). Array of struct dtc_check, cleared when freed; caller owns.
 */
GArray *dtc_check_run(const struct dtc_check_input *input);
