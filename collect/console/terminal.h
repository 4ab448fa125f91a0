/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the output goes to: how wide it is, whether it takes colour and UTF-8. A pipe or file gets UTF-8 without colour
 * in 80 columns, so that two runs give the same bytes wherever they run, unless COLUMNS, --width or LC_ALL=C ask
 * otherwise.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define DTC_WIDTH_MIN 40
#define DTC_WIDTH_MAX 1000

struct dtc_terminal {
	guint width; /* columns: DTC_WIDTH_MIN to DTC_WIDTH_MAX */
	bool is_terminal;
	bool has_color;
	bool has_utf8; /* false on a terminal whose locale is not UTF-8, and where LC_ALL is C */
};

enum dtc_color {
	DTC_COLOR_AUTO, /* on a terminal that is not dumb, unless NO_COLOR is set */
	DTC_COLOR_ALWAYS,
	DTC_COLOR_NEVER,
};

/* Describes stdout; width as the user wants it, 0: as it is. */
struct dtc_terminal dtc_terminal_get(enum dtc_color color, guint width);

/* Of stdout, for texts that are read and not looked at: at most 80. */
guint dtc_terminal_get_help_width(void);
/* Words of text from the column on, on lines that are indented by so much; what is before is the caller's. */
void dtc_terminal_wrap(GString *out, const char *text, guint column, guint indent, guint width);
/* Somebody asked for ASCII, and nothing else is to be written, to stderr neither. */
bool dtc_terminal_is_ascii(void);

/* Of a descriptor: as above. */
guint dtc_terminal_get_width(int fd);
/* No terminal is named by TERM, or one that cannot move its cursor. */
bool dtc_terminal_is_dumb(void);

/* Writes all of text to stdout and flushes it; a full disk or closed pipe is an error. */
bool dtc_terminal_write(const char *text, GError **error);

/* SIGINT and SIGTERM end the program with 130 and 143 and leave the terminal on a fresh line. */
void dtc_terminal_handle_signals(void);
