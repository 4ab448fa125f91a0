/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/path/walk.h"

#include "analyze/path/path_build.h"
#include "analyze/path/traverse.h"
#include "analyze/path/tree.h"
#include "dtrace-chain/error.h"

static void add_segment(gpointer data, const struct dtc_segment *segment, const struct dtc_interval *interval)
{
	(void)interval;
	dtc_path_add_segment(data, segment);
}

static guint add_waiter(gpointer data, const struct dtc_waiter *waiter)
{
	return dtc_path_add_waiter(data, waiter);
}

static void add_reversal(gpointer data, const struct dtc_reversal *reversal)
{
	dtc_path_add_reversal(data, reversal);
}

DtcPath *dtc_path_walk(const DtcEdges *edges, const struct dtc_path_target *target,
		       const struct dtc_path_options *options, GError **error)
{
	static const struct dtc_visitor visitor = { .explain = add_segment,
						    .enter = add_waiter,
						    .reverse = add_reversal };
	const DtcLinks *links = dtc_edges_get_links(edges);
	const DtcHistory *h = dtc_links_get_history(links, target->node);
	if (!h || target->thread >= dtc_history_get_thread_count(h) || target->end.ns <= target->begin.ns) {
		g_set_error(
			error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			"no span of a traced thread of '%s' to explain\nhint: the end must lie after the begin, within "
			"the trace",
			dtc_links_get_node_name(links, target->node));
		return NULL;
	}
	const struct dtc_traversal of = { .node = target->node,
					  .thread = target->thread,
					  .begin = target->begin,
					  .end = target->end,
					  .end_ns = DTC_TIME_NONE,
					  .call = target->call,
					  .serving = target->serving };
	DtcPath *path = dtc_path_new(target->begin, target->end);
	dtc_traverse(edges, &of, &visitor, path);
	if (!options || !options->path_only)
		dtc_tree_add(edges, target, options, path);
	dtc_path_finish(path);
	return path;
}
