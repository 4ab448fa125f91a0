/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/options.h"

#include "analyze/engine/open.h"
#include "collect/bundle/suggest.h"
#include "collect/console/printable.h"
#include "collect/console/quantity.h"
#include "dtrace-chain/error.h"

#include <stdio.h>
#include <string.h>

#define DTC_CACHE_VARIABLE "DTRACE_CHAIN_CACHE"

static gboolean add_nodes(const char *option, const char *value, void *data, GError **error)
{
	struct dtc_common_options *options = data;
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	g_auto(GStrv) parts = g_strsplit(value, ",", -1);
	guint count = 0;

	if (options->nodes)
		g_strv_builder_addv(names, (const char **)options->nodes);
	for (char **part = parts; *part; part++) {
		const char *name = g_strstrip(*part);
		if (!*name)
			continue;
		g_strv_builder_add(names, name);
		count++;
	}
	if (count == 0) {
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s names no node", option);
		return FALSE;
	}
	g_strfreev(options->nodes);
	options->nodes = g_strv_builder_end(names);
	return TRUE;
}

static gboolean set_reader(const char *option, const char *value, void *data, GError **error)
{
	static const char *const names[] = {
		[DTC_READER_AUTO] = "auto",
		[DTC_READER_FAST] = "fast",
		[DTC_READER_REFERENCE] = "reference",
	};
	struct dtc_common_options *options = data;

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		options->reader = (enum dtc_reader_choice)i;
		return TRUE;
	}
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
		    "%s '%s' is none of auto, fast, reference\nfor example %s=auto", option, value, option);
	return FALSE;
}

static gboolean set_color(const char *option, const char *value, void *data, GError **error)
{
	static const char *const names[] = { "auto", "always", "never" };
	struct dtc_common_options *options = data;

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		if (strcmp(value, names[i]) == 0) {
			options->color = (enum dtc_color)i;
			return TRUE;
		}
	}
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
		    "%s '%s' is none of auto, always, never\n"
		    "auto is colour on a terminal, unless NO_COLOR is set",
		    option, value);
	return FALSE;
}

static gboolean set_max_unpacked(const char *option, const char *value, void *data, GError **error)
{
	struct dtc_common_options *options = data;

	return dtc_size_parse(option, value, &options->max_unpacked_bytes, error);
}

static gboolean set_cache_size(const char *option, const char *value, void *data, GError **error)
{
	struct dtc_common_options *options = data;

	return dtc_size_parse(option, value, &options->cache_bytes, error);
}

void dtc_common_options_add(struct dtc_common_options *options, DtcCommandLine *line)
{
	/* GOption has one signature for callbacks and stores them as plain pointers. */
	union {
		GOptionArgFunc function;
		void *pointer;
	} nodes = { .function = add_nodes }, color = { .function = set_color },
	  max_unpacked = { .function = set_max_unpacked }, reader = { .function = set_reader },
	  cache_size = { .function = set_cache_size };
	const GOptionEntry entries[] = {
		{ "bundle", 0, 0, G_OPTION_ARG_FILENAME, &options->bundle,
		  "Directory or .dtcb file with the recordings (default: first argument, else .)", "BUNDLE" },
		{ "nodes", 0, 0, G_OPTION_ARG_CALLBACK, nodes.pointer, "Only these nodes of the bundle", "A,B,..." },
		{ "node", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->node_paths,
		  "Add a node from a CTF directory or a capture; repeatable", "NAME=PATH" },
		{ "cluster", 0, 0, G_OPTION_ARG_FILENAME, &options->cluster,
		  "Names of nodes and tiers, and where recordings lie", "FILE" },
		{ "max-unpacked", 0, 0, G_OPTION_ARG_CALLBACK, max_unpacked.pointer,
		  "A packed bundle may become this large below TMPDIR (default: 64GiB)", "SIZE" },
		{ "cache", 0, 0, G_OPTION_ARG_FILENAME, &options->cache,
		  "Keep what is read here (default: " DTC_CACHE_VARIABLE ", or dtrace-chain in the user's cache)",
		  "DIR|none" },
		{ "cache-size", 0, 0, G_OPTION_ARG_CALLBACK, cache_size.pointer,
		  "Of what is kept there what was used longest ago goes beyond this (default: 4GiB)", "SIZE" },
		{ "sync", 0, 0, G_OPTION_ARG_FILENAME, &options->sync_file,
		  "Take the clock maps from here (sync --save, or written by hand)", "FILE" },
		{ "format", 0, 0, G_OPTION_ARG_STRING, &options->format,
		  "Output for people or for programs (default: text)", "text|json" },
		{ "color", 0, 0, G_OPTION_ARG_CALLBACK, color.pointer,
		  "Colour (default: auto, on a terminal unless NO_COLOR is set)", "auto|always|never" },
		{ "width", 0, 0, G_OPTION_ARG_INT, &options->width,
		  "Columns of the text (default: the terminal's; on a pipe COLUMNS, or 80)", "COLUMNS" },
		{ "utc", 0, 0, G_OPTION_ARG_NONE, &options->is_utc,
		  "Times of day in UTC, printed and read (default: the zone of TZ, or of this machine)", NULL },
		{ "reader", 0, 0, G_OPTION_ARG_CALLBACK, reader.pointer,
		  "What decodes the traces (default: auto, the fast one where it can)", "auto|fast|reference" },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &options->quiet, "No progress on the terminal", NULL },
		{ "verbose", 'v', 0, G_OPTION_ARG_NONE, &options->is_verbose,
		  "Say on stderr what is read; analyze folds nothing", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	dtc_command_line_add(line, DTC_HEADING_COMMON, entries, options);
}

void dtc_common_options_clear(struct dtc_common_options *options)
{
	g_free(options->bundle);
	g_free(options->format);
	g_free(options->sync_file);
	g_free(options->cache);
	g_free(options->cluster);
	g_strfreev(options->nodes);
	g_strfreev(options->node_paths);
	memset(options, 0, sizeof(*options));
}

static struct dtc_open_options get_open_options(const struct dtc_common_options *options, const char *path)
{
	return (struct dtc_open_options){
		.path = path,
		.max_unpacked_bytes = options->max_unpacked_bytes,
		/* what kills a reader kills a process of its own */
		.reader = { .choice = options->reader, .program = "/proc/self/exe" },
		.cluster = options->cluster,
		.node_paths = (const char *const *)options->node_paths,
		.nodes = (const char *const *)options->nodes,
		.owners = options->owners,
	};
}

DtcBundle *dtc_common_options_open_other(const struct dtc_common_options *options, const char *path, GError **error)
{
	const struct dtc_open_options open_options = get_open_options(options, NULL);

	return dtc_open_other(&open_options, path, error);
}

static void say_nodes(const DtcBundle *bundle)
{
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const struct dtc_bundle_node *node = dtc_bundle_get_node(bundle, i);
		g_autofree char *captures = g_strjoinv(", ", node->pcap_paths);
		g_autofree char *text = g_strdup_printf("%s: kernel trace %s, captures %s", node->name,
							node->kernel_path    ? node->kernel_path
							: node->kernel_image ? node->kernel_image
									     : "none",
							*captures	      ? captures
							: node->capture_image ? node->capture_image
									      : "none");
		g_autofree char *printable = dtc_printable(text, 2000);
		fprintf(stderr, "%s\n", printable);
	}
}

DtcBundle *dtc_common_options_open_bundle(const struct dtc_common_options *options, int argc, char **argv,
					  GError **error)
{
	const char *path = options->bundle;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			continue;
		if (path) {
			g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
				    "two bundles given: '%s' and '%s'\n"
				    "a command takes one; --node NAME=PATH adds a node that lies elsewhere",
				    path, argv[i]);
			return NULL;
		}
		path = argv[i];
	}
	const struct dtc_open_options open_options = get_open_options(options, path);
	DtcBundle *bundle = dtc_open_bundle(&open_options, error);
	if (bundle && options->is_verbose)
		say_nodes(bundle);
	return bundle;
}

DtcStore *dtc_common_options_open_store(const struct dtc_common_options *options)
{
	const char *variable = g_getenv(DTC_CACHE_VARIABLE);
	const char *place = options->cache ? options->cache : variable && *variable ? variable : NULL;

	if (g_strcmp0(place, "none") == 0)
		return NULL;
	g_autofree char *own = g_build_filename(g_get_user_cache_dir(), "dtrace-chain", NULL);
	return dtc_store_new(place ? place : own, options->cache_bytes);
}

bool dtc_common_options_get_json(const struct dtc_common_options *options, bool *ret_json, GError **error)
{
	if (!options->format || strcmp(options->format, "text") == 0) {
		*ret_json = false;
		return true;
	}
	if (strcmp(options->format, "json") == 0) {
		*ret_json = true;
		return true;
	}
	static const char *const formats[] = { "text", "json", NULL };
	const char *nearest = dtc_suggest(options->format, formats);
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
		    "unknown format '%s'\n%s%s%sthe formats are text and json", options->format,
		    nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "");
	return false;
}
