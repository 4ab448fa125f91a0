/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread that is stopped by a signal, or frozen with its cgroup, waits for nobody. */
#include "analyze/path/walk.h"
#include "sync/fit/clocks.h"
#include "tests/support/path_at.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define DISK 2
#define STOPPED 4 /* __TASK_STOPPED */
#define SERVER 10

static void assert_stopped(struct story *s, const int64_t *times, gsize count)
{
	const DtcHistory *history = story_end(s);
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = dtc_clocks_new(1, 0);
	struct dtc_clock_knot knots[] = { { 0, 0, -1, 1 }, { 100000, 100000, 99999, 100001 } };
	dtc_clocks_set_node(clocks, 0, 0, knots, 2, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	struct dtc_path_target target = { .thread = dtc_history_find_thread(history, SERVER, DTC_TIME_NONE),
					  .end = { 150 },
					  .call = DTC_NONE };
	struct dtc_path_options options = { 0 };
	GError *error = NULL;
	g_autoptr(DtcEdges) edges = dtc_edges_new(links);
	g_autoptr(DtcPath) path = dtc_path_walk(edges, &target, &options, &error);
	g_assert_no_error(error);
	dtc_path_check(path, &error);
	g_assert_no_error(error);
	for (gsize i = 0; i < count; i++) {
		g_assert_cmpint(path_at(path, times[i])->tid, ==, SERVER);
		g_assert_cmpint(path_at(path, times[i])->cause, ==, DTC_CAUSE_STOPPED);
	}
	g_assert_cmpint(path_at(path, 130)->cause, ==, DTC_CAUSE_RUNQUEUE);
	story_clear(s);
}

/* A shell sleeps, and then lets it go on. */
static void go_on(struct story *s, const char *call)
{
	story_enter(s, 50, 0, "nanosleep", -1);
	story_switch(s, 60, 0, 11, "shell", SLEEP, 0, "swapper/0");
	story_timer_wakes(s, 98, 100, 0, 11, "shell");
	story_switch(s, 110, 0, 0, "swapper/0", RUN, 11, "shell");
	story_leave(s, 112, 0, "nanosleep", 0);
	story_enter(s, 120, 0, call, -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, 125, 0, SERVER, "server", 0);
	story_leave(s, 128, 0, call, 0);
	story_switch(s, 135, 0, 11, "shell", SLEEP, SERVER, "server");
}

/* The sleep of the one that continues it is not why the stop lasted. */
static void test_stopped(void)
{
	static const int64_t times[] = { 30, 90, 124 };
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_switch(&s, 20, 0, SERVER, "server", STOPPED, 11, "shell");
	go_on(&s, "kill");
	story_switch(&s, 150, 0, SERVER, "server", SLEEP, 0, "swapper/0");
	assert_stopped(&s, times, G_N_ELEMENTS(times));
}

/* As a container that is paused: its call is broken off, and it sleeps outside of any until it is thawed. */
static void test_frozen(void)
{
	static const int64_t times[] = { 30, 90, 124 };
	for (int state = SLEEP; state <= DISK; state++) { /* of the freezer's second version, and of the first */
		struct story s;
		story_begin(&s, "n");
		story_switch(&s, 0, 0, 0, "swapper/0", RUN, SERVER, "server");
		story_enter(&s, 5, 0, "accept4", 3);
		story_switch(&s, 10, 0, SERVER, "server", SLEEP, 11, "shell");
		story_task(&s, DTC_EVENT_SCHED_WAKING, 12, 0, SERVER, "server", 0); /* by the freezer */
		story_switch(&s, 15, 0, 11, "shell", RUN, SERVER, "server");
		story_leave(&s, 18, 0, "accept4", state == SLEEP ? -4 : -512);
		story_switch(&s, 20, 0, SERVER, "server", state, 11, "shell");
		go_on(&s, "write");
		story_enter(&s, 137, 0, "accept4", 3);
		story_leave(&s, 140, 0, "accept4", 4);
		story_switch(&s, 150, 0, SERVER, "server", SLEEP, 0, "swapper/0");
		assert_stopped(&s, times, G_N_ELEMENTS(times));
	}
}

/*
 * The same of one that computes: it has the CPU again, or is interrupted, and sleeps at once. One that has run for a
 * while, and one that a thread of its own process lets go on, waits for something else: for a page, say.
 */
static void test_frozen_as_it_computes(void)
{
	enum { PREEMPTED, INTERRUPTED, LONG, BY_ITS_OWN, VARIANTS };

	for (guint variant = 0; variant < VARIANTS; variant++) {
		struct story s;
		int64_t at = variant == LONG ? 100000 : 20;
		story_begin(&s, "n");
		story_switch(&s, 0, 0, 0, "swapper/0", RUN, 9, "init");
		story_fork(&s, 0, 0, 9, 9, SERVER, SERVER, "server");
		story_fork(&s, 0, 0, 9, 9, 11, variant == BY_ITS_OWN ? SERVER : 11, "shell");
		story_switch(&s, 1, 0, 9, "init", SLEEP, SERVER, "server");
		story_enter(&s, 2, 0, "read", 3);
		story_leave(&s, 3, 0, "read", 4);
		if (variant != INTERRUPTED) {
			story_switch(&s, 10, 0, SERVER, "server", RUN, 11, "shell");
			story_switch(&s, 15, 0, 11, "shell", RUN, SERVER, "server");
		} else {
			story_context(&s, DTC_EVENT_IRQ_ENTRY, 14, 0, 9, "kick");
			story_context(&s, DTC_EVENT_IRQ_EXIT, 15, 0, 9, NULL);
		}
		story_switch(&s, at, 0, SERVER, "server", DISK, 11, "shell");
		story_enter(&s, at + 5, 0, "write", 7);
		story_task(&s, DTC_EVENT_SCHED_WAKING, at + 10, 0, SERVER, "server", 0);
		story_leave(&s, at + 12, 0, "write", 7);
		story_switch(&s, at + 15, 0, 11, "shell", SLEEP, SERVER, "server");
		story_end(&s);
		g_assert_cmpint(story_interval(&s, SERVER, at + 8)->state, ==,
				variant == LONG || variant == BY_ITS_OWN ? DTC_STATE_WAIT_DISK : DTC_STATE_STOPPED);
		story_clear(&s);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/path/stopped/by-a-signal", test_stopped);
	g_test_add_func("/path/stopped/by-a-freezer", test_frozen);
	g_test_add_func("/path/stopped/by-a-freezer-as-it-computes", test_frozen_as_it_computes);
	return g_test_run();
}
