/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several requests on one connection of a front.
 *
 * "threads": a broker's threads read and answer by turns, as a runtime that schedules by itself has it. Whose an answer
 * is tell its words, although the thread that writes it has read another one's question.
 *
 *   front    20 reads X 24 job     32 reads Y 34 job              60 reads 62 answers X             80 reads 82 answers
 * Y broker               26 reads X's, 28 gives it                              74 reads, 76 answers Y second 36 Y's 38
 * 54 reads, 56 answers X worker                           30 has X's          50 done          64 has Y's 70 done
 *
 * "loop": the front reads X, Y and Z in one turn, and asks for two of them in the next; X waits for a timer.
 *
 *   front    20 X 22 Y 24 Z 26 looks for more 28 asks 31 asks    40 answers X   52 reads 54 answers   62 reads 64
 * answers server                                           35 reads both          50 answers           60 answers
 */
#include "tests/support/broker.h"

#define SECOND 41 /* a thread of the broker */
#define JOB_BYTES 60
#define GIVEN_BYTES 70
#define DONE_BYTES 50
#define METHOD_BYTES 8 /* of a question in pieces */
#define HEADER_BYTES 28
#define FRONTS_OWN 80 /* port */
#define CLIENTS_PORT 50000

enum { X, Y, Z };

/* ---- threads ---- */

static void tell_threads(struct story *s)
{
	story_begin(s, "node");
	story_switch(s, 0, 0, 0, "swapper/0", 0, FRONT, "front");
	story_fork(s, 1, 0, FRONT, FRONT, BROKER, BROKER, "broker");
	story_fork(s, 2, 0, FRONT, FRONT, WORKER, WORKER, "worker");
	story_switch(s, 3, 1, 0, "swapper/1", 0, BROKER, "broker");
	story_switch(s, 4, 2, 0, "swapper/2", 0, WORKER, "worker");
	story_fork(s, 5, 1, BROKER, BROKER, SECOND, BROKER, "broker");
	story_switch(s, 6, 3, 0, "swapper/3", 0, SECOND, "broker");
	connect_to_broker(s, 0, 5, FRONTS_PORT, 7, 8);
	connect_to_broker(s, 2, 10, WORKERS_PORT, 9, 10);
	tell_call(s, 0, 15, "accept", 4, 5);
	tell_call(s, 0, 17, "accept", 4, 6);
	tell_call(s, 0, 20, "read", 5, 60);
	tell_write(s, 0, 24, 7, FRONTS_PORT, PORT, 100, 500, JOB_BYTES);
	tell_call(s, 1, 26, "read", 8, JOB_BYTES);
	tell_write(s, 1, 28, 10, PORT, WORKERS_PORT, 500, 100, GIVEN_BYTES);
	tell_call(s, 2, 30, "read", 9, GIVEN_BYTES);
	tell_call(s, 0, 32, "read", 6, 60);
	tell_write(s, 0, 34, 7, FRONTS_PORT, PORT, 160, 500, JOB_BYTES);
	tell_call(s, 3, 36, "read", 8, JOB_BYTES);
	tell_write(s, 3, 38, 10, PORT, WORKERS_PORT, 570, 100, GIVEN_BYTES);
	tell_write(s, 2, 50, 9, WORKERS_PORT, PORT, 100, 640, DONE_BYTES);
	tell_call(s, 3, 54, "read", 10, DONE_BYTES);
	tell_write(s, 3, 56, 8, PORT, FRONTS_PORT, 500, 220, DONE_BYTES);
	tell_call(s, 0, 60, "read", 7, DONE_BYTES);
	tell_call(s, 0, 62, "write", 5, 20);
	tell_call(s, 2, 64, "read", 9, GIVEN_BYTES);
	tell_write(s, 2, 70, 9, WORKERS_PORT, PORT, 150, 640, DONE_BYTES);
	tell_call(s, 1, 74, "read", 10, DONE_BYTES);
	tell_write(s, 1, 76, 8, PORT, FRONTS_PORT, 550, 220, DONE_BYTES);
	tell_call(s, 0, 80, "read", 7, DONE_BYTES);
	tell_call(s, 0, 82, "write", 6, 20);
}

static void test_threads(void)
{
	struct broker_story t;
	tell_threads(&t.story);
	broker_begin(&t);
	broker_add_message(&t, FRONTS_PORT, PORT, 100, "PUB jobs {resize-upload-0042}");
	broker_add_message(&t, FRONTS_PORT, PORT, 160, "PUB jobs {yesterday's-report-of-7711}");
	broker_add_message(&t, PORT, WORKERS_PORT, 500, "MSG jobs 7 {resize-upload-0042}");
	broker_add_message(&t, PORT, WORKERS_PORT, 570, "MSG jobs 7 {yesterday's-report-of-7711}");
	broker_add_message(&t, WORKERS_PORT, PORT, 100, "PUB inbox {upload-0042}: done");
	broker_add_message(&t, WORKERS_PORT, PORT, 150, "PUB inbox {report-of-7711}: done");
	broker_add_message(&t, PORT, FRONTS_PORT, 500, "MSG inbox {upload-0042}: done");
	broker_add_message(&t, PORT, FRONTS_PORT, 550, "MSG inbox {report-of-7711}: done");
	broker_link(&t);
	served_request_add(t.serving, t.h, X, FRONT, 20 * US, 62 * US, 0);
	served_request_add(t.serving, t.h, Y, FRONT, 32 * US, 82 * US, 0);
	dtc_serving_seal(t.serving, true);

	g_assert_cmpuint(broker_find_owned(&t, SECOND, 38)->request, ==, Y);
	g_assert_cmpuint(broker_find_owned(&t, SECOND, 56)->request, ==, X);
	g_assert_cmpuint(broker_find_owned(&t, SECOND, 56)->read, ==, broker_find_call(&t, SECOND, 54));
	g_assert_cmpuint(broker_find_owned(&t, BROKER, 76)->request, ==, Y);
	/* what the front read is another one's than was believed before the worker's answer was followed */
	g_assert_cmpuint(broker_find_owned(&t, FRONT, 62)->read, ==, broker_find_call(&t, FRONT, 60));
	g_assert_cmpuint(broker_find_owned(&t, FRONT, 82)->read, ==, broker_find_call(&t, FRONT, 80));
	broker_clear(&t);
}

/* ---- loop ---- */

/* A client that is not on this node: its connection is accepted, and its question comes at once. */
static void accept_client(struct story *s, int64_t us, int64_t fd)
{
	uint16_t port = (uint16_t)(CLIENTS_PORT + fd);
	pass(s, us * US, 0, port, FRONTS_OWN, DTC_TCP_SYN, 99, 0, 0);
	pass(s, us * US + 100, 0, FRONTS_OWN, port, DTC_TCP_SYN | DTC_TCP_ACK, 499, 100, 0);
	pass(s, us * US + 200, 0, port, FRONTS_OWN, DTC_TCP_ACK, 100, 500, 0);
	pass(s, us * US + 300, 0, port, FRONTS_OWN, DTC_TCP_ACK, 100, 500, 60);
	tell_call(s, 0, us + 1, "accept", 4, fd);
}

static void answer_client(struct story *s, int64_t us, int64_t fd)
{
	tell_write(s, 0, us, fd, FRONTS_OWN, (uint16_t)(CLIENTS_PORT + fd), 500, 160, 20);
}

/* One question is written as a whole, or in three pieces from then on. */
static void tell_job(struct story *s, int64_t us, uint32_t seq, bool is_split)
{
	if (!is_split) {
		tell_write(s, 0, us, 7, FRONTS_PORT, PORT, seq, 500, JOB_BYTES);
		return;
	}
	tell_write(s, 0, us, 7, FRONTS_PORT, PORT, seq, 500, METHOD_BYTES);
	tell_write(s, 0, us + 1, 7, FRONTS_PORT, PORT, seq + METHOD_BYTES, 500, HEADER_BYTES);
	tell_write(s, 0, us + 2, 7, FRONTS_PORT, PORT, seq + METHOD_BYTES + HEADER_BYTES, 500,
		   JOB_BYTES - METHOD_BYTES - HEADER_BYTES);
}

/* first, second: on which the front answers what the server answered first, and then. */
static void tell_loop(struct story *s, int64_t first, int64_t second, bool is_split)
{
	story_begin(s, "node");
	story_switch(s, 0, 0, 0, "swapper/0", 0, FRONT, "front");
	story_fork(s, 1, 0, FRONT, FRONT, BROKER, BROKER, "server");
	story_switch(s, 3, 1, 0, "swapper/1", 0, BROKER, "server");
	connect_to_broker(s, 0, 5, FRONTS_PORT, 7, 8);
	accept_client(s, 8, 5);
	accept_client(s, 11, 6);
	accept_client(s, 13, 13);
	story_poll(s, 16 * US, 0, "epoll_wait", 3, -1);
	story_leave(s, 19 * US, 0, "epoll_wait", 3);
	tell_call(s, 0, 20, "read", 5, 60);
	tell_call(s, 0, 22, "read", 6, 60);
	tell_call(s, 0, 24, "read", 13, 60);
	story_poll(s, 26 * US, 0, "epoll_wait", 3, 0);
	story_leave(s, 27 * US, 0, "epoll_wait", 0);
	tell_job(s, 28, 100, is_split);
	tell_job(s, 31, 160, is_split);
	story_poll(s, 34 * US, 0, "epoll_wait", 3, 1);
	tell_call(s, 1, 35, "read", 8, 2 * JOB_BYTES);
	story_leave(s, 39 * US, 0, "epoll_wait", 0);
	answer_client(s, 40, 5);
	story_poll(s, 42 * US, 0, "epoll_wait", 3, -1);
	tell_write(s, 1, 50, 8, PORT, FRONTS_PORT, 500, 220, DONE_BYTES);
	story_leave(s, 51 * US + 500, 0, "epoll_wait", 1);
	tell_call(s, 0, 52, "read", 7, DONE_BYTES);
	answer_client(s, 54, first);
	story_poll(s, 56 * US, 0, "epoll_wait", 3, -1);
	tell_write(s, 1, 60, 8, PORT, FRONTS_PORT, 550, 220, DONE_BYTES);
	story_leave(s, 61 * US + 500, 0, "epoll_wait", 1);
	tell_call(s, 0, 62, "read", 7, DONE_BYTES);
	answer_client(s, 64, second);
	story_poll(s, 66 * US, 0, "epoll_wait", 3, -1);
}

static void add_all(const struct broker_story *t, guint first, guint second)
{
	static const int64_t reads_us[] = { [X] = 20, [Y] = 22, [Z] = 24 };
	served_request_add_ended(t->serving, t->h, X, FRONT, reads_us[X] * US, 40 * US);
	served_request_add_ended(t->serving, t->h, first, FRONT, reads_us[first] * US, 54 * US);
	served_request_add_ended(t->serving, t->h, second, FRONT, reads_us[second] * US, 64 * US);
	dtc_serving_seal(t->serving, true);
}

/* Nothing but the order tells: but X, which was read first, was answered before any answer to what was asked came. */
static void test_order(void)
{
	struct broker_story t;
	tell_loop(&t.story, 6, 13, false);
	broker_begin(&t);
	broker_link(&t);
	add_all(&t, Y, Z);
	g_assert_cmpuint(broker_find_owned(&t, FRONT, 28)->request, ==, Y);
	broker_clear(&t);
}

/* It asked for Z first: the answers tell that, by the words that they have of their questions. */
static void test_correlated(void)
{
	struct broker_story t;
	tell_loop(&t.story, 13, 6, false);
	broker_begin(&t);
	broker_add_message(&t, FRONTS_PORT, PORT, 100, "CALL 6 reply-to=5e9c1177-20a4-11ef thumbnails");
	broker_add_message(&t, FRONTS_PORT, PORT, 160, "CALL 6 reply-to=a04481f2-9d31-4c80 totals");
	broker_add_message(&t, PORT, FRONTS_PORT, 500, "DONE 5e9c1177-20a4-11ef 32 of 32");
	broker_add_message(&t, PORT, FRONTS_PORT, 550, "DONE a04481f2-9d31-4c80 12.90");
	broker_link(&t);
	add_all(&t, Z, Y);
	g_assert_cmpuint(broker_find_owned(&t, FRONT, 28)->request, ==, Z);
	g_assert_cmpuint(broker_find_owned(&t, FRONT, 31)->request, ==, Y);
	broker_clear(&t);
}

/* The same, but each question in pieces: the first one of each bears nothing, and both others its id (AMQP). */
static void test_pieces(void)
{
	struct broker_story t;
	tell_loop(&t.story, 13, 6, true);
	broker_begin(&t);
	broker_add_message(&t, FRONTS_PORT, PORT, 100, "METHOD 6id=5e9c1177-20a4-11ef        {5e9c1177-20a4-11ef}");
	broker_add_message(&t, FRONTS_PORT, PORT, 160, "METHOD 6id=a04481f2-9d31-4c80        {a04481f2-9d31-4c80}");
	broker_add_message(&t, PORT, FRONTS_PORT, 500, "DONE 5e9c1177-20a4-11ef 32 of 32");
	broker_add_message(&t, PORT, FRONTS_PORT, 550, "DONE a04481f2-9d31-4c80 12.90");
	broker_link(&t);
	add_all(&t, Z, Y);
	for (int64_t us = 28; us < 34; us++)
		g_assert_cmpuint(broker_find_owned(&t, FRONT, us)->request, ==, us < 31 ? Z : Y);
	broker_clear(&t);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/shared/threads", test_threads);
	g_test_add_func("/shared/pieces", test_pieces);
	g_test_add_func("/shared/order", test_order);
	g_test_add_func("/shared/correlated", test_correlated);
	return g_test_run();
}
