/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/options.h"

#include "dtrace-chain/error.h"

#include <string.h>

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

void dtc_common_options_add(struct dtc_common_options *options, GOptionContext *context)
{
	/* GOption has one signature for callbacks and stores them as plain pointers. */
	union {
		GOptionArgFunc function;
		void *pointer;
	} nodes = { .function = add_nodes };
	const GOptionEntry entries[] = {
		{ "bundle", 0, 0, G_OPTION_ARG_FILENAME, &options->bundle,
		  "Directory with the recordings (default: first argument, else .)", "DIR" },
		{ "nodes", 0, 0, G_OPTION_ARG_CALLBACK, nodes.pointer, "Only these nodes of the bundle", "A,B,..." },
		{ "node", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->node_paths,
		  "Add a node from a CTF directory or a capture; repeatable", "NAME=PATH" },
		{ "format", 0, 0, G_OPTION_ARG_STRING, &options->format, "Output: text or json (default: text)",
		  "FORMAT" },
		{ "sync", 0, 0, G_OPTION_ARG_FILENAME, &options->sync_file,
		  "Take the clock maps from here (sync --save, or written by hand)", "FILE" },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &options->quiet, "No progress on the terminal", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	GOptionGroup *group = g_option_context_get_main_group(context);

	if (!group) {
		group = g_option_group_new("main", "", "", options, NULL);
		g_option_context_set_main_group(context, group);
	}
	g_option_group_add_entries(group, entries);
}

void dtc_common_options_clear(struct dtc_common_options *options)
{
	g_free(options->bundle);
	g_free(options->format);
	g_free(options->sync_file);
	g_strfreev(options->nodes);
	g_strfreev(options->node_paths);
	memset(options, 0, sizeof(*options));
}

static bool add_node_path(DtcBundle *bundle, const char *assignment, GError **error)
{
	const char *equals = strchr(assignment, '=');

	if (!equals || equals == assignment || !equals[1]) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "--node '%s' is not of the form NAME=PATH\nfor example --node web=recordings/web/kernel",
			    assignment);
		return false;
	}
	g_autofree char *name = g_strndup(assignment, (gsize)(equals - assignment));
	return dtc_bundle_add_node(bundle, name, equals + 1, error);
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
	if (!path && !options->node_paths)
		path = ".";

	g_autoptr(DtcBundle) bundle = dtc_bundle_open(path, error);
	if (!bundle)
		return NULL;
	for (char **assignment = options->node_paths; assignment && *assignment; assignment++)
		if (!add_node_path(bundle, *assignment, error))
			return NULL;
	if (options->nodes && !dtc_bundle_select(bundle, (const char *const *)options->nodes, error))
		return NULL;
	return g_steal_pointer(&bundle);
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
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "unknown format '%s'\nthe formats are text and json",
		    options->format);
	return false;
}
