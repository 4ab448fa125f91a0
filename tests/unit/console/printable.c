/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/console/printable.h"

#include <string.h>

static void check(const char *from, guint max, const char *expected)
{
	g_autofree char *got = dtc_printable(from, max);
	g_assert_cmpstr(got, ==, expected);
	g_assert_true(g_utf8_validate(got, -1, NULL));
}

static void test_escapes(void)
{
	g_assert_null(dtc_printable(NULL, 10));
	check("", 10, "");
	check("kworker/0:1H", 64, "kworker/0:1H");
	check("caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac", 64, "café 日本");
	check("\033[2Jboo\n", 64, "\\x1b[2Jboo\\x0a");
	check("a\tb\x7f", 64, "a\\x09b\\x7f");
	check("cut \xe6\x97", 64, "cut \\xe6\\x97");			/* in the middle of a character */
	check("\xff\xfe\x80", 64, "\\xff\\xfe\\x80");			/* no UTF-8 at all */
	check("\xc0\xaf\xed\xa0\x80", 64, "\\xc0\\xaf\\xed\\xa0\\x80"); /* overlong, surrogate */
	check("x\xe2\x80\xaegpj.exe", 64, "x\\xe2\\x80\\xaegpj.exe");	/* right-to-left override */
	check("zero\xe2\x80\x8bwidth", 64, "zero\\xe2\\x80\\x8bwidth");
	check("c1 \xc2\x9b"
	      "31m",
	      64, "c1 \\xc2\\x9b31m"); /* CSI as one character */
}

static void test_bounds(void)
{
	check("abcdef", 6, "abcdef");
	check("abcdefg", 6, "abcde…");
	check("abcde\n", 6, "abcde…"); /* an escape is not cut in its middle */
	check("ééééé", 3, "éé…");
	check("abc", 0, "");

	g_autofree char *huge = g_strnfill(10 * 1000 * 1000, 'x');
	g_autofree char *bounded = dtc_printable(huge, DTC_PRINTABLE_MAX);
	g_assert_cmpint(g_utf8_strlen(bounded, -1), ==, DTC_PRINTABLE_MAX);
}

static void test_columns(void)
{
	g_assert_cmpuint(dtc_printable_get_columns("abc"), ==, 3);
	g_assert_cmpuint(dtc_printable_get_columns("日本"), ==, 4);
	g_assert_cmpuint(dtc_printable_get_columns("e\xcc\x81"), ==, 1); /* combining accent */

	static const struct {
		const char *text;
		guint columns;
		const char *expected;
	} cases[] = {
		{ "lab-backend", 11, "lab-backend" },
		{ "lab-backend", 10, "lab-backe…" },
		{ "lab-backend", 1, "…" },
		{ "lab-backend", 0, "" },
		{ "日本語", 6, "日本語" },
		{ "日本語", 5, "日本…" },
		{ "日本語", 4, "日…" },
		{ "", 3, "" },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *fit = dtc_printable_fit(cases[i].text, cases[i].columns);
		g_assert_cmpstr(fit, ==, cases[i].expected);
		g_assert_cmpuint(dtc_printable_get_columns(fit), <=, cases[i].columns);
	}
}

/* Whatever the bytes: the result is valid, has no control character, and is within its bound. */
static void test_any_bytes(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(20261120);

	for (guint round = 0; round < 20000; round++) {
		char bytes[40] = { 0 };
		guint length = (guint)g_rand_int_range(rand, 0, 39), max = (guint)g_rand_int_range(rand, 0, 50);
		for (guint i = 0; i < length; i++)
			bytes[i] = (char)g_rand_int_range(rand, 1, 256);
		g_autofree char *got = dtc_printable(bytes, max);
		g_assert_true(g_utf8_validate(got, -1, NULL));
		g_assert_cmpint(g_utf8_strlen(got, -1), <=, max);
		for (const char *p = got; *p; p = g_utf8_next_char(p))
			g_assert_false(g_unichar_iscntrl(g_utf8_get_char(p)));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/console/printable/escapes", test_escapes);
	g_test_add_func("/console/printable/bounds", test_bounds);
	g_test_add_func("/console/printable/columns", test_columns);
	g_test_add_func("/console/printable/any-bytes", test_any_bytes);
	return g_test_run();
}
