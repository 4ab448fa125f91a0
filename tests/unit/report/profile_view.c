/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The views of `top`: complete JSON, text that fits its columns and sums to what it shows. */
#include "analyze/report/profile_view.h"

#include "collect/console/printable.h"
#include "tests/support/story.h"

#include <json-glib/json-glib.h>

struct made {
	struct story story;
	struct dtc_top_node node;
	struct dtc_profile_cpu cpu;
	DtcFindings *findings;
	struct dtc_top_input input;
};

static void make(struct made *made, const char *comm)
{
	struct story *s = &made->story;

	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", 0, 10, comm);
	story_enter(s, 1000, 0, "read", 3);
	story_switch(s, 2000, 0, 10, comm, 2, 11, "other");
	story_switch(s, 12345678901, 0, 11, "other", 0, 0, "swapper/0");
	story_switch(s, 20000000000, 0, 0, "swapper/0", 0, 11, "other");
	story_end(s);
	const DtcNodeTime begin = { 0 }, end = { 20000000000 };
	made->findings = dtc_findings_new();
	dtc_findings_add(made->findings, DTC_SEVERITY_WARNING, true, "n", "one \"finding\"");
	made->cpu = dtc_profile_get_cpu(NULL, 0, s->history, 0, begin, end);
	made->node = (struct dtc_top_node){ .name = "n",
					    .history = s->history,
					    .end = end,
					    .cluster_end = { end.ns },
					    .cpus = &made->cpu,
					    .total = dtc_profile_sum_cpus(&made->cpu, 1),
					    .rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_profile_row)) };
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_profile_row));
	dtc_profile_add_threads(rows, NULL, 0, s->history, begin, end);
	g_clear_pointer(&made->node.rows, g_array_unref);
	made->node.rows = dtc_profile_group_processes(rows, s->history);
	dtc_profile_sort(made->node.rows, DTC_PROFILE_CPU);
	made->input = (struct dtc_top_input){ .nodes = &made->node,
					      .node_count = 1,
					      .reference = "n",
					      .sort = DTC_PROFILE_CPU,
					      .findings = made->findings };
}

static void made_clear(struct made *made)
{
	g_array_unref(made->node.rows);
	dtc_findings_free(made->findings);
	story_clear(&made->story);
}

static void test_json(void)
{
	struct made made;
	make(&made, "a \"b\"\033[2J");
	g_autofree char *text = dtc_top_to_json(&made.input);
	g_autoptr(JsonParser) parser = json_parser_new();
	g_autoptr(GError) error = NULL;

	json_parser_load_from_data(parser, text, -1, &error);
	g_assert_no_error(error);
	JsonObject *top = json_node_get_object(json_parser_get_root(parser));
	g_assert_cmpstr(json_object_get_string_member(top, "schema"), ==, "dtrace-chain/top/1");
	g_assert_false(json_object_get_boolean_member(top, "complete"));
	JsonObject *node = json_array_get_object_element(json_object_get_array_member(top, "nodes"), 0);
	JsonObject *total = json_object_get_object_member(node, "total");
	g_assert_cmpint(json_object_get_int_member(total, "span_ns"), ==, 20000000000);
	g_assert_cmpint(json_object_get_int_member(total, "idle_ns"), ==, 20000000000 - 12345678901);
	JsonArray *rows = json_object_get_array_member(top, "rows");
	g_assert_cmpuint(json_array_get_length(rows), ==, 2);
	for (guint i = 0; i < 2; i++) {
		JsonObject *row = json_array_get_object_element(rows, i);
		int64_t sum_ns = 0;
		for (guint k = 0; k < DTC_PROFILE_COLUMNS; k++) {
			const char *name = dtc_profile_column_to_string((enum dtc_profile_column)k);
			g_autofree char *key = g_strconcat(name, k < DTC_PROFILE_CALLS ? "_ns" : "", NULL);
			g_strdelimit(key, "-", '_');
			g_assert_true(json_object_has_member(row, key));
			sum_ns += k < DTC_PROFILE_BASIC_COLUMNS ? json_object_get_int_member(row, key) : 0;
		}
		g_assert_cmpint(sum_ns, ==, json_object_get_int_member(row, "life_ns"));
		g_assert_true(json_object_get_null_member(row, "tid"));
	}
	g_assert_cmpstr(json_object_get_string_member(json_array_get_object_element(rows, 1), "process"), ==,
			"a \"b\"\\x1b[2J");
	made_clear(&made);
}

static void assert_width(const char *text, guint width)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line; line++) {
		g_assert_cmpuint(dtc_printable_get_columns(*line), <=, width);
		g_assert_false(g_str_has_suffix(*line, " "));
	}
}

static void test_text(void)
{
	struct made made;
	make(&made, "quite-a-long-na");
	g_autofree char *text = dtc_top_to_text(&made.input, 80, false, true, false);

	assert_width(text, 80);
	/* a figure has three digits, its unit, and a blank before it, so that columns stay apart */
	g_assert_nonnull(strstr(text, "      11  12.3s"));
	g_assert_nonnull(strstr(text, "\ntotal   user "));
	g_assert_nonnull(strstr(text, "warning  n: one \"finding\""));
	g_autofree char *exact = dtc_top_to_text(&made.input, 80, false, true, true);
	g_assert_nonnull(strstr(exact, " 12345676901 "));
	g_autofree char *narrow = dtc_top_to_text(&made.input, 40, false, true, false);
	assert_width(narrow, 40);
	made.input.limit = 1;
	g_autofree char *limited = dtc_top_to_text(&made.input, 80, false, true, false);
	g_assert_nonnull(strstr(limited, "1 more: --limit 0 shows all"));
	g_assert_null(strstr(limited, "quite-a-long"));
	made_clear(&made);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/profile-view/json", test_json);
	g_test_add_func("/profile-view/text", test_text);
	return g_test_run();
}
