/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/serving_build.h"

/* So often a mark may be said to be another one's: then its writer does not know. */
#define CORRECTIONS_MAX 3

/* What was read for one request was not: nor is there a hop that it made, or a question that waits for an answer. */
static void forget_question(DtcServing *serving, guint node, const struct mark *mark)
{
	const struct dtc_call read = dtc_history_copy_call(dtc_links_get_history(serving->links, node), mark->call);
	const struct end server = { node, read.file, mark->request };
	gpointer index = g_hash_table_lookup(serving->ends, &server);

	dtc_unanswered_remove(serving->unanswered, node, mark->call, mark->request);
	if (!index || index == CAPTURED)
		return;
	struct dtc_followed_hop *hop =
		&g_array_index(serving->hops, struct dtc_followed_hop, GPOINTER_TO_UINT(index) - 1);
	const struct end client = { hop->client_node, hop->client_file, hop->request };
	if (hop->server_node != node || hop->server_file != read.file || hop->server_begin_ns != read.end_ns)
		return;
	hop->request = DTC_NO_REQUEST;
	g_hash_table_remove(serving->ends, &server);
	g_hash_table_remove(serving->ends, &client);
}

bool dtc_serving_correct(DtcServing *serving, guint node, struct worker *worker, const struct mark *mark)
{
	struct mark *known = NULL;

	for (guint i = 0; i < worker->marks->len && !known; i++) {
		struct mark *other = &g_array_index(worker->marks, struct mark, i);
		if (other->call == mark->call && other->stream == mark->stream && other->upto == mark->upto)
			known = other;
	}
	if (!known || known->from == DTC_NONE || known->from != mark->from || known->from_node != mark->from_node ||
	    known->corrected == CORRECTIONS_MAX || (known->request == mark->request && !mark->by_bytes))
		return false;
	guint corrected = known->corrected + 1;
	if (known->role == ROLE_QUESTION)
		forget_question(serving, node, known);
	*known = *mark;
	known->corrected = corrected;
	serving->correction_count++;
	return true;
}
