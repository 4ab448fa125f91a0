/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is heard, and who is not: by pulses, by other letters, and by what is done between pulses. */
#include "analyze/ranks/pulse.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_US 1000000

static struct dtc_letter make_pulse(bool is_busy, guint64 progress_ns)
{
	return (struct dtc_letter){ .type = DTC_LETTER_PULSE, .all = is_busy, .at = progress_ns };
}

static void test_heard(void)
{
	struct dtc_pulse_clock clock = { .limit_us = LIMIT_US };
	struct dtc_pulse_heard heard = { 0 };
	struct dtc_letter pulse = make_pulse(false, 0);
	const struct dtc_letter other = { .type = DTC_LETTER_PAGES };

	clock.now_us = LIMIT_US;
	g_assert_false(dtc_pulse_is_silent(&heard, &clock));
	clock.now_us++;
	g_assert_true(dtc_pulse_is_silent(&heard, &clock));
	dtc_pulse_hear(&heard, &clock, &pulse); /* at nothing, and there */
	g_assert_false(dtc_pulse_is_silent(&heard, &clock));
	clock.now_us += 2 * (gint64)LIMIT_US;
	pulse = make_pulse(true, 50000);
	dtc_pulse_hear(&heard, &clock, &pulse); /* at something that does not move */
	g_assert_true(dtc_pulse_is_silent(&heard, &clock));
	pulse = make_pulse(true, 200000);
	dtc_pulse_hear(&heard, &clock, &pulse);
	g_assert_false(dtc_pulse_is_silent(&heard, &clock));
	clock.now_us += 2 * (gint64)LIMIT_US;
	pulse = make_pulse(true, 250000); /* not since the last one that counted */
	dtc_pulse_hear(&heard, &clock, &pulse);
	g_assert_true(dtc_pulse_is_silent(&heard, &clock));
	dtc_pulse_hear(&heard, &clock, &other);
	g_assert_false(dtc_pulse_is_silent(&heard, &clock));
}

/* Time in which this process was stopped does not pass. */
static void test_clock(void)
{
	struct dtc_pulse_clock clock;
	gint64 before;

	g_assert_true(g_setenv(DTC_PULSE_VARIABLE, "2.5", TRUE));
	dtc_pulse_clock_begin(&clock);
	g_assert_cmpint(clock.limit_us, ==, 2500000);
	g_assert_cmpint(clock.interval_us, ==, 250000);
	g_assert_true(dtc_pulse_clock_tick(&clock));
	g_assert_false(dtc_pulse_clock_tick(&clock));
	before = clock.now_us;
	clock.last_us -= 3600 * (gint64)G_USEC_PER_SEC;
	g_assert_true(dtc_pulse_clock_tick(&clock));
	g_assert_cmpint(clock.now_us - before, ==, clock.interval_us);
	g_assert_true(g_setenv(DTC_PULSE_VARIABLE, "soon", TRUE));
	dtc_pulse_clock_begin(&clock);
	g_assert_cmpint(clock.limit_us, ==, 60000000);
	g_assert_cmpint(clock.interval_us, ==, 5000000);
	g_unsetenv(DTC_PULSE_VARIABLE);
}

/* A thread says it, with what others of the process have taken. */
static void test_begin(void)
{
	static gint is_busy = 1;
	struct dtc_parcel first, next;
	int ends[2];

	g_assert_true(dtc_letter_open_pair(ends));
	g_assert_true(g_setenv(DTC_PULSE_VARIABLE, "0.2", TRUE));
	dtc_pulse_begin(ends[0], &is_busy);
	g_assert_true(dtc_letter_receive(ends[1], &first));
	g_assert_cmpuint(first.letter.type, ==, DTC_LETTER_PULSE);
	g_assert_cmpuint(first.letter.all, ==, 1);
	gint64 end = g_get_monotonic_time() + 100000;
	while (g_get_monotonic_time() < end)
		;
	g_atomic_int_set(&is_busy, 0);
	do
		g_assert_true(dtc_letter_receive(ends[1], &next));
	while (next.letter.all);
	g_assert_cmpuint(next.letter.at, >, first.letter.at + 1000000);
	g_unsetenv(DTC_PULSE_VARIABLE);
}

/* Also one that is stopped. */
static void test_child(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		(void)raise(SIGSTOP);
		_exit(0);
	}
	g_assert_cmpint(waitpid(child, &status, WUNTRACED), ==, child);
	g_assert_true(WIFSTOPPED(status));
	g_assert_true(dtc_pulse_end_child(child, &status));
	g_assert_true(WIFSIGNALED(status));
	g_assert_cmpint(WTERMSIG(status), ==, SIGKILL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pulse/child", test_child);
	g_test_add_func("/pulse/heard", test_heard);
	g_test_add_func("/pulse/clock", test_clock);
	g_test_add_func("/pulse/begin", test_begin);
	return g_test_run();
}
