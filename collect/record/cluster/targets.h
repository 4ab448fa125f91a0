/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which nodes a cluster has, what they are called in its bundle, and how each is reached. */
#pragma once

#include "dtrace-chain/cluster.h"

#include <glib.h>
#include <stdbool.h>

struct dtc_target {
	char *name; /* owned, as both; the node's, in the bundle */
	char *host; /* what ssh is given, or what stands for {node} */
};

/*
 * "NAME", "[USER@]HOST" or "NAME=[USER@]HOST", with commas (struct dtc_target, by name). Free with g_ptr_array_unref.
 * None, or one twice: USAGE.
 */
GPtrArray *dtc_targets_parse(const char *list, GError **error);
/*
 * Of a file: a cluster file (docs/formats.md), which is given back, too, or the same words, one a line; '#' begins a
 * comment.
 */
GPtrArray *dtc_targets_read(const char *path, DtcCluster **ret_cluster, GError **error);

/* A command line with {node} in it, as a shell would split it. Free with g_strfreev. */
char **dtc_via_parse(const char *text, GError **error);
/*
 * What is executed here so that a shell on the node runs the script: the user's own ssh (via NULL), or that command
 * line. A container's `exec` gets -i if it has none, since it would read nothing without. Free with g_strfreev.
 */
char **dtc_via_get_argv(char *const *via, const char *host, const char *script);
