/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/summary_rows.h"

#include "collect/bundle/suggest.h"
#include "dtrace-chain/error.h"

#include <string.h>

static bool is_tier(const struct dtc_tier_share *share, const char *name)
{
	return strcmp(share->tier, name) == 0 || strcmp(share->node, name) == 0 || strcmp(share->process, name) == 0;
}

static bool fits_url(GPatternSpec *pattern, const char *url)
{
	g_autofree char *path = g_strndup(url, strcspn(url, "?#"));

	return g_pattern_spec_match_string(pattern, path) || g_pattern_spec_match_string(pattern, url);
}

static bool parse_code(const char *text, int *ret_code)
{
	guint64 code;

	if (!g_ascii_string_to_unsigned(text, 10, 100, 999, &code, NULL))
		return false;
	*ret_code = (int)code;
	return true;
}

bool dtc_row_filter_set_status(struct dtc_row_filter *filter, const char *text, GError **error)
{
	g_auto(GStrv) ends = g_strsplit(text, "-", 2);
	bool is_class = strlen(text) == 3 && g_ascii_isdigit(text[0]) && text[0] != '0' &&
			g_ascii_strcasecmp(text + 1, "xx") == 0;

	if (is_class) {
		filter->status_from = 100 * (text[0] - '0');
		filter->status_to = filter->status_from + 99;
		return true;
	}
	if (ends[0] && parse_code(ends[0], &filter->status_from) &&
	    parse_code(ends[1] ? ends[1] : ends[0], &filter->status_to) && filter->status_from <= filter->status_to)
		return true;
	g_autofree char *shown = g_strescape(text, NULL);
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
		    "--status '%s' is not a status\ngive 500, 5xx or 400-499", shown);
	return false;
}

/* The names that --tier knows: of tiers, nodes and processes. Caller unrefs; the keys are borrowed. */
static GHashTable *list_tiers(const DtcSummary *summary)
{
	GHashTable *names = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < summary->tiers->len; i++) {
		const struct dtc_tier_share *share = &g_array_index(summary->tiers, struct dtc_tier_share, i);
		g_hash_table_add(names, (gpointer)share->tier);
		g_hash_table_add(names, (gpointer)share->node);
		g_hash_table_add(names, (gpointer)share->process);
	}
	return names;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool check_tier(const DtcSummary *summary, const char *tier, GError **error)
{
	g_autoptr(GHashTable) names = list_tiers(summary);
	guint count;

	if (g_hash_table_contains(names, tier))
		return true;
	g_autofree const char **words = (const char **)g_hash_table_get_keys_as_array(names, &count);
	qsort(words, count, sizeof(*words), compare_names);
	const char *nearest = dtc_suggest(tier, words);
	g_autofree char *known = g_strjoinv(", ", (char **)words);
	g_autofree char *shown = g_strescape(tier, NULL);
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
		    "no request was in a tier, node or process '%s'\n%s%s%sthey were in %s", shown,
		    nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "", known);
	return false;
}

bool dtc_summary_keep(DtcSummary *summary, const struct dtc_row_filter *filter, GError **error)
{
	g_autoptr(GPatternSpec) url = filter->url ? g_pattern_spec_new(filter->url) : NULL;
	guint kept = 0;

	if (filter->tier && summary->rows->len && !check_tier(summary, filter->tier, error))
		return false;
	for (guint i = 0; i < summary->rows->len; i++) {
		const struct dtc_summary_row row = g_array_index(summary->rows, struct dtc_summary_row, i);
		const struct dtc_tier_share *largest = dtc_summary_get_tier(summary, &row, 0);
		if (row.duration_ns < filter->slower_than_ns ||
		    (filter->tier && !(largest && is_tier(largest, filter->tier))) ||
		    (url && !(row.url && fits_url(url, row.url))) ||
		    (filter->status_from && (row.status < filter->status_from || row.status > filter->status_to)) ||
		    (filter->has_since && row.begin_ns < filter->since_ns))
			continue;
		g_array_index(summary->rows, struct dtc_summary_row, kept++) = row;
	}
	g_array_set_size(summary->rows, kept);
	return true;
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
		group->member[i] =
			g_pattern_spec_match_string(pattern, row->id) || (row->url && fits_url(pattern, row->url));
		found += group->member[i];
	}
	if (found)
		return true;
	g_autofree char *shown = g_strescape(which, NULL);
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
		    "%s '%s' fits none of %u requests\n"
		    "give an id or a pattern with * and ?; `dtrace-chain requests` lists ids and URLs",
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
