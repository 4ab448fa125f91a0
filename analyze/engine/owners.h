/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recordings that somebody else reads: each node of a bundle has one owner, a process that can see its files, and
 * whoever asks the engine holds none of them. A question goes to all owners at once, each answers for its own nodes
 * (owned.h), and an answer is an image: a small one that is all there, and for a recording a second one of what was
 * read, whose bytes come when they are touched. So an engine that asks owners is the same engine, and gives the same
 * answers. How they are reached is not known here: this is the door.
 *
 * Used from several threads at once, but for open, assign, and what is about help.
 */
#pragma once

#include "analyze/engine/briefs.h"
#include "analyze/engine/memory.h"
#include "analyze/engine/recording.h"
#include "analyze/engine/split.h"
#include "collect/image/image.h"
#include "dtrace-chain/bundle.h"

#include <glib.h>
#include <stdbool.h>

/* What of a node's recordings is asked for. */
enum dtc_owners_question {
	DTC_OWNERS_RECORDING, /* all that was read */
	DTC_OWNERS_COUNTS,
	DTC_OWNERS_BEGIN,  /* when its trace or capture begins */
	DTC_OWNERS_SPLIT,  /* its events, divided (split.h) */
	DTC_OWNERS_MEMORY, /* what its processes had in memory (memory.h) */
	DTC_OWNERS_BRIEF,  /* of what was last read of a node: its part in the matching (briefs.h); as of its trace */
};

struct dtc_owners_answer {
	DtcImage *told;	   /* owned: what there is beside what was read */
	DtcImage *content; /* owned: what was read; NULL: nothing */
};

/* What who asks finds of all recordings together, and who helps needs; each an image. */
enum dtc_owners_found { DTC_OWNERS_CLOCKS, DTC_OWNERS_SERVING, DTC_OWNERS_FOUND_COUNT };

/* Work that falls into parts which any process can do that has the recordings and what was found of them. */
struct dtc_owners_work {
	guint part_count;
	/* The same whoever makes it. NULL with an error. Caller owns. */
	GBytes *(*make)(void *data, guint part, GError **error);
	/* What was made of each, in the order of the parts; false with an error: it is none. */
	bool (*take)(void *data, GBytes *made, GError **error);
	void *data;
};

/*
 * Who asks may be helped: by processes that run the same command, and differ in that they take what was found, and
 * come to an end in share, or before. What they find themselves is told to nobody.
 */
struct dtc_owners_help {
	bool is_helper;
	/* Helpers begin, with what was last asked for of that bundle's recordings. */
	void (*call)(void *data, guint bundle);
	/* Of who is helped alone. */
	void (*give)(void *data, enum dtc_owners_found what, GBytes *image);
	/* Of a helper alone: waits for it. Caller owns; NULL with an error. */
	DtcImage *(*wait)(void *data, enum dtc_owners_found what, GError **error);
	/* False with an error: it was not done. */
	bool (*share)(void *data, const struct dtc_owners_work *work, GError **error);
};

struct dtc_owners {
	void *data;
	const struct dtc_owners_help *help; /* NULL: there is none */
	/* Adds what the owners see to the bundle, which then has them and a number. Options are of
	 * DTC_OWNED_OPTIONS_TYPE.
	 */
	bool (*open)(void *data, GVariant *options, DtcBundle *bundle, GError **error);
	/* Of the nodes that the bundle still has: who owns which, and that they are elsewhere. */
	bool (*assign)(void *data, DtcBundle *bundle, GError **error);
	/* "(uv)": an enum dtc_owners_question, and what belongs to it. Returns at once. */
	bool (*ask)(void *data, guint bundle, GVariant *question, GError **error);
	/* Asks the owner of a node alone, and waits for the value that it answers; NULL with an error. Caller owns. */
	GVariant *(*call)(void *data, guint bundle, const char *node, GVariant *question, GError **error);
	/* Waits for the answer of the last question for a recording; false with an error: there is none. */
	bool (*take)(void *data, guint bundle, const char *node, bool is_capture, struct dtc_owners_answer *ret_answer,
		     GError **error);
};

void dtc_owners_answer_clear(struct dtc_owners_answer *answer);

/* For who reads recordings of a bundle, before: its owners begin. True if it has none. */
bool dtc_owners_ask_recordings(const DtcBundle *bundle, const struct dtc_recordings_options *options, GError **error);
bool dtc_owners_ask_counts(const DtcBundle *bundle, DtcStore *store, GError **error);
bool dtc_owners_ask_begins(const DtcBundle *bundle, GError **error);
bool dtc_owners_ask_splits(const DtcBundle *bundle, enum dtc_split_by by, GError **error);
bool dtc_owners_ask_briefs(const DtcBundle *bundle, GError **error);
/* Of steps and clocks as dtc_memories_new has them. */
bool dtc_owners_ask_memories(const DtcBundle *bundle, const DtcUsage *usage, const DtcClocks *clocks, GError **error);

/* Of a bundle whose answers others help with; NULL: they do not. */
const struct dtc_owners *dtc_owners_get_helped(const DtcBundle *bundle);

/* As dtc_recording_read, of a node that is elsewhere. Results and reading.error are set. */
void dtc_owners_take_recording(struct dtc_recording *recording);
/* The counts, and what the reader found; reading.error is set if it could not. */
void dtc_owners_take_counts(struct dtc_census_source *source, const DtcBundle *bundle);
/* Parts are set, if there are any; reading.error is, if they cannot be told. */
void dtc_owners_take_split(struct dtc_split *split, const DtcBundle *bundle);
/* The same of what is told of memory. */
void dtc_owners_take_memory(struct dtc_memory *memory, const DtcBundle *bundle);
/* Nothing: it cannot be told, and the packets themselves are looked at. */
void dtc_owners_take_brief(const DtcBundle *bundle, guint node, struct dtc_node_brief *ret_brief);
/* False: it cannot be told. */
bool dtc_owners_take_begin(const DtcBundle *bundle, guint node, struct dtc_window_begin *ret_begin);
