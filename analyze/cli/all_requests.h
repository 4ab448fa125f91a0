/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All requests of a loaded bundle, each placed, walked and summed up. */
#pragma once

#include "analyze/cli/load.h"
#include "analyze/report/summary.h"

/*
 * ret_skipped counts requests that no kernel trace shows. Findings are those that concern all requests. False with an
 * error if the bundle has no captures or no requests.
 */
bool dtc_all_requests_add(DtcSummary *summary, const DtcLoad *load, DtcProgress *progress, guint *ret_skipped,
			  DtcFindings *findings, GError **error);
