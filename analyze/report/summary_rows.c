/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/summary_rows.h"

#include "dtrace-chain/error.h"

#include <string.h>

static bool is_tier(const struct dtc_share *share, const char *tier)
{
	return strcmp(share->tier, tier) == 0 || strcmp(share->node, tier) == 0 || strcmp(share->process, tier) == 0;
}

/* True if most of the time of the request lies in tiers of that name. */
static bool is_in_tier(const DtcSummary *summary, const struct dtc_summary_row *row, const char *name)
{
	int64_t ns;
	const char *tier = dtc_summary_get_tier(summary, row, &ns);

	for (guint i = 0; i < row->share_count; i++) {
		const struct dtc_share *share = dtc_summary_get_share(summary, row, i);
		if (share->tier == tier)
			return is_tier(share, name);
	}
	return false;
}

void dtc_summary_keep(DtcSummary *summary, int64_t min_ns, const char *tier)
{
	for (guint i = summary->rows->len; i-- > 0;) {
		const struct dtc_summary_row *row = &g_array_index(summary->rows, struct dtc_summary_row, i);
		if (row->duration_ns < min_ns || (tier && !is_in_tier(summary, row, tier)))
			g_array_remove_index(summary->rows, i);
	}
}

DtcClusterTime dtc_summary_get_middle(const DtcSummary *summary)
{
	int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;

	for (guint i = 0; i < summary->rows->len; i++) {
		const struct dtc_summary_row *row = &g_array_index(summary->rows, struct dtc_summary_row, i);
		begin_ns = MIN(begin_ns, row->begin_ns);
		end_ns = MAX(end_ns, row->begin_ns + row->duration_ns);
	}
	return (DtcClusterTime){ begin_ns < end_ns ? begin_ns + (end_ns - begin_ns) / 2 : 0 };
}

bool dtc_group_select_pattern(struct dtc_group *group, const char *option, const char *which, GError **error)
{
	const GArray *rows = group->summary->rows;
	g_autoptr(GPatternSpec) pattern = g_pattern_spec_new(which);
	guint found = 0;

	group->member = g_new0(bool, rows->len + 1);
	group->name = g_strdup(which);
	for (guint i = 0; i < rows->len; i++) {
		group->member[i] = strcmp(g_array_index(rows, struct dtc_summary_row, i).id, which) == 0;
		found += group->member[i];
	}
	if (found)
		return true;
	for (guint i = 0; i < rows->len; i++) { /* no such id: a pattern, then */
		const struct dtc_summary_row *row = &g_array_index(rows, struct dtc_summary_row, i);
		group->member[i] = g_pattern_spec_match_string(pattern, row->id) ||
				   (row->url && g_pattern_spec_match_string(pattern, row->url));
		found += group->member[i];
	}
	if (found)
		return true;
	g_autofree char *shown = g_strescape(which, NULL);
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
		    "%s '%s' fits none of %u requests\n"
		    "give an id or a pattern with * and ?; `dtrace-chain requests` lists ids, JSON also URLs",
		    option, shown, rows->len);
	return false;
}

void dtc_group_select_percentile(struct dtc_group *group, guint percent, bool is_above, const char *name)
{
	const GArray *rows = group->summary->rows;
	int64_t limit_ns = dtc_summary_get_percentile(group->summary, percent);

	group->member = g_new0(bool, rows->len + 1);
	group->name = g_strdup(name);
	for (guint i = 0; i < rows->len; i++) {
		int64_t ns = g_array_index(rows, struct dtc_summary_row, i).duration_ns;
		group->member[i] = is_above ? ns > limit_ns : ns <= limit_ns;
	}
}

void dtc_group_select_all(struct dtc_group *group, const char *bundle)
{
	group->member = g_new(bool, group->summary->rows->len + 1);
	for (guint i = 0; i < group->summary->rows->len; i++)
		group->member[i] = true;
	group->name = g_path_get_basename(bundle);
}

void dtc_group_clear(struct dtc_group *group)
{
	g_free(group->member);
	g_free(group->name);
}
