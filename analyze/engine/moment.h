/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times as people type them, read exactly (never through a double): "+1.5s", "+200ms" since the begin of the trace,
 * "1795168587.592869804" seconds and "1795168587592869804" nanoseconds of the trace's clock; and spans: "1%" is not
 * one, "5ms" and "250us" are.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_moment {
	bool is_relative; /* to the begin of the trace */
	int64_t ns;
};

/* option names the option in the error (USAGE), which also tells the forms. */
bool dtc_moment_parse(const char *option, const char *text, struct dtc_moment *ret_moment, GError **error);
/* A span of zero or more with a unit: ns, us, ms or s. */
bool dtc_span_parse(const char *option, const char *text, int64_t *ret_ns, GError **error);
