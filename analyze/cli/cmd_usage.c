/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain usage: CPU, disk and network of every process, and what its servers used on its behalf. */
#include "analyze/cli/command.h"
#include "analyze/cli/export.h"
#include "analyze/cli/subject_options.h"
#include "analyze/engine/moment.h"
#include "analyze/engine/usage_of.h"
#include "analyze/report/usage_view.h"
#include "dtrace-chain/error.h"

#define ROWS_SHOWN 12

struct usage_options {
	struct dtc_common_options common;
	struct dtc_subject_options subject;
	char *interval;
	char *dot;
	char *reference;
	int limit;
	gboolean is_exact;
	gboolean has_memory;
	/* derived */
	int64_t interval_ns; /* 0: not given */
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct usage_options *options = data;
	const GOptionEntry entries[] = {
		{ "interval", 'i', 0, G_OPTION_ARG_STRING, &options->interval,
		  "Length of a step over time, e.g. 100ms (default: a 50th of the span)", "SPAN" },
		{ "memory", 0, 0, G_OPTION_ARG_NONE, &options->has_memory,
		  "What processes had in memory, too; the traces are read once more", NULL },
		{ "dot", 0, 0, G_OPTION_ARG_FILENAME, &options->dot,
		  "Write the graph of processes and what they sent each other, for Graphviz", "FILE" },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock is cluster time (default: the best known)", "NODE" },
		{ "limit", 'n', 0, G_OPTION_ARG_INT, &options->limit,
		  "Rows of each printed table (default: 12, 0: all)", "N" },
		{ "exact", 0, 0, G_OPTION_ARG_NONE, &options->is_exact, "Show all times in nanoseconds", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	options->limit = ROWS_SHOWN;
	dtc_subject_options_add(&options->subject, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

static bool check(struct dtc_session *session, GError **error)
{
	struct usage_options *options = session->options;
	if (options->limit < 0)
		return dtc_cli_refuse(error, "--limit is negative", "0 is no limit");
	if (options->interval) {
		if (!dtc_span_parse("--interval", options->interval, &options->interval_ns, error))
			return false;
		if (options->interval_ns == 0)
			return dtc_cli_refuse(error, "--interval is empty", "give a span, e.g. 100ms");
	}
	return true;
}

static bool write_dot(const struct usage_options *options, const struct dtc_usage_input *input, GError **error)
{
	g_autofree char *graph = dtc_usage_to_dot(input);

	return dtc_export_write_text(options->dot, graph, error);
}

static bool print(struct dtc_session *session, const struct dtc_usage_input *input, GError **error)
{
	const struct usage_options *options = session->options;
	const struct dtc_usage_view_options view_options = {
		.width = session->terminal.width,
		.has_color = session->terminal.has_color,
		.has_utf8 = session->terminal.has_utf8,
		.is_exact = options->is_exact,
		.limit = (guint)options->limit,
	};
	return dtc_session_print(
		session, session->is_json ? dtc_usage_to_json(input) : dtc_usage_to_text(input, &view_options), error);
}

static bool answer(struct dtc_session *session, GError **error)
{
	struct usage_options *options = session->options;

	if (!dtc_session_open(session, error) || !dtc_export_check_file(options->dot, session->bundle, error) ||
	    !dtc_subject_options_locate(&options->subject, session->bundle, error))
		return false;
	const struct dtc_engine_options engine_options = {
		/* --from and --to of a thread are on its node's clock */
		.reference = options->reference ? options->reference : options->subject.spec.node,
		.window = dtc_subject_options_get_window(&options->subject),
	};
	if (!dtc_session_read(session, &engine_options, error))
		return false;
	dtc_progress_line_show(session->progress, "adding up");
	const struct dtc_subject subject = dtc_subject_options_get(&options->subject);
	g_autoptr(DtcUsage) usage =
		dtc_usage_of(session->engine, &subject, options->interval_ns, session->findings, error);
	if (!usage)
		return false;
	g_autoptr(GPtrArray) memories = NULL;
	if (options->has_memory) {
		memories = dtc_memories_new(session->bundle, usage, dtc_engine_get_clocks(session->engine),
					    &session->watch, session->findings, error);
		if (!memories)
			return false;
	}
	const struct dtc_memory_input memory = { memories, usage };
	const struct dtc_usage_input input = {
		.memory = memories ? &memory : NULL,
		.usage = usage,
		.node_names = dtc_engine_get_node_names(session->engine),
		.reference = dtc_engine_get_reference(session->engine),
		.findings = session->findings,
	};
	return (!options->dot || write_dot(options, &input, error)) && print(session, &input, error);
}

static void clear(void *data)
{
	struct usage_options *options = data;

	dtc_subject_options_clear(&options->subject);
}

const struct dtc_command dtc_command_usage = {
	.name = "usage",
	.options_bytes = sizeof(struct usage_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
	.clear = clear,
};
