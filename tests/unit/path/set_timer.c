/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread (21) waits for what a loop (20) does when its timer is due. Meanwhile another one (22) wakes the loop, which
 * polls again for what is left of the time. In some variants a client ends that poll. Times are in microseconds.
 *
 *   20   30 polls, 30 ms   20001 wakes, 20100 polls, 10 ms   30151 wakes, 30160 wakes 21
 */
#include "tests/support/path_at.h"
#include "tests/support/story.h"

#define US ((int64_t)1000)
#define RUN 0
#define SLEEP 1
#define LOOP 20
#define WAITER 21
#define OTHER 22

static void sleeps(struct story *s, int64_t us, int64_t timeout_ms)
{
	story_poll(s, us * US, 0, "epoll_wait", 3, timeout_ms);
	story_switch(s, us * US + 500, 0, LOOP, "loop", SLEEP, 0, "swapper/0");
}

static void wakes(struct story *s, int64_t us, int64_t result)
{
	story_switch(s, us * US, 0, 0, "swapper/0", RUN, LOOP, "loop");
	story_leave(s, us * US + 500, 0, "epoll_wait", result);
}

enum ending { EXPIRES, CONNECTION, QUESTION };

/* A client's packet wakes the loop: the end of its handshake, with which the loop takes the connection, or more. */
static void comes(struct story *s, enum ending ending)
{
	struct dtc_headers syn = story_headers(0x0a000001u, 1009, 0x0a000002u, 80, 100, 0, DTC_TCP_SYN, 0, 0);
	struct dtc_headers ack = story_headers(0x0a000001u, 1009, 0x0a000002u, 80, 101, 501, DTC_TCP_ACK, 0, 0);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 30148 * US, 0, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, 30148 * US + 100, 0, &syn);
	story_packet(s, DTC_EVENT_NET_RECEIVE, 30149 * US, 0, &ack);
	story_task(s, DTC_EVENT_SCHED_WAKING, 30150 * US, 0, LOOP, "loop", 0);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 30150 * US + 100, 0, 3, NULL);
	wakes(s, 30151, 1);
	story_enter(s, 30153 * US, 0, "accept", 4);
	story_leave(s, 30153 * US + 500, 0, "accept", 5);
	if (ending == QUESTION) {
		story_enter(s, 30154 * US, 0, "read", 6);
		story_leave(s, 30154 * US + 500, 0, "read", 50);
	}
}

static void tell(struct story *s, int64_t first_timeout_ms, enum ending ending, int64_t timeout_ms)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, LOOP, "loop");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, WAITER, "waiter");
	story_switch(s, 2, 2, 0, "swapper/2", RUN, OTHER, "other");
	story_enter(s, 10 * US, 1, "futex", -1);
	story_switch(s, 11 * US, 1, WAITER, "waiter", SLEEP, 0, "swapper/1");
	sleeps(s, 30, first_timeout_ms);
	story_enter(s, 20000 * US, 2, "write", 9);
	story_task(s, DTC_EVENT_SCHED_WAKING, 20000 * US + 500, 2, LOOP, "loop", 0);
	story_leave(s, 20000 * US + 600, 2, "write", 8);
	wakes(s, 20001, 1);
	sleeps(s, 20100, timeout_ms);
	if (ending == EXPIRES) {
		story_timer_wakes(s, 30149 * US, 30150 * US, 0, LOOP, "loop");
		wakes(s, 30151, 0);
	} else {
		comes(s, ending);
	}
	story_enter(s, 30160 * US, 0, "futex", -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, 30160 * US + 500, 0, WAITER, "waiter", 1);
	story_leave(s, 30161 * US, 0, "futex", 1);
	if (ending != EXPIRES)
		sleeps(s, 30163, -1);
	story_switch(s, 30165 * US, 1, 0, "swapper/1", RUN, WAITER, "waiter");
	story_leave(s, 30166 * US, 1, "futex", 0);
	story_switch(s, 30200 * US, 1, WAITER, "waiter", SLEEP, 0, "swapper/1");
	story_end(s);
}

struct variant {
	const char *name;
	int64_t first_timeout_ms;
	enum ending ending;
	int64_t timeout_ms;
	struct {
		int64_t us;
		int tid;
		enum dtc_cause cause;
		bool is_inferred;
	} segments[5];
};

static const struct variant variants[] = {
	/* the timer lasted from when it was set, whoever woke the loop meanwhile */
	{ "/path/set-timer/before",
	  30,
	  EXPIRES,
	  10,
	  { { 30155, LOOP, DTC_CAUSE_RUNNING_USER, false },
	    { 25000, LOOP, DTC_CAUSE_TIMER, false },
	    { 20050, LOOP, DTC_CAUSE_TIMER, false },
	    { 15000, LOOP, DTC_CAUSE_TIMER, true },
	    { 20, LOOP, DTC_CAUSE_RUNNING_USER, false } } },
	/* the loop polled for something later at first: who woke it had it set the timer */
	{ "/path/set-timer/then",
	  100,
	  EXPIRES,
	  10,
	  { { 25000, LOOP, DTC_CAUSE_TIMER, false },
	    { 20050, LOOP, DTC_CAUSE_RUNNING_USER, false },
	    { 15000, OTHER, DTC_CAUSE_RUNNING_USER, false } } },
	/* a new connection ended the poll, and brought nothing: the timer was due in that turn */
	{ "/path/set-timer/beside-a-connection",
	  30,
	  CONNECTION,
	  10,
	  { { 30155, LOOP, DTC_CAUSE_RUNNING_USER, false },
	    { 25000, LOOP, DTC_CAUSE_TIMER, true },
	    { 20050, LOOP, DTC_CAUSE_TIMER, true },
	    { 15000, LOOP, DTC_CAUSE_TIMER, true } } },
	/* it was due later */
	{ "/path/set-timer/behind-a-connection", 80, CONNECTION, 60, { { 25000, LOOP, DTC_CAUSE_UNKNOWN, false } } },
	/* something was read in that turn, which may be why */
	{ "/path/set-timer/beside-a-question", 30, QUESTION, 10, { { 25000, LOOP, DTC_CAUSE_UNKNOWN, false } } },
};

static void test(gconstpointer data)
{
	const struct variant *variant = data;
	struct story s;

	tell(&s, variant->first_timeout_ms, variant->ending, variant->timeout_ms);
	g_autoptr(DtcPath) path = path_of(s.history, WAITER, 5 * US, 30200 * US, DTC_NONE);
	for (gsize i = 0; i < G_N_ELEMENTS(variant->segments) && variant->segments[i].tid; i++) {
		const struct dtc_segment *segment = path_at(path, variant->segments[i].us * US);
		g_assert_cmpint(segment->tid, ==, variant->segments[i].tid);
		g_assert_cmpstr(dtc_cause_to_string(segment->cause), ==,
				dtc_cause_to_string(variant->segments[i].cause));
		if (variant->segments[i].is_inferred)
			g_assert_cmpint(segment->link, ==, DTC_LINK_INFERRED);
	}
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(variants); i++)
		g_test_add_data_func(variants[i].name, &variants[i], test);
	return g_test_run();
}
