/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/dot.h"

#include "tests/support/hostile.h"

#include <string.h>

static void test_graph(void)
{
	static const struct made_segment segments[] = {
		{ 1000, 0, 11, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 300, 1, 21, "db", DTC_CAUSE_NETWORK_WIRE, "53 bytes", 5 },
		{ 1500, 1, 21, "db", DTC_CAUSE_DISK, "vda", 0 },
		{ 200, 1, 22, "flush", DTC_CAUSE_RUNNING_KERNEL, NULL, 0 },
		{ 1000, 0, 11, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 },
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(1000, segments, G_N_ELEMENTS(segments));
	g_autoptr(DtcReport) report = made_path_report(path, NULL, "req-1", &error);
	g_assert_no_error(error);
	g_autofree char *text = dtc_report_to_dot(report);

	g_assert_nonnull(strstr(text, "digraph \"req-1\""));
	g_assert_nonnull(strstr(text, "\tsubgraph cluster_1 {\n\t\tlabel=\"alpha\";\n"
				      "\t\tt0 [label=\"shop 11\\n2.00 µs (50 %)"));
	g_assert_nonnull(strstr(text, "t1 [label=\"db 21\\n1.80 µs (45 %)\\nmostly disk\"]"));
	/* how often, time on the wire, uncertainty; dashed because the step is inferred */
	g_assert_nonnull(strstr(text, "t0 -> t1 [label=\"1 × wire\\n300 ns ± 5 ns\", style=dashed, penwidth=2];"));
	g_assert_nonnull(strstr(text, "t1 -> t2 [label=\"1 ×\"];"));
	g_assert_nonnull(strstr(text, "t2 -> t0"));
}

/* No quote ends a label early: outside of quotes nothing is left but what we write. */
static void test_hostile(void)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcPath) path = NULL;
	g_autoptr(DtcReport) report = hostile_report(findings, &path);
	g_autofree char *text = dtc_report_to_dot(report);
	g_autoptr(GString) outside = g_string_new(NULL);
	bool is_quoted = false;

	g_assert_true(g_utf8_validate(text, -1, NULL));
	for (const char *c = text; *c; c++) {
		if (is_quoted && *c == '\\')
			c++;
		else if (*c == '"')
			is_quoted = !is_quoted;
		else if (!is_quoted)
			g_string_append_c(outside, *c);
	}
	g_assert_false(is_quoted);
	g_assert_null(strstr(outside->str, "script"));
	g_assert_null(strstr(outside->str, "WWW"));
	int depth = 0;
	for (const char *c = outside->str; *c; c++) {
		depth += (*c == '{') - (*c == '}');
		g_assert_cmpint(depth, >=, 0);
	}
	g_assert_cmpint(depth, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/dot/graph", test_graph);
	g_test_add_func("/dot/hostile", test_hostile);
	return g_test_run();
}
