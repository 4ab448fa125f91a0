/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread (21) waits for what a loop (20) does when its timer is due. Meanwhile another one (22) wakes the loop, which
 * polls again for what is left of the time. Times are in microseconds.
 *
 *   20   30 polls, 30 ms   20001 wakes, 20100 polls, 10 ms   30151 wakes, 30160 wakes 21
 */
#include "analyze/path/walk.h"
#include "sync/fit/clocks.h"
#include "tests/support/path_at.h"
#include "tests/support/story.h"

#define US ((int64_t)1000)
#define RUN 0
#define SLEEP 1
#define LOOP 20
#define WAITER 21
#define OTHER 22

static void sleeps(struct story *s, int64_t us, int64_t timeout_ms)
{
	story_poll(s, us * US, 0, "epoll_wait", 3, timeout_ms);
	story_switch(s, us * US + 500, 0, LOOP, "loop", SLEEP, 0, "swapper/0");
}

static void wakes(struct story *s, int64_t us, int64_t result)
{
	story_switch(s, us * US, 0, 0, "swapper/0", RUN, LOOP, "loop");
	story_leave(s, us * US + 500, 0, "epoll_wait", result);
}

static void tell(struct story *s, int64_t first_timeout_ms)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, LOOP, "loop");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, WAITER, "waiter");
	story_switch(s, 2, 2, 0, "swapper/2", RUN, OTHER, "other");
	story_enter(s, 10 * US, 1, "futex", -1);
	story_switch(s, 11 * US, 1, WAITER, "waiter", SLEEP, 0, "swapper/1");
	sleeps(s, 30, first_timeout_ms);
	story_enter(s, 20000 * US, 2, "write", 9);
	story_task(s, DTC_EVENT_SCHED_WAKING, 20000 * US + 500, 2, LOOP, "loop", 0);
	story_leave(s, 20000 * US + 600, 2, "write", 8);
	wakes(s, 20001, 1);
	sleeps(s, 20100, 10);
	story_timer_wakes(s, 30149 * US, 30150 * US, 0, LOOP, "loop");
	wakes(s, 30151, 0);
	story_enter(s, 30160 * US, 0, "futex", -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, 30160 * US + 500, 0, WAITER, "waiter", 1);
	story_leave(s, 30161 * US, 0, "futex", 1);
	story_switch(s, 30165 * US, 1, 0, "swapper/1", RUN, WAITER, "waiter");
	story_leave(s, 30166 * US, 1, "futex", 0);
	story_switch(s, 30200 * US, 1, WAITER, "waiter", SLEEP, 0, "swapper/1");
	story_end(s);
}

static DtcPath *walk(const struct story *s)
{
	const DtcHistory *history = s->history;
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	const struct dtc_path_target target = { .thread = dtc_history_find_thread(history, WAITER, DTC_TIME_NONE),
						.begin = { 5 * US },
						.end = { 30200 * US },
						.call = DTC_NONE };
	GError *error = NULL;
	g_autoptr(DtcEdges) edges = dtc_edges_new(links);
	DtcPath *path = dtc_path_walk(edges, &target, NULL, &error);
	g_assert_no_error(error);
	g_assert_true(dtc_path_check(path, &error));
	return path;
}

static void assert_segment(const DtcPath *path, int64_t us, int tid, enum dtc_cause cause)
{
	const struct dtc_segment *s = path_at(path, us * US);
	g_assert_cmpint(s->tid, ==, tid);
	g_assert_cmpstr(dtc_cause_to_string(s->cause), ==, dtc_cause_to_string(cause));
}

/* The timer lasted from when it was set, whoever woke the loop meanwhile. */
static void test_set_before(void)
{
	struct story s;
	tell(&s, 30);
	g_autoptr(DtcPath) path = walk(&s);
	assert_segment(path, 30155, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 25000, LOOP, DTC_CAUSE_TIMER);
	assert_segment(path, 20050, LOOP, DTC_CAUSE_TIMER);
	assert_segment(path, 15000, LOOP, DTC_CAUSE_TIMER);
	g_assert_cmpint(path_at(path, 15000 * US)->link, ==, DTC_LINK_INFERRED);
	assert_segment(path, 20, LOOP, DTC_CAUSE_RUNNING_USER);
	story_clear(&s);
}

/* The loop polled for something later at first: who woke it had it set the timer. */
static void test_set_then(void)
{
	struct story s;
	tell(&s, 100);
	g_autoptr(DtcPath) path = walk(&s);
	assert_segment(path, 25000, LOOP, DTC_CAUSE_TIMER);
	assert_segment(path, 20050, LOOP, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 15000, OTHER, DTC_CAUSE_RUNNING_USER);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/path/set-timer/before", test_set_before);
	g_test_add_func("/path/set-timer/then", test_set_then);
	return g_test_run();
}
