/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/profile/blocked.h"
#include "analyze/edge/cause.h"
#include "analyze/path/explain.h"

#include <inttypes.h>
#include <string.h>

/* What makes waits the same row; zeroed before it is filled, because it is compared as bytes. */
struct key {
	uint32_t thread;
	uint32_t call_name; /* string, or DTC_NONE */
	uint64_t object;    /* what the call works on */
	uint64_t waker_ref;
	uint8_t object_kind;
	uint8_t waker;
	uint8_t cause;
	uint8_t is_open;
	uint8_t signal;
	uint8_t spare[3];
};
_Static_assert(sizeof(struct key) == 32, "no padding in what is compared as bytes");

enum object_kind { OBJECT_NONE, OBJECT_PATH, OBJECT_FUTEX, OBJECT_FILE, OBJECT_FD };

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
	GHashTable *rows;	/* struct key -> index + 1 in all */
	GHashTable *labels;	/* name of a file or sender -> id */
	GPtrArray *label_names; /* const char *, owned by labels */
	uint32_t *file_labels;	/* by file: id + 1, 0: not yet asked */
	GArray *all;
};

static guint hash_key(gconstpointer data)
{
	const uint8_t *bytes = data;
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (gsize i = 0; i < sizeof(struct key); i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash;
}

static gboolean equal_keys(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct key)) == 0;
}

/* Takes the name. */
static uint32_t intern(struct pass *pass, char *name)
{
	gpointer id = g_hash_table_lookup(pass->labels, name);

	if (id) {
		g_free(name);
		return GPOINTER_TO_UINT(id) - 1;
	}
	g_ptr_array_add(pass->label_names, name);
	g_hash_table_insert(pass->labels, name, GUINT_TO_POINTER(pass->label_names->len));
	return pass->label_names->len - 1;
}

static uint32_t label_file(struct pass *pass, uint32_t file)
{
	if (!pass->file_labels[file]) {
		char *name = dtc_explain_endpoint(pass->history, file);
		pass->file_labels[file] = intern(pass, name ? name : g_strdup("")) + 1;
	}
	return pass->file_labels[file] - 1;
}

static void set_object(struct pass *pass, const struct dtc_call *call, struct key *key)
{
	key->call_name = call->name;
	if (call->path != DTC_NONE && *dtc_history_get_string(pass->history, call->path)) {
		key->object_kind = OBJECT_PATH;
		key->object = call->path;
	} else if (call->kind == DTC_CALL_FUTEX) {
		key->object_kind = OBJECT_FUTEX;
		key->object = call->argument;
	} else if (call->file != DTC_NONE) {
		uint32_t label = label_file(pass, call->file);
		bool has_name = *(const char *)g_ptr_array_index(pass->label_names, label) != 0;
		key->object_kind = has_name ? OBJECT_FILE : OBJECT_FD;
		key->object = has_name ? label : (uint32_t)call->fd;
	}
}

/* Of a packet that no traced node sent: the address it came from, or NULL. */
static char *name_host(const struct pass *pass, const struct dtc_edge *edge)
{
	const DtcPackets *packets = dtc_history_get_packets(pass->history);
	uint32_t packet =
		edge->has_arrival ? edge->arrival.packet : dtc_history_get_wake(pass->history, edge->wake)->ref;
	uint32_t flow = packet != DTC_NONE  ? dtc_packets_get(packets, packet)->flow
			: edge->has_arrival ? edge->arrival.flow
					    : DTC_NONE;

	return flow == DTC_NONE ? NULL : dtc_explain_host_address(dtc_packets_get_flow(packets, flow)->source);
}

/* "packet from app@backend", "packet from the kernel of web", or from an address that no node has. */
static uint32_t label_packet(struct pass *pass, const struct dtc_edge *edge)
{
	struct dtc_sender sender;

	if (dtc_edge_find_origin(pass->links, edge, &sender) && (sender.relayed || sender.thread != DTC_NONE)) {
		const char *node = dtc_links_get_node_name(pass->links, sender.node);
		const DtcHistory *h = dtc_links_get_history(pass->links, sender.node);
		if (sender.relayed)
			return intern(pass, g_strdup_printf("packet from the kernel of %s", node));
		return intern(pass,
			      g_strdup_printf("packet from %s@%s",
					      dtc_history_get_process(h, sender.thread, sender.written_ns), node));
	}
	g_autofree char *host = name_host(pass, edge);
	return intern(pass, host ? g_strconcat("packet from ", host, NULL) : g_strdup("packet"));
}

static void set_waker(struct pass *pass, const struct dtc_interval *wait, struct key *key)
{
	if (wait->ref == DTC_NONE) {
		key->is_open = true;
		return;
	}
	const struct dtc_wake *wake = dtc_history_get_wake(pass->history, wait->ref);
	struct dtc_edge edge;

	key->waker = wake->waker;
	switch ((enum dtc_waker)wake->waker) {
	case DTC_WAKER_THREAD:
	case DTC_WAKER_NEW:
		key->waker_ref = wake->thread;
		key->signal = wake->signal;
		break;
	case DTC_WAKER_BLOCK:
		key->waker_ref = dtc_history_get_block_request(pass->history, wake->ref)->device;
		break;
	case DTC_WAKER_PACKET:
		dtc_edges_find(pass->edges, pass->node, wait, &edge);
		key->waker_ref = label_packet(pass, &edge);
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

static char *name_call(const struct pass *pass, const struct key *key)
{
	if (key->call_name == DTC_NONE)
		return NULL;
	const char *name = dtc_history_get_string(pass->history, key->call_name);

	switch ((enum object_kind)key->object_kind) {
	case OBJECT_PATH:
		return g_strdup_printf("%s(%s)", name, dtc_history_get_string(pass->history, (uint32_t)key->object));
	case OBJECT_FUTEX:
		return g_strdup_printf("%s(0x%" PRIx64 ")", name, key->object);
	case OBJECT_FILE:
		return g_strdup_printf("%s(%s)", name, (const char *)g_ptr_array_index(pass->label_names, key->object));
	case OBJECT_FD:
		return g_strdup_printf("%s(fd %d)", name, (int)key->object);
	case OBJECT_NONE:
		break;
	}
	return g_strdup(name);
}

static char *name_disk(const DtcHistory *history, uint32_t device)
{
	const char *name = dtc_history_get_device_name(history, device);
	return name ? g_strdup_printf("disk %s", name) : g_strdup_printf("disk %u:%u", device >> 20, device & 0xfffff);
}

static char *name_waker(const struct pass *pass, const struct dtc_interval *wait, const struct key *key)
{
	if (key->is_open)
		return NULL;
	if (key->waker == DTC_WAKER_BLOCK)
		return name_disk(pass->history, (uint32_t)key->waker_ref);
	if (key->waker == DTC_WAKER_PACKET)
		return g_strdup(g_ptr_array_index(pass->label_names, key->waker_ref));
	return dtc_explain_waker(pass->history, wait);
}

static struct dtc_blocked_row *find_row(struct pass *pass, const struct dtc_interval *wait)
{
	struct key key;

	memset(&key, 0, sizeof(key));
	key.thread = wait->thread;
	key.cause = (uint8_t)dtc_cause_of_interval(pass->history, wait);
	key.call_name = DTC_NONE;
	if (wait->call != DTC_NONE)
		set_object(pass, dtc_history_get_call(pass->history, wait->call), &key);
	set_waker(pass, wait, &key);
	guint found = GPOINTER_TO_UINT(g_hash_table_lookup(pass->rows, &key));
	if (!found) {
		struct dtc_blocked_row row = {
			.node = pass->node,
			.thread = wait->thread,
			.cause = key.cause,
			.call = name_call(pass, &key),
			.waker = name_waker(pass, wait, &key),
		};
		g_array_append_val(pass->all, row);
		found = pass->all->len;
		g_hash_table_insert(pass->rows, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(found));
	}
	return &g_array_index(pass->all, struct dtc_blocked_row, found - 1);
}

static void add_wait(struct pass *pass, const struct dtc_interval *wait)
{
	const struct dtc_blocked_options *options = pass->options;
	int64_t begin_ns = wait->begin_ns, end_ns = wait->end_ns;

	if (options->parts) {
		begin_ns = MAX(begin_ns, options->parts[pass->node].begin.ns);
		end_ns = MIN(end_ns, options->parts[pass->node].end.ns);
	}
	int64_t ns = end_ns - begin_ns;
	if (ns <= 0 || ns < options->min_ns)
		return;
	struct dtc_blocked_row *row = find_row(pass, wait);

	row->count++;
	row->total_ns += ns;
	if (ns > row->max_ns) {
		row->max_ns = ns;
		row->max_begin =
			dtc_clocks_to_cluster(dtc_links_get_clocks(pass->links), pass->node, (DtcNodeTime){ begin_ns });
	}
}

static void add_node(const DtcEdges *edges, guint node, const struct dtc_blocked_options *options, GArray *all)
{
	const DtcLinks *links = dtc_edges_get_links(edges);
	const DtcHistory *h = dtc_links_get_history(links, node);
	const struct dtc_blocked_part *part = options->parts ? &options->parts[node] : NULL;

	if (!h || (part && part->begin.ns >= part->end.ns))
		return;
	struct pass pass = {
		.edges = edges,
		.links = links,
		.history = h,
		.node = node,
		.options = options,
		.rows = g_hash_table_new_full(hash_key, equal_keys, g_free, NULL),
		.labels = g_hash_table_new(g_str_hash, g_str_equal),
		.label_names = g_ptr_array_new_with_free_func(g_free),
		.file_labels = g_new0(uint32_t, dtc_history_get_file_count(h) + 1),
		.all = all,
	};
	for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++) {
		const struct dtc_thread *thread = dtc_history_get_thread(h, i);
		if (part && part->threads && !part->threads[i])
			continue;
		for (uint32_t k = 0; k < thread->interval_count; k++) {
			const struct dtc_interval *interval = dtc_history_get_interval(h, thread->interval_first + k);
			if (dtc_state_is_wait(interval->state))
				add_wait(&pass, interval);
		}
	}
	g_hash_table_unref(pass.rows);
	g_hash_table_unref(pass.labels);
	g_ptr_array_unref(pass.label_names);
	g_free(pass.file_labels);
}

/* Nothing but the data decides: node, thread and texts where totals are equal. */
static gint compare_rows(gconstpointer a, gconstpointer b)
{
	const struct dtc_blocked_row *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	int order = g_strcmp0(x->call, y->call);
	return order ? order : g_strcmp0(x->waker, y->waker);
}

static void row_clear(gpointer data)
{
	struct dtc_blocked_row *row = data;

	g_free(row->call);
	g_free(row->waker);
}

DtcBlocked *dtc_blocked_new(const DtcEdges *edges, const struct dtc_blocked_options *options)
{
	DtcBlocked *blocked = g_new0(DtcBlocked, 1);

	blocked->rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_blocked_row));
	g_array_set_clear_func(blocked->rows, row_clear);
	for (guint node = 0; node < dtc_links_get_node_count(dtc_edges_get_links(edges)); node++)
		add_node(edges, node, options, blocked->rows);
	g_array_sort(blocked->rows, compare_rows);
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
