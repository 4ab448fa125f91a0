/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain vms: what every virtual CPU did, as its host saw it, or as its guest lets guess. */
#include "analyze/cli/command.h"
#include "analyze/report/machines_view.h"

#define DEFAULT_LIMIT 8 /* rows of a list that a person looks at */

struct vms_options {
	struct dtc_common_options common;
	char *from;
	char *to;
	char *reference;
	int limit; /* -1: not given */
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct vms_options *options = data;
	const GOptionEntry entries[] = {
		{ "from", 0, 0, G_OPTION_ARG_STRING, &options->from,
		  "Begin of the span: +1.5s, +200ms (since the trace's begin), 12:00:03.5, a date and time, or the "
		  "trace's clock",
		  "TIME" },
		{ "to", 0, 0, G_OPTION_ARG_STRING, &options->to, "End of the span", "TIME" },
		{ "limit", 'n', 0, G_OPTION_ARG_INT, &options->limit,
		  "Rows of each list; 0: all (default: 8 in text, all in JSON)", "N" },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock times are on (default: the best known)", "NODE" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	options->limit = -1;
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

static bool check(struct dtc_session *session, GError **error)
{
	const struct vms_options *options = session->options;

	if (options->limit < -1)
		return dtc_cli_refuse(error, "--limit is negative", "0 is no limit");
	return true;
}

static bool answer(struct dtc_session *session, GError **error)
{
	const struct vms_options *options = session->options;
	const struct dtc_engine_options engine_options = { .reference = options->reference };
	int default_limit = session->is_json ? 0 : DEFAULT_LIMIT;

	if (!dtc_session_open(session, error) || !dtc_session_read(session, &engine_options, error))
		return false;
	g_autoptr(GArray) nodes = dtc_vms_new(session->engine, options->from, options->to, session->findings, error);
	if (!nodes)
		return false;
	const struct dtc_vms_input input = {
		.nodes = nodes,
		.node_names = dtc_engine_get_node_names(session->engine),
		.histories = dtc_engine_get_histories(session->engine),
		.clocks = dtc_engine_get_clocks(session->engine),
		.reference = dtc_engine_get_reference(session->engine),
		.limit = (guint)(options->limit == -1 ? default_limit : options->limit),
		.findings = session->findings,
	};
	const struct dtc_terminal *terminal = &session->terminal;
	return dtc_session_print(
		session,
		session->is_json ? dtc_vms_to_json(&input)
				 : dtc_vms_to_text(&input, terminal->width, terminal->has_color, terminal->has_utf8),
		error);
}

const struct dtc_command dtc_command_vms = {
	.name = "vms",
	.options_bytes = sizeof(struct vms_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
};
