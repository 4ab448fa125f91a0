/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/profile/blocked.h"
#include "analyze/edge/cause.h"
#include "analyze/edge/shares.h"
#include "analyze/exchange/label.h"
#include "analyze/path/lineage.h"

#include <string.h>

/* What makes waits the same row; zeroed before it is filled, because it is compared as bytes. */
struct key {
	uint32_t thread;
	uint32_t call_name; /* string, or DTC_NONE */
	uint64_t object;    /* what the call works on */
	uint64_t waker_ref;
	struct dtc_blocked_end ended;
	uint8_t object_kind;
	uint8_t waker;
	uint8_t cause;
	uint8_t signal;
	uint8_t spare[4];
};
_Static_assert(sizeof(struct key) == 72, "no padding in what is compared as bytes");

enum object_kind { OBJECT_NONE, OBJECT_PATH, OBJECT_FUTEX, OBJECT_FILE, OBJECT_FD };

/* What makes two wakes of a row the same context; compared as bytes. */
struct context_key {
	uint32_t row;
	uint32_t mode;
	uint32_t ref;
	uint32_t call_name;
	uint64_t object;
	uint64_t object_kind;
};
_Static_assert(sizeof(struct context_key) == 32, "no padding in what is compared as bytes");

struct DtcBlocked {
	GArray *rows; /* struct dtc_blocked_row */
};

/* One node's pass. */
struct pass {
	const DtcEdges *edges;
	const DtcLinks *links; /* of the edges */
	const DtcHistory *history;
	guint node;
	const struct dtc_blocked_options *options;
	GHashTable *rows;      /* struct key -> index + 1 in all */
	GHashTable *contexts;  /* struct context_key -> index + 1 in its row's contexts */
	GHashTable *labels;    /* struct dtc_label -> id */
	uint32_t *file_labels; /* by file: id, 0: not yet asked, UINT32_MAX: has none */
	GArray *all;
	struct dtc_shares shares; /* of the thread that is looked at */
	GArray *parts;
};

static guint hash_bytes(const uint8_t *bytes, gsize count)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (gsize i = 0; i < count; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash;
}

static guint hash_key(gconstpointer key)
{
	return hash_bytes(key, sizeof(struct key));
}

static guint hash_context(gconstpointer key)
{
	return hash_bytes(key, sizeof(struct context_key));
}

static gboolean equal_contexts(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct context_key)) == 0;
}

static gboolean equal_keys(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct key)) == 0;
}

/* 0: nothing is known of the file. */
static uint32_t label_file(struct pass *pass, uint32_t file)
{
	uint32_t *known = &pass->file_labels[file];
	if (*known)
		return *known == UINT32_MAX ? 0 : *known;
	const struct dtc_label label = dtc_label_get(pass->history, file);
	gpointer id = g_hash_table_lookup(pass->labels, &label);
	if (label.kind == DTC_LABEL_UNKNOWN) {
		*known = UINT32_MAX;
		return 0;
	}
	if (!id) {
		id = GUINT_TO_POINTER(g_hash_table_size(pass->labels) + 1);
		g_hash_table_insert(pass->labels, g_memdup2(&label, sizeof(label)), id);
	}
	*known = GPOINTER_TO_UINT(id);
	return *known;
}

/* What the call works on: a number that means something for that kind of object. */
static enum object_kind find_object(struct pass *pass, const struct dtc_call *call, uint64_t *ret_object)
{
	if (call->path != DTC_NONE && *dtc_history_get_string(pass->history, call->path)) {
		*ret_object = call->path;
		return OBJECT_PATH;
	}
	if (call->kind == DTC_CALL_FUTEX) {
		*ret_object = call->argument;
		return OBJECT_FUTEX;
	}
	if (call->file != DTC_NONE) {
		uint32_t label = label_file(pass, call->file);
		*ret_object = label ? label : (uint32_t)call->fd;
		return label ? OBJECT_FILE : OBJECT_FD;
	}
	*ret_object = 0;
	return OBJECT_NONE;
}

static void set_object(struct pass *pass, const struct dtc_call *call, struct key *key)
{
	key->call_name = call->name;
	key->object_kind = (uint8_t)find_object(pass, call, &key->object);
}

/* In what the wait was ended. */
static void add_context(struct pass *pass, guint index, const struct dtc_wake *wake)
{
	struct dtc_blocked_row *row = &g_array_index(pass->all, struct dtc_blocked_row, index);
	const struct dtc_wake_context context = dtc_wake_get_context(pass->history, wake);
	struct context_key key = { .row = index, .mode = context.mode, .ref = context.ref, .call_name = DTC_NONE };
	struct dtc_call place;

	if (context.mode == DTC_WAKE_IN_CALL ||
	    context.mode == DTC_WAKE_IN_RETURN) { /* what an interrupt came upon is another matter */
		const struct dtc_call *call = dtc_history_get_call(pass->history, context.call, &place);
		key.call_name = call->name;
		key.object_kind = find_object(pass, call, &key.object);
	}
	guint found = GPOINTER_TO_UINT(g_hash_table_lookup(pass->contexts, &key));
	if (!found) {
		const struct dtc_blocked_context made = { .first = context };
		g_array_append_val(row->contexts, made);
		found = row->contexts->len;
		g_hash_table_insert(pass->contexts, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(found));
	}
	g_array_index(row->contexts, struct dtc_blocked_context, found - 1).count++;
}

/* Of a packet that no traced node sent: the address it came from. */
static void set_host(const struct pass *pass, const struct dtc_edge *edge, struct dtc_blocked_end *ended)
{
	const DtcPackets *packets = dtc_history_get_packets(pass->history);
	uint32_t packet =
		edge->has_arrival ? edge->arrival.packet : dtc_history_copy_wake(pass->history, edge->wake).ref;
	uint32_t flow = packet != DTC_NONE  ? dtc_packets_get_flow_of(packets, packet)
			: edge->has_arrival ? edge->arrival.flow
					    : DTC_NONE;

	ended->by = flow == DTC_NONE ? DTC_BLOCKED_BY_SOMEBODY : DTC_BLOCKED_BY_HOST;
	if (flow != DTC_NONE)
		memcpy(ended->address, dtc_packets_get_flow(packets, flow)->source, sizeof(ended->address));
}

static void set_sender(const struct pass *pass, const struct dtc_edge *edge, struct dtc_blocked_end *ended)
{
	struct dtc_sender sender;

	if (!dtc_edge_find_origin(pass->links, edge, &sender) || (!sender.relayed && sender.thread == DTC_NONE)) {
		set_host(pass, edge, ended);
		return;
	}
	ended->by = sender.relayed ? DTC_BLOCKED_BY_KERNEL : DTC_BLOCKED_BY_PROCESS;
	ended->node = sender.node;
	if (!sender.relayed)
		ended->process = dtc_history_get_process(dtc_links_get_history(pass->links, sender.node), sender.thread,
							 sender.written_ns);
}

static void set_waker(struct pass *pass, const struct dtc_interval *wait, struct key *key)
{
	if (wait->ref == DTC_NONE) {
		key->ended.by = DTC_BLOCKED_OPEN;
		return;
	}
	key->ended.by = DTC_BLOCKED_BY_WAKE;
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = dtc_history_get_wake(pass->history, wait->ref, &wake_place);
	struct dtc_edge edge;

	key->waker = wake->waker;
	switch ((enum dtc_waker)wake->waker) {
	case DTC_WAKER_THREAD:
	case DTC_WAKER_NEW:
		key->waker_ref = wake->thread;
		key->signal = wake->signal;
		break;
	case DTC_WAKER_BLOCK:
		key->ended.by = DTC_BLOCKED_BY_DISK;
		key->ended.device = dtc_history_get_block_request(pass->history, wake->ref)->device;
		break;
	case DTC_WAKER_PACKET:
		dtc_edges_find(pass->edges, pass->node, wait, &edge);
		set_sender(pass, &edge, &key->ended);
		break;
	case DTC_WAKER_IRQ:
	case DTC_WAKER_SOFTIRQ:
		key->waker_ref = wake->ref;
		break;
	case DTC_WAKER_TIMER:
	case DTC_WAKER_IPI:
	case DTC_WAKER_UNKNOWN:
		break;
	}
}

static guint find_row(struct pass *pass, const struct dtc_interval *wait)
{
	struct dtc_call place;
	struct key key;

	memset(&key, 0, sizeof(key));
	key.thread = wait->thread;
	key.cause = (uint8_t)dtc_cause_of_interval(pass->history, wait);
	key.call_name = DTC_NONE;
	if (wait->call != DTC_NONE)
		set_object(pass, dtc_history_get_call(pass->history, wait->call, &place), &key);
	set_waker(pass, wait, &key);
	guint found = GPOINTER_TO_UINT(g_hash_table_lookup(pass->rows, &key));
	if (!found) {
		struct dtc_blocked_row row = {
			.node = pass->node,
			.thread = wait->thread,
			.cause = key.cause,
			.first = *wait,
			.ended = key.ended,
			.contexts = g_array_new(FALSE, FALSE, sizeof(struct dtc_blocked_context)),
		};
		g_array_append_val(pass->all, row);
		found = pass->all->len;
		g_hash_table_insert(pass->rows, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(found));
	}
	return found - 1;
}

static int64_t sum_away(struct pass *pass, const struct dtc_interval *wait, int64_t begin_ns, int64_t end_ns)
{
	struct dtc_interval within = *wait;
	int64_t away_ns = 0;

	if (!pass->shares.is_guest)
		return 0;
	within.begin_ns = begin_ns;
	within.end_ns = end_ns;
	dtc_shares_cut(&pass->shares, &within, pass->parts);
	for (guint i = 0; i < pass->parts->len; i++) {
		const struct dtc_interval *part = &g_array_index(pass->parts, struct dtc_interval, i);
		if (part->state != wait->state)
			away_ns += part->end_ns - part->begin_ns;
	}
	return away_ns;
}

static void add_wait(struct pass *pass, const struct dtc_interval *wait, int64_t from_ns, int64_t to_ns)
{
	const struct dtc_blocked_options *options = pass->options;
	int64_t begin_ns = MAX(wait->begin_ns, from_ns), end_ns = MIN(wait->end_ns, to_ns);
	int64_t ns = end_ns - begin_ns;
	if (ns <= 0 || ns < options->min_ns)
		return;
	guint index = find_row(pass, wait);
	struct dtc_blocked_row *row = &g_array_index(pass->all, struct dtc_blocked_row, index);
	struct dtc_wake wake_place;

	if (wait->ref != DTC_NONE)
		add_context(pass, index, dtc_history_get_wake(pass->history, wait->ref, &wake_place));
	row->count++;
	row->total_ns += ns;
	row->away_ns += sum_away(pass, wait, begin_ns, end_ns);
	if (options->weigh)
		row->request_ns += options->weigh(options->weigh_data, pass->node, wait->index);
	if (ns > row->max_ns) {
		row->max_ns = ns;
		row->max_begin =
			dtc_clocks_to_cluster(dtc_links_get_clocks(pass->links), pass->node, (DtcNodeTime){ begin_ns });
	}
}

static void add_thread(struct pass *pass, uint32_t thread, int64_t from_ns, int64_t to_ns)
{
	struct dtc_interval place;
	const struct dtc_interval *interval = dtc_history_get_interval_after(pass->history, thread, INT64_MIN, &place);

	dtc_shares_turn_to(&pass->shares, thread);
	for (; interval; interval = dtc_history_get_next_interval(pass->history, &place))
		if (dtc_state_is_wait(interval->state))
			add_wait(pass, interval, from_ns, to_ns);
}

static void add_node(const DtcEdges *edges, guint node, const struct dtc_blocked_options *options, GArray *all)
{
	const DtcLinks *links = dtc_edges_get_links(edges);
	const DtcHistory *h = dtc_links_get_history(links, node);
	const struct dtc_blocked_part *part = options->parts ? &options->parts[node] : NULL;

	if (!h || (part && part->begin.ns >= part->end.ns) || (options->lineage && node != options->lineage_node))
		return;
	struct pass pass = {
		.edges = edges,
		.links = links,
		.history = h,
		.node = node,
		.options = options,
		.rows = g_hash_table_new_full(hash_key, equal_keys, g_free, NULL),
		.contexts = g_hash_table_new_full(hash_context, equal_contexts, g_free, NULL),
		.labels = g_hash_table_new_full(dtc_label_hash, dtc_label_equal, g_free, NULL),
		.file_labels = g_new0(uint32_t, dtc_history_get_file_count(h) + 1),
		.all = all,
		.parts = g_array_new(FALSE, FALSE, sizeof(struct dtc_interval)),
	};
	dtc_shares_begin(&pass.shares, links, node, h, DTC_NONE);
	for (guint i = 0; options->lineage && i < options->lineage->len; i++) {
		const struct dtc_lineage_part *of = dtc_lineage_get(options->lineage, i);
		add_thread(&pass, of->thread, of->begin.ns, of->end.ns);
	}
	for (uint32_t i = 0; !options->lineage && i < dtc_history_get_thread_count(h); i++)
		if (!part || !part->threads || part->threads[i])
			add_thread(&pass, i, part ? part->begin.ns : INT64_MIN, part ? part->end.ns : INT64_MAX);
	g_hash_table_unref(pass.rows);
	g_hash_table_unref(pass.contexts);
	g_hash_table_unref(pass.labels);
	g_free(pass.file_labels);
	g_array_unref(pass.parts);
}

/* Nothing but the data decides: node, thread and, as the sort is stable, the first wait where totals are equal. */
static gint compare_rows(gconstpointer a, gconstpointer b)
{
	const struct dtc_blocked_row *x = a, *y = b;

	if (x->request_ns != y->request_ns)
		return x->request_ns > y->request_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void row_clear(void *row)
{
	g_array_unref(((struct dtc_blocked_row *)row)->contexts);
}

/* Stable: of those that are as frequent the one that was first. */
static gint compare_contexts(gconstpointer a, gconstpointer b)
{
	const struct dtc_blocked_context *x = a, *y = b;

	return x->count == y->count ? 0 : x->count > y->count ? -1 : 1;
}

DtcBlocked *dtc_blocked_new(const DtcEdges *edges, const struct dtc_blocked_options *options)
{
	DtcBlocked *blocked = g_new0(DtcBlocked, 1);

	blocked->rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_blocked_row));
	g_array_set_clear_func(blocked->rows, row_clear);
	for (guint node = 0; node < dtc_links_get_node_count(dtc_edges_get_links(edges)); node++)
		add_node(edges, node, options, blocked->rows);
	g_array_sort(blocked->rows, compare_rows);
	for (guint i = 0; i < blocked->rows->len; i++)
		g_array_sort(g_array_index(blocked->rows, struct dtc_blocked_row, i).contexts, compare_contexts);
	return blocked;
}

void dtc_blocked_free(DtcBlocked *blocked)
{
	if (!blocked)
		return;
	g_array_unref(blocked->rows);
	g_free(blocked);
}

guint dtc_blocked_get_count(const DtcBlocked *blocked)
{
	return blocked->rows->len;
}

const struct dtc_blocked_row *dtc_blocked_get_row(const DtcBlocked *blocked, guint index)
{
	return &g_array_index(blocked->rows, struct dtc_blocked_row, index);
}
