/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the first pass gathers of net events beside their fields: in what they happened, and whom they woke. */
#include "collect/seal/scan.h"
#include "tests/support/made_raw.h"

#define BH_OFF 0x80
#define SOFTIRQ 0x10

static void scan(struct made_raw *raw, struct dtc_scan *ret)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;

	made_raw_end(raw, 0);
	g_autoptr(DtcRecording) recording = dtc_recording_read(raw->folder, findings, &error);
	g_assert_no_error(error);
	g_autoptr(DtcSubjects) subjects = dtc_subjects_new(recording->formats);
	g_assert_true(dtc_scan_cpu(recording, subjects, 0, ret, &error));
	g_assert_no_error(error);
	made_raw_clear(raw);
}

/* A thread that sends has bottom halves off, but is interrupted by none. */
static void test_context(void)
{
	struct made_raw raw;
	struct dtc_scan found;

	made_raw_begin(&raw);
	made_raw_receive(&raw, 0, 1000, BH_OFF, 7);
	made_raw_receive(&raw, 0, 2000, BH_OFF | SOFTIRQ, 7);
	scan(&raw, &found);
	g_assert_cmpuint(found.net->len, ==, 2);
	g_assert_cmpint(g_array_index(found.net, struct dtc_join_event, 0).context, ==, DTC_JOIN_CONTEXT_THREAD);
	g_assert_cmpint(g_array_index(found.net, struct dtc_join_event, 1).context, ==, DTC_JOIN_CONTEXT_INTERRUPT);
	dtc_scan_clear(&found);
}

/* The first wake that belongs to the interrupt which received; none of later, of another thread or of none's. */
static void test_woken(void)
{
	struct made_raw raw;
	struct dtc_scan found;

	made_raw_begin(&raw);
	made_raw_receive(&raw, 0, 1000, SOFTIRQ, 7);
	made_raw_waking_in(&raw, 0, 2000, SOFTIRQ, 7, 20);
	made_raw_waking_in(&raw, 0, 2100, SOFTIRQ, 7, 21);
	made_raw_receive(&raw, 0, 3000, SOFTIRQ, 7);
	made_raw_waking(&raw, 0, 3500, 7, 22);
	made_raw_receive(&raw, 0, 4000, SOFTIRQ, 7);
	made_raw_waking_in(&raw, 0, 90000, SOFTIRQ, 7, 23);
	made_raw_receive(&raw, 0, 100000, SOFTIRQ, 7);
	made_raw_waking_in(&raw, 0, 101000, SOFTIRQ, 8, 24);
	scan(&raw, &found);
	g_assert_cmpuint(found.woken->len, ==, 1);
	g_assert_cmpuint(DTC_AT(found.woken, struct dtc_net_woken, 0)->net, ==, 0);
	g_assert_cmpint(DTC_AT(found.woken, struct dtc_net_woken, 0)->tid, ==, 20);
	dtc_scan_clear(&found);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/seal-scan/context", test_context);
	g_test_add_func("/seal-scan/woken", test_woken);
	return g_test_run();
}
