/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/moment.h"

#include "dtrace-chain/error.h"

static void test_moments(void)
{
	static const struct {
		const char *text;
		bool is_relative;
		int64_t ns;
	} cases[] = {
		{ "1795168587.592869804", false, 1795168587592869804 }, /* not through a double */
		{ "1795168587592869804", false, 1795168587592869804 },
		{ "1795168587592869804ns", false, 1795168587592869804 },
		{ "+1.5s", true, 1500000000 },
		{ "+1.5", true, 1500000000 },
		{ "+2", true, 2000000000 },
		{ "+200ms", true, 200000000 },
		{ "+0.25us", true, 250 },
		{ "+0.25µs", true, 250 },
		{ "+7ns", true, 7 },
		{ "+7.000ns", true, 7 },
		{ "31.9s", false, 31900000000 },
		{ "0", false, 0 },
		{ "9223372036854775807", false, INT64_MAX },
		{ "9223372036.854775807", false, INT64_MAX },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		struct dtc_moment moment;
		g_assert_true(dtc_moment_parse("--from", cases[i].text, &moment, &error));
		g_assert_no_error(error);
		g_assert_cmpint(moment.is_relative, ==, cases[i].is_relative);
		g_assert_cmpint(moment.ns, ==, cases[i].ns);
	}
}

static void test_no_moments(void)
{
	static const char *const texts[] = {
		"",
		"+",
		"-1s",
		"1.",
		".5",
		"+.5s",
		"abc",
		"1s ",
		" 1s",
		"1 s",
		"+1m",
		"1.0000000001",
		"+1.5ns",
		"0x10",
		"9223372036854775808",
		"9223372036.854775808",
		"9223372037s",
		"99999999999999999999999999999999s",
		"1e9",
		"++1s",
		"1.2.3",
	};
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GError) error = NULL;
		struct dtc_moment moment = { true, 77 };
		if (dtc_moment_parse("--to", texts[i], &moment, &error))
			g_error("'%s' was taken for a time", texts[i]);
		g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
		g_assert_true(g_str_has_prefix(error->message, "--to '"));
		g_assert_cmpint(moment.ns, ==, 77); /* untouched */
	}
}

static void test_spans(void)
{
	g_autoptr(GError) error = NULL;
	int64_t ns;

	g_assert_true(dtc_span_parse("--min-duration", "250us", &ns, &error));
	g_assert_cmpint(ns, ==, 250000);
	g_assert_true(dtc_span_parse("--min-duration", "0ns", &ns, &error));
	g_assert_cmpint(ns, ==, 0);
	g_assert_true(dtc_span_parse("--min-duration", "1.5ms", &ns, &error));
	g_assert_cmpint(ns, ==, 1500000);
	g_assert_false(dtc_span_parse("--min-duration", "250", &ns, &error)); /* of what? */
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/moment/moments", test_moments);
	g_test_add_func("/engine/moment/no-moments", test_no_moments);
	g_test_add_func("/engine/moment/spans", test_spans);
	return g_test_run();
}
