/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who writes to whom through pipes and socket pairs. Bytes come out in the order in which they went in, so each read is
 * shared out among the writes that filled it. Named fifos and unix sockets that connected by path are not known by
 * their ends: the trace does not tell which sockets belong together.
 */
#include "analyze/profile/usage_build.h"

#include <string.h>

/* A read or write on a channel. */
struct transfer {
	int64_t time_ns; /* bytes go in from a write's begin on, and are out when a read returns */
	uint32_t channel;
	guint process;
	uint64_t bytes;
	bool is_write;
	bool is_pair;	 /* of a socket pair */
	bool is_counted; /* lies in the span */
};

/* Bytes in the channel. */
struct chunk {
	guint process;
	uint64_t bytes;
};

struct pass {
	struct dtc_usage_build *build;
	const DtcHistory *history;
	guint node;
	GHashTable *named; /* string of "pipe:[inode]" -> channel + 1 */
	GArray *transfers;
};

/* The channel that a file's bytes go into or come out of: named by the file that they are written to. */
static uint32_t find_channel(struct pass *pass, uint32_t index, bool is_write, bool *ret_is_pair)
{
	const struct dtc_file *file = dtc_history_get_file(pass->history, index);

	*ret_is_pair = file->kind == DTC_FILE_SOCKET;
	if (file->kind == DTC_FILE_SOCKET)
		return file->peer == DTC_NONE ? DTC_NONE : is_write ? index : file->peer;
	if (file->kind != DTC_FILE_PIPE)
		return DTC_NONE;
	if (file->peer != DTC_NONE)
		return MIN(index, file->peer);
	/* open before the trace: both ends bear the inode's name */
	if (file->name == DTC_NONE || !g_str_has_prefix(dtc_history_get_string(pass->history, file->name), "pipe:["))
		return DTC_NONE;
	gpointer key = GUINT_TO_POINTER(file->name + 1);
	guint channel = GPOINTER_TO_UINT(g_hash_table_lookup(pass->named, key));
	if (!channel) {
		channel = index + 1;
		g_hash_table_insert(pass->named, key, GUINT_TO_POINTER(channel));
	}
	return channel - 1;
}

static void add_transfer(struct pass *pass, const struct dtc_call *call)
{
	bool is_write = call->kind == DTC_CALL_WRITE;
	struct transfer transfer = { .is_write = is_write };

	if ((!is_write && call->kind != DTC_CALL_READ) || call->file == DTC_NONE || call->result == DTC_ABSENT ||
	    call->result <= 0 || call->end_ns == DTC_TIME_NONE)
		return;
	transfer.process = pass->build->thread_process[pass->node][call->thread];
	transfer.channel = find_channel(pass, call->file, is_write, &transfer.is_pair);
	transfer.time_ns = is_write ? call->begin_ns : call->end_ns;
	transfer.bytes = (uint64_t)call->result;
	transfer.is_counted = dtc_usage_is_counted(pass->build, pass->node, transfer.time_ns);
	if (transfer.channel != DTC_NONE && transfer.process != G_MAXUINT)
		g_array_append_val(pass->transfers, transfer);
}

static gint compare_transfers(gconstpointer a, gconstpointer b)
{
	const struct transfer *x = a, *y = b;

	if (x->channel != y->channel)
		return x->channel < y->channel ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (int)y->is_write - (int)x->is_write; /* what is written may be read at once */
}

/* Takes a read's bytes from the channel; a message counts for each writer that it comes from. */
static void take(struct pass *pass, GQueue *chunks, const struct transfer *read)
{
	uint64_t left = read->bytes;
	guint last = G_MAXUINT;

	while (left > 0 && !g_queue_is_empty(chunks)) {
		struct chunk *chunk = g_queue_peek_head(chunks);
		uint64_t bytes = MIN(left, chunk->bytes);
		if (chunk->process != read->process && read->is_counted) {
			struct dtc_usage_edge *edge =
				dtc_usage_get_edge(pass->build, chunk->process, NULL, read->process,
						   read->is_pair ? DTC_USAGE_SOCKETPAIR : DTC_USAGE_PIPE);
			edge->bytes += bytes;
			edge->messages += chunk->process != last;
			edge->exact_count += chunk->process != last;
		}
		last = chunk->process;
		left -= bytes;
		chunk->bytes -= bytes;
		if (chunk->bytes == 0)
			g_free(g_queue_pop_head(chunks));
	}
	/* what was written before the trace has no writer here */
}

static void follow_transfers(struct pass *pass)
{
	GQueue chunks = G_QUEUE_INIT;
	uint32_t channel = DTC_NONE;

	g_array_sort(pass->transfers, compare_transfers);
	for (guint i = 0; i < pass->transfers->len; i++) {
		const struct transfer *transfer = &g_array_index(pass->transfers, struct transfer, i);
		if (transfer->channel != channel)
			g_queue_clear_full(&chunks, g_free);
		channel = transfer->channel;
		if (transfer->is_write) {
			struct chunk chunk = { transfer->process, transfer->bytes };
			g_queue_push_tail(&chunks, g_memdup2(&chunk, sizeof(chunk)));
		} else {
			take(pass, &chunks, transfer);
		}
	}
	g_queue_clear_full(&chunks, g_free);
}

void dtc_usage_add_pipes(struct dtc_usage_build *build)
{
	for (guint node = 0; node < build->usage->node_count; node++) {
		if (!build->usage->nodes[node].has_history)
			continue;
		struct pass pass = {
			.build = build,
			.history = dtc_links_get_history(build->links, node),
			.node = node,
			.named = g_hash_table_new(g_direct_hash, g_direct_equal),
			.transfers = g_array_new(FALSE, FALSE, sizeof(struct transfer)),
		};
		for (uint32_t i = 0; i < dtc_history_get_thread_count(pass.history); i++) {
			const struct dtc_thread *thread = dtc_history_get_thread(pass.history, i);
			for (uint32_t k = 0; k < thread->call_count; k++)
				add_transfer(&pass, dtc_history_get_call(pass.history, thread->call_first + k));
		}
		follow_transfers(&pass);
		g_hash_table_unref(pass.named);
		g_array_unref(pass.transfers);
	}
}
