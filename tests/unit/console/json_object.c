/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON written as text: where its commas are, and that a parser reads what was meant, whatever the strings are. */
#include "collect/console/json_object.h"

#include "tests/support/hostile.h"

#include <json-glib/json-glib.h>
#include <string.h>

static void test_spaced(void)
{
	g_autoptr(GString) out = g_string_new("{");
	dtc_json_add_text(out, "a", "x\ty");
	dtc_json_add_integer(out, "b", INT64_MIN);
	dtc_json_append_key(out, "c");
	g_string_append(out, "[\n  ");
	for (guint i = 0; i < 2; i++) {
		dtc_json_append_separator(out);
		dtc_json_append_text(out, i ? NULL : "long name", 5);
	}
	g_string_append(out, "],\n");
	dtc_json_add_bool(out, "d", true);
	dtc_json_add_id(out, "e", -1);
	dtc_json_add_id(out, "f", 0);
	g_string_append_c(out, '}');
	g_assert_cmpstr(out->str, ==,
			"{\"a\": \"x\\\\x09y\", \"b\": -9223372036854775808, \"c\": [\n  \"long…\", null],\n"
			"\"d\": true, \"e\": null, \"f\": 0}");
}

static void test_packed(void)
{
	g_autoptr(GString) out = g_string_new("{");
	dtc_json_pack_string(out, "a", "x\ty");
	dtc_json_pack_open(out, "b", '[');
	for (int i = -1; i < 2; i++)
		dtc_json_pack_value(out, i);
	g_string_append_c(out, ']');
	dtc_json_pack_id(out, "c", -1);
	dtc_json_pack_key(out, "d");
	dtc_json_pack_open(out, NULL, '{'); /* the value of that key: no comma */
	dtc_json_pack_integer(out, "e", INT64_MAX);
	g_string_append(out, "}}");
	g_assert_cmpstr(out->str, ==, "{\"a\":\"x\\ty\",\"b\":[-1,0,1],\"c\":null,\"d\":{\"e\":9223372036854775807}}");
}

/* Every string comes back as it was, but for bytes that are not UTF-8; also after it was made safe for a page. */
static void test_strings(void)
{
	static const char *const strings[] = {
		"",
		"\"\\/",
		"\x01\x02\b\t\n\v\f\r\x1b\x1e\x1f\x7f",
		"{[,:",
		"é…日本 𝄞",
		"a\xe2\x80\xa8"
		"b\xe2\x80\xa9"
		"c\xe2\x80\xa6",
		HOSTILE_MARKUP,
		"\xff<\xe2",
	};
	g_autoptr(GString) out = g_string_new("[");
	for (guint i = 0; i < G_N_ELEMENTS(strings); i++) {
		dtc_json_pack_separator(out);
		dtc_json_append_string(out, strings[i]);
	}
	g_string_append_c(out, ']');
	g_autofree char *escaped = dtc_json_escape_markup(out->str);
	g_assert_null(strpbrk(escaped, "<>&"));
	g_assert_null(strstr(escaped, "\xe2\x80\xa8"));
	g_assert_null(strstr(escaped, "\xe2\x80\xa9"));
	g_assert_nonnull(strstr(escaped, "\xe2\x80\xa6"));
	const char *const documents[] = { out->str, escaped };
	for (guint k = 0; k < G_N_ELEMENTS(documents); k++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(JsonParser) parser = json_parser_new();
		json_parser_load_from_data(parser, documents[k], -1, &error);
		g_assert_no_error(error);
		JsonArray *array = json_node_get_array(json_parser_get_root(parser));
		g_assert_cmpuint(json_array_get_length(array), ==, G_N_ELEMENTS(strings));
		for (guint i = 0; i < G_N_ELEMENTS(strings); i++) {
			g_autofree char *valid = g_utf8_make_valid(strings[i], -1);
			g_assert_cmpstr(json_array_get_string_element(array, i), ==, valid);
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/console/json-object/spaced", test_spaced);
	g_test_add_func("/console/json-object/packed", test_packed);
	g_test_add_func("/console/json-object/strings", test_strings);
	return g_test_run();
}
