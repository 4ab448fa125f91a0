/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the ids of records to what a report says of them: names and numbers, no sentences. */
#pragma once

#include "analyze/report/words.h"
#include "dtrace-chain/report.h"

/*
 * False if nothing is known. Its strings are the caller's to keep: each is passed through keep.
 */
bool dtc_report_evidence_make(const struct dtc_names *names, const struct dtc_evidence *evidence,
			      const char *(*keep)(gpointer data, const char *text), gpointer data,
			      struct dtc_report_evidence *ret_evidence);
/* A packed member "evidence": an object, or null for NULL. */
void dtc_report_evidence_add(GString *out, const struct dtc_report_evidence *evidence);
