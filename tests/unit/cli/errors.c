/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stderr and the exit code say. Each case runs in a process of its own. */
#include "analyze/cli/command.h"

#include "dtrace-chain/error.h"

#include <stdlib.h>

static void report(GQuark domain, int code, const char *message)
{
	g_autoptr(GError) error = g_error_new_literal(domain, code, message);
	exit(dtc_cli_report_error(error));
}

static void assert_report(const char *path, int code, const char *pattern)
{
	g_test_trap_subprocess(path, 0, 0);
	g_test_trap_assert_stderr(pattern);
	g_test_trap_assert_stdout("*");
	g_assert_true(code == 0 ? g_test_trap_has_passed() : !g_test_trap_has_passed());
}

static void test_hint(void)
{
	if (g_test_subprocess())
		report(DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND, "there is no node 'x'\nthe nodes are: a, b");
	assert_report(NULL, 1, "dtrace-chain: there is no node 'x'\nhint: the nodes are: a, b\n");
}

static void test_hint_that_says_so(void)
{
	if (g_test_subprocess())
		report(DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, "broken\nhint: record again\nor salvage");
	assert_report(NULL, 1, "dtrace-chain: broken\nhint: record again\n      or salvage\n");
}

static void test_option(void)
{
	if (g_test_subprocess())
		report(G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION, "Unknown option --x");
	assert_report(NULL, 2, "dtrace-chain: unknown option --x\nhint: *\n");
}

static void test_hostile_name(void)
{
	if (g_test_subprocess())
		report(DTC_SYNC_ERROR, DTC_ERROR_INFEASIBLE, "thread '\033[2J\xff' is odd");
	assert_report(NULL, 1, "dtrace-chain: thread '?x1b?2J?xff' is odd\n");
}

/* The code is what scripts see: 2 for what the user typed, 1 for what the recordings lack. */
static void test_codes(void)
{
	static const struct {
		GQuark (*domain)(void);
		int code, expected;
	} cases[] = {
		{ dtc_collect_error_quark, DTC_ERROR_USAGE, 2 },
		{ dtc_sync_error_quark, DTC_ERROR_USAGE, 2 },
		{ dtc_analyze_error_quark, DTC_ERROR_USAGE, 2 },
		{ dtc_analyze_error_quark, DTC_ERROR_NOT_FOUND, 1 },
		{ dtc_sync_error_quark, DTC_ERROR_INFEASIBLE, 1 },
		{ dtc_collect_error_quark, DTC_ERROR_UNREADABLE, 1 },
		{ g_file_error_quark, 0, 1 }, /* code 0 of a foreign domain is not our USAGE */
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = g_error_new_literal(cases[i].domain(), cases[i].code, "message of a test");
		g_assert_cmpint(dtc_cli_report_error(error), ==, cases[i].expected);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/errors/hint", test_hint);
	g_test_add_func("/cli/errors/hint-that-says-so", test_hint_that_says_so);
	g_test_add_func("/cli/errors/option", test_option);
	g_test_add_func("/cli/errors/hostile-name", test_hostile_name);
	g_test_add_func("/cli/errors/codes", test_codes);
	return g_test_run();
}
