/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Path and tree are two walks over one table of edges: what is put into the table by hand, against what the trace says,
 * is what both of them tell, and neither is made from the other.
 */
#include "analyze/path/path_build.h"
#include "analyze/path/tree.h"
#include "analyze/path/walk_check.h"
#include "dtrace-chain/error.h"
#include "sync/fit/clocks.h"
#include "tests/support/said.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define THREADS 3

struct table {
	struct story story;
	const DtcHistory *history;
	DtcClocks *clocks;
	DtcLinks *links;
	DtcEdges *edges;
};

/* Three threads on CPUs of their own, each of which a timer wakes from a sleep: 10 at 100, 11 at 80 and 12 at 60. */
static void table_begin(struct table *table)
{
	struct story *s = &table->story;
	struct dtc_clock_knot knots[] = { { 0, 0, -1, 1 }, { 100000, 100000, 99999, 100001 } };
	const char *name = "n";
	story_begin(s, "n");
	for (uint32_t i = 0; i < THREADS; i++) {
		story_switch(s, i, i, 0, "swapper", RUN, 10 + (int)i, "sleeper");
		story_enter(s, 10 + i, i, "nanosleep", -1);
		story_switch(s, 20 + i, i, 10 + (int)i, "sleeper", SLEEP, 0, "swapper");
	}
	for (uint32_t i = THREADS; i-- > 0;) {
		int64_t at = 100 - 20 * (int64_t)i;
		story_context(s, DTC_EVENT_HRTIMER_ENTRY, at, i, 0, NULL);
		story_task(s, DTC_EVENT_SCHED_WAKING, at, i, 10 + (int)i, "sleeper", (int)i);
		story_context(s, DTC_EVENT_HRTIMER_EXIT, at, i, 0, NULL);
		story_switch(s, at + 1, i, 0, "swapper", RUN, 10 + (int)i, "sleeper");
		story_leave(s, at + 2, i, "nanosleep", 0);
	}
	table->history = story_end(s);
	table->clocks = dtc_clocks_new(1, 0);
	dtc_clocks_set_node(table->clocks, 0, 0, knots, 2, 0);
	table->links = dtc_links_new(1, &name, &table->history, table->clocks);
	table->edges = dtc_edges_new(table->links);
}

static void table_end(struct table *table)
{
	dtc_edges_free(table->edges);
	dtc_links_free(table->links);
	dtc_clocks_free(table->clocks);
	story_clear(&table->story);
}

static uint32_t find_thread(const struct table *table, int tid)
{
	return dtc_history_find_thread(table->history, tid, DTC_TIME_NONE);
}

/* The sleep of a thread was ended by another one. */
static void put_thread(struct table *table, int tid, int64_t begin, int64_t end, int from_tid)
{
	struct dtc_edge edge = { .kind = DTC_EDGE_THREAD,
				 .link = DTC_LINK_INFERRED,
				 .thread = find_thread(table, tid),
				 .begin_ns = begin,
				 .end_ns = end,
				 .from_thread = find_thread(table, from_tid),
				 .from_ns = end,
				 .wake = DTC_NONE,
				 .block_request = DTC_NONE };
	dtc_edges_put(table->edges, &edge);
}

static DtcPath *ask(const struct table *table, bool path_only)
{
	const struct dtc_path_target target = {
		.thread = find_thread(table, 10), .begin = { 0 }, .end = { 102 }, .call = DTC_NONE
	};
	const struct dtc_path_options options = { .path_only = path_only };
	GError *error = NULL;
	DtcPath *path = dtc_path_walk(table->edges, &target, &options, &error);
	g_assert_no_error(error);
	g_assert_true(dtc_path_check(path, NULL));
	g_assert_true(dtc_path_check_walk(table->edges, &target, &error));
	g_assert_no_error(error);
	return path;
}

static const struct dtc_segment *find_segment(const DtcPath *path, int64_t time)
{
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++)
		if (dtc_path_get_segment(path, i)->end.ns >= time)
			return dtc_path_get_segment(path, i);
	g_assert_not_reached();
}

/* As the trace has it: each slept by itself. */
static void test_rules(void)
{
	struct table table = { 0 };
	table_begin(&table);
	g_autoptr(DtcPath) path = ask(&table, false);
	g_assert_cmpint(find_segment(path, 90)->tid, ==, 10);
	g_assert_cmpint(find_segment(path, 90)->cause, ==, DTC_CAUSE_TIMER);
	g_assert_cmpuint(dtc_path_get_blocking_count(path), ==, 1);
	g_assert_cmpstr(said_of_end(table.links, dtc_path_get_blocking(path, 0)), ==, "timer");
	table_end(&table);
}

/* What cannot be walked is wrong, and says why. */
static void test_no_span(void)
{
	struct table table = { 0 };
	table_begin(&table);
	const struct dtc_path_target target = {
		.thread = find_thread(&table, 10), .begin = { 5 }, .end = { 5 }, .call = DTC_NONE
	};
	g_autoptr(GError) error = NULL;
	g_assert_false(dtc_path_check_walk(table.edges, &target, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE);
	table_end(&table);
}

/* By hand: 10 waited for 11, which waited for 12. */
static void test_by_hand(void)
{
	struct table table = { 0 };
	table_begin(&table);
	put_thread(&table, 10, 20, 100, 11);
	put_thread(&table, 11, 21, 80, 12);
	g_autoptr(DtcPath) path = ask(&table, false), alone = ask(&table, true);
	g_assert_cmpint(find_segment(alone, 95)->tid, ==, 11);
	g_assert_cmpint(find_segment(alone, 75)->tid, ==, 12);
	g_assert_cmpint(find_segment(alone, 50)->tid, ==, 12);
	g_assert_cmpint(find_segment(alone, 50)->cause, ==, DTC_CAUSE_TIMER);
	g_assert_cmpuint(dtc_path_get_segment_count(alone), ==, dtc_path_get_segment_count(path));

	/* the tree without any path: the same waits, one beneath the other */
	const struct dtc_path_target target = {
		.thread = find_thread(&table, 10), .begin = { 0 }, .end = { 102 }, .call = DTC_NONE
	};
	g_autoptr(DtcPath) tree = dtc_path_new(target.begin, target.end);
	dtc_tree_add_waits(table.edges, &target, NULL, tree);
	dtc_path_finish(tree);
	g_assert_cmpuint(dtc_path_get_segment_count(tree), ==, 0);
	guint depths[THREADS] = { G_MAXUINT, G_MAXUINT, G_MAXUINT };
	for (guint i = 0; i < dtc_path_get_blocking_count(tree); i++) {
		const struct dtc_blocking *b = dtc_path_get_blocking(tree, i);
		if (b->ended.by != DTC_ENDED_BY_NOBODY)
			depths[b->tid - 10] = b->depth;
		if (b->tid == 10 && b->ended.by != DTC_ENDED_BY_NOBODY) {
			g_assert_cmpstr(said_of_end(table.links, b), ==, "sleeper (tid 11)");
			g_assert_cmpint(b->link, ==, DTC_LINK_INFERRED);
		}
		if (b->parent != G_MAXUINT) {
			g_assert_cmpint(b->begin.ns, >=, dtc_path_get_blocking(tree, b->parent)->begin.ns);
			g_assert_cmpint(b->end.ns, <=, dtc_path_get_blocking(tree, b->parent)->end.ns);
		}
	}
	for (guint i = 0; i < THREADS; i++)
		g_assert_cmpuint(depths[i], ==, i);
	g_assert_cmpuint(dtc_path_get_blocking_count(tree), ==, dtc_path_get_blocking_count(path));
	table_end(&table);
}

/* Two threads that woke each other at one instant: the way through the table ends all the same. */
static void test_circle(void)
{
	struct table table = { 0 };
	table_begin(&table);
	struct dtc_edge edge = { .kind = DTC_EDGE_THREAD,
				 .link = DTC_LINK_EXACT,
				 .thread = find_thread(&table, 10),
				 .begin_ns = 20,
				 .end_ns = 100,
				 .from_thread = find_thread(&table, 11),
				 .from_ns = 80,
				 .wake = DTC_NONE,
				 .block_request = DTC_NONE };
	dtc_edges_put(table.edges, &edge);
	put_thread(&table, 11, 21, 80, 12);
	edge.thread = find_thread(&table, 12);
	edge.begin_ns = 22;
	edge.end_ns = 60;
	edge.from_thread = find_thread(&table, 10);
	edge.from_ns = 100;
	dtc_edges_put(table.edges, &edge);
	g_autoptr(DtcPath) path = ask(&table, false);
	g_assert_cmpuint(dtc_path_get_segment_count(path), >, 0);
	table_end(&table);
}

/*
 * A chain of so many waits, each ended by a thread that waited until just before: the timer that woke the last explains
 * all of them, none of it is unknown, and the tree nests as deep.
 */
static void test_long_chain(void)
{
	const int count = 100000;
	struct table table = { 0 };
	struct story *s = &table.story;
	const char *name = "n";
	int64_t t = 10;
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "waits");
	for (int i = 0; i < count; i++) {
		story_enter(s, t, 0, "futex", -1);
		story_switch(s, t + 2, 0, 10 + i, "waits", SLEEP, i + 1 < count ? 11 + i : 0, "waits");
		t += 4;
	}
	int64_t slept_ns = t;
	t += 1000000;
	story_context(s, DTC_EVENT_HRTIMER_ENTRY, t, 0, 0, NULL);
	story_task(s, DTC_EVENT_SCHED_WAKING, t, 0, 9 + count, "waits", 0);
	story_context(s, DTC_EVENT_HRTIMER_EXIT, t + 1, 0, 0, NULL);
	story_switch(s, t + 2, 0, 0, "swapper/0", RUN, 9 + count, "waits");
	int64_t woken_ns = t;
	for (int i = count - 1; i > 0; i--) {
		t += 4;
		story_task(s, DTC_EVENT_SCHED_WAKING, t, 0, 9 + i, "waits", 0);
		story_switch(s, t + 2, 0, 10 + i, "waits", SLEEP, 9 + i, "waits");
	}
	t += 10;
	story_switch(s, t, 0, 10, "waits", SLEEP, 0, "swapper/0");
	table.history = story_end(s);
	struct dtc_clock_knot knots[] = { { 0, 0, -1, 1 }, { t, t, t - 1, t + 1 } };
	table.clocks = dtc_clocks_new(1, 0);
	dtc_clocks_set_node(table.clocks, 0, 0, knots, 2, 0);
	table.links = dtc_links_new(1, &name, &table.history, table.clocks);
	table.edges = dtc_edges_new(table.links);
	const struct dtc_path_target target = {
		.thread = find_thread(&table, 10), .begin = { 0 }, .end = { t - 1 }, .call = DTC_NONE
	};
	GError *error = NULL;
	g_autoptr(DtcPath) path = dtc_path_walk(table.edges, &target, NULL, &error);
	g_assert_no_error(error);
	g_assert_true(dtc_path_check(path, NULL));
	int64_t by_cause[DTC_CAUSES] = { 0 };
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(path, i);
		by_cause[segment->cause] += segment->end.ns - segment->begin.ns;
	}
	g_assert_cmpint(by_cause[DTC_CAUSE_UNKNOWN], ==, 0);
	g_assert_cmpint(by_cause[DTC_CAUSE_IPC], ==, 0);
	g_assert_cmpint(by_cause[DTC_CAUSE_LOCK], ==, 0);
	g_assert_cmpint(by_cause[DTC_CAUSE_TIMER], >=, woken_ns - slept_ns);
	guint deepest = 0;
	for (guint i = 0; i < dtc_path_get_blocking_count(path); i++)
		deepest = MAX(deepest, dtc_path_get_blocking(path, i)->depth);
	g_assert_cmpuint(deepest, >=, (guint)count - 2);
	table_end(&table);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/one-table/rules", test_rules);
	g_test_add_func("/one-table/no-span", test_no_span);
	g_test_add_func("/one-table/by-hand", test_by_hand);
	g_test_add_func("/one-table/circle", test_circle);
	g_test_add_func("/one-table/long-chain", test_long_chain);
	return g_test_run();
}
