/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * X's thread calls a worker, and asks a broker, where X lies still until the worker tells it something: the worker has
 * been at X since it was called, and not since X lay still.
 *
 *   40 app     26 X's question  29 reads  30 calls 22  38 asks the broker  41 waits     106 reads  112 answers
 *   20 broker  18 polls            44 reads  47 polls                         98 reads  101 tells 40
 *   22 worker  22 sleeps           32 sleeps                         90  94 tells 20
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
	AGAIN,	  /* it was done by then, and lies idle until the holder, that was at others', calls it */
	TOLD,	  /* as CALLED, but X's thread sleeps when the broker answers, and the worker wakes it later */
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

/* The holder, which has run since it began, lets the worker go on; tells when. */
static int64_t tell_wait(struct story *s, int64_t t, enum variant variant)
{
	if (variant == LOCKED)
		story_futex(s, t, 1, 0, 72);
	else
		story_enter(s, t, 1, "read", 11);
	story_switch(s, t, 1, WORKER, "worker", SLEEP, 0, "swapper/1");
	story_enter(s, t + 2, 3, "write", 12);
	story_task(s, DTC_EVENT_SCHED_WAKING, t + 3, 3, WORKER, "worker", 1);
	story_leave(s, t + 3, 3, "write", 1);
	story_switch(s, t + 4, 1, 0, "swapper/1", RUN, WORKER, "worker");
	story_leave(s, t + 4, 1, variant == LOCKED ? "futex" : "read", 0);
	return t + 4;
}

static void tell_worker(struct story *s, enum variant variant)
{
	if (variant == IDLE)
		return;
	int64_t t = variant == BY_OTHER ? 33 : 30;
	story_futex(s, t, 2, 1, 64);
	story_task(s, DTC_EVENT_SCHED_WAKING, t, 2, WORKER, "worker", 1);
	story_leave(s, t + 1, 2, "futex", 1);
	story_switch(s, t + 1, 1, 0, "swapper/1", RUN, WORKER, "worker");
	story_leave(s, t + 1, 1, "futex", 0);
	if (variant == LOCKED || variant == FETCHED)
		t = tell_wait(s, t + 2, variant);
	if (variant == AGAIN)
		story_futex(s, t + 2, 1, 0, 64);
	else
		story_enter(s, t + 2, 1, "nanosleep", -1);
	story_switch(s, t + 2, 1, WORKER, "worker", SLEEP, 0, "swapper/1");
}

/* What lets the worker go on at 90. */
static void tell_wake(struct story *s, enum variant variant)
{
	if (variant != AGAIN) {
		story_timer_wakes(s, 89, 90, 1, WORKER, "worker");
		return;
	}
	story_futex(s, 89, 3, 1, 64);
	story_task(s, DTC_EVENT_SCHED_WAKING, 90, 3, WORKER, "worker", 1);
	story_leave(s, 90, 3, "futex", 1);
}

static void tell_question(struct story *s)
{
	struct dtc_headers question = story_headers(REMOTE, 60000, SERVER, 80, 1000, 500, PSH_ACK, 50, 1);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 26, 2, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, 26, 2, &question);
	story_task(s, DTC_EVENT_SCHED_WAKING, 27, 2, APP, "app", 2);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 27, 2, 3, NULL);
	story_switch(s, 28, 2, 0, "swapper/2", RUN, APP, "app");
	story_leave(s, 28, 2, "epoll_wait", 1);
}

static void tell_answer(struct story *s)
{
	struct dtc_headers answer = story_headers(SERVER, 80, REMOTE, 60000, 500, 1050, PSH_ACK, 60, 2);
	story_enter(s, ANSWERED, 2, "write", QUESTION);
	story_packet(s, DTC_EVENT_NET_SEND, ANSWERED + 1, 2, &answer);
	story_leave(s, ANSWERED + 2, 2, "write", 60);
	story_end(s);
}

static void tell(struct story *s, enum variant variant)
{
	begin(s);
	if (variant == IDLE)
		story_enter(s, 22, 1, "nanosleep", -1);
	else
		story_futex(s, 22, 1, 0, 64);
	story_switch(s, 23, 1, WORKER, "worker", SLEEP, 0, "swapper/1");
	tell_question(s);
	if (variant == BY_OTHER) {
		tell_call(s, 32, 2, "read", OTHER, 50);
		tell_worker(s, variant);
	}
	tell_call(s, variant == BY_OTHER ? 35 : 29, 2, "read", QUESTION, 50);
	if (variant != BY_OTHER)
		tell_worker(s, variant);
	if (variant == TOLD) {
		story_enter(s, 32, 2, "nanosleep", -1);
		story_switch(s, 33, 2, APP, "app", SLEEP, 0, "swapper/2");
		story_timer_wakes(s, 35, 35, 2, APP, "app");
		story_switch(s, 36, 2, 0, "swapper/2", RUN, APP, "app");
		story_leave(s, 36, 2, "nanosleep", 0);
	}
	story_enter(s, 38, 2, "write", TO_BROKER);
	pass(s, 39, 2, APP_PORT, true, PSH_ACK, 100, 500, 50, BROKER);
	story_leave(s, 40, 2, "write", 50);
	if (variant == TOLD)
		story_futex(s, 41, 2, 0, 80);
	else
		story_enter(s, 41, 2, "read", TO_BROKER);
	story_switch(s, 42, 0, 0, "swapper/0", RUN, BROKER, "broker");
	story_switch(s, 42, 2, APP, "app", SLEEP, 0, "swapper/2");
	story_leave(s, 43, 0, "epoll_wait", 1);
	tell_call(s, 44, 0, "read", FROM_APP, 50);
	story_poll(s, 47, 0, "epoll_wait", 8, -1);
	story_switch(s, 48, 0, BROKER, "broker", SLEEP, 0, "swapper/0");
	tell_wake(s, variant);
	story_switch(s, 91, 1, 0, "swapper/1", RUN, WORKER, "worker");
	story_leave(s, 92, 1, variant == AGAIN ? "futex" : "nanosleep", 0);
	story_enter(s, 94, 1, "write", TO_BROKER);
	pass(s, 95, 1, WORKER_PORT, true, PSH_ACK, 100, 500, 30, BROKER);
	story_leave(s, 96, 1, "write", 30);
	story_switch(s, 96, 0, 0, "swapper/0", RUN, BROKER, "broker");
	story_leave(s, 97, 0, "epoll_wait", 1);
	tell_call(s, 98, 0, "read", FROM_WORKER, 30);
	story_enter(s, 101, 0, "write", FROM_APP);
	pass(s, 102, 0, APP_PORT, false, PSH_ACK, 500, 150, 20, variant == TOLD ? 0 : APP);
	story_leave(s, 103, 0, "write", 20);
	if (variant == TOLD) {
		story_futex(s, 104, 1, 1, 80);
		story_task(s, DTC_EVENT_SCHED_WAKING, 104, 1, APP, "app", 2);
		story_leave(s, 105, 1, "futex", 1);
	}
	story_switch(s, variant == TOLD ? 105 : 104, 2, 0, "swapper/2", RUN, APP, "app");
	story_leave(s, 106, 2, variant == TOLD ? "futex" : "read", variant == TOLD ? 0 : 20);
	if (variant == TOLD)
		tell_call(s, 107, 2, "read", TO_BROKER, 20);
	tell_answer(s);
}

/* The segment of X's path at a time. */
static struct dtc_segment walk_from(enum variant variant, int64_t begin, int64_t t)
{
	struct story s;
	tell(&s, variant);
	struct served_path w = served_path_begin(&s);
	if (variant == BY_OTHER)
		served_path_add(&w, APP, 32, Y, false);
	served_path_add(&w, APP, variant == BY_OTHER ? 35 : 29, X, false);
	served_path_add(&w, BROKER, 44, X, false);
	served_path_add(&w, BROKER, 101, X, true);
	served_path_add(&w, APP, ANSWERED, X, true);
	return served_path_at(&w, APP, begin, ANSWERED, t);
}

static struct dtc_segment walk(enum variant variant, int64_t t)
{
	return walk_from(variant, 26, t);
}

static void test_called(void)
{
	for (int64_t t = 44; t <= 88; t += 4) {
		struct dtc_segment at = walk(CALLED, t);
		g_assert_cmpint(at.tid, ==, WORKER);
		g_assert_cmpint(at.cause, ==, DTC_CAUSE_TIMER);
		g_assert_cmpint(at.link, ==, DTC_LINK_INFERRED);
	}
	g_assert_cmpint(walk(CALLED, 29).tid, ==, APP);
	/* so it is, too, for what began later, and waits for that */
	g_assert_cmpint(walk_from(CALLED, 42, 46).tid, ==, WORKER);
	g_assert_cmpint(walk(LOCKED, 46).tid, ==, WORKER);
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

/* What the worker waits for there comes later: that it had been called for X before that is no reason. */
static void test_again(void)
{
	g_assert_cmpint(walk(AGAIN, 80).tid, ==, HOLDER);
	g_assert_cmpint(walk(AGAIN, 46).tid, ==, BROKER);
	g_assert_cmpint(walk(AGAIN, 37).tid, ==, APP);
}

/* What the broker told X's thread, while that slept, is nearer than what the one does that woke it afterwards. */
static void test_told(void)
{
	g_assert_cmpint(walk(TOLD, 103).tid, ==, WORKER);
	g_assert_cmpint(walk(TOLD, 101).tid, ==, BROKER);
}

#define KWORKER 26

/* A disk request of X's thread, of which a kernel worker tells it when that was done. */
static void tell_sync(struct story *s, int64_t t, int64_t done, uint64_t sector)
{
	story_enter(s, t, 2, "fsync", 12);
	story_block(s, DTC_EVENT_BLOCK_INSERT, t + 1, 2, sector, 8);
	story_block(s, DTC_EVENT_BLOCK_ISSUE, t + 1, 2, sector, 8);
	story_switch(s, t + 3, 2, APP, "app", 2, 0, "swapper/2");
	story_context(s, DTC_EVENT_IRQ_ENTRY, done, 1, 11, "vda");
	story_block(s, DTC_EVENT_BLOCK_COMPLETE, done, 1, sector, 8);
	story_work(s, DTC_EVENT_WORK_QUEUE, done, 1, 0x1000);
	story_task(s, DTC_EVENT_SCHED_WAKING, done, 1, KWORKER, "kworker/1:0", 1);
	story_context(s, DTC_EVENT_IRQ_EXIT, done, 1, 11, "vda");
	story_switch(s, done + 1, 1, 0, "swapper/1", RUN, KWORKER, "kworker/1:0");
	story_work(s, DTC_EVENT_WORK_START, done + 1, 1, 0x1000);
	story_task(s, DTC_EVENT_SCHED_WAKING, done + 2, 1, APP, "app", 2);
	story_work(s, DTC_EVENT_WORK_END, done + 2, 1, 0x1000);
	story_switch(s, done + 3, 1, KWORKER, "kworker/1:0", SLEEP, 0, "swapper/1");
	story_switch(s, done + 4, 2, 0, "swapper/2", RUN, APP, "app");
	story_leave(s, done + 5, 2, "fsync", 0);
}

/* X's thread waits for what it had asked the disk for: the way comes back to itself, and nothing is in doubt. */
static void test_disk(void)
{
	for (int64_t t = 31; t < ANSWERED; t += 4) {
		struct story s;
		begin(&s);
		story_switch(&s, 26, 1, WORKER, "worker", SLEEP, KWORKER, "kworker/1:0");
		story_switch(&s, 27, 1, KWORKER, "kworker/1:0", SLEEP, 0, "swapper/1");
		tell_question(&s);
		tell_call(&s, 29, 2, "read", QUESTION, 50);
		tell_sync(&s, 32, 60, 100);
		tell_sync(&s, 67, 100, 200);
		tell_answer(&s);
		struct served_path w = served_path_begin(&s);
		served_path_add(&w, APP, 29, X, false);
		served_path_add(&w, APP, ANSWERED, X, true);
		g_assert_cmpint(served_path_at(&w, APP, 29, ANSWERED, t).link, ==, DTC_LINK_EXACT);
	}
}

/* Who asked the broker lets it go on later: it had not called the broker before it asked. */
static void test_client(void)
{
	struct story s;
	begin(&s);
	tell_question(&s);
	tell_call(&s, 29, 2, "read", QUESTION, 50);
	story_enter(&s, 38, 2, "write", TO_BROKER);
	pass(&s, 39, 2, APP_PORT, true, PSH_ACK, 100, 500, 50, BROKER);
	story_leave(&s, 40, 2, "write", 50);
	story_switch(&s, 42, 0, 0, "swapper/0", RUN, BROKER, "broker");
	story_leave(&s, 43, 0, "epoll_wait", 1);
	tell_call(&s, 44, 0, "read", FROM_APP, 50);
	story_futex(&s, 47, 0, 0, 90);
	story_switch(&s, 48, 0, BROKER, "broker", SLEEP, 0, "swapper/0");
	story_futex(&s, 60, 2, 1, 90);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 60, 2, BROKER, "broker", 0);
	story_leave(&s, 61, 2, "futex", 1);
	story_enter(&s, 62, 2, "read", TO_BROKER);
	story_switch(&s, 63, 2, APP, "app", SLEEP, 0, "swapper/2");
	story_switch(&s, 64, 0, 0, "swapper/0", RUN, BROKER, "broker");
	story_leave(&s, 65, 0, "futex", 0);
	story_enter(&s, 101, 0, "write", FROM_APP);
	pass(&s, 102, 0, APP_PORT, false, PSH_ACK, 500, 150, 20, APP);
	story_leave(&s, 103, 0, "write", 20);
	story_switch(&s, 104, 2, 0, "swapper/2", RUN, APP, "app");
	story_leave(&s, 106, 2, "read", 20);
	tell_answer(&s);
	struct served_path w = served_path_begin(&s);
	served_path_add(&w, APP, 29, X, false);
	served_path_add(&w, BROKER, 44, X, false);
	served_path_add(&w, BROKER, 101, X, true);
	served_path_add(&w, APP, ANSWERED, X, true);
	g_assert_cmpint(served_path_at(&w, APP, 26, ANSWERED, 45).tid, ==, BROKER);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/branch/called", test_called);
	g_test_add_func("/branch/others", test_others);
	g_test_add_func("/branch/again", test_again);
	g_test_add_func("/branch/told", test_told);
	g_test_add_func("/branch/disk", test_disk);
	g_test_add_func("/branch/client", test_client);
	return g_test_run();
}
