/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers are written directly, names through json-glib, which knows how to quote. */
#include "analyze/report/printable.h"
#include "analyze/report/usage_view.h"

#include <json-glib/json-glib.h>

#define NAME_MAX_CHARACTERS 64

static void append_string(GString *out, const char *key, const char *text, guint max)
{
	g_string_append_printf(out, "\"%s\": ", key);
	if (!text) {
		g_string_append(out, "null, ");
		return;
	}
	g_autofree char *shown = dtc_printable(text, max);
	g_autoptr(JsonNode) node = json_node_init_string(json_node_alloc(), shown);
	g_autofree char *quoted = json_to_string(node, FALSE);
	g_string_append_printf(out, "%s, ", quoted);
}

static void append_number(GString *out, const char *key, int64_t value)
{
	g_string_append_printf(out, "\"%s\": %" G_GINT64_FORMAT ", ", key, (gint64)value);
}

static void append_times(GString *out, const char *key, const int64_t *values, guint count)
{
	g_string_append_printf(out, "\"%s\": [", key);
	for (guint i = 0; i < count; i++)
		g_string_append_printf(out, "%s%" G_GINT64_FORMAT, i ? "," : "", (gint64)values[i]);
	g_string_append(out, "], ");
}

static void append_counts(GString *out, const char *key, const uint64_t *values, guint count)
{
	g_string_append_printf(out, "\"%s\": [", key);
	for (guint i = 0; i < count; i++)
		g_string_append_printf(out, "%s%" G_GUINT64_FORMAT, i ? "," : "", (guint64)values[i]);
	g_string_append(out, "], ");
}

static void begin_element(GString *out, bool is_first)
{
	g_string_append(out, is_first ? "\n    {" : ",\n    {");
}

/* Every member ended with a comma; the last one's goes. */
static void end_element(GString *out)
{
	g_string_truncate(out, out->len - 2);
	g_string_append_c(out, '}');
}

static void end_list(GString *out, bool is_empty)
{
	g_string_append(out, is_empty ? "],\n" : "\n  ],\n");
}

static void append_tier(GString *out, const char *key, const struct dtc_usage_input *input, guint index)
{
	const struct dtc_usage_process *process =
		&g_array_index(input->usage->processes, struct dtc_usage_process, index);
	g_autofree char *name = dtc_printable(process->name, NAME_MAX_CHARACTERS);
	g_autofree char *node = dtc_printable(input->node_names[process->node], NAME_MAX_CHARACTERS);
	g_autofree char *tier = g_strdup_printf("%s@%s", name, node);

	append_string(out, key, tier, 2 * NAME_MAX_CHARACTERS + 1);
}

static void append_nodes(GString *out, const struct dtc_usage_input *input)
{
	bool is_first = true;

	g_string_append(out, "  \"nodes\": [");
	for (guint i = 0; i < input->usage->node_count; i++) {
		const struct dtc_usage_node *node = &input->usage->nodes[i];
		if (!node->has_history)
			continue;
		begin_element(out, is_first);
		is_first = false;
		append_string(out, "node", input->node_names[i], NAME_MAX_CHARACTERS);
		append_number(out, "cpus", node->cpu_count);
		append_number(out, "span_ns", node->span_ns);
		append_number(out, "start_ns", node->begin.ns);
		append_number(out, "process_ns", node->process_ns);
		append_number(out, "interrupt_ns", node->interrupt_ns);
		append_number(out, "idle_ns", node->idle_ns);
		append_number(out, "unknown_ns", node->unknown_ns);
		append_times(out, "span", node->span, node->interval_count);
		append_times(out, "interrupt", node->interrupt, node->interval_count);
		append_times(out, "idle", node->idle, node->interval_count);
		append_times(out, "unknown", node->unknown, node->interval_count);
		end_element(out);
	}
	end_list(out, is_first);
}

static void append_processes(GString *out, const struct dtc_usage_input *input)
{
	bool is_first = true;

	g_string_append(out, "  \"processes\": [");
	for (guint i = 0; i < input->usage->processes->len; i++) {
		const struct dtc_usage_process *process =
			&g_array_index(input->usage->processes, struct dtc_usage_process, i);
		guint count = input->usage->nodes[process->node].interval_count;
		if (!process->is_asked)
			continue;
		begin_element(out, is_first);
		is_first = false;
		append_tier(out, "tier", input, i);
		append_string(out, "node", input->node_names[process->node], NAME_MAX_CHARACTERS);
		append_string(out, "process", process->name, NAME_MAX_CHARACTERS);
		if (process->pid >= 0)
			append_number(out, "pid", process->pid);
		else
			g_string_append(out, "\"pid\": null, ");
		append_number(out, "count", process->count);
		append_number(out, "self_ns", process->cpu_ns);
		append_number(out, "sub_ns", process->sub_ns);
		append_number(out, "total_ns", process->cpu_ns + process->sub_ns);
		append_number(out, "served_ns", process->served_ns);
		append_number(out, "disk_requests", (int64_t)process->disk_requests);
		append_number(out, "disk_read_bytes", (int64_t)process->disk_read_bytes);
		append_number(out, "disk_written_bytes", (int64_t)process->disk_written_bytes);
		append_number(out, "network_received_bytes", (int64_t)process->network_received_bytes);
		append_number(out, "network_sent_bytes", (int64_t)process->network_sent_bytes);
		append_times(out, "cpu", process->cpu, count);
		append_counts(out, "disk", process->disk, count);
		append_counts(out, "network", process->network, count);
		end_element(out);
	}
	end_list(out, is_first);
}

static void append_files(GString *out, const struct dtc_usage_input *input)
{
	g_string_append(out, "  \"files\": [");
	for (guint i = 0; i < input->usage->files->len; i++) {
		const struct dtc_usage_file *file = &g_array_index(input->usage->files, struct dtc_usage_file, i);
		begin_element(out, i == 0);
		append_tier(out, "tier", input, file->process);
		append_string(out, "file", file->name, DTC_PRINTABLE_MAX);
		append_number(out, "count", file->file_count);
		append_number(out, "calls", (int64_t)file->calls);
		append_number(out, "read_bytes", (int64_t)file->read_bytes);
		append_number(out, "written_bytes", (int64_t)file->written_bytes);
		append_number(out, "waits", (int64_t)file->waits);
		append_number(out, "blocked_ns", file->blocked_ns);
		end_element(out);
	}
	end_list(out, input->usage->files->len == 0);
}

static void append_edges(GString *out, const struct dtc_usage_input *input)
{
	g_string_append(out, "  \"edges\": [");
	for (guint i = 0; i < input->usage->edges->len; i++) {
		const struct dtc_usage_edge *edge = &g_array_index(input->usage->edges, struct dtc_usage_edge, i);
		begin_element(out, i == 0);
		if (edge->from == G_MAXUINT)
			append_string(out, "from", NULL, 0);
		else
			append_tier(out, "from", input, edge->from);
		append_string(out, "host", edge->host, DTC_PRINTABLE_MAX);
		append_tier(out, "to", input, edge->to);
		append_string(out, "channel", dtc_usage_channel_to_string(edge->channel), DTC_PRINTABLE_MAX);
		append_number(out, "messages", (int64_t)edge->messages);
		append_number(out, "exact", (int64_t)edge->exact_count);
		append_number(out, "bytes", (int64_t)edge->bytes);
		append_number(out, "answer_bytes", (int64_t)edge->answer_bytes);
		append_number(out, "cpu_ns", edge->cpu_ns);
		end_element(out);
	}
	end_list(out, input->usage->edges->len == 0);
}

static void append_findings(GString *out, const DtcFindings *findings)
{
	guint count = dtc_findings_get_count(findings);

	g_string_append(out, "  \"findings\": [");
	for (guint i = 0; i < count; i++) {
		const struct dtc_finding *f = dtc_findings_get(findings, i);
		begin_element(out, i == 0);
		append_string(out, "severity", dtc_severity_to_string(f->severity), DTC_PRINTABLE_MAX);
		append_string(out, "node", f->node, NAME_MAX_CHARACTERS);
		append_string(out, "text", f->text, 1000);
		end_element(out);
	}
	end_list(out, count == 0);
}

char *dtc_usage_to_json(const struct dtc_usage_input *input)
{
	GString *out = g_string_new("{\n  \"schema\": \"" DTC_USAGE_SCHEMA "\",\n  ");

	append_string(out, "reference", input->reference, NAME_MAX_CHARACTERS);
	g_string_append_printf(out, "\n  \"interval_ns\": %" G_GINT64_FORMAT ",\n", (gint64)input->usage->interval_ns);
	append_nodes(out, input);
	append_processes(out, input);
	append_files(out, input);
	append_edges(out, input);
	append_findings(out, input->findings);
	g_string_append_printf(out, "  \"complete\": %s\n}\n",
			       dtc_findings_get_complete(input->findings) ? "true" : "false");
	return g_string_free(out, FALSE);
}
