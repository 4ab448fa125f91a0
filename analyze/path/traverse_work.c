/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Work items of the kernel's workers: where what a worker does came from. A thread queued it, or a disk request that
 * had completed; or a timer or another interrupt did: then the worker was idle, or at what others had asked of it, and
 * that is no reason for a wait here.
 */
#include "analyze/edge/cause.h"
#include "analyze/path/path_build.h"
#include "analyze/path/traverse_build.h"

#include <dtrace-chain/bisect.h>

bool dtc_traverse_was_held_back(const DtcHistory *h, const struct dtc_edge *edge, int64_t low_ns)
{
	const struct dtc_work *work = dtc_history_is_worker(h, edge->from_thread)
					      ? dtc_history_find_work(h, edge->from_thread, edge->from_ns)
					      : NULL;
	return work && work->queued.waker == DTC_WAKER_TIMER && work->queued.waking_ns > low_ns;
}

void dtc_traverse_go_to_queuer(struct dtc_traverse *t)
{
	const struct dtc_wake *queued = &t->stand.work->queued;
	struct dtc_visit visit = {
		.kind = DTC_VISIT_WORK, .cause = DTC_CAUSE_IPC, .by = queued->thread, .by_ns = queued->waking_ns
	};
	dtc_traverse_tell(t, &visit, dtc_history_get_begin_ns(dtc_links_get_history(t->links, t->stand.node)));
	t->stand.thread = t->stand.work->queued.thread;
	t->stand.work = NULL;
	t->stand.purpose = DTC_PURPOSE_OWN;
}

void dtc_traverse_go_to_request(struct dtc_traverse *t, const struct dtc_interval *wait)
{
	struct dtc_stand *stand = &t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	uint32_t index = stand->work->queued.ref;
	const struct dtc_block_request *request = dtc_history_get_block_request(h, index);
	bool has_maker = request->thread != DTC_NONE && dtc_history_get_thread(h, request->thread)->idle_cpu < 0;
	struct dtc_edge edge = { .kind = DTC_EDGE_UNKNOWN };
	if (wait)
		dtc_edges_find(t->edges, stand->node, wait, &edge);
	bool is_told = edge.kind == DTC_EDGE_DISK && edge.block_request == index;
	struct dtc_visit visit = { .kind = is_told ? DTC_VISIT_WAIT : DTC_VISIT_WORK,
				   .cause = DTC_CAUSE_DISK,
				   .wait = is_told ? wait : NULL,
				   .edge = is_told ? &edge : NULL,
				   .by = has_maker ? request->thread : DTC_NONE,
				   .by_ns = request->insert_ns };
	if (is_told || has_maker)
		dtc_traverse_tell(t, &visit, request->insert_ns);
	dtc_traverse_explain(t, stand->node, stand->thread, stand->at_ns,
			     dtc_clocks_to_cluster_ns(t->clocks, stand->node, request->insert_ns), DTC_CAUSE_DISK,
			     dtc_evidence_of_interval(stand->node, visit.wait), NULL);
	stand->at_ns = MIN(stand->at_ns, request->insert_ns);
	if (has_maker)
		stand->thread = request->thread;
	stand->work = NULL;
	stand->purpose = DTC_PURPOSE_OWN;
}

/* The worker made disk requests in it. */
static bool makes_requests(const DtcHistory *h, const struct dtc_work *work)
{
	uint32_t count = dtc_history_get_block_request_count(h);
	uint32_t i = DTC_BISECT(k, 0, count, dtc_history_get_block_request(h, k)->insert_ns < work->begin_ns);
	for (; i < count; i++) {
		const struct dtc_block_request *request = dtc_history_get_block_request(h, i);
		if (work->end_ns != DTC_TIME_NONE && request->insert_ns > work->end_ns)
			break;
		if (request->thread == work->queued.target)
			return true;
	}
	return false;
}

static bool is_interrupts(const struct dtc_work *work)
{
	return work->queued.waker == DTC_WAKER_TIMER || work->queued.waker == DTC_WAKER_IRQ ||
	       work->queued.waker == DTC_WAKER_SOFTIRQ;
}

/* The wait that is explained by what the stand's worker did, at the time that is reached; NULL: it is none of its node.
 */
static const struct dtc_interval *find_explained(const struct dtc_traverse *t, struct dtc_interval *place)
{
	if (!t->frames->len)
		return NULL;
	const struct dtc_frame *top = &g_array_index(t->frames, struct dtc_frame, t->frames->len - 1);
	if (top->has_way || top->vcpu_thread != DTC_NONE || top->stand.node != t->stand.node)
		return NULL;
	const struct dtc_interval *wait =
		dtc_history_find_interval_before(dtc_links_get_history(t->links, top->stand.node), top->stand.thread,
						 dtc_clocks_to_node_ns(t->clocks, top->stand.node, t->tc), place);
	return wait && dtc_state_is_wait(wait->state) ? wait : NULL;
}

const struct dtc_work *dtc_traverse_find_work(const struct dtc_traverse *t)
{
	const struct dtc_stand *stand = &t->stand;
	const struct dtc_work *work = dtc_edges_find_work(t->edges, stand->node, stand->thread, stand->at_ns);
	struct dtc_interval place;
	if (work || !t->frames->len)
		return work;
	work = dtc_history_find_work(dtc_links_get_history(t->links, stand->node), stand->thread, stand->at_ns);
	return work && is_interrupts(work) && find_explained(t, &place) ? work : NULL;
}

/*
 * An interrupt queued the work. Until then who waits for it waited for that: for a timer of the kernel, which held disk
 * requests back if the work made some.
 */
static void explain_waiter(struct dtc_traverse *t)
{
	const struct dtc_work *work = t->stand.work;
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	struct dtc_interval place;
	const struct dtc_interval *wait = find_explained(t, &place);
	const struct dtc_frame *top = &g_array_index(t->frames, struct dtc_frame, t->frames->len - 1);
	bool is_timer = work->queued.waker == DTC_WAKER_TIMER, is_disk = is_timer && makes_requests(h, work);
	t->stand.work = NULL;
	if (!wait) /* it ended while the walk was at the work */
		return;
	struct dtc_evidence why = dtc_evidence_of_interval(t->stand.node, wait);
	if (is_disk)
		why.reason = DTC_REASON_HELD_BACK;
	enum dtc_cause cause = !is_timer ? DTC_CAUSE_DEVICE : is_disk ? DTC_CAUSE_DISK : DTC_CAUSE_TIMER;
	if (is_disk && dtc_cause_of_interval(h, wait) == DTC_CAUSE_PAGE_FAULT)
		cause = DTC_CAUSE_PAGE_FAULT;
	t->link = DTC_LINK_INFERRED;
	dtc_traverse_explain(t, t->stand.node, top->stand.thread, wait->end_ns, dtc_traverse_get_bound(t), cause, why,
			     NULL);
}

void dtc_traverse_leave_work(struct dtc_traverse *t)
{
	const struct dtc_work *work = t->stand.work;
	if (work->queued.waker == DTC_WAKER_BLOCK)
		dtc_traverse_go_to_request(t, NULL);
	else if (is_interrupts(work))
		explain_waiter(t);
	else
		dtc_traverse_go_to_queuer(t);
}
