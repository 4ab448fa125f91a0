/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which part of the recordings --from and --to mean, on cluster time and on each node's clock. */
#pragma once

#include "dtrace-chain/history.h"
#include "dtrace-chain/sync.h"

#include <glib.h>
#include <stdbool.h>

/* A span of one node: on its own clock, and (rounded) on the cluster's. Empty if both ends are equal. */
struct dtc_cluster_span {
	DtcNodeTime begin;
	DtcNodeTime end;
	DtcClusterTime cluster_begin;
	DtcClusterTime cluster_end;
	DtcClusterTime origin; /* what relative times count from, on the cluster's clock */
};

/*
 * Where [from, to] (texts as dtc_moment_parse takes them, NULL: all) lies on each node, cut to what its trace covers.
 * Relative times count from the earliest begin of a node's group, or from the begin of the node 'of' for
 * those aligned with it (G_MAXUINT: no such node). histories[i] may be NULL: an empty span. A usage error if from is
 * not before to, NOT_FOUND if no node was traced in the span. Array of node_count, caller owns.
 */
struct dtc_cluster_span *dtc_cluster_span_find(const DtcClocks *clocks, const DtcHistory *const *histories, guint of,
					       const char *from, const char *to, GError **error);
