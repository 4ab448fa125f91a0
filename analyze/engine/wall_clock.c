/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/wall_clock.h"

#include <string.h>

/* Wall clocks count from 1970; a trace whose clock does not would give dates near that. */
#define OLDEST_WALL_CLOCK_NS (946684800 * NS_PER_S)
#define NS_PER_S G_GINT64_CONSTANT(1000000000)
#define DAYS_MAX 3 /* of a time without a date: the second day makes it ambiguous */

/* ---- reading ---- */

/* So many digits, or of a time of day fewer if they are fewer. */
static bool take_number(const char **text, guint digits_min, guint digits_max, int *ret_number)
{
	guint digits = 0;

	*ret_number = 0;
	while (digits < digits_max && g_ascii_isdigit((*text)[digits]))
		*ret_number = *ret_number * 10 + (*text)[digits++] - '0';
	*text += digits;
	return digits >= digits_min;
}

static bool take_char(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

/* What is finer than a nanosecond must be 0. */
static bool take_fraction(const char **text, int64_t *ret_ns)
{
	const char *begin = *text;
	int64_t unit_ns = NS_PER_S;

	for (; g_ascii_isdigit(**text); (*text)++) {
		unit_ns /= 10;
		if (unit_ns == 0 && **text != '0')
			return false;
		*ret_ns += (**text - '0') * unit_ns;
	}
	return *text > begin;
}

/* "12:00", "12:00:03", "12:00:03.5" */
static bool take_time(const char **text, int64_t *ret_ns)
{
	int hour, minute, second = 0;
	int64_t fraction_ns = 0;

	if (!take_number(text, 1, 2, &hour) || !take_char(text, ':') || !take_number(text, 2, 2, &minute))
		return false;
	if (take_char(text, ':')) {
		if (!take_number(text, 2, 2, &second))
			return false;
		if ((take_char(text, '.') || take_char(text, ',')) && !take_fraction(text, &fraction_ns))
			return false;
	}
	if (hour > 23 || minute > 59 || second > 59)
		return false;
	*ret_ns = (hour * G_GINT64_CONSTANT(3600) + minute * G_GINT64_CONSTANT(60) + second) * NS_PER_S + fraction_ns;
	return true;
}

/* "2026-11-20" */
static bool take_date(const char **text, int64_t *ret_ns)
{
	int year, month, day;

	if (!take_number(text, 4, 4, &year) || !take_char(text, '-') || !take_number(text, 2, 2, &month) ||
	    !take_char(text, '-') || !take_number(text, 2, 2, &day))
		return false;
	g_autoptr(GDateTime) date = g_date_time_new_utc(year, month, day, 0, 0, 0);
	if (!date || year > 2200) /* int64_t of ns end in 2262 */
		return false;
	*ret_ns = g_date_time_to_unix(date) * NS_PER_S;
	return true;
}

/* The rest of a reading: "", "Z", " UTC", "+01:00", "-0500", "+01", " CET" */
static bool take_zone(const char *text, struct dtc_wall_reading *reading)
{
	int hour, minute = 0;

	while (*text == ' ')
		text++;
	if (!*text)
		return true;
	reading->has_zone = true;
	if (g_ascii_strcasecmp(text, "Z") == 0 || strcmp(text, "UTC") == 0 || strcmp(text, "GMT") == 0)
		return true;
	if (*text != '+' && *text != '-')
		return g_strlcpy(reading->zone, text, DTC_ZONE_BYTES) < DTC_ZONE_BYTES &&
		       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen(text);
	int64_t sign = *text++ == '-' ? -1 : 1;
	if (!take_number(&text, 2, 2, &hour))
		return false;
	bool has_colon = take_char(&text, ':');
	if ((has_colon || *text) && !take_number(&text, 2, 2, &minute))
		return false;
	reading->zone_ns = sign * (hour * G_GINT64_CONSTANT(3600) + minute * G_GINT64_CONSTANT(60)) * NS_PER_S;
	return !*text && hour <= 14 && minute <= 59;
}

bool dtc_wall_reading_parse(const char *text, struct dtc_wall_reading *ret_reading)
{
	struct dtc_wall_reading reading = { .has_date = strlen(text) > 4 && text[4] == '-' };
	int64_t time_ns;

	if (reading.has_date && (!take_date(&text, &reading.ns) ||
				 (!take_char(&text, ' ') && !take_char(&text, 'T') && !take_char(&text, 't'))))
		return false;
	if (!take_time(&text, &time_ns) || !take_zone(text, &reading))
		return false;
	reading.ns += time_ns;
	*ret_reading = reading;
	return true;
}

/* ---- meaning ---- */

static GDateTime *get_local(int64_t ns)
{
	g_autoptr(GTimeZone) zone = g_time_zone_new_local();
	g_autoptr(GDateTime) utc = g_date_time_new_from_unix_utc(ns / NS_PER_S - (ns % NS_PER_S < 0));

	return utc ? g_date_time_to_timezone(utc, zone) : NULL;
}

/* What clocks of the process's zone show more than UTC's at that time. */
static int64_t get_zone_ns(int64_t ns)
{
	g_autoptr(GDateTime) local = get_local(ns);

	return local ? g_date_time_get_utc_offset(local) * 1000 : 0;
}

static bool has_zone_name(int64_t ns, const char *name)
{
	g_autoptr(GDateTime) local = get_local(ns);

	return !*name || (local && strcmp(g_date_time_get_timezone_abbreviation(local), name) == 0);
}

/* The times at which clocks show these ns since 1970: two where they are set back, none where they are set forward. */
static void add_times(GArray *times, const struct dtc_wall_reading *reading, int64_t shown_ns, int64_t begin_ns,
		      int64_t end_ns)
{
	bool is_given = reading->has_zone && !*reading->zone;
	const int64_t zones_ns[] = {
		is_given ? reading->zone_ns : get_zone_ns(shown_ns - DTC_DAY_NS),
		is_given ? reading->zone_ns : get_zone_ns(shown_ns + DTC_DAY_NS),
	};
	guint first = zones_ns[0] < zones_ns[1];

	for (guint i = 0; i < G_N_ELEMENTS(zones_ns); i++) {
		int64_t zone_ns = zones_ns[i ^ first], ns = shown_ns - zone_ns;
		if ((i > 0 && zones_ns[0] == zones_ns[1]) || ns < begin_ns || ns > end_ns)
			continue;
		if (is_given || (get_zone_ns(ns) == zone_ns && has_zone_name(ns, reading->zone)))
			g_array_append_val(times, ns);
	}
}

GArray *dtc_wall_reading_list(const struct dtc_wall_reading *reading, int64_t begin_ns, int64_t end_ns)
{
	GArray *times = g_array_new(FALSE, FALSE, sizeof(int64_t));

	if (reading->has_date) {
		add_times(times, reading, reading->ns, begin_ns, end_ns);
		return times;
	}
	/* from the day before: zones are up to 14 hours apart */
	int64_t day_ns = begin_ns - begin_ns % DTC_DAY_NS - DTC_DAY_NS;
	for (; day_ns <= end_ns + DTC_DAY_NS && times->len < DAYS_MAX; day_ns += DTC_DAY_NS)
		add_times(times, reading, day_ns + reading->ns, begin_ns, end_ns);
	return times;
}

/* ---- writing ---- */

bool dtc_wall_clock_is_known(int64_t ns)
{
	return ns >= OLDEST_WALL_CLOCK_NS;
}

/* Rounded to milliseconds. The format is that of GDateTime, in which %f stands for these. */
static char *format(int64_t ns, const char *before, const char *after)
{
	if (!dtc_wall_clock_is_known(ns) || ns > INT64_MAX - NS_PER_S)
		return NULL;
	ns += 500000;
	g_autoptr(GDateTime) local = get_local(ns);
	if (!local)
		return NULL;
	g_autofree char *begin = g_date_time_format(local, before);
	g_autofree char *end = g_date_time_format(local, after);
	return g_strdup_printf("%s.%03d%s", begin, (int)(ns % NS_PER_S / 1000000), end);
}

char *dtc_wall_clock_format(int64_t ns)
{
	return format(ns, "%Y-%m-%d %H:%M:%S", " %Z");
}

char *dtc_wall_clock_format_time(int64_t ns)
{
	return format(ns, "%H:%M:%S", "");
}

char *dtc_wall_clock_format_span(int64_t begin_ns, int64_t end_ns)
{
	g_autofree char *begin = format(begin_ns, "%Y-%m-%d %H:%M:%S", "");
	g_autofree char *end = dtc_wall_clock_format(end_ns);

	if (!begin || !end)
		return NULL;
	bool is_one_day = strncmp(begin, end, strlen("2026-11-20 ")) == 0;
	return g_strdup_printf("%s to %s", begin, end + (is_one_day ? strlen("2026-11-20 ") : 0));
}
