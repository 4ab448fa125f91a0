/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits for a line in a log: from where the file ends when the watch begins, through rotation (another file under the
 * name) and truncation. A file that is not there yet is waited for.
 */
#pragma once

#include <glib.h>

typedef struct DtcLineWatch DtcLineWatch;

/* A usage error if the expression is none (Perl's, as GRegex takes it). Caller owns. */
DtcLineWatch *dtc_line_watch_new(const char *path, const char *expression, GError **error);
void dtc_line_watch_free(DtcLineWatch *watch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcLineWatch, dtc_line_watch_free)
/*
 * The first line since the last call that matches; what follows it is looked at by the next call, and so is what
 * follows the first 4 MiB. Caller owns.
 */
char *dtc_line_watch_poll(DtcLineWatch *watch);
