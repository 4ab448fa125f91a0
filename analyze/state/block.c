/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests to block devices: when they were made, issued and completed, and by whom. */
#include "analyze/state/machine_state.h"

/*
 * A flush is issued with sector 0 and no length and completes with sector 2^64-1; flushes of a device do not overtake
 * each other, so one key per device will do. A request with FUA or a flush behind it completes twice (its data, then
 * the whole with length 0; block/blk-flush.c): the last completion counts.
 */
static uint64_t make_key(const struct dtc_event *event, int64_t sector)
{
	uint64_t device = (uint64_t)event->v[DTC_BLOCK_DEVICE];
	if (sector == -1 || (sector == 0 && event->v[DTC_BLOCK_SECTORS] == 0))
		sector = -1;
	return (device * 0x9e3779b97f4a7c15u) ^ (uint64_t)sector;
}

static void remember(DtcMachine *m, uint64_t key, guint found)
{
	uint64_t *kept = g_new(uint64_t, 1);
	*kept = key;
	g_hash_table_replace(m->blocks, kept, GUINT_TO_POINTER(found));
}

/* A bio was put before a request, which from now on begins, and will be issued and complete, with the bio's sector. */
static void apply_front(DtcMachine *m, const struct dtc_event *event)
{
	int64_t sector = event->v[DTC_BLOCK_SECTOR], sectors = event->v[DTC_BLOCK_SECTORS];
	if (sector == DTC_ABSENT || sectors <= 0 || sector > INT64_MAX - sectors)
		return;
	uint64_t before = make_key(event, sector + sectors);
	guint found = GPOINTER_TO_UINT(g_hash_table_lookup(m->blocks, &before));
	if (!found)
		return;
	struct dtc_block_request *request = DTC_AT(m->history->blocks, struct dtc_block_request, found - 1);
	if (request->complete_ns != DTC_TIME_NONE || request->issue_ns != DTC_TIME_NONE)
		return; /* of a sector that is long done */
	request->sector = sector;
	request->sectors += (uint32_t)sectors;
	g_hash_table_remove(m->blocks, &before);
	remember(m, make_key(event, sector), found);
}

void dtc_machine_apply_block(DtcMachine *m, const struct dtc_event *event)
{
	DtcHistory *h = m->history;
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	uint64_t key = make_key(event, event->v[DTC_BLOCK_SECTOR]);
	if (event->kind == DTC_EVENT_BLOCK_FRONT) {
		apply_front(m, event);
		return;
	}
	if (event->kind == DTC_EVENT_BLOCK_MERGE) { /* it completes as a part of the other one */
		g_hash_table_remove(m->blocks, &key);
		return;
	}
	guint found = GPOINTER_TO_UINT(g_hash_table_lookup(m->blocks, &key));
	struct dtc_block_request *request = found ? DTC_AT(h->blocks, struct dtc_block_request, found - 1) : NULL;
	if (event->kind == DTC_EVENT_BLOCK_COMPLETE) {
		if (!request)
			return; /* issued before the trace */
		request->complete_ns = m->now_ns;
		for (guint i = cpu->depth; i-- > 0;)
			if (cpu->stack[i].kind <= DTC_CONTEXT_VECTOR) {
				cpu->stack[i].block = found - 1;
				return;
			}
		cpu->completed = found - 1;
		return;
	}
	if (request && request->complete_ns == DTC_TIME_NONE) {
		if (event->kind == DTC_EVENT_BLOCK_ISSUE) { /* again after a requeue: the last time counts */
			request->issue_ns = m->now_ns;
			/* what was merged behind it meanwhile */
			if (event->v[DTC_BLOCK_SECTORS] > (int64_t)request->sectors)
				request->sectors = (uint32_t)event->v[DTC_BLOCK_SECTORS];
		}
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
	remember(m, key, h->blocks->len);
}
