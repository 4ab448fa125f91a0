/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A runtime that schedules by itself: 20 reads X's question, 22 answers it. What X waited for in between is memory.
 * Meanwhile 22 reads what a database answered for somebody else, and sleeps in a poll until a timer is due.
 *
 *   20  30 question 34 reads   40 polls        22  45 polls  100 database 104 reads  110 polls  150 timer  155 answers
 *
 * Or it asks two at once, and one of them with an id of X's: see tell_beside. Or 21, which sleeps and looks again and
 * again, wakes 22: see tell_ticks.
 */
#include "tests/support/served_path.h"

#define RUN 0
#define SLEEP 1
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define DATABASE 0x0a000003u
#define READER 20
#define TICKER 21
#define WRITER 22
#define BURNER 23
#define QUESTIONS 4
#define ASKED 5
#define BACK_END 8
#define OTHERS 7 /* another client's */
#define ANSWERED 155
#define X 0

/*
 * TIMERFD: 22's poll has no timeout, and tells of an event, which is a timer's. ONCE: 21 slept only once since 22
 * waits; CALLED: 20 woke it in between.
 */
enum variant { IDLE, ASKS, BURNS, BURNS_FOR_ANOTHER, WOKEN, BESIDE, ONE_LOOP, TIMERFD, TICKS, ONCE, CALLED };

static void tell_call(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, result);
}

static void go_to_sleep(struct story *s, int64_t t, uint32_t cpu, int tid, int64_t timeout)
{
	story_poll(s, t, cpu, "epoll_wait", 6, timeout);
	story_switch(s, t + 1, cpu, tid, "go", SLEEP, 0, "swapper");
}

static void wake_up(struct story *s, int64_t t, uint32_t cpu, int tid, int64_t result)
{
	story_switch(s, t, cpu, 0, "swapper", RUN, tid, "go");
	story_leave(s, t + 1, cpu, "epoll_wait", result);
}

static void receive(struct story *s, int64_t t, uint32_t cpu, int tid, const struct dtc_headers *packet)
{
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t - 1, cpu, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, cpu, packet);
	story_task(s, DTC_EVENT_SCHED_WAKING, t + 1, cpu, tid, "go", (int)cpu);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 1, cpu, 3, NULL);
}

static void nap(struct story *s, int64_t from, int64_t to, bool is_called)
{
	story_enter(s, from, 2, "nanosleep", -1);
	story_switch(s, from + 1, 2, TICKER, "go", SLEEP, 0, "swapper/2");
	if (is_called) {
		story_task(s, DTC_EVENT_SCHED_WAKING, to, 0, TICKER, "go", 2);
	} else {
		story_context(s, DTC_EVENT_HRTIMER_ENTRY, to, 2, 1, NULL);
		story_task(s, DTC_EVENT_SCHED_WAKING, to, 2, TICKER, "go", 2);
		story_context(s, DTC_EVENT_HRTIMER_EXIT, to, 2, 1, NULL);
	}
	story_switch(s, to + 1, 2, 0, "swapper/2", RUN, TICKER, "go");
	story_leave(s, to + 2, 2, "nanosleep", 0);
}

/* 22 waits from 111 on, and 21 finds at 147 that there is something for it. */
static void tell_ticks(struct story *s, enum variant variant)
{
	story_switch(s, 84, 2, 0, "swapper/2", RUN, TICKER, "go");
	if (variant == CALLED)
		story_switch(s, 86, 0, 0, "swapper/0", RUN, READER, "go");
	story_futex(s, 110, 1, 128, 0x1000);
	story_switch(s, 111, 1, WRITER, "go", SLEEP, 0, "swapper/1");
	nap(s, 112, 122, variant == CALLED);
	if (variant != ONCE)
		nap(s, 126, 142, false);
	story_futex(s, 147, 2, 129, 0x1000);
	story_task(s, DTC_EVENT_SCHED_WAKING, 148, 2, WRITER, "go", 1);
	story_leave(s, 149, 2, "futex", 1);
	story_switch(s, 150, 1, 0, "swapper/1", RUN, WRITER, "go");
	story_leave(s, 151, 1, "futex", 0);
}

static void tell(struct story *s, enum variant variant)
{
	struct dtc_headers question = story_headers(CLIENT, 60000, SERVER, 80, 1000, 500, 0x18, 50, 1);
	struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 60000, 500, 1050, 0x18, 60, 2);
	struct dtc_headers other_answer = story_headers(SERVER, 80, CLIENT, 60001, 900, 2050, 0x18, 60, 6);
	struct dtc_headers asked = story_headers(SERVER, 50000, DATABASE, 3306, 700, 300, 0x18, 20, 3);
	struct dtc_headers told = story_headers(DATABASE, 3306, SERVER, 50000, 300, 720, 0x18, 30, 4);
	story_begin(s, "server");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, READER, "go");
	for (int tid = 21; tid <= BURNER; tid++)
		story_fork(s, 1, 0, READER, READER, tid, READER, "go");
	story_switch(s, 4, 1, 0, "swapper/1", RUN, WRITER, "go");
	tell_call(s, 9, 0, "accept4", 3, QUESTIONS);
	story_enter(s, 11, 0, "connect", ASKED);
	struct dtc_headers syn = story_headers(SERVER, 50000, DATABASE, 3306, 699, 0, DTC_TCP_SYN, 0, 5);
	story_packet(s, DTC_EVENT_NET_SEND, 12, 0, &syn);
	story_leave(s, 13, 0, "connect", 0);
	if (variant == BURNS_FOR_ANOTHER)
		tell_call(s, 15, 0, "accept4", 3, OTHERS);
	go_to_sleep(s, 20, 0, READER, -1);
	receive(s, 30, 0, READER, &question);
	wake_up(s, 32, 0, READER, 1);
	tell_call(s, 34, 0, "read", QUESTIONS, 50);
	story_enter(s, 36, 0, "write", ASKED);
	story_packet(s, DTC_EVENT_NET_SEND, 37, 0, &asked);
	story_leave(s, 38, 0, "write", 20);
	go_to_sleep(s, 40, 0, READER, -1);
	if (variant == BURNS || variant == BURNS_FOR_ANOTHER) {
		story_switch(s, 42, 2, 0, "swapper/2", RUN, BURNER, "go");
		tell_call(s, 43, 2, "sched_yield", -1, 0);
	}
	go_to_sleep(s, 45, 1, WRITER, -1);
	receive(s, 100, 1, WRITER, &told);
	wake_up(s, 102, 1, WRITER, 1);
	tell_call(s, 104, 1, "read", ASKED, 30);
	if (variant == TICKS || variant == ONCE || variant == CALLED) {
		tell_ticks(s, variant);
	} else if (variant != WOKEN) {
		go_to_sleep(s, 110, 1, WRITER, variant == TIMERFD ? -1 : 40);
		story_context(s, DTC_EVENT_HRTIMER_ENTRY, 149, 1, 1, NULL);
		story_task(s, DTC_EVENT_SCHED_WAKING, 149, 1, WRITER, "go", 1);
		story_context(s, DTC_EVENT_HRTIMER_EXIT, 150, 1, 1, NULL);
		wake_up(s, 151, 1, WRITER, variant == TIMERFD);
	}
	story_enter(s, ANSWERED, 1, "write", QUESTIONS);
	story_packet(s, DTC_EVENT_NET_SEND, ANSWERED + 1, 1, &answer);
	story_leave(s, ANSWERED + 2, 1, "write", 60);
	if (variant == BURNS_FOR_ANOTHER) {
		tell_call(s, 157, 2, "getpid", -1, 20); /* it went on after X's timer was due */
		story_enter(s, 158, 2, "write", OTHERS);
		story_packet(s, DTC_EVENT_NET_SEND, 158, 2, &other_answer);
		story_leave(s, 159, 2, "write", 60);
	}
	if (variant == BURNS || variant == BURNS_FOR_ANOTHER)
		story_switch(s, 159, 2, BURNER, "go", SLEEP, 0, "swapper/2");
	story_switch(s, 160, 1, WRITER, "go", SLEEP, 0, "swapper/1");
	story_end(s);
}

static void open_connection(struct story *s, int64_t t, int fd, uint16_t port, uint16_t to, uint32_t isn)
{
	struct dtc_headers syn = story_headers(SERVER, port, DATABASE, to, isn, 0, DTC_TCP_SYN, 0, 5);
	story_enter(s, t, 0, "connect", fd);
	story_packet(s, DTC_EVENT_NET_SEND, t + 1, 0, &syn);
	story_leave(s, t + 2, 0, "connect", 0);
}

static void ask(struct story *s, int64_t t, uint32_t cpu, int fd, const struct dtc_headers *packet)
{
	story_enter(s, t, cpu, "write", fd);
	story_packet(s, DTC_EVENT_NET_SEND, t + 1, cpu, packet);
	story_leave(s, t + 2, cpu, "write", 20);
}

/*
 *   20  30 question 34 reads  60 polls
 *   22  36 asks a database  40 asks a back end  45 polls  70 back end 74 reads  80 polls  140 database 144 reads  155
 * answers
 *
 * ONE_LOOP: 22 reads the question, too.
 */
static void tell_beside(struct story *s, bool is_loop)
{
	struct dtc_headers question = story_headers(CLIENT, 60000, SERVER, 80, 1000, 500, 0x18, 50, 1);
	struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 60000, 500, 1050, 0x18, 60, 2);
	struct dtc_headers asked = story_headers(SERVER, 50000, DATABASE, 3306, 700, 300, 0x18, 20, 3);
	struct dtc_headers told = story_headers(DATABASE, 3306, SERVER, 50000, 300, 720, 0x18, 30, 4);
	struct dtc_headers asked_back = story_headers(SERVER, 50001, DATABASE, 81, 1700, 300, 0x18, 20, 6);
	struct dtc_headers told_back = story_headers(DATABASE, 81, SERVER, 50001, 300, 1720, 0x18, 30, 7);
	uint32_t reading_cpu = is_loop ? 1 : 0;
	int reader = is_loop ? WRITER : READER;
	story_begin(s, "server");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, READER, "go");
	for (int tid = 21; tid <= BURNER; tid++)
		story_fork(s, 1, 0, READER, READER, tid, READER, "go");
	story_switch(s, 4, 1, 0, "swapper/1", RUN, WRITER, "go");
	tell_call(s, 9, 0, "accept4", 3, QUESTIONS);
	open_connection(s, 11, ASKED, 50000, 3306, 699);
	open_connection(s, 15, BACK_END, 50001, 81, 1699);
	go_to_sleep(s, 20, reading_cpu, reader, -1);
	receive(s, 30, reading_cpu, reader, &question);
	wake_up(s, 32, reading_cpu, reader, 1);
	tell_call(s, 34, reading_cpu, "read", QUESTIONS, 50);
	ask(s, 36, 1, ASKED, &asked);
	ask(s, 40, 1, BACK_END, &asked_back);
	go_to_sleep(s, 45, 1, WRITER, -1);
	if (!is_loop)
		go_to_sleep(s, 60, 0, READER, -1);
	receive(s, 70, 1, WRITER, &told_back);
	wake_up(s, 72, 1, WRITER, 1);
	tell_call(s, 74, 1, "read", BACK_END, 30);
	go_to_sleep(s, 80, 1, WRITER, -1);
	receive(s, 140, 1, WRITER, &told);
	wake_up(s, 142, 1, WRITER, 1);
	tell_call(s, 144, 1, "read", ASKED, 30);
	story_enter(s, ANSWERED, 1, "write", QUESTIONS);
	story_packet(s, DTC_EVENT_NET_SEND, ANSWERED + 1, 1, &answer);
	story_leave(s, ANSWERED + 2, 1, "write", 60);
	story_switch(s, 160, 1, WRITER, "go", SLEEP, 0, "swapper/1");
	story_end(s);
}

/* The segment of X's path at a time, all of whose calls are known; what the process asked is X's in one variant. */
static struct dtc_segment walk(enum variant variant, int64_t t)
{
	struct story s;
	bool is_beside = variant == BESIDE || variant == ONE_LOOP;
	if (is_beside)
		tell_beside(&s, variant == ONE_LOOP);
	else
		tell(&s, variant);
	struct served_path w = served_path_begin(&s);
	served_path_add(&w, variant == ONE_LOOP ? WRITER : READER, 34, X, false);
	if (is_beside) {
		if (variant == ONE_LOOP)
			served_path_add(&w, WRITER, 36, X + 1, false);
		served_path_add(&w, WRITER, 40, X, false);
		served_path_add(&w, WRITER, 74, X, false);
	} else {
		served_path_add(&w, READER, 36, variant == ASKS ? X : X + 1, false);
	}
	served_path_add(&w, WRITER, ANSWERED, X, true);
	g_autoptr(DtcPath) path = served_path_walk(&w, WRITER, 36, ANSWERED);
	struct dtc_segment found = *path_at(path, t);
	if (found.evidence.file != DTC_NONE) /* a descriptor says more than a number */
		found.evidence.file =
			dtc_history_get_file(w.history, found.evidence.file)->flow_out == DTC_NONE
				? 0
				: dtc_packets_get_flow(dtc_history_get_packets(w.history),
						       dtc_history_get_file(w.history, found.evidence.file)->flow_out)
					  ->destination_port;
	served_path_clear(&w);
	return found;
}

static void test_timer(gconstpointer variant)
{
	for (int64_t t = 40; t <= 140; t += 10) {
		struct dtc_segment at = walk((enum variant)GPOINTER_TO_INT(variant), t);
		g_assert_cmpint(at.cause, ==, DTC_CAUSE_TIMER);
		g_assert_cmpint(at.link, ==, DTC_LINK_INFERRED);
		g_assert_cmpint(at.evidence.reason, ==, DTC_REASON_INSIDE);
		g_assert_cmpint(at.tid, ==, WRITER);
	}
}

/* The process asked somebody for X, or its threads ran: what it waited for may be seen. */
static void test_visible(void)
{
	g_assert_cmpint(walk(ASKS, 130).evidence.reason, ==, DTC_REASON_OWN);
	g_assert_cmpint(walk(ASKS, 80).cause, !=, DTC_CAUSE_TIMER);
	g_assert_cmpint(walk(BURNS, 130).evidence.reason, ==, DTC_REASON_OWN);
}

/* They ran, and answered somebody else by that. */
static void test_others(void)
{
	for (int64_t t = 40; t <= 140; t += 50)
		g_assert_cmpint(walk(BURNS_FOR_ANOTHER, t).evidence.reason, ==, DTC_REASON_INSIDE);
}

/* Another request's answer made the thread go on: it is followed, and never exact. */
static void test_woken(void)
{
	struct dtc_segment at = walk(WOKEN, 101);
	g_assert_cmpint(at.link, !=, DTC_LINK_EXACT);
	at = walk(WOKEN, 60);
	g_assert_cmpint(at.link, !=, DTC_LINK_EXACT);
}

/* What came last is what it waited for, all the time; one loop had asked that for another one. */
static void test_beside(void)
{
	for (int64_t t = 60; t <= 130; t += 10) {
		struct dtc_segment at = walk(BESIDE, t);
		g_assert_cmpint(at.evidence.reason, ==, DTC_REASON_UNTRACED_PEER);
		g_assert_cmpuint(at.evidence.file, ==, 3306);
	}
	g_assert_cmpuint(walk(ONE_LOOP, 130).evidence.file, ==, 3306);
	g_assert_cmpuint(walk(ONE_LOOP, 60).evidence.file, ==, 81);
}

/* What it found is not known, and its sleeps are no reason; the only one, or one that somebody ended, may be. */
static void test_ticks(void)
{
	for (int64_t t = 115; t <= 145; t += 10) {
		struct dtc_segment at = walk(TICKS, t);
		g_assert_cmpint(at.cause, ==, DTC_CAUSE_UNKNOWN);
		g_assert_cmpint(at.link, ==, DTC_LINK_UNKNOWN);
		g_assert_cmpint(at.evidence.reason, ==, DTC_REASON_INSIDE);
		g_assert_cmpint(at.tid, ==, WRITER);
	}
	g_assert_cmpint(walk(TICKS, 101).cause, !=, DTC_CAUSE_UNKNOWN);
	g_assert_cmpint(walk(ONCE, 120).tid, ==, TICKER);
	g_assert_cmpint(walk(ONCE, 120).cause, ==, DTC_CAUSE_TIMER);
	g_assert_cmpint(walk(CALLED, 135).tid, ==, TICKER);
	g_assert_cmpint(walk(CALLED, 135).cause, ==, DTC_CAUSE_TIMER);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/inside/timer", GINT_TO_POINTER(IDLE), test_timer);
	g_test_add_data_func("/inside/timerfd", GINT_TO_POINTER(TIMERFD), test_timer);
	g_test_add_func("/inside/visible", test_visible);
	g_test_add_func("/inside/others", test_others);
	g_test_add_func("/inside/beside", test_beside);
	g_test_add_func("/inside/woken", test_woken);
	g_test_add_func("/inside/ticks", test_ticks);
	return g_test_run();
}
