/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where another request begins. A request may wait for what another one holds, or lie still until a thread is done with
 * that one; what the other one did is followed then. Its begin is where this ends: that its client asked at that time,
 * and whatever that one had waited for before, is no reason for anybody. The thread that it asked waited for work, and
 * what the request waited for then lies in the memory of its process.
 *
 * Behind a broker a request may lie between two connections, and what the broker had read last when it sent was another
 * one's: no thread waits there. What is not known goes down to the last question that led to the request's answer.
 */
#include "analyze/path/traverse_build.h"

/* The request, plus 1, that is asked about, and for which the traversal looks at others; 0: not known. */
static guint find_asked_about(const struct dtc_traverse *t)
{
	guint owner = t->of->owner;
	for (guint i = 0; i < t->frames->len && !owner; i++)
		owner = g_array_index(t->frames, struct dtc_frame, i).stand.owner;
	return owner;
}

/* The question, of those that are not reached, that was asked last; NULL: none. */
static const struct dtc_scope *find_last_question(const struct dtc_traverse *t)
{
	const struct dtc_scope *last = NULL;
	for (guint i = 0; i < t->scopes->len; i++) {
		const struct dtc_scope *scope = &g_array_index(t->scopes, struct dtc_scope, i);
		if (scope->question_cluster_ns < t->tc &&
		    (!last || scope->question_cluster_ns > last->question_cluster_ns))
			last = scope;
	}
	return last;
}

/* What is not known comes from the stand's thread, down to a time of its node. */
static void explain_not_known(struct dtc_traverse *t, int64_t begin_cluster_ns)
{
	struct dtc_evidence why = dtc_evidence_of(DTC_REASON_INSIDE);
	why.node = t->stand.node;
	t->link = DTC_LINK_UNKNOWN;
	dtc_traverse_explain(t, t->stand.node, t->stand.thread, t->stand.at_ns, begin_cluster_ns, DTC_CAUSE_UNKNOWN,
			     why, NULL);
}

/* No wait is explained: the traversal goes to who read the last question, or, if there is none, ends. */
static void go_to_question(struct dtc_traverse *t)
{
	const struct dtc_scope *scope = find_last_question(t);
	guint node = scope ? scope->node : t->of->node;
	t->stand = (struct dtc_stand){ .node = node,
				       .thread = scope ? scope->asked.thread : t->of->thread,
				       .at_ns = dtc_clocks_to_node(t->clocks, node, (DtcClusterTime){ t->tc }).ns,
				       .pause = DTC_PAUSE_NONE };
	if (!scope) {
		explain_not_known(t, t->of->begin.ns);
		return;
	}
	t->stand.purpose = DTC_PURPOSE_ARRIVAL;
	t->stand.arrival = scope->asked.arrival;
	explain_not_known(t, dtc_clocks_to_cluster_ns(t->clocks, node, scope->asked.read_ns));
	t->stand.at_ns = MIN(t->stand.at_ns, scope->asked.read_ns);
}

bool dtc_traverse_end_at_begin(struct dtc_traverse *t, const struct dtc_sender *sender)
{
	const DtcServing *serving = t->of->serving;
	guint owner = find_asked_about(t);
	if (!serving || !owner || sender->thread == DTC_NONE || sender->call == DTC_NONE)
		return false;
	const struct dtc_owned *owned = dtc_serving_find_owned(serving, sender->node, sender->call, 0);
	if (!owned || owned->request == owner - 1 ||
	    !dtc_serving_is_client(serving, owned->request, sender->node, sender->thread))
		return false;
	/* a worker that writes its result to a server asks without an id (etcd) */
	if (!t->frames->len && !dtc_serving_has_id(serving, owned->request))
		return false;
	if (t->frames->len) {
		t->stand = g_array_index(t->frames, struct dtc_frame, t->frames->len - 1).stand;
		explain_not_known(t, dtc_traverse_get_bound(t));
	} else {
		go_to_question(t);
	}
	return true;
}
