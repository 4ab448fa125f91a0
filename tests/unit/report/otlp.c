/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the document against what OTLP's JSON encoding demands, then the tree of spans against the path. */
#include "analyze/report/otlp.h"

#include "tests/support/hostile.h"

#include <json-glib/json-glib.h>
#include <string.h>

#define SENDER "00f067aa0ba902b7" /* the span in the traceparent of made requests */

struct spans {
	JsonParser *parser;   /* owns everything below */
	GPtrArray *spans;     /* JsonObject *, in the order of the document */
	GHashTable *by_id;    /* id -> JsonObject * */
	GHashTable *services; /* id -> service.name of its resource */
};

static void assert_hex(const char *text, gsize digits)
{
	g_assert_cmpuint(strlen(text), ==, digits);
	g_assert_cmpuint(strspn(text, "0123456789abcdef"), ==, digits);
	g_assert_cmpuint(strspn(text, "0"), <, digits);
}

static void assert_integer_text(JsonNode *node)
{
	g_assert_cmpint(json_node_get_value_type(node), ==, G_TYPE_STRING);
	g_assert_cmpuint(strspn(json_node_get_string(node), "0123456789"), ==, strlen(json_node_get_string(node)));
}

static int64_t get_time(JsonObject *object, const char *name)
{
	assert_integer_text(json_object_get_member(object, name));
	return g_ascii_strtoll(json_object_get_string_member(object, name), NULL, 10);
}

/* KeyValue: a key, and an AnyValue with exactly one member of the right type. Text of the attribute, or NULL. */
static const char *find_attribute(JsonObject *holder, const char *wanted)
{
	JsonArray *attributes = json_object_get_array_member(holder, "attributes");
	const char *found = NULL;

	g_assert_nonnull(attributes);
	for (guint i = 0; i < json_array_get_length(attributes); i++) {
		JsonObject *attribute = json_array_get_object_element(attributes, i);
		JsonObject *value = json_object_get_object_member(attribute, "value");
		const char *key = json_object_get_string_member(attribute, "key");
		g_assert_cmpuint(strlen(key), >, 0);
		g_assert_cmpuint(json_object_get_size(value), ==, 1);
		if (json_object_has_member(value, "intValue"))
			assert_integer_text(json_object_get_member(value, "intValue"));
		else
			g_assert_true(json_object_has_member(value, "stringValue"));
		if (strcmp(key, wanted) == 0) {
			g_assert_null(found);
			found = json_object_has_member(value, "intValue")
					? json_object_get_string_member(value, "intValue")
					: json_object_get_string_member(value, "stringValue");
		}
	}
	return found;
}

static void check_span(struct spans *spans, JsonObject *span, const char *trace_id)
{
	const char *id = json_object_get_string_member(span, "spanId");
	int64_t kind = json_object_get_int_member(span, "kind");

	assert_hex(id, 16);
	assert_hex(json_object_get_string_member(span, "traceId"), 32);
	g_assert_cmpstr(json_object_get_string_member(span, "traceId"), ==, trace_id);
	g_assert_true(g_hash_table_insert(spans->by_id, (char *)id, span)); /* unique */
	g_assert_cmpint(kind, >=, 1);
	g_assert_cmpint(kind, <=, 5);
	g_assert_cmpint(get_time(span, "startTimeUnixNano"), <=, get_time(span, "endTimeUnixNano"));
	find_attribute(span, "");
	g_assert_cmpuint(strlen(json_object_get_string_member(span, "name")), >, 0);
	JsonArray *events = json_object_get_array_member(span, "events");
	for (guint i = 0; i < json_array_get_length(events); i++) {
		JsonObject *event = json_array_get_object_element(events, i);
		g_assert_cmpint(get_time(event, "timeUnixNano"), >=, get_time(span, "startTimeUnixNano"));
		g_assert_cmpint(get_time(event, "timeUnixNano"), <=, get_time(span, "endTimeUnixNano"));
		g_assert_nonnull(find_attribute(event, "dtrace_chain.duration_ns"));
	}
	g_ptr_array_add(spans->spans, span);
}

static void spans_clear(struct spans *spans)
{
	g_object_unref(spans->parser);
	g_ptr_array_unref(spans->spans);
	g_hash_table_unref(spans->by_id);
	g_hash_table_unref(spans->services);
}

static void read_spans(struct spans *spans, const DtcReport *report, const char *trace_id)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text = dtc_report_to_otlp(report);
	g_autofree char *again = dtc_report_to_otlp(report);

	g_assert_cmpstr(text, ==, again);
	g_assert_true(g_utf8_validate(text, -1, NULL));
	*spans = (struct spans){
		.parser = json_parser_new(),
		.spans = g_ptr_array_new(),
		.by_id = g_hash_table_new(g_str_hash, g_str_equal),
		.services = g_hash_table_new(g_str_hash, g_str_equal),
	};
	json_parser_load_from_data(spans->parser, text, -1, &error);
	g_assert_no_error(error);
	JsonArray *resources = json_object_get_array_member(json_node_get_object(json_parser_get_root(spans->parser)),
							    "resourceSpans");
	for (guint i = 0; i < json_array_get_length(resources); i++) {
		JsonObject *resource = json_array_get_object_element(resources, i);
		JsonObject *about = json_object_get_object_member(resource, "resource");
		const char *service = find_attribute(about, "service.name");
		g_assert_nonnull(service);
		g_assert_nonnull(find_attribute(about, "host.name"));
		JsonArray *scopes = json_object_get_array_member(resource, "scopeSpans");
		g_assert_cmpuint(json_array_get_length(scopes), ==, 1);
		JsonArray *list = json_object_get_array_member(json_array_get_object_element(scopes, 0), "spans");
		g_assert_cmpuint(json_array_get_length(list), >, 0);
		for (guint j = 0; j < json_array_get_length(list); j++) {
			JsonObject *span = json_array_get_object_element(list, j);
			g_autofree char *derived =
				trace_id ? NULL : g_strdup(json_object_get_string_member(span, "traceId"));
			check_span(spans, span, trace_id ? trace_id : derived);
			g_hash_table_insert(spans->services, (char *)json_object_get_string_member(span, "spanId"),
					    (char *)service);
		}
	}
	/* one root, whose parent the sender told if anybody; every other parent is there and lasts as long */
	guint roots = 0;
	for (guint i = 0; i < spans->spans->len; i++) {
		JsonObject *span = g_ptr_array_index(spans->spans, i);
		const char *parent_id = json_object_get_string_member(span, "parentSpanId");
		JsonObject *parent = g_hash_table_lookup(spans->by_id, parent_id);
		bool is_root = !parent && (!*parent_id || strcmp(parent_id, SENDER) == 0);
		roots += is_root;
		if (is_root)
			continue;
		g_assert_nonnull(parent);
		g_assert_cmpint(get_time(parent, "startTimeUnixNano"), <=, get_time(span, "startTimeUnixNano"));
		g_assert_cmpint(get_time(parent, "endTimeUnixNano"), >=, get_time(span, "endTimeUnixNano"));
	}
	g_assert_cmpuint(roots, ==, 1);
}

static JsonObject *find_span(const struct spans *spans, const char *name)
{
	for (guint i = 0; i < spans->spans->len; i++) {
		JsonObject *span = g_ptr_array_index(spans->spans, i);
		if (strcmp(json_object_get_string_member(span, "name"), name) == 0)
			return span;
	}
	g_error("no span '%s'", name);
}

static const char *get_parent_name(const struct spans *spans, JsonObject *span)
{
	JsonObject *parent = g_hash_table_lookup(spans->by_id, json_object_get_string_member(span, "parentSpanId"));
	return json_object_get_string_member(parent, "name");
}

#define AT INT64_C(1795168587000000001)

static void test_tree(void)
{
	static const struct made_segment segments[] = {
		{ 100, 0, 10, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 30, 1, 21, "web", DTC_CAUSE_NETWORK_WIRE, "53 bytes from alpha 10.0.0.1:4000 to 10.0.0.2:80", 5 },
		{ 40, 1, 21, "web", DTC_CAUSE_RUNQUEUE, NULL, 0 },
		{ 20, 2, 31, "db", DTC_CAUSE_NETWORK_WIRE, "9 bytes from beta [fe80::1]:5 to [fe80::2]:6", 5 },
		{ 200, 2, 31, "db", DTC_CAUSE_DISK, "fsync(/data)", 0 },
		{ 25, 1, 21, "web", DTC_CAUSE_NETWORK_WIRE, "x", INT64_MAX },
		{ 60, 1, 21, "web", DTC_CAUSE_RUNNING_USER, NULL, 0 },
		{ 35, 0, 10, "shop", DTC_CAUSE_NETWORK_WIRE, NULL, 5 },
		{ 10, 0, 10, "shop", DTC_CAUSE_RUNNING_KERNEL, "read", 0 },
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(AT, segments, G_N_ELEMENTS(segments));
	g_autoptr(DtcReport) report = made_path_report(path, NULL, "req-1", &error);
	g_assert_no_error(error);
	struct spans spans;

	read_spans(&spans, report, "4bf92f3577b34da6a3ce929d0e0e4736");
	/* the request, web and db, and four messages */
	g_assert_cmpuint(spans.spans->len, ==, 7);
	JsonObject *root = find_span(&spans, "GET /cart");
	g_assert_cmpint(get_time(root, "startTimeUnixNano"), ==, AT);
	g_assert_cmpint(get_time(root, "endTimeUnixNano"), ==, AT + 520);
	g_assert_cmpint(json_object_get_int_member(root, "kind"), ==, 3);
	g_assert_cmpstr(find_attribute(root, "http.request.method"), ==, "GET");
	g_assert_cmpstr(find_attribute(root, "http.response.status_code"), ==, "200");
	g_assert_cmpstr(json_object_get_string_member(root, "parentSpanId"), ==, SENDER);
	g_assert_cmpstr(find_attribute(root, "url.path"), ==, "/cart");
	g_assert_cmpstr(find_attribute(root, "url.query"), ==, "item=7");
	g_assert_cmpstr(find_attribute(root, "server.address"), ==, "10.0.0.2");
	g_assert_cmpstr(find_attribute(root, "server.port"), ==, "80");

	JsonObject *web = find_span(&spans, "web@beta"), *db = find_span(&spans, "db@gamma");
	g_assert_cmpint(json_object_get_int_member(web, "kind"), ==, 2);
	g_assert_cmpstr(get_parent_name(&spans, web), ==, "GET /cart");
	g_assert_cmpstr(get_parent_name(&spans, db), ==, "web@beta");
	/* a server's span begins when the message is there, and lasts as long as those it called */
	g_assert_cmpint(get_time(web, "startTimeUnixNano"), ==, AT + 130);
	g_assert_cmpint(get_time(web, "endTimeUnixNano"), ==, AT + 475);
	g_assert_cmpint(get_time(db, "startTimeUnixNano"), ==, AT + 190);
	g_assert_cmpint(get_time(db, "endTimeUnixNano"), ==, AT + 390);
	g_assert_cmpstr(g_hash_table_lookup(spans.services, json_object_get_string_member(db, "spanId")), ==, "db");
	JsonObject *disk = json_array_get_object_element(json_object_get_array_member(db, "events"), 0);
	g_assert_cmpstr(json_object_get_string_member(disk, "name"), ==, "disk");
	g_assert_cmpstr(find_attribute(disk, "dtrace_chain.duration_ns"), ==, "200");
	g_assert_cmpstr(find_attribute(disk, "dtrace_chain.detail"), ==, "fsync(/data)");

	JsonObject *hop = find_span(&spans, "network alpha to beta");
	g_assert_cmpstr(find_attribute(hop, "network.peer.address"), ==, "10.0.0.1");
	g_assert_cmpstr(find_attribute(hop, "network.peer.port"), ==, "4000");
	g_assert_cmpstr(find_attribute(hop, "dtrace_chain.uncertainty_ns"), ==, "5");
	JsonObject *inner = find_span(&spans, "network beta to gamma");
	g_assert_cmpstr(find_attribute(inner, "network.peer.address"), ==, "fe80::1");
	g_assert_null(find_attribute(find_span(&spans, "network gamma to beta"), "dtrace_chain.uncertainty_ns"));
	spans_clear(&spans);
}

static void test_derived_id(void)
{
	static const struct made_segment segments[] = { { 100, 0, 10, "shop", DTC_CAUSE_RUNNING_USER, NULL, 0 } };
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPath) path = made_path_new(AT, segments, 1), later = made_path_new(AT + 1, segments, 1);
	g_autoptr(DtcReport) report = made_path_report(path, NULL, NULL, &error);
	g_assert_no_error(error);
	g_autoptr(DtcReport) other = made_path_report(later, NULL, NULL, &error);
	g_assert_no_error(error);
	struct spans a, b;

	read_spans(&a, report, NULL);
	read_spans(&b, other, NULL);
	/* a thread that nobody asked is no client */
	g_assert_cmpint(json_object_get_int_member(g_ptr_array_index(a.spans, 0), "kind"), ==, 1);
	g_assert_cmpstr(json_object_get_string_member(g_ptr_array_index(a.spans, 0), "parentSpanId"), ==, "");
	g_assert_cmpstr(json_object_get_string_member(g_ptr_array_index(a.spans, 0), "traceId"), !=,
			json_object_get_string_member(g_ptr_array_index(b.spans, 0), "traceId"));
	spans_clear(&a);
	spans_clear(&b);
}

/* More waits than a span keeps: the longest stay, in order of time, and the others are counted. */
static void test_many_waits(void)
{
	enum { WAITS = 300 };
	g_autofree struct made_segment *segments = g_new0(struct made_segment, WAITS);
	g_autoptr(GError) error = NULL;
	struct spans spans;

	for (guint i = 0; i < WAITS; i++)
		segments[i] = (struct made_segment){ 10 + i, 0, 10, "shop", i % 2 ? DTC_CAUSE_DISK : DTC_CAUSE_TIMER,
						     NULL,   0 };
	g_autoptr(DtcPath) path = made_path_new(AT, segments, WAITS);
	g_autoptr(DtcReport) report = made_path_report(path, NULL, "r", &error);
	g_assert_no_error(error);
	read_spans(&spans, report, NULL);
	guint events = 0, dropped = 0;
	for (guint i = 0; i < spans.spans->len; i++) {
		JsonObject *span = g_ptr_array_index(spans.spans, i);
		JsonArray *list = json_object_get_array_member(span, "events");
		int64_t at_ns = 0;
		events += json_array_get_length(list);
		dropped += (guint)json_object_get_int_member(span, "droppedEventsCount");
		for (guint j = 0; j < json_array_get_length(list); j++) {
			JsonObject *event = json_array_get_object_element(list, j);
			g_assert_cmpint(get_time(event, "timeUnixNano"), >, at_ns);
			at_ns = get_time(event, "timeUnixNano");
			const char *length = find_attribute(event, "dtrace_chain.duration_ns");
			g_assert_cmpint(g_ascii_strtoll(length, NULL, 10), >=, 10 + WAITS - 128);
		}
	}
	g_assert_cmpuint(events, ==, 128);
	g_assert_cmpuint(events + dropped, ==, WAITS);
	spans_clear(&spans);
}

static void test_hostile(void)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcPath) path = NULL;
	g_autoptr(DtcReport) report = hostile_report(findings, &path);
	struct spans spans;

	read_spans(&spans, report, "4bf92f3577b34da6a3ce929d0e0e4736");
	g_assert_cmpuint(spans.spans->len, >=, 4);
	spans_clear(&spans);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/otlp/tree", test_tree);
	g_test_add_func("/otlp/derived-id", test_derived_id);
	g_test_add_func("/otlp/many-waits", test_many_waits);
	g_test_add_func("/otlp/hostile", test_hostile);
	return g_test_run();
}
