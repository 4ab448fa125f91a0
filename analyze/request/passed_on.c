/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/passed_on.h"

/* A message that was received. */
struct received {
	const DtcLinks *links;
	const DtcHistory *history;
	const DtcShingles *shingles;
	guint node;
	uint32_t thread;
	int32_t pid;   /* negative: not known */
	int64_t at_ns; /* when its first byte was read */
	uint32_t flow; /* of the shingles */
	uint32_t seq;
	uint32_t bytes;
};

static bool is_of_message(const struct received *of, const struct dtc_shingle *shingle)
{
	return shingle->flow == of->flow && shingle->seq - of->seq < of->bytes;
}

/* The call of the process that read, or wrote, a shingle; DTC_NONE: it did not. */
static uint32_t find_call(const struct received *of, const struct dtc_shingle *shingle, bool written)
{
	uint32_t flow = dtc_links_find_shingle_flow(of->links, of->node, shingle);
	uint32_t call = flow == DTC_NONE ? DTC_NONE
			: written	 ? dtc_links_find_write(of->links, of->node, flow, shingle->seq, of->at_ns)
				  : dtc_links_find_read_of_byte(of->links, of->node, flow, shingle->seq, of->at_ns);
	if (call == DTC_NONE)
		return DTC_NONE;
	uint32_t thread = dtc_history_copy_call(of->history, call).thread;
	bool is_own =
		thread == of->thread || (of->pid >= 0 && dtc_history_get_thread(of->history, thread)->pid == of->pid);
	return is_own ? call : DTC_NONE;
}

/* A write has a shingle that the process had read: which of the reads have it, the message itself as DTC_NONE. */
static void count_sources(const struct received *of, const struct dtc_shingle *written, int64_t written_ns,
			  GHashTable *counts)
{
	g_autoptr(GHashTable) sources = g_hash_table_new(g_direct_hash, g_direct_equal); /* each once */
	guint count = dtc_shingles_count_alike(of->shingles, written->hash);
	for (guint i = 0; i < count; i++) {
		const struct dtc_shingle *alike = dtc_shingles_get_alike(of->shingles, written->hash, i);
		uint32_t read = DTC_NONE;
		if (alike->flow == written->flow)
			continue;
		if (!is_of_message(of, alike)) {
			read = find_call(of, alike, false);
			if (read == DTC_NONE || dtc_history_get_call_begin_ns(of->history, read) >= written_ns)
				continue;
		}
		g_hash_table_add(sources, GUINT_TO_POINTER(read));
	}
	GHashTableIter iter;
	gpointer read;
	g_hash_table_iter_init(&iter, sources);
	while (g_hash_table_iter_next(&iter, &read, NULL))
		g_hash_table_insert(counts, read,
				    GUINT_TO_POINTER(GPOINTER_TO_UINT(g_hash_table_lookup(counts, read)) + 1));
}

/* Whether of all that the process had read a write has most in common with the message. */
static bool passes_on(const struct received *of, uint32_t write)
{
	g_autoptr(GHashTable) counts = g_hash_table_new(g_direct_hash, g_direct_equal);
	int64_t written_ns = dtc_history_get_call_begin_ns(of->history, write);
	guint count;
	const struct dtc_shingle *written = dtc_links_find_shingles(of->links, of->node, write, &count);
	for (guint i = 0; i < count; i++)
		count_sources(of, &written[i], written_ns, counts);
	guint own = GPOINTER_TO_UINT(g_hash_table_lookup(counts, GUINT_TO_POINTER(DTC_NONE)));
	GHashTableIter iter;
	gpointer read, shared;
	g_hash_table_iter_init(&iter, counts);
	while (g_hash_table_iter_next(&iter, &read, &shared))
		if (GPOINTER_TO_UINT(read) != DTC_NONE && GPOINTER_TO_UINT(shared) >= own)
			return false;
	return own > 0;
}

/* Of what the message has, who wrote it elsewhere. */
static void find_written(const struct received *of, const struct dtc_shingle *shingle, GHashTable *looked_at,
			 GArray *writes)
{
	guint count = dtc_shingles_count_alike(of->shingles, shingle->hash);
	for (guint i = 0; i < count; i++) {
		const struct dtc_shingle *alike = dtc_shingles_get_alike(of->shingles, shingle->hash, i);
		uint32_t write = alike->flow == of->flow ? DTC_NONE : find_call(of, alike, true);
		if (write != DTC_NONE && dtc_history_get_call_begin_ns(of->history, write) > of->at_ns &&
		    g_hash_table_add(looked_at, GUINT_TO_POINTER(write)) && passes_on(of, write))
			g_array_append_val(writes, write);
	}
}

void dtc_passed_on_find(const DtcLinks *links, guint node, uint32_t read, uint32_t seq, uint32_t bytes, GArray *writes)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	const DtcShingles *shingles = dtc_links_get_shingles(links, node);
	if (!shingles)
		return;
	const struct dtc_call call = dtc_history_copy_call(h, read);
	uint32_t flow = dtc_links_find_flow_of_shingles(links, node, dtc_history_get_file(h, call.file)->flow_in);
	if (flow == DTC_NONE)
		return;
	const struct received of = { .links = links,
				     .history = h,
				     .shingles = shingles,
				     .node = node,
				     .thread = call.thread,
				     .pid = dtc_history_get_thread(h, call.thread)->pid,
				     .at_ns = call.begin_ns,
				     .flow = flow,
				     .seq = seq,
				     .bytes = bytes };
	g_autoptr(GHashTable) looked_at = g_hash_table_new(g_direct_hash, g_direct_equal);
	guint count;
	const struct dtc_shingle *list = dtc_shingles_find(shingles, flow, seq, bytes, &count);
	for (guint i = 0; i < count; i++)
		find_written(&of, &list[i], looked_at, writes);
}
