/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the two halves of the TSDL parser share: tsdl_type.c parses types, tsdl.c what they are for. */
#pragma once

#include "collect/read/fast/tokens.h"
#include "collect/read/fast/types.h"

/* Names of types that were declared so far, in a block and in those around it. */
struct dtc_tsdl_names {
	struct dtc_tsdl_names *outer;
	GHashTable *types; /* "uint32_t", "struct x", "enum x", "variant x"; made with the first name */
};

struct dtc_tsdl_parser {
	struct dtc_tokens tokens;
	DtcArena *arena;
	struct dtc_tsdl_names *names;
	GArray *members; /* struct dtc_type_member, of all structures that are open; the innermost has the last ones */
	GArray *labels;	 /* struct dtc_type_label */
	guint depth;
	GError *error; /* the first one */
};

/* Keeps the first error, with the place of the current token. False, so that callers return it. */
bool dtc_tsdl_fail(struct dtc_tsdl_parser *parser, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Passes the sign or name, or fails. */
bool dtc_tsdl_expect(struct dtc_tsdl_parser *parser, const char *word);

/* Nothing is declared yet. text is borrowed; dtc_tsdl_end frees the rest. */
void dtc_tsdl_begin(struct dtc_tsdl_parser *parser, DtcArena *arena, const char *text, gsize bytes);
void dtc_tsdl_end(struct dtc_tsdl_parser *parser);
void dtc_tsdl_enter(struct dtc_tsdl_parser *parser, struct dtc_tsdl_names *names);
void dtc_tsdl_leave(struct dtc_tsdl_parser *parser);

/* True if the current token begins "typealias" or "typedef"; then it is parsed up to its semicolon. */
bool dtc_tsdl_is_alias(const struct dtc_tsdl_parser *parser);
bool dtc_tsdl_parse_alias(struct dtc_tsdl_parser *parser);
/* A type as it stands before the name of a member, or behind ":=". NULL: failed. */
struct dtc_type *dtc_tsdl_parse_type(struct dtc_tsdl_parser *parser);
/* A number with its sign. */
bool dtc_tsdl_parse_number(struct dtc_tsdl_parser *parser, int64_t *ret_value, bool *ret_is_negative);
/* A text with its escapes resolved, or a name as it is; NULL: failed. */
const char *dtc_tsdl_parse_text(struct dtc_tsdl_parser *parser);
/* "a.b.c" or "a->b"; fails beyond a sensible length. */
const char *dtc_tsdl_parse_path(struct dtc_tsdl_parser *parser);
