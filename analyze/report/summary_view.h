/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Views of many requests: the table with its percentiles (schema dtrace-chain/requests/1), and the comparison of two
 * groups (dtrace-chain/compare/1). docs/formats.md has both.
 */
#pragma once

#include "analyze/engine/all_requests.h"
#include "analyze/report/summary.h"
#include "dtrace-chain/finding.h"

#define DTC_REQUESTS_SCHEMA "dtrace-chain/requests/1"
#define DTC_COMPARE_SCHEMA "dtrace-chain/compare/1"

/* Everything is borrowed for the call. */
struct dtc_requests_input {
	const DtcSummary *summary; /* sorted. Counts, percentiles and bands are of all its rows, whatever is shown */
	guint slowest;		   /* only the first so many are listed (dtc_summary_sort_slowest); 0: all */
	guint limit;		   /* of these, at most so many; 0: all */
	int64_t origin_ns;	   /* cluster time that the text counts starts from */
	const char *reference;	   /* node whose clock is cluster time */
	struct dtc_skipped skipped;
	const DtcFindings *findings;
};

struct dtc_summary_text_options {
	guint width;
	bool has_color;
	bool has_utf8;
	bool is_exact;
};

char *dtc_requests_to_text(const struct dtc_requests_input *input, const struct dtc_summary_text_options *options);
char *dtc_requests_to_json(const struct dtc_requests_input *input);
char *dtc_comparison_to_text(const struct dtc_comparison *comparison, const DtcFindings *findings,
			     const struct dtc_summary_text_options *options);
char *dtc_comparison_to_json(const struct dtc_comparison *comparison, const DtcFindings *findings);
