/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A front asks a broker, which keeps the job until a worker asks for the next one: that nothing but the bytes of the
 * two messages tells.
 *
 * In the end the broker tells the worker that its answer was taken: that is X's, too, whoever waits longest.
 *
 *   front    30 reads X   32 job to the broker                                                        90 answers X
 *   broker                              34 reads it   36 takes it   42 reads that a worker wants one   44 gives it
 *   worker                                                     40 asks                      46 reads it  60 answers
 */
#include "tests/support/broker.h"

#define OTHER 80 /* another front */
#define OTHERS_PORT 42000
#define JOB_BYTES 60
#define GIVEN_BYTES 90

enum { X, Y };

/*
 * What the broker's answer to the worker has of other messages. A_ROW: the job, but it is a database, and who asked for
 * it did so for Y.
 */
enum has { THE_JOB, NOTHING, TWO_JOBS, MORE_OF_ANOTHER, A_ROW };

/*
 * The worker answers X, and a second front's job Y waits: X's answer goes to its front, and the worker is told that it
 * was taken.
 */
static void tell_answer(struct story *s)
{
	tell_write(s, 3, 50, 13, OTHERS_PORT, PORT, 100, 500, JOB_BYTES);
	tell_call(s, 1, 52, "read", 12, JOB_BYTES);
	story_poll(s, 54 * US, 1, "epoll_wait", 3, -1);
	tell_write(s, 2, 60, 9, WORKERS_PORT, PORT, 120, 590, 20);
	story_leave(s, 61 * US, 1, "epoll_wait", 1);
	tell_call(s, 1, 62, "read", 10, 20);
	tell_write(s, 1, 64, 8, PORT, FRONTS_PORT, 504, 220, 20);
	tell_write(s, 1, 66, 10, PORT, WORKERS_PORT, 590, 140, 4);
	story_poll(s, 68 * US, 1, "epoll_wait", 3, -1);
	story_leave(s, 69 * US, 1, "epoll_wait", 1);
	tell_write(s, 1, 74, 12, PORT, OTHERS_PORT, 500, 160, 20);
}

static void tell(struct story *s)
{
	story_begin(s, "node");
	story_switch(s, 0, 0, 0, "swapper/0", 0, FRONT, "front");
	story_fork(s, 1, 0, FRONT, FRONT, BROKER, BROKER, "broker");
	story_fork(s, 2, 0, FRONT, FRONT, WORKER, WORKER, "worker");
	story_switch(s, 3, 1, 0, "swapper/1", 0, BROKER, "broker");
	story_switch(s, 4, 2, 0, "swapper/2", 0, WORKER, "worker");
	story_fork(s, 5, 0, FRONT, FRONT, OTHER, OTHER, "front");
	story_switch(s, 6, 3, 0, "swapper/3", 0, OTHER, "front");
	connect_to_broker(s, 0, 5, FRONTS_PORT, 7, 8);
	connect_to_broker(s, 2, 10, WORKERS_PORT, 9, 10);
	connect_to_broker(s, 3, 14, OTHERS_PORT, 13, 12);
	tell_call(s, 0, 18, "accept", 4, 5);
	tell_call(s, 2, 19, "accept", 4, 11);
	tell_call(s, 3, 19, "accept", 4, 14);
	tell_write(s, 0, 20, 7, FRONTS_PORT, PORT, 100, 500, JOB_BYTES);
	tell_call(s, 1, 22, "read", 8, JOB_BYTES);
	tell_call(s, 0, 30, "read", 5, 60);
	tell_write(s, 0, 32, 7, FRONTS_PORT, PORT, 160, 500, JOB_BYTES);
	tell_call(s, 1, 34, "read", 8, JOB_BYTES);
	tell_write(s, 1, 36, 8, PORT, FRONTS_PORT, 500, 220, 4);
	story_poll(s, 38 * US, 1, "epoll_wait", 3, -1);
	tell_call(s, 2, 38, "read", 11, 60);
	tell_write(s, 2, 40, 9, WORKERS_PORT, PORT, 100, 500, 20);
	story_leave(s, 41 * US, 1, "epoll_wait", 1);
	tell_call(s, 1, 42, "read", 10, 20);
	tell_write(s, 1, 44, 10, PORT, WORKERS_PORT, 500, 120, GIVEN_BYTES);
	tell_call(s, 2, 46, "read", 9, GIVEN_BYTES);
	tell_call(s, 3, 48, "read", 14, 60);
	tell_answer(s);
	tell_call(s, 2, 80, "write", 11, 20);
	tell_call(s, 0, 90, "write", 5, 20);
	tell_call(s, 3, 95, "write", 14, 20);
}

/* Jobs of other words each, and the protocol's around them; what is given to the worker is made of them. */
static void add_messages(const struct broker_story *t, enum has has)
{
	static const char *const jobs[] = { "*3 LPUSH jobs {yesterday's-report-of-7711}",
					    "*3 LPUSH jobs {resize-upload-0042}" };
	static const char *const given[] = { "*2 jobs 25 {resize-upload-0042}", "*2 jobs 25 {somebody-else}",
					     "*2 jobs 25 {resize-upload-0042}{yesterday's-}",
					     "*2 jobs 25 {upload-0042}{yesterday's-report-of-7711}",
					     "*2 jobs 25 {resize-upload-0042}" };
	for (uint32_t i = 0; i < G_N_ELEMENTS(jobs); i++)
		broker_add_message(t, FRONTS_PORT, PORT, 100 + i * JOB_BYTES, jobs[i]);
	broker_add_message(t, PORT, WORKERS_PORT, 500, given[has]);
}

static void begin(struct broker_story *t, enum has has)
{
	tell(&t->story);
	broker_begin(t);
	add_messages(t, has);
	broker_link(t);
	bool is_row = has == A_ROW;
	served_request_add(t->serving, t->h, X, FRONT, 30 * US, 90 * US, 0);
	served_request_add(t->serving, t->h, Y, is_row ? WORKER : OTHER, (is_row ? 38 : 48) * US,
			   (is_row ? 80 : 95) * US, 0);
	dtc_serving_seal(t->serving, true);
}

static void test(gconstpointer data)
{
	enum has has = GPOINTER_TO_UINT(data);
	struct broker_story t;
	begin(&t, has);
	uint32_t broker = dtc_history_find_thread(t.h, BROKER, 50 * US);
	uint32_t worker = dtc_history_find_thread(t.h, WORKER, 50 * US);
	const struct dtc_owned *given =
		dtc_serving_find_owned(t.serving, 0, dtc_history_find_call(t.h, broker, 44 * US), 0);
	const struct dtc_served *work = dtc_serving_find_span(t.serving, 0, worker, 50 * US);
	if (has == A_ROW) {
		g_assert_nonnull(given);
		g_assert_cmpuint(given->request, ==, Y);
	} else if (has == THE_JOB || has == TWO_JOBS) {
		g_assert_nonnull(given);
		g_assert_cmpuint(given->request, ==, X);
		g_assert_cmpuint(given->read, ==, dtc_history_find_call(t.h, broker, 34 * US));
		g_assert_true(given->is_inferred);
		g_assert_nonnull(work);
		g_assert_cmpuint(work->request, ==, X);
		const struct dtc_owned *told =
			dtc_serving_find_owned(t.serving, 0, dtc_history_find_call(t.h, broker, 66 * US), 0);
		g_assert_nonnull(told);
		g_assert_cmpuint(told->request, ==, X);
	} else {
		g_assert_null(given);
		g_assert_null(work);
	}
	broker_clear(&t);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/passed-on/job", GUINT_TO_POINTER(THE_JOB), test);
	g_test_add_data_func("/passed-on/nothing", GUINT_TO_POINTER(NOTHING), test);
	g_test_add_data_func("/passed-on/most", GUINT_TO_POINTER(TWO_JOBS), test);
	g_test_add_data_func("/passed-on/row", GUINT_TO_POINTER(A_ROW), test);
	g_test_add_data_func("/passed-on/another", GUINT_TO_POINTER(MORE_OF_ANOTHER), test);
	return g_test_run();
}
