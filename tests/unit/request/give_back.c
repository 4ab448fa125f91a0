/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread of a pool that nobody wakes for a piece of work, as it is at another one: whoever waits for it tells for
 * whom that was, by being woken at the end. The loop, which serves X, sleeps for it from 30 to 60 us, and answers
 * at 70.
 *
 *   loop     20 read X 21   30 sleep                        60 woken   70 write X
 *   worker    8 . . . . . . . . . . . . . . . . . . . . . . 60 wakes the loop . . .
 */
#include "tests/support/one_server.h"

#define THIRD_TID 51 /* a thread of the server that serves nobody */
#define CHILD_TID 52 /* a process that the worker makes */
#define WAIT_PRIVATE 137
#define MUTEX_PRIVATE 128
#define PIECE 0x1000
#define LOCK 0x2000
#define TAKEN 0x3000

static void tell_sleep(struct story *s, int64_t at_us, uint32_t cpu, int tid, int64_t operation, int64_t word)
{
	story_futex(s, at_us * US, cpu, operation, word);
	story_switch(s, (at_us + 1) * US, cpu, tid, "thread", 1, 0, "swapper");
}

static void tell_woken_in(struct story *s, const char *call, int64_t at_us, uint32_t by_cpu, uint32_t cpu, int tid)
{
	story_task(s, DTC_EVENT_SCHED_WAKING, at_us * US, by_cpu, tid, "thread", (int)cpu);
	story_switch(s, (at_us + 1) * US, cpu, 0, "swapper", 0, tid, "thread");
	story_leave(s, (at_us + 2) * US, cpu, call, 0);
}

static void tell_woken(struct story *s, int64_t at_us, uint32_t by_cpu, uint32_t cpu, int tid)
{
	tell_woken_in(s, "futex", at_us, by_cpu, cpu, tid);
}

static void begin(struct server *server)
{
	struct story *s = &server->story;
	server_begin(server);
	story_fork(s, 5 * US, 0, LOOP_TID, LOOP_TID, WORKER_TID, LOOP_TID, "worker");
	story_fork(s, 6 * US, 0, LOOP_TID, LOOP_TID, THIRD_TID, LOOP_TID, "third");
	story_switch(s, 8 * US, 1, 0, "swapper", 0, WORKER_TID, "worker");
	story_switch(s, 9 * US, 2, 0, "swapper", 0, THIRD_TID, "third");
}

/* The worker has worked for X in this time, and for nobody else that is known; 0: not at all. */
static void check(struct server *server, int tid, int64_t begin_us, int64_t end_us)
{
	g_autoptr(DtcServing) serving = server_end(server, 20, 70, 0);
	uint32_t thread = dtc_history_find_thread(server->histories[0], tid, 50 * US);
	guint count;
	const struct dtc_served *spans = dtc_serving_get(serving, 0, thread, &count);
	g_assert_cmpuint(count, ==, end_us ? 1 : 0);
	if (count) {
		g_assert_cmpint(spans[0].begin_ns, ==, begin_us * US);
		g_assert_cmpint(spans[0].end_ns, ==, end_us * US);
		g_assert_cmpuint(spans[0].request, ==, X);
		g_assert_false(spans[0].leads);
	}
	server_clear(server);
}

/* What the worker did before is not known, or it slept until the third thread woke it, or until that wrote to it. */
enum before { NOTHING, WOKEN, READ };

static void test_end(gconstpointer data)
{
	enum before before = GPOINTER_TO_UINT(data);
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	if (before == WOKEN)
		tell_sleep(s, 10, 1, WORKER_TID, WAIT_PRIVATE, PIECE + 0x100);
	if (before == READ) {
		story_enter(s, 10 * US, 1, "read", 9);
		story_switch(s, 11 * US, 1, WORKER_TID, "worker", 1, 0, "swapper");
	}
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_sleep(s, 30, 0, LOOP_TID, WAIT_PRIVATE, PIECE);
	if (before != NOTHING)
		tell_woken_in(s, before == READ ? "read" : "futex", 40, 2, 1, WORKER_TID);
	tell_woken(s, 60, 1, 0, LOOP_TID);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	check(&server, WORKER_TID, before == NOTHING ? 20 : 40, 60);
}

/* The loop had woken it for X: it is done when it wakes the loop, and what it takes up then is another piece. */
static void test_handed_over(void)
{
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	tell_sleep(s, 10, 1, WORKER_TID, WAIT_PRIVATE, PIECE + 0x100);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_woken(s, 24, 0, 1, WORKER_TID);
	tell_sleep(s, 30, 0, LOOP_TID, WAIT_PRIVATE, PIECE);
	tell_woken(s, 60, 1, 0, LOOP_TID);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	check(&server, WORKER_TID, 24, 60);
}

/* A lock at which the worker had waited itself, as the third thread had it; nothing is done when it is given back. */
static void test_lock(void)
{
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	tell_sleep(s, 10, 1, WORKER_TID, WAIT_PRIVATE, LOCK);
	tell_woken(s, 14, 2, 1, WORKER_TID);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_sleep(s, 30, 0, LOOP_TID, WAIT_PRIVATE, LOCK);
	tell_woken(s, 60, 1, 0, LOOP_TID);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	check(&server, WORKER_TID, 0, 0);
}

/*
 * In the middle of its piece the worker hands a lock to the third thread, which waits for it, and sleeps until that has
 * it: an interpreter's, which another thread wants. No piece begins with that.
 */
static void test_taken(void)
{
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	tell_sleep(s, 10, 1, WORKER_TID, WAIT_PRIVATE, LOCK);
	tell_woken(s, 14, 2, 1, WORKER_TID);
	tell_sleep(s, 17, 2, THIRD_TID, WAIT_PRIVATE, LOCK);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_sleep(s, 30, 0, LOOP_TID, WAIT_PRIVATE, PIECE);
	story_task(s, DTC_EVENT_SCHED_WAKING, 35 * US, 1, THIRD_TID, "third", 2);
	tell_sleep(s, 36, 1, WORKER_TID, WAIT_PRIVATE, TAKEN);
	story_switch(s, 38 * US, 2, 0, "swapper", 0, THIRD_TID, "third");
	story_leave(s, 39 * US, 2, "futex", 0);
	tell_woken(s, 40, 2, 1, WORKER_TID);
	tell_woken(s, 60, 1, 0, LOOP_TID);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	check(&server, WORKER_TID, 20, 60);
}

/* A command that the worker runs for X works for it, but not one that outlives the piece. */
static void test_child(gconstpointer data)
{
	bool ends = GPOINTER_TO_INT(data);
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_sleep(s, 30, 0, LOOP_TID, WAIT_PRIVATE, PIECE);
	story_fork(s, 34 * US, 1, WORKER_TID, LOOP_TID, CHILD_TID, CHILD_TID, "command");
	story_task(s, DTC_EVENT_SCHED_WAKEUP_NEW, 34 * US + 100, 1, CHILD_TID, "command", 3);
	story_switch(s, 35 * US, 3, 0, "swapper", 0, CHILD_TID, "command");
	if (ends) {
		story_task(s, DTC_EVENT_SCHED_EXIT, 55 * US, 3, CHILD_TID, "command", 3);
		story_switch(s, 56 * US, 3, CHILD_TID, "command", 16, 0, "swapper");
	}
	tell_woken(s, 60, 1, 0, LOOP_TID);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	check(&server, CHILD_TID, ends ? 34 : 0, ends ? 56 : 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/give-back/end/of-the-first", GUINT_TO_POINTER(NOTHING), test_end);
	g_test_add_data_func("/give-back/end/since-it-was-woken", GUINT_TO_POINTER(WOKEN), test_end);
	g_test_add_data_func("/give-back/end/since-it-was-told", GUINT_TO_POINTER(READ), test_end);
	g_test_add_func("/give-back/handed-over", test_handed_over);
	g_test_add_func("/give-back/lock", test_lock);
	g_test_add_func("/give-back/taken", test_taken);
	g_test_add_data_func("/give-back/child/ends", GINT_TO_POINTER(true), test_child);
	g_test_add_data_func("/give-back/child/outlives", GINT_TO_POINTER(false), test_child);
	return g_test_run();
}
