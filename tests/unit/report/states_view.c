/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The views of `states`: nested JSON whose levels sum, text that folds without losing time. */
#include "analyze/report/states_view.h"

#include "collect/console/printable.h"
#include "tests/support/story.h"

#include <json-glib/json-glib.h>

struct made {
	struct story story;
	const DtcHistory *history;
	DtcClocks *clocks;
	DtcFindings *findings;
	struct dtc_states_scope scope;
	DtcStateInstances *instances;
	int64_t origin_ns;
	struct dtc_states_input input;
};

static const char *const names[] = { "n", NULL };

static void make(struct made *made)
{
	struct story *s = &made->story;

	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", 0, 10, "worker");
	for (int i = 0; i < 30; i++) { /* many descriptors, all short */
		story_enter(s, 1000 + 100 * i, 0, "read", i);
		story_leave(s, 1000 + 100 * i + 10 + i, 0, "read", 1);
	}
	story_enter(s, 5000, 0, "futex", -1);
	story_switch(s, 6000, 0, 10, "worker", 1, 11, "holder");
	story_task(s, DTC_EVENT_SCHED_WAKING, 80000, 0, 10, "worker", 0);
	story_switch(s, 90000, 0, 11, "holder", 1, 10, "worker");
	story_leave(s, 95000, 0, "futex", 0);
	story_switch(s, 100000, 0, 10, "worker", 1, 0, "swapper/0");
	made->history = story_end(s);
	made->clocks = dtc_clocks_new_identity(1);
	made->findings = dtc_findings_new();
	made->instances = dtc_state_instances_new(3);
	made->origin_ns = 0;
	made->scope = (struct dtc_states_scope){ .pid = 10,
						 .tid = 10,
						 .comm = "worker",
						 .process = "worker",
						 .thread_count = 1,
						 .end = { 100000 },
						 .tree = dtc_state_tree_new() };
	struct dtc_spells spells;
	struct dtc_interval spell;
	dtc_spells_begin(&spells, NULL, 0, made->history, dtc_history_find_thread(made->history, 10, DTC_TIME_NONE),
			 (DtcNodeTime){ 0 }, (DtcNodeTime){ 100000 });
	while (dtc_spells_next(&spells, &spell)) {
		dtc_state_tree_add(made->scope.tree, made->history, &spell);
		dtc_state_instances_add(made->instances, 0, &spell);
	}
	dtc_spells_end(&spells);
	dtc_state_tree_finish(made->scope.tree);
	made->input = (struct dtc_states_input){ .node_names = names,
						 .histories = &made->history,
						 .clocks = made->clocks,
						 .origins_ns = &made->origin_ns,
						 .scopes = &made->scope,
						 .scope_count = 1,
						 .findings = made->findings };
}

static void made_clear(struct made *made)
{
	dtc_state_instances_free(made->instances);
	dtc_state_tree_free(made->scope.tree);
	dtc_findings_free(made->findings);
	dtc_clocks_free(made->clocks);
	story_clear(&made->story);
}

static JsonObject *parse(JsonParser *parser, const struct made *made)
{
	g_autofree char *text = dtc_states_to_json(&made->input);
	g_autoptr(GError) error = NULL;

	json_parser_load_from_data(parser, text, -1, &error);
	g_assert_no_error(error);
	return json_node_get_object(json_parser_get_root(parser));
}

static int64_t assert_level(JsonArray *entries)
{
	int64_t total_ns = 0;

	for (guint i = 0; i < json_array_get_length(entries); i++) {
		JsonObject *entry = json_array_get_object_element(entries, i);
		JsonArray *children = json_object_get_array_member(entry, "children");
		int64_t ns = json_object_get_int_member(entry, "total_ns");
		if (json_array_get_length(children))
			g_assert_cmpint(assert_level(children), ==, ns);
		total_ns += ns;
	}
	return total_ns;
}

static void test_json(void)
{
	struct made made;
	make(&made);
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *top = parse(parser, &made);
	JsonObject *scope = json_array_get_object_element(json_object_get_array_member(top, "scopes"), 0);

	g_assert_cmpstr(json_object_get_string_member(top, "schema"), ==, "dtrace-chain/states/1");
	g_assert_true(json_object_get_null_member(top, "instances"));
	g_assert_cmpint(json_object_get_int_member(scope, "total_ns"), ==, 100000);
	g_assert_cmpint(assert_level(json_object_get_array_member(scope, "tree")), ==, 100000);
	made_clear(&made);
}

static void test_instances(void)
{
	struct made made;
	make(&made);
	made.input.instances = dtc_state_instances_finish(made.instances);
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonArray *list = json_object_get_array_member(parse(parser, &made), "instances");
	JsonObject *longest = json_array_get_object_element(list, 0);

	g_assert_cmpuint(json_array_get_length(list), ==, 3);
	g_assert_cmpstr(json_object_get_string_member(longest, "class"), ==, "blocked");
	g_assert_cmpstr(json_object_get_string_member(longest, "state"), ==, "lock");
	g_assert_cmpint(json_object_get_int_member(longest, "start_ns"), ==, 6000);
	g_assert_cmpint(json_object_get_int_member(longest, "duration_ns"), ==, 74000);
	g_assert_cmpstr(json_object_get_string_member(longest, "woken_by"), ==, "holder (tid 11)");
	g_assert_cmpstr(json_object_get_string_member(json_array_get_object_element(list, 1), "state"), ==, "runqueue");
	made_clear(&made);
}

static void test_text(void)
{
	struct made made;
	make(&made);
	struct dtc_states_text_options options = { .width = 80, .has_utf8 = true, .min_ns = -1 };
	g_autofree char *text = dtc_states_to_text(&made.input, &options);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; *line; line++)
		g_assert_cmpuint(dtc_printable_get_columns(*line), <=, 80);
	g_assert_true(g_str_has_prefix(text, "worker (tid 10) on n"));
	/* 30 descriptors under a thousandth each, their sum is shown */
	g_assert_nonnull(strstr(text, "(30 more)"));
	options.min_ns = 0;
	g_autofree char *all = dtc_states_to_text(&made.input, &options);
	g_assert_null(strstr(all, "more)"));
	g_assert_nonnull(strstr(all, "fd 29"));
	made_clear(&made);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/states-view/json", test_json);
	g_test_add_func("/states-view/instances", test_instances);
	g_test_add_func("/states-view/text", test_text);
	return g_test_run();
}
