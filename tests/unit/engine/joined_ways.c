/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a spot on the ways of threads are alike, and those of many are verified together. */
#include "analyze/engine/engine.h"
#include "analyze/path/traverse_build.h"
#include "analyze/path/walk_check.h"
#include "dtrace-chain/error.h"
#include "tests/support/demo.h"

#define SPOTS_MAX 12 /* of a way that are gone on from */

struct demo {
	DtcFindings *findings;
	DtcBundle *bundle;
	DtcEngine *engine;
	const DtcLinks *links;
	GArray *targets; /* struct dtc_path_target: the lives of all threads that are seen for some time */
};

static void add_targets(struct demo *demo, guint node)
{
	const DtcHistory *h = dtc_links_get_history(demo->links, node);
	const DtcClocks *clocks = dtc_links_get_clocks(demo->links);

	for (uint32_t t = 0; t < dtc_history_get_thread_count(h); t++) {
		const struct dtc_thread *life = dtc_history_get_thread(h, t);
		const struct dtc_path_target target = {
			.node = node,
			.thread = t,
			.begin = dtc_clocks_to_cluster(clocks, node, (DtcNodeTime){ life->begin_ns }),
			.end = dtc_clocks_to_cluster(clocks, node, (DtcNodeTime){ life->end_ns }),
			.call = DTC_NONE,
		};
		if (life->idle_cpu < 0 && target.end.ns > target.begin.ns)
			g_array_append_val(demo->targets, target);
	}
}

static void begin(struct demo *demo)
{
	const struct dtc_engine_options options = { 0 };
	g_autoptr(GError) error = NULL;

	demo->findings = dtc_findings_new();
	demo->bundle = demo_open();
	demo->engine = dtc_engine_new(demo->bundle, &options, NULL, demo->findings, &error);
	g_assert_no_error(error);
	demo->links = dtc_engine_get_links(demo->engine);
	demo->targets = g_array_new(FALSE, FALSE, sizeof(struct dtc_path_target));
	for (guint node = 0; node < dtc_links_get_node_count(demo->links); node++)
		add_targets(demo, node);
	g_assert_cmpuint(demo->targets->len, >, 50);
}

static void end(struct demo *demo)
{
	g_array_unref(demo->targets);
	dtc_engine_free(demo->engine);
	dtc_bundle_free(demo->bundle);
	dtc_findings_free(demo->findings);
}

/* What is told of a way. */
struct told {
	GArray *segments; /* struct dtc_segment, the latest first */
	GArray *spots;	  /* struct dtc_spot; NULL: not noted */
	int64_t stride_ns;
};

static void explain(gpointer data, const struct dtc_segment *segment, const struct dtc_interval *interval)
{
	(void)interval;
	g_array_append_vals(((struct told *)data)->segments, segment, 1);
}

static bool pass(gpointer data, const struct dtc_spot *spot, int64_t *ret_next_ns)
{
	struct told *told = data;

	g_array_append_vals(told->spots, spot, 1);
	*ret_next_ns = spot->tc - told->stride_ns;
	return true;
}

static void take(const struct demo *demo, const struct dtc_traversal *of, struct told *told)
{
	const struct dtc_visitor visitor = { .explain = explain, .pass = told->spots ? pass : NULL };
	g_autoptr(DtcEdges) edges = dtc_edges_new(demo->links);

	told->segments = g_array_new(FALSE, FALSE, sizeof(struct dtc_segment));
	dtc_traverse(edges, of, &visitor, told);
}

/* Those of the one are the last of the other. */
static void compare_segments(const GArray *all, const GArray *rest)
{
	g_assert_cmpuint(rest->len, <=, all->len);
	for (guint i = 0; i < rest->len; i++) {
		const struct dtc_segment *a = &g_array_index(all, struct dtc_segment, all->len - rest->len + i);
		const struct dtc_segment *b = &g_array_index(rest, struct dtc_segment, i);
		g_assert_cmpint(a->begin.ns, ==, b->begin.ns);
		g_assert_cmpint(a->end.ns, ==, b->end.ns);
		g_assert_cmpuint(a->node, ==, b->node);
		g_assert_cmpuint(a->thread, ==, b->thread);
		g_assert_cmpuint(a->cause, ==, b->cause);
		g_assert_cmpuint(a->evidence.reason, ==, b->evidence.reason);
	}
}

/* Whoever goes on from a spot is told the same as who came by it. */
static void test_go_on(void)
{
	struct demo demo;
	guint count = 0;

	begin(&demo);
	for (guint i = 0; i < demo.targets->len; i++) {
		struct dtc_traversal of =
			dtc_path_get_traversal(&g_array_index(demo.targets, struct dtc_path_target, i));
		g_autoptr(GArray) spots = g_array_new(FALSE, FALSE, sizeof(struct dtc_spot));
		struct told all = { .spots = spots, .stride_ns = (of.end.ns - of.begin.ns) / SPOTS_MAX };
		take(&demo, &of, &all);
		for (guint k = 0; k < spots->len; k++) {
			struct told rest = { 0 };
			of.from = &g_array_index(spots, struct dtc_spot, k);
			take(&demo, &of, &rest);
			g_assert_cmpint(g_array_index(rest.segments, struct dtc_segment, 0).end.ns, ==, of.from->tc);
			compare_segments(all.segments, rest.segments);
			g_array_unref(rest.segments);
			count++;
		}
		g_array_unref(all.segments);
	}
	g_assert_cmpuint(count, >, 500);
	end(&demo);
}

static void check_all(const struct demo *demo, GError **errors)
{
	dtc_path_check_walks(demo->links, &g_array_index(demo->targets, struct dtc_path_target, 0), demo->targets->len,
			     errors);
}

/* All threads together, whose lives begin and end at different times; one that cannot be walked spoils no other. */
static void test_together(void)
{
	struct demo demo;

	begin(&demo);
	g_autofree GError **errors = g_new0(GError *, demo.targets->len + 1);
	check_all(&demo, errors);
	for (guint i = 0; i < demo.targets->len; i++)
		g_assert_no_error(errors[i]);
	struct dtc_path_target *empty = &g_array_index(demo.targets, struct dtc_path_target, 7);
	empty->end = empty->begin;
	check_all(&demo, errors);
	g_assert_error(errors[7], DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE);
	g_clear_error(&errors[7]);
	for (guint i = 0; i < demo.targets->len; i++)
		g_assert_no_error(errors[i]);
	dtc_path_check_walks(demo.links, NULL, 0, NULL);
	end(&demo);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/joined_ways/go_on", test_go_on);
	g_test_add_func("/engine/joined_ways/together", test_together);
	return g_test_run();
}
