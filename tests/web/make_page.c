/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pages that no recording gives, for the browser tests: "hostile" has names that try to leave their place, "large" has
 * more intervals than there are pixels on any screen. usage: make_page hostile|large [INTERVALS]
 */
#include "analyze/report/html.h"
#include "tests/support/made_path.h"

#include <stdio.h>
#include <string.h>

#define HOSTILE "</script><script>window.pwned=1</script><img src=x onerror='window.pwned=2'>\"'&\x1b[2J\xff\u202e{{x}}"
#define LANES 20

static DtcReport *make_hostile(DtcPath **ret_path, DtcFindings *findings)
{
	g_autofree char *long_name = g_strnfill(4096, 'W');
	const struct made_segment segments[] = {
		{ 1000000, 0, 10, HOSTILE, DTC_CAUSE_RUNNING_USER, HOSTILE, 0 },
		{ 500000, 1, -1, HOSTILE, DTC_CAUSE_NETWORK_WIRE, "<!--" HOSTILE, 40000 },
		{ 3000000, 1, 20, long_name, DTC_CAUSE_DISK, long_name, 0 },
		{ 500000, 0, 10, "__proto__", DTC_CAUSE_NETWORK_WIRE, "constructor", INT64_MAX },
	};
	DtcPath *path = made_path_new(1795168708818285281, segments, G_N_ELEMENTS(segments));
	guint parent = made_path_add_blocking(path, G_MAXUINT, 0, 1795168708818285281, 1795168708818285281 + 4000000,
					      HOSTILE, HOSTILE);

	made_path_add_blocking(path, parent, 1, 1795168708818285281, 1795168708818285281 + 3000000, HOSTILE, "@@DATA@@");
	dtc_findings_add(findings, DTC_SEVERITY_WARNING, true, HOSTILE, "%s", HOSTILE);
	*ret_path = path;
	return made_path_report(path, findings, HOSTILE, NULL);
}

static DtcReport *make_large(DtcPath **ret_path, DtcFindings *findings)
{
	enum { STEPS = 20000 };
	g_autofree struct made_segment *segments = g_new(struct made_segment, STEPS);

	for (guint i = 0; i < STEPS; i++)
		segments[i] = (struct made_segment){ 50000 + i % 977 * 100, i / 1000 % 3, 100 + (int32_t)(i / 7 % LANES),
						     "worker", i * 7 % DTC_CAUSE_VM_PREEMPTED,
						     i % 3 ? "read(/var/lib/data)" : NULL, 0 };
	*ret_path = made_path_new(1000000000, segments, STEPS);
	return made_path_report(*ret_path, findings, "large", NULL);
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
	g_autoptr(DtcReport) report = is_large ? make_large(&path, findings) : make_hostile(&path, findings);
	const struct dtc_lanes_options options = { .max_lanes = 200, .max_bars = 100000, .max_messages = 100 };
	const char *const names[] = { "alpha", "beta", "gamma" };

	if (!report)
		return 1;
	g_autoptr(DtcLanes) lanes = dtc_lanes_new(report, path, NULL, &options);
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(G_N_ELEMENTS(names));
	g_autoptr(DtcQuality) quality = dtc_quality_new(report, names, clocks, NULL, NULL);
	if (is_large)
		fill_bars(lanes, argc > 2 ? (guint)g_ascii_strtoull(argv[2], NULL, 10) : 100000);
	g_autofree char *page = dtc_report_to_html(report, lanes, quality);
	return fputs(page, stdout) == EOF;
}
