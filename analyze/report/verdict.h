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

/* A step at which the thread was busy with another request. Equal strings have equal addresses. */
struct dtc_waiting {
	const char *busy_with;
	const char *tier;
	const char *candidate; /* or NULL */
	int64_t ns;
};

/*
 * Orders machines (struct dtc_report_machine) and the parts of each (struct dtc_report_part), and says which of them
 * the head names, of a duration.
 */
void dtc_verdict_set(struct dtc_report_verdict *verdict, GArray *machines, GArray *parts, int64_t duration_ns);
/*
 * The other request that made it wait longest, the tier that was busy with it longest, and which it may be instead.
 * waitings: struct dtc_waiting, in the order of time.
 */
void dtc_verdict_set_waited(struct dtc_report_verdict *verdict, const GArray *waitings);

/* Fills machines, parts and verdict of a report that has its steps, which were added up, and rows. */
void dtc_verdict_add(DtcReport *report, DtcVerdictSums *sums);
