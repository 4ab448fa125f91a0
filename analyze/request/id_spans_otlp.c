/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spans of an OTLP JSON file (opentelemetry-proto, trace/v1: resourceSpans, scopeSpans, spans). */
#include "analyze/request/id_spans_build.h"

#include "dtrace-chain/error.h"

#include <json-glib/json-glib.h>
#include <string.h>

#define MAX_FILE_BYTES (256u << 20)
#define MAX_DEPTH 64 /* of nesting; json-glib recurses, and OTLP needs about ten */

struct reader {
	DtcIdSpans *spans;
	guint64 read, unknown_host, unknown_thread, full;
};

/* True if nothing is nested deeper than the parser can bear. */
static bool is_flat(const char *text, gsize count)
{
	guint depth = 0;
	bool in_string = false;

	for (gsize i = 0; i < count; i++) {
		if (in_string) {
			if (text[i] == '\\')
				i++;
			else if (text[i] == '"')
				in_string = false;
		} else if (text[i] == '"') {
			in_string = true;
		} else if (text[i] == '{' || text[i] == '[') {
			if (++depth > MAX_DEPTH)
				return false;
		} else if ((text[i] == '}' || text[i] == ']') && depth) {
			depth--;
		}
	}
	return true;
}

static JsonArray *get_array(JsonObject *object, const char *key)
{
	JsonNode *node = object ? json_object_get_member(object, key) : NULL;

	return node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

static JsonObject *get_object(JsonObject *object, const char *key)
{
	JsonNode *node = object ? json_object_get_member(object, key) : NULL;

	return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static JsonObject *get_element(JsonArray *array, guint index)
{
	JsonNode *node = json_array_get_element(array, index);

	return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static const char *get_string(JsonObject *object, const char *key)
{
	JsonNode *node = object ? json_object_get_member(object, key) : NULL;

	return node && json_node_get_value_type(node) == G_TYPE_STRING ? json_node_get_string(node) : NULL;
}

/* 64-bit numbers are strings in OTLP JSON, and some write them as numbers. */
static bool get_integer(JsonObject *object, const char *key, int64_t *ret_value)
{
	JsonNode *node = object ? json_object_get_member(object, key) : NULL;
	const char *text = get_string(object, key);
	gint64 value;

	if (text) {
		if (!g_ascii_string_to_signed(text, 10, 0, G_MAXINT64, &value, NULL))
			return false;
		*ret_value = value;
		return true;
	}
	if (!node || json_node_get_value_type(node) != G_TYPE_INT64)
		return false;
	*ret_value = json_node_get_int(node);
	return true;
}

/* The value of an attribute, {"key", "value": {"stringValue" | "intValue" | ...}}; NULL if there is none. */
static JsonObject *find_attribute(JsonObject *object, const char *key)
{
	JsonArray *attributes = get_array(object, "attributes");

	for (guint i = 0; attributes && i < json_array_get_length(attributes); i++) {
		JsonObject *attribute = get_element(attributes, i);
		if (g_strcmp0(get_string(attribute, "key"), key) == 0)
			return get_object(attribute, "value");
	}
	return NULL;
}

/* A node with the host's name, or with the part before its first dot. */
static guint find_node(const DtcIdSpans *spans, const char *host)
{
	const struct dtc_id_spans_input *input = dtc_id_spans_get_input(spans);
	gsize short_bytes = host ? strcspn(host, ".") : 0;

	for (guint node = 0; host && node < input->node_count; node++)
		if (g_ascii_strcasecmp(input->names[node], host) == 0)
			return node;
	for (guint node = 0; host && node < input->node_count; node++)
		if (strlen(input->names[node]) == short_bytes &&
		    g_ascii_strncasecmp(input->names[node], host, short_bytes) == 0)
			return node;
	return G_MAXUINT;
}

/* "http.request.header.x-request-id", "request_id", "requestId" */
static bool is_id_key(const char *key)
{
	char last[16] = { 0 };
	guint used = 0;

	for (gsize i = strlen(key); i > 0 && used < 9; i--)
		if (g_ascii_isalnum(key[i - 1]))
			last[used++] = g_ascii_tolower(key[i - 1]);
	return strcmp(last, "ditseuqer") == 0;
}

/* A header may have come several times: {"arrayValue": {"values": [{"stringValue"}]}}. */
static const char *get_text(JsonObject *value)
{
	JsonArray *values = get_array(get_object(value, "arrayValue"), "values");
	const char *text = get_string(value, "stringValue");

	return text || !values || json_array_get_length(values) == 0
		       ? text
		       : get_string(get_element(values, 0), "stringValue");
}

static void add_id(struct reader *reader, const struct dtc_id_span *place, const char *id, const char *source)
{
	struct dtc_id_span span = *place;

	span.id = id;
	span.source = source;
	if (id && !dtc_id_spans_add(reader->spans, &span, strlen(id)))
		reader->full++;
}

/* SPAN_KIND_SERVER, by number or by name */
static bool is_server(JsonObject *span)
{
	int64_t kind;

	return get_integer(span, "kind", &kind) ? kind == 2
						: g_strcmp0(get_string(span, "kind"), "SPAN_KIND_SERVER") == 0;
}

static void add_span(struct reader *reader, JsonObject *span, guint node, int64_t pid)
{
	const struct dtc_id_spans_input *input = dtc_id_spans_get_input(reader->spans);
	const DtcHistory *history = node < input->node_count ? input->histories[node] : NULL;
	struct dtc_id_span place = { .node = node, .is_server = is_server(span) };
	int64_t tid = pid;

	reader->read++;
	if (!history) {
		reader->unknown_host++;
		return;
	}
	if (!get_integer(find_attribute(span, "thread.id"), "intValue", &tid))
		tid = pid; /* a process of one thread */
	if (tid <= 0 || tid > G_MAXINT32 || !get_integer(span, "startTimeUnixNano", &place.begin.ns) ||
	    !get_integer(span, "endTimeUnixNano", &place.end.ns) || place.end.ns < place.begin.ns) {
		reader->unknown_thread++;
		return;
	}
	int64_t *times[] = { &place.begin.ns, &place.end.ns };
	for (guint i = 0; i < 2 && input->real_to_node; i++) {
		int64_t node_ns;
		if (input->real_to_node(input->data, node, *times[i], &node_ns))
			*times[i] = node_ns;
	}
	place.thread = dtc_history_find_thread(history, (int32_t)tid, place.begin.ns);
	place.begin.ns = MAX(place.begin.ns, dtc_history_get_begin_ns(history));
	place.end.ns = MIN(place.end.ns, dtc_history_get_end_ns(history));
	if (place.thread == DTC_NONE || place.end.ns <= place.begin.ns) {
		reader->unknown_thread++;
		return;
	}
	add_id(reader, &place, get_string(span, "traceId"), "trace id");
	add_id(reader, &place, get_string(span, "spanId"), "span id");
	JsonArray *attributes = get_array(span, "attributes");
	for (guint i = 0; attributes && i < json_array_get_length(attributes); i++) {
		JsonObject *attribute = get_element(attributes, i);
		const char *key = get_string(attribute, "key");
		if (key && is_id_key(key))
			add_id(reader, &place, get_text(get_object(attribute, "value")), "span attribute");
	}
}

static void add_resource(struct reader *reader, JsonObject *of)
{
	JsonObject *resource = get_object(of, "resource");
	guint node = find_node(reader->spans, get_string(find_attribute(resource, "host.name"), "stringValue"));
	int64_t pid = -1;

	if (!get_integer(find_attribute(resource, "process.pid"), "intValue", &pid))
		pid = -1;
	JsonArray *scopes = get_array(of, "scopeSpans");
	if (!scopes) /* before OTLP 0.15 */
		scopes = get_array(of, "instrumentationLibrarySpans");
	for (guint i = 0; scopes && i < json_array_get_length(scopes); i++) {
		JsonArray *list = get_array(get_element(scopes, i), "spans");
		for (guint k = 0; list && k < json_array_get_length(list); k++) {
			JsonObject *span = get_element(list, k);
			if (span)
				add_span(reader, span, node, pid);
		}
	}
}

static void add_findings(const struct reader *reader, DtcFindings *findings)
{
	if (reader->unknown_host)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, NULL,
				 "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
				 " spans name no host (resource attribute host.name) that is a traced node",
				 reader->unknown_host, reader->read);
	if (reader->unknown_thread)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, NULL,
				 "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
				 " spans name no thread (attribute thread.id) that lived in the trace at their time",
				 reader->unknown_thread, reader->read);
	if (reader->full)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, NULL,
				 "%" G_GUINT64_FORMAT " ids of spans are empty, or more than can be kept",
				 reader->full);
}

static bool set_damaged(GError **error, const char *path, const char *why)
{
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED,
		    "'%s' is not OTLP JSON: %s\nan exporter's file has {\"resourceSpans\": [...]}, one document per "
		    "line or one in all",
		    path, why);
	return false;
}

/* One document. */
static bool add_text(struct reader *reader, const char *text, gsize count, const char *path, GError **error)
{
	g_autoptr(JsonParser) parser = json_parser_new_immutable();
	g_autoptr(GError) wrong = NULL;

	if (!json_parser_load_from_data(parser, text, (gssize)count, &wrong))
		return set_damaged(error, path, wrong->message);
	JsonNode *root = json_parser_get_root(parser);
	JsonObject *object = root && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
	JsonArray *resources = get_array(object, "resourceSpans");
	if (!resources)
		return set_damaged(error, path, "it has no 'resourceSpans'");
	for (guint i = 0; i < json_array_get_length(resources); i++) {
		JsonObject *of = get_element(resources, i);
		if (of)
			add_resource(reader, of);
	}
	return true;
}

/* Collectors write a document per line; a single document may be spread over lines. */
static bool is_line_wise(const char *text, gsize count)
{
	const char *end = memchr(text, '\n', count);
	gsize first = end ? (gsize)(end - text) : count;

	while (first && g_ascii_isspace(text[first - 1]))
		first--;
	return first > 1 && text[0] == '{' && text[first - 1] == '}';
}

bool dtc_id_spans_add_file(DtcIdSpans *spans, const char *path, DtcFindings *findings, GError **error)
{
	GError *wrong = NULL;
	g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, &wrong);
	if (!file) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
			    "cannot read '%s': %s\n"
			    "--spans takes a file with OTLP JSON",
			    path, wrong->message);
		g_error_free(wrong);
		return false;
	}
	const char *text = g_mapped_file_get_contents(file);
	gsize count = g_mapped_file_get_length(file);
	struct reader reader = { .spans = spans };
	if (count > MAX_FILE_BYTES)
		return set_damaged(error, path, "it is larger than 256 MiB");
	if (!text || !g_utf8_validate_len(text, count, NULL))
		return set_damaged(error, path, count ? "it is not UTF-8" : "it is empty");
	if (!is_flat(text, count))
		return set_damaged(error, path, "it is nested too deep");
	if (!is_line_wise(text, count)) {
		if (!add_text(&reader, text, count, path, error))
			return false;
	} else {
		for (gsize at = 0; at < count;) {
			const char *end = memchr(text + at, '\n', count - at);
			gsize length = end ? (gsize)(end - (text + at)) : count - at;
			gsize used = length;
			while (used && g_ascii_isspace(text[at + used - 1]))
				used--;
			if (used && !add_text(&reader, text + at, used, path, error))
				return false;
			at += length + 1;
		}
	}
	add_findings(&reader, findings);
	return true;
}
