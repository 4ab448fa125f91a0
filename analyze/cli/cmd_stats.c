/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dtrace-chain stats: what a bundle holds, per node and per kind of event. Nothing is analysed, everything is read;
 * with --by the events are decoded, too, and counted by where they came.
 */
#include "analyze/cli/command.h"
#include "analyze/report/stats_view.h"
#include "collect/console/command_line.h"

#include <string.h>

struct stats_options {
	struct dtc_common_options common;
	char *by;
	/* derived */
	enum dtc_split_by split_by;
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct stats_options *options = data;
	const GOptionEntry entries[] = {
		{ "by", 0, 0, G_OPTION_ARG_STRING, &options->by,
		  "Count the events by cpu, or by context: what the CPU did, and for which process", "WHAT" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

static bool check(struct dtc_session *session, GError **error)
{
	static const char *const words[] = { "cpu", "context", NULL };
	struct stats_options *options = session->options;

	if (!options->by || strcmp(options->by, "cpu") == 0) {
		options->split_by = DTC_SPLIT_BY_CPU;
		return true;
	}
	options->split_by = DTC_SPLIT_BY_CONTEXT;
	if (strcmp(options->by, "context") == 0)
		return true;
	g_autofree char *message = g_strdup_printf("events cannot be counted by '%s'", options->by);
	return dtc_cli_refuse_word(error, message, options->by, "the ways", words);
}

static bool answer(struct dtc_session *session, GError **error)
{
	const struct stats_options *options = session->options;
	const struct dtc_terminal *terminal = &session->terminal;

	if (!dtc_session_open(session, error))
		return false;
	g_autoptr(GPtrArray) census =
		dtc_census_new(session->bundle, session->store, &session->watch, session->findings, error);
	if (!census)
		return false;
	g_autoptr(GPtrArray) splits = NULL;
	if (options->by) {
		splits = dtc_splits_new(session->bundle, options->split_by, &session->watch, session->findings, error);
		if (!splits)
			return false;
	}
	const struct dtc_stats_input input = { session->bundle, census, splits, session->findings };
	return dtc_session_print(
		session,
		session->is_json ? dtc_stats_to_json(&input)
				 : dtc_stats_to_text(&input, terminal->width, terminal->has_color, terminal->has_utf8),
		error);
}

const struct dtc_command dtc_command_stats = {
	.name = "stats",
	.options_bytes = sizeof(struct stats_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
};
