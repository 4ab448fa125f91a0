/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What steps add up to by tier, cause and detail: counted while they are added, and ordered when all are there, so that
 * a path of a million steps is never sorted. Strings are a report's, of which equal ones have equal addresses.
 */
#pragma once

#include "dtrace-chain/report.h"

typedef struct DtcRowSums DtcRowSums;

DtcRowSums *dtc_row_sums_new(void);
void dtc_row_sums_free(DtcRowSums *sums);
void dtc_row_sums_add(DtcRowSums *sums, const struct dtc_report_step *step);
/* Appends struct dtc_report_row by (tier, cause), each with its largest detail. */
void dtc_row_sums_list(DtcRowSums *sums, GArray *rows);
