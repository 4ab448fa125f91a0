/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a report says at a glance: on which machine the time went, in which family of causes, and what most of each part
 * was. A sum of the steps, so that the head says nothing that the rows below it do not.
 */
#pragma once

#include "dtrace-chain/report.h"

/* Of steps as they are added: so much of each thing that a step can be about. */
typedef struct DtcVerdictSums DtcVerdictSums;

DtcVerdictSums *dtc_verdict_sums_new(void);
void dtc_verdict_sums_free(DtcVerdictSums *sums);
/* A step with its evidence, or NULL; strings are the report's. */
void dtc_verdict_sums_add(DtcVerdictSums *sums, const struct dtc_report_step *step,
			  const struct dtc_report_evidence *evidence);
/* The evidence of a step with this cause is looked at; that of others need not be there. */
bool dtc_verdict_looks_at(enum dtc_cause cause);

/* Fills machines, parts and verdict of a report that has its steps, which were added up, and rows. */
void dtc_verdict_add(DtcReport *report, DtcVerdictSums *sums);
