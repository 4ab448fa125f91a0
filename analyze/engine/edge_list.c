/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/edge_list_build.h"

#include "collect/read/merge.h"

#include <dtrace-chain/bisect.h>

struct DtcEdgeList {
	struct dtc_edge_lister lister;
	GArray *sources; /* struct dtc_edge_source */
	GArray *tails;	 /* of all nodes: struct dtc_interval */
	DtcMerge *merge;
	guint given; /* whose item was given last, and is not yet left; G_MAXUINT: none */
	struct dtc_edge_item item;
};

/* ---- what there is on a node ---- */

static struct dtc_edge_source new_source(enum dtc_edge_item_kind kind, guint node, uint32_t first, uint32_t count)
{
	return (struct dtc_edge_source){ .kind = kind,
					 .node = node,
					 .next = first,
					 .count = count,
					 .at_ns = INT64_MIN,
					 .is_ended = first >= count };
}

static void add_wakes(const struct dtc_edge_lister *lister, guint node, GArray *sources)
{
	const DtcHistory *h = dtc_links_get_history(lister->links, node);
	int64_t begin_ns = lister->parts[node].begin.ns;
	uint32_t count = dtc_history_get_wake_count(h);
	uint32_t first = DTC_BISECT(i, 0, count, dtc_history_get_waking_ns(h, i) < begin_ns);
	struct dtc_edge_source source = new_source(DTC_ITEM_WAKE, node, first, count);

	g_array_append_val(sources, source);
}

/* Waits that nothing ended, and those that the part's end cuts: whoever looks at a span sees what lasts beyond it. */
static void add_tails_of(const struct dtc_edge_part *part, const DtcHistory *h, uint32_t index, GArray *tails)
{
	/* the one that ends just where the part begins is the one before */
	int64_t after_ns = part->begin.ns == INT64_MIN ? INT64_MIN : part->begin.ns - 1;
	struct dtc_interval place;
	const struct dtc_interval *interval = dtc_history_get_interval_after(h, index, after_ns, &place);
	for (; interval; interval = dtc_history_get_next_interval(h, &place)) {
		bool is_cut = interval->end_ns > part->end.ns;
		if (interval->begin_ns > part->end.ns || (is_cut && interval->begin_ns == part->end.ns))
			break;
		if (dtc_state_is_wait(interval->state) && (is_cut || interval->ref == DTC_NONE))
			g_array_append_val(tails, place);
	}
}

static int compare_tails(const void *a, const void *b)
{
	const struct dtc_interval *x = a, *y = b;

	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void add_tails(const struct dtc_edge_lister *lister, guint node, GArray *sources, GArray *tails)
{
	const struct dtc_edge_part *part = &lister->parts[node];
	const DtcHistory *h = dtc_links_get_history(lister->links, node);
	guint first = tails->len;

	for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++)
		if (!part->threads || part->threads[i])
			add_tails_of(part, h, i, tails);
	if (tails->len == first)
		return;
	qsort(&g_array_index(tails, struct dtc_interval, first), tails->len - first, sizeof(struct dtc_interval),
	      compare_tails);
	struct dtc_edge_source source = new_source(DTC_ITEM_OPEN, node, first, tails->len);
	g_array_append_val(sources, source);
}

/* A source for each worker: its items do not overlap. */
static void add_works(const struct dtc_edge_lister *lister, guint node, GArray *sources)
{
	const DtcHistory *h = dtc_links_get_history(lister->links, node);
	uint32_t count = dtc_history_get_work_count(h);

	for (uint32_t first = 0, end; first < count; first = end) {
		uint32_t worker = dtc_history_get_work(h, first)->queued.target;
		for (end = first + 1; end < count && dtc_history_get_work(h, end)->queued.target == worker; end++)
			;
		struct dtc_edge_source source = new_source(DTC_ITEM_WORK, node, first, end);
		g_array_append_val(sources, source);
	}
}

static void add_files(const struct dtc_edge_lister *lister, guint node, GArray *sources)
{
	const DtcHistory *h = dtc_links_get_history(lister->links, node);

	for (uint32_t i = 0; i < dtc_history_get_file_count(h); i++) {
		struct dtc_edge_source source = new_source(DTC_ITEM_LOCAL_BYTES, node, 0, 1);
		if (dtc_local_bytes_begin(&source.walk, h, i) && dtc_local_bytes_next(&source.walk, &source.bytes))
			g_array_append_val(sources, source);
	}
}

static void add_guest(const struct dtc_edge_lister *lister, guint node, GArray *sources)
{
	const DtcHistory *h = dtc_links_get_history(lister->links, node);
	const DtcGuests *guests = dtc_links_get_guests(lister->links);

	for (guint cpu = 0; guests && cpu < dtc_history_get_cpu_count(h); cpu++) {
		struct dtc_guest_cpu vcpu;
		if (!dtc_guests_get_cpu(guests, node, cpu, &vcpu))
			continue;
		const DtcHistory *host = dtc_links_get_history(lister->links, vcpu.host);
		uint32_t count = dtc_history_get_vcpu(host, vcpu.vcpu)->span_count;
		struct dtc_edge_source source = new_source(DTC_ITEM_VCPU, node, 0, count);
		source.place = cpu;
		source.vcpu = vcpu;
		g_array_append_val(sources, source);
	}
}

static void add_served(const struct dtc_edge_lister *lister, guint node, GArray *sources)
{
	const DtcHistory *h = dtc_links_get_history(lister->links, node);

	for (uint32_t i = 0; lister->serving && i < dtc_history_get_thread_count(h); i++) {
		guint count;
		const struct dtc_served *spans = dtc_serving_get(lister->serving, node, i, &count);
		if (!count)
			continue;
		struct dtc_edge_source source = new_source(DTC_ITEM_SERVED, node, 0, count);
		source.place = i;
		source.spans = spans;
		g_array_append_val(sources, source);
	}
}

static void add_sources(DtcEdgeList *list)
{
	const struct dtc_edge_lister *lister = &list->lister;

	for (guint node = 0; node < dtc_links_get_node_count(lister->links); node++) {
		if (!dtc_links_get_history(lister->links, node) ||
		    lister->parts[node].begin.ns > lister->parts[node].end.ns)
			continue;
		add_wakes(lister, node, list->sources);
		add_tails(lister, node, list->sources, list->tails);
		add_works(lister, node, list->sources);
		add_files(lister, node, list->sources);
		add_guest(lister, node, list->sources);
		add_served(lister, node, list->sources);
	}
	for (guint i = 0; i < list->sources->len; i++) /* only now it stays where it is */
		g_array_index(list->sources, struct dtc_edge_source, i).tails =
			(const struct dtc_interval *)(void *)list->tails->data;
}

/* ---- who serves by a followed hop ---- */

static guint hash_server(gconstpointer data)
{
	const struct dtc_edge_server *server = data;
	return (server->request * 31U + server->node) * 31U + server->thread;
}

static gboolean equal_servers(gconstpointer a, gconstpointer b)
{
	const struct dtc_edge_server *x = a, *y = b;
	return x->request == y->request && x->node == y->node && x->thread == y->thread;
}

static void add_followed(GHashTable *followed, const DtcServing *serving, guint request)
{
	guint count;
	const struct dtc_followed_hop *hops = dtc_serving_get_hops(serving, request, &count);

	for (guint i = 0; i < count; i++) {
		const struct dtc_edge_server server = { request, hops[i].server_node, hops[i].server_thread };
		if (server.thread != DTC_NONE && !g_hash_table_contains(followed, &server))
			g_hash_table_add(followed, g_memdup2(&server, sizeof(server)));
	}
}

/* Of the requests that have spans at all. */
static void find_followed(DtcEdgeList *list)
{
	guint request_end = 0;

	for (guint i = 0; i < list->sources->len; i++) {
		const struct dtc_edge_source *source = &g_array_index(list->sources, struct dtc_edge_source, i);
		for (guint k = 0; source->kind == DTC_ITEM_SERVED && k < source->count; k++)
			request_end = MAX(request_end, source->spans[k].request + 1);
	}
	for (guint i = 0; i < request_end; i++)
		add_followed(list->lister.followed, list->lister.serving, i);
}

/* ---- the list ---- */

static int64_t get_cluster_ns(const DtcEdgeList *list, const struct dtc_edge_source *source)
{
	return source->is_ended ? 0
				: dtc_clocks_to_cluster_ns(dtc_links_get_clocks(list->lister.links), source->node,
							   source->at_ns);
}

DtcEdgeList *dtc_edge_list_new(const DtcEdges *edges, const struct dtc_edge_part *parts, const DtcServing *serving)
{
	DtcEdgeList *list = g_new0(DtcEdgeList, 1);

	list->lister = (struct dtc_edge_lister){
		.edges = edges,
		.links = dtc_edges_get_links(edges),
		.parts = parts,
		.serving = serving,
		.followed = g_hash_table_new_full(hash_server, equal_servers, g_free, NULL),
	};
	list->sources = g_array_new(FALSE, FALSE, sizeof(struct dtc_edge_source));
	list->tails = g_array_new(FALSE, FALSE, sizeof(struct dtc_interval));
	list->given = G_MAXUINT;
	add_sources(list);
	find_followed(list);
	list->merge = dtc_merge_new(list->sources->len);
	for (guint i = 0; i < list->sources->len; i++) {
		struct dtc_edge_source *source = &g_array_index(list->sources, struct dtc_edge_source, i);
		dtc_edge_source_seek(&list->lister, source);
		dtc_merge_set(list->merge, i, get_cluster_ns(list, source), source->is_ended);
	}
	dtc_merge_build(list->merge);
	return list;
}

void dtc_edge_list_free(DtcEdgeList *list)
{
	if (!list)
		return;
	dtc_merge_free(list->merge);
	g_array_unref(list->sources);
	g_array_unref(list->tails);
	g_hash_table_unref(list->lister.followed);
	g_free(list);
}

const struct dtc_edge_item *dtc_edge_list_next(DtcEdgeList *list)
{
	if (list->given != G_MAXUINT) {
		struct dtc_edge_source *source = &g_array_index(list->sources, struct dtc_edge_source, list->given);
		dtc_edge_source_leave(&list->lister, source);
		dtc_merge_replace_top(list->merge, get_cluster_ns(list, source), source->is_ended);
	}
	list->given = dtc_merge_get_top(list->merge);
	if (list->given == G_MAXUINT)
		return NULL;
	dtc_edge_source_get(&list->lister, &g_array_index(list->sources, struct dtc_edge_source, list->given),
			    &list->item);
	return &list->item;
}
