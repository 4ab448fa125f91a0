/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A front asks for X and Y on one connection, a broker reads both with one call and pushes both to a worker, who reads
 * both with one call, too, and does one after the other. Whose each answer is the job's words tell, which the worker's
 * answers have as well; and which of the two the broker answers on the one connection, what it has just read.
 *
 *   front    20 reads X 24 job 30 reads Y 34 job                        70 reads, 72 answers X  90, 92 Y
 *   broker                                    40 reads both 42 X's 44 Y's 64 reads, 66 answers X  84, 86 Y
 *   worker                                                48 reads both 60 answers X              80 Y
 */
#include "analyze/edge/arrival.h"
#include "tests/support/broker.h"

#define JOB_BYTES 60
#define GIVEN_BYTES 70
#define DONE_BYTES 50

enum { X, Y };

static void tell(struct story *s)
{
	story_begin(s, "node");
	story_switch(s, 0, 0, 0, "swapper/0", 0, FRONT, "front");
	story_fork(s, 1, 0, FRONT, FRONT, BROKER, BROKER, "broker");
	story_fork(s, 2, 0, FRONT, FRONT, WORKER, WORKER, "worker");
	story_switch(s, 3, 1, 0, "swapper/1", 0, BROKER, "broker");
	story_switch(s, 4, 2, 0, "swapper/2", 0, WORKER, "worker");
	connect_to_broker(s, 0, 5, FRONTS_PORT, 7, 8);
	connect_to_broker(s, 2, 10, WORKERS_PORT, 9, 10);
	tell_call(s, 0, 15, "accept", 4, 5);
	tell_call(s, 0, 17, "accept", 4, 6);
	tell_call(s, 0, 20, "read", 5, 60);
	tell_write(s, 0, 24, 7, FRONTS_PORT, PORT, 100, 500, JOB_BYTES);
	tell_call(s, 0, 30, "read", 6, 60);
	tell_write(s, 0, 34, 7, FRONTS_PORT, PORT, 160, 500, JOB_BYTES);
	story_poll(s, 36 * US, 0, "epoll_wait", 3, -1);
	tell_call(s, 1, 40, "read", 8, 2 * JOB_BYTES);
	tell_write(s, 1, 42, 10, PORT, WORKERS_PORT, 500, 100, GIVEN_BYTES);
	tell_write(s, 1, 44, 10, PORT, WORKERS_PORT, 570, 100, GIVEN_BYTES);
	story_poll(s, 46 * US, 1, "epoll_wait", 3, -1);
	tell_call(s, 2, 48, "read", 9, 2 * GIVEN_BYTES);
	tell_write(s, 2, 60, 9, WORKERS_PORT, PORT, 100, 640, DONE_BYTES);
	story_leave(s, 63 * US, 1, "epoll_wait", 1);
	tell_call(s, 1, 64, "read", 10, DONE_BYTES);
	tell_write(s, 1, 66, 8, PORT, FRONTS_PORT, 500, 220, DONE_BYTES);
	story_poll(s, 68 * US, 1, "epoll_wait", 3, -1);
	story_leave(s, 69 * US, 0, "epoll_wait", 1);
	tell_call(s, 0, 70, "read", 7, DONE_BYTES);
	tell_call(s, 0, 72, "write", 5, 20);
	story_poll(s, 74 * US, 0, "epoll_wait", 3, -1);
	tell_write(s, 2, 80, 9, WORKERS_PORT, PORT, 150, 640, DONE_BYTES);
	story_leave(s, 83 * US, 1, "epoll_wait", 1);
	tell_call(s, 1, 84, "read", 10, DONE_BYTES);
	tell_write(s, 1, 86, 8, PORT, FRONTS_PORT, 550, 220, DONE_BYTES);
	story_leave(s, 89 * US, 0, "epoll_wait", 1);
	tell_call(s, 0, 90, "read", 7, DONE_BYTES);
	tell_call(s, 0, 92, "write", 6, 20);
}

static void add_messages(const struct broker_story *t)
{
	broker_add_message(t, FRONTS_PORT, PORT, 100, "PUB jobs {resize-upload-0042}");
	broker_add_message(t, FRONTS_PORT, PORT, 160, "PUB jobs {yesterday's-report-of-7711}");
	broker_add_message(t, PORT, WORKERS_PORT, 500, "MSG jobs 7 {resize-upload-0042}");
	broker_add_message(t, PORT, WORKERS_PORT, 570, "MSG jobs 7 {yesterday's-report-of-7711}");
	broker_add_message(t, WORKERS_PORT, PORT, 100, "PUB inbox {upload-0042}: done");
	broker_add_message(t, WORKERS_PORT, PORT, 150, "PUB inbox {report-of-7711}: done");
}

static void assert_works(const DtcServing *serving, const DtcHistory *h, int64_t us, guint request)
{
	uint32_t worker = dtc_history_find_thread(h, WORKER, 50 * US);
	const struct dtc_served *span = dtc_serving_find_span(serving, 0, worker, us * US);
	g_assert_nonnull(span);
	g_assert_cmpuint(span->request, ==, request);
	g_assert_false(span->leads);
}

static void test(void)
{
	struct broker_story t;
	tell(&t.story);
	broker_begin(&t);
	add_messages(&t);
	broker_link(&t);
	DtcServing *serving = t.serving;
	const DtcHistory *h = t.h;
	served_request_add(serving, h, X, FRONT, 20 * US, 72 * US, 0);
	served_request_add(serving, h, Y, FRONT, 30 * US, 92 * US, 0);
	dtc_serving_seal(serving, true);

	g_assert_cmpuint(broker_find_owned(&t, BROKER, 42)->request, ==, X);
	g_assert_cmpuint(broker_find_owned(&t, BROKER, 44)->request, ==, Y);
	assert_works(serving, h, 55, X);
	assert_works(serving, h, 70, Y);
	/* each has its own bytes of the one read, and when these came */
	uint32_t worker = dtc_history_find_thread(h, WORKER, 50 * US);
	for (guint i = X; i <= Y; i++) {
		const struct dtc_owned *answer = broker_find_owned(&t, WORKER, i == X ? 60 : 80);
		struct dtc_arrival arrival;
		g_assert_cmpuint(answer->request, ==, i);
		g_assert_cmpuint(answer->read, ==, dtc_history_find_call(h, worker, 48 * US));
		g_assert_cmpuint(answer->taken, ==, i == X ? GIVEN_BYTES : 0);
		g_assert_true(dtc_arrival_find_for_taken(t.links, 0, answer->read, answer->taken, &arrival));
		g_assert_cmpint(arrival.time_ns / US, ==, i == X ? 42 : 44);
	}
	/* both are answers to the broker, and none asks it */
	struct dtc_taken taken;
	g_assert_true(dtc_serving_find_taken(serving, X, 0, BROKER, 63 * US, 65 * US, &taken));
	g_assert_true(dtc_serving_find_taken(serving, Y, 0, BROKER, 83 * US, 85 * US, &taken));
	g_assert_cmpuint(broker_find_owned(&t, BROKER, 66)->request, ==, X);
	g_assert_cmpuint(broker_find_owned(&t, BROKER, 86)->request, ==, Y);
	broker_clear(&t);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/together/told", test);
	return g_test_run();
}
