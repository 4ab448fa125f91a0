/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a mistyped word is taken for, and what the help of a command shows. */
#include "collect/console/command_line.h"
#include "analyze/cli/manual.h"
#include "analyze/cli/options.h"
#include "collect/bundle/suggest.h"
#include "collect/console/quantity.h"
#include "dtrace-chain/error.h"

#include <string.h>

static void test_suggest(void)
{
	static const char *const words[] = { "analyze", "requests", "stats", "states", "sync", "top", NULL };
	static const struct {
		const char *word, *want;
	} cases[] = {
		{ "reqests", "requests" },
		{ "request", "requests" },
		{ "rqeuests", "requests" },
		{ "stat", "stats" },
		{ "snyc", "sync" },
		{ "tpo", "top" },
		{ "an", "analyze" },
		{ "xyzzy", NULL },
		{ "", NULL },
		{ "t", NULL },
		{ "explode", NULL },
		{ "analyse", "analyze" },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpstr(dtc_suggest(cases[i].word, words), ==, cases[i].want);
	g_autofree char *longest = g_strnfill(10000, 'a');
	g_assert_null(dtc_suggest(longest, words));
}

static void test_unknown(void)
{
	static const struct {
		const char *word, *hint; /* NULL: nothing is alike */
	} cases[] = {
		{ "--formt", "'--format'" },
		{ "--bundel=x", "'--bundle'" },
		{ "--xyzzy", NULL },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct dtc_common_options options = { 0 };
		g_autoptr(DtcCommandLine) line = dtc_command_line_new(&dtc_chain_program, "stats");
		g_autoptr(GError) error = NULL;
		char *words[] = { (char *)"stats", (char *)cases[i].word, NULL };
		char **argv = words;
		int argc = 2;
		dtc_common_options_add(&options, line);
		g_assert_false(dtc_command_line_parse(line, &argc, &argv, &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
		g_assert_cmpint(strstr(error->message, "did you mean") != NULL, ==, cases[i].hint != NULL);
		if (cases[i].hint)
			g_assert_nonnull(strstr(error->message, cases[i].hint));
		dtc_common_options_clear(&options);
	}
}

static void test_sizes(void)
{
	static const struct {
		const char *text;
		guint64 bytes; /* 0: not a size */
	} cases[] = {
		{ "1", 1 },
		{ "10k", 10240 },
		{ "64GiB", (guint64)64 << 30 },
		{ "2T", (guint64)2 << 40 },
		{ "500MB", (guint64)500 << 20 },
		{ "0", 0 },
		{ "", 0 },
		{ "-1", 0 },
		{ " 1", 0 },
		{ "1x", 0 },
		{ "1Gx", 0 },
		{ "99999999999999999999", 0 },
		{ "9999999T", 0 },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		guint64 bytes = 0;
		g_assert_cmpint(dtc_size_parse("--max-unpacked", cases[i].text, &bytes, &error), ==,
				cases[i].bytes > 0);
		g_assert_cmpuint(bytes, ==, cases[i].bytes);
		if (!cases[i].bytes)
			g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
	}
}

/* Help is as wide as a terminal at most, and has what the manual has; only examples may be wider. */
static void test_help(void)
{
	for (guint i = 0; i < dtc_chain_program.manual_count; i++) {
		const struct dtc_manual *manual = &dtc_chain_program.manuals[i];
		struct dtc_common_options options = { 0 };
		g_autoptr(DtcCommandLine) line = dtc_command_line_new(&dtc_chain_program, manual->name);
		dtc_common_options_add(&options, line);
		g_autofree char *help = dtc_command_line_get_help(line, 80);
		g_auto(GStrv) lines = g_strsplit(help, "\n", -1);
		for (char **at = lines; *at; at++)
			if (!g_str_has_prefix(*at, "  dtrace-chain"))
				g_assert_cmpint(g_utf8_strlen(*at, -1), <=, 80);
		g_assert_nonnull(strstr(help, "--max-unpacked SIZE"));
		g_assert_nonnull(strstr(help, "auto|always|never"));
		g_assert_nonnull(strstr(help, manual->examples[0].command));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/command-line/suggest", test_suggest);
	g_test_add_func("/cli/command-line/unknown", test_unknown);
	g_test_add_func("/cli/command-line/sizes", test_sizes);
	g_test_add_func("/cli/command-line/help", test_help);
	return g_test_run();
}
