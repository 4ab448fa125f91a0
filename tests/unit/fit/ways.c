/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/ways.h"

#include <math.h>
#include <stdint.h>

#define NODES 60

struct network {
	struct dtc_way_ends pairs[4 * NODES];
	double length[4 * NODES];
	guint count;
};

static void join(struct network *network, guint a, guint b, double length)
{
	network->pairs[network->count] = (struct dtc_way_ends){ a, b };
	network->length[network->count++] = length;
}

/* Lengths of few values, so that ways and sums are often equal. */
static void make_network(struct network *network, GRand *rand, guint shape)
{
	network->count = 0;
	for (guint i = 1; i < NODES; i++) {
		guint before = shape == 0 ? i - 1 : shape == 1 ? 0 : (guint)g_rand_int_range(rand, 0, (gint32)i);
		join(network, before, i, g_rand_int_range(rand, 1, 6) / 4.0);
	}
	for (guint i = 0; shape == 3 && i < 2 * NODES; i++)
		join(network, (guint)g_rand_int_range(rand, 0, NODES / 2),
		     (guint)g_rand_int_range(rand, NODES / 2, NODES), g_rand_int_range(rand, 1, 6) / 4.0);
}

/* Every length against every way until nothing is shorter. */
static void find_slowly(const struct network *network, guint from, double *distance)
{
	for (guint i = 0; i < NODES; i++)
		distance[i] = i == from ? 0 : INFINITY;
	for (guint round = 0; round < NODES; round++) {
		for (guint p = 0; p < network->count; p++) {
			guint a = network->pairs[p].a, b = network->pairs[p].b;
			distance[b] = MIN(distance[b], distance[a] + network->length[p]);
			distance[a] = MIN(distance[a], distance[b] + network->length[p]);
		}
	}
}

static void test_against_definition(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(4);
	for (guint trial = 0; trial < 40; trial++) {
		struct network network;
		double slow[NODES], quick[NODES], best_sum = INFINITY;
		guint best = 0, before[NODES], order[NODES];
		make_network(&network, rand, trial % 4);
		g_autoptr(DtcWays) ways = dtc_ways_new(network.pairs, network.length, network.count, NODES);
		for (guint from = 0; from < NODES; from++) {
			double sum = 0;
			find_slowly(&network, from, slow);
			dtc_ways_find(ways, from, quick, before, order);
			for (guint i = 0; i < NODES; i++) {
				g_assert_cmpfloat(slow[i], ==, quick[i]);
				sum += slow[i];
				if (i == 0)
					continue;
				const struct dtc_way_ends *last = &network.pairs[before[order[i]]];
				g_assert_cmpfloat(quick[order[i - 1]], <=, quick[order[i]]);
				g_assert_true(last->a == order[i] || last->b == order[i]);
				guint other = last->a == order[i] ? last->b : last->a;
				g_assert_cmpfloat(quick[other] + network.length[before[order[i]]], ==, quick[order[i]]);
			}
			if (sum < best_sum) {
				best_sum = sum;
				best = from;
			}
		}
		g_assert_cmpuint(dtc_ways_find_middle(ways), ==, best);
	}
}

/* What is not joined has no way, and comes last. */
static void test_apart(void)
{
	const struct dtc_way_ends pairs[] = { { 0, 3 } };
	const double length[] = { 2 };
	double distance[4];
	guint order[4];
	g_autoptr(DtcWays) ways = dtc_ways_new(pairs, length, 1, 4);
	dtc_ways_find(ways, 3, distance, NULL, order);
	g_assert_cmpfloat(distance[0], ==, 2);
	g_assert_true(isinf(distance[1]) && isinf(distance[2]));
	g_assert_cmpuint(order[0], ==, 3);
	g_assert_cmpuint(order[1], ==, 0);
	g_assert_cmpuint(order[2], ==, 1);
	g_assert_cmpuint(dtc_ways_find_middle(ways), ==, 0);
}

/* A way from every node of this line would take a minute. */
static void test_long_line(void)
{
	enum { COUNT = 40001 };
	g_autofree struct dtc_way_ends *pairs = g_new(struct dtc_way_ends, COUNT);
	g_autofree double *length = g_new(double, COUNT);
	for (guint i = 0; i + 1 < COUNT; i++) {
		pairs[i] = (struct dtc_way_ends){ i, i + 1 };
		length[i] = 3;
	}
	g_autoptr(DtcWays) ways = dtc_ways_new(pairs, length, COUNT - 1, COUNT);
	gint64 begin_us = g_get_monotonic_time();
	g_assert_cmpuint(dtc_ways_find_middle(ways), ==, COUNT / 2);
	g_assert_cmpint(g_get_monotonic_time() - begin_us, <, 10 * G_USEC_PER_SEC);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fit/ways/against-definition", test_against_definition);
	g_test_add_func("/fit/ways/apart", test_apart);
	g_test_add_func("/fit/ways/long-line", test_long_line);
	return g_test_run();
}
