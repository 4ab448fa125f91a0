/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of threads that waited while events were lost. */
#include "tests/support/story.h"

#include "analyze/edge/cause.h"
#include "dtrace-chain/path.h"

#define RUN 0
#define SLEEP 1
#define A 10
#define B 20

/* A sleeps, and what two CPUs did from 400 to 500 is lost. */
static void begin(struct story *s)
{
	story_begin(s, "n");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, B, "b");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, A, "a");
	story_enter(s, 10, 0, "clock_nanosleep", -1);
	story_switch(s, 100, 0, A, "a", SLEEP, 0, "swapper/0");
	story_lost(s, 400, 500, 0);
	story_lost(s, 400, 500, 1);
}

/* Its timer ends it, on CPU 0. */
static void wake_a(struct story *s, int64_t t)
{
	story_timer_wakes(s, t - 10, t, 0, A, "a");
	story_switch(s, t + 100, 0, 0, "swapper/0", RUN, A, "a");
	story_leave(s, t + 110, 0, "clock_nanosleep", 0);
	story_switch(s, t + 200, 0, A, "a", SLEEP, 0, "swapper/0");
	story_end(s);
}

static void assert_is(const struct story *s, int64_t t, enum dtc_state state, enum dtc_cause cause)
{
	const struct dtc_interval *interval = story_interval(s, A, t);
	g_assert_cmpstr(dtc_state_to_string(interval->state), ==, dtc_state_to_string(state));
	g_assert_cmpstr(dtc_cause_to_string(dtc_cause_of_interval(s->history, interval)), ==,
			dtc_cause_to_string(cause));
}

/* It is woken after the gap: it slept before, it sleeps after, and of the time between nothing is known. */
static void test_sleep_goes_on(void)
{
	struct story s;
	begin(&s);
	story_switch(&s, 600, 1, B, "b", SLEEP, 0, "swapper/1");
	story_switch(&s, 700, 0, 0, "swapper/0", RUN, B, "b");
	story_switch(&s, 800, 0, B, "b", SLEEP, 0, "swapper/0");
	wake_a(&s, 1000);
	assert_is(&s, 399, DTC_STATE_WAIT, DTC_CAUSE_TIMER);
	assert_is(&s, 499, DTC_STATE_UNKNOWN, DTC_CAUSE_UNKNOWN);
	assert_is(&s, 501, DTC_STATE_WAIT, DTC_CAUSE_TIMER);
	assert_is(&s, 999, DTC_STATE_WAIT, DTC_CAUSE_TIMER);
	assert_is(&s, 1099, DTC_STATE_RUNQUEUE, DTC_CAUSE_RUNQUEUE);
	story_clear(&s);
}

/* What CPU 1 runs since is not known when it is woken: A may have run there, and be on its way to sleep. */
static void test_may_run(void)
{
	struct story s;
	begin(&s);
	story_switch(&s, 700, 0, 0, "swapper/0", RUN, 0, "swapper/0");
	story_enter(&s, 900, 1, "getpid", -1);
	wake_a(&s, 1000);
	assert_is(&s, 501, DTC_STATE_UNKNOWN, DTC_CAUSE_UNKNOWN);
	assert_is(&s, 999, DTC_STATE_UNKNOWN, DTC_CAUSE_UNKNOWN);
	story_clear(&s);
}

/* Nothing woke it in sight: since when it waits, or whether it does, is not known; a sleep that the end cuts is one. */
static void test_not_woken(void)
{
	struct story s;
	begin(&s);
	story_switch(&s, 600, 1, B, "b", SLEEP, 0, "swapper/1");
	story_switch(&s, 700, 0, 0, "swapper/0", RUN, A, "a");
	story_enter(&s, 800, 0, "nanosleep", -1);
	story_switch(&s, 900, 0, A, "a", SLEEP, 0, "swapper/0");
	story_switch(&s, 1000, 1, 0, "swapper/1", RUN, B, "b");
	story_end(&s);
	assert_is(&s, 501, DTC_STATE_UNKNOWN, DTC_CAUSE_UNKNOWN);
	assert_is(&s, 699, DTC_STATE_UNKNOWN, DTC_CAUSE_UNKNOWN);
	assert_is(&s, 950, DTC_STATE_WAIT, DTC_CAUSE_TIMER);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/gaps/sleep-goes-on", test_sleep_goes_on);
	g_test_add_func("/gaps/may-run", test_may_run);
	g_test_add_func("/gaps/not-woken", test_not_woken);
	return g_test_run();
}
