/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a duration is written: for a sentence in the unit that fits it, for a column in the unit that fits the total. */
#pragma once

#include <glib.h>
#include <stdint.h>

struct dtc_scale {
	const char *unit; /* "s", "ms", "µs", "ns" */
	int64_t unit_ns;  /* ns per unit; written with three decimals unless it is 1 */
};

/* For columns whose largest value is total_ns; exact: always ns. */
struct dtc_scale dtc_scale_get(int64_t total_ns, gboolean is_exact);
/* The figure alone, "93.412", rounded half up. Caller owns. */
char *dtc_scale_format(struct dtc_scale scale, int64_t ns);

/* Figure and unit with about four digits: "50.06 ms", "1.204 s", "812 ns". INT64_MAX is "unknown". Caller owns. */
char *dtc_duration_format(int64_t ns);

/* The same with two or three digits and no space, for narrow columns: "50ms", "1.2s", "365µs". Caller owns. */
char *dtc_duration_format_short(int64_t ns);

/* "0", "812", "12.3k", "-4.56M": decimal, three digits. Caller owns. */
char *dtc_bytes_format(int64_t bytes);

/* "54", or "<1" for what is not nothing; whole percents. Caller owns. */
char *dtc_percent_format(int64_t part_ns, int64_t total_ns);
