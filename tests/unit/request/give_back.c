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
#include "tests/support/served_path.h"

#define THIRD_TID 51 /* a thread of the server that serves nobody */
#define CHILD_TID 52 /* a process that the worker makes */
#define WAIT_PRIVATE 137
#define WAKE_PRIVATE 129
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

static void tell_wait_begin(struct story *s, int64_t at_us)
{
	story_poll(s, at_us * US, 0, "epoll_wait", 3, -1);
	story_switch(s, (at_us + 1) * US, 0, LOOP_TID, "loop", 1, 0, "swapper");
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

/* Events of the worker's CPU were lost from 34 to 38 us. */
static void tell_lost(struct story *s)
{
	story_lost(s, 34 * US, 38 * US, 1);
	story_switch(s, 39 * US, 1, 0, "swapper", 0, WORKER_TID, "worker");
}

/*
 * What is known by its end alone is known from 39 us on; if its begin for the same request is known, all of it is; if
 * only that is known, up to 34 us.
 */
static void test_unseen(gconstpointer data)
{
	bool has_begin = GPOINTER_TO_UINT(data) & 1, has_end = GPOINTER_TO_UINT(data) & 2;
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	if (has_begin)
		tell_sleep(s, 10, 1, WORKER_TID, WAIT_PRIVATE, PIECE + 0x100);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	if (has_begin)
		tell_woken(s, 24, 0, 1, WORKER_TID);
	if (has_end)
		tell_sleep(s, 30, 0, LOOP_TID, WAIT_PRIVATE, PIECE);
	tell_lost(s);
	if (has_end)
		tell_woken(s, 60, 1, 0, LOOP_TID);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	uint32_t worker = dtc_history_find_thread(server.histories[0], WORKER_TID, 50 * US);
	g_assert_true(!!dtc_serving_find_span(serving, 0, worker, 30 * US) == has_begin);
	g_assert_true(!!dtc_serving_find_span(serving, 0, worker, 36 * US) == (has_begin && has_end));
	g_assert_true(!!dtc_serving_find_span(serving, 0, worker, 50 * US) == has_end);
	server_clear(&server);
}

/* The third thread slept while events of its CPU were lost: for what it waited, and was woken at 45 us, is not known.
 */
static void test_unseen_wait(void)
{
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_sleep(s, 24, 2, THIRD_TID, WAIT_PRIVATE, PIECE + 0x100);
	tell_sleep(s, 30, 0, LOOP_TID, WAIT_PRIVATE, PIECE);
	story_lost(s, 34 * US, 38 * US, 2);
	tell_woken(s, 45, 1, 2, THIRD_TID);
	tell_woken(s, 60, 1, 0, LOOP_TID);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	check(&server, WORKER_TID, 45, 60);
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
	story_futex(s, 34 * US, 1, WAKE_PRIVATE, LOCK);
	story_task(s, DTC_EVENT_SCHED_WAKING, 35 * US, 1, THIRD_TID, "third", 2);
	story_leave(s, 35 * US + 500, 1, "futex", 1);
	tell_sleep(s, 36, 1, WORKER_TID, WAIT_PRIVATE, TAKEN);
	story_switch(s, 38 * US, 2, 0, "swapper", 0, THIRD_TID, "third");
	story_leave(s, 39 * US, 2, "futex", 0);
	story_futex(s, 39 * US + 500, 2, WAKE_PRIVATE, TAKEN);
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

/* A loop that goes on with X in the turn in which it was called; or was called twice, and one is for nobody known. */
static void test_calls_loop(gconstpointer data)
{
	bool is_twice = GPOINTER_TO_INT(data);
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	event_loop_call(s, 1, "eventfd2", -1, 10, 11, 9);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_wait_begin(s, 30);
	story_enter(s, 60 * US, 1, "write", 9);
	tell_woken_in(s, "epoll_wait", 61, 1, 0, LOOP_TID);
	story_leave(s, 64 * US, 1, "write", 8);
	if (is_twice)
		event_loop_call(s, 2, "write", 9, 64, 65, 8);
	event_loop_call(s, 0, "read", 9, 66, 67, 8);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	check(&server, WORKER_TID, is_twice ? 0 : 20, is_twice ? 0 : 60);
}

static void tell_pipe(struct story *s, int64_t at_us, int64_t out, int64_t in)
{
	story_enter(s, at_us * US, 0, "pipe2", -1);
	struct dtc_event pipe = story_event(DTC_EVENT_SYSCALL_EXIT, at_us * US + 500, 0);
	pipe.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "pipe2");
	pipe.v[DTC_CALL_RET] = 0;
	pipe.v[DTC_CALL_FD] = out;
	pipe.v[DTC_CALL_FD2] = in;
	dtc_machine_apply(s->machine, &pipe);
}

/* What a thread of a worker process is given by another one: to write it into the pipe. */
#define QUEUE_TID 53

/*
 * The third thread wakes the loop, which waits for it, with what it had read last from a pipe: a worker process has
 * written that, or a thread of it which another one had woken for that.
 */
static void test_gives_on(gconstpointer data)
{
	bool has_queue = GPOINTER_TO_INT(data);
	struct server server;
	struct story *s = &server.story;
	server_begin(&server);
	tell_pipe(s, 5, 9, 10);
	story_fork(s, 6 * US, 0, LOOP_TID, LOOP_TID, THIRD_TID, LOOP_TID, "third");
	story_fork(s, 7 * US, 0, LOOP_TID, LOOP_TID, CHILD_TID, CHILD_TID, "worker");
	story_switch(s, 8 * US, 1, 0, "swapper", 0, CHILD_TID, "worker");
	story_switch(s, 9 * US, 2, 0, "swapper", 0, THIRD_TID, "third");
	uint32_t cpu = has_queue ? 3 : 1;
	if (has_queue) {
		story_fork(s, 10 * US, 1, CHILD_TID, CHILD_TID, QUEUE_TID, CHILD_TID, "queue");
		story_switch(s, 11 * US, 3, 0, "swapper", 0, QUEUE_TID, "queue");
		tell_sleep(s, 12, 3, QUEUE_TID, WAIT_PRIVATE, PIECE + 0x100);
	}
	story_enter(s, 14 * US, 2, "read", 9);
	story_switch(s, 15 * US, 2, THIRD_TID, "third", 1, 0, "swapper");
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_sleep(s, 30, 0, LOOP_TID, WAIT_PRIVATE, PIECE);
	if (has_queue)
		tell_woken(s, 40, 1, 3, QUEUE_TID);
	story_enter(s, 50 * US, cpu, "write", 10);
	story_task(s, DTC_EVENT_SCHED_WAKING, 51 * US, cpu, THIRD_TID, "third", 2);
	story_leave(s, 52 * US, cpu, "write", 4);
	story_switch(s, 53 * US, 2, 0, "swapper", 0, THIRD_TID, "third");
	story_leave(s, 54 * US, 2, "read", 4);
	tell_woken(s, 60, 2, 0, LOOP_TID);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	check(&server, CHILD_TID, 20, has_queue ? 40 : 50);
}

enum waits { NEVER, FOR_ONE, FOR_ANY };

/*
 * The worker answers itself what the loop has read, also where it had waited for one connection's next question, which
 * did not come; but one that waits for whoever comes had others' in its hands.
 */
static void test_answers(gconstpointer data)
{
	enum waits waits = GPOINTER_TO_UINT(data);
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	if (waits != NEVER)
		event_loop_call(s, 1, waits == FOR_ANY ? "epoll_wait" : "ppoll", waits == FOR_ANY ? 3 : -1, 30, 40, 1);
	story_enter(s, 45 * US, 1, "clock_nanosleep", -1);
	story_switch(s, 46 * US, 1, WORKER_TID, "worker", 1, 0, "swapper");
	story_timer_wakes(s, 55 * US, 56 * US, 1, WORKER_TID, "worker");
	story_switch(s, 57 * US, 1, 0, "swapper", 0, WORKER_TID, "worker");
	story_leave(s, 58 * US, 1, "clock_nanosleep", 0);
	event_loop_call(s, 1, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	uint32_t worker = dtc_history_find_thread(server.histories[0], WORKER_TID, 50 * US);
	const struct dtc_served *span = dtc_serving_find_span(serving, 0, worker, 50 * US);
	g_assert_nonnull(span);
	g_assert_cmpuint(span->request, ==, X);
	g_assert_cmpint(span->leads, ==, waits == FOR_ANY);
	if (waits != FOR_ANY)
		g_assert_cmpint(span->begin_ns, ==, (waits == NEVER ? 21 : 40) * US);
	server_clear(&server);
}

/*
 * The worker, which has had X since 21, lets go a lock at 60 for which the third thread waits, that serves Y since 35;
 * nobody else ever waits there. It was at X then. But if that has served Y since before (15), it may have been at Y.
 */
static void test_lets_go(gconstpointer data)
{
	bool is_later = GPOINTER_TO_INT(data);
	int64_t read_us = is_later ? 35 : 15;
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	if (is_later)
		event_loop_call(s, 0, "read", 5, 20, 21, 50);
	event_loop_call(s, 2, "read", 6, read_us, read_us + 1, 50);
	tell_sleep(s, read_us + 2, 2, THIRD_TID, WAIT_PRIVATE, PIECE);
	if (!is_later)
		event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_woken(s, 60, 1, 2, THIRD_TID);
	event_loop_call(s, 2, "write", 6, 65, 66, 20);
	event_loop_call(s, 1, "write", 5, 70, 71, 20);
	story_end(s);
	struct served_path w = served_path_begin(s);
	served_path_add(&w, LOOP_TID, 20 * US, X, false);
	served_path_add(&w, WORKER_TID, 70 * US, X, true);
	served_path_add(&w, THIRD_TID, read_us * US, Y, false);
	served_path_add(&w, THIRD_TID, 65 * US, Y, true);
	dtc_serving_seal(w.serving, true);
	uint32_t worker = dtc_history_find_thread(w.history, WORKER_TID, 50 * US);
	const struct dtc_served *span = dtc_serving_find_span(w.serving, 0, worker, 50 * US);
	g_assert_nonnull(span);
	g_assert_cmpuint(span->request, ==, is_later ? X : Y);
	served_path_clear(&w);
}

#define POOL_TID 41 /* another thread of the database */

/* The database reads with one thread what the loop asks for X, and answers with another one. */
static void test_asked_by_another(void)
{
	struct event_loop e;
	struct story *s = &e.story;
	event_loop_connect(&e);
	story_fork(s, 19 * US, 1, DB_TID, DB_TID, POOL_TID, DB_TID, "pool");
	story_switch(s, 19 * US + 500, 2, 0, "swapper", 0, POOL_TID, "pool");
	event_loop_call(s, 0, "read", 5, 20, 21, 50); /* X */
	story_enter(s, 24 * US, 0, "write", 7);
	event_loop_packet(s, 24 * US + 100, 0, true, DTC_TCP_ACK, 100, 500, 30);
	story_leave(s, 26 * US, 0, "write", 30);
	event_loop_call(s, 1, "read", 8, 28, 29, 30);
	story_enter(s, 30 * US, 0, "epoll_wait", 3);
	story_leave(s, 40 * US, 0, "epoll_wait", 1);
	event_loop_call(s, 0, "read", 6, 41, 42, 50); /* Y */
	story_enter(s, 50 * US, 2, "write", 8);
	event_loop_packet(s, 50 * US + 100, 2, false, DTC_TCP_ACK, 500, 130, 40);
	story_leave(s, 51 * US, 2, "write", 40);
	event_loop_call(s, 0, "write", 6, 60, 61, 20); /* Y is answered */
	event_loop_call(s, 0, "epoll_wait", 3, 65, 70, 1);
	event_loop_call(s, 0, "read", 7, 72, 73, 40);
	event_loop_call(s, 0, "write", 5, 80, 81, 20); /* X is answered */
	static const int64_t reads[] = { 20, 41 }, writes[] = { 80, 60 };
	event_loop_finish(&e, reads, writes);
	DtcServing *serving = dtc_serving_new(e.links);
	for (guint i = X; i <= Y; i++) {
		struct dtc_place *place = event_loop_place(&e, i);
		dtc_serving_add(serving, i, place);
		dtc_place_free(place);
	}
	dtc_serving_seal(serving, true);
	uint32_t pool = dtc_history_find_thread(e.histories[0], POOL_TID, 50 * US);
	const struct dtc_served *span = dtc_serving_find_span(serving, 0, pool, 40 * US);
	g_assert_nonnull(span);
	g_assert_cmpuint(span->request, ==, X);
	g_assert_false(span->leads);
	g_assert_cmpint(span->begin_ns, ==, 29 * US);
	dtc_serving_free(serving);
	event_loop_clear(&e);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/give-back/end/of-the-first", GUINT_TO_POINTER(NOTHING), test_end);
	g_test_add_data_func("/give-back/end/since-it-was-woken", GUINT_TO_POINTER(WOKEN), test_end);
	g_test_add_data_func("/give-back/end/since-it-was-told", GUINT_TO_POINTER(READ), test_end);
	g_test_add_func("/give-back/handed-over", test_handed_over);
	g_test_add_data_func("/give-back/unseen/end", GUINT_TO_POINTER(2), test_unseen);
	g_test_add_data_func("/give-back/unseen/begin", GUINT_TO_POINTER(1), test_unseen);
	g_test_add_data_func("/give-back/unseen/both", GUINT_TO_POINTER(3), test_unseen);
	g_test_add_func("/give-back/unseen/wait", test_unseen_wait);
	g_test_add_func("/give-back/lock", test_lock);
	g_test_add_func("/give-back/taken", test_taken);
	g_test_add_data_func("/give-back/child/ends", GINT_TO_POINTER(true), test_child);
	g_test_add_data_func("/give-back/child/outlives", GINT_TO_POINTER(false), test_child);
	g_test_add_data_func("/give-back/calls-loop/once", GINT_TO_POINTER(false), test_calls_loop);
	g_test_add_data_func("/give-back/calls-loop/twice", GINT_TO_POINTER(true), test_calls_loop);
	g_test_add_data_func("/give-back/gives-on/process", GINT_TO_POINTER(false), test_gives_on);
	g_test_add_data_func("/give-back/gives-on/queue", GINT_TO_POINTER(true), test_gives_on);
	g_test_add_data_func("/give-back/answers/pool", GUINT_TO_POINTER(NEVER), test_answers);
	g_test_add_data_func("/give-back/answers/one", GUINT_TO_POINTER(FOR_ONE), test_answers);
	g_test_add_data_func("/give-back/answers/loop", GUINT_TO_POINTER(FOR_ANY), test_answers);
	g_test_add_data_func("/give-back/lets-go/later", GINT_TO_POINTER(true), test_lets_go);
	g_test_add_data_func("/give-back/lets-go/before", GINT_TO_POINTER(false), test_lets_go);
	g_test_add_func("/give-back/asked-by-another", test_asked_by_another);
	return g_test_run();
}
