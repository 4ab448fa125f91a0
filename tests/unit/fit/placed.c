/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages as points: in the order of a comparison by time, difference and number, whatever their times are. */
#include "sync/fit/placed.h"

#include <stdlib.h>

/* A clock that gains 300 ppm against the coordinate: neighbouring readings share one at times. */
static const struct dtc_nominal fast = { .origin_ns = 5000, .shift = 700, .excess = 3e-4 };
static const struct dtc_nominal even = { .origin_ns = -100, .shift = 3, .excess = -2e-5 };

struct expected {
	struct dtc_point point;
	guint message;
};

static int compare_expected(const void *left, const void *right)
{
	const struct expected *p = left, *q = right;
	if (p->point.x != q->point.x)
		return p->point.x < q->point.x ? -1 : 1;
	if (p->point.v != q->point.v)
		return p->point.v < q->point.v ? -1 : 1;
	return (p->message > q->message) - (p->message < q->message);
}

static void check_order(const struct dtc_message *messages, guint count, bool is_upper)
{
	g_autofree struct expected *expected = g_new0(struct expected, count + 1);
	struct dtc_placed placed;
	for (guint i = 0; i < count; i++) {
		int64_t on_a = dtc_nominal_from_node(&fast, is_upper ? messages[i].sent_ns : messages[i].received_ns);
		int64_t on_b = dtc_nominal_from_node(&even, is_upper ? messages[i].received_ns : messages[i].sent_ns);
		expected[i] = (struct expected){ { on_a, on_b - on_a + (is_upper ? 3 : -3) }, i };
	}
	qsort(expected, count, sizeof(*expected), compare_expected);
	dtc_placed_init(&placed, messages, count, is_upper, &fast, &even, 3, NULL);
	for (guint i = 0; i < count; i++) {
		struct dtc_point point = dtc_placed_get_point(&placed, i);
		g_assert_cmpint(point.x, ==, expected[i].point.x);
		g_assert_cmpint(point.v, ==, expected[i].point.v);
		g_assert_cmpuint(dtc_placed_get_message(&placed, i), ==, expected[i].message);
		g_assert_false(dtc_placed_is_trimmed(&placed, i));
	}
	dtc_placed_clear(&placed);
}

static void check_both(const struct dtc_message *messages, guint count)
{
	check_order(messages, count, true);
	check_order(messages, count, false);
}

static void test_order(void)
{
	const guint counts[] = { 0, 1, 2, 3, 50, 5000 };
	const int spans[] = { 1, 3, 1000, 2000000000 };
	for (guint c = 0; c < G_N_ELEMENTS(counts); c++) {
		for (guint s = 0; s < G_N_ELEMENTS(spans); s++) {
			g_autofree struct dtc_message *messages = g_new0(struct dtc_message, counts[c] + 1);
			for (guint i = 0; i < counts[c]; i++) {
				messages[i].sent_ns = g_test_rand_int_range(0, spans[s]);
				messages[i].received_ns = g_test_rand_int_range(0, spans[s]);
			}
			check_both(messages, counts[c]);
		}
	}
}

/* A wrong stamp years away, and all others within a second: they all lie in one stretch of time. */
static void test_far_stamp(void)
{
	struct dtc_message messages[500];
	for (guint i = 0; i < G_N_ELEMENTS(messages); i++)
		messages[i] = (struct dtc_message){ (int64_t)(7919 * i % 1000), (int64_t)(104729 * i % 999) };
	messages[77].sent_ns = (int64_t)1 << 56;
	messages[78].received_ns = -((int64_t)1 << 56);
	check_both(messages, G_N_ELEMENTS(messages));
}

/* What is left out is so by its place, not by its number. */
static void test_trim(void)
{
	const struct dtc_message messages[] = { { 9000000, 1 }, { 5000000, 2 }, { 7000000, 3 } };
	struct dtc_placed placed;
	dtc_placed_init(&placed, messages, G_N_ELEMENTS(messages), true, &fast, &even, 0, NULL);
	dtc_placed_trim(&placed, 1, 42);
	g_assert_false(dtc_placed_is_trimmed(&placed, 0));
	g_assert_true(dtc_placed_is_trimmed(&placed, 1));
	g_assert_false(dtc_placed_is_trimmed(&placed, 2));
	g_assert_cmpuint(dtc_placed_get_message(&placed, 1), ==, 2);
	g_assert_cmpint(placed.by_ns[1], ==, 42);
	dtc_placed_clear(&placed);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/placed/order", test_order);
	g_test_add_func("/placed/far-stamp", test_far_stamp);
	g_test_add_func("/placed/trim", test_trim);
	return g_test_run();
}
