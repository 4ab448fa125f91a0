/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hulls and bounds against the plain definition, tried point by point. */
#include "sync/fit/envelope.h"
#include "sync/fit/network.h"

#include <math.h>

#define POINTS 60

static guint64 state;

static double get_random(void)
{
	state = state * G_GUINT64_CONSTANT(6364136223846793005) + G_GUINT64_CONSTANT(1442695040888963407);
	return (double)(state >> 11) / 9007199254740992.0;
}

static void fill(struct dtc_point *points, guint count, double rate, int sign)
{
	for (guint i = 0; i < count; i++) {
		points[i].x = (int64_t)(get_random() * 1e10);
		points[i].v =
			(int64_t)(rate * (double)points[i].x) + sign * (int64_t)(20000 - 50000 * log(get_random()));
	}
	dtc_points_sort(points, count);
}

static double get_room_plainly(const struct dtc_cloud *cloud, double wander, double rate)
{
	double room = INFINITY;
	for (guint i = 0; i < cloud->upper_count; i++) {
		for (guint j = 0; j < cloud->lower_count; j++) {
			double x = (double)(cloud->upper[i].x - cloud->lower[j].x);
			room = MIN(room, (double)(cloud->upper[i].v - cloud->lower[j].v) - rate * x + wander * fabs(x));
		}
	}
	return room;
}

static double get_bound_plainly(const struct dtc_point *points, guint count, int sign, double wander,
				const struct dtc_rates *rates, int64_t x)
{
	double best = -INFINITY;
	for (guint k = 0; k <= 4000; k++) {
		double rate = rates->lo + (rates->hi - rates->lo) * k / 4000, bound = INFINITY;
		for (guint i = 0; i < count; i++) {
			double distance = (double)(x - points[i].x);
			bound = MIN(bound, sign * ((double)points[i].v + rate * distance) + wander * fabs(distance));
		}
		best = MAX(best, bound);
	}
	return sign * best;
}

static void test_against_definition(void)
{
	for (guint seed = 1; seed <= 20; seed++) {
		struct dtc_point upper[POINTS], lower[POINTS];
		struct dtc_rates box = { -5e-4, 5e-4 }, rates;
		struct dtc_witness witness;
		double wander = seed % 3 * 1e-6, slope;
		state = seed;
		fill(upper, POINTS, 2e-5, 1);
		fill(lower, POINTS, 2e-5, -1);
		struct dtc_cloud cloud = { upper, POINTS, lower, POINTS };
		for (double rate = -1e-4; rate < 1e-4; rate += 1.3e-5)
			g_assert_cmpfloat_with_epsilon(dtc_cloud_get_room(&cloud, wander, rate, &slope, &witness),
						       get_room_plainly(&cloud, wander, rate), 0.1);
		g_assert_true(dtc_cloud_get_rates(&cloud, wander, &box, &rates, &witness));
		g_assert_cmpfloat(rates.lo, <, 2e-5);
		g_assert_cmpfloat(rates.hi, >, 2e-5);
		g_assert_cmpfloat_with_epsilon(get_room_plainly(&cloud, wander, rates.lo), 0, 1);
		g_assert_cmpfloat_with_epsilon(get_room_plainly(&cloud, wander, rates.hi), 0, 1);
		double room, best = dtc_cloud_get_best_rate(&cloud, 0, &box, &room);
		g_assert_cmpfloat(get_room_plainly(&cloud, 0, best), >=, get_room_plainly(&cloud, 0, best + 1e-7));
		g_assert_cmpfloat(get_room_plainly(&cloud, 0, best), >=, get_room_plainly(&cloud, 0, best - 1e-7));
		/* bounds of all points are those of the hull's vertices alone */
		int64_t grid[11];
		double all[11], reduced[11];
		for (guint k = 0; k < 11; k++)
			grid[k] = (int64_t)k * 1200000000 - 1000000000;
		for (guint d = 0; d < 2; d++) {
			struct dtc_point *points = d ? lower : upper;
			int sign = d ? -1 : 1;
			dtc_points_get_bounds(points, POINTS, !d, wander, &rates, grid, 11, all);
			for (guint k = 0; k < 11; k++) {
				double plain = get_bound_plainly(points, POINTS, sign, wander, &rates, grid[k]);
				g_assert_cmpfloat(sign * (all[k] - plain), >=, -0.01); /* never too tight */
				/* the plain one steps coarsely */
				g_assert_cmpfloat(sign * (all[k] - plain), <=, 30);
			}
			if (wander != 0)
				continue;
			guint kept = dtc_points_reduce(points, POINTS, !d, &box);
			g_assert_cmpuint(kept, <, POINTS / 2);
			dtc_points_get_bounds(points, kept, !d, wander, &rates, grid, 11, reduced);
			for (guint k = 0; k < 11; k += 10) /* outside, where all points are on one side */
				g_assert_cmpfloat_with_epsilon(all[k], reduced[k], 0.6);
		}
	}
}

static void test_contradiction(void)
{
	struct dtc_point upper[] = { { 0, 100 }, { 1000000, 100 }, { 2000000, 100 } };
	struct dtc_point lower[] = { { 500000, -100 }, { 1000000, 5000 }, { 1500000, -100 } };
	struct dtc_cloud cloud = { upper, 3, lower, 3 };
	struct dtc_rates box = { -5e-4, 5e-4 }, rates;
	struct dtc_witness witness;
	g_assert_false(dtc_cloud_get_rates(&cloud, 0, &box, &rates, &witness));
	g_assert_cmpuint(witness.lower, ==, 1);
}

/* Coordinates near the limit: a product of 64 bits would wrap. */
static void test_large(void)
{
	const int64_t far = (int64_t)1 << 61;
	struct dtc_point points[] = { { -far, 0 }, { -far / 2, 1000 }, { 0, -5 }, { far / 2, 1000 }, { far, 0 } };
	struct dtc_rates box = { -1, 1 };
	g_assert_cmpuint(dtc_points_reduce(points, 5, true, &box), ==, 3);
	g_assert_cmpint(points[1].v, ==, -5);
}

/* A ring in which the long way round is tighter than the direct pair; then one that cannot be. */
static void test_network(void)
{
	struct dtc_network_edge edges[] = {
		{ 0, 1, -10, 10, 1, 1, 10 },
		{ 1, 2, 95, 105, 100, 1, 5 },
		{ 0, 2, -1000, 1000, 500, 1e-9, 1000 },
	};
	double lo[3], hi[3], theta[3] = { 0 };
	guint edge;
	g_assert_true(dtc_network_get_bounds(edges, 3, 3, 0, lo, hi, &edge));
	g_assert_cmpfloat(lo[2], ==, 85);
	g_assert_cmpfloat(hi[2], ==, 115);
	dtc_network_estimate(edges, 3, 3, 0, theta);
	g_assert_cmpfloat_with_epsilon(theta[2], 101, 0.1);
	theta[2] = 130;
	g_assert_cmpfloat(dtc_network_project(edges, 3, 0, theta), ==, 0);
	g_assert_cmpfloat(theta[2] - theta[1], <=, 105);
	edges[2] = (struct dtc_network_edge){ 0, 2, 200, 300, 250, 1, 50 };
	g_assert_false(dtc_network_get_bounds(edges, 3, 3, 0, lo, hi, &edge));
}

#define RING 10
#define LINE 20000

/*
 * A ring of pairs that all say 1, and a line that hangs on it, numbered such that each round of the bounds comes one
 * node further. Along the line the estimates are met; in the ring, where they cannot be, each gives way by the same.
 */
static void test_long_line(void)
{
	enum { NODES = RING + LINE, EDGES = RING + LINE };
	g_autofree struct dtc_network_edge *edges = g_new0(struct dtc_network_edge, EDGES);
	g_autofree double *lo = g_new(double, NODES), *hi = g_new(double, NODES), *theta = g_new0(double, NODES);
	guint edge;
	for (guint i = 0; i < LINE; i++) /* the node that hangs on the ring has the largest number */
		edges[i] = (struct dtc_network_edge){ RING + i, i + 1 < LINE ? RING + i + 1 : 0, -2, 4, 1, 1, 10 };
	for (guint i = 0; i < RING; i++)
		edges[LINE + i] = (struct dtc_network_edge){ i, (i + 1) % RING, -100, 100, 1, 1, 10 };
	gint64 begin_us = g_get_monotonic_time();
	g_assert_true(dtc_network_get_bounds(edges, EDGES, NODES, 3, lo, hi, &edge));
	dtc_network_estimate(edges, EDGES, NODES, 3, theta);
	g_assert_cmpint(g_get_monotonic_time() - begin_us, <, 20 * G_USEC_PER_SEC);
	g_assert_cmpfloat(lo[0], ==, -300);
	g_assert_cmpfloat(hi[RING], ==, 300 + 2.0 * LINE);
	g_assert_cmpfloat(lo[RING], ==, -300 - 4.0 * LINE);
	g_assert_cmpfloat_with_epsilon(theta[0], 0, 1e-6); /* 10 round: each is off by 1 */
	g_assert_cmpfloat_with_epsilon(theta[RING], -LINE, 1e-6);
	/* two pairs that contradict each other: found in as many rounds as it takes, not in as many as there are nodes
	 */
	edges[1].lo = edges[1].hi = 5;
	edges[0] = (struct dtc_network_edge){ RING + 1, RING + 2, 50, 60, 55, 1, 5 };
	g_assert_false(dtc_network_get_bounds(edges, EDGES, NODES, 3, lo, hi, &edge));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fit/envelope/against-definition", test_against_definition);
	g_test_add_func("/fit/envelope/contradiction", test_contradiction);
	g_test_add_func("/fit/envelope/large", test_large);
	g_test_add_func("/fit/envelope/network", test_network);
	g_test_add_func("/fit/envelope/long-line", test_long_line);
	return g_test_run();
}
