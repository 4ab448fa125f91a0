/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process that another one tells what to do for X asks a server for it, reads Y's question meanwhile, and asks the
 * server on another connection: that is Y's, as its own calls tell, whatever it was told.
 *
 *   front    30 reads X   32 tells the worker                                                       90 answers X
 *   worker                       36 asks   44 reads the answer   46 reads Y   50 asks               80 answers Y
 *   server                       38 reads it   42 answers                     54 reads it
 */
#include "tests/support/broker.h"

#define PIPE 7
#define SECOND_PORT 42000
#define QUESTION_BYTES 60

enum { X, Y };

static void tell(struct story *s)
{
	story_begin(s, "node");
	story_switch(s, 0, 0, 0, "swapper/0", 0, FRONT, "front");
	tell_call(s, 0, 1, "pipe2", -1, 0);
	story_fork(s, 3 * US, 0, FRONT, FRONT, BROKER, BROKER, "server");
	story_fork(s, 3 * US + 1, 0, FRONT, FRONT, WORKER, WORKER, "worker");
	story_switch(s, 4 * US, 1, 0, "swapper/1", 0, BROKER, "server");
	story_switch(s, 4 * US + 1, 2, 0, "swapper/2", 0, WORKER, "worker");
	connect_to_broker(s, 2, 10, WORKERS_PORT, 9, 10);
	connect_to_broker(s, 2, 14, SECOND_PORT, 13, 12);
	tell_call(s, 0, 18, "accept", 4, 5);
	tell_call(s, 2, 19, "accept", 4, 11);
	tell_write(s, 2, 20, 9, WORKERS_PORT, PORT, 100, 500, 20);
	tell_call(s, 1, 22, "read", 10, 20);
	tell_write(s, 1, 24, 10, PORT, WORKERS_PORT, 500, 120, 20);
	tell_call(s, 2, 26, "read", 9, 20);
	story_enter(s, 28 * US, 2, "read", PIPE);
	story_switch(s, 29 * US, 2, WORKER, "worker", 1, 0, "swapper/2");
	tell_call(s, 0, 30, "read", 5, 60);
	story_enter(s, 32 * US, 0, "write", PIPE + 1);
	story_task(s, DTC_EVENT_SCHED_WAKING, 32 * US + 500, 0, WORKER, "worker", 2);
	story_leave(s, 33 * US, 0, "write", 4);
	story_switch(s, 34 * US, 2, 0, "swapper/2", 0, WORKER, "worker");
	story_leave(s, 35 * US, 2, "read", 4);
	tell_write(s, 2, 36, 13, SECOND_PORT, PORT, 100, 500, QUESTION_BYTES);
	tell_call(s, 1, 38, "read", 12, QUESTION_BYTES);
	tell_write(s, 1, 42, 12, PORT, SECOND_PORT, 500, 100 + QUESTION_BYTES, 20);
	tell_call(s, 2, 44, "read", 13, 20);
	tell_call(s, 2, 46, "read", 11, 60);
	tell_write(s, 2, 50, 9, WORKERS_PORT, PORT, 120, 520, QUESTION_BYTES);
	tell_call(s, 1, 54, "read", 10, QUESTION_BYTES);
	tell_call(s, 2, 80, "write", 11, 20);
	story_enter(s, 84 * US, 2, "read", PIPE);
	tell_call(s, 0, 90, "write", 5, 20);
}

static void test(void)
{
	struct broker_story t;
	tell(&t.story);
	broker_begin(&t);
	broker_link(&t);
	served_request_add(t.serving, t.h, X, FRONT, 30 * US, 90 * US, 0);
	served_request_add(t.serving, t.h, Y, WORKER, 46 * US, 80 * US, 0);
	dtc_serving_seal(t.serving, true);
	uint32_t worker = dtc_history_find_thread(t.h, WORKER, 50 * US);
	const struct dtc_served *told = dtc_serving_find_span(t.serving, 0, worker, 33 * US);
	g_assert_nonnull(told);
	g_assert_cmpuint(told->request, ==, X);
	g_assert_cmpuint(broker_find_owned(&t, WORKER, 50)->request, ==, Y);
	uint32_t server = dtc_history_find_thread(t.h, BROKER, 50 * US);
	for (guint request = X; request <= Y; request++) {
		const struct dtc_served *work =
			dtc_serving_find_span(t.serving, 0, server, (request == X ? 40 : 58) * US);
		g_assert_nonnull(work);
		g_assert_cmpuint(work->request, ==, request);
		guint hops;
		dtc_serving_get_hops(t.serving, request, &hops);
		g_assert_cmpuint(hops, ==, 1);
	}
	broker_clear(&t);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/told/asks-for-another", test);
	return g_test_run();
}
