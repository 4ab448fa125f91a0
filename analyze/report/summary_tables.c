/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/summary_tables.h"

#include "analyze/exchange/url_pattern.h"

#include <dtrace-chain/sort.h>

#include <string.h>

static const struct dtc_summary_row *get_row(const DtcSummary *summary, guint index)
{
	return &g_array_index(summary->rows, struct dtc_summary_row, index);
}

/* Sorts the values. */
static struct dtc_figures get_figures(GArray *values)
{
	g_array_sort(values, dtc_compare_int64);
	return dtc_figures_get((const int64_t *)(const void *)values->data, values->len);
}

/* The members of one table row: their indexes, and what each spent. */
struct gathered {
	GArray *rows; /* guint */
	GArray *ns;   /* int64_t */
	int64_t total_ns;
	const struct dtc_tier_share *tier; /* or NULL */
};

static struct gathered *gathered_new(void)
{
	struct gathered *gathered = g_new0(struct gathered, 1);

	gathered->rows = g_array_new(FALSE, FALSE, sizeof(guint));
	gathered->ns = g_array_new(FALSE, FALSE, sizeof(int64_t));
	return gathered;
}

static void gathered_free(gpointer data)
{
	struct gathered *gathered = data;

	g_array_unref(gathered->rows);
	g_array_unref(gathered->ns);
	g_free(gathered);
}

static void gather(struct gathered *gathered, guint row, int64_t ns)
{
	g_array_append_val(gathered->rows, row);
	g_array_append_val(gathered->ns, ns);
	gathered->total_ns += ns;
}

/* ---- by URL ---- */

static void url_clear(void *data)
{
	struct dtc_url_row *url = data;

	g_free(url->method);
	g_free(url->pattern);
	g_array_unref(url->slow_shares);
}

static int compare_urls(gconstpointer a, gconstpointer b)
{
	const struct dtc_url_row *x = a, *y = b;
	int order = (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);

	if (!order)
		order = strcmp(x->pattern, y->pattern);
	return order ? order : strcmp(x->method, y->method);
}

static void set_slow(struct dtc_url_row *url, const DtcSummary *summary, const struct gathered *gathered)
{
	g_autoptr(GArray) slow = g_array_new(FALSE, FALSE, sizeof(guint));
	const int64_t *sorted = (const int64_t *)(const void *)gathered->ns->data;
	guint count = gathered->ns->len;
	int64_t least_ns = sorted[count - MAX((count + 3) / 4, 1)];

	for (guint i = 0; i < gathered->rows->len; i++) {
		guint row = g_array_index(gathered->rows, guint, i);
		if (get_row(summary, row)->duration_ns >= least_ns)
			g_array_append_val(slow, row);
	}
	url->slow_count = slow->len;
	url->slow_shares = dtc_summary_get_means_of(summary, slow, &url->slow_ns);
}

GArray *dtc_summary_get_urls(const DtcSummary *summary)
{
	g_autoptr(GHashTable) groups = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, gathered_free);
	GArray *urls = g_array_new(FALSE, FALSE, sizeof(struct dtc_url_row));
	GHashTableIter iter;
	gpointer key, value;

	g_array_set_clear_func(urls, url_clear);
	for (guint i = 0; i < summary->rows->len; i++) {
		const struct dtc_summary_row *row = get_row(summary, i);
		g_autofree char *pattern = dtc_url_fold(row->url ? row->url : "");
		char *name = g_strconcat(row->method ? row->method : "", " ", pattern, NULL);
		struct gathered *group = g_hash_table_lookup(groups, name);
		if (group) {
			g_free(name);
		} else {
			group = gathered_new();
			g_hash_table_insert(groups, name, group);
		}
		gather(group, i, row->duration_ns);
	}
	g_hash_table_iter_init(&iter, groups);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const char *space = strchr(key, ' ');
		const struct gathered *group = value;
		struct dtc_url_row url = {
			.method = g_strndup(key, (gsize)(space - (const char *)key)),
			.pattern = g_strdup(space + 1),
			.figures = get_figures(group->ns),
			.total_ns = group->total_ns,
		};
		set_slow(&url, summary, group);
		g_array_append_val(urls, url);
	}
	g_array_sort(urls, compare_urls);
	return urls;
}

/* ---- by tier ---- */

static int compare_tiers(gconstpointer a, gconstpointer b)
{
	const struct dtc_tier_row *x = a, *y = b;
	int order = (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);

	return order ? order : strcmp(x->tier, y->tier);
}

GArray *dtc_summary_get_tiers(const DtcSummary *summary)
{
	g_autoptr(GHashTable) groups = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, gathered_free);
	GArray *tiers = g_array_new(FALSE, FALSE, sizeof(struct dtc_tier_row));
	GHashTableIter iter;
	gpointer value;

	for (guint i = 0; i < summary->rows->len; i++) {
		const struct dtc_tier_share *tier;
		for (guint k = 0; (tier = dtc_summary_get_tier(summary, get_row(summary, i), k)); k++) {
			struct gathered *group = g_hash_table_lookup(groups, tier->tier);
			if (!group) {
				group = gathered_new();
				group->tier = tier;
				g_hash_table_insert(groups, (gpointer)tier->tier, group);
			}
			gather(group, i, tier->ns);
		}
	}
	g_hash_table_iter_init(&iter, groups);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct gathered *group = value;
		const struct dtc_tier_row row = { group->tier->tier, group->tier->node, group->tier->process,
						  get_figures(group->ns), group->total_ns };
		g_array_append_val(tiers, row);
	}
	g_array_sort(tiers, compare_tiers);
	return tiers;
}
