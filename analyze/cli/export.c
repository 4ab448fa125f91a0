/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/export.h"

#include "analyze/report/dot.h"
#include "analyze/report/folded.h"
#include "analyze/report/html.h"
#include "analyze/report/otlp.h"
#include "analyze/report/perfetto.h"
#include "analyze/report/report_of.h"
#include "collect/bundle/output.h"
#include "dtrace-chain/error.h"
#include "dtrace-chain/manifest.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

/* A page stays under 10 MB and answers within 100 ms; a trace viewer is made for more. */
static const struct dtc_lanes_options page_limits = { .max_lanes = 200, .max_bars = 100000, .max_messages = 5000 };
static const struct dtc_lanes_options trace_limits = {
	.max_lanes = 2000,
	.max_bars = 500000,
	.max_messages = 100000,
};

#define OUTPUTS 5

static void list_outputs(const struct dtc_export_options *options, const char *paths[OUTPUTS])
{
	paths[0] = options->html;
	paths[1] = options->perfetto;
	paths[2] = options->otlp;
	paths[3] = options->folded;
	paths[4] = options->dot;
}

void dtc_export_options_add(struct dtc_export_options *options, DtcCommandLine *line)
{
	const GOptionEntry entries[] = {
		{ "html", 0, 0, G_OPTION_ARG_FILENAME, &options->html, "A page for the browser", "FILE" },
		{ "perfetto", 0, 0, G_OPTION_ARG_FILENAME, &options->perfetto, "A trace for ui.perfetto.dev", "FILE" },
		{ "otlp", 0, 0, G_OPTION_ARG_FILENAME, &options->otlp, "Spans as OpenTelemetry JSON (OTLP)", "FILE" },
		{ "folded", 0, 0, G_OPTION_ARG_FILENAME, &options->folded, "Collapsed stacks (flame graphs)", "FILE" },
		{ "dot", 0, 0, G_OPTION_ARG_FILENAME, &options->dot, "The path's threads for Graphviz", "FILE" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	dtc_command_line_add(line, DTC_HEADING_FILES, entries, NULL);
}

void dtc_export_options_clear(struct dtc_export_options *options)
{
	g_free(options->html);
	g_free(options->perfetto);
	g_free(options->otlp);
	g_free(options->folded);
	g_free(options->dot);
}

/* Where the path leads once links are followed; the file itself need not be there. NULL: its folder is missing. */
static char *resolve(const char *path)
{
	g_autofree char *whole = g_canonicalize_filename(path, NULL);
	char *real = realpath(whole, NULL);

	if (real) {
		char *copy = g_strdup(real);
		free(real);
		return copy;
	}
	g_autofree char *folder = g_path_get_dirname(whole);
	g_autofree char *name = g_path_get_basename(whole);
	real = realpath(folder, NULL);
	if (!real)
		return NULL;
	char *joined = g_build_filename(real, name, NULL);
	free(real);
	return joined;
}

static bool is_below(const char *path, const char *folder)
{
	g_autofree char *real = resolve(folder);

	return real && g_str_has_prefix(path, real) && path[strlen(real)] == '/';
}

static bool is_same_file(const char *path, const char *other)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool set_is_input(const char *path, const char *node, GError **error)
{
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
		    "'%s' belongs to the recording of '%s'\nname a file outside of the recording", path, node);
	return false;
}

/* The packed file itself, or the manifest of a tree. */
static bool is_bundle_itself(const char *real, const DtcBundle *bundle)
{
	const char *source = dtc_bundle_get_source(bundle);

	if (!source)
		return false;
	g_autofree char *manifest = g_build_filename(source, DTC_MANIFEST_NAME, NULL);
	return is_same_file(real, source) || is_same_file(real, manifest);
}

static bool check_output(const char *path, const DtcBundle *bundle, GError **error)
{
	struct stat info;
	g_autofree char *real = resolve(path);

	if (!*path || !real) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "cannot write '%s': there is no such folder\ncreate it first, or name another file", path);
		return false;
	}
	if (stat(real, &info) == 0 && S_ISDIR(info.st_mode)) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "cannot write '%s': it is a folder\nname a file in it", path);
		return false;
	}
	if (is_bundle_itself(real, bundle)) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "'%s' is the bundle, or its manifest\nname another file", path);
		return false;
	}
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const struct dtc_bundle_node *node = dtc_bundle_get_node(bundle, i);
		if (node->kernel_path && is_below(real, node->kernel_path))
			return set_is_input(path, node->name, error);
		for (guint j = 0; node->pcap_paths[j]; j++)
			if (is_same_file(real, node->pcap_paths[j]))
				return set_is_input(path, node->name, error);
	}
	return true;
}

bool dtc_export_check_file(const char *path, const DtcBundle *bundle, GError **error)
{
	return !path || check_output(path, bundle, error);
}

bool dtc_export_options_check(const struct dtc_export_options *options, const DtcBundle *bundle, GError **error)
{
	const char *paths[OUTPUTS];

	list_outputs(options, paths);
	for (guint i = 0; i < OUTPUTS; i++) {
		if (!paths[i])
			continue;
		if (!check_output(paths[i], bundle, error))
			return false;
		g_autofree char *real = resolve(paths[i]);
		for (guint j = 0; j < i; j++) {
			g_autofree char *other = paths[j] ? resolve(paths[j]) : NULL;
			if (!other || strcmp(real, other) != 0)
				continue;
			g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
				    "'%s' is named for two outputs\ngive each a file of its own", paths[i]);
			return false;
		}
	}
	return true;
}

bool dtc_export_write_text(const char *path, const char *text, GError **error)
{
	return dtc_output_write(path, text, strlen(text), error);
}

static bool write_text(const char *path, char *text, GError **error)
{
	g_autofree char *owned = text;

	return dtc_export_write_text(path, owned, error);
}

static bool write_bytes(const char *path, GBytes *bytes, GError **error)
{
	g_autoptr(GBytes) owned = bytes;
	gsize count;
	const char *data = g_bytes_get_data(owned, &count);

	return dtc_output_write(path, data, count, error);
}

static bool write_page(const char *file, const DtcReport *report, const DtcPath *path, const DtcEngine *engine,
		       GError **error)
{
	g_autoptr(DtcLanes) lanes = dtc_lanes_new(report, path, dtc_engine_get_links(engine), &page_limits);
	DtcClusterTime middle = { report->begin_ns + report->duration_ns / 2 };
	g_autoptr(DtcQuality) quality = dtc_quality_of(engine, middle);

	return write_text(file, dtc_report_to_html(report, lanes, quality), error);
}

static bool write_trace(const char *file, const DtcReport *report, const DtcPath *path, const DtcEngine *engine,
			GError **error)
{
	g_autoptr(DtcLanes) lanes = dtc_lanes_new(report, path, dtc_engine_get_links(engine), &trace_limits);

	return write_bytes(file, dtc_report_to_perfetto(report, lanes), error);
}

bool dtc_export_write(const struct dtc_export_options *options, const DtcReport *report, const DtcPath *path,
		      const DtcEngine *engine, GError **error)
{
	return (!options->html || write_page(options->html, report, path, engine, error)) &&
	       (!options->perfetto || write_trace(options->perfetto, report, path, engine, error)) &&
	       (!options->otlp || write_text(options->otlp, dtc_report_to_otlp(report), error)) &&
	       (!options->folded || write_text(options->folded, dtc_report_to_folded(report), error)) &&
	       (!options->dot || write_text(options->dot, dtc_report_to_dot(report), error));
}
