/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The value at a place, as sorting gives it, and the order of numbers as integers. */
#include <dtrace-chain/sort.h>

#include <float.h>
#include <glib.h>

static void check(const int64_t *values, gsize count, gsize place)
{
	g_autofree int64_t *sorted = g_memdup2(values, count * sizeof(*values));
	g_autofree int64_t *parted = g_memdup2(values, count * sizeof(*values));
	dtc_sort_int64(sorted, count);
	g_assert_cmpint(dtc_select_int64(parted, count, place), ==, sorted[place]);
	g_assert_cmpint(parted[place], ==, sorted[place]);
	for (gsize i = 0; i < count; i++)
		g_assert_true(i < place ? parted[i] <= parted[place] : parted[i] >= parted[place]);
}

static int64_t make_value(guint shape, guint i, guint count)
{
	switch (shape) {
	case 0:
		return i;
	case 1:
		return -(int64_t)i;
	case 2:
		return 7;
	case 3:
		return MIN(i, count - i); /* up and down: what a middle of three is worst for */
	case 4:
		return i % 2 ? INT64_MIN : INT64_MAX;
	default:
		return g_test_rand_int_range(0, (gint)shape * (gint)shape);
	}
}

static void test_select(void)
{
	for (guint shape = 0; shape < 20; shape++) {
		for (guint count = 1; count < 700; count += 1 + count / 4) {
			g_autofree int64_t *values = g_new(int64_t, count);
			for (guint i = 0; i < count; i++)
				values[i] = make_value(shape, i, count);
			for (gsize place = 0; place < count; place += 1 + count / 20)
				check(values, count, place);
			check(values, count, count - 1);
		}
	}
}

static void test_rank(void)
{
	static const double ascending[] = { -DBL_MAX, -1e9, -1.5, -1, -DBL_MIN, 0, DBL_MIN, 1, 1.5, 1e9, DBL_MAX };
	for (gsize i = 0; i < G_N_ELEMENTS(ascending); i++)
		for (gsize k = 0; k < G_N_ELEMENTS(ascending); k++)
			g_assert_cmpint(dtc_rank_double(ascending[i]) < dtc_rank_double(ascending[k]), ==, i < k);
	g_assert_cmpint(dtc_rank_double(-0.0), ==, dtc_rank_double(0));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/select/select", test_select);
	g_test_add_func("/select/rank", test_rank);
	return g_test_run();
}
