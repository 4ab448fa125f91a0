/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dtrace-chain edges: all edges and spans of work of a part of the recordings, on a path or not, for other tools to
 * query. They are written while they are found: their number costs no memory.
 */
#include "analyze/cli/command.h"
#include "analyze/cli/subject_options.h"
#include "analyze/engine/edge_question.h"
#include "analyze/report/edges_view.h"
#include "analyze/report/finding_list.h"

#define CHUNK_BYTES 65536 /* of output */
#define CHUNK_LINES 256

struct edges_options {
	struct dtc_common_options common;
	struct dtc_subject_options subject;
	char *request_id;
	char **id_headers;
	char *reference;
	int limit; /* 0: all */
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct edges_options *options = data;
	const GOptionEntry entries[] = {
		{ "request-id", 'r', 0, G_OPTION_ARG_STRING, &options->request_id,
		  "Only the threads that served this request, from its begin to its end", "ID" },
		{ "id-header", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->id_headers,
		  "Another HTTP header that carries an id; repeatable", "NAME" },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock times are on (default: the thread's, or the best known)", "NODE" },
		{ "limit", 'n', 0, G_OPTION_ARG_INT, &options->limit, "At most so many lines (default: all)", "N" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	dtc_subject_options_add(&options->subject, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

static bool check(struct dtc_session *session, GError **error)
{
	const struct edges_options *options = session->options;
	const struct dtc_subject_options *subject = &options->subject;

	if (options->limit < 0)
		return dtc_cli_refuse(error, "--limit is negative", "0 is no limit");
	if (options->request_id && !*options->request_id)
		return dtc_cli_refuse(error, "--request-id is empty", "give the id or the begin of it");
	if (options->request_id && (subject->thread || subject->process))
		return dtc_cli_refuse(error, "--request-id is a question of its own",
				      "give it, or --thread, or --process");
	if (options->request_id && (subject->from || subject->to))
		return dtc_cli_refuse(error, "--from and --to do not go with --request-id",
				      "a request has its own begin and end");
	return true;
}

/* The answer, as far as it is not yet written. */
struct listing {
	struct dtc_session *session;
	const struct dtc_edge_question *question;
	GString *out;
	DtcLayout *layout; /* of text */
	guint64 edge_count;
	guint64 span_count;
};

static bool flush(struct listing *to, gsize from_bytes, GError **error)
{
	if (!to->session->is_json) {
		g_autofree char *text = dtc_layout_steal(to->layout);
		g_string_append(to->out, text);
	}
	if (to->out->len < from_bytes)
		return true;
	bool written = dtc_terminal_write(to->out->str, error);
	g_string_truncate(to->out, 0);
	return written;
}

static bool add_item(struct listing *to, const struct dtc_edge_item *item, GError **error)
{
	if (item->kind == DTC_ITEM_SERVED)
		to->span_count++;
	else
		to->edge_count++;
	if (to->session->is_json)
		dtc_edge_item_add_json(to->out, to->session->engine, item);
	else
		dtc_edge_item_add_text(to->layout, to->session->engine, to->question, item);
	bool is_chunk = to->session->is_json || (to->edge_count + to->span_count) % CHUNK_LINES == 0;
	return !is_chunk || flush(to, CHUNK_BYTES, error);
}

static bool list(struct listing *to, GError **error)
{
	const struct edges_options *options = to->session->options;
	const DtcEngine *engine = to->session->engine;
	const DtcFindings *findings = to->session->findings;
	guint64 limit = (guint64)options->limit;
	const struct dtc_edge_item *item;
	g_autoptr(DtcEdgeList) edges =
		dtc_edge_list_new(dtc_engine_get_edges(engine), to->question->parts, to->question->serving);

	if (to->session->is_json)
		dtc_edges_add_head_json(to->out, engine, to->question);
	else
		dtc_edges_add_head_text(to->layout, engine, to->question);
	while ((!limit || to->edge_count + to->span_count < limit) && (item = dtc_edge_list_next(edges)))
		if (!add_item(to, item, error))
			return false;
	if (to->session->is_json)
		dtc_edges_add_tail_json(to->out, to->edge_count, to->span_count, findings);
	else
		dtc_finding_list_add_text(to->layout, findings);
	return flush(to, 1, error);
}

static bool ask(struct dtc_session *session, struct dtc_edge_question *question, GError **error)
{
	const struct edges_options *options = session->options;
	const struct dtc_subject subject = dtc_subject_options_get(&options->subject);

	if (options->request_id)
		return dtc_edge_question_set_request(question, session->engine, options->request_id, session->findings,
						     error);
	return dtc_edge_question_set_subject(question, session->engine, &subject, session->findings, error);
}

static bool answer(struct dtc_session *session, GError **error)
{
	struct edges_options *options = session->options;
	const struct dtc_terminal *terminal = &session->terminal;
	struct dtc_edge_question question = { 0 };

	if (!dtc_session_open(session, error) || !dtc_subject_options_locate(&options->subject, session->bundle, error))
		return false;
	const struct dtc_engine_options engine_options = {
		/* --from and --to of a thread are on its node's clock */
		.reference = options->reference ? options->reference : options->subject.spec.node,
		.window = dtc_subject_options_get_window(&options->subject),
		.needs_exchanges = true,
		.id_headers = (const char *const *)options->id_headers,
	};
	if (!dtc_session_read(session, &engine_options, error))
		return false;
	dtc_progress_line_show(session->progress, "finding for whom threads worked");
	bool is_answered = ask(session, &question, error);
	dtc_progress_line_clear(session->progress);
	if (is_answered) {
		g_autoptr(GString) out = g_string_new(NULL);
		g_autoptr(DtcLayout) layout = dtc_layout_new(terminal->width, terminal->has_color, terminal->has_utf8);
		struct listing to = { session, &question, out, layout, 0, 0 };
		is_answered = list(&to, error);
	}
	dtc_edge_question_clear(&question);
	return is_answered;
}

static void clear(void *data)
{
	struct edges_options *options = data;

	dtc_subject_options_clear(&options->subject);
}

const struct dtc_command dtc_command_edges = {
	.name = "edges",
	.options_bytes = sizeof(struct edges_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
	.clear = clear,
};
