/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who writes to whom through pipes and socket pairs, as edge/local_bytes.h pairs their calls. Named fifos and unix
 * sockets that connected by path are not known by their ends: the trace does not tell which sockets belong together.
 */
#include "analyze/edge/local_bytes.h"
#include "analyze/profile/usage_build.h"

struct pass {
	struct dtc_usage_build *build;
	const DtcHistory *history;
	guint node;
};

/* A message counts for each writer that a read's bytes come from. */
static void add_pairs(const struct pass *pass, struct dtc_local_bytes_walk *walk, enum dtc_usage_channel channel)
{
	const guint *process_of = pass->build->thread_process[pass->node];
	struct dtc_local_bytes pair;
	uint32_t last_read = DTC_NONE;
	guint last_writer = G_MAXUINT;

	while (dtc_local_bytes_next(walk, &pair)) {
		struct dtc_call read_place;
		const struct dtc_call *read = dtc_history_get_call(pass->history, pair.read, &read_place);
		guint reader = process_of[read->thread];
		guint writer = process_of[dtc_history_copy_call(pass->history, pair.write).thread];
		if (reader == writer || reader == G_MAXUINT || writer == G_MAXUINT ||
		    !dtc_usage_is_counted(pass->build, pass->node, read->end_ns))
			continue;
		bool is_message = pair.read != last_read || writer != last_writer;
		struct dtc_usage_edge *edge = dtc_usage_get_edge(pass->build, writer, NULL, reader, channel);
		edge->bytes += pair.bytes;
		edge->messages += is_message;
		edge->exact_count += is_message && pair.link == DTC_LINK_EXACT;
		last_read = pair.read;
		last_writer = writer;
	}
}

static enum dtc_usage_channel get_channel(const struct dtc_file *file)
{
	return file->kind != DTC_FILE_SOCKET	   ? DTC_USAGE_PIPE
	       : file->pairing != DTC_PAIRING_NONE ? DTC_USAGE_UNIX
						   : DTC_USAGE_SOCKETPAIR;
}

static gint compare_calls(gconstpointer a, gconstpointer b, gpointer data)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t x_ns = dtc_history_get_call_begin_ns(data, x), y_ns = dtc_history_get_call_begin_ns(data, y);

	if (x_ns != y_ns)
		return x_ns < y_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void add_named_pipe(gpointer name, gpointer value, gpointer data)
{
	const struct pass *pass = data;
	GArray *calls = value;
	struct dtc_local_bytes_walk walk;

	(void)name;
	g_array_sort_with_data(calls, compare_calls, (gpointer)pass->history);
	dtc_local_bytes_begin_named(&walk, pass->history, (const uint32_t *)(void *)calls->data, calls->len);
	add_pairs(pass, &walk, DTC_USAGE_PIPE);
}

static void collect(const struct pass *pass, uint32_t file, GHashTable *named)
{
	gpointer name = GUINT_TO_POINTER(dtc_history_get_file(pass->history, file)->name);
	GArray *calls = g_hash_table_lookup(named, name);
	uint32_t count;
	const uint32_t *of_file = dtc_history_get_file_calls(pass->history, file, &count);

	if (!calls) {
		calls = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		g_hash_table_insert(named, name, calls);
	}
	g_array_append_vals(calls, of_file, count);
}

void dtc_usage_add_pipes(struct dtc_usage_build *build)
{
	for (guint node = 0; node < build->usage->node_count; node++) {
		if (!build->usage->nodes[node].has_history)
			continue;
		struct pass pass = { build, dtc_links_get_history(build->links, node), node };
		g_autoptr(GHashTable) named =
			g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, (GDestroyNotify)g_array_unref);
		for (uint32_t i = 0; i < dtc_history_get_file_count(pass.history); i++) {
			const struct dtc_file *file = dtc_history_get_file(pass.history, i);
			struct dtc_local_bytes_walk walk;
			if (dtc_local_bytes_is_named(pass.history, i))
				collect(&pass, i, named);
			else if (file->kind != DTC_FILE_EVENT && dtc_local_bytes_begin(&walk, pass.history, i))
				add_pairs(&pass, &walk, get_channel(file));
		}
		g_hash_table_foreach(named, add_named_pipe, &pass);
	}
}
