/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the program is doing, and how far it is: a line on stderr that is rewritten in place. Does nothing unless stderr
 * is a terminal. One thread at a time.
 */
#pragma once

#include "analyze/engine/watch.h"

typedef struct DtcProgressLine DtcProgressLine;

DtcProgressLine *dtc_progress_line_new(bool is_quiet);
/* Wipes the line: before anything else is written. */
void dtc_progress_line_clear(DtcProgressLine *line);
void dtc_progress_line_free(DtcProgressLine *line);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcProgressLine, dtc_progress_line_free)

/* Draws what the engine does. The line must outlive the watch. */
struct dtc_watch dtc_progress_line_get_watch(DtcProgressLine *line);
/* Draws anything else. */
void dtc_progress_line_show(DtcProgressLine *line, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* False where nobody looks, in the first half second, and within a tenth of a second after the last line. */
bool dtc_progress_line_is_due(DtcProgressLine *line);
/* Since dtc_progress_line_new. */
double dtc_progress_line_get_seconds(const DtcProgressLine *line);

/*
 * ", 12 s left": if the rest goes as fast as what was done in these seconds. Empty while that would be a guess (in the
 * first second, or with less than a hundredth done), and where all is not known (0). Caller frees.
 */
char *dtc_progress_line_get_remaining(guint64 done, guint64 all, double seconds);
/* "reading: 38 % of 299 MB, 2.1 M events at 1.9 M/s, 12 s left"; caller frees. */
char *dtc_progress_line_describe_reading(const struct dtc_progress *progress);
