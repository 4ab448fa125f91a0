/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/edges.h"

#include "analyze/edge/delivery.h"
#include "analyze/edge/edges_build.h"

#include <dtrace-chain/hash.h>

struct key {
	guint node;
	uint32_t thread;
	int64_t end_ns;
};

struct DtcEdges {
	const DtcLinks *links;
	GHashTable *put; /* struct key -> struct dtc_edge; NULL: none */
};

const char *dtc_edge_kind_to_string(enum dtc_edge_kind kind)
{
	static const char *const names[DTC_EDGE_KINDS] = {
		[DTC_EDGE_THREAD] = "thread",	    [DTC_EDGE_FORK] = "fork",	    [DTC_EDGE_WORK] = "work",
		[DTC_EDGE_DISK] = "disk",	    [DTC_EDGE_PACKET] = "packet",   [DTC_EDGE_TIMER] = "timer",
		[DTC_EDGE_INTERRUPT] = "interrupt", [DTC_EDGE_UNKNOWN] = "unknown",
	};
	return names[kind];
}

static guint key_hash(gconstpointer data)
{
	const struct key *key = data;
	return dtc_hash_int64(&key->end_ns) ^ (key->thread * 31U + key->node);
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
	const struct key *x = a, *y = b;
	return x->node == y->node && x->thread == y->thread && x->end_ns == y->end_ns;
}

DtcEdges *dtc_edges_new(const DtcLinks *links)
{
	DtcEdges *edges = g_new0(DtcEdges, 1);
	edges->links = links;
	return edges;
}

void dtc_edges_free(DtcEdges *edges)
{
	if (!edges)
		return;
	g_clear_pointer(&edges->put, g_hash_table_unref);
	g_free(edges);
}

const DtcLinks *dtc_edges_get_links(const DtcEdges *edges)
{
	return edges->links;
}

void dtc_edges_put(DtcEdges *edges, const struct dtc_edge *edge)
{
	struct key key = { edge->node, edge->thread, edge->end_ns };
	if (!edges->put)
		edges->put = g_hash_table_new_full(key_hash, key_equal, g_free, g_free);
	g_hash_table_replace(edges->put, g_memdup2(&key, sizeof(key)), g_memdup2(edge, sizeof(*edge)));
}

enum dtc_edge_kind dtc_edge_get_kind(const struct dtc_wake *wake)
{
	switch ((enum dtc_waker)wake->waker) {
	case DTC_WAKER_THREAD:
		return DTC_EDGE_THREAD;
	case DTC_WAKER_NEW:
		return DTC_EDGE_FORK;
	case DTC_WAKER_BLOCK:
		return DTC_EDGE_DISK;
	case DTC_WAKER_PACKET:
		return DTC_EDGE_PACKET;
	case DTC_WAKER_TIMER:
		return DTC_EDGE_TIMER;
	case DTC_WAKER_IRQ:
	case DTC_WAKER_SOFTIRQ:
		return DTC_EDGE_INTERRUPT;
	case DTC_WAKER_IPI:
	case DTC_WAKER_UNKNOWN:
		break;
	}
	return DTC_EDGE_UNKNOWN;
}

static void complete(const DtcLinks *links, const struct dtc_interval *wait, const struct dtc_wake *wake,
		     struct dtc_edge *edge)
{
	switch (edge->kind) {
	case DTC_EDGE_THREAD:
	case DTC_EDGE_FORK:
		dtc_edge_complete_thread(links, wait, wake, edge);
		break;
	case DTC_EDGE_PACKET:
		dtc_edge_complete_packet(links, wait, edge);
		break;
	case DTC_EDGE_DISK:
		dtc_edge_complete_disk(links, wake, edge);
		break;
	case DTC_EDGE_TIMER:
	case DTC_EDGE_INTERRUPT:
	case DTC_EDGE_UNKNOWN:
	case DTC_EDGE_WORK:
	case DTC_EDGE_KINDS:
		break;
	}
}

static void edge_init(struct dtc_edge *edge, guint node, const struct dtc_interval *wait)
{
	*edge = (struct dtc_edge){ .kind = DTC_EDGE_UNKNOWN,
				   .link = DTC_LINK_UNKNOWN,
				   .node = node,
				   .thread = wait->thread,
				   .begin_ns = wait->begin_ns,
				   .end_ns = wait->end_ns,
				   .from_node = node,
				   .from_thread = DTC_NONE,
				   .from_ns = DTC_TIME_NONE,
				   .wake = wait->ref,
				   .block_request = DTC_NONE };
}

void dtc_edges_find(const DtcEdges *edges, guint node, const struct dtc_interval *wait, struct dtc_edge *ret_edge)
{
	struct key key = { node, wait->thread, wait->end_ns };
	const struct dtc_edge *put = edges->put ? g_hash_table_lookup(edges->put, &key) : NULL;
	if (put) {
		*ret_edge = *put;
		return;
	}
	edge_init(ret_edge, node, wait);
	if (wait->ref == DTC_NONE)
		return;
	struct dtc_wake wake_place;
	const struct dtc_wake *wake =
		dtc_history_get_wake(dtc_links_get_history(edges->links, node), wait->ref, &wake_place);
	ret_edge->kind = dtc_edge_get_kind(wake);
	struct dtc_arrival brought;
	if (ret_edge->kind == DTC_EDGE_THREAD && dtc_carriage_find_brought(edges->links, node, wait, wake, &brought)) {
		dtc_edge_set_arrival(edges->links, &brought, ret_edge);
		return;
	}
	if (ret_edge->kind != DTC_EDGE_UNKNOWN)
		ret_edge->link = wake->is_inferred ? DTC_LINK_INFERRED : DTC_LINK_EXACT;
	complete(edges->links, wait, wake, ret_edge);
	if (ret_edge->kind == DTC_EDGE_THREAD)
		ret_edge->has_arrival = dtc_arrival_find_local(edges->links, node, wait, wake, &ret_edge->arrival) &&
					dtc_arrival_find_sender(edges->links, &ret_edge->arrival, &ret_edge->sender);
	ret_edge->has_sender |= ret_edge->kind == DTC_EDGE_THREAD && ret_edge->has_arrival;
	ret_edge->has_interrupt = dtc_delivery_find_interrupt(edges->links, node, wake, &ret_edge->interrupt);
}

void dtc_edges_find_awaited(const DtcEdges *edges, guint node, const struct dtc_interval *wait,
			    const struct dtc_arrival *arrival, struct dtc_edge *ret_edge)
{
	edge_init(ret_edge, node, wait);
	dtc_edge_set_arrival(edges->links, arrival, ret_edge);
}

const struct dtc_work *dtc_edges_find_work(const DtcEdges *edges, guint node, uint32_t thread, int64_t time_ns)
{
	const struct dtc_work *work = dtc_history_find_work(dtc_links_get_history(edges->links, node), thread, time_ns);
	bool is_other = work && work->queued.waker == DTC_WAKER_THREAD && work->queued.thread != thread;
	bool is_disk = work && work->queued.waker == DTC_WAKER_BLOCK && work->queued.ref != DTC_NONE;
	return is_other || is_disk ? work : NULL;
}
