/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connections that come while their server is awake already: nobody is woken for them. Whose each is is told by who
 * accepts it, and who greets whom, and not by what had woken the server.
 */
#include "tests/support/path_at.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define UNIX 1
#define LISTENER 3
#define FIRST 10 /* who connects first, and wakes the server */
#define SECOND 11
#define SERVER 20
#define CHILD 30

static void tell(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, result);
}

static void opens(struct story *s, int64_t t, uint32_t cpu, int64_t fd)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, t, cpu);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "socket");
	e.v[DTC_CALL_FAMILY] = UNIX;
	dtc_machine_apply(s->machine, &e);
	story_leave(s, t + 1, cpu, "socket", fd);
}

/* A client sleeps until a time, and goes on four later. */
static void sleeps(struct story *s, int64_t t, int64_t until, uint32_t cpu, int tid)
{
	story_enter(s, t, cpu, "nanosleep", -1);
	story_switch(s, t + 1, cpu, tid, "client", SLEEP, 0, "swapper");
	story_timer_wakes(s, until - 2, until, cpu, tid, "client");
	story_switch(s, until + 3, cpu, 0, "swapper", RUN, tid, "client");
	story_leave(s, until + 4, cpu, "nanosleep", 0);
}

static void begin(struct story *s)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, FIRST, "client");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, SECOND, "client");
	story_switch(s, 0, 2, 0, "swapper/2", RUN, SERVER, "server");
	opens(s, 1, 2, LISTENER);
	story_poll(s, 5, 2, "epoll_wait", 9, -1);
	story_switch(s, 6, 2, SERVER, "server", SLEEP, 0, "swapper/2");
}

/* Both connect, the first one wakes the server, which is on its way then. */
static void connect_both(struct story *s)
{
	sleeps(s, 10, 60, 0, FIRST);
	sleeps(s, 12, 90, 1, SECOND);
	opens(s, 95, 0, 5);
	story_enter(s, 97, 0, "connect", 5);
	story_task(s, DTC_EVENT_SCHED_WAKING, 98, 0, SERVER, "server", 2);
	story_leave(s, 99, 0, "connect", 0);
	opens(s, 100, 1, 6);
	tell(s, 102, 1, "connect", 6, 0);
	story_switch(s, 110, 2, 0, "swapper/2", RUN, SERVER, "server");
	story_leave(s, 111, 2, "epoll_wait", 1);
}

static void make_child(struct story *s, int64_t t, int tid)
{
	story_enter(s, t, 2, "clone", -1);
	story_fork(s, t + 1, 2, SERVER, SERVER, tid, tid, "server");
	story_leave(s, t + 2, 2, "clone", tid);
}

/* What a child accepts, which it was made for, and reads. */
static void serve(struct story *s, int64_t t, int tid, int64_t bytes)
{
	story_switch(s, t, 3, 0, "swapper/3", RUN, tid, "server");
	tell(s, t + 2, 3, "accept", LISTENER, 7);
	tell(s, t + 4, 3, "read", 7, bytes);
	story_switch(s, t + 8, 3, tid, "server", SLEEP, 0, "swapper/3");
}

/*
 * A master makes a process for each, which accepts: the second one was made for who came second (dovecot, where 44 ms
 * of one login were said to be another's).
 */
static void test_children(void)
{
	struct story s;
	begin(&s);
	connect_both(&s);
	tell(&s, 112, 0, "write", 5, 40);
	tell(&s, 112, 1, "write", 6, 30);
	make_child(&s, 115, CHILD);
	story_poll(&s, 118, 2, "epoll_wait", 9, -1);
	story_leave(&s, 119, 2, "epoll_wait", 1);
	make_child(&s, 121, CHILD + 1);
	story_poll(&s, 125, 2, "epoll_wait", 9, -1);
	story_switch(&s, 126, 2, SERVER, "server", SLEEP, 0, "swapper/2");
	serve(&s, 130, CHILD, 40);
	serve(&s, 140, CHILD + 1, 30);
	story_end(&s);
	g_autoptr(DtcPath) first = path_of(s.history, CHILD, 20, 138, DTC_NONE);
	g_autoptr(DtcPath) second = path_of(s.history, CHILD + 1, 20, 148, DTC_NONE);
	g_assert_cmpint(path_at(first, 50)->tid, ==, FIRST);
	g_assert_cmpint(path_at(second, 50)->tid, ==, SECOND);
	g_assert_cmpint(path_at(second, 85)->tid, ==, SECOND);
	g_assert_cmpint(path_at(second, 105)->tid, ==, SERVER);
	story_clear(&s);
}

/* One server greets both: what it says to the second one is not for what had woken it. */
static void test_greetings(void)
{
	struct story s;
	begin(&s);
	connect_both(&s);
	tell(&s, 112, 2, "accept", LISTENER, 7);
	tell(&s, 114, 2, "write", 7, 20);
	story_enter(&s, 115, 1, "read", 6);
	story_switch(&s, 116, 1, SECOND, "client", SLEEP, 0, "swapper/1");
	tell(&s, 117, 2, "accept", LISTENER, 8);
	story_enter(&s, 120, 2, "write", 8);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 120, 2, SECOND, "client", 1);
	story_leave(&s, 121, 2, "write", 20);
	story_switch(&s, 123, 1, 0, "swapper/1", RUN, SECOND, "client");
	story_leave(&s, 124, 1, "read", 20);
	tell(&s, 126, 0, "read", 5, 20);
	story_end(&s);
	uint32_t server = dtc_history_find_thread(s.history, SERVER, 120);
	g_autoptr(DtcPath) path = path_of(s.history, SERVER, 20, 121, dtc_history_find_call(s.history, server, 120));
	g_assert_cmpint(path_at(path, 115)->tid, ==, SERVER);
	g_assert_cmpint(path_at(path, 85)->tid, ==, SECOND);
	g_assert_cmpint(path_at(path, 50)->tid, ==, SECOND);
	story_clear(&s);
}

/*
 * A connection lies in the kernel while its server polls for something else, until a process of it says by a socket of
 * their own that it is busy (postfix' master): that is why, and what came did not end the wait.
 */
static void test_lies_there(void)
{
	struct story s;
	const struct dtc_headers syn = story_headers(1, 1000, 2, 25, 100, 0, DTC_TCP_SYN, 0, 0);
	const struct dtc_headers reply = story_headers(2, 25, 1, 1000, 500, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	const struct dtc_headers ack = story_headers(1, 1000, 2, 25, 101, 501, DTC_TCP_ACK, 0, 0);
	const struct dtc_headers greeting = story_headers(2, 25, 1, 1000, 501, 101, DTC_TCP_ACK, 20, 0);
	begin(&s);
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 30, 2, 3, NULL);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 31, 2, &syn);
	story_packet(&s, DTC_EVENT_NET_SEND, 32, 2, &reply);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 33, 2, &ack);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 34, 2, 3, NULL);
	sleeps(&s, 35, 90, 0, FIRST);
	story_enter(&s, 97, 0, "write", 5);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 98, 0, SERVER, "server", 2);
	story_leave(&s, 99, 0, "write", 12);
	story_switch(&s, 110, 2, 0, "swapper/2", RUN, SERVER, "server");
	story_leave(&s, 111, 2, "epoll_wait", 1);
	tell(&s, 112, 2, "read", 12, 12);
	tell(&s, 115, 2, "accept", 13, 7);
	story_enter(&s, 120, 2, "write", 7);
	story_packet(&s, DTC_EVENT_NET_SEND, 121, 2, &greeting);
	story_leave(&s, 122, 2, "write", 20);
	story_end(&s);
	uint32_t server = dtc_history_find_thread(s.history, SERVER, 120);
	g_autoptr(DtcPath) path = path_of(s.history, SERVER, 20, 122, dtc_history_find_call(s.history, server, 120));
	g_assert_cmpint(path_at(path, 80)->tid, ==, FIRST);
	g_assert_cmpstr(dtc_cause_to_string(path_at(path, 80)->cause), ==, "timer");
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/opening/children", test_children);
	g_test_add_func("/opening/greetings", test_greetings);
	g_test_add_func("/opening/lies-there", test_lies_there);
	return g_test_run();
}
