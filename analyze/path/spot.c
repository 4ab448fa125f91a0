/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/path/traverse_build.h"

static bool is_same_arrival(const struct dtc_arrival *a, const struct dtc_arrival *b)
{
	return a->node == b->node && a->time_ns == b->time_ns && a->packet == b->packet && a->flow == b->flow &&
	       a->seq == b->seq && a->file == b->file && a->exact == b->exact && a->is_local == b->is_local &&
	       a->write == b->write;
}

static bool is_same_pause(const struct dtc_pause *a, const struct dtc_pause *b)
{
	return a->poll == b->poll && a->begin_ns == b->begin_ns && a->is_due == b->is_due;
}

static bool is_same_stand(const struct dtc_stand *a, const struct dtc_stand *b)
{
	if (a->node != b->node || a->thread != b->thread || a->at_ns != b->at_ns || a->purpose != b->purpose ||
	    a->owner != b->owner || a->work != b->work)
		return false;
	if (a->purpose == DTC_PURPOSE_OWN)
		return true;
	return is_same_arrival(&a->arrival, &b->arrival) && is_same_pause(&a->pause, &b->pause) &&
	       (a->purpose != DTC_PURPOSE_GIVEN || (a->giver == b->giver && a->given_ns == b->given_ns));
}

static bool is_same_scope(const struct dtc_scope *a, const struct dtc_scope *b)
{
	return a->node == b->node && a->pid == b->pid && is_same_arrival(&a->asked.arrival, &b->asked.arrival) &&
	       a->asked.thread == b->asked.thread && a->asked.call == b->asked.call &&
	       a->asked.read_ns == b->asked.read_ns && a->is_inside == b->is_inside && a->frames == b->frames;
}

bool dtc_spot_is_same(const struct dtc_spot *a, const struct dtc_spot *b)
{
	if (a->tc != b->tc || a->scope_count != b->scope_count || !is_same_stand(&a->stand, &b->stand))
		return false;
	for (guint i = 0; i < a->scope_count; i++)
		if (!is_same_scope(&a->scopes[i], &b->scopes[i]))
			return false;
	return true;
}

/* Only where what else a traversal remembers says nothing: the end of its span cuts a wait, threads entered just now.
 */
static bool make_spot(const struct dtc_traverse *t, struct dtc_spot *ret_spot)
{
	if (t->frames->len || t->tc == t->of->end.ns || t->entered_ns == t->tc)
		return false;
	ret_spot->tc = t->tc;
	ret_spot->stand = t->stand;
	ret_spot->scope_count = 0;
	for (guint i = 0; i < t->scopes->len; i++) {
		const struct dtc_scope *scope = &g_array_index(t->scopes, struct dtc_scope, i);
		if (scope->question_cluster_ns > t->tc) /* it was reached */
			continue;
		if (ret_spot->scope_count == DTC_SPOT_SCOPES)
			return false;
		ret_spot->scopes[ret_spot->scope_count++] = *scope;
	}
	return true;
}

bool dtc_traverse_pass(struct dtc_traverse *t)
{
	struct dtc_spot spot;

	return !make_spot(t, &spot) || t->visitor->pass(t->data, &spot, &t->pass_ns);
}

void dtc_traverse_go_on(struct dtc_traverse *t, const struct dtc_spot *spot)
{
	t->tc = spot->tc;
	t->stand = spot->stand;
	g_array_append_vals(t->scopes, spot->scopes, spot->scope_count);
}
