/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/json.h"

#include "tests/support/event_loop.h"
#include "tests/support/made_path.h"

#include <json-glib/json-glib.h>

static JsonObject *parse(JsonParser *parser, const DtcReport *report)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text = dtc_report_to_json(report);
	g_assert_true(g_utf8_validate(text, -1, NULL));
	g_assert_true(g_str_has_suffix(text, "}\n"));
	json_parser_load_from_data(parser, text, -1, &error);
	g_assert_no_error(error);
	return json_node_get_object(json_parser_get_root(parser));
}

static void assert_members(JsonObject *object, const char *const *names)
{
	for (; *names; names++)
		if (!json_object_has_member(object, *names))
			g_error("member '%s' is missing", *names);
}

static void test_contract(void)
{
	static const struct made_segment segments[] = {
		{ 100, 0, 11, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 30, 1, -1, NULL, DTC_CAUSE_NETWORK_WIRE, "alpha to beta", 5 },
		{ 140, 1, 21, "db", DTC_CAUSE_DISK, "vda read", 0 },
	};
	static const char *const top[] = { "schema",   "request",     "target",	   "reference", "start_ns",
					   "end_ns",   "duration_ns", "breakdown", "path",	"causality",
					   "dominant", "clocks",      "findings",  "complete",	NULL };
	static const char *const row[] = { "tier", "node", "process", "cause", "detail", "ns", NULL };
	static const char *const step[] = { "node",   "pid",   "tid",	 "comm", "process",	   "start_ns",
					    "end_ns", "cause", "detail", "link", "uncertainty_ns", NULL };
	static const char *const blocking[] = { "node",	 "pid",	   "tid",      "comm", "process",  "start_ns", "end_ns",
						"cause", "detail", "woken_by", "link", "children", NULL };
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	dtc_findings_add(findings, DTC_SEVERITY_INFO, false, NULL, "a finding");
	dtc_findings_add_coded(findings, "a-code", DTC_SEVERITY_INFO, false, "beta", "another");
	g_autoptr(DtcPath) path = made_path_new(1795168587000000001, segments, G_N_ELEMENTS(segments));
	guint outer = made_path_add_blocking(path, G_MAXUINT, 0, 1795168587000000101, 1795168587000000271, "shop",
					     "packet from beta");
	guint inner = made_path_add_blocking(path, outer, 1, 1795168587000000131, 1795168587000000200, "db", NULL);
	made_path_add_blocking(path, inner, 2, 1795168587000000140, 1795168587000000150, "disk", NULL);
	made_path_add_blocking(path, outer, 1, 1795168587000000200, 1795168587000000210, "db2", NULL);
	made_path_add_blocking(path, G_MAXUINT, 0, 1795168587000000271, 1795168587000000271, "shop", NULL);
	g_autoptr(DtcReport) report = made_path_report(path, findings, "req-1", &error);
	g_assert_no_error(error);

	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *object = parse(parser, report);
	assert_members(object, top);
	g_assert_cmpstr(json_object_get_string_member(object, "schema"), ==, "dtrace-chain/report/1");
	/* above 2^53: must not have gone through a double */
	g_assert_cmpint(json_object_get_int_member(object, "start_ns"), ==, 1795168587000000001);
	g_assert_cmpint(json_object_get_int_member(object, "duration_ns"), ==, 270);
	g_assert_true(json_object_get_boolean_member(object, "complete"));

	JsonArray *found = json_object_get_array_member(object, "findings");
	g_assert_cmpuint(json_array_get_length(found), ==, 2);
	g_assert_true(json_object_get_null_member(json_array_get_object_element(found, 0), "code"));
	g_assert_cmpstr(json_object_get_string_member(json_array_get_object_element(found, 1), "code"), ==, "a-code");

	JsonObject *request = json_object_get_object_member(object, "request");
	g_assert_cmpstr(json_object_get_string_member(request, "id"), ==, "req-1");
	g_assert_cmpuint(json_array_get_length(json_object_get_array_member(request, "sources")), ==, 2);
	g_assert_cmpint(json_object_get_int_member(request, "status"), ==, 200);

	JsonArray *rows = json_object_get_array_member(object, "breakdown");
	int64_t sum_ns = 0;
	for (guint i = 0; i < json_array_get_length(rows); i++) {
		assert_members(json_array_get_object_element(rows, i), row);
		sum_ns += json_object_get_int_member(json_array_get_object_element(rows, i), "ns");
	}
	g_assert_cmpint(sum_ns, ==, 270);
	g_assert_cmpstr(json_object_get_string_member(json_array_get_object_element(rows, 0), "cause"), ==, "disk");
	JsonObject *dominant = json_object_get_object_member(object, "dominant");
	g_assert_cmpstr(json_object_get_string_member(dominant, "tier"), ==, "db@beta");

	JsonArray *steps = json_object_get_array_member(object, "path");
	g_assert_cmpuint(json_array_get_length(steps), ==, 3);
	for (guint i = 0; i < 3; i++)
		assert_members(json_array_get_object_element(steps, i), step);
	JsonObject *wire = json_array_get_object_element(steps, 1);
	g_assert_true(json_object_get_null_member(wire, "tid"));
	g_assert_true(json_object_get_null_member(wire, "comm"));
	g_assert_cmpstr(json_object_get_string_member(wire, "process"), ==, "network");

	/* depth first: two roots; beneath the first two children, the first of which has one of its own */
	JsonArray *roots = json_object_get_array_member(object, "causality");
	g_assert_cmpuint(json_array_get_length(roots), ==, 2);
	JsonObject *first = json_array_get_object_element(roots, 0);
	assert_members(first, blocking);
	JsonArray *children = json_object_get_array_member(first, "children");
	g_assert_cmpuint(json_array_get_length(children), ==, 2);
	JsonObject *child = json_array_get_object_element(children, 0);
	g_assert_cmpstr(json_object_get_string_member(child, "comm"), ==, "db");
	g_assert_cmpuint(json_array_get_length(json_object_get_array_member(child, "children")), ==, 1);
	child = json_array_get_object_element(children, 1);
	g_assert_cmpuint(json_array_get_length(json_object_get_array_member(child, "children")), ==, 0);
}

static void test_thread_without_request(void)
{
	static const struct made_segment segments[] = { { 5, 0, 11, "shop", DTC_CAUSE_TIMER, NULL, 0 } };
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(0, segments, 1);
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *object = parse(parser, report);

	g_assert_true(json_object_get_null_member(object, "request"));
	JsonObject *target = json_object_get_object_member(object, "target");
	g_assert_cmpint(json_object_get_int_member(target, "tid"), ==, 11);
	g_assert_cmpstr(json_object_get_string_member(target, "node"), ==, "alpha");
}

static void test_nothing_at_all(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = dtc_path_new((DtcClusterTime){ 7 }, (DtcClusterTime){ 7 });
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *object = parse(parser, report);

	g_assert_true(json_object_get_null_member(object, "dominant"));
	g_assert_cmpuint(json_array_get_length(json_object_get_array_member(object, "path")), ==, 0);
}

static void test_hostile_names(void)
{
	static const struct made_segment segments[] = {
		{ 5, 0, 11, "\"},{\033[31m\n\\", DTC_CAUSE_TIMER, "\xff\xfe\"\xe2\x80\xae", 0 },
		{ 5, 1, 12, "\xe6\x97", DTC_CAUSE_LOCK, "</script>", 0 },
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(0, segments, G_N_ELEMENTS(segments));
	g_autoptr(DtcReport) report = made_path_report(path, NULL, "id\"\n", &error);
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *object = parse(parser, report);
	JsonArray *steps = json_object_get_array_member(object, "path");

	g_assert_cmpstr(json_object_get_string_member(json_array_get_object_element(steps, 0), "comm"), ==,
			"\"},{\\x1b[31m\\x0a\\");
	g_assert_cmpstr(json_object_get_string_member(json_array_get_object_element(steps, 0), "detail"), ==,
			"\\xff\\xfe\"\\xe2\\x80\\xae");
	g_assert_cmpstr(json_object_get_string_member(json_array_get_object_element(steps, 1), "process"), ==,
			"\\xe6\\x97");
	g_assert_cmpstr(json_object_get_string_member(json_object_get_object_member(object, "request"), "id"), ==,
			"id\"\\x0a");
}

/* A hop says how sure each of its ends is, and is itself as sure as the less sure one. */
static void test_hops(void)
{
	enum { NOT_TRACED, GUESSED, SEEN };
	static const struct {
		int client, server;
		const char *client_link, *server_link, *link;
	} cases[] = {
		{ SEEN, SEEN, "exact", "exact", "exact" },
		{ SEEN, GUESSED, "exact", "inferred", "inferred" },
		{ GUESSED, SEEN, "inferred", "exact", "inferred" },
		{ NOT_TRACED, SEEN, "unknown", "exact", "unknown" },
		{ GUESSED, NOT_TRACED, "inferred", "unknown", "unknown" },
	};
	static const char *const names[] = { "node" };
	static const struct made_segment segment = { 60, 0, 10, "loop", DTC_CAUSE_RUNNING_USER, NULL, 0 };
	struct event_loop e;
	event_loop_begin(&e);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct dtc_hop hop = e.hops[X];
		struct dtc_hop_side *const sides[] = { &hop.client, &hop.server };
		const int how[] = { cases[i].client, cases[i].server };
		for (guint k = 0; k < 2; k++) {
			*sides[k] = e.hops[X].server;
			sides[k]->file = how[k] == NOT_TRACED ? DTC_NONE : sides[k]->file;
			sides[k]->inferred = how[k] == GUESSED;
		}
		struct dtc_place place = { .hops = g_array_new(FALSE, FALSE, sizeof(struct dtc_hop)) };
		g_array_append_val(place.hops, hop);
		g_autoptr(DtcPath) path = made_path_new(0, &segment, 1);
		dtc_path_finish(path);
		g_autoptr(DtcFindings) findings = dtc_findings_new();
		const struct dtc_followed_hop followed = { .client_thread = e.loop,
							   .server_thread = e.db,
							   .client_file = hop.server.file,
							   .server_file = hop.server.file };
		const struct dtc_report_input input = { .origin_ns = INT64_MIN,
							.node_names = names,
							.node_count = 1,
							.path = path,
							.clocks = e.clocks,
							.findings = findings,
							.target_comm = "loop",
							.target_process = "loop",
							.request = "req-1",
							.place = &place,
							.followed = &followed,
							.followed_count = 1,
							.histories = e.histories };
		g_autoptr(GError) error = NULL;
		g_autoptr(DtcReport) report = dtc_report_new(&input, &error);
		g_assert_no_error(error);
		g_autofree char *text = dtc_report_to_json(report);
		g_autoptr(JsonParser) parser = json_parser_new();
		json_parser_load_from_data(parser, text, -1, &error);
		g_assert_no_error(error);
		JsonArray *hops =
			json_object_get_array_member(json_node_get_object(json_parser_get_root(parser)), "hops");
		g_assert_cmpuint(json_array_get_length(hops), ==, 2);
		JsonObject *found = json_array_get_object_element(hops, 0);
		JsonObject *client = json_object_get_object_member(found, "client"),
			   *server = json_object_get_object_member(found, "server");
		g_assert_cmpstr(json_object_get_string_member(client, "link"), ==, cases[i].client_link);
		g_assert_cmpstr(json_object_get_string_member(server, "link"), ==, cases[i].server_link);
		g_assert_cmpstr(json_object_get_string_member(found, "link"), ==, cases[i].link);
		/* followed from call to call: no capture told */
		g_assert_cmpstr(json_object_get_string_member(json_array_get_object_element(hops, 1), "link"), ==,
				"inferred");
		g_array_unref(place.hops);
	}
	event_loop_clear(&e);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/report/json/contract", test_contract);
	g_test_add_func("/report/json/thread-without-request", test_thread_without_request);
	g_test_add_func("/report/json/nothing-at-all", test_nothing_at_all);
	g_test_add_func("/report/json/hostile-names", test_hostile_names);
	g_test_add_func("/report/json/hops", test_hops);
	return g_test_run();
}
