/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/correlated.h"

/* A call on a connection, whose like is looked for in what went the other way there. */
struct sought {
	const DtcLinks *links;
	guint node;
	struct dtc_call call;
	bool is_question;   /* its like was read later; else written before */
	uint32_t flow;	    /* of the kernel trace, of the like */
	GHashTable *counts; /* call -> shingles that it has in common */
};

static void count_like(const struct sought *sought, uint32_t seq)
{
	const DtcHistory *h = dtc_links_get_history(sought->links, sought->node);
	int64_t near_ns = sought->call.begin_ns;
	uint32_t like = sought->is_question
				? dtc_links_find_read_of_byte(sought->links, sought->node, sought->flow, seq, near_ns)
				: dtc_links_find_write(sought->links, sought->node, sought->flow, seq, near_ns);
	if (like == DTC_NONE)
		return;
	const struct dtc_call call = dtc_history_copy_call(h, like);
	bool is_in_time = sought->is_question ? call.end_ns > near_ns : call.begin_ns < near_ns;
	if (call.file != sought->call.file || !is_in_time)
		return;
	guint count = GPOINTER_TO_UINT(g_hash_table_lookup(sought->counts, GUINT_TO_POINTER(like)));
	g_hash_table_insert(sought->counts, GUINT_TO_POINTER(like), GUINT_TO_POINTER(count + 1));
}

/* The one with the highest count; DTC_NONE: several have it. */
static uint32_t get_most(GHashTable *counts)
{
	GHashTableIter iter;
	gpointer call, count;
	uint32_t best = DTC_NONE;
	guint most = 0;

	g_hash_table_iter_init(&iter, counts);
	while (g_hash_table_iter_next(&iter, &call, &count)) {
		if (GPOINTER_TO_UINT(count) < most)
			continue;
		best = GPOINTER_TO_UINT(count) > most ? GPOINTER_TO_UINT(call) : DTC_NONE;
		most = GPOINTER_TO_UINT(count);
	}
	return best;
}

static uint32_t find_like(const DtcLinks *links, guint node, uint32_t id, bool is_question)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	const DtcShingles *shingles = dtc_links_get_shingles(links, node);
	g_autoptr(GHashTable) counts = g_hash_table_new(g_direct_hash, g_direct_equal);
	struct sought sought = { .links = links,
				 .node = node,
				 .call = dtc_history_copy_call(h, id),
				 .is_question = is_question,
				 .counts = counts };
	guint count;
	const struct dtc_shingle *own = dtc_links_find_shingles(links, node, id, &count);

	if (!count)
		return DTC_NONE;
	const struct dtc_file *file = dtc_history_get_file(h, sought.call.file);
	sought.flow = is_question ? file->flow_in : file->flow_out;
	uint32_t flow = dtc_links_find_flow_of_shingles(links, node, sought.flow);
	for (guint i = 0; flow != DTC_NONE && i < count; i++) {
		guint alike_count = dtc_shingles_count_alike(shingles, own[i].hash);
		for (guint k = 0; k < alike_count; k++) {
			const struct dtc_shingle *alike = dtc_shingles_get_alike(shingles, own[i].hash, k);
			if (alike->flow == flow)
				count_like(&sought, alike->seq);
		}
	}
	return get_most(counts);
}

uint32_t dtc_correlated_find_answer(const DtcLinks *links, guint node, uint32_t question)
{
	uint32_t answer = dtc_links_get_shingles(links, node) ? find_like(links, node, question, true) : DTC_NONE;

	return answer != DTC_NONE && find_like(links, node, answer, false) == question ? answer : DTC_NONE;
}
