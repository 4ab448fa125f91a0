/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of many requests, as text and as dtrace-chain/requests/1 (docs/formats.md). */
#pragma once

#include "analyze/engine/all_requests.h"
#include "analyze/report/summary.h"
#include "dtrace-chain/finding.h"

#define DTC_REQUESTS_SCHEMA "dtrace-chain/requests/1"

/* Everything is borrowed for the call. */
struct dtc_requests_input {
	const DtcSummary *summary; /* sorted. Tables and figures are of all its rows, whatever is listed */
	struct dtc_figures all;	   /* of all requests, also of those that the summary does not keep */
	guint slowest;		   /* only the first so many are listed (dtc_summary_sort_slowest); 0: all */
	guint limit;		   /* of these, at most so many; 0: all */
	int64_t origin_ns;	   /* cluster time that the text counts starts from */
	const char *reference;	   /* node whose clock is cluster time */
	struct dtc_skipped skipped;
	const DtcFindings *findings;
};

char *dtc_requests_to_text(const struct dtc_requests_input *input, const struct dtc_summary_text_options *options);
char *dtc_requests_to_json(const struct dtc_requests_input *input);
