/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/finding_list.h"
#include "analyze/report/usage_view.h"
#include "analyze/report/words.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"

static void append_times(GString *out, const char *key, const int64_t *values, guint count)
{
	dtc_json_append_key(out, key);
	g_string_append_c(out, '[');
	for (guint i = 0; i < count; i++)
		g_string_append_printf(out, "%s%" G_GINT64_FORMAT, i ? "," : "", (gint64)values[i]);
	g_string_append_c(out, ']');
}

static void append_counts(GString *out, const char *key, const uint64_t *values, guint count)
{
	dtc_json_append_key(out, key);
	g_string_append_c(out, '[');
	for (guint i = 0; i < count; i++)
		g_string_append_printf(out, "%s%" G_GUINT64_FORMAT, i ? "," : "", (guint64)values[i]);
	g_string_append_c(out, ']');
}

static void begin_element(GString *out, bool is_first)
{
	g_string_append(out, is_first ? "\n    {" : ",\n    {");
}

static void end_list(GString *out, bool is_empty)
{
	g_string_append(out, is_empty ? "],\n" : "\n  ],\n");
}

static void append_tier(GString *out, const char *key, const struct dtc_usage_input *input, guint index)
{
	const struct dtc_usage_process *process =
		&g_array_index(input->usage->processes, struct dtc_usage_process, index);
	g_autofree char *name = dtc_printable(process->name, DTC_PRINTABLE_NAME_MAX);
	g_autofree char *node = dtc_printable(input->node_names[process->node], DTC_PRINTABLE_NAME_MAX);
	g_autofree char *tier = g_strdup_printf("%s@%s", name, node);

	dtc_json_append_key(out, key);
	dtc_json_append_text(out, tier, 2 * DTC_PRINTABLE_NAME_MAX + 1);
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
		dtc_json_add_name(out, "node", input->node_names[i]);
		dtc_json_add_integer(out, "cpus", node->cpu_count);
		dtc_json_add_integer(out, "span_ns", node->span_ns);
		dtc_json_add_integer(out, "start_ns", node->begin.ns);
		dtc_json_add_integer(out, "process_ns", node->process_ns);
		dtc_json_add_integer(out, "interrupt_ns", node->interrupt_ns);
		dtc_json_add_integer(out, "away_ns", node->away_ns);
		dtc_json_add_integer(out, "idle_ns", node->idle_ns);
		dtc_json_add_integer(out, "unknown_ns", node->unknown_ns);
		append_times(out, "span", node->span, node->interval_count);
		append_times(out, "interrupt", node->interrupt, node->interval_count);
		append_times(out, "away", node->away, node->interval_count);
		append_times(out, "idle", node->idle, node->interval_count);
		append_times(out, "unknown", node->unknown, node->interval_count);
		g_string_append_c(out, '}');
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
		dtc_json_add_name(out, "node", input->node_names[process->node]);
		dtc_json_add_name(out, "process", process->name);
		dtc_json_add_id(out, "pid", process->pid);
		dtc_json_add_integer(out, "count", process->count);
		dtc_json_add_integer(out, "self_ns", process->cpu_ns);
		dtc_json_add_integer(out, "guest_ns", process->guest_ns);
		dtc_json_add_integer(out, "sub_ns", process->sub_ns);
		dtc_json_add_integer(out, "total_ns", process->cpu_ns + process->sub_ns);
		dtc_json_add_integer(out, "served_ns", process->served_ns);
		dtc_json_add_integer(out, "disk_requests", (int64_t)process->disk_requests);
		dtc_json_add_integer(out, "disk_read_bytes", (int64_t)process->disk_read_bytes);
		dtc_json_add_integer(out, "disk_written_bytes", (int64_t)process->disk_written_bytes);
		dtc_json_add_integer(out, "network_received_bytes", (int64_t)process->network_received_bytes);
		dtc_json_add_integer(out, "network_sent_bytes", (int64_t)process->network_sent_bytes);
		append_times(out, "cpu", process->cpu, count);
		append_counts(out, "disk", process->disk, count);
		append_counts(out, "network", process->network, count);
		g_string_append_c(out, '}');
	}
	end_list(out, is_first);
}

static void append_files(GString *out, const struct dtc_usage_input *input)
{
	g_string_append(out, "  \"files\": [");
	for (guint i = 0; i < input->usage->files->len; i++) {
		const struct dtc_usage_file *file = &g_array_index(input->usage->files, struct dtc_usage_file, i);
		g_autofree char *label = dtc_words_for_label(&file->label, file->text);
		begin_element(out, i == 0);
		append_tier(out, "tier", input, file->process);
		dtc_json_add_text(out, "file", label ? label : "not known");
		dtc_json_add_integer(out, "count", file->file_count);
		dtc_json_add_integer(out, "calls", (int64_t)file->calls);
		dtc_json_add_integer(out, "read_bytes", (int64_t)file->read_bytes);
		dtc_json_add_integer(out, "written_bytes", (int64_t)file->written_bytes);
		dtc_json_add_integer(out, "waits", (int64_t)file->waits);
		dtc_json_add_integer(out, "blocked_ns", file->blocked_ns);
		g_string_append_c(out, '}');
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
			dtc_json_add_null(out, "from");
		else
			append_tier(out, "from", input, edge->from);
		dtc_json_add_text(out, "host", edge->host);
		append_tier(out, "to", input, edge->to);
		dtc_json_add_text(out, "channel", dtc_usage_channel_to_string(edge->channel));
		dtc_json_add_integer(out, "messages", (int64_t)edge->messages);
		dtc_json_add_integer(out, "exact", (int64_t)edge->exact_count);
		dtc_json_add_integer(out, "bytes", (int64_t)edge->bytes);
		dtc_json_add_integer(out, "answer_bytes", (int64_t)edge->answer_bytes);
		dtc_json_add_integer(out, "cpu_ns", edge->cpu_ns);
		g_string_append_c(out, '}');
	}
	end_list(out, input->usage->edges->len == 0);
}

/* Everything of a server but those beneath it and the closing brackets. */
static void append_server(GString *out, const struct dtc_usage_input *input, const struct dtc_usage_server *server)
{
	g_string_append_c(out, '{');
	if (server->process == G_MAXUINT)
		dtc_json_add_null(out, "tier");
	else
		append_tier(out, "tier", input, server->process);
	dtc_json_add_text(out, "host", server->host);
	dtc_json_add_integer(out, "requests", (int64_t)server->messages);
	dtc_json_add_integer(out, "exact", (int64_t)server->exact_count);
	dtc_json_add_integer(out, "time_ns", server->time_ns);
	dtc_json_add_integer(out, "cpu_ns", server->cpu_ns);
	dtc_json_add_integer(out, "total_ns", server->total_ns);
	dtc_json_append_key(out, "servers");
	g_string_append_c(out, '[');
}

/* The list is depth first: the depth of the next one tells what to close. */
static void append_servers(GString *out, const struct dtc_usage_input *input)
{
	const GArray *servers = input->usage->servers;

	g_string_append(out, "  \"servers\": [");
	for (guint i = 0; i < servers->len; i++) {
		const struct dtc_usage_server *server = &g_array_index(servers, struct dtc_usage_server, i);
		guint next = i + 1 < servers->len ? g_array_index(servers, struct dtc_usage_server, i + 1).depth : 0;
		if (server->depth == 0)
			g_string_append(out, i ? ",\n    " : "\n    ");
		else
			dtc_json_append_separator(out);
		append_server(out, input, server);
		for (guint depth = server->depth + 1; depth > next; depth--)
			g_string_append(out, "]}");
	}
	end_list(out, servers->len == 0);
}

char *dtc_usage_to_json(const struct dtc_usage_input *input)
{
	GString *out = g_string_new("{\n  \"schema\": \"" DTC_USAGE_SCHEMA "\",\n  ");

	dtc_json_add_name(out, "reference", input->reference);
	g_string_append(out, ", \n  ");
	dtc_json_add_integer(out, "interval_ns", input->usage->interval_ns);
	g_string_append(out, ",\n");
	append_nodes(out, input);
	append_processes(out, input);
	append_files(out, input);
	append_edges(out, input);
	append_servers(out, input);
	if (input->memory)
		dtc_memory_add_json(out, input->memory);
	else
		dtc_json_add_null(out, "memory");
	g_string_append(out, ",\n  \"findings\": ");
	dtc_finding_list_append_json(out, input->findings);
	g_string_append(out, ",\n  ");
	dtc_json_add_bool(out, "complete", dtc_findings_get_complete(input->findings));
	g_string_append(out, "\n}\n");
	return g_string_free(out, FALSE);
}
