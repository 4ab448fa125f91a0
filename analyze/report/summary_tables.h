/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What many requests have in common: figures by URL pattern, and by tier. */
#pragma once

#include "analyze/report/summary.h"

/* The requests of one method and URL pattern (url_pattern.h). */
struct dtc_url_row {
	char *method, *pattern; /* "" if not known */
	struct dtc_figures figures;
	int64_t total_ns;
	/* the slowest quarter, at least one: its mean, and where its time goes (as of dtc_summary_get_means) */
	guint slow_count;
	int64_t slow_ns;
	GArray *slow_shares;
};

/* struct dtc_url_row, the one with most time first. Free with g_array_unref. */
GArray *dtc_summary_get_urls(const DtcSummary *summary);

/* What the requests that passed through a tier spent in it, each. */
struct dtc_tier_row {
	const char *tier, *node, *process; /* of the summary */
	struct dtc_figures figures;	   /* of these requests */
	int64_t total_ns;
};

/* struct dtc_tier_row, the one with most time first. Free with g_array_unref. */
GArray *dtc_summary_get_tiers(const DtcSummary *summary);
