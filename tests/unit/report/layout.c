/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/layout.h"

#include <string.h>

static void check(DtcLayout *layout, const char *expected)
{
	g_autofree char *text = dtc_layout_steal(layout);
	g_assert_cmpstr(text, ==, expected);
}

/* "1299.5584259.…" was a row of two figures on 40 columns. */
static void test_figures_are_whole(void)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(40, false, true);

	dtc_layout_add_left(layout, "labcli@client", 25, DTC_STYLE_PLAIN);
	dtc_layout_add_right(layout, "1299.558", 9, DTC_STYLE_PLAIN);
	dtc_layout_add_right(layout, "4259.103", 9, DTC_STYLE_PLAIN);
	dtc_layout_add_right(layout, "", 9, DTC_STYLE_PLAIN);
	dtc_layout_end_line(layout);
	check(layout, "labcli@client             1299.558\n     4259.103\n");
}

static void test_last_cell(void)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(80, false, true);

	/* enough is seen of it */
	dtc_layout_add_left(layout, "", 60, DTC_STYLE_PLAIN);
	dtc_layout_add(layout, DTC_STYLE_PLAIN, "x");
	dtc_layout_add_left(layout, "accept(socket:[9904]) and more", 30, DTC_STYLE_PLAIN);
	dtc_layout_end_line(layout);
	g_autofree char *cut = dtc_layout_steal(layout);
	g_assert_nonnull(strstr(cut, "accept(socket:[990…"));
	/* next to nothing would be */
	dtc_layout_add_left(layout, "x", 70, DTC_STYLE_PLAIN);
	dtc_layout_add_left(layout, "accept(socket:[9904]) and more", 10, DTC_STYLE_PLAIN);
	dtc_layout_end_line(layout);
	check(layout, "x\n    accept(socket:[9904]) and more\n");
}

/* A verdict is wrapped and never cut, whatever stands in it. */
static void test_paragraph(void)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(40, false, true);

	dtc_layout_add_paragraph(layout, "Mostly disk, /var/lib/a-very-long-directory-name/and-a-file of it", 2);
	check(layout, "Mostly disk,\n  /var/lib/a-very-long-directory-name/an\n  d-a-file of it\n");
	/* columns that leave too little of a narrow line are given up */
	dtc_layout_add_left(layout, "web", 27, DTC_STYLE_PLAIN);
	dtc_layout_add_paragraph(layout, "waiting for a CPU 40.64 ms (for sleep 223)", 27);
	check(layout, "web\n    waiting for a CPU 40.64 ms (for\n    sleep 223)\n");
}

static void test_narrow(void)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(40, false, true);

	dtc_layout_add(layout, DTC_STYLE_PLAIN, "206 requests");
	dtc_layout_add(layout, DTC_STYLE_PLAIN, "  p50 73.08 ms  p90 134.7 ms  p99 193.7 ms");
	dtc_layout_end_line(layout);
	check(layout, "206 requests\n    p50 73.08 ms  p90 134.7 ms  p99\n    193.7 ms\n");
	dtc_layout_add_heading(layout, "Blocked on", "by cause, call and waker, longest first");
	check(layout, "\nBlocked on  by cause, call and waker,\n    longest first\n");
}

static void test_ascii(void)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(80, false, false);

	dtc_layout_add(layout, DTC_STYLE_PLAIN, "größe → 5 µs ±1 …");
	dtc_layout_end_line(layout);
	check(layout, "gr??e > 5 us ~1 ~\n");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/report/layout/figures-are-whole", test_figures_are_whole);
	g_test_add_func("/report/layout/last-cell", test_last_cell);
	g_test_add_func("/report/layout/paragraph", test_paragraph);
	g_test_add_func("/report/layout/narrow", test_narrow);
	g_test_add_func("/report/layout/ascii", test_ascii);
	return g_test_run();
}
