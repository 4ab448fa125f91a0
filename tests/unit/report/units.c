/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/units.h"

static void test_durations(void)
{
	static const struct {
		int64_t ns;
		const char *expected;
	} cases[] = {
		{ 0, "0 ns" },
		{ 999, "999 ns" },
		{ 1000, "1.00 µs" },
		{ 9994, "9.99 µs" },
		{ 9995, "10.0 µs" },
		{ 99949, "99.9 µs" },
		{ 99950, "100.0 µs" },
		{ 999949, "999.9 µs" },
		{ 999950, "1.000 ms" },
		{ 812345, "812.3 µs" },
		{ 9999499, "9.999 ms" },
		{ 9999500, "10.00 ms" },
		{ 50063000, "50.06 ms" },
		{ 99995000, "100.0 ms" },
		{ 999949999, "999.9 ms" },
		{ 999950000, "1.000 s" },
		{ 1204400000, "1.204 s" },
		{ 99995000000, "100.0 s" },
		{ -50063000, "-50.06 ms" },
		{ -1, "-1 ns" },
		{ INT64_MAX, "unknown" },
		{ INT64_MAX - 1, "9223372036.9 s" },
		{ INT64_MIN, "-9223372036.9 s" },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *got = dtc_duration_format(cases[i].ns);
		g_assert_cmpstr(got, ==, cases[i].expected);
	}
}

static void test_short_durations(void)
{
	static const struct {
		int64_t ns;
		const char *expected;
	} cases[] = { { 999, "999ns" },	     { 1000, "1.0µs" },	    { 9949, "9.9µs" },	     { 9950, "10µs" },
		      { 364700, "365µs" },   { 999499, "999µs" },   { 999500, "1.0ms" },     { 9950000, "10ms" },
		      { 999500000, "1.0s" }, { 9950000000, "10s" }, { INT64_MAX, "unknown" } };
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *got = dtc_duration_format_short(cases[i].ns);
		g_assert_cmpstr(got, ==, cases[i].expected);
	}
}

static void test_columns(void)
{
	struct dtc_scale ms = dtc_scale_get(93412345, FALSE);
	g_assert_cmpstr(ms.unit, ==, "ms");
	g_autofree char *total = dtc_scale_format(ms, 93412345);
	g_autofree char *half = dtc_scale_format(ms, 500);
	g_autofree char *below = dtc_scale_format(ms, 499);
	g_assert_cmpstr(total, ==, "93.412");
	g_assert_cmpstr(half, ==, "0.001");
	g_assert_cmpstr(below, ==, "0.000");
	g_assert_cmpstr(dtc_scale_get(G_GINT64_CONSTANT(12000000000), FALSE).unit, ==, "s");
	g_assert_cmpstr(dtc_scale_get(900000, FALSE).unit, ==, "µs");
	g_autofree char *exact = dtc_scale_format(dtc_scale_get(93412345, TRUE), 93412345);
	g_assert_cmpstr(exact, ==, "93412345");
}

static void test_percents(void)
{
	static const struct {
		int64_t part, total;
		const char *expected;
	} cases[] = { { 54, 100, "54" }, { 1, 1000, "<1" }, { 0, 10, "0" }, { 5, 0, "0" }, { 995, 1000, "100" } };
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *got = dtc_percent_format(cases[i].part, cases[i].total);
		g_assert_cmpstr(got, ==, cases[i].expected);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/report/units/durations", test_durations);
	g_test_add_func("/report/units/short-durations", test_short_durations);
	g_test_add_func("/report/units/columns", test_columns);
	g_test_add_func("/report/units/percents", test_percents);
	return g_test_run();
}
