/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small stories, event by event: what the machine must make of each. */
#include "tests/support/story.h"

#define RUN 0 /* prev_state of a thread that stays runnable */
#define SLEEP 1
#define DISK 2
#define DEAD 0x10

static const struct dtc_wake *wake_of(const struct story *s, int tid, int64_t t)
{
	const struct dtc_interval *wait = story_interval(s, tid, t);
	g_assert_true(dtc_state_is_wait(wait->state));
	g_assert_cmpuint(wait->ref, !=, DTC_NONE);
	static struct dtc_wake places[4]; /* so many may be looked at together */
	static guint next;
	return dtc_history_get_wake(s->history, wait->ref, &places[next++ % G_N_ELEMENTS(places)]);
}

static int waker_tid(const struct story *s, const struct dtc_wake *wake)
{
	return wake->thread == DTC_NONE ? -1 : dtc_history_get_thread(s->history, wake->thread)->tid;
}

static void test_wait_and_wake(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_enter(&s, 10, 0, "futex", -1);
	story_switch(&s, 20, 0, 10, "a", SLEEP, 11, "b");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 50, 0, 10, "a", 0);
	story_task(&s, DTC_EVENT_SCHED_WAKEUP, 52, 0, 10, "a", 0);
	story_switch(&s, 60, 0, 11, "b", SLEEP, 10, "a");
	story_leave(&s, 70, 0, "futex", 0);
	story_switch(&s, 100, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_assert_cmpint(story_interval(&s, 10, 5)->state, ==, DTC_STATE_USER);
	g_assert_cmpint(story_interval(&s, 10, 15)->state, ==, DTC_STATE_SYSCALL);
	const struct dtc_interval *wait = story_interval(&s, 10, 50);
	g_assert_cmpint(wait->state, ==, DTC_STATE_WAIT);
	g_assert_cmpint(wait->begin_ns, ==, 20);
	g_assert_cmpint(wait->end_ns, ==, 50);
	const struct dtc_wake *wake = wake_of(&s, 10, 50);
	g_assert_cmpint(wake->waker, ==, DTC_WAKER_THREAD);
	g_assert_cmpint(waker_tid(&s, wake), ==, 11);
	g_assert_cmpint(wake->wakeup_ns, ==, 52);
	g_assert_cmpint(story_interval(&s, 10, 60)->state, ==, DTC_STATE_RUNQUEUE);
	g_assert_cmpint(story_interval(&s, 10, 70)->state, ==, DTC_STATE_SYSCALL);
	g_assert_cmpint(story_interval(&s, 10, 100)->state, ==, DTC_STATE_USER);
	story_clear(&s);
}

/* A thread that wakes itself (signal, spurious waking while it runs) does not wait. */
static void test_wake_by_self(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 10, 0, 10, "a", 0);
	story_task(&s, DTC_EVENT_SCHED_WAKEUP, 11, 0, 10, "a", 0);
	story_switch(&s, 20, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_context(&s, DTC_EVENT_VECTOR_ENTRY, 29, 0, DTC_VECTOR_LOCAL_TIMER, NULL);
	story_context(&s, DTC_EVENT_HRTIMER_ENTRY, 29, 0, 1, NULL);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 30, 0, 10, "a", 0);
	story_context(&s, DTC_EVENT_HRTIMER_EXIT, 31, 0, 1, NULL);
	story_context(&s, DTC_EVENT_VECTOR_EXIT, 31, 0, DTC_VECTOR_LOCAL_TIMER, NULL);
	story_switch(&s, 40, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 50, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_assert_cmpint(story_interval(&s, 10, 20)->begin_ns, ==, 0); /* runs on through its own waking */
	const struct dtc_wake *wake = wake_of(&s, 10, 30);
	g_assert_cmpint(wake->waker, ==, DTC_WAKER_TIMER);
	story_clear(&s);
}

static void test_new_child(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_fork(&s, 10, 0, 10, 10, 11, 10, "a");
	story_task(&s, DTC_EVENT_SCHED_WAKEUP_NEW, 12, 0, 11, "a", 0);
	story_switch(&s, 20, 0, 10, "a", SLEEP, 11, "a");
	story_leave(&s, 25, 0, "clone", 0);
	/* the child wakes its parent */
	story_task(&s, DTC_EVENT_SCHED_WAKING, 30, 0, 10, "a", 0);
	story_switch(&s, 40, 0, 11, "child", SLEEP, 10, "a");
	story_end(&s);
	uint32_t child = dtc_history_find_thread(s.history, 11, DTC_TIME_NONE);
	const struct dtc_thread *thread = dtc_history_get_thread(s.history, child);
	g_assert_cmpint(thread->begin_ns, ==, 10);
	g_assert_cmpint(thread->pid, ==, 10);
	g_assert_cmpint(dtc_history_get_thread(s.history, thread->parent)->tid, ==, 10);
	g_assert_cmpint(story_interval(&s, 11, 20)->state, ==, DTC_STATE_RUNQUEUE);
	g_assert_cmpint(story_interval(&s, 11, 25)->state, ==, DTC_STATE_KERNEL);
	g_assert_cmpint(story_interval(&s, 11, 30)->state, ==, DTC_STATE_USER);
	g_assert_cmpint(waker_tid(&s, wake_of(&s, 10, 30)), ==, 11);
	/* prctl is not traced: the name that the interval ends with is the interval's */
	g_assert_cmpstr(dtc_history_get_comm(s.history, child, 35), ==, "child");
	g_assert_cmpstr(dtc_history_get_process(s.history, child, 35), ==, "a");
	story_clear(&s);
}

/* Nobody is seen waking it: the wait ends all the same, and says that its end is unknown. */
static void test_unknown_waker(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 10, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_switch(&s, 30, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 40, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_assert_cmpint(wake_of(&s, 10, 30)->waker, ==, DTC_WAKER_UNKNOWN);
	story_clear(&s);
}

static void test_two_threads_wake_each_other(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 10, 0, 10, "a", SLEEP, 11, "b");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 20, 0, 10, "a", 0);
	story_switch(&s, 30, 0, 11, "b", SLEEP, 10, "a");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 40, 0, 11, "b", 0);
	story_switch(&s, 50, 0, 10, "a", SLEEP, 11, "b");
	story_end(&s);
	g_assert_cmpint(waker_tid(&s, wake_of(&s, 10, 20)), ==, 11);
	g_assert_cmpint(waker_tid(&s, wake_of(&s, 11, 40)), ==, 10);
	story_clear(&s);
}

/* The waking comes on another CPU before the target is switched out: no wait at all. */
static void test_waking_before_switch_out(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 0, 1, 0, "swapper/1", RUN, 11, "b");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 10, 1, 10, "a", 0);
	story_switch(&s, 12, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_task(&s, DTC_EVENT_SCHED_WAKEUP, 15, 1, 10, "a", 0);
	story_switch(&s, 20, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 30, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	const struct dtc_interval *interval = story_interval(&s, 10, 20);
	g_assert_cmpint(interval->state, ==, DTC_STATE_RUNQUEUE);
	g_assert_cmpint(interval->begin_ns, ==, 12);
	story_clear(&s);
}

static void test_wait_open_at_end(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_enter(&s, 5, 0, "fsync", 3);
	story_switch(&s, 10, 0, 10, "a", DISK, 11, "b");
	story_switch(&s, 90, 0, 11, "b", RUN, 0, "swapper/0");
	story_end(&s);
	const struct dtc_interval *wait = story_interval(&s, 10, 90);
	g_assert_cmpint(wait->state, ==, DTC_STATE_WAIT_DISK);
	g_assert_cmpuint(wait->ref, ==, DTC_NONE);
	/* the call that did not return is what it waits in */
	g_assert_cmpuint(wait->call, ==, dtc_history_find_call(s.history, wait->thread, 10));
	g_assert_cmpint(dtc_history_copy_call(s.history, wait->call).end_ns, ==, DTC_TIME_NONE);
	story_clear(&s);
}

/* Before its first event a thread's state is unknown, not guessed; the state dump makes it known. */
static void test_wait_before_trace(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 11, "b");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 20, 0, 10, "a", 0);
	story_switch(&s, 30, 0, 11, "b", SLEEP, 10, "a");
	struct dtc_event dump = story_event(DTC_EVENT_DUMP_PROCESS, 35, 0);
	dump.v[DTC_DUMP_TID] = 12;
	dump.v[DTC_DUMP_PID] = 12;
	dump.v[DTC_DUMP_PPID] = 1;
	dump.v[DTC_DUMP_TYPE] = 0;
	dump.v[DTC_DUMP_STATUS] = 5;
	dump.text[0] = "c";
	dtc_machine_apply(s.machine, &dump);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 40, 0, 12, "c", 0);
	story_switch(&s, 50, 0, 10, "a", SLEEP, 12, "c");
	story_end(&s);
	g_assert_cmpint(story_interval(&s, 10, 20)->state, ==, DTC_STATE_UNKNOWN);
	g_assert_cmpuint(story_interval(&s, 10, 20)->ref, ==, DTC_NONE);
	g_assert_cmpint(story_interval(&s, 10, 30)->state, ==, DTC_STATE_RUNQUEUE);
	g_assert_cmpint(story_interval(&s, 12, 35)->state, ==, DTC_STATE_UNKNOWN);
	g_assert_cmpint(wake_of(&s, 12, 40)->waker, ==, DTC_WAKER_THREAD);
	story_clear(&s);
}

static void test_migration_while_runnable(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 0, 1, 0, "swapper/1", RUN, 12, "c");
	story_switch(&s, 10, 0, 10, "a", 0x100, 11, "b");
	story_task(&s, DTC_EVENT_SCHED_MIGRATE, 20, 1, 10, "a", 1);
	story_switch(&s, 30, 1, 12, "c", SLEEP, 10, "a");
	story_switch(&s, 40, 1, 10, "a", SLEEP, 0, "swapper/1");
	story_end(&s);
	g_assert_cmpint(story_interval(&s, 10, 20)->state, ==, DTC_STATE_PREEMPTED);
	g_assert_cmpint(story_interval(&s, 10, 20)->cpu, ==, 0);
	g_assert_cmpint(story_interval(&s, 10, 30)->state, ==, DTC_STATE_PREEMPTED);
	g_assert_cmpint(story_interval(&s, 10, 30)->cpu, ==, 1);
	g_assert_cmpint(story_interval(&s, 10, 40)->cpu, ==, 1);
	story_clear(&s);
}

/* A wakeup that does not say where the thread will run: it is not on CPU 0. */
static void test_target_not_told(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 1, 1, 0, "swapper/1", RUN, 11, "b");
	story_switch(&s, 20, 1, 11, "b", SLEEP, 0, "swapper/1");
	struct dtc_event waking = story_event(DTC_EVENT_SCHED_WAKING, 50, 0);
	waking.v[DTC_TASK_TID] = 11;
	dtc_machine_apply(s.machine, &waking);
	story_switch(&s, 60, 1, 0, "swapper/1", RUN, 11, "b");
	story_end(&s);
	g_assert_cmpint(story_interval(&s, 11, 60)->state, ==, DTC_STATE_RUNQUEUE);
	g_assert_cmpuint(story_interval(&s, 11, 60)->cpu, ==, 0xffff);
	story_clear(&s);
}

static void test_softirq_on_top_of_irq(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_context(&s, DTC_EVENT_IRQ_ENTRY, 10, 0, 28, "virtio1-requests");
	story_context(&s, DTC_EVENT_IRQ_EXIT, 20, 0, 28, NULL);
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 20, 0, 3, NULL);
	story_context(&s, DTC_EVENT_IRQ_ENTRY, 25, 0, 29, "eth0");
	story_context(&s, DTC_EVENT_IRQ_EXIT, 30, 0, 29, NULL);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 40, 0, 3, NULL);
	story_switch(&s, 50, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	const int expected[][2] = { { 10, DTC_STATE_USER }, { 20, DTC_STATE_IRQ },     { 25, DTC_STATE_SOFTIRQ },
				    { 30, DTC_STATE_IRQ },  { 40, DTC_STATE_SOFTIRQ }, { 50, DTC_STATE_USER } };
	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++)
		g_assert_cmpint(story_interval(&s, 10, expected[i][0])->state, ==, expected[i][1]);
	g_assert_cmpstr(dtc_history_get_string(s.history, story_interval(&s, 10, 30)->ref), ==, "eth0");
	story_clear(&s);
}

/* A timer inside the local timer vector on top of a packet softirq: the innermost decides. */
static void test_timer_beats_softirq(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 5, 0, 10, "a", SLEEP, 11, "b");
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 10, 0, 3, NULL);
	story_timer_wakes(&s, 12, 14, 0, 10, "a");
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 18, 0, 3, NULL);
	story_switch(&s, 20, 0, 11, "b", SLEEP, 10, "a");
	story_end(&s);
	g_assert_cmpint(wake_of(&s, 10, 14)->waker, ==, DTC_WAKER_TIMER);
	story_clear(&s);
}

/* Where timers' own events are not traced, the interrupt of the CPU's timer tells as much. */
static void test_timer_vector(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 5, 0, 10, "a", SLEEP, 11, "b");
	story_context(&s, DTC_EVENT_VECTOR_ENTRY, 12, 0, DTC_VECTOR_LOCAL_TIMER, NULL);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 14, 0, 10, "a", 0);
	story_context(&s, DTC_EVENT_VECTOR_EXIT, 16, 0, DTC_VECTOR_LOCAL_TIMER, NULL);
	story_switch(&s, 20, 0, 11, "b", SLEEP, 10, "a");
	story_end(&s);
	g_assert_cmpint(wake_of(&s, 10, 14)->waker, ==, DTC_WAKER_TIMER);
	story_clear(&s);
}

/* One packet that wakes two threads: both wakes name it. */
static void test_packet_wakes_two(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 2, 0, 10, "a", SLEEP, 11, "b");
	story_switch(&s, 4, 0, 11, "b", SLEEP, 0, "swapper/0");
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 10, 0, 3, NULL);
	struct dtc_headers first = story_headers(1, 1000, 2, 80, 5, 9, DTC_TCP_ACK, 10, 1);
	struct dtc_headers second = story_headers(1, 1001, 2, 80, 5, 9, DTC_TCP_ACK, 10, 2);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 11, 0, &first);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 12, 0, &second);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 13, 0, 10, "a", 0);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 14, 0, 11, "b", 0);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 15, 0, 3, NULL);
	story_switch(&s, 20, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 30, 0, 10, "a", SLEEP, 11, "b");
	story_end(&s);
	for (int tid = 10; tid <= 11; tid++) {
		const struct dtc_wake *wake = wake_of(&s, tid, 13);
		g_assert_cmpint(wake->waker, ==, DTC_WAKER_PACKET);
		g_assert_cmpuint(wake->ref, ==, 1);
	}
	story_clear(&s);
}

/* A disk interrupt is known by the request that completes inside it; a flush has odd sectors. */
static void test_disk(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_block(&s, DTC_EVENT_BLOCK_INSERT, 5, 0, 0, 0);
	story_block(&s, DTC_EVENT_BLOCK_ISSUE, 7, 0, 0, 0);
	story_switch(&s, 10, 0, 10, "a", DISK, 0, "swapper/0");
	story_context(&s, DTC_EVENT_IRQ_ENTRY, 40, 0, 28, "whatever");
	story_block(&s, DTC_EVENT_BLOCK_COMPLETE, 41, 0, -1, 0);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 42, 0, 10, "a", 0);
	story_context(&s, DTC_EVENT_IRQ_EXIT, 43, 0, 28, NULL);
	story_switch(&s, 50, 0, 0, "swapper/0", RUN, 10, "a");
	story_end(&s);
	const struct dtc_wake *wake = wake_of(&s, 10, 42);
	g_assert_cmpint(wake->waker, ==, DTC_WAKER_BLOCK);
	const struct dtc_block_request *request = dtc_history_get_block_request(s.history, wake->ref);
	g_assert_cmpint(request->insert_ns, ==, 5);
	g_assert_cmpint(request->issue_ns, ==, 7);
	g_assert_cmpint(request->complete_ns, ==, 41);
	story_clear(&s);
}

/* A bio before a request changes its sector; a request behind another is none any more; a requeue is issued twice. */
static void test_merged_requests(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_block(&s, DTC_EVENT_BLOCK_INSERT, 5, 0, 108, 8);
	story_block(&s, DTC_EVENT_BLOCK_FRONT, 6, 0, 100, 8);
	story_block(&s, DTC_EVENT_BLOCK_INSERT, 7, 0, 116, 8);
	story_block(&s, DTC_EVENT_BLOCK_MERGE, 8, 0, 116, 8);
	story_switch(&s, 10, 0, 10, "a", DISK, 11, "kblockd");
	story_block(&s, DTC_EVENT_BLOCK_ISSUE, 15, 0, 100, 24);
	story_block(&s, DTC_EVENT_BLOCK_ISSUE, 20, 0, 100, 24);
	story_context(&s, DTC_EVENT_IRQ_ENTRY, 40, 0, 28, "whatever");
	story_block(&s, DTC_EVENT_BLOCK_COMPLETE, 41, 0, 100, 24);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 42, 0, 10, "a", 0);
	story_context(&s, DTC_EVENT_IRQ_EXIT, 43, 0, 28, NULL);
	story_switch(&s, 50, 0, 11, "kblockd", RUN, 10, "a");
	story_end(&s);
	const struct dtc_wake *wake = wake_of(&s, 10, 42);
	g_assert_cmpint(wake->waker, ==, DTC_WAKER_BLOCK);
	const struct dtc_block_request *request = dtc_history_get_block_request(s.history, wake->ref);
	g_assert_cmpint(request->insert_ns, ==, 5); /* still the one that the thread made */
	g_assert_cmpint(dtc_history_get_thread(s.history, request->thread)->tid, ==, 10);
	g_assert_cmpint(request->issue_ns, ==, 20);
	g_assert_cmpint(request->sector, ==, 100);
	g_assert_cmpuint(request->sectors, ==, 24);
	story_clear(&s);
}

/* Without interrupts in the trace, a timer's wakeup seems to be by whom it interrupted; a signal's is. */
static void test_timer_without_interrupts(void)
{
	for (int with_signal = 0; with_signal < 2; with_signal++) {
		struct story s;
		story_begin(&s, "n");
		story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "sleep");
		story_enter(&s, 5, 0, "clock_nanosleep", -1);
		story_switch(&s, 10, 0, 10, "sleep", SLEEP, 11, "b");
		story_task(&s, DTC_EVENT_SCHED_WAKING, 50, 0, 10, "sleep", 0);
		if (with_signal) {
			struct dtc_event signal = story_event(DTC_EVENT_SIGNAL_GENERATE, 51, 0);
			signal.v[DTC_SIGNAL_NUMBER] = 10;
			signal.v[DTC_SIGNAL_TID] = 10;
			dtc_machine_apply(s.machine, &signal);
		}
		story_switch(&s, 60, 0, 11, "b", RUN, 10, "sleep");
		story_end(&s);
		const struct dtc_wake *wake = wake_of(&s, 10, 50);
		g_assert_cmpint(wake->waker, ==, with_signal ? DTC_WAKER_THREAD : DTC_WAKER_TIMER);
		g_assert_cmpint(wake->is_inferred, ==, !with_signal);
		story_clear(&s);
	}
}

/*
 * The recorder itself goes from CPU to CPU and begins to record each (perf): it was on another one, and is switched out
 * on this one first of all. Since when it had that is not known.
 */
static void test_moved_before_the_first_switch(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "perf");
	story_switch(&s, 20, 0, 10, "perf", DISK, 11, "b");
	story_switch(&s, 50, 1, 10, "perf", SLEEP, 12, "c");
	story_switch(&s, 90, 1, 12, "c", SLEEP, 0, "swapper/1");
	story_end(&s);
	g_assert_cmpuint(dtc_history_get_run(s.history, 1, 0).thread, ==, DTC_NONE);
	g_assert_cmpint(dtc_history_get_run(s.history, 1, 1).begin_ns, ==, 50);
	story_clear(&s);
}

/* A threaded interrupt handler completes a request, and wakes who waits for it; later wakings are its own doing. */
static void test_completed_by_a_thread(void)
{
	struct story s;
	story_begin(&s, "n");
	struct dtc_event dump = story_event(DTC_EVENT_DUMP_PROCESS, 0, 0);
	dump.v[DTC_DUMP_TID] = dump.v[DTC_DUMP_PID] = 30;
	dump.v[DTC_DUMP_TYPE] = 1;
	dump.text[0] = "irq/30-nvme";
	dtc_machine_apply(s.machine, &dump);
	story_switch(&s, 1, 0, 0, "swapper/0", RUN, 10, "a");
	story_block(&s, DTC_EVENT_BLOCK_ISSUE, 5, 0, 100, 8);
	story_switch(&s, 10, 0, 10, "a", DISK, 11, "b");
	story_switch(&s, 20, 0, 11, "b", SLEEP, 30, "irq/30-nvme");
	story_block(&s, DTC_EVENT_BLOCK_COMPLETE, 41, 0, 100, 8);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 42, 0, 10, "a", 0);
	story_switch(&s, 45, 0, 30, "irq/30-nvme", RUN, 10, "a");
	story_switch(&s, 50, 0, 10, "a", RUN, 30, "irq/30-nvme");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 55, 0, 11, "b", 0);
	story_switch(&s, 60, 0, 30, "irq/30-nvme", SLEEP, 11, "b");
	story_end(&s);
	const struct dtc_wake *wake = wake_of(&s, 10, 42);
	g_assert_cmpint(wake->waker, ==, DTC_WAKER_BLOCK);
	g_assert_true(wake->is_inferred);
	g_assert_cmpint(wake_of(&s, 11, 55)->waker, ==, DTC_WAKER_THREAD);
	story_clear(&s);
}

/* Interleaved: two wait for a third, which wakes them in the other order; each wait has its own waking. */
static void test_interleaved_wakeups(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 10, 0, 10, "a", SLEEP, 11, "b");
	story_switch(&s, 20, 0, 11, "b", SLEEP, 12, "c");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 30, 0, 11, "b", 0);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 31, 0, 10, "a", 0);
	story_task(&s, DTC_EVENT_SCHED_WAKEUP, 32, 0, 11, "b", 0);
	story_task(&s, DTC_EVENT_SCHED_WAKEUP, 33, 0, 10, "a", 0);
	story_switch(&s, 40, 0, 12, "c", SLEEP, 10, "a");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 45, 0, 12, "c", 0);
	story_switch(&s, 50, 0, 10, "a", SLEEP, 11, "b");
	story_switch(&s, 60, 0, 11, "b", SLEEP, 12, "c");
	story_end(&s);
	g_assert_cmpint(wake_of(&s, 11, 30)->wakeup_ns, ==, 32);
	g_assert_cmpint(wake_of(&s, 10, 31)->wakeup_ns, ==, 33);
	g_assert_cmpint(waker_tid(&s, wake_of(&s, 11, 30)), ==, 12);
	g_assert_cmpint(waker_tid(&s, wake_of(&s, 10, 31)), ==, 12);
	g_assert_cmpint(waker_tid(&s, wake_of(&s, 12, 45)), ==, 10);
	g_assert_cmpint(story_interval(&s, 11, 50)->state, ==, DTC_STATE_RUNQUEUE);
	g_assert_cmpint(story_interval(&s, 11, 50)->begin_ns, ==, 30);
	story_clear(&s);
}

/* Events lost in the middle: from the gap on the thread that ran there is unknown until it is seen again. */
static void test_lost_events(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_enter(&s, 10, 0, "read", 3);
	story_switch(&s, 15, 0, 10, "a", SLEEP, 11, "b");
	story_lost(&s, 20, 60, 0);
	story_switch(&s, 70, 0, 10, "a", SLEEP, 12, "c");
	story_end(&s);
	g_assert_cmpint(story_interval(&s, 11, 20)->state, ==, DTC_STATE_USER);
	g_assert_cmpint(story_interval(&s, 11, 50)->state, ==, DTC_STATE_UNKNOWN);
	/* it was seen leaving the CPU after the gap: what it did in between is unknown */
	g_assert_cmpint(story_interval(&s, 10, 65)->state, ==, DTC_STATE_UNKNOWN);
	story_clear(&s);
}

/*
 * A thread that waited, or was runnable, where events were lost, and is never seen again: what it does from the gap on
 * is not known, to the end. One that waited elsewhere still waits.
 */
static void test_lost_to_the_end(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 0, 1, 0, "swapper/1", RUN, 12, "c");
	story_enter(&s, 5, 0, "read", 3);
	story_switch(&s, 10, 0, 10, "a", SLEEP, 11, "b");
	story_switch(&s, 11, 1, 12, "c", SLEEP, 13, "d");
	story_switch(&s, 15, 0, 11, "b", RUN, 14, "e");
	story_lost(&s, 20, 60, 0);
	story_switch(&s, 90, 1, 13, "d", RUN, 0, "swapper/1");
	story_end(&s);
	static const struct {
		int tid;
		enum dtc_state before, after;
	} expected[] = { { 10, DTC_STATE_WAIT, DTC_STATE_UNKNOWN },
			 { 11, DTC_STATE_PREEMPTED, DTC_STATE_UNKNOWN },
			 { 12, DTC_STATE_WAIT, DTC_STATE_WAIT } };
	for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
		const struct dtc_interval *last = story_interval(&s, expected[i].tid, 90);
		g_assert_cmpint(story_interval(&s, expected[i].tid, 20)->state, ==, expected[i].before);
		g_assert_cmpint(last->state, ==, expected[i].after);
		g_assert_cmpint(last->begin_ns, ==, expected[i].after == DTC_STATE_UNKNOWN ? 20 : 11);
		g_assert_cmpuint(last->call, ==, DTC_NONE);
	}
	story_clear(&s);
}

/* The exit of a call whose entry was lost is not the exit of the call from before the gap: no bytes are made up. */
static void test_lost_exit(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_enter(&s, 10, 0, "write", 3);
	story_lost(&s, 20, 60, 0);
	story_switch(&s, 70, 0, 10, "a", SLEEP, 11, "b");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 80, 0, 10, "a", 0);
	story_switch(&s, 90, 0, 11, "b", SLEEP, 10, "a");
	story_leave(&s, 95, 0, "epoll_wait", 1);
	story_switch(&s, 99, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	uint32_t thread = dtc_history_find_thread(s.history, 10, 5);
	uint32_t index = dtc_history_find_call(s.history, thread, 99);
	struct dtc_call write_place;
	const struct dtc_call *write = dtc_history_get_call(s.history, index, &write_place);
	g_assert_cmpint(write->end_ns, ==, DTC_TIME_NONE);
	g_assert_cmpint(dtc_history_get_file(s.history, write->file)->written_bytes, ==, 0);
	g_assert_cmpuint(story_interval(&s, 10, 20)->call, ==, index);
	g_assert_cmpuint(story_interval(&s, 10, 80)->call, ==, DTC_NONE);
	story_clear(&s);
}

/*
 * Events are lost in the middle of a wait. On the CPU where the thread waited: it may have run there unseen, so its
 * state and its call are unknown from the gap on. On another one: the wait goes on if its end was seen; if not, the
 * waking was lost.
 */
static void test_lost_in_wait(gconstpointer data)
{
	int variant = GPOINTER_TO_INT(data);
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 0, 1, 0, "swapper/1", RUN, 12, "c");
	story_enter(&s, 10, 0, "read", 3);
	story_switch(&s, 15, 0, 10, "a", SLEEP, 11, "b");
	story_lost(&s, 20, 60, variant ? 1 : 0);
	if (variant < 2)
		story_task(&s, DTC_EVENT_SCHED_WAKING, 80, variant ? 0 : 1, 10, "a", 0);
	story_switch(&s, 90, 0, 11, "b", SLEEP, 10, "a");
	story_leave(&s, 95, 0, "read", 1);
	story_switch(&s, 99, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	const struct dtc_interval *wait = story_interval(&s, 10, 20);
	g_assert_cmpint(wait->state, ==, DTC_STATE_WAIT);
	g_assert_cmpint(wait->end_ns, ==, variant == 1 ? 80 : 20);
	g_assert_cmpint(story_interval(&s, 10, 70)->state, ==, variant == 1 ? DTC_STATE_WAIT : DTC_STATE_UNKNOWN);
	g_assert_cmpint(story_interval(&s, 10, 90)->state, ==, variant == 2 ? DTC_STATE_UNKNOWN : DTC_STATE_RUNQUEUE);
	uint32_t thread = dtc_history_find_thread(s.history, 10, 5);
	struct dtc_call read_place;
	const struct dtc_call *read =
		dtc_history_get_call(s.history, dtc_history_find_call(s.history, thread, 12), &read_place);
	g_assert_cmpint(read->end_ns, ==, variant ? 95 : DTC_TIME_NONE);
	story_clear(&s);
}

/* A work of which only the execution was seen: nobody queued it. */
static void test_work_from_before(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 14, "kworker/0:1");
	story_work(&s, DTC_EVENT_WORK_START, 10, 0, 0x1000);
	story_work(&s, DTC_EVENT_WORK_END, 20, 0, 0x1000);
	story_switch(&s, 30, 0, 14, "kworker/0:1", SLEEP, 0, "swapper/0");
	story_end(&s);
	const struct dtc_work *work = dtc_history_find_work(s.history, dtc_history_find_thread(s.history, 14, 10), 20);
	g_assert_nonnull(work);
	g_assert_cmpint(work->queued.waking_ns, ==, DTC_TIME_NONE);
	g_assert_cmpuint(work->queued.thread, ==, DTC_NONE);
	g_assert_cmpuint(work->queued.ref, ==, DTC_NONE);
	story_clear(&s);
}

/* What ksoftirqd is given was raised by a softirq, not by the thread in whose interrupt's exit it is woken. */
static void test_leftover_softirq(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 14, "ksoftirqd/0");
	story_switch(&s, 5, 0, 14, "ksoftirqd/0", SLEEP, 10, "a");
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 10, 0, 1, NULL);
	story_context(&s, DTC_EVENT_SOFTIRQ_RAISE, 12, 0, 3, NULL);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 15, 0, 1, NULL);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 16, 0, 14, "ksoftirqd/0", 0);
	story_switch(&s, 20, 0, 10, "a", RUN, 14, "ksoftirqd/0");
	story_end(&s);
	const struct dtc_wake *wake = wake_of(&s, 14, 16);
	g_assert_cmpint(wake->waker, ==, DTC_WAKER_SOFTIRQ);
	g_assert_cmpuint(wake->ref, ==, 3);
	story_clear(&s);
}

/* One CPU's stream ends early: the thread it ran shows up on the other; what it did in between is unknown. */
static void test_silent_cpu(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 11, "b");
	story_switch(&s, 5, 1, 0, "swapper/1", RUN, 10, "a");
	story_enter(&s, 10, 1, "read", 3);
	story_switch(&s, 50, 0, 11, "b", SLEEP, 10, "a");
	story_switch(&s, 60, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_assert_cmpint(story_interval(&s, 10, 10)->state, ==, DTC_STATE_USER);
	g_assert_cmpint(story_interval(&s, 10, 50)->state, ==, DTC_STATE_UNKNOWN);
	g_assert_cmpint(story_interval(&s, 10, 50)->begin_ns, ==, 10);
	g_assert_cmpint(story_interval(&s, 10, 60)->state, ==, DTC_STATE_USER);
	uint32_t count = dtc_history_get_run_count(s.history, 1);
	g_assert_cmpuint(dtc_history_get_run(s.history, 1, count - 1).thread, ==, DTC_NONE);
	story_clear(&s);
}

/* A damaged switch takes a thread off a CPU that it does not have; its own CPU goes on with events. */
static void test_switched_out_elsewhere(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 11, "b");
	story_switch(&s, 5, 1, 0, "swapper/1", RUN, 10, "a");
	story_switch(&s, 20, 0, 10, "b", SLEEP, 0, "swapper/0");
	story_enter(&s, 30, 1, "read", 3);
	story_leave(&s, 40, 1, "read", 1);
	story_switch(&s, 60, 1, 10, "a", SLEEP, 0, "swapper/1");
	story_end(&s); /* a wait that ended without a wake, before */
	g_assert_cmpint(story_interval(&s, 10, 5)->state, ==, DTC_STATE_UNKNOWN);
	g_assert_cmpint(story_interval(&s, 10, 60)->state, ==, DTC_STATE_UNKNOWN);
	g_assert_cmpint(story_interval(&s, 11, 60)->state, ==, DTC_STATE_UNKNOWN);
	const struct dtc_run run = dtc_history_get_run(s.history, 1, dtc_history_get_run_count(s.history, 1) - 2);
	g_assert_cmpuint(run.thread, ==, DTC_NONE); /* from the event before on */
	g_assert_cmpint(run.begin_ns, ==, 5);
	story_clear(&s);
}

/* A socket that is only read: its window update leaves inside the read and tells the connection. */
static void test_only_read(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	struct dtc_headers syn = story_headers(1, 1000, 2, 80, 100, 0, DTC_TCP_SYN, 0, 1);
	struct dtc_headers syn_ack = story_headers(2, 80, 1, 1000, 500, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	struct dtc_headers data = story_headers(1, 1000, 2, 80, 101, 501, DTC_TCP_ACK, 700, 2);
	struct dtc_headers update = story_headers(2, 80, 1, 1000, 501, 801, DTC_TCP_ACK, 0, 3);
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 1, 0, 3, NULL);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 2, 0, &syn);
	story_packet(&s, DTC_EVENT_NET_SEND, 3, 0, &syn_ack);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 4, 0, &data);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 5, 0, 3, NULL);
	story_enter(&s, 10, 0, "accept", 3);
	story_leave(&s, 11, 0, "accept", 4);
	story_enter(&s, 12, 0, "read", 4);
	story_packet(&s, DTC_EVENT_NET_SEND, 13, 0, &update);
	story_leave(&s, 14, 0, "read", 700);
	story_switch(&s, 20, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	uint32_t thread = dtc_history_find_thread(s.history, 10, 5);
	struct dtc_call read_place;
	const struct dtc_call *read =
		dtc_history_get_call(s.history, dtc_history_find_call(s.history, thread, 13), &read_place);
	const struct dtc_file *file = dtc_history_get_file(s.history, read->file);
	g_assert_cmpuint(file->flow_in, !=, DTC_NONE);
	g_assert_true(file->has_base_in);
	g_assert_cmpuint(file->base_in, ==, 101);
	story_clear(&s);
}

static void test_pid_reuse(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_fork(&s, 5, 0, 10, 10, 20, 20, "a");
	story_switch(&s, 10, 0, 10, "a", SLEEP, 20, "first");
	story_task(&s, DTC_EVENT_SCHED_EXIT, 20, 0, 20, "first", 0);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 22, 0, 10, "a", 0);
	story_switch(&s, 25, 0, 20, "first", DEAD, 10, "a");
	story_task(&s, DTC_EVENT_SCHED_FREE, 30, 0, 20, "first", 0);
	story_fork(&s, 40, 0, 10, 10, 20, 20, "a");
	story_switch(&s, 50, 0, 10, "a", SLEEP, 20, "second");
	story_switch(&s, 60, 0, 20, "second", SLEEP, 0, "swapper/0");
	story_end(&s);
	uint32_t first = dtc_history_find_thread(s.history, 20, 30),
		 second = dtc_history_find_thread(s.history, 20, 45);
	g_assert_cmpuint(first, !=, second);
	g_assert_cmpint(dtc_history_get_thread(s.history, first)->end_ns, ==, 30);
	g_assert_cmpstr(dtc_history_get_comm(s.history, first, 20), ==, "first");
	g_assert_cmpstr(dtc_history_get_comm(s.history, second, 55), ==, "second");
	g_assert_cmpint(dtc_history_find_thread(s.history, 20, DTC_TIME_NONE), ==, second);
	story_clear(&s);
}

/* The fork of the second was lost: it begins when it is first seen, and has nothing of the first. */
static void test_pid_reuse_without_fork(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 20, "first");
	story_enter(&s, 5, 0, "exit_group", -1);
	story_task(&s, DTC_EVENT_SCHED_EXIT, 10, 0, 20, "first", 0);
	story_switch(&s, 20, 0, 20, "first", DEAD, 10, "a");
	story_task(&s, DTC_EVENT_SCHED_FREE, 30, 0, 20, "first", 0);
	story_switch(&s, 50, 0, 10, "a", SLEEP, 20, "second");
	story_switch(&s, 60, 0, 20, "second", SLEEP, 0, "swapper/0");
	story_end(&s);
	uint32_t first = dtc_history_find_thread(s.history, 20, 30),
		 second = dtc_history_find_thread(s.history, 20, 55);
	g_assert_cmpuint(first, !=, second);
	g_assert_cmpint(dtc_history_get_thread(s.history, first)->end_ns, ==, 30);
	g_assert_cmpint(dtc_history_get_thread(s.history, second)->begin_ns, ==, 50);
	g_assert_cmpint(story_interval(&s, 20, 60)->state, ==, DTC_STATE_USER);
	g_assert_cmpuint(story_interval(&s, 20, 60)->call, ==, DTC_NONE);
	g_assert_cmpstr(dtc_history_get_comm(s.history, second, 55), ==, "second");
	story_clear(&s);
}

static void test_thread_without_comm(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, NULL, RUN, 10, NULL);
	story_switch(&s, 10, 0, 10, NULL, SLEEP, 0, NULL);
	story_end(&s);
	uint32_t thread = dtc_history_find_thread(s.history, 10, 5);
	g_assert_cmpstr(dtc_history_get_comm(s.history, thread, 5), ==, "");
	g_assert_cmpstr(dtc_history_get_process(s.history, thread, 5), ==, "");
	story_clear(&s);
}

/* accept() without an address: the first segment that leaves inside a write tells the connection. */
static void test_accepted_connection(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	struct dtc_headers syn = story_headers(1, 1000, 2, 80, 100, 0, DTC_TCP_SYN, 0, 1);
	struct dtc_headers syn_ack = story_headers(2, 80, 1, 1000, 500, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	struct dtc_headers question = story_headers(1, 1000, 2, 80, 101, 501, DTC_TCP_ACK, 7, 2);
	struct dtc_headers answer = story_headers(2, 80, 1, 1000, 501, 108, DTC_TCP_ACK, 9, 3);
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 1, 0, 3, NULL);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 2, 0, &syn);
	story_packet(&s, DTC_EVENT_NET_SEND, 3, 0, &syn_ack);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 4, 0, &question);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 5, 0, 3, NULL);
	story_enter(&s, 10, 0, "accept", 3);
	story_leave(&s, 11, 0, "accept", 4);
	story_enter(&s, 12, 0, "read", 4);
	story_leave(&s, 13, 0, "read", 7);
	story_enter(&s, 14, 0, "write", 4);
	story_packet(&s, DTC_EVENT_NET_SEND, 15, 0, &answer);
	story_leave(&s, 16, 0, "write", 9);
	story_switch(&s, 20, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	uint32_t thread = dtc_history_find_thread(s.history, 10, 5);
	uint32_t read = dtc_history_find_call(s.history, thread, 13),
		 write = dtc_history_find_call(s.history, thread, 15);
	uint32_t file = dtc_history_copy_call(s.history, read).file;
	g_assert_cmpuint(file, ==, dtc_history_copy_call(s.history, write).file);
	const struct dtc_file *f = dtc_history_get_file(s.history, file);
	g_assert_true(f->has_base_in && f->has_base_out);
	g_assert_cmpuint(f->base_in, ==, 101);
	g_assert_cmpuint(f->base_out, ==, 501);
	g_assert_cmpuint(dtc_history_find_file_of_flow(s.history, f->flow_out), ==, file);
	story_clear(&s);
}

static bool has_finding(const struct story *s, const char *text)
{
	for (guint i = 0; i < dtc_findings_get_count(s->findings); i++)
		if (strstr(dtc_findings_get(s->findings, i)->text, text))
			return true;
	return false;
}

/* A trace that was recorded without some kinds of events says which, and what that leaves open. */
static void test_absent_kinds(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 10, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_assert_true(has_finding(&s, "no wakeups"));
	g_assert_true(has_finding(&s, "no interrupt events"));
	g_assert_true(has_finding(&s, "no net events"));
	g_assert_true(has_finding(&s, "no system calls"));
	g_assert_false(has_finding(&s, "no block events")); /* nobody waited for a device */
	story_clear(&s);

	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 10, 0, 10, "a", DISK, 0, "swapper/0");
	story_switch(&s, 10, 1, 0, "swapper/1", RUN, 11, "b");
	story_context(&s, DTC_EVENT_IRQ_ENTRY, 20, 0, 5, "disk0");
	story_task(&s, DTC_EVENT_SCHED_WAKEUP, 21, 0, 10, "a", 0);
	story_context(&s, DTC_EVENT_IRQ_EXIT, 22, 0, 5, "disk0");
	story_switch(&s, 30, 0, 0, "swapper/0", RUN, 10, "a");
	story_end(&s);
	g_assert_true(has_finding(&s, "no sched_waking"));
	g_assert_false(has_finding(&s, "no wakeups"));
	g_assert_true(has_finding(&s, "no softirqs"));
	g_assert_false(has_finding(&s, "no interrupt events"));
	g_assert_true(has_finding(&s, "no block events (block_rq_issue, block_rq_complete): 1 waits"));
	story_clear(&s);

	/* one CPU: whoever runs when a thread wakes up has woken it, or an interrupt has */
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_task(&s, DTC_EVENT_SCHED_WAKEUP, 1, 0, 11, "b", 0);
	story_end(&s);
	g_assert_false(has_finding(&s, "no sched_waking"));
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/state/wait-and-wake", test_wait_and_wake);
	g_test_add_func("/state/wake-by-self", test_wake_by_self);
	g_test_add_func("/state/new-child", test_new_child);
	g_test_add_func("/state/unknown-waker", test_unknown_waker);
	g_test_add_func("/state/two-threads-wake-each-other", test_two_threads_wake_each_other);
	g_test_add_func("/state/waking-before-switch-out", test_waking_before_switch_out);
	g_test_add_func("/state/wait-open-at-end", test_wait_open_at_end);
	g_test_add_func("/state/wait-before-trace", test_wait_before_trace);
	g_test_add_func("/state/migration-while-runnable", test_migration_while_runnable);
	g_test_add_func("/state/target-not-told", test_target_not_told);
	g_test_add_func("/state/softirq-on-top-of-irq", test_softirq_on_top_of_irq);
	g_test_add_func("/state/timer-beats-softirq", test_timer_beats_softirq);
	g_test_add_func("/state/timer-vector", test_timer_vector);
	g_test_add_func("/state/packet-wakes-two", test_packet_wakes_two);
	g_test_add_func("/state/disk", test_disk);
	g_test_add_func("/state/merged-requests", test_merged_requests);
	g_test_add_func("/state/completed-by-a-thread", test_completed_by_a_thread);
	g_test_add_func("/state/timer-without-interrupts", test_timer_without_interrupts);
	g_test_add_func("/state/moved-before-the-first-switch", test_moved_before_the_first_switch);
	g_test_add_func("/state/interleaved-wakeups", test_interleaved_wakeups);
	g_test_add_func("/state/lost-events", test_lost_events);
	g_test_add_func("/state/lost-to-the-end", test_lost_to_the_end);
	g_test_add_func("/state/lost-exit", test_lost_exit);
	g_test_add_data_func("/state/lost-in-wait/its-cpu", GINT_TO_POINTER(0), test_lost_in_wait);
	g_test_add_data_func("/state/lost-in-wait/another-cpu", GINT_TO_POINTER(1), test_lost_in_wait);
	g_test_add_data_func("/state/lost-in-wait/the-waking", GINT_TO_POINTER(2), test_lost_in_wait);
	g_test_add_func("/state/work-from-before", test_work_from_before);
	g_test_add_func("/state/leftover-softirq", test_leftover_softirq);
	g_test_add_func("/state/silent-cpu", test_silent_cpu);
	g_test_add_func("/state/switched-out-elsewhere", test_switched_out_elsewhere);
	g_test_add_func("/state/only-read", test_only_read);
	g_test_add_func("/state/pid-reuse", test_pid_reuse);
	g_test_add_func("/state/pid-reuse/without-fork", test_pid_reuse_without_fork);
	g_test_add_func("/state/thread-without-comm", test_thread_without_comm);
	g_test_add_func("/state/accepted-connection", test_accepted_connection);
	g_test_add_func("/state/absent-kinds", test_absent_kinds);
	return g_test_run();
}
