/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * X's thread calls a worker, and asks a broker, where X lies still until the worker tells it something: the worker has
 * been at X since it was called, and not since X lay still.
 *
 *   40 app     30 X's question  34 reads  36 calls 22  38 asks the broker  41 waits     106 reads  112 answers
 *   20 broker  18 polls            44 reads  48 polls                         98 reads  101 tells 40
 *   22 worker  22 sleeps           38 sleeps                         90  94 tells 20
 */
#include "tests/support/served_path.h"

#define RUN 0
#define SLEEP 1
#define REMOTE 0x0a000001u
#define SERVER 0x0a000002u
#define LOCAL 0x7f000001u
#define APP 40
#define BROKER 20
#define WORKER 22
#define HOLDER 24
#define QUESTION 5
#define OTHER 9
#define TO_BROKER 6
#define FROM_APP 7
#define FROM_WORKER 8
#define APP_PORT 50000
#define WORKER_PORT 50001
#define PSH_ACK 0x18
#define ANSWERED 112
#define X 0
#define Y 1

enum variant {
	CALLED,	  /* by X's thread, before X lay still */
	LOCKED,	  /* it waits for a lock in between */
	FETCHED,  /* it waits for whatever comes in between, and somebody that is at work on his own brings it */
	IDLE,	  /* by nobody: a timer that had been set long before */
	BY_OTHER, /* by X's thread, when that worked for another request */
};

static void tell_call(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, result);
}

/* On the loopback interface: sent and received by one CPU at one time. */
static void pass(struct story *s, int64_t t, uint32_t cpu, uint16_t port, bool to_broker, uint8_t flags, uint32_t seq,
		 uint32_t ack, uint16_t bytes, int woken)
{
	struct dtc_headers packet = story_headers(LOCAL, to_broker ? port : 80, LOCAL, to_broker ? 80 : port, seq, ack,
						  flags, bytes, (uint16_t)t);
	story_packet(s, DTC_EVENT_NET_SEND, t, cpu, &packet);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t, cpu, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, cpu, &packet);
	if (woken)
		story_task(s, DTC_EVENT_SCHED_WAKING, t, cpu, woken, "", woken == BROKER ? 0 : 2);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t, cpu, 3, NULL);
}

static void tell_connection(struct story *s, int64_t t, uint32_t cpu, uint16_t port, int64_t fd, int64_t accepted)
{
	story_enter(s, t, cpu, "connect", fd);
	pass(s, t, cpu, port, true, DTC_TCP_SYN, 99, 0, 0, 0);
	pass(s, t, cpu, port, false, DTC_TCP_SYN | DTC_TCP_ACK, 499, 100, 0, 0);
	pass(s, t, cpu, port, true, DTC_TCP_ACK, 100, 500, 0, 0);
	story_leave(s, t + 1, cpu, "connect", 0);
	tell_call(s, t + 1, 0, "accept4", 3, accepted);
}

static void begin(struct story *s)
{
	story_begin(s, "server");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, BROKER, "broker");
	story_fork(s, 1, 0, BROKER, BROKER, WORKER, WORKER, "worker");
	story_fork(s, 1, 0, BROKER, BROKER, APP, APP, "app");
	story_switch(s, 2, 1, 0, "swapper/1", RUN, WORKER, "worker");
	story_switch(s, 3, 2, 0, "swapper/2", RUN, APP, "app");
	story_fork(s, 4, 3, BROKER, BROKER, HOLDER, HOLDER, "holder");
	story_switch(s, 4, 3, 0, "swapper/3", RUN, HOLDER, "holder");
	tell_connection(s, 5, 2, APP_PORT, TO_BROKER, FROM_APP);
	tell_connection(s, 8, 1, WORKER_PORT, TO_BROKER, FROM_WORKER);
	tell_call(s, 14, 2, "accept4", 3, QUESTION);
	tell_call(s, 16, 2, "accept4", 3, OTHER);
	story_poll(s, 18, 0, "epoll_wait", 8, -1);
	story_switch(s, 19, 0, BROKER, "broker", SLEEP, 0, "swapper/0");
	story_poll(s, 24, 2, "epoll_wait", 8, -1);
	story_switch(s, 25, 2, APP, "app", SLEEP, 0, "swapper/2");
}

static void tell_worker(struct story *s, enum variant variant)
{
	if (variant == IDLE)
		return;
	int64_t t = variant == BY_OTHER ? 33 : 36;
	story_futex(s, t, 2, 1, 64);
	story_task(s, DTC_EVENT_SCHED_WAKING, t, 2, WORKER, "worker", 1);
	story_leave(s, t + 1, 2, "futex", 1);
	story_switch(s, t + 1, 1, 0, "swapper/1", RUN, WORKER, "worker");
	story_leave(s, t + 1, 1, "futex", 0);
	story_enter(s, t + 2, 1, "nanosleep", -1);
	story_switch(s, t + 2, 1, WORKER, "worker", SLEEP, 0, "swapper/1");
}

/* The holder, which has run since it began, lets the worker go on. */
static void tell_wait(struct story *s, enum variant variant)
{
	story_timer_wakes(s, 52, 53, 1, WORKER, "worker");
	story_switch(s, 54, 1, 0, "swapper/1", RUN, WORKER, "worker");
	story_leave(s, 55, 1, "nanosleep", 0);
	if (variant == LOCKED)
		story_futex(s, 56, 1, 0, 72);
	else
		story_enter(s, 56, 1, "read", 11);
	story_switch(s, 57, 1, WORKER, "worker", SLEEP, 0, "swapper/1");
	story_enter(s, 66, 3, "write", 12);
	story_task(s, DTC_EVENT_SCHED_WAKING, 67, 3, WORKER, "worker", 1);
	story_leave(s, 68, 3, "write", 1);
	story_switch(s, 68, 1, 0, "swapper/1", RUN, WORKER, "worker");
	story_leave(s, 69, 1, variant == LOCKED ? "futex" : "read", 0);
	story_enter(s, 70, 1, "nanosleep", -1);
	story_switch(s, 71, 1, WORKER, "worker", SLEEP, 0, "swapper/1");
}

static void tell(struct story *s, enum variant variant)
{
	struct dtc_headers question = story_headers(REMOTE, 60000, SERVER, 80, 1000, 500, PSH_ACK, 50, 1);
	struct dtc_headers answer = story_headers(SERVER, 80, REMOTE, 60000, 500, 1050, PSH_ACK, 60, 2);
	begin(s);
	if (variant == IDLE)
		story_enter(s, 22, 1, "nanosleep", -1);
	else
		story_futex(s, 22, 1, 0, 64);
	story_switch(s, 23, 1, WORKER, "worker", SLEEP, 0, "swapper/1");
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 29, 2, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, 30, 2, &question);
	story_task(s, DTC_EVENT_SCHED_WAKING, 31, 2, APP, "app", 2);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 31, 2, 3, NULL);
	story_switch(s, 32, 2, 0, "swapper/2", RUN, APP, "app");
	story_leave(s, 32, 2, "epoll_wait", 1);
	if (variant == BY_OTHER) {
		tell_call(s, 32, 2, "read", OTHER, 50);
		tell_worker(s, variant);
	}
	tell_call(s, variant == BY_OTHER ? 35 : 34, 2, "read", QUESTION, 50);
	if (variant != BY_OTHER)
		tell_worker(s, variant);
	story_enter(s, 38, 2, "write", TO_BROKER);
	pass(s, 39, 2, APP_PORT, true, PSH_ACK, 100, 500, 50, BROKER);
	story_leave(s, 40, 2, "write", 50);
	story_enter(s, 41, 2, "read", TO_BROKER);
	story_switch(s, 42, 0, 0, "swapper/0", RUN, BROKER, "broker");
	story_switch(s, 42, 2, APP, "app", SLEEP, 0, "swapper/2");
	story_leave(s, 43, 0, "epoll_wait", 1);
	tell_call(s, 44, 0, "read", FROM_APP, 50);
	story_poll(s, 48, 0, "epoll_wait", 8, -1);
	story_switch(s, 49, 0, BROKER, "broker", SLEEP, 0, "swapper/0");
	if (variant == LOCKED || variant == FETCHED)
		tell_wait(s, variant);
	story_timer_wakes(s, 89, 90, 1, WORKER, "worker");
	story_switch(s, 91, 1, 0, "swapper/1", RUN, WORKER, "worker");
	story_leave(s, 92, 1, "nanosleep", 0);
	story_enter(s, 94, 1, "write", TO_BROKER);
	pass(s, 95, 1, WORKER_PORT, true, PSH_ACK, 100, 500, 30, BROKER);
	story_leave(s, 96, 1, "write", 30);
	story_switch(s, 96, 0, 0, "swapper/0", RUN, BROKER, "broker");
	story_leave(s, 97, 0, "epoll_wait", 1);
	tell_call(s, 98, 0, "read", FROM_WORKER, 30);
	story_enter(s, 101, 0, "write", FROM_APP);
	pass(s, 102, 0, APP_PORT, false, PSH_ACK, 500, 150, 20, APP);
	story_leave(s, 103, 0, "write", 20);
	story_switch(s, 104, 2, 0, "swapper/2", RUN, APP, "app");
	story_leave(s, 106, 2, "read", 20);
	story_enter(s, ANSWERED, 2, "write", QUESTION);
	story_packet(s, DTC_EVENT_NET_SEND, ANSWERED + 1, 2, &answer);
	story_leave(s, ANSWERED + 2, 2, "write", 60);
	story_end(s);
}

/* The segment of X's path at a time. */
static struct dtc_segment walk_from(enum variant variant, int64_t begin, int64_t t)
{
	struct story s;
	tell(&s, variant);
	struct served_path w = served_path_begin(&s);
	if (variant == BY_OTHER)
		served_path_add(&w, APP, 32, Y, false);
	served_path_add(&w, APP, variant == BY_OTHER ? 35 : 34, X, false);
	served_path_add(&w, BROKER, 44, X, false);
	served_path_add(&w, BROKER, 101, X, true);
	served_path_add(&w, APP, ANSWERED, X, true);
	return served_path_at(&w, APP, begin, ANSWERED, t);
}

static struct dtc_segment walk(enum variant variant, int64_t t)
{
	return walk_from(variant, 30, t);
}

static void test_called(void)
{
	for (int64_t t = 44; t <= 88; t += 4) {
		struct dtc_segment at = walk(CALLED, t);
		g_assert_cmpint(at.tid, ==, WORKER);
		g_assert_cmpint(at.cause, ==, DTC_CAUSE_TIMER);
		g_assert_cmpint(at.link, ==, DTC_LINK_INFERRED);
	}
	g_assert_cmpint(walk(CALLED, 35).tid, ==, APP);
	/* so it is, too, for what began later, and waits for that */
	g_assert_cmpint(walk_from(CALLED, 42, 46).tid, ==, WORKER);
	g_assert_cmpint(walk(LOCKED, 46).tid, ==, WORKER);
	g_assert_cmpint(walk(LOCKED, 60).tid, ==, HOLDER);
	g_assert_cmpint(walk(LOCKED, 80).tid, ==, WORKER);
}

/* What it did before X lay still was not for X, as far as is seen. */
static void test_others(void)
{
	for (enum variant v = FETCHED; v <= BY_OTHER; v++) {
		g_assert_cmpint(walk(v, 80).tid, ==, WORKER);
		g_assert_cmpint(walk(v, 46).tid, ==, BROKER);
		g_assert_cmpint(walk(v, 37).tid, ==, APP);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/branch/called", test_called);
	g_test_add_func("/branch/others", test_others);
	return g_test_run();
}
