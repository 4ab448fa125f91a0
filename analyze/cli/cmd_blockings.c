/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain blockings: what threads were blocked on, and what their wakers were blocked on meanwhile. */
#include "analyze/cli/command.h"
#include "analyze/cli/subject_options.h"
#include "analyze/engine/blockings.h"
#include "analyze/engine/moment.h"
#include "analyze/report/blockings_view.h"
#include "dtrace-chain/error.h"

#define ROWS_SHOWN 25

struct blockings_options {
	struct dtc_common_options common;
	struct dtc_subject_options subject;
	char *reference;
	char *min_duration;
	int max_depth;
	int limit;
	gboolean is_exact;
	/* derived */
	int64_t min_ns; /* -1: not given */
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct blockings_options *options = data;
	const GOptionEntry entries[] = {
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock times are on (default: the thread's, or the best known)", "NODE" },
		{ "max-depth", 0, 0, G_OPTION_ARG_INT, &options->max_depth, "Levels of nesting (default: all)", "N" },
		{ "min-duration", 0, 0, G_OPTION_ARG_STRING, &options->min_duration,
		  "Leave out shorter blockings, e.g. 250us (default: none; printed tree: 1 % of the span)", "SPAN" },
		{ "limit", 'n', 0, G_OPTION_ARG_INT, &options->limit, "Rows of the printed table (default: 25, 0: all)",
		  "N" },
		{ "exact", 0, 0, G_OPTION_ARG_NONE, &options->is_exact, "Show all times in nanoseconds", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	options->limit = ROWS_SHOWN;
	dtc_subject_options_add(&options->subject, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

static bool check(struct dtc_session *session, GError **error)
{
	struct blockings_options *options = session->options;
	options->min_ns = -1;
	if (options->max_depth < 0)
		return dtc_cli_refuse(error, "--max-depth is negative", "0 is no limit");
	if (options->limit < 0)
		return dtc_cli_refuse(error, "--limit is negative", "0 is no limit");
	if (options->min_duration && !dtc_span_parse("--min-duration", options->min_duration, &options->min_ns, error))
		return false;
	return true;
}

static bool print(struct dtc_session *session, const DtcBlockings *blockings, GError **error)
{
	const struct blockings_options *options = session->options;
	const struct dtc_blockings_text_options text_options = {
		.width = session->terminal.width,
		.has_color = session->terminal.has_color,
		.has_utf8 = session->terminal.has_utf8,
		.is_exact = options->is_exact,
		.limit = (guint)options->limit,
		.min_ns = options->min_ns,
	};
	const struct dtc_blockings_input input = {
		.links = dtc_engine_get_links(session->engine),
		.findings = session->findings,
		.blocked = blockings->blocked,
		.request_count = blockings->request_count,
		.path = blockings->path,
		.node = blockings->node,
		.thread = blockings->thread,
		.lineage = blockings->lineage,
		.begin = blockings->begin,
		.end = blockings->end,
	};
	return dtc_session_print(
		session,
		session->is_json ? dtc_blockings_to_json(&input) : dtc_blockings_to_text(&input, &text_options), error);
}

static bool answer(struct dtc_session *session, GError **error)
{
	struct blockings_options *options = session->options;

	if (!dtc_session_open(session, error) || !dtc_subject_options_locate(&options->subject, session->bundle, error))
		return false;
	const struct dtc_engine_options engine_options = {
		/* --from and --to of a thread are on its node's clock */
		.reference = options->reference ? options->reference : options->subject.spec.node,
		.window = dtc_subject_options_get_window(&options->subject),
		.needs_exchanges = !options->subject.spec.node,
	};
	if (!dtc_session_read(session, &engine_options, error))
		return false;
	dtc_progress_line_show(session->progress, "collecting the waits");
	struct dtc_subject subject = dtc_subject_options_get(&options->subject);
	subject.with_parents = true;
	const struct dtc_blockings_options blockings_options = {
		.max_depth = (guint)options->max_depth,
		.min_ns = MAX(options->min_ns, 0),
	};
	g_autoptr(DtcBlockings) blockings = dtc_blockings_new(session->engine, &subject, &blockings_options,
							      &session->watch, session->findings, error);
	return blockings && print(session, blockings, error);
}

static void clear(void *data)
{
	struct blockings_options *options = data;

	dtc_subject_options_clear(&options->subject);
}

const struct dtc_command dtc_command_blockings = {
	.name = "blockings",
	.options_bytes = sizeof(struct blockings_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
	.clear = clear,
};
