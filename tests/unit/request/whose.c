/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose bytes are that a server moves on connections which no capture shows. */
#include "tests/support/one_server.h"

/*
 * The loop opens a connection for X, and another thread of the process goes on with it: its first bytes, whoever speaks
 * first, are X's. It had been at work for nobody that is known. What is opened when X is answered is nobody's.
 */
static void test_opened(gconstpointer data)
{
	bool is_late = GPOINTER_TO_INT(data);
	const int64_t connect_us = is_late ? 72 : 22, first_us = connect_us + 3;
	struct server server;
	struct story *s = &server.story;
	server_begin(&server);
	story_fork(s, 4 * US + 100, 0, LOOP_TID, LOOP_TID, WORKER_TID, LOOP_TID, "worker");
	story_switch(s, 5 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	if (is_late)
		event_loop_call(s, 0, "write", 5, 70, 71, 20);
	event_loop_call(s, 0, "connect", 7, connect_us, connect_us + 1, 0);
	event_loop_call(s, 1, "read", 7, first_us, first_us + 1, 70);
	event_loop_call(s, 1, "write", 7, first_us + 2, first_us + 3, 30);
	event_loop_call(s, 1, "write", 7, first_us + 4, first_us + 5, 30);
	if (!is_late)
		event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	const DtcHistory *h = server.histories[0];
	uint32_t worker = dtc_history_find_thread(h, WORKER_TID, 10 * US);
	const struct dtc_owned *owned =
		dtc_serving_find_owned(serving, 0, dtc_history_find_call(h, worker, (first_us + 2) * US), 0);
	if (is_late) {
		g_assert_null(owned);
	} else {
		g_assert_nonnull(owned);
		g_assert_cmpuint(owned->request, ==, X);
		g_assert_cmpuint(owned->read, ==, dtc_history_find_call(h, worker, first_us * US));
	}
	server_clear(&server);
}

/* A process that the loop made after that, and that was given the connection, works for others: it is its business. */
static void test_given(void)
{
	struct server server;
	struct story *s = &server.story;
	server_begin(&server);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	event_loop_call(s, 0, "connect", 7, 22, 23, 0);
	story_fork(s, 24 * US, 0, LOOP_TID, LOOP_TID, WORKER_TID, WORKER_TID, "worker");
	story_switch(s, 25 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
	event_loop_call(s, 1, "write", 7, 26, 27, 30);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	const DtcHistory *h = server.histories[0];
	uint32_t worker = dtc_history_find_thread(h, WORKER_TID, 30 * US);
	g_assert_null(dtc_serving_find_owned(serving, 0, dtc_history_find_call(h, worker, 26 * US), 0));
	server_clear(&server);
}

/* What goes out on the connection beside X's question. */
enum beside { NOTHING, ITS_REST, BEFORE, BEHIND };

/*
 * The loop asks for X whom no trace shows, and another thread, which waits in its read, takes the answer. Is another
 * question on the connection, it is not known whose answer comes first.
 */
static void test_untraced(gconstpointer data)
{
	enum beside beside = GPOINTER_TO_UINT(data);
	struct server server;
	struct story *s = &server.story;
	server_begin(&server);
	story_fork(s, 4 * US + 100, 0, LOOP_TID, LOOP_TID, WORKER_TID, LOOP_TID, "worker");
	story_switch(s, 5 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
	event_loop_call(s, 0, "connect", 7, 8, 9, 0);
	story_enter(s, 11 * US, 1, "read", 7);
	story_switch(s, 12 * US, 1, WORKER_TID, "worker", 1, 0, "swapper/1");
	if (beside == BEFORE) {
		event_loop_call(s, 0, "read", 6, 14, 15, 40);
		event_loop_call(s, 0, "write", 7, 16, 17, 30);
	}
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	if (beside == ITS_REST)
		event_loop_call(s, 0, "write", 7, 22, 23, 30);
	event_loop_call(s, 0, "write", 7, 24, 25, 30);
	if (beside == BEHIND) {
		event_loop_call(s, 0, "read", 6, 27, 28, 40);
		event_loop_call(s, 0, "write", 7, 30, 31, 30);
	}
	story_task(s, DTC_EVENT_SCHED_WAKING, 40 * US, 1, WORKER_TID, "worker", 1);
	story_switch(s, 41 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
	story_leave(s, 42 * US, 1, "read", 70);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	const DtcHistory *h = server.histories[0];
	uint32_t worker = dtc_history_find_thread(h, WORKER_TID, 11 * US);
	struct dtc_taken taken;
	bool is_taken = dtc_serving_find_taken(serving, X, 0, LOOP_TID, 25 * US, 70 * US, &taken);
	g_assert_cmpint(is_taken, ==, beside < BEFORE);
	if (is_taken)
		g_assert_cmpuint(taken.call, ==, dtc_history_find_call(h, worker, 11 * US));
	server_clear(&server);
}

static void tell_message(struct story *s, int64_t at_us, bool to_broker, uint32_t seq, uint32_t ack, uint32_t bytes)
{
	uint32_t cpu = to_broker ? 1 : 0;
	story_enter(s, at_us * US, cpu, "write", to_broker ? 8 : 7);
	event_loop_packet(s, at_us * US + 100, cpu, to_broker, DTC_TCP_ACK, seq, ack, bytes);
	story_leave(s, (at_us + 1) * US, cpu, "write", bytes);
}

/*
 * The loop is a broker: a worker has connected to it (7, at the worker 8), said that it wants work, and is given X's.
 * What it writes then, whatever it polls for before, is X's answer, and its read a part of X's way. If the broker reads
 * that the worker wants something after X's question, it answers that.
 */
static void test_passed_on(gconstpointer data)
{
	bool is_answer = GPOINTER_TO_INT(data);
	int64_t wanted_us = is_answer ? 22 : 12;
	struct server server;
	struct story *s = &server.story;
	server_begin(&server);
	story_switch(s, 5 * US, 1, 0, "swapper/1", 0, DB_TID, "worker");
	story_enter(s, 6 * US, 1, "connect", 8);
	event_loop_packet(s, 6 * US + 100, 1, true, DTC_TCP_SYN, 99, 0, 0);
	event_loop_packet(s, 6 * US + 200, 1, false, DTC_TCP_SYN | DTC_TCP_ACK, 499, 100, 0);
	event_loop_packet(s, 6 * US + 300, 1, true, DTC_TCP_ACK, 100, 500, 0);
	story_leave(s, 7 * US, 1, "connect", 0);
	event_loop_call(s, 0, "accept", 4, 8, 9, 7);
	tell_message(s, 10, true, 100, 500, 30);
	if (!is_answer)
		event_loop_call(s, 0, "read", 7, wanted_us, wanted_us + 1, 30);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	if (is_answer)
		event_loop_call(s, 0, "read", 7, wanted_us, wanted_us + 1, 30);
	tell_message(s, 24, false, 500, 130, 40);
	event_loop_call(s, 1, "read", 8, 28, 29, 40);
	story_poll(s, 30 * US, 1, "epoll_wait", 3, 0);
	story_leave(s, 31 * US, 1, "epoll_wait", 1);
	tell_message(s, 34, true, 130, 540, 25);
	tell_wait(&server, 36, 56, 1);
	event_loop_call(s, 0, "read", 7, 58, 59, 25);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	const DtcHistory *h = server.histories[0];
	uint32_t worker = dtc_history_find_thread(h, DB_TID, 10 * US);
	const struct dtc_owned *passed =
		dtc_serving_find_owned(serving, 0, dtc_history_find_call(h, server.thread, 24 * US), 0);
	const struct dtc_owned *answered =
		dtc_serving_find_owned(serving, 0, dtc_history_find_call(h, worker, 34 * US), 0);
	int32_t pid = dtc_history_get_thread(h, server.thread)->pid;
	struct dtc_taken taken;
	bool is_taken = dtc_serving_find_taken(serving, X, 0, pid, 21 * US, 70 * US, &taken);
	if (is_answer) {
		g_assert_null(passed);
		g_assert_null(answered);
		g_assert_false(is_taken);
	} else {
		g_assert_nonnull(passed);
		g_assert_nonnull(answered);
		g_assert_cmpuint(passed->request, ==, X);
		g_assert_cmpuint(answered->request, ==, X);
		g_assert_true(is_taken);
		g_assert_cmpuint(taken.call, ==, dtc_history_find_call(h, server.thread, 58 * US));
	}
	server_clear(&server);
}

/* What woke a thread that had gone to a wait before the trace began. */
enum before { BY_PACKET, BY_THREAD };

/*
 * The loop's thread had gone into its read before the trace began: there is no call that read X's question. A packet
 * woke it, and what it does next is for that. If another thread did, it was no read.
 */
static void test_begun(gconstpointer data)
{
	enum before before = GPOINTER_TO_UINT(data);
	struct dtc_headers question = story_headers(0x0a000001, 60000, 0x0a000002, 80, 1000, 500, 0x18, 50, 1);
	struct server server;
	struct story *s = &server.story;
	story_begin(s, "node");
	story_switch(s, 0, 1, 0, "swapper/1", 0, WORKER_TID, "other");
	story_switch(s, 1, 0, LOOP_TID, "loop", 1, 0, "swapper/0");
	if (before == BY_PACKET) {
		story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 10 * US, 0, 3, NULL);
		story_packet(s, DTC_EVENT_NET_RECEIVE, 11 * US, 0, &question);
		story_task(s, DTC_EVENT_SCHED_WAKING, 12 * US, 0, LOOP_TID, "loop", 0);
		story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 13 * US, 0, 3, NULL);
	} else {
		story_task(s, DTC_EVENT_SCHED_WAKING, 12 * US, 1, LOOP_TID, "loop", 0);
	}
	story_switch(s, 14 * US, 0, 0, "swapper/0", 0, LOOP_TID, "loop");
	event_loop_call(s, 0, "connect", 7, 20, 21, 0);
	event_loop_call(s, 0, "write", 7, 24, 25, 30);
	event_loop_call(s, 0, "read", 7, 40, 41, 30);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 0, 70, 0);
	const struct dtc_owned *owned = dtc_serving_find_owned(
		serving, 0, dtc_history_find_call(server.histories[0], server.thread, 24 * US), 0);
	if (before == BY_PACKET) {
		g_assert_nonnull(owned);
		g_assert_cmpuint(owned->request, ==, X);
	} else {
		g_assert_null(owned);
	}
	server_clear(&server);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/whose/passed-on/to-worker", GINT_TO_POINTER(false), test_passed_on);
	g_test_add_data_func("/whose/passed-on/answer", GINT_TO_POINTER(true), test_passed_on);
	g_test_add_data_func("/whose/begun/by-packet", GUINT_TO_POINTER(BY_PACKET), test_begun);
	g_test_add_data_func("/whose/begun/by-thread", GUINT_TO_POINTER(BY_THREAD), test_begun);
	g_test_add_data_func("/whose/opened/for-it", GINT_TO_POINTER(false), test_opened);
	g_test_add_data_func("/whose/opened/after-it", GINT_TO_POINTER(true), test_opened);
	g_test_add_func("/whose/opened/given", test_given);
	g_test_add_data_func("/whose/untraced/alone", GUINT_TO_POINTER(NOTHING), test_untraced);
	g_test_add_data_func("/whose/untraced/its-rest", GUINT_TO_POINTER(ITS_REST), test_untraced);
	g_test_add_data_func("/whose/untraced/behind-another", GUINT_TO_POINTER(BEFORE), test_untraced);
	g_test_add_data_func("/whose/untraced/before-another", GUINT_TO_POINTER(BEHIND), test_untraced);
	return g_test_run();
}
