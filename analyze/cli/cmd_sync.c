/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain sync: how the clocks of the nodes relate, and how sure that is. */
#include "analyze/cli/command.h"
#include "analyze/cli/export.h"
#include "analyze/engine/engine.h"
#include "analyze/engine/moment.h"
#include "analyze/report/sync_view.h"
#include "dtrace-chain/error.h"
#include "sync/fit/saved.h"

#include <string.h>

struct sync_options {
	struct dtc_common_options common;
	char *messages;
	char *reference;
	char *min_delay;
	char *save;
	char *plot;
	double max_drift_ppm;
	double max_wander_ppm;
	struct dtc_fit_options fit;
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct sync_options *options = data;
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

	options->fit = dtc_fit_options_default();
	options->max_drift_ppm = options->fit.max_drift_ppm;
	options->max_wander_ppm = options->fit.max_wander_ppm;
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

static bool check(struct dtc_session *session, GError **error)
{
	struct sync_options *options = session->options;

	options->fit.max_drift_ppm = options->max_drift_ppm;
	options->fit.max_wander_ppm = options->max_wander_ppm;
	if (options->min_delay && !dtc_span_parse("--min-delay", options->min_delay, &options->fit.min_delay_ns, error))
		return false;
	if (options->messages &&
	    (session->argc > 1 || options->common.bundle || options->common.nodes || options->common.node_paths))
		return dtc_cli_refuse(error, "--messages takes the place of a bundle",
				      "give either a bundle or --messages FILE");
	if (options->common.sync_file)
		return dtc_cli_refuse(error, "--sync is for analyses, and this command makes what it reads",
				      "use --save FILE to write it");
	return true;
}

static bool find_reference(struct sync_options *options, const DtcMatches *matches, GError **error)
{
	guint count = dtc_matches_get_node_count(matches);
	for (guint i = 0; options->reference && i < count; i++)
		if (strcmp(dtc_matches_get_node_name(matches, i), options->reference) == 0)
			options->fit.reference = (int)i;
	if (!options->reference || options->fit.reference >= 0)
		return true;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "there is no node '%s'\nthe nodes are 0 to %u",
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

	return dtc_export_write_text(options->plot, drawing, error);
}

/* Everything that is asked of a result; files first, so that a full disk does not go unseen behind a printed answer. */
static bool show(struct dtc_session *session, const DtcSync *sync, const DtcMatches *matches, GError **error)
{
	const struct sync_options *options = session->options;
	const struct dtc_terminal *terminal = &session->terminal;

	if ((options->save && !save(options, sync, error)) || (options->plot && !plot(options, sync, matches, error)))
		return false;
	if (!dtc_sync_is_complete(sync))
		session->exit_code = 3;
	return dtc_session_print(session,
				 session->is_json ? dtc_sync_to_json(sync, session->findings)
						  : dtc_sync_to_text(sync, session->findings, terminal->width,
								     terminal->has_color, terminal->has_utf8),
				 error);
}

static bool align_messages(struct dtc_session *session, GError **error)
{
	struct sync_options *options = session->options;
	g_autoptr(DtcMatches) matches = dtc_matches_read_file(options->messages, error);

	if (!matches || !find_reference(options, matches, error))
		return false;
	g_autoptr(DtcSync) sync = dtc_fit_clocks(matches, &options->fit, session->findings, error);
	return sync && show(session, sync, matches, error);
}

static bool align_bundle(struct dtc_session *session, GError **error)
{
	const struct sync_options *options = session->options;
	const struct dtc_engine_options engine_options = {
		.reference = options->reference,
		.fit = &options->fit,
		.clocks_only = true,
	};

	if (!dtc_session_open(session, error) || !dtc_export_check_file(options->save, session->bundle, error) ||
	    !dtc_export_check_file(options->plot, session->bundle, error) ||
	    !dtc_session_read(session, &engine_options, error))
		return false;
	const DtcSync *sync = dtc_engine_get_sync(session->engine);
	const DtcMatches *matches = options->plot || !sync ? dtc_engine_get_matches(session->engine) : NULL;
	g_autoptr(DtcSync) single = NULL; /* one node needs no fit, but has a map to show */
	if (!sync) {
		single = dtc_fit_clocks(matches, NULL, session->findings, error);
		sync = single;
	}
	return sync && show(session, sync, matches, error);
}

static bool answer(struct dtc_session *session, GError **error)
{
	const struct sync_options *options = session->options;

	return options->messages ? align_messages(session, error) : align_bundle(session, error);
}

const struct dtc_command dtc_command_sync = {
	.name = "sync",
	.options_bytes = sizeof(struct sync_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
};
