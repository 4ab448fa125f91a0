/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the output goes to: how wide it is, whether it takes colour and UTF-8, and a progress line on stderr. A pipe or
 * file always gets 80 columns of UTF-8 without colour, so that two runs give the same bytes wherever they run.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

struct dtc_terminal {
	guint width; /* columns: 80 when not a terminal; at least 40 */
	bool is_terminal;
	bool has_color;
	bool has_utf8; /* false only on a terminal whose locale is not UTF-8 */
};

enum dtc_color {
	DTC_COLOR_AUTO, /* on a terminal that is not dumb, unless NO_COLOR is set */
	DTC_COLOR_ALWAYS,
	DTC_COLOR_NEVER,
};

/* Describes stdout. */
struct dtc_terminal dtc_terminal_get(enum dtc_color color);

/* Writes all of text to stdout and flushes it; a full disk or closed pipe is an error. */
bool dtc_terminal_write(const char *text, GError **error);

/* SIGINT and SIGTERM end the program with 130 and 143 and leave the terminal on a fresh line. */
void dtc_terminal_handle_signals(void);

/* A line that is rewritten in place; does nothing unless stderr is a terminal. One thread at a time. */
typedef struct DtcProgress DtcProgress;

DtcProgress *dtc_progress_new(bool is_quiet);
/* Wipes the line: before anything else is written. */
void dtc_progress_clear(DtcProgress *progress);
void dtc_progress_free(DtcProgress *progress);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcProgress, dtc_progress_free)
/* False where nobody looks, in the first half second, and within a tenth of a second after the last line. */
bool dtc_progress_is_due(DtcProgress *progress);
/*
 * ", 12 s left": if the rest goes as fast as what was done in these seconds. Empty while that would be a guess (in the
 * first second, or with less than a hundredth done), and where all is not known (0). Caller frees.
 */
char *dtc_progress_get_remaining(guint64 done, guint64 all, double seconds);
/* Since dtc_progress_new. */
double dtc_progress_get_seconds(const DtcProgress *progress);
void dtc_progress_show(DtcProgress *progress, const char *format, ...) G_GNUC_PRINTF(2, 3);
