/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain sync: how the clocks of the nodes relate, and how sure that is. */
#include "analyze/cli/command.h"
#include "analyze/cli/export.h"
#include "analyze/cli/load.h"
#include "analyze/cli/moment.h"
#include "analyze/cli/options.h"
#include "analyze/cli/terminal.h"
#include "analyze/report/sync_view.h"
#include "collect/bundle/output.h"
#include "dtrace-chain/error.h"
#include "sync/fit/saved.h"

#include <string.h>

struct sync_options {
	struct dtc_common_options common;
	char *messages; /* all strings owned */
	char *reference;
	char *min_delay;
	char *save;
	char *plot;
	double max_drift_ppm;
	double max_wander_ppm;
	bool is_json;
	struct dtc_fit_options fit;
};

static void options_clear(struct sync_options *options)
{
	dtc_common_options_clear(&options->common);
	g_free(options->messages);
	g_free(options->reference);
	g_free(options->min_delay);
	g_free(options->save);
	g_free(options->plot);
}

static bool parse_options(struct sync_options *options, int *argc, char ***argv, GError **error)
{
	const GOptionEntry entries[] = {
		{ "messages", 0, 0, G_OPTION_ARG_FILENAME, &options->messages,
		  "Read messages from a text file instead of a bundle", "FILE" },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock is cluster time (default: the best known)", "NODE" },
		{ "min-delay", 0, 0, G_OPTION_ARG_STRING, &options->min_delay,
		  "No message is faster than this, e.g. 20us (default: 0ns)", "SPAN" },
		{ "max-drift", 0, 0, G_OPTION_ARG_DOUBLE, &options->max_drift_ppm,
		  "Rates of two clocks differ by at most this (default: 500)", "PPM" },
		{ "max-wander", 0, 0, G_OPTION_ARG_DOUBLE, &options->max_wander_ppm,
		  "That difference changes by at most this (default: 2)", "PPM" },
		{ "save", 0, 0, G_OPTION_ARG_FILENAME, &options->save, "Write the clock maps for --sync", "FILE" },
		{ "plot", 0, 0, G_OPTION_ARG_FILENAME, &options->plot, "Draw messages, bounds and maps of every pair",
		  "FILE.svg" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autoptr(DtcCommandLine) line = dtc_command_line_new("sync");

	options->fit = dtc_fit_options_default();
	options->max_drift_ppm = options->fit.max_drift_ppm;
	options->max_wander_ppm = options->fit.max_wander_ppm;
	dtc_common_options_add(&options->common, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
	return dtc_command_line_parse(line, argc, argv, error);
}

static bool check_options(struct sync_options *options, int argc, GError **error)
{
	options->fit.max_drift_ppm = options->max_drift_ppm;
	options->fit.max_wander_ppm = options->max_wander_ppm;
	if (options->min_delay && !dtc_span_parse("--min-delay", options->min_delay, &options->fit.min_delay_ns, error))
		return false;
	if (options->messages &&
	    (argc > 1 || options->common.bundle || options->common.nodes || options->common.node_paths)) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "--messages takes the place of a bundle\ngive either a bundle or --messages FILE");
		return false;
	}
	if (options->common.sync_file) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "--sync is for analyses, and this command makes what it reads\nuse --save FILE to write "
			    "it");
		return false;
	}
	return dtc_common_options_get_json(&options->common, &options->is_json, error);
}

static bool find_reference(struct sync_options *options, const DtcMatches *matches, GError **error)
{
	guint count = dtc_matches_get_node_count(matches);
	for (guint i = 0; options->reference && i < count; i++)
		if (strcmp(dtc_matches_get_node_name(matches, i), options->reference) == 0)
			options->fit.reference = (int)i;
	if (!options->reference || options->fit.reference >= 0)
		return true;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND, "there is no node '%s'\nthe nodes are 0 to %u",
		    options->reference, count - 1);
	return false;
}

static bool save(const struct sync_options *options, const DtcSync *sync, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	for (guint i = 0; i < dtc_sync_get_node_count(sync); i++)
		g_ptr_array_add(names, (gpointer)dtc_sync_get_node_name(sync, i));
	return dtc_clocks_save(dtc_sync_get_clocks(sync), (const char *const *)names->pdata, options->save, error);
}

static bool plot(const struct sync_options *options, const DtcSync *sync, const DtcMatches *matches, GError **error)
{
	g_autofree char *drawing = dtc_sync_to_svg(sync, matches);
	return dtc_output_write(options->plot, drawing, strlen(drawing), error);
}

/* Everything that is asked of a result; files first, so that a full disk does not go unseen behind a printed answer. */
static bool show(const struct sync_options *options, const DtcSync *sync, const DtcMatches *matches,
		 const DtcFindings *findings, bool *ret_complete, GError **error)
{
	if ((options->save && !save(options, sync, error)) || (options->plot && !plot(options, sync, matches, error)))
		return false;
	struct dtc_terminal terminal = dtc_terminal_get(options->common.color);
	g_autofree char *text = options->is_json ? dtc_sync_to_json(sync, findings)
						 : dtc_sync_to_text(sync, findings, terminal.width, terminal.has_color,
								    terminal.has_utf8);
	*ret_complete = dtc_sync_is_complete(sync) && dtc_findings_get_complete(findings);
	return dtc_terminal_write(text, error);
}

static bool align_messages(struct sync_options *options, bool *ret_complete, GError **error)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcMatches) matches = dtc_matches_read_file(options->messages, error);
	if (!matches || !find_reference(options, matches, error))
		return false;
	g_autoptr(DtcSync) sync = dtc_fit_clocks(matches, &options->fit, findings, error);
	return sync && show(options, sync, matches, findings, ret_complete, error);
}

static bool align_bundle(struct sync_options *options, int argc, char **argv, bool *ret_complete, GError **error)
{
	g_autoptr(DtcBundle) bundle = dtc_common_options_open_bundle(&options->common, argc, argv, error);
	if (!bundle || !dtc_export_check_file(options->save, bundle, error) ||
	    !dtc_export_check_file(options->plot, bundle, error))
		return false;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcProgress) progress = dtc_progress_new(options->common.quiet);
	const struct dtc_load_options load_options = {
		.reference = options->reference,
		.fit = &options->fit,
		.clocks_only = true,
	};
	g_autoptr(DtcLoad) load = dtc_load_bundle(bundle, &load_options, progress, findings, error);
	if (!load)
		return false;
	g_clear_pointer(&progress, dtc_progress_free);
	const DtcMatches *matches = dtc_load_get_matches(load);
	g_autoptr(DtcSync) single = NULL; /* one node needs no fit, but has a map to show */
	const DtcSync *sync = dtc_load_get_sync(load);
	if (!sync) {
		single = dtc_fit_clocks(matches, NULL, findings, error);
		sync = single;
	}
	return sync && show(options, sync, matches, findings, ret_complete, error);
}

int dtc_command_sync(int argc, char **argv)
{
	struct sync_options options = { 0 };
	g_autoptr(GError) error = NULL;
	bool is_complete;
	int code;

	if (parse_options(&options, &argc, &argv, &error) && check_options(&options, argc, &error) &&
	    (options.messages ? align_messages(&options, &is_complete, &error)
			      : align_bundle(&options, argc, argv, &is_complete, &error)))
		code = is_complete ? 0 : 3;
	else
		code = dtc_cli_report_error(error);
	options_clear(&options);
	return code;
}
