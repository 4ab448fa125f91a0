/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dtrace-chain/report.h"

/* A verdict as an object of reports and of the list of requests; with the tier, cause and time of its largest row. */
void dtc_verdict_append_json(GString *out, const struct dtc_report_verdict *verdict, const char *tier,
			     enum dtc_cause cause, int64_t ns, int64_t duration_ns);
