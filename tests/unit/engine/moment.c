/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/moment.h"

#include "dtrace-chain/error.h"

#include <string.h>

static void test_moments(void)
{
	static const struct {
		const char *text;
		bool is_relative;
		int64_t ns;
	} cases[] = {
		{ "1795168587.592869804", false, 1795168587592869804 }, /* not through a double */
		{ "1795168587592869804", false, 1795168587592869804 },
		{ "1795168587592869804ns", false, 1795168587592869804 },
		{ "+1.5s", true, 1500000000 },
		{ "+1.5", true, 1500000000 },
		{ "+2", true, 2000000000 },
		{ "+200ms", true, 200000000 },
		{ "+0.25us", true, 250 },
		{ "+0.25µs", true, 250 },
		{ "+7ns", true, 7 },
		{ "+7.000ns", true, 7 },
		{ "31.9s", false, 31900000000 },
		{ "0", false, 0 },
		{ "9223372036854775807", false, INT64_MAX },
		{ "9223372036.854775807", false, INT64_MAX },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		struct dtc_moment moment;
		g_assert_true(dtc_moment_parse("--from", cases[i].text, &moment, &error));
		g_assert_no_error(error);
		g_assert_cmpint(moment.is_relative, ==, cases[i].is_relative);
		g_assert_cmpint(moment.ns, ==, cases[i].ns);
	}
}

static void test_no_moments(void)
{
	static const char *const texts[] = {
		"",
		"+",
		"-1s",
		"1.",
		".5",
		"+.5s",
		"abc",
		"1s ",
		" 1s",
		"1 s",
		"+1m",
		"1.0000000001",
		"+1.5ns",
		"0x10",
		"9223372036854775808",
		"9223372036.854775808",
		"9223372037s",
		"99999999999999999999999999999999s",
		"1e9",
		"++1s",
		"1.2.3",
		"12:00:",
		"12:0",
		"24:00",
		"12:60",
		"12:00:60",
		"12:00:03.",
		"12:00:03.0000000001",
		"12:00:03+15:00",
		"12:00:03+1",
		"12:00:03 here",
		"2026-11-20",
		"2026-02-30 12:00",
		"2026-13-01 12:00",
		"2026-1-20 12:00",
		"2026-11-20-12:00",
		"9999-11-20 12:00",
	};
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GError) error = NULL;
		struct dtc_moment moment = { .is_relative = true, .ns = 77 };
		if (dtc_moment_parse("--to", texts[i], &moment, &error))
			g_error("'%s' was taken for a time", texts[i]);
		g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
		g_assert_true(g_str_has_prefix(error->message, "--to '"));
		g_assert_cmpint(moment.ns, ==, 77); /* untouched */
	}
}

/* Zones in words of their own: a bare machine has no table of them. */
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define NEW_YORK "EST5EDT,M3.2.0,M11.1.0"
#define SYDNEY "AEST-10AEDT,M10.1.0,M4.1.0/3"
#define KIRITIMATI "LINT-14"
#define BEGIN_NS G_GINT64_CONSTANT(1795168703480465609) /* 2026-11-20 09:58:23 UTC */
#define NS_PER_S G_GINT64_CONSTANT(1000000000)
#define HOUR_NS (3600 * NS_PER_S)

/* Of a recording that goes on for so long; the message of the error, or NULL and the time since its begin. */
static char *resolve(const char *zone, const char *text, int64_t begin_ns, int64_t length_ns, int64_t *ret_ns)
{
	g_autoptr(GError) error = NULL;
	struct dtc_moment moment;

	g_setenv("TZ", zone, TRUE);
	g_assert_true(dtc_moment_parse("--from", text, &moment, &error));
	if (!dtc_moment_resolve("--from", text, &moment, begin_ns, begin_ns + length_ns, ret_ns, &error)) {
		g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
		return g_strdup(error->message);
	}
	*ret_ns -= begin_ns;
	return NULL;
}

static void test_wall_clock(void)
{
	static const struct {
		const char *zone, *text;
		int64_t ns; /* since the begin */
	} cases[] = {
		{ "UTC", "09:58:24.480465609", NS_PER_S },
		{ "UTC", "09:58:24,480465609", NS_PER_S },
		{ "UTC", "9:58:24.480465609", NS_PER_S },
		{ "UTC", "09:59", 36519534391 },
		{ "UTC", "09:58:23.480", -465609 }, /* as it is printed */
		{ "UTC", "2026-11-20 09:58:24.480465609", NS_PER_S },
		{ "UTC", "2026-11-20T09:58:24.480465609Z", NS_PER_S },
		{ "UTC", "2026-11-19 09:58:23.480465609", -24 * HOUR_NS }, /* a date may lie outside */
		{ BERLIN, "10:58:24.480465609", NS_PER_S },
		{ BERLIN, "10:58:24.480465609 CET", NS_PER_S },
		{ BERLIN, "09:58:24.480465609Z", NS_PER_S },
		{ BERLIN, "2026-11-20 09:58:24.480465609 UTC", NS_PER_S },
		{ BERLIN, "2026-11-20 11:58:24.480465609+02:00", NS_PER_S },
		{ NEW_YORK, "2026-11-20 04:58:24.480465609", NS_PER_S },
		{ NEW_YORK, "04:58:24.480465609-0500", NS_PER_S },
		{ SYDNEY, "20:58:24.480465609", NS_PER_S },
		{ KIRITIMATI, "23:58:24.480465609", NS_PER_S },
		{ KIRITIMATI, "00:00:00", 97 * NS_PER_S - 480465609 }, /* of the next day */
	};
	int64_t ns;

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *wrong = resolve(cases[i].zone, cases[i].text, BEGIN_NS, 100 * NS_PER_S, &ns);
		if (wrong)
			g_error("%s in %s: %s", cases[i].text, cases[i].zone, wrong);
		g_assert_cmpint(ns, ==, cases[i].ns);
	}
}

static void test_not_once(void)
{
	int64_t ns;
	g_autofree char *outside = resolve("UTC", "12:00:03", BEGIN_NS, HOUR_NS, &ns);
	g_assert_nonnull(strstr(outside, "it goes from 2026-11-20 09:58:23.480 to 10:58:23.480 UTC"));
	g_autofree char *twice = resolve("UTC", "12:00:03", BEGIN_NS, 30 * HOUR_NS, &ns);
	g_assert_nonnull(strstr(twice, "give '2026-11-20 12:00:03.000 UTC' or '2026-11-21 12:00:03.000 UTC'"));
	g_autofree char *zone = resolve(BERLIN, "10:58:24 EST", BEGIN_NS, HOUR_NS, &ns);
	g_assert_nonnull(strstr(zone, "offset from UTC"));
	g_autofree char *uptime = resolve("UTC", "12:00:03", 5 * NS_PER_S, HOUR_NS, &ns); /* a clock since boot */
	g_assert_nonnull(strstr(uptime, "does not show"));
	g_autofree char *date = resolve("UTC", "2026-11-20 12:00:03", 5 * NS_PER_S, HOUR_NS, &ns);
	g_assert_nonnull(strstr(date, "does not show"));
}

/* In Berlin it was half past two twice on 2026-10-25, and never on 2026-03-29. */
static void test_clocks_set_back(void)
{
	const int64_t autumn_ns = 1792886400 * NS_PER_S; /* 2026-10-25 00:00 UTC */
	const int64_t spring_ns = 1774742400 * NS_PER_S; /* 2026-03-29 00:00 UTC */
	int64_t ns;

	g_autofree char *twice = resolve(BERLIN, "02:30", autumn_ns, 3 * HOUR_NS, &ns);
	g_assert_nonnull(strstr(twice, "give '2026-10-25 02:30:00.000 CEST' or '2026-10-25 02:30:00.000 CET'"));
	g_assert_null(resolve(BERLIN, "2026-10-25 02:30:00.000 CEST", autumn_ns, 3 * HOUR_NS, &ns));
	g_assert_cmpint(ns, ==, HOUR_NS / 2);
	g_assert_null(resolve(BERLIN, "02:30 CET", autumn_ns, 3 * HOUR_NS, &ns));
	g_assert_cmpint(ns, ==, HOUR_NS + HOUR_NS / 2);
	g_assert_null(resolve(BERLIN, "02:30", autumn_ns + HOUR_NS, 3 * HOUR_NS, &ns)); /* only the second */
	g_assert_cmpint(ns, ==, HOUR_NS / 2);
	g_autofree char *never = resolve(BERLIN, "02:30", spring_ns, 3 * HOUR_NS, &ns);
	g_assert_nonnull(strstr(never, "is not in the recording"));
}

static void test_writing(void)
{
	g_setenv("TZ", BERLIN, TRUE);
	g_autofree char *whole = dtc_wall_clock_format(BEGIN_NS), *time = dtc_wall_clock_format_time(BEGIN_NS);
	g_autofree char *span = dtc_wall_clock_format_span(BEGIN_NS, BEGIN_NS + 14 * HOUR_NS);
	g_assert_cmpstr(whole, ==, "2026-11-20 10:58:23.480 CET");
	g_assert_cmpstr(time, ==, "10:58:23.480");
	g_assert_cmpstr(span, ==, "2026-11-20 10:58:23.480 to 2026-11-21 00:58:23.480 CET");
	g_assert_null(dtc_wall_clock_format(5 * NS_PER_S));
	g_assert_null(dtc_wall_clock_format(-1));
	g_assert_null(dtc_wall_clock_format(INT64_MAX));
}

static void test_spans(void)
{
	g_autoptr(GError) error = NULL;
	int64_t ns;

	g_assert_true(dtc_span_parse("--min-duration", "250us", &ns, &error));
	g_assert_cmpint(ns, ==, 250000);
	g_assert_true(dtc_span_parse("--min-duration", "0ns", &ns, &error));
	g_assert_cmpint(ns, ==, 0);
	g_assert_true(dtc_span_parse("--min-duration", "1.5ms", &ns, &error));
	g_assert_cmpint(ns, ==, 1500000);
	g_assert_false(dtc_span_parse("--min-duration", "250", &ns, &error)); /* of what? */
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/moment/moments", test_moments);
	g_test_add_func("/engine/moment/no-moments", test_no_moments);
	g_test_add_func("/engine/moment/wall-clock", test_wall_clock);
	g_test_add_func("/engine/moment/not-once", test_not_once);
	g_test_add_func("/engine/moment/clocks-set-back", test_clocks_set_back);
	g_test_add_func("/engine/moment/writing", test_writing);
	g_test_add_func("/engine/moment/spans", test_spans);
	return g_test_run();
}
