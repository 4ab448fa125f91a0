/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/dot.h"

#include "analyze/report/units.h"
#include "collect/console/printable.h"

#include <dtrace-chain/hash.h>

#include <inttypes.h>

#define LABEL_COLUMNS 48

struct vertex {
	const struct dtc_report_thread *who; /* of its first step */
	int64_t ns;
	int64_t by_cause[DTC_CAUSES];
};

struct edge {
	guint from, to; /* vertices */
	guint count;
	int64_t wire_ns;
	int64_t uncertainty_ns;	    /* the largest */
	enum dtc_link_quality link; /* the least sure */
	bool is_hop;
};

struct graph {
	GArray *vertices;    /* in order of appearance */
	GArray *edges;	     /* in order of appearance */
	GHashTable *by_name; /* "node/tid/process" -> index + 1 */
	GHashTable *by_ends; /* from << 32 | to -> index + 1 */
};

static guint add_vertex(struct graph *graph, const struct dtc_report_thread *who)
{
	g_autofree char *name = g_strdup_printf("%s/%d/%s", who->node, who->tid, who->tid < 0 ? who->process : "");
	guint index = GPOINTER_TO_UINT(g_hash_table_lookup(graph->by_name, name));

	if (index)
		return index - 1;
	struct vertex vertex = { .who = who };
	g_array_append_val(graph->vertices, vertex);
	g_hash_table_insert(graph->by_name, g_steal_pointer(&name), GUINT_TO_POINTER(graph->vertices->len));
	return graph->vertices->len - 1;
}

static struct edge *add_edge(struct graph *graph, guint from, guint to)
{
	gint64 key = (gint64)((guint64)from << 32 | to);
	guint index = GPOINTER_TO_UINT(g_hash_table_lookup(graph->by_ends, &key));

	if (!index) {
		struct edge edge = { .from = from, .to = to };
		g_array_append_val(graph->edges, edge);
		index = graph->edges->len;
		g_hash_table_insert(graph->by_ends, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(index));
	}
	return &g_array_index(graph->edges, struct edge, index - 1);
}

static void add_steps(struct graph *graph, const DtcReport *report)
{
	guint previous = G_MAXUINT;

	for (guint i = 0; i < report->steps->len; i++) {
		const struct dtc_report_step *step = DTC_AT(report->steps, struct dtc_report_step, i);
		guint at = add_vertex(graph, &step->who);
		struct vertex *vertex = &g_array_index(graph->vertices, struct vertex, at);
		vertex->ns += step->end_ns - step->begin_ns;
		vertex->by_cause[step->cause] += step->end_ns - step->begin_ns;
		if (previous != G_MAXUINT && previous != at) {
			struct edge *edge = add_edge(graph, previous, at);
			edge->count++;
			edge->is_hop = step->is_hop;
			edge->link = MAX(edge->link, step->link);
			edge->uncertainty_ns = MAX(edge->uncertainty_ns, step->uncertainty_ns);
			if (step->cause == DTC_CAUSE_NETWORK_WIRE)
				edge->wire_ns += step->end_ns - step->begin_ns;
		}
		previous = at;
	}
}

/* Inside a quoted string only these two mean anything to Graphviz; "\n" is written by us. */
static void append_escaped(GString *out, const char *text)
{
	g_autofree char *short_text = dtc_printable_fit(text, LABEL_COLUMNS);
	for (const char *c = short_text; *c; c++) {
		if (*c == '"' || *c == '\\')
			g_string_append_c(out, '\\');
		g_string_append_c(out, *c);
	}
}

static void append_vertex(GString *out, const struct vertex *vertex, guint index, const DtcReport *report)
{
	g_autofree char *duration = dtc_duration_format(vertex->ns);
	g_autofree char *percent = dtc_percent_format(vertex->ns, report->duration_ns);
	enum dtc_cause cause = 0;

	for (guint i = 1; i < DTC_CAUSES; i++)
		if (vertex->by_cause[i] > vertex->by_cause[cause])
			cause = i;
	g_string_append_printf(out, "\t\tt%u [label=\"", index);
	append_escaped(out, vertex->who->comm ? vertex->who->comm : vertex->who->process);
	if (vertex->who->tid >= 0)
		g_string_append_printf(out, " %d", vertex->who->tid);
	g_string_append_printf(out, "\\n%s (%s %%)\\n%s %s\"];\n", duration, percent,
			       vertex->by_cause[cause] >= vertex->ns / 2 ? "mostly" : "largest part",
			       dtc_cause_to_string(cause));
}

static void append_edge(GString *out, const struct edge *edge)
{
	g_string_append_printf(out, "\tt%u -> t%u [label=\"%u", edge->from, edge->to, edge->count);
	if (edge->is_hop) {
		g_autofree char *wire = dtc_duration_format(edge->wire_ns);
		g_autofree char *uncertainty = dtc_duration_format(edge->uncertainty_ns);
		g_string_append_printf(out, " × wire\\n%s ± %s", wire, uncertainty);
	} else {
		g_string_append(out, " ×");
	}
	g_string_append_c(out, '"');
	if (edge->link != DTC_LINK_EXACT)
		g_string_append(out, edge->link == DTC_LINK_INFERRED ? ", style=dashed" : ", style=dotted");
	if (edge->is_hop)
		g_string_append(out, ", penwidth=2");
	g_string_append(out, "];\n");
}

static void append_node(GString *out, const struct graph *graph, guint first, guint number, const DtcReport *report)
{
	/* names of a report are stored once: equal ones have equal addresses */
	const char *node = g_array_index(graph->vertices, struct vertex, first).who->node;

	g_string_append_printf(out, "\tsubgraph cluster_%u {\n\t\tlabel=\"", number);
	append_escaped(out, node);
	g_string_append(out, "\";\n");
	for (guint i = first; i < graph->vertices->len; i++) {
		const struct vertex *vertex = &g_array_index(graph->vertices, struct vertex, i);
		if (vertex->who->node == node)
			append_vertex(out, vertex, i, report);
	}
	g_string_append(out, "\t}\n");
}

char *dtc_report_to_dot(const DtcReport *report)
{
	struct graph graph = {
		.vertices = g_array_new(FALSE, FALSE, sizeof(struct vertex)),
		.edges = g_array_new(FALSE, FALSE, sizeof(struct edge)),
		.by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.by_ends = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL),
	};
	g_autoptr(GHashTable) written = g_hash_table_new(NULL, NULL);
	GString *out = g_string_new("digraph \"");
	g_autofree char *duration = dtc_duration_format(report->duration_ns);

	add_steps(&graph, report);
	append_escaped(out, report->request ? report->request : report->target.tier);
	g_string_append(out, "\" {\n\trankdir=LR;\n\tlabelloc=t;\n\tlabel=\"");
	append_escaped(out, report->request ? report->request : report->target.tier);
	g_string_append_printf(out,
			       ": %s\";\n\tnode [shape=box, fontname=\"sans-serif\"];\n"
			       "\tedge [fontname=\"sans-serif\", fontsize=10];\n",
			       duration);
	for (guint i = 0; i < graph.vertices->len; i++) {
		const char *node = g_array_index(graph.vertices, struct vertex, i).who->node;
		if (g_hash_table_add(written, (void *)node))
			append_node(out, &graph, i, g_hash_table_size(written), report);
	}
	for (guint i = 0; i < graph.edges->len; i++)
		append_edge(out, &g_array_index(graph.edges, struct edge, i));
	g_string_append(out, "}\n");
	g_array_unref(graph.vertices);
	g_array_unref(graph.edges);
	g_hash_table_unref(graph.by_name);
	g_hash_table_unref(graph.by_ends);
	return g_string_free(out, FALSE);
}
