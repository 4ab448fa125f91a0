/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why a process was made. A master that makes one for each connection does not take the connection: the child does.
 * It wakes up for the first of several that come at once, and makes a child for each. So what a child accepts first, if
 * that had come before its birth, is what it was made for, and who came then is why, whatever the master was woken
 * for (dovecot: two logins connect within 40 us, the second wakes nobody, and its 44 ms were the first one's).
 */
#include "analyze/edge/opening.h"
#include "analyze/path/lineage.h"
#include "analyze/path/traverse_build.h"

/* Calls of a child that are looked at for the first accept: what it loads and reads comes before. */
#define CALLS_MAX 4096

/* False if it accepted nothing that had come before. */
static bool find_made_for(const struct dtc_traverse *t, const DtcHistory *h, uint32_t child,
			  struct dtc_arrival *ret_arrival)
{
	const struct dtc_thread *thread = dtc_history_get_thread(h, child);
	uint32_t end = thread->call_first + MIN(thread->call_count, CALLS_MAX);
	for (uint32_t i = thread->call_first; i < end; i++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		if (call->kind == DTC_CALL_ACCEPT && call->result >= 0)
			return dtc_opening_find_for_accept(t->links, t->stand.node, i, ret_arrival) &&
			       ret_arrival->time_ns < thread->begin_ns;
	}
	return false;
}

bool dtc_traverse_go_to_parent(struct dtc_traverse *t, const DtcHistory *h)
{
	struct dtc_stand *stand = &t->stand;
	uint32_t child = stand->thread, parent = dtc_lineage_find_parent(h, child);
	struct dtc_arrival came;
	if (parent == DTC_NONE)
		return false;
	stand->at_ns = MIN(stand->at_ns, dtc_history_get_thread(h, child)->begin_ns);
	stand->thread = parent;
	if (find_made_for(t, h, child, &came) &&
	    (stand->purpose == DTC_PURPOSE_OWN || stand->arrival.time_ns < came.time_ns)) {
		stand->purpose = DTC_PURPOSE_ARRIVAL;
		stand->arrival = came;
		stand->pause = DTC_PAUSE_NONE;
	}
	return true;
}
