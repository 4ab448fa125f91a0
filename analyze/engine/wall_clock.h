/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a clock on a wall shows at a time of a trace's clock that counts from 1970, and which times people mean who read
 * one. The zone is the one of the process: TZ, else that of the machine.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_ZONE_BYTES 8
#define DTC_DAY_NS G_GINT64_CONSTANT(86400000000000)

/* Digits as a clock shows them. */
struct dtc_wall_reading {
	int64_t ns;		   /* since 1970 as if in UTC; without a date, since midnight */
	bool has_date;		   /* else any day */
	bool has_zone;		   /* else in the zone of the process */
	int64_t zone_ns;	   /* of it: what clocks there show more than UTC's */
	char zone[DTC_ZONE_BYTES]; /* has_zone: "" or the name of that of the process, as printed */
};

/*
 * "12:00:03.5", "2026-11-20 09:58:31.598", with T for the space, a comma for the point, and behind it a zone: Z, UTC,
 * +01:00, or what dtc_wall_clock_format prints. False if it is none of these.
 */
bool dtc_wall_reading_parse(const char *text, struct dtc_wall_reading *ret_reading);
/* Every time in [begin_ns, end_ns] at which clocks show that; int64_t, ascending. Caller owns. */
GArray *dtc_wall_reading_list(const struct dtc_wall_reading *reading, int64_t begin_ns, int64_t end_ns);

/* Whether a trace's clock that shows this shows wall-clock time, not the time since some start. */
bool dtc_wall_clock_is_known(int64_t ns);
/* "2026-11-20 09:58:31.598 UTC"; NULL if that is not known. Caller owns. */
char *dtc_wall_clock_format(int64_t ns);
/* The time of day alone, "09:58:31.598"; NULL if that is not known. Caller owns. */
char *dtc_wall_clock_format_time(int64_t ns);
/* "2026-11-20 09:58:23.480 to 09:58:40.449 UTC"; NULL if that is not known. Caller owns. */
char *dtc_wall_clock_format_span(int64_t begin_ns, int64_t end_ns);
