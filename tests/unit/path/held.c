/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A server whose cgroup may use 20 ms of each 100 (a container's limit, recorded of a real one): it runs 18 ms, loses
 * its CPU to a task that soon sleeps, and although that CPU is idle then it is not let run before the next period. What
 * other threads of it are woken for meanwhile waits as long, though their CPUs are idle, too.
 */
#include "analyze/path/walk.h"
#include "sync/fit/clocks.h"
#include "tests/support/path_at.h"
#include "tests/support/said.h"
#include "tests/support/story.h"

#define MS INT64_C(1000000)
#define RUN 0
#define SLEEP 1
#define SERVER 20
#define WORKER 21
#define HELD_NS (20 * MS) /* from when on its CPU is idle */
#define WOKEN_NS (25 * MS)

struct cluster {
	struct story web;
	DtcLinks *links;
	DtcClocks *clocks;
	const DtcHistory *history;
	const char *name;
};

/* back_ns: when the server has its CPU again; the worker has its own then, too. */
static void tell(struct cluster *c, int64_t back_ns, bool is_one_process)
{
	struct story *s = &c->web;
	struct dtc_clock_knot knots[] = { { 0, 0, 0, 0 }, { 1000 * MS, 1000 * MS, 1000 * MS, 1000 * MS } };

	c->name = "web";
	story_begin(s, c->name);
	story_switch(s, 0, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, 40, "parent");
	story_fork(s, MS, 0, SERVER, SERVER, is_one_process ? WORKER : 22, SERVER, "worker");
	if (!is_one_process)
		story_fork(s, MS, 1, 40, 40, WORKER, 40, "worker");
	story_switch(s, 2 * MS, 1, 40, "parent", SLEEP, WORKER, "worker");
	story_switch(s, 3 * MS, 1, WORKER, "worker", SLEEP, 0, "swapper/1");
	story_switch(s, 18 * MS, 0, SERVER, "server", RUN, 30, "other");
	story_switch(s, HELD_NS, 0, 30, "other", SLEEP, 0, "swapper/0");
	story_task(s, DTC_EVENT_SCHED_WAKING, WOKEN_NS, 0, WORKER, "worker", 1);
	story_task(s, DTC_EVENT_SCHED_WAKEUP, WOKEN_NS, 0, WORKER, "worker", 1);
	story_switch(s, back_ns, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_switch(s, back_ns + 5 * MS, 1, 0, "swapper/1", RUN, WORKER, "worker");
	story_switch(s, back_ns + 10 * MS, 0, SERVER, "server", SLEEP, 0, "swapper/0");
	story_switch(s, back_ns + 10 * MS, 1, WORKER, "worker", SLEEP, 0, "swapper/1");
	c->history = story_end(s);
	c->clocks = dtc_clocks_new(1, 0);
	dtc_clocks_set_node(c->clocks, 0, 0, knots, 2, 0);
	c->links = dtc_links_new(1, &c->name, &c->history, c->clocks);
}

static void clear(struct cluster *c)
{
	dtc_links_free(c->links);
	dtc_clocks_free(c->clocks);
	story_clear(&c->web);
}

static DtcPath *walk(const struct cluster *c, int tid, int64_t end_ns)
{
	const struct dtc_path_target target = { .thread = dtc_history_find_thread(c->history, tid, DTC_TIME_NONE),
						.begin = { 10 * MS },
						.end = { end_ns },
						.call = DTC_NONE };
	g_autoptr(DtcEdges) edges = dtc_edges_new(c->links);
	g_autoptr(GError) error = NULL;
	DtcPath *path = dtc_path_walk(edges, &target, NULL, &error);

	g_assert_no_error(error);
	dtc_path_check(path, &error);
	g_assert_no_error(error);
	return path;
}

static void assert_part(const struct cluster *c, const DtcPath *path, int64_t begin_ns, int64_t end_ns,
			enum dtc_cause cause, const char *said)
{
	const struct dtc_segment *s = path_at(path, end_ns);

	g_assert_cmpint(s->begin.ns, ==, begin_ns);
	g_assert_cmpint(s->end.ns, ==, end_ns);
	g_assert_cmpstr(dtc_cause_to_string(s->cause), ==, dtc_cause_to_string(cause));
	g_assert_cmpint(s->link, ==, cause == DTC_CAUSE_CPU_LIMIT ? DTC_LINK_INFERRED : DTC_LINK_EXACT);
	g_assert_cmpstr(said_of_segment(c->links, s), ==, said);
}

static void test_held(void)
{
	int64_t back_ns = 82 * MS;
	struct cluster c;

	tell(&c, back_ns, true);
	g_autoptr(DtcPath) path = walk(&c, SERVER, back_ns + MS);
	assert_part(&c, path, 18 * MS, HELD_NS, DTC_CAUSE_PREEMPTED, "by other (tid 30)");
	assert_part(&c, path, HELD_NS, back_ns, DTC_CAUSE_CPU_LIMIT,
		    "held as by its cgroup's cpu.max: its CPU was idle for 62.000 of 62.000 ms");
	g_autoptr(DtcPath) cut = walk(&c, SERVER, 50 * MS); /* where what is asked about ends in the middle of it */
	assert_part(&c, cut, HELD_NS, 50 * MS, DTC_CAUSE_CPU_LIMIT,
		    "held as by its cgroup's cpu.max: its CPU was idle for 62.000 of 62.000 ms");
	clear(&c);
}

/* Up to the next period; from there on its CPU takes its time. */
static void test_woken_meanwhile(void)
{
	int64_t back_ns = 82 * MS;
	struct cluster c;

	tell(&c, back_ns, true);
	g_autoptr(DtcPath) path = walk(&c, WORKER, back_ns + 6 * MS);
	assert_part(&c, path, WOKEN_NS, back_ns, DTC_CAUSE_CPU_LIMIT,
		    "held as by its cgroup's cpu.max: its CPU was idle for 57.000 of 57.000 ms");
	assert_part(&c, path, back_ns, back_ns + 5 * MS, DTC_CAUSE_RUNQUEUE, "the CPU was still idle");
	clear(&c);
}

/* A CPU in deep sleep, or a virtual one that its host does not run, is as late. */
static void test_woken_of_another(void)
{
	struct cluster c;

	tell(&c, 82 * MS, false);
	g_autoptr(DtcPath) path = walk(&c, WORKER, 88 * MS);
	assert_part(&c, path, WOKEN_NS, 87 * MS, DTC_CAUSE_RUNQUEUE, "the CPU was still idle");
	clear(&c);
}

/* Idle CPUs take from the queues of others at the next tick. */
static void test_moved(void)
{
	struct cluster c;

	tell(&c, HELD_NS + 10 * MS - 1, true);
	g_autoptr(DtcPath) path = walk(&c, SERVER, HELD_NS + 10 * MS);
	assert_part(&c, path, 18 * MS, HELD_NS + 10 * MS - 1, DTC_CAUSE_PREEMPTED, "the CPU was still idle");
	clear(&c);
}

/*
 * The limit is known, and another one has the CPU whenever the server has not (recorded of a real one): it loses it
 * twice for a while before it has spent its 20 ms, and is back after the other's turn when the next period begins.
 */
#define PERIOD_TIMER 0x7000
#define NEXT_NS (80 * MS)

static void tell_contention(struct cluster *c, int64_t throttled, int64_t quota_us)
{
	struct story *s = &c->web;
	struct dtc_clock_knot knots[] = { { 0, 0, 0, 0 }, { 1000 * MS, 1000 * MS, 1000 * MS, 1000 * MS } };
	static const int64_t has_cpu_ms[][2] = { { 0, 8 }, { 16, 24 }, { 28, 32 }, { 86, 100 } };
	struct dtc_event limit = story_event(DTC_EVENT_DUMP_CPU_LIMIT, 0, 0);

	c->name = "web";
	story_begin(s, c->name);
	limit.v[DTC_DUMP_LIMIT_PID] = SERVER;
	limit.v[DTC_DUMP_LIMIT_QUOTA] = quota_us;
	limit.v[DTC_DUMP_LIMIT_PERIOD] = 100000;
	limit.v[DTC_DUMP_LIMIT_THROTTLED] = throttled;
	limit.v[DTC_DUMP_LIMIT_THROTTLED_US] = 48000;
	limit.v[DTC_DUMP_LIMIT_TIMER] = PERIOD_TIMER;
	limit.text[0] = "/docker/3f2a";
	dtc_machine_apply(s->machine, &limit);
	for (guint i = 0; i < G_N_ELEMENTS(has_cpu_ms); i++) {
		if (has_cpu_ms[i][0] > NEXT_NS / MS) {
			story_context(s, DTC_EVENT_HRTIMER_ENTRY, NEXT_NS, 1, PERIOD_TIMER, NULL);
			story_context(s, DTC_EVENT_HRTIMER_EXIT, NEXT_NS + 1000, 1, PERIOD_TIMER, NULL);
		}
		story_switch(s, has_cpu_ms[i][0] * MS, 0, 30, "other", RUN, SERVER, "server");
		story_switch(s, has_cpu_ms[i][1] * MS, 0, SERVER, "server", RUN, 30, "other");
	}
	story_fork(s, 100 * MS, 0, SERVER, SERVER, 22, SERVER, "worker");
	c->history = story_end(s);
	c->clocks = dtc_clocks_new(1, 0);
	dtc_clocks_set_node(c->clocks, 0, 0, knots, 2, 0);
	c->links = dtc_links_new(1, &c->name, &c->history, c->clocks);
}

static void test_spent(void)
{
	struct cluster c;

	tell_contention(&c, 1, 20000);
	g_autoptr(DtcPath) path = walk(&c, SERVER, 90 * MS);
	assert_part(&c, path, 10 * MS, 16 * MS, DTC_CAUSE_PREEMPTED, "by other (tid 30)");
	assert_part(&c, path, 24 * MS, 28 * MS, DTC_CAUSE_PREEMPTED, "by other (tid 30)");
	assert_part(&c, path, 32 * MS, NEXT_NS, DTC_CAUSE_CPU_LIMIT,
		    "its cgroup may use 20 ms of CPU in 100 ms, and had (cpu.max of /docker/3f2a)");
	assert_part(&c, path, NEXT_NS, 86 * MS, DTC_CAUSE_PREEMPTED, "by other (tid 30)");
	clear(&c);
}

/* The limit is not the cause where cpu.stat has no throttling, nor where of 50 ms just 20 were used. */
static void test_not_held(void)
{
	static const struct {
		int64_t throttled;
		int64_t quota_us;
	} limits[] = { { 0, 20000 }, { 1, 50000 } };

	for (gsize i = 0; i < G_N_ELEMENTS(limits); i++) {
		struct cluster c;
		tell_contention(&c, limits[i].throttled, limits[i].quota_us);
		g_autoptr(DtcPath) path = walk(&c, SERVER, 90 * MS);
		assert_part(&c, path, 32 * MS, 86 * MS, DTC_CAUSE_PREEMPTED, "by other (tid 30)");
		clear(&c);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/held/by-limit", test_held);
	g_test_add_func("/held/woken-meanwhile", test_woken_meanwhile);
	g_test_add_func("/held/woken-of-another", test_woken_of_another);
	g_test_add_func("/held/moved", test_moved);
	g_test_add_func("/held/spent", test_spent);
	g_test_add_func("/held/not-held", test_not_held);
	return g_test_run();
}
