/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maps of clocks: conversion both ways, bounds, and files written by us and by hand. */
#include "sync/fit/clocks.h"
#include "dtrace-chain/error.h"
#include "sync/fit/saved.h"

#include <glib/gstdio.h>
#include <string.h>

#define EPOCH G_GINT64_CONSTANT(1795168667655937461)

static const char *const names[] = { "backend", "client", "web" };

/* web runs 50 ppm fast and steps by 1 ms; backend is not aligned. */
static DtcClocks *make_clocks(void)
{
	const struct dtc_clock_knot web[] = {
		{ EPOCH, EPOCH - 37000000000, EPOCH - 37000000100, EPOCH - 36999999950 },
		{ EPOCH + 10000500000, EPOCH - 27000000000, EPOCH - 27000000100, EPOCH - 26999999990 },
		{ EPOCH + 10001500001, EPOCH - 26999999999, EPOCH - 27000000100, EPOCH - 26999999900 },
		{ EPOCH + 20002000001, EPOCH - 16999999999, EPOCH - 17000000300, EPOCH - 16999999800 },
	};
	const struct dtc_clock_knot client[] = { { EPOCH - 50, EPOCH - 50, EPOCH - 50, EPOCH - 50 } };
	const struct dtc_clock_knot backend[] = { { 0, 0, 0, 0 } };
	DtcClocks *clocks = dtc_clocks_new(3, 1);
	dtc_clocks_set_node(clocks, 0, 1, backend, 1, 0);
	dtc_clocks_set_node(clocks, 1, 0, client, 1, 0);
	dtc_clocks_set_node(clocks, 2, 0, web, 4, 1e-6);
	return clocks;
}

static char *make_path(void)
{
	char *path = NULL;
	int file = g_file_open_tmp("clocks-XXXXXX", &path, NULL);
	g_assert_cmpint(file, >=, 0);
	g_close(file, NULL);
	return path;
}

/* Any cut or flipped byte is an error or a valid map, never a crash, and any two nodes can be asked about. */
static void check_damaged(const char *path, const char *const *node_names, const int64_t *begin_ns, guint count)
{
	g_autofree char *bytes = NULL;
	gsize size;
	g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
	for (gsize cut = 0; cut < size; cut++) {
		g_autofree char *damaged = g_memdup2(bytes, size);
		damaged[cut] = (char)(damaged[cut] ^ 0x15);
		for (guint flip = 0; flip < 2; flip++) {
			g_autoptr(GError) cause = NULL;
			g_assert_true(g_file_set_contents(path, damaged, (gssize)(flip ? size : cut), NULL));
			g_autoptr(DtcClocks) result = dtc_clocks_read_file(path, node_names, begin_ns, count, &cause);
			g_assert_true((result != NULL) != (cause != NULL));
			for (guint i = 0; result && i < count * count; i++)
				g_assert_cmpint(dtc_clocks_get_uncertainty_ns(result, i / count, i % count,
									      (DtcClusterTime){ 1500 }),
						>=, 0);
		}
	}
}

/*
 * Four nodes known to 100 ns against the reference, node 0. Nodes 1 and 2 know each other to 10, 2 and 3 to 20 ns; at
 * the last knot nothing is known of 2 and 3.
 */
static DtcClocks *make_neighbours(void)
{
	static const int64_t at[] = { 0, 1000, 2000 };
	static const struct dtc_node_pair pairs[] = { { 1, 2 }, { 3, 2 } };
	DtcClocks *clocks = dtc_clocks_new(4, 0);
	for (guint i = 0; i < 4; i++) {
		int64_t width = i ? 100 : 0;
		struct dtc_clock_knot knots[] = { { 0, 0, -width, width }, { 2000, 2000, 2000 - width, 2000 + width } };
		dtc_clocks_set_node(clocks, i, 0, knots, 2, i ? 1e-3 : 0);
	}
	DtcPairBounds *bounds = dtc_pair_bounds_new(at, 3, pairs, 2);
	for (guint k = 0; k < 3; k++)
		dtc_pair_bounds_set(bounds, k, 0, (struct dtc_bound){ -4, k == 1 ? 16 : 6 });
	dtc_pair_bounds_set(bounds, 0, 1, (struct dtc_bound){ -20, 20 });
	dtc_pair_bounds_set(bounds, 1, 1, (struct dtc_bound){ -20, 20 });
	dtc_clocks_take_pair_bounds(clocks, 0, bounds);
	return clocks;
}

static void assert_difference(const DtcClocks *clocks, guint a, guint b, int64_t ns, int64_t lo_ns, int64_t hi_ns)
{
	int64_t lo, hi;
	g_assert_true(dtc_clocks_get_difference(clocks, a, b, (DtcClusterTime){ ns }, &lo, &hi));
	/* bounds may be a nanosecond or two wider by rounding */
	g_assert_cmpint(lo, <=, lo_ns);
	g_assert_cmpint(lo, >=, lo_ns - 2);
	g_assert_cmpint(hi, >=, hi_ns);
	g_assert_cmpint(hi, <=, hi_ns + 2);
}

static void assert_neighbours(const DtcClocks *clocks)
{
	assert_difference(clocks, 1, 1, 500, 0, 0);
	assert_difference(clocks, 0, 2, 500, -100, 100);
	assert_difference(clocks, 1, 2, 0, -4, 6);
	assert_difference(clocks, 2, 1, 0, -6, 4);
	assert_difference(clocks, 1, 2, 500, -4, 11);
	/* by way of node 2 */
	assert_difference(clocks, 1, 3, 1000, -24, 36);
	/* between a knot that knows and one that does not, and beyond the last one, the maps have to do */
	assert_difference(clocks, 1, 3, 1500, -200, 200);
	assert_difference(clocks, 1, 3, 3000, -202, 202);
	/* beyond the last knot the bound of the pair widens by the drift of both clocks */
	assert_difference(clocks, 1, 2, 4000, -4 - 6, 6 + 6);
	g_assert_cmpint(dtc_clocks_get_uncertainty_ns(clocks, 1, 2, (DtcClusterTime){ 1000 }), ==, 16);
	g_assert_cmpint(dtc_clocks_get_uncertainty_ns(clocks, 2, 1, (DtcClusterTime){ 1000 }), ==, 16);
}

static void test_neighbours(void)
{
	static const char *const four[] = { "a", "b", "c", "d" }, *const others[] = { "d", "x", "c", "b" };
	static const int64_t begin_ns[4] = { 0 };
	g_autoptr(DtcClocks) clocks = make_neighbours();
	g_autofree char *path = make_path();
	g_autoptr(GError) error = NULL;
	assert_neighbours(clocks);
	g_assert_true(dtc_clocks_save(clocks, four, path, &error));
	g_autoptr(DtcClocks) read = dtc_clocks_read_file(path, four, begin_ns, 4, &error);
	g_assert_no_error(error);
	assert_neighbours(read);
	/* other nodes in another order, without the reference */
	g_autoptr(DtcClocks) some = dtc_clocks_read_file(path, others, begin_ns, 4, &error);
	g_assert_no_error(error);
	assert_difference(some, 3, 2, 0, -4, 6);
	int64_t lo, hi;
	g_assert_false(dtc_clocks_get_difference(some, 1, 2, (DtcClusterTime){ 0 }, &lo, &hi));
	check_damaged(path, four, begin_ns, 4);
	g_unlink(path);
}

static void test_convert(void)
{
	g_autoptr(DtcClocks) clocks = make_clocks();
	DtcClusterTime lo, hi;
	g_assert_cmpint(dtc_clocks_to_cluster(clocks, 2, (DtcNodeTime){ EPOCH }).ns, ==, EPOCH - 37000000000);
	g_assert_cmpint(dtc_clocks_to_cluster(clocks, 2, (DtcNodeTime){ EPOCH + 5000250000 }).ns, ==,
			EPOCH - 32000000000);
	/* where a bound was found it is that one, without what rounding between two adds */
	dtc_clocks_get_bounds(clocks, 2, (DtcNodeTime){ EPOCH + 10000500000 }, &lo, &hi);
	g_assert_cmpint(lo.ns, ==, EPOCH - 27000000100);
	g_assert_cmpint(hi.ns, ==, EPOCH - 26999999990);
	/* beyond the ends the slope goes on and the bounds widen by the spread */
	DtcNodeTime later = { EPOCH + 20002000001 + 100005000000 };
	g_assert_cmpint(dtc_clocks_to_cluster(clocks, 2, later).ns, ==, EPOCH + 83000000001);
	dtc_clocks_get_bounds(clocks, 2, later, &lo, &hi);
	g_assert_cmpint(hi.ns - (EPOCH + 83000000001), >=, 199 + 100000);
	g_assert_cmpint(hi.ns - (EPOCH + 83000000001), <=, 199 + 100010);
	for (int64_t ns = EPOCH - 3000000007; ns < EPOCH + 30000000000; ns += 777777777) {
		DtcClusterTime time = dtc_clocks_to_cluster(clocks, 2, (DtcNodeTime){ ns });
		DtcNodeTime back = dtc_clocks_to_node(clocks, 2, time);
		g_assert_cmpint(dtc_clocks_to_cluster(clocks, 2, back).ns, <=, time.ns);
		g_assert_cmpint(dtc_clocks_to_cluster(clocks, 2, (DtcNodeTime){ back.ns + 1 }).ns, >, time.ns);
		dtc_clocks_get_bounds(clocks, 2, (DtcNodeTime){ ns }, &lo, &hi);
		g_assert_cmpint(lo.ns, <=, time.ns);
		g_assert_cmpint(hi.ns, >=, time.ns);
	}
	g_assert_cmpint(dtc_clocks_to_cluster(clocks, 2, (DtcNodeTime){ DTC_TIME_NONE }).ns, ==, DTC_TIME_NONE);
	g_assert_cmpint(dtc_clocks_to_cluster(clocks, 2, (DtcNodeTime){ INT64_MAX }).ns, >, EPOCH);
	g_assert_cmpint(dtc_clocks_to_cluster(clocks, 2, (DtcNodeTime){ INT64_MIN + 1 }).ns, <, EPOCH);
	DtcClusterTime middle = { EPOCH - 32000000000 };
	g_assert_cmpint(dtc_clocks_get_uncertainty_ns(clocks, 2, 2, middle), ==, 0);
	g_assert_cmpint(dtc_clocks_get_uncertainty_ns(clocks, 0, 2, middle), ==, INT64_MAX);
	g_assert_cmpint(dtc_clocks_get_uncertainty_ns(clocks, 1, 2, middle), ==,
			dtc_clocks_get_uncertainty_ns(clocks, 2, 1, middle));
	/* the larger side counts: the map may be 100 ns late here, and 30 ns early */
	g_assert_cmpint(dtc_clocks_get_uncertainty_ns(clocks, 1, 2, middle), >=, 100);
	g_assert_cmpint(dtc_clocks_get_uncertainty_ns(clocks, 1, 2, middle), <=, 102);
}

static void test_saved(void)
{
	static const int64_t begin_ns[] = { EPOCH, EPOCH, EPOCH };
	g_autoptr(DtcClocks) clocks = make_clocks();
	g_autofree char *path = make_path();
	g_autoptr(GError) error = NULL;
	g_assert_true(dtc_clocks_save(clocks, names, path, &error));
	g_autoptr(DtcClocks) read = dtc_clocks_read_file(path, names, begin_ns, 3, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(dtc_clocks_get_reference(read), ==, 1);
	for (guint i = 0; i < 3; i++) {
		guint count, read_count;
		const struct dtc_clock_knot *knots = dtc_clocks_get_knots(clocks, i, &count);
		const struct dtc_clock_knot *same = dtc_clocks_get_knots(read, i, &read_count);
		g_assert_cmpmem(knots, count * sizeof(*knots), same, read_count * sizeof(*same));
		g_assert_cmpuint(dtc_clocks_get_group(clocks, i), ==, dtc_clocks_get_group(read, i));
		g_assert_cmpfloat(dtc_clocks_get_spread(clocks, i), ==, dtc_clocks_get_spread(read, i));
	}
	check_damaged(path, names, begin_ns, 3);
	g_unlink(path);
	g_assert_null(dtc_clocks_read_file(path, names, begin_ns, 3, &error));
	g_assert_error(error, DTC_SYNC_ERROR, DTC_ERROR_UNREADABLE);
}

static DtcClocks *read_text(const char *text, GError **error)
{
	static const int64_t begin_ns[] = { EPOCH - 80, EPOCH, EPOCH + 37500000000 };
	g_autofree char *path = make_path();
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	DtcClocks *clocks = dtc_clocks_read_file(path, names, begin_ns, 3, error);
	g_unlink(path);
	return clocks;
}

static void test_by_hand(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcClocks) clocks = read_text("# clocks\nweb +37.5s 50ppm ~20us\nother 1s\nbackend -80ns\n", &error);
	g_assert_no_error(error);
	g_assert_cmpuint(dtc_clocks_get_reference(clocks), ==, 1);
	DtcNodeTime begin = { EPOCH + 37500000000 };
	g_assert_cmpint(dtc_clocks_to_cluster(clocks, 2, begin).ns, ==, EPOCH);
	DtcNodeTime later = { begin.ns + 100005000000 };
	g_assert_cmpint(ABS(dtc_clocks_to_cluster(clocks, 2, later).ns - (EPOCH + 100000000000)), <=, 1);
	DtcClusterTime lo, hi;
	dtc_clocks_get_bounds(clocks, 2, begin, &lo, &hi);
	g_assert_cmpint(hi.ns - EPOCH, ==, 20000);
	g_assert_cmpint(EPOCH - lo.ns, ==, 20000);
	g_assert_cmpint(dtc_clocks_to_cluster(clocks, 0, (DtcNodeTime){ EPOCH }).ns, ==, EPOCH + 80);
	/* the reference is a node that was not asked for: those that were are on its time all the same */
	g_autoptr(DtcClocks) some =
		read_text("reference other\nbackend +1s\nclient +3s\nweb +7s 100ppm\nother2 9s\n", &error);
	g_assert_no_error(error);
	for (guint i = 0; i < 3; i++) {
		g_assert_cmpuint(dtc_clocks_get_group(some, i), ==, 0);
		g_assert_cmpint(dtc_clocks_to_cluster(some, i, (DtcNodeTime){ EPOCH }).ns, ==,
				i == 2 ? EPOCH - 7000000000 + 3749625 : EPOCH - (i ? 3000000000 : 1000000000));
	}
	static const char *const wrong[] = { "web 1s\nclient 2s\nweb 3s\n", "reference web\nreference client\n" };
	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_assert_null(read_text(wrong[i], &error));
		g_assert_error(error, DTC_SYNC_ERROR, DTC_ERROR_DAMAGED);
		g_assert_nonnull(strstr(error->message, i ? "line 2 of" : "line 3 of"));
		g_clear_error(&error);
	}
	static const char *const not_clocks[] = { "web\n",
						  "web 5\n",
						  "web 1s 2\n",
						  "web 1s nanppm\n",
						  "web 1s ~-5us\n",
						  "web 99999999999999999999s\n",
						  "web 1s 50ppm extra\n",
						  "web --1s\n" };
	for (guint i = 0; i < G_N_ELEMENTS(not_clocks); i++) {
		g_assert_null(read_text(not_clocks[i], &error));
		g_assert_error(error, DTC_SYNC_ERROR, DTC_ERROR_DAMAGED);
		g_clear_error(&error);
	}
}

static int64_t draw(int64_t below)
{
	guint64 bits = ((guint64)g_test_rand_int() << 32 | (guint32)g_test_rand_int()) >> 1;

	return (int64_t)(bits % (guint64)below);
}

/* As the header has it, with numbers that cannot overflow. */
static int64_t map_exactly(const struct dtc_clock_knot *knots, int64_t node_ns)
{
	__int128 rise = (__int128)knots[1].cluster_ns - knots[0].cluster_ns;
	__int128 run = (__int128)knots[1].node_ns - knots[0].node_ns;
	__int128 product = rise * ((__int128)node_ns - knots[0].node_ns);

	return (int64_t)(knots[0].cluster_ns + product / run - (product % run < 0));
}

/* Clocks that run alike and pieces of seconds to years, and clocks that hardly run. */
static void test_exact(void)
{
	for (guint round = 0; round < 20000; round++) {
		int64_t run = 1 + draw(G_GINT64_CONSTANT(1) << g_test_rand_int_range(1, 57));
		int64_t rise = round % 4 ? 1 + run - draw(run / 10000 + 1) + draw(run / 10000 + 1)
					 : 1 + draw(G_GINT64_CONSTANT(1) << g_test_rand_int_range(1, 57));
		int64_t node_ns = EPOCH - draw(EPOCH), cluster_ns = EPOCH - draw(EPOCH);
		const struct dtc_clock_knot knots[] = {
			{ node_ns, cluster_ns, cluster_ns, cluster_ns },
			{ node_ns + run, cluster_ns + rise, cluster_ns + rise, cluster_ns + rise },
		};
		g_autoptr(DtcClocks) clocks = dtc_clocks_new(2, 0);
		dtc_clocks_set_node(clocks, 1, 0, knots, 2, 0);
		for (guint i = 0; i < 8; i++) {
			DtcNodeTime at = { node_ns + draw(run) };
			DtcClusterTime mapped = dtc_clocks_to_cluster(clocks, 1, at);
			g_assert_cmpint(mapped.ns, ==, map_exactly(knots, at.ns));
			/* the last reading that is not after it */
			DtcClusterTime asked = { cluster_ns + draw(rise) };
			int64_t reading = dtc_clocks_to_node(clocks, 1, asked).ns;
			if (run / 4 >= rise || reading + 1 >= node_ns + run)
				continue;
			g_assert_cmpint(map_exactly(knots, reading), <=, asked.ns);
			g_assert_cmpint(map_exactly(knots, reading + 1), >, asked.ns);
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fit/clocks/convert", test_convert);
	g_test_add_func("/fit/clocks/exact", test_exact);
	g_test_add_func("/fit/clocks/saved", test_saved);
	g_test_add_func("/fit/clocks/neighbours", test_neighbours);
	g_test_add_func("/fit/clocks/by-hand", test_by_hand);
	return g_test_run();
}
