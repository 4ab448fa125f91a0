/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/correlated.h"

#define ROW_CALLS 32 /* pieces of messages that are looked at */

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

/* A thread did nothing but move bytes on a connection from one call to a later one: pieces of a message, or of some. */
static bool is_in_row(const DtcHistory *h, uint32_t first, uint32_t last)
{
	const struct dtc_call of = dtc_history_copy_call(h, first);
	if (last - first > ROW_CALLS)
		return false;
	for (uint32_t i = first + 1; i <= last; i++) {
		const struct dtc_call call = dtc_history_copy_call(h, i);
		if (call.thread != of.thread || call.kind != of.kind || call.file != of.file || call.result <= 0)
			return false;
	}
	return true;
}

/* The one with the highest count, or the first of pieces in a row that all have it; DTC_NONE: several have it. */
static uint32_t get_most(const DtcHistory *h, GHashTable *counts)
{
	GHashTableIter iter;
	gpointer call, count;
	uint32_t first = DTC_NONE, last = DTC_NONE;
	guint most = 0;

	g_hash_table_iter_init(&iter, counts);
	while (g_hash_table_iter_next(&iter, &call, &count)) {
		uint32_t id = GPOINTER_TO_UINT(call);
		if (GPOINTER_TO_UINT(count) < most)
			continue;
		bool is_more = GPOINTER_TO_UINT(count) > most;
		first = is_more ? id : MIN(first, id);
		last = is_more ? id : MAX(last, id);
		most = GPOINTER_TO_UINT(count);
	}
	return first != DTC_NONE && is_in_row(h, first, last) ? first : DTC_NONE;
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
	return get_most(h, counts);
}

/* The nearest piece of a row that has something in common with an answer; step: 1 or -1. DTC_NONE: there is none. */
static uint32_t find_telling(const DtcLinks *links, guint node, uint32_t from, int step)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	for (uint32_t i = from; i - from <= ROW_CALLS || from - i <= ROW_CALLS; i += (uint32_t)step) {
		if (step > 0 ? i == dtc_history_get_call_count(h) || !is_in_row(h, from, i) : !is_in_row(h, i, from))
			return DTC_NONE;
		if (find_like(links, node, i, true) != DTC_NONE)
			return i;
		if (i == 0 && step < 0)
			break;
	}
	return DTC_NONE;
}

/* The first call of the row that a call is in. */
static uint32_t find_row(const DtcHistory *h, uint32_t id)
{
	uint32_t first = id;
	while (first && is_in_row(h, first - 1, id))
		first--;
	return first;
}

/*
 * The piece that tells of which message another piece of a row is: itself, or one that it stands before, or behind. So
 * many stand before it as at the row's begin, which is a message's (AMQP's method, header and body by pika).
 */
static uint32_t find_teller(const DtcLinks *links, guint node, uint32_t piece)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	uint32_t next = find_telling(links, node, piece, 1);
	if (next == piece)
		return piece;
	uint32_t first = find_row(h, piece), before = find_telling(links, node, piece, -1);
	uint32_t lead = find_telling(links, node, first, 1);
	return next != DTC_NONE && (before == DTC_NONE || next - piece <= lead - first) ? next : before;
}

uint32_t dtc_correlated_find_answer(const DtcLinks *links, guint node, uint32_t question)
{
	if (!dtc_links_get_shingles(links, node))
		return DTC_NONE;
	const DtcHistory *h = dtc_links_get_history(links, node);
	uint32_t teller = find_teller(links, node, question);
	uint32_t answer = teller == DTC_NONE ? DTC_NONE : find_like(links, node, teller, true);
	uint32_t asked = answer == DTC_NONE ? DTC_NONE : find_like(links, node, answer, false);
	return asked != DTC_NONE && is_in_row(h, MIN(asked, teller), MAX(asked, teller)) ? answer : DTC_NONE;
}
