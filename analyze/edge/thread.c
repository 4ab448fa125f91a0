/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A wakeup by a thread, and the first one by the thread that made it. What the waker did before is why the wait lasted;
 * a walk goes on with it at the wakeup, never before the begin of the wait, so that it ends.
 */
#include "analyze/edge/broken_off.h"
#include "analyze/edge/edges_build.h"
#include "analyze/edge/in_vain.h"
#include "analyze/edge/join.h"

/* Who stopped or thawed a thread is not who ended what it waited for. False if nobody did. */
static bool set_unfinished(const DtcHistory *h, const struct dtc_interval *wait, struct dtc_edge *edge)
{
	uint32_t by = DTC_NONE;
	int64_t since_ns;
	if (!dtc_broken_off_find(h, wait, &by) && !dtc_broken_off_find_thaw(h, wait, &since_ns))
		return false;
	edge->link = DTC_LINK_INFERRED;
	edge->from_thread = by;
	if (by != DTC_NONE)
		return true;
	edge->kind = DTC_EDGE_UNKNOWN;
	edge->from_ns = DTC_TIME_NONE;
	return true;
}

void dtc_edge_complete_thread(const DtcLinks *links, const struct dtc_interval *wait, const struct dtc_wake *wake,
			      struct dtc_edge *edge)
{
	edge->from_thread = wake->thread;
	edge->from_ns = edge->end_ns;
	bool is_limited = false;
	const DtcHistory *h = dtc_links_get_history(links, edge->node);
	if (set_unfinished(h, wait, edge))
		return;
	edge->in_vain_ns = MAX(dtc_in_vain_get_ns(h, wait, &is_limited), dtc_join_get_ns(h, wait));
	if (is_limited)
		dtc_links_note_limit(links, DTC_LIMIT_TURN);
}
