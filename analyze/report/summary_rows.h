/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rows of a summary are meant: those that are kept, and the groups that are compared. */
#pragma once

#include "analyze/report/summary.h"

/* Keeps the rows that took min_ns or more and, unless tier is NULL, spent most of their time in a tier, node or process
 * of that name. */
void dtc_summary_keep(DtcSummary *summary, int64_t min_ns, const char *tier);
/* Midway between the begin of the first request and the end of the last; 0 without rows. */
DtcClusterTime dtc_summary_get_middle(const DtcSummary *summary);

/* All zeros but summary before one of the functions below; to be cleared after use. */
struct dtc_group {
	const DtcSummary *summary; /* borrowed; its rows stay as they are */
	bool *member;		   /* owned: by row */
	char *name;		   /* owned: what they are, in words */
};

/*
 * The requests whose id is which, else whose id or URL fits it as a pattern with * and ?. NOT_FOUND if there are none,
 * with option as who asked.
 */
bool dtc_group_select_pattern(struct dtc_group *group, const char *option, const char *which, GError **error);
/* Those above, or up to, a percentile of the durations. */
void dtc_group_select_percentile(struct dtc_group *group, guint percent, bool is_above, const char *name);
/* Its name is the last part of bundle. */
void dtc_group_select_all(struct dtc_group *group, const char *bundle);
void dtc_group_clear(struct dtc_group *group);
