/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What threads were blocked on: of one thread each blocking with what its waker was blocked on meanwhile (Fournier's
 * Blockings Causality), and a table by (thread, cause, call, waker). JSON: dtrace-chain/blockings/1, docs/formats.md.
 */
#pragma once

#include "analyze/profile/blocked.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/path.h"

#define DTC_BLOCKINGS_SCHEMA "dtrace-chain/blockings/1"

/* Everything is borrowed for the call. */
struct dtc_blockings_input {
	const DtcLinks *links;
	const DtcFindings *findings;
	const DtcBlocked *blocked;
	guint request_count; /* by which rows are weighed; 0: they are not */
	/* of one thread; path is NULL without */
	const DtcPath *path;
	guint node;
	uint32_t thread;
	const GArray *lineage; /* struct dtc_lineage_part: it, and its parents in the time before its birth; or NULL */
	DtcClusterTime begin;
	DtcClusterTime end;
};

struct dtc_blockings_text_options {
	guint width;
	bool has_color;
	bool has_utf8;
	bool is_exact;	/* nanoseconds */
	guint limit;	/* rows of the table; 0: all */
	int64_t min_ns; /* of the tree: leave out what is shorter; -1: 1 % of the span */
};

/* Callers own the results. */
char *dtc_blockings_to_text(const struct dtc_blockings_input *input, const struct dtc_blockings_text_options *options);
char *dtc_blockings_to_json(const struct dtc_blockings_input *input);
