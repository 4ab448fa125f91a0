/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread's disk request is held back by a limit of its cgroup: a worker of the kernel makes it when a timer is due,
 * and slept until then.
 */
#include "tests/support/path_at.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define DISK 2
#define READER 10
#define WORKER 11
#define SERVES 13
#define ITEM 0x1000

static void tell(struct story *s, bool is_timer)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, READER, "reads");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, WORKER, "kworker/1:0");
	story_work(s, DTC_EVENT_WORK_QUEUE, 2, 1, 0x2000);
	story_work(s, DTC_EVENT_WORK_START, 3, 1, 0x2000);
	story_work(s, DTC_EVENT_WORK_END, 4, 1, 0x2000);
	story_switch(s, 5, 1, WORKER, "kworker/1:0", SLEEP, 12, "other");
	story_enter(s, 15, 0, "pread64", 5);
	story_switch(s, 20, 0, READER, "reads", DISK, 0, "swapper/0");
	if (is_timer)
		story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 48, 1, 1, NULL);
	story_work(s, DTC_EVENT_WORK_QUEUE, 49, 1, ITEM);
	story_task(s, DTC_EVENT_SCHED_WAKING, 50, 1, WORKER, "kworker/1:0", 1);
	if (is_timer)
		story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 51, 1, 1, NULL);
	story_switch(s, 53, 1, 12, "other", RUN, WORKER, "kworker/1:0");
	story_work(s, DTC_EVENT_WORK_START, 54, 1, ITEM);
	story_block(s, DTC_EVENT_BLOCK_INSERT, 60, 1, 8, 8);
	story_block(s, DTC_EVENT_BLOCK_ISSUE, 62, 1, 8, 8);
	story_work(s, DTC_EVENT_WORK_END, 64, 1, ITEM);
	story_switch(s, 65, 1, WORKER, "kworker/1:0", SLEEP, 0, "swapper/1");
	story_context(s, DTC_EVENT_IRQ_ENTRY, 88, 0, 9, "nvme0");
	story_block(s, DTC_EVENT_BLOCK_COMPLETE, 89, 0, 8, 8);
	story_task(s, DTC_EVENT_SCHED_WAKING, 90, 0, READER, "reads", 0);
	story_context(s, DTC_EVENT_IRQ_EXIT, 91, 0, 9, NULL);
	story_switch(s, 95, 0, 0, "swapper/0", RUN, READER, "reads");
	story_leave(s, 100, 0, "pread64", 512);
	story_switch(s, 110, 0, READER, "reads", SLEEP, 0, "swapper/0");
	story_end(s);
}

static void assert_segment(const DtcPath *path, int64_t t, int tid, enum dtc_cause cause, enum dtc_reason reason)
{
	const struct dtc_segment *s = path_at(path, t);
	g_assert_cmpint(s->tid, ==, tid);
	g_assert_cmpstr(dtc_cause_to_string(s->cause), ==, dtc_cause_to_string(cause));
	g_assert_cmpint(s->evidence.reason, ==, reason);
}

static void test_timer(void)
{
	struct story s;
	tell(&s, true);
	g_autoptr(DtcPath) path = path_of(s.history, READER, 0, 105, DTC_NONE);
	assert_segment(path, 80, READER, DTC_CAUSE_DISK, DTC_REASON_OWN);
	assert_segment(path, 57, READER, DTC_CAUSE_DISK, DTC_REASON_HELD_BACK);
	assert_segment(path, 30, READER, DTC_CAUSE_DISK, DTC_REASON_HELD_BACK);
	g_assert_cmpint(path_at(path, 30)->link, ==, DTC_LINK_INFERRED);
	assert_segment(path, 18, READER, DTC_CAUSE_RUNNING_KERNEL, DTC_REASON_OWN);
	story_clear(&s);
}

/* A thread asked the worker to: what that one did is why, as ever. */
static void test_thread(void)
{
	struct story s;
	tell(&s, false);
	g_autoptr(DtcPath) path = path_of(s.history, READER, 0, 105, DTC_NONE);
	assert_segment(path, 80, READER, DTC_CAUSE_DISK, DTC_REASON_OWN);
	assert_segment(path, 30, 12, DTC_CAUSE_RUNNING_USER, DTC_REASON_OWN);
	story_clear(&s);
}

/*
 * The device's own worker serves it (a loop device, dm-crypt), so that no disk request ends the wait but a worker does,
 * which another one had asked to when a timer was due, or another interrupt had. That one had lain idle.
 */
static void tell_served(struct story *s, bool is_timer, bool makes_request)
{
	const int vector = is_timer ? 1 : 9;
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, READER, "reads");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, WORKER, "kworker/1:0");
	story_work(s, DTC_EVENT_WORK_QUEUE, 2, 1, 0x2000);
	story_work(s, DTC_EVENT_WORK_START, 3, 1, 0x2000);
	story_work(s, DTC_EVENT_WORK_END, 4, 1, 0x2000);
	story_switch(s, 5, 1, WORKER, "kworker/1:0", SLEEP, SERVES, "kworker/u8:0");
	story_work(s, DTC_EVENT_WORK_QUEUE, 6, 1, 0x3000);
	story_work(s, DTC_EVENT_WORK_START, 7, 1, 0x3000);
	story_work(s, DTC_EVENT_WORK_END, 8, 1, 0x3000);
	story_switch(s, 9, 1, SERVES, "kworker/u8:0", SLEEP, 0, "swapper/1");
	story_enter(s, 15, 0, "fdatasync", 5);
	story_switch(s, 20, 0, READER, "reads", DISK, 0, "swapper/0");
	/* for somebody else it works meanwhile */
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 28, 1, 9, NULL);
	story_work(s, DTC_EVENT_WORK_QUEUE, 29, 1, 0x2000);
	story_task(s, DTC_EVENT_SCHED_WAKING, 30, 1, WORKER, "kworker/1:0", 1);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 31, 1, 9, NULL);
	story_switch(s, 32, 1, 0, "swapper/1", RUN, WORKER, "kworker/1:0");
	story_work(s, DTC_EVENT_WORK_START, 33, 1, 0x2000);
	story_work(s, DTC_EVENT_WORK_END, 34, 1, 0x2000);
	story_switch(s, 35, 1, WORKER, "kworker/1:0", SLEEP, 0, "swapper/1");
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 48, 1, vector, NULL);
	story_work(s, DTC_EVENT_WORK_QUEUE, 49, 1, ITEM);
	story_task(s, DTC_EVENT_SCHED_WAKING, 50, 1, WORKER, "kworker/1:0", 1);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 51, 1, vector, NULL);
	story_switch(s, 53, 1, 0, "swapper/1", RUN, WORKER, "kworker/1:0");
	story_work(s, DTC_EVENT_WORK_START, 54, 1, ITEM);
	if (makes_request) {
		story_block(s, DTC_EVENT_BLOCK_INSERT, 60, 1, 8, 8);
		story_block(s, DTC_EVENT_BLOCK_ISSUE, 62, 1, 8, 8);
	}
	story_work(s, DTC_EVENT_WORK_QUEUE, 63, 1, 0x4000);
	story_task(s, DTC_EVENT_SCHED_WAKING, 64, 1, SERVES, "kworker/u8:0", 1);
	story_work(s, DTC_EVENT_WORK_END, 65, 1, ITEM);
	story_switch(s, 66, 1, WORKER, "kworker/1:0", SLEEP, SERVES, "kworker/u8:0");
	story_work(s, DTC_EVENT_WORK_START, 67, 1, 0x4000);
	story_task(s, DTC_EVENT_SCHED_WAKING, 90, 1, READER, "reads", 0);
	story_work(s, DTC_EVENT_WORK_END, 92, 1, 0x4000);
	story_switch(s, 95, 0, 0, "swapper/0", RUN, READER, "reads");
	story_leave(s, 100, 0, "fdatasync", 0);
	story_switch(s, 110, 0, READER, "reads", SLEEP, 0, "swapper/0");
	story_end(s);
}

static void test_served(void)
{
	struct story s;
	tell_served(&s, true, true);
	g_autoptr(DtcPath) path = path_of(s.history, READER, 0, 105, DTC_NONE);
	assert_segment(path, 80, SERVES, DTC_CAUSE_RUNNING_USER, DTC_REASON_OWN);
	assert_segment(path, 57, WORKER, DTC_CAUSE_RUNNING_USER, DTC_REASON_OWN);
	assert_segment(path, 40, READER, DTC_CAUSE_DISK, DTC_REASON_HELD_BACK);
	assert_segment(path, 25, READER, DTC_CAUSE_DISK, DTC_REASON_HELD_BACK);
	g_assert_cmpint(path_at(path, 25)->link, ==, DTC_LINK_INFERRED);
	assert_segment(path, 18, READER, DTC_CAUSE_RUNNING_KERNEL, DTC_REASON_OWN);
	story_clear(&s);
}

/* No request was held back: it is the kernel's timer, or its interrupt, alone. */
static void test_delayed(void)
{
	for (int is_timer = 0; is_timer < 2; is_timer++) {
		struct story s;
		tell_served(&s, is_timer, false);
		g_autoptr(DtcPath) path = path_of(s.history, READER, 0, 105, DTC_NONE);
		enum dtc_cause cause = is_timer ? DTC_CAUSE_TIMER : DTC_CAUSE_DEVICE;
		assert_segment(path, 40, READER, cause, DTC_REASON_OWN);
		assert_segment(path, 25, READER, cause, DTC_REASON_OWN);
		story_clear(&s);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/path/held-back/timer", test_timer);
	g_test_add_func("/path/held-back/thread", test_thread);
	g_test_add_func("/path/held-back/served-by-a-worker", test_served);
	g_test_add_func("/path/held-back/delayed", test_delayed);
	return g_test_run();
}
