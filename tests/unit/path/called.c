/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread that serves several requests: 20 reads X's question, calls 22 for it, waits, serves Y in between, lies idle,
 * and answers X when 22 calls it. 22 had slept all the while.
 *
 *   20  30 X's question 34 reads 36 calls 22  40 waits  50 Y's question 54 reads 70 answers  74 waits  108 answers X
 *   22  38 sleeps  100 calls 20
 */
#include "tests/support/served_path.h"

#define RUN 0
#define SLEEP 1
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define DATABASE 0x0a000003u
#define LOOP 20
#define CALLED 22
#define OURS 4
#define OTHERS 7
#define ASKED 9
#define ANSWERED 108
#define FUTEX_WAIT 0
#define X 0
#define Y 1

/*
 * HELD: 22 sleeps since before, called by nobody: it holds what X wants, as far as is known. WORKS: 22 computes. DUE:
 * so it does, and instead of Y a timer, whose interrupt 22 bears, ends 20's poll. The others have no Y for 20, which is
 * called by others twice instead, for little: IDLE; MADE: 20 makes 22, and does not call it; CALLING: 22 computes, in
 * and out of the kernel two thousand times after 98, and all the rest is later; BUSY: it runs from the first time on;
 * TWICE: 22 calls it instead, at 70; FOR_Y: 22 had worked for Y; ASKS: 20 asks somebody for X.
 */
enum variant { CALLS, HELD, WORKS, DUE, IDLE, MADE, CALLING, BUSY, TWICE, FOR_Y, ASKS };

static void tell_call(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, result);
}

static void sleep_on(struct story *s, int64_t t, uint32_t cpu, int tid, int64_t lock)
{
	story_futex(s, t, cpu, FUTEX_WAIT, lock);
	story_switch(s, t + 1, cpu, tid, "app", SLEEP, 0, "swapper");
}

static void go_on(struct story *s, int64_t t, uint32_t cpu, int tid, const char *call, int64_t result)
{
	story_switch(s, t, cpu, 0, "swapper", RUN, tid, "app");
	story_leave(s, t + 1, cpu, call, result);
}

static void wake(struct story *s, int64_t t, uint32_t cpu, int tid, int to_cpu)
{
	story_task(s, DTC_EVENT_SCHED_WAKING, t, cpu, tid, "app", to_cpu);
}

static void receive(struct story *s, int64_t t, const struct dtc_headers *packet)
{
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t - 1, 0, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, 0, packet);
	wake(s, t + 1, 0, LOOP, 0);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 1, 0, 3, NULL);
}

static void answer(struct story *s, int64_t t, int64_t fd, uint16_t port)
{
	struct dtc_headers packet = story_headers(SERVER, 80, CLIENT, port, 500, 1050, 0x18, 60, (uint16_t)t);
	story_enter(s, t, 0, "write", fd);
	story_packet(s, DTC_EVENT_NET_SEND, t + 1, 0, &packet);
	story_leave(s, t + 2, 0, "write", 60);
}

static bool computes(enum variant variant)
{
	return variant == WORKS || variant == CALLING || variant == DUE;
}

static void begin(struct story *s, enum variant variant)
{
	struct dtc_headers question = story_headers(CLIENT, 60000, SERVER, 80, 1000, 500, 0x18, 50, 1);
	story_begin(s, "server");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, LOOP, "app");
	if (variant != MADE) {
		story_fork(s, 1, 0, LOOP, LOOP, CALLED, LOOP, "app");
		story_switch(s, 2, 1, 0, "swapper/1", RUN, CALLED, "app");
	}
	tell_call(s, 4, 0, "accept4", 3, OURS);
	tell_call(s, 6, 0, "accept4", 3, OTHERS);
	struct dtc_headers syn = story_headers(SERVER, 50000, DATABASE, 3306, 699, 0, DTC_TCP_SYN, 0, 5);
	story_enter(s, 11, 0, "connect", ASKED);
	story_packet(s, DTC_EVENT_NET_SEND, 12, 0, &syn);
	story_leave(s, 13, 0, "connect", 0);
	if (variant == HELD) {
		story_enter(s, 8, 1, "nanosleep", -1);
		story_switch(s, 9, 1, CALLED, "app", SLEEP, 0, "swapper/1");
	} else if (variant != MADE) {
		sleep_on(s, 8, 1, CALLED, 64);
	}
	story_poll(s, 20, 0, "epoll_wait", 6, -1);
	story_switch(s, 21, 0, LOOP, "app", SLEEP, 0, "swapper/0");
	receive(s, 30, &question);
	go_on(s, 32, 0, LOOP, "epoll_wait", 1);
	tell_call(s, 34, 0, "read", OURS, 50);
	if (variant == MADE) {
		story_fork(s, 36, 0, LOOP, LOOP, CALLED, LOOP, "app");
		story_switch(s, 37, 1, 0, "swapper/1", RUN, CALLED, "app");
	} else if (variant != HELD) {
		wake(s, 36, 0, CALLED, 1);
		go_on(s, 37, 1, CALLED, "futex", 0);
	}
	if (variant != HELD && !computes(variant)) {
		story_enter(s, 38, 1, "nanosleep", -1);
		story_switch(s, 39, 1, CALLED, "app", SLEEP, 0, "swapper/1");
	}
}

/* From 40 to 74, when 20 waits for the last time. */
static void let_lie(struct story *s, enum variant variant)
{
	struct dtc_headers other = story_headers(CLIENT, 60001, SERVER, 80, 2000, 900, 0x18, 50, 2);
	struct dtc_headers asked = story_headers(SERVER, 50000, DATABASE, 3306, 700, 300, 0x18, 20, 6);
	if (variant == DUE) {
		story_poll(s, 40, 0, "epoll_wait", 6, -1);
		story_switch(s, 41, 0, LOOP, "app", SLEEP, 0, "swapper/0");
		story_timer_wakes(s, 70, 71, 1, LOOP, "app");
		go_on(s, 72, 0, LOOP, "epoll_wait", 0);
		sleep_on(s, 74, 0, LOOP, 96);
		return;
	}
	sleep_on(s, 40, 0, LOOP, 96);
	if (variant < IDLE) {
		receive(s, 50, &other);
		go_on(s, 52, 0, LOOP, "futex", 0);
		tell_call(s, 54, 0, "read", OTHERS, 50);
		answer(s, 70, OTHERS, 60001);
		sleep_on(s, 74, 0, LOOP, 96);
		return;
	}
	if (variant != TWICE) {
		wake(s, 42, 2, LOOP, 0);
		go_on(s, 43, 0, LOOP, "futex", 0);
	}
	if (variant == ASKS) {
		story_enter(s, 44, 0, "write", ASKED);
		story_packet(s, DTC_EVENT_NET_SEND, 45, 0, &asked);
		story_leave(s, 46, 0, "write", 20);
	}
	if (variant != TWICE && variant != BUSY)
		sleep_on(s, 47, 0, LOOP, 96);
	if (variant == FOR_Y || variant == TWICE) {
		story_timer_wakes(s, 51, 52, 1, CALLED, "app");
		go_on(s, 53, 1, CALLED, "nanosleep", 0);
		if (variant == FOR_Y)
			tell_call(s, 55, 1, "write", OTHERS, 1);
	}
	if (variant != BUSY) {
		wake(s, 70, variant == TWICE ? 1 : 2, LOOP, 0);
		go_on(s, 71, 0, LOOP, "futex", 0);
	}
	if (variant == FOR_Y || variant == TWICE) {
		story_enter(s, 72, 1, "nanosleep", -1);
		story_switch(s, 73, 1, CALLED, "app", SLEEP, 0, "swapper/1");
	}
	sleep_on(s, 74, 0, LOOP, 96);
}

/* So much later is what comes after 98. */
static int64_t get_late(enum variant variant)
{
	return variant == CALLING ? 10000 : 0;
}

static void tell(struct story *s, enum variant variant)
{
	int64_t late = get_late(variant);
	begin(s, variant);
	let_lie(s, variant);
	if (!computes(variant)) {
		story_timer_wakes(s, 97, 98, 1, CALLED, "app");
		go_on(s, 99, 1, CALLED, "nanosleep", 0);
	}
	for (int64_t t = 100; t < 100 + late - 1000; t += 4)
		tell_call(s, t, 1, "getppid", -1, 1);
	story_futex(s, late + 101, 1, 1, 96);
	wake(s, late + 102, 1, LOOP, 0);
	story_leave(s, late + 103, 1, "futex", 1);
	go_on(s, late + 104, 0, LOOP, "futex", 0);
	answer(s, late + ANSWERED, OURS, 60000);
	story_switch(s, late + 120, 0, LOOP, "app", SLEEP, 0, "swapper/0");
	story_end(s);
}

/* The segment of X's path at a time. */
static struct dtc_segment walk(enum variant variant, int64_t t)
{
	struct story s;
	tell(&s, variant);
	struct served_path w = served_path_begin(&s);
	served_path_add(&w, LOOP, 34, X, false);
	if (variant == ASKS)
		served_path_add(&w, LOOP, 45, X, false);
	if (variant < DUE) {
		served_path_add(&w, LOOP, 54, Y, false);
		served_path_add(&w, LOOP, 70, Y, true);
	}
	if (variant == FOR_Y)
		served_path_add(&w, CALLED, 55, Y, false);
	int64_t end = get_late(variant) + ANSWERED;
	served_path_add(&w, LOOP, end, X, true);
	return served_path_at(&w, LOOP, 34, end, t);
}

static void test_called(void)
{
	for (int64_t t = 42; t <= 95; t += 4) {
		struct dtc_segment at = walk(CALLS, t);
		g_assert_cmpint(at.tid, ==, CALLED);
		g_assert_cmpint(at.cause, ==, DTC_CAUSE_TIMER);
		g_assert_cmpint(at.link, ==, DTC_LINK_INFERRED);
		g_assert_cmpint(walk(IDLE, t).tid, ==, CALLED);
		g_assert_cmpint(walk(MADE, t).tid, ==, CALLED);
		g_assert_cmpint(walk(DUE, t).tid, ==, CALLED);
		g_assert_cmpint(walk(WORKS, t).tid, ==, CALLED);
		g_assert_cmpint(walk(CALLING, t).tid, ==, CALLED);
		g_assert_cmpint(walk(WORKS, t).cause, ==, DTC_CAUSE_RUNNING_USER);
	}
	g_assert_cmpint(walk(CALLS, 35).tid, ==, LOOP);
	g_assert_cmpint(walk(CALLING, 38).tid, ==, CALLED);
}

/* Whoever calls it at last has been why since the request lay still, if 20 was at another one in between. */
static void test_held(void)
{
	for (int64_t t = 44; t <= 95; t += 4) {
		g_assert_cmpint(walk(HELD, t).tid, ==, CALLED);
		g_assert_cmpint(walk(HELD, t).cause, ==, DTC_CAUSE_TIMER);
	}
	g_assert_cmpint(walk(HELD, 35).tid, ==, LOOP);
}

/* What 20 did was for X, or may have been; or 22 was at another request; or others were asked for X. */
static void test_not(void)
{
	for (enum variant variant = BUSY; variant <= ASKS; variant++)
		g_assert_cmpint(walk(variant, variant == TWICE ? 72 : 46).tid, ==, LOOP);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/called/called", test_called);
	g_test_add_func("/called/held", test_held);
	g_test_add_func("/called/not", test_not);
	return g_test_run();
}
