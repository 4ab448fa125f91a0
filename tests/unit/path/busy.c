/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time that a thread on the path worked for another request (the story is in tests/support/event_loop.h). */
#include "analyze/path/busy.h"
#include "tests/support/event_loop.h"
#include "tests/support/made_path.h"

#include <string.h>

struct wanted {
	int64_t end_ns;
	const char *busy_with;
};

struct world {
	struct event_loop loop;
	DtcExchanges *exchanges;
	DtcRequests *requests;
	DtcServing *serving;
};

/* A thread that waits for nobody, and serves nobody. */
static uint32_t find_idle(const struct world *w)
{
	uint32_t idle = 0;
	while (dtc_history_get_thread(w->loop.histories[0], idle)->idle_cpu < 0)
		idle++;
	return idle;
}

/* With has_client, Y is sent by that thread. */
static void world_begin_sent(struct world *w, bool has_client)
{
	event_loop_begin(&w->loop);
	w->exchanges = dtc_exchanges_new(0);
	w->serving = dtc_serving_new(w->loop.links);
	for (guint i = 0; i < 2; i++) {
		const char *id = i == X ? "req-x" : "req-y";
		struct dtc_identity identity = { "x-request-id", id, id };
		struct dtc_exchange e = { .request_ns = i,
					  .request_seq = i,
					  .has_request = true,
					  .method = "GET",
					  .target = "/",
					  .identities = &identity,
					  .identity_count = 1 };
		g_assert_true(dtc_exchanges_add(w->exchanges, &e));
		struct dtc_place *place = event_loop_place(&w->loop, i);
		if (i == Y && has_client) {
			place->is_client = true;
			place->thread = find_idle(w);
		}
		dtc_serving_add(w->serving, i, place);
		dtc_place_free(place);
	}
	dtc_serving_seal(w->serving, true);
	w->requests = dtc_requests_new(w->exchanges, NULL);
	g_assert_cmpstr(dtc_requests_get(w->requests, X)->id, ==, "req-x");
}

static void world_begin(struct world *w)
{
	world_begin_sent(w, false);
}

static void world_clear(struct world *w)
{
	dtc_requests_free(w->requests);
	dtc_exchanges_free(w->exchanges);
	dtc_serving_free(w->serving);
	event_loop_clear(&w->loop);
}

/* One segment of the loop's thread from 25 us on, for 60 us, on the path of a request. */
static void check(const struct world *w, guint request, enum dtc_cause cause, const struct wanted *wanted, guint count)
{
	const struct made_segment segment = { 60 * US, 0, (int32_t)w->loop.loop, "loop", cause, NULL, 7 };
	g_autoptr(DtcPath) path = made_path_new(25 * US, &segment, 1);
	g_autoptr(GError) error = NULL;
	dtc_path_finish(path);
	dtc_path_name_busy(path, request, w->requests, w->serving, w->loop.clocks);
	g_assert_true(dtc_path_check(path, &error));
	g_assert_cmpuint(dtc_path_get_segment_count(path), ==, count);
	for (guint i = 0; i < count; i++) {
		const struct dtc_segment *s = dtc_path_get_segment(path, i);
		g_assert_cmpint(s->end.ns, ==, wanted[i].end_ns);
		g_assert_cmpstr(s->busy_with, ==, wanted[i].busy_with);
		g_assert_cmpint(s->cause, ==, cause);
		/* the step that led here led to the latest part */
		g_assert_cmpint(s->link, ==, i + 1 == count ? DTC_LINK_INFERRED : DTC_LINK_EXACT);
		g_assert_cmpint(s->uncertainty_ns, ==, i + 1 == count ? 7 : 0);
	}
}

static void test_running(void)
{
	struct world w;
	static const struct wanted of_x[] = {
		{ 30 * US, NULL },
		{ 41 * US, "req-y" },
		{ 61 * US, "req-y" },
		{ 85 * US, NULL },
	};
	static const struct wanted of_y[] = {
		{ 30 * US, "req-x" }, { 61 * US, NULL }, { 65 * US, "req-x" }, { 81 * US, "req-x" }, { 85 * US, NULL },
	};
	world_begin(&w);
	check(&w, X, DTC_CAUSE_RUNNING_USER, of_x, G_N_ELEMENTS(of_x));
	check(&w, Y, DTC_CAUSE_RUNNING_KERNEL, of_y, G_N_ELEMENTS(of_y));
	world_clear(&w);
}

/* A wait counts where the thread was in the middle of its work for the other, not where it waited for work. */
static void test_waiting(void)
{
	struct world w;
	static const struct wanted of_x[] = {
		{ 41 * US, NULL },
		{ 61 * US, "req-y" },
		{ 85 * US, NULL },
	};
	static const struct wanted whole[] = { { 85 * US, NULL } };
	world_begin(&w);
	check(&w, X, DTC_CAUSE_DISK, of_x, G_N_ELEMENTS(of_x));
	check(&w, X, DTC_CAUSE_NETWORK_WIRE, whole, 1);
	check(&w, X, DTC_CAUSE_NETWORK_RECEIVE, whole, 1);
	world_clear(&w);
}

/* What the kernel answers by itself is nobody's work, though the thread may be in the middle of a request's. */
static void test_kernel(void)
{
	struct world w;
	world_begin(&w);
	for (guint request = X; request <= Y; request++) {
		g_autoptr(DtcPath) path = dtc_path_new((DtcClusterTime){ 25 * US }, (DtcClusterTime){ 85 * US });
		struct dtc_segment segment = { .begin = { 25 * US },
					       .end = { 85 * US },
					       .thread = w.loop.loop,
					       .cause = DTC_CAUSE_SOFTIRQ,
					       .comm = "loop",
					       .process = "loop",
					       .by_kernel = true };
		dtc_path_add_segment(path, &segment);
		dtc_path_finish(path);
		dtc_path_name_busy(path, request, w.requests, w.serving, w.loop.clocks);
		g_assert_cmpuint(dtc_path_get_segment_count(path), ==, 1);
		g_assert_null(dtc_path_get_segment(path, 0)->busy_with);
	}
	world_clear(&w);
}

/* A write of Y led the walk to a sleep of the loop, or to a thread that serves nobody: that time is Y's. */
static void check_owned(const struct world *w, uint32_t thread, const struct wanted *wanted, guint count)
{
	g_autoptr(DtcPath) path = dtc_path_new((DtcClusterTime){ 25 * US }, (DtcClusterTime){ 85 * US });
	const struct dtc_segment segment = { .begin = { 25 * US },
					     .end = { 85 * US },
					     .thread = thread,
					     .cause = DTC_CAUSE_TIMER,
					     .comm = "n",
					     .process = "n",
					     .owner = Y + 1 };
	dtc_path_add_segment(path, &segment);
	dtc_path_finish(path);
	dtc_path_name_busy(path, X, w->requests, w->serving, w->loop.clocks);
	g_assert_cmpuint(dtc_path_get_segment_count(path), ==, count);
	for (guint i = 0; i < count; i++) {
		g_assert_cmpint(dtc_path_get_segment(path, i)->end.ns, ==, wanted[i].end_ns);
		g_assert_cmpstr(dtc_path_get_segment(path, i)->busy_with, ==, wanted[i].busy_with);
	}
}

static void test_owned(void)
{
	struct world w;
	/* what the loop's own calls tell comes first */
	static const struct wanted loop[] = {
		{ 30 * US, NULL },    { 41 * US, "req-y" }, { 61 * US, "req-y" },
		{ 65 * US, "req-y" }, { 81 * US, NULL },    { 85 * US, "req-y" },
	};
	static const struct wanted other[] = { { 85 * US, "req-y" } };
	world_begin(&w);
	check_owned(&w, w.loop.loop, loop, G_N_ELEMENTS(loop));
	check_owned(&w, find_idle(&w), other, G_N_ELEMENTS(other));
	world_clear(&w);
}

/* It is Y's client that slept, and then asked: that was for nobody. */
static void test_client(void)
{
	struct world w;
	static const struct wanted whole[] = { { 85 * US, NULL } };
	world_begin_sent(&w, true);
	check_owned(&w, find_idle(&w), whole, G_N_ELEMENTS(whole));
	world_clear(&w);
}

/* One segment from 25 us on, for 60 us, of a thread for which another waits, and for that the loop. */
static void check_waited(const struct world *w, uint32_t thread, uint32_t between, const struct wanted *wanted,
			 guint count)
{
	const struct made_segment segment = { 60 * US, 0, (int32_t)thread, "n", DTC_CAUSE_RUNNING_USER, NULL, 0 };
	const struct dtc_waiter waiters[] = { { 0, w->loop.loop, 0 }, { 0, between, 1 } };
	g_autoptr(DtcPath) made = made_path_new(25 * US, &segment, 1);
	g_autoptr(DtcPath) path = dtc_path_new((DtcClusterTime){ 25 * US }, (DtcClusterTime){ 85 * US });
	g_autoptr(GError) error = NULL;
	struct dtc_segment waited = *dtc_path_get_segment(made, 0);
	for (guint i = 0; i < G_N_ELEMENTS(waiters); i++)
		waited.waiter = dtc_path_add_waiter(path, &waiters[i]);
	dtc_path_add_segment(path, &waited);
	dtc_path_finish(path);
	dtc_path_name_busy(path, X, w->requests, w->serving, w->loop.clocks);
	g_assert_true(dtc_path_check(path, &error));
	g_assert_cmpuint(dtc_path_get_segment_count(path), ==, count);
	for (guint i = 0; i < count; i++) {
		g_assert_cmpint(dtc_path_get_segment(path, i)->end.ns, ==, wanted[i].end_ns);
		g_assert_cmpstr(dtc_path_get_segment(path, i)->busy_with, ==, wanted[i].busy_with);
	}
}

/*
 * A thread that serves, but works for nobody at that time, works for those who wait for it: while the loop works for Y
 * and waits, X is held up by Y. What the database does for X is X's, whoever waits. So does a thread that never serves
 * (a kernel's worker that writes what Y syncs): X is held up by Y. What Y itself is held up for is no other request's.
 */
static void test_waiter(void)
{
	struct world w;
	static const struct wanted of_x[] = { { 51 * US, NULL }, { 61 * US, "req-y" }, { 85 * US, NULL } };
	world_begin(&w);
	uint32_t nobody = 0;
	while (nobody == w.loop.loop || nobody == w.loop.db)
		nobody++;
	g_assert_cmpuint(nobody, <, dtc_history_get_thread_count(w.loop.histories[0]));
	check_waited(&w, w.loop.db, nobody, of_x, G_N_ELEMENTS(of_x));
	check_waited(&w, nobody, w.loop.db, of_x, G_N_ELEMENTS(of_x));
	world_clear(&w);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/busy/running", test_running);
	g_test_add_func("/busy/waiting", test_waiting);
	g_test_add_func("/busy/kernel", test_kernel);
	g_test_add_func("/busy/owned", test_owned);
	g_test_add_func("/busy/client", test_client);
	g_test_add_func("/busy/waiter", test_waiter);
	return g_test_run();
}
