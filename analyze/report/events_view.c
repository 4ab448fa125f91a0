/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/events_view.h"

#include "analyze/engine/event_fields.h"
#include "analyze/engine/wall_clock.h"
#include "analyze/exchange/label.h"
#include "analyze/report/finding_list.h"
#include "analyze/report/layout.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"

#include <inttypes.h>
#include <string.h>

#define NS_PER_S 1000000000

static bool is_absent(const struct dtc_event *event, const struct dtc_event_field *field)
{
	return field->form == DTC_FORM_TEXT ? event->text[field->slot] == NULL : event->v[field->slot] == DTC_ABSENT;
}

static bool has_headers(const struct dtc_event *event)
{
	switch ((enum dtc_event_kind)event->kind) {
	case DTC_EVENT_NET_SEND:
	case DTC_EVENT_NET_XMIT:
	case DTC_EVENT_NET_RECEIVE:
		return event->headers.ip_version != 0;
	case DTC_EVENT_INET_OUT: /* no addresses, but the rest */
	case DTC_EVENT_INET_IN:
		return true;
	default:
		return false;
	}
}

/* ---- text ---- */

static void add_text_value(GString *out, const char *name, const char *value)
{
	g_autofree char *printable = dtc_printable(value, DTC_PRINTABLE_MAX);
	bool is_word = *printable && !printable[strcspn(printable, " \"")];

	g_string_append_printf(out, is_word ? " %s=%s" : " %s=\"%s\"", name, printable);
}

static void add_text_field(GString *out, const struct dtc_event *event, const struct dtc_event_field *field)
{
	switch ((enum dtc_field_form)field->form) {
	case DTC_FORM_TEXT:
		add_text_value(out, field->name, event->text[field->slot]);
		break;
	case DTC_FORM_ADDRESS:
		g_string_append_printf(out, " %s=0x%" PRIx64, field->name, (uint64_t)event->v[field->slot]);
		break;
	case DTC_FORM_UNSIGNED:
		g_string_append_printf(out, " %s=%" PRIu64, field->name, (uint64_t)event->v[field->slot]);
		break;
	case DTC_FORM_NUMBER:
	case DTC_FORM_TID:
		g_string_append_printf(out, " %s=%" PRId64, field->name, event->v[field->slot]);
		break;
	}
}

static void add_text_headers(GString *out, const struct dtc_headers *headers)
{
	if (headers->ip_version) {
		g_autofree char *source = dtc_address_to_string(headers->source, headers->source_port);
		g_autofree char *destination = dtc_address_to_string(headers->destination, headers->destination_port);
		g_string_append_printf(out, " %s > %s", source, destination);
	}
	g_string_append_printf(out, " protocol=%u", headers->protocol);
	if (headers->protocol == DTC_PROTOCOL_TCP && (headers->has_transport || !headers->ip_version))
		g_string_append_printf(out, " seq=%" PRIu32 " ack=%" PRIu32 " flags=0x%x", headers->seq, headers->ack,
				       headers->tcp_flags);
	if (headers->ip_version)
		g_string_append_printf(out, " payload=%" PRIu32 " ip_id=%u", headers->payload_bytes, headers->ip_id);
}

static void add_text_time(GString *out, const struct dtc_event_line *line)
{
	int64_t ns = line->time.ns - line->origin_ns;
	uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	g_string_append_printf(out, "%s%" PRIu64 ".%09" PRIu64,
			       ns < 0		 ? "-"
			       : line->origin_ns ? "+"
						 : "",
			       magnitude / NS_PER_S, magnitude % NS_PER_S);
}

void dtc_event_line_add_text(GString *out, const struct dtc_event_line *line)
{
	const struct dtc_event *event = line->event;
	const char *name = line->name;
	g_autofree char *node = dtc_printable(line->node, DTC_PRINTABLE_NAME_MAX);
	g_autofree char *comm = dtc_printable(line->comm && *line->comm ? line->comm : "?", DTC_PRINTABLE_NAME_MAX);
	g_autofree char *printable_name = dtc_printable(name, DTC_PRINTABLE_MAX);

	add_text_time(out, line);
	g_string_append_printf(out, " %s cpu%" PRIu32, node, event->cpu);
	if (line->tid >= 0)
		g_string_append_printf(out, " %s:%" PRId32, comm, line->tid);
	else
		g_string_append(out, " ?");
	g_string_append_printf(out, " %s", printable_name);
	if (line->call && !g_str_has_suffix(name, line->call))
		add_text_value(out, "call", line->call);
	for (const struct dtc_event_field *field = dtc_event_get_fields(event); field->name; field++)
		if (!is_absent(event, field))
			add_text_field(out, event, field);
	if (line->call && event->has_address) {
		g_autofree char *address = dtc_address_to_string(event->address, (uint16_t)event->v[DTC_CALL_PORT]);
		add_text_value(out, "address", address);
	}
	if (has_headers(event))
		add_text_headers(out, &event->headers);
	g_string_append_c(out, '\n');
}

/* ---- JSON ---- */

static void add_json_field(GString *out, const struct dtc_event *event, const struct dtc_event_field *field)
{
	int64_t value = field->form == DTC_FORM_TEXT ? 0 : event->v[field->slot];

	switch ((enum dtc_field_form)field->form) {
	case DTC_FORM_TEXT:
		dtc_json_add_text(out, field->name, event->text[field->slot]);
		break;
	case DTC_FORM_ADDRESS:
		dtc_json_append_key(out, field->name);
		g_string_append_printf(out, "\"0x%" PRIx64 "\"", (uint64_t)value);
		break;
	case DTC_FORM_UNSIGNED:
		dtc_json_append_key(out, field->name);
		g_string_append_printf(out, "%" PRIu64, (uint64_t)value);
		break;
	case DTC_FORM_NUMBER:
	case DTC_FORM_TID:
		dtc_json_add_integer(out, field->name, value);
		break;
	}
}

static void add_json_headers(GString *out, const struct dtc_headers *headers)
{
	if (headers->ip_version) {
		g_autofree char *source = dtc_address_to_string(headers->source, headers->source_port);
		g_autofree char *destination = dtc_address_to_string(headers->destination, headers->destination_port);
		dtc_json_add_text(out, "source", source);
		dtc_json_add_text(out, "destination", destination);
	}
	dtc_json_add_integer(out, "protocol", headers->protocol);
	if (headers->protocol == DTC_PROTOCOL_TCP && (headers->has_transport || !headers->ip_version)) {
		dtc_json_add_integer(out, "seq", headers->seq);
		dtc_json_add_integer(out, "ack", headers->ack);
		dtc_json_add_integer(out, "tcp_flags", headers->tcp_flags);
		dtc_json_add_integer(out, "window", headers->window);
	}
	if (headers->ip_version) {
		dtc_json_add_integer(out, "payload_bytes", headers->payload_bytes);
		dtc_json_add_integer(out, "ip_id", headers->ip_id);
	}
}

void dtc_event_line_add_json(GString *out, const struct dtc_event_line *line)
{
	const struct dtc_event *event = line->event;

	g_string_append_c(out, '{');
	dtc_json_add_integer(out, "cluster_ns", line->time.ns);
	dtc_json_add_name(out, "node", line->node);
	dtc_json_add_integer(out, "node_ns", event->time_ns);
	dtc_json_add_integer(out, "cpu", event->cpu);
	dtc_json_add_text(out, "name", line->name);
	dtc_json_add_id(out, "tid", line->tid);
	dtc_json_add_name(out, "comm", line->comm);
	dtc_json_append_key(out, "fields");
	g_string_append_c(out, '{');
	if (line->call)
		dtc_json_add_text(out, "call", line->call);
	for (const struct dtc_event_field *field = dtc_event_get_fields(event); field->name; field++)
		if (!is_absent(event, field))
			add_json_field(out, event, field);
	if (line->call && event->has_address) {
		g_autofree char *address = dtc_address_to_string(event->address, (uint16_t)event->v[DTC_CALL_PORT]);
		dtc_json_add_text(out, "address", address);
	}
	if (has_headers(event))
		add_json_headers(out, &event->headers);
	g_string_append(out, "}}\n");
}

void dtc_events_add_head_json(GString *out, const char *reference)
{
	g_string_append_c(out, '{');
	dtc_json_add_text(out, "schema", DTC_EVENTS_SCHEMA);
	dtc_json_add_name(out, "reference", reference);
	g_string_append(out, "}\n");
}

void dtc_events_add_tail_json(GString *out, guint64 event_count, const DtcFindings *findings)
{
	g_autoptr(GString) tail = g_string_new("{");

	dtc_json_add_integer(tail, "events", (int64_t)event_count);
	dtc_finding_list_add_json(tail, findings);
	g_strdelimit(tail->str, "\n", ' '); /* strings have none: dtc_printable */
	g_string_append_printf(out, "%s}\n", tail->str);
}

void dtc_events_add_head_text(GString *out, const struct dtc_event_line *first, const char *reference)
{
	g_autofree char *wall = first->origin_ns ? dtc_wall_clock_format(first->origin_ns) : NULL;
	g_autofree char *name = dtc_printable(reference, DTC_PRINTABLE_NAME_MAX);

	if (wall)
		g_string_append_printf(out, "times since %s (clock of %s)\n", wall, name);
}

void dtc_events_add_tail_text(GString *out, const DtcFindings *findings, guint width, bool has_color, bool has_utf8)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(width, has_color, has_utf8);
	dtc_finding_list_add_text(layout, findings);
	g_autofree char *text = dtc_layout_steal(layout);
	g_string_append(out, text);
}
