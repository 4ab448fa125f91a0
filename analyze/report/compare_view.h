/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The comparison of two groups of requests, as text and as dtrace-chain/compare/1 (docs/formats.md). */
#pragma once

#include "analyze/report/summary.h"
#include "dtrace-chain/finding.h"

#define DTC_COMPARE_SCHEMA "dtrace-chain/compare/1"

char *dtc_comparison_to_text(const struct dtc_comparison *comparison, const DtcFindings *findings,
			     const struct dtc_summary_text_options *options);
char *dtc_comparison_to_json(const struct dtc_comparison *comparison, const DtcFindings *findings);
