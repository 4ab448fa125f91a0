/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what the engine tells to words: the report of an answer, the rows of all requests, the quality of the clocks. */
#pragma once

#include "analyze/engine/all_requests.h"
#include "analyze/engine/question.h"
#include "analyze/report/model.h"
#include "analyze/report/quality.h"
#include "analyze/report/summary.h"

/* As of dtc_report_new. Everything is borrowed for the call; caller owns. */
DtcReport *dtc_report_of(const DtcEngine *engine, const struct dtc_question *question, const DtcPath *path,
			 const DtcFindings *findings, GError **error);
/* The same for the terminal, which shows no records behind steps and blockings: they are not kept. */
DtcReport *dtc_report_of_words(const DtcEngine *engine, const struct dtc_question *question, const DtcPath *path,
			       const DtcFindings *findings, GError **error);

/*
 * A row for each request that is wholly inside of the trace of its node; the others are counted in ret_skipped.
 * Findings are those that concern all requests. False with an error as of dtc_all_requests_new, or if the watcher (or
 * NULL) stops it.
 */
bool dtc_summary_add_all(DtcSummary *summary, const DtcEngine *engine, const struct dtc_watch *watch,
			 struct dtc_skipped *ret_skipped, DtcFindings *findings, GError **error);

/* How well the clocks are known at a time. Caller owns. */
DtcQuality *dtc_quality_of(const DtcEngine *engine, DtcClusterTime at);
