/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times as people type them, read exactly (never through a double): "+1.5s", "+200ms" since the begin of the trace,
 * "1795168587.592869804" seconds and "1795168587592869804" nanoseconds of the trace's clock, "12:00:03.5" and
 * "2026-11-20 09:58:31.598" of a clock on a wall (wall_clock.h); and spans: "1%" is not one, "5ms" and "250us" are.
 */
#pragma once

#include "analyze/engine/wall_clock.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_moment {
	bool is_relative; /* to the begin of the trace */
	bool is_wall;	  /* ns is 0 and wall tells */
	int64_t ns;
	struct dtc_wall_reading wall;
};

/* option names the option in the error (USAGE), which also tells the forms. */
bool dtc_moment_parse(const char *option, const char *text, struct dtc_moment *ret_moment, GError **error);
/*
 * When that is on the clock of a recording that goes from begin_ns to end_ns on it; saturates, since whatever lies
 * beyond is cut. A time of day is of the day of the recording. USAGE if it has none, or several, with that time: the
 * error names the recording's span.
 */
bool dtc_moment_resolve(const char *option, const char *text, const struct dtc_moment *moment, int64_t begin_ns,
			int64_t end_ns, int64_t *ret_ns, GError **error);
/* A span of zero or more with a unit: ns, us, ms or s. */
bool dtc_span_parse(const char *option, const char *text, int64_t *ret_ns, GError **error);
