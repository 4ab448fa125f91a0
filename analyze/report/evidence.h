/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the ids of records to what a report says of them: names and numbers, no sentences. */
#pragma once

#include "dtrace-chain/history.h"
#include "dtrace-chain/path.h"
#include "dtrace-chain/report.h"

/* What names it; all borrowed for the call. */
struct dtc_evidence_input {
	const DtcHistory *const *histories; /* by node; NULL, or NULL for a node: nothing is known of it */
	const char *const *node_names;
	guint node_count;
};

/*
 * Of a span on node; false if nothing is known. Its strings are the caller's to keep: each is passed through keep.
 */
bool dtc_report_evidence_make(const struct dtc_evidence_input *input, guint node, const struct dtc_evidence *evidence,
			      const char *(*keep)(gpointer data, const char *text), gpointer data,
			      struct dtc_report_evidence *ret_evidence);
/* A packed member "evidence": an object, or null for NULL. */
void dtc_report_evidence_add(GString *out, const struct dtc_report_evidence *evidence);
