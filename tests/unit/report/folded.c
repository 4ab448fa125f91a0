/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/folded.h"

#include "tests/support/hostile.h"

#include <string.h>

static void test_stacks(void)
{
	static const struct made_segment segments[] = {
		{ 100, 0, 11, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 7, 1, 21, "db", DTC_CAUSE_DISK, "fsync(/a;b)", 0 },
		{ 30, 0, 11, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 5, 1, 21, "db", DTC_CAUSE_DISK, "fsync(/a;b)", 0 },
		{ 2, 1, -1, "", DTC_CAUSE_UNKNOWN, NULL, 0 },
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(1000, segments, G_N_ELEMENTS(segments));
	g_autoptr(DtcReport) report = made_path_report(path, NULL, "r", &error);
	g_assert_no_error(error);
	g_autofree char *text = dtc_report_to_folded(report);

	g_assert_cmpstr(text, ==,
			"db@beta;db 21;disk;fsync(/a:b) 12\n"
			"shop@alpha;shop 11;running-user 130\n"
			"unknown@beta;(no thread);unknown 2\n");
}

/* Whatever the names: each line is frames, a blank, a number, and the numbers sum to the whole. */
static void test_hostile(void)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcPath) path = NULL;
	g_autoptr(DtcReport) report = hostile_report(findings, &path);
	g_autofree char *text = dtc_report_to_folded(report);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	int64_t sum_ns = 0;
	guint count = 0;

	g_assert_true(g_utf8_validate(text, -1, NULL));
	for (guint i = 0; *lines[i]; i++, count++) {
		const char *number = strrchr(lines[i], ' ');
		g_assert_nonnull(number);
		g_assert_cmpuint(strlen(number + 1), ==, strspn(number + 1, "0123456789"));
		sum_ns += g_ascii_strtoll(number + 1, NULL, 10);
		g_auto(GStrv) frames = g_strsplit(lines[i], ";", -1);
		g_assert_cmpuint(g_strv_length(frames), ==, 4);
		for (const char *c = lines[i]; *c; c++)
			g_assert_false(g_ascii_iscntrl(*c));
	}
	g_assert_cmpuint(count, ==, 4);
	g_assert_cmpint(sum_ns, ==, report->duration_ns);
}

static void test_empty(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(1000, NULL, 0);
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);
	g_assert_no_error(error);
	g_autofree char *text = dtc_report_to_folded(report);

	g_assert_cmpstr(text, ==, "");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/folded/stacks", test_stacks);
	g_test_add_func("/folded/hostile", test_hostile);
	g_test_add_func("/folded/empty", test_empty);
	return g_test_run();
}
