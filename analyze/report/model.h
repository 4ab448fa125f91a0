/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Turns a critical path and what is known around it into a report (dtrace-chain/report.h). Linear in
 * segments; strings are stored once.
 */
#pragma once

#include "analyze/engine/usual.h"
#include "analyze/path/lineage.h"
#include "analyze/report/name_book.h"
#include "analyze/request/locate.h"
#include "analyze/request/serving.h"
#include "dtrace-chain/cluster.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/path.h"
#include "dtrace-chain/report.h"
#include "dtrace-chain/request.h"
#include "dtrace-chain/sync.h"

#include <glib.h>

/* Everything is borrowed for the call. */
struct dtc_report_input {
	const char *const *node_names; /* one per node of the clocks */
	guint node_count;
	const DtcCluster *cluster; /* names tiers; or NULL */
	/* of the same nodes, histories and cluster: names that other reports have, too; NULL: its own */
	DtcNameBook *name_book;
	const DtcPath *path;
	const DtcClocks *clocks;
	const DtcFindings *findings;
	/* whose time it is */
	guint target_node;
	int32_t target_pid, target_tid;
	const char *target_comm;
	const char *target_process;
	const GArray *lineage; /* struct dtc_lineage_part, of the span: the target and its parents; or NULL */
	/* of the request, if one was asked for */
	const char *request;
	const struct dtc_identity *identities;
	guint identity_count;
	const char *method;
	const char *url;
	int status;
	const struct dtc_usual *usual; /* how it compares with the others; or NULL */
	/* where it was; NULL: not known. histories: one per node, NULL where there is none */
	const struct dtc_place *place;
	const DtcRequests *requests;		 /* NULL: hops that may be another request's do not say so */
	const struct dtc_followed_hop *followed; /* hops without an id; or NULL */
	guint followed_count;
	const DtcHistory *const *histories;
	bool is_client_hidden; /* the span is a server's part, and the head says so */
	int64_t origin_ns;     /* where the recording begins, cluster time; INT64_MIN: not known */
	bool lacks_evidence;   /* who reads it shows no records behind steps and blockings: they are not kept */
};

/* Time on the wire and time that nobody accounts for have no process; they are still somebody's row. */
const char *dtc_report_name_process(const char *process, enum dtc_cause cause);
/*
 * A kernel thread that somebody waited for worked for that one: jbd2 for who called fsync, kworker for who queued.
 * Borrowed; NULL where that is nobody of its node.
 */
const struct dtc_waiter *dtc_report_find_waiter(const struct dtc_report_input *input,
						const struct dtc_segment *segment);

/*
 * Verifies conservation on the way: false promises of the path (a gap, an overlap, a sum that is off) are an error
 * (DTC_ANALYZE_ERROR, DAMAGED) that names the first broken one. Caller owns.
 */
DtcReport *dtc_report_new(const struct dtc_report_input *input, GError **error);
