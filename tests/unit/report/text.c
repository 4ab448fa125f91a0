/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/text.h"

#include "collect/console/printable.h"
#include "tests/support/made_path.h"

#include <string.h>

#define US ((int64_t)1000)
#define MS (1000 * US)
#define BEGIN_NS G_GINT64_CONSTANT(1795168587592869804)

static const struct made_segment slow[] = {
	{ 1 * MS, 0, 11, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 },
	{ 10 * US, 0, 11, "shop", DTC_CAUSE_RUNNING_KERNEL, "sendto", 0 },
	{ 200 * US, 1, -1, NULL, DTC_CAUSE_NETWORK_WIRE, "alpha to beta", 2500 },
	{ 20 * US, 1, 0, "swapper/0", DTC_CAUSE_SOFTIRQ, "NET_RX", 0 },
	{ 50 * MS + 63000, 1, 21, "db", DTC_CAUSE_TIMER, "clock_nanosleep", 0 },
	{ 3 * MS, 1, 21, "db", DTC_CAUSE_RUNNING_USER, NULL, 0 },
	{ 9 * US, 1, 21, "db", DTC_CAUSE_IRQ, "timer", 0 },
	{ 3 * MS, 1, 21, "db", DTC_CAUSE_RUNNING_USER, NULL, 0 },
	{ 110 * US, 0, -1, NULL, DTC_CAUSE_NETWORK_WIRE, "beta to alpha", 2500 },
	{ 40 * US, 0, 11, "shop", DTC_CAUSE_RUNQUEUE, NULL, 0 },
};

static const struct dtc_text_options plain = { .width = 80, .has_utf8 = true, .min_ns = -1 };

static DtcReport *make_report(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(BEGIN_NS, slow, G_N_ELEMENTS(slow));
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	dtc_findings_add(findings, DTC_SEVERITY_WARNING, true, "beta",
			 "1234 events were lost between 1795168587.60 and 1795168587.61, states across the gap are "
			 "unknown");
	guint outer = made_path_add_blocking(path, G_MAXUINT, 0, BEGIN_NS + MS, BEGIN_NS + 57 * MS, "shop",
					     "packet from beta");
	made_path_add_blocking(path, outer, 1, BEGIN_NS + MS, BEGIN_NS + 51 * MS, "db", "timer");
	made_path_add_blocking(path, outer, 1, BEGIN_NS + 51 * MS, BEGIN_NS + 51 * MS + 1000, "db", "nobody");
	DtcReport *report = made_path_report(path, findings, "req-0069", &error);
	g_assert_no_error(error);
	return report;
}

static void assert_line(const char *text, const char *start, const char *part)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line; line++)
		if (g_str_has_prefix(*line, start) && strstr(*line, part))
			return;
	g_error("no line begins with '%s' and has '%s' in:\n%s", start, part, text);
}

/* What the head calls "mostly" is half of the time or more, and its detail half of what it stands behind. */
static void test_head(void)
{
	static const struct made_segment segments[] = {
		{ 30, 0, 11, "asker", DTC_CAUSE_DISK, "disk vda sector 1", 0 },
		{ 10, 0, 11, "asker", DTC_CAUSE_DISK, "disk vda sector 2", 0 },
		{ 35, 0, 11, "asker", DTC_CAUSE_TIMER, NULL, 0 },
		{ 25, 0, 11, "asker", DTC_CAUSE_RUNNING_USER, NULL, 0 },
	};
	static const struct {
		guint first, count;
		const char *line;
	} heads[] = {
		{ 0, 4, "No single cause; the largest: asker@alpha disk 40 ns (40 %), 75 % of it disk vda" },
		{ 0, 3, "Mostly asker@alpha disk 40 ns (53 %), 75 % of it disk vda" },
		{ 3, 1, "Mostly asker@alpha running-user 25 ns (100 %)" },
	};
	for (guint i = 0; i < G_N_ELEMENTS(heads); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(DtcPath) path = made_path_new(1000, &segments[heads[i].first], heads[i].count);
		g_autoptr(DtcReport) report = made_path_report(path, NULL, "req-1", &error);
		g_assert_no_error(error);
		g_autofree char *text = dtc_report_to_text(report, &plain);
		assert_line(text, heads[i].line, "");
	}
	/* many details of which none is half */
	struct made_segment many[3];
	const char *const details[] = { "connect(a)", "read(b)", "write(c)" };
	for (guint i = 0; i < G_N_ELEMENTS(many); i++)
		many[i] = (struct made_segment){ 10, 0, 11, "asker", DTC_CAUSE_RUNNING_KERNEL, details[i], 0 };
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(1000, many, G_N_ELEMENTS(many));
	g_autoptr(DtcReport) report = made_path_report(path, NULL, "req-1", &error);
	g_assert_no_error(error);
	g_autofree char *text = dtc_report_to_text(report, &plain);
	g_assert_nonnull(strstr(text, "\nMostly asker@alpha running-kernel 30 ns (100 %)\n"));
}

/* Who was stopped is named, and not who let it go on. */
static void test_stopped(void)
{
	static const struct made_segment segments[] = {
		{ 10 * MS, 0, 11, "asker", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 90 * MS, 1, 22, "db", DTC_CAUSE_STOPPED, NULL, 0 },
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(1000, segments, G_N_ELEMENTS(segments));
	g_autoptr(DtcReport) report = made_path_report(path, NULL, "req-1", &error);
	g_assert_no_error(error);
	g_autofree char *text = dtc_report_to_text(report, &plain);
	assert_line(text, "Mostly db@beta stopped 90.00 ms (90 %)", "");
	assert_line(text, "  beta  ", "stopped 90.00 ms (db)");
}

static void test_at_a_glance(void)
{
	g_autoptr(DtcReport) report = make_report();
	g_autofree char *text = dtc_report_to_text(report, &plain);

	assert_line(text, "req-0069  GET /cart?item=7 -> 200  57.45 ms  2026-11-20 09:56:27.593 UTC", "");
	assert_line(text, "Mostly db@beta timer 50.06 ms (87 %), clock_nanosleep", "");
	assert_line(text, "seen by asker 11 on alpha from 1795168587.592869804 (clock of alpha)", "");
	assert_line(text, "incomplete", "");
	assert_line(text, "  timer ", "50.063   87.1  ");
	assert_line(text, "total ", "57.452  100.0");
	/* the tick does not cut the computing in two */
	assert_line(text, " 51.293   6.009   beta", "running-user 6.0ms, irq 9.0µs, 3 segments");
	/* by machine, and what each spent its time on */
	assert_line(text, "  beta  56.29 ms  98 %  timer 50.06 ms, CPU 6.029 ms (db)", "");
	assert_line(text, "Next: explain timer or compare --slow req-0069 --fast '/cart*'", "");
	assert_line(text, "warning  beta: 1234 events were lost", "");
	assert_line(text, "clocks   alpha – beta are not aligned", "");
	/* under one percent: counted, not shown */
	assert_line(text, "… 1 more, each under 574.5 µs", "");
	g_assert_null(strstr(text, "nobody"));
}

static void test_fits_the_width(void)
{
	g_autoptr(DtcReport) report = make_report();
	static const guint widths[] = { 40, 80, 120, 200 };

	for (gsize w = 0; w < G_N_ELEMENTS(widths); w++) {
		struct dtc_text_options options = plain;
		options.width = widths[w];
		g_autofree char *text = dtc_report_to_text(report, &options);
		g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
		for (char **line = lines; *line; line++) {
			g_assert_cmpuint(dtc_printable_get_columns(*line), <=, widths[w]);
			g_assert_false(g_str_has_suffix(*line, " "));
		}
	}
}

/* How a message got to a node is seen although what happened there is too short to be shown. */
static void test_folded_lines_tell_how_they_were_reached(void)
{
	static const struct made_segment segments[] = {
		{ 10 * MS, 0, 11, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 30 * US, 1, -1, NULL, DTC_CAUSE_NETWORK_WIRE, NULL, 0 }, /* matched */
		{ 20 * US, 1, 0, "swapper/0", DTC_CAUSE_SOFTIRQ, NULL, 0 },
		{ 10 * MS, 1, 21, "db", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 20 * US, 1, 0, "swapper/0", DTC_CAUSE_SOFTIRQ, NULL, 0 }, /* no message */
		{ 20 * US, 1, 22, "log", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 10 * MS, 1, 21, "db", DTC_CAUSE_DISK, NULL, 0 },
		{ 20 * US, 1, 0, "swapper/0", DTC_CAUSE_SOFTIRQ, NULL, 0 },
		{ 30 * US, 0, -1, NULL, DTC_CAUSE_NETWORK_WIRE, NULL, 2500 }, /* inferred */
		{ 10 * MS, 0, 11, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 },
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(BEGIN_NS, segments, G_N_ELEMENTS(segments));
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcReport) report = made_path_report(path, findings, "req", &error);
	g_assert_no_error(error);
	g_autofree char *text = dtc_report_to_text(report, &plain);

	assert_line(text, " 10.000   0.050 → … 2 short segments (beta)", "");
	assert_line(text, " 20.050   0.040   … 2 short segments (beta)", "");
	assert_line(text, " 30.090   0.050 ≈ … 2 short segments (beta, alpha)", "");
}

static void test_verbose_folds_nothing(void)
{
	g_autoptr(DtcReport) report = make_report();
	struct dtc_text_options options = plain;
	options.is_verbose = true;
	options.is_exact = true;
	g_autofree char *text = dtc_report_to_text(report, &options);

	g_assert_nonnull(strstr(text, "nobody"));
	g_assert_nonnull(strstr(text, "NET_RX"));
	g_assert_nonnull(strstr(text, "50063000"));
	g_assert_null(strstr(text, "…"));
}

/* Colour adds escapes and nothing else; ASCII replaces glyph by glyph. */
static void test_same_text_in_every_dress(void)
{
	g_autoptr(DtcReport) report = make_report();
	struct dtc_text_options options = plain;
	g_autofree char *bare = dtc_report_to_text(report, &plain);
	options.has_color = true;
	g_autofree char *colored = dtc_report_to_text(report, &options);
	g_autoptr(GRegex) escapes = g_regex_new("\033\\[[0-9;]*m", 0, 0, NULL);
	g_autofree char *stripped = g_regex_replace_literal(escapes, colored, -1, 0, "", 0, NULL);

	g_assert_cmpstr(colored, !=, bare);
	g_assert_cmpstr(stripped, ==, bare);

	options.has_color = false;
	options.has_utf8 = false;
	g_autofree char *ascii = dtc_report_to_text(report, &options);
	g_assert_true(g_str_is_ascii(ascii));
	g_assert_cmpint((gssize)strlen(ascii), ==, g_utf8_strlen(bare, -1));
}

static void test_hostile_names(void)
{
	static const struct made_segment segments[] = {
		{ 5 * MS, 0, 11, "\033]0;owned\a\033[2J", DTC_CAUSE_TIMER, "\n\nmostly harmless", 0 },
		{ 5 * MS, 1, 12, "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe3\x81\xae\xe5\x90\x8d\xe5\x89\x8d",
		  DTC_CAUSE_LOCK, "\xff", 0 },
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(0, segments, G_N_ELEMENTS(segments));
	g_autoptr(DtcReport) report = made_path_report(path, NULL, "a\rb", &error);
	g_autofree char *text = dtc_report_to_text(report, &plain);

	g_assert_true(g_utf8_validate(text, -1, NULL));
	for (const char *p = text; *p; p++)
		g_assert_true((guchar)*p >= 0x20 || *p == '\n');
	g_assert_null(strstr(text, "\n\n\n"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/report/text/at-a-glance", test_at_a_glance);
	g_test_add_func("/report/text/stopped", test_stopped);
	g_test_add_func("/report/text/head", test_head);
	g_test_add_func("/report/text/fits-the-width", test_fits_the_width);
	g_test_add_func("/report/text/folded-lines-tell-how-they-were-reached",
			test_folded_lines_tell_how_they_were_reached);
	g_test_add_func("/report/text/verbose-folds-nothing", test_verbose_folds_nothing);
	g_test_add_func("/report/text/same-text-in-every-dress", test_same_text_in_every_dress);
	g_test_add_func("/report/text/hostile-names", test_hostile_names);
	return g_test_run();
}
