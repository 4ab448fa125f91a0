/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the table of edges: the rules, one file per kind. Each completes an edge of its kind. */
#pragma once

#include "analyze/edge/edges.h"

/* The thread that woke it, or that made it; and since when it had waited for that. */
void dtc_edge_complete_thread(const DtcLinks *links, const struct dtc_interval *wait, const struct dtc_wake *wake,
			      struct dtc_edge *edge);
/* The disk request, and the thread that made it if that was another one, while this one waited already. */
void dtc_edge_complete_disk(const DtcLinks *links, const struct dtc_wake *wake, struct dtc_edge *edge);
/* The packet that the wait was for, and who sent it. */
void dtc_edge_complete_packet(const DtcLinks *links, const struct dtc_interval *wait, struct dtc_edge *edge);
/* Who sent what arrived. */
void dtc_edge_set_arrival(const DtcLinks *links, const struct dtc_arrival *arrival, struct dtc_edge *edge);
