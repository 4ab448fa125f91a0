/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * json-glib quotes and formats every value; the frame around the long lists is written here, because a tree of nodes
 * for a path of a hundred thousand segments would take a hundred times the memory of its text.
 */
#include "analyze/report/json.h"

#include <json-glib/json-glib.h>

#define SEPARATOR ",\n  "

static void add_text(JsonBuilder *builder, const char *key, const char *value)
{
	json_builder_set_member_name(builder, key);
	if (value)
		json_builder_add_string_value(builder, value);
	else
		json_builder_add_null_value(builder);
}

static void add_number(JsonBuilder *builder, const char *key, int64_t value)
{
	json_builder_set_member_name(builder, key);
	json_builder_add_int_value(builder, value);
}

/* Clocks that nothing relates have no figure for how far they are off. */
static void add_uncertainty(JsonBuilder *builder, int64_t uncertainty_ns)
{
	json_builder_set_member_name(builder, "uncertainty_ns");
	if (uncertainty_ns == INT64_MAX)
		json_builder_add_null_value(builder);
	else
		json_builder_add_int_value(builder, uncertainty_ns);
}

/* pid and tid: -1 is "not known" inside, null outside. */
static void add_id(JsonBuilder *builder, const char *key, int32_t id)
{
	json_builder_set_member_name(builder, key);
	if (id >= 0)
		json_builder_add_int_value(builder, id);
	else
		json_builder_add_null_value(builder);
}

/* Ends the object or array that the builder holds, and appends it as one line. */
static void append_built(GString *out, JsonBuilder *builder)
{
	g_autoptr(JsonGenerator) generator = json_generator_new();
	JsonNode *root = json_builder_get_root(builder);

	json_generator_set_root(generator, root);
	json_node_unref(root);
	json_generator_to_gstring(generator, out);
	json_builder_reset(builder);
}

static void append_string(GString *out, const char *text)
{
	g_autoptr(JsonNode) node = json_node_init_string(json_node_alloc(), text);
	g_autofree char *quoted = json_to_string(node, FALSE);
	g_string_append(out, quoted);
}

static void append_key(GString *out, const char *key)
{
	g_string_append_printf(out, SEPARATOR "\"%s\": ", key);
}

static void append_number(GString *out, const char *key, int64_t value)
{
	append_key(out, key);
	g_string_append_printf(out, "%" G_GINT64_FORMAT, (gint64)value);
}

static void begin_list(GString *out, const char *key)
{
	append_key(out, key);
	g_string_append_c(out, '[');
}

static void begin_element(GString *out, guint index)
{
	g_string_append(out, index ? ",\n    " : "\n    ");
}

static void end_list(GString *out, guint count)
{
	g_string_append(out, count ? "\n  ]" : "]");
}

static void append_request(GString *out, JsonBuilder *builder, const DtcReport *report)
{
	append_key(out, "request");
	if (!report->request) {
		g_string_append(out, "null");
		return;
	}
	json_builder_begin_object(builder);
	add_text(builder, "id", report->request);
	json_builder_set_member_name(builder, "sources");
	json_builder_begin_array(builder);
	for (guint i = 0; i < report->sources->len; i++) {
		const struct dtc_report_source *source = &g_array_index(report->sources, struct dtc_report_source, i);
		json_builder_begin_object(builder);
		add_text(builder, "source", source->source);
		add_text(builder, "id", source->id);
		add_text(builder, "value", source->value);
		json_builder_end_object(builder);
	}
	json_builder_end_array(builder);
	add_text(builder, "method", report->method);
	add_text(builder, "target", report->url);
	json_builder_set_member_name(builder, "status");
	if (report->status)
		json_builder_add_int_value(builder, report->status);
	else
		json_builder_add_null_value(builder);
	json_builder_end_object(builder);
	append_built(out, builder);
}

static void add_thread(JsonBuilder *builder, const struct dtc_report_thread *thread)
{
	add_text(builder, "node", thread->node);
	add_id(builder, "pid", thread->pid);
	add_id(builder, "tid", thread->tid);
	add_text(builder, "comm", thread->comm);
	add_text(builder, "process", thread->process);
}

static void add_end(JsonBuilder *builder, const char *key, const struct dtc_report_end *end)
{
	json_builder_set_member_name(builder, key);
	json_builder_begin_object(builder);
	add_thread(builder, &end->who);
	json_builder_set_member_name(builder, "start_ns");
	if (end->link == DTC_LINK_UNKNOWN)
		json_builder_add_null_value(builder);
	else
		json_builder_add_int_value(builder, end->begin_ns);
	json_builder_set_member_name(builder, "end_ns");
	if (end->link == DTC_LINK_UNKNOWN)
		json_builder_add_null_value(builder);
	else
		json_builder_add_int_value(builder, end->end_ns);
	add_text(builder, "link", dtc_link_quality_to_string(end->link));
	json_builder_end_object(builder);
}

static void append_hops(GString *out, JsonBuilder *builder, const DtcReport *report)
{
	begin_list(out, "hops");
	for (guint i = 0; i < report->hops->len; i++) {
		const struct dtc_report_hop *hop = &g_array_index(report->hops, struct dtc_report_hop, i);
		begin_element(out, i);
		json_builder_begin_object(builder);
		json_builder_set_member_name(builder, "parent");
		if (hop->parent == G_MAXUINT)
			json_builder_add_null_value(builder);
		else
			json_builder_add_int_value(builder, hop->parent);
		add_number(builder, "attempt", hop->attempt);
		add_text(builder, "method", hop->method);
		add_text(builder, "target", hop->url);
		json_builder_set_member_name(builder, "status");
		if (hop->status)
			json_builder_add_int_value(builder, hop->status);
		else
			json_builder_add_null_value(builder);
		add_end(builder, "client", &hop->client);
		add_end(builder, "server", &hop->server);
		json_builder_end_object(builder);
		append_built(out, builder);
	}
	end_list(out, report->hops->len);
}

static void append_breakdown(GString *out, JsonBuilder *builder, const DtcReport *report)
{
	begin_list(out, "breakdown");
	for (guint i = 0; i < report->rows->len; i++) {
		const struct dtc_report_row *row = &g_array_index(report->rows, struct dtc_report_row, i);
		begin_element(out, i);
		json_builder_begin_object(builder);
		add_text(builder, "tier", row->tier);
		add_text(builder, "node", row->node);
		add_text(builder, "process", row->process);
		add_text(builder, "cause", dtc_cause_to_string(row->cause));
		add_text(builder, "detail", row->detail);
		add_number(builder, "ns", row->ns);
		add_number(builder, "detail_ns", row->detail_ns);
		json_builder_end_object(builder);
		append_built(out, builder);
	}
	end_list(out, report->rows->len);
}

static void append_path(GString *out, JsonBuilder *builder, const DtcReport *report)
{
	begin_list(out, "path");
	for (guint i = 0; i < report->steps->len; i++) {
		const struct dtc_report_step *step = &g_array_index(report->steps, struct dtc_report_step, i);
		begin_element(out, i);
		json_builder_begin_object(builder);
		add_thread(builder, &step->who);
		add_number(builder, "start_ns", step->begin_ns);
		add_number(builder, "end_ns", step->end_ns);
		add_text(builder, "cause", dtc_cause_to_string(step->cause));
		add_text(builder, "detail", step->detail);
		add_text(builder, "busy_with", step->busy_with);
		add_text(builder, "link", dtc_link_quality_to_string(step->link));
		add_uncertainty(builder, step->uncertainty_ns);
		json_builder_end_object(builder);
		append_built(out, builder);
	}
	end_list(out, report->steps->len);
}

static const struct dtc_report_blocking *get_blocking(const DtcReport *report, guint index)
{
	return &g_array_index(report->blockings, struct dtc_report_blocking, index);
}

/* Depth-first order makes the nesting a matter of opening and closing: no recursion, whatever the depth. */
static void append_causality(GString *out, JsonBuilder *builder, const DtcReport *report)
{
	guint count = report->blockings->len, roots = 0;

	begin_list(out, "causality");
	for (guint i = 0; i < count; i++) {
		const struct dtc_report_blocking *blocking = get_blocking(report, i);
		guint next_depth = i + 1 < count ? get_blocking(report, i + 1)->depth : 0;

		if (blocking->depth == 0)
			begin_element(out, roots++);
		json_builder_begin_object(builder);
		add_thread(builder, &blocking->who);
		add_number(builder, "start_ns", blocking->begin_ns);
		add_number(builder, "end_ns", blocking->end_ns);
		add_text(builder, "cause", dtc_cause_to_string(blocking->cause));
		add_text(builder, "detail", blocking->detail);
		add_text(builder, "woken_by", blocking->woken_by);
		add_text(builder, "link", dtc_link_quality_to_string(blocking->link));
		json_builder_set_member_name(builder, "children");
		json_builder_begin_array(builder);
		if (next_depth > blocking->depth)
			continue; /* the next one goes inside */
		for (guint depth = blocking->depth + 1; depth > next_depth; depth--) {
			json_builder_end_array(builder);
			json_builder_end_object(builder);
		}
		if (next_depth == 0)
			append_built(out, builder);
	}
	end_list(out, roots);
}

static void append_dominant(GString *out, JsonBuilder *builder, const DtcReport *report)
{
	append_key(out, "dominant");
	if (report->dominant == G_MAXUINT) {
		g_string_append(out, "null");
		return;
	}
	const struct dtc_report_row *row = &g_array_index(report->rows, struct dtc_report_row, report->dominant);
	json_builder_begin_object(builder);
	add_text(builder, "tier", row->tier);
	add_text(builder, "node", row->node);
	add_text(builder, "process", row->process);
	add_text(builder, "cause", dtc_cause_to_string(row->cause));
	add_text(builder, "detail", row->detail);
	add_number(builder, "ns", row->ns);
	json_builder_end_object(builder);
	append_built(out, builder);
}

static void append_clocks(GString *out, JsonBuilder *builder, const DtcReport *report)
{
	begin_list(out, "clocks");
	for (guint i = 0; i < report->clocks->len; i++) {
		const struct dtc_report_clock *clock = &g_array_index(report->clocks, struct dtc_report_clock, i);
		begin_element(out, i);
		json_builder_begin_object(builder);
		add_text(builder, "a", clock->a);
		add_text(builder, "b", clock->b);
		add_uncertainty(builder, clock->uncertainty_ns);
		json_builder_end_object(builder);
		append_built(out, builder);
	}
	end_list(out, report->clocks->len);
}

static void append_findings(GString *out, JsonBuilder *builder, const DtcReport *report)
{
	begin_list(out, "findings");
	for (guint i = 0; i < report->findings->len; i++) {
		const struct dtc_report_finding *f = &g_array_index(report->findings, struct dtc_report_finding, i);
		begin_element(out, i);
		json_builder_begin_object(builder);
		add_text(builder, "severity", dtc_severity_to_string(f->severity));
		add_text(builder, "node", f->node);
		add_text(builder, "text", f->text);
		json_builder_end_object(builder);
		append_built(out, builder);
	}
	end_list(out, report->findings->len);
}

char *dtc_report_to_json(const DtcReport *report)
{
	GString *out = g_string_new("{\n  \"schema\": \"" DTC_REPORT_SCHEMA "\"");
	g_autoptr(JsonBuilder) builder = json_builder_new();

	append_request(out, builder, report);
	append_key(out, "target");
	json_builder_begin_object(builder);
	add_thread(builder, &report->target);
	json_builder_end_object(builder);
	append_built(out, builder);
	append_key(out, "reference");
	append_string(out, report->reference);
	append_number(out, "start_ns", report->begin_ns);
	append_number(out, "end_ns", report->end_ns);
	append_number(out, "duration_ns", report->duration_ns);
	append_dominant(out, builder, report);
	append_hops(out, builder, report);
	append_breakdown(out, builder, report);
	append_path(out, builder, report);
	append_causality(out, builder, report);
	append_clocks(out, builder, report);
	append_findings(out, builder, report);
	append_key(out, "complete");
	g_string_append(out, report->complete ? "true" : "false");
	g_string_append(out, "\n}\n");
	return g_string_free(out, FALSE);
}
