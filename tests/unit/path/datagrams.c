/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A loop serves two clients on one socket of datagrams, each with a timer of its own. B's question comes while A's
 * timer runs. Times in milliseconds, but for what follows in a turn.
 *
 *   A      10 asks                                        110 has its answer
 *   B              40 asks                                              140 has its answer
 *   loop   10 reads A's  polls  40 reads B's  polls       110 answers A 140 answers B
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

/* A client asks, and sleeps until it has its answer. */
static void asks(struct story *s, int64_t us, const struct story_woken *client, uint16_t port)
{
	story_sends(s, us, client->cpu, 5, port, PORT, 40, &loop);
	story_enter(s, (us + 2) * US, client->cpu, "recvfrom", 5);
	story_switch(s, (us + 3) * US, client->cpu, client->tid, client->comm, SLEEP, 0, "swapper");
}

static void has_answer(struct story *s, int64_t us, const struct story_woken *client)
{
	story_switch(s, us * US, client->cpu, 0, "swapper", RUN, client->tid, client->comm);
	story_leave(s, (us + 1) * US, client->cpu, "recvfrom", 40);
}

static void expires(struct story *s, int64_t us)
{
	story_timer_wakes(s, us * US, us * US + 100, 0, LOOP, "loop");
	goes_on(s, us + 1, 0);
}

static struct served_path tell(struct story *s)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, LOOP, "loop");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, A, "a");
	story_switch(s, 2, 2, 0, "swapper/2", RUN, B, "b");
	polls(s, 5, -1);
	asks(s, 10000, &clients[0], PORT_A);
	goes_on(s, 10005, 1);
	story_takes(s, 10010, 0, 4, 40);
	polls(s, 10020, 100);
	asks(s, 40000, &clients[1], PORT_B);
	goes_on(s, 40005, 1);
	story_takes(s, 40010, 0, 4, 40);
	polls(s, 40020, 70);
	expires(s, 110020);
	story_sends(s, 110030, 0, 4, PORT, PORT_A, 40, &clients[0]);
	has_answer(s, 110035, &clients[0]);
	polls(s, 110040, 30);
	expires(s, 140030);
	story_sends(s, 140040, 0, 4, PORT, PORT_B, 40, &clients[1]);
	has_answer(s, 140045, &clients[1]);
	story_end(s);
	struct served_path w = served_path_begin(s);
	served_path_add(&w, A, 10000 * US, X, false);
	served_path_add(&w, B, 40000 * US, Y, false);
	return w;
}

/* B's question, which ended the loop's wait, does not lead to B. */
static void test_first(void)
{
	struct story s;
	struct served_path w = tell(&s);
	g_autoptr(DtcPath) path = served_path_walk(&w, A, 10000 * US, 110036 * US);
	static const int64_t at_ms[] = { 20, 39, 50, 100 };
	for (guint i = 0; i < G_N_ELEMENTS(at_ms); i++) {
		const struct dtc_segment *segment = path_at(path, at_ms[i] * MS);
		g_assert_cmpuint(segment->thread, ==, dtc_history_find_thread(w.history, LOOP, 0));
		g_assert_cmpint(segment->cause, ==, DTC_CAUSE_TIMER);
	}
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++)
		g_assert_cmpuint(dtc_path_get_segment(path, i)->thread, !=, dtc_history_find_thread(w.history, B, 0));
	served_path_clear(&w);
}

/* A's timer, for which the loop polled meanwhile, is no part of what B waited for, but of its own. */
static void test_second(void)
{
	struct story s;
	struct served_path w = tell(&s);
	g_autoptr(DtcPath) path = served_path_walk(&w, B, 40000 * US, 140046 * US);
	static const int64_t at_ms[] = { 45, 100, 120, 135 };
	for (guint i = 0; i < G_N_ELEMENTS(at_ms); i++) {
		const struct dtc_segment *segment = path_at(path, at_ms[i] * MS);
		g_assert_cmpuint(segment->thread, ==, dtc_history_find_thread(w.history, LOOP, 0));
		g_assert_cmpint(segment->cause, ==, DTC_CAUSE_TIMER);
	}
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++)
		g_assert_cmpuint(dtc_path_get_segment(path, i)->thread, !=, dtc_history_find_thread(w.history, A, 0));
	served_path_clear(&w);
}

/* The loop's reads and answers are each of the request whose client sent, or gets, them. */
static void test_owners(void)
{
	struct story s;
	struct served_path w = tell(&s);
	dtc_serving_seal(w.serving, true);
	static const struct {
		int64_t us;
		guint request;
	} reads[] = { { 10010, X }, { 40010, Y } }, writes[] = { { 110030, X }, { 140040, Y } };
	uint32_t thread = dtc_history_find_thread(w.history, LOOP, 0);
	for (guint i = 0; i < 2; i++) {
		const struct dtc_served *span = dtc_serving_find_span(w.serving, 0, thread, reads[i].us * US + 200);
		g_assert_nonnull(span);
		g_assert_cmpuint(span->request, ==, reads[i].request);
		const struct dtc_owned *owned =
			dtc_serving_find_owned(w.serving, 0, served_path_find_call(&w, LOOP, writes[i].us * US), 0);
		g_assert_nonnull(owned);
		g_assert_cmpuint(owned->request, ==, writes[i].request);
		g_assert_cmpuint(owned->read, ==, served_path_find_call(&w, LOOP, reads[i].us * US));
	}
	served_path_clear(&w);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/path/datagrams/first", test_first);
	g_test_add_func("/path/datagrams/second", test_second);
	g_test_add_func("/path/datagrams/owners", test_owners);
	return g_test_run();
}
