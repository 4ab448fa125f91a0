/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Questions that are under way at a time to one peer of datagrams, and whose answer is whose. A front asks for X and Y
 * on one socket; a loop answers Y first.
 *
 *   front  10 reads X's  11 asks  20 reads Y's  21 asks       41 reads  42 answers Y       61 reads  62 answers X
 *   loop      12 reads               22 reads           40 answers                  60 answers
 */
#include "analyze/request/in_flight.h"
#include "tests/support/datagrams.h"
#include "tests/support/served_path.h"

#define RUN 0
#define UNKNOWN (G_MAXUINT - 1)
#define FRONT 20
#define LOOP 21
#define PORT 18300
#define PORT_FRONT 40001
#define X 0
#define Y 1

static void test_list(void)
{
	guint last = 77;
	g_autoptr(DtcInFlight) flight = dtc_in_flight_new(UNKNOWN);
	g_assert_false(dtc_in_flight_get_last(flight, &last));
	dtc_in_flight_add(flight, X);
	dtc_in_flight_add(flight, X); /* asked once more */
	g_assert_false(dtc_in_flight_is_mixed(flight));
	dtc_in_flight_end(flight, X);
	dtc_in_flight_add(flight, Y);
	g_assert_true(dtc_in_flight_is_mixed(flight));
	dtc_in_flight_end(flight, Y);
	g_assert_false(dtc_in_flight_is_mixed(flight));
	g_assert_true(dtc_in_flight_get_last(flight, &last));
	g_assert_cmpuint(last, ==, X);
	/* one of two is answered, and nobody knows which: nor is it known then which the other one is */
	dtc_in_flight_add(flight, Y);
	dtc_in_flight_end(flight, UNKNOWN);
	g_assert_false(dtc_in_flight_is_mixed(flight));
	g_assert_true(dtc_in_flight_get_last(flight, &last));
	g_assert_cmpuint(last, ==, UNKNOWN);
	dtc_in_flight_end(flight, X);
	g_assert_false(dtc_in_flight_get_last(flight, &last));
}

static bool is_x(gconstpointer data, guint request)
{
	return request == *(const guint *)data;
}

/* Nobody answers what was lost; but what is not known may be anybody's. */
static void test_forget(void)
{
	const guint x = X;
	guint last = 77;
	g_autoptr(DtcInFlight) flight = dtc_in_flight_new(UNKNOWN);
	dtc_in_flight_add(flight, UNKNOWN);
	dtc_in_flight_add(flight, X);
	dtc_in_flight_forget(flight, is_x, &x);
	g_assert_true(dtc_in_flight_get_last(flight, &last));
	g_assert_cmpuint(last, ==, UNKNOWN);
}

static void tell_call(struct story *s, int64_t us, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, us * US, 0, name, fd);
	story_leave(s, us * US + 500, 0, name, result);
}

/* To a client, on a connection that is older than the trace. */
static void answers(struct story *s, int64_t us, int64_t fd)
{
	const struct dtc_headers h =
		story_headers(LOCALHOST, 80, LOCALHOST, (uint16_t)(50000 + fd), 1, 1, DTC_TCP_ACK, 20, 0);
	story_enter(s, us * US, 0, "write", fd);
	story_packet(s, DTC_EVENT_NET_SEND, us * US + 100, 0, &h);
	story_leave(s, us * US + 500, 0, "write", 20);
}

static void tell_poll(struct story *s, int64_t us, uint32_t cpu)
{
	story_poll(s, us * US, cpu, "epoll_wait", 3, 100);
	story_leave(s, us * US + 100, cpu, "epoll_wait", 1);
}

/* is_told: the front answers in the turns in which it reads; else in one turn, after both. */
static struct served_path tell(struct story *s, bool is_told)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, FRONT, "front");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, LOOP, "loop");
	for (int i = 0; i < 2; i++) {
		tell_poll(s, 8 + 10 * i, 0);
		tell_call(s, 10 + 10 * i, "read", 8 + i, 50);
		story_sends(s, 11 + 10 * i, 0, 5, PORT_FRONT, PORT, 40, NULL);
		story_takes(s, 13 + 10 * i, 1, 6, 40);
		tell_poll(s, 15 + 10 * i, 1);
	}
	tell_poll(s, 30, 0);
	story_sends(s, 40, 1, 6, PORT, PORT_FRONT, 40, NULL);
	story_takes(s, 42, 0, 5, 40);
	if (is_told)
		answers(s, 44, 9);
	tell_poll(s, 45, 0);
	tell_poll(s, 46, 1);
	story_sends(s, 60, 1, 6, PORT, PORT_FRONT, 40, NULL);
	story_takes(s, 62, 0, 5, 40);
	if (!is_told)
		answers(s, 63, 9);
	answers(s, 64, 8);
	tell_poll(s, 65, 0);
	story_end(s);
	struct served_path w = served_path_begin(s);
	served_path_add(&w, FRONT, 10 * US, X, false);
	served_path_add(&w, FRONT, 20 * US, Y, false);
	served_path_add(&w, FRONT, 64 * US, X, true);
	served_path_add(&w, FRONT, (is_told ? 44 : 63) * US, Y, true);
	dtc_serving_seal(w.serving, true);
	return w;
}

static const struct dtc_owned *find_owned(const struct served_path *w, int tid, int64_t us)
{
	return dtc_serving_find_owned(w->serving, 0, served_path_find_call(w, tid, us * US), 0);
}

/* Whom the front answers with what it read tells whose that was, to the loop as well. */
static void test_told(void)
{
	struct story s;
	struct served_path w = tell(&s, true);
	const struct dtc_owned *first = find_owned(&w, LOOP, 40), *last = find_owned(&w, LOOP, 60);
	g_assert_nonnull(first);
	g_assert_cmpuint(first->request, ==, Y);
	g_assert_cmpuint(first->read, ==, served_path_find_call(&w, LOOP, 23 * US));
	g_assert_nonnull(last);
	g_assert_cmpuint(last->request, ==, X);
	g_assert_cmpuint(last->read, ==, served_path_find_call(&w, LOOP, 13 * US));
	g_assert_cmpuint(find_owned(&w, FRONT, 44)->read, ==, served_path_find_call(&w, FRONT, 42 * US));
	g_assert_cmpuint(find_owned(&w, FRONT, 64)->read, ==, served_path_find_call(&w, FRONT, 62 * US));
	served_path_clear(&w);
}

/* Else nobody knows, and it is said of neither. */
static void test_not_told(void)
{
	struct story s;
	struct served_path w = tell(&s, false);
	g_assert_null(find_owned(&w, LOOP, 40));
	g_assert_null(find_owned(&w, LOOP, 60));
	g_assert_cmpuint(find_owned(&w, FRONT, 63)->read, ==, served_path_find_call(&w, FRONT, 20 * US));
	g_assert_cmpuint(find_owned(&w, FRONT, 64)->read, ==, served_path_find_call(&w, FRONT, 10 * US));
	served_path_clear(&w);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/in-flight/list", test_list);
	g_test_add_func("/in-flight/forget", test_forget);
	g_test_add_func("/in-flight/told", test_told);
	g_test_add_func("/in-flight/not-told", test_not_told);
	return g_test_run();
}
