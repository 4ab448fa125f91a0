/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What somebody who knows the cluster says about it (clusters/NAME.conf, a GKeyFile; docs/formats.md has the keys):
 * what nodes there are, where their recordings lie, and which processes are one tier. A key or group that is not
 * known is an error, since a typing error would otherwise change nothing, silently.
 */
#pragma once

#include "dtrace-chain/manifest.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_cluster_node {
	char *name;	   /* owned, as all */
	char *connect;	   /* what ssh reaches it by, for who records it; "": by its name */
	char *path;	   /* absolute; NULL: the node is where the bundle has it */
	char *role;	   /* "host", "guest" or "" */
	char *host;	   /* of a guest, or "" */
	char *guest;	   /* of a guest: what its host calls it, for who records both; or "" */
	char **addresses;  /* NULL-terminated */
	GArray *vcpu_tids; /* uint32_t: threads of the host that carry the guest's CPUs, in their order */
};

typedef struct DtcCluster DtcCluster;

/* Paths in the file are relative to its folder. Caller owns. */
DtcCluster *dtc_cluster_read(const char *path, GError **error);
/* What a manifest says of hosts and guests. Caller owns. */
DtcCluster *dtc_cluster_new_of(const DtcManifest *manifest);
void dtc_cluster_free(DtcCluster *cluster);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcCluster, dtc_cluster_free)

/* Nodes by name. */
guint dtc_cluster_get_count(const DtcCluster *cluster);
const struct dtc_cluster_node *dtc_cluster_get_node(const DtcCluster *cluster, guint index);
/* NULL: not in the file. */
const struct dtc_cluster_node *dtc_cluster_find_node(const DtcCluster *cluster, const char *name);
/* The tier of a process; NULL: it has no name of its own (process@node). The first tier in the file that fits wins. */
const char *dtc_cluster_get_tier(const DtcCluster *cluster, const char *process, const char *node);
