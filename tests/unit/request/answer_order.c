/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A front asks for X and for Y on its one connection to a server, which answers twice: nothing tells whom, but that X
 * has waited longer, or that the front answers Y when it has read the first one.
 *
 *   front    30 reads X   32 asks   36 reads Y   38 asks                53 reads   56 answers   65 reads   68 answers
 *   server                34 reads             40 reads   50 answers                   62 answers
 */
#include "tests/support/broker.h"

#define QUESTION_BYTES 60

enum { X, Y };

static void tell(struct story *s, bool is_swapped)
{
	static const uint16_t ports[] = { 50000, 50001 };

	story_begin(s, "node");
	story_switch(s, 0, 0, 0, "swapper/0", 0, FRONT, "front");
	story_fork(s, 1, 0, FRONT, FRONT, BROKER, BROKER, "server");
	story_switch(s, 2, 1, 0, "swapper/1", 0, BROKER, "server");
	connect_to_broker(s, 0, 5, FRONTS_PORT, 7, 8);
	tell_call(s, 0, 18, "accept", 4, 5);
	tell_call(s, 0, 20, "accept", 4, 6);
	tell_call(s, 0, 30, "read", 5, 60);
	tell_write(s, 0, 32, 7, FRONTS_PORT, PORT, 100, 500, QUESTION_BYTES);
	tell_call(s, 1, 34, "read", 8, QUESTION_BYTES);
	tell_call(s, 0, 36, "read", 6, 60);
	tell_write(s, 0, 38, 7, FRONTS_PORT, PORT, 160, 500, QUESTION_BYTES);
	tell_call(s, 1, 40, "read", 8, QUESTION_BYTES);
	story_poll(s, 42 * US, 1, "epoll_wait", 3, -1);
	story_poll(s, 44 * US, 0, "epoll_wait", 3, -1);
	story_leave(s, 48 * US, 1, "epoll_wait", 1);
	for (int64_t i = 0; i < 2; i++) {
		uint16_t port = ports[is_swapped ? 1 - i : i];
		tell_write(s, 1, 50 + 12 * i, 8, PORT, FRONTS_PORT, (uint32_t)(500 + 20 * i), 220, 20);
		story_leave(s, (52 + 12 * i) * US, 0, "epoll_wait", 1);
		tell_call(s, 0, 53 + 12 * i, "read", 7, 20);
		tell_write(s, 0, 56 + 12 * i, port == ports[0] ? 5 : 6, 80, port, 900, 100, 20);
		story_poll(s, (58 + 12 * i) * US, 0, "epoll_wait", 3, -1);
	}
}

static void test(gconstpointer data)
{
	bool is_swapped = GPOINTER_TO_INT(data);
	struct broker_story t;
	tell(&t.story, is_swapped);
	broker_begin(&t);
	broker_link(&t);
	served_request_add(t.serving, t.h, X, FRONT, 30 * US, (is_swapped ? 68 : 56) * US, 0);
	served_request_add(t.serving, t.h, Y, FRONT, 36 * US, (is_swapped ? 56 : 68) * US, 0);
	dtc_serving_seal(t.serving, true);
	for (guint request = X; request <= Y; request++) {
		bool is_first = (request == X) != is_swapped;
		const struct dtc_owned *answer = broker_find_owned(&t, BROKER, is_first ? 50 : 62);
		g_assert_cmpuint(answer->request, ==, request);
		g_assert_cmpuint(answer->read, ==, broker_find_call(&t, BROKER, request == X ? 34 : 40));
	}
	g_assert_true(is_swapped || broker_find_owned(&t, BROKER, 50)->is_inferred);
	broker_clear(&t);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/answer-order/longest", GINT_TO_POINTER(false), test);
	g_test_add_data_func("/answer-order/as-the-front-tells", GINT_TO_POINTER(true), test);
	return g_test_run();
}
