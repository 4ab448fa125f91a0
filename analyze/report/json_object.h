/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON objects written member by member at the end of a text, without a tree of nodes: for lists of a million rows and
 * for output line by line. Commas are put where they belong: a value that follows '{' or '[' has none before it.
 * Text passes through dtc_printable (units as in docs/formats.md), so that every string is valid and bounded.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Longest names of nodes, processes and threads, in characters; other text: DTC_PRINTABLE_MAX. */
#define DTC_JSON_NAME_MAX 64

/* A string value, or null for NULL, cut to max characters. */
void dtc_json_append_text(GString *out, const char *text, guint max);
/* A comma if a value stands before. */
void dtc_json_append_separator(GString *out);
/* The key of a member, whose value the caller appends. Keys are our own words and need no quoting inside. */
void dtc_json_append_key(GString *out, const char *key);

void dtc_json_add_text(GString *out, const char *key, const char *text);
void dtc_json_add_name(GString *out, const char *key, const char *name);
void dtc_json_add_integer(GString *out, const char *key, int64_t value);
void dtc_json_add_bool(GString *out, const char *key, bool value);
void dtc_json_add_null(GString *out, const char *key);
/* pid and tid: -1 is "not known" inside, null outside. */
void dtc_json_add_id(GString *out, const char *key, int32_t id);
