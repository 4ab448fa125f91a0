/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain check: verifies what all other commands promise about their figures, on this bundle. */
#include "analyze/cli/command.h"
#include "analyze/cli/load.h"
#include "analyze/cli/options.h"
#include "analyze/cli/terminal.h"
#include "analyze/report/check_view.h"
#include "dtrace-chain/error.h"
#include "sync/fit/fit.h"

#define DEFAULT_PATHS 5 /* per node */

struct check_options {
	struct dtc_common_options common;
	char *reference; /* owned */
	int path_count;
	bool is_json;
};

static void options_clear(struct check_options *options)
{
	dtc_common_options_clear(&options->common);
	g_free(options->reference);
}

static bool parse_options(struct check_options *options, int *argc, char ***argv, GError **error)
{
	const GOptionEntry entries[] = {
		{ "paths", 0, 0, G_OPTION_ARG_INT, &options->path_count,
		  "Critical paths per node, of the busiest threads (default: 5)", "N" },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock is cluster time (default: the best known)", "NODE" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autoptr(DtcCommandLine) line = dtc_command_line_new("check");

	options->path_count = DEFAULT_PATHS;
	dtc_common_options_add(&options->common, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
	return dtc_command_line_parse(line, argc, argv, error);
}

static bool check_options(struct check_options *options, GError **error)
{
	if (options->path_count < 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "--paths is negative\n0 walks none");
		return false;
	}
	return dtc_common_options_get_json(&options->common, &options->is_json, error);
}

/* Messages that the alignment names as contradictory and leaves out. */
static GArray *list_exceptions(const DtcSync *sync)
{
	GArray *exceptions = g_array_new(FALSE, FALSE, sizeof(struct dtc_check_exception));

	for (guint i = 0; sync && i < dtc_sync_get_pair_count(sync); i++) {
		const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, i);
		for (guint k = 0; k < pair->trimmed_count; k++) {
			const struct dtc_sync_trimmed *trimmed = &pair->trimmed[k];
			const struct dtc_check_exception exception = {
				.from = trimmed->from,
				.to = trimmed->from == pair->a ? pair->b : pair->a,
				.sent_ns = trimmed->sent_ns,
				.received_ns = trimmed->received_ns,
			};
			g_array_append_val(exceptions, exception);
		}
	}
	return exceptions;
}

static bool print(const DtcLoad *load, const struct check_options *options, const GArray *checks,
		  const DtcFindings *findings, GError **error)
{
	const struct dtc_terminal terminal = dtc_terminal_get(options->common.color);
	const char *const *names = dtc_load_get_node_names(load);
	g_autofree char *text = options->is_json ? dtc_checks_to_json(checks, names, findings)
						 : dtc_checks_to_text(checks, names, findings, terminal.width,
								      terminal.has_color, terminal.has_utf8);
	return dtc_terminal_write(text, error);
}

static bool fail_if_wrong(const GArray *checks, GError **error)
{
	guint wrong = 0;

	for (guint i = 0; i < checks->len; i++)
		wrong += g_array_index(checks, struct dtc_check, i).wrong_count > 0;
	if (wrong == 0)
		return true;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED,
		    "%u of %u checks failed\n"
		    "figures of this bundle cannot be trusted; this is a defect of dtrace-chain, please report it",
		    wrong, checks->len);
	return false;
}

static bool run(const struct check_options *options, int argc, char **argv, bool *ret_complete, GError **error)
{
	const struct dtc_load_options load_options = {
		.reference = options->reference,
		.sync_file = options->common.sync_file,
	};
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = dtc_common_options_open_bundle(&options->common, argc, argv, error);
	if (!bundle)
		return false;
	g_autoptr(DtcProgress) progress = dtc_progress_new(options->common.quiet);
	g_autoptr(DtcLoad) load = dtc_load_bundle(bundle, &load_options, progress, findings, error);
	if (!load)
		return false;
	dtc_progress_show(progress, "checking");
	g_autoptr(GArray) exceptions = list_exceptions(dtc_load_get_sync(load));
	const struct dtc_check_input input = {
		.links = dtc_load_get_links(load),
		.matches = dtc_load_get_matches(load),
		.exceptions = exceptions,
		.path_count = (guint)options->path_count,
	};
	g_autoptr(GArray) checks = dtc_check_run(&input);
	dtc_progress_clear(progress);
	*ret_complete = dtc_findings_get_complete(findings);
	return print(load, options, checks, findings, error) && fail_if_wrong(checks, error);
}

int dtc_command_check(int argc, char **argv)
{
	struct check_options options = { 0 };
	g_autoptr(GError) error = NULL;
	bool is_complete;
	int code;

	if (parse_options(&options, &argc, &argv, &error) && check_options(&options, &error) &&
	    run(&options, argc, argv, &is_complete, &error))
		code = is_complete ? 0 : 3;
	else
		code = dtc_cli_report_error(error);
	options_clear(&options);
	return code;
}
