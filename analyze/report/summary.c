/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/summary.h"

#include <dtrace-chain/sort.h>

#include <string.h>

/* What requests consist of leaves the heap where there are more than a few hundred. */
#define HEAP_BYTES ((gsize)1 << 20)

DtcSummary *dtc_summary_new(void)
{
	DtcSummary *summary = g_new0(DtcSummary, 1);

	summary->rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_summary_row));
	summary->shares = dtc_table_new_on_heap(sizeof(struct dtc_share), HEAP_BYTES);
	summary->tiers = dtc_table_new_on_heap(sizeof(struct dtc_tier_share), HEAP_BYTES);
	summary->strings = g_string_chunk_new(4096);
	return summary;
}

void dtc_summary_free(DtcSummary *summary)
{
	if (!summary)
		return;
	g_array_unref(summary->rows);
	dtc_table_free(summary->shares);
	dtc_table_free(summary->tiers);
	g_string_chunk_free(summary->strings);
	g_free(summary);
}

/* Strings that were kept of one request, in which a few dozens stand hundreds of times: where they were, and where. */
#define RECENT 64

struct keeper {
	DtcSummary *summary;
	struct {
		const char *from;
		const char *to;
	} recent[RECENT];
};

/* As long as the request's texts are there, another one has another address. */
static const char *keep(struct keeper *keeper, const char *text)
{
	guint at = (guint)((guintptr)text * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15) >> 58);

	if (!text)
		return NULL;
	if (keeper->recent[at].from != text) {
		keeper->recent[at].from = text;
		keeper->recent[at].to = g_string_chunk_insert_const(keeper->summary->strings, text);
	}
	return keeper->recent[at].to;
}

static int compare_shares(const void *a, const void *b)
{
	const struct dtc_share *x = a, *y = b;
	int order = (x->ns < y->ns) - (x->ns > y->ns);

	if (!order)
		order = strcmp(x->tier, y->tier);
	return order ? order : (int)x->cause - (int)y->cause;
}

static int compare_tiers(const void *a, const void *b)
{
	const struct dtc_tier_share *x = a, *y = b;
	int order = (x->ns < y->ns) - (x->ns > y->ns);

	return order ? order : strcmp(x->tier, y->tier);
}

/* Its index of a part means nothing here. */
static struct dtc_report_verdict keep_verdict(struct keeper *keeper, const struct dtc_report_verdict *from)
{
	struct dtc_report_verdict verdict = *from;

	verdict.machine = keep(keeper, from->machine);
	verdict.waited_for = keep(keeper, from->waited_for);
	verdict.waited_tier = keep(keeper, from->waited_tier);
	verdict.waited_candidate = keep(keeper, from->waited_candidate);
	return verdict;
}

void dtc_summary_add(DtcSummary *summary, const struct dtc_summary_row *from, const struct dtc_share *shares,
		     const struct dtc_tier_share *tiers)
{
	struct keeper keeper = { .summary = summary };
	struct dtc_summary_row row = *from;

	row.id = keep(&keeper, from->id);
	row.method = keep(&keeper, from->method);
	row.url = keep(&keeper, from->url);
	row.node = keep(&keeper, from->node);
	row.comm = keep(&keeper, from->comm);
	row.process = keep(&keeper, from->process);
	row.tier = keep(&keeper, from->tier);
	row.share_first = summary->shares->len;
	row.tier_first = summary->tiers->len;
	row.verdict = keep_verdict(&keeper, &from->verdict);
	for (guint i = 0; i < row.share_count; i++) {
		const struct dtc_share share = {
			.tier = keep(&keeper, shares[i].tier),
			.node = keep(&keeper, shares[i].node),
			.process = keep(&keeper, shares[i].process),
			.detail = keep(&keeper, shares[i].detail),
			.cause = shares[i].cause,
			.ns = shares[i].ns,
		};
		dtc_table_append(summary->shares, &share);
	}
	for (guint i = 0; i < row.tier_count; i++) {
		const struct dtc_tier_share tier = { keep(&keeper, tiers[i].tier), keep(&keeper, tiers[i].node),
						     keep(&keeper, tiers[i].process), tiers[i].ns };
		dtc_table_append(summary->tiers, &tier);
	}
	if (row.share_count)
		qsort(DTC_AT(summary->shares, struct dtc_share, row.share_first), row.share_count,
		      sizeof(struct dtc_share), compare_shares);
	if (row.tier_count)
		qsort(DTC_AT(summary->tiers, struct dtc_tier_share, row.tier_first), row.tier_count,
		      sizeof(struct dtc_tier_share), compare_tiers);
	g_array_append_val(summary->rows, row);
}

const struct dtc_share *dtc_summary_get_share(const DtcSummary *summary, const struct dtc_summary_row *row, guint index)
{
	return index < row->share_count ? DTC_AT(summary->shares, struct dtc_share, row->share_first + index) : NULL;
}

const struct dtc_tier_share *dtc_summary_get_tier(const DtcSummary *summary, const struct dtc_summary_row *row,
						  guint index)
{
	return index < row->tier_count ? DTC_AT(summary->tiers, struct dtc_tier_share, row->tier_first + index) : NULL;
}

static int compare_start(const struct dtc_summary_row *x, const struct dtc_summary_row *y)
{
	int order = (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);

	return order ? order : strcmp(x->id, y->id);
}

static int compare_rows(const void *a, const void *b, void *data)
{
	const struct dtc_summary_row *x = a, *y = b;
	int order = 0;

	switch (*(const enum dtc_summary_order *)data) {
	case DTC_SUMMARY_BY_DURATION:
		order = (x->duration_ns < y->duration_ns) - (x->duration_ns > y->duration_ns);
		break;
	case DTC_SUMMARY_BY_START:
		break;
	case DTC_SUMMARY_BY_ID:
		order = strcmp(x->id, y->id);
		break;
	}
	return order ? order : compare_start(x, y);
}

void dtc_summary_sort(DtcSummary *summary, enum dtc_summary_order order)
{
	if (summary->rows->len)
		g_array_sort_with_data(summary->rows, compare_rows, &order);
}

void dtc_summary_sort_slowest(DtcSummary *summary, guint count, enum dtc_summary_order order)
{
	if (!count || count >= summary->rows->len) {
		dtc_summary_sort(summary, order);
		return;
	}
	dtc_summary_sort(summary, DTC_SUMMARY_BY_DURATION);
	g_qsort_with_data(summary->rows->data, (gint)count, sizeof(struct dtc_summary_row), compare_rows, &order);
}

int64_t dtc_percentile_get(const int64_t *sorted, guint count, guint percent)
{
	guint64 rank = ((guint64)count * percent + 99) / 100;

	return count ? sorted[MIN(MAX(rank, 1), count) - 1] : 0;
}

static int64_t *sort_durations(const DtcSummary *summary)
{
	guint count = summary->rows->len;
	int64_t *durations = g_new(int64_t, count + 1);

	for (guint i = 0; i < count; i++)
		durations[i] = g_array_index(summary->rows, struct dtc_summary_row, i).duration_ns;
	dtc_sort_int64(durations, count);
	return durations;
}

int64_t dtc_summary_get_percentile(const DtcSummary *summary, guint percent)
{
	g_autofree int64_t *durations = sort_durations(summary);

	return dtc_percentile_get(durations, summary->rows->len, percent);
}

struct dtc_figures dtc_figures_get(const int64_t *sorted, guint count)
{
	return (struct dtc_figures){
		.count = count,
		.p50_ns = dtc_percentile_get(sorted, count, 50),
		.p90_ns = dtc_percentile_get(sorted, count, 90),
		.p99_ns = dtc_percentile_get(sorted, count, 99),
		.max_ns = dtc_percentile_get(sorted, count, 100),
	};
}

struct dtc_figures dtc_summary_get_figures(const DtcSummary *summary)
{
	g_autofree int64_t *durations = sort_durations(summary);

	return dtc_figures_get(durations, summary->rows->len);
}

/* The mean's part with the same tier and cause. Names of two summaries are different pointers. */
static struct dtc_share *find_share(GArray *shares, const struct dtc_share *like)
{
	for (guint i = 0; i < shares->len; i++) {
		struct dtc_share *share = &g_array_index(shares, struct dtc_share, i);
		if (share->cause == like->cause && strcmp(share->tier, like->tier) == 0)
			return share;
	}
	return NULL;
}

/* How long a part was about one thing, and in how many requests; detail NULL: about anything. */
struct detail {
	guint mean; /* the part */
	const char *detail;
	int64_t ns;
	guint row_count;
};

static guint detail_hash(gconstpointer data)
{
	const struct detail *detail = data;

	return g_direct_hash(detail->detail) * 31 + detail->mean;
}

static gboolean detail_equal(gconstpointer a, gconstpointer b)
{
	const struct detail *x = a, *y = b;

	return x->mean == y->mean && x->detail == y->detail;
}

static guint share_hash(gconstpointer data)
{
	const struct dtc_share *share = data;

	return g_direct_hash(share->tier) * 31 + share->cause;
}

static gboolean share_equal(gconstpointer a, gconstpointer b)
{
	const struct dtc_share *x = a, *y = b;

	return x->tier == y->tier && x->cause == y->cause;
}

/*
 * The place of the mean of a share's tier and cause, of which there are thousands on hundreds of nodes: names of one
 * summary are kept once, so that their addresses tell.
 */
static guint find_mean(GArray *means, GHashTable *places, const struct dtc_share *share)
{
	guint place = GPOINTER_TO_UINT(g_hash_table_lookup(places, share));

	if (place)
		return place - 1;
	struct dtc_share first = *share;
	first.ns = 0;
	first.detail = NULL;
	g_array_append_val(means, first);
	g_hash_table_insert(places, (gpointer)share, GUINT_TO_POINTER(means->len));
	return means->len - 1;
}

static void add_to_detail(GHashTable *details, guint mean, const char *about, int64_t ns)
{
	const struct detail key = { .mean = mean, .detail = about };
	struct detail *detail = g_hash_table_lookup(details, &key);

	if (!detail) {
		detail = g_memdup2(&key, sizeof(key));
		g_hash_table_add(details, detail);
	}
	detail->ns += ns;
	detail->row_count++;
}

/* Sums, not yet divided. */
static void set_details(GArray *means, GHashTable *details)
{
	GHashTableIter iter;
	gpointer key;

	g_hash_table_iter_init(&iter, details);
	while (g_hash_table_iter_next(&iter, &key, NULL)) {
		const struct detail *detail = key, anything = { .mean = detail->mean };
		const struct detail *all = g_hash_table_lookup(details, &anything);
		struct dtc_share *mean = &g_array_index(means, struct dtc_share, detail->mean);
		if (!detail->detail || 2 * detail->ns < all->ns || 2 * detail->row_count < all->row_count)
			continue;
		/* of two halves the first by name, whatever the order of the table */
		if (2 * detail->ns > all->ns || !mean->detail || strcmp(detail->detail, mean->detail) < 0)
			mean->detail = detail->detail;
	}
}

GArray *dtc_summary_get_means_of(const DtcSummary *summary, const GArray *members, int64_t *ret_duration_ns)
{
	GArray *means = g_array_new(FALSE, FALSE, sizeof(struct dtc_share));
	g_autoptr(GHashTable) details = g_hash_table_new_full(detail_hash, detail_equal, g_free, NULL);
	g_autoptr(GHashTable) places = g_hash_table_new(share_hash, share_equal); /* struct dtc_share -> place + 1 */
	guint count = members->len;
	int64_t total_ns = 0;

	for (guint i = 0; i < count; i++) {
		const struct dtc_summary_row *row =
			&g_array_index(summary->rows, struct dtc_summary_row, g_array_index(members, guint, i));
		total_ns += row->duration_ns;
		for (guint k = 0; k < row->share_count; k++) {
			const struct dtc_share *share = dtc_summary_get_share(summary, row, k);
			guint at = find_mean(means, places, share);
			g_array_index(means, struct dtc_share, at).ns += share->ns;
			add_to_detail(details, at, NULL, share->ns);
			if (share->detail)
				add_to_detail(details, at, share->detail, share->ns);
		}
	}
	set_details(means, details);
	for (guint i = 0; count && i < means->len; i++)
		g_array_index(means, struct dtc_share, i).ns /= count;
	if (means->len)
		qsort(means->data, means->len, sizeof(struct dtc_share), compare_shares);
	*ret_duration_ns = count ? total_ns / count : 0;
	return means;
}

GArray *dtc_summary_get_means(const DtcSummary *summary, const bool *member, guint *ret_count, int64_t *ret_duration_ns)
{
	g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(guint));

	for (guint i = 0; i < summary->rows->len; i++)
		if (!member || member[i])
			g_array_append_val(members, i);
	*ret_count = members->len;
	return dtc_summary_get_means_of(summary, members, ret_duration_ns);
}

static void band_clear(void *data)
{
	g_array_unref(((struct dtc_band *)data)->shares);
}

GArray *dtc_summary_get_bands(const DtcSummary *summary)
{
	static const struct {
		const char *name;
		guint percent;
	} limits[] = { { "up to p50", 50 }, { "p50 to p90", 90 }, { "p90 to p99", 99 }, { "above p99", 100 } };
	GArray *bands = g_array_new(FALSE, FALSE, sizeof(struct dtc_band));
	g_autofree bool *member = g_new(bool, summary->rows->len + 1);
	int64_t from_ns = INT64_MIN;

	g_array_set_clear_func(bands, band_clear);
	for (guint i = 0; i < G_N_ELEMENTS(limits) && summary->rows->len; i++) {
		struct dtc_band band = { .name = limits[i].name,
					 .from_ns = MAX(from_ns, 0),
					 .to_ns = dtc_summary_get_percentile(summary, limits[i].percent) };
		for (guint k = 0; k < summary->rows->len; k++) {
			int64_t ns = g_array_index(summary->rows, struct dtc_summary_row, k).duration_ns;
			member[k] = ns > from_ns && ns <= band.to_ns;
		}
		from_ns = band.to_ns;
		band.shares = dtc_summary_get_means(summary, member, &band.request_count, &band.duration_ns);
		if (band.request_count)
			g_array_append_val(bands, band);
		else
			g_array_unref(band.shares);
	}
	return bands;
}

static int compare_growths(const void *a, const void *b)
{
	const struct dtc_growth *x = a, *y = b;
	int64_t grown_x = x->slow_ns - x->fast_ns, grown_y = y->slow_ns - y->fast_ns;
	int order = (grown_x < grown_y) - (grown_x > grown_y);

	return order ? order : compare_shares(&x->share, &y->share);
}

struct dtc_comparison *dtc_summary_compare(const DtcSummary *slow, const bool *slow_member, const DtcSummary *fast,
					   const bool *fast_member)
{
	struct dtc_comparison *comparison = g_new0(struct dtc_comparison, 1);
	g_autoptr(GArray) a = dtc_summary_get_means(slow, slow_member, &comparison->slow_count, &comparison->slow_ns);
	g_autoptr(GArray) b = dtc_summary_get_means(fast, fast_member, &comparison->fast_count, &comparison->fast_ns);

	comparison->growths = g_array_new(FALSE, FALSE, sizeof(struct dtc_growth));
	for (guint i = 0; i < a->len; i++) {
		struct dtc_growth growth = { .share = g_array_index(a, struct dtc_share, i) };
		const struct dtc_share *other = find_share(b, &growth.share);
		growth.slow_ns = growth.share.ns;
		growth.fast_ns = other ? other->ns : 0;
		if (other && other->ns > growth.slow_ns)
			growth.share.detail = other->detail;
		g_array_append_val(comparison->growths, growth);
	}
	for (guint i = 0; i < b->len; i++) {
		struct dtc_growth growth = { .share = g_array_index(b, struct dtc_share, i) };
		growth.fast_ns = growth.share.ns;
		if (!find_share(a, &growth.share))
			g_array_append_val(comparison->growths, growth);
	}
	for (guint i = 0; i < comparison->growths->len; i++) {
		struct dtc_growth *growth = &g_array_index(comparison->growths, struct dtc_growth, i);
		growth->share.ns = growth->slow_ns - growth->fast_ns;
	}
	if (comparison->growths->len)
		qsort(comparison->growths->data, comparison->growths->len, sizeof(struct dtc_growth), compare_growths);
	return comparison;
}

void dtc_comparison_free(struct dtc_comparison *comparison)
{
	if (!comparison)
		return;
	g_array_unref(comparison->growths);
	g_free(comparison->slow_name);
	g_free(comparison->fast_name);
	g_free(comparison);
}
