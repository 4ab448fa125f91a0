/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A packet that arrived: by the bytes that the wait was for (arrival.h), not by what the softirq received last. It
 * leads to the thread that wrote them, at the end of its write.
 */
#include "analyze/edge/edges_build.h"

void dtc_edge_set_arrival(const DtcLinks *links, const struct dtc_arrival *arrival, struct dtc_edge *edge)
{
	const DtcClocks *clocks = dtc_links_get_clocks(links);
	edge->kind = DTC_EDGE_PACKET;
	edge->link = DTC_LINK_UNKNOWN;
	edge->arrival = *arrival;
	edge->has_arrival = true;
	edge->has_sender = dtc_arrival_find_sender(links, arrival, &edge->sender);
	if (!edge->has_sender)
		return;
	edge->link = edge->sender.exact ? DTC_LINK_EXACT : DTC_LINK_INFERRED;
	edge->from_node = edge->sender.node;
	edge->from_thread = edge->sender.relayed ? DTC_NONE : edge->sender.thread; /* else the kernel answered */
	edge->from_ns = edge->sender.written_ns;
	DtcClusterTime at = dtc_clocks_to_cluster(clocks, arrival->node, (DtcNodeTime){ arrival->time_ns });
	edge->uncertainty_ns = dtc_clocks_get_uncertainty_ns(clocks, edge->sender.node, arrival->node, at);
}

void dtc_edge_complete_packet(const DtcLinks *links, const struct dtc_interval *wait, struct dtc_edge *edge)
{
	struct dtc_arrival arrival;
	edge->link = DTC_LINK_UNKNOWN;
	if (dtc_arrival_find_for_wait(links, edge->node, wait, &arrival))
		dtc_edge_set_arrival(links, &arrival, edge);
}
