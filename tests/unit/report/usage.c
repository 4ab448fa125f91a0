/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The views of usage and blockings: whatever a process calls itself, JSON parses, Graphviz gets one string, and no line
 * is wider than the page.
 */
#include "analyze/path/path_build.h"
#include "analyze/report/blockings_view.h"
#include "analyze/report/usage_view.h"
#include "collect/console/printable.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#include <json-glib/json-glib.h>

#define RUN 0
#define SLEEP 1
#define EVIL "\033[2J\"};x\\\xff"

static const char *const names[] = { "no\nde" };

struct made {
	struct story story;
	const DtcHistory *history;
	DtcClocks *clocks;
	DtcLinks *links;
	DtcFindings *findings;
};

static void make(struct made *made)
{
	struct story *s = &made->story;

	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, EVIL);
	story_enter(s, 5, 0, "read", 3);
	story_switch(s, 10, 0, 10, EVIL, SLEEP, 11, "other");
	story_task(s, DTC_EVENT_SCHED_WAKING, 1000000, 0, 10, EVIL, 0);
	story_switch(s, 1000010, 0, 11, "other", SLEEP, 10, EVIL);
	story_leave(s, 1000020, 0, "read", 7);
	story_switch(s, 2000000, 0, 10, EVIL, SLEEP, 0, "swapper/0");
	story_switch(s, 3000000, 0, 0, "swapper/0", RUN, 11, "other");
	made->history = story_end(s);
	made->clocks = dtc_clocks_new_identity(1);
	made->links = dtc_links_new(1, names, &made->history, made->clocks);
	made->findings = dtc_findings_new();
	dtc_findings_add(made->findings, DTC_SEVERITY_INFO, false, names[0], "a \"finding\" of %s", EVIL);
}

static void made_clear(struct made *made)
{
	dtc_findings_free(made->findings);
	dtc_links_free(made->links);
	dtc_clocks_free(made->clocks);
	story_clear(&made->story);
}

static void assert_clean(const char *text)
{
	g_assert_true(g_utf8_validate(text, -1, NULL));
	for (const char *p = text; *p; p++)
		g_assert_true((guchar)*p >= 0x20 || *p == '\n' || *p == '\t');
}

static void assert_page(const char *text, guint width)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	assert_clean(text);
	for (char **line = lines; *line; line++) {
		g_assert_cmpuint(dtc_printable_get_columns(*line), <=, width);
		g_assert_false(g_str_has_suffix(*line, " "));
	}
}

static JsonObject *parse(JsonParser *parser, const char *text)
{
	g_autoptr(GError) error = NULL;

	assert_clean(text);
	json_parser_load_from_data(parser, text, -1, &error);
	g_assert_no_error(error);
	return json_node_get_object(json_parser_get_root(parser));
}

static void test_usage(void)
{
	struct made made = { 0 };
	const struct dtc_usage_options usage_options = { 0 };

	make(&made);
	g_autoptr(DtcUsage) usage = dtc_usage_new(made.links, &usage_options, NULL);
	g_assert_nonnull(usage);
	/* an untraced peer with a name that no address has: the view must not care where it comes from */
	struct dtc_usage_edge edge = { .from = G_MAXUINT, .host = g_strdup(EVIL), .to = 0, .messages = 1 };
	g_array_append_val(usage->edges, edge);
	const struct dtc_usage_input input = { usage, names, names[0], made.findings, NULL };

	for (guint width = 40; width <= 200; width += 40) {
		for (int variant = 0; variant < 4; variant++) {
			const struct dtc_usage_view_options options = {
				.width = width, .has_utf8 = variant & 1, .is_exact = variant & 2, .limit = variant
			};
			g_autofree char *text = dtc_usage_to_text(&input, &options);
			assert_page(text, width);
			if (!(variant & 1))
				g_assert_true(g_str_is_ascii(text));
		}
	}
	g_autoptr(JsonParser) parser = json_parser_new();
	g_autofree char *json = dtc_usage_to_json(&input);
	JsonObject *object = parse(parser, json);
	g_assert_cmpstr(json_object_get_string_member(object, "schema"), ==, DTC_USAGE_SCHEMA);
	JsonObject *process = json_array_get_object_element(json_object_get_array_member(object, "processes"), 0);
	g_assert_cmpstr(json_object_get_string_member(process, "process"), ==, "\\x1b[2J\"};x\\\\xff");
	g_assert_cmpint(json_object_get_int_member(process, "self_ns"), ==, 10 + 999990);
	g_assert_cmpuint(json_array_get_length(json_object_get_array_member(process, "cpu")), ==, DTC_USAGE_INTERVALS);

	/* outside of strings the graph has nothing of the name; quotes in strings are escaped */
	g_autofree char *graph = dtc_usage_to_dot(&input);
	assert_clean(graph);
	int depth = 0;
	bool is_string = false;
	for (const char *p = graph; *p; p++) {
		if (is_string && *p == '\\')
			p++;
		else if (*p == '"')
			is_string = !is_string;
		else if (!is_string)
			depth += (*p == '{') - (*p == '}');
		g_assert_cmpint(depth, <=, 1);
		g_assert_true(depth > 0 || p <= strchr(graph, '{') || strcmp(p, "}\n") == 0 || strcmp(p, "\n") == 0);
	}
	g_assert_false(is_string);
	g_assert_cmpint(depth, ==, 0);
	made_clear(&made);
}

static void add_blocking(DtcPath *path, guint parent, guint depth, int64_t begin, int64_t end)
{
	const struct dtc_blocking blocking = {
		.begin = { begin },
		.end = { end },
		.tid = 10,
		.pid = -1,
		.comm = EVIL,
		.process = EVIL,
		.cause = DTC_CAUSE_LOCK,
		.evidence = dtc_evidence_of(DTC_REASON_HELD_BY_CONGESTION), /* too long for what is left of the line */
		.ended = { .by = DTC_ENDED_BY_HOST, .thread = DTC_NONE, .packet = DTC_NONE },
		.parent = parent,
		.depth = depth,
	};
	dtc_path_add_blocking(path, &blocking);
}

/* Depth and number of what is beneath, as a JSON reader sees it: "(()(()))". */
static void shape(JsonArray *blockings, GString *out)
{
	for (guint i = 0; i < json_array_get_length(blockings); i++) {
		JsonObject *blocking = json_array_get_object_element(blockings, i);
		g_string_append_printf(out, "(%d", (int)json_object_get_int_member(blocking, "start_ns"));
		shape(json_object_get_array_member(blocking, "children"), out);
		g_string_append_c(out, ')');
	}
}

static void test_blockings(void)
{
	struct made made = { 0 };
	const struct dtc_blocked_options all = { .parts = NULL };

	make(&made);
	g_autoptr(DtcEdges) edges = dtc_edges_new(made.links);
	g_autoptr(DtcBlocked) blocked = dtc_blocked_new(edges, &all);
	g_autoptr(DtcPath) path = dtc_path_new((DtcClusterTime){ 0 }, (DtcClusterTime){ 100 });
	add_blocking(path, G_MAXUINT, 0, 10, 50);
	add_blocking(path, 0, 1, 11, 40);
	add_blocking(path, 1, 2, 12, 30);
	add_blocking(path, 0, 1, 41, 49);
	add_blocking(path, G_MAXUINT, 0, 60, 70);
	add_blocking(path, G_MAXUINT, 0, 80, 90);
	add_blocking(path, 5, 1, 81, 82);
	dtc_path_finish(path);
	struct dtc_blockings_input input = { .links = made.links, .findings = made.findings, .blocked = blocked };

	for (int variant = 0; variant < 8; variant++) {
		const struct dtc_blockings_text_options options = {
			.width = variant & 1 ? 80 : 40,
			.has_utf8 = variant & 2,
			.limit = variant & 1,
			.min_ns = variant & 2 ? 0 : -1,
		};
		input.path = variant & 4 ? path : NULL;
		input.thread = dtc_history_find_thread(made.history, 10, DTC_TIME_NONE);
		input.end.ns = 100;
		g_autofree char *text = dtc_blockings_to_text(&input, &options);
		assert_page(text, options.width);
		g_autoptr(JsonParser) parser = json_parser_new();
		g_autofree char *json = dtc_blockings_to_json(&input);
		JsonObject *object = parse(parser, json);
		g_assert_cmpuint(json_array_get_length(json_object_get_array_member(object, "rows")), ==,
				 dtc_blocked_get_count(blocked));
		g_autoptr(GString) tree = g_string_new(NULL);
		shape(json_object_get_array_member(object, "blockings"), tree);
		g_assert_cmpstr(tree->str, ==, input.path ? "(10(11(12))(41))(60)(80(81))" : "");
		g_assert_cmpint(json_object_get_null_member(object, "target"), ==, !input.path);
	}
	made_clear(&made);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/usage-view/hostile", test_usage);
	g_test_add_func("/blockings-view/hostile", test_blockings);
	return g_test_run();
}
