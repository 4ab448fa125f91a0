/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which nodes' packets have a connection, by its ends: so that what could be asked of every node (who sent this, whose
 * socket is this) is asked of those that can know, which are a few among thousands. Linear in the flows of all nodes to
 * make, a look-up takes one or two cache lines. Read-only once made.
 */
#pragma once

#include "collect/packets/packets.h"

#include <glib.h>

typedef struct DtcFlowNodes DtcFlowNodes;

/* packets: one for each node, sealed; NULL: it has none. Nothing is borrowed. */
DtcFlowNodes *dtc_flow_nodes_new(const DtcPackets *const *packets, guint node_count);
void dtc_flow_nodes_free(DtcFlowNodes *nodes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcFlowNodes, dtc_flow_nodes_free)

/* The nodes that have flows with these ends in this direction, ascending; perhaps one that has not. Borrowed. */
const guint *dtc_flow_nodes_get(const DtcFlowNodes *nodes, const struct dtc_flow *flow, guint *ret_count);
