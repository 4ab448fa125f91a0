/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON (RFC 8259) as a tree, and sequences of such texts (RFC 7464). Linear, and bounded by the arena that the tree
 * lies in and by the depth: hostile text costs no more than that.
 */
#pragma once

#include "collect/read/fast/arena.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_JSON_MAX_DEPTH 512

enum dtc_json_kind {
	DTC_JSON_NULL,
	DTC_JSON_TRUTH,	  /* value is 0 or 1 */
	DTC_JSON_INTEGER, /* value; of negative ones the two's complement */
	DTC_JSON_REAL,	  /* not an integer of 64 bits: its value is not kept */
	DTC_JSON_TEXT,
	DTC_JSON_ARRAY,
	DTC_JSON_OBJECT,
};

struct dtc_json {
	uint8_t kind; /* enum dtc_json_kind */
	bool is_negative;
	guint count;	  /* of elements, of members */
	const char *name; /* of a member */
	const char *text; /* UTF-8 without a zero in it */
	uint64_t value;
	const char *begin, *end; /* where it stands */
	struct dtc_json *first;	 /* element or member */
	struct dtc_json *next;	 /* in what this one is in */
};

/* Where the next text of a sequence begins. */
struct dtc_json_sequence {
	const char *begin, *at, *end;
};

/* True with the next text, which lies in the arena; false at the end, and with an error that names line and column. */
bool dtc_json_next(struct dtc_json_sequence *sequence, DtcArena *arena, struct dtc_json **ret_json, GError **error);

/* A value of which at is the first character, as a member of an object in a sequence; NULL: there is none. */
const struct dtc_json *dtc_json_read_value(const char *at, const char *end, DtcArena *arena);

/* The member of an object; NULL if it has none, or is no object. object may be NULL. */
const struct dtc_json *dtc_json_find(const struct dtc_json *object, const char *name);
/* The same, if it is of that kind. */
const struct dtc_json *dtc_json_find_kind(const struct dtc_json *object, const char *name, enum dtc_json_kind kind);
/* The text of a member; NULL if it has none. */
const char *dtc_json_find_text(const struct dtc_json *object, const char *name);
