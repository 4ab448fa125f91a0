/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/turn_marks.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define CALLS 300

static bool is_turn(const struct dtc_call *call)
{
	return call->kind == DTC_CALL_POLL && !dtc_call_is_glance(call);
}

static bool is_taking(const struct dtc_call *call)
{
	return call->kind == DTC_CALL_READ && call->result > 0;
}

static uint32_t find_slowly(const DtcHistory *h, uint32_t begin, uint32_t end,
			    bool (*is_wanted)(const struct dtc_call *))
{
	struct dtc_call place;
	while (end-- > begin)
		if (is_wanted(dtc_history_get_call(h, end, &place)))
			return end;
	return DTC_NONE;
}

/* Polls that waited or only looked, reads that took something or not, in any order. */
static void tell_calls(struct story *s, GRand *rand)
{
	for (guint i = 0; i < CALLS; i++) {
		int64_t at_ns = 1000 + 10 * (int64_t)i, result = g_rand_int_range(rand, -1, 2);
		switch (g_rand_int_range(rand, 0, 20)) {
		case 0:
			story_poll(s, at_ns, 0, "epoll_wait", 5, g_rand_int_range(rand, 0, 2));
			story_leave(s, at_ns + 5, 0, "epoll_wait", result);
			break;
		case 1:
			story_enter(s, at_ns, 0, "read", 4);
			story_leave(s, at_ns + 5, 0, "read", result);
			break;
		default:
			story_enter(s, at_ns, 0, "write", 4);
			story_leave(s, at_ns + 5, 0, "write", result);
		}
	}
}

static void test_against_definition(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(2);
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "server");
	tell_calls(&s, rand);
	story_switch(&s, 1000000, 0, 10, "server", SLEEP, 0, "swapper/0");
	const DtcHistory *h = story_end(&s);
	g_assert_cmpuint(dtc_history_get_call_count(h), ==, CALLS);
	g_autoptr(DtcTurnMarks) marks = dtc_turn_marks_new(h);
	guint found = 0;
	for (uint32_t begin = 0; begin <= CALLS; begin++) {
		for (uint32_t end = 0; end <= CALLS; end++) {
			uint32_t poll = dtc_turn_marks_find_poll(marks, begin, end);
			g_assert_cmpuint(poll, ==, find_slowly(h, begin, MAX(begin, end), is_turn));
			g_assert_cmpuint(dtc_turn_marks_find_read(marks, begin, end), ==,
					 find_slowly(h, begin, MAX(begin, end), is_taking));
			found += poll != DTC_NONE;
		}
	}
	g_assert_cmpuint(found, >, CALLS);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/edge/turn-marks/against-definition", test_against_definition);
	return g_test_run();
}
