/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pages that no recording gives, for the browser tests: "hostile" has names that try to leave their place, "large" has
 * more intervals than there are pixels on any screen. usage: make_page hostile|large [INTERVALS]
 */
#include "analyze/report/html.h"
#include "tests/support/hostile.h"

#include <stdio.h>
#include <string.h>

#define LANES 20
#define STEPS 20000

static DtcReport *make_large(DtcFindings *findings, DtcPath **ret_path)
{
	g_autofree struct made_segment *segments = g_new(struct made_segment, STEPS);
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < STEPS; i++)
		segments[i] = (struct made_segment){ 50000 + i % 977 * 100,
						     i / 1000 % 3,
						     100 + (int32_t)(i / 7 % LANES),
						     "worker",
						     i * 7 % DTC_CAUSE_VM_PREEMPTED,
						     i % 3 ? "read(/var/lib/data)" : NULL,
						     0 };
	*ret_path = made_path_new(1000000000, segments, STEPS);
	DtcReport *report = made_path_report(*ret_path, findings, "large", &error);
	g_assert_no_error(error);
	return report;
}

/* Lanes as a busy recording gives them: each with its share of the intervals, without a gap over the window. */
static void fill_bars(DtcLanes *lanes, guint interval_count)
{
	guint per_lane = interval_count / lanes->lanes->len;
	int64_t each_ns = (lanes->end_ns - lanes->begin_ns) / per_lane;

	for (guint i = 0; i < lanes->lanes->len; i++) {
		struct dtc_lane *lane = &g_array_index(lanes->lanes, struct dtc_lane, i);
		lane->bar_first = lanes->bars->len;
		lane->bar_count = per_lane;
		for (guint j = 0; j < per_lane; j++) {
			int64_t begin_ns = lanes->begin_ns + j * each_ns;
			struct dtc_lane_bar bar = { begin_ns, begin_ns + each_ns, j % 5 ? "epoll_wait" : NULL,
						    (enum dtc_cause)((i + j * 3) % DTC_CAUSE_VM_PREEMPTED), 1 };
			g_array_append_val(lanes->bars, bar);
		}
	}
}

int main(int argc, char **argv)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcPath) path = NULL;
	bool is_large = argc > 1 && strcmp(argv[1], "large") == 0;
	g_autoptr(DtcReport) report = is_large ? make_large(findings, &path) : hostile_report(findings, &path);
	const struct dtc_lanes_options options = { .max_lanes = 200, .max_bars = 100000, .max_messages = 100 };
	const char *const names[] = { "alpha", "beta", "gamma" };
	g_autoptr(DtcLanes) lanes = dtc_lanes_new(report, path, NULL, &options);
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(G_N_ELEMENTS(names));
	DtcClusterTime begin = { report->begin_ns };
	g_autoptr(DtcQuality) quality = dtc_quality_new(begin, names, clocks, NULL, NULL);

	if (is_large)
		fill_bars(lanes, argc > 2 ? (guint)g_ascii_strtoull(argv[2], NULL, 10) : 100000);
	g_autofree char *page = dtc_report_to_html(report, lanes, quality);
	return fputs(page, stdout) == EOF;
}
