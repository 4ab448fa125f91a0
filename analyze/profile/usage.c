/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/profile/usage.h"
#include "analyze/edge/shares.h"
#include "analyze/profile/usage_build.h"
#include "dtrace-chain/error.h"

#include <dtrace-chain/bisect.h>

#include <inttypes.h>
#include <string.h>

#define SECTOR_BYTES 512
#define BLOCK_WRITE 1 /* bit of rwbs (lttng-modules, include/instrumentation/events/block.h) */

const char *dtc_usage_channel_to_string(enum dtc_usage_channel channel)
{
	static const char *const names[] = { "tcp", "udp", "pipe", "socketpair", "unix" };

	return names[channel];
}

static guint get_group(const struct dtc_usage_build *build, guint node)
{
	return dtc_clocks_get_group(build->clocks, node);
}

/* What counts, without an end at the ends of the trace: there nothing is outside. */
static struct dtc_usage_span choose_span(const DtcHistory *h, const struct dtc_usage_span *asked)
{
	struct dtc_usage_span span = { { INT64_MIN }, { INT64_MAX } };

	if (!asked)
		return span;
	if (asked->begin.ns >= asked->end.ns)
		return (struct dtc_usage_span){ asked->begin, asked->begin };
	if (asked->begin.ns > dtc_history_get_begin_ns(h))
		span.begin = asked->begin;
	if (asked->end.ns < dtc_history_get_end_ns(h))
		span.end = asked->end;
	return span;
}

/* The part of a node's trace that counts. */
static struct dtc_usage_span get_span(const struct dtc_usage_build *build, guint node)
{
	const DtcHistory *h = dtc_links_get_history(build->links, node);
	int64_t begin_ns = dtc_history_get_begin_ns(h), end_ns = dtc_history_get_end_ns(h);
	struct dtc_usage_span span = build->spans[node];

	span.begin.ns = CLAMP(span.begin.ns, begin_ns, end_ns);
	span.end.ns = CLAMP(span.end.ns, span.begin.ns, end_ns);
	return span;
}

static bool has_counted(const struct dtc_usage_build *build, guint node)
{
	return build->spans[node].begin.ns < build->spans[node].end.ns;
}

/* From the first to the last of what counts on all nodes of a group; where nothing does, of all that there is. */
static void find_group_spans(struct dtc_usage_build *build)
{
	guint count = build->usage->node_count;
	g_autofree bool *has_any = g_new0(bool, count + 1); /* by group */

	for (guint node = 0; node < count; node++) {
		build->group_spans[node] = (struct dtc_usage_cluster_span){ INT64_MAX, INT64_MIN };
		if (build->usage->nodes[node].has_history && has_counted(build, node))
			has_any[get_group(build, node)] = true;
	}
	for (guint node = 0; node < count; node++) {
		guint group = get_group(build, node);
		if (!build->usage->nodes[node].has_history || (has_any[group] && !has_counted(build, node)))
			continue;
		const struct dtc_usage_span span = get_span(build, node);
		struct dtc_usage_cluster_span *of = &build->group_spans[group];
		of->begin_ns = MIN(of->begin_ns, dtc_clocks_to_cluster_ns(build->clocks, node, span.begin.ns));
		of->end_ns = MAX(of->end_ns, dtc_clocks_to_cluster_ns(build->clocks, node, span.end.ns));
	}
}

/* Of a node's group. */
static void find_span(const struct dtc_usage_build *build, guint of, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
	*ret_begin_ns = build->group_spans[get_group(build, of)].begin_ns;
	*ret_end_ns = build->group_spans[get_group(build, of)].end_ns;
}

static bool choose_interval(struct dtc_usage_build *build, const struct dtc_usage_options *options, GError **error)
{
	DtcUsage *usage = build->usage;
	int64_t longest_ns = 1;

	for (guint node = 0; node < usage->node_count; node++) {
		const DtcHistory *h = dtc_links_get_history(build->links, node);
		if (usage->nodes[node].has_history)
			build->spans[node] = choose_span(h, options->spans ? &options->spans[node] : NULL);
	}
	find_group_spans(build);
	for (guint node = 0; node < usage->node_count; node++) {
		const DtcHistory *h = dtc_links_get_history(build->links, node);
		int64_t begin_ns, end_ns, ns, cpu_ns;
		if (!usage->nodes[node].has_history)
			continue;
		find_span(build, node, &begin_ns, &end_ns);
		/* damaged or made-up time stamps; no real machine sums up 292 years of CPU time */
		if (__builtin_sub_overflow(end_ns, begin_ns, &ns) ||
		    __builtin_sub_overflow(dtc_history_get_end_ns(h), dtc_history_get_begin_ns(h), &cpu_ns) ||
		    __builtin_mul_overflow(MAX(ns, cpu_ns), (int64_t)dtc_history_get_cpu_count(h), &cpu_ns)) {
			g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED,
				    "the times of node '%s' span centuries\n"
				    "leave it out with --nodes; `dtrace-chain stats` tells what each node has",
				    dtc_links_get_node_name(build->links, node));
			return false;
		}
		longest_ns = MAX(longest_ns, ns);
	}
	usage->interval_ns = options->interval_ns;
	if (usage->interval_ns <= 0)
		usage->interval_ns = longest_ns / DTC_USAGE_INTERVALS + (longest_ns % DTC_USAGE_INTERVALS != 0);
	if ((longest_ns - 1) / usage->interval_ns >= DTC_USAGE_INTERVALS_MAX) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "the interval is too short: the span of %" PRId64 " ns has more than %d of %" PRId64 " ns\n"
			    "give a longer --interval, or none for a 50th of the span",
			    longest_ns, DTC_USAGE_INTERVALS_MAX, usage->interval_ns);
		return false;
	}
	return true;
}

static void place_node(struct dtc_usage_build *build, guint index)
{
	DtcUsage *usage = build->usage;
	struct dtc_usage_node *node = &usage->nodes[index];
	const DtcHistory *h = dtc_links_get_history(build->links, index);
	const struct dtc_usage_span span = get_span(build, index);
	int64_t begin_ns, end_ns;

	find_span(build, index, &begin_ns, &end_ns);
	node->begin.ns = begin_ns;
	node->interval_count = (guint)(MAX(end_ns - begin_ns - 1, 0) / usage->interval_ns) + 1;
	node->cpu_count = dtc_history_get_cpu_count(h);
	node->span_ns = span.end.ns - span.begin.ns;
	node->counted = build->spans[index];
	node->interrupt = g_new0(int64_t, node->interval_count);
	node->away = g_new0(int64_t, node->interval_count);
	node->idle = g_new0(int64_t, node->interval_count);
	node->unknown = g_new0(int64_t, node->interval_count);
	node->span = g_new0(int64_t, node->interval_count);

	int64_t *edges = build->edges_ns[index] = g_new(int64_t, node->interval_count + 1);
	for (guint i = 0; i <= node->interval_count; i++) {
		int64_t since_ns; /* the last edge may lie past the end of time */
		DtcClusterTime at = { end_ns };
		if (!__builtin_mul_overflow((int64_t)i, usage->interval_ns, &since_ns) && since_ns < end_ns - begin_ns)
			at.ns = begin_ns + since_ns;
		edges[i] = dtc_clocks_to_node(build->clocks, index, at).ns;
	}
	/* rounding must not put a nanosecond of what counts outside */
	edges[0] = MIN(edges[0], span.begin.ns);
	edges[node->interval_count] = MAX(edges[node->interval_count], span.end.ns);
	for (guint i = 0; i < node->interval_count; i++) {
		int64_t from_ns = MAX(edges[i], span.begin.ns);
		int64_t to_ns = MIN(edges[i + 1], span.end.ns);
		node->span[i] = MAX(to_ns - from_ns, 0);
	}
}

guint dtc_usage_find_interval(const struct dtc_usage_build *build, guint node, int64_t node_ns)
{
	const int64_t *edges = build->edges_ns[node];
	return DTC_BISECT(i, 1, build->usage->nodes[node].interval_count, edges[i] <= node_ns) - 1;
}

static uint32_t get_leader(const DtcHistory *h, uint32_t thread)
{
	uint32_t leader = dtc_history_get_thread(h, thread)->leader;

	return leader == DTC_NONE ? thread : leader;
}

/* One row per name of a process; the name is the one it had last, or at the end of what counts. */
static void add_processes(struct dtc_usage_build *build, guint node, const struct dtc_usage_options *options)
{
	const DtcHistory *h = dtc_links_get_history(build->links, node);
	guint interval_count = build->usage->nodes[node].interval_count;
	uint32_t thread_count = dtc_history_get_thread_count(h);
	const uint8_t *asked = options->asked ? options->asked[node] : NULL;
	int64_t end_ns = get_span(build, node).end.ns;
	/* name -> row + 1, of the rest and of what is asked for */
	g_autoptr(GHashTable) rest = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) wanted = g_hash_table_new(g_str_hash, g_str_equal);
	guint *process_of = build->thread_process[node] = g_new0(guint, thread_count + 1);

	for (uint32_t i = 0; i < thread_count; i++) {
		const struct dtc_thread *thread = dtc_history_get_thread(h, i);
		process_of[i] = G_MAXUINT;
		if (thread->idle_cpu >= 0)
			continue;
		uint32_t leader = get_leader(h, i);
		const struct dtc_thread *process = dtc_history_get_thread(h, leader);
		const char *name = dtc_history_get_comm(h, leader, MIN(process->end_ns, end_ns));
		bool is_asked = !options->asked || (asked && asked[i]);
		GHashTable *rows = is_asked ? wanted : rest;
		guint row = GPOINTER_TO_UINT(g_hash_table_lookup(rows, name));
		if (!row) {
			struct dtc_usage_process fresh = {
				.node = node,
				.name = g_strdup(name),
				.pid = process->tid,
				.is_kernel = thread->is_kernel,
				.is_asked = is_asked,
				.cpu = g_new0(int64_t, interval_count),
				.disk = g_new0(uint64_t, interval_count),
				.network = g_new0(uint64_t, interval_count),
			};
			g_array_append_val(build->usage->processes, fresh);
			row = build->usage->processes->len;
			g_hash_table_insert(rows, fresh.name, GUINT_TO_POINTER(row));
		}
		process_of[i] = row - 1;
		struct dtc_usage_process *p = dtc_usage_get_process(build, row - 1);
		p->is_kernel &= thread->is_kernel;
		p->count += leader == i;
		if (p->pid != process->tid)
			p->pid = -1;
	}
}

/* Shares a span out among the intervals it lies in, from the one with the hint on. */
static void add_span(const int64_t *edges, guint interval_count, guint *hint, int64_t begin_ns, int64_t end_ns,
		     int64_t *by_interval)
{
	while (*hint + 1 < interval_count && edges[*hint + 1] <= begin_ns)
		++*hint;
	for (guint i = *hint; i < interval_count && begin_ns < end_ns; i++) {
		int64_t until_ns = i + 1 < interval_count ? MIN(end_ns, edges[i + 1]) : end_ns;
		by_interval[i] += until_ns - begin_ns;
		begin_ns = until_ns;
	}
}

static int64_t sum(const int64_t *by_interval, guint count)
{
	int64_t total = 0;

	for (guint i = 0; i < count; i++)
		total += by_interval[i];
	return total;
}

/* Where the time of a part of an interval goes; NULL: it had no CPU. */
static int64_t *find_times(struct dtc_usage_build *build, guint index, guint process, const struct dtc_interval *part)
{
	struct dtc_usage_node *node = &build->usage->nodes[index];

	switch ((enum dtc_state)part->state) {
	case DTC_STATE_IDLE:
		return node->idle;
	case DTC_STATE_IRQ:
	case DTC_STATE_SOFTIRQ:
		return node->interrupt;
	case DTC_STATE_VM_PREEMPTED:
	case DTC_STATE_VM_EXIT:
		return node->away;
	case DTC_STATE_USER:
	case DTC_STATE_SYSCALL:
	case DTC_STATE_KERNEL:
	case DTC_STATE_GUEST:
		return process == G_MAXUINT ? node->idle : dtc_usage_get_process(build, process)->cpu;
	default:
		return NULL;
	}
}

static void add_thread(struct dtc_usage_build *build, guint index, uint32_t thread_index, GArray *parts)
{
	const DtcHistory *h = dtc_links_get_history(build->links, index);
	const struct dtc_usage_span span = get_span(build, index);
	guint process = build->thread_process[index][thread_index], hint = 0;
	struct dtc_interval place;
	const struct dtc_interval *next = dtc_history_get_interval_after(h, thread_index, INT64_MIN, &place);
	struct dtc_shares shares;

	dtc_shares_begin(&shares, build->links, index, h, thread_index);
	for (; next; next = dtc_history_get_next_interval(h, &place)) {
		struct dtc_interval v = *next;
		v.begin_ns = MAX(v.begin_ns, span.begin.ns);
		v.end_ns = MIN(v.end_ns, span.end.ns);
		if ((v.state != DTC_STATE_IDLE && !dtc_state_is_running(v.state)) || v.begin_ns >= v.end_ns)
			continue;
		dtc_shares_cut(&shares, &v, parts);
		for (guint i = 0; i < parts->len; i++) {
			const struct dtc_interval *part = &g_array_index(parts, struct dtc_interval, i);
			int64_t *to = find_times(build, index, process, part);
			if (part->state == DTC_STATE_GUEST && process != G_MAXUINT)
				dtc_usage_get_process(build, process)->guest_ns += part->end_ns - part->begin_ns;
			add_span(build->edges_ns[index], build->usage->nodes[index].interval_count, &hint,
				 part->begin_ns, part->end_ns, to);
		}
	}
}

static void add_cpu(struct dtc_usage_build *build, guint index)
{
	const DtcHistory *h = dtc_links_get_history(build->links, index);
	struct dtc_usage_node *node = &build->usage->nodes[index];
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(struct dtc_interval));

	for (guint i = 0; i < node->interval_count; i++)
		node->unknown[i] = node->span[i] * node->cpu_count; /* less what is known */
	for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++)
		add_thread(build, index, i, parts);
	for (guint p = build->usage->processes->len; p-- > 0;) { /* those of the last node are last */
		struct dtc_usage_process *process = dtc_usage_get_process(build, p);
		if (process->node != index)
			break;
		process->cpu_ns = sum(process->cpu, node->interval_count);
		node->process_ns += process->cpu_ns;
		for (guint i = 0; i < node->interval_count; i++)
			node->unknown[i] -= process->cpu[i];
	}
	for (guint i = 0; i < node->interval_count; i++)
		node->unknown[i] -= node->idle[i] + node->interrupt[i] + node->away[i];
	node->interrupt_ns = sum(node->interrupt, node->interval_count);
	node->away_ns = sum(node->away, node->interval_count);
	node->idle_ns = sum(node->idle, node->interval_count);
	node->unknown_ns = sum(node->unknown, node->interval_count);
}

static void add_disk(struct dtc_usage_build *build, guint node)
{
	const DtcHistory *h = dtc_links_get_history(build->links, node);

	for (uint32_t i = 0; i < dtc_history_get_block_request_count(h); i++) {
		const struct dtc_block_request *request = dtc_history_get_block_request(h, i);
		guint index = request->thread == DTC_NONE ? G_MAXUINT : build->thread_process[node][request->thread];
		if (index == G_MAXUINT)
			continue;
		struct dtc_usage_process *process = dtc_usage_get_process(build, index);
		uint64_t bytes = (uint64_t)request->sectors * SECTOR_BYTES;
		int64_t at_ns = request->issue_ns != DTC_TIME_NONE ? request->issue_ns : request->insert_ns;
		if (!dtc_usage_is_counted(build, node, at_ns))
			continue;
		process->disk_requests++;
		if (request->flags & BLOCK_WRITE)
			process->disk_written_bytes += bytes;
		else
			process->disk_read_bytes += bytes;
		process->disk[dtc_usage_find_interval(build, node, at_ns)] += bytes;
	}
}

struct dtc_usage_edge *dtc_usage_get_edge(struct dtc_usage_build *build, guint from, const char *host, guint to,
					  enum dtc_usage_channel channel)
{
	GArray *edges = build->usage->edges;
	char *key = g_strdup_printf("%u %u %d %s", from, to, (int)channel, host ? host : "");
	guint found = GPOINTER_TO_UINT(g_hash_table_lookup(build->edge_index, key));

	if (found) {
		g_free(key);
		return &g_array_index(edges, struct dtc_usage_edge, found - 1);
	}
	struct dtc_usage_edge fresh = { .from = from, .host = g_strdup(host), .to = to, .channel = channel };
	g_array_append_val(edges, fresh);
	g_hash_table_insert(build->edge_index, key, GUINT_TO_POINTER(edges->len));
	return &g_array_index(edges, struct dtc_usage_edge, edges->len - 1);
}

/* A row's place in the order of compare_processes. */
struct order {
	const struct dtc_usage_process *process;
	guint index;
};

static gint compare_processes(gconstpointer a, gconstpointer b)
{
	const struct dtc_usage_process *x = ((const struct order *)a)->process, *y = ((const struct order *)b)->process;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	int order = strcmp(x->name, y->name);
	return order ? order : (int)y->is_asked - (int)x->is_asked;
}

static gint compare_edges(gconstpointer a, gconstpointer b)
{
	const struct dtc_usage_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->channel != y->channel)
		return x->channel < y->channel ? -1 : 1;
	return g_strcmp0(x->host, y->host);
}

static gint compare_files(gconstpointer a, gconstpointer b)
{
	const struct dtc_usage_file *x = a, *y = b;
	uint64_t x_bytes = x->read_bytes + x->written_bytes, y_bytes = y->read_bytes + y->written_bytes;

	if (x->blocked_ns != y->blocked_ns)
		return x->blocked_ns > y->blocked_ns ? -1 : 1;
	if (x_bytes != y_bytes)
		return x_bytes > y_bytes ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	int order = g_strcmp0(x->text, y->text);
	return order ? order : memcmp(&x->label, &y->label, sizeof(x->label));
}

/* Brings the rows into their order, and with them the indexes that name them. */
static void sort_rows(struct dtc_usage_build *build)
{
	DtcUsage *usage = build->usage;
	guint count = usage->processes->len;
	g_autoptr(GArray) orders = g_array_sized_new(FALSE, FALSE, sizeof(struct order), count);
	g_autofree guint *renamed = g_new(guint, count + 1);
	GArray *sorted = g_array_sized_new(FALSE, FALSE, sizeof(struct dtc_usage_process), count);

	for (guint i = 0; i < count; i++) {
		struct order order = { &g_array_index(usage->processes, struct dtc_usage_process, i), i };
		g_array_append_val(orders, order);
	}
	g_array_sort(orders, compare_processes);
	for (guint i = 0; i < count; i++) {
		const struct order *order = &g_array_index(orders, struct order, i);
		g_array_append_val(sorted, *order->process);
		renamed[order->index] = i;
	}
	g_array_unref(usage->processes);
	usage->processes = sorted;
	for (guint i = 0; i < usage->files->len; i++) {
		guint *process = &g_array_index(usage->files, struct dtc_usage_file, i).process;
		*process = renamed[*process];
	}
	for (guint i = 0; i < usage->edges->len; i++) {
		struct dtc_usage_edge *edge = &g_array_index(usage->edges, struct dtc_usage_edge, i);
		edge->to = renamed[edge->to];
		if (edge->from != G_MAXUINT)
			edge->from = renamed[edge->from];
	}
	for (guint i = 0; i < usage->servers->len; i++) {
		guint *process = &g_array_index(usage->servers, struct dtc_usage_server, i).process;
		if (*process != G_MAXUINT)
			*process = renamed[*process];
	}
	g_array_sort(usage->files, compare_files);
	g_array_sort(usage->edges, compare_edges);
	dtc_usage_sort_servers(build);
}

static void drop_unasked(struct dtc_usage_build *build)
{
	GArray *files = build->usage->files, *edges = build->usage->edges;

	for (guint i = files->len; i-- > 0;) {
		const struct dtc_usage_file *file = &g_array_index(files, struct dtc_usage_file, i);
		if (dtc_usage_get_process(build, file->process)->is_asked)
			continue;
		g_array_remove_index_fast(files, i); /* they are sorted later */
	}
	for (guint i = edges->len; i-- > 0;) {
		const struct dtc_usage_edge *edge = &g_array_index(edges, struct dtc_usage_edge, i);
		if (dtc_usage_get_process(build, edge->to)->is_asked ||
		    (edge->from != G_MAXUINT && dtc_usage_get_process(build, edge->from)->is_asked))
			continue;
		g_free(edge->host);
		g_array_remove_index_fast(edges, i);
	}
}

DtcUsage *dtc_usage_new(const DtcLinks *links, const struct dtc_usage_options *options, GError **error)
{
	DtcUsage *usage = g_new0(DtcUsage, 1);
	struct dtc_usage_build build = { .links = links, .clocks = dtc_links_get_clocks(links), .usage = usage };
	guint node_count = dtc_links_get_node_count(links);

	usage->node_count = node_count;
	usage->nodes = g_new0(struct dtc_usage_node, node_count + 1);
	usage->processes = g_array_new(FALSE, FALSE, sizeof(struct dtc_usage_process));
	usage->files = g_array_new(FALSE, FALSE, sizeof(struct dtc_usage_file));
	usage->edges = g_array_new(FALSE, FALSE, sizeof(struct dtc_usage_edge));
	usage->servers = g_array_new(FALSE, FALSE, sizeof(struct dtc_usage_server));
	for (guint node = 0; node < node_count; node++) {
		const DtcHistory *h = dtc_links_get_history(links, node);
		usage->nodes[node].has_history = h && dtc_history_get_begin_ns(h) != DTC_TIME_NONE;
	}
	build.spans = g_new0(struct dtc_usage_span, node_count + 1);
	build.group_spans = g_new0(struct dtc_usage_cluster_span, node_count + 1);
	if (!choose_interval(&build, options, error)) {
		g_free(build.spans);
		g_free(build.group_spans);
		dtc_usage_free(usage);
		return NULL;
	}
	build.edge_index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	build.server_index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	build.thread_process = g_new0(guint *, node_count + 1);
	build.edges_ns = g_new0(int64_t *, node_count + 1);
	for (guint node = 0; node < node_count; node++) {
		if (!usage->nodes[node].has_history)
			continue;
		place_node(&build, node);
		add_processes(&build, node, options);
		add_cpu(&build, node);
		add_disk(&build, node);
	}
	dtc_usage_add_files(&build);
	dtc_usage_add_services(&build);
	dtc_usage_add_pipes(&build);
	if (options->asked)
		drop_unasked(&build);
	sort_rows(&build);
	for (guint node = 0; node < node_count; node++) {
		g_free(build.thread_process[node]);
		g_free(build.edges_ns[node]);
	}
	g_hash_table_unref(build.edge_index);
	g_hash_table_unref(build.server_index);
	g_free(build.thread_process);
	g_free(build.edges_ns);
	g_free(build.spans);
	g_free(build.group_spans);
	return usage;
}

void dtc_usage_free(DtcUsage *usage)
{
	if (!usage)
		return;
	for (guint i = 0; i < usage->node_count; i++) {
		g_free(usage->nodes[i].interrupt);
		g_free(usage->nodes[i].away);
		g_free(usage->nodes[i].idle);
		g_free(usage->nodes[i].unknown);
		g_free(usage->nodes[i].span);
	}
	g_free(usage->nodes);
	for (guint i = 0; i < usage->processes->len; i++) {
		struct dtc_usage_process *process = &g_array_index(usage->processes, struct dtc_usage_process, i);
		g_free(process->name);
		g_free(process->cpu);
		g_free(process->disk);
		g_free(process->network);
	}
	g_array_unref(usage->processes);
	g_array_unref(usage->files);
	for (guint i = 0; i < usage->edges->len; i++)
		g_free(g_array_index(usage->edges, struct dtc_usage_edge, i).host);
	g_array_unref(usage->edges);
	for (guint i = 0; i < usage->servers->len; i++)
		g_free(g_array_index(usage->servers, struct dtc_usage_server, i).host);
	g_array_unref(usage->servers);
	g_free(usage);
}

static bool broken(GError **error, guint node, const char *name, const char *what, int64_t is, int64_t should)
{
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED,
		    "usage of node %u is inconsistent: %s of '%s' is %" PRId64 ", not %" PRId64
		    "\nthis is a defect of dtrace-chain, please report it with the trace",
		    node, what, name, is, should);
	return false;
}

/* CPUs x time in one interval of a node. */
static bool check_interval(const DtcUsage *usage, guint index, guint i, const int64_t *processes, GError **error)
{
	const struct dtc_usage_node *node = &usage->nodes[index];
	int64_t should_ns = node->span[i] * node->cpu_count;
	int64_t is_ns = processes[i] + node->interrupt[i] + node->away[i] + node->idle[i] + node->unknown[i];

	if (is_ns != should_ns)
		return broken(error, index, "all CPUs", "the sum of an interval", is_ns, should_ns);
	/* negative: some CPU time was counted twice */
	if (node->unknown[i] < 0)
		return broken(error, index, "unknown", "the time in an interval", node->unknown[i], 0);
	return true;
}

/* What a server did in all places of the tree, against the edges to it: less if it was not wholly asked for. */
static bool check_server(const DtcUsage *usage, const int64_t *in_tree, const int64_t *on_edges, GError **error)
{
	for (guint p = 0; p < usage->processes->len; p++) {
		const struct dtc_usage_process *process = &g_array_index(usage->processes, struct dtc_usage_process, p);
		if (process->is_asked && in_tree[p] != on_edges[p])
			return broken(error, process->node, process->name, "the CPU time in the tree of servers",
				      in_tree[p], on_edges[p]);
	}
	return true;
}

static bool check_servers(const DtcUsage *usage, GError **error)
{
	g_autofree int64_t *in_tree = g_new0(int64_t, usage->processes->len + 1);
	g_autofree int64_t *on_edges = g_new0(int64_t, usage->processes->len + 1);
	g_autofree int64_t *totals = g_new0(int64_t, usage->servers->len + 1);

	for (guint i = usage->servers->len; i-- > 0;) {
		const struct dtc_usage_server *server = &g_array_index(usage->servers, struct dtc_usage_server, i);
		guint node = server->process == G_MAXUINT
				     ? 0
				     : g_array_index(usage->processes, struct dtc_usage_process, server->process).node;
		totals[i] += server->cpu_ns;
		if (totals[i] != server->total_ns)
			return broken(error, node, server->host ? server->host : "a server", "the total of the tree",
				      server->total_ns, totals[i]);
		if (server->parent != G_MAXUINT)
			totals[server->parent] += totals[i];
		if (server->process != G_MAXUINT)
			in_tree[server->process] += server->cpu_ns;
	}
	for (guint i = 0; i < usage->edges->len; i++) {
		const struct dtc_usage_edge *edge = &g_array_index(usage->edges, struct dtc_usage_edge, i);
		on_edges[edge->to] += edge->cpu_ns;
	}
	return check_server(usage, in_tree, on_edges, error);
}

bool dtc_usage_check(const DtcUsage *usage, GError **error)
{
	for (guint n = 0, p = 0; n < usage->node_count; n++) {
		const struct dtc_usage_node *node = &usage->nodes[n];
		if (!node->has_history)
			continue;
		g_autofree int64_t *processes = g_new0(int64_t, node->interval_count);
		int64_t process_ns = 0;
		for (; p < usage->processes->len; p++) { /* sorted by node */
			const struct dtc_usage_process *process =
				&g_array_index(usage->processes, struct dtc_usage_process, p);
			if (process->node != n)
				break;
			int64_t cpu_ns = sum(process->cpu, node->interval_count);
			if (cpu_ns != process->cpu_ns)
				return broken(error, n, process->name, "the CPU time", cpu_ns, process->cpu_ns);
			if (process->served_ns < 0 || process->served_ns > process->cpu_ns)
				return broken(error, n, process->name, "the time for clients", process->served_ns,
					      process->cpu_ns);
			process_ns += cpu_ns;
			for (guint i = 0; i < node->interval_count; i++)
				processes[i] += process->cpu[i];
		}
		if (process_ns != node->process_ns)
			return broken(error, n, "all processes", "the CPU time", node->process_ns, process_ns);
		for (guint i = 0; i < node->interval_count; i++)
			if (!check_interval(usage, n, i, processes, error))
				return false;
		int64_t total_ns = process_ns + node->interrupt_ns + node->away_ns + node->idle_ns + node->unknown_ns;
		if (total_ns != node->span_ns * node->cpu_count)
			return broken(error, n, "all CPUs", "the sum", total_ns, node->span_ns * node->cpu_count);
	}
	return check_servers(usage, error);
}
