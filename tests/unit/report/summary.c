/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows, percentiles, bands, means and comparisons of many requests. */
#define _GNU_SOURCE /* memmem */
#include "analyze/report/compare_view.h"
#include "analyze/report/requests_view.h"
#include "analyze/report/summary_image.h"
#include "analyze/report/summary_rows.h"
#include "analyze/report/summary_tables.h"
#include "dtrace-chain/error.h"
#include "tests/support/made_path.h"
#include "tests/support/report_row.h"

#include <string.h>

static void add_report(DtcSummary *summary, const char *id, const char *url, int status, int64_t begin_ns,
		       const struct made_segment *segments, guint count)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(begin_ns, segments, count);
	g_autoptr(DtcReport) report = made_path_report(path, NULL, id, &error);
	g_assert_no_error(error);
	report->method = url ? "GET" : NULL;
	report->url = url;
	report->status = status;
	report_row_add(summary, report);
}

/* A request of two tiers: shop waits for the disk, db runs. */
static void add_get(DtcSummary *summary, const char *id, const char *url, int status, int64_t begin_ns, int64_t disk_ns,
		    int64_t run_ns)
{
	const struct made_segment segments[] = {
		{ disk_ns, 0, 1, "shop", DTC_CAUSE_DISK, "vda", 0 },
		{ run_ns, 1, 2, "db", DTC_CAUSE_RUNNING_USER, NULL, 0 },
	};
	guint first = disk_ns ? 0 : 1, count = (disk_ns != 0) + (run_ns != 0);
	add_report(summary, id, url, status, begin_ns, &segments[first], count);
}

static void add(DtcSummary *summary, const char *id, int64_t begin_ns, int64_t disk_ns, int64_t run_ns)
{
	add_get(summary, id, NULL, 0, begin_ns, disk_ns, run_ns);
}

/* One that waits for a disk. */
static void add_with(DtcSummary *summary, const char *id, const char *disk, int64_t disk_ns)
{
	const struct made_segment segment = { disk_ns, 0, 1, "shop", DTC_CAUSE_DISK, disk, 0 };
	add_report(summary, id, NULL, 0, 0, &segment, 1);
}

static const struct dtc_summary_row *get_row(const DtcSummary *summary, guint index)
{
	return &g_array_index(summary->rows, struct dtc_summary_row, index);
}

static void test_rows(void)
{
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	add(summary, "b", 300, 70, 30);
	add(summary, "a", 200, 40, 60);
	add(summary, "c", 100, 0, 500);
	const struct dtc_summary_row *row = get_row(summary, 0);
	g_assert_cmpint(row->duration_ns, ==, 100);
	g_assert_cmpuint(row->share_count, ==, 2);
	g_assert_cmpint(dtc_summary_get_share(summary, row, 0)->cause, ==, DTC_CAUSE_DISK);
	g_assert_cmpint(dtc_summary_get_share(summary, row, 0)->ns, ==, 70);
	g_assert_null(dtc_summary_get_share(summary, row, 2));
	g_assert_cmpstr(dtc_summary_get_tier(summary, row, 0)->tier, ==, "shop@alpha");
	g_assert_cmpint(dtc_summary_get_tier(summary, row, 0)->ns, ==, 70);
	g_assert_cmpint(dtc_summary_get_tier(summary, row, 1)->ns, ==, 30);
	g_assert_null(dtc_summary_get_tier(summary, row, 2));

	static const struct {
		enum dtc_summary_order order;
		const char *ids;
	} orders[] = {
		{ DTC_SUMMARY_BY_DURATION, "cab" },
		{ DTC_SUMMARY_BY_START, "cab" },
		{ DTC_SUMMARY_BY_ID, "abc" },
	};
	for (guint i = 0; i < G_N_ELEMENTS(orders); i++) {
		dtc_summary_sort(summary, orders[i].order);
		for (guint k = 0; k < 3; k++)
			g_assert_cmpint(get_row(summary, k)->id[0], ==, orders[i].ids[k]);
	}
}

/* Nearest rank: the smallest duration that at least so many percent do not exceed. */
static void test_percentiles(void)
{
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	char id[8];
	g_assert_cmpint(dtc_summary_get_percentile(summary, 50), ==, 0);
	for (int i = 200; i > 0; i--) {
		g_snprintf(id, sizeof(id), "%03d", i);
		add(summary, id, i, i > 198 ? 1000 : 0, i);
	}
	g_assert_cmpint(dtc_summary_get_percentile(summary, 0), ==, 1);
	g_assert_cmpint(dtc_summary_get_percentile(summary, 50), ==, 100);
	g_assert_cmpint(dtc_summary_get_percentile(summary, 99), ==, 198);
	g_assert_cmpint(dtc_summary_get_percentile(summary, 100), ==, 1200);

	g_autoptr(GArray) bands = dtc_summary_get_bands(summary);
	static const guint counts[] = { 100, 80, 18, 2 };
	g_assert_cmpuint(bands->len, ==, 4);
	for (guint i = 0; i < 4; i++) {
		const struct dtc_band *band = &g_array_index(bands, struct dtc_band, i);
		int64_t sum_ns = 0;
		g_assert_cmpuint(band->request_count, ==, counts[i]);
		for (guint k = 0; k < band->shares->len; k++)
			sum_ns += g_array_index(band->shares, struct dtc_share, k).ns;
		g_assert_cmpint(band->duration_ns - sum_ns, >=, 0);
		g_assert_cmpint(band->duration_ns - sum_ns, <=, band->shares->len);
	}
	const struct dtc_band *last = &g_array_index(bands, struct dtc_band, 3);
	g_assert_cmpint(g_array_index(last->shares, struct dtc_share, 0).cause, ==, DTC_CAUSE_DISK);
	g_assert_cmpint(last->duration_ns, ==, 1199);
}

/* Equal durations are in the lowest band together; the others are empty and left out. */
static void test_equal_durations(void)
{
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	for (int i = 0; i < 10; i++)
		add(summary, "same", i, 0, 50);
	g_autoptr(GArray) bands = dtc_summary_get_bands(summary);
	g_assert_cmpuint(bands->len, ==, 1);
	g_assert_cmpuint(g_array_index(bands, struct dtc_band, 0).request_count, ==, 10);
}

/* What is kept took long enough, spent most of its time where it is said, and was asked and answered so. */
static void test_keep(void)
{
	static const struct {
		struct dtc_row_filter filter;
		const char *ids;
	} cases[] = {
		{ { 0 }, "abc" },
		{ { .slower_than_ns = 100 }, "abc" },
		{ { .slower_than_ns = 101 }, "c" },
		{ { .tier = "shop@alpha" }, "b" },
		{ { .tier = "shop" }, "b" },
		{ { .tier = "alpha" }, "b" },
		{ { .tier = "db" }, "ac" },
		{ { .slower_than_ns = 200, .tier = "db" }, "c" },
		{ { .url = "/cart/*" }, "ab" },
		{ { .url = "/cart/1" }, "a" },
		{ { .url = "*page=2" }, "b" },
		{ { .url = "/car" }, "" },
		{ { .status_from = 500, .status_to = 599 }, "b" },
		{ { .status_from = 200, .status_to = 200 }, "ac" },
		{ { .has_since = true, .since_ns = 200 }, "ab" },
		{ { .has_since = true, .since_ns = 301 }, "" },
	};
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(DtcSummary) summary = dtc_summary_new();
		g_autoptr(GString) ids = g_string_new(NULL);
		g_autoptr(GError) error = NULL;
		add_get(summary, "a", "/cart/1?page=1", 200, 200, 40, 60);
		add_get(summary, "b", "/cart/2?page=2", 503, 300, 70, 30);
		add_get(summary, "c", "/", 200, 100, 0, 500);
		g_assert_true(dtc_summary_keep(summary, &cases[i].filter, &error));
		for (guint k = 0; k < summary->rows->len; k++)
			g_string_append(ids, get_row(summary, k)->id);
		g_assert_cmpstr(ids->str, ==, cases[i].ids);
	}
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	g_assert_cmpint(dtc_summary_get_middle(summary).ns, ==, 0);
	add(summary, "a", 200, 40, 60);
	add(summary, "c", 100, 0, 500);
	g_assert_cmpint(dtc_summary_get_middle(summary).ns, ==, 350);
	const struct dtc_row_filter unknown = { .tier = "shopp" };
	g_autoptr(GError) error = NULL;
	g_assert_false(dtc_summary_keep(summary, &unknown, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	g_assert_nonnull(strstr(error->message, "did you mean 'shop'? they were in alpha, beta, db, db@beta, "));
}

static void test_status(void)
{
	static const struct {
		const char *text;
		int from, to; /* 0: refused */
	} cases[] = {
		{ "500", 500, 500 }, { "5xx", 500, 599 }, { "4XX", 400, 499 }, { "400-499", 400, 499 },
		{ "", 0, 0 },	     { "xx", 0, 0 },	  { "0xx", 0, 0 },     { "99", 0, 0 },
		{ "499-400", 0, 0 }, { "500-", 0, 0 },	  { "-500", 0, 0 },    { "5xxx", 0, 0 },
	};
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct dtc_row_filter filter = { 0 };
		g_autoptr(GError) error = NULL;
		bool is_status = dtc_row_filter_set_status(&filter, cases[i].text, &error);
		g_assert_true(is_status == (cases[i].from > 0));
		g_assert_true(is_status == (error == NULL));
		g_assert_true(!is_status || (filter.status_from == cases[i].from && filter.status_to == cases[i].to));
	}
}

/* Ids in paths make no rows of their own; the slowest quarter is what the row is about. */
static void test_urls(void)
{
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	for (int i = 0; i < 8; i++) {
		g_autofree char *url = g_strdup_printf("/cart/%d?page=%d", i, i);
		add_get(summary, "cart", url, 200, i, i > 5 ? 1000 : 0, 10 + i);
	}
	add_get(summary, "other", "/other", 200, 1, 0, 50);
	g_autoptr(GArray) urls = dtc_summary_get_urls(summary);
	g_assert_cmpuint(urls->len, ==, 2);
	const struct dtc_url_row *cart = &g_array_index(urls, struct dtc_url_row, 0);
	g_assert_cmpstr(cart->method, ==, "GET");
	g_assert_cmpstr(cart->pattern, ==, "/cart/*");
	g_assert_cmpuint(cart->figures.count, ==, 8);
	g_assert_cmpint(cart->figures.p50_ns, ==, 13);
	g_assert_cmpint(cart->figures.max_ns, ==, 1017);
	g_assert_cmpuint(cart->slow_count, ==, 2);
	g_assert_cmpint(cart->slow_ns, ==, 1016);
	g_assert_cmpint(g_array_index(cart->slow_shares, struct dtc_share, 0).cause, ==, DTC_CAUSE_DISK);

	g_autoptr(GArray) tiers = dtc_summary_get_tiers(summary);
	g_assert_cmpuint(tiers->len, ==, 2);
	const struct dtc_tier_row *shop = &g_array_index(tiers, struct dtc_tier_row, 0);
	g_assert_cmpstr(shop->tier, ==, "shop@alpha");
	g_assert_cmpuint(shop->figures.count, ==, 2); /* those that were there */
	g_assert_cmpint(shop->total_ns, ==, 2000);
	g_assert_cmpint(shop->figures.p50_ns, ==, 1000);
}

/* What a part of many requests was about: what half of it was about, and never one request's file. */
static void test_details(void)
{
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	guint count;
	int64_t ns;
	add_with(summary, "a", "vda", 10);
	add_with(summary, "b", "vdb", 10);
	g_autoptr(GArray) tie = dtc_summary_get_means(summary, NULL, &count, &ns);
	g_assert_cmpstr(g_array_index(tie, struct dtc_share, 0).detail, ==, "vda");
	add_with(summary, "c", "vdb", 5);
	g_autoptr(GArray) half = dtc_summary_get_means(summary, NULL, &count, &ns);
	g_assert_cmpstr(g_array_index(half, struct dtc_share, 0).detail, ==, "vdb");
	add_with(summary, "d", "vdc", 100);
	g_autoptr(GArray) none = dtc_summary_get_means(summary, NULL, &count, &ns);
	g_assert_null(g_array_index(none, struct dtc_share, 0).detail);
}

/* Which requests are in a group: an id stands for itself alone, even where it would fit others as a pattern. */
static void test_groups(void)
{
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	g_autoptr(GError) error = NULL;
	struct dtc_group group = { summary, NULL, NULL };

	add(summary, "a*", 1, 0, 10);
	add(summary, "ab", 2, 0, 20);
	add(summary, "ac", 3, 0, 30);
	g_assert_true(dtc_group_select_pattern(&group, "--slow", "a*", &error));
	g_assert_true(group.member[0] && !group.member[1] && !group.member[2]);
	dtc_group_clear(&group);
	g_assert_true(dtc_group_select_pattern(&group, "--slow", "a?", &error));
	g_assert_true(group.member[0] && group.member[1] && group.member[2]);
	dtc_group_clear(&group);
	g_assert_false(dtc_group_select_pattern(&group, "--slow", "b*", &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	dtc_group_clear(&group);
	dtc_group_select_percentile(&group, 50, true, "the slow ones");
	g_assert_true(!group.member[0] && !group.member[1] && group.member[2]);
	dtc_group_clear(&group);
	dtc_group_select_percentile(&group, 50, false, "the fast ones");
	g_assert_true(group.member[0] && group.member[1] && !group.member[2]);
	g_assert_cmpstr(group.name, ==, "the fast ones");
	dtc_group_clear(&group);
	dtc_group_select_all(&group, "some/where");
	g_assert_true(group.member[0] && group.member[1] && group.member[2]);
	g_assert_cmpstr(group.name, ==, "where");
	dtc_group_clear(&group);
}

static void test_compare(void)
{
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	static const bool slow[] = { true, true, false, false, false }, fast[] = { false, false, true, true, false };
	add(summary, "s1", 1, 900, 10);
	add(summary, "s2", 2, 700, 30);
	add(summary, "f1", 3, 0, 100);
	add(summary, "f2", 4, 0, 100);
	add(summary, "other", 5, 5000, 5000); /* of neither group */
	struct dtc_comparison *c = dtc_summary_compare(summary, slow, summary, fast);
	g_assert_cmpuint(c->slow_count, ==, 2);
	g_assert_cmpuint(c->fast_count, ==, 2);
	g_assert_cmpint(c->slow_ns, ==, 820);
	g_assert_cmpint(c->fast_ns, ==, 100);
	g_assert_cmpuint(c->growths->len, ==, 2);
	const struct dtc_growth *grown = &g_array_index(c->growths, struct dtc_growth, 0);
	g_assert_cmpint(grown->share.cause, ==, DTC_CAUSE_DISK);
	g_assert_cmpint(grown->slow_ns, ==, 800);
	g_assert_cmpint(grown->fast_ns, ==, 0);
	const struct dtc_growth *shrunk = &g_array_index(c->growths, struct dtc_growth, 1);
	g_assert_cmpint(shrunk->slow_ns - shrunk->fast_ns, ==, -80);

	c->slow_name = g_strdup("evil\nname\x1b[31m");
	c->fast_name = g_strdup("fast");
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const struct dtc_summary_text_options options = { .width = 80, .has_utf8 = true };
	g_autofree char *text = dtc_comparison_to_text(c, findings, &options);
	g_autofree char *json = dtc_comparison_to_json(c, findings);
	g_assert_nonnull(strstr(text, "which grew by 800 ns")); /* more than the difference: something shrank */
	g_assert_null(strchr(text, '\x1b'));
	g_assert_null(strchr(json, '\x1b'));
	dtc_comparison_free(c);
}

/* A group without members, and two summaries whose strings are not the same. */
static void test_compare_edges(void)
{
	g_autoptr(DtcSummary) one = dtc_summary_new();
	g_autoptr(DtcSummary) two = dtc_summary_new();
	static const bool none[] = { false };
	add(one, "a", 1, 50, 50);
	add(two, "b", 1, 20, 50);
	struct dtc_comparison *c = dtc_summary_compare(one, NULL, two, NULL);
	g_assert_cmpuint(c->growths->len, ==, 2); /* the same tiers and causes */
	g_assert_cmpint(g_array_index(c->growths, struct dtc_growth, 0).share.ns, ==, 30);
	g_assert_cmpint(g_array_index(c->growths, struct dtc_growth, 1).share.ns, ==, 0);
	dtc_comparison_free(c);
	c = dtc_summary_compare(one, none, two, NULL);
	g_assert_cmpuint(c->slow_count, ==, 0);
	g_assert_cmpint(c->slow_ns, ==, 0);
	dtc_comparison_free(c);
}

/* What is listed does not change what is said about all: the percentiles of the ten slowest are nobody's. */
static void test_slowest(void)
{
	static const struct {
		guint slowest, limit;
		enum dtc_summary_order order;
		const char *shown;	    /* in the heading; NULL: all are */
		const char *more;	    /* NULL: nothing that --limit would bring */
		const char *first, *second; /* ids */
	} cases[] = {
		{ 0, 0, DTC_SUMMARY_BY_ID, NULL, NULL, "000", "001" },
		{ 300, 0, DTC_SUMMARY_BY_ID, NULL, NULL, "000", "001" },
		{ 2, 0, DTC_SUMMARY_BY_DURATION, "2 of 200 shown, ", NULL, "199", "198" },
		{ 2, 0, DTC_SUMMARY_BY_ID, "2 of 200 shown, ", NULL, "198", "199" },
		{ 5, 2, DTC_SUMMARY_BY_ID, "2 of 200 shown, ", "3 more; --limit 0", "195", "196" },
		{ 0, 2, DTC_SUMMARY_BY_ID, "2 of 200 shown, ", "198 more; --limit 0", "000", "001" },
	};
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const struct dtc_summary_text_options options = { .width = 100, .has_utf8 = true };
	char id[8];
	for (int i = 0; i < 200; i++) {
		g_snprintf(id, sizeof(id), "%03d", i);
		add(summary, id, 1000 - i, 0, i + 1);
	}
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct dtc_requests_input input = { .summary = summary, .reference = "alpha", .findings = findings };
		input.slowest = cases[i].slowest;
		input.limit = cases[i].limit;
		dtc_summary_sort_slowest(summary, input.slowest, cases[i].order);
		g_assert_cmpstr(get_row(summary, 0)->id, ==, cases[i].first);
		g_assert_cmpstr(get_row(summary, 1)->id, ==, cases[i].second);
		g_assert_cmpuint(summary->rows->len, ==, 200);

		input.all = dtc_summary_get_figures(summary);
		g_autofree char *text = dtc_requests_to_text(&input, &options);
		g_autofree char *heading = g_strdup_printf("\nRequests  %sstart since the recording's begin, times in ",
							   cases[i].shown ? cases[i].shown : "");
		g_assert_true(g_str_has_prefix(text, "200 requests  p50 100 ns  p90 180 ns  p99 198 ns  max 200 ns\n"));
		g_assert_nonnull(strstr(text, heading));
		g_assert_true((strstr(text, " more; --limit 0") != NULL) == (cases[i].more != NULL));
		g_assert_true(!cases[i].more || strstr(text, cases[i].more));
		g_assert_nonnull(strstr(text, "up to p50     100"));

		g_autofree char *json = dtc_requests_to_json(&input);
		g_auto(GStrv) rows = g_strsplit(json, "{\"id\": ", -1);
		g_autofree char *counts = g_strdup_printf("\"count\": 200, \"shown\": %u, ", g_strv_length(rows) - 1);
		g_assert_cmpuint(g_strv_length(rows) - 1, ==, cases[i].shown ? 2 : 200);
		g_assert_nonnull(strstr(json, counts));
		g_assert_nonnull(strstr(json, "\"p50_ns\": 100, \"p90_ns\": 180, \"p99_ns\": 198"));
	}
}

/* What is left out is no row, and said: how many, and why. */
static void test_skipped(void)
{
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const struct dtc_summary_text_options options = { .width = 100, .has_utf8 = true };
	struct dtc_requests_input input = { .summary = summary, .reference = "alpha", .findings = findings };
	add(summary, "a", 0, 0, 100);
	input.all = dtc_summary_get_figures(summary);
	g_autofree char *none = dtc_requests_to_text(&input, &options);
	g_assert_null(strstr(none, " more "));
	input.skipped = (struct dtc_skipped){ .began_before = 13, .ended_after = 2, .not_traced = 1 };
	g_autofree char *text = dtc_requests_to_text(&input, &options);
	g_assert_true(g_str_has_prefix(text, "1 request  p50 100 ns"));
	g_assert_nonnull(strstr(text, "\n13 more began before the kernel trace and are left out\n"
				      "2 more ended after the kernel trace and are left out\n"
				      "1 more are in the captures, but in no kernel trace\n"));
	g_autofree char *json = dtc_requests_to_json(&input);
	g_assert_nonnull(strstr(json,
				"\"count\": 1, \"shown\": 1, \"anonymous\": 0, \"skipped\": 16, \"skipped_reasons\": "
				"{\"began_before\": 13, \"ended_after\": 2, \"not_traced\": 1}, "));
}

static GBytes *save(const DtcSummary *summary)
{
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	g_autoptr(GError) error = NULL;
	dtc_summary_save(summary, writer);
	GBytes *bytes = dtc_image_to_bytes(writer, &error);
	g_assert_no_error(error);
	return bytes;
}

static bool load(DtcSummary *summary, GBytes *bytes)
{
	gsize count;
	const void *data = g_bytes_get_data(bytes, &count);
	g_autoptr(DtcImage) image = dtc_image_from_bytes(data, count, "rows", NULL);
	return image && dtc_summary_load(summary, image, NULL);
}

static char *show(const DtcSummary *summary)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const struct dtc_requests_input input = { .summary = summary, .reference = "alpha", .findings = findings };
	return dtc_requests_to_json(&input);
}

/* Rows that come from other processes, one part behind the other, are those of one. */
static void test_image(void)
{
	g_autoptr(DtcSummary) all = dtc_summary_new();
	g_autoptr(DtcSummary) together = dtc_summary_new();
	for (guint part = 0; part < 3; part++) {
		g_autoptr(DtcSummary) some = dtc_summary_new();
		for (guint i = 0; i < part; i++) { /* the first has none */
			add_get(all, i ? "a" : "b", "/cart/1", 200, 300 - part, 70, 30);
			add_get(some, i ? "a" : "b", "/cart/1", 200, 300 - part, 70, 30);
			add_with(all, "with", part == 1 ? "sda" : "sdb", 5);
			add_with(some, "with", part == 1 ? "sda" : "sdb", 5);
		}
		g_autoptr(GBytes) bytes = save(some);
		g_assert_true(load(together, bytes));
	}
	g_assert_cmpuint(together->rows->len, ==, 6);
	g_autofree char *wanted = show(all);
	g_autofree char *given = show(together);
	g_assert_cmpstr(given, ==, wanted);
}

/* What cannot be is refused, and adds nothing. */
static void test_damaged_image(void)
{
	static const char *const missing[] = { "summary.rows", "summary.shares", "summary.tiers", "summary.strings" };
	g_autoptr(DtcSummary) none = dtc_summary_new();
	g_autoptr(DtcSummary) some = dtc_summary_new();
	add_with(some, "with", "sda", 5);
	g_autoptr(GBytes) bytes = save(some);
	for (guint i = 0; i < G_N_ELEMENTS(missing); i++) {
		g_autoptr(GByteArray) damaged = g_byte_array_new();
		g_byte_array_append(damaged, g_bytes_get_data(bytes, NULL), (guint)g_bytes_get_size(bytes));
		char *name = memmem(damaged->data, damaged->len, missing[i], strlen(missing[i]));
		g_assert_nonnull(name);
		name[0] = 'S';
		g_autoptr(GBytes) given = g_byte_array_free_to_bytes(g_steal_pointer(&damaged));
		g_assert_false(load(none, given));
	}
	/* a row of shares that are not there */
	struct dtc_summary_row *row = &g_array_index(some->rows, struct dtc_summary_row, 0);
	g_assert_cmpuint(row->share_count, ==, 1);
	struct dtc_share share = *DTC_AT(some->shares, struct dtc_share, 0);
	share.tier = NULL;
	dtc_table_append(some->shares, &share);
	row->share_count = 2;
	g_autoptr(GBytes) nameless = save(some);
	g_assert_false(load(none, nameless));
	g_assert_cmpuint(none->rows->len, ==, 0);
}

/* Ids are data from strangers. */
static void test_hostile_ids(void)
{
	g_autoptr(DtcSummary) summary = dtc_summary_new();
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autofree char *long_id = g_strnfill(100000, 'x');
	add(summary, "\x1b]0;title\a\r\n\"quoted\"\\ \xff", 1, 10, 10);
	add(summary, long_id, 2, 10, 10);
	const struct dtc_requests_input input = { .summary = summary, .reference = "alpha", .findings = findings };
	const struct dtc_summary_text_options options = { .width = 80, .has_utf8 = true };
	g_autofree char *text = dtc_requests_to_text(&input, &options);
	g_autofree char *json = dtc_requests_to_json(&input);
	const char *const all[] = { text, json };
	for (guint i = 0; i < 2; i++) {
		g_assert_true(g_utf8_validate(all[i], -1, NULL));
		g_assert_cmpuint(strlen(all[i]), <, 8000);
		for (const char *c = all[i]; *c; c++)
			g_assert_true(*c == '\n' || !g_ascii_iscntrl(*c));
	}
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i]; i++)
		g_assert_cmpint(g_utf8_strlen(lines[i], -1), <=, 80);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/summary/rows", test_rows);
	g_test_add_func("/summary/percentiles", test_percentiles);
	g_test_add_func("/summary/equal-durations", test_equal_durations);
	g_test_add_func("/summary/keep", test_keep);
	g_test_add_func("/summary/status", test_status);
	g_test_add_func("/summary/urls", test_urls);
	g_test_add_func("/summary/details", test_details);
	g_test_add_func("/summary/groups", test_groups);
	g_test_add_func("/summary/compare", test_compare);
	g_test_add_func("/summary/compare-edges", test_compare_edges);
	g_test_add_func("/summary/slowest", test_slowest);
	g_test_add_func("/summary/skipped", test_skipped);
	g_test_add_func("/summary/image", test_image);
	g_test_add_func("/summary/damaged-image", test_damaged_image);
	g_test_add_func("/summary/hostile-ids", test_hostile_ids);
	return g_test_run();
}
