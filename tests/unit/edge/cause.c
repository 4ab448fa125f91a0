/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a timer's end of a wait tells: whether the program set it, or its kernel, which holds back who writes; and what
 * an end by something else does. */
#include "analyze/edge/cause.h"
#include "analyze/report/words.h"
#include "tests/support/story.h"

#define TID 20
#define SLEEPS 1
#define UNINTERRUPTIBLE 2

struct variant {
	const char *name, *made, *call; /* what made fd 3, and what waits; NULL: none */
	int64_t state;
	enum dtc_cause cause;
	const char *said;
};

static const struct variant variants[] = {
	{ "/cause/write-held-back", "openat", "write", UNINTERRUPTIBLE, DTC_CAUSE_DISK,
	  "write(fd 3), held back as by vm.dirty_ratio" },
	{ "/cause/read-held-back", "openat", "read", UNINTERRUPTIBLE, DTC_CAUSE_DISK,
	  "read(fd 3), held back by its kernel, until a timer" },
	{ "/cause/write-of-unknown", NULL, "write", UNINTERRUPTIBLE, DTC_CAUSE_DISK,
	  "write(fd 3), held back as by vm.dirty_ratio" },
	{ "/cause/write-to-socket", "socket", "write", UNINTERRUPTIBLE, DTC_CAUSE_TIMER, "write(socket)" },
	{ "/cause/write-interruptible", "openat", "write", SLEEPS, DTC_CAUSE_TIMER, "write(fd 3)" },
	{ "/cause/other-call", NULL, "ioctl", UNINTERRUPTIBLE, DTC_CAUSE_TIMER, "ioctl(fd 3)" },
	{ "/cause/fault-held-back", "openat", NULL, UNINTERRUPTIBLE, DTC_CAUSE_PAGE_FAULT,
	  "held back as by vm.dirty_ratio or memory.high" },
};

static void test(gconstpointer data)
{
	const struct variant *variant = data;
	struct story s;

	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", 0, TID, "writer");
	story_enter(&s, 5, 0, variant->made ? variant->made : "getpid", -1);
	story_leave(&s, 6, 0, variant->made ? variant->made : "getpid", 3);
	if (variant->call)
		story_enter(&s, 10, 0, variant->call, 3);
	story_switch(&s, 20, 0, TID, "writer", variant->state, 0, "swapper/0");
	story_timer_wakes(&s, 49, 50, 0, TID, "writer");
	story_switch(&s, 55, 0, 0, "swapper/0", 0, TID, "writer");
	const DtcHistory *h = story_end(&s);
	struct dtc_interval place;
	const struct dtc_interval *wait =
		dtc_history_find_interval_before(h, dtc_history_find_thread(h, TID, 30), 40, &place);
	g_assert_cmpint(wait->begin_ns, ==, 20);
	g_assert_cmpstr(dtc_cause_to_string(dtc_cause_of_interval(h, wait)), ==, dtc_cause_to_string(variant->cause));
	g_autofree char *said = dtc_words_for_interval(h, wait);
	g_assert_cmpstr(said, ==, variant->said);
	story_clear(&s);
}

/* An interrupt without what it did: traces without timers, on ARM, whose timer is a device's interrupt. */
static void test_interrupt(const char *call, enum dtc_cause cause)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", 0, TID, "sleeper");
	story_enter(&s, 10, 0, call, -1);
	story_switch(&s, 20, 0, TID, "sleeper", SLEEPS, 0, "swapper/0");
	story_context(&s, DTC_EVENT_IRQ_ENTRY, 48, 0, 27, "arch_timer");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 50, 0, TID, "sleeper", 0);
	story_context(&s, DTC_EVENT_IRQ_EXIT, 52, 0, 27, "arch_timer");
	story_switch(&s, 55, 0, 0, "swapper/0", 0, TID, "sleeper");
	const DtcHistory *h = story_end(&s);
	const struct dtc_interval *wait = story_interval(&s, TID, 40);
	g_assert_cmpstr(dtc_cause_to_string(dtc_cause_of_interval(h, wait)), ==, dtc_cause_to_string(cause));
	story_clear(&s);
}

static void test_sleep_by_interrupt(void)
{
	test_interrupt("clock_nanosleep", DTC_CAUSE_TIMER);
}

static void test_call_by_interrupt(void)
{
	test_interrupt("ioctl", DTC_CAUSE_DEVICE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(variants); i++)
		g_test_add_data_func(variants[i].name, &variants[i], test);
	g_test_add_func("/cause/sleep-by-interrupt", test_sleep_by_interrupt);
	g_test_add_func("/cause/call-by-interrupt", test_call_by_interrupt);
	return g_test_run();
}
