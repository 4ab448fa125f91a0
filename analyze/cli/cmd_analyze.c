/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain [analyze]: where the time of one request, or of one thread over a span, went. */
#include "analyze/cli/command.h"
#include "analyze/cli/export.h"
#include "analyze/cli/subject_options.h"
#include "analyze/engine/event_target.h"
#include "analyze/engine/identify.h"
#include "analyze/engine/moment.h"
#include "analyze/report/json.h"
#include "analyze/report/report_of.h"
#include "analyze/report/text.h"
#include "dtrace-chain/error.h"

struct analyze_options {
	struct dtc_common_options common;
	struct dtc_export_options files;
	char *request_id;
	char *mark_regex;
	char *spans;
	char *connection;
	char *thread;
	char *from;
	char *to;
	char *from_event;
	char *until_event;
	char *reference;
	char *min_duration;
	char **id_headers;
	int max_depth;
	gboolean is_exact;
	/* derived */
	struct dtc_connection_spec connection_spec;
	struct dtc_thread_spec thread_spec;
	struct dtc_lead_option lead;
	int64_t min_ns; /* -1: a share of the duration */
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct analyze_options *options = data;
	const GOptionEntry entries[] = {
		{ "request-id", 'r', 0, G_OPTION_ARG_STRING, &options->request_id,
		  "Explain this request: X-Request-Id, trace id, ... or a part of it", "ID" },
		{ "mark-regex", 0, 0, G_OPTION_ARG_STRING, &options->mark_regex,
		  "Find the id in marks of the trace (lttng_logger): an expression with a group (?<id>...)", "REGEX" },
		{ "spans", 0, 0, G_OPTION_ARG_FILENAME, &options->spans,
		  "Find the id in the spans of an OTLP JSON file, for encrypted traffic", "FILE" },
		{ "connection", 0, 0, G_OPTION_ARG_STRING, &options->connection,
		  "Explain the exchange on this connection at this time, e.g. 10.0.0.1:51700-10.0.0.2:80@+1.5s or "
		  "@12:00:03.5",
		  "SRC:PORT-DST:PORT@TIME" },
		{ "thread", 't', 0, G_OPTION_ARG_STRING, &options->thread, "Explain this thread",
		  "NODE:TID|NODE:NAME" },
		{ "from", 0, 0, G_OPTION_ARG_STRING, &options->from,
		  "Begin of the span: +1.5s, +200ms (since the trace's begin), 12:00:03.5, a date and time, or the "
		  "trace's clock",
		  "TIME" },
		{ "to", 0, 0, G_OPTION_ARG_STRING, &options->to, "End of the span", "TIME" },
		DTC_LEAD_OPTION(&options->lead),
		{ "until-event", 0, 0, G_OPTION_ARG_STRING, &options->until_event,
		  "Explain the time up to the first such event (after --from), of the thread that ran then, or of "
		  "--thread; reads the traces once more",
		  "NAME[,FIELD=VALUE]" },
		{ "from-event", 0, 0, G_OPTION_ARG_STRING, &options->from_event,
		  "Begin of the span: the first such event, whoever ran", "NAME[,FIELD=VALUE]" },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock is shown (default: the thread's, or the best known)", "NODE" },
		{ "id-header", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->id_headers,
		  "Another HTTP header that carries an id; repeatable", "NAME" },
		{ "max-depth", 0, 0, G_OPTION_ARG_INT, &options->max_depth, "Levels of nested causality (default: all)",
		  "N" },
		{ "min-duration", 0, 0, G_OPTION_ARG_STRING, &options->min_duration,
		  "Fold what is shorter, e.g. 250us (default: 1 % of the total, 0.5 % on the path)", "SPAN" },
		{ "exact", 0, 0, G_OPTION_ARG_NONE, &options->is_exact, "Show all times in nanoseconds", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	dtc_export_options_add(&options->files, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

static bool check_span(struct analyze_options *options, GError **error)
{
	if ((options->request_id || options->connection) && (options->until_event || options->from_event))
		return dtc_cli_refuse(error, "--until-event and --from-event go with --thread or alone",
				      "a request has its own begin and end");
	if (!options->thread && !options->until_event && (options->from || options->to))
		return dtc_cli_refuse(error, "--from and --to go with --thread", "a request has its own begin and end");
	if (options->from && options->from_event)
		return dtc_cli_refuse(error, "--from and --from-event are two begins", "give one of them");
	if (options->lead.text && (options->until_event || options->from_event))
		return dtc_cli_refuse(error, "--lead does not go with --until-event and --from-event",
				      "where the event is shows when everything is read");
	return dtc_lead_option_check(&options->lead, options->from, options->to, error) &&
	       (!options->until_event || dtc_event_target_check("--until-event", options->until_event, error)) &&
	       (!options->from_event || dtc_event_target_check("--from-event", options->from_event, error));
}

static bool check(struct dtc_session *session, GError **error)
{
	struct analyze_options *options = session->options;
	options->min_ns = -1;
	if (!options->request_id && !options->thread && !options->connection && !options->until_event)
		return dtc_cli_refuse(
			error, "nothing to explain",
			"give --request-id ID or --thread NODE:TID; `dtrace-chain --help` lists all options");
	if (options->request_id && options->thread)
		return dtc_cli_refuse(error, "--request-id and --thread are two questions", "give one of them");
	if (options->connection && (options->request_id || options->thread))
		return dtc_cli_refuse(error, "--connection is a question of its own",
				      "give it, or --request-id, or --thread");
	if ((options->mark_regex || options->spans) && !options->request_id)
		return dtc_cli_refuse(error, "--mark-regex and --spans tell where an id is",
				      "give the id with --request-id");
	if (options->request_id && !*options->request_id)
		return dtc_cli_refuse(error, "--request-id is empty", "give the id or the begin of it");
	if (!check_span(options, error))
		return false;
	if (options->max_depth < 0)
		return dtc_cli_refuse(error, "--max-depth is negative", "0 is no limit");
	if (options->connection && !dtc_connection_spec_parse(options->connection, &options->connection_spec, error))
		return false;
	if (options->min_duration && !dtc_span_parse("--min-duration", options->min_duration, &options->min_ns, error))
		return false;
	return true;
}

static bool find(struct dtc_session *session, const DtcIdSpans *spans, struct dtc_question *question, GError **error)
{
	const struct analyze_options *options = session->options;
	const DtcEngine *engine = session->engine;
	DtcFindings *findings = session->findings;

	if (options->connection)
		return dtc_question_set_connection(question, engine, &options->connection_spec, findings, error);
	if (options->until_event || options->from_event) {
		const struct dtc_event_target target = {
			.until = options->until_event,
			.since = options->from_event,
			.thread = options->thread ? &options->thread_spec : NULL,
			.from = options->from,
			.to = options->to,
		};
		dtc_progress_line_show(session->progress, "looking for the event");
		return dtc_question_set_event(question, engine, session->bundle, &target, findings, error);
	}
	if (!options->request_id)
		return dtc_question_set_thread(question, engine, &options->thread_spec, options->from, options->to,
					       findings, error);
	if (spans)
		return dtc_question_set_span(question, engine, spans, options->request_id, findings, error);
	return dtc_question_set_id(question, engine, options->request_id, findings, error);
}

static struct dtc_text_options get_text_options(const struct dtc_session *session)
{
	const struct analyze_options *options = session->options;
	return (struct dtc_text_options){
		.width = session->terminal.width,
		.has_color = session->terminal.has_color,
		.has_utf8 = session->terminal.has_utf8,
		.is_verbose = options->common.is_verbose,
		.is_exact = options->is_exact,
		.min_ns = options->min_ns,
	};
}

static bool print(struct dtc_session *session, const DtcReport *report, GError **error)
{
	const struct dtc_text_options text_options = get_text_options(session);
	return dtc_session_print(
		session, session->is_json ? dtc_report_to_json(report) : dtc_report_to_text(report, &text_options),
		error);
}

static bool explain(struct dtc_session *session, const struct dtc_question *question, GError **error)
{
	const struct analyze_options *options = session->options;
	const DtcEngine *engine = session->engine;
	const struct dtc_text_options text_options = get_text_options(session);
	const struct dtc_path_target *target = &question->target;
	/* the terminal shows none of the hundreds of thousands of short ones of a long span */
	bool shows_all = session->is_json || options->files.html || options->files.perfetto;
	const struct dtc_path_options path_options = {
		.max_depth = (guint)options->max_depth,
		.min_blocking_ns = MAX(options->min_ns, 0),
		.told_ns =
			shows_all ? 0 : dtc_text_get_blocking_min_ns(&text_options, target->end.ns - target->begin.ns),
	};

	dtc_progress_line_show(session->progress, "walking the critical path");
	g_autoptr(DtcPath) path = dtc_question_answer(question, engine, &path_options, session->findings, error);
	bool has_records = session->is_json || options->files.html;
	g_autoptr(DtcReport) report = !path ? NULL
				      : has_records
					      ? dtc_report_of(engine, question, path, session->findings, error)
					      : dtc_report_of_words(engine, question, path, session->findings, error);
	return report && dtc_export_write(&options->files, report, path, engine, error) &&
	       print(session, report, error);
}

static bool answer(struct dtc_session *session, GError **error)
{
	struct analyze_options *options = session->options;
	struct dtc_question question = { 0 };

	if (!dtc_session_open(session, error) || !dtc_export_options_check(&options->files, session->bundle, error) ||
	    (options->thread && !dtc_thread_spec_parse(options->thread, session->bundle, &options->thread_spec, error)))
		return false;
	const struct dtc_engine_options engine_options = {
		/* times of a thread's report are best on the clock that --from and --to are on */
		.reference = options->reference ? options->reference : options->thread_spec.node,
		.needs_exchanges = options->request_id != NULL,
		.id_headers = (const char *const *)options->id_headers,
		.window = dtc_lead_option_get(&options->lead, options->from, options->to, options->thread_spec.node),
	};
	if (!dtc_session_read(session, &engine_options, error))
		return false;
	g_autoptr(DtcIdSpans) spans = NULL;
	if (options->mark_regex || options->spans) {
		spans = dtc_id_spans_load(session->engine, options->mark_regex, options->spans, session->findings,
					  error);
		if (!spans)
			return false;
	}
	bool is_answered = find(session, spans, &question, error) && explain(session, &question, error);
	dtc_question_clear(&question);
	return is_answered;
}

static void clear(void *data)
{
	struct analyze_options *options = data;

	dtc_thread_spec_clear(&options->thread_spec);
}

const struct dtc_command dtc_command_analyze = {
	.name = "analyze",
	.options_bytes = sizeof(struct analyze_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
	.clear = clear,
};
