/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A runtime that schedules by itself: 20 reads X's question and asks a database, 22 takes what that answers, and wakes
 * 24, which writes X's answer. 24 had served Y before, and slept in the pool since 60: none of that is X's.
 *
 *   20  30 question 34 reads 36 asks 40 polls
 *   22  45 polls  100 database 104 reads 106 wakes 24  110 polls
 *   24  52 reads Y's question  60 sleeps  107 goes on  155 answers
 */
#include "tests/support/served_path.h"

#define RUN 0
#define SLEEP 1
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define DATABASE 0x0a000003u
#define DATABASE_PORT 3306
#define READER 20
#define TAKER 22
#define WRITER 24
#define TICKER 25
#define QUESTIONS 4
#define ASKED 5
#define OTHERS 7 /* another client's */
#define ANSWERED 155
#define X 0
#define Y 1
#define FUTEX_WAIT 0

/*
 * FOR_Y: what 22 took is Y's; AT_WORK: 24 was at X when it did; BY_TIMER: what woke 24 was its own timer; DONE: nobody
 * is asked, 20 wakes 22 for a piece of the work at 36, and that wakes 24 when it is done; LEFT: it is 24 that wakes
 * 22, at work for X, and sleeps in the middle of that; TICKS: 22 wakes 25, which looks every so often, and wakes 24.
 */
enum variant { SLEPT, AT_Y, FOR_Y, AT_WORK, BY_TIMER, TICKS, DONE, LEFT };

static void tell_call(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, result);
}

static void write_packet(struct story *s, int64_t t, uint32_t cpu, int64_t fd, const struct dtc_headers *packet)
{
	story_enter(s, t, cpu, "write", fd);
	story_packet(s, DTC_EVENT_NET_SEND, t + 1, cpu, packet);
	story_leave(s, t + 2, cpu, "write", packet->payload_bytes);
}

static void go_to_poll(struct story *s, int64_t t, uint32_t cpu, int tid)
{
	story_poll(s, t, cpu, "epoll_wait", 6, -1);
	story_switch(s, t + 1, cpu, tid, "go", SLEEP, 0, "swapper");
}

static void receive(struct story *s, int64_t t, uint32_t cpu, int tid, const struct dtc_headers *packet)
{
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t - 1, cpu, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, cpu, packet);
	story_task(s, DTC_EVENT_SCHED_WAKING, t + 1, cpu, tid, "go", (int)cpu);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 1, cpu, 3, NULL);
	story_switch(s, t + 2, cpu, 0, "swapper", RUN, tid, "go");
	story_leave(s, t + 3, cpu, "epoll_wait", 1);
}

static void wake_pool(struct story *s, int64_t t, uint32_t cpu)
{
	story_task(s, DTC_EVENT_SCHED_WAKING, t, cpu, TAKER, "go", 1);
	story_switch(s, t + 1, 1, 0, "swapper/1", RUN, TAKER, "go");
	story_leave(s, t + 2, 1, "futex", 0);
}

static void begin_nap(struct story *s, int64_t t)
{
	story_enter(s, t, 3, "nanosleep", -1);
	story_switch(s, t + 1, 3, TICKER, "go", SLEEP, 0, "swapper/3");
}

static void end_nap(struct story *s, int64_t t)
{
	story_timer_wakes(s, t - 1, t, 3, TICKER, "go");
	story_switch(s, t + 1, 3, 0, "swapper/3", RUN, TICKER, "go");
	story_leave(s, t + 2, 3, "nanosleep", 0);
}

static void call_off_ticks(struct story *s)
{
	end_nap(s, 66);
	story_futex(s, 69, 3, FUTEX_WAIT, 128);
	story_switch(s, 70, 3, TICKER, "go", SLEEP, 0, "swapper/3");
}

/* 22 wakes it at 106, and it wakes 24 at 106 + 22. */
static void tell_ticks(struct story *s)
{
	story_task(s, DTC_EVENT_SCHED_WAKING, 106, 1, TICKER, "go", 3);
	story_switch(s, 107, 3, 0, "swapper/3", RUN, TICKER, "go");
	story_leave(s, 108, 3, "futex", 0);
	go_to_poll(s, 109, 1, TAKER);
	begin_nap(s, 110);
	end_nap(s, 115);
	begin_nap(s, 119);
	end_nap(s, 124);
	story_task(s, DTC_EVENT_SCHED_WAKING, 128, 3, WRITER, "go", 2);
	story_switch(s, 130, 2, 0, "swapper/2", RUN, WRITER, "go");
	story_leave(s, 131, 2, "futex", 0);
	story_switch(s, 132, 3, TICKER, "go", SLEEP, 0, "swapper/3");
}

static void tell(struct story *s, enum variant variant)
{
	struct dtc_headers question = story_headers(CLIENT, 60000, SERVER, 80, 1000, 500, 0x18, 50, 1);
	struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 60000, 500, 1050, 0x18, 60, 2);
	struct dtc_headers other = story_headers(CLIENT, 60001, SERVER, 80, 2000, 900, 0x18, 50, 3);
	struct dtc_headers syn = story_headers(SERVER, 50000, DATABASE, DATABASE_PORT, 699, 0, DTC_TCP_SYN, 0, 4);
	struct dtc_headers asked = story_headers(SERVER, 50000, DATABASE, DATABASE_PORT, 700, 300, 0x18, 20, 5);
	struct dtc_headers told = story_headers(DATABASE, DATABASE_PORT, SERVER, 50000, 300, 720, 0x18, 30, 6);
	story_begin(s, "server");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, READER, "go");
	story_fork(s, 1, 0, READER, READER, TAKER, READER, "go");
	story_fork(s, 2, 0, READER, READER, WRITER, READER, "go");
	story_switch(s, 4, 1, 0, "swapper/1", RUN, TAKER, "go");
	story_switch(s, 5, 2, 0, "swapper/2", RUN, WRITER, "go");
	story_fork(s, 6, 0, READER, READER, TICKER, READER, "go");
	story_switch(s, 7, 3, 0, "swapper/3", RUN, TICKER, "go");
	begin_nap(s, 7);
	tell_call(s, 9, 0, "accept4", 3, QUESTIONS);
	story_enter(s, 11, 0, "connect", ASKED);
	story_packet(s, DTC_EVENT_NET_SEND, 12, 0, &syn);
	story_leave(s, 13, 0, "connect", 0);
	tell_call(s, 15, 0, "accept4", 3, OTHERS);
	if (variant >= DONE) {
		story_futex(s, 16, 1, FUTEX_WAIT, 96);
		story_switch(s, 17, 1, TAKER, "go", SLEEP, 0, "swapper/1");
	}
	go_to_poll(s, 20, 0, READER);
	go_to_poll(s, 22, 2, WRITER);
	receive(s, 30, 0, READER, &question);
	tell_call(s, 34, 0, "read", QUESTIONS, 50);
	if (variant == DONE)
		wake_pool(s, 36, 0);
	else if (variant != LEFT)
		write_packet(s, 36, 0, ASKED, &asked);
	go_to_poll(s, 40, 0, READER);
	if (variant < DONE)
		go_to_poll(s, 45, 1, TAKER);
	receive(s, 48, 2, WRITER, &other);
	tell_call(s, 52, 2, "read", OTHERS, 50);
	if (variant == LEFT)
		wake_pool(s, 54, 2);
	bool sleeps = variant != AT_Y && variant != AT_WORK;
	if (sleeps) {
		story_futex(s, 59, 2, FUTEX_WAIT, 64);
		story_switch(s, 60, 2, WRITER, "go", SLEEP, 0, "swapper/2");
	}
	if (variant == TICKS)
		call_off_ticks(s);
	if (variant < DONE) {
		receive(s, 100, 1, TAKER, &told);
		tell_call(s, 104, 1, "read", ASKED, 30);
	}
	if (variant == TICKS)
		tell_ticks(s);
	else if (sleeps && variant != BY_TIMER)
		story_task(s, DTC_EVENT_SCHED_WAKING, 106, 1, WRITER, "go", 2);
	if (variant == BY_TIMER)
		story_timer_wakes(s, 105, 106, 2, WRITER, "go");
	if (sleeps && variant != TICKS) {
		story_switch(s, 109, 2, 0, "swapper/2", RUN, WRITER, "go");
		story_leave(s, 110, 2, "futex", 0);
	}
	if (variant >= DONE) {
		story_futex(s, 112, 1, FUTEX_WAIT, 96);
		story_switch(s, 113, 1, TAKER, "go", SLEEP, 0, "swapper/1");
	} else if (variant != TICKS) {
		go_to_poll(s, 112, 1, TAKER);
	}
	write_packet(s, ANSWERED, 2, QUESTIONS, &answer);
	story_switch(s, 160, 2, WRITER, "go", SLEEP, 0, "swapper/2");
	story_end(s);
}

/* The segment of X's path at a time. */
static struct dtc_segment walk(enum variant variant, int64_t t)
{
	struct story s;
	tell(&s, variant);
	struct served_path w = served_path_begin(&s);
	served_path_add(&w, READER, 34, X, false);
	if (variant < DONE) {
		served_path_add(&w, READER, 36, variant == FOR_Y ? Y : X, false);
		served_path_add(&w, TAKER, 104, variant == FOR_Y ? Y : X, false);
	}
	served_path_add(&w, WRITER, 52, variant == AT_WORK || variant == LEFT ? X : Y, false);
	served_path_add(&w, WRITER, ANSWERED, X, true);
	return served_path_at(&w, WRITER, 34, ANSWERED, t);
}

/* The database's time is why, though the thread that answers had begun to sleep in the middle of it, or was at Y. */
static void test_taken(void)
{
	for (int64_t t = 40; t <= 95; t += 5) {
		g_assert_cmpint(walk(SLEPT, t).evidence.reason, ==, DTC_REASON_UNTRACED_PEER);
		g_assert_cmpint(walk(AT_Y, t).evidence.reason, ==, DTC_REASON_UNTRACED_PEER);
		g_assert_cmpint(walk(TICKS, t).evidence.reason, ==, DTC_REASON_UNTRACED_PEER);
	}
	g_assert_cmpint(walk(SLEPT, 105).tid, ==, TAKER);
	g_assert_cmpint(walk(SLEPT, 105).link, ==, DTC_LINK_INFERRED);
}

/* The same of a piece of the work, from when the thread was woken for it. */
static void test_done(void)
{
	for (int64_t t = 45; t <= 105; t += 5)
		g_assert_cmpint(walk(DONE, t).tid, ==, TAKER);
	g_assert_cmpint(walk(DONE, 35).tid, ==, READER);
}

/* What was taken for another request is not why, nor is it for who was at work for this one, or slept until a time. */
static void test_not_taken(void)
{
	g_assert_cmpint(walk(FOR_Y, 55).tid, ==, WRITER);
	g_assert_cmpint(walk(AT_WORK, 70).cause, ==, DTC_CAUSE_RUNNING_USER);
	g_assert_cmpint(walk(BY_TIMER, 70).cause, ==, DTC_CAUSE_TIMER);
	g_assert_cmpint(walk(LEFT, 58).tid, ==, WRITER);
	g_assert_cmpint(walk(LEFT, 70).tid, ==, TAKER);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/taken/taken", test_taken);
	g_test_add_func("/taken/done", test_done);
	g_test_add_func("/taken/not_taken", test_not_taken);
	return g_test_run();
}
