/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Work on a question that goes from thread to thread of a server: a loop gives a piece of it to a worker of its pool,
 * takes the result, gives the next piece to another one. Each worker sleeps until it is woken for a piece; that sleep
 * is nobody's, and whoever woke it did so in a turn in which it had the question's bytes, or the piece before.
 */
#include "analyze/path/lineage.h"
#include "analyze/path/traverse_build.h"

#include <dtrace-chain/bisect.h>

static const struct dtc_scope *find_scope_of(const struct dtc_traverse *t, const struct dtc_arrival *question)
{
	for (guint i = t->scopes->len; i-- > 0;) {
		const struct dtc_scope *scope = &g_array_index(t->scopes, struct dtc_scope, i);
		if (scope->node == t->stand.node && scope->asked.arrival.file == question->file &&
		    scope->asked.arrival.time_ns == question->time_ns)
			return scope;
	}
	return NULL;
}

bool dtc_traverse_follow_handover(struct dtc_traverse *t, const struct dtc_edge *edge)
{
	struct dtc_stand *stand = &t->stand;
	const struct dtc_scope *scope =
		stand->purpose == DTC_PURPOSE_ARRIVAL ? find_scope_of(t, &stand->arrival) : NULL;
	if (!scope || edge->kind != DTC_EDGE_THREAD || edge->from_thread == DTC_NONE ||
	    edge->from_thread == stand->thread || edge->from_ns <= scope->asked.read_ns)
		return false;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	if (dtc_history_get_thread(h, edge->from_thread)->pid != scope->pid)
		return false;
	struct dtc_given given;
	bool is_given = dtc_handoff_find_giver(t->links, stand->node, edge->from_thread, edge->from_ns, &scope->asked,
					       &given) &&
			given.is_for_question && given.time_ns < edge->from_ns;
	bool is_asked = edge->from_thread == scope->asked.thread &&
			dtc_handoff_is_same_turn(t->links, stand->node, scope->asked.call, edge->from_ns);
	if (!is_given && !is_asked)
		return false;
	stand->thread = edge->from_thread;
	stand->at_ns = edge->from_ns;
	if (is_given) {
		stand->purpose = DTC_PURPOSE_GIVEN;
		stand->giver = given.thread;
		stand->given_ns = given.time_ns;
	}
	return true;
}

/* Intervals of a thread that are looked at for what came in between. */
#define INTERVALS_MAX 1024
/* Wakes of a node that are looked at for those of a question's turn: a thread that was called may run for long. */
#define WAKES_MAX 4096

guint dtc_traverse_find_for_whom(const struct dtc_traverse *t)
{
	guint owner = t->stand.owner;
	for (guint i = t->frames->len; i-- > 0 && !owner;)
		owner = g_array_index(t->frames, struct dtc_frame, i).stand.owner;
	return owner;
}

bool dtc_traverse_was_at_another(const struct dtc_traverse *t, const struct dtc_stand *stand, guint owner,
				 int64_t begin_ns, int64_t end_ns)
{
	guint count;
	const struct dtc_served *spans = dtc_serving_get(t->of->serving, stand->node, stand->thread, &count);
	guint i = DTC_BISECT(k, 0, count, spans[k].end_ns <= begin_ns);
	for (; i < count && spans[i].begin_ns < end_ns; i++)
		if (!spans[i].leads && spans[i].request != owner - 1)
			return true;
	return false;
}

/* Whether others than a thread ended a wait; an interrupt that it bore is not it, where what that brought was polled
 * for. */
static bool is_called_by_other(const DtcHistory *h, const struct dtc_interval *wait, uint32_t by)
{
	struct dtc_wake wake_place;
	struct dtc_call place;
	const struct dtc_wake *wake = dtc_history_get_wake(h, wait->ref, &wake_place);
	return wake->thread != by || (wake->waker != DTC_WAKER_THREAD && wait->call != DTC_NONE &&
				      dtc_history_get_call(h, wait->call, &place)->kind == DTC_CALL_POLL);
}

bool dtc_traverse_let_lie(const struct dtc_traverse *t, const struct dtc_stand *stand, guint owner, uint32_t by,
			  int64_t begin_ns, int64_t end_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	int64_t own_ns = 0, at_ns = end_ns;
	bool is_called = dtc_traverse_was_at_another(t, stand, owner, begin_ns, end_ns);
	for (guint seen = 0; at_ns > begin_ns && 2 * own_ns < end_ns - begin_ns; seen++) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_find_interval_before(h, stand->thread, at_ns, &place);
		if (!v || seen == INTERVALS_MAX)
			return false;
		if (!dtc_state_is_wait(v->state) && !dtc_traverse_was_at_another(t, stand, owner, v->begin_ns, at_ns))
			own_ns += at_ns - MAX(v->begin_ns, begin_ns);
		if (dtc_state_is_wait(v->state) && v->ref != DTC_NONE)
			is_called |= is_called_by_other(h, v, by);
		at_ns = v->begin_ns;
	}
	return is_called && 2 * own_ns < end_ns - begin_ns;
}

/* When the turn of a question made a thread; DTC_TIME_NONE: it did not. */
static int64_t find_made_ns(const struct dtc_traverse *t, const struct dtc_asked *asked, uint32_t thread)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	int64_t begin_ns = dtc_history_get_thread(h, thread)->begin_ns;
	return begin_ns > asked->read_ns && dtc_lineage_find_parent(h, thread) == asked->thread &&
			       dtc_handoff_is_same_turn(t->links, t->stand.node, asked->call, begin_ns)
		       ? begin_ns
		       : DTC_TIME_NONE;
}

/*
 * When the turn of a question last called a thread, which it did before a time, or made it; DTC_TIME_NONE: it did
 * neither.
 */
static int64_t find_called_ns(const struct dtc_traverse *t, const struct dtc_asked *asked, uint32_t thread,
			      int64_t before_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	uint32_t count = dtc_history_get_wake_count(h);
	uint32_t first = DTC_BISECT(k, 0, count, dtc_history_get_waking_ns(h, k) <= asked->read_ns);
	int64_t called_ns = DTC_TIME_NONE;
	for (uint32_t i = first; i < count && i - first < WAKES_MAX; i++) {
		struct dtc_wake place;
		const struct dtc_wake *wake = dtc_history_get_wake(h, i, &place);
		if (wake->waking_ns > before_ns)
			break;
		if (wake->waker != DTC_WAKER_THREAD || wake->thread != asked->thread)
			continue;
		if (!dtc_handoff_is_same_turn(t->links, t->stand.node, asked->call, wake->waking_ns))
			break;
		if (wake->target == thread)
			called_ns = wake->waking_ns;
	}
	if (called_ns != DTC_TIME_NONE)
		return called_ns;
	return find_made_ns(t, asked, thread);
}

bool dtc_traverse_is_called_back(const struct dtc_traverse *t, const struct dtc_interval *wait,
				 const struct dtc_edge *edge)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	int32_t pid = dtc_history_get_thread(h, t->stand.thread)->pid;
	const struct dtc_scope *scope = dtc_traverse_find_scope(t, pid);
	struct dtc_call place;
	int64_t due_ns;
	if (!scope || edge->kind != DTC_EDGE_THREAD || edge->from_thread == DTC_NONE || wait->call == DTC_NONE ||
	    edge->from_node != t->stand.node || dtc_history_get_thread(h, edge->from_thread)->pid != pid ||
	    (dtc_traverse_find_due_ns(dtc_history_get_call(h, wait->call, &place), &due_ns) && due_ns <= wait->end_ns))
		return false;
	int64_t called_ns = find_called_ns(t, &scope->asked, edge->from_thread, edge->from_ns);
	const struct dtc_stand from = { .node = edge->from_node, .thread = edge->from_thread };
	return called_ns != DTC_TIME_NONE &&
	       !dtc_traverse_was_at_another(t, &from, t->stand.owner, called_ns, edge->from_ns);
}

bool dtc_traverse_follow_called(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge)
{
	const struct dtc_stand at = t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, at.node);
	int32_t pid = dtc_history_get_thread(h, at.thread)->pid;
	const struct dtc_scope *scope = t->of->serving ? dtc_traverse_find_scope(t, pid) : NULL;
	if (!scope || edge->kind != DTC_EDGE_THREAD || edge->from_thread == DTC_NONE || edge->from_node != at.node ||
	    edge->from_thread == at.thread || edge->from_thread == scope->asked.thread ||
	    wait->begin_ns <= scope->asked.read_ns || dtc_history_get_thread(h, edge->from_thread)->pid != pid)
		return false;
	const struct dtc_asked asked = scope->asked;
	guint owner = dtc_traverse_find_for_whom(t);
	if (!owner || dtc_serving_has_asked(t->of->serving, owner - 1, at.node, pid, asked.read_ns, edge->from_ns))
		return false;
	const struct dtc_stand from = { .node = at.node, .thread = edge->from_thread };
	int64_t called_ns = find_called_ns(t, &asked, from.thread, edge->from_ns);
	if (called_ns == DTC_TIME_NONE || called_ns >= wait->begin_ns ||
	    !dtc_traverse_let_lie(t, &at, owner, edge->from_thread, called_ns, wait->begin_ns) ||
	    dtc_traverse_was_at_another(t, &from, owner, called_ns, edge->from_ns))
		return false;
	if (t->frames->len > scope->frames)
		dtc_traverse_drop_frames(t, scope->frames);
	t->stand = (struct dtc_stand){ .node = at.node,
				       .thread = edge->from_thread,
				       .at_ns = edge->from_ns,
				       .purpose = DTC_PURPOSE_GIVEN,
				       .arrival = asked.arrival,
				       .giver = asked.thread,
				       .given_ns = called_ns,
				       .owner = owner,
				       .pause = DTC_PAUSE_NONE };
	t->doubt_cluster_ns =
		MIN(t->doubt_cluster_ns, dtc_clocks_to_cluster_ns(t->clocks, at.node, asked.arrival.time_ns));
	return true;
}
