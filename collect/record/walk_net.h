/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a walk says of network namespaces: their sockets and interfaces. */
#pragma once

#include <glib.h>

/* The sockets of a namespace, from PROC/net/{tcp,tcp6,udp,udp6,unix} of a process in it: records s. */
void dtc_walk_add_sockets(GString *out, const char *process_folder, guint64 netns);
/* Its interfaces and their addresses: records i. A thread goes there, through path. */
void dtc_walk_add_interfaces(GString *out, const char *path, guint64 netns);
