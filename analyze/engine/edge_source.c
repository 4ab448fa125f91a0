/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/edge_list_build.h"

static bool is_wanted(const struct dtc_edge_lister *lister, guint node, uint32_t thread)
{
	const uint8_t *threads = lister->parts[node].threads;
	return !threads || (thread != DTC_NONE && threads[thread]);
}

static const DtcHistory *get_history(const struct dtc_edge_lister *lister, guint node)
{
	return dtc_links_get_history(lister->links, node);
}

/* ---- guests: a stay of the host's vCPU, seen from the guest ---- */

static const struct dtc_guest_span *get_stay(const struct dtc_edge_lister *lister, const struct dtc_edge_source *source,
					     uint32_t index)
{
	const DtcHistory *host = get_history(lister, source->vcpu.host);
	return dtc_history_get_guest_span(host, dtc_history_get_vcpu(host, source->vcpu.vcpu)->span_first + index);
}

static int64_t to_guest_ns(const struct dtc_edge_lister *lister, const struct dtc_edge_source *source, int64_t host_ns)
{
	const DtcClocks *clocks = dtc_links_get_clocks(lister->links);
	return dtc_clocks_to_node_ns(clocks, source->node,
				     dtc_clocks_to_cluster_ns(clocks, source->vcpu.host, host_ns));
}

/* Which thread of the guest has its CPU at a time, or DTC_NONE. */
static uint32_t find_running(const DtcHistory *guest, uint32_t cpu, int64_t time_ns)
{
	uint32_t after = dtc_history_find_run_after(guest, cpu, time_ns);
	return after ? dtc_history_get_run(guest, cpu, after - 1).thread : DTC_NONE;
}

/* ---- where a source stands ---- */

/* When the item at next ends, and at whom. */
static int64_t look(const struct dtc_edge_lister *lister, const struct dtc_edge_source *source, uint32_t *ret_thread)
{
	const DtcHistory *h = get_history(lister, source->node);

	switch (source->kind) {
	case DTC_ITEM_WAKE:
		*ret_thread = dtc_history_copy_wake(h, source->next).target;
		return dtc_history_get_waking_ns(h, source->next);
	case DTC_ITEM_OPEN:
		*ret_thread = source->tails[source->next].thread;
		return source->tails[source->next].end_ns;
	case DTC_ITEM_WORK:
		*ret_thread = dtc_history_get_work(h, source->next)->queued.target;
		return dtc_history_get_work(h, source->next)->begin_ns;
	case DTC_ITEM_LOCAL_BYTES:
		*ret_thread = dtc_history_copy_call(h, source->bytes.read).thread;
		return dtc_history_copy_call(h, source->bytes.read).end_ns;
	case DTC_ITEM_VCPU: {
		int64_t at_ns = to_guest_ns(lister, source, get_stay(lister, source, source->next)->entry_ns);
		*ret_thread = find_running(h, source->place, at_ns);
		return at_ns;
	}
	case DTC_ITEM_SERVED:
		*ret_thread = source->place;
		return source->spans[source->next].end_ns;
	case DTC_ITEM_KINDS:
		break;
	}
	g_assert_not_reached();
}

static bool step(struct dtc_edge_source *source)
{
	if (source->kind == DTC_ITEM_LOCAL_BYTES)
		return dtc_local_bytes_next(&source->walk, &source->bytes);
	source->next++;
	return source->next < source->count;
}

/* Waits that the end cuts end behind it; spans of work count as far as they overlap. */
static bool is_inside(const struct dtc_edge_lister *lister, const struct dtc_edge_source *source, int64_t at_ns)
{
	const struct dtc_edge_part *part = &lister->parts[source->node];

	if (source->kind == DTC_ITEM_OPEN)
		return true; /* chosen one by one */
	if (source->kind == DTC_ITEM_SERVED)
		return at_ns >= part->begin.ns && source->spans[source->next].begin_ns <= part->end.ns;
	return at_ns >= part->begin.ns && at_ns <= part->end.ns;
}

void dtc_edge_source_seek(const struct dtc_edge_lister *lister, struct dtc_edge_source *source)
{
	const struct dtc_edge_part *part = &lister->parts[source->node];
	/* reads of one file by several threads may end in another order than they began */
	bool is_sorted = source->kind != DTC_ITEM_LOCAL_BYTES && source->kind != DTC_ITEM_SERVED;

	while (!source->is_ended) {
		uint32_t thread;
		int64_t at_ns = look(lister, source, &thread);
		if (is_inside(lister, source, at_ns) && is_wanted(lister, source->node, thread)) {
			source->at_ns = MAX(source->at_ns, at_ns);
			return;
		}
		source->is_ended =
			(is_sorted && source->kind != DTC_ITEM_OPEN && at_ns > part->end.ns) || !step(source);
	}
}

void dtc_edge_source_leave(const struct dtc_edge_lister *lister, struct dtc_edge_source *source)
{
	source->is_ended = !step(source);
	dtc_edge_source_seek(lister, source);
}

/* ---- what an item says ---- */

static void get_wake(const struct dtc_edge_lister *lister, const struct dtc_edge_source *source,
		     struct dtc_edge_item *item)
{
	const DtcHistory *h = get_history(lister, source->node);
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = dtc_history_get_wake(h, source->next, &wake_place);
	const struct dtc_interval *before =
		dtc_history_find_interval_before(h, wake->target, wake->waking_ns, &item->wait);

	if (before && dtc_state_is_wait(before->state) && before->ref == source->next) {
		item->has_wait = true;
		dtc_edges_find(lister->edges, source->node, before, &item->edge);
		dtc_edges_add_uncertainty(lister->edges, &item->edge);
		return;
	}
	/* it came to a thread that still ran: as if to a wait without length */
	const struct dtc_interval none = { .begin_ns = wake->waking_ns,
					   .end_ns = wake->waking_ns,
					   .thread = wake->target,
					   .call = DTC_NONE,
					   .ref = source->next,
					   .cpu = wake->cpu,
					   .state = DTC_STATE_WAIT };
	dtc_edges_find(lister->edges, source->node, &none, &item->edge);
	dtc_edges_add_uncertainty(lister->edges, &item->edge);
	item->edge.begin_ns = DTC_TIME_NONE;
}

static void set_from(struct dtc_edge *edge, uint32_t thread, int64_t at_ns)
{
	edge->from_thread = thread;
	edge->from_ns = at_ns;
}

static void get_work(const struct dtc_edge_lister *lister, const struct dtc_edge_source *source,
		     struct dtc_edge_item *item)
{
	const struct dtc_work *work = dtc_history_get_work(get_history(lister, source->node), source->next);

	item->edge.work = work;
	item->edge.begin_ns = work->queued.waking_ns;
	if (work->queued.waker == DTC_WAKER_UNKNOWN)
		return;
	item->edge.link = work->queued.is_inferred ? DTC_LINK_INFERRED : DTC_LINK_EXACT;
	if (work->queued.waker == DTC_WAKER_THREAD)
		set_from(&item->edge, work->queued.thread, work->queued.waking_ns);
}

static void get_bytes(const struct dtc_edge_lister *lister, const struct dtc_edge_source *source,
		      struct dtc_edge_item *item)
{
	const DtcHistory *h = get_history(lister, source->node);
	struct dtc_call write_place;
	const struct dtc_call *write = dtc_history_get_call(h, source->bytes.write, &write_place);
	struct dtc_call read_place;
	const struct dtc_call *read = dtc_history_get_call(h, source->bytes.read, &read_place);

	item->bytes = source->bytes;
	item->edge.begin_ns = read->begin_ns;
	item->edge.end_ns = read->end_ns;
	item->edge.link = source->bytes.link;
	set_from(&item->edge, write->thread, MIN(write->end_ns, read->end_ns));
}

static void get_entry(const struct dtc_edge_lister *lister, const struct dtc_edge_source *source,
		      struct dtc_edge_item *item)
{
	const DtcClocks *clocks = dtc_links_get_clocks(lister->links);
	const struct dtc_guest_span *stay = get_stay(lister, source, source->next);
	DtcClusterTime at = dtc_clocks_to_cluster(clocks, source->vcpu.host, (DtcNodeTime){ stay->entry_ns });

	item->entry = (struct dtc_guest_entry){ source->vcpu, source->place, stay };
	if (source->next)
		item->edge.begin_ns = to_guest_ns(lister, source, get_stay(lister, source, source->next - 1)->left_ns);
	item->edge.link = source->vcpu.is_verified ? DTC_LINK_EXACT : DTC_LINK_INFERRED;
	item->edge.from_node = source->vcpu.host;
	item->edge.uncertainty_ns = dtc_clocks_get_uncertainty_ns(clocks, source->vcpu.host, source->node, at);
	set_from(&item->edge, source->vcpu.thread, stay->entry_ns);
}

static void get_served(const struct dtc_edge_lister *lister, const struct dtc_edge_source *source,
		       struct dtc_edge_item *item)
{
	const struct dtc_served *served = &source->spans[source->next];
	const struct dtc_edge_server server = { served->request, source->node, source->place };
	bool is_followed = g_hash_table_contains(lister->followed, &server) ||
			   dtc_serving_only_inherits(lister->serving, source->node, source->place);

	item->served = served;
	item->edge.begin_ns = served->begin_ns;
	item->edge.link =
		served->leads || served->other != DTC_NO_REQUEST || is_followed ? DTC_LINK_INFERRED : DTC_LINK_EXACT;
}

void dtc_edge_source_get(const struct dtc_edge_lister *lister, const struct dtc_edge_source *source,
			 struct dtc_edge_item *ret_item)
{
	uint32_t thread;
	int64_t at_ns = look(lister, source, &thread);

	*ret_item = (struct dtc_edge_item){
		.kind = source->kind,
		.edge = { .kind = source->kind == DTC_ITEM_WORK ? DTC_EDGE_WORK : DTC_EDGE_UNKNOWN,
			  .link = DTC_LINK_UNKNOWN,
			  .node = source->node,
			  .thread = thread,
			  .begin_ns = DTC_TIME_NONE,
			  .end_ns = at_ns,
			  .from_node = source->node,
			  .from_thread = DTC_NONE,
			  .from_ns = DTC_TIME_NONE,
			  .wake = DTC_NONE,
			  .block_request = DTC_NONE },
	};
	switch (source->kind) {
	case DTC_ITEM_WAKE:
		get_wake(lister, source, ret_item);
		break;
	case DTC_ITEM_OPEN:
		ret_item->has_wait = true;
		ret_item->wait = source->tails[source->next];
		dtc_edges_find(lister->edges, source->node, &ret_item->wait, &ret_item->edge);
		dtc_edges_add_uncertainty(lister->edges, &ret_item->edge);
		if (ret_item->wait.ref != DTC_NONE)
			ret_item->kind = DTC_ITEM_WAKE;
		break;
	case DTC_ITEM_WORK:
		get_work(lister, source, ret_item);
		break;
	case DTC_ITEM_LOCAL_BYTES:
		get_bytes(lister, source, ret_item);
		break;
	case DTC_ITEM_VCPU:
		get_entry(lister, source, ret_item);
		break;
	case DTC_ITEM_SERVED:
		get_served(lister, source, ret_item);
		break;
	case DTC_ITEM_KINDS:
		break;
	}
}
