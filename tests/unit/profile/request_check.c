/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hops and work of two requests in one loop: nothing is wrong with them, and each check finds what was broken for it.
 */
#include "analyze/profile/request_check.h"
#include "tests/support/event_loop.h"

#include <string.h>

struct world {
	struct event_loop loop;
	GPtrArray *places;
	GPtrArray *ids;
	DtcServing *serving;
};

static void free_place(gpointer place)
{
	dtc_place_free(place);
}

/* X and Y; X's client is the database, of all threads: one that is traced, and asks for nothing else. */
static void world_begin(struct world *w)
{
	event_loop_begin(&w->loop);
	w->places = g_ptr_array_new_with_free_func(free_place);
	w->ids = g_ptr_array_new();
	w->serving = dtc_serving_new(w->loop.links);
	for (guint i = X; i <= Y; i++) {
		struct dtc_place *place = event_loop_place(&w->loop, i);
		const struct dtc_hop_side *server = &g_array_index(place->hops, struct dtc_hop, 0).server;
		place->is_client = true;
		place->has_end = true;
		place->thread = w->loop.db;
		place->begin.ns = (i == X ? 18 : 39) * US;
		place->end.ns = dtc_history_copy_call(w->loop.histories[0], server->response_last_call).end_ns;
		dtc_serving_add(w->serving, i, place);
		g_ptr_array_add(w->places, place);
		g_ptr_array_add(w->ids, i == X ? "id-x" : "id-y");
	}
	dtc_serving_seal(w->serving, true);
}

static void world_clear(struct world *w)
{
	dtc_serving_free(w->serving);
	g_ptr_array_unref(w->places);
	g_ptr_array_unref(w->ids);
	event_loop_clear(&w->loop);
}

static struct dtc_place *get_place(const struct world *w, guint request)
{
	return g_ptr_array_index(w->places, request);
}

static struct dtc_hop *get_hop(const struct world *w, guint request)
{
	return &g_array_index(get_place(w, request)->hops, struct dtc_hop, 0);
}

/* How many things are wrong of a check; the first of them is described with a text that contains word. */
static uint64_t count_wrong(const struct world *w, const char *name, const char *word)
{
	const struct dtc_request_check_input input = { w->loop.links, w->places, w->ids, w->serving };
	g_autoptr(GArray) checks = g_array_new(FALSE, FALSE, sizeof(struct dtc_check));
	uint64_t wrong_count = G_MAXUINT64;

	dtc_request_check_run(&input, checks);
	for (guint i = 0; i < checks->len; i++) {
		struct dtc_check *check = &g_array_index(checks, struct dtc_check, i);
		if (strcmp(check->name, name) == 0) {
			g_assert_cmpuint(check->count, >, 0);
			wrong_count = check->wrong_count;
			if (wrong_count)
				g_assert_nonnull(strstr(check->detail, word));
		}
		g_free(check->detail);
	}
	g_assert_cmpuint(wrong_count, !=, G_MAXUINT64);
	return wrong_count;
}

static void test_right(void)
{
	struct world w;
	world_begin(&w);
	g_assert_cmpuint(count_wrong(&w, "hops", ""), ==, 0);
	g_assert_cmpuint(count_wrong(&w, "work", ""), ==, 0);
	world_clear(&w);
}

/* The hop to the database, which no capture shows, and one that captures show. */
static void test_reads_too_early(void)
{
	struct world w;
	world_begin(&w);
	guint count;
	struct dtc_followed_hop *followed = (struct dtc_followed_hop *)dtc_serving_get_hops(w.serving, X, &count);
	g_assert_cmpuint(count, ==, 1);
	followed->server_begin_ns = followed->client_begin_ns - 1;
	g_assert_cmpuint(count_wrong(&w, "hops", "id-x"), ==, 1);
	followed->server_begin_ns = followed->client_begin_ns;
	g_assert_cmpuint(count_wrong(&w, "hops", ""), ==, 0);

	struct dtc_hop *hop = get_hop(&w, Y);
	hop->client = hop->server;
	g_assert_cmpuint(count_wrong(&w, "hops", ""), ==, 0);
	hop->client.request_first_call = hop->server.response_last_call; /* written when it had been answered */
	g_assert_cmpuint(count_wrong(&w, "hops", "id-y"), ==, 1);
	hop->client.request_first_call = DTC_NONE;
	hop->client.response_last_call = hop->server.request_first_call; /* read before it was written */
	g_assert_cmpuint(count_wrong(&w, "hops", "id-y"), ==, 1);
	world_clear(&w);
}

static void test_works_outside_of_life(void)
{
	struct world w;
	world_begin(&w);
	struct dtc_place *x = get_place(&w, X), *y = get_place(&w, Y);
	x->end.ns -= 30 * US;
	g_assert_cmpuint(count_wrong(&w, "work", "id-x"), >, 0);
	x->has_end = false; /* nobody knows when it was answered */
	g_assert_cmpuint(count_wrong(&w, "work", ""), ==, 0);
	y->begin.ns += 10 * US;
	g_assert_cmpuint(count_wrong(&w, "work", "id-y"), >, 0);
	y->thread = w.loop.loop; /* it prepares it */
	g_assert_cmpuint(count_wrong(&w, "work", ""), ==, 0);
	world_clear(&w);
}

static void test_works_for_two(void)
{
	struct world w;
	world_begin(&w);
	guint count;
	struct dtc_served *spans = (struct dtc_served *)dtc_serving_get(w.serving, 0, w.loop.loop, &count);
	spans[0].end_ns++;
	g_assert_cmpuint(count_wrong(&w, "work", "another"), ==, 1);
	world_clear(&w);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/request-check/right", test_right);
	g_test_add_func("/request-check/reads-too-early", test_reads_too_early);
	g_test_add_func("/request-check/works-outside-of-life", test_works_outside_of_life);
	g_test_add_func("/request-check/works-for-two", test_works_for_two);
	return g_test_run();
}
