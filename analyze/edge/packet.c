/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A packet that arrived: by the bytes that the wait was for (arrival.h), not by what the softirq received last. It
 * leads to the thread that wrote them, at the end of its write.
 */
#include "analyze/edge/edges_build.h"

void dtc_edge_set_arrival(const DtcLinks *links, const struct dtc_arrival *arrival, struct dtc_edge *edge)
{
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
}

void dtc_edges_add_uncertainty(const DtcEdges *edges, struct dtc_edge *edge)
{
	const DtcClocks *clocks = dtc_links_get_clocks(dtc_edges_get_links(edges));
	if (!edge->has_sender)
		return;
	DtcClusterTime at = dtc_clocks_to_cluster(clocks, edge->node, (DtcNodeTime){ edge->arrival.time_ns });
	edge->uncertainty_ns = dtc_clocks_get_uncertainty_ns(clocks, edge->sender.node, edge->node, at);
}

void dtc_edge_complete_packet(const DtcLinks *links, const struct dtc_interval *wait, struct dtc_edge *edge)
{
	struct dtc_arrival arrival;
	edge->link = DTC_LINK_UNKNOWN;
	if (dtc_arrival_find_for_wait(links, edge->node, wait, &arrival))
		dtc_edge_set_arrival(links, &arrival, edge);
}

/* What a kernel sent without a call, as a SYN once more, is of some thread of the process. */
static bool is_own(const DtcLinks *links, const struct dtc_edge *edge, const struct dtc_sender *sender)
{
	const DtcHistory *h = dtc_links_get_history(links, edge->node);
	if (sender->node != edge->node || sender->thread == DTC_NONE)
		return false;
	return sender->thread == edge->thread ||
	       (sender->call == DTC_NONE &&
		dtc_history_get_thread(h, sender->thread)->pid == dtc_history_get_thread(h, edge->thread)->pid);
}

bool dtc_edge_find_origin(const DtcLinks *links, const struct dtc_edge *edge, struct dtc_sender *ret_sender)
{
	if (!edge->has_sender)
		return false;
	struct dtc_sender sender = edge->sender;
	for (guint relays = 0; sender.relayed; relays++) {
		if (relays == DTC_RELAYS_MAX) {
			dtc_links_note_limit(links, DTC_LIMIT_RELAYS);
			break;
		}
		const struct dtc_arrival cause = sender.cause;
		if (!dtc_arrival_find_sender(links, &cause, &sender))
			return false;
	}
	*ret_sender = edge->sender.relayed && is_own(links, edge, &sender) ? edge->sender : sender;
	return true;
}
