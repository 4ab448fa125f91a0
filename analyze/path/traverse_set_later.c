/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A timer ended what a request lay still for, and was set by a turn that came later than the request's own: its loop
 * had polled meanwhile for a later timer, or for none. So the request had no timer then, and waited for what that turn
 * was about: another client published what it waits for.
 */
#include "analyze/path/traverse_build.h"

/* Calls back from the poll that expired. */
#define PAUSE_CALLS 65536
/* A poll that did not wait is shorter. */
#define AT_ONCE_NS 100000

/* Whether a poll tells that a timer was not set then: it would have waited longer. False, too, if it does not tell. */
static bool is_longer(const struct dtc_call *poll, int64_t due_ns)
{
	int64_t other_ns;
	if (poll->argument != DTC_TIMEOUT_UNKNOWN && (int64_t)poll->argument < 0)
		return true;
	return dtc_traverse_find_due_ns(poll, &other_ns) && other_ns > due_ns + DTC_TIMER_GRAIN_NS;
}

/* For which request, plus 1, all was that a thread read between two polls; 0: for several, or none that is known. */
static guint find_turn_owner(const struct dtc_traverse *t, const DtcHistory *h, uint32_t from, uint32_t to)
{
	guint owner = 0;
	for (uint32_t i = from + 1; i < to; i++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		if (call->kind != DTC_CALL_READ || call->result <= 0 || call->file == DTC_NONE ||
		    dtc_history_get_file(h, call->file)->kind != DTC_FILE_SOCKET)
			continue;
		const struct dtc_served *span =
			dtc_serving_find_span(t->of->serving, t->stand.node, call->thread, call->begin_ns);
		if (!span || span->leads || span->other != DTC_NO_REQUEST || (owner && span->request + 1 != owner))
			return 0;
		owner = span->request + 1;
	}
	return owner;
}

/* A timer as it was set. */
struct set_timer {
	uint32_t poll;	 /* the first that was for it */
	uint32_t before; /* the last one that waited before that: the turn between the two has set it */
};

/* False if it may have been set before the pause began. */
static bool find_set(const struct dtc_traverse *t, const DtcHistory *h, uint32_t expired, struct set_timer *ret_set)
{
	struct dtc_call place;
	int64_t due_ns, other_ns;
	const struct dtc_call *call = dtc_history_get_call(h, expired, &place);
	uint32_t first = dtc_history_get_thread(h, call->thread)->call_first;
	*ret_set = (struct set_timer){ expired, DTC_NONE };
	if (call->kind != DTC_CALL_POLL || call->result != 0 || !dtc_traverse_find_due_ns(call, &due_ns))
		return false;
	for (uint32_t i = expired; i-- > first;) {
		call = dtc_history_get_call(h, i, &place);
		if (call->begin_ns < t->stand.pause.begin_ns || call->end_ns == DTC_TIME_NONE)
			return false;
		if (expired - i == PAUSE_CALLS) {
			dtc_links_note_limit(t->links, DTC_LIMIT_TURN);
			return false;
		}
		if (call->kind != DTC_CALL_POLL || !call->argument)
			continue;
		if (call->argument == DTC_TIMEOUT_UNKNOWN)
			return false;
		if (dtc_traverse_find_due_ns(call, &other_ns) && ABS(other_ns - due_ns) <= DTC_TIMER_GRAIN_NS) {
			*ret_set = (struct set_timer){ i, DTC_NONE };
			continue;
		}
		if (ret_set->before == DTC_NONE && call->end_ns - call->begin_ns >= AT_ONCE_NS)
			ret_set->before = i;
		if (ret_set->before != DTC_NONE && is_longer(call, due_ns))
			return true;
	}
	return false;
}

bool dtc_traverse_follow_set_later(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	struct dtc_visit visit = {
		.kind = DTC_VISIT_WAIT, .cause = DTC_CAUSE_TIMER, .wait = wait, .edge = edge, .by = DTC_NONE
	};
	struct set_timer set;
	if (edge->kind != DTC_EDGE_TIMER || !t->of->serving || !find_set(t, h, wait->call, &set))
		return false;
	int64_t set_ns = dtc_history_get_call_begin_ns(h, set.poll);
	guint own = t->stand.owner, setter = find_turn_owner(t, h, set.before, set.poll);
	dtc_traverse_tell(t, &visit, set_ns);
	t->link = DTC_LINK_INFERRED;
	if (setter)
		t->stand.owner = setter;
	dtc_traverse_explain_interval(t, wait, set_ns, DTC_CAUSE_TIMER);
	t->stand.owner = own;
	t->stand.pause.poll = set.before;
	return true;
}
