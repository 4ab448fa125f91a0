/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metadata that declare the same are parsed once, and what each node says of itself stays its own. */
#include "collect/read/fast/known.h"
#include "collect/read/reader.h"

#include <string.h>

static const char tsdl[] = "/* CTF 1.8 */\n"
			   "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
			   "trace { major = 1; minor = 8; uuid = \"2a1bda29-ffc3-e248-8053-81ccaf830d2f\";\n"
			   "byte_order = le; packet.header := struct { uint8_t stream_id; }; };\n"
			   "env { hostname = \"web\"; domain = \"kernel\"; tracer_major = 2; };\n"
			   "clock { name = \"monotonic\"; uuid = \"e49b\"; freq = 1000000000; offset_s = 17;\n"
			   "offset = 1795169170945726935; };\n"
			   "typealias integer { size = 16; align = 8; signed = false;\n"
			   "map = clock.monotonic.value; } := time_t;\n"
			   "stream { id = 0; event.header := struct { uint8_t id; time_t timestamp; }; };\n"
			   "event { name = \"sched_switch\"; id = 0; stream_id = 0;\n"
			   "fields := struct { uint8_t count; uint8_t values[count]; string text; }; };\n"
			   "event { name = \"other\"; id = 900; stream_id = 0; };\n";

static const char json[] =
	"\x1e{\"type\":\"preamble\",\"version\":2,\"uuid\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}\n"
	"\x1e{\"type\":\"trace-class\",\"environment\":{\"hostname\":\"web\",\"tracer_major\":2},\"uid\":\"u1\"}\n"
	"\x1e{\"type\":\"clock-class\",\"name\":\"monotonic\",\"uid\":\"e49b\",\"frequency\":1000000000,"
	"\"offset-from-origin\":{\"seconds\":17,\"cycles\":945726935},\"origin\":{\"name\":\"boot\",\"uid\":\"b\"}}\n"
	"\x1e{\"type\":\"data-stream-class\",\"id\":0,\"default-clock-class-name\":\"monotonic\","
	"\"event-record-header-field-class\":{\"type\":\"structure\",\"member-classes\":[{\"name\":\"t\","
	"\"field-class\":{\"type\":\"fixed-length-unsigned-integer\",\"length\":16,\"byte-order\":\"big-endian\","
	"\"roles\":[\"default-clock-timestamp\"]}}]}}\n"
	"\x1e{\"type\":\"event-record-class\",\"id\":0,\"data-stream-class-id\":0,\"name\":\"sched_switch\","
	"\"payload-field-class\":{\"type\":\"structure\",\"member-classes\":[{\"name\":\"n\",\"field-class\":"
	"{\"type\":\"fixed-length-unsigned-integer\",\"length\":7,\"byte-order\":\"little-endian\"}}]}}\n";

/* ---- what a trace says ---- */

static void describe_type(GString *to, const struct dtc_layout *layout)
{
	if (!layout)
		return;
	g_string_append_printf(to, "(%u %u %u %u %u %u %u %d %d", layout->kind, layout->role, layout->bits,
			       layout->align, layout->is_signed, layout->is_big_endian, layout->is_clock, layout->slot,
			       layout->source);
	g_string_append_printf(to, " %" G_GUINT64_FORMAT " %u", layout->type->length, layout->type->base);
	for (guint i = 0; i < layout->member_count; i++) {
		g_string_append_printf(to, " %s:", layout->members[i].name);
		describe_type(to, layout->members[i].layout);
	}
	describe_type(to, layout->element);
	g_string_append_c(to, ')');
}

static void describe_clock(GString *to, const struct dtc_clock_declaration *clock)
{
	if (clock)
		g_string_append_printf(to,
				       "clock %s %s %" G_GUINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GUINT64_FORMAT "\n",
				       clock->name, clock->uuid, clock->frequency, clock->offset_s, clock->offset);
}

static void describe_events(GString *to, const struct dtc_stream_layout *stream)
{
	for (guint i = 0; i < stream->event_count; i++) {
		const struct dtc_event_layout *event = &stream->events[i];
		g_assert_true(dtc_layout_find_event(stream, event->declaration->id) == event);
		g_assert_null(event->user);
		g_string_append_printf(to, "event %" G_GUINT64_FORMAT " %s", event->declaration->id,
				       event->declaration->name);
		describe_type(to, event->context);
		describe_type(to, event->payload);
	}
}

static char *describe(const struct dtc_trace_layout *layout)
{
	g_autoptr(GString) to = g_string_new(NULL);
	const struct dtc_trace_declaration *declaration = layout->declaration;
	GList *keys = g_list_sort(g_hash_table_get_keys(declaration->environment), (GCompareFunc)strcmp);
	for (guint i = 0; i < sizeof(declaration->uuid); i++)
		g_string_append_printf(to, "%02x", declaration->uuid[i]);
	g_string_append_printf(to, " %u %u\n", declaration->has_uuid, declaration->is_big_endian);
	for (const GList *key = keys; key; key = key->next)
		g_string_append_printf(to, "%s = %s\n", (const char *)key->data,
				       (const char *)g_hash_table_lookup(declaration->environment, key->data));
	for (guint i = 0; i < declaration->clock_count; i++)
		describe_clock(to, &declaration->clocks[i]);
	describe_type(to, layout->packet_header);
	for (guint i = 0; i < layout->stream_count; i++) {
		const struct dtc_stream_layout *stream = &layout->streams[i];
		g_string_append_printf(to, "\nstream %" G_GUINT64_FORMAT, stream->declaration->id);
		describe_clock(to, stream->clock);
		describe_type(to, stream->packet_context);
		describe_type(to, stream->event_header);
		describe_events(to, stream);
	}
	g_list_free(keys);
	return g_strdup(to->str);
}

/* What it says when it is parsed by itself: a description, or why it is refused. */
static char *parse_alone(const char *text, bool *ret_is_read)
{
	g_autoptr(GError) error = NULL;
	struct dtc_trace_declaration *declaration = dtc_declaration_parse(text, strlen(text), &error);
	struct dtc_trace_layout *layout = declaration ? dtc_layout_compile(declaration, &error) : NULL;
	*ret_is_read = layout != NULL;
	char *said = layout ? describe(layout) : g_strdup(error->message);
	dtc_trace_layout_free(layout);
	dtc_trace_declaration_free(declaration);
	return said;
}

static char *open_known(DtcKnown *known, const char *text, bool *ret_is_read)
{
	g_autoptr(GError) error = NULL;
	struct dtc_known_trace trace;
	*ret_is_read = dtc_known_open(known, g_string_new(text), &trace, &error);
	char *said = *ret_is_read ? describe(trace.layout) : g_strdup(error->message);
	if (*ret_is_read)
		dtc_known_close(&trace);
	return said;
}

/* By itself and by who knows others it says the same. */
static void check_same(DtcKnown *known, const char *text)
{
	bool is_read_alone, is_read;
	g_autofree char *alone = parse_alone(text, &is_read_alone);
	g_autofree char *said = open_known(known, text, &is_read);
	g_assert_cmpstr(said, ==, alone);
	g_assert_true(is_read == is_read_alone);
}

static char *replace(const char *text, const char *what, const char *with)
{
	g_auto(GStrv) parts = g_strsplit(text, what, 2);
	g_assert_nonnull(parts[1]);
	return g_strjoinv(with, parts);
}

/* ---- stories ---- */

static void test_own(void)
{
	static const struct {
		const char *text, *what, *with;
		bool is_shared;
	} others[] = {
		{ tsdl, "2a1bda29-ffc3", "3a1bda29-ffc3", true },
		{ tsdl, "\"web\"", "\"a much longer \\\"name\\\"\"", true },
		{ tsdl, "\"web\"", "3", true },
		{ tsdl, "tracer_major = 2", "tracer_major = -14", true },
		{ tsdl, "e49b", "", true },
		{ tsdl, "offset_s = 17", "offset_s = 0x11", true },
		{ tsdl, "1795169170945726935", "-3", true },
		{ tsdl, "tracer_major", "tracer_minor", false },
		{ tsdl, "freq = 1000000000", "freq = 1000000001", false },
		{ tsdl, "name = \"monotonic\"", "name = \"monotonia\"", false },
		{ tsdl, "size = 16", "size = 17", false },
		{ tsdl, "string text", "string tex_", false },
		{ tsdl, "\"other\"", "\"othes\"", false },
		{ tsdl, "id = 900", "id = 901", false },
		{ tsdl, "/* CTF 1.8 */", "/* CTF 1.9 */", false }, /* which could be, and is not worth it */
		{ json, "[1,2,3", "[99, 2,3", true },
		{ json, "\"web\"", "\"w\\u00e9b\"", true },
		{ json, "\"tracer_major\":2", "\"tracer_minor\":2,\"domain\":\"kernel\"", true },
		{ json, "\"u1\"", "[\"u2\"]", true },
		{ json, "e49b", "17", true },
		{ json, "\"seconds\":17", "\"seconds\":-1", true },
		{ json, "{\"name\":\"boot\",\"uid\":\"b\"}", "\"unix-epoch\"", true },
		{ json, "\"frequency\":1000000000", "\"frequency\":1000000001", false },
		{ json, "\"length\":7", "\"length\":6", false },
		{ json, "big-endian", "little-endian", false },
	};
	for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
		g_autoptr(DtcKnown) known = dtc_known_new();
		g_autofree char *other = replace(others[i].text, others[i].what, others[i].with);
		check_same(known, others[i].text);
		check_same(known, other);
		check_same(known, others[i].text);
		g_assert_cmpuint(dtc_known_get_parse_count(known), ==, others[i].is_shared ? 1 : 2);
	}
}

/* Whatever byte differs, and how: who knows the metadata says of it what who does not says. */
static void test_every_byte(const void *data)
{
	static const char bytes[] = " 0\"x;{}\\/-'\x1e";
	const char *text = data;
	g_autofree char *other = g_strdup(text);
	g_autoptr(DtcKnown) known = dtc_known_new();
	check_same(known, text);
	for (gsize at = 0; text[at]; at++) {
		for (guint i = 0; bytes[i]; i++) {
			other[at] = bytes[i];
			check_same(known, other);
		}
		other[at] = (char)(text[at] ^ 1);
		check_same(known, other);
		other[at] = text[at];
		g_autofree char *shorter = g_strndup(text, at), *without = g_strconcat(shorter, text + at + 1, NULL);
		check_same(known, shorter);
		check_same(known, without);
	}
}

/* Kinds of nodes beyond what is kept are parsed again; what is open stays. */
static void test_bounded(void)
{
	DtcKnown *known = dtc_known_new();
	struct dtc_known_trace trace;
	g_assert_true(dtc_known_open(known, g_string_new(tsdl), &trace, NULL));
	g_autofree char *before = describe(trace.layout);
	for (guint i = 0; i < 40; i++) {
		g_autofree char *name = g_strdup_printf("\"event%u\"", i);
		g_autofree char *other = replace(tsdl, "\"other\"", name);
		check_same(known, other);
	}
	g_assert_cmpuint(dtc_known_get_parse_count(known), ==, 41);
	check_same(known, tsdl);
	check_same(known, tsdl);
	g_assert_cmpuint(dtc_known_get_parse_count(known), ==, 42);
	dtc_known_forget(known);
	check_same(known, tsdl);
	g_assert_cmpuint(dtc_known_get_parse_count(known), ==, 43);
	dtc_known_free(known);
	g_autofree char *after = describe(trace.layout);
	g_assert_cmpstr(after, ==, before);
	dtc_known_close(&trace);
}

/* An environment that is a book is read, and not compared. */
static void test_large(void)
{
	g_autoptr(DtcKnown) known = dtc_known_new();
	g_autoptr(GString) many = g_string_new("env {");
	g_autofree char *long_name = g_strnfill(70000, 'a');
	for (guint i = 0; i < 2 * DTC_OWN_MAX_VALUES; i++)
		g_string_append_printf(many, " key%u = %u;", i, i);
	g_autofree char *book = replace(tsdl, "env {", many->str);
	g_autofree char *page = replace(tsdl, "web", long_name);
	check_same(known, book);
	check_same(known, book);
	g_assert_cmpuint(dtc_known_get_parse_count(known), ==, 2);
	check_same(known, tsdl);
	check_same(known, page);
	g_assert_cmpuint(dtc_known_get_parse_count(known), ==, 4);
	check_same(known, tsdl);
	g_assert_cmpuint(dtc_known_get_parse_count(known), ==, 4);
}

static gpointer open_often(gpointer known)
{
	for (guint i = 0; i < 200; i++) {
		g_autofree char *host = g_strdup_printf("\"node%u\"", i);
		g_autofree char *text = replace(i % 2 ? tsdl : json, "\"web\"", host);
		check_same(known, text);
	}
	return NULL;
}

static void test_threads(void)
{
	g_autoptr(DtcKnown) known = dtc_known_new();
	GThread *threads[4];
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		threads[i] = g_thread_new("open", open_often, known);
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		g_thread_join(threads[i]);
	g_assert_cmpuint(dtc_known_get_parse_count(known), ==, 2);
}

/* Three recordings of LTTng on three machines. */
static void test_nodes(void)
{
	static const char *const names[] = { "backend", "client", "web" };
	g_autoptr(DtcKnown) known = dtc_known_new();
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path =
			g_build_filename(g_getenv("DTC_SOURCE_DIR"), "clusters/demo", names[i], "kernel", NULL);
		const struct dtc_bundle_node node = {
			.name = (char *)names[i],
			.kernel_path = path,
			.reader = { .choice = DTC_READER_FAST, .known = known },
		};
		g_autoptr(DtcReader) reader = dtc_reader_open_node(&node, NULL);
		g_assert_nonnull(reader);
		g_assert_cmpstr(dtc_reader_get_environment(reader, "hostname"), ==, names[i]);
		g_assert_true(dtc_reader_declares(reader, DTC_EVENT_SCHED_SWITCH));
		g_assert_nonnull(dtc_reader_next(reader));
	}
	g_assert_cmpuint(dtc_known_get_parse_count(known), ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/read/known/own", test_own);
	g_test_add_data_func("/read/known/every-byte-tsdl", tsdl, test_every_byte);
	g_test_add_data_func("/read/known/every-byte-json", json, test_every_byte);
	g_test_add_func("/read/known/bounded", test_bounded);
	g_test_add_func("/read/known/large", test_large);
	g_test_add_func("/read/known/threads", test_threads);
	g_test_add_func("/read/known/nodes", test_nodes);
	return g_test_run();
}
