/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What processes used, asked of a bundle that was read: analyze/profile/usage.h for a subject. */
#pragma once

#include "analyze/engine/selection.h"
#include "analyze/profile/usage.h"

/*
 * interval_ns is the length of a step over time, 0: a 50th of the span. NULL with an error as of dtc_selection_find and
 * dtc_usage_new, or if its sums do not add up. Caller owns.
 */
DtcUsage *dtc_usage_of(const DtcEngine *engine, const struct dtc_subject *subject, int64_t interval_ns,
		       DtcFindings *findings, GError **error);
