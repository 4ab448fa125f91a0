/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The folder on a node in which an agent keeps its program and what was recorded, and that nothing is left of. Whoever
 * works in it holds the lock in it; what that one starts does, too.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define DTC_REMAINS_PREFIX "dtrace-collect-run-"

/* A file below the folder. */
struct dtc_remains_file {
	char *path; /* owned; relative */
	guint64 bytes;
};

/* Named as such a folder is, no link, and there. */
bool dtc_remains_check(const char *folder, GError **error);
/* Opens the lock, made if it is not there; -1: it cannot be. The caller closes it. */
int dtc_remains_open_lock(const char *folder);
/* Without waiting; true: it is this process' now. */
bool dtc_remains_lock(int lock_fd);
void dtc_remains_unlock(int lock_fd);

/* Plain files, by path (struct dtc_remains_file). Free with g_ptr_array_unref. */
GPtrArray *dtc_remains_list(const char *folder);
/* Of all of them. */
guint64 dtc_remains_count_bytes(const char *folder);
/* The folder with all that is in it; links are removed and not followed. */
void dtc_remains_remove(const char *folder);
/*
 * The same of what agents have left beside it that nobody works in any more, if it is older than a day and belongs to
 * this user, or to who called sudo.
 */
void dtc_remains_remove_old(const char *folder);
