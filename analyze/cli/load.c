/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/load.h"

#include "analyze/cli/reading.h"
#include "analyze/request/http.h"
#include "analyze/state/machine.h"
#include "collect/bundle/suggest.h"
#include "collect/read/capture.h"
#include "collect/read/reader.h"
#include "dtrace-chain/error.h"
#include "sync/fit/fit.h"
#include "sync/fit/saved.h"

#include <inttypes.h>
#include <string.h>

#define GUEST_ROUNDS 6
#define GUEST_GAIN 0.9 /* a round that makes the clocks' widths less than a tenth smaller is the last */

/* One source of one node, read by one thread from beginning to end; the results are collected in order afterwards. */
struct task {
	const struct dtc_bundle_node *node;
	guint index;
	bool is_capture;
	const struct dtc_load_options *options;
	struct dtc_reading reading;
	/* results */
	DtcFindings *findings;
	GError *error;
	DtcHistory *history;
	DtcPackets *packets;
	DtcExchanges *exchanges;
	bool enters_guests; /* a host of virtual machines */
	bool is_foreign;    /* a capture in which no packet starts or ends at this node */
	guint capture_count;
};

struct pool {
	GMutex mutex;
	GCond finished;
	struct task *tasks;
	guint count;
	guint next; /* the rest under the mutex */
	guint finished_count;
};

struct DtcLoad {
	guint node_count;
	const DtcCluster *cluster; /* the bundle's */
	char **names;
	DtcHistory **histories;
	char **problems; /* why a history is NULL; NULL: there is no trace */
	DtcPackets **captures;
	DtcExchanges *exchanges;
	guint capture_count;
	bool has_vcpus; /* a node enters guests */
	DtcMatches *matches;
	DtcSync *sync;
	DtcClocks *identity; /* of a single node, or maps from a file */
	DtcGuests *guests;
	DtcLinks *links;
};

static void read_kernel(struct task *task)
{
	g_autoptr(DtcReader) reader = dtc_reader_open(task->node->name, task->node->kernel_path, &task->error);
	if (!reader)
		return;
	g_autoptr(DtcMachine) machine = dtc_machine_new(task->node->name, reader);
	const struct dtc_event *event;
	guint since = 0;

	while ((event = dtc_reader_next(reader))) {
		bool serves_clocks = event->kind == DTC_EVENT_NET_SEND || event->kind == DTC_EVENT_NET_RECEIVE ||
				     event->kind == DTC_EVENT_INET_OUT || event->kind == DTC_EVENT_INET_IN;
		if (!task->options->clocks_only || serves_clocks)
			dtc_machine_apply(machine, event);
		task->enters_guests |= event->kind == DTC_EVENT_KVM_ENTRY;
		if (++since == DTC_READING_STEP) {
			dtc_reading_note(&task->reading, dtc_reader_get_consumed_bytes(reader));
			since = 0;
		}
	}
	if (!dtc_reader_finish(reader, task->findings, &task->error))
		return;
	g_autoptr(DtcFindings) unwanted = dtc_findings_new(); /* what the machine misses it was not given */
	task->history = dtc_machine_finish(machine, task->options->clocks_only ? unwanted : task->findings);
}

/* Direction as the node sees it; what the capture cannot tell counts as received, and as foreign if it is the rule. */
static enum dtc_direction get_direction(const struct dtc_captured *captured, guint64 *unknown_count)
{
	switch (captured->direction) {
	case DTC_CAPTURE_OUT:
		return DTC_SENT;
	case DTC_CAPTURE_IN:
		return DTC_RECEIVED;
	default:
		++*unknown_count;
		return DTC_RECEIVED;
	}
}

/* Which of a node's interfaces a packet was seen on, as far as the capture tells; in a tunnel is another place. */
static uint16_t get_interface(DtcPackets *packets, const struct dtc_captured *captured)
{
	char name[32];

	if (!captured->interface && !captured->tunnel_count)
		return dtc_packets_add_interface(packets, NULL);
	g_snprintf(name, sizeof(name), "%u, tunnels %u", captured->interface, captured->tunnel_count);
	return dtc_packets_add_interface(packets, name);
}

static void read_captures(struct task *task)
{
	const struct dtc_http_options http_options = { .id_headers = task->options->id_headers };
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	g_autoptr(DtcHttp) http =
		task->options->needs_exchanges ? dtc_http_new(task->index, packets, &http_options) : NULL;
	guint64 packet_count = 0, unknown_count = 0, done_bytes = 0;

	for (char **path = task->node->pcap_paths; *path; path++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(DtcCapture) capture = dtc_capture_open(task->node->name, *path, &error);
		if (!capture) {
			dtc_findings_add(task->findings, DTC_SEVERITY_ERROR, true, task->node->name, "%.*s",
					 (int)strcspn(error->message, "\n"), error->message);
			if (!task->error)
				task->error = g_steal_pointer(&error);
			continue;
		}
		const struct dtc_captured *captured;
		task->capture_count++;
		while ((captured = dtc_capture_next(capture))) {
			enum dtc_direction direction = get_direction(captured, &unknown_count);
			uint32_t id = dtc_packets_add(packets, captured->time_ns, direction, 0,
						      get_interface(packets, captured), &captured->headers);
			if (http)
				dtc_http_add(http, id, captured);
			if (++packet_count % DTC_READING_STEP == 0)
				dtc_reading_note(&task->reading, done_bytes + dtc_capture_get_consumed_bytes(capture));
		}
		done_bytes += dtc_capture_get_consumed_bytes(capture);
		dtc_capture_finish(capture, task->findings);
	}
	if (http)
		task->exchanges = dtc_http_finish(http, task->node->name, task->findings);
	dtc_packets_seal(packets);
	task->packets = g_steal_pointer(&packets);
	task->is_foreign = packet_count > 0 && unknown_count > packet_count / 2;
}

static void *run_tasks(void *data)
{
	struct pool *pool = data;

	g_mutex_lock(&pool->mutex);
	while (pool->next < pool->count) {
		struct task *task = &pool->tasks[pool->next++];
		g_mutex_unlock(&pool->mutex);
		if (task->is_capture)
			read_captures(task);
		else
			read_kernel(task);
		dtc_reading_end(&task->reading);
		g_mutex_lock(&pool->mutex);
		pool->finished_count++;
		g_cond_signal(&pool->finished);
	}
	g_mutex_unlock(&pool->mutex);
	return NULL;
}

static void run_pool(struct pool *pool, DtcProgress *progress)
{
	guint thread_count = MIN(g_get_num_processors(), pool->count);
	g_autofree GThread **threads = g_new0(GThread *, thread_count + 1);
	gint64 begin_us = g_get_monotonic_time();

	g_mutex_init(&pool->mutex);
	g_cond_init(&pool->finished);
	for (guint i = 0; i < thread_count; i++)
		threads[i] = g_thread_new("read", run_tasks, pool);
	g_mutex_lock(&pool->mutex);
	while (pool->finished_count < pool->count) {
		g_cond_wait_until(&pool->finished, &pool->mutex, g_get_monotonic_time() + DTC_READING_WAIT_US);
		dtc_reading_show(&pool->tasks->reading, sizeof(struct task), pool->count, begin_us, progress);
	}
	g_mutex_unlock(&pool->mutex);
	for (guint i = 0; i < thread_count; i++)
		g_thread_join(threads[i]);
	g_cond_clear(&pool->finished);
	g_mutex_clear(&pool->mutex);
}

static void task_clear(struct task *task)
{
	dtc_findings_free(task->findings);
	g_clear_error(&task->error);
	g_clear_pointer(&task->history, dtc_history_free);
	g_clear_pointer(&task->packets, dtc_packets_free);
	g_clear_pointer(&task->exchanges, dtc_exchanges_free);
}

static void collect_kernel(DtcLoad *load, struct task *task, DtcFindings *findings, GError **first_error)
{
	if (task->error) {
		char *problem = g_strndup(task->error->message, strcspn(task->error->message, "\n"));
		load->problems[task->index] = problem;
		dtc_findings_add(findings, DTC_SEVERITY_ERROR, true, task->node->name,
				 "the kernel trace cannot be read: %s", problem);
		if (!*first_error)
			*first_error = g_steal_pointer(&task->error);
		return;
	}
	load->histories[task->index] = g_steal_pointer(&task->history);
	load->has_vcpus |= task->enters_guests;
}

static void collect_captures(DtcLoad *load, struct task *task, DtcFindings *findings, GError **first_error)
{
	load->capture_count += task->capture_count;
	if (task->error && !*first_error)
		*first_error = g_steal_pointer(&task->error);
	if (task->exchanges)
		dtc_exchanges_move(load->exchanges, task->exchanges);
	/* Exchanges name flows of these packets, so they stay even where their directions and times are of no use. */
	if (task->capture_count)
		load->captures[task->index] = g_steal_pointer(&task->packets);
	if (task->is_foreign)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, task->node->name,
				 "the capture shows traffic of other hosts (a bridge or mirror port), so it tells "
				 "nothing about this node's clock");
}

/* Reads everything; false if nothing at all could be read. */
static bool read_nodes(DtcLoad *load, const DtcBundle *bundle, const struct dtc_load_options *options,
		       DtcProgress *progress, DtcFindings *findings, bool *is_foreign, GError **error)
{
	g_autofree struct task *tasks = g_new0(struct task, 2 * load->node_count + 1);
	struct pool pool = { .tasks = tasks };

	for (guint node = 0; node < load->node_count; node++) {
		const struct dtc_bundle_node *from = dtc_bundle_get_node(bundle, node);
		const struct task kernel = { .node = from, .index = node, .options = options };
		if (from->kernel_path)
			tasks[pool.count++] = kernel;
		if (from->pcap_paths && from->pcap_paths[0]) {
			tasks[pool.count] = kernel;
			tasks[pool.count++].is_capture = true;
		}
	}
	for (guint i = 0; i < pool.count; i++) {
		tasks[i].findings = dtc_findings_new();
		tasks[i].reading.all_bytes = dtc_reading_measure(tasks[i].node, tasks[i].is_capture);
	}
	run_pool(&pool, progress);

	GError *first_error = NULL;
	bool has_any = false;
	for (guint i = 0; i < pool.count; i++) {
		struct task *task = &tasks[i];
		dtc_findings_move(findings, task->findings);
		if (task->is_capture) {
			is_foreign[task->index] = task->is_foreign;
			collect_captures(load, task, findings, &first_error);
		} else {
			collect_kernel(load, task, findings, &first_error);
		}
		has_any |= load->histories[task->index] || load->captures[task->index];
		task_clear(task);
	}
	if (has_any) {
		g_clear_error(&first_error);
		return true;
	}
	if (first_error)
		g_propagate_error(error, first_error);
	else
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
			    "the bundle has neither kernel traces nor captures\n"
			    "a node is a sub-directory with a CTF trace in it or in its kernel/, or a capture "
			    "NODE.pcap");
	return false;
}

/* Maps from a file take the place of a fit; what it does not know is not aligned. */
static bool read_clocks(DtcLoad *load, const char *path, DtcFindings *findings, GError **error)
{
	g_autofree int64_t *begin_ns = g_new0(int64_t, load->node_count + 1);
	for (guint node = 0; node < load->node_count; node++) {
		const DtcPackets *packets = load->captures[node];
		if (load->histories[node])
			begin_ns[node] = dtc_history_get_begin_ns(load->histories[node]);
		else if (packets && dtc_packets_get_count(packets))
			begin_ns[node] = dtc_packets_get(packets, 0)->time_ns;
	}
	load->identity =
		dtc_clocks_read_file(path, (const char *const *)load->names, begin_ns, load->node_count, error);
	if (!load->identity)
		return false;
	for (guint node = 0; node < load->node_count; node++)
		if (dtc_clocks_get_group(load->identity, node) != 0)
			dtc_findings_add(findings, DTC_SEVERITY_ERROR, true, load->names[node],
					 "'%s' does not align it with '%s'", path,
					 load->names[dtc_clocks_get_reference(load->identity)]);
	return true;
}

static DtcGuests *find_guests(const DtcLoad *load, DtcFindings *findings)
{
	const struct dtc_guests_input input = {
		.node_count = load->node_count,
		.names = (const char *const *)load->names,
		.histories = (const DtcHistory *const *)load->histories,
		.clocks = dtc_load_get_clocks(load),
		.cluster = load->cluster,
	};
	return dtc_guests_find(&input, findings);
}

/* The sum of the certified widths of all maps: what better bounds make smaller. */
static double measure_width(const DtcClocks *clocks)
{
	double sum = 0;

	for (guint node = 0; node < dtc_clocks_get_node_count(clocks); node++) {
		guint count;
		const struct dtc_clock_knot *knots = dtc_clocks_get_knots(clocks, node, &count);
		for (guint i = 0; i < count; i++)
			sum += (double)(knots[i].hi_ns - knots[i].lo_ns) / count;
	}
	return sum;
}

/*
 * Guests of traced hosts: the stays of their vCPUs bound their clocks far more tightly than packets, and the tighter
 * the clocks, the more of the stays say something. So this goes round until it no longer pays. --min-delay is about
 * packets; a bound has none, which is made up for.
 */
static bool align_guests(DtcLoad *load, const struct dtc_fit_options *options, DtcFindings *packet_findings,
			 DtcFindings *findings, GError **error)
{
	g_autoptr(DtcFindings) fit_findings = dtc_findings_new();

	dtc_findings_move(fit_findings, packet_findings);
	for (guint round = 0; round < GUEST_ROUNDS; round++) {
		g_autoptr(DtcFindings) unwanted = dtc_findings_new();
		g_autoptr(DtcGuests) guests = find_guests(load, unwanted);
		if (!dtc_guests_has_any(guests))
			break;
		double before = measure_width(dtc_sync_get_clocks(load->sync));
		g_autoptr(GArray) bounds = dtc_guests_list_bounds(guests, dtc_sync_get_clocks(load->sync));
		dtc_matches_drop_bounds(load->matches);
		for (guint i = 0; i < bounds->len; i++) {
			const struct dtc_guest_bound *b = &g_array_index(bounds, struct dtc_guest_bound, i);
			dtc_matches_add_bound(load->matches, b->from, b->to, b->sent_ns,
					      b->received_ns + options->min_delay_ns);
		}
		g_autoptr(DtcFindings) round_findings = dtc_findings_new();
		DtcSync *sync = dtc_fit_clocks(load->matches, options, round_findings, error);
		if (!sync)
			return false;
		dtc_sync_free(load->sync);
		load->sync = sync;
		dtc_findings_free(g_steal_pointer(&fit_findings));
		fit_findings = g_steal_pointer(&round_findings);
		if (measure_width(dtc_sync_get_clocks(load->sync)) > GUEST_GAIN * before)
			break;
	}
	dtc_findings_move(findings, fit_findings);
	return true;
}

static bool align(DtcLoad *load, const struct dtc_load_options *options, int reference, const bool *is_foreign,
		  DtcFindings *findings, GError **error)
{
	g_autofree struct dtc_match_source *sources = g_new0(struct dtc_match_source, load->node_count + 1);
	struct dtc_fit_options fit_options = options->fit ? *options->fit : dtc_fit_options_default();

	fit_options.reference = reference;
	for (guint node = 0; node < load->node_count; node++) {
		sources[node].node = load->names[node];
		if (load->histories[node])
			sources[node].kernel = dtc_history_get_packets(load->histories[node]);
		if (!is_foreign[node])
			sources[node].capture = load->captures[node];
	}
	load->matches = dtc_match_packets(sources, load->node_count, findings);
	if (load->node_count == 1) {
		load->identity = dtc_clocks_new_identity(1);
		return true;
	}
	if (options->sync_file)
		return read_clocks(load, options->sync_file, findings, error);
	g_autoptr(DtcFindings) fit_findings = dtc_findings_new();
	load->sync = dtc_fit_clocks(load->matches, &fit_options, fit_findings, error);
	return load->sync && align_guests(load, &fit_options, fit_findings, findings, error);
}

static void forget_nodes(DtcLoad *load)
{
	for (guint node = 0; node < load->node_count; node++) {
		g_clear_pointer(&load->histories[node], dtc_history_free);
		g_clear_pointer(&load->problems[node], g_free);
		g_clear_pointer(&load->captures[node], dtc_packets_free);
	}
	load->capture_count = 0;
	if (load->exchanges) {
		dtc_exchanges_free(load->exchanges);
		load->exchanges = dtc_exchanges_new(0);
	}
}

/* Clocks of guests need to know what their CPUs and their vCPUs did, so there is no reading for clocks only. */
static bool read_bundle(DtcLoad *load, const DtcBundle *bundle, const struct dtc_load_options *options,
			DtcProgress *progress, DtcFindings *findings, bool *is_foreign, GError **error)
{
	g_autoptr(DtcFindings) first_findings = dtc_findings_new();
	struct dtc_load_options whole = *options;

	if (!read_nodes(load, bundle, options, progress, first_findings, is_foreign, error))
		return false;
	if (!options->clocks_only || !load->has_vcpus || load->node_count == 1) {
		dtc_findings_move(findings, first_findings);
		return true;
	}
	forget_nodes(load);
	whole.clocks_only = false;
	return read_nodes(load, bundle, &whole, progress, findings, is_foreign, error);
}

DtcLoad *dtc_load_bundle(const DtcBundle *bundle, const struct dtc_load_options *options, DtcProgress *progress,
			 DtcFindings *findings, GError **error)
{
	g_autoptr(DtcLoad) load = g_new0(DtcLoad, 1);
	load->node_count = dtc_bundle_get_count(bundle);
	load->cluster = dtc_bundle_get_cluster(bundle);
	load->names = g_new0(char *, load->node_count + 1);
	load->histories = g_new0(DtcHistory *, load->node_count + 1);
	load->problems = g_new0(char *, load->node_count + 1);
	load->captures = g_new0(DtcPackets *, load->node_count + 1);
	if (options->needs_exchanges)
		load->exchanges = dtc_exchanges_new(0);
	for (guint node = 0; node < load->node_count; node++)
		load->names[node] = g_strdup(dtc_bundle_get_node(bundle, node)->name);

	guint reference = 0;
	if (options->reference && !dtc_load_find_node(load, options->reference, &reference, error))
		return NULL; /* before a minute of reading */
	g_autofree bool *is_foreign = g_new0(bool, load->node_count + 1);
	if (!read_bundle(load, bundle, options, progress, findings, is_foreign, error))
		return NULL;
	dtc_progress_show(progress, "aligning the clocks of %u nodes", load->node_count);
	if (!align(load, options, options->reference ? (int)reference : -1, is_foreign, findings, error))
		return NULL;
	dtc_progress_show(progress, "linking");
	load->guests = find_guests(load, findings);
	load->links = dtc_links_new(load->node_count, (const char *const *)load->names,
				    (const DtcHistory *const *)load->histories, dtc_load_get_clocks(load));
	dtc_links_set_guests(load->links, load->guests);
	return g_steal_pointer(&load);
}

void dtc_load_free(DtcLoad *load)
{
	if (!load)
		return;
	dtc_links_free(load->links);
	dtc_guests_free(load->guests);
	dtc_sync_free(load->sync);
	dtc_clocks_free(load->identity);
	dtc_matches_free(load->matches);
	forget_nodes(load);
	dtc_exchanges_free(load->exchanges);
	g_free(load->histories);
	g_free(load->problems);
	g_free(load->captures);
	g_strfreev(load->names);
	g_free(load);
}

guint dtc_load_get_node_count(const DtcLoad *load)
{
	return load->node_count;
}

const char *const *dtc_load_get_node_names(const DtcLoad *load)
{
	return (const char *const *)load->names;
}

bool dtc_load_find_node(const DtcLoad *load, const char *name, guint *ret_node, GError **error)
{
	for (guint node = 0; node < load->node_count; node++) {
		if (strcmp(load->names[node], name) == 0) {
			*ret_node = node;
			return true;
		}
	}
	g_autofree char *names = g_strjoinv(", ", load->names);
	const char *nearest = dtc_suggest(name, (const char *const *)load->names);
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND, "there is no node '%s'\n%s%s%sthe nodes are: %s",
		    name, nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "", names);
	return false;
}

const DtcHistory *const *dtc_load_get_histories(const DtcLoad *load)
{
	return (const DtcHistory *const *)load->histories;
}

const DtcHistory *dtc_load_get_history(const DtcLoad *load, guint node)
{
	return load->histories[node];
}

const char *dtc_load_get_kernel_problem(const DtcLoad *load, guint node)
{
	return load->problems[node] ? load->problems[node] : "there is none in the bundle";
}

const DtcPackets *dtc_load_get_capture(const DtcLoad *load, guint node)
{
	return load->captures[node];
}

const DtcCluster *dtc_load_get_cluster(const DtcLoad *load)
{
	return load->cluster;
}

const DtcClocks *dtc_load_get_clocks(const DtcLoad *load)
{
	return load->sync ? dtc_sync_get_clocks(load->sync) : load->identity;
}

const DtcMatches *dtc_load_get_matches(const DtcLoad *load)
{
	return load->matches;
}

const DtcSync *dtc_load_get_sync(const DtcLoad *load)
{
	return load->sync;
}

const DtcLinks *dtc_load_get_links(const DtcLoad *load)
{
	return load->links;
}

const DtcExchanges *dtc_load_get_exchanges(const DtcLoad *load)
{
	return load->exchanges;
}

static bool capture_to_node(const void *data, guint node, int64_t capture_ns, int64_t *ret_node_ns)
{
	return dtc_matches_capture_to_node(data, node, capture_ns, ret_node_ns);
}

DtcLocator *dtc_load_new_locator(const DtcLoad *load, const DtcRequests *requests)
{
	const struct dtc_locate_input input = {
		.node_count = load->node_count,
		.histories = (const DtcHistory *const *)load->histories,
		.captures = (const DtcPackets *const *)load->captures,
		.clocks = dtc_load_get_clocks(load),
		.capture_to_node = capture_to_node,
		.capture_data = load->matches,
	};
	return dtc_locator_new(requests, &input);
}

DtcQuality *dtc_load_new_quality(const DtcLoad *load, DtcClusterTime at)
{
	return dtc_quality_new(at, dtc_load_get_node_names(load), dtc_load_get_clocks(load), load->sync, load->matches);
}

guint dtc_load_get_capture_count(const DtcLoad *load)
{
	return load->capture_count;
}
