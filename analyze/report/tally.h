/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a row of the table of all requests has of a path: sums by tier and cause, by tier, and the verdict. They are
 * those of its report (dtc_report_new), of which nothing else is made.
 */
#pragma once

#include "analyze/report/model.h"
#include "analyze/report/summary.h"

struct dtc_tally {
	struct dtc_summary_row row; /* its places in a summary: not yet known */
	struct dtc_share *shares;   /* row.share_count, as the tiers in any order */
	struct dtc_tier_share *tiers;
	DtcNameBook *names; /* has the strings */
};

void dtc_tally_free(struct dtc_tally *tally);

/* What adds up one path after the other, in one thread at a time, and keeps what it needs for that. */
typedef struct DtcTallier DtcTallier;

/* Of recordings of so many nodes. Caller owns. */
DtcTallier *dtc_tallier_new(guint node_count);
void dtc_tallier_free(DtcTallier *tallier);
/* input has a name book and a request, and a path that was checked, as dtc_question_answer does. Caller owns. */
struct dtc_tally *dtc_tallier_add_up(DtcTallier *tallier, const struct dtc_report_input *input);
