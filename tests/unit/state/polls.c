/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For which descriptors a poll returned: by number, and by what epoll_ctl was told. */
#include "tests/support/story.h"

#define LOOP 10
#define SET 3
#define OTHER_SET 4
#define ADD 1
#define DEL 2
#define MOD 3
#define POINTER 0x7ffe12345000

static void control(struct story *s, int64_t *t, int64_t set, int64_t operation, int64_t fd, int64_t data)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, *t, 0);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "epoll_ctl");
	e.v[DTC_CALL_FD] = set;
	e.v[DTC_CALL_FD2] = fd;
	e.v[DTC_CALL_OP] = operation;
	e.v[DTC_CALL_VALUE] = data;
	dtc_machine_apply(s->machine, &e);
	story_leave(s, *t + 1, 0, "epoll_ctl", 0);
	*t += 2;
}

/* Gives its entry's time. */
static int64_t read_from(struct story *s, int64_t *t, int64_t fd)
{
	story_enter(s, *t, 0, "read", fd);
	story_leave(s, *t + 1, 0, "read", 1);
	*t += 2;
	return *t - 2;
}

static int64_t poll_set(struct story *s, int64_t *t, int64_t set, int64_t result, int64_t data)
{
	const char *name = set < 0 ? "poll" : "epoll_wait";
	story_poll(s, *t, 0, name, set, -1);
	story_ready(s, *t + 1, 0, name, result, set >= 0, 1, &data);
	*t += 2;
	return *t - 2;
}

static uint32_t find_call(const struct story *s, int64_t t)
{
	return dtc_history_find_call(s->history, dtc_history_find_thread(s->history, LOOP, t), t);
}

static uint32_t find_file(const struct story *s, int64_t t)
{
	return dtc_history_copy_call(s->history, find_call(s, t)).file;
}

/* The poll at a time returned for the file of the read at another; DTC_TIME_NONE: it is not known for which. */
static void assert_ready(const struct story *s, int64_t poll, int64_t read)
{
	uint32_t count;
	const uint32_t *ready = dtc_history_get_ready(s->history, find_call(s, poll), &count);
	g_assert_cmpuint(count, ==, read == DTC_TIME_NONE ? 0 : 1);
	if (count)
		g_assert_cmpuint(ready[0], ==, find_file(s, read));
}

static void begin(struct story *s)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", 0, LOOP, "loop");
}

static void test_numbers(void)
{
	struct story s;
	int64_t t = 10;
	begin(&s);
	int64_t five = read_from(&s, &t, 5), six = read_from(&s, &t, 6), seven = read_from(&s, &t, 7);
	int64_t polled = poll_set(&s, &t, -1, 1, 6);
	int64_t before = poll_set(&s, &t, SET, 1, 7);
	control(&s, &t, SET, ADD, 5, 5);
	int64_t known = poll_set(&s, &t, SET, 1, 5);
	int64_t half = poll_set(&s, &t, SET, 1, INT64_C(0x7f0000000006)); /* Python leaves the upper half as it is */
	int64_t like_others = poll_set(&s, &t, SET, 1, 7);
	int64_t of_other = poll_set(&s, &t, OTHER_SET, 1, 7);
	story_end(&s);
	assert_ready(&s, polled, six);
	assert_ready(&s, before, DTC_TIME_NONE);
	assert_ready(&s, known, five);
	assert_ready(&s, half, six);
	assert_ready(&s, like_others, seven);
	assert_ready(&s, of_other, DTC_TIME_NONE);
	story_clear(&s);
}

static void test_pointers(void)
{
	struct story s;
	int64_t t = 10;
	begin(&s);
	int64_t five = read_from(&s, &t, 5), six = read_from(&s, &t, 6);
	control(&s, &t, SET, ADD, 5, POINTER);
	control(&s, &t, OTHER_SET, ADD, 6, POINTER);
	int64_t first = poll_set(&s, &t, SET, 1, POINTER), second = poll_set(&s, &t, OTHER_SET, 1, POINTER);
	int64_t unknown = poll_set(&s, &t, SET, 1, POINTER + 8);
	control(&s, &t, SET, MOD, 5, POINTER + 8);
	int64_t modified = poll_set(&s, &t, SET, 1, POINTER + 8);
	control(&s, &t, SET, DEL, 5, 5); /* whatever its data are, they tell nothing */
	control(&s, &t, SET, ADD, 6, POINTER);
	int64_t anew = poll_set(&s, &t, SET, 1, POINTER), number = poll_set(&s, &t, SET, 1, 5);
	story_end(&s);
	assert_ready(&s, first, five);
	assert_ready(&s, second, six);
	assert_ready(&s, unknown, DTC_TIME_NONE);
	assert_ready(&s, modified, five);
	assert_ready(&s, anew, six);
	assert_ready(&s, number, DTC_TIME_NONE);
	story_clear(&s);
}

/* More was ready than is known: it may have been any. */
static void test_more(void)
{
	struct story s;
	uint32_t count;
	int64_t t = 10;
	begin(&s);
	int64_t five = read_from(&s, &t, 5), six = read_from(&s, &t, 6);
	int64_t exact = poll_set(&s, &t, -1, 1, 5), more = poll_set(&s, &t, -1, 2, 5);
	int64_t failed = poll_set(&s, &t, -1, -4, 5);
	story_end(&s);
	g_assert_true(dtc_history_may_be_ready(s.history, find_call(&s, exact), find_file(&s, five)));
	g_assert_false(dtc_history_may_be_ready(s.history, find_call(&s, exact), find_file(&s, six)));
	g_assert_true(dtc_history_may_be_ready(s.history, find_call(&s, more), find_file(&s, six)));
	g_assert_cmpuint(dtc_history_get_ready(s.history, find_call(&s, more), &count)[1], ==, DTC_NONE);
	g_assert_cmpuint(count, ==, 2);
	assert_ready(&s, failed, DTC_TIME_NONE);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/polls/numbers", test_numbers);
	g_test_add_func("/polls/pointers", test_pointers);
	g_test_add_func("/polls/more", test_more);
	return g_test_run();
}
