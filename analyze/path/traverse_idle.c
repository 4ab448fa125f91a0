/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread that serves several requests had done its part of this one, was at others, and lay idle until another thread
 * of its process called it for this one again: what it did meanwhile was for them, and whoever called it may have been
 * at this one for all that time (a timer's thread, a pool's).
 */
#include "analyze/path/traverse_build.h"

#include <dtrace-chain/bisect.h>

/*
 * When a thread left its work for a request, which ends where that for another one begins: in between it lay idle, if
 * it waited there.
 */
static int64_t find_left_ns(const DtcHistory *h, uint32_t thread, const struct dtc_served *span)
{
	struct dtc_interval place;
	const struct dtc_interval *wait = dtc_traverse_find_wait(h, thread, span->end_ns, span->begin_ns, &place);
	return wait ? MAX(wait->begin_ns, span->begin_ns) : span->end_ns;
}

/*
 * A thread that serves nobody by calls of its own worked for another request when it went into a wait, and for this one
 * not before it was woken: since it was done with an earlier piece of this one, or since who waits for it does.
 */
static int64_t find_idle_ns(const struct dtc_traverse *t, const struct dtc_interval *wait)
{
	const struct dtc_stand *stand = &t->stand;
	guint owner = dtc_traverse_find_for_whom(t), count;
	int64_t still_ns = dtc_clocks_to_node_ns(t->clocks, stand->node, dtc_traverse_get_bound(t));
	const struct dtc_served *spans = dtc_serving_get(t->of->serving, stand->node, stand->thread, &count);
	guint i = DTC_BISECT(k, 0, count, spans[k].begin_ns < wait->begin_ns);
	bool has_other = false;
	while (owner && i-- > 0 && spans[i].end_ns > still_ns) {
		if (spans[i].request == owner - 1) {
			still_ns = spans[i].end_ns;
			break;
		}
		has_other = true;
	}
	return has_other ? MIN(still_ns, wait->begin_ns) : wait->begin_ns;
}

/*
 * Whether the thread took what the stand follows only behind a wait: it lay in its socket until then, and the thread
 * had no part of it yet. A worker of PHP-FPM that has answered waits until its front closes that connection, and then
 * accepts the next one, which has been there for long: what the front did meanwhile is not why.
 */
static bool is_taken_later(const struct dtc_traverse *t, const struct dtc_interval *wait)
{
	const struct dtc_arrival *arrival = &t->stand.arrival;
	uint32_t read = arrival->is_local	      ? dtc_arrival_find_local_read(t->links, arrival)
			: arrival->packet == DTC_NONE ? DTC_NONE
						      : dtc_links_find_read(t->links, arrival->node, arrival->packet);
	if (read == DTC_NONE || arrival->node != t->stand.node)
		return false;
	const DtcHistory *h = dtc_links_get_history(t->links, arrival->node);
	return dtc_history_get_call_begin_ns(h, read) >= wait->end_ns;
}

int64_t dtc_traverse_find_still_ns(const struct dtc_traverse *t, const struct dtc_interval *wait, int64_t low_ns)
{
	const struct dtc_stand *stand = &t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	if (low_ns == wait->begin_ns && t->of->serving && stand->purpose == DTC_PURPOSE_OWN &&
	    dtc_serving_only_inherits(t->of->serving, stand->node, stand->thread))
		return find_idle_ns(t, wait);
	if (stand->purpose != DTC_PURPOSE_ARRIVAL || !stand->owner || stand->pause.poll != DTC_NONE ||
	    low_ns != wait->begin_ns)
		return low_ns;
	guint count;
	const struct dtc_served *spans = dtc_serving_get(t->of->serving, stand->node, stand->thread, &count);
	int64_t begin_ns = wait->call == DTC_NONE ? wait->begin_ns : dtc_history_get_call_begin_ns(h, wait->call);
	guint i = DTC_BISECT(k, 0, count, spans[k].end_ns < begin_ns);
	if (i < count && spans[i].begin_ns < begin_ns && !spans[i].leads) /* in the middle of its work */
		return low_ns;
	if (is_taken_later(t, wait))
		return low_ns;
	int64_t still_ns = stand->arrival.time_ns;
	bool has_other = false;
	while (i-- > 0 && spans[i].end_ns > stand->arrival.time_ns) {
		if (spans[i].request == stand->owner - 1) {
			still_ns = find_left_ns(h, stand->thread, &spans[i]);
			break;
		}
		has_other |= !spans[i].leads;
	}
	return has_other ? MIN(low_ns, still_ns) : low_ns;
}
