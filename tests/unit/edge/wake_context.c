/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In what the one who woke a thread was: a call, an interrupt, a fault, the way back from a call. */
#include "analyze/edge/wake_context.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define MS 1000000
#define SOFTIRQ_NET_RX 3
#define SOFTIRQ_RCU 9

/* Thread 11 has CPU 0 and 10 sleeps; what follows is told by each test, and wakes 10 at 10 ms. */
static void begin(struct story *s)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "sleeper");
	story_enter(s, 10, 0, "read", 3);
	story_switch(s, 20, 0, 10, "sleeper", SLEEP, 11, "waker");
	story_enter(s, 30, 0, "getpid", -1); /* so that its mode is known */
	story_leave(s, 40, 0, "getpid", 11);
}

static void wake(struct story *s)
{
	story_task(s, DTC_EVENT_SCHED_WAKING, 10 * MS, 0, 10, "sleeper", 0);
}

/* The end of the story, and in what 10 was woken. */
static struct dtc_wake_context end(struct story *s)
{
	story_switch(s, 20 * MS, 0, 11, "waker", SLEEP, 10, "sleeper");
	DtcHistory *h = story_end(s);
	uint32_t count = dtc_history_get_wake_count(h);
	g_assert_cmpuint(count, >, 0);
	const struct dtc_wake wake = dtc_history_copy_wake(h, count - 1);
	return dtc_wake_get_context(h, &wake);
}

static const char *get_call(const struct story *s, const struct dtc_wake_context *context)
{
	if (context->call == DTC_NONE)
		return NULL;
	return dtc_history_get_string(s->history, dtc_history_copy_call(s->history, context->call).name);
}

static void assert_thread(const struct story *s, const struct dtc_wake_context *context, int32_t tid)
{
	g_assert_cmpuint(context->thread, !=, DTC_NONE);
	g_assert_cmpint(dtc_history_get_thread(s->history, context->thread)->tid, ==, tid);
}

static void test_call(void)
{
	struct story s;
	begin(&s);
	story_enter(&s, 9 * MS, 0, "write", 4);
	wake(&s);
	story_leave(&s, 11 * MS, 0, "write", 1);
	struct dtc_wake_context context = end(&s);
	g_assert_cmpint(context.mode, ==, DTC_WAKE_IN_CALL);
	g_assert_cmpstr(get_call(&s, &context), ==, "write");
	assert_thread(&s, &context, 11);
	story_clear(&s);
}

/* The last close of a pipe is put off until the call has returned; half a second later it is not that any more. */
static void test_return(void)
{
	struct story s;
	begin(&s);
	story_enter(&s, 9 * MS, 0, "close", 4);
	story_leave(&s, 10 * MS - 3000, 0, "close", 0);
	wake(&s);
	struct dtc_wake_context context = end(&s);
	g_assert_cmpint(context.mode, ==, DTC_WAKE_IN_RETURN);
	g_assert_cmpstr(get_call(&s, &context), ==, "close");
	story_clear(&s);

	begin(&s);
	wake(&s);
	context = end(&s);
	g_assert_cmpint(context.mode, ==, DTC_WAKE_IN_USER);
	g_assert_null(get_call(&s, &context));
	story_clear(&s);
}

static void test_fault(void)
{
	struct story s;
	begin(&s);
	story_context(&s, DTC_EVENT_FAULT_USER, 9 * MS, 0, 0x1000, NULL);
	wake(&s);
	struct dtc_wake_context context = end(&s);
	g_assert_cmpint(context.mode, ==, DTC_WAKE_IN_PAGE_FAULT);
	story_clear(&s);

	/* one before the last call is over */
	begin(&s);
	story_context(&s, DTC_EVENT_FAULT_USER, 8 * MS, 0, 0x1000, NULL);
	story_enter(&s, 9 * MS, 0, "getpid", -1);
	story_leave(&s, 9 * MS + 100, 0, "getpid", 11);
	wake(&s);
	context = end(&s);
	g_assert_cmpint(context.mode, ==, DTC_WAKE_IN_USER);
	story_clear(&s);
}

/* An interrupt comes upon a call that has nothing to do with it, and is told beside it. */
static void test_interrupts(void)
{
	struct story s;
	begin(&s);
	story_enter(&s, 9 * MS, 0, "write", 4);
	story_context(&s, DTC_EVENT_IRQ_ENTRY, 10 * MS - 100, 0, 7, "eth0");
	wake(&s);
	story_context(&s, DTC_EVENT_IRQ_EXIT, 10 * MS + 100, 0, 7, NULL);
	struct dtc_wake_context context = end(&s);
	g_assert_cmpint(context.mode, ==, DTC_WAKE_IN_IRQ);
	g_assert_cmpstr(dtc_history_get_string(s.history, context.ref), ==, "eth0");
	g_assert_cmpstr(get_call(&s, &context), ==, "write");
	story_clear(&s);

	begin(&s);
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 10 * MS - 100, 0, SOFTIRQ_NET_RX, NULL);
	wake(&s);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 10 * MS + 100, 0, SOFTIRQ_NET_RX, NULL);
	context = end(&s);
	g_assert_cmpint(context.mode, ==, DTC_WAKE_IN_SOFTIRQ);
	g_assert_cmpuint(context.ref, ==, SOFTIRQ_NET_RX);
	assert_thread(&s, &context, 11);
	story_clear(&s);
}

static struct dtc_wake make_wake(enum dtc_waker waker, uint32_t thread, uint32_t ref, bool is_inferred)
{
	return (struct dtc_wake){ .waking_ns = 10 * MS,
				  .wakeup_ns = 10 * MS,
				  .target = 0,
				  .thread = thread,
				  .ref = ref,
				  .waker = (uint8_t)waker,
				  .is_inferred = is_inferred };
}

/* What the history knows of the waker stands where the intervals have no interrupt; what is inferred is not guessed on.
 */
static void test_said_by_the_wake(void)
{
	struct story s;
	begin(&s);
	wake(&s);
	(void)end(&s);
	uint32_t waker = dtc_history_find_thread(s.history, 11, DTC_TIME_NONE);
	const struct dtc_wake ksoftirqd = make_wake(DTC_WAKER_SOFTIRQ, waker, SOFTIRQ_RCU, false);
	const struct dtc_wake before = make_wake(DTC_WAKER_TIMER, DTC_NONE, DTC_NONE, false);
	const struct dtc_wake inferred = make_wake(DTC_WAKER_THREAD, waker, DTC_NONE, true);
	const struct dtc_wake nobody = make_wake(DTC_WAKER_IPI, waker, DTC_NONE, false);
	struct dtc_wake_context context = dtc_wake_get_context(s.history, &ksoftirqd);
	g_assert_cmpint(context.mode, ==, DTC_WAKE_IN_SOFTIRQ);
	g_assert_cmpuint(context.ref, ==, SOFTIRQ_RCU);
	context = dtc_wake_get_context(s.history, &before);
	g_assert_cmpint(context.mode, ==, DTC_WAKE_IN_IRQ);
	g_assert_cmpuint(context.thread, ==, DTC_NONE);
	g_assert_cmpint(dtc_wake_get_context(s.history, &inferred).mode, ==, DTC_WAKE_IN_UNKNOWN);
	g_assert_cmpint(dtc_wake_get_context(s.history, &nobody).mode, ==, DTC_WAKE_IN_UNKNOWN);
	story_clear(&s);
}

static void test_names(void)
{
	g_assert_cmpstr(dtc_wake_mode_to_string(DTC_WAKE_IN_UNKNOWN), ==, "unknown");
	g_assert_cmpstr(dtc_wake_mode_to_string(DTC_WAKE_IN_CALL), ==, "syscall");
	g_assert_cmpstr(dtc_wake_mode_to_string(DTC_WAKE_IN_RETURN), ==, "return");
	g_assert_cmpstr(dtc_wake_mode_to_string(DTC_WAKE_IN_IRQ), ==, "irq");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/wake-context/call", test_call);
	g_test_add_func("/wake-context/return", test_return);
	g_test_add_func("/wake-context/fault", test_fault);
	g_test_add_func("/wake-context/interrupts", test_interrupts);
	g_test_add_func("/wake-context/said-by-the-wake", test_said_by_the_wake);
	g_test_add_func("/wake-context/names", test_names);
	return g_test_run();
}
