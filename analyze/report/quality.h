/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How well the clocks are known, for pictures: per node what its events' cluster times are certified to, per pair the
 * messages that say so, as one-way delays in cluster time. Points are the fastest messages of each stretch of time:
 * they are what the bounds rest on, and a hundred thousand others would hide them.
 */
#pragma once

#include "dtrace-chain/sync.h"
#include "sync/fit/fit.h"

#include <glib.h>

struct dtc_quality_node {
	const char *node;
	guint group;		/* of the clocks: those of another group cannot be compared */
	int64_t uncertainty_ns; /* against the reference, at the time asked for; INT64_MAX: not aligned */
};

struct dtc_quality_point {
	int64_t at_ns;	  /* cluster time of the arrival */
	int64_t delay_ns; /* as aligned; negative if the estimate contradicts the message */
	bool is_back;	  /* from b to a */
};

/* The certified half-width between the two clocks at one instant; INT64_MAX: not aligned. */
struct dtc_quality_width {
	int64_t at_ns;
	int64_t uncertainty_ns;
};

struct dtc_quality_pair {
	const char *a;
	const char *b;
	enum dtc_pair_status status;
	guint64 messages_ab;
	guint64 messages_ba;
	guint64 ambiguous;
	guint trimmed_count;
	guint step_count;
	int64_t offset_ns;
	double drift_ppm;
	int64_t width_ns[3];	/* certified, at start, middle and end of the pair's messages */
	int64_t uncertainty_ns; /* at the time asked for */
	guint point_first, point_count;
	guint width_first, width_count;
};

typedef struct DtcQuality {
	GArray *nodes;	/* struct dtc_quality_node */
	GArray *pairs;	/* struct dtc_quality_pair that have messages */
	GArray *points; /* struct dtc_quality_point, by pair, by time */
	GArray *widths; /* struct dtc_quality_width, by pair, by time */
	GStringChunk *strings;
} DtcQuality;

/*
 * sync and matches may be NULL (one node, or clocks known otherwise): then there are no pairs. names has one name per
 * node of the clocks. Caller owns.
 */
DtcQuality *dtc_quality_new(DtcClusterTime at, const char *const *names, const DtcClocks *clocks, const DtcSync *sync,
			    const DtcMatches *matches);
/*
 * Appends "nodes" and "pairs" to the JSON object that is open at the end of out, for clocks.js. Times since origin_ns:
 * absolute ones are beyond what a number of JavaScript holds.
 */
void dtc_quality_append_json(GString *out, const DtcQuality *quality, int64_t origin_ns);
void dtc_quality_free(DtcQuality *quality);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcQuality, dtc_quality_free)
