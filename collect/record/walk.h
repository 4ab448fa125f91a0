/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A walk of /proc: who is there, under which names, with which files, sockets and namespaces. It takes the place of a
 * tracer's state dump. docs/formats.md has the records.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

struct dtc_walk_counts {
	guint processes;
	guint threads;
	guint files;
	guint unreadable; /* processes whose files cannot be seen with the rights there are */
};

/*
 * The text of the walk. root is "" on a machine, and for tests a folder with proc/ and sys/ in it; network interfaces
 * are asked for on a machine only. Caller owns.
 */
char *dtc_walk(const char *root, struct dtc_walk_counts *ret_counts);
