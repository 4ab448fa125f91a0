/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The other side of owners.h: a process that owns nodes of a bundle, and answers for them. What it has read is an image
 * in the cache, or in a file without a name below TMPDIR, and mapped: of the records themselves nothing stays in
 * memory.
 */
#pragma once

#include "analyze/engine/open.h"
#include "analyze/engine/owners.h"
#include "dtrace-chain/sync.h"

/* Names and paths are bytes, in whatever encoding. */
#define DTC_OWNED_OPTIONS_TYPE "(bmaymayaayu)"
#define DTC_OWNED_LIST_TYPE "a(aymayaaymaymaymaytb)"

/* Options of an asker, for an owner (DTC_OWNED_OPTIONS_TYPE). Floating. */
GVariant *dtc_owned_pack_options(const struct dtc_open_options *options, bool is_other);
/* The bundle as this process sees it, with all nodes. program: that reads as a child (dtc_open_is_child). */
DtcBundle *dtc_owned_open(GVariant *options, const char *program, GError **error);

/* Nodes with their paths, sizes, and whether the files can be read here (DTC_OWNED_LIST_TYPE). Floating. */
GVariant *dtc_owned_list(const DtcBundle *bundle);
/* Of one of these; cleared with dtc_owned_seen_clear. */
struct dtc_owned_seen {
	struct dtc_bundle_node node; /* owned */
	guint64 bytes;
	bool is_readable;
};
void dtc_owned_unpack(GVariant *seen, struct dtc_owned_seen *ret_seen);
void dtc_owned_seen_clear(struct dtc_owned_seen *seen);

/*
 * What an owner answers to a call about a node of the bundle: its events (event_stream.h). streams: of a bundle, of
 * dtc_owned_streams_new. NULL: it is no question that this program knows. Floating.
 */
GVariant *dtc_owned_call(GHashTable *streams, const DtcBundle *bundle, const char *node, GVariant *question);
GHashTable *dtc_owned_streams_new(void);
/* Of one node, whose map has these knots; none: its clock is cluster time. Caller owns. */
DtcClocks *dtc_owned_make_clocks(const struct dtc_clock_knot *knots, guint count);

/* An answer for one recording. */
struct dtc_owned_answer {
	const char *node; /* borrowed of the bundle */
	bool is_capture;
	GBytes *told;	   /* as struct dtc_owners_answer has it; owned */
	DtcImage *content; /* owned; NULL: there is none */
};

/*
 * Answers for every recording of the bundle, in its order; struct dtc_owned_answer. NULL with an error if the machine
 * does not allow it: what one recording has is in its answer. Free with g_array_unref; the bundle must outlive it.
 */
GArray *dtc_owned_answer(const DtcBundle *bundle, GVariant *question, GError **error);
/* The same of what was answered to DTC_OWNERS_RECORDING, to DTC_OWNERS_BRIEF: for every node one. */
GArray *dtc_owned_answer_briefs(const DtcBundle *bundle, const GArray *recordings);
