/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where another request begins. A request may wait for what another one holds, or lie still until a thread is done with
 * that one; what the other one did is followed then. Its begin is where this ends: that its client asked at that time,
 * and whatever that one had waited for before, is no reason for anybody. The thread that it asked waited for work, and
 * what the request waited for then lies in the memory of its process.
 */
#include "analyze/path/traverse_build.h"

/* The request, plus 1, that is asked about, and for which the traversal looks at others; 0: not known. */
static guint find_asked_about(const struct dtc_traverse *t)
{
	guint owner = 0;
	for (guint i = 0; i < t->frames->len && !owner; i++)
		owner = g_array_index(t->frames, struct dtc_frame, i).stand.owner;
	return owner;
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
	t->stand = g_array_index(t->frames, struct dtc_frame, t->frames->len - 1).stand;
	t->link = DTC_LINK_UNKNOWN;
	struct dtc_evidence why = dtc_evidence_of(DTC_REASON_INSIDE);
	why.node = t->stand.node;
	dtc_traverse_explain(t, t->stand.node, t->stand.thread, t->stand.at_ns, dtc_traverse_get_bound(t),
			     DTC_CAUSE_UNKNOWN, why, NULL);
	return true;
}
