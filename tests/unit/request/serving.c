/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For which request a loop and its database worked when (the story is in tests/support/event_loop.h). */
#include "tests/support/one_server.h"

#define NONE DTC_NO_REQUEST

static DtcServing *serve(const struct event_loop *e, const guint *requests, guint count)
{
	DtcServing *serving = dtc_serving_new(e->links);
	for (guint i = 0; i < count; i++) {
		struct dtc_place *place = event_loop_place(e, requests[i]);
		dtc_serving_add(serving, requests[i], place);
		dtc_place_free(place);
	}
	dtc_serving_seal(serving, true);
	return send_over(serving, e->links);
}

static void check(const DtcServing *serving, uint32_t thread, const struct dtc_served *wanted, guint wanted_count)
{
	guint count;
	const struct dtc_served *spans = dtc_serving_get(serving, 0, thread, &count);
	g_assert_cmpuint(count, ==, wanted_count);
	for (guint i = 0; i < count; i++) {
		g_assert_cmpint(spans[i].begin_ns, ==, wanted[i].begin_ns);
		g_assert_cmpint(spans[i].end_ns, ==, wanted[i].end_ns);
		g_assert_cmpuint(spans[i].request, ==, wanted[i].request);
		g_assert_cmpint(spans[i].leads, ==, wanted[i].leads);
		g_assert_cmpuint(spans[i].other, ==, wanted[i].other);
	}
}

static void check_loop_of_two(const DtcServing *serving, const struct event_loop *e)
{
	const int64_t begin_ns = dtc_history_get_thread(e->histories[0], e->loop)->begin_ns;
	const struct dtc_served loop[] = {
		{ begin_ns, 20 * US, X, true, NONE }, { 20 * US, 30 * US, X, false, NONE },
		{ 30 * US, 41 * US, Y, true, NONE },  { 41 * US, 61 * US, Y, false, NONE },
		{ 61 * US, 65 * US, X, true, NONE },  { 65 * US, 81 * US, X, false, NONE },
	};
	check(serving, e->loop, loop, G_N_ELEMENTS(loop));
}

static void test_loop(void)
{
	struct event_loop e;
	event_loop_begin(&e);
	static const guint orders[2][2] = { { X, Y }, { Y, X } };
	for (guint i = 0; i < 2; i++) {
		g_autoptr(DtcServing) serving = serve(&e, orders[i], 2);
		check_loop_of_two(serving, &e);
	}
	guint count = 77;
	g_autoptr(DtcServing) none = serve(&e, NULL, 0);
	g_assert_null(dtc_serving_get(none, 0, e.loop, &count));
	g_assert_cmpuint(count, ==, 0);
	event_loop_clear(&e);
}

/* Nobody knows Y: the loop does not work for X while it reads, writes and waits for that. */
static void test_stranger(void)
{
	struct event_loop e;
	static const guint only[] = { X };
	event_loop_begin(&e);
	g_autoptr(DtcServing) serving = serve(&e, only, 1);
	guint count;
	const struct dtc_served *spans = dtc_serving_get(serving, 0, e.loop, &count);
	int64_t in_between_ns = 0;
	for (guint i = 0; i < count; i++) {
		g_assert_cmpuint(spans[i].request, ==, X);
		in_between_ns += MAX(0, MIN(spans[i].end_ns, 60 * US) - MAX(spans[i].begin_ns, 41 * US));
	}
	g_assert_cmpint(in_between_ns, ==, 0);
	event_loop_clear(&e);
}

/* The database has no id: what it read was written for X, and so it works for X, from the
 * accept of that connection on, until it has answered. */
static void test_followed(void)
{
	struct event_loop e;
	static const guint both[] = { X, Y };
	event_loop_begin(&e);
	g_autoptr(DtcServing) serving = serve(&e, both, 2);
	const int64_t begin_ns = dtc_history_get_thread(e.histories[0], e.db)->begin_ns;
	const struct dtc_served db[] = { { begin_ns, 17 * US, X, true, NONE }, { 17 * US, 51 * US, X, false, NONE } };
	check(serving, e.db, db, G_N_ELEMENTS(db));

	guint count;
	const struct dtc_followed_hop *hop = dtc_serving_get_hops(serving, X, &count);
	g_assert_cmpuint(count, ==, 1);
	g_assert_cmpuint(hop->client_thread, ==, e.loop);
	g_assert_cmpuint(hop->server_thread, ==, e.db);
	g_assert_cmpint(hop->client_begin_ns, ==, 24 * US);
	g_assert_cmpint(hop->client_end_ns, ==, 73 * US);
	g_assert_cmpint(hop->server_begin_ns, ==, 29 * US);
	g_assert_cmpint(hop->server_end_ns, ==, 51 * US);
	g_assert_null(dtc_serving_get_hops(serving, Y, &count));
	g_assert_cmpuint(count, ==, 0);
	event_loop_clear(&e);
}

/* A server that speaks first is one all the same: with its answer the work is done. */
static void test_greeting(void)
{
	struct event_loop e;
	static const guint both[] = { X, Y };
	event_loop_begin_greeted(&e, 9);
	g_autoptr(DtcServing) serving = serve(&e, both, 2);
	guint count;
	const struct dtc_served *spans = dtc_serving_get(serving, 0, e.db, &count);
	g_assert_cmpuint(count, >, 0);
	g_assert_cmpint(spans[count - 1].end_ns, ==, 51 * US);
	const struct dtc_followed_hop *hop = dtc_serving_get_hops(serving, X, &count);
	g_assert_cmpuint(count, ==, 1);
	g_assert_cmpint(hop->client_end_ns, ==, 73 * US);
	g_assert_cmpint(hop->server_begin_ns, ==, 29 * US);
	g_assert_cmpint(hop->server_end_ns, ==, 51 * US);
	event_loop_clear(&e);
}

/* It looks for more, in vain, and sleeps: both in the middle of its work. */
static void test_glance(void)
{
	struct server server;
	server_begin(&server);
	event_loop_call(&server.story, 0, "read", 5, 20, 21, 50);
	tell_poll(&server, 26, 27, 0, 0);
	event_loop_call(&server.story, 0, "nanosleep", -1, 30, 60, 0);
	event_loop_call(&server.story, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	const struct dtc_served loop[] = { { 0, 20 * US, X, true, NONE }, { 20 * US, 71 * US, X, false, NONE } };
	check(serving, server.thread, loop, G_N_ELEMENTS(loop));
	server_clear(&server);
}

/*
 * A database sleeps inside of its only question, by way of epoll_wait: what it does there is for that one. When it is
 * ready and waits for its CPU it is not at work.
 */
static void test_asleep(void)
{
	struct server server;
	server_begin(&server);
	event_loop_call(&server.story, 0, "read", 5, 20, 21, 50);
	tell_wait(&server, 22, 42, 0);
	tell_wait(&server, 44, 64, 1);
	event_loop_call(&server.story, 0, "fsync", 9, 65, 68, 0);
	event_loop_call(&server.story, 0, "write", 5, 70, 71, 20);
	tell_wait(&server, 72, 82, 1);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	const struct dtc_served loop[] = { { 0, 20 * US, X, true, NONE },
					   { 20 * US, 37 * US, X, false, NONE },
					   { 40 * US, 59 * US, X, false, NONE },
					   { 62 * US, 71 * US, X, false, NONE } };
	check(serving, server.thread, loop, G_N_ELEMENTS(loop));
	server_clear(&server);
}

/* Two questions are open: for which of them it sleeps is not known. */
static void test_asleep_for_two(void)
{
	struct server server;
	server_begin(&server);
	event_loop_call(&server.story, 0, "read", 5, 20, 21, 50);
	event_loop_call(&server.story, 0, "read", 6, 22, 23, 50);
	event_loop_call(&server.story, 0, "read", 5, 24, 25, 50);
	tell_wait(&server, 26, 46, 0);
	event_loop_call(&server.story, 0, "write", 5, 70, 71, 20);
	event_loop_call(&server.story, 0, "write", 6, 80, 81, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	const struct dtc_served loop[] = { { 0, 20 * US, X, true, NONE },
					   { 20 * US, 22 * US, X, false, NONE },
					   { 24 * US, 26 * US, X, false, NONE },
					   { 26 * US, 70 * US, X, true, NONE },
					   { 70 * US, 71 * US, X, false, NONE } };
	check(serving, server.thread, loop, G_N_ELEMENTS(loop));
	server_clear(&server);
}

/*
 * In one turn, in which it looks for more without waiting, it reads X's question and a stranger's: it acts on them
 * in the order in which they came, and so it asks the database for X. That is told by nothing else.
 */
static void test_mixed_turn(void)
{
	struct server server;
	server_begin(&server);
	event_loop_call(&server.story, 0, "connect", 7, 6, 7, 0);
	event_loop_call(&server.story, 0, "read", 5, 20, 21, 50);
	tell_poll(&server, 22, 23, 0, 1);
	event_loop_call(&server.story, 0, "read", 6, 24, 25, 50);
	tell_poll(&server, 26, 27, 0, 1);
	event_loop_call(&server.story, 0, "read", 5, 28, 29, 50);
	tell_poll(&server, 30, 31, 0, 0);
	event_loop_call(&server.story, 0, "write", 7, 34, 35, 30);
	tell_wait(&server, 36, 56, 1);
	event_loop_call(&server.story, 0, "read", 7, 57, 58, 40);
	event_loop_call(&server.story, 0, "write", 5, 70, 71, 20);
	event_loop_call(&server.story, 0, "write", 6, 80, 81, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	const struct dtc_served loop[] = { { 0, 20 * US, X, true, NONE },	 { 20 * US, 22 * US, X, false, NONE },
					   { 26 * US, 28 * US, X, true, NONE },	 { 28 * US, 30 * US, X, false, NONE },
					   { 34 * US, 36 * US, X, false, NONE }, { 36 * US, 57 * US, X, true, NONE },
					   { 57 * US, 71 * US, X, false, NONE } };
	check(serving, server.thread, loop, G_N_ELEMENTS(loop));
	uint32_t write = dtc_history_find_call(server.histories[0], server.thread, 34 * US);
	g_assert_true(dtc_serving_find_owned(serving, 0, write, 0)->is_inferred);
	server_clear(&server);
}

/* What ends the sleep is another question: from the wakeup on, and while it waits for its CPU, it is not at work for X.
 */
static void test_woken_for_another(void)
{
	struct server server;
	server_begin(&server);
	event_loop_call(&server.story, 0, "read", 5, 20, 21, 50);
	tell_wait(&server, 22, 42, 1);
	event_loop_call(&server.story, 0, "read", 6, 44, 45, 50);
	event_loop_call(&server.story, 0, "write", 6, 50, 51, 20);
	event_loop_call(&server.story, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	const struct dtc_served loop[] = { { 0, 20 * US, X, true, NONE },
					   { 20 * US, 37 * US, X, false, NONE },
					   { 70 * US, 71 * US, X, false, NONE } };
	check(serving, server.thread, loop, G_N_ELEMENTS(loop));
	server_clear(&server);
}

/* Another thread answers what this one read: its sleep is not X's. */
static void test_handed_over(void)
{
	struct server server;
	server_begin(&server);
	story_fork(&server.story, 5 * US, 0, LOOP_TID, LOOP_TID, 21, LOOP_TID, "worker");
	story_switch(&server.story, 6 * US, 1, 0, "swapper/1", 0, 21, "worker");
	event_loop_call(&server.story, 0, "read", 5, 20, 21, 50);
	tell_wait(&server, 22, 62, 1);
	event_loop_call(&server.story, 1, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	const struct dtc_served loop[] = { { 0, 20 * US, X, true, NONE }, { 20 * US, 22 * US, X, false, NONE } };
	check(serving, server.thread, loop, G_N_ELEMENTS(loop));
	server_clear(&server);
}

/*
 * X gives its connection to the database back before it answers, and another request asks on it in the same turn: that
 * answer comes after X's own, and so neither the question nor the answer was X's.
 */
static void test_pooled(void)
{
	struct server server;
	server_begin(&server);
	event_loop_call(&server.story, 0, "connect", 7, 6, 7, 0);
	event_loop_call(&server.story, 0, "read", 5, 20, 21, 50);
	event_loop_call(&server.story, 0, "write", 7, 24, 25, 30);
	tell_wait(&server, 26, 40, 1);
	event_loop_call(&server.story, 0, "read", 7, 41, 42, 40);
	event_loop_call(&server.story, 0, "write", 7, 45, 46, 30);
	event_loop_call(&server.story, 0, "write", 5, 50, 51, 20);
	tell_wait(&server, 60, 80, 1);
	event_loop_call(&server.story, 0, "read", 7, 90, 91, 40);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 50, 0);
	const struct dtc_served loop[] = { { 0, 20 * US, X, true, NONE },
					   { 20 * US, 35 * US, X, false, NONE },
					   { 38 * US, 45 * US, X, false, NONE },
					   { 50 * US, 51 * US, X, false, NONE } };
	check(serving, server.thread, loop, G_N_ELEMENTS(loop));
	server_clear(&server);
}

/* What the server did before the client sent the request was not for it. */
static void test_not_sent_yet(void)
{
	struct server server;
	server_begin(&server);
	event_loop_call(&server.story, 0, "read", 5, 20, 21, 50);
	event_loop_call(&server.story, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 15);
	const struct dtc_served loop[] = { { 15 * US, 20 * US, X, true, NONE }, { 20 * US, 71 * US, X, false, NONE } };
	check(serving, server.thread, loop, G_N_ELEMENTS(loop));
	server_clear(&server);
}

/*
 * A loop connects to the database for X without waiting for it, reads Y, and then writes to the database: what it asks
 * there is X's, for whom it connected. What it asks there later, while it works for Y, is Y's.
 */
static void test_connected_for(void)
{
	struct event_loop e = { 0 };
	struct story *s = &e.story;
	story_begin(s, "node");
	story_switch(s, 0, 0, 0, "swapper/0", 0, LOOP_TID, "loop");
	event_loop_call(s, 0, "epoll_wait", 3, 1, 10, 2);
	event_loop_call(s, 0, "accept", 4, 11, 12, 5);
	event_loop_call(s, 0, "accept", 4, 13, 14, 6);
	event_loop_call(s, 0, "read", 5, 20, 21, 50); /* X */
	event_loop_call(s, 0, "connect", 7, 22, 23, -115);
	event_loop_call(s, 0, "read", 6, 25, 26, 50); /* Y */
	event_loop_call(s, 0, "write", 7, 30, 31, 30);
	event_loop_call(s, 0, "epoll_wait", 3, 45, 70, 1);
	event_loop_call(s, 0, "read", 7, 72, 73, 40);
	event_loop_call(s, 0, "read", 6, 74, 75, 50); /* more of Y */
	event_loop_call(s, 0, "write", 7, 76, 77, 30);
	event_loop_call(s, 0, "write", 6, 78, 79, 20); /* Y is answered */
	event_loop_call(s, 0, "write", 5, 80, 81, 20); /* X is answered */
	story_enter(s, 85 * US, 0, "epoll_wait", 3);
	static const int64_t reads[] = { 20, 25 }, writes[] = { 80, 78 };
	event_loop_finish(&e, reads, writes);
	static const guint both[] = { X, Y };
	g_autoptr(DtcServing) serving = serve(&e, both, 2);
	const int64_t begin_ns = dtc_history_get_thread(e.histories[0], e.loop)->begin_ns;
	const struct dtc_served loop[] = {
		{ begin_ns, 20 * US, X, true, NONE }, { 20 * US, 25 * US, X, false, NONE },
		{ 25 * US, 30 * US, Y, false, NONE }, { 30 * US, 45 * US, X, false, NONE },
		{ 45 * US, 72 * US, X, true, NONE },  { 72 * US, 74 * US, X, false, NONE },
		{ 74 * US, 79 * US, Y, false, NONE }, { 79 * US, 80 * US, X, true, NONE },
		{ 80 * US, 81 * US, X, false, NONE },
	};
	check(serving, e.loop, loop, G_N_ELEMENTS(loop));
	event_loop_clear(&e);
}

/* A loop, X on fd 5 and Y on fd 6, and connections to the database on 7 and 8 that it has had for long. */
static void pool_begin(struct event_loop *e)
{
	struct story *s = &e->story;
	*e = (struct event_loop){ 0 };
	story_begin(s, "node");
	story_switch(s, 0, 0, 0, "swapper/0", 0, LOOP_TID, "loop");
	event_loop_call(s, 0, "accept", 4, 1, 2, 5);
	event_loop_call(s, 0, "accept", 4, 3, 4, 6);
	event_loop_call(s, 0, "connect", 7, 5, 6, 0);
	event_loop_call(s, 0, "connect", 8, 7, 8, 0);
}

static void pool_poll(struct event_loop *e, int64_t from_us, int64_t to_us, int64_t timeout, int64_t result)
{
	story_poll(&e->story, from_us * US, 0, "epoll_wait", 3, timeout);
	story_leave(&e->story, to_us * US, 0, "epoll_wait", result);
}

/* X and Y were read and answered with calls that begin then; nobody works for them afterwards. */
static DtcServing *pool_end(struct event_loop *e, const int64_t reads[2], const int64_t writes[2])
{
	story_switch(&e->story, 290 * US, 1, 0, "swapper/1", 0, DB_TID, "db");
	story_enter(&e->story, 300 * US, 0, "epoll_wait", 3);
	event_loop_finish(e, reads, writes);
	DtcServing *serving = dtc_serving_new(e->links);
	for (guint i = 0; i < 2; i++) {
		struct dtc_place *place = event_loop_place(e, i);
		place->thread = e->loop;
		place->has_end = true;
		place->end.ns = (writes[i] + 1) * US;
		dtc_serving_add(serving, i, place);
		dtc_place_free(place);
	}
	dtc_serving_seal(serving, true);
	return serving;
}

/* A write is for a request, for which the loop had read last at a time. */
static void assert_owned(const struct event_loop *e, const DtcServing *serving, int64_t write_us, guint request,
			 int64_t read_us)
{
	const struct dtc_owned *owned = dtc_serving_find_owned(serving, 0, event_loop_find(e, e->loop, write_us), 0);
	g_assert_nonnull(owned);
	g_assert_cmpuint(owned->request, ==, request);
	g_assert_cmpuint(owned->read, ==, event_loop_find(e, e->loop, read_us));
}

/* For which request a write may have been instead. */
static void assert_other(const struct event_loop *e, const DtcServing *serving, int64_t write_us, guint other)
{
	const struct dtc_owned *owned = dtc_serving_find_owned(serving, 0, event_loop_find(e, e->loop, write_us), 0);
	g_assert_nonnull(owned);
	g_assert_cmpuint(owned->other, ==, other);
	if (other != NONE)
		g_assert_true(owned->is_inferred);
}

/*
 * The loop reads X and Y, and acts on one of them: the order says X, what it does with the answer says Y. Both are
 * named where the rules disagree.
 */
static void test_rules_disagree(void)
{
	struct event_loop e;
	pool_begin(&e);
	event_loop_call(&e.story, 0, "read", 5, 20, 21, 50); /* X */
	event_loop_call(&e.story, 0, "read", 6, 22, 23, 50); /* Y */
	pool_poll(&e, 24, 25, 0, 0);
	event_loop_call(&e.story, 0, "write", 7, 26, 27, 30);
	pool_poll(&e, 30, 50, -1, 1);
	event_loop_call(&e.story, 0, "read", 7, 52, 53, 40);
	struct dtc_headers answer = story_headers(0x0a000002, 80, 0x0a000001, 50001, 900, 100, DTC_TCP_ACK, 20, 9);
	story_enter(&e.story, 56 * US, 0, "write", 6); /* Y is answered; a packet tells that this is a server's end */
	story_packet(&e.story, DTC_EVENT_NET_SEND, 56 * US + 100, 0, &answer);
	story_leave(&e.story, 57 * US, 0, "write", 20);
	pool_poll(&e, 60, 70, 10, 0);
	event_loop_call(&e.story, 0, "write", 5, 72, 73, 20);
	g_autoptr(DtcServing) serving = pool_end(&e, (const int64_t[]){ 20, 22 }, (const int64_t[]){ 72, 56 });
	assert_owned(&e, serving, 26, Y, 22);
	assert_other(&e, serving, 26, X);
	event_loop_clear(&e);
}

/* asyncio reads all that there is, looks for more, and acts then: in the order in which it read. */
static void test_order_of_turn(void)
{
	struct event_loop e;
	pool_begin(&e);
	event_loop_call(&e.story, 0, "read", 5, 20, 21, 50); /* X */
	event_loop_call(&e.story, 0, "read", 6, 22, 23, 50); /* Y */
	pool_poll(&e, 24, 25, 0, 0);
	event_loop_call(&e.story, 0, "write", 7, 26, 27, 30);
	event_loop_call(&e.story, 0, "write", 8, 28, 29, 30);
	pool_poll(&e, 30, 50, -1, 2);
	event_loop_call(&e.story, 0, "read", 7, 52, 53, 40);
	event_loop_call(&e.story, 0, "read", 8, 54, 55, 40);
	pool_poll(&e, 56, 57, 0, 0);
	event_loop_call(&e.story, 0, "write", 5, 60, 61, 20);
	event_loop_call(&e.story, 0, "write", 6, 64, 65, 20);
	g_autoptr(DtcServing) serving = pool_end(&e, (const int64_t[]){ 20, 22 }, (const int64_t[]){ 60, 64 });
	assert_owned(&e, serving, 26, X, 20);
	assert_owned(&e, serving, 28, Y, 22);
	assert_other(&e, serving, 26, Y); /* nothing but the order tells */
	assert_other(&e, serving, 28, X);
	assert_other(&e, serving, 60, NONE);
	assert_owned(&e, serving, 60, X, 52);
	assert_owned(&e, serving, 64, Y, 54);
	event_loop_clear(&e);
}

/*
 * X's answer from the database lets Y ask on the same connection, before X is answered. That it is Y's question its
 * answer tells: in the turn that reads it Y is answered. Or else, if that turn writes more: Y is the one that waits.
 */
static void test_pool_of_one(gconstpointer data)
{
	bool writes_more = GPOINTER_TO_INT(data);
	struct event_loop e;
	pool_begin(&e);
	event_loop_call(&e.story, 0, "read", 5, 20, 21, 50); /* X */
	event_loop_call(&e.story, 0, "write", 7, 24, 25, 30);
	pool_poll(&e, 30, 40, -1, 1);
	event_loop_call(&e.story, 0, "read", 6, 42, 43, 50); /* Y */
	pool_poll(&e, 44, 60, -1, 1);
	event_loop_call(&e.story, 0, "read", 7, 62, 63, 40);
	pool_poll(&e, 64, 65, 0, 0);
	event_loop_call(&e.story, 0, "write", 7, 66, 67, 30);
	event_loop_call(&e.story, 0, "write", 5, 70, 71, 20);
	pool_poll(&e, 72, 90, -1, 1);
	event_loop_call(&e.story, 0, "read", 7, 92, 93, 40);
	if (writes_more)
		event_loop_call(&e.story, 0, "write", 8, 94, 95, 30);
	event_loop_call(&e.story, 0, "write", 6, 96, 97, 20);
	g_autoptr(DtcServing) serving = pool_end(&e, (const int64_t[]){ 20, 42 }, (const int64_t[]){ 70, 96 });
	assert_owned(&e, serving, 24, X, 20);
	assert_owned(&e, serving, 66, Y, 42);
	assert_owned(&e, serving, 70, X, 62);
	assert_owned(&e, serving, 96, Y, 92);
	event_loop_clear(&e);
}

/* What ends the worker's piece: it calls the loop, it sleeps again as before, or nothing does. */
enum piece { CALLS_LOOP, SLEEPS, ENDS_WITH_ANSWER };
#define WAIT_PRIVATE 137
#define MUTEX_PRIVATE 128

static void tell_sleep(struct story *s, int64_t at_us, int64_t operation)
{
	story_futex(s, at_us * US, 1, operation, 0x1000 + operation);
	story_switch(s, (at_us + 1) * US, 1, WORKER_TID, "worker", 1, 0, "swapper/1");
}

static void tell_woken(struct story *s, int64_t at_us)
{
	story_task(s, DTC_EVENT_SCHED_WAKING, at_us * US, 0, WORKER_TID, "worker", 1);
	story_switch(s, (at_us + 1) * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
	story_leave(s, (at_us + 2) * US, 1, "futex", 0);
}

/*
 * The loop wakes a thread of its pool while it works for X, and then gives it a mutex: the thread works for X until its
 * piece is done, and serves nobody else. A wakeup when the loop works for nobody hands nothing over.
 */
static void test_woken_to_work(gconstpointer data)
{
	enum piece piece = GPOINTER_TO_UINT(data);
	struct server server;
	struct story *s = &server.story;
	server_begin(&server);
	story_fork(s, 4 * US + 100, 0, LOOP_TID, LOOP_TID, WORKER_TID, LOOP_TID, "worker");
	story_switch(s, 5 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
	event_loop_call(s, 1, "eventfd2", -1, 6, 7, 9);
	tell_sleep(s, 8, WAIT_PRIVATE);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	tell_woken(s, 24);
	tell_sleep(s, 27, MUTEX_PRIVATE);
	tell_woken(s, 30);
	if (piece == CALLS_LOOP)
		event_loop_call(s, 1, "write", 9, 40, 42, 8);
	if (piece != ENDS_WITH_ANSWER)
		tell_sleep(s, 50, WAIT_PRIVATE);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	if (piece != ENDS_WITH_ANSWER)
		tell_woken(s, 80);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	uint32_t worker = dtc_history_find_thread(server.histories[0], WORKER_TID, 10 * US);
	const int64_t end_us = piece == CALLS_LOOP ? 42 : piece == SLEEPS ? 50 : 71;
	const struct dtc_served spans[] = { { 24 * US, end_us * US, X, false, NONE } };
	check(serving, worker, spans, G_N_ELEMENTS(spans));
	g_assert_true(dtc_serving_only_inherits(serving, 0, worker));
	g_assert_false(dtc_serving_only_inherits(serving, 0, server.thread));
	/* it woke nobody of its process: nobody waited for that */
	struct dtc_taken taken;
	g_assert_false(dtc_serving_find_taken(serving, X, 0, LOOP_TID, 21 * US, 70 * US, &taken));
	server_clear(&server);
}

/* LOCKED: in the middle of a piece; ALONE: there is none; SLEEPS_AGAIN: the loop never waits there, so it is for work.
 */
enum handed { LOCKED, ALONE, SLEEPS_AGAIN };

/*
 * Worker and loop hand on a lock that is waited for as work is, with a timeout (an interpreter's): a piece goes on over
 * that, and none begins with it.
 */
static void test_handed_a_lock(gconstpointer data)
{
	enum handed handed = GPOINTER_TO_UINT(data);
	struct server server;
	struct story *s = &server.story;
	server_begin(&server);
	story_fork(s, 4 * US + 100, 0, LOOP_TID, LOOP_TID, WORKER_TID, LOOP_TID, "worker");
	story_switch(s, 5 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
	if (handed != ALONE)
		tell_sleep(s, 8, WAIT_PRIVATE);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	if (handed != ALONE)
		tell_woken(s, 24);
	story_futex(s, 27 * US, 1, WAIT_PRIVATE, 0x2004);
	story_switch(s, 28 * US, 1, WORKER_TID, "worker", 1, 0, "swapper/1");
	tell_woken(s, 34);
	if (handed != SLEEPS_AGAIN) {
		story_futex(s, 40 * US, 0, WAIT_PRIVATE, 0x2000); /* a condition's other group */
		story_switch(s, 41 * US, 0, LOOP_TID, "loop", 1, 0, "swapper/0");
		story_task(s, DTC_EVENT_SCHED_WAKING, 44 * US, 1, LOOP_TID, "loop", 0);
		story_switch(s, 45 * US, 0, 0, "swapper/0", 0, LOOP_TID, "loop");
		story_leave(s, 46 * US, 0, "futex", 0);
	}
	tell_sleep(s, 50, WAIT_PRIVATE);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	uint32_t worker = dtc_history_find_thread(server.histories[0], WORKER_TID, 10 * US);
	const struct dtc_served one[] = { { 24 * US, 50 * US, X, false, NONE } };
	const struct dtc_served two[] = { { 24 * US, 27 * US, X, false, NONE }, { 34 * US, 50 * US, X, false, NONE } };
	check(serving, worker, handed == LOCKED ? one : two, handed == LOCKED ? 1 : handed == ALONE ? 0 : 2);
	server_clear(&server);
}

/* How a thread is given a piece that the loop waits for: it is woken for it, or made, which ends when it sleeps. */
enum given { WOKEN, MADE };

/* What is done is known from the last time at which the thread woke another one of its process. */
static void test_done(gconstpointer data)
{
	enum given given = GPOINTER_TO_UINT(data);
	struct server server;
	struct story *s = &server.story;
	server_begin(&server);
	if (given == WOKEN) {
		story_fork(s, 4 * US + 100, 0, LOOP_TID, LOOP_TID, WORKER_TID, LOOP_TID, "worker");
		story_switch(s, 5 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
		tell_sleep(s, 8, WAIT_PRIVATE);
	}
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	if (given == WOKEN) {
		tell_woken(s, 24);
	} else {
		story_fork(s, 24 * US, 0, LOOP_TID, LOOP_TID, WORKER_TID, LOOP_TID, "worker");
		story_switch(s, 25 * US, 1, 0, "swapper/1", 0, WORKER_TID, "worker");
	}
	story_poll(s, 30 * US, 0, "epoll_wait", 3, -1);
	story_switch(s, 31 * US, 0, LOOP_TID, "loop", 1, 0, "swapper/0");
	story_task(s, DTC_EVENT_SCHED_WAKING, 50 * US, 1, LOOP_TID, "loop", 0);
	story_switch(s, 52 * US, 0, 0, "swapper/0", 0, LOOP_TID, "loop");
	story_leave(s, 53 * US, 0, "epoll_wait", 1);
	tell_sleep(s, 55, WAIT_PRIVATE);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 20, 70, 0);
	uint32_t worker = dtc_history_find_thread(server.histories[0], WORKER_TID, 40 * US);
	const struct dtc_served spans[] = { { 24 * US, 55 * US, X, false, NONE } };
	check(serving, worker, spans, G_N_ELEMENTS(spans));
	struct dtc_taken taken;
	g_assert_true(dtc_serving_find_taken(serving, X, 0, LOOP_TID, 21 * US, 70 * US, &taken));
	g_assert_cmpuint(taken.thread, ==, worker);
	g_assert_cmpuint(taken.call, ==, DTC_NONE);
	g_assert_cmpint(taken.at_ns, ==, 50 * US);
	/* a piece that was begun before is another question's */
	g_assert_false(dtc_serving_find_taken(serving, X, 0, LOOP_TID, 24 * US, 70 * US, &taken));
	server_clear(&server);
}

static void ask_for_room(struct story *s, int64_t at_us, int64_t fd)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, at_us * US, 0);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "epoll_ctl");
	e.v[DTC_CALL_FD] = 3;
	e.v[DTC_CALL_FD2] = fd;
	e.v[DTC_CALL_OP] = 3; /* EPOLL_CTL_MOD */
	dtc_machine_apply(s->machine, &e);
	story_leave(s, (at_us + 1) * US, 0, "epoll_ctl", 0);
}

/* What the broker does about the worker's connection in the turn that reads X. */
enum room { ASKS_FOR_ROOM, ASKS_ON_ITS_OWN, READS_IN_BETWEEN };

/*
 * A broker writes a job to a worker that has asked for one, in a turn in which it reads nothing: it has asked to be
 * told of room there in the turn that read X.
 */
static void test_room(gconstpointer data)
{
	enum room room = GPOINTER_TO_UINT(data);
	struct server server;
	struct story *s = &server.story;
	server_begin(&server);
	event_loop_call(s, 0, "read", 5, 6, 7, 10); /* the head of X */
	tell_poll(&server, 8, 9, 60000, 1);
	event_loop_call(s, 0, "read", 6, 10, 11, 8); /* a worker asks for a job */
	tell_poll(&server, 12, 19, 60000, 1);
	event_loop_call(s, 0, "read", 5, 20, 21, 50);
	ask_for_room(s, 23, 5);
	ask_for_room(s, 25, room == ASKS_ON_ITS_OWN ? 5 : 6);
	tell_poll(&server, 28, 29, 60000, 1);
	if (room == READS_IN_BETWEEN)
		event_loop_call(s, 0, "read", 6, 30, 31, 8);
	event_loop_call(s, 0, "write", 6, 33, 34, 90);
	tell_poll(&server, 35, 60, 60000, 1);
	event_loop_call(s, 0, "read", 6, 62, 63, 40);
	event_loop_call(s, 0, "write", 5, 70, 71, 20);
	g_autoptr(DtcServing) serving = server_end(&server, 6, 70, 0);
	uint32_t write = dtc_history_find_call(server.histories[0], server.thread, 33 * US);
	const struct dtc_owned *owned = dtc_serving_find_owned(serving, 0, write, 0);
	if (room == ASKS_FOR_ROOM) {
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
	g_test_add_func("/serving/loop", test_loop);
	g_test_add_func("/serving/stranger", test_stranger);
	g_test_add_func("/serving/followed", test_followed);
	g_test_add_func("/serving/greeting", test_greeting);
	g_test_add_func("/serving/connected-for", test_connected_for);
	g_test_add_func("/serving/glance", test_glance);
	g_test_add_func("/serving/asleep", test_asleep);
	g_test_add_func("/serving/asleep-for-two", test_asleep_for_two);
	g_test_add_func("/serving/mixed-turn", test_mixed_turn);
	g_test_add_func("/serving/woken-for-another", test_woken_for_another);
	g_test_add_func("/serving/handed-over", test_handed_over);
	g_test_add_func("/serving/pooled", test_pooled);
	g_test_add_func("/serving/not-sent-yet", test_not_sent_yet);
	g_test_add_func("/serving/order-of-turn", test_order_of_turn);
	g_test_add_func("/serving/rules-disagree", test_rules_disagree);
	g_test_add_data_func("/serving/woken-to-work/calls", GUINT_TO_POINTER(CALLS_LOOP), test_woken_to_work);
	g_test_add_data_func("/serving/woken-to-work/sleeps", GUINT_TO_POINTER(SLEEPS), test_woken_to_work);
	g_test_add_data_func("/serving/woken-to-work/ends", GUINT_TO_POINTER(ENDS_WITH_ANSWER), test_woken_to_work);
	g_test_add_data_func("/serving/handed/lock", GUINT_TO_POINTER(LOCKED), test_handed_a_lock);
	g_test_add_data_func("/serving/handed/lock-alone", GUINT_TO_POINTER(ALONE), test_handed_a_lock);
	g_test_add_data_func("/serving/handed/work", GUINT_TO_POINTER(SLEEPS_AGAIN), test_handed_a_lock);
	g_test_add_data_func("/serving/room/asked", GUINT_TO_POINTER(ASKS_FOR_ROOM), test_room);
	g_test_add_data_func("/serving/room/own", GUINT_TO_POINTER(ASKS_ON_ITS_OWN), test_room);
	g_test_add_data_func("/serving/room/reads", GUINT_TO_POINTER(READS_IN_BETWEEN), test_room);
	g_test_add_data_func("/serving/done/woken", GUINT_TO_POINTER(WOKEN), test_done);
	g_test_add_data_func("/serving/done/made", GUINT_TO_POINTER(MADE), test_done);
	g_test_add_data_func("/serving/pool/next-act", GINT_TO_POINTER(false), test_pool_of_one);
	g_test_add_data_func("/serving/pool/longest-waiting", GINT_TO_POINTER(true), test_pool_of_one);
	return g_test_run();
}
