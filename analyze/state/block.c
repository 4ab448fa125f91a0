/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests to block devices: when they were made, issued and completed, and by whom. */
#include "analyze/state/machine_state.h"

/*
 * A flush is issued with sector 0 and no length and completes with sector 2^64-1; flushes of a device do not overtake
 * each other, so one key per device will do. A request with FUA or a flush behind it completes twice (its data, then
 * the whole with length 0; block/blk-flush.c): the last completion counts.
 */
static uint64_t make_key(const struct dtc_event *event)
{
	uint64_t device = (uint64_t)event->v[DTC_BLOCK_DEVICE], sector = (uint64_t)event->v[DTC_BLOCK_SECTOR];
	if (sector == UINT64_MAX || (sector == 0 && event->v[DTC_BLOCK_SECTORS] == 0))
		sector = UINT64_MAX;
	return (device * 0x9e3779b97f4a7c15u) ^ sector;
}

void dtc_machine_apply_block(DtcMachine *m, const struct dtc_event *event)
{
	DtcHistory *h = m->history;
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	uint64_t key = make_key(event);
	guint found = GPOINTER_TO_UINT(g_hash_table_lookup(m->blocks, &key));
	struct dtc_block_request *request = found ? DTC_AT(h->blocks, struct dtc_block_request, found - 1) : NULL;
	if (event->kind == DTC_EVENT_BLOCK_COMPLETE) {
		if (!request)
			return; /* issued before the trace */
		request->complete_ns = m->now_ns;
		for (guint i = cpu->depth; i-- > 0;)
			if (cpu->stack[i].kind <= DTC_CONTEXT_VECTOR) {
				cpu->stack[i].block = found - 1;
				break;
			}
		return;
	}
	if (request && request->complete_ns == DTC_TIME_NONE) {
		if (event->kind == DTC_EVENT_BLOCK_ISSUE)
			request->issue_ns = m->now_ns;
		return;
	}
	struct dtc_block_request fresh = {
		.insert_ns = m->now_ns,
		.issue_ns = event->kind == DTC_EVENT_BLOCK_ISSUE ? m->now_ns : DTC_TIME_NONE,
		.complete_ns = DTC_TIME_NONE,
		.sector = event->v[DTC_BLOCK_SECTOR],
		.device = (uint32_t)event->v[DTC_BLOCK_DEVICE],
		.sectors = event->v[DTC_BLOCK_SECTORS] == DTC_ABSENT ? 0 : (uint32_t)event->v[DTC_BLOCK_SECTORS],
		.thread = cpu->current,
		.flags = event->v[DTC_BLOCK_FLAGS] == DTC_ABSENT ? 0 : (uint32_t)event->v[DTC_BLOCK_FLAGS],
	};
	dtc_table_append(h->blocks, &fresh);
	uint64_t *kept = g_new(uint64_t, 1);
	*kept = key;
	g_hash_table_replace(m->blocks, kept, GUINT_TO_POINTER(h->blocks->len));
}
