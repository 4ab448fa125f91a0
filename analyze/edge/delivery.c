/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/delivery.h"

#include "analyze/edge/edges.h"

bool dtc_delivery_find_interrupt(const DtcLinks *links, guint node, const struct dtc_wake *wake,
				 struct dtc_host_interrupt *ret_interrupt)
{
	switch (dtc_edge_get_kind(wake)) {
	case DTC_EDGE_DISK:
	case DTC_EDGE_TIMER:
	case DTC_EDGE_INTERRUPT:
	case DTC_EDGE_UNKNOWN:
		return dtc_host_find_interrupt(links, node, wake->thread, wake->waking_ns, ret_interrupt);
	case DTC_EDGE_THREAD:
	case DTC_EDGE_FORK:
	case DTC_EDGE_WORK:
	case DTC_EDGE_PACKET:
	case DTC_EDGE_KINDS:
		break;
	}
	return false;
}

bool dtc_delivery_find_arrival(const DtcLinks *links, guint node, const struct dtc_interval *wait,
			       const struct dtc_wake *wake, struct dtc_arrival *ret_arrival)
{
	enum dtc_edge_kind kind = dtc_edge_get_kind(wake);

	return (kind == DTC_EDGE_THREAD && dtc_carriage_find_brought(links, node, wait, wake, ret_arrival)) ||
	       (kind == DTC_EDGE_PACKET && dtc_arrival_find_for_wait(links, node, wait, ret_arrival));
}

bool dtc_delivery_find_softirq(const DtcLinks *links, const struct dtc_arrival *arrival,
			       const struct dtc_sender *sender, int64_t now_cluster_ns, int64_t *ret_begin_cluster_ns)
{
	const DtcClocks *clocks = dtc_links_get_clocks(links);
	const DtcHistory *h = dtc_links_get_history(links, arrival->node);
	if (arrival->packet == DTC_NONE)
		return false;
	int64_t asked_ns = dtc_history_get_plain_context(h, arrival->packet).queue_ns;
	if (asked_ns == DTC_TIME_NONE || asked_ns >= arrival->time_ns)
		return false;
	int64_t asked_cluster_ns = dtc_clocks_to_cluster_ns(clocks, arrival->node, asked_ns);
	int64_t left_cluster_ns = dtc_clocks_to_cluster_ns(clocks, sender->node, sender->left_ns);
	if (left_cluster_ns >= now_cluster_ns)
		return false;
	*ret_begin_cluster_ns = asked_cluster_ns;
	if (asked_cluster_ns > left_cluster_ns)
		return true;
	int64_t way_ns =
		dtc_clocks_get_uncertainty_ns(clocks, sender->node, arrival->node, (DtcClusterTime){ now_cluster_ns });
	if (way_ns >= now_cluster_ns - left_cluster_ns)
		return false;
	*ret_begin_cluster_ns = left_cluster_ns + way_ns;
	return true;
}

bool dtc_delivery_find_in(const DtcLinks *links, const struct dtc_arrival *arrival, const struct dtc_sender *sender,
			  int64_t now_cluster_ns, struct dtc_delivery *ret_delivery)
{
	const DtcHistory *h = dtc_links_get_history(links, arrival->node);
	struct dtc_delivery in = { .is_carried = false };
	if (!dtc_carriage_find_in(links, arrival, sender, &in.carriage)) {
		uint32_t on_top_of = dtc_history_get_plain_context(h, arrival->packet).thread;
		if (!dtc_host_find_interrupt(links, arrival->node, on_top_of, arrival->time_ns, &in.interrupt))
			return false;
		*ret_delivery = in;
		return true;
	}
	in.is_carried = true;
	in.interrupt = in.carriage.interrupt;
	if (!in.carriage.has_interrupt) { /* the guest looked by itself, as soon as its CPU ran */
		int64_t now_ns = dtc_clocks_to_node_ns(dtc_links_get_clocks(links), in.carriage.host, now_cluster_ns);
		in.interrupt = (struct dtc_host_interrupt){ in.carriage.cpu, MIN(in.carriage.done_ns, now_ns), now_ns,
							    in.carriage.thread };
	}
	*ret_delivery = in;
	return true;
}
