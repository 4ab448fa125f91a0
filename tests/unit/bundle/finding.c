/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dtrace-chain/finding.h"

static void test_findings(void)
{
	g_autoptr(DtcFindings) all = dtc_findings_new(), of_worker = dtc_findings_new();
	g_assert_true(dtc_findings_get_complete(all));
	dtc_findings_add(all, DTC_SEVERITY_INFO, false, NULL, "%d of %d", 1, 2);
	dtc_findings_add(all, DTC_SEVERITY_INFO, false, NULL, "1 of 2");
	dtc_findings_add(all, DTC_SEVERITY_INFO, false, "web", "1 of 2");
	g_assert_cmpuint(dtc_findings_get_count(all), ==, 2);
	dtc_findings_add_coded(of_worker, "all-lost", DTC_SEVERITY_ERROR, true, "db", "100%% lost");
	dtc_findings_move(all, of_worker);
	g_assert_cmpuint(dtc_findings_get_count(of_worker), ==, 0);
	g_assert_cmpuint(dtc_findings_get_count(all), ==, 3);
	const struct dtc_finding *finding = dtc_findings_get(all, 0); /* errors come first */
	g_assert_cmpstr(finding->text, ==, "100% lost");
	g_assert_cmpstr(finding->code, ==, "all-lost");
	g_assert_null(dtc_findings_get(all, 1)->code);
	g_assert_null(dtc_findings_get(all, 1)->node);
	g_assert_cmpstr(dtc_findings_get(all, 2)->node, ==, "web");
	g_assert_cmpstr(finding->node, ==, "db");
	g_assert_cmpstr(dtc_severity_to_string(finding->severity), ==, "error");
	g_assert_false(dtc_findings_get_complete(all));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/findings", test_findings);
	return g_test_run();
}
