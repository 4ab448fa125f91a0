/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain check: verifies what all other commands promise about their figures, on this bundle. */
#include "analyze/cli/command.h"
#include "analyze/engine/checks.h"
#include "analyze/report/check_view.h"
#include "dtrace-chain/error.h"

#define DEFAULT_PATHS 5 /* per node */

struct check_options {
	struct dtc_common_options common;
	char *reference;
	int path_count;
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct check_options *options = data;
	const GOptionEntry entries[] = {
		{ "paths", 0, 0, G_OPTION_ARG_INT, &options->path_count,
		  "Critical paths per node, of the busiest threads (default: 5)", "N" },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock is cluster time (default: the best known)", "NODE" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	options->path_count = DEFAULT_PATHS;
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

static bool check(struct dtc_session *session, GError **error)
{
	struct check_options *options = session->options;
	if (options->path_count < 0)
		return dtc_cli_refuse(error, "--paths is negative", "0 walks none");
	return true;
}

static bool print(struct dtc_session *session, const GArray *checks, GError **error)
{
	const struct dtc_terminal *terminal = &session->terminal;
	const char *const *names = dtc_engine_get_node_names(session->engine);

	return dtc_session_print(session,
				 session->is_json
					 ? dtc_checks_to_json(checks, names, session->findings)
					 : dtc_checks_to_text(checks, names, session->findings, terminal->width,
							      terminal->has_color, terminal->has_utf8),
				 error);
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

static bool answer(struct dtc_session *session, GError **error)
{
	const struct check_options *options = session->options;
	const struct dtc_engine_options engine_options = { .reference = options->reference, .needs_exchanges = true };

	if (!dtc_session_open(session, error) || !dtc_session_read(session, &engine_options, error))
		return false;
	dtc_progress_line_show(session->progress, "checking");
	g_autoptr(GArray) checks = dtc_checks_run(session->engine, (guint)options->path_count);
	return print(session, checks, error) && fail_if_wrong(checks, error);
}

const struct dtc_command dtc_command_check = {
	.name = "check",
	.options_bytes = sizeof(struct check_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
};
