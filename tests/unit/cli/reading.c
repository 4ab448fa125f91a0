/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the progress line says of the rest: rate, share and remaining time, and nothing of it that is not known. */
#include "analyze/cli/reading.h"

static void test_remaining(void)
{
	static const struct {
		guint64 done, all;
		double seconds;
		const char *text;
	} cases[] = {
		{ 50, 100, 12, ", 12 s left" },
		{ 99, 100, 10, ", 1 s left" },
		{ 100, 100, 10, ", 0 s left" },
		{ 25, 100, 30, ", 2 min left" },
		{ 10, 100, 1000, ", 2.5 h left" },
		{ 50, 100, 0.9, "" }, /* too early to tell */
		{ 1, 1000, 100, "" },
		{ 0, 100, 100, "" },
		{ 10, 0, 100, "" }, /* all is not known */
		{ G_MAXUINT64 / 2, G_MAXUINT64, 3, ", 3 s left" },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = dtc_progress_get_remaining(cases[i].done, cases[i].all, cases[i].seconds);
		g_assert_cmpstr(text, ==, cases[i].text);
	}
}

static void test_describe(void)
{
	g_autofree char *known = dtc_reading_describe(2100000, 114000000, 300000000, 8);
	g_autofree char *unknown = dtc_reading_describe(2100000, 0, 300000000, 8);
	g_autofree char *first = dtc_reading_describe(4096, 1000, 300000000, 0);

	g_assert_cmpstr(known, ==, "reading: 38 % of 300 MB, 2.1 M events at 0.3 M/s, 14 s left");
	g_assert_cmpstr(unknown, ==, "reading: 2.1 M events at 0.3 M/s");
	g_assert_cmpstr(first, ==, "reading: 0 % of 300 MB, 0.0 M events");
}

static void test_notes(void)
{
	struct dtc_reading reading = { .all_bytes = 100 << 10 };

	dtc_reading_note(&reading, 5000);
	dtc_reading_note(&reading, 90 << 10);
	g_assert_cmpint(reading.steps, ==, 2);
	g_assert_cmpint(reading.kib, ==, 90);
	dtc_reading_note(&reading, G_MAXUINT64);
	g_assert_cmpint(reading.kib, ==, G_MAXINT);
	dtc_reading_end(&reading); /* what cannot be read is not waited for */
	g_assert_cmpint(reading.kib, ==, 100);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/reading/remaining", test_remaining);
	g_test_add_func("/cli/reading/describe", test_describe);
	g_test_add_func("/cli/reading/notes", test_notes);
	return g_test_run();
}
