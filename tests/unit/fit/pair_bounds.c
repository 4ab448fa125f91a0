/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shortest ways between any two nodes are those of sync/fit/network.c, whatever the network. */
#include "sync/fit/pair_bounds.h"
#include "sync/fit/network.h"

#include <math.h>

#define NODES 24
#define PAIRS 60
#define KNOTS 2

/* The second knot may have pairs that are known not to agree with their maps, as a file of maps may have. */
static void test_random(void)
{
	const int64_t knots[KNOTS] = { 0, 1000 };
	guint unknown = 0;

	for (guint round = 0; round < 60; round++) {
		struct dtc_node_pair pairs[PAIRS];
		struct dtc_network_edge edges[KNOTS][PAIRS] = { 0 };
		double place[NODES], lo[NODES], hi[NODES];
		guint pair_count = (guint)g_test_rand_int_range(1, PAIRS + 1), unused;
		for (guint i = 0; i < NODES; i++)
			place[i] = g_test_rand_int_range(-1000, 1000);
		for (guint p = 0; p < pair_count; p++) {
			guint a = (guint)g_test_rand_int_range(0, NODES);
			pairs[p] = (struct dtc_node_pair){ a, (a + (guint)g_test_rand_int_range(1, NODES)) % NODES };
		}
		pairs[0].b = pairs[0].a == NODES - 1 ? 0 : NODES - 1; /* so that all are nodes of the network */
		g_autoptr(DtcPairBounds) bounds = dtc_pair_bounds_new(knots, KNOTS, pairs, pair_count);
		for (guint knot = 0; knot < KNOTS; knot++)
			for (guint p = 0; p < pair_count; p++) {
				int64_t at = knot ? (int64_t)(place[pairs[p].b] - place[pairs[p].a]) : 0;
				struct dtc_bound bound = { at - g_test_rand_int_range(0, 50),
							   at + g_test_rand_int_range(0, 50) };
				if (g_test_rand_int_range(0, 9) == 0)
					bound.hi_ns = DTC_BOUND_UNKNOWN_NS;
				if (g_test_rand_int_range(0, 9) == 0)
					bound.lo_ns = -DTC_BOUND_UNKNOWN_NS;
				dtc_pair_bounds_set(bounds, knot, p, bound);
				edges[knot][p] = (struct dtc_network_edge){
					.a = pairs[p].a,
					.b = pairs[p].b,
					.lo = bound.lo_ns == -DTC_BOUND_UNKNOWN_NS ? -INFINITY : (double)bound.lo_ns,
					.hi = bound.hi_ns == DTC_BOUND_UNKNOWN_NS ? INFINITY : (double)bound.hi_ns
				};
			}
		for (guint knot = 0; knot < KNOTS; knot++)
			for (guint a = 0; a < NODES; a++) {
				g_assert_true(
					dtc_network_get_bounds(edges[knot], pair_count, NODES, a, lo, hi, &unused));
				for (guint b = 0; b < NODES; b++) {
					struct dtc_bound found;
					g_assert_true(
						dtc_pair_bounds_get_difference(bounds, a, b, knots[knot], &found));
					bool is_known = isfinite(lo[b]);
					g_assert_cmpint(found.lo_ns, ==,
							is_known ? (int64_t)lo[b] : -DTC_BOUND_UNKNOWN_NS);
					is_known = isfinite(hi[b]);
					g_assert_cmpint(found.hi_ns, ==,
							is_known ? (int64_t)hi[b] : DTC_BOUND_UNKNOWN_NS);
					unknown += !is_known;
				}
			}
	}
	g_assert_cmpuint(unknown, >, 0);
}

/* 0, 1 and 2 contradict each other going around; what 3, 4 and 5 know of each other does not hang on that. */
static void test_contradiction(void)
{
	static const struct {
		struct dtc_node_pair pair;
		struct dtc_bound bound;
	} known[] = { { { 0, 1 }, { 5, 6 } }, { { 1, 2 }, { 5, 6 } }, { { 2, 0 }, { 5, 6 } },
		      { { 3, 4 }, { 7, 9 } }, { { 4, 5 }, { 1, 2 } }, { { 5, 3 }, { -30, 30 } } };
	struct dtc_node_pair pairs[G_N_ELEMENTS(known)];
	const int64_t knot = 0;
	struct dtc_bound found;

	for (guint p = 0; p < G_N_ELEMENTS(known); p++)
		pairs[p] = known[p].pair;
	g_autoptr(DtcPairBounds) bounds = dtc_pair_bounds_new(&knot, 1, pairs, G_N_ELEMENTS(known));
	for (guint p = 0; p < G_N_ELEMENTS(known); p++)
		dtc_pair_bounds_set(bounds, 0, p, known[p].bound);
	g_assert_false(dtc_pair_bounds_get_difference(bounds, 0, 1, 0, &found));
	g_assert_false(dtc_pair_bounds_get_difference(bounds, 2, 1, 0, &found));
	g_assert_true(dtc_pair_bounds_get_difference(bounds, 3, 5, 0, &found));
	g_assert_cmpint(found.lo_ns, ==, 8);
	g_assert_cmpint(found.hi_ns, ==, 11);
	g_assert_true(dtc_pair_bounds_get_difference(bounds, 5, 3, 0, &found));
	g_assert_cmpint(found.lo_ns, ==, -11);
	g_assert_cmpint(found.hi_ns, ==, -8);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pair_bounds/random", test_random);
	g_test_add_func("/pair_bounds/contradiction", test_contradiction);
	return g_test_run();
}
