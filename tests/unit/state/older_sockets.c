/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connections without packets that were there before the trace: the state dump names a socket of the front (tid 10, fd
 * 5), and one of the database (tid 20, fd 7). A write that wakes the reader, and the bytes, tell that they are one; who
 * asks is told by whom it talks to in between, or else by who writes first.
 */
#include "analyze/exchange/endpoint.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define FRONT 10
#define DATABASE 20
#define FRONT_FD 5
#define DATABASE_FD 7

static void tell(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, result);
}

static void dump(struct story *s, int pid, int64_t fd, const char *name)
{
	struct dtc_event e = story_event(DTC_EVENT_DUMP_FD, 1, 0);
	e.v[DTC_DUMP_FD_PID] = pid;
	e.v[DTC_DUMP_FD_NUMBER] = fd;
	e.text[0] = name;
	dtc_machine_apply(s->machine, &e);
}

static void begin(struct story *s)
{
	story_begin(s, "n");
	story_fork(s, 0, 3, 1, 1, FRONT, FRONT, "front");
	story_fork(s, 0, 3, 1, 1, DATABASE, DATABASE, "database");
	dump(s, FRONT, FRONT_FD, "socket:[101]");
	dump(s, DATABASE, DATABASE_FD, "socket:[102]");
	story_switch(s, 2, 0, 0, "swapper/0", RUN, FRONT, "front");
	story_switch(s, 2, 1, 0, "swapper/1", RUN, DATABASE, "database");
}

/* One end writes while the other one sleeps in its read: 10 ns in all. */
static void pass(struct story *s, int64_t t, bool from_front, int64_t written, int64_t read)
{
	uint32_t writer = from_front ? 0 : 1, reader = !writer;
	int tid = from_front ? DATABASE : FRONT;
	story_enter(s, t, reader, "read", from_front ? DATABASE_FD : FRONT_FD);
	story_switch(s, t + 1, reader, tid, "reader", SLEEP, 0, "swapper");
	story_enter(s, t + 2, writer, "write", from_front ? FRONT_FD : DATABASE_FD);
	story_task(s, DTC_EVENT_SCHED_WAKING, t + 3, writer, tid, "reader", (int)reader);
	story_leave(s, t + 4, writer, "write", written);
	story_switch(s, t + 5, reader, 0, "swapper", RUN, tid, "reader");
	story_leave(s, t + 6, reader, "read", read);
}

static uint32_t file_at(const struct story *s, int tid, int64_t t)
{
	uint32_t thread = dtc_history_find_thread(s->history, tid, t);
	return dtc_history_copy_call(s->history, dtc_history_find_call(s->history, thread, t)).file;
}

/* What the front did at a time, and the database, was on the two ends of one connection; the front asks, or is asked.
 */
static void assert_pair(const struct story *s, int64_t front_t, int64_t database_t, bool front_asks)
{
	uint32_t front = file_at(s, FRONT, front_t), database = file_at(s, DATABASE, database_t);
	g_assert_cmpuint(dtc_history_get_file(s->history, front)->peer, ==, database);
	g_assert_cmpint(dtc_history_get_file(s->history, front)->pairing, ==, DTC_PAIRING_INFERRED);
	g_assert_cmpint(dtc_endpoint_is_server(s->history, database), ==, front_asks);
	g_assert_cmpint(dtc_endpoint_is_server(s->history, front), ==, !front_asks);
}

static void test_pair(gconstpointer data)
{
	bool front_asks = GPOINTER_TO_INT(data);
	struct story s;
	begin(&s);
	pass(&s, 10, front_asks, 40, 40);
	pass(&s, 20, !front_asks, 60, 60);
	story_end(&s);
	assert_pair(&s, 12, 22, front_asks);
	story_clear(&s);
}

/* More was read than written, and nothing of it before the first write: it came from elsewhere. */
static void test_bytes(void)
{
	struct story s;
	begin(&s);
	pass(&s, 10, true, 40, 41);
	story_end(&s);
	g_assert_cmpuint(dtc_history_get_file(s.history, file_at(&s, FRONT, 12))->peer, ==, DTC_NONE);
	story_clear(&s);
}

/* The database takes a question that was on its way when the trace began, answers, and is asked again. */
static void test_on_its_way(void)
{
	struct story s;
	begin(&s);
	tell(&s, 4, 1, "read", DATABASE_FD, 30);
	pass(&s, 10, false, 60, 60);
	pass(&s, 20, true, 40, 40);
	story_end(&s);
	assert_pair(&s, 22, 12, true);
	g_assert_cmpuint(dtc_history_get_file(s.history, file_at(&s, DATABASE, 12))->base_in, ==, 30);
	g_assert_cmpuint(dtc_history_get_file(s.history, file_at(&s, FRONT, 22))->base_in, ==, 0);
	story_clear(&s);
}

/*
 * It had read the question before the trace, so that it is seen to write first; but the front hands on what it answers
 * before it asks again, and the database talks to nobody else.
 */
static void test_answers_first(void)
{
	struct story s;
	begin(&s);
	dump(&s, FRONT, 9, "socket:[103]");
	pass(&s, 10, false, 60, 60);
	tell(&s, 20, 0, "write", 9, 50);
	tell(&s, 22, 0, "read", 9, 50);
	pass(&s, 30, true, 40, 40);
	pass(&s, 40, false, 60, 60);
	story_end(&s);
	assert_pair(&s, 32, 12, true);
	story_clear(&s);
}

/* A loop's own, with which its threads call it: a pair that one call made, and no connection; but not if others use it.
 */
static void test_own(gconstpointer data)
{
	bool is_shared = GPOINTER_TO_INT(data);
	struct story s;
	story_begin(&s, "n");
	story_fork(&s, 0, 3, 1, 1, FRONT, FRONT, "front");
	story_fork(&s, 0, 3, FRONT, FRONT, DATABASE, FRONT, "thread");
	dump(&s, FRONT, FRONT_FD, "socket:[101]");
	dump(&s, FRONT, DATABASE_FD, "socket:[102]");
	story_switch(&s, 2, 0, 0, "swapper/0", RUN, FRONT, "front");
	story_switch(&s, 2, 1, 0, "swapper/1", RUN, DATABASE, "thread");
	pass(&s, 10, false, 1, 1);
	if (is_shared) {
		story_fork(&s, 20, 0, FRONT, FRONT, FRONT + 1, FRONT + 1, "child");
		story_switch(&s, 21, 3, 0, "swapper/3", RUN, FRONT + 1, "child");
		tell(&s, 22, 3, "write", DATABASE_FD, 1);
	}
	story_end(&s);
	uint32_t writer = file_at(&s, DATABASE, 12), reader = file_at(&s, FRONT, 12);
	g_assert_cmpuint(dtc_history_get_file(s.history, writer)->peer, ==, is_shared ? DTC_NONE : reader);
	g_assert_cmpuint(dtc_history_get_file(s.history, reader)->peer, ==, is_shared ? DTC_NONE : writer);
	g_assert_cmpint(dtc_history_get_file(s.history, writer)->pairing, ==, DTC_PAIRING_NONE);
	story_clear(&s);
}

/* Nobody was woken: which of all sockets it is would be a guess. */
static void test_no_wake(void)
{
	struct story s;
	begin(&s);
	tell(&s, 10, 0, "write", FRONT_FD, 40);
	tell(&s, 12, 1, "read", DATABASE_FD, 40);
	story_end(&s);
	g_assert_cmpuint(dtc_history_get_file(s.history, file_at(&s, FRONT, 10))->peer, ==, DTC_NONE);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/older-sockets/front-asks", GINT_TO_POINTER(true), test_pair);
	g_test_add_data_func("/older-sockets/front-is-asked", GINT_TO_POINTER(false), test_pair);
	g_test_add_func("/older-sockets/bytes", test_bytes);
	g_test_add_func("/older-sockets/on-its-way", test_on_its_way);
	g_test_add_func("/older-sockets/answers-first", test_answers_first);
	g_test_add_data_func("/older-sockets/own/its-threads", GINT_TO_POINTER(false), test_own);
	g_test_add_data_func("/older-sockets/own/and-a-child", GINT_TO_POINTER(true), test_own);
	g_test_add_func("/older-sockets/no-wake", test_no_wake);
	return g_test_run();
}
