/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The network namespaces of this machine that can be seen from here. */
#pragma once

#include <glib.h>
#include <stdbool.h>

struct dtc_netns {
	guint64 inode;
	guint pid;  /* of a process in it; 0: it has a name only */
	char *path; /* owned: what opens it */
};

/*
 * Each once, by inode: those of processes, and those that `ip netns` has given a name. proc is "/proc". Free with
 * g_ptr_array_unref (struct dtc_netns).
 */
GPtrArray *dtc_netns_list(const char *proc);
/* Only the latter, in which perhaps no process is. */
GPtrArray *dtc_netns_list_named(void);
/* The calling thread's; 0: not known. */
guint64 dtc_netns_get_own(void);
/* The calling thread, and no other, goes there for the rest of its life. False: errno says why. */
bool dtc_netns_enter(const char *path);
