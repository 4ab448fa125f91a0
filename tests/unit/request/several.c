/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One call takes the datagrams of two clients (recvmmsg), and the thread does what each asked, one after the other. A
 * loop that takes them on to a server of its own asks that with one call (sendmmsg). Times in milliseconds.
 *
 *   A       1 asks                                  20 has its answer
 *   B         2 asks                                                   40 has its answer
 *   server           5 takes both  works for A      20 answers A  works for B  40 answers B
 */
#include "tests/support/datagrams.h"
#include "tests/support/served_path.h"

#define RUN 0
#define SLEEP 1
#define MS (1000 * US)
#define SERVER 20
#define CLIENTS 21
#define BACKEND 22
#define FD 4
#define FD_A 5
#define FD_B 6
#define FD_OUT 7
#define PORT 18300
#define PORT_A 40001
#define PORT_B 40002
#define PORT_OUT 40003
#define PORT_BACKEND 5300
#define X 0
#define Y 1

static void takes_several(struct story *s, int64_t us, uint32_t cpu, int64_t count)
{
	story_enter(s, us * US, cpu, "recvmmsg", FD);
	story_leave(s, (us + 1) * US, cpu, "recvmmsg", count);
}

static void sleeps(struct story *s, int64_t us, int64_t until_us, uint32_t cpu, int tid)
{
	story_enter(s, us * US, cpu, "clock_nanosleep", -1);
	story_switch(s, us * US + 500, cpu, tid, "server", SLEEP, 0, "swapper");
	story_timer_wakes(s, until_us * US, until_us * US + 100, cpu, tid, "server");
	story_switch(s, until_us * US + 200, cpu, 0, "swapper", RUN, tid, "server");
	story_leave(s, until_us * US + 300, cpu, "clock_nanosleep", 0);
}

static void ask_both(struct story *s)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, CLIENTS, "clients");
	story_switch(s, 2, 2, 0, "swapper/2", RUN, BACKEND, "server");
	story_sends(s, 1000, 1, FD_A, PORT_A, PORT, 40, NULL);
	story_sends(s, 2000, 1, FD_B, PORT_B, PORT, 40, NULL);
	takes_several(s, 5000, 0, 2);
}

static struct served_path add_both(struct story *s)
{
	story_end(s);
	struct served_path w = served_path_begin(s);
	served_path_add(&w, CLIENTS, 1000 * US, X, false);
	served_path_add(&w, CLIENTS, 2000 * US, Y, false);
	dtc_serving_seal(w.serving, true);
	return w;
}

/* For which request a thread works, also where it sleeps. */
static guint request_at(const struct served_path *w, int tid, int64_t us)
{
	uint32_t thread = dtc_history_find_thread(w->history, tid, us * US);
	const struct dtc_served *span = dtc_serving_find_span(w->serving, 0, thread, us * US);
	return span && !span->leads ? span->request : DTC_NO_REQUEST;
}

/* Whose a write of the server is, and the number of what it had read for that. */
static guint owner_of(const struct served_path *w, int64_t us, uint32_t *ret_taken)
{
	const struct dtc_owned *owned =
		dtc_serving_find_owned(w->serving, 0, served_path_find_call(w, SERVER, us * US), 0);
	*ret_taken = owned ? owned->taken : 0;
	return owned ? owned->request : DTC_NO_REQUEST;
}

/* It is at that which it answers next, also where it sleeps. */
static void test_in_turn(void)
{
	struct story s;
	ask_both(&s);
	sleeps(&s, 5010, 20000, 0, SERVER);
	story_sends(&s, 20010, 0, FD, PORT, PORT_A, 60, NULL);
	sleeps(&s, 20020, 40000, 0, SERVER);
	story_sends(&s, 40010, 0, FD, PORT, PORT_B, 60, NULL);
	story_takes(&s, 50000, 1, FD_A, 60);
	story_takes(&s, 50010, 1, FD_B, 60);
	struct served_path w = add_both(&s);
	uint32_t taken;
	g_assert_cmpuint(request_at(&w, SERVER, 10000), ==, X);
	g_assert_cmpuint(request_at(&w, SERVER, 30000), ==, Y);
	g_assert_cmpuint(owner_of(&w, 20010, &taken), ==, X);
	g_assert_cmpuint(taken, ==, 1);
	g_assert_cmpuint(owner_of(&w, 40010, &taken), ==, Y);
	g_assert_cmpuint(taken, ==, 2);
	served_path_clear(&w);
}

static void answers_both(struct story *s, int64_t us)
{
	static const uint16_t ports[] = { PORT_A, PORT_B };
	story_enter(s, us * US, 0, "sendmmsg", FD);
	for (guint i = 0; i < 2; i++) {
		struct dtc_headers h = story_datagram_headers(PORT, ports[i], 60);
		story_packet(s, DTC_EVENT_NET_SEND, us * US + 100 + 50 * i, 0, &h);
		story_datagram_comes(s, us * US + 110 + 50 * i, 0, PORT, ports[i], 60, NULL);
	}
	story_leave(s, (us + 1) * US, 0, "sendmmsg", 2);
}

/* With one call: for which of them it slept nothing tells, nor whose that call is. */
static void test_at_once(void)
{
	struct story s;
	ask_both(&s);
	sleeps(&s, 5010, 20000, 0, SERVER);
	answers_both(&s, 20010);
	story_takes(&s, 50000, 1, FD_A, 60);
	story_takes(&s, 50010, 1, FD_B, 60);
	struct served_path w = add_both(&s);
	uint32_t taken;
	g_assert_cmpuint(request_at(&w, SERVER, 10000), ==, DTC_NO_REQUEST);
	g_assert_cmpuint(owner_of(&w, 20010, &taken), ==, DTC_NO_REQUEST);
	served_path_clear(&w);
}

/* Each is asked on, in order, on a socket of its own; a server reads what is for whom. */
static void test_asked_on(void)
{
	struct story s;
	ask_both(&s);
	story_sends(&s, 5010, 0, FD_OUT, PORT_OUT, PORT_BACKEND, 44, NULL);
	story_sends(&s, 5020, 0, FD_OUT + 1, PORT_OUT + 1, PORT_BACKEND, 44, NULL);
	story_poll(&s, 5030 * US, 0, "epoll_wait", 3, -1);
	takes_several(&s, 6000, 2, 1);
	sleeps(&s, 6010, 10000, 2, BACKEND);
	takes_several(&s, 10010, 2, 1);
	sleeps(&s, 10020, 15000, 2, BACKEND);
	answers_both(&s, 20010); /* what tells the sockets */
	story_sends(&s, 20020, 2, FD, PORT_BACKEND, PORT_OUT, 60, NULL);
	struct served_path w = add_both(&s);
	uint32_t taken;
	g_assert_cmpuint(owner_of(&w, 5010, &taken), ==, X);
	g_assert_cmpuint(taken, ==, 1);
	g_assert_cmpuint(owner_of(&w, 5020, &taken), ==, Y);
	g_assert_cmpuint(taken, ==, 2);
	g_assert_cmpuint(request_at(&w, BACKEND, 8000), ==, X);
	g_assert_cmpuint(request_at(&w, BACKEND, 13000), ==, Y);
	served_path_clear(&w);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/request/several/in-turn", test_in_turn);
	g_test_add_func("/request/several/at-once", test_at_once);
	g_test_add_func("/request/several/asked-on", test_asked_on);
	return g_test_run();
}
