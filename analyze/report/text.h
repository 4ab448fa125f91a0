/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text view of a report: what an engineer on call wants at a glance, the most important first. */
#pragma once

#include "dtrace-chain/report.h"

struct dtc_text_options {
	guint width; /* columns, at least 40 */
	bool has_color;
	bool has_utf8;
	bool is_verbose; /* fold nothing */
	bool is_exact;	 /* nanoseconds */
	int64_t min_ns;	 /* fold what is shorter; -1: 1 % of the duration, 0.5 % on the path */
};

/* Of a report so long, blockings that are shorter are counted at most, and so are those beneath one of them. */
int64_t dtc_text_get_blocking_min_ns(const struct dtc_text_options *options, int64_t duration_ns);
/* Caller owns. */
char *dtc_report_to_text(const DtcReport *report, const struct dtc_text_options *options);
