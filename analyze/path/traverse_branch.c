/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A request whose parts are done side by side, and whose results come one after the other: while the first of them was
 * waited for, the next one was under way already. What came last is not explained by what its maker did since the one
 * before came, but by all that it did since the request called for it (a group of tasks behind a broker).
 */
#include "analyze/path/traverse_build.h"

/* Steps that are looked ahead. */
#define STEPS_MAX 256
/* So far, too, whoever asks: what a request waited for does not depend on when another one began that waits for it. */
#define AHEAD_NS G_GINT64_CONSTANT(60000000000)

struct dtc_ahead {
	guint owner;	  /* the request, plus 1, whose thread is looked for */
	int64_t bound_ns; /* cluster time: at work for it by then */
	guint steps;
	guint frames; /* so many there were at the last step */
	bool is_found;
};

/* The stand is back at the begin of a wait, which was one for whatever comes: what was before that is no part of it. */
static bool was_idle(const struct dtc_traverse *t)
{
	const struct dtc_stand *stand = &t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	struct dtc_call place;
	uint32_t call = stand->thread == DTC_NONE ? DTC_NONE : dtc_history_find_call(h, stand->thread, stand->at_ns);
	if (call == DTC_NONE)
		return true;
	enum dtc_call_kind kind = dtc_history_get_call(h, call, &place)->kind;
	return kind == DTC_CALL_POLL || kind == DTC_CALL_READ || kind == DTC_CALL_PEEK || kind == DTC_CALL_ACCEPT;
}

bool dtc_traverse_ends_ahead(const struct dtc_traverse *t)
{
	struct dtc_ahead *ahead = t->ahead;
	const struct dtc_stand *stand = &t->stand;
	if (++ahead->steps > STEPS_MAX || stand->thread == DTC_NONE || (t->frames->len < ahead->frames && was_idle(t)))
		return true;
	ahead->frames = t->frames->len;
	const struct dtc_served *span =
		dtc_serving_find_span(t->of->serving, stand->node, stand->thread, stand->at_ns - 1);
	if (!span || span->leads)
		return false;
	ahead->is_found = span->request + 1 == ahead->owner && t->tc <= ahead->bound_ns;
	return ahead->is_found || span->request + 1 != ahead->owner;
}

static void pass_over(gpointer data G_GNUC_UNUSED, DtcClusterTime begin G_GNUC_UNUSED, DtcClusterTime end G_GNUC_UNUSED)
{
}

bool dtc_traverse_follow_branch(struct dtc_traverse *t, const struct dtc_arrival *arrival, int64_t low_ns)
{
	static const struct dtc_visitor visitor = { .check = pass_over, .no_doubts = true };
	struct dtc_ahead ahead = { .owner = dtc_traverse_find_for_whom(t),
				   .bound_ns = dtc_clocks_to_cluster_ns(t->clocks, t->stand.node, low_ns) };
	if (!ahead.owner || !t->of->serving || t->ahead || arrival->time_ns <= low_ns)
		return false;
	struct dtc_traversal of = *t->of;
	of.begin.ns = t->tc - AHEAD_NS;
	struct dtc_traverse to = *t;
	to.of = &of;
	to.visitor = &visitor;
	to.data = NULL;
	to.frames = g_array_new(FALSE, FALSE, sizeof(struct dtc_frame));
	to.scopes = g_array_copy(t->scopes);
	to.entered = g_hash_table_new(NULL, NULL);
	to.pass_ns = INT64_MIN;
	to.ahead = &ahead;
	to.stand.purpose = DTC_PURPOSE_ARRIVAL;
	to.stand.arrival = *arrival;
	to.stand.pause = DTC_PAUSE_NONE;
	dtc_traverse_walk(&to);
	g_array_unref(to.frames);
	g_array_unref(to.scopes);
	g_hash_table_unref(to.entered);
	if (ahead.is_found)
		t->doubt_cluster_ns = MIN(t->doubt_cluster_ns, to.tc);
	return ahead.is_found;
}
