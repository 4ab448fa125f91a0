/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can be said of the page without a browser; tests/web opens it in one. */
#include "analyze/report/html.h"

#include "analyze/report/page.h"
#include "analyze/report/requests_html.h"
#include "tests/support/hostile.h"
#include "tests/support/report_row.h"

#include <json-glib/json-glib.h>
#include <string.h>

static const char *const names[] = { "alpha", "beta", "gamma" };

static char *make_page(const DtcReport *report, const DtcPath *path)
{
	const struct dtc_lanes_options options = { .max_lanes = 100, .max_bars = 1000, .max_messages = 100 };
	g_autoptr(DtcLanes) lanes = dtc_lanes_new(report, path, NULL, &options);
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(G_N_ELEMENTS(names));
	DtcClusterTime begin = { report->begin_ns };
	g_autoptr(DtcQuality) quality = dtc_quality_new(begin, names, clocks, NULL, NULL);

	return dtc_report_to_html(report, lanes, quality);
}

static char *cut(const char *page, const char *before, const char *after)
{
	const char *from = strstr(page, before);
	g_assert_nonnull(from);
	from += strlen(before);
	const char *to = strstr(from, after);
	g_assert_nonnull(to);
	return g_strndup(from, (gsize)(to - from));
}

static JsonObject *read_data(JsonParser *parser, const char *page)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *data = cut(page, "<script type=\"application/json\" id=\"data\">", "</script>");

	g_assert_null(strpbrk(data, "<>&"));
	json_parser_load_from_data(parser, data, -1, &error);
	g_assert_no_error(error);
	return json_node_get_object(json_parser_get_root(parser));
}

static guint count(const char *text, const char *part)
{
	guint found = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		found++;
	return found;
}

static int64_t sum_every(JsonArray *list, guint width, guint at)
{
	int64_t sum = 0;

	g_assert_cmpuint(json_array_get_length(list) % width, ==, 0);
	for (guint i = at; i < json_array_get_length(list); i += width)
		sum += json_array_get_int_element(list, i);
	return sum;
}

static void test_data(void)
{
	static const struct made_segment segments[] = {
		{ 100, 0, 11, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 30, 1, 21, "db", DTC_CAUSE_NETWORK_WIRE, "53 bytes", 5 },
		{ 140, 1, 21, "db", DTC_CAUSE_DISK, "vda read", 0 },
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(1795168587000000001, segments, G_N_ELEMENTS(segments));
	g_autoptr(DtcReport) report = made_path_report(path, NULL, "req-1", &error);
	g_assert_no_error(error);
	g_autofree char *page = make_page(report, path);
	g_autofree char *again = make_page(report, path);
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *data = read_data(parser, page);

	g_assert_cmpstr(page, ==, again);
	g_assert_cmpstr(json_object_get_string_member(data, "schema"), ==, "dtrace-chain/page/1");
	/* above 2^53, so it is a text */
	g_assert_cmpstr(json_object_get_string_member(data, "begin"), ==, "1795168587000000001");
	g_assert_cmpint(json_object_get_int_member(data, "duration"), ==, 270);
	g_assert_cmpint(sum_every(json_object_get_array_member(data, "steps"), 8, 1), ==, 270);
	JsonArray *messages = json_object_get_array_member(data, "messages");
	g_assert_cmpuint(json_array_get_length(messages), ==, 8);
	g_assert_cmpint(json_array_get_int_element(messages, 1), ==, 100);
	g_assert_cmpint(json_array_get_int_element(messages, 3), ==, 130);
	g_assert_cmpint(json_array_get_int_element(messages, 4), ==, 5);
	JsonArray *tiers = json_object_get_array_member(data, "tiers");
	int64_t sum = 0;
	for (guint i = 0; i < json_array_get_length(tiers); i++)
		sum += sum_every(json_object_get_array_member(json_array_get_object_element(tiers, i), "rows"), 5, 1);
	g_assert_cmpint(sum, ==, 270);
}

/* A thread that changes its name has, as a lane, the one of its longest step. */
static void test_lane_name(void)
{
	static const struct made_segment segments[] = {
		{ 100, 0, 11, "sh", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 900, 0, 11, "bulk", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 50, 0, 11, "last", DTC_CAUSE_RUNNING_USER, NULL, 0 },
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(0, segments, G_N_ELEMENTS(segments));
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);
	g_assert_no_error(error);
	g_autofree char *page = make_page(report, path);
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonArray *lanes = json_object_get_array_member(read_data(parser, page), "lanes");

	g_assert_cmpuint(json_array_get_length(lanes), ==, 1);
	g_assert_cmpstr(json_object_get_string_member(json_array_get_object_element(lanes, 0), "comm"), ==, "bulk");
}

/* The policy names the hash of each script and of the style as they stand in the page, and allows nothing else. */
static void test_policy(void)
{
	static const struct made_segment segments[] = { { 100, 0, 11, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 } };
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(0, segments, 1);
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);
	g_assert_no_error(error);
	g_autofree char *page = make_page(report, path);
	g_autofree char *policy = cut(page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
	g_autofree char *style = cut(page, "<style>", "</style>");
	const char *second = strstr(strstr(page, "<script>") + 1, "<script>");
	const char *third = strstr(second + 1, "<script>");
	g_autofree char *frame = cut(page, "<script>", "</script>");
	g_autofree char *timeline = cut(second, "<script>", "</script>");
	g_autofree char *clocks = cut(third, "<script>", "</script>");
	g_autofree char *own = cut(third + 1, "<script>", "</script>");
	const char *const parts[] = { style, frame, timeline, clocks, own };

	g_assert_true(g_str_has_prefix(policy, "default-src 'none'; "));
	g_assert_null(strstr(policy, "unsafe"));
	for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
		guint8 digest[32];
		gsize bytes = sizeof(digest);
		g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
		g_checksum_update(checksum, (const guchar *)parts[i], -1);
		g_checksum_get_digest(checksum, digest, &bytes);
		g_autofree char *encoded = g_base64_encode(digest, bytes);
		g_assert_nonnull(strstr(policy, encoded));
	}
	/* nothing is fetched, and there is no style or handler that the policy would have to allow */
	g_assert_null(strstr(page, " src="));
	g_assert_null(strstr(page, "url("));
	g_assert_null(strstr(page, "@import"));
	g_assert_null(strstr(page, " style=\""));
	g_assert_null(strstr(page, " onclick="));
	g_assert_null(strstr(page, "innerHTML"));
	g_assert_null(strstr(dtc_requests_js, "innerHTML"));
	g_assert_null(strstr(page, "@@"));
}

static void test_hostile(void)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcPath) path = NULL;
	g_autoptr(DtcReport) report = hostile_report(findings, &path);
	g_autofree char *page = make_page(report, path);
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *data = read_data(parser, page);

	g_assert_true(g_utf8_validate(page, -1, NULL));
	g_assert_cmpuint(count(page, "<script"), ==, 5);
	g_assert_cmpuint(count(page, "</script"), ==, 5);
	g_assert_null(strstr(page, "<img"));
	g_assert_null(strchr(page, '\x1b'));
	/* escaped, not lost */
	g_assert_true(g_str_has_prefix(json_object_get_string_member(data, "request"), HOSTILE_MARKUP));
	g_assert_false(json_object_get_boolean_member(data, "complete"));
}

/* As many steps as a page can show: none is folded. */
static void test_all_steps(void)
{
	enum { STEPS = 30000 };
	g_autofree struct made_segment *segments = g_new0(struct made_segment, STEPS);
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < STEPS; i++)
		segments[i] = (struct made_segment){ 1, 0, (int32_t)(i % 3), "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 };
	g_autoptr(DtcPath) path = made_path_new(0, segments, STEPS);
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);
	g_assert_no_error(error);
	g_autofree char *page = make_page(report, path);
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonArray *steps = json_object_get_array_member(read_data(parser, page), "steps");

	g_assert_cmpuint(json_array_get_length(steps) / 8, ==, STEPS);
}

/* More steps and blockings than a page can show: folded and left out, with the sums as they are. */
static void test_limits(void)
{
	enum { STEPS = 70000, BLOCKINGS = 6000 };
	g_autofree struct made_segment *segments = g_new0(struct made_segment, STEPS);
	g_autoptr(GError) error = NULL;
	int64_t duration_ns = 0;

	for (guint i = 0; i < STEPS; i++) {
		segments[i] = (struct made_segment){ 1 + i % 5000, 0, (int32_t)(i % 3), "shop", i % 7, NULL, 0 };
		duration_ns += segments[i].ns;
	}
	g_autoptr(DtcPath) path = made_path_new(0, segments, STEPS);
	for (guint i = 0; i < BLOCKINGS; i += 2) {
		guint parent = made_path_add_blocking(path, G_MAXUINT, 0, i * 100, i * 100 + 20 + i, "shop", NULL);
		made_path_add_blocking(path, parent, 1, i * 100 + 5, i * 100 + 15, "db", NULL);
	}
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);
	g_assert_no_error(error);
	g_autofree char *page = make_page(report, path);
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *data = read_data(parser, page);
	JsonArray *steps = json_object_get_array_member(data, "steps");
	JsonArray *blockings = json_object_get_array_member(data, "blockings");

	g_assert_cmpuint(json_array_get_length(steps) / 8, <=, 30000);
	g_assert_cmpint(sum_every(steps, 8, 1), ==, duration_ns);
	g_assert_cmpint(sum_every(steps, 8, 7), ==, STEPS);
	g_assert_cmpuint(json_array_get_length(blockings) / 8, <=, 5000);
	g_assert_cmpint((int64_t)json_array_get_length(blockings) / 8 +
				json_object_get_int_member(data, "blockingsLeftOut"),
			==, BLOCKINGS);
	for (guint i = 7; i < json_array_get_length(blockings); i += 8)
		g_assert_cmpint(json_array_get_int_element(blockings, i), <, i / 8);
	g_assert_cmpuint(strlen(page), <, 10000000);
}

/* All requests: the page holds the JSON document, with what could end a script element escaped. */
static void test_requests(void)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcPath) path = NULL;
	g_autoptr(DtcReport) report = hostile_report(findings, &path);
	g_autoptr(DtcSummary) summary = dtc_summary_new();

	for (guint i = 0; i < 300; i++)
		report_row_add(summary, report);
	const struct dtc_requests_input input = {
		.summary = summary,
		.limit = 1,
		.reference = "alpha",
		.findings = findings,
	};
	const char *const node_names[] = { "</script><img src=x>", "beta" };
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(G_N_ELEMENTS(node_names));
	g_autoptr(DtcQuality) quality = dtc_quality_new((DtcClusterTime){ 0 }, node_names, clocks, NULL, NULL);
	g_autofree char *page = dtc_requests_to_html(&input, quality);
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *data = read_data(parser, page);
	JsonArray *requests = json_object_get_array_member(data, "requests");

	g_assert_cmpstr(json_object_get_string_member(data, "schema"), ==, "dtrace-chain/requests/1");
	g_assert_cmpuint(json_array_get_length(requests), ==, 300);
	g_assert_true(g_str_has_prefix(json_object_get_string_member(json_array_get_object_element(requests, 0), "id"),
				       HOSTILE_MARKUP));
	JsonArray *nodes = json_object_get_array_member(json_object_get_object_member(data, "clocks"), "nodes");
	g_assert_cmpuint(json_array_get_length(nodes), ==, 2);
	g_assert_cmpstr(json_object_get_string_member(json_array_get_object_element(nodes, 0), "node"), ==,
			node_names[0]);
	g_assert_cmpuint(count(page, "<script"), ==, 4);
	g_assert_cmpuint(count(page, "</script"), ==, 4);
	g_assert_null(strstr(page, "<img"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/html/requests", test_requests);
	g_test_add_func("/html/data", test_data);
	g_test_add_func("/html/lane-name", test_lane_name);
	g_test_add_func("/html/policy", test_policy);
	g_test_add_func("/html/hostile", test_hostile);
	g_test_add_func("/html/all-steps", test_all_steps);
	g_test_add_func("/html/limits", test_limits);
	return g_test_run();
}
