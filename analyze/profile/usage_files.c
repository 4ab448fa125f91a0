/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each process did with each file or connection, and how long it was blocked in that. */
#include "analyze/edge/arrival.h"
#include "analyze/exchange/endpoint.h"
#include "analyze/exchange/label.h"
#include "analyze/profile/usage_build.h"

#include <dtrace-chain/hash.h>

#include <string.h>

struct pass {
	struct dtc_usage_build *build;
	const DtcHistory *history;
	guint node;
	GHashTable *labels;    /* struct dtc_label -> id + 1 */
	uint32_t *file_labels; /* by file: id + 1, 0: not yet asked */
	GHashTable *rows;      /* (process, label id) -> row + 1 */
	GHashTable *counted;   /* (row, file) that were counted */
	GHashTable *used;      /* (process, file), also where it does not count */
};

static gint64 make_key(uint32_t high, uint32_t low)
{
	return (gint64)((uint64_t)high << 32 | low);
}

static struct dtc_usage_file *get_row(struct pass *pass, guint process, uint32_t file)
{
	GArray *files = pass->build->usage->files;

	if (!pass->file_labels[file]) {
		const struct dtc_label label = dtc_label_get(pass->history, file);
		gpointer id = g_hash_table_lookup(pass->labels, &label);
		if (!id) {
			id = GUINT_TO_POINTER(g_hash_table_size(pass->labels) + 1);
			g_hash_table_insert(pass->labels, g_memdup2(&label, sizeof(label)), id);
		}
		pass->file_labels[file] = GPOINTER_TO_UINT(id);
	}
	gint64 key = make_key(process, pass->file_labels[file]);
	guint row = GPOINTER_TO_UINT(g_hash_table_lookup(pass->rows, &key));
	if (!row) {
		const struct dtc_label label = dtc_label_get(pass->history, file);
		struct dtc_usage_file fresh = { .process = process,
						.label = label,
						.text = dtc_label_get_text(pass->history, &label) };
		g_array_append_val(files, fresh);
		row = files->len;
		g_hash_table_insert(pass->rows, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(row));
	}
	struct dtc_usage_file *found = &g_array_index(files, struct dtc_usage_file, row - 1);
	key = make_key(row, file);
	if (!g_hash_table_contains(pass->counted, &key)) {
		g_hash_table_add(pass->counted, g_memdup2(&key, sizeof(key)));
		found->file_count++;
	}
	return found;
}

/* Whether the process ever called for the file. */
static bool has_used(const struct pass *pass, guint process, uint32_t file)
{
	gint64 key = make_key(process, file);

	return g_hash_table_contains(pass->used, &key);
}

static void add_network(struct pass *pass, guint index, const struct dtc_call *call, uint64_t bytes)
{
	struct dtc_usage_process *process = dtc_usage_get_process(pass->build, index);

	if (dtc_history_get_file(pass->history, call->file)->flow_out == DTC_NONE ||
	    dtc_endpoint_is_local(pass->history, call->file))
		return;
	if (call->kind == DTC_CALL_READ)
		process->network_received_bytes += bytes;
	else
		process->network_sent_bytes += bytes;
	process->network[dtc_usage_find_interval(pass->build, pass->node, call->end_ns)] += bytes;
}

static void add_call(struct pass *pass, guint process, const struct dtc_call *call)
{
	int64_t at_ns = call->end_ns == DTC_TIME_NONE ? call->begin_ns : call->end_ns;

	if (call->file == DTC_NONE)
		return;
	if (!has_used(pass, process, call->file)) {
		gint64 key = make_key(process, call->file);
		g_hash_table_add(pass->used, g_memdup2(&key, sizeof(key)));
	}
	if (!dtc_usage_is_counted(pass->build, pass->node, at_ns))
		return;
	struct dtc_usage_file *row = get_row(pass, process, call->file);

	row->calls++;
	if (call->result == DTC_ABSENT || call->result <= 0 || call->end_ns == DTC_TIME_NONE ||
	    (call->kind != DTC_CALL_READ && call->kind != DTC_CALL_WRITE))
		return;
	if (call->kind == DTC_CALL_READ)
		row->read_bytes += dtc_call_get_bytes(call);
	else
		row->written_bytes += dtc_call_get_bytes(call);
	add_network(pass, process, call, dtc_call_get_bytes(call));
}

/*
 * The file that a wait was for: the call's, and in poll the one whose packet ended it, if it is one of the process: a
 * packet wakes also who listens in on the interface.
 */
static uint32_t find_file(const struct pass *pass, guint process, const struct dtc_interval *wait)
{
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(pass->history, wait->call, &call_place);
	struct dtc_arrival arrival;

	if (call->kind == DTC_CALL_POLL && wait->ref != DTC_NONE &&
	    dtc_history_copy_wake(pass->history, wait->ref).waker == DTC_WAKER_PACKET &&
	    dtc_arrival_find_for_wait(pass->build->links, pass->node, wait, &arrival) && arrival.file != DTC_NONE &&
	    has_used(pass, process, arrival.file))
		return arrival.file;
	return call->file;
}

static void add_calls(struct pass *pass, uint32_t index)
{
	const struct dtc_thread *thread = dtc_history_get_thread(pass->history, index);
	guint process = pass->build->thread_process[pass->node][index];
	struct dtc_call place;

	for (uint32_t i = 0; process != G_MAXUINT && i < thread->call_count; i++)
		add_call(pass, process, dtc_history_get_call(pass->history, thread->call_first + i, &place));
}

static void add_waits(struct pass *pass, uint32_t index)
{
	const DtcHistory *h = pass->history;
	const struct dtc_usage_span *span = &pass->build->spans[pass->node];
	guint process = pass->build->thread_process[pass->node][index];

	if (process == G_MAXUINT)
		return;
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_get_interval_after(h, index, INT64_MIN, &place);
	for (; v; v = dtc_history_get_next_interval(h, &place)) {
		int64_t begin_ns = MAX(v->begin_ns, span->begin.ns), end_ns = MIN(v->end_ns, span->end.ns);
		if (!dtc_state_is_wait(v->state) || v->call == DTC_NONE || begin_ns >= end_ns)
			continue;
		uint32_t file = find_file(pass, process, v);
		if (file == DTC_NONE)
			continue;
		struct dtc_usage_file *row = get_row(pass, process, file);
		row->waits++;
		row->blocked_ns += end_ns - begin_ns;
	}
}

void dtc_usage_add_files(struct dtc_usage_build *build)
{
	for (guint node = 0; node < build->usage->node_count; node++) {
		if (!build->usage->nodes[node].has_history)
			continue;
		const DtcHistory *h = dtc_links_get_history(build->links, node);
		struct pass pass = {
			.build = build,
			.history = h,
			.node = node,
			.labels = g_hash_table_new_full(dtc_label_hash, dtc_label_equal, g_free, NULL),
			.file_labels = g_new0(uint32_t, dtc_history_get_file_count(h) + 1),
			.rows = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL),
			.counted = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL),
			.used = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL),
		};
		for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++)
			add_calls(&pass, i);
		for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++)
			add_waits(&pass, i);
		g_hash_table_unref(pass.labels);
		g_hash_table_unref(pass.rows);
		g_hash_table_unref(pass.counted);
		g_hash_table_unref(pass.used);
		g_free(pass.file_labels);
	}
}
