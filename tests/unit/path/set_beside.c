/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A runtime that schedules by itself: 20 reads X's question, which sleeps, and polls until that timer is due, at 64.
 * Y's question calls it before. The timer is served by 21, which was called for something else, and answers X.
 *
 *   20  2 question 3 reads  4 polls  30 Y's question 31 reads 50 calls 21  75 polls
 *   21  50 called  70 on a CPU  71 answers
 */
#include "tests/support/served_path.h"

#define RUN 0
#define SLEEP 1
#define MS G_GINT64_CONSTANT(1000000) /* timeouts of polls are in these */
#define US G_GINT64_CONSTANT(1000)
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define READER 20
#define WRITER 21
#define OURS 4
#define OTHERS 7
#define SET 4
#define DUE 64
#define X 0
#define Y 1

/*
 * When 21 comes to it. QUEUED: it was called, and waits for a CPU, when the timer is due; BUSY: it works for Y then;
 * CALLED: 20 calls it when it has served the timer, in the midst of Y's work. Not by the timer: AT_WORK: 21 runs since
 * before, for nobody that is known; LATER: an interrupt wakes it long after. OLDER: the timer had been set before X's
 * question; ASKS: the process asks somebody for X; NEXT: the poll was after Y's question, too.
 *
 * POLLS: 20 polled for another timer, and 21 does for the one that is due at 64. By the time it runs, an event has
 * come, too.
 */
enum variant { QUEUED, BUSY, CALLED, AT_WORK, LATER, OLDER, ASKS, NEXT, POLLS };

static void tell_call(struct story *s, int64_t ns, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, ns, cpu, name, fd);
	story_leave(s, ns + US, cpu, name, result);
}

static void go_to_poll(struct story *s, int64_t ns, int64_t timeout_ms)
{
	story_poll(s, ns, 0, "epoll_wait", 6, timeout_ms);
	story_switch(s, ns + US, 0, READER, "go", SLEEP, 0, "swapper/0");
}

static void receive(struct story *s, int64_t ns, const struct dtc_headers *packet)
{
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, ns - US, 0, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, ns, 0, packet);
	story_task(s, DTC_EVENT_SCHED_WAKING, ns + 1, 0, READER, "go", 0);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, ns + 2, 0, 3, NULL);
	story_switch(s, ns + US, 0, 0, "swapper/0", RUN, READER, "go");
	story_leave(s, ns + 2 * US, 0, "epoll_wait", 1);
}

static void wait_for_work(struct story *s, int64_t ns)
{
	story_enter(s, ns, 1, "futex", -1);
	story_switch(s, ns + US, 1, WRITER, "go", SLEEP, 0, "swapper/1");
}

static void get_on(struct story *s, int64_t ns)
{
	story_switch(s, ns, 1, 0, "swapper/1", RUN, WRITER, "go");
	story_leave(s, ns + US, 1, "futex", 0);
}

static void call(struct story *s, int64_t ns)
{
	story_enter(s, ns, 0, "futex", -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, ns + 1, 0, WRITER, "go", 1);
	story_leave(s, ns + 2, 0, "futex", 1);
}

static void interrupt(struct story *s, int64_t ns)
{
	story_context(s, DTC_EVENT_IRQ_ENTRY, ns - US, 1, 9, "eth0");
	story_task(s, DTC_EVENT_SCHED_WAKING, ns, 1, WRITER, "go", 1);
	story_context(s, DTC_EVENT_IRQ_EXIT, ns + US, 1, 9, NULL);
}

/* When 21 answers. */
static int64_t tell_writer(struct story *s, enum variant variant)
{
	switch (variant) {
	case BUSY:
		call(s, 50 * MS);
		get_on(s, 51 * MS);
		tell_call(s, 52 * MS, 1, "read", OTHERS, 50);
		tell_call(s, 70 * MS, 1, "write", OTHERS, 50);
		return 71 * MS;
	case CALLED:
		call(s, 66 * MS);
		get_on(s, 70 * MS);
		return 71 * MS;
	case AT_WORK:
		call(s, 50 * MS);
		get_on(s, 51 * MS);
		return 71 * MS;
	case LATER:
		interrupt(s, 90 * MS);
		get_on(s, 91 * MS);
		return 92 * MS;
	case POLLS:
		call(s, 35 * MS);
		get_on(s, 36 * MS);
		story_poll(s, 37 * MS, 1, "epoll_wait", 6, DUE - 37);
		story_switch(s, 37 * MS + US, 1, WRITER, "go", SLEEP, 0, "swapper/1");
		go_to_poll(s, 38 * MS, -1);
		story_context(s, DTC_EVENT_HRTIMER_ENTRY, DUE * MS, 1, 1, NULL);
		story_task(s, DTC_EVENT_SCHED_WAKING, DUE * MS + US, 1, WRITER, "go", 1);
		story_context(s, DTC_EVENT_HRTIMER_EXIT, DUE * MS + 2 * US, 1, 1, NULL);
		story_switch(s, 65 * MS, 1, 0, "swapper/1", RUN, WRITER, "go");
		story_leave(s, 65 * MS + US, 1, "epoll_wait", 1);
		return 71 * MS;
	default:
		call(s, 50 * MS);
		get_on(s, 70 * MS);
		return 71 * MS;
	}
}

static void begin(struct story *s, enum variant variant)
{
	struct dtc_headers question = story_headers(CLIENT, 60000, SERVER, 80, 1000, 500, 0x18, 50, 1);
	story_begin(s, "server");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, READER, "go");
	story_fork(s, 1, 0, READER, READER, WRITER, READER, "go");
	story_switch(s, 4, 1, 0, "swapper/1", RUN, WRITER, "go");
	wait_for_work(s, 10 * US);
	tell_call(s, 20 * US, 0, "accept4", 3, OURS);
	tell_call(s, 30 * US, 0, "accept4", 3, OTHERS);
	go_to_poll(s, MS, variant == OLDER ? DUE - 1 : -1);
	receive(s, 2 * MS, &question);
	tell_call(s, 3 * MS, 0, "read", OURS, 50);
}

/* Gives when X's answer is written. */
static int64_t tell(struct story *s, enum variant variant)
{
	struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 60000, 500, 1050, 0x18, 60, 2);
	struct dtc_headers other = story_headers(CLIENT, 60001, SERVER, 80, 2000, 900, 0x18, 50, 3);
	begin(s, variant);
	if (variant == ASKS)
		tell_call(s, 3 * MS + 100 * US, 0, "write", OTHERS, 20);
	if (variant == NEXT)
		tell_call(s, 3 * MS + 200 * US, 0, "read", OTHERS, 50);
	go_to_poll(s, SET * MS, variant == POLLS ? DUE / 2 : DUE - SET);
	receive(s, 30 * MS, &other);
	tell_call(s, 31 * MS, 0, "read", OTHERS, 50);
	int64_t answered_ns = tell_writer(s, variant);
	story_enter(s, answered_ns, 1, "write", OURS);
	story_packet(s, DTC_EVENT_NET_SEND, answered_ns + 1, 1, &answer);
	story_leave(s, answered_ns + 2, 1, "write", 60);
	story_switch(s, answered_ns + US, 1, WRITER, "go", SLEEP, 0, "swapper/1");
	if (variant != POLLS)
		go_to_poll(s, answered_ns + MS, -1);
	story_end(s);
	return answered_ns;
}

/* The segment of X's path at a time. */
static struct dtc_segment walk(enum variant variant, int64_t t)
{
	struct story s;
	int64_t answered_ns = tell(&s, variant);
	struct served_path w = served_path_begin(&s);
	served_path_add(&w, READER, 3 * MS, X, false);
	if (variant == ASKS)
		served_path_add(&w, READER, 3 * MS + 100 * US, X, false);
	served_path_add(&w, READER, 31 * MS, Y, false);
	if (variant == BUSY) {
		served_path_add(&w, WRITER, 52 * MS, Y, false);
		served_path_add(&w, WRITER, 70 * MS, Y, true);
	}
	served_path_add(&w, WRITER, answered_ns, X, true);
	return served_path_at(&w, WRITER, 3 * MS, answered_ns, t);
}

/* Since it was set, by 20, until it is due, and from there on 21's time. */
static void test_timer(void)
{
	static const enum variant variants[] = { QUEUED, BUSY, CALLED };
	for (guint i = 0; i < G_N_ELEMENTS(variants); i++) {
		for (int64_t t = SET + 1; t < DUE; t += 6) {
			struct dtc_segment at = walk(variants[i], t * MS);
			g_assert_cmpint(at.cause, ==, DTC_CAUSE_TIMER);
			g_assert_cmpint(at.link, ==, DTC_LINK_INFERRED);
			g_assert_cmpint(at.evidence.reason, ==, DTC_REASON_INSIDE);
			g_assert_cmpint(at.tid, ==, READER);
		}
		g_assert_cmpint(walk(variants[i], SET * MS - 100 * US).tid, ==, READER);
		g_assert_cmpint(walk(variants[i], 69 * MS).cause, !=, DTC_CAUSE_TIMER);
		g_assert_cmpint(walk(variants[i], 69 * MS).tid, ==, WRITER);
	}
}

/* What woke it was the timer, although its poll tells of the event: since the question was read. */
static void test_event(void)
{
	for (int64_t t = SET + 1; t < DUE; t += 6) {
		struct dtc_segment at = walk(POLLS, t * MS);
		g_assert_cmpint(at.cause, ==, DTC_CAUSE_TIMER);
		g_assert_cmpint(at.evidence.reason, ==, DTC_REASON_INSIDE);
		g_assert_cmpint(at.tid, ==, WRITER);
	}
}

/* Any timer may be due meanwhile. */
static void test_others(void)
{
	static const enum variant variants[] = { AT_WORK, LATER, OLDER, ASKS, NEXT };
	for (guint i = 0; i < G_N_ELEMENTS(variants); i++)
		for (int64_t t = SET + 1; t < DUE; t += 6) {
			struct dtc_segment at = walk(variants[i], t * MS);
			g_assert_true(at.cause != DTC_CAUSE_TIMER || at.evidence.reason != DTC_REASON_INSIDE);
		}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/set-beside/timer", test_timer);
	g_test_add_func("/set-beside/event", test_event);
	g_test_add_func("/set-beside/others", test_others);
	return g_test_run();
}
