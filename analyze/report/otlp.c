/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/otlp.h"

#include "collect/console/json_object.h"

#include <inttypes.h>
#include <string.h>

#define TRACE_ID_DIGITS 32
#define SPAN_ID_DIGITS 16
#define MAX_EVENTS 128 /* what SDKs keep of one span by default; the longest waits are kept, the rest is counted */
#define MAX_OPEN 64    /* tiers open at once; beyond that a visit stays beside its sibling */
#define SCHEMA_URL "https://opentelemetry.io/schemas/1.27.0"

/* Values of the enums of opentelemetry/proto/trace/v1/trace.proto */
enum span_kind {
	SPAN_KIND_INTERNAL = 1,
	SPAN_KIND_SERVER = 2,
	SPAN_KIND_CLIENT = 3,
};
enum status_code {
	STATUS_UNSET = 0,
	STATUS_ERROR = 2,
};

struct span {
	const struct dtc_report_thread *who; /* of its first step */
	enum span_kind kind;
	guint parent;	  /* index; G_MAXUINT: the root */
	guint hop_step;	  /* the message this span is; G_MAXUINT: a visit */
	const char *from; /* the sending node of that message */
	int64_t begin_ns;
	int64_t end_ns;
	GArray *waits; /* guint: steps; NULL for a message */
	char id[SPAN_ID_DIGITS + 1];
};

struct build {
	const DtcReport *report;
	GArray *spans;	      /* struct span */
	guint open[MAX_OPEN]; /* visits that the path may come back to, the root first */
	guint open_count;
	char trace_id[TRACE_ID_DIGITS + 1];
	char sender_span_id[SPAN_ID_DIGITS + 1]; /* "" if no header named one */
};

static const struct dtc_report_step *get_step(const DtcReport *report, guint index)
{
	return DTC_AT(report->steps, struct dtc_report_step, index);
}

static struct span *get_span(const struct build *b, guint index)
{
	return &g_array_index(b->spans, struct span, index);
}

static void span_clear(void *data)
{
	struct span *span = data;

	if (span->waits)
		g_array_unref(span->waits);
}

/* So many hex digits, not all of them zero, and nothing else. */
static bool is_hex_id(const char *text, gsize digits)
{
	bool has_value = false;

	for (gsize i = 0; i < digits; i++) {
		if (!g_ascii_isxdigit(text[i]))
			return false;
		has_value |= text[i] != '0';
	}
	return has_value && text[digits] == '\0';
}

static void set_lower(char *to, const char *from, gsize digits)
{
	for (gsize i = 0; i < digits; i++)
		to[i] = g_ascii_tolower(from[i]);
	to[digits] = '\0';
}

/* The digits of SHA-256 over the text: unique where the text is. */
static void derive_id(char *to, gsize digits, const char *text)
{
	g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);

	memcpy(to, digest, digits);
	to[digits] = '\0';
	if (strspn(to, "0") == digits) /* the one value that means "none" */
		to[digits - 1] = '1';
}

/* traceparent is VERSION-TRACE-SPAN-FLAGS; single b3 is TRACE-SPAN[-...]. */
static void take_sender_span(struct build *b, const struct dtc_report_source *source)
{
	g_auto(GStrv) parts = g_strsplit(source->value ? source->value : "", "-", 5);
	guint count = g_strv_length(parts), at = strcmp(source->source, "traceparent") == 0 ? 2 : 1;

	if ((at == 2 || strcmp(source->source, "b3") == 0) && count > at && is_hex_id(parts[at], SPAN_ID_DIGITS))
		set_lower(b->sender_span_id, parts[at], SPAN_ID_DIGITS);
}

/* The trace id that the request bore: traceparent before others, 128 bits before 64. */
static void choose_trace_id(struct build *b)
{
	const DtcReport *report = b->report;
	const struct dtc_report_source *best = NULL;
	int best_rank = 0;

	for (guint i = 0; i < report->sources->len; i++) {
		const struct dtc_report_source *source = &g_array_index(report->sources, struct dtc_report_source, i);
		/* an X-Request-Id may look like one, but no tracer knows it */
		bool is_request_id = strcmp(source->source, "x-request-id") == 0;
		int rank = is_request_id			    ? 0
			   : is_hex_id(source->id, TRACE_ID_DIGITS) ? 2
			   : is_hex_id(source->id, SPAN_ID_DIGITS)  ? 1
								    : 0;
		if (rank && strcmp(source->source, "traceparent") == 0)
			rank = 3;
		if (rank > best_rank) {
			best = source;
			best_rank = rank;
		}
	}
	if (best) {
		gsize digits = strlen(best->id);
		memset(b->trace_id, '0', TRACE_ID_DIGITS);
		set_lower(b->trace_id + TRACE_ID_DIGITS - digits, best->id, digits);
		take_sender_span(b, best);
		return;
	}
	g_autofree char *text =
		g_strdup_printf("trace/%s/%s/%d/%" PRId64 "/%" PRId64, report->request ? report->request : "",
				report->target.tier, report->target.tid, report->begin_ns, report->end_ns);
	derive_id(b->trace_id, TRACE_ID_DIGITS, text);
}

static guint add_span(struct build *b, const struct dtc_report_thread *who, enum span_kind kind, guint parent,
		      int64_t begin_ns)
{
	struct span span = {
		.who = who,
		.kind = kind,
		.parent = parent,
		.hop_step = G_MAXUINT,
		.begin_ns = begin_ns,
		.end_ns = begin_ns,
		.waits = g_array_new(FALSE, FALSE, sizeof(guint)),
	};
	g_autofree char *text =
		g_strdup_printf("span/%s/%u/%s/%" PRId64, b->trace_id, b->spans->len, who->tier, begin_ns);

	derive_id(span.id, SPAN_ID_DIGITS, text);
	g_array_append_val(b->spans, span);
	return b->spans->len - 1;
}

static bool is_same_tier(const struct dtc_report_thread *a, const struct dtc_report_thread *b)
{
	return strcmp(a->tier, b->tier) == 0 && (a->pid == b->pid || a->pid < 0 || b->pid < 0);
}

/* The place among the open visits of the one of a step's tier, or G_MAXUINT. */
static guint find_open(const struct build *b, const struct dtc_report_step *step)
{
	for (guint i = b->open_count; i-- > 0;)
		if (is_same_tier(get_span(b, b->open[i])->who, &step->who))
			return i;
	return G_MAXUINT;
}

/* The visits that are open, down to a place among them, last until then at least. */
static void extend_open(const struct build *b, guint last, int64_t end_ns)
{
	for (guint i = 0; i <= last; i++)
		get_span(b, b->open[i])->end_ns = end_ns;
}

/* A message that asks lies in the visit that sent it, one that answers in the visit that it comes back to. */
static void add_message(struct build *b, guint index)
{
	const struct dtc_report_step *step = get_step(b->report, index);
	guint place = find_open(b, step);

	if (place == G_MAXUINT)
		place = b->open_count - 1;
	extend_open(b, place, step->end_ns);
	guint at = add_span(b, &step->who, SPAN_KIND_INTERNAL, b->open[place], step->begin_ns);
	struct span *span = get_span(b, at);
	g_clear_pointer(&span->waits, g_array_unref);
	span->hop_step = index;
	span->from = index ? get_step(b->report, index - 1)->who.node : step->who.node;
	span->end_ns = step->end_ns;
}

/* Comes to the tier of a step: back to where it is open, else a new visit beneath the one the path was in. */
static void visit(struct build *b, const struct dtc_report_step *step)
{
	guint place = find_open(b, step);

	if (place != G_MAXUINT) {
		b->open_count = place + 1;
		return;
	}
	if (b->open_count == MAX_OPEN)
		b->open_count--;
	guint parent = b->open[b->open_count - 1];
	bool is_remote = strcmp(get_span(b, parent)->who->node, step->who.node) != 0;
	guint span = add_span(b, &step->who, is_remote ? SPAN_KIND_SERVER : SPAN_KIND_INTERNAL, parent, step->begin_ns);
	b->open[b->open_count++] = span;
}

static bool is_wait(enum dtc_cause cause)
{
	return cause != DTC_CAUSE_RUNNING_USER && cause != DTC_CAUSE_RUNNING_KERNEL;
}

static void build_spans(struct build *b)
{
	const DtcReport *report = b->report;

	enum span_kind kind = report->request ? SPAN_KIND_CLIENT : SPAN_KIND_INTERNAL; /* a thread asks for nothing */
	b->open[b->open_count++] = add_span(b, &report->target, kind, G_MAXUINT, report->begin_ns);
	for (guint i = 0; i < report->steps->len; i++) {
		const struct dtc_report_step *step = get_step(report, i);
		/* the message is on nobody's CPU: it is a span of its own */
		if (step->cause == DTC_CAUSE_NETWORK_WIRE && step->is_hop) {
			add_message(b, i);
			continue;
		}
		visit(b, step);
		extend_open(b, b->open_count - 1, step->end_ns);
		if (is_wait(step->cause))
			g_array_append_val(get_span(b, b->open[b->open_count - 1])->waits, i);
	}
	get_span(b, 0)->end_ns = report->end_ns;
}

static void append_text_attribute(GString *out, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	dtc_json_pack_separator(out);
	g_string_append(out, "{\"key\":");
	dtc_json_append_string(out, key);
	g_string_append(out, ",\"value\":{\"stringValue\":");
	dtc_json_append_string(out, value);
	g_string_append(out, "}}");
}

static void append_number_attribute(GString *out, const char *key, int64_t value)
{
	dtc_json_pack_separator(out);
	g_string_append(out, "{\"key\":");
	dtc_json_append_string(out, key);
	g_string_append_printf(out, ",\"value\":{\"intValue\":\"%" PRId64 "\"}}", value);
}

static void append_time(GString *out, const char *key, int64_t ns)
{
	dtc_json_pack_key(out, key);
	g_string_append_printf(out, "\"%" PRId64 "\"", MAX(ns, 0));
}

static void append_thread_attributes(GString *out, const struct dtc_report_thread *who)
{
	if (who->tid >= 0)
		append_number_attribute(out, "thread.id", who->tid);
	append_text_attribute(out, "thread.name", who->comm);
}

/*
 * One end of "53 bytes from web 10.77.0.2:80 to 10.77.0.1:49152", the sender's (0) or the receiver's (1), as
 * PREFIX.address and PREFIX.port.
 */
static void append_end_attributes(GString *out, const char *detail, guint end, const char *prefix)
{
	static const char one[] = "(\\[[0-9a-fA-F:.]+\\]|[0-9.]+):([0-9]{1,5})";
	g_autofree char *pattern = g_strdup_printf(" %s to %s", one, one);
	g_autoptr(GRegex) regex = g_regex_new(pattern, 0, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;

	if (!detail || !g_regex_match(regex, detail, 0, &match))
		return;
	g_autofree char *address = g_match_info_fetch(match, 1 + 2 * (int)end);
	g_autofree char *port = g_match_info_fetch(match, 2 + 2 * (int)end);
	g_autofree char *address_key = g_strconcat(prefix, ".address", NULL);
	g_autofree char *port_key = g_strconcat(prefix, ".port", NULL);
	gsize length = strlen(address);
	if (*address == '[') {
		address[length - 1] = '\0';
		memmove(address, address + 1, length - 1);
	}
	append_text_attribute(out, address_key, address);
	append_number_attribute(out, port_key, (int64_t)g_ascii_strtoull(port, NULL, 10));
}

static void append_uncertainty(GString *out, int64_t uncertainty_ns)
{
	if (uncertainty_ns != INT64_MAX)
		append_number_attribute(out, "dtrace_chain.uncertainty_ns", uncertainty_ns);
}

/* Whom the target asked: the other end of the first message that left its node. */
static void append_server_attributes(GString *out, const DtcReport *report)
{
	for (guint i = 1; i < report->steps->len; i++) {
		const struct dtc_report_step *step = get_step(report, i);
		if (step->cause != DTC_CAUSE_NETWORK_WIRE || !step->is_hop)
			continue;
		if (strcmp(get_step(report, i - 1)->who.node, report->target.node) == 0)
			append_end_attributes(out, step->detail, 1, "server");
		return;
	}
}

static void append_url_attributes(GString *out, const char *url)
{
	const char *query = strchr(url, '?');
	g_autofree char *path = g_strndup(url, query ? (gsize)(query - url) : strlen(url));

	append_text_attribute(out, "url.path", path);
	append_text_attribute(out, "url.query", query ? query + 1 : NULL);
}

static void append_root_attributes(GString *out, const DtcReport *report)
{
	append_text_attribute(out, "http.request.method", report->method);
	if (report->url)
		append_url_attributes(out, report->url);
	if (report->status)
		append_number_attribute(out, "http.response.status_code", report->status);
	if (report->status >= 400) {
		g_autofree char *type = g_strdup_printf("%d", report->status);
		append_text_attribute(out, "error.type", type);
	}
	if (report->request)
		append_server_attributes(out, report);
	append_text_attribute(out, "dtrace_chain.request_id", report->request);
	append_text_attribute(out, "dtrace_chain.clock", report->reference);
	if (report->dominant == G_MAXUINT)
		return;
	const struct dtc_report_row *row = &g_array_index(report->rows, struct dtc_report_row, report->dominant);
	append_text_attribute(out, "dtrace_chain.dominant.tier", row->tier);
	append_text_attribute(out, "dtrace_chain.dominant.cause", dtc_cause_to_string(row->cause));
	append_number_attribute(out, "dtrace_chain.dominant.ns", row->ns);
}

static void append_attributes(GString *out, const struct build *b, const struct span *span)
{
	dtc_json_pack_open(out, "attributes", '[');
	if (span->hop_step != G_MAXUINT) {
		const struct dtc_report_step *step = get_step(b->report, span->hop_step);
		append_text_attribute(out, "network.transport", "tcp");
		append_end_attributes(out, step->detail, 0, "network.peer");
		append_text_attribute(out, "dtrace_chain.detail", step->detail);
		append_text_attribute(out, "dtrace_chain.link", dtc_link_quality_to_string(step->link));
		append_uncertainty(out, step->uncertainty_ns);
	} else {
		append_thread_attributes(out, span->who);
		if (span->parent == G_MAXUINT)
			append_root_attributes(out, b->report);
	}
	g_string_append_c(out, ']');
}

struct wait {
	guint step;
	int64_t ns;
};

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->step > y->step) - (x->step < y->step);
}

static int compare_steps(const void *a, const void *b)
{
	guint x = *(const guint *)a, y = *(const guint *)b;

	return (x > y) - (x < y);
}

/* The longest waits, in order of time; the number of those left out is returned. */
static guint choose_waits(const struct build *b, GArray *steps)
{
	guint count = steps->len;
	g_autofree struct wait *waits = NULL;

	if (count <= MAX_EVENTS)
		return 0;
	waits = g_new(struct wait, count);
	for (guint i = 0; i < count; i++) {
		const struct dtc_report_step *step = get_step(b->report, g_array_index(steps, guint, i));
		waits[i] = (struct wait){ g_array_index(steps, guint, i), step->end_ns - step->begin_ns };
	}
	qsort(waits, count, sizeof(*waits), compare_waits);
	g_array_set_size(steps, 0);
	for (guint i = 0; i < MAX_EVENTS; i++)
		g_array_append_val(steps, waits[i].step);
	g_array_sort(steps, compare_steps);
	return count - MAX_EVENTS;
}

static void append_events(GString *out, const struct build *b, const struct span *span)
{
	dtc_json_pack_open(out, "events", '[');
	guint left_out = span->waits ? choose_waits(b, span->waits) : 0;
	for (guint i = 0; span->waits && i < span->waits->len; i++) {
		const struct dtc_report_step *step = get_step(b->report, g_array_index(span->waits, guint, i));
		dtc_json_pack_open(out, NULL, '{');
		append_time(out, "timeUnixNano", step->begin_ns);
		dtc_json_pack_string(out, "name", dtc_cause_to_string(step->cause));
		dtc_json_pack_open(out, "attributes", '[');
		append_number_attribute(out, "dtrace_chain.duration_ns", step->end_ns - step->begin_ns);
		append_text_attribute(out, "dtrace_chain.detail", step->detail);
		append_thread_attributes(out, &step->who);
		g_string_append(out, "]}");
	}
	g_string_append_c(out, ']');
	dtc_json_pack_key(out, "droppedEventsCount");
	g_string_append_printf(out, "%u", left_out);
}

static char *name_span(const struct build *b, const struct span *span)
{
	const DtcReport *report = b->report;

	if (span->hop_step != G_MAXUINT)
		return g_strdup_printf("network %s to %s", span->from, span->who->node);
	if (span->parent != G_MAXUINT)
		return g_strdup(span->who->tier);
	if (report->method && *report->method)
		return g_strdup_printf("%s %.*s", report->method, report->url ? (int)strcspn(report->url, "?") : 0,
				       report->url ? report->url : "");
	return g_strdup(report->request ? report->request : report->target.tier);
}

static void append_span(GString *out, const struct build *b, guint index)
{
	const struct span *span = get_span(b, index);
	g_autofree char *name = name_span(b, span);
	bool is_error = span->parent == G_MAXUINT && b->report->status >= 400;

	dtc_json_pack_separator(out);
	g_string_append_printf(out, "\n{\"traceId\":\"%s\",\"spanId\":\"%s\",\"parentSpanId\":\"%s\"", b->trace_id,
			       span->id, span->parent == G_MAXUINT ? b->sender_span_id : get_span(b, span->parent)->id);
	dtc_json_pack_string(out, "name", name);
	dtc_json_pack_key(out, "kind");
	g_string_append_printf(out, "%d", span->kind);
	append_time(out, "startTimeUnixNano", span->begin_ns);
	append_time(out, "endTimeUnixNano", span->end_ns);
	append_attributes(out, b, span);
	append_events(out, b, span);
	g_string_append(out, ",\"links\":[]");
	dtc_json_pack_key(out, "status");
	g_string_append_printf(out, "{\"code\":%d}}", is_error ? STATUS_ERROR : STATUS_UNSET);
}

/* All spans of one process: OTLP groups them by what emitted them. */
static void append_resource(GString *out, const struct build *b, guint first, bool *is_written)
{
	const struct dtc_report_thread *who = get_span(b, first)->who;

	dtc_json_pack_separator(out);
	g_string_append(out, "\n{\"resource\":{\"attributes\":[");
	append_text_attribute(out, "service.name", who->process);
	append_text_attribute(out, "service.instance.id", who->tier);
	append_text_attribute(out, "host.name", who->node);
	if (who->pid >= 0)
		append_number_attribute(out, "process.pid", who->pid);
	append_text_attribute(out, "process.executable.name", who->process);
	g_string_append(out, "]},\"scopeSpans\":[{\"scope\":{\"name\":\"dtrace-chain\"},\"spans\":[");
	for (guint i = first; i < b->spans->len; i++) {
		const struct dtc_report_thread *other = get_span(b, i)->who;
		if (is_written[i] || strcmp(other->tier, who->tier) != 0 || other->pid != who->pid)
			continue;
		append_span(out, b, i);
		is_written[i] = true;
	}
	g_string_append(out, "],\"schemaUrl\":\"" SCHEMA_URL "\"}],\"schemaUrl\":\"" SCHEMA_URL "\"}");
}

char *dtc_report_to_otlp(const DtcReport *report)
{
	struct build b = { .report = report, .spans = g_array_new(FALSE, FALSE, sizeof(struct span)) };
	g_autoptr(GString) out = g_string_new("{\"resourceSpans\":[");

	g_array_set_clear_func(b.spans, span_clear);
	choose_trace_id(&b);
	build_spans(&b);
	g_autofree bool *is_written = g_new0(bool, b.spans->len);
	for (guint i = 0; i < b.spans->len; i++)
		if (!is_written[i])
			append_resource(out, &b, i, is_written);
	g_string_append(out, "\n]}\n");
	g_array_unref(b.spans);
	return dtc_json_escape_markup(out->str);
}
