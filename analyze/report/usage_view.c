/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/usage_view.h"
#include "analyze/engine/wall_clock.h"
#include "analyze/report/finding_list.h"
#include "analyze/report/layout.h"
#include "analyze/report/units.h"
#include "analyze/report/words.h"
#include "collect/console/printable.h"

#include <inttypes.h>
#include <string.h>

#define BYTES_COLUMNS 9
#define NAME_COLUMNS 24

struct view {
	const struct dtc_usage_input *input;
	const struct dtc_usage_view_options *options;
	DtcLayout *layout;
	struct dtc_scale scale;
	guint figure_columns;
};

static const struct dtc_usage_process *get_process(const struct view *view, guint index)
{
	return &g_array_index(view->input->usage->processes, struct dtc_usage_process, index);
}

static char *make_tier(const struct view *view, guint index)
{
	const struct dtc_usage_process *process = get_process(view, index);
	g_autofree char *name = dtc_printable(process->name, DTC_PRINTABLE_NAME_MAX);
	g_autofree char *node = dtc_printable(view->input->node_names[process->node], DTC_PRINTABLE_NAME_MAX);

	return g_strdup_printf("%s@%s", *name ? name : "?", node);
}

static void add_bytes(const struct view *view, uint64_t bytes)
{
	g_autofree char *text = dtc_bytes_format((int64_t)MIN(bytes, (uint64_t)INT64_MAX));

	dtc_layout_add_right(view->layout, text, BYTES_COLUMNS, bytes ? DTC_STYLE_PLAIN : DTC_STYLE_DIM);
}

static void add_count(const struct view *view, uint64_t count, guint columns)
{
	g_autofree char *text = g_strdup_printf("%" PRIu64, count);

	dtc_layout_add_right(view->layout, text, columns, DTC_STYLE_PLAIN);
}

static void add_figure(const struct view *view, int64_t ns, enum dtc_style style)
{
	g_autofree char *figure = dtc_scale_format(view->scale, ns);

	dtc_layout_add_right(view->layout, figure, view->figure_columns, style);
}

static void add_percent(const struct view *view, int64_t part, int64_t total, enum dtc_style style)
{
	g_autofree char *text = g_strdup_printf("%.1f", total > 0 ? (double)part * 100 / (double)total : 0.0);

	dtc_layout_add_right(view->layout, text, 7, style);
}

static char *format_duration(const struct view *view, int64_t ns)
{
	return view->options->is_exact ? g_strdup_printf("%" PRId64 " ns", ns) : dtc_duration_format(ns);
}

static void add_heading_cell(const struct view *view, const char *text, guint columns)
{
	dtc_layout_add_right(view->layout, text, columns, DTC_STYLE_DIM);
}

/*
 * One column per interval, or per several if there are more than fit: heights in eighths of full, which is the most
 * that a column could be. Something is never drawn as nothing.
 */
static void add_spark(const struct view *view, const double *by_interval, const double *full, guint count)
{
	static const char *const utf8[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { " ", ".", ".", ":", ":", "+", "+", "#", "#" };
	guint columns = MIN(count, dtc_layout_get_rest(view->layout));
	g_autoptr(GString) spark = g_string_new(NULL);

	for (guint c = 0; c < columns; c++) {
		guint from = (guint)((guint64)c * count / columns), to = (guint)((guint64)(c + 1) * count / columns);
		double value = 0, most = 0;
		for (guint i = from; i < to; i++) {
			value += by_interval[i];
			most += full[i];
		}
		guint height = most > 0 ? (guint)(CLAMP(value / most, 0.0, 1.0) * 8 + 0.5) : 0;
		if (height == 0 && value > 0)
			height = 1;
		g_string_append(spark, view->options->has_utf8 ? utf8[height] : ascii[height]);
	}
	dtc_layout_add(view->layout, DTC_STYLE_GREEN, "%s", g_strchomp(spark->str));
}

static void add_spark_ns(const struct view *view, const int64_t *by_interval, const struct dtc_usage_node *node,
			 guint cpus)
{
	g_autofree double *values = g_new0(double, node->interval_count);
	g_autofree double *full = g_new0(double, node->interval_count);

	for (guint i = 0; i < node->interval_count; i++) {
		values[i] = (double)by_interval[i];
		full[i] = (double)node->span[i] * cpus;
	}
	dtc_layout_add_space(view->layout, 2);
	add_spark(view, values, full, node->interval_count);
}

static void add_cpu_line(const struct view *view, const struct dtc_usage_node *node, const char *name, int64_t ns,
			 const int64_t *by_interval, guint cpus, enum dtc_style style)
{
	dtc_layout_add_space(view->layout, 2);
	dtc_layout_add_left(view->layout, name, NAME_COLUMNS - 2, style);
	add_figure(view, ns, style);
	add_percent(view, ns, node->span_ns * node->cpu_count, style);
	if (by_interval)
		add_spark_ns(view, by_interval, node, cpus);
	dtc_layout_end_line(view->layout);
}

static char *make_process_name(const struct dtc_usage_process *process)
{
	g_autofree char *name = dtc_printable(process->name, DTC_PRINTABLE_NAME_MAX);

	if (process->pid >= 0)
		return g_strdup_printf("%s (%d)", *name ? name : "?", process->pid);
	return process->count > 1 ? g_strdup_printf("%s (%u of them)", *name ? name : "?", process->count)
				  : g_strdup(*name ? name : "?");
}

static void add_node_cpu(const struct view *view, guint index)
{
	const struct dtc_usage_node *node = &view->input->usage->nodes[index];
	g_autofree char *name = dtc_printable(view->input->node_names[index], DTC_PRINTABLE_NAME_MAX);
	g_autofree char *span = format_duration(view, node->span_ns);
	g_autofree char *wall = dtc_wall_clock_format(node->begin.ns);
	guint shown = 0, left_out = 0;
	int64_t left_out_ns = 0;

	dtc_layout_add(view->layout, DTC_STYLE_BOLD, "%s", name);
	dtc_layout_add(view->layout, DTC_STYLE_DIM, "  %u CPU%s, %s", node->cpu_count, node->cpu_count == 1 ? "" : "s",
		       span);
	if (wall && dtc_layout_get_rest(view->layout) >= dtc_printable_get_columns(wall) + 13)
		dtc_layout_add(view->layout, DTC_STYLE_DIM, ", steps from %s", wall);
	dtc_layout_end_line(view->layout);
	for (guint i = 0; i < view->input->usage->processes->len; i++) {
		const struct dtc_usage_process *process = get_process(view, i);
		if (process->node != index || process->cpu_ns == 0)
			continue;
		if (!process->is_asked || (view->options->limit && shown == view->options->limit)) {
			left_out++;
			left_out_ns += process->cpu_ns;
			continue;
		}
		g_autofree char *shown_name = make_process_name(process);
		add_cpu_line(view, node, shown_name, process->cpu_ns, process->cpu, 1, DTC_STYLE_PLAIN);
		shown++;
	}
	if (left_out) {
		g_autofree char *more = g_strdup_printf("… %u more", left_out);
		add_cpu_line(view, node, more, left_out_ns, NULL, 1, DTC_STYLE_DIM);
	}
	add_cpu_line(view, node, "interrupts", node->interrupt_ns, node->interrupt, 1, DTC_STYLE_PLAIN);
	if (node->away_ns)
		add_cpu_line(view, node, "virtual CPU away", node->away_ns, node->away, 1, DTC_STYLE_PLAIN);
	add_cpu_line(view, node, "idle", node->idle_ns, node->idle, node->cpu_count, DTC_STYLE_DIM);
	add_cpu_line(view, node, "unknown", node->unknown_ns, node->unknown, node->cpu_count, DTC_STYLE_DIM);
	add_cpu_line(view, node, "total", node->span_ns * node->cpu_count, NULL, 1, DTC_STYLE_BOLD);
}

static void add_cpu(const struct view *view)
{
	g_autofree char *interval = format_duration(view, view->input->usage->interval_ns);
	g_autofree char *note =
		g_strdup_printf("by process; over time in steps of %s, a full block is one CPU", interval);

	dtc_layout_add_heading(view->layout, "CPU", note);
	dtc_layout_add_left(view->layout, "", NAME_COLUMNS, DTC_STYLE_DIM);
	add_heading_cell(view, view->scale.unit, view->figure_columns);
	add_heading_cell(view, "%", 7);
	dtc_layout_end_line(view->layout);
	for (guint node = 0; node < view->input->usage->node_count; node++)
		if (view->input->usage->nodes[node].has_history)
			add_node_cpu(view, node);
}

static uint64_t count_io_bytes(const struct dtc_usage_process *process)
{
	return process->disk_read_bytes + process->disk_written_bytes + process->network_received_bytes +
	       process->network_sent_bytes;
}

static gint compare_io(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct view *view = data;
	guint x = *(const guint *)a, y = *(const guint *)b;
	uint64_t x_bytes = count_io_bytes(get_process(view, x)), y_bytes = count_io_bytes(get_process(view, y));

	if (x_bytes != y_bytes)
		return x_bytes > y_bytes ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void add_io_line(const struct view *view, guint index)
{
	const struct dtc_usage_process *process = get_process(view, index);
	const struct dtc_usage_node *node = &view->input->usage->nodes[process->node];
	g_autofree char *tier = make_tier(view, index);
	g_autofree double *values = g_new0(double, node->interval_count);
	g_autofree double *full = g_new0(double, node->interval_count);
	double most = 0;

	for (guint i = 0; i < node->interval_count; i++) {
		values[i] = (double)(process->disk[i] + process->network[i]);
		most = MAX(most, values[i]);
	}
	for (guint i = 0; i < node->interval_count; i++)
		full[i] = most;
	dtc_layout_add_left(view->layout, tier, NAME_COLUMNS, DTC_STYLE_PLAIN);
	add_bytes(view, process->disk_read_bytes);
	add_bytes(view, process->disk_written_bytes);
	add_bytes(view, process->network_received_bytes);
	add_bytes(view, process->network_sent_bytes);
	dtc_layout_add_space(view->layout, 2);
	add_spark(view, values, full, node->interval_count);
	dtc_layout_end_line(view->layout);
}

static void add_more(const struct view *view, guint count, guint shown)
{
	if (count <= shown)
		return;
	dtc_layout_add(view->layout, DTC_STYLE_DIM, "… %u more (--limit 0 shows all)", count - shown);
	dtc_layout_end_line(view->layout);
}

static guint get_shown(const struct view *view, guint count)
{
	return view->options->limit ? MIN(count, view->options->limit) : count;
}

static void add_io(const struct view *view)
{
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(guint));

	for (guint i = 0; i < view->input->usage->processes->len; i++)
		if (get_process(view, i)->is_asked && count_io_bytes(get_process(view, i)))
			g_array_append_val(rows, i);
	if (rows->len == 0)
		return;
	g_array_sort_with_data(rows, compare_io, (gpointer)view);
	dtc_layout_add_heading(view->layout, "Disk and network",
			       "bytes of its block requests, and of its calls on connections");
	dtc_layout_add_left(view->layout, "process@node", NAME_COLUMNS, DTC_STYLE_DIM);
	add_heading_cell(view, "disk in", BYTES_COLUMNS);
	add_heading_cell(view, "disk out", BYTES_COLUMNS);
	add_heading_cell(view, "net in", BYTES_COLUMNS);
	add_heading_cell(view, "net out", BYTES_COLUMNS);
	dtc_layout_add(view->layout, DTC_STYLE_DIM, "  all, over time");
	dtc_layout_end_line(view->layout);
	for (guint i = 0; i < get_shown(view, rows->len); i++)
		add_io_line(view, g_array_index(rows, guint, i));
	add_more(view, rows->len, get_shown(view, rows->len));
}

static void add_files(const struct view *view)
{
	const GArray *files = view->input->usage->files;

	if (files->len == 0)
		return;
	dtc_layout_add_heading(view->layout, "Files and connections", "longest blocked in them first");
	add_heading_cell(view, "blocked", view->figure_columns);
	add_heading_cell(view, "calls", 8);
	add_heading_cell(view, "read", BYTES_COLUMNS);
	add_heading_cell(view, "written", BYTES_COLUMNS);
	dtc_layout_add(view->layout, DTC_STYLE_DIM, "  process@node, file");
	dtc_layout_end_line(view->layout);
	for (guint i = 0; i < get_shown(view, files->len); i++) {
		const struct dtc_usage_file *file = &g_array_index(files, struct dtc_usage_file, i);
		g_autofree char *tier = make_tier(view, file->process);
		g_autofree char *label = dtc_words_for_label(&file->label, file->text);
		g_autofree char *name = dtc_printable(label ? label : "not known", DTC_PRINTABLE_MAX);
		add_figure(view, file->blocked_ns, DTC_STYLE_PLAIN);
		add_count(view, file->calls, 8);
		add_bytes(view, file->read_bytes);
		add_bytes(view, file->written_bytes);
		dtc_layout_add(view->layout, DTC_STYLE_PLAIN, "  %s ", tier);
		dtc_layout_add(view->layout, DTC_STYLE_DIM, "%s", name);
		if (file->file_count > 1)
			dtc_layout_add(view->layout, DTC_STYLE_DIM, " (%u)", file->file_count);
		dtc_layout_end_line(view->layout);
	}
	add_more(view, files->len, get_shown(view, files->len));
}

static int64_t get_total_ns(const struct dtc_usage_process *process)
{
	return process->cpu_ns + process->sub_ns;
}

static gint compare_totals(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct view *view = data;
	guint x = *(const guint *)a, y = *(const guint *)b;
	int64_t x_ns = get_total_ns(get_process(view, x)), y_ns = get_total_ns(get_process(view, y));

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void add_accounting(const struct view *view)
{
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(guint));

	for (guint i = 0; i < view->input->usage->processes->len; i++)
		if (get_process(view, i)->is_asked && (get_process(view, i)->sub_ns || get_process(view, i)->served_ns))
			g_array_append_val(rows, i);
	if (rows->len == 0)
		return;
	g_array_sort_with_data(rows, compare_totals, (gpointer)view);
	dtc_layout_add_heading(view->layout, "CPU with servers", "sub: used by its servers on its behalf");
	dtc_layout_add_left(view->layout, "process@node", NAME_COLUMNS, DTC_STYLE_DIM);
	add_heading_cell(view, "self", view->figure_columns);
	add_heading_cell(view, "sub", view->figure_columns);
	add_heading_cell(view, "total", view->figure_columns);
	add_heading_cell(view, "for clients", 13);
	add_heading_cell(view, "% of self", 11);
	dtc_layout_end_line(view->layout);
	for (guint i = 0; i < get_shown(view, rows->len); i++) {
		guint index = g_array_index(rows, guint, i);
		const struct dtc_usage_process *process = get_process(view, index);
		g_autofree char *tier = make_tier(view, index);
		g_autofree char *served = dtc_scale_format(view->scale, process->served_ns);
		dtc_layout_add_left(view->layout, tier, NAME_COLUMNS, DTC_STYLE_PLAIN);
		add_figure(view, process->cpu_ns, DTC_STYLE_PLAIN);
		add_figure(view, process->sub_ns, DTC_STYLE_PLAIN);
		add_figure(view, get_total_ns(process), DTC_STYLE_BOLD);
		dtc_layout_add_right(view->layout, served, 13, DTC_STYLE_PLAIN);
		dtc_layout_add_space(view->layout, 4);
		add_percent(view, process->served_ns, process->cpu_ns, DTC_STYLE_PLAIN);
		dtc_layout_end_line(view->layout);
	}
	add_more(view, rows->len, get_shown(view, rows->len));
	dtc_layout_add_paragraph(
		view->layout,
		"A server's thread works for a client from the read of its message to the last write of the "
		"answer, and so do its own servers. Nobody is charged for work after the answer, for "
		"awaiting the next message and accepting, for threads that neither read nor answer, and for the "
		"kernel's.",
		0);
}

static const struct dtc_usage_server *get_server(const struct view *view, guint index)
{
	return &g_array_index(view->input->usage->servers, struct dtc_usage_server, index);
}

static void add_server(const struct view *view, const struct dtc_usage_server *server,
		       const struct dtc_usage_server *root)
{
	g_autofree char *name = server->process == G_MAXUINT ? dtc_printable(server->host, DTC_PRINTABLE_MAX)
							     : make_tier(view, server->process);
	bool is_root = server->depth == 0;

	if (is_root)
		dtc_layout_add_space(view->layout, 9);
	else
		add_count(view, server->messages, 9);
	add_figure(view, server->time_ns, DTC_STYLE_PLAIN);
	add_percent(view, server->time_ns, root->time_ns, DTC_STYLE_DIM);
	add_figure(view, server->total_ns, DTC_STYLE_PLAIN);
	add_percent(view, server->total_ns, root->total_ns, DTC_STYLE_DIM);
	dtc_layout_add_space(view->layout, 2);
	if (!is_root) {
		dtc_layout_add_space(view->layout, 2 * (MIN(server->depth, 8) - 1));
		dtc_layout_add(view->layout, DTC_STYLE_DIM, "└ ");
	}
	dtc_layout_add(view->layout, is_root ? DTC_STYLE_BOLD : DTC_STYLE_PLAIN, "%s", name);
	if (server->process == G_MAXUINT)
		dtc_layout_add(view->layout, DTC_STYLE_DIM, ", not traced");
	dtc_layout_end_line(view->layout);
}

static void add_servers(const struct view *view)
{
	const GArray *servers = view->input->usage->servers;
	guint root = 0, shown = get_shown(view, servers->len);

	if (servers->len == 0)
		return;
	dtc_layout_add_heading(view->layout, "Who served whom",
			       "beneath each client its servers, beneath them theirs for it");
	add_heading_cell(view, "requests", 9);
	add_heading_cell(view, "time", view->figure_columns);
	add_heading_cell(view, "%", 7);
	add_heading_cell(view, "CPU", view->figure_columns);
	add_heading_cell(view, "%", 7);
	dtc_layout_add(view->layout, DTC_STYLE_DIM, "  in %s", view->scale.unit);
	dtc_layout_end_line(view->layout);
	for (guint i = 0; i < shown; i++) {
		const struct dtc_usage_server *server = get_server(view, i);
		if (server->depth == 0)
			root = i;
		add_server(view, server, get_server(view, root));
	}
	add_more(view, servers->len, shown);
	dtc_layout_add_paragraph(
		view->layout,
		"Both with all that stands beneath. time: from the read of a request to the last write "
		"of its answer; requests that are served side by side count each.",
		0);
}

static gint compare_edges(gconstpointer a, gconstpointer b, gpointer data)
{
	const GArray *edges = data;
	guint i = *(const guint *)a, k = *(const guint *)b;
	const struct dtc_usage_edge *x = &g_array_index(edges, struct dtc_usage_edge, i);
	const struct dtc_usage_edge *y = &g_array_index(edges, struct dtc_usage_edge, k);

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	if (x->messages != y->messages)
		return x->messages > y->messages ? -1 : 1;
	return i < k ? -1 : i > k;
}

static void add_edges(const struct view *view)
{
	const GArray *edges = view->input->usage->edges;
	g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(guint));

	if (edges->len == 0)
		return;
	for (guint i = 0; i < edges->len; i++)
		g_array_append_val(order, i);
	g_array_sort_with_data(order, compare_edges, (gpointer)edges);
	dtc_layout_add_heading(view->layout, "Who talks to whom", "and the server's CPU time for it");
	add_heading_cell(view, "messages", 9);
	add_heading_cell(view, "bytes", BYTES_COLUMNS);
	add_heading_cell(view, "answer", BYTES_COLUMNS);
	add_heading_cell(view, view->scale.unit, view->figure_columns);
	dtc_layout_add(view->layout, DTC_STYLE_DIM, "  from → to");
	dtc_layout_end_line(view->layout);
	for (guint i = 0; i < get_shown(view, order->len); i++) {
		const struct dtc_usage_edge *edge =
			&g_array_index(edges, struct dtc_usage_edge, g_array_index(order, guint, i));
		g_autofree char *from = edge->from == G_MAXUINT ? dtc_printable(edge->host, DTC_PRINTABLE_MAX)
								: make_tier(view, edge->from);
		g_autofree char *to = make_tier(view, edge->to);
		add_count(view, edge->messages, 9);
		add_bytes(view, edge->bytes);
		add_bytes(view, edge->answer_bytes);
		add_figure(view, edge->cpu_ns, DTC_STYLE_PLAIN);
		dtc_layout_add(view->layout, DTC_STYLE_PLAIN, "  %s → %s", from, to);
		dtc_layout_add(view->layout, DTC_STYLE_DIM, " %s%s", dtc_usage_channel_to_string(edge->channel),
			       edge->from == G_MAXUINT ? ", not traced" : "");
		dtc_layout_end_line(view->layout);
	}
	add_more(view, order->len, get_shown(view, order->len));
}

char *dtc_usage_to_text(const struct dtc_usage_input *input, const struct dtc_usage_view_options *options)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(options->width, options->has_color, options->has_utf8);
	int64_t widest_ns = 0;
	struct view view = {
		.input = input,
		.options = options,
		.layout = layout,
		.scale = options->is_exact ? dtc_scale_get(0, TRUE)
					   : dtc_scale_get(G_GINT64_CONSTANT(1000000000), FALSE),
	};

	for (guint i = 0; i < input->usage->node_count; i++)
		widest_ns = MAX(widest_ns, input->usage->nodes[i].span_ns * input->usage->nodes[i].cpu_count);
	for (guint i = 0; i < input->usage->files->len; i++)
		widest_ns = MAX(widest_ns, g_array_index(input->usage->files, struct dtc_usage_file, i).blocked_ns);
	for (guint i = 0; i < input->usage->servers->len; i++)
		widest_ns = MAX(widest_ns, g_array_index(input->usage->servers, struct dtc_usage_server, i).time_ns);
	g_autofree char *widest = dtc_scale_format(view.scale, widest_ns);
	view.figure_columns = MAX(9, strlen(widest) + 1);
	add_cpu(&view);
	add_io(&view);
	add_files(&view);
	if (input->memory)
		dtc_memory_add_text(layout, input->memory, options->limit);
	add_accounting(&view);
	add_servers(&view);
	add_edges(&view);
	dtc_finding_list_add_text(view.layout, input->findings);
	/* the first heading's blank line */
	char *text = dtc_layout_steal(layout);
	if (*text == '\n')
		memmove(text, text + 1, strlen(text));
	return text;
}
