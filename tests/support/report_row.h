/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The row that a report would have in the table of all requests: what a tally has to be, made the long way. */
#pragma once

#include "analyze/report/summary.h"

static inline struct dtc_summary_row report_row_head(const DtcReport *report)
{
	return (struct dtc_summary_row){
		.id = report->request ? report->request : "",
		.method = report->method,
		.url = report->url,
		.status = report->status,
		.node = report->target.node,
		.comm = report->target.comm,
		.process = report->target.process,
		.tier = report->target.tier,
		.pid = report->target.pid,
		.tid = report->target.tid,
		.begin_ns = report->begin_ns,
		.duration_ns = report->duration_ns,
		.share_count = report->rows->len,
		.verdict = report->verdict,
		.complete = report->complete,
		.is_anonymous = report->sources->len == 0,
	};
}

static inline GArray *report_row_tiers(const DtcReport *report)
{
	GArray *tiers = g_array_new(FALSE, FALSE, sizeof(struct dtc_tier_share));

	for (guint i = 0; i < report->steps->len; i++) {
		const struct dtc_report_step *step = DTC_AT(report->steps, struct dtc_report_step, i);
		const struct dtc_report_thread *who = &step->service;
		const struct dtc_tier_share fresh = { who->tier, who->node, who->process, 0 };
		guint k = 0;
		while (k < tiers->len && g_array_index(tiers, struct dtc_tier_share, k).tier != who->tier)
			k++;
		if (k == tiers->len)
			g_array_append_val(tiers, fresh);
		g_array_index(tiers, struct dtc_tier_share, k).ns += step->end_ns - step->begin_ns;
	}
	return tiers;
}

static inline GArray *report_row_shares(const DtcReport *report)
{
	GArray *shares = g_array_new(FALSE, FALSE, sizeof(struct dtc_share));

	for (guint i = 0; i < report->rows->len; i++) {
		const struct dtc_report_row *from = &g_array_index(report->rows, struct dtc_report_row, i);
		const struct dtc_share share = {
			.tier = from->tier,
			.node = from->node,
			.process = from->process,
			.detail = 2 * from->detail_ns >= from->ns ? from->detail : NULL,
			.cause = from->cause,
			.ns = from->ns,
		};
		g_array_append_val(shares, share);
	}
	return shares;
}

static inline void report_row_add(DtcSummary *summary, const DtcReport *report)
{
	struct dtc_summary_row row = report_row_head(report);
	g_autoptr(GArray) shares = report_row_shares(report);
	g_autoptr(GArray) tiers = report_row_tiers(report);

	row.tier_count = tiers->len;
	dtc_summary_add(summary, &row, (const struct dtc_share *)(const void *)shares->data,
			(const struct dtc_tier_share *)(const void *)tiers->data);
}
