/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/units.h"
#include "analyze/report/usage_view.h"
#include "collect/console/printable.h"

/* Graphviz takes quotes and backslashes as its own. */
static void append_label(GString *out, const char *text)
{
	g_autofree char *shown = dtc_printable(text, DTC_PRINTABLE_MAX);

	for (const char *p = shown; *p; p++) {
		if (*p == '"' || *p == '\\')
			g_string_append_c(out, '\\');
		g_string_append_c(out, *p);
	}
}

static void append_process(GString *out, const struct dtc_usage_input *input, guint index)
{
	const struct dtc_usage_process *process =
		&g_array_index(input->usage->processes, struct dtc_usage_process, index);
	g_autofree char *self = dtc_duration_format(process->cpu_ns);
	g_autofree char *total = dtc_duration_format(process->cpu_ns + process->sub_ns);

	g_string_append_printf(out, "\tp%u [label=\"", index);
	append_label(out, process->name);
	g_string_append_c(out, '@');
	append_label(out, input->node_names[process->node]);
	g_string_append_printf(out, "\\nCPU %s", self);
	if (process->sub_ns)
		g_string_append_printf(out, ", with servers %s", total);
	g_string_append(out, "\"];\n");
}

static void append_edge(GString *out, const struct dtc_usage_edge *edge, guint index)
{
	bool is_connection = edge->channel == DTC_USAGE_TCP || edge->channel == DTC_USAGE_UDP;

	if (edge->from == G_MAXUINT) {
		g_string_append_printf(out, "\tu%u [label=\"", index);
		append_label(out, edge->host);
		g_string_append(out, "\\nnot traced\", style=dashed];\n");
		g_string_append_printf(out, "\tu%u", index);
	} else {
		g_string_append_printf(out, "\tp%u", edge->from);
	}
	g_string_append_printf(out, " -> p%u [label=\"%s: %" G_GUINT64_FORMAT " messages, %" G_GUINT64_FORMAT " bytes",
			       edge->to, dtc_usage_channel_to_string(edge->channel), (guint64)edge->messages,
			       (guint64)edge->bytes);
	if (is_connection) {
		g_autofree char *cpu = dtc_duration_format(edge->cpu_ns);
		g_string_append_printf(out, "\\nanswers: %" G_GUINT64_FORMAT " bytes, CPU %s",
				       (guint64)edge->answer_bytes, cpu);
	}
	g_string_append(out, is_connection ? "\"];\n" : "\", style=dashed];\n");
}

char *dtc_usage_to_dot(const struct dtc_usage_input *input)
{
	const DtcUsage *usage = input->usage;
	GString *out = g_string_new("digraph usage {\n\trankdir=LR;\n\tnode [shape=box, fontname=\"sans-serif\"];\n"
				    "\tedge [fontname=\"sans-serif\", fontsize=10];\n");
	g_autofree bool *talks = g_new0(bool, usage->processes->len + 1);

	for (guint i = 0; i < usage->edges->len; i++) {
		const struct dtc_usage_edge *edge = &g_array_index(usage->edges, struct dtc_usage_edge, i);
		talks[edge->to] = true;
		if (edge->from != G_MAXUINT)
			talks[edge->from] = true;
	}
	for (guint i = 0; i < usage->processes->len; i++) {
		const struct dtc_usage_process *process = &g_array_index(usage->processes, struct dtc_usage_process, i);
		if (talks[i] || (process->is_asked && process->cpu_ns > usage->nodes[process->node].process_ns / 100))
			append_process(out, input, i);
	}
	for (guint i = 0; i < usage->edges->len; i++)
		append_edge(out, &g_array_index(usage->edges, struct dtc_usage_edge, i), i);
	g_string_append(out, "}\n");
	return g_string_free(out, FALSE);
}
