/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/moment.h"

#include "dtrace-chain/error.h"

#include <string.h>

#define MOMENT_HINT                                                                                                    \
	"times are +1.5s or +200ms since the begin of the trace, 1795168587.592869804 seconds, or whole nanoseconds"
#define SPAN_HINT "a span has a unit: 250us, 5ms, 1.5s"

/* Units in ns; bare: what a figure without a unit is in. */
static bool find_unit(const char *text, int64_t bare_ns, int64_t *ret_unit_ns)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "µs", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };

	if (!*text) {
		*ret_unit_ns = bare_ns;
		return bare_ns > 0;
	}
	for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
		if (strcmp(text, units[i].name) == 0) {
			*ret_unit_ns = units[i].ns;
			return true;
		}
	}
	return false;
}

/* An unsigned decimal with an optional unit. A digit finer than a nanosecond is refused unless it is 0. */
static bool parse_decimal(const char *text, int64_t bare_whole_ns, int64_t bare_fraction_ns, int64_t *ret_ns)
{
	const char *end = text;
	int64_t value_ns = 0, unit_ns;

	while (g_ascii_isdigit(*end))
		end++;
	const char *fraction = *end == '.' ? end + 1 : NULL;
	const char *unit = fraction ? fraction : end;
	while (fraction && g_ascii_isdigit(*unit))
		unit++;
	if (end == text || (fraction && unit == fraction))
		return false;
	if (!find_unit(unit, fraction ? bare_fraction_ns : bare_whole_ns, &unit_ns))
		return false;
	for (const char *p = text; p < end; p++) {
		int64_t digit_ns;
		if (__builtin_mul_overflow(value_ns, 10, &value_ns) ||
		    __builtin_mul_overflow((int64_t)(*p - '0'), unit_ns, &digit_ns) ||
		    __builtin_add_overflow(value_ns, digit_ns, &value_ns))
			return false;
	}
	for (const char *p = fraction; p && p < unit; p++) {
		if (unit_ns % 10 != 0 && *p != '0')
			return false;
		unit_ns /= 10;
		if (__builtin_add_overflow(value_ns, (*p - '0') * unit_ns, &value_ns))
			return false;
	}
	*ret_ns = value_ns;
	return true;
}

bool dtc_moment_parse(const char *option, const char *text, struct dtc_moment *ret_moment, GError **error)
{
	struct dtc_moment moment = { .is_relative = *text == '+' };

	if (!parse_decimal(text + moment.is_relative, moment.is_relative ? 1000000000 : 1, 1000000000, &moment.ns)) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "%s '%s' is not a time\n" MOMENT_HINT, option,
			    text);
		return false;
	}
	*ret_moment = moment;
	return true;
}

bool dtc_span_parse(const char *option, const char *text, int64_t *ret_ns, GError **error)
{
	if (parse_decimal(text, 0, 0, ret_ns))
		return true;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "%s '%s' is not a span of time\n" SPAN_HINT, option,
		    text);
	return false;
}
