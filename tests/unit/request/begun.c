/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A worker that had gone into its read before the trace began: there is no call with which it read the first job. The
 * server asks it on a connection that is older than the trace, too. Times in microseconds.
 *
 *   server   20 read X 21   30 ask 31                                 58 read 59   60 ask 61              70 write X 71
 *   worker   (in its read)  woken   32 computes   50 answers 51   (54 read 55)                64 read 65
 */
#include "tests/support/one_server.h"

#define ASK 7
#define ANSWER 8

/* What woke the worker: X's question, or one that came before, whose nobody knows. */
enum first { ITS_QUESTION, ANOTHERS };

static void tell_arrival(struct story *s, int64_t at_ns, bool to_worker, uint32_t seq, uint32_t bytes)
{
	const struct dtc_headers h = story_headers(0x7f000001, to_worker ? LOOP_PORT : DB_PORT, 0x7f000001,
						   to_worker ? DB_PORT : LOOP_PORT, seq, 1, DTC_TCP_ACK, bytes, 0);
	story_packet(s, DTC_EVENT_NET_SEND, at_ns, to_worker ? 0 : 1, &h);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, at_ns + 10, to_worker ? 0 : 1, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, at_ns + 20, to_worker ? 0 : 1, &h);
}

static void ask(struct story *s, int64_t at_us, uint32_t seq, bool wakes)
{
	story_enter(s, at_us * US, 0, "write", ASK);
	tell_arrival(s, at_us * US + 100, true, seq, 30);
	if (wakes)
		story_task(s, DTC_EVENT_SCHED_WAKING, at_us * US + 150, 0, WORKER_TID, "worker", 1);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, at_us * US + 200, 0, 3, NULL);
	story_leave(s, (at_us + 1) * US, 0, "write", 30);
}

static void test_begun(gconstpointer data)
{
	enum first first = GPOINTER_TO_UINT(data);
	struct server server;
	struct story *s = &server.story;
	server_begin(&server);
	story_fork(s, 5 * US, 3, 1, 1, WORKER_TID, WORKER_TID, "worker");
	story_switch(s, 6 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
	story_switch(s, 7 * US, 1, WORKER_TID, "worker", 1, 0, "swapper/1");
	if (first == ANOTHERS)
		ask(s, 10, 100, true);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	ask(s, 30, 130, first == ITS_QUESTION);
	story_switch(s, 32 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
	story_leave(s, 33 * US, 1, "read", 30);
	story_enter(s, 50 * US, 1, "write", ANSWER);
	tell_arrival(s, 50 * US + 100, false, 500, 40);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 50 * US + 200, 1, 3, NULL);
	story_leave(s, 51 * US, 1, "write", 40);
	if (first == ANOTHERS)
		event_loop_call(s, 1, "read", ANSWER, 54, 55, 30);
	event_loop_call(s, 0, "read", ASK, 58, 59, 40);
	ask(s, 60, 160, false);
	event_loop_call(s, 1, "read", ANSWER, 64, 65, 30);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	uint32_t worker = dtc_history_find_thread(server.histories[0], WORKER_TID, 40 * US);
	const struct dtc_served *span = dtc_serving_find_span(serving, 0, worker, 40 * US);
	if (first == ITS_QUESTION) {
		g_assert_nonnull(span);
		g_assert_cmpuint(span->request, ==, X);
		g_assert_false(dtc_serving_only_inherits(serving, 0, worker));
		/* and answers it, whatever it reads next */
		span = dtc_serving_find_span(serving, 0, worker, 50 * US + 500);
		g_assert_nonnull(span);
		g_assert_false(span->leads);
	} else {
		g_assert_null(span);
		/* X's is the one that lay there */
		span = dtc_serving_find_span(serving, 0, worker, 56 * US);
		g_assert_nonnull(span);
		g_assert_cmpuint(span->request, ==, X);
	}
	server_clear(&server);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/begun/its-question", GUINT_TO_POINTER(ITS_QUESTION), test_begun);
	g_test_add_data_func("/begun/anothers", GUINT_TO_POINTER(ANOTHERS), test_begun);
	return g_test_run();
}
