/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that serves others' calls for the kernel: a file system's daemon, which is busy when the loop reads a file
 * for X at 30 us, and wakes it at 60; and a pager, which brings the page that the loop touches at 30.
 *
 *   loop     20 read X 21   30 sleeps . . . . . . . . . . . 60 woken   70 write X
 *   daemon   10 takes a stranger's . . 40 answers it, takes X's . . . 60 answers it
 */
#include "tests/support/one_server.h"

#define DAEMON_TID 60
#define STRANGER_TID 61 /* who serves nobody that is known */

static void begin(struct server *server, int worker_pid)
{
	struct story *s = &server->story;
	server_begin(server);
	story_fork(s, 5 * US, 0, LOOP_TID, LOOP_TID, DAEMON_TID, worker_pid, "daemon");
	story_fork(s, 6 * US, 0, LOOP_TID, LOOP_TID, STRANGER_TID, worker_pid == LOOP_TID ? LOOP_TID : STRANGER_TID,
		   "stranger");
	story_switch(s, 8 * US, 1, 0, "swapper/1", 0, DAEMON_TID, "daemon");
	story_switch(s, 9 * US, 2, 0, "swapper/2", 0, STRANGER_TID, "stranger");
}

/* A thread sleeps, in a call or outside of any, and is woken from another CPU. */
static void sleeps(struct story *s, int64_t at_us, uint32_t cpu, int tid, const char *call, int64_t fd)
{
	if (call)
		story_enter(s, at_us * US, cpu, call, fd);
	story_switch(s, (at_us + 1) * US, cpu, tid, "thread", 1, 0, "swapper");
}

static void is_woken(struct story *s, int64_t at_us, uint32_t by_cpu, uint32_t cpu, int tid)
{
	story_task(s, DTC_EVENT_SCHED_WAKING, at_us * US, by_cpu, tid, "thread", (int)cpu);
	story_switch(s, (at_us + 1) * US, cpu, 0, "swapper", 0, tid, "thread");
}

/* Of X, in this time and in no other; 0: never. */
static void check(struct server *server, int64_t begin_us, int64_t end_us)
{
	g_autoptr(DtcServing) serving = server_end(server, 20, 70, 0);
	uint32_t thread = dtc_history_find_thread(server->histories[0], DAEMON_TID, 50 * US);
	guint count;
	const struct dtc_served *spans = dtc_serving_get(serving, 0, thread, &count);
	g_assert_cmpuint(count, ==, end_us ? 1 : 0);
	if (count) {
		g_assert_cmpint(spans[0].begin_ns, ==, begin_us * US);
		g_assert_cmpint(spans[0].end_ns, ==, end_us * US);
		g_assert_cmpuint(spans[0].request, ==, X);
	}
	server_clear(server);
}

enum asks {
	FILES,	     /* a file system's daemon */
	PERMISSIONS, /* of fanotify */
	NOBODY	     /* it writes to a file, of which another one had waited for the lock */
};

static void test_files(gconstpointer data)
{
	enum asks asks = GPOINTER_TO_UINT(data);
	bool takes = asks != NOBODY;
	struct server server;
	struct story *s = &server.story;
	begin(&server, DAEMON_TID);
	if (asks == PERMISSIONS)
		event_loop_call(s, 1, "fanotify_init", -1, 9, 10, 7);
	event_loop_call(s, 1, takes ? "read" : "write", 7, 11, 12, 80);
	sleeps(s, 13, 2, STRANGER_TID, "read", 8);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	sleeps(s, 30, 0, LOOP_TID, "read", 8);
	story_enter(s, 39 * US, 1, "write", 7);
	is_woken(s, 40, 1, 2, STRANGER_TID);
	if (asks == PERMISSIONS) { /* all are woken, and who has no answer yet sleeps again */
		is_woken(s, 41, 1, 0, LOOP_TID);
		sleeps(s, 42, 0, LOOP_TID, NULL, -1);
	}
	story_leave(s, 43 * US, 1, "write", 96);
	story_leave(s, 43 * US, 2, "read", 80);
	if (takes)
		event_loop_call(s, 1, "read", 7, 44, 45, 80);
	story_enter(s, 59 * US, 1, "write", 7);
	is_woken(s, 60, 1, 0, LOOP_TID);
	story_leave(s, 62 * US, 1, "write", 96);
	story_leave(s, 63 * US, 0, "read", 80);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	check(&server, 40, takes ? 60 : 0);
}

/* It was woken for the loop's page. */
static void test_page(void)
{
	struct server server;
	struct story *s = &server.story;
	begin(&server, LOOP_TID);
	event_loop_call(s, 1, "userfaultfd", -1, 10, 11, 9);
	sleeps(s, 12, 1, DAEMON_TID, "poll", -1);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	is_woken(s, 29, 0, 1, DAEMON_TID);
	sleeps(s, 30, 0, LOOP_TID, NULL, -1);
	story_leave(s, 32 * US, 1, "poll", 1);
	event_loop_call(s, 1, "read", 9, 33, 34, 32);
	story_enter(s, 59 * US, 1, "ioctl", 9);
	is_woken(s, 60, 1, 0, LOOP_TID);
	story_leave(s, 62 * US, 1, "ioctl", 0);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	check(&server, 29, 60);
}

/* A pager that X's thread made brings a page for somebody else: from when it was woken for that it is no longer X's. */
static void test_made(void)
{
	struct server server;
	struct story *s = &server.story;
	server_begin(&server);
	story_fork(s, 6 * US, 0, LOOP_TID, LOOP_TID, STRANGER_TID, LOOP_TID, "stranger");
	story_switch(s, 9 * US, 2, 0, "swapper/2", 0, STRANGER_TID, "stranger");
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	story_fork(s, 22 * US, 0, LOOP_TID, LOOP_TID, DAEMON_TID, LOOP_TID, "daemon");
	story_switch(s, 23 * US, 1, 0, "swapper/1", 0, DAEMON_TID, "daemon");
	event_loop_call(s, 1, "userfaultfd", -1, 24, 25, 9);
	sleeps(s, 26, 1, DAEMON_TID, "poll", -1);
	is_woken(s, 30, 2, 1, DAEMON_TID);
	sleeps(s, 31, 2, STRANGER_TID, NULL, -1);
	story_leave(s, 33 * US, 1, "poll", 1);
	story_enter(s, 49 * US, 1, "ioctl", 9);
	is_woken(s, 50, 1, 2, STRANGER_TID);
	story_leave(s, 52 * US, 1, "ioctl", 0);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	check(&server, 22, 30);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/for-kernel/files/daemon", GUINT_TO_POINTER(FILES), test_files);
	g_test_add_data_func("/for-kernel/files/permissions", GUINT_TO_POINTER(PERMISSIONS), test_files);
	g_test_add_data_func("/for-kernel/files/lock", GUINT_TO_POINTER(NOBODY), test_files);
	g_test_add_func("/for-kernel/page", test_page);
	g_test_add_func("/for-kernel/made", test_made);
	return g_test_run();
}
