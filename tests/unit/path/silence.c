/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A machine that logs nothing while it should be interrupted by its timer. */
#include "analyze/path/silence.h"

#include "tests/support/story.h"

#define RUN 0
#define MS 1000000

static void tick(struct story *s, int64_t t, uint32_t cpu)
{
	story_context(s, DTC_EVENT_VECTOR_ENTRY, t, cpu, DTC_VECTOR_LOCAL_TIMER, NULL);
	story_context(s, DTC_EVENT_VECTOR_EXIT, t + 1000, cpu, DTC_VECTOR_LOCAL_TIMER, NULL);
}

/* A thread that computes, interrupted every 4 ms but from 100 to 190 ms; CPU 1 idles, and logs at other_ms. */
static const DtcHistory *tell(struct story *s, int tid, bool with_ticks, int64_t other_ms)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, tid ? 0 : 9, "swapper/0", RUN, tid, tid ? "job" : "swapper/0");
	story_switch(s, 1, 1, 8, "x", 1, 0, "swapper/1");
	for (int64_t ms = 4; ms < 300; ms += 4) {
		if (other_ms >= ms && other_ms < ms + 4)
			tick(s, other_ms * MS + 1, 1);
		if (with_ticks && (ms <= 100 || ms >= 190))
			tick(s, ms * MS, 0);
	}
	story_switch(s, 300 * MS, 0, tid, tid ? "job" : "swapper/0", RUN, 9, "other");
	return story_end(s);
}

static void test_silent(void)
{
	struct story s;
	struct dtc_silence silence;
	const DtcHistory *h = tell(&s, 10, true, 0);
	g_assert_true(dtc_silence_find(h, 110 * MS, 192 * MS + 500, &silence));
	g_assert_cmpuint(silence.cpu, ==, 0);
	g_assert_cmpint(dtc_history_get_thread(h, silence.thread)->tid, ==, 10);
	g_assert_cmpint(silence.begin_ns, ==, 100 * MS + 1000);
	g_assert_cmpint(silence.end_ns, ==, 192 * MS);
	g_assert_false(dtc_silence_find(h, 200 * MS, 250 * MS, &silence));
	g_assert_false(dtc_silence_find(h, 20 * MS, 110 * MS, &silence)); /* most of it was not silent */
	story_clear(&s);
}

/* Idle CPUs may be silent; traces without timer interrupts say nothing; an event elsewhere shows that it ran. */
static void test_not_silent(void)
{
	struct story s;
	struct dtc_silence silence;
	g_assert_false(dtc_silence_find(tell(&s, 0, true, 0), 110 * MS, 192 * MS, &silence));
	story_clear(&s);
	g_assert_false(dtc_silence_find(tell(&s, 10, false, 0), 110 * MS, 192 * MS, &silence));
	story_clear(&s);
	g_assert_false(dtc_silence_find(tell(&s, 10, true, 150), 110 * MS, 192 * MS, &silence));
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/silence/silent", test_silent);
	g_test_add_func("/silence/not-silent", test_not_silent);
	return g_test_run();
}
