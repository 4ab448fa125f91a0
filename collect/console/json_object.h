/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON objects written member by member at the end of a text, without a tree of nodes: for lists of a million rows and
 * for output line by line. Separators are put where they belong: what follows '{', '[', ':' or ',' has none before it,
 * so that a caller breaks a line by a comma of his own. Two layouts: with a space after commas and colons, for
 * documents that people look into as well, and packed, for what programs read.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A string value, whatever its bytes (those that are not UTF-8 become U+FFFD); null for NULL. */
void dtc_json_append_string(GString *out, const char *text);
/* The same of dtc_printable(text, max) (units as in docs/formats.md). */
void dtc_json_append_text(GString *out, const char *text, guint max);
/* A comma if a value stands before. */
void dtc_json_append_separator(GString *out);
/* The key of a member, whose value the caller appends. Keys are our own words and need no quoting inside. */
void dtc_json_append_key(GString *out, const char *key);

/* Members of strangers' text pass through dtc_printable. */
void dtc_json_add_text(GString *out, const char *key, const char *text);
void dtc_json_add_name(GString *out, const char *key, const char *name);
void dtc_json_add_integer(GString *out, const char *key, int64_t value);
void dtc_json_add_bool(GString *out, const char *key, bool value);
void dtc_json_add_null(GString *out, const char *key);
/* pid and tid: -1 is "not known" inside, null outside. */
void dtc_json_add_id(GString *out, const char *key, int32_t id);

/* Packed. Strings are taken as they are: a report's are printable already. */
void dtc_json_pack_separator(GString *out);
void dtc_json_pack_key(GString *out, const char *key);
void dtc_json_pack_string(GString *out, const char *key, const char *text);
void dtc_json_pack_integer(GString *out, const char *key, int64_t value);
void dtc_json_pack_null(GString *out, const char *key);
void dtc_json_pack_id(GString *out, const char *key, int32_t id);
/* Opens an object or array, a member of that key or, without one, an element; the caller closes it. */
void dtc_json_pack_open(GString *out, const char *key, char bracket);
/* An element of a list. */
void dtc_json_pack_value(GString *out, int64_t value);

/*
 * The document with '<', '>', '&' and the line ends of JavaScript (U+2028, U+2029) as escapes: no string of it can end
 * the script element that it stands in. In JSON they stand in strings only. Caller owns.
 */
char *dtc_json_escape_markup(const char *json);
