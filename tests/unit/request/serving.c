/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For which request a loop and its database worked when (the story is in tests/support/event_loop.h). */
#include "analyze/request/serving.h"
#include "tests/support/event_loop.h"

static DtcServing *serve(const struct event_loop *e, const guint *requests, guint count)
{
	DtcServing *serving = dtc_serving_new(1, e->histories, e->clocks);
	for (guint i = 0; i < count; i++) {
		struct dtc_place *place = event_loop_place(e, requests[i]);
		dtc_serving_add(serving, requests[i], place);
		dtc_place_free(place);
	}
	dtc_serving_seal(serving);
	return serving;
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
	}
}

static void check_loop_of_two(const DtcServing *serving, const struct event_loop *e)
{
	const int64_t begin_ns = dtc_history_get_thread(e->histories[0], e->loop)->begin_ns;
	const struct dtc_served loop[] = {
		{ begin_ns, 20 * US, X, true }, { 20 * US, 30 * US, X, false }, { 30 * US, 41 * US, Y, true },
		{ 41 * US, 61 * US, Y, false }, { 61 * US, 72 * US, X, true },	{ 72 * US, 81 * US, X, false },
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
	const struct dtc_served db[] = { { begin_ns, 17 * US, X, true }, { 17 * US, 51 * US, X, false } };
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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/serving/loop", test_loop);
	g_test_add_func("/serving/stranger", test_stranger);
	g_test_add_func("/serving/followed", test_followed);
	return g_test_run();
}
