/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Many requests at once: a row each, percentiles of their durations with the mean breakdown of each band, and the
 * comparison of two groups: which part of the time grew. Built from tallies (tally.h), one at a time, so that only the
 * figures are kept. Rows stand in the order in which they were added until sorted.
 */
#pragma once

#include "collect/packets/table.h"
#include "dtrace-chain/report.h"

#include <glib.h>

/* What a tier spent for a cause in one request, or on average in a group. */
struct dtc_share {
	const char *tier, *node, *process;
	const char *detail; /* of at least half of the time, or NULL */
	enum dtc_cause cause;
	int64_t ns;
};

/* What a request spent in a tier, whatever for. Threads of the kernel are no tiers: they worked for one. */
struct dtc_tier_share {
	const char *tier, *node, *process;
	int64_t ns;
};

struct dtc_summary_row {
	const char *id;
	const char *method, *url;		  /* or NULL */
	int status;				  /* 0: not known */
	const char *node, *comm, *process, *tier; /* of the target */
	int32_t pid, tid;
	int64_t begin_ns; /* cluster time */
	int64_t duration_ns;
	guint share_first; /* in shares, largest first; they sum to duration_ns */
	guint share_count;
	guint tier_first; /* in tiers, largest first; they sum to duration_ns, too */
	guint tier_count;
	struct dtc_report_verdict verdict;
	bool complete;
	bool is_anonymous; /* it carries no id: id is its name */
};

struct dtc_band {
	const char *name; /* "up to p50", "p50 to p90", ... */
	int64_t from_ns;  /* durations of the band: above from_ns, up to to_ns */
	int64_t to_ns;
	guint request_count;
	int64_t duration_ns; /* mean */
	GArray *shares;	     /* struct dtc_share, means, largest first; sums to duration_ns within rounding */
};

typedef struct DtcSummary {
	GArray *rows;	  /* struct dtc_summary_row */
	DtcTable *shares; /* struct dtc_share */
	DtcTable *tiers;  /* struct dtc_tier_share */
	GStringChunk *strings;
} DtcSummary;

DtcSummary *dtc_summary_new(void);
void dtc_summary_free(DtcSummary *summary);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcSummary, dtc_summary_free)

/* What is given is copied: a row with as many shares and tiers as it says, in any order. */
void dtc_summary_add(DtcSummary *summary, const struct dtc_summary_row *row, const struct dtc_share *shares,
		     const struct dtc_tier_share *tiers);
const struct dtc_share *dtc_summary_get_share(const DtcSummary *summary, const struct dtc_summary_row *row,
					      guint index);
const struct dtc_tier_share *dtc_summary_get_tier(const DtcSummary *summary, const struct dtc_summary_row *row,
						  guint index);

enum dtc_summary_order { DTC_SUMMARY_BY_DURATION, DTC_SUMMARY_BY_START, DTC_SUMMARY_BY_ID };
/* Longest first, earliest first, or by id; ties by start and id. */
void dtc_summary_sort(DtcSummary *summary, enum dtc_summary_order order);
/* The count that took longest come first, sorted by the order among themselves; the rest after them. 0: as sort. */
void dtc_summary_sort_slowest(DtcSummary *summary, guint count, enum dtc_summary_order order);

/* Nearest-rank percentile of the durations, 0 without rows. */
int64_t dtc_summary_get_percentile(const DtcSummary *summary, guint percent);
/* The same of count values, which are sorted. */
int64_t dtc_percentile_get(const int64_t *sorted, guint count, guint percent);
struct dtc_figures {
	guint count;
	int64_t p50_ns, p90_ns, p99_ns, max_ns;
};
struct dtc_figures dtc_figures_get(const int64_t *sorted, guint count);
/* Of the durations. */
struct dtc_figures dtc_summary_get_figures(const DtcSummary *summary);
/* Bands up to p50, p90, p99 and above; empty ones are left out. struct dtc_band; free with g_array_unref. */
GArray *dtc_summary_get_bands(const DtcSummary *summary);
/*
 * Mean shares of the rows for which member is set (one per row; NULL: all). A detail stands for at least half of the
 * part, in at least half of the rows that have it: a file of one request's own does not. Caller owns the array.
 */
GArray *dtc_summary_get_means(const DtcSummary *summary, const bool *member, guint *ret_count,
			      int64_t *ret_duration_ns);

/* The same of the rows with these indexes (guint). */
GArray *dtc_summary_get_means_of(const DtcSummary *summary, const GArray *members, int64_t *ret_duration_ns);

/* How a part of the time differs between two groups. */
struct dtc_growth {
	struct dtc_share share;	  /* names, cause, and detail of the group in which it is larger */
	int64_t slow_ns, fast_ns; /* means */
};

struct dtc_comparison {
	char *slow_name, *fast_name; /* what the groups are, in words; owned */
	guint slow_count, fast_count;
	int64_t slow_ns, fast_ns; /* mean durations */
	GArray *growths;	  /* struct dtc_growth, largest growth first, what shrank last */
};

/* The strings in the result belong to the summaries (which may be the same one). */
struct dtc_comparison *dtc_summary_compare(const DtcSummary *slow, const bool *slow_member, const DtcSummary *fast,
					   const bool *fast_member);
void dtc_comparison_free(struct dtc_comparison *comparison);

/* How the texts of many requests are written. */
struct dtc_summary_text_options {
	guint width;
	bool has_color;
	bool has_utf8;
	bool is_exact;
};
