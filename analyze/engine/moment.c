/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/moment.h"

#include "dtrace-chain/error.h"

#include <string.h>

#define MOMENT_HINT                                                                                                    \
	"times are +1.5s or +200ms since the begin of the trace; 12:00:03.5 or '2026-11-20 12:00:03.5', with Z or "    \
	"+01:00 behind it if not of the zone here; or seconds or whole nanoseconds of the trace's clock"
#define SLACK_NS G_GINT64_CONSTANT(1000000000) /* what is printed is rounded */
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

	if (parse_decimal(text + moment.is_relative, moment.is_relative ? 1000000000 : 1, 1000000000, &moment.ns)) {
		*ret_moment = moment;
		return true;
	}
	if (dtc_wall_reading_parse(text, &moment.wall)) {
		moment.is_relative = false;
		moment.is_wall = true;
		moment.ns = 0;
		*ret_moment = moment;
		return true;
	}
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "%s '%s' is not a time\n" MOMENT_HINT, option, text);
	return false;
}

/* What a wall clock showed, but not once in the recording. */
static bool set_not_once(GError **error, const char *option, const char *text, const GArray *times, int64_t begin_ns,
			 int64_t end_ns, bool has_zone_name)
{
	g_autofree char *span = dtc_wall_clock_format_span(begin_ns, end_ns);

	if (!span) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "%s '%s' is a time of day, which the clock of this recording does not show\n"
			    "give the time since its begin, for example +1.5s",
			    option, text);
	} else if (times->len > 1) {
		g_autofree char *first = dtc_wall_clock_format(g_array_index(times, int64_t, 0));
		g_autofree char *second = dtc_wall_clock_format(g_array_index(times, int64_t, 1));
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "%s '%s' is in the recording more than once\n"
			    "give '%s' or '%s'; it goes from %s",
			    option, text, first, second, span);
	} else {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "%s '%s' is not in the recording\n"
			    "it goes from %s%s",
			    option, text, span,
			    has_zone_name ? "; of other zones give the offset from UTC, for example +01:00" : "");
	}
	return false;
}

bool dtc_moment_resolve(const char *option, const char *text, const struct dtc_moment *moment, int64_t begin_ns,
			int64_t end_ns, int64_t *ret_ns, GError **error)
{
	if (!moment->is_wall) {
		int64_t ns = moment->ns;
		if (moment->is_relative && __builtin_add_overflow(begin_ns, moment->ns, &ns))
			ns = INT64_MAX;
		*ret_ns = ns;
		return true;
	}
	bool is_known = dtc_wall_clock_is_known(begin_ns);
	/* a date may lie beyond the recording, as seconds may: it is cut to it */
	int64_t from_ns = moment->wall.has_date ? INT64_MIN : begin_ns - SLACK_NS;
	int64_t to_ns = moment->wall.has_date ? INT64_MAX : MIN(end_ns, INT64_MAX - 2 * DTC_DAY_NS) + SLACK_NS;
	g_autoptr(GArray) times = is_known ? dtc_wall_reading_list(&moment->wall, from_ns, to_ns)
					   : g_array_new(FALSE, FALSE, sizeof(int64_t));
	if (times->len != 1)
		return set_not_once(error, option, text, times, begin_ns, end_ns, *moment->wall.zone);
	*ret_ns = g_array_index(times, int64_t, 0);
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
