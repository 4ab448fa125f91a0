/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What steps add up to by tier, cause and detail: counted while they are added, and ordered when all are there, so that
 * a path of a million steps is never sorted. Strings are a report's, of which equal ones have equal addresses.
 */
#pragma once

#include "dtrace-chain/report.h"

typedef struct DtcRowSums DtcRowSums;

/* has_members: which steps a row has is kept, for dtc_row_sums_list_halves. */
DtcRowSums *dtc_row_sums_new(bool has_members);
void dtc_row_sums_free(DtcRowSums *sums);
void dtc_row_sums_add(DtcRowSums *sums, const struct dtc_report_step *step);
/* Appends struct dtc_report_row by (tier, cause), each with its largest detail. */
void dtc_row_sums_list(DtcRowSums *sums, GArray *rows);

/* The detail of the so manyth step that was added, or NULL. */
typedef const char *(*DtcStepDetail)(gpointer data, guint step);
/*
 * Of steps that were added without details: a row has one only if at least half of its time was about that, and no more
 * steps are asked for theirs than it takes to know, the longest first. Words are most of what a row of `requests`
 * costs: of 64 nodes each request has 98 steps in 26 rows. detail_ns is then no more than what shows that it is half.
 */
void dtc_row_sums_list_halves(DtcRowSums *sums, GArray *rows, DtcStepDetail get, gpointer data);
