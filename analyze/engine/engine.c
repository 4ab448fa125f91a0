/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/engine.h"

#include "analyze/engine/align.h"
#include "analyze/engine/alignment_image.h"
#include "analyze/engine/owners.h"
#include "collect/bundle/suggest.h"
#include "dtrace-chain/error.h"

#include <string.h>

struct DtcEngine {
	char **names;
	const DtcCluster *cluster; /* the bundle's */
	struct dtc_recordings recordings;
	struct dtc_align_input align_input; /* borrows what is in here, and fit */
	struct dtc_fit_options fit;
	struct dtc_alignment alignment;
	DtcGuests *guests;
	DtcLinks *links;
	DtcEdges *edges;
	DtcRequests *requests;		 /* or NULL */
	const struct dtc_owners *helped; /* or NULL */
	DtcClusterTime origin;
	bool is_part;
};

/* Of a packet that a node captured; where nothing better is known, both of its clocks count from the same epoch. */
static int64_t capture_to_cluster(gconstpointer data, guint node, int64_t capture_ns)
{
	const DtcEngine *engine = data;
	DtcNodeTime at = { capture_ns };
	dtc_matches_capture_to_node(engine->alignment.matches, node, capture_ns, &at.ns);
	return dtc_clocks_to_cluster(dtc_engine_get_clocks(engine), node, at).ns;
}

static void set_requests(DtcEngine *engine)
{
	const DtcPackets *const *captures = (const DtcPackets *const *)engine->recordings.captures;
	g_autoptr(DtcClients) clients = dtc_clients_new(engine->links, captures);
	const struct dtc_anonymous_input anonymous = {
		.captures = captures,
		.to_cluster = capture_to_cluster,
		.data = engine,
		.clients = clients,
	};
	engine->requests = dtc_requests_new(engine->recordings.exchanges, &anonymous);
}

/* Found once: each of a list of requests counts from it. */
static DtcClusterTime find_origin(const DtcEngine *engine)
{
	const DtcClocks *clocks = dtc_engine_get_clocks(engine);
	guint group = dtc_clocks_get_group(clocks, dtc_clocks_get_reference(clocks));
	DtcClusterTime origin = { INT64_MAX };

	for (guint i = 0; i < dtc_engine_get_node_count(engine); i++) {
		const DtcHistory *history = dtc_engine_get_history(engine, i);
		if (!history || dtc_clocks_get_group(clocks, i) != group)
			continue;
		DtcNodeTime begin = { dtc_history_get_begin_ns(history) };
		if (begin.ns != DTC_TIME_NONE)
			origin.ns = MIN(origin.ns, dtc_clocks_to_cluster(clocks, i, begin).ns);
	}
	return origin.ns == INT64_MAX ? (DtcClusterTime){ 0 } : origin;
}

/* A helper is given what the process found that it helps. */
static bool align(DtcEngine *engine, const struct dtc_watch *watch, DtcFindings *findings, GError **error)
{
	const struct dtc_owners *helped = engine->helped;

	if (helped && helped->help->is_helper) {
		g_autoptr(DtcImage) image = helped->help->wait(helped->data, DTC_OWNERS_CLOCKS, error);
		return image && dtc_alignment_load(&engine->alignment, &engine->align_input, image, findings, error);
	}
	if (!dtc_align(&engine->alignment, &engine->align_input, watch, findings, error))
		return false;
	g_autoptr(GBytes) found = helped ? dtc_alignment_to_bytes(&engine->alignment, &engine->align_input) : NULL;
	if (found)
		helped->help->give(helped->data, DTC_OWNERS_CLOCKS, found);
	return true;
}

/* Only these spans (by node), if there are any. */
static bool read_and_align(DtcEngine *engine, const DtcBundle *bundle, const struct dtc_engine_options *options,
			   const struct dtc_window_span *spans, const struct dtc_watch *watch, DtcFindings *findings,
			   GError **error)
{
	const struct dtc_recordings_options recordings_options = {
		.needs_exchanges = options->needs_exchanges,
		.clocks_only = options->clocks_only,
		.store = spans ? NULL : options->store, /* what is kept there has everything */
		.id_headers = options->id_headers,
		.windows = spans,
		.calls_help = engine->helped != NULL,
	};

	return dtc_recordings_read(&engine->recordings, bundle, &recordings_options, watch, findings, error) &&
	       align(engine, watch, findings, error);
}

enum window_result { WINDOW_READ, WINDOW_TOO_SMALL, WINDOW_FAILED };

/* Whether the answer would be another, or none, whatever is read. */
static bool is_final(const GError *error)
{
	return g_error_matches(error, DTC_ANALYZE_ERROR, DTC_ERROR_CANCELLED) ||
	       g_error_matches(error, DTC_COLLECT_ERROR, DTC_ERROR_LIMIT);
}

static void clear_readings(DtcEngine *engine)
{
	dtc_alignment_clear(&engine->alignment);
	dtc_recordings_clear(&engine->recordings);
}

static struct dtc_window_reading get_reading(const DtcEngine *engine, const struct dtc_window_begin *begins)
{
	return (struct dtc_window_reading){ .begins = begins,
					    .names = (const char *const *)engine->names,
					    .histories = dtc_engine_get_histories(engine),
					    .are_foreign = engine->recordings.is_foreign,
					    .clocks = dtc_engine_get_clocks(engine) };
}

/* The spans to be read, NULL if that cannot be told; or with an error that is final. Nothing stays read. */
static struct dtc_window_span *find_spans(DtcEngine *engine, const DtcBundle *bundle,
					  const struct dtc_engine_options *options,
					  const struct dtc_window_begin *begins, const struct dtc_watch *watch,
					  GError **error)
{
	g_autofree struct dtc_window_span *sample = dtc_window_sample(begins, dtc_bundle_get_count(bundle));
	g_autoptr(DtcFindings) unused = dtc_findings_new();
	g_autoptr(GError) problem = NULL;
	struct dtc_window_span *spans = NULL;
	bool is_read = read_and_align(engine, bundle, options, sample, watch, unused, &problem);

	if (problem && is_final(problem)) {
		g_propagate_error(error, g_steal_pointer(&problem));
	} else {
		const struct dtc_window_reading reading = get_reading(engine, begins);
		bool are_aligned = is_read && dtc_window_are_aligned(&reading);
		spans = dtc_window_find(bundle, options->window, begins, are_aligned ? reading.clocks : NULL);
	}
	clear_readings(engine);
	return spans;
}

static enum window_result read_window(DtcEngine *engine, const DtcBundle *bundle,
				      const struct dtc_engine_options *options, const struct dtc_watch *watch,
				      DtcFindings *findings, GError **error)
{
	g_autoptr(DtcFindings) found = dtc_findings_new();
	g_autoptr(GError) problem = NULL;
	g_autofree struct dtc_window_begin *begins = dtc_window_find_begins(bundle);
	g_autofree struct dtc_window_span *spans = find_spans(engine, bundle, options, begins, watch, &problem);
	bool is_read = spans && read_and_align(engine, bundle, options, spans, watch, found, &problem);
	const struct dtc_window_reading reading = get_reading(engine, begins);

	if (is_read && dtc_window_is_enough(options->window, spans, &reading)) {
		dtc_findings_move(findings, found);
		dtc_findings_add(
			findings, DTC_SEVERITY_INFO, false, NULL,
			"only the span and its --lead were read: clocks are aligned by the packets in there, of "
			"what began before the state that it left is known, and what ended a wait behind it is "
			"not");
		engine->is_part = true;
		return WINDOW_READ;
	}
	if (problem && is_final(problem)) {
		g_propagate_error(error, g_steal_pointer(&problem));
		return WINDOW_FAILED;
	}
	clear_readings(engine);
	dtc_findings_add(findings, DTC_SEVERITY_INFO, false, NULL,
			 "all of the recording was read in spite of --lead: %s",
			 !spans	   ? "where the span is on each clock cannot be told before"
			 : is_read ? "the packets near the span do not align all clocks, or these are not what they "
				     "seemed to be"
				   : "the span alone cannot be read");
	return WINDOW_TOO_SMALL;
}

static bool link_all(DtcEngine *engine, const struct dtc_watch *watch, DtcFindings *findings, GError **error)
{
	const struct dtc_progress progress = { .phase = DTC_PHASE_LINK, .all = dtc_engine_get_node_count(engine) };
	if (!dtc_watch_tell(watch, &progress, error))
		return false;
	engine->guests = dtc_alignment_find_guests(&engine->alignment, &engine->align_input, findings);
	engine->links = dtc_links_new(dtc_engine_get_node_count(engine), (const char *const *)engine->names,
				      dtc_engine_get_histories(engine), dtc_engine_get_clocks(engine));
	dtc_links_set_guests(engine->links, engine->guests);
	dtc_links_set_frames(engine->links, (const DtcPackets *const *)engine->recordings.captures,
			     (const DtcFrames *const *)engine->recordings.frames);
	dtc_links_set_shingles(engine->links, (const DtcShingles *const *)engine->recordings.shingles);
	engine->edges = dtc_edges_new(engine->links);
	if (engine->recordings.exchanges)
		set_requests(engine);
	engine->origin = find_origin(engine);
	return true;
}

DtcEngine *dtc_engine_new(const DtcBundle *bundle, const struct dtc_engine_options *options,
			  const struct dtc_watch *watch, DtcFindings *findings, GError **error)
{
	g_autoptr(DtcEngine) engine = g_new0(DtcEngine, 1);
	guint node_count = dtc_bundle_get_count(bundle), reference = 0;

	engine->cluster = dtc_bundle_get_cluster(bundle);
	engine->names = g_new0(char *, node_count + 1);
	for (guint node = 0; node < node_count; node++)
		engine->names[node] = g_strdup(dtc_bundle_get_node(bundle, node)->name);
	if (options->reference && !dtc_engine_find_node(engine, options->reference, &reference, error))
		return NULL; /* before a minute of reading */
	engine->fit = options->fit ? *options->fit : dtc_fit_options_default();
	engine->align_input = (struct dtc_align_input){
		.recordings = &engine->recordings,
		.bundle = bundle,
		.names = (const char *const *)engine->names,
		.cluster = engine->cluster,
		.reference = options->reference ? (int)reference : -1,
		.fit = &engine->fit,
		.sync_file = options->sync_file,
	};
	/* clocks of a file are read by who has it, and a window is read more than once */
	if (options->lists_requests && !options->sync_file && !options->window)
		engine->helped = dtc_owners_get_helped(bundle);
	enum window_result result =
		options->window ? read_window(engine, bundle, options, watch, findings, error) : WINDOW_TOO_SMALL;
	if (result == WINDOW_FAILED ||
	    (result == WINDOW_TOO_SMALL && !read_and_align(engine, bundle, options, NULL, watch, findings, error)) ||
	    !link_all(engine, watch, findings, error))
		return NULL;
	return g_steal_pointer(&engine);
}

void dtc_engine_free(DtcEngine *engine)
{
	if (!engine)
		return;
	dtc_requests_free(engine->requests);
	dtc_edges_free(engine->edges);
	dtc_links_free(engine->links);
	dtc_guests_free(engine->guests);
	dtc_alignment_clear(&engine->alignment);
	dtc_recordings_clear(&engine->recordings);
	g_strfreev(engine->names);
	g_free(engine);
}

guint dtc_engine_get_node_count(const DtcEngine *engine)
{
	return engine->recordings.node_count;
}

const char *const *dtc_engine_get_node_names(const DtcEngine *engine)
{
	return (const char *const *)engine->names;
}

bool dtc_engine_find_node(const DtcEngine *engine, const char *name, guint *ret_node, GError **error)
{
	for (guint node = 0; engine->names[node]; node++) {
		if (strcmp(engine->names[node], name) == 0) {
			*ret_node = node;
			return true;
		}
	}
	g_autofree char *names = g_strjoinv(", ", engine->names);
	const char *nearest = dtc_suggest(name, (const char *const *)engine->names);
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "there is no node '%s'\n%s%s%sthe nodes are: %s", name,
		    nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "", names);
	return false;
}

const DtcHistory *const *dtc_engine_get_histories(const DtcEngine *engine)
{
	return (const DtcHistory *const *)engine->recordings.histories;
}

const DtcHistory *dtc_engine_get_history(const DtcEngine *engine, guint node)
{
	return engine->recordings.histories[node];
}

const char *dtc_engine_get_kernel_problem(const DtcEngine *engine, guint node)
{
	return engine->recordings.problems[node] ? engine->recordings.problems[node] : "there is none in the bundle";
}

const DtcPackets *dtc_engine_get_capture(const DtcEngine *engine, guint node)
{
	return engine->recordings.captures[node];
}

const DtcCluster *dtc_engine_get_cluster(const DtcEngine *engine)
{
	return engine->cluster;
}

const DtcClocks *dtc_engine_get_clocks(const DtcEngine *engine)
{
	return dtc_alignment_get_clocks(&engine->alignment);
}

const DtcMatches *dtc_engine_get_matches(const DtcEngine *engine)
{
	/* they are no change that anybody sees */
	dtc_alignment_complete(&((DtcEngine *)(gpointer)engine)->alignment, &engine->align_input);
	return engine->alignment.matches;
}

const DtcSync *dtc_engine_get_sync(const DtcEngine *engine)
{
	return engine->alignment.sync;
}

const DtcEdges *dtc_engine_get_edges(const DtcEngine *engine)
{
	return engine->edges;
}

const DtcLinks *dtc_engine_get_links(const DtcEngine *engine)
{
	return engine->links;
}

const DtcExchanges *dtc_engine_get_exchanges(const DtcEngine *engine)
{
	return engine->recordings.exchanges;
}

const DtcRequests *dtc_engine_get_requests(const DtcEngine *engine)
{
	return engine->requests;
}

bool dtc_engine_capture_to_node(const DtcEngine *engine, guint node, int64_t capture_ns, int64_t *ret_node_ns)
{
	return dtc_matches_capture_to_node(engine->alignment.matches, node, capture_ns, ret_node_ns);
}

static bool capture_to_node(const void *data, guint node, int64_t capture_ns, int64_t *ret_node_ns)
{
	return dtc_engine_capture_to_node(data, node, capture_ns, ret_node_ns);
}

DtcLocator *dtc_engine_new_locator(const DtcEngine *engine, const DtcRequests *requests)
{
	const struct dtc_locate_input input = {
		.links = engine->links,
		.captures = (const DtcPackets *const *)engine->recordings.captures,
		.capture_to_node = capture_to_node,
		.capture_data = engine,
	};
	return dtc_locator_new(requests, &input);
}

const struct dtc_owners *dtc_engine_get_helped(const DtcEngine *engine)
{
	return engine->helped;
}

bool dtc_engine_is_part(const DtcEngine *engine)
{
	return engine->is_part;
}

guint dtc_engine_get_capture_count(const DtcEngine *engine)
{
	return engine->recordings.capture_count;
}

const char *dtc_engine_get_reference(const DtcEngine *engine)
{
	return engine->names[dtc_clocks_get_reference(dtc_engine_get_clocks(engine))];
}

DtcClusterTime dtc_engine_get_origin(const DtcEngine *engine)
{
	return engine->origin;
}

DtcClusterTime dtc_engine_get_end(const DtcEngine *engine)
{
	const DtcClocks *clocks = dtc_engine_get_clocks(engine);
	guint group = dtc_clocks_get_group(clocks, dtc_clocks_get_reference(clocks));
	DtcClusterTime end = { INT64_MIN };

	for (guint i = 0; i < dtc_engine_get_node_count(engine); i++) {
		const DtcHistory *history = dtc_engine_get_history(engine, i);
		if (!history || dtc_clocks_get_group(clocks, i) != group ||
		    dtc_history_get_begin_ns(history) == DTC_TIME_NONE)
			continue;
		DtcNodeTime last = { dtc_history_get_end_ns(history) };
		end.ns = MAX(end.ns, dtc_clocks_to_cluster(clocks, i, last).ns);
	}
	return end.ns == INT64_MIN ? (DtcClusterTime){ 0 } : end;
}
