/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/bundle_view.h"

#include "analyze/report/finding_list.h"
#include "analyze/report/layout.h"
#include "analyze/report/units.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"

#include <string.h>

#define MAX_PATH_TEXT 4096

static const char *const defect_names[] = { "changed", "missing", "extra", "unreadable" };

bool dtc_bundle_view_is_intact(const struct dtc_bundle_view *view)
{
	if (view->seal_problem)
		return false;
	for (guint i = 0; view->defects && i < view->defects->len; i++)
		if (((const struct dtc_defect *)g_ptr_array_index(view->defects, i))->kind != DTC_DEFECT_EXTRA)
			return false;
	return true;
}

static guint64 get_bytes(const DtcManifest *manifest)
{
	guint64 bytes = 0;
	for (guint i = 0; i < manifest->files->len; i++)
		bytes += ((const struct dtc_manifest_file *)g_ptr_array_index(manifest->files, i))->bytes;
	return bytes;
}

/* ---- text ---- */

/* "7.3 MB" with a plain space, that can be searched for. */
static char *format_size(const DtcManifest *manifest)
{
	g_autofree char *size = g_format_size(get_bytes(manifest));
	g_auto(GStrv) parts = g_strsplit(size, "\u00a0", -1);
	return g_strjoinv(" ", parts);
}

static void add_cell(DtcLayout *layout, const char *text, guint columns)
{
	g_autofree char *printable = dtc_printable(text, DTC_PRINTABLE_MAX);
	g_autofree char *fitted = dtc_printable_fit(printable, columns - 1);
	dtc_layout_add_left(layout, fitted, columns, DTC_STYLE_PLAIN);
}

static void add_count(DtcLayout *layout, guint64 count, guint columns)
{
	g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, count);
	dtc_layout_add_right(layout, text, columns, DTC_STYLE_PLAIN);
}

static void add_line(DtcLayout *layout, const char *text, guint indent)
{
	g_autofree char *printable = dtc_printable(text, MAX_PATH_TEXT);
	dtc_layout_add_paragraph(layout, printable, indent);
}

static void add_nodes(DtcLayout *layout, const DtcManifest *manifest)
{
	add_cell(layout, "NODE", 16);
	dtc_layout_add_right(layout, "EVENTS", 12, DTC_STYLE_PLAIN);
	dtc_layout_add_right(layout, "LOST", 10, DTC_STYLE_PLAIN);
	dtc_layout_add_right(layout, "SPAN", 12, DTC_STYLE_PLAIN);
	dtc_layout_add_right(layout, "PACKETS", 12, DTC_STYLE_PLAIN);
	dtc_layout_add(layout, DTC_STYLE_PLAIN, "  COMPLETE");
	dtc_layout_end_line(layout);
	for (guint i = 0; i < manifest->nodes->len; i++) {
		const struct dtc_manifest_node *node = g_ptr_array_index(manifest->nodes, i);
		int64_t span_ns = 0;
		add_cell(layout, node->name, 16);
		add_count(layout, node->events, 12);
		add_count(layout, node->lost_events, 10);
		bool has_span = node->events && !__builtin_sub_overflow(node->end_ns, node->begin_ns, &span_ns);
		g_autofree char *span = has_span ? dtc_duration_format(span_ns) : g_strdup("-");
		dtc_layout_add_right(layout, span, 12, DTC_STYLE_PLAIN);
		add_count(layout, node->packets, 12);
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "  %s", node->is_complete ? "yes" : "no");
		dtc_layout_end_line(layout);
	}
}

static void add_machines(DtcLayout *layout, const DtcManifest *manifest)
{
	dtc_layout_add_heading(layout, "Machines", NULL);
	for (guint i = 0; i < manifest->nodes->len; i++) {
		const struct dtc_manifest_node *node = g_ptr_array_index(manifest->nodes, i);
		g_autoptr(GString) text = g_string_new(node->name);
		g_autofree char *addresses = g_strjoinv(", ", node->addresses);
		if (*node->role)
			g_string_append_printf(text, ", %s%s%s", node->role, *node->host ? " on " : "", node->host);
		if (node->vcpu_tids->len)
			g_string_append_printf(text, " (%u virtual CPUs)", node->vcpu_tids->len);
		if (*node->release)
			g_string_append_printf(text, ", Linux %s", node->release);
		if (*node->tracer)
			g_string_append_printf(text, ", by %s", node->tracer);
		if (*addresses)
			g_string_append_printf(text, ", %s", addresses);
		if (node->probe_port)
			g_string_append_printf(text, ", probes on UDP port %u", node->probe_port);
		if (node->clock.name)
			g_string_append_printf(text,
					       ", clock %s %s at %" G_GUINT64_FORMAT " Hz, offset %" G_GINT64_FORMAT
					       " s + %" G_GINT64_FORMAT " cycles",
					       node->clock.name, node->clock.uuid, node->clock.frequency_hz,
					       (gint64)node->clock.offset_s, (gint64)node->clock.offset_cycles);
		add_line(layout, text->str, 2);
	}
}

static void add_files(DtcLayout *layout, const DtcManifest *manifest)
{
	dtc_layout_add_heading(layout, "Files", "(the first 16 digits of their SHA-256)");
	for (guint i = 0; i < manifest->files->len; i++) {
		const struct dtc_manifest_file *file = g_ptr_array_index(manifest->files, i);
		g_autofree char *path = dtc_printable(file->path, MAX_PATH_TEXT);
		dtc_layout_add(layout, DTC_STYLE_DIM, "%.16s", file->sha256);
		add_count(layout, file->bytes, 13);
		dtc_layout_add(layout, DTC_STYLE_PLAIN, "  %s", path);
		dtc_layout_end_line(layout);
	}
}

static void add_texts(DtcLayout *layout, const struct dtc_bundle_view *view)
{
	for (guint i = 0; view->asked && view->asked[i]; i++) {
		g_autofree char *text = g_strdup_printf("'%s' is '%s' in it", view->asked[i], view->became[i]);
		if (i == 0)
			dtc_layout_add_heading(layout, "Redacted", NULL);
		add_line(layout, text, 2);
	}
}

static void add_verdict(DtcLayout *layout, const struct dtc_bundle_view *view)
{
	guint bad = 0;

	for (guint i = 0; view->defects && i < view->defects->len; i++) {
		const struct dtc_defect *defect = g_ptr_array_index(view->defects, i);
		bool is_harmless = defect->kind == DTC_DEFECT_EXTRA;
		g_autofree char *text =
			g_strdup_printf("%s: '%s' %s", is_harmless ? "note" : "damaged", defect->path, defect->text);
		add_line(layout, text, 2);
		bad += !is_harmless;
	}
	if (view->seal_problem) {
		g_autofree char *text = g_strdup_printf("damaged: '%s' %s%s", view->name, view->seal_problem,
							bad ? "" : "; the files in it are as they were");
		add_line(layout, text, 2);
	}
	g_autofree char *size = format_size(view->manifest);
	g_autofree char *text =
		bad || view->seal_problem
			? g_strdup_printf("%s is not as it was made: %u of %u files are damaged", view->name, bad,
					  view->manifest->files->len)
			: g_strdup_printf("%s is intact: %u files, %s", view->name, view->manifest->files->len, size);
	add_line(layout, text, 0);
}

char *dtc_bundle_view_to_text(const struct dtc_bundle_view *view, guint width, bool has_color, bool has_utf8)
{
	g_autoptr(DtcLayout) layout = dtc_layout_new(width, has_color, has_utf8);

	if (view->is_check) {
		add_verdict(layout, view);
		return dtc_layout_steal(layout);
	}
	g_autofree char *size = format_size(view->manifest);
	g_autofree char *text =
		g_strdup_printf("%s: %u nodes, %u files, %s, made by %s", view->name, view->manifest->nodes->len,
				view->manifest->files->len, size, view->manifest->creator);
	add_line(layout, text, 2);
	dtc_layout_end_line(layout);
	add_nodes(layout, view->manifest);
	add_machines(layout, view->manifest);
	if (view->lists_files)
		add_files(layout, view->manifest);
	add_texts(layout, view);
	if (view->findings)
		dtc_finding_list_add_text(layout, view->findings);
	return dtc_layout_steal(layout);
}

/* ---- JSON ---- */

static void add_count_member(GString *out, const char *key, guint64 count)
{
	dtc_json_append_key(out, key);
	g_string_append_printf(out, "%" G_GUINT64_FORMAT, count);
}

static void add_clock(GString *out, const struct dtc_clock_class *clock)
{
	if (!clock->name) {
		dtc_json_add_null(out, "clock");
		return;
	}
	dtc_json_append_key(out, "clock");
	g_string_append_c(out, '{');
	dtc_json_add_text(out, "name", clock->name);
	dtc_json_add_text(out, "uuid", clock->uuid);
	add_count_member(out, "frequency_hz", clock->frequency_hz);
	dtc_json_add_integer(out, "offset_s", clock->offset_s);
	dtc_json_add_integer(out, "offset_cycles", clock->offset_cycles);
	g_string_append_c(out, '}');
}

static void add_node(GString *out, const struct dtc_manifest_node *node)
{
	dtc_json_append_separator(out);
	g_string_append(out, "\n  {");
	dtc_json_add_name(out, "node", node->name);
	dtc_json_add_text(out, "role", *node->role ? node->role : NULL);
	dtc_json_add_text(out, "host", *node->host ? node->host : NULL);
	dtc_json_append_key(out, "addresses");
	g_string_append_c(out, '[');
	for (char **address = node->addresses; *address; address++) {
		dtc_json_append_separator(out);
		dtc_json_append_text(out, *address, DTC_PRINTABLE_MAX);
	}
	g_string_append_c(out, ']');
	dtc_json_append_key(out, "vcpu_tids");
	g_string_append_c(out, '[');
	for (guint i = 0; i < node->vcpu_tids->len; i++) {
		dtc_json_append_separator(out);
		g_string_append_printf(out, "%u", g_array_index(node->vcpu_tids, uint32_t, i));
	}
	g_string_append_c(out, ']');
	dtc_json_add_text(out, "release", *node->release ? node->release : NULL);
	dtc_json_add_text(out, "tracer", *node->tracer ? node->tracer : NULL);
	add_clock(out, &node->clock);
	add_count_member(out, "events", node->events);
	add_count_member(out, "lost_events", node->lost_events);
	add_count_member(out, "packets", node->packets);
	if (node->probe_port)
		dtc_json_add_integer(out, "probe_port", node->probe_port);
	else
		dtc_json_add_null(out, "probe_port");
	if (node->events) {
		dtc_json_add_integer(out, "begin_ns", node->begin_ns);
		dtc_json_add_integer(out, "end_ns", node->end_ns);
	} else {
		dtc_json_add_null(out, "begin_ns");
		dtc_json_add_null(out, "end_ns");
	}
	dtc_json_add_bool(out, "complete", node->is_complete);
	g_string_append_c(out, '}');
}

static void add_redacted(GString *out, const struct dtc_bundle_view *view)
{
	if (!view->asked) {
		dtc_json_add_null(out, "redacted");
		return;
	}
	dtc_json_append_key(out, "redacted");
	g_string_append_c(out, '[');
	for (guint i = 0; view->asked[i]; i++) {
		dtc_json_append_separator(out);
		g_string_append_c(out, '{');
		dtc_json_add_text(out, "text", view->asked[i]);
		dtc_json_add_text(out, "became", view->became[i]);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
}

static void add_file(GString *out, const struct dtc_manifest_file *file)
{
	dtc_json_append_separator(out);
	g_string_append(out, "\n  {");
	dtc_json_append_key(out, "path");
	dtc_json_append_text(out, file->path, MAX_PATH_TEXT);
	add_count_member(out, "bytes", file->bytes);
	dtc_json_add_text(out, "sha256", file->sha256);
	g_string_append_c(out, '}');
}

static void add_defects(GString *out, const struct dtc_bundle_view *view)
{
	if (!view->is_check) {
		dtc_json_add_null(out, "intact");
		dtc_json_add_null(out, "defects");
		return;
	}
	dtc_json_add_bool(out, "intact", dtc_bundle_view_is_intact(view));
	dtc_json_append_key(out, "defects");
	g_string_append_c(out, '[');
	for (guint i = 0; i < view->defects->len; i++) {
		const struct dtc_defect *defect = g_ptr_array_index(view->defects, i);
		dtc_json_append_separator(out);
		g_string_append(out, "\n  {");
		dtc_json_add_text(out, "kind", defect_names[defect->kind]);
		dtc_json_append_key(out, "path");
		dtc_json_append_text(out, defect->path, MAX_PATH_TEXT);
		dtc_json_add_text(out, "text", defect->text);
		g_string_append_c(out, '}');
	}
	if (view->seal_problem) {
		dtc_json_append_separator(out);
		g_string_append(out, "\n  {");
		dtc_json_add_text(out, "kind", "seal");
		dtc_json_append_key(out, "path");
		dtc_json_append_text(out, view->name, MAX_PATH_TEXT);
		dtc_json_add_text(out, "text", view->seal_problem);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
}

char *dtc_bundle_view_to_json(const struct dtc_bundle_view *view)
{
	const DtcManifest *manifest = view->manifest;
	GString *out = g_string_new("{");

	dtc_json_add_text(out, "schema", "dtrace-chain/bundle/1");
	dtc_json_add_text(out, "creator", manifest->creator);
	add_count_member(out, "bytes", get_bytes(manifest));
	dtc_json_append_key(out, "nodes");
	g_string_append_c(out, '[');
	for (guint i = 0; i < manifest->nodes->len; i++)
		add_node(out, g_ptr_array_index(manifest->nodes, i));
	g_string_append_c(out, ']');
	dtc_json_append_key(out, "files");
	g_string_append_c(out, '[');
	for (guint i = 0; i < manifest->files->len; i++)
		add_file(out, g_ptr_array_index(manifest->files, i));
	g_string_append_c(out, ']');
	add_defects(out, view);
	add_redacted(out, view);
	g_autoptr(DtcFindings) none = dtc_findings_new();
	dtc_finding_list_add_json(out, view->findings ? view->findings : none);
	g_string_append(out, "}\n");
	return g_string_free(out, FALSE);
}
