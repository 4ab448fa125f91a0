/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/units.h"

#include <inttypes.h>
#include <string.h>

struct dtc_scale dtc_scale_get(int64_t total_ns, gboolean is_exact)
{
	if (is_exact)
		return (struct dtc_scale){ "ns", 1 };
	if (total_ns >= 10 * G_GINT64_CONSTANT(1000000000))
		return (struct dtc_scale){ "s", 1000000000 };
	if (total_ns >= 1000000)
		return (struct dtc_scale){ "ms", 1000000 };
	return (struct dtc_scale){ "µs", 1000 };
}

static char *format_decimal(int64_t ns, int64_t unit_ns, int decimals)
{
	guint64 magnitude = ns < 0 ? -(guint64)ns : (guint64)ns;
	guint64 power = 1;

	for (int i = 0; i < decimals; i++)
		power *= 10;
	guint64 step_ns = (guint64)unit_ns / power;
	guint64 steps = magnitude / step_ns + (magnitude % step_ns >= (step_ns + 1) / 2 && step_ns > 1);
	const char *sign = ns < 0 && steps ? "-" : "";

	if (decimals == 0)
		return g_strdup_printf("%s%" G_GUINT64_FORMAT, sign, steps);
	return g_strdup_printf("%s%" G_GUINT64_FORMAT ".%0*" G_GUINT64_FORMAT, sign, steps / power, decimals,
			       steps % power);
}

char *dtc_scale_format(struct dtc_scale scale, int64_t ns)
{
	return format_decimal(ns, scale.unit_ns, scale.unit_ns == 1 ? 0 : 3);
}

char *dtc_duration_format(int64_t ns)
{
	static const struct {
		guint64 from_ns; /* half a step below the unit, so that nothing rounds up to "1000 µs" */
		int64_t unit_ns;
		int decimals;
		const char *unit;
	} forms[] = {
		{ 99995000000, 1000000000, 1, "s" },
		{ 9999500000, 1000000000, 2, "s" },
		{ 999950000, 1000000000, 3, "s" },
		{ 99995000, 1000000, 1, "ms" },
		{ 9999500, 1000000, 2, "ms" },
		{ 999950, 1000000, 3, "ms" },
		{ 9995, 1000, 1, "µs" },
		{ 1000, 1000, 2, "µs" },
	};
	if (ns == INT64_MAX)
		return g_strdup("unknown");
	guint64 magnitude = ns < 0 ? -(guint64)ns : (guint64)ns;

	for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
		if (magnitude < forms[i].from_ns)
			continue;
		g_autofree char *figure = format_decimal(ns, forms[i].unit_ns, forms[i].decimals);
		return g_strdup_printf("%s %s", figure, forms[i].unit);
	}
	return g_strdup_printf("%" G_GINT64_FORMAT " ns", (gint64)ns);
}

char *dtc_duration_format_short(int64_t ns)
{
	static const struct {
		guint64 from_ns;
		int64_t unit_ns;
		int decimals;
		const char *unit;
	} forms[] = {
		{ 9950000000, 1000000000, 0, "s" }, { 999500000, 1000000000, 1, "s" }, { 9950000, 1000000, 0, "ms" },
		{ 999500, 1000000, 1, "ms" },	    { 9950, 1000, 0, "µs" },	       { 1000, 1000, 1, "µs" },
	};
	guint64 magnitude = ns < 0 ? -(guint64)ns : (guint64)ns;

	if (ns == INT64_MAX)
		return g_strdup("unknown");
	for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
		if (magnitude < forms[i].from_ns)
			continue;
		g_autofree char *figure = format_decimal(ns, forms[i].unit_ns, forms[i].decimals);
		return g_strconcat(figure, forms[i].unit, NULL);
	}
	return g_strdup_printf("%" G_GINT64_FORMAT "ns", (gint64)ns);
}

char *dtc_percent_format(int64_t part_ns, int64_t total_ns)
{
	if (total_ns <= 0 || part_ns <= 0)
		return g_strdup("0");
	int percent = (int)((double)part_ns * 100 / (double)total_ns + 0.5);

	return percent == 0 ? g_strdup("<1") : g_strdup_printf("%d", percent);
}

char *dtc_bytes_format(int64_t bytes)
{
	static const char units[] = "kMGTPE";
	const char *sign = bytes < 0 ? "-" : "";
	uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes, unit = 1000;
	int i = 0;

	if (size < 1000)
		return g_strdup_printf("%s%" PRIu64, sign, size);
	while (i + 1 < (int)strlen(units) && size / unit >= 1000) {
		unit *= 1000;
		i++;
	}
	uint64_t whole = size / unit, rest = size % unit / (unit / 1000);
	if (whole >= 100)
		return g_strdup_printf("%s%" PRIu64 "%c", sign, whole, units[i]);
	if (whole >= 10)
		return g_strdup_printf("%s%" PRIu64 ".%" PRIu64 "%c", sign, whole, rest / 100, units[i]);
	return g_strdup_printf("%s%" PRIu64 ".%02" PRIu64 "%c", sign, whole, rest / 10, units[i]);
}
