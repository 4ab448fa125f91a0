/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who may ask, and who may write, before and after a history is sealed. */
#include "analyze/history/records.h"

static void test_asked_too_early(void)
{
	if (g_test_subprocess()) {
		g_autoptr(DtcHistory) h = dtc_history_new();
		dtc_history_get_wake_count(h);
		return;
	}
	g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
	g_test_trap_assert_failed();
	g_test_trap_assert_stderr("*is_sealed*");
}

static void test_written_too_late(void)
{
	if (g_test_subprocess()) {
		g_autoptr(DtcHistory) h = dtc_history_new();
		dtc_history_seal(h);
		dtc_history_add_string(h, "late");
		return;
	}
	g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
	g_test_trap_assert_failed();
	g_test_trap_assert_stderr("*is_sealed*");
}

static void test_sealed_twice(void)
{
	if (g_test_subprocess()) {
		g_autoptr(DtcHistory) h = dtc_history_new();
		dtc_history_seal(h);
		dtc_history_seal(h);
		return;
	}
	g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
	g_test_trap_assert_failed();
	g_test_trap_assert_stderr("*is_sealed*");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/history/seal/asked-too-early", test_asked_too_early);
	g_test_add_func("/history/seal/written-too-late", test_written_too_late);
	g_test_add_func("/history/seal/twice", test_sealed_twice);
	return g_test_run();
}
