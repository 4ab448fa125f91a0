/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Work on a question that goes from thread to thread of a server: a loop gives a piece of it to a worker of its pool,
 * takes the result, gives the next piece to another one. Each worker sleeps until it is woken for a piece; that sleep
 * is nobody's, and whoever woke it did so in a turn in which it had the question's bytes, or the piece before.
 */
#include "analyze/path/traverse_build.h"

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
