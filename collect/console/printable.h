/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names and details come from strangers' traces: a thread may call itself "\e[2J" or be cut in the middle of a
 * character. Whatever is shown passes through here once, so that no view has to think of it.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Longest string that a report carries, in characters; threads have 15, paths and HTTP targets may have thousands. */
#define DTC_PRINTABLE_MAX 256
/* Of nodes, processes and threads: shorter, since tables are made of them (docs/formats.md). */
#define DTC_PRINTABLE_NAME_MAX 64

/*
 * A valid UTF-8 copy in which control characters, invisible formatting (bidirectional overrides, zero-width) and bytes
 * that are not UTF-8 are written as \xNN, cut to max characters with an ellipsis in the last place. NULL gives NULL.
 * Caller owns.
 */
char *dtc_printable(const char *text, guint max);

/*
 * Whether dtc_printable gives the text as it is because it is short ASCII, as nearly all names are: told without a
 * copy. False says nothing.
 */
bool dtc_printable_is_plain(const char *text, guint max);

/* dtc_printable of each line, uncut. Caller owns. */
char *dtc_printable_lines(const char *text);

/* How many columns the text takes on a terminal: wide characters two, combining ones none. */
guint dtc_printable_get_columns(const char *text);

/* A copy in ASCII, glyph for glyph: what has no likeness becomes '?', so that columns stay aligned. Caller owns. */
char *dtc_printable_to_ascii(const char *text);

/* A copy of a printable text cut to so many columns, with an ellipsis if anything was left out. Caller owns. */
char *dtc_printable_fit(const char *text, guint columns);
