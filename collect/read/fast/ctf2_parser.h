/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the two halves of CTF 2's parser share: ctf2_type.c makes types of field classes, ctf2.c reads the fragments. */
#pragma once

#include "collect/read/fast/json.h"
#include "collect/read/fast/types.h"

struct dtc_ctf2_parser {
	struct dtc_trace_declaration *declaration;
	DtcArena *arena;
	GHashTable *aliases;   /* name -> struct dtc_type; names are the arena's */
	struct dtc_type *byte; /* the element of texts and BLOBs; made with the first one */
	guint depth;
	GError *error; /* the first one */
};

/* Keeps the first error. False, so that callers return it. */
bool dtc_ctf2_fail(struct dtc_ctf2_parser *parser, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Zeroed; NULL: failed. */
void *dtc_ctf2_take(struct dtc_ctf2_parser *parser, gsize count, gsize bytes);
/* A copy in the declaration's arena, of NULL too; what a fragment holds goes with it. */
bool dtc_ctf2_copy_text(struct dtc_ctf2_parser *parser, const char *text, const char **ret_copy);

/* A number that is not negative; what it is if it is missing. */
bool dtc_ctf2_read_number(struct dtc_ctf2_parser *parser, const struct dtc_json *object, const char *name,
			  uint64_t missing, uint64_t *ret_number);
/* The field class that a member is, an object or the name of an alias; *ret_type is NULL if there is no such member. */
bool dtc_ctf2_read_type(struct dtc_ctf2_parser *parser, const struct dtc_json *object, const char *name,
			struct dtc_type **ret_type);
