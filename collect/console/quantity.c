/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/console/quantity.h"

#include "dtrace-chain/error.h"

#include <math.h>
#include <string.h>

#define YEAR_NS (365.0 * 24 * 3600 * 1e9)

bool dtc_size_parse(const char *option, const char *text, guint64 *ret_bytes, GError **error)
{
	static const char units[] = "kmgt";
	char *end = NULL;
	guint64 bytes = g_ascii_isdigit(*text) ? g_ascii_strtoull(text, &end, 10) : 0;
	guint shift = 0;

	if (bytes && *end) {
		const char *unit = strchr(units, g_ascii_tolower(*end));
		shift = unit ? 10 * (guint)(unit - units + 1) : 0;
		end += unit ? 1 : 0;
		end += unit && *end == 'i' ? 1 : 0;
		end += *end == 'B' ? 1 : 0;
	}
	if (!bytes || *end || bytes > (guint64)G_MAXINT64 >> shift) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "%s '%s' is not a size\nfor example 500M or 64GiB", option, text);
		return false;
	}
	*ret_bytes = bytes << shift;
	return true;
}

bool dtc_duration_parse(const char *option, const char *text, int64_t *ret_ns, GError **error)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 } };
	char *end = NULL;
	double number = g_ascii_isdigit(*text) ? g_ascii_strtod(text, &end) : 0;

	for (gsize i = 0; end && i < G_N_ELEMENTS(units); i++) {
		double ns = number * units[i].ns;
		if (strcmp(end, units[i].name) != 0 || !(ns >= 1) || ns > YEAR_NS)
			continue;
		*ret_ns = llrint(ns);
		return true;
	}
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
		    "%s '%s' is not a duration\nfor example 30s, 500ms or 5m", option, text);
	return false;
}
