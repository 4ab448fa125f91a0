/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A loop over io_uring (20) has the questions of two clients of its node in its hands: what it reads and writes is no
 * call. X (10) waits for a timer of the loop, and Y's (11) question wakes that in between; or X is asked for at a
 * database, and the answer comes last.
 *
 *   20  30 X's question  36 waits  60 Y's question  66 waits  100 timer, or the database  107 X's answer
 */
#include "tests/support/path_at.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define HERE 0x7f000001u
#define DATABASE 0x0a000003u
#define X 10
#define Y 11
#define LOOP 20
#define X_PORT 60000
#define Y_PORT 60001

static struct dtc_headers to_loop(uint16_t port, uint32_t seq, uint8_t flags, uint32_t bytes)
{
	return story_headers(HERE, port, HERE, 80, seq, 500, flags, bytes, (uint16_t)(port + seq));
}

static void in_softirq(struct story *s, int64_t t, uint32_t cpu, const struct dtc_headers *packet, int wakes)
{
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t, cpu, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, cpu, packet);
	if (wakes)
		story_task(s, DTC_EVENT_SCHED_WAKING, t, cpu, wakes, "n", wakes == LOOP ? 2 : wakes - X);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t, cpu, 3, NULL);
}

static void connect_to_loop(struct story *s, int64_t t, uint32_t cpu, uint16_t port)
{
	struct dtc_headers syn = to_loop(port, 999, DTC_TCP_SYN, 0);
	story_enter(s, t, cpu, "connect", 5);
	story_packet(s, DTC_EVENT_NET_SEND, t, cpu, &syn);
	in_softirq(s, t, cpu, &syn, 0);
	story_leave(s, t + 1, cpu, "connect", 0);
}

static void ask(struct story *s, int64_t t, uint32_t cpu, int tid, uint16_t port)
{
	struct dtc_headers question = to_loop(port, 1000, DTC_TCP_ACK, 50);
	story_enter(s, t - 1, cpu, "write", 5);
	story_packet(s, DTC_EVENT_NET_SEND, t, cpu, &question);
	in_softirq(s, t, cpu, &question, LOOP);
	story_leave(s, t + 1, cpu, "write", 50);
	story_enter(s, t + 1, cpu, "read", 5);
	story_switch(s, t + 1, cpu, tid, "n", SLEEP, 0, "swapper");
}

static void wait_in_ring(struct story *s, int64_t t)
{
	story_enter(s, t, 2, "io_uring_enter", 3);
	story_switch(s, t + 1, 2, LOOP, "n", SLEEP, 0, "swapper");
}

static void run_on(struct story *s, int64_t t)
{
	story_switch(s, t, 2, 0, "swapper", RUN, LOOP, "n");
	story_leave(s, t + 2, 2, "io_uring_enter", 1);
}

static void tell(struct story *s, bool asks)
{
	struct dtc_headers asked = story_headers(HERE, 50000, DATABASE, 3306, 700, 300, DTC_TCP_ACK, 20, 3);
	struct dtc_headers told = story_headers(DATABASE, 3306, HERE, 50000, 300, 720, DTC_TCP_ACK, 30, 4);
	struct dtc_headers answer = story_headers(HERE, 80, HERE, X_PORT, 500, 1050, DTC_TCP_ACK, 60, 9);
	story_begin(s, "n");
	for (uint32_t cpu = 0; cpu < 3; cpu++)
		story_switch(s, 0, cpu, 0, "swapper", RUN, cpu < 2 ? X + (int)cpu : LOOP, "n");
	connect_to_loop(s, 2, 0, X_PORT);
	connect_to_loop(s, 4, 1, Y_PORT);
	wait_in_ring(s, 10);
	ask(s, 30, 0, X, X_PORT);
	run_on(s, 32);
	story_enter(s, 36, 2, "io_uring_enter", 3);
	if (asks)
		story_packet(s, DTC_EVENT_NET_SEND, 36, 2, &asked);
	story_switch(s, 37, 2, LOOP, "n", SLEEP, 0, "swapper");
	ask(s, 60, 1, Y, Y_PORT);
	run_on(s, 62);
	wait_in_ring(s, 66);
	if (asks)
		in_softirq(s, 100, 1, &told, LOOP);
	else
		story_timer_wakes(s, 100, 101, 2, LOOP, "n");
	run_on(s, 103);
	story_enter(s, 106, 2, "io_uring_enter", 3);
	story_packet(s, DTC_EVENT_NET_SEND, 107, 2, &answer);
	in_softirq(s, 107, 2, &answer, X);
	story_switch(s, 109, 2, LOOP, "n", SLEEP, 0, "swapper");
	story_switch(s, 110, 0, 0, "swapper", RUN, X, "n");
	story_leave(s, 112, 0, "read", 60);
	story_end(s);
}

static struct dtc_segment walk(bool asks, int64_t t)
{
	struct story s;
	tell(&s, asks);
	g_autoptr(DtcPath) path = path_of(s.history, X, 29, 112, DTC_NONE);
	struct dtc_segment found = *path_at(path, t);
	story_clear(&s);
	return found;
}

/* Whoever had woken the loop in between: X lay still until its timer. */
static void test_timer(void)
{
	for (int64_t t = 40; t <= 100; t += 10) {
		struct dtc_segment at = walk(false, t);
		g_assert_cmpint(at.cause, ==, DTC_CAUSE_TIMER);
		g_assert_cmpint(at.tid, ==, LOOP);
		g_assert_cmpint(at.link, ==, DTC_LINK_INFERRED);
	}
	g_assert_cmpint(walk(false, 34).tid, ==, LOOP);
	g_assert_cmpint(walk(false, 30).tid, ==, X);
}

/* It had asked for X: what came is followed, and never Y. */
static void test_asks(void)
{
	for (int64_t t = 40; t <= 100; t += 10) {
		struct dtc_segment at = walk(true, t);
		g_assert_cmpint(at.tid, !=, Y);
		g_assert_cmpint(at.cause, ==, DTC_CAUSE_UNKNOWN); /* the database is not traced */
	}
	g_assert_cmpint(walk(true, 30).tid, ==, X);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ring/timer", test_timer);
	g_test_add_func("/ring/asks", test_asks);
	return g_test_run();
}
