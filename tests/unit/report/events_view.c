/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of events: of every kind that the demo bundle holds, and of made ones with hostile text. */
#include "analyze/report/events_view.h"

#include "collect/read/reader.h"

#include <json-glib/json-glib.h>
#include <string.h>

static DtcReader *open_demo(void)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = g_build_filename(g_getenv("DTC_SOURCE_DIR"), "clusters/demo/web/kernel", NULL);
	DtcReader *reader = dtc_reader_open("web", path, &error);

	g_assert_no_error(error);
	return reader;
}

static JsonObject *parse(JsonParser *parser, const char *text)
{
	g_autoptr(GError) error = NULL;

	json_parser_load_from_data(parser, text, -1, &error);
	g_assert_no_error(error);
	return json_node_get_object(json_parser_get_root(parser));
}

static const char *get_call(const DtcReader *reader, const struct dtc_event *event)
{
	bool is_call = event->kind == DTC_EVENT_SYSCALL_ENTRY || event->kind == DTC_EVENT_SYSCALL_EXIT;

	return is_call && event->v[DTC_CALL_NAME] >= 0
		       ? dtc_reader_get_syscall_name(reader, (guint)event->v[DTC_CALL_NAME])
		       : NULL;
}

/* Each line is one object with all keys; every event that the reader gives has a line. */
static void test_demo(void)
{
	g_autoptr(DtcReader) reader = open_demo();
	const struct dtc_event *event;
	guint count = 0, with_fields = 0;

	while ((event = dtc_reader_next(reader)) && count < 20000) {
		const struct dtc_event_line line = { .node = "web",
						     .name = dtc_reader_get_event_name(reader, event->name),
						     .call = get_call(reader, event),
						     .event = event,
						     .time = { event->time_ns + 5 },
						     .origin_ns = event->time_ns,
						     .tid = 7,
						     .comm = "x" };
		g_autoptr(GString) json = g_string_new(NULL), text = g_string_new(NULL);
		dtc_event_line_add_json(json, &line);
		dtc_event_line_add_text(text, &line);
		g_assert_true(strchr(text->str, '\n') == text->str + text->len - 1);
		g_assert_true(strchr(json->str, '\n') == json->str + json->len - 1);
		g_assert_true(g_str_has_prefix(text->str, "+0.000000005 web cpu"));
		count++;
		if (count % 50)
			continue;
		g_autoptr(JsonParser) parser = json_parser_new();
		JsonObject *object = parse(parser, json->str);
		g_assert_cmpint(json_object_get_int_member(object, "node_ns"), ==, event->time_ns);
		g_assert_cmpint(json_object_get_int_member(object, "cluster_ns"), ==, event->time_ns + 5);
		g_assert_cmpint(json_object_get_int_member(object, "tid"), ==, 7);
		with_fields += json_object_get_size(json_object_get_object_member(object, "fields")) > 0;
	}
	g_assert_cmpuint(count, >, 1000);
	g_assert_cmpuint(with_fields * 2, >, count / 50);
}

static struct dtc_event make_event(enum dtc_event_kind kind)
{
	struct dtc_event event = { .time_ns = 1000000001, .kind = (uint16_t)kind, .cpu = 3, .name = UINT16_MAX };
	for (guint i = 0; i < DTC_EVENT_SLOTS; i++)
		event.v[i] = DTC_ABSENT;
	return event;
}

static void test_fields(void)
{
	struct dtc_event event = make_event(DTC_EVENT_BLOCK_COMPLETE);
	event.v[DTC_BLOCK_SECTOR] = -1; /* a flush completes with sector 2^64-1 */
	event.text[0] = "a b\n\"\033";
	const struct dtc_event_line line = {
		.node = "n", .name = "(lost events)", .event = &event, .time = { 1000000001 }, .tid = -1
	};
	g_autoptr(GString) json = g_string_new(NULL), text = g_string_new(NULL);

	dtc_event_line_add_text(text, &line);
	g_assert_cmpstr(text->str, ==,
			"1.000000001 n cpu3 ? (lost events) sector=18446744073709551615 comm=\"a b\\x0a\"\\x1b\"\n");
	dtc_event_line_add_json(json, &line);
	g_assert_nonnull(strstr(json->str, "\"sector\": 18446744073709551615"));
	g_assert_nonnull(strstr(json->str, "\"comm\": \"a b\\\\x0a\\\"\\\\x1b\""));
	g_assert_nonnull(strstr(json->str, "\"tid\": null"));
	g_assert_null(strstr(json->str, "nr_sector")); /* absent */
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/events-view/demo", test_demo);
	g_test_add_func("/events-view/fields", test_fields);
	return g_test_run();
}
