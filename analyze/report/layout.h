/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines of cells for terminals: padded and cut by columns, coloured if wanted, and turned into ASCII at the end for a
 * terminal that knows nothing else (glyph by glyph, so that columns stay aligned).
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum dtc_style {
	DTC_STYLE_PLAIN,
	DTC_STYLE_BOLD,
	DTC_STYLE_DIM,
	DTC_STYLE_RED,
	DTC_STYLE_GREEN,
	DTC_STYLE_YELLOW,
	DTC_STYLE_BLUE,
	DTC_STYLE_MAGENTA,
	DTC_STYLE_CYAN,
	DTC_STYLES
};

typedef struct DtcLayout DtcLayout;

DtcLayout *dtc_layout_new(guint width, bool has_color, bool has_utf8);
void dtc_layout_free(DtcLayout *layout);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcLayout, dtc_layout_free)

/*
 * Appends text cut and padded to exactly so many columns, at the left or the right end of its cell. A cell at the right
 * end that the line has no room for goes on in the next line, indented, and so does one at the left end of which next
 * to nothing would be seen: figures are never cut.
 */
void dtc_layout_add_left(DtcLayout *layout, const char *text, guint columns, enum dtc_style style);
void dtc_layout_add_right(DtcLayout *layout, const char *text, guint columns, enum dtc_style style);
/*
 * Appends text as it is, cut where the line is full; but words wrap at the begin of a line, where next to nothing would
 * be seen, and on narrow terminals.
 */
void dtc_layout_add(DtcLayout *layout, enum dtc_style style, const char *format, ...) G_GNUC_PRINTF(3, 4);
void dtc_layout_add_space(DtcLayout *layout, guint columns);
/* A bar of up to so many columns in eighths of a column. */
void dtc_layout_add_bar(DtcLayout *layout, double share, guint columns, enum dtc_style style);
/* ", 2026-11-20 09:58:24.022 UTC", if the clock that shows ns shows wall-clock time and the line has room for it. */
void dtc_layout_add_when(DtcLayout *layout, int64_t ns);
/* Columns left on the line. */
guint dtc_layout_get_rest(const DtcLayout *layout);
/* Ends the line; spaces at its end are dropped. */
void dtc_layout_end_line(DtcLayout *layout);
/*
 * A text over as many lines as it needs, broken at spaces (a word that is longer than a line is broken, too), lines
 * after the first indented by so many columns, or by less if that left too little of a narrow line.
 */
void dtc_layout_add_paragraph(DtcLayout *layout, const char *text, guint indent);
/* A blank line, then a heading. */
void dtc_layout_add_heading(DtcLayout *layout, const char *text, const char *note);
/* All lines so far; the layout is empty afterwards. Caller owns. */
char *dtc_layout_steal(DtcLayout *layout);
