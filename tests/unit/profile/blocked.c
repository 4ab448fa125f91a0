/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which waits make one row of the table of blockings, and what they add up to. */
#include "analyze/profile/blocked.h"
#include "sync/fit/clocks.h"
#include "tests/support/said.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1

static const struct dtc_blocked_options all = { .parts = NULL };

struct made {
	struct story story;
	const DtcHistory *history;
	DtcClocks *clocks;
	DtcLinks *links;
	DtcEdges *edges;
};

/* Thread 10 sleeps from begin to end on CPU 0; the waker acts there, too. */
static void sleep_until(struct story *s, int64_t begin, int64_t end, bool by_timer)
{
	story_switch(s, begin, 0, 10, "sleeper", SLEEP, 11, "waker");
	if (by_timer)
		story_context(s, DTC_EVENT_HRTIMER_ENTRY, end, 0, 1, NULL);
	story_task(s, DTC_EVENT_SCHED_WAKING, end, 0, 10, "sleeper", 0);
	if (by_timer)
		story_context(s, DTC_EVENT_HRTIMER_EXIT, end, 0, 1, NULL);
	story_switch(s, end + 1, 0, 11, "waker", RUN, 10, "sleeper");
}

/* read(3): 20 and 30 by the waker, 50 by a timer; futex: 5 by the waker; the last one does not end. */
static void make(struct made *made)
{
	static const char *const names[] = { "n" };
	struct story *s = &made->story;

	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "sleeper");
	story_enter(s, 5, 0, "read", 3);
	sleep_until(s, 10, 30, false);
	story_leave(s, 35, 0, "read", 1);
	story_enter(s, 95, 0, "read", 3);
	sleep_until(s, 100, 130, false);
	sleep_until(s, 200, 250, true);
	story_leave(s, 255, 0, "read", 1);
	story_enter(s, 290, 0, "futex", -1);
	sleep_until(s, 300, 305, false);
	story_leave(s, 310, 0, "futex", 0);
	story_switch(s, 400, 0, 10, "sleeper", SLEEP, 11, "waker");
	story_switch(s, 1000, 0, 11, "waker", RUN, 0, "swapper/0");
	made->history = story_end(s);
	made->clocks = dtc_clocks_new_identity(1);
	made->links = dtc_links_new(1, names, &made->history, made->clocks);
	made->edges = dtc_edges_new(made->links);
}

static void made_clear(struct made *made)
{
	dtc_edges_free(made->edges);
	dtc_links_free(made->links);
	dtc_clocks_free(made->clocks);
	story_clear(&made->story);
}

static void assert_row(const struct made *made, const DtcBlocked *blocked, guint index, const char *call,
		       const char *waker, uint64_t count, int64_t total_ns, int64_t max_ns, int64_t max_begin_ns)
{
	const struct dtc_blocked_row *row = dtc_blocked_get_row(blocked, index);

	g_assert_cmpstr(said_of_blocked_call(made->links, row), ==, call);
	g_assert_cmpstr(said_of_blocked_end(made->links, row), ==, waker);
	g_assert_cmpuint(row->count, ==, count);
	g_assert_cmpint(row->total_ns, ==, total_ns);
	g_assert_cmpint(row->max_ns, ==, max_ns);
	g_assert_cmpint(row->max_begin.ns, ==, max_begin_ns);
}

static void test_rows(void)
{
	struct made made = { 0 };

	make(&made);
	g_autoptr(DtcBlocked) blocked = dtc_blocked_new(made.edges, &all);
	g_assert_cmpuint(dtc_blocked_get_count(blocked), ==, 4);
	assert_row(&made, blocked, 0, NULL, NULL, 1, 600, 600, 400);
	/* of equal totals the one whose first wait was first */
	assert_row(&made, blocked, 1, "read(fd 3)", "waker (tid 11)", 2, 50, 30, 100);
	assert_row(&made, blocked, 2, "read(fd 3)", "timer", 1, 50, 50, 200);
	assert_row(&made, blocked, 3, "futex", "waker (tid 11)", 1, 5, 5, 300);
	made_clear(&made);
}

/* By how often, whoever the threads were; the counts sum to the waits that ended. */
static void test_contexts(void)
{
	struct made made = { 0 };

	make(&made);
	g_autoptr(DtcBlocked) blocked = dtc_blocked_new(made.edges, &all);
	const struct dtc_blocked_row *open = dtc_blocked_get_row(blocked, 0), *read = dtc_blocked_get_row(blocked, 1),
				     *timer = dtc_blocked_get_row(blocked, 2);
	g_assert_cmpuint(open->contexts->len, ==, 0);
	g_assert_cmpuint(read->contexts->len, ==, 1);
	const struct dtc_blocked_context *first = &g_array_index(read->contexts, struct dtc_blocked_context, 0);
	g_assert_cmpint(first->first.mode, ==, DTC_WAKE_IN_USER);
	g_assert_cmpuint(first->count, ==, 2);
	first = &g_array_index(timer->contexts, struct dtc_blocked_context, 0);
	g_assert_cmpint(first->first.mode, ==, DTC_WAKE_IN_IRQ);
	g_assert_cmpuint(first->count, ==, 1);
	made_clear(&made);
}

static void test_selection(void)
{
	struct made made = { 0 };

	make(&made);
	g_autofree uint8_t *threads = g_new0(uint8_t, dtc_history_get_thread_count(made.history) + 1);
	struct dtc_blocked_part part = { .begin = { 20 }, .end = { 110 }, .threads = threads };
	struct dtc_blocked_options options = { .parts = &part };
	uint32_t waiter = dtc_history_find_thread(made.history, 10, DTC_TIME_NONE);
	threads[waiter] = true;
	g_autoptr(DtcBlocked) cut = dtc_blocked_new(made.edges, &options);
	g_assert_cmpuint(dtc_blocked_get_count(cut), ==, 1);
	assert_row(&made, cut, 0, "read(fd 3)", "waker (tid 11)", 2, 10 + 10, 10, 20);

	part.threads = NULL; /* all threads are cut, too */
	g_autoptr(DtcBlocked) of_all = dtc_blocked_new(made.edges, &options);
	for (guint i = 0; i < dtc_blocked_get_count(of_all); i++)
		g_assert_cmpint(dtc_blocked_get_row(of_all, i)->total_ns, <=, 90);
	part.threads = threads;

	part.begin.ns = 0;
	part.end.ns = 1000;
	options.min_ns = 30;
	g_autoptr(DtcBlocked) longer = dtc_blocked_new(made.edges, &options);
	g_assert_cmpuint(dtc_blocked_get_count(longer), ==, 3);
	assert_row(&made, longer, 2, "read(fd 3)", "waker (tid 11)", 1, 30, 30, 100);

	threads[waiter] = false;
	threads[dtc_history_find_thread(made.history, 11, DTC_TIME_NONE)] = true;
	g_autoptr(DtcBlocked) other = dtc_blocked_new(made.edges, &options);
	g_assert_cmpuint(dtc_blocked_get_count(other), ==, 0);

	threads[waiter] = true;
	part.end = part.begin; /* nothing of this node */
	g_autoptr(DtcBlocked) none = dtc_blocked_new(made.edges, &options);
	g_assert_cmpuint(dtc_blocked_get_count(none), ==, 0);
	made_clear(&made);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/blocked/rows", test_rows);
	g_test_add_func("/blocked/contexts", test_contexts);
	g_test_add_func("/blocked/selection", test_selection);
	return g_test_run();
}
