/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain states: the time of a thread, process or node by state, and the longest single states. */
#include "analyze/cli/command.h"
#include "analyze/cli/subject_options.h"
#include "analyze/engine/moment.h"
#include "analyze/engine/states.h"
#include "analyze/report/states_view.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define DEFAULT_LIMIT 20

struct states_options {
	struct dtc_common_options common;
	struct dtc_subject_options subject;
	char *reference;
	char *state_class;
	struct dtc_state_line line;
	char *min_duration;
	int limit;
	gboolean has_instances;
	gboolean is_exact;
	/* derived */
	enum dtc_state_class only; /* DTC_CLASSES: all */
	int64_t min_ns;
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct states_options *options = data;
	const GOptionEntry entries[] = {
		{ "instances", 0, 0, G_OPTION_ARG_NONE, &options->has_instances,
		  "The single states, the longest first, instead of sums", NULL },
		{ "class", 0, 0, G_OPTION_ARG_STRING, &options->state_class, "Only instances of this class",
		  "working|interrupted|blocked|idle|exited|unknown" },
		{ "state", 0, 0, G_OPTION_ARG_STRING, &options->line.state, "Only instances of this state", "NAME" },
		{ "call", 0, 0, G_OPTION_ARG_STRING, &options->line.call,
		  "Only instances in this system call or interrupt", "NAME" },
		{ "file", 0, 0, G_OPTION_ARG_STRING, &options->line.file,
		  "Only instances of calls on this file, as the sums have it", "NAME" },
		{ "limit", 'n', 0, G_OPTION_ARG_INT, &options->limit, "At most so many instances; 0: all (default: 20)",
		  "N" },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock times are on (default: the thread's, or the best known)", "NODE" },
		{ "min-duration", 0, 0, G_OPTION_ARG_STRING, &options->min_duration,
		  "Fold what is shorter in all, e.g. 250us (default: 2 % of the state)", "SPAN" },
		{ "exact", 0, 0, G_OPTION_ARG_NONE, &options->is_exact, "Show all times in nanoseconds", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	options->limit = DEFAULT_LIMIT;
	dtc_subject_options_add(&options->subject, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

static bool check(struct dtc_session *session, GError **error)
{
	struct states_options *options = session->options;
	options->only = DTC_CLASSES;
	options->min_ns = -1;
	if (options->limit < 0)
		return dtc_cli_refuse(error, "--limit is negative", "0 is no limit");
	if (options->state_class && !options->has_instances)
		return dtc_cli_refuse(error, "--class goes with --instances", "the tree has all classes");
	if ((options->line.state || options->line.call || options->line.file) && !options->has_instances)
		return dtc_cli_refuse(error, "--state, --call and --file go with --instances", "the tree has them all");
	if (options->state_class && !dtc_state_class_parse(options->state_class, &options->only)) {
		const char *classes[DTC_CLASSES + 1] = { NULL };
		for (guint i = 0; i < DTC_CLASSES; i++)
			classes[i] = dtc_state_class_to_string((enum dtc_state_class)i);
		g_autofree char *message =
			g_strdup_printf("--class '%s' is not a class of states", options->state_class);
		return dtc_cli_refuse_word(error, message, options->state_class, "the classes", classes);
	}
	if (options->min_duration && !dtc_span_parse("--min-duration", options->min_duration, &options->min_ns, error))
		return false;
	return true;
}

static bool print(struct dtc_session *session, const DtcStates *states, GError **error)
{
	const struct states_options *options = session->options;
	const struct dtc_states_text_options text_options = {
		.width = session->terminal.width,
		.has_color = session->terminal.has_color,
		.has_utf8 = session->terminal.has_utf8,
		.is_exact = options->is_exact,
		.min_ns = options->min_ns,
	};
	const struct dtc_states_input input = {
		.node_names = dtc_engine_get_node_names(session->engine),
		.histories = dtc_engine_get_histories(session->engine),
		.clocks = dtc_engine_get_clocks(session->engine),
		.origins_ns = states->origins_ns,
		.scopes = (const struct dtc_states_scope *)(void *)states->scopes->data,
		.scope_count = states->scopes->len,
		.instances = options->has_instances ? states->instances : NULL,
		.findings = session->findings,
	};
	return dtc_session_print(
		session, session->is_json ? dtc_states_to_json(&input) : dtc_states_to_text(&input, &text_options),
		error);
}

static bool answer(struct dtc_session *session, GError **error)
{
	struct states_options *options = session->options;

	if (!dtc_session_open(session, error) || !dtc_subject_options_locate(&options->subject, session->bundle, error))
		return false;
	const struct dtc_engine_options engine_options = {
		/* --from and --to of a thread are on its node's clock */
		.reference = options->reference ? options->reference : options->subject.spec.node,
		.window = dtc_subject_options_get_window(&options->subject),
	};
	if (!dtc_session_read(session, &engine_options, error))
		return false;
	struct dtc_subject subject = dtc_subject_options_get(&options->subject);
	subject.with_parents = true;
	const struct dtc_states_options states_options = { options->only, (guint)options->limit, options->line };
	g_autoptr(DtcStates) states =
		dtc_states_new(session->engine, &subject, &states_options, session->findings, error);
	return states && print(session, states, error);
}

static void clear(void *data)
{
	struct states_options *options = data;

	dtc_subject_options_clear(&options->subject);
}

const struct dtc_command dtc_command_states = {
	.name = "states",
	.options_bytes = sizeof(struct states_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
	.clear = clear,
};
