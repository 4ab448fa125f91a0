/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain stats: what a bundle holds, per node and per kind of event. Nothing is analysed, everything is read. */
#include "analyze/cli/command.h"
#include "analyze/cli/options.h"
#include "analyze/cli/terminal.h"
#include "analyze/report/finding_list.h"
#include "analyze/report/json_object.h"
#include "analyze/report/layout.h"
#include "analyze/report/printable.h"
#include "analyze/report/units.h"
#include "collect/read/capture.h"
#include "collect/read/reader.h"
#include "dtrace-chain/error.h"

#include <stdio.h>
#include <string.h>

#define PROGRESS_STEP 4096 /* events between two updates of a counter that other threads read */
#define PROGRESS_WAIT_US 200000
#define KINDS_SHOWN 40	   /* in the text; JSON has them all */
#define NODES_BESIDE 5	   /* nodes with a column of their own in the table of kinds */

/* One kernel trace, or all captures of a node: read by one thread. */
struct source {
	const struct dtc_bundle_node *node;
	guint node_index;
	bool is_capture;
	gint steps; /* atomic, for the progress line */
	/* results */
	DtcFindings *findings;
	GError *error;
	char *backend;
	guint64 events;
	guint64 lost_events;
	int64_t begin_ns; /* valid if events > 0 */
	int64_t end_ns;
	guint64 packets;
	GHashTable *kinds; /* owned printable name -> owned guint64 */
};

struct kind {
	const char *name; /* borrowed from a source */
	guint64 count;	  /* over all nodes, or of one node */
};

static void source_clear(void *data)
{
	struct source *source = data;
	dtc_findings_free(source->findings);
	g_clear_error(&source->error);
	g_free(source->backend);
	if (source->kinds)
		g_hash_table_unref(source->kinds);
}

/* ---- reading ---- */

static void add_kind(GHashTable *kinds, const char *name, guint64 count)
{
	if (count == 0)
		return;
	char *key = dtc_printable(name, DTC_PRINTABLE_MAX);
	guint64 *sum = g_hash_table_lookup(kinds, key);
	if (sum) {
		*sum += count; /* names of a hostile trace may become the same when they are made printable */
		g_free(key);
		return;
	}
	sum = g_new(guint64, 1);
	*sum = count;
	g_hash_table_insert(kinds, key, sum);
}

static void read_kernel(struct source *source)
{
	g_autoptr(DtcReader) reader = dtc_reader_open(source->node->name, source->node->kernel_path, &source->error);
	if (!reader)
		return;
	source->backend = g_strdup(dtc_reader_get_backend(reader));
	const struct dtc_event *event;
	while ((event = dtc_reader_next(reader))) {
		if (event->kind == DTC_EVENT_LOST)
			continue;
		if (source->events == 0)
			source->begin_ns = event->time_ns;
		source->end_ns = event->time_ns;
		if (++source->events % PROGRESS_STEP == 0)
			g_atomic_int_inc(&source->steps);
	}
	if (!dtc_reader_finish(reader, source->findings, &source->error))
		return;
	source->lost_events = dtc_reader_get_lost_count(reader);
	for (guint i = 0; i < dtc_reader_get_event_name_count(reader); i++)
		add_kind(source->kinds, dtc_reader_get_event_name(reader, i), dtc_reader_get_event_count(reader, i));
}

static void read_captures(struct source *source)
{
	for (char **path = source->node->pcap_paths; *path; path++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(DtcCapture) capture = dtc_capture_open(source->node->name, *path, &error);
		if (!capture) {
			dtc_findings_add(source->findings, DTC_SEVERITY_ERROR, true, source->node->name, "%.*s",
					 (int)strcspn(error->message, "\n"), error->message);
			if (!source->error)
				source->error = g_steal_pointer(&error);
			continue;
		}
		while (dtc_capture_next(capture))
			if (++source->packets % PROGRESS_STEP == 0)
				g_atomic_int_inc(&source->steps);
		dtc_capture_finish(capture, source->findings);
	}
}

static void read_source(void *data, void *finished)
{
	struct source *source = data;
	if (source->is_capture)
		read_captures(source);
	else
		read_kernel(source);
	g_async_queue_push(finished, source);
}

static void show_reading(const GArray *sources, guint finished_count, DtcProgress *progress)
{
	guint64 steps = 0;
	if (!dtc_progress_is_due(progress))
		return;
	for (guint i = 0; i < sources->len; i++)
		steps += (guint64)g_atomic_int_get(&g_array_index(sources, struct source, i).steps);
	dtc_progress_show(progress, "reading: %u of %u recordings, %.1f M events", finished_count, sources->len,
			  (double)(steps * PROGRESS_STEP) / 1e6);
}

static void add_source(GArray *sources, const struct dtc_bundle_node *node, guint index, bool is_capture)
{
	struct source source = { .node = node, .node_index = index, .is_capture = is_capture };
	source.findings = dtc_findings_new();
	source.kinds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_array_append_val(sources, source);
}

/* Reads everything in parallel. Findings are collected in the order of the nodes, whoever ended first. */
static GArray *read_bundle(const DtcBundle *bundle, bool is_quiet, DtcFindings *findings, GError **error)
{
	GArray *sources = g_array_new(FALSE, FALSE, sizeof(struct source));
	g_array_set_clear_func(sources, source_clear);
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const struct dtc_bundle_node *node = dtc_bundle_get_node(bundle, i);
		if (node->kernel_path)
			add_source(sources, node, i, false);
		if (node->pcap_paths[0])
			add_source(sources, node, i, true);
	}
	g_autoptr(DtcProgress) progress = dtc_progress_new(is_quiet);
	GAsyncQueue *finished = g_async_queue_new();
	int thread_count = (int)MIN(g_get_num_processors(), sources->len);
	GThreadPool *pool = g_thread_pool_new(read_source, finished, MAX(thread_count, 1), FALSE, error);
	if (!pool) {
		g_async_queue_unref(finished);
		g_array_unref(sources);
		return NULL;
	}
	for (guint i = 0; i < sources->len; i++)
		g_thread_pool_push(pool, &g_array_index(sources, struct source, i), NULL);
	for (guint count = 0; count < sources->len;) {
		if (g_async_queue_timeout_pop(finished, PROGRESS_WAIT_US))
			count++;
		show_reading(sources, count, progress);
	}
	g_thread_pool_free(pool, FALSE, TRUE);
	g_async_queue_unref(finished);

	guint failed_count = 0;
	for (guint i = 0; i < sources->len; i++) {
		struct source *source = &g_array_index(sources, struct source, i);
		if (source->error && !source->is_capture)
			dtc_findings_add(source->findings, DTC_SEVERITY_ERROR, true, source->node->name, "%.*s",
					 (int)strcspn(source->error->message, "\n"), source->error->message);
		failed_count += source->error && source->packets == 0;
		dtc_findings_move(findings, source->findings);
	}
	if (sources->len > 0 && failed_count == sources->len) {
		struct source *first = &g_array_index(sources, struct source, 0);
		g_propagate_error(error, g_steal_pointer(&first->error));
		g_array_unref(sources);
		return NULL;
	}
	return sources;
}

/* ---- what the views show ---- */

/* The kernel trace or the captures of a node; NULL if it has none. */
static const struct source *find_source(const GArray *sources, guint node_index, bool is_capture)
{
	for (guint i = 0; i < sources->len; i++) {
		const struct source *source = &g_array_index(sources, struct source, i);
		if (source->node_index == node_index && source->is_capture == is_capture)
			return source;
	}
	return NULL;
}

static int compare_kinds(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The kinds of one source, or of all (NULL), most frequent first. Names are borrowed from the sources. */
static GArray *list_kinds(const GArray *sources, const struct source *only)
{
	g_autoptr(GHashTable) index = g_hash_table_new(g_str_hash, g_str_equal); /* name -> position + 1 */
	GArray *kinds = g_array_new(FALSE, FALSE, sizeof(struct kind));
	for (guint i = 0; i < sources->len; i++) {
		const struct source *source = &g_array_index(sources, struct source, i);
		if (only && source != only)
			continue;
		GHashTableIter iter;
		void *name, *count;
		g_hash_table_iter_init(&iter, source->kinds);
		while (g_hash_table_iter_next(&iter, &name, &count)) {
			guint position = GPOINTER_TO_UINT(g_hash_table_lookup(index, name));
			if (position > 0) {
				g_array_index(kinds, struct kind, position - 1).count += *(guint64 *)count;
				continue;
			}
			struct kind kind = { name, *(guint64 *)count };
			g_array_append_val(kinds, kind);
			g_hash_table_insert(index, name, GUINT_TO_POINTER(kinds->len));
		}
	}
	g_array_sort(kinds, compare_kinds);
	return kinds;
}

static guint64 get_total(const GArray *sources, bool is_lost)
{
	guint64 total = 0;
	for (guint i = 0; i < sources->len; i++) {
		const struct source *source = &g_array_index(sources, struct source, i);
		total += is_lost ? source->lost_events : source->events;
	}
	return total;
}

/* ---- JSON ---- */

static void add_json_node(GString *out, const GArray *sources, const struct dtc_bundle_node *node, guint index)
{
	const struct source *kernel = find_source(sources, index, false);
	const struct source *capture = find_source(sources, index, true);
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
	g_string_append_printf(out, " \"packets\": %" G_GUINT64_FORMAT "}", capture ? capture->packets : 0);
}

static char *write_json(const DtcBundle *bundle, const GArray *sources, const DtcFindings *findings)
{
	GString *out = g_string_new("{");
	dtc_json_add_text(out, "schema", "dtrace-chain/stats/1");
	dtc_json_add_integer(out, "events", (int64_t)get_total(sources, false));
	dtc_json_add_integer(out, "lost_events", (int64_t)get_total(sources, true));
	dtc_json_append_key(out, "nodes");
	g_string_append_c(out, '[');
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++)
		add_json_node(out, sources, dtc_bundle_get_node(bundle, i), i);
	g_string_append_c(out, ']');
	dtc_finding_list_add_json(out, findings);
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

static void add_node_row(DtcLayout *layout, const GArray *sources, const struct dtc_bundle_node *node, guint index)
{
	const struct source *kernel = find_source(sources, index, false);
	const struct source *capture = find_source(sources, index, true);
	add_name(layout, node->name, 18);
	if (kernel && kernel->events > 0) {
		int64_t span_ns = kernel->end_ns - kernel->begin_ns;
		g_autofree char *span = dtc_duration_format(span_ns);
		add_cell(layout, 12, "%" G_GUINT64_FORMAT, kernel->events);
		add_cell(layout, 10, "%" G_GUINT64_FORMAT, kernel->lost_events);
		add_cell(layout, 12, "%s", span);
		if (span_ns > 0)
			add_cell(layout, 12, "%.0f/s", (double)kernel->events * 1e9 / (double)span_ns);
		else
			add_cell(layout, 12, "-");
	} else {
		add_cell(layout, 12, kernel ? "0" : "-");
		add_cell(layout, 10, "-");
		add_cell(layout, 12, "-");
		add_cell(layout, 12, "-");
	}
	if (capture)
		add_cell(layout, 12, "%" G_GUINT64_FORMAT, capture->packets);
	else
		add_cell(layout, 12, "-");
	dtc_layout_end_line(layout);
}

static void add_kind_rows(DtcLayout *layout, const DtcBundle *bundle, const GArray *sources)
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
	for (guint n = 0; n < beside; n++) {
		g_autofree char *printable = dtc_printable(dtc_bundle_get_node(bundle, n)->name, DTC_PRINTABLE_MAX);
		g_autofree char *fitted = dtc_printable_fit(printable, 10);
		add_cell(layout, 11, "%s", fitted);
	}
	dtc_layout_end_line(layout);
	for (guint i = 0; i < MIN(kinds->len, KINDS_SHOWN); i++) {
		const struct kind *kind = &g_array_index(kinds, struct kind, i);
		add_name(layout, kind->name, name_columns);
		add_cell(layout, 11, "%" G_GUINT64_FORMAT, kind->count);
		for (guint n = 0; n < beside; n++) {
			const struct source *kernel = find_source(sources, n, false);
			const guint64 *count = kernel ? g_hash_table_lookup(kernel->kinds, kind->name) : NULL;
			add_cell(layout, 11, "%" G_GUINT64_FORMAT, count ? *count : 0);
		}
		dtc_layout_end_line(layout);
	}
	if (kinds->len > KINDS_SHOWN) {
		dtc_layout_add(layout, DTC_STYLE_DIM, "and %u more kinds; --format json has them all",
			       kinds->len - KINDS_SHOWN);
		dtc_layout_end_line(layout);
	}
}

static char *write_text(const DtcBundle *bundle, const GArray *sources, const DtcFindings *findings)
{
	struct dtc_terminal terminal = dtc_terminal_get();
	g_autoptr(DtcLayout) layout = dtc_layout_new(terminal.width, terminal.has_color, terminal.has_utf8);
	static const struct {
		const char *name;
		guint columns;
	} headings[] = { { "EVENTS", 12 }, { "LOST", 10 }, { "SPAN", 12 }, { "RATE", 12 }, { "PACKETS", 12 } };
	add_name(layout, "NODE", 18);
	for (gsize i = 0; i < G_N_ELEMENTS(headings); i++)
		add_cell(layout, headings[i].columns, "%s", headings[i].name);
	dtc_layout_end_line(layout);
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++)
		add_node_row(layout, sources, dtc_bundle_get_node(bundle, i), i);
	add_kind_rows(layout, bundle, sources);
	dtc_finding_list_add_text(layout, findings);
	return dtc_layout_steal(layout);
}

/* ---- the command ---- */

static bool run(struct dtc_common_options *options, int *argc, char ***argv, bool *ret_complete, GError **error)
{
	g_autoptr(GOptionContext) context = g_option_context_new("[BUNDLE]");
	g_option_context_set_summary(context,
				     "What a bundle holds: events of each kind and node, spans, lost events, packets.");
	dtc_common_options_add(options, context);
	bool is_json;
	if (!g_option_context_parse(context, argc, argv, error) ||
	    !dtc_common_options_get_json(options, &is_json, error))
		return false;
	g_autoptr(DtcBundle) bundle = dtc_common_options_open_bundle(options, *argc, *argv, error);
	if (!bundle)
		return false;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GArray) sources = read_bundle(bundle, options->quiet, findings, error);
	if (!sources)
		return false;
	g_autofree char *text = is_json ? write_json(bundle, sources, findings) : write_text(bundle, sources, findings);
	*ret_complete = dtc_findings_get_complete(findings);
	return dtc_terminal_write(text, error);
}

int dtc_command_stats(int argc, char **argv)
{
	struct dtc_common_options options = { 0 };
	g_autoptr(GError) error = NULL;
	bool is_complete = true;
	int code = run(&options, &argc, &argv, &is_complete, &error) ? 0 : dtc_cli_report_error(error);
	if (code == 0 && !is_complete)
		code = 3;
	dtc_common_options_clear(&options);
	return code;
}
