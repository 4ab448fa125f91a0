/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rows of a summary are meant: those that are kept, and the groups that are compared. */
#pragma once

#include "analyze/report/summary.h"

/* Which rows are kept; all zeros: all. Strings are borrowed. */
struct dtc_row_filter {
	int64_t slower_than_ns; /* took at least this */
	const char *tier;	/* spent most of its time in the tier, node or process of that name */
	const char *url;	/* its URL, or that without the query, fits this pattern with * and ? */
	int status_from;	/* 0: any */
	int status_to;
	bool has_since;
	int64_t since_ns; /* began then or later, cluster time */
};

/* "500", "5xx" or "400-499" to the filter. USAGE if it is none of these. */
bool dtc_row_filter_set_status(struct dtc_row_filter *filter, const char *text, GError **error);
/* USAGE, with the nearest name, if no request was ever in a tier, node or process of that name. */
bool dtc_summary_keep(DtcSummary *summary, const struct dtc_row_filter *filter, GError **error);
/* Midway between the begin of the first request and the end of the last; 0 without rows. */
DtcClusterTime dtc_summary_get_middle(const DtcSummary *summary);

/* All zeros but summary before one of the functions below; to be cleared after use. */
struct dtc_group {
	const DtcSummary *summary; /* borrowed; its rows stay as they are */
	bool *member;		   /* owned: by row */
	char *name;		   /* owned: what they are, in words */
};

/*
 * The requests whose id is which, else whose id or URL (with or without its query) fits it as a pattern with * and ?.
 * NOT_FOUND if there are none, with option as who asked.
 */
bool dtc_group_select_pattern(struct dtc_group *group, const char *option, const char *which, GError **error);
/* Those above, or up to, a percentile of the durations. */
void dtc_group_select_percentile(struct dtc_group *group, guint percent, bool is_above, const char *name);
/* Its name is the last part of bundle. */
void dtc_group_select_all(struct dtc_group *group, const char *bundle);
void dtc_group_clear(struct dtc_group *group);
