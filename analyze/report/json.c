/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists have an element per line: a path of a hundred thousand segments is read by line as well. */
#include "analyze/report/json.h"

#include "analyze/report/evidence.h"
#include "analyze/report/verdict_json.h"
#include "collect/console/json_object.h"

#define SEPARATOR ",\n  "

/* Clocks that nothing relates have no figure for how far they are off. */
static void add_uncertainty(GString *out, int64_t uncertainty_ns)
{
	if (uncertainty_ns == INT64_MAX)
		dtc_json_pack_null(out, "uncertainty_ns");
	else
		dtc_json_pack_integer(out, "uncertainty_ns", uncertainty_ns);
}

static void add_status(GString *out, int status)
{
	if (status)
		dtc_json_pack_integer(out, "status", status);
	else
		dtc_json_pack_null(out, "status");
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

static void append_request(GString *out, const DtcReport *report)
{
	append_key(out, "request");
	if (!report->request) {
		g_string_append(out, "null");
		return;
	}
	dtc_json_pack_open(out, NULL, '{');
	dtc_json_pack_string(out, "id", report->request);
	dtc_json_pack_open(out, "sources", '[');
	for (guint i = 0; i < report->sources->len; i++) {
		const struct dtc_report_source *source = &g_array_index(report->sources, struct dtc_report_source, i);
		dtc_json_pack_open(out, NULL, '{');
		dtc_json_pack_string(out, "source", source->source);
		dtc_json_pack_string(out, "id", source->id);
		dtc_json_pack_string(out, "value", source->value);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
	dtc_json_pack_string(out, "method", report->method);
	dtc_json_pack_string(out, "target", report->url);
	add_status(out, report->status);
	dtc_json_pack_string(out, "outside",
			     report->begins_before && report->ends_after ? "both"
			     : report->begins_before			 ? "begin"
			     : report->ends_after			 ? "end"
									 : NULL);
	g_string_append_c(out, '}');
}

static void add_thread(GString *out, const struct dtc_report_thread *thread)
{
	dtc_json_pack_string(out, "node", thread->node);
	dtc_json_pack_id(out, "pid", thread->pid);
	dtc_json_pack_id(out, "tid", thread->tid);
	dtc_json_pack_string(out, "comm", thread->comm);
	dtc_json_pack_string(out, "process", thread->process);
}

static void add_end(GString *out, const char *key, const struct dtc_report_end *end)
{
	dtc_json_pack_open(out, key, '{');
	add_thread(out, &end->who);
	if (end->link == DTC_LINK_UNKNOWN)
		dtc_json_pack_null(out, "start_ns");
	else
		dtc_json_pack_integer(out, "start_ns", end->begin_ns);
	if (end->link == DTC_LINK_UNKNOWN)
		dtc_json_pack_null(out, "end_ns");
	else
		dtc_json_pack_integer(out, "end_ns", end->end_ns);
	dtc_json_pack_string(out, "link", dtc_link_quality_to_string(end->link));
	g_string_append_c(out, '}');
}

/* A list, although no rule leaves more than two in question yet. */
static void add_candidates(GString *out, const char *candidate)
{
	dtc_json_pack_open(out, "candidates", '[');
	if (candidate)
		dtc_json_append_string(out, candidate);
	g_string_append_c(out, ']');
}

static void append_hops(GString *out, const DtcReport *report)
{
	begin_list(out, "hops");
	for (guint i = 0; i < report->hops->len; i++) {
		const struct dtc_report_hop *hop = &g_array_index(report->hops, struct dtc_report_hop, i);
		begin_element(out, i);
		dtc_json_pack_open(out, NULL, '{');
		if (hop->parent == G_MAXUINT)
			dtc_json_pack_null(out, "parent");
		else
			dtc_json_pack_integer(out, "parent", hop->parent);
		dtc_json_pack_integer(out, "attempt", hop->attempt);
		dtc_json_pack_string(out, "method", hop->method);
		dtc_json_pack_string(out, "target", hop->url);
		add_status(out, hop->status);
		add_end(out, "client", &hop->client);
		add_end(out, "server", &hop->server);
		dtc_json_pack_string(out, "link", dtc_link_quality_to_string(hop->link));
		add_candidates(out, hop->candidate);
		g_string_append_c(out, '}');
	}
	end_list(out, report->hops->len);
}

static void add_row(GString *out, const struct dtc_report_row *row, const char *service)
{
	dtc_json_pack_open(out, NULL, '{');
	dtc_json_pack_string(out, "tier", row->tier);
	dtc_json_pack_string(out, "node", row->node);
	dtc_json_pack_string(out, "process", row->process);
	dtc_json_pack_string(out, "service", service);
	dtc_json_pack_string(out, "cause", dtc_cause_to_string(row->cause));
	dtc_json_pack_string(out, "detail", row->detail);
	dtc_json_pack_integer(out, "ns", row->ns);
	dtc_json_pack_integer(out, "detail_ns", row->detail_ns);
	g_string_append_c(out, '}');
}

static void append_breakdown(GString *out, const DtcReport *report)
{
	guint count = 0;

	begin_list(out, "breakdown");
	for (guint i = 0; i < report->tiers->len; i++) {
		const struct dtc_report_tier *tier = &g_array_index(report->tiers, struct dtc_report_tier, i);
		for (guint k = tier->row_first; k < tier->row_first + tier->row_count; k++) {
			begin_element(out, count++);
			add_row(out, &g_array_index(report->rows, struct dtc_report_row, k), tier->service);
		}
	}
	end_list(out, count);
}

static void append_services(GString *out, const DtcReport *report)
{
	begin_list(out, "services");
	for (guint i = 0; i < report->services->len; i++) {
		const struct dtc_report_service *service =
			&g_array_index(report->services, struct dtc_report_service, i);
		begin_element(out, i);
		dtc_json_pack_open(out, NULL, '{');
		dtc_json_pack_string(out, "service", service->tier);
		dtc_json_pack_string(out, "node", service->node);
		dtc_json_pack_string(out, "process", service->process);
		dtc_json_pack_integer(out, "ns", service->ns);
		g_string_append_c(out, '}');
	}
	end_list(out, report->services->len);
}

static const struct dtc_report_evidence *get_evidence(const DtcReport *report, guint index)
{
	return index == G_MAXUINT ? NULL : &g_array_index(report->evidences, struct dtc_report_evidence, index);
}

static void append_path(GString *out, const DtcReport *report)
{
	begin_list(out, "path");
	for (guint i = 0; i < report->steps->len; i++) {
		const struct dtc_report_step *step = DTC_AT(report->steps, struct dtc_report_step, i);
		begin_element(out, i);
		dtc_json_pack_open(out, NULL, '{');
		add_thread(out, &step->who);
		dtc_json_pack_integer(out, "start_ns", step->begin_ns);
		dtc_json_pack_integer(out, "end_ns", step->end_ns);
		dtc_json_pack_string(out, "service", step->service.tier);
		dtc_json_pack_string(out, "cause", dtc_cause_to_string(step->cause));
		dtc_json_pack_string(out, "detail", step->detail);
		dtc_json_pack_string(out, "busy_with", step->busy_with);
		add_candidates(out, step->candidate);
		dtc_json_pack_string(out, "link", dtc_link_quality_to_string(step->link));
		add_uncertainty(out, step->uncertainty_ns);
		dtc_report_evidence_add(out, get_evidence(report, step->evidence));
		g_string_append_c(out, '}');
	}
	end_list(out, report->steps->len);
}

static const struct dtc_report_blocking *get_blocking(const DtcReport *report, guint index)
{
	return DTC_AT(report->blockings, struct dtc_report_blocking, index);
}

/* Depth-first order makes the nesting a matter of opening and closing: no recursion, whatever the depth. */
static void append_causality(GString *out, const DtcReport *report)
{
	guint count = report->blockings->len, roots = 0;

	begin_list(out, "causality");
	for (guint i = 0; i < count; i++) {
		const struct dtc_report_blocking *blocking = get_blocking(report, i);
		guint next_depth = i + 1 < count ? get_blocking(report, i + 1)->depth : 0;

		if (blocking->depth == 0)
			begin_element(out, roots++);
		dtc_json_pack_open(out, NULL, '{');
		add_thread(out, &blocking->who);
		dtc_json_pack_integer(out, "start_ns", blocking->begin_ns);
		dtc_json_pack_integer(out, "end_ns", blocking->end_ns);
		dtc_json_pack_string(out, "cause", dtc_cause_to_string(blocking->cause));
		dtc_json_pack_string(out, "detail", blocking->detail);
		dtc_json_pack_string(out, "woken_by", blocking->woken_by);
		dtc_report_evidence_add(out, get_evidence(report, blocking->evidence));
		dtc_json_pack_string(out, "link", dtc_link_quality_to_string(blocking->link));
		dtc_json_pack_open(out, "children", '[');
		/* a deeper one goes inside */
		for (guint depth = blocking->depth + 1; depth > next_depth; depth--)
			g_string_append(out, "]}");
	}
	end_list(out, roots);
}

static void append_dominant(GString *out, const DtcReport *report)
{
	append_key(out, "dominant");
	if (report->dominant == G_MAXUINT) {
		g_string_append(out, "null");
		return;
	}
	const struct dtc_report_row *row = &g_array_index(report->rows, struct dtc_report_row, report->dominant);
	dtc_json_pack_open(out, NULL, '{');
	dtc_json_pack_string(out, "tier", row->tier);
	dtc_json_pack_string(out, "node", row->node);
	dtc_json_pack_string(out, "process", row->process);
	for (guint i = 0; i < report->tiers->len; i++)
		if (g_array_index(report->tiers, struct dtc_report_tier, i).tier == row->tier)
			dtc_json_pack_string(out, "service",
					     g_array_index(report->tiers, struct dtc_report_tier, i).service);
	dtc_json_pack_string(out, "cause", dtc_cause_to_string(row->cause));
	dtc_json_pack_string(out, "detail", row->detail);
	dtc_json_pack_integer(out, "ns", row->ns);
	g_string_append_c(out, '}');
}

/* What the head of the text says, and machine by machine what it is made of. */
static void append_verdict(GString *out, const DtcReport *report)
{
	append_key(out, "verdict");
	if (report->dominant == G_MAXUINT) {
		g_string_append(out, "null");
		return;
	}
	const struct dtc_report_row *row = &g_array_index(report->rows, struct dtc_report_row, report->dominant);
	dtc_verdict_append_json(out, &report->verdict, row->tier, row->cause, row->ns, report->duration_ns);
}

static void append_usual(GString *out, const DtcReport *report)
{
	const struct dtc_report_usual *usual = &report->usual;
	append_key(out, "usual");
	if (usual->count == 0) {
		g_string_append(out, "null");
		return;
	}
	dtc_json_pack_open(out, NULL, '{');
	dtc_json_pack_integer(out, "rank", usual->rank);
	dtc_json_pack_integer(out, "requests", usual->count);
	dtc_json_pack_string(out, "method", usual->method);
	dtc_json_pack_string(out, "pattern", usual->pattern);
	dtc_json_pack_integer(out, "like_requests", usual->like_count);
	dtc_json_pack_integer(out, "like_p50_ns", usual->like_p50_ns);
	g_string_append_c(out, '}');
}

static void append_machines(GString *out, const DtcReport *report)
{
	begin_list(out, "machines");
	for (guint i = 0; i < report->machines->len; i++) {
		const struct dtc_report_machine *m = &g_array_index(report->machines, struct dtc_report_machine, i);
		begin_element(out, i);
		dtc_json_pack_open(out, NULL, '{');
		dtc_json_pack_string(out, "machine", m->node);
		dtc_json_pack_integer(out, "ns", m->ns);
		dtc_json_pack_open(out, "parts", '[');
		for (guint k = 0; k < m->part_count; k++) {
			const struct dtc_report_part *part =
				&g_array_index(report->parts, struct dtc_report_part, m->part_first + k);
			dtc_json_pack_open(out, NULL, '{');
			dtc_json_pack_string(out, "family", dtc_family_to_string(part->family));
			dtc_json_pack_integer(out, "ns", part->ns);
			dtc_json_pack_string(out, "what", part->what);
			dtc_json_pack_integer(out, "what_ns", part->what_ns);
			g_string_append_c(out, '}');
		}
		g_string_append(out, "]}");
	}
	end_list(out, report->machines->len);
}

static void append_clocks(GString *out, const DtcReport *report)
{
	begin_list(out, "clocks");
	for (guint i = 0; i < report->clocks->len; i++) {
		const struct dtc_report_clock *clock = &g_array_index(report->clocks, struct dtc_report_clock, i);
		begin_element(out, i);
		dtc_json_pack_open(out, NULL, '{');
		dtc_json_pack_string(out, "a", clock->a);
		dtc_json_pack_string(out, "b", clock->b);
		add_uncertainty(out, clock->uncertainty_ns);
		g_string_append_c(out, '}');
	}
	end_list(out, report->clocks->len);
}

static void append_findings(GString *out, const DtcReport *report)
{
	begin_list(out, "findings");
	for (guint i = 0; i < report->findings->len; i++) {
		const struct dtc_report_finding *f = &g_array_index(report->findings, struct dtc_report_finding, i);
		begin_element(out, i);
		dtc_json_pack_open(out, NULL, '{');
		dtc_json_pack_string(out, "severity", dtc_severity_to_string(f->severity));
		dtc_json_pack_string(out, "code", f->code);
		dtc_json_pack_string(out, "node", f->node);
		dtc_json_pack_string(out, "text", f->text);
		g_string_append_c(out, '}');
	}
	end_list(out, report->findings->len);
}

static void append_parents(GString *out, const DtcReport *report)
{
	begin_list(out, "parents");
	for (guint i = 0; i < report->parents->len; i++) {
		const struct dtc_report_parent *parent = &g_array_index(report->parents, struct dtc_report_parent, i);
		begin_element(out, i);
		dtc_json_pack_open(out, NULL, '{');
		add_thread(out, &parent->who);
		dtc_json_pack_integer(out, "start_ns", parent->begin_ns);
		dtc_json_pack_integer(out, "end_ns", parent->end_ns);
		g_string_append_c(out, '}');
	}
	end_list(out, report->parents->len);
}

char *dtc_report_to_json(const DtcReport *report)
{
	GString *out = g_string_new("{\n  \"schema\": \"" DTC_REPORT_SCHEMA "\"");

	append_request(out, report);
	append_key(out, "target");
	dtc_json_pack_open(out, NULL, '{');
	add_thread(out, &report->target);
	g_string_append_c(out, '}');
	append_parents(out, report);
	append_key(out, "reference");
	dtc_json_append_string(out, report->reference);
	append_number(out, "start_ns", report->begin_ns);
	append_number(out, "end_ns", report->end_ns);
	append_number(out, "duration_ns", report->duration_ns);
	append_dominant(out, report);
	append_verdict(out, report);
	append_usual(out, report);
	append_machines(out, report);
	append_hops(out, report);
	append_breakdown(out, report);
	append_services(out, report);
	append_path(out, report);
	append_causality(out, report);
	append_clocks(out, report);
	append_findings(out, report);
	append_key(out, "complete");
	g_string_append(out, report->complete ? "true" : "false");
	g_string_append(out, "\n}\n");
	return g_string_free(out, FALSE);
}
