/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain top: what every process or thread did with its time, per node. */
#include "analyze/cli/command.h"
#include "analyze/cli/subject_options.h"
#include "analyze/engine/top.h"
#include "analyze/report/profile_view.h"
#include "dtrace-chain/error.h"

#define DEFAULT_LIMIT 20 /* rows per node that a person looks at */

struct top_options {
	struct dtc_common_options common;
	struct dtc_subject_options subject;
	char *sort;
	char *reference;
	int limit; /* -1: not given */
	gboolean has_threads;
	gboolean is_exact;
	/* derived */
	enum dtc_profile_column column;
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct top_options *options = data;
	const GOptionEntry entries[] = {
		{ "threads", 0, 0, G_OPTION_ARG_NONE, &options->has_threads, "A row per thread, not per process",
		  NULL },
		{ "sort", 0, 0, G_OPTION_ARG_STRING, &options->sort,
		  "Largest first of cpu (default), user, system, runqueue, disk, blocked, calls, faults, ...",
		  "COLUMN" },
		{ "limit", 'n', 0, G_OPTION_ARG_INT, &options->limit,
		  "Rows per node; 0: all (default: 20 in text, all in JSON)", "N" },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock times are on (default: the thread's, or the best known)", "NODE" },
		{ "exact", 0, 0, G_OPTION_ARG_NONE, &options->is_exact, "Show all times in nanoseconds", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	options->limit = -1;
	dtc_subject_options_add(&options->subject, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

static void set_unknown_column(GError **error, const char *name)
{
	const char *columns[DTC_PROFILE_COLUMNS + 1] = { NULL };
	g_autofree char *message = g_strdup_printf("--sort '%s' is not a column", name);

	for (guint i = 0; i < DTC_PROFILE_COLUMNS; i++)
		columns[i] = dtc_profile_column_to_string((enum dtc_profile_column)i);
	dtc_cli_refuse_word(error, message, name, "the columns", columns);
}

static bool check(struct dtc_session *session, GError **error)
{
	struct top_options *options = session->options;

	options->column = DTC_PROFILE_CPU;
	if (options->sort && !dtc_profile_column_parse(options->sort, &options->column)) {
		set_unknown_column(error, options->sort);
		return false;
	}
	if (options->limit < -1)
		return dtc_cli_refuse(error, "--limit is negative", "0 is no limit");
	return true;
}

static bool answer(struct dtc_session *session, GError **error)
{
	struct top_options *options = session->options;
	int default_limit = session->is_json ? 0 : DEFAULT_LIMIT;

	if (!dtc_session_open(session, error) || !dtc_subject_options_locate(&options->subject, session->bundle, error))
		return false;
	const struct dtc_engine_options engine_options = {
		/* --from and --to of a thread are on its node's clock */
		.reference = options->reference ? options->reference : options->subject.spec.node,
		.window = dtc_subject_options_get_window(&options->subject),
	};
	if (!dtc_session_read(session, &engine_options, error))
		return false;
	const struct dtc_subject subject = dtc_subject_options_get(&options->subject);
	const struct dtc_top_options top_options = {
		.sort = options->column,
		.has_threads = options->has_threads || options->subject.thread,
	};
	g_autoptr(GArray) nodes = dtc_top_new(session->engine, &subject, &top_options, session->findings, error);
	if (!nodes)
		return false;
	const struct dtc_top_input input = {
		.nodes = (const struct dtc_top_node *)(void *)nodes->data,
		.node_count = nodes->len,
		.reference = dtc_engine_get_reference(session->engine),
		.sort = top_options.sort,
		.has_threads = top_options.has_threads,
		.limit = (guint)(options->limit == -1 ? default_limit : options->limit),
		.findings = session->findings,
	};
	const struct dtc_terminal *terminal = &session->terminal;
	return dtc_session_print(session,
				 session->is_json ? dtc_top_to_json(&input)
						  : dtc_top_to_text(&input, terminal->width, terminal->has_color,
								    terminal->has_utf8, options->is_exact),
				 error);
}

static void clear(void *data)
{
	struct top_options *options = data;

	dtc_subject_options_clear(&options->subject);
}

const struct dtc_command dtc_command_top = {
	.name = "top",
	.options_bytes = sizeof(struct top_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
	.clear = clear,
};
