/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Durations; sizes are in tests/unit/cli/command_line.c. */
#include "collect/console/quantity.h"

#include "dtrace-chain/error.h"

static void test_durations(void)
{
	static const struct {
		const char *text;
		int64_t ns; /* 0: refused */
	} cases[] = {
		{ "30s", 30000000000 },
		{ "1.5s", 1500000000 },
		{ "500ms", 500000000 },
		{ "5m", 300000000000 },
		{ "5min", 300000000000 },
		{ "2h", 7200000000000 },
		{ "30", 0 },
		{ "", 0 },
		{ "s", 0 },
		{ "-1s", 0 },
		{ "0s", 0 },
		{ "1e99h", 0 },
		{ "9000h", 0 },
		{ "3sx", 0 },
		{ "nan", 0 },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		int64_t ns = 0;
		g_assert_cmpint(dtc_duration_parse("--for", cases[i].text, &ns, &error), ==, cases[i].ns > 0);
		g_assert_cmpint(ns, ==, cases[i].ns);
		if (!cases[i].ns)
			g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/console/quantity/durations", test_durations);
	return g_test_run();
}
