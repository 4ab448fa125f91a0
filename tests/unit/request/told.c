/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A worker process that the server tells what to do while it works for X: how it waits for that, what tells it, and
 * when it is done.
 */
#include "tests/support/one_server.h"

#define QUEUE_TID 51
#define COMMAND_TID 52
#define PIPE 9 /* which the worker reads; the server writes to PIPE + 1 */

struct way {
	const char *name;
	const char *waits; /* the worker, in that call, ... */
	int64_t fd;
	const char *tells; /* ... until the server makes this one */
	bool is_told;
};

static const struct way ways[] = {
	{ "pipe", "read", PIPE, "write", true },
	{ "poll", "poll", -1, "write", true }, /* on the pipe, which it then reads */
	{ "system-v", "msgrcv", -1, "msgsnd", true },
	{ "posix", "mq_timedreceive", -1, "mq_timedsend", true },
	{ "signal", "rt_sigtimedwait", -1, "tgkill", true },
	{ "data-left", "read", PIPE, "read", false }, /* by a worker that has taken its own: nobody told this one */
	{ "childs-death", "rt_sigtimedwait", -1, "exit_group", false },
	{ "semaphore", "semop", -1, "semop", false }, /* it may be a lock */
};

static void enter_wait(struct story *s, int64_t at_us, const struct way *way)
{
	if (strcmp(way->waits, "poll") == 0)
		story_poll(s, at_us * US, 1, way->waits, -1, -1);
	else
		story_enter(s, at_us * US, 1, way->waits, way->fd);
}

static void leave_wait(struct story *s, int64_t at_us, const struct way *way)
{
	story_leave(s, at_us * US, 1, way->waits, 4);
}

static void begin(struct server *server)
{
	struct story *s = &server->story;
	server_begin(server);
	event_loop_call(s, 0, "pipe2", -1, 5, 6, 0);
	story_fork(s, 7 * US, 0, LOOP_TID, LOOP_TID, WORKER_TID, WORKER_TID, "worker");
	story_switch(s, 8 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
}

static void tell_sleeping(struct story *s, uint32_t cpu, int tid)
{
	story_switch(s, 11 * US, cpu, tid, "worker", 1, 0, "swapper");
}

/* A thread on that CPU wakes the worker at 24 us. */
static void tell_wake(struct story *s, uint32_t cpu, const struct way *way)
{
	story_enter(s, 23 * US, cpu, way->tells, strcmp(way->tells, "write") == 0 ? PIPE + 1 : -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, 24 * US, cpu, WORKER_TID, "worker", 1);
	story_leave(s, 24 * US + 500, cpu, way->tells, 4);
	story_switch(s, 25 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
	leave_wait(s, 26, way);
}

static void check_worker(const DtcServing *serving, const struct server *server, int64_t end_us)
{
	uint32_t worker = dtc_history_find_thread(server->histories[0], WORKER_TID, 10 * US);
	guint count;
	const struct dtc_served *spans = dtc_serving_get(serving, 0, worker, &count);
	g_assert_cmpuint(count, ==, end_us ? 1 : 0);
	if (!count)
		return;
	g_assert_cmpint(spans[0].begin_ns, ==, 24 * US);
	g_assert_cmpint(spans[0].end_ns, ==, end_us * US);
	g_assert_cmpuint(spans[0].request, ==, X);
	g_assert_false(spans[0].leads);
	g_assert_true(dtc_serving_only_inherits(serving, 0, worker));
}

static void test_way(gconstpointer data)
{
	const struct way *way = data;
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	enter_wait(s, 10, way);
	tell_sleeping(s, 1, WORKER_TID);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_wake(s, 0, way);
	event_loop_call(s, 1, "write", PIPE + 2, 60, 61, 1);
	enter_wait(s, 65, way); /* the next one lies there */
	leave_wait(s, 66, way);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	check_worker(serving, &server, way->is_told ? 65 : 0);
	server_clear(&server);
}

/* It reads a header and then the rest, late, as another thread had its CPU; or computes before it reads again. */
static void test_header(gconstpointer data)
{
	bool computes = GPOINTER_TO_INT(data);
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	enter_wait(s, 10, &ways[0]);
	tell_sleeping(s, 1, WORKER_TID);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_wake(s, 0, &ways[0]);
	if (!computes) {
		story_switch(s, 27 * US, 1, WORKER_TID, "worker", 0, QUEUE_TID, "another");
		story_switch(s, 97 * US, 1, QUEUE_TID, "another", 0, WORKER_TID, "worker");
	}
	event_loop_call(s, 1, "read", PIPE, 98, 99, 100);
	enter_wait(s, 180, &ways[0]);
	leave_wait(s, 181, &ways[0]);
	event_loop_call(s, 0, "write", 5, 200, 201, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 200, 0);
	check_worker(serving, &server, computes ? 98 : 180);
	server_clear(&server);
}

/* It slept when the trace began, and how is told by what it does next; or that is not seen. */
static void test_asleep_before(gconstpointer data)
{
	bool is_seen = GPOINTER_TO_INT(data);
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	tell_sleeping(s, 1, WORKER_TID);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_wake(s, 0, &ways[0]);
	event_loop_call(s, 1, "write", PIPE + 2, 60, 61, 1);
	if (is_seen)
		enter_wait(s, 65, &ways[0]);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	check_worker(serving, &server, is_seen ? 65 : 0);
	server_clear(&server);
}

/* The server hands X to a thread of its own, a queue's, and that one tells the worker process. */
static void test_queue(void)
{
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	story_fork(s, 8 * US + 100, 0, LOOP_TID, LOOP_TID, QUEUE_TID, LOOP_TID, "queue");
	story_switch(s, 8 * US + 200, 2, 0, "swapper/2", 0, QUEUE_TID, "queue");
	enter_wait(s, 10, &ways[0]);
	tell_sleeping(s, 1, WORKER_TID);
	story_futex(s, 10 * US, 2, 137, 0x1000);
	tell_sleeping(s, 2, QUEUE_TID);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	story_task(s, DTC_EVENT_SCHED_WAKING, 22 * US, 0, QUEUE_TID, "queue", 2);
	story_switch(s, 22 * US + 100, 2, 0, "swapper/2", 0, QUEUE_TID, "queue");
	story_leave(s, 22 * US + 200, 2, "futex", 0);
	tell_wake(s, 2, &ways[0]);
	event_loop_call(s, 1, "write", PIPE + 2, 60, 61, 1);
	enter_wait(s, 65, &ways[0]);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	check_worker(serving, &server, 65);
	server_clear(&server);
}

#define SET 12

static void poll_set(struct story *s, int64_t at_us, uint32_t cpu)
{
	story_poll(s, at_us * US, cpu, "epoll_wait", SET, -1);
}

/*
 * A signal ends a poll. That tells what to do if the set is the one with which the worker waits for its clients; in the
 * middle of its work it is given a lock (PostgreSQL's latches).
 */
static void test_latch(gconstpointer data)
{
	bool is_for_clients = GPOINTER_TO_INT(data);
	struct server server;
	struct story *s = &server.story;
	static const struct way kill = { "kill", "epoll_wait", SET, "kill", true };
	begin(&server);
	event_loop_call(s, 1, "accept", 14, 8, 9, 13);
	if (is_for_clients) {
		poll_set(s, 9, 1);
		story_leave(s, 9 * US + 200, 1, "epoll_wait", 1);
		event_loop_call(s, 1, "recvfrom", 13, 10, 10, 5);
	}
	poll_set(s, 10, 1);
	tell_sleeping(s, 1, WORKER_TID);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_wake(s, 0, &kill);
	event_loop_call(s, 1, "write", PIPE + 2, 60, 61, 1);
	poll_set(s, 65, 1);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	check_worker(serving, &server, is_for_clients ? 65 : 0);
	server_clear(&server);
}

static void send_bytes(struct story *s, int64_t at_us, uint32_t cpu, int64_t fd, bool to_db, uint32_t bytes)
{
	story_enter(s, at_us * US, cpu, "write", fd);
	event_loop_packet(s, at_us * US + 100, cpu, to_db, DTC_TCP_ACK, to_db ? 100 : 500, 1, bytes);
	story_leave(s, (at_us + 1) * US, cpu, "write", bytes);
}

/* A command that the worker runs. */
static void run(struct story *s, int64_t from_us, int64_t to_us)
{
	story_fork(s, from_us * US, 1, WORKER_TID, WORKER_TID, COMMAND_TID, COMMAND_TID, "command");
	story_switch(s, (from_us + 1) * US, 3, 0, "swapper/3", 0, COMMAND_TID, "command");
	story_task(s, DTC_EVENT_SCHED_EXIT, to_us * US, 3, COMMAND_TID, "command", 0);
	story_switch(s, to_us * US + 500, 3, COMMAND_TID, "command", 0x10, 0, "swapper/3");
}

static void check_at(const DtcServing *serving, const struct server *server, int tid, int64_t us)
{
	uint32_t thread = dtc_history_find_thread(server->histories[0], tid, us * US);
	const struct dtc_served *span = dtc_serving_find_span(serving, 0, thread, us * US);
	g_assert_nonnull(span);
	g_assert_cmpuint(span->request, ==, X);
}

/*
 * What a worker asks others, while it does what it was told, is for the same request: for that the database works, and
 * so does the command that it runs meanwhile. And what it reads of the answer does not say that it had not begun
 * before.
 */
static void test_asks(void)
{
	struct server server;
	struct story *s = &server.story;
	begin(&server);
	story_switch(s, 8 * US + 200, 2, 0, "swapper/2", 0, DB_TID, "db");
	enter_wait(s, 10, &ways[0]);
	tell_sleeping(s, 1, WORKER_TID);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_wake(s, 0, &ways[0]);
	send_bytes(s, 30, 1, 17, true, 30);
	event_loop_call(s, 2, "read", 18, 33, 34, 30);
	run(s, 36, 46);
	send_bytes(s, 50, 2, 18, false, 40);
	event_loop_call(s, 1, "read", 17, 53, 54, 40);
	event_loop_call(s, 1, "write", PIPE + 2, 60, 61, 1);
	enter_wait(s, 65, &ways[0]);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	for (int64_t us = 26; us < 65; us += 6)
		check_at(serving, &server, WORKER_TID, us);
	check_at(serving, &server, DB_TID, 40);
	check_at(serving, &server, COMMAND_TID, 40);
	guint count;
	dtc_serving_get_hops(serving, X, &count);
	g_assert_cmpuint(count, ==, 1);
	server_clear(&server);
}

/* The server makes the worker for X, and is at somebody else's when it can tell it what to do (dovecot's auth). */
static void test_made(void)
{
	struct server server;
	struct story *s = &server.story;
	server_begin(&server);
	event_loop_call(s, 0, "pipe2", -1, 5, 6, 0);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	story_fork(s, 22 * US, 0, LOOP_TID, LOOP_TID, WORKER_TID, WORKER_TID, "worker");
	story_switch(s, 23 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
	enter_wait(s, 26, &ways[0]);
	story_switch(s, 27 * US, 1, WORKER_TID, "worker", 1, 0, "swapper/1");
	event_loop_call(s, 0, "read", 6, 30, 31, 50);
	story_enter(s, 33 * US, 0, "write", PIPE + 1);
	story_task(s, DTC_EVENT_SCHED_WAKING, 34 * US, 0, WORKER_TID, "worker", 1);
	story_leave(s, 34 * US + 500, 0, "write", 4);
	story_switch(s, 35 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
	leave_wait(s, 36, &ways[0]);
	event_loop_call(s, 1, "write", PIPE + 2, 60, 61, 1);
	enter_wait(s, 65, &ways[0]);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	uint32_t worker = dtc_history_find_thread(server.histories[0], WORKER_TID, 40 * US);
	const struct dtc_served *span = dtc_serving_find_span(serving, 0, worker, 40 * US);
	g_assert_nonnull(span);
	g_assert_cmpuint(span->request, ==, X);
	g_assert_cmpint(span->begin_ns, ==, 34 * US);
	g_assert_cmpint(span->end_ns, ==, 65 * US);
	server_clear(&server);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(ways); i++) {
		g_autofree char *name = g_strconcat("/told/way/", ways[i].name, NULL);
		g_test_add_data_func(name, &ways[i], test_way);
	}
	g_test_add_data_func("/told/header/and-rest", GINT_TO_POINTER(false), test_header);
	g_test_add_data_func("/told/header/none", GINT_TO_POINTER(true), test_header);
	g_test_add_data_func("/told/asleep-before/seen", GINT_TO_POINTER(true), test_asleep_before);
	g_test_add_data_func("/told/asleep-before/not-seen", GINT_TO_POINTER(false), test_asleep_before);
	g_test_add_func("/told/queue", test_queue);
	g_test_add_data_func("/told/latch/clients", GINT_TO_POINTER(true), test_latch);
	g_test_add_data_func("/told/latch/lock", GINT_TO_POINTER(false), test_latch);
	g_test_add_func("/told/asks", test_asks);
	g_test_add_func("/told/made", test_made);
	return g_test_run();
}
