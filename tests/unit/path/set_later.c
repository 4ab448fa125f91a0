/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A loop with which A waits until B publishes something, for which the loop takes 8 ms by a timer. Or the timer is A's
 * own, and was set when its question was read. Times in milliseconds.
 *
 *   A      10 asks                                                108 has its answer
 *   B                                  100 asks                   108 has its answer
 *   loop   10 reads A's  polls         100 reads B's  polls       108 answers A, B
 */
#include "tests/support/datagrams.h"
#include "tests/support/served_path.h"

#define RUN 0
#define SLEEP 1
#define MS (1000 * US)
#define LOOP 20
#define A 21
#define B 22
#define PORT 18300
#define PORT_A 40001
#define PORT_B 40002
#define X 0
#define Y 1

static const struct story_woken loop = { LOOP, "loop", 0 }, clients[] = { { A, "a", 1 }, { B, "b", 2 } };

static void polls(struct story *s, int64_t us, int64_t timeout_ms)
{
	story_poll(s, us * US, 0, "epoll_wait", 3, timeout_ms);
	story_switch(s, us * US + 500, 0, LOOP, "loop", SLEEP, 0, "swapper/0");
}

static void goes_on(struct story *s, int64_t us, int64_t result)
{
	story_switch(s, us * US, 0, 0, "swapper/0", RUN, LOOP, "loop");
	story_leave(s, us * US + 500, 0, "epoll_wait", result);
}

static void asks(struct story *s, int64_t us, const struct story_woken *client, uint16_t port)
{
	story_sends(s, us, client->cpu, 5, port, PORT, 40, &loop);
	story_enter(s, (us + 2) * US, client->cpu, "recvfrom", 5);
	story_switch(s, (us + 3) * US, client->cpu, client->tid, client->comm, SLEEP, 0, "swapper");
	goes_on(s, us + 5, 1);
	story_takes(s, us + 10, 0, 4, 40);
}

static void has_answer(struct story *s, int64_t us, uint16_t port, const struct story_woken *client)
{
	story_sends(s, us, 0, 4, PORT, port, 40, client);
	story_switch(s, (us + 5) * US, client->cpu, 0, "swapper", RUN, client->tid, client->comm);
	story_leave(s, (us + 6) * US, client->cpu, "recvfrom", 40);
}

/* A's path. The first poll has that timeout. */
static DtcPath *tell(struct story *s, struct served_path *w, int64_t timeout_ms)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, LOOP, "loop");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, A, "a");
	story_switch(s, 2, 2, 0, "swapper/2", RUN, B, "b");
	polls(s, 5, -1);
	asks(s, 10000, &clients[0], PORT_A);
	polls(s, 10020, timeout_ms);
	asks(s, 100000, &clients[1], PORT_B);
	polls(s, 100020, 8);
	story_timer_wakes(s, 108020 * US, 108020 * US + 100, 0, LOOP, "loop");
	goes_on(s, 108021, 0);
	has_answer(s, 108030, PORT_A, &clients[0]);
	has_answer(s, 108040, PORT_B, &clients[1]);
	story_end(s);
	*w = served_path_begin(s);
	served_path_add(w, A, 10000 * US, X, false);
	served_path_add(w, B, 100000 * US, Y, false);
	w->owner = X + 1;
	return served_path_walk(w, A, 10000 * US, 108036 * US);
}

/* The loop had no timer, or a later one, when A's question was read: B's is why since it was set, and not before. */
static void test_later(void)
{
	static const int64_t timeouts_ms[] = { -1, 200 };
	for (guint i = 0; i < G_N_ELEMENTS(timeouts_ms); i++) {
		struct story s;
		struct served_path w;
		g_autoptr(DtcPath) path = tell(&s, &w, timeouts_ms[i]);
		uint32_t thread = dtc_history_find_thread(w.history, LOOP, 0);
		const struct dtc_segment *segment = path_at(path, 104 * MS);
		g_assert_cmpint(segment->cause, ==, DTC_CAUSE_TIMER);
		g_assert_cmpuint(segment->thread, ==, thread);
		g_assert_cmpuint(segment->owner, ==, Y + 1);
		g_assert_cmpint(segment->link, ==, DTC_LINK_INFERRED);
		for (guint k = 0; k < dtc_path_get_segment_count(path); k++) {
			segment = dtc_path_get_segment(path, k);
			g_assert_true(segment->cause != DTC_CAUSE_TIMER || segment->begin.ns >= 100 * MS);
		}
		served_path_clear(&w);
	}
}

/* It was set with A's question, or that cannot be told. */
static void test_own(void)
{
	static const int64_t timeouts_ms[] = { 98, 50, DTC_ABSENT };
	for (guint i = 0; i < G_N_ELEMENTS(timeouts_ms); i++) {
		struct story s;
		struct served_path w;
		g_autoptr(DtcPath) path = tell(&s, &w, timeouts_ms[i]);
		static const int64_t at_ms[] = { 20, 99, 104 };
		for (guint k = 0; k < G_N_ELEMENTS(at_ms); k++) {
			const struct dtc_segment *segment = path_at(path, at_ms[k] * MS);
			g_assert_cmpint(segment->cause, ==, DTC_CAUSE_TIMER);
			g_assert_cmpuint(segment->owner, !=, Y + 1);
		}
		served_path_clear(&w);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/path/set-later/later", test_later);
	g_test_add_func("/path/set-later/own", test_own);
	return g_test_run();
}
