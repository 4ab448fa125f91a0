/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/path/walk.h"

#include "analyze/path/path_build.h"
#include "analyze/path/traverse.h"
#include "analyze/path/tree.h"
#include "dtrace-chain/error.h"

/* Path and tree see the same way: it is taken once for both. */
struct walk {
	DtcPath *path;
	DtcTree *tree; /* or NULL */
};

static void add_segment(gpointer data, const struct dtc_segment *segment, const struct dtc_interval *interval)
{
	struct walk *walk = data;

	dtc_path_add_segment(walk->path, segment);
	if (walk->tree)
		dtc_tree_explain(walk->tree, segment, interval);
}

static void add_wait(gpointer data, const struct dtc_visit *visit)
{
	dtc_tree_wait(((struct walk *)data)->tree, visit);
}

static guint add_waiter(gpointer data, const struct dtc_waiter *waiter)
{
	return dtc_path_add_waiter(((struct walk *)data)->path, waiter);
}

static void add_reversal(gpointer data, const struct dtc_reversal *reversal)
{
	dtc_path_add_reversal(((struct walk *)data)->path, reversal);
}

bool dtc_path_can_walk(const DtcLinks *links, const struct dtc_path_target *target, GError **error)
{
	const DtcHistory *h = dtc_links_get_history(links, target->node);
	if (h && target->thread < dtc_history_get_thread_count(h) && target->end.ns > target->begin.ns)
		return true;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
		    "no span of a traced thread of '%s' to explain\nhint: the end must lie after the begin, within "
		    "the trace",
		    dtc_links_get_node_name(links, target->node));
	return false;
}

struct dtc_traversal dtc_path_get_traversal(const struct dtc_path_target *target)
{
	return (struct dtc_traversal){ .node = target->node,
				       .thread = target->thread,
				       .begin = target->begin,
				       .end = target->end,
				       .end_ns = DTC_TIME_NONE,
				       .call = target->call,
				       .serving = target->serving,
				       .owner = target->owner };
}

DtcPath *dtc_path_walk(const DtcEdges *edges, const struct dtc_path_target *target,
		       const struct dtc_path_options *options, GError **error)
{
	const struct dtc_visitor visitor = { .explain = add_segment,
					     .wait = options && options->path_only ? NULL : add_wait,
					     .enter = add_waiter,
					     .reverse = options && options->no_doubts ? NULL : add_reversal,
					     .no_doubts = options && options->no_doubts };
	const struct dtc_traversal of = dtc_path_get_traversal(target);
	if (!dtc_path_can_walk(dtc_edges_get_links(edges), target, error))
		return NULL;
	DtcPath *path = dtc_path_new(target->begin, target->end);
	g_autoptr(DtcTree) tree = visitor.wait ? dtc_tree_new(edges, target, options, path) : NULL;
	struct walk walk = { path, tree };
	dtc_traverse(edges, &of, &visitor, &walk);
	if (tree)
		dtc_tree_finish(tree);
	dtc_path_finish(path);
	return path;
}
