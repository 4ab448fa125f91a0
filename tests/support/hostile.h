/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report in which every name tries to leave its place: markup, script, escape codes, quotes, separators, 4 KiB. */
#pragma once

#include "tests/support/made_path.h"

#define HOSTILE_MARKUP "</script><script>window.pwned=1</script><img src=x onerror='window.pwned=2'>"
#define HOSTILE HOSTILE_MARKUP "\"'\\;\n\r\t&]]>--!>\x1b[2J\xff\xc0\x80\xe2\x80\xae{{x}} @@DATA@@"
#define HOSTILE_BEGIN_NS INT64_C(1795168708818285281)

/* The findings and the path are the caller's. */
static inline DtcReport *hostile_report(DtcFindings *findings, DtcPath **ret_path)
{
	g_autofree char *long_name = g_strnfill(4096, 'W');
	const struct made_segment segments[] = {
		{ 1000000, 0, 10, HOSTILE, DTC_CAUSE_RUNNING_USER, HOSTILE, 0 },
		{ 500000, 1, -1, HOSTILE, DTC_CAUSE_NETWORK_WIRE, "<!--" HOSTILE, 40000 },
		{ 3000000, 1, 20, long_name, DTC_CAUSE_DISK, long_name, 0 },
		{ 500000, 0, 10, "__proto__", DTC_CAUSE_NETWORK_WIRE, "constructor", INT64_MAX },
	};
	DtcPath *path = made_path_new(HOSTILE_BEGIN_NS, segments, G_N_ELEMENTS(segments));
	guint parent = made_path_add_blocking(path, G_MAXUINT, 0, HOSTILE_BEGIN_NS, HOSTILE_BEGIN_NS + 4000000, HOSTILE,
					      HOSTILE);
	g_autoptr(GError) error = NULL;

	made_path_add_blocking(path, parent, 1, HOSTILE_BEGIN_NS, HOSTILE_BEGIN_NS + 3000000, HOSTILE, "@@DATA@@");
	dtc_findings_add(findings, DTC_SEVERITY_WARNING, true, HOSTILE, "%s", HOSTILE);
	*ret_path = path;
	DtcReport *report = made_path_report(path, findings, HOSTILE, &error);
	g_assert_no_error(error);
	return report;
}
