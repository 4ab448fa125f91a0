/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk and the causality on small stories of one or two nodes, whose clocks are the same or shifted. */
#include "analyze/path/walk.h"
#include "analyze/edge/arrival.h"
#include "sync/fit/clocks.h"
#include "tests/support/path_at.h"
#include "tests/support/said.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define DISK 2
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define SHIFT 1000000 /* the server's clock is this far ahead of the client's */

static DtcClocks *make_clocks(guint count, int64_t shift)
{
	DtcClocks *clocks = dtc_clocks_new(count, 0);
	for (guint i = 0; i < count; i++) {
		int64_t by = i ? shift : 0;
		struct dtc_clock_knot knots[] = { { by, 0, -1, 1 }, { 100000 + by, 100000, 99999, 100001 } };
		dtc_clocks_set_node(clocks, i, 0, knots, 2, 0);
	}
	return clocks;
}

static void assert_segment(const DtcPath *path, int64_t t, guint node, int tid, enum dtc_cause cause)
{
	const struct dtc_segment *s = path_at(path, t);
	g_assert_cmpuint(s->node, ==, node);
	g_assert_cmpint(s->tid, ==, tid);
	g_assert_cmpstr(dtc_cause_to_string(s->cause), ==, dtc_cause_to_string(cause));
}

static DtcPath *walk(const DtcLinks *links, guint node, int tid, int64_t begin, int64_t end)
{
	struct dtc_path_target target = { .node = node,
					  .thread = dtc_history_find_thread(dtc_links_get_history(links, node), tid,
									    DTC_TIME_NONE),
					  .begin = { begin },
					  .end = { end },
					  .call = DTC_NONE };
	struct dtc_path_options options = { 0 };
	GError *error = NULL;
	g_autoptr(DtcEdges) edges = dtc_edges_new(links);
	DtcPath *path = dtc_path_walk(edges, &target, &options, &error);
	g_assert_no_error(error);
	dtc_path_check(path, &error);
	g_assert_no_error(error);
	return path;
}

/* The holder of a lock runs, then sleeps; the waiter's time is the holder's, reached through the lock. */
static void test_lock(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "waiter");
	story_enter(&s, 10, 0, "futex", -1);
	story_switch(&s, 20, 0, 10, "waiter", SLEEP, 11, "holder");
	story_enter(&s, 50, 0, "nanosleep", -1);
	story_switch(&s, 60, 0, 11, "holder", SLEEP, 0, "swapper/0");
	story_context(&s, DTC_EVENT_HRTIMER_ENTRY, 99, 0, 1, NULL);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 100, 0, 11, "holder", 0);
	story_context(&s, DTC_EVENT_HRTIMER_EXIT, 101, 0, 1, NULL);
	story_switch(&s, 110, 0, 0, "swapper/0", RUN, 11, "holder");
	story_leave(&s, 112, 0, "nanosleep", 0);
	story_enter(&s, 120, 0, "futex", -1);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 125, 0, 10, "waiter", 0);
	story_leave(&s, 128, 0, "futex", 1);
	story_switch(&s, 130, 0, 11, "holder", SLEEP, 10, "waiter");
	story_leave(&s, 135, 0, "futex", 0);
	story_switch(&s, 150, 0, 10, "waiter", SLEEP, 0, "swapper/0");
	const DtcHistory *history = story_end(&s);
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = make_clocks(1, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	g_autoptr(DtcPath) path = walk(links, 0, 10, 0, 150);
	assert_segment(path, 10, 0, 10, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 20, 0, 10, DTC_CAUSE_RUNNING_KERNEL);
	assert_segment(path, 40, 0, 11, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 90, 0, 11, DTC_CAUSE_TIMER);
	assert_segment(path, 110, 0, 11, DTC_CAUSE_RUNQUEUE);
	assert_segment(path, 125, 0, 11, DTC_CAUSE_RUNNING_KERNEL);
	assert_segment(path, 130, 0, 10, DTC_CAUSE_RUNQUEUE);
	assert_segment(path, 150, 0, 10, DTC_CAUSE_RUNNING_USER);
	/* in the middle of the wait, its end is known all the same: it waits for the holder already */
	g_autoptr(DtcPath) cut = walk(links, 0, 10, 0, 90);
	assert_segment(cut, 80, 0, 11, DTC_CAUSE_TIMER);
	assert_segment(cut, 40, 0, 11, DTC_CAUSE_RUNNING_USER);
	assert_segment(cut, 20, 0, 10, DTC_CAUSE_RUNNING_KERNEL);
	g_assert_cmpint(dtc_path_get_blocking(cut, 0)->cause, ==, DTC_CAUSE_LOCK);
	/* what the holder did is told for the one who waited */
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(path, i);
		const struct dtc_waiter *waiter = dtc_path_get_waiter(path, segment->waiter);
		g_assert_cmpint(waiter != NULL, ==, segment->tid == 11);
		g_assert_cmpint(waiter ? dtc_history_get_thread(history, waiter->thread)->tid : 10, ==, 10);
	}
	/* beneath the waiter's blocking on the lock: the holder's sleep */
	g_assert_cmpuint(dtc_path_get_blocking_count(path), ==, 4);
	g_assert_cmpint(dtc_path_get_blocking(path, 0)->cause, ==, DTC_CAUSE_LOCK);
	g_assert_cmpstr(said_of_end(links, dtc_path_get_blocking(path, 0)), ==, "holder (tid 11)");
	const enum dtc_cause beneath[] = { DTC_CAUSE_RUNNING_USER, DTC_CAUSE_TIMER, DTC_CAUSE_RUNQUEUE };
	for (guint i = 0; i < G_N_ELEMENTS(beneath); i++) {
		g_assert_cmpint(dtc_path_get_blocking(path, i + 1)->cause, ==, beneath[i]);
		g_assert_cmpuint(dtc_path_get_blocking(path, i + 1)->parent, ==, 0);
		g_assert_cmpint(dtc_path_get_blocking(path, i + 1)->tid, ==, 11);
	}
	g_assert_cmpint(dtc_path_get_blocking(path, 1)->end.ns - dtc_path_get_blocking(path, 1)->begin.ns, ==, 40);
	story_clear(&s);
}

/* The waker's own wait began before the one it ended: what it waited for before is no part of the answer. */
static void test_wait_before_wait(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 11, "b");
	story_switch(&s, 1, 1, 0, "swapper/1", RUN, 12, "c");
	story_switch(&s, 20, 0, 11, "b", SLEEP, 10, "a");
	story_switch(&s, 60, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 80, 1, 11, "b", 0);
	story_switch(&s, 85, 0, 0, "swapper/0", RUN, 11, "b");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 90, 0, 10, "a", 0);
	story_switch(&s, 95, 0, 11, "b", SLEEP, 10, "a");
	story_switch(&s, 100, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_switch(&s, 101, 1, 12, "c", SLEEP, 0, "swapper/1");
	const DtcHistory *history = story_end(&s);
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = make_clocks(1, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	g_autoptr(DtcPath) path = walk(links, 0, 10, 20, 100);
	assert_segment(path, 60, 0, 10, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 61, 0, 12, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 80, 0, 12, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 85, 0, 11, DTC_CAUSE_RUNQUEUE);
	assert_segment(path, 90, 0, 11, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 95, 0, 10, DTC_CAUSE_RUNQUEUE);
	story_clear(&s);
}

/* Nested and interleaved wakeups: a waits for b, b for c; the path goes down to c and back up at each begin. */
static void test_nested_waits(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 10, 0, 10, "a", SLEEP, 11, "b");
	story_switch(&s, 20, 0, 11, "b", SLEEP, 12, "c");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 50, 0, 11, "b", 0);
	story_switch(&s, 60, 0, 12, "c", SLEEP, 11, "b");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 80, 0, 10, "a", 0);
	story_switch(&s, 90, 0, 11, "b", SLEEP, 10, "a");
	story_switch(&s, 100, 0, 10, "a", SLEEP, 0, "swapper/0");
	const DtcHistory *history = story_end(&s);
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = make_clocks(1, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	g_autoptr(DtcPath) path = walk(links, 0, 10, 0, 100);
	const int expected[][2] = {
		{ 10, 10 }, { 20, 11 }, { 50, 12 }, { 60, 11 }, { 80, 11 }, { 90, 10 }, { 100, 10 }
	};
	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++)
		g_assert_cmpint(path_at(path, expected[i][0])->tid, ==, expected[i][1]);
	story_clear(&s);
}

/* A child that did not live at the begin: its time before is its parent's. */
static void test_parental_chain(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "parent");
	story_enter(&s, 2, 0, "getpid", -1);
	story_leave(&s, 3, 0, "getpid", 10);
	story_fork(&s, 40, 0, 10, 10, 11, 10, "parent");
	story_switch(&s, 50, 0, 10, "parent", SLEEP, 11, "child");
	story_switch(&s, 80, 0, 11, "child", SLEEP, 0, "swapper/0");
	const DtcHistory *history = story_end(&s);
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = make_clocks(1, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	g_autoptr(DtcPath) path = walk(links, 0, 11, 10, 80);
	assert_segment(path, 40, 0, 10, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 50, 0, 11, DTC_CAUSE_RUNQUEUE);
	assert_segment(path, 80, 0, 11, DTC_CAUSE_RUNNING_KERNEL);
	story_clear(&s);
}

/* Nothing tells who woke it: the wait is unknown, not guessed, and nothing is lost. */
static void test_unknown_waker(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 10, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_switch(&s, 50, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 60, 0, 10, "a", SLEEP, 0, "swapper/0");
	const DtcHistory *history = story_end(&s);
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = make_clocks(1, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	g_autoptr(DtcPath) path = walk(links, 0, 10, 0, 60);
	assert_segment(path, 50, 0, 10, DTC_CAUSE_UNKNOWN);
	story_clear(&s);
}

/*
 * A wait without a call: a page fault if the thread ran just before, unknown if it waited since before the trace. Where
 * the trace has no calls at all, it may be in any.
 */
static void test_page_fault(gconstpointer data)
{
	bool has_calls = GPOINTER_TO_INT(data);
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	if (has_calls) {
		story_enter(&s, 2, 0, "getpid", -1);
		story_leave(&s, 3, 0, "getpid", 10);
	}
	struct dtc_event dump = story_event(DTC_EVENT_DUMP_PROCESS, 5, 0);
	dump.v[DTC_DUMP_TID] = 12;
	dump.v[DTC_DUMP_PID] = 12;
	dump.v[DTC_DUMP_TYPE] = 0;
	dump.v[DTC_DUMP_STATUS] = 5;
	dump.text[0] = "waits";
	dtc_machine_apply(s.machine, &dump);
	story_switch(&s, 10, 0, 10, "a", 2, 11, "b");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 20, 0, 12, "waits", 0);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 30, 0, 10, "a", 0);
	story_switch(&s, 40, 0, 11, "b", SLEEP, 10, "a");
	story_switch(&s, 50, 0, 10, "a", SLEEP, 12, "waits");
	const DtcHistory *history = story_end(&s);
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = make_clocks(1, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	g_autoptr(DtcPath) fault = walk(links, 0, 10, 0, 50);
	g_assert_cmpint(dtc_path_get_blocking(fault, 0)->cause, ==, has_calls ? DTC_CAUSE_PAGE_FAULT : DTC_CAUSE_IPC);
	g_autoptr(DtcPath) unseen = walk(links, 0, 12, 6, 50);
	g_assert_cmpint(dtc_path_get_blocking(unseen, 0)->cause, ==, DTC_CAUSE_UNKNOWN);
	story_clear(&s);
}

/*
 * A wait for a disk request that another thread made: up to when it made it, what it did is why the wait lasted; from
 * then on it is the disk. Made before the wait began, all of it is the disk.
 */
static void test_other_submitter(gconstpointer data)
{
	bool is_before = GPOINTER_TO_INT(data);
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "waits");
	story_switch(&s, 1, 1, 0, "swapper/1", RUN, 11, "reads");
	if (is_before)
		story_block(&s, DTC_EVENT_BLOCK_INSERT, 12, 1, 8, 8);
	story_enter(&s, 15, 0, "read", 5);
	story_switch(&s, 20, 0, 10, "waits", DISK, 0, "swapper/0");
	story_enter(&s, 45, 1, "read", 6);
	if (!is_before)
		story_block(&s, DTC_EVENT_BLOCK_INSERT, 50, 1, 8, 8);
	story_block(&s, DTC_EVENT_BLOCK_ISSUE, 52, 1, 8, 8);
	story_switch(&s, 60, 1, 11, "reads", DISK, 0, "swapper/1");
	story_context(&s, DTC_EVENT_IRQ_ENTRY, 88, 0, 9, "nvme0");
	story_block(&s, DTC_EVENT_BLOCK_COMPLETE, 89, 0, 8, 8);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 90, 0, 10, "waits", 0);
	story_context(&s, DTC_EVENT_IRQ_EXIT, 91, 0, 9, NULL);
	story_switch(&s, 95, 0, 0, "swapper/0", RUN, 10, "waits");
	story_leave(&s, 100, 0, "read", 512);
	story_switch(&s, 110, 0, 10, "waits", SLEEP, 0, "swapper/0");
	const DtcHistory *history = story_end(&s);
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = make_clocks(1, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	g_autoptr(DtcPath) path = walk(links, 0, 10, 0, 105);
	assert_segment(path, 15, 0, 10, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 20, 0, 10, DTC_CAUSE_RUNNING_KERNEL);
	for (int64_t t = 21; t <= 50; t++)
		assert_segment(path, t, 0, is_before ? 10 : 11,
			       is_before ? DTC_CAUSE_DISK
			       : t <= 45 ? DTC_CAUSE_RUNNING_USER
					 : DTC_CAUSE_RUNNING_KERNEL);
	assert_segment(path, 51, 0, 10, DTC_CAUSE_DISK);
	assert_segment(path, 90, 0, 10, DTC_CAUSE_DISK);
	assert_segment(path, 95, 0, 10, DTC_CAUSE_RUNQUEUE);
	if (!is_before) { /* it is on the path because the other one waited for it */
		const struct dtc_waiter *waiter = dtc_path_get_waiter(path, path_at(path, 30)->waiter);
		g_assert_nonnull(waiter);
		g_assert_cmpint(dtc_history_get_thread(history, waiter->thread)->tid, ==, 10);
	}
	story_clear(&s);
}

/* A preempted thread: the one that had the CPU longest is named. */
static void test_preemptor(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "victim");
	story_switch(&s, 10, 0, 10, "victim", 0x100, 11, "short");
	story_switch(&s, 15, 0, 11, "short", SLEEP, 12, "hog");
	story_switch(&s, 90, 0, 12, "hog", 0x100, 10, "victim");
	story_switch(&s, 100, 0, 10, "victim", SLEEP, 12, "hog");
	const DtcHistory *history = story_end(&s);
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = make_clocks(1, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	g_autoptr(DtcPath) path = walk(links, 0, 10, 0, 100);
	assert_segment(path, 90, 0, 10, DTC_CAUSE_PREEMPTED);
	g_assert_cmpstr(said_of_segment(links, path_at(path, 90)), ==, "by hog (tid 12), short (tid 11)");
	story_clear(&s);
}

/*
 * What a worker does when a disk request has completed waits for that request, since it was made, whatever the worker
 * did meanwhile: it slept, or was busy with another work when the interrupt queued this one.
 */
static void test_work_of_disk(gconstpointer data)
{
	bool is_busy = GPOINTER_TO_INT(data);
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "syncs");
	story_switch(&s, 0, 1, 0, "swapper/1", RUN, 20, "kworker/1:0");
	story_switch(&s, 5, 1, 20, "kworker/1:0", SLEEP, 0, "swapper/1");
	story_enter(&s, 10, 0, "fsync", 5);
	story_block(&s, DTC_EVENT_BLOCK_INSERT, 20, 0, 100, 8);
	story_block(&s, DTC_EVENT_BLOCK_ISSUE, 21, 0, 100, 8);
	story_switch(&s, 30, 0, 10, "syncs", DISK, 0, "swapper/0");
	story_context(&s, DTC_EVENT_HRTIMER_ENTRY, 49, 1, 1, NULL); /* something else */
	story_work(&s, DTC_EVENT_WORK_QUEUE, 49, 1, 0x2000);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 49, 1, 20, "kworker/1:0", 1);
	story_context(&s, DTC_EVENT_HRTIMER_EXIT, 49, 1, 1, NULL);
	story_switch(&s, 50, 1, 0, "swapper/1", RUN, 20, "kworker/1:0");
	story_work(&s, DTC_EVENT_WORK_START, 51, 1, 0x2000);
	if (!is_busy) {
		story_work(&s, DTC_EVENT_WORK_END, 55, 1, 0x2000);
		story_switch(&s, 56, 1, 20, "kworker/1:0", SLEEP, 0, "swapper/1");
	}
	story_context(&s, DTC_EVENT_IRQ_ENTRY, 80, 0, 11, "vda");
	story_block(&s, DTC_EVENT_BLOCK_COMPLETE, 81, 0, 100, 8);
	story_work(&s, DTC_EVENT_WORK_QUEUE, 82, 0, 0x1000);
	if (!is_busy)
		story_task(&s, DTC_EVENT_SCHED_WAKING, 83, 0, 20, "kworker/1:0", 1);
	story_context(&s, DTC_EVENT_IRQ_EXIT, 84, 0, 11, "vda");
	if (is_busy)
		story_work(&s, DTC_EVENT_WORK_END, 85, 1, 0x2000);
	else
		story_switch(&s, 85, 1, 0, "swapper/1", RUN, 20, "kworker/1:0");
	story_work(&s, DTC_EVENT_WORK_START, 86, 1, 0x1000);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 90, 1, 10, "syncs", 0);
	story_work(&s, DTC_EVENT_WORK_END, 91, 1, 0x1000);
	story_switch(&s, 95, 0, 0, "swapper/0", RUN, 10, "syncs");
	story_leave(&s, 97, 0, "fsync", 0);
	story_switch(&s, 100, 0, 10, "syncs", SLEEP, 0, "swapper/0");
	const DtcHistory *history = story_end(&s);
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = make_clocks(1, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	g_autoptr(DtcPath) path = walk(links, 0, 10, 0, 100);
	assert_segment(path, 89, 0, 20, DTC_CAUSE_RUNNING_USER); /* no state dump says that it is the kernel's */
	assert_segment(path, 80, 0, 20, DTC_CAUSE_DISK);
	assert_segment(path, 54, 0, 20, DTC_CAUSE_DISK);
	assert_segment(path, 40, 0, 20, DTC_CAUSE_DISK);
	assert_segment(path, 25, 0, 10, DTC_CAUSE_RUNNING_KERNEL);
	story_clear(&s);
}

/*
 * A worker that is busy with another work when this one is queued: its waker is a third one, and the path goes to who
 * queued. variant 1: it was idle, and the queuer woke it.
 */
static void test_work(gconstpointer data)
{
	bool is_idle = GPOINTER_TO_INT(data);
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "waits");
	story_switch(&s, 0, 1, 0, "swapper/1", RUN, 20, "kworker/1:0");
	struct dtc_event dump = story_event(DTC_EVENT_DUMP_PROCESS, 1, 0);
	dump.v[DTC_DUMP_TID] = 20;
	dump.v[DTC_DUMP_PID] = 20;
	dump.v[DTC_DUMP_TYPE] = 1;
	dump.text[0] = "kworker/1:0";
	dtc_machine_apply(s.machine, &dump);
	story_switch(&s, 5, 1, 20, "kworker/1:0", SLEEP, 0, "swapper/1");
	if (!is_idle) { /* 12 queues another work */
		story_switch(&s, 6, 0, 10, "waits", 0x100, 12, "third");
		story_enter(&s, 7, 0, "ioctl", 3);
		story_work(&s, DTC_EVENT_WORK_QUEUE, 8, 0, 0x2000);
		story_task(&s, DTC_EVENT_SCHED_WAKING, 9, 0, 20, "kworker/1:0", 1);
		story_leave(&s, 10, 0, "ioctl", 0);
		story_switch(&s, 11, 0, 12, "third", SLEEP, 10, "waits");
		story_switch(&s, 12, 1, 0, "swapper/1", RUN, 20, "kworker/1:0");
		story_work(&s, DTC_EVENT_WORK_START, 13, 1, 0x2000);
	}
	story_enter(&s, 15, 0, "read", 3);
	story_switch(&s, 20, 0, 10, "waits", SLEEP, 11, "queues");
	story_enter(&s, 35, 0, "ioctl", 4);
	story_work(&s, DTC_EVENT_WORK_QUEUE, 40, 0, 0x1000);
	if (is_idle) {
		story_task(&s, DTC_EVENT_SCHED_WAKING, 41, 0, 20, "kworker/1:0", 1);
		story_switch(&s, 60, 1, 0, "swapper/1", RUN, 20, "kworker/1:0");
	} else {
		story_work(&s, DTC_EVENT_WORK_END, 60, 1, 0x2000);
	}
	story_work(&s, DTC_EVENT_WORK_START, 61, 1, 0x1000);
	story_leave(&s, 62, 0, "ioctl", 0);
	story_switch(&s, 63, 0, 11, "queues", SLEEP, 0, "swapper/0");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 100, 1, 10, "waits", 0);
	story_work(&s, DTC_EVENT_WORK_END, 101, 1, 0x1000);
	story_switch(&s, 105, 0, 0, "swapper/0", RUN, 10, "waits");
	story_leave(&s, 108, 0, "read", 1);
	story_switch(&s, 110, 0, 10, "waits", SLEEP, 0, "swapper/0");
	const DtcHistory *history = story_end(&s);
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = make_clocks(1, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	g_autoptr(DtcPath) path = walk(links, 0, 10, 0, 110);
	assert_segment(path, 100, 0, 20, DTC_CAUSE_RUNNING_KERNEL);
	g_assert_cmpstr(said_of_segment(links, path_at(path, 100)), ==, "work queued by queues (tid 11)");
	assert_segment(path, 50, 0, 20, is_idle ? DTC_CAUSE_RUNQUEUE : DTC_CAUSE_RUNNING_KERNEL);
	if (!is_idle)
		g_assert_cmpstr(said_of_segment(links, path_at(path, 50)), ==, "work queued by third (tid 12)");
	assert_segment(path, 40, 0, 11, DTC_CAUSE_RUNNING_KERNEL);
	assert_segment(path, 30, 0, 11, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 19, 0, 10, DTC_CAUSE_RUNNING_KERNEL);
	/* beneath the wait: the worker was asked late, by that thread */
	const struct dtc_blocking *asked = NULL;
	for (guint i = 0; i < dtc_path_get_blocking_count(path) && !asked; i++)
		if (dtc_path_get_blocking(path, i)->tid == 20)
			asked = dtc_path_get_blocking(path, i);
	g_assert_nonnull(asked);
	g_assert_cmpint(asked->begin.ns, ==, 20);
	g_assert_cmpint(asked->end.ns, ==, is_idle ? 41 : 40); /* when it was queued; idle, when it was woken */
	g_assert_cmpstr(said_of_end(links, asked), ==, "queues (tid 11)");
	story_clear(&s);
}

/* The three-way handshake that both nodes must see to know the connection. */
static void tell_handshake(struct story *client, struct story *server, int64_t shift, uint16_t port, uint32_t isn)
{
	struct dtc_headers syn = story_headers(CLIENT, port, SERVER, 80, isn, 0, DTC_TCP_SYN, 0, 1);
	struct dtc_headers syn_ack =
		story_headers(SERVER, 80, CLIENT, port, isn + 5000, isn + 1, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	story_packet(client, DTC_EVENT_NET_SEND, 4, 0, &syn);
	story_context(server, DTC_EVENT_SOFTIRQ_ENTRY, 5 + shift, 0, 3, NULL);
	story_packet(server, DTC_EVENT_NET_RECEIVE, 6 + shift, 0, &syn);
	story_packet(server, DTC_EVENT_NET_SEND, 7 + shift, 0, &syn_ack);
	story_context(server, DTC_EVENT_SOFTIRQ_EXIT, 7 + shift, 0, 3, NULL);
	story_packet(client, DTC_EVENT_NET_RECEIVE, 8, 0, &syn_ack);
}

static void receive(struct story *s, int64_t t, const struct dtc_headers *headers, int wakes, const char *comm)
{
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t - 1, 0, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, 0, headers);
	if (wakes)
		story_task(s, DTC_EVENT_SCHED_WAKING, t + 1, 0, wakes, comm, 0);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 2, 0, 3, NULL);
}

/*
 * A question and its answer between two nodes. The server computes from 120 to 160. variant 1: the answer's first
 * segment is lost and sent again by a timer at 250; variant 2: the answer leaves in a softirq, long after the write.
 */
static void test_two_nodes(gconstpointer data)
{
	int variant = GPOINTER_TO_INT(data);
	int64_t late = variant ? 250 : 162;
	struct story c, v;
	story_begin(&c, "client");
	story_begin(&v, "server");
	story_switch(&c, 0, 0, 0, "swapper/0", RUN, 10, "asks");
	story_switch(&v, SHIFT, 0, 0, "swapper/0", RUN, 20, "answers");
	story_enter(&c, 3, 0, "connect", 5);
	tell_handshake(&c, &v, SHIFT, 1000, 100);
	story_leave(&c, 9, 0, "connect", 0);
	story_enter(&v, 9 + SHIFT, 0, "accept", 3);
	story_leave(&v, 10 + SHIFT, 0, "accept", 4);
	story_enter(&v, 11 + SHIFT, 0, "read", 4);
	story_switch(&v, 12 + SHIFT, 0, 20, "answers", SLEEP, 0, "swapper/0");

	struct dtc_headers question = story_headers(CLIENT, 1000, SERVER, 80, 101, 5101, DTC_TCP_ACK, 50, 2);
	struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 1000, 5101, 151, DTC_TCP_ACK, 60, 3);
	story_enter(&c, 90, 0, "write", 5);
	story_packet(&c, DTC_EVENT_NET_SEND, 92, 0, &question);
	story_leave(&c, 94, 0, "write", 50);
	story_enter(&c, 95, 0, "read", 5);
	story_switch(&c, 97, 0, 10, "asks", SLEEP, 0, "swapper/0");

	receive(&v, 110 + SHIFT, &question, 20, "answers");
	story_switch(&v, 115 + SHIFT, 0, 0, "swapper/0", RUN, 20, "answers");
	story_leave(&v, 120 + SHIFT, 0, "read", 50);
	story_enter(&v, 160 + SHIFT, 0, "write", 4);
	struct dtc_headers other = story_headers(SERVER, 80, CLIENT, 1000, 5101, 151, DTC_TCP_ACK, 1, 9);
	if (variant == 2) { /* only the first byte leaves at once */
		story_packet(&v, DTC_EVENT_NET_SEND, 161 + SHIFT, 0, &other);
		answer = story_headers(SERVER, 80, CLIENT, 1000, 5102, 151, DTC_TCP_ACK, 59, 10);
	} else {
		story_packet(&v, DTC_EVENT_NET_SEND, 162 + SHIFT, 0, &answer);
	}
	story_leave(&v, 165 + SHIFT, 0, "write", 60);
	story_switch(&v, 170 + SHIFT, 0, 20, "answers", SLEEP, 0, "swapper/0");
	if (variant) {
		story_context(&v, DTC_EVENT_SOFTIRQ_ENTRY, 249 + SHIFT, 0, 1, NULL);
		answer.ip_id++;
		story_packet(&v, DTC_EVENT_NET_SEND, 250 + SHIFT, 0, &answer);
		story_context(&v, DTC_EVENT_SOFTIRQ_EXIT, 251 + SHIFT, 0, 1, NULL);
	}
	if (variant == 2)
		receive(&c, 175, &other, 0, NULL);
	receive(&c, late + 20, &answer, 10, "asks");
	story_switch(&c, late + 25, 0, 0, "swapper/0", RUN, 10, "asks");
	story_leave(&c, late + 30, 0, "read", 60);
	story_switch(&c, late + 40, 0, 10, "asks", SLEEP, 0, "swapper/0");
	const DtcHistory *histories[2] = { story_end(&c), story_end(&v) };
	const char *names[2] = { "client", "server" };
	g_autoptr(DtcClocks) clocks = make_clocks(2, SHIFT);
	g_autoptr(DtcLinks) links = dtc_links_new(2, names, histories, clocks);
	g_autoptr(DtcPath) path = walk(links, 0, 10, 90, late + 30);
	assert_segment(path, 92, 0, 10, DTC_CAUSE_RUNNING_KERNEL);
	assert_segment(path, 100, 1, 20, DTC_CAUSE_NETWORK_WIRE);
	assert_segment(path, 111, 1, 20, DTC_CAUSE_NETWORK_RECEIVE);
	assert_segment(path, 115, 1, 20, DTC_CAUSE_RUNQUEUE);
	assert_segment(path, 150, 1, 20, DTC_CAUSE_RUNNING_USER);
	if (variant == 1)
		assert_segment(path, 240, 1, 20, DTC_CAUSE_RETRANSMISSION);
	if (variant == 2)
		assert_segment(path, 240, 1, 20, DTC_CAUSE_NETWORK_SEND);
	assert_segment(path, late + 10, 0, 10, DTC_CAUSE_NETWORK_WIRE);
	g_assert_cmpint(path_at(path, late + 10)->uncertainty_ns, >, 0);
	assert_segment(path, late + 21, 0, 10, DTC_CAUSE_NETWORK_RECEIVE);
	assert_segment(path, late + 30, 0, 10, DTC_CAUSE_RUNNING_KERNEL);
	story_clear(&c);
	story_clear(&v);
}

/*
 * An event loop that serves two connections in one turn: the answer on one belongs to the question on the same one,
 * although the other client's was read later.
 */
static void test_event_loop(void)
{
	struct story c, v;
	story_begin(&c, "client");
	story_begin(&v, "server");
	story_switch(&c, 0, 0, 0, "swapper/0", RUN, 10, "first");
	story_switch(&v, 0, 0, 0, "swapper/0", RUN, 20, "loop");
	story_enter(&c, 3, 0, "connect", 5);
	tell_handshake(&c, &v, 0, 1000, 100);
	story_leave(&c, 9, 0, "connect", 0);
	struct dtc_headers q1 = story_headers(CLIENT, 1000, SERVER, 80, 101, 5101, DTC_TCP_ACK, 50, 2);
	struct dtc_headers a1 = story_headers(SERVER, 80, CLIENT, 1000, 5101, 151, DTC_TCP_ACK, 60, 3);
	struct dtc_headers q2 = story_headers(CLIENT, 1001, SERVER, 80, 701, 901, DTC_TCP_ACK, 50, 4);
	struct dtc_headers a2 = story_headers(SERVER, 80, CLIENT, 1001, 901, 751, DTC_TCP_ACK, 60, 5);
	story_enter(&v, 9, 0, "accept4", 3);
	story_leave(&v, 10, 0, "accept4", 4);
	story_enter(&v, 11, 0, "epoll_wait", 6);
	story_switch(&v, 12, 0, 20, "loop", SLEEP, 0, "swapper/0");
	story_enter(&c, 20, 0, "write", 5);
	story_packet(&c, DTC_EVENT_NET_SEND, 21, 0, &q1);
	story_leave(&c, 22, 0, "write", 50);
	story_enter(&c, 23, 0, "read", 5);
	story_switch(&c, 24, 0, 10, "first", SLEEP, 11, "second");
	story_enter(&c, 26, 0, "write", 7); /* a connection from before the trace */
	story_packet(&c, DTC_EVENT_NET_SEND, 27, 0, &q2);
	story_leave(&c, 28, 0, "write", 50);
	story_enter(&c, 29, 0, "read", 7);
	story_switch(&c, 30, 0, 11, "second", SLEEP, 0, "swapper/0");
	receive(&v, 40, &q1, 20, "loop");
	receive(&v, 45, &q2, 0, NULL);
	story_switch(&v, 50, 0, 0, "swapper/0", RUN, 20, "loop");
	story_leave(&v, 51, 0, "epoll_wait", 2);
	story_enter(&v, 52, 0, "read", 4);
	story_leave(&v, 53, 0, "read", 50);
	story_enter(&v, 54, 0, "read", 8);
	story_leave(&v, 55, 0, "read", 50);
	story_enter(&v, 60, 0, "write", 8);
	story_packet(&v, DTC_EVENT_NET_SEND, 61, 0, &a2);
	story_leave(&v, 62, 0, "write", 60);
	story_enter(&v, 70, 0, "write", 4);
	story_packet(&v, DTC_EVENT_NET_SEND, 71, 0, &a1);
	story_leave(&v, 72, 0, "write", 60);
	story_switch(&v, 80, 0, 20, "loop", SLEEP, 0, "swapper/0");
	receive(&c, 75, &a2, 11, "second");
	receive(&c, 85, &a1, 10, "first");
	story_switch(&c, 90, 0, 0, "swapper/0", RUN, 10, "first");
	story_leave(&c, 91, 0, "read", 60);
	story_switch(&c, 95, 0, 10, "first", SLEEP, 11, "second");
	story_leave(&c, 96, 0, "read", 60);
	story_switch(&c, 99, 0, 11, "second", SLEEP, 0, "swapper/0");
	const DtcHistory *histories[2] = { story_end(&c), story_end(&v) };
	const char *names[2] = { "client", "server" };
	g_autoptr(DtcClocks) clocks = make_clocks(2, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(2, names, histories, clocks);
	g_autoptr(DtcPath) path = walk(links, 0, 10, 15, 91);
	assert_segment(path, 80, 0, 10, DTC_CAUSE_NETWORK_WIRE);
	assert_segment(path, 60, 1, 20, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 35, 1, 20, DTC_CAUSE_NETWORK_WIRE); /* of the first question: sent at 21, arrived at 40 */
	g_assert_cmpint(path_at(path, 35)->begin.ns, ==, 21);
	assert_segment(path, 21, 0, 10, DTC_CAUSE_RUNNING_KERNEL);
	g_autoptr(DtcPath) second = walk(links, 0, 11, 25, 96);
	g_assert_cmpint(path_at(second, 40)->begin.ns, ==, 27);
	assert_segment(second, 27, 0, 11, DTC_CAUSE_RUNNING_KERNEL);
	story_clear(&c);
	story_clear(&v);
}

static void tell_call(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, result);
}

/* The reader of questions wakes a worker that waits for work on another CPU. */
static void hand_over(struct story *s, int64_t t, int worker, uint32_t cpu)
{
	story_enter(s, t, 0, "futex", -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, t + 1, 0, worker, "worker", (int)cpu);
	story_leave(s, t + 2, 0, "futex", 1);
	story_switch(s, t + 3, cpu, 0, "swapper", RUN, worker, "worker");
	story_leave(s, t + 4, cpu, "futex", 0);
}

static void wait_for_work(struct story *s, int64_t t, int worker, uint32_t cpu)
{
	story_enter(s, t, cpu, "futex", -1);
	story_switch(s, t + 1, cpu, worker, "worker", SLEEP, 0, "swapper");
}

/*
 * A reactor (tid 20) reads two questions and gives each to a worker (21, 22); it answers both in one turn, in which it
 * has read nothing from a client: woken by 22's write to the eventfd, while 21 wrote to it after that was read. The
 * answers belong to the questions on their own connections, and the time between to the workers that had them. variant
 * 1: between the eventfd and the answers it looks for more, in vain.
 */
static void test_handed_over(gconstpointer data)
{
	struct story c, v;
	story_begin(&c, "client");
	story_begin(&v, "server");
	story_switch(&c, 0, 0, 0, "swapper/0", RUN, 10, "first");
	story_switch(&v, 0, 0, 0, "swapper/0", RUN, 20, "reactor");
	story_fork(&v, 1, 0, 20, 20, 21, 20, "worker");
	story_fork(&v, 1, 0, 20, 20, 22, 20, "worker");
	tell_call(&v, 2, 0, "eventfd2", -1, 9);
	story_switch(&v, 3, 1, 0, "swapper/1", RUN, 21, "worker");
	story_switch(&v, 3, 2, 0, "swapper/2", RUN, 22, "worker");
	wait_for_work(&v, 3, 21, 1);
	wait_for_work(&v, 3, 22, 2);
	story_enter(&c, 3, 0, "connect", 5);
	tell_handshake(&c, &v, 0, 1000, 100);
	story_leave(&c, 9, 0, "connect", 0);
	struct dtc_headers q1 = story_headers(CLIENT, 1000, SERVER, 80, 101, 5101, DTC_TCP_ACK, 50, 2);
	struct dtc_headers a1 = story_headers(SERVER, 80, CLIENT, 1000, 5101, 151, DTC_TCP_ACK, 60, 3);
	struct dtc_headers q2 = story_headers(CLIENT, 1001, SERVER, 80, 701, 901, DTC_TCP_ACK, 50, 4);
	struct dtc_headers a2 = story_headers(SERVER, 80, CLIENT, 1001, 901, 751, DTC_TCP_ACK, 60, 5);
	tell_call(&v, 9, 0, "accept4", 3, 4);
	story_enter(&v, 11, 0, "epoll_wait", 6);
	story_switch(&v, 12, 0, 20, "reactor", SLEEP, 0, "swapper/0");
	story_enter(&c, 13, 0, "write", 5);
	story_packet(&c, DTC_EVENT_NET_SEND, 14, 0, &q1);
	story_leave(&c, 15, 0, "write", 50);
	story_enter(&c, 16, 0, "read", 5);
	story_switch(&c, 17, 0, 10, "first", SLEEP, 11, "second");
	story_enter(&c, 33, 0, "write", 7); /* a connection from before the trace */
	story_packet(&c, DTC_EVENT_NET_SEND, 34, 0, &q2);
	story_leave(&c, 35, 0, "write", 50);
	story_enter(&c, 36, 0, "read", 7);
	story_switch(&c, 37, 0, 11, "second", SLEEP, 0, "swapper/0");

	receive(&v, 20, &q1, 20, "reactor");
	story_switch(&v, 23, 0, 0, "swapper/0", RUN, 20, "reactor");
	story_leave(&v, 24, 0, "epoll_wait", 1);
	tell_call(&v, 25, 0, "read", 4, 50);
	hand_over(&v, 27, 21, 1);
	story_enter(&v, 31, 0, "epoll_wait", 6);
	story_switch(&v, 32, 0, 20, "reactor", SLEEP, 0, "swapper/0");
	receive(&v, 40, &q2, 20, "reactor");
	story_switch(&v, 43, 0, 0, "swapper/0", RUN, 20, "reactor");
	story_leave(&v, 43, 0, "epoll_wait", 1);
	tell_call(&v, 44, 0, "read", 8, 50);
	hand_over(&v, 46, 22, 2);
	story_enter(&v, 51, 0, "epoll_wait", 6);
	story_switch(&v, 52, 0, 20, "reactor", SLEEP, 0, "swapper/0");
	story_enter(&v, 60, 2, "write", 9);
	story_task(&v, DTC_EVENT_SCHED_WAKING, 61, 2, 20, "reactor", 0);
	story_leave(&v, 62, 2, "write", 8);
	wait_for_work(&v, 63, 22, 2);
	story_switch(&v, 65, 0, 0, "swapper/0", RUN, 20, "reactor");
	story_leave(&v, 66, 0, "epoll_wait", 1);
	tell_call(&v, 67, 0, "read", 9, 8);
	if (GPOINTER_TO_INT(data)) {
		story_poll(&v, 69, 0, "epoll_wait", 6, 0);
		story_leave(&v, 70, 0, "epoll_wait", 0);
	}
	tell_call(&v, 72, 1, "write", 9, 8);
	wait_for_work(&v, 75, 21, 1);
	story_enter(&v, 80, 0, "write", 4);
	story_packet(&v, DTC_EVENT_NET_SEND, 81, 0, &a1);
	story_leave(&v, 82, 0, "write", 60);
	story_enter(&v, 84, 0, "write", 8);
	story_packet(&v, DTC_EVENT_NET_SEND, 85, 0, &a2);
	story_leave(&v, 86, 0, "write", 60);
	story_enter(&v, 90, 0, "epoll_wait", 6);
	story_switch(&v, 91, 0, 20, "reactor", SLEEP, 0, "swapper/0");
	receive(&c, 85, &a1, 10, "first");
	receive(&c, 89, &a2, 11, "second");
	story_switch(&c, 92, 0, 0, "swapper/0", RUN, 10, "first");
	story_leave(&c, 93, 0, "read", 60);
	story_switch(&c, 95, 0, 10, "first", SLEEP, 11, "second");
	story_leave(&c, 96, 0, "read", 60);
	story_switch(&c, 99, 0, 11, "second", SLEEP, 0, "swapper/0");
	const DtcHistory *histories[2] = { story_end(&c), story_end(&v) };
	const char *names[2] = { "client", "server" };
	g_autoptr(DtcClocks) clocks = make_clocks(2, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(2, names, histories, clocks);
	g_autoptr(DtcPath) path = walk(links, 0, 10, 13, 93);
	assert_segment(path, 79, 1, 20, DTC_CAUSE_RUNNING_USER);
	g_assert_cmpint(path_at(path, 73)->begin.ns, ==, 72); /* the reactor's own, since it was given the answer */
	assert_segment(path, 50, 1, 21, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 70, 1, 21, DTC_CAUSE_RUNNING_USER);
	assert_segment(path, 27, 1, 20, DTC_CAUSE_RUNNING_USER); /* it was the reactor that woke the worker */
	assert_segment(path, 19, 1, 20, DTC_CAUSE_NETWORK_WIRE);
	assert_segment(path, 14, 0, 10, DTC_CAUSE_RUNNING_KERNEL);
	g_autoptr(DtcPath) second = walk(links, 0, 11, 33, 96);
	assert_segment(second, 79, 1, 20, DTC_CAUSE_RUNNING_USER);
	assert_segment(second, 55, 1, 22, DTC_CAUSE_RUNNING_USER);
	assert_segment(second, 34, 0, 11, DTC_CAUSE_RUNNING_KERNEL);
	story_clear(&c);
	story_clear(&v);
}

/* One softirq brings the ACK of a handshake and then another connection's packet: accept waited for the former. */
static void test_accept(void)
{
	struct story v;
	story_begin(&v, "server");
	story_switch(&v, 0, 0, 0, "swapper/0", RUN, 20, "accepts");
	struct dtc_headers syn = story_headers(CLIENT, 1000, SERVER, 80, 100, 0, DTC_TCP_SYN, 0, 1);
	struct dtc_headers syn_ack =
		story_headers(SERVER, 80, CLIENT, 1000, 5100, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	struct dtc_headers ack = story_headers(CLIENT, 1000, SERVER, 80, 101, 5101, DTC_TCP_ACK, 0, 2);
	struct dtc_headers other = story_headers(CLIENT, 1001, SERVER, 80, 901, 77, DTC_TCP_ACK, 0, 3);
	struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 1000, 5101, 101, DTC_TCP_ACK, 9, 4);
	story_enter(&v, 2, 0, "accept", 3);
	story_switch(&v, 4, 0, 20, "accepts", SLEEP, 0, "swapper/0");
	story_context(&v, DTC_EVENT_SOFTIRQ_ENTRY, 10, 0, 3, NULL);
	story_packet(&v, DTC_EVENT_NET_RECEIVE, 11, 0, &syn);
	story_packet(&v, DTC_EVENT_NET_SEND, 12, 0, &syn_ack);
	story_packet(&v, DTC_EVENT_NET_RECEIVE, 20, 0, &ack);
	story_packet(&v, DTC_EVENT_NET_RECEIVE, 21, 0, &other);
	story_task(&v, DTC_EVENT_SCHED_WAKING, 22, 0, 20, "accepts", 0);
	story_context(&v, DTC_EVENT_SOFTIRQ_EXIT, 23, 0, 3, NULL);
	story_switch(&v, 25, 0, 0, "swapper/0", RUN, 20, "accepts");
	story_leave(&v, 30, 0, "accept", 4);
	story_enter(&v, 31, 0, "write", 4);
	story_packet(&v, DTC_EVENT_NET_SEND, 32, 0, &answer);
	story_leave(&v, 33, 0, "write", 9);
	story_switch(&v, 40, 0, 20, "accepts", SLEEP, 0, "swapper/0");
	const DtcHistory *history = story_end(&v);
	const char *name = "server";
	g_autoptr(DtcClocks) clocks = make_clocks(1, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	struct dtc_arrival arrival;
	g_assert_true(dtc_arrival_find_for_wait(links, 0, story_interval(&v, 20, 22), &arrival));
	g_assert_cmpint(arrival.time_ns, ==, 20);
	g_assert_true(arrival.exact);
	story_clear(&v);
}

/* The peer is not traced: the wait is unknown and says so, and the rest of the path stands. */
static void test_untraced_peer(void)
{
	struct story c;
	story_begin(&c, "client");
	story_switch(&c, 0, 0, 0, "swapper/0", RUN, 10, "asks");
	struct dtc_headers question = story_headers(CLIENT, 1000, SERVER, 80, 101, 5101, DTC_TCP_ACK, 50, 2);
	struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 1000, 5101, 151, DTC_TCP_ACK, 60, 3);
	story_enter(&c, 10, 0, "write", 5);
	story_packet(&c, DTC_EVENT_NET_SEND, 11, 0, &question);
	story_leave(&c, 12, 0, "write", 50);
	story_enter(&c, 15, 0, "read", 5);
	story_switch(&c, 20, 0, 10, "asks", SLEEP, 0, "swapper/0");
	receive(&c, 80, &answer, 10, "asks");
	story_switch(&c, 90, 0, 0, "swapper/0", RUN, 10, "asks");
	story_leave(&c, 95, 0, "read", 60);
	story_switch(&c, 99, 0, 10, "asks", SLEEP, 0, "swapper/0");
	const DtcHistory *history = story_end(&c);
	const char *name = "client";
	g_autoptr(DtcClocks) clocks = make_clocks(1, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	g_autoptr(DtcPath) path = walk(links, 0, 10, 10, 95);
	assert_segment(path, 12, 0, 10, DTC_CAUSE_RUNNING_KERNEL);
	g_assert_cmpint(path_at(path, 70)->begin.ns, ==, 12); /* from its question on, the peer had the word */
	assert_segment(path, 70, 0, 10, DTC_CAUSE_UNKNOWN);
	g_assert_cmpint(path_at(path, 70)->link, ==, DTC_LINK_UNKNOWN);
	g_assert_cmpstr(said_of_segment(links, path_at(path, 70)), ==, "10.0.0.2:80 answers, and is not traced");
	assert_segment(path, 81, 0, 10, DTC_CAUSE_NETWORK_RECEIVE);
	story_clear(&c);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/path/lock", test_lock);
	g_test_add_func("/path/wait-before-wait", test_wait_before_wait);
	g_test_add_func("/path/nested-waits", test_nested_waits);
	g_test_add_func("/path/parental-chain", test_parental_chain);
	g_test_add_func("/path/unknown-waker", test_unknown_waker);
	g_test_add_data_func("/path/page-fault", GINT_TO_POINTER(1), test_page_fault);
	g_test_add_data_func("/path/page-fault/no-calls", GINT_TO_POINTER(0), test_page_fault);
	g_test_add_data_func("/path/disk-of-another", GINT_TO_POINTER(0), test_other_submitter);
	g_test_add_data_func("/path/disk-of-another/before", GINT_TO_POINTER(1), test_other_submitter);
	g_test_add_func("/path/preemptor", test_preemptor);
	g_test_add_data_func("/path/work-of-disk/asleep", GINT_TO_POINTER(false), test_work_of_disk);
	g_test_add_data_func("/path/work-of-disk/busy", GINT_TO_POINTER(true), test_work_of_disk);
	g_test_add_data_func("/path/work-of-a-busy-worker", GINT_TO_POINTER(0), test_work);
	g_test_add_data_func("/path/work-of-an-idle-worker", GINT_TO_POINTER(1), test_work);
	g_test_add_data_func("/path/two-nodes", GINT_TO_POINTER(0), test_two_nodes);
	g_test_add_data_func("/path/two-nodes/retransmission", GINT_TO_POINTER(1), test_two_nodes);
	g_test_add_data_func("/path/two-nodes/sent-from-softirq", GINT_TO_POINTER(2), test_two_nodes);
	g_test_add_func("/path/event-loop", test_event_loop);
	g_test_add_data_func("/path/handed-over", GINT_TO_POINTER(0), test_handed_over);
	g_test_add_data_func("/path/handed-over/looks", GINT_TO_POINTER(1), test_handed_over);
	g_test_add_func("/path/accept", test_accept);
	g_test_add_func("/path/untraced-peer", test_untraced_peer);
	return g_test_run();
}
