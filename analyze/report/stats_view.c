/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/stats_view.h"

#include "analyze/engine/wall_clock.h"
#include "analyze/report/finding_list.h"
#include "analyze/report/layout.h"
#include "analyze/report/split_view.h"
#include "analyze/report/units.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"

#include <string.h>

#define KINDS_SHOWN 40 /* in the text; JSON has them all */
#define NODES_BESIDE 5 /* nodes with a column of their own in the table of kinds */

struct kind {
	char *name;    /* owned, printable */
	guint64 count; /* over all nodes, or of one node */
};

static void kind_clear(void *data)
{
	struct kind *kind = data;
	g_free(kind->name);
}

static int compare_kinds(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The kinds of one source, or of all (NULL), most frequent first. */
static GArray *list_kinds(const GPtrArray *sources, const struct dtc_census_source *only)
{
	g_autoptr(GHashTable) index = g_hash_table_new(g_str_hash, g_str_equal); /* name -> position + 1 */
	GArray *kinds = g_array_new(FALSE, FALSE, sizeof(struct kind));
	g_array_set_clear_func(kinds, kind_clear);
	for (guint i = 0; i < sources->len; i++) {
		const struct dtc_census_source *source = sources->pdata[i];
		if (only && source != only)
			continue;
		for (guint k = 0; source->kinds && k < source->kinds->len; k++) {
			const struct dtc_census_kind *from = &g_array_index(source->kinds, struct dtc_census_kind, k);
			g_autofree char *name = dtc_printable(from->name, DTC_PRINTABLE_MAX);
			guint position = GPOINTER_TO_UINT(g_hash_table_lookup(index, name));
			if (position > 0) { /* also names of a hostile trace that are the same in print */
				g_array_index(kinds, struct kind, position - 1).count += from->count;
				continue;
			}
			struct kind kind = { g_steal_pointer(&name), from->count };
			g_array_append_val(kinds, kind);
			g_hash_table_insert(index, kind.name, GUINT_TO_POINTER(kinds->len));
		}
	}
	g_array_sort(kinds, compare_kinds);
	return kinds;
}

static guint64 get_count(const GArray *kinds, const char *name)
{
	for (guint i = 0; kinds && i < kinds->len; i++)
		if (strcmp(g_array_index(kinds, struct kind, i).name, name) == 0)
			return g_array_index(kinds, struct kind, i).count;
	return 0;
}

static guint64 get_total(const GPtrArray *sources, bool is_lost)
{
	guint64 total = 0;
	for (guint i = 0; i < sources->len; i++) {
		const struct dtc_census_source *source = sources->pdata[i];
		guint64 more = is_lost ? source->lost_events : source->events;
		total = more > G_MAXINT64 - MIN(total, (guint64)G_MAXINT64) ? (guint64)G_MAXINT64 : total + more;
	}
	return total;
}

/* ---- JSON ---- */

static void add_json_node(GString *out, const struct dtc_stats_input *input, const struct dtc_bundle_node *node,
			  guint index)
{
	const GPtrArray *sources = input->census;
	const struct dtc_census_source *kernel = dtc_census_find(sources, index, false);
	const struct dtc_census_source *capture = dtc_census_find(sources, index, true);
	dtc_json_append_separator(out);
	g_string_append(out, "\n  {");
	dtc_json_add_name(out, "node", node->name);
	dtc_json_add_integer(out, "events", kernel ? (int64_t)kernel->events : 0);
	dtc_json_add_integer(out, "lost_events", kernel ? (int64_t)kernel->lost_events : 0);
	if (kernel && kernel->events > 0) {
		dtc_json_add_integer(out, "begin_ns", kernel->begin_ns);
		dtc_json_add_integer(out, "end_ns", kernel->end_ns);
	} else {
		dtc_json_add_null(out, "begin_ns");
		dtc_json_add_null(out, "end_ns");
	}
	dtc_json_add_text(out, "reader", kernel ? kernel->backend : NULL);
	dtc_json_append_key(out, "kinds");
	g_string_append_c(out, '{');
	if (kernel) {
		g_autoptr(GArray) kinds = list_kinds(sources, kernel);
		for (guint i = 0; i < kinds->len; i++) {
			const struct kind *kind = &g_array_index(kinds, struct kind, i);
			dtc_json_append_separator(out);
			g_string_append(out, "\n    ");
			dtc_json_append_text(out, kind->name, DTC_PRINTABLE_MAX);
			g_string_append_printf(out, ": %" G_GUINT64_FORMAT, kind->count);
		}
	}
	g_string_append(out, "},");
	g_string_append_printf(out, " \"packets\": %" G_GUINT64_FORMAT, capture ? capture->packets : 0);
	dtc_split_add_json(out, input->splits ? dtc_splits_find(input->splits, index) : NULL);
	g_string_append_c(out, '}');
}

char *dtc_stats_to_json(const struct dtc_stats_input *input)
{
	const GPtrArray *sources = input->census;
	GString *out = g_string_new("{");
	dtc_json_add_text(out, "schema", DTC_STATS_SCHEMA);
	dtc_json_add_integer(out, "events", (int64_t)get_total(sources, false));
	dtc_json_add_integer(out, "lost_events", (int64_t)get_total(sources, true));
	dtc_json_append_key(out, "nodes");
	g_string_append_c(out, '[');
	for (guint i = 0; i < dtc_bundle_get_count(input->bundle); i++)
		add_json_node(out, input, dtc_bundle_get_node(input->bundle, i), i);
	g_string_append_c(out, ']');
	dtc_finding_list_add_json(out, input->findings);
	g_string_append(out, "}\n");
	return g_string_free(out, FALSE);
}

/* ---- text ---- */

static G_GNUC_PRINTF(3, 4) void add_cell(DtcLayout *layout, guint columns, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	dtc_layout_add_right(layout, text, columns, DTC_STYLE_PLAIN);
}

static void add_name(DtcLayout *layout, const char *name, guint columns)
{
	g_autofree char *printable = dtc_printable(name, DTC_PRINTABLE_MAX);
	g_autofree char *fitted = dtc_printable_fit(printable, columns);
	dtc_layout_add_left(layout, fitted, columns, DTC_STYLE_PLAIN);
}

static void add_node_row(DtcLayout *layout, const GPtrArray *sources, const struct dtc_bundle_node *node, guint index)
{
	const struct dtc_census_source *kernel = dtc_census_find(sources, index, false);
	const struct dtc_census_source *capture = dtc_census_find(sources, index, true);
	add_name(layout, node->name, 18);
	if (kernel && kernel->events > 0) {
		int64_t span_ns = kernel->end_ns - kernel->begin_ns;
		g_autofree char *span = dtc_duration_format(span_ns);
		add_cell(layout, 10, "%" G_GUINT64_FORMAT, kernel->events);
		add_cell(layout, 10, "%" G_GUINT64_FORMAT, kernel->lost_events);
		add_cell(layout, 10, "%s", span);
		if (span_ns > 0)
			add_cell(layout, 10, "%.0f/s", (double)kernel->events * 1e9 / (double)span_ns);
		else
			add_cell(layout, 10, "-");
	} else {
		add_cell(layout, 10, kernel ? "0" : "-");
		add_cell(layout, 10, "-");
		add_cell(layout, 10, "-");
		add_cell(layout, 10, "-");
	}
	if (capture)
		add_cell(layout, 10, "%" G_GUINT64_FORMAT, capture->packets);
	else
		add_cell(layout, 10, "-");
	add_cell(layout, 11, "%s", kernel && kernel->backend ? kernel->backend : "-");
	dtc_layout_end_line(layout);
}

/* When each was recorded, as its own clock shows it: what the clocks disagree by is still in it. */
static void add_times(DtcLayout *layout, const DtcBundle *bundle, const GPtrArray *sources)
{
	bool has_heading = false;

	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const struct dtc_census_source *kernel = dtc_census_find(sources, i, false);
		g_autofree char *span =
			kernel && kernel->events ? dtc_wall_clock_format_span(kernel->begin_ns, kernel->end_ns) : NULL;
		if (!span)
			continue;
		if (!has_heading)
			dtc_layout_add_heading(layout, "When", "as the node's own clock shows it");
		has_heading = true;
		add_name(layout, dtc_bundle_get_node(bundle, i)->name, 18);
		dtc_layout_add_space(layout, 1);
		dtc_layout_add_paragraph(layout, span, 2);
	}
}

static void add_kind_rows(DtcLayout *layout, const DtcBundle *bundle, const GPtrArray *sources)
{
	g_autoptr(GArray) kinds = list_kinds(sources, NULL);
	guint node_count = dtc_bundle_get_count(bundle);
	guint beside = node_count > 1 && node_count <= NODES_BESIDE ? node_count : 0;
	while (beside > 0 && dtc_layout_get_rest(layout) < 30 + 11 * (beside + 1))
		beside--;
	if (beside < node_count)
		beside = 0; /* some nodes without the others would mislead */
	if (kinds->len == 0)
		return;
	dtc_layout_add_heading(layout, "Events by kind", NULL);
	guint name_columns = MIN(dtc_layout_get_rest(layout) - 11 * (beside + 1), 44);
	add_name(layout, "KIND", name_columns);
	add_cell(layout, 11, "EVENTS");
	GArray *of_nodes[NODES_BESIDE];
	for (guint n = 0; n < beside; n++) {
		g_autofree char *printable = dtc_printable(dtc_bundle_get_node(bundle, n)->name, DTC_PRINTABLE_MAX);
		g_autofree char *fitted = dtc_printable_fit(printable, 10);
		add_cell(layout, 11, "%s", fitted);
		const struct dtc_census_source *kernel = dtc_census_find(sources, n, false);
		of_nodes[n] = kernel ? list_kinds(sources, kernel) : NULL;
	}
	dtc_layout_end_line(layout);
	for (guint i = 0; i < MIN(kinds->len, KINDS_SHOWN); i++) {
		const struct kind *kind = &g_array_index(kinds, struct kind, i);
		add_name(layout, kind->name, name_columns);
		add_cell(layout, 11, "%" G_GUINT64_FORMAT, kind->count);
		for (guint n = 0; n < beside; n++)
			add_cell(layout, 11, "%" G_GUINT64_FORMAT, get_count(of_nodes[n], kind->name));
		dtc_layout_end_line(layout);
	}
	for (guint n = 0; n < beside; n++)
		if (of_nodes[n])
			g_array_unref(of_nodes[n]);
	if (kinds->len > KINDS_SHOWN) {
		dtc_layout_add(layout, DTC_STYLE_DIM, "and %u more kinds; --format json has them all",
			       kinds->len - KINDS_SHOWN);
		dtc_layout_end_line(layout);
	}
}

char *dtc_stats_to_text(const struct dtc_stats_input *input, guint width, bool has_color, bool has_utf8)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(width, has_color, has_utf8);
	static const struct {
		const char *name;
		guint columns;
	} headings[] = { { "EVENTS", 10 }, { "LOST", 10 },    { "SPAN", 10 },
			 { "RATE", 10 },   { "PACKETS", 10 }, { "READER", 11 } };
	add_name(layout, "NODE", 18);
	for (gsize i = 0; i < G_N_ELEMENTS(headings); i++)
		add_cell(layout, headings[i].columns, "%s", headings[i].name);
	dtc_layout_end_line(layout);
	for (guint i = 0; i < dtc_bundle_get_count(input->bundle); i++)
		add_node_row(layout, input->census, dtc_bundle_get_node(input->bundle, i), i);
	add_times(layout, input->bundle, input->census);
	add_kind_rows(layout, input->bundle, input->census);
	for (guint i = 0; input->splits && i < dtc_bundle_get_count(input->bundle); i++)
		dtc_split_add_text(layout, dtc_splits_find(input->splits, i));
	dtc_finding_list_add_text(layout, input->findings);
	return dtc_layout_steal(layout);
}
