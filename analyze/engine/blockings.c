/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/blockings.h"

#include "analyze/engine/all_requests.h"
#include "analyze/path/path_build.h"
#include "analyze/path/tree.h"

#include <dtrace-chain/hash.h>

static DtcPath *find_causality(const DtcEngine *engine, const struct dtc_blockings_options *options,
			       const struct dtc_selection *selection)
{
	const struct dtc_path_target target = {
		.node = selection->node,
		.thread = selection->thread,
		.begin = selection->spans[selection->node].cluster_begin,
		.end = selection->spans[selection->node].cluster_end,
		.call = DTC_NONE,
	};
	const struct dtc_path_options path_options = {
		.max_depth = options->max_depth,
		.min_blocking_ns = options->min_ns,
	};
	DtcPath *path = dtc_path_new(target.begin, target.end);

	dtc_tree_add_waits(dtc_engine_get_edges(engine), &target, &path_options, path);
	dtc_path_finish(path);
	return path;
}

/* What the views leave out. */
static void note_depth(const DtcPath *path, DtcFindings *findings)
{
	guint left_out = 0;

	for (guint i = 0; i < dtc_path_get_blocking_count(path); i++)
		left_out += dtc_path_get_blocking(path, i)->depth >= DTC_REPORT_MAX_DEPTH;
	if (left_out)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, NULL,
				 "%u blockings nested deeper than %d levels are left out of the causality", left_out,
				 DTC_REPORT_MAX_DEPTH);
}

/* ---- how long requests waited for each ---- */

static gint64 make_key(guint node, uint32_t interval)
{
	return (gint64)((guint64)node << 32 | interval);
}

static void add_ns(GHashTable *weights, gint64 key, int64_t ns)
{
	int64_t *weight = g_hash_table_lookup(weights, &key);
	if (!weight) {
		weight = g_new0(int64_t, 1);
		g_hash_table_insert(weights, g_memdup2(&key, sizeof(key)), weight);
	}
	*weight += ns;
}

/* A blocking may take several waits for one, with what the thread did between. */
static void add_weight(GHashTable *weights, const DtcEngine *engine, const struct dtc_blocking *blocking)
{
	const DtcClocks *clocks = dtc_engine_get_clocks(engine);
	const DtcHistory *h = dtc_engine_get_history(engine, blocking->node);
	int64_t begin_ns = dtc_clocks_to_node(clocks, blocking->node, blocking->begin).ns;
	int64_t end_ns = dtc_clocks_to_node(clocks, blocking->node, blocking->end).ns;
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_get_interval_after(h, blocking->thread, begin_ns, &place);
	for (; v && v->begin_ns < end_ns; v = dtc_history_get_next_interval(h, &place)) {
		int64_t ns = MIN(v->end_ns, end_ns) - MAX(v->begin_ns, begin_ns);
		if (dtc_state_is_wait(v->state) && ns > 0)
			add_ns(weights, make_key(blocking->node, v->index), ns);
	}
}

/* Key -> ns of all requests; empty if there are none. NULL if the watcher stopped it. Caller unrefs. */
static GHashTable *weigh_all(const DtcEngine *engine, const struct dtc_watch *watch, guint *ret_count, GError **error)
{
	static const struct dtc_path_options whole = { 0 };
	g_autoptr(GHashTable) weights = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, g_free);
	const DtcRequests *requests = dtc_engine_get_requests(engine);
	const struct dtc_answer *answer;
	struct dtc_skipped skipped;
	*ret_count = 0;
	if (!requests || !dtc_requests_get_count(requests))
		return g_steal_pointer(&weights);
	g_autoptr(DtcAllRequests) all = dtc_all_requests_new(engine, &whole, watch, error);
	if (!all)
		return NULL;
	while ((answer = dtc_all_requests_next(all))) {
		(*ret_count)++;
		for (guint i = 0; i < dtc_path_get_blocking_count(answer->path); i++)
			add_weight(weights, engine, dtc_path_get_blocking(answer->path, i));
	}
	return dtc_all_requests_finish(all, &skipped, error) ? g_steal_pointer(&weights) : NULL;
}

static int64_t get_weight(gconstpointer data, guint node, uint32_t interval)
{
	gint64 key = make_key(node, interval);
	const int64_t *weight = g_hash_table_lookup((GHashTable *)data, &key);
	return weight ? *weight : 0;
}

/* ---- all together ---- */

static DtcBlocked *collect(const DtcEngine *engine, const struct dtc_blockings_options *options,
			   const struct dtc_selection *selection, GHashTable *weights)
{
	g_autofree struct dtc_blocked_part *parts = g_new0(struct dtc_blocked_part, selection->node_count + 1);
	const struct dtc_blocked_options blocked_options = {
		.parts = parts,
		.min_ns = options->min_ns,
		.weigh = weights ? get_weight : NULL,
		.weigh_data = weights,
		.lineage = selection->lineage,
		.lineage_node = selection->node,
	};

	for (guint node = 0; node < selection->node_count; node++)
		parts[node] = (struct dtc_blocked_part){ selection->spans[node].begin, selection->spans[node].end,
							 selection->wanted[node] };
	return dtc_blocked_new(dtc_engine_get_edges(engine), &blocked_options);
}

DtcBlockings *dtc_blockings_new(const DtcEngine *engine, const struct dtc_subject *subject,
				const struct dtc_blockings_options *options, const struct dtc_watch *watch,
				DtcFindings *findings, GError **error)
{
	g_autoptr(GHashTable) weights = NULL;
	guint request_count = 0;
	struct dtc_selection selection;

	if (!dtc_selection_find(subject, engine, findings, &selection, error))
		return NULL;
	bool is_weighed = selection.thread == DTC_NONE;
	if (is_weighed)
		weights = weigh_all(engine, watch, &request_count, error);
	if (is_weighed && !weights) {
		dtc_selection_clear(&selection);
		return NULL;
	}
	DtcBlockings *blockings = g_new0(DtcBlockings, 1);
	blockings->blocked = collect(engine, options, &selection, weights);
	blockings->request_count = request_count;
	if (selection.thread != DTC_NONE) {
		blockings->path = find_causality(engine, options, &selection);
		note_depth(blockings->path, findings);
		blockings->node = selection.node;
		blockings->thread = selection.thread;
		blockings->lineage = g_array_ref(selection.lineage);
		blockings->begin = dtc_path_get_begin(blockings->path);
		blockings->end = dtc_path_get_end(blockings->path);
	}
	dtc_selection_clear(&selection);
	return blockings;
}

void dtc_blockings_free(DtcBlockings *blockings)
{
	if (!blockings)
		return;
	dtc_blocked_free(blockings->blocked);
	dtc_path_free(blockings->path);
	if (blockings->lineage)
		g_array_unref(blockings->lineage);
	g_free(blockings);
}
