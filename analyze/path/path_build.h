/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a path is put together: by the walk, and by tests that need one of a known shape. */
#pragma once

#include "collect/packets/table.h"
#include "dtrace-chain/history.h"
#include "dtrace-chain/path.h"

/* Nothing is known but, perhaps, the reason. */
static inline struct dtc_evidence dtc_evidence_of(enum dtc_reason reason)
{
	return (struct dtc_evidence){ .reason = reason,
				      .file = DTC_NONE,
				      .packet = DTC_NONE,
				      .sent_packet = DTC_NONE,
				      .sent_call = DTC_NONE,
				      .by_thread = DTC_NONE };
}

/* What an interval of a thread of node tells. */
static inline struct dtc_evidence dtc_evidence_of_interval(guint node, const struct dtc_interval *interval)
{
	struct dtc_evidence evidence = dtc_evidence_of(DTC_REASON_OWN);
	evidence.node = node;
	if (interval)
		evidence.interval = *interval;
	evidence.has_interval = interval != NULL;
	return evidence;
}

/* A path over [begin, end] without segments. Caller owns. */
DtcPath *dtc_path_new(DtcClusterTime begin, DtcClusterTime end);
/* Appends a segment; the walk adds them from the latest to the earliest. */
void dtc_path_add_segment(DtcPath *path, const struct dtc_segment *segment);
/* Numbers a thread that waits, for the segments that explain its wait. */
guint dtc_path_add_waiter(DtcPath *path, const struct dtc_waiter *waiter);
/* Appends a blocking and gives its index, which children name as their parent. */
guint dtc_path_add_blocking(DtcPath *path, const struct dtc_blocking *blocking);
/* Counts one of a depth that is not told. */
void dtc_path_count_untold(DtcPath *path, guint depth);
void dtc_path_add_reversal(DtcPath *path, const struct dtc_reversal *reversal);
/* Replaces all segments of a finished path by others, by time; the table changes owner. */
void dtc_path_set_segments(DtcPath *path, DtcTable *segments);
/* An empty table for them. Caller owns. */
DtcTable *dtc_path_segments_new(void);
/* Orders segments by time and blockings depth first, children by time. Nothing may be added afterwards. */
void dtc_path_finish(DtcPath *path);
