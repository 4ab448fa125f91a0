/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain [analyze]: where the time of one request, or of one thread over a span, went. */
#include "analyze/cli/command.h"
#include "analyze/cli/export.h"
#include "analyze/cli/identify.h"
#include "analyze/cli/load.h"
#include "analyze/cli/moment.h"
#include "analyze/cli/options.h"
#include "analyze/cli/question.h"
#include "analyze/cli/terminal.h"
#include "analyze/cli/thread_spec.h"
#include "analyze/report/json.h"
#include "analyze/report/text.h"
#include "dtrace-chain/error.h"

struct analyze_options {
	struct dtc_common_options common;
	struct dtc_export_options files;
	char *request_id; /* all strings owned */
	char *mark_regex;
	char *spans;
	char *connection;
	char *thread;
	char *from;
	char *to;
	char *reference;
	char *min_duration;
	char **id_headers;
	int max_depth;
	gboolean is_exact;
	/* derived */
	struct dtc_connection_spec connection_spec;
	struct dtc_thread_spec thread_spec;
	int64_t min_ns; /* -1: a share of the duration */
	bool is_json;
};

static void options_clear(struct analyze_options *options)
{
	dtc_common_options_clear(&options->common);
	dtc_export_options_clear(&options->files);
	g_free(options->request_id);
	g_free(options->mark_regex);
	g_free(options->spans);
	g_free(options->connection);
	g_free(options->thread);
	g_free(options->from);
	g_free(options->to);
	g_free(options->reference);
	g_free(options->min_duration);
	g_strfreev(options->id_headers);
	dtc_thread_spec_clear(&options->thread_spec);
}

static bool parse_options(struct analyze_options *options, int *argc, char ***argv, GError **error)
{
	const GOptionEntry entries[] = {
		{ "request-id", 'r', 0, G_OPTION_ARG_STRING, &options->request_id,
		  "Explain this request: X-Request-Id, trace id, ... or a part of it", "ID" },
		{ "mark-regex", 0, 0, G_OPTION_ARG_STRING, &options->mark_regex,
		  "Find the id in marks of the trace (lttng_logger): an expression with a group (?<id>...)", "REGEX" },
		{ "spans", 0, 0, G_OPTION_ARG_FILENAME, &options->spans,
		  "Find the id in the spans of an OTLP JSON file, for encrypted traffic", "FILE" },
		{ "connection", 0, 0, G_OPTION_ARG_STRING, &options->connection,
		  "Explain the exchange on this connection at this time, e.g. 10.0.0.1:51700-10.0.0.2:80@+1.5s",
		  "SRC:PORT-DST:PORT@TIME" },
		{ "thread", 't', 0, G_OPTION_ARG_STRING, &options->thread, "Explain this thread",
		  "NODE:TID|NODE:NAME" },
		{ "from", 0, 0, G_OPTION_ARG_STRING, &options->from,
		  "Begin of the span: +1.5s, +200ms (since the trace's begin) or the trace's clock", "TIME" },
		{ "to", 0, 0, G_OPTION_ARG_STRING, &options->to, "End of the span", "TIME" },
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
	g_autoptr(DtcCommandLine) line = dtc_command_line_new("analyze");

	dtc_common_options_add(&options->common, line);
	dtc_export_options_add(&options->files, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
	return dtc_command_line_parse(line, argc, argv, error);
}

static bool set_usage(GError **error, const char *message, const char *hint)
{
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "%s\n%s", message, hint);
	return false;
}

static bool check_options(struct analyze_options *options, GError **error)
{
	options->min_ns = -1;
	if (!options->request_id && !options->thread && !options->connection)
		return set_usage(error, "nothing to explain",
				 "give --request-id ID or --thread NODE:TID; `dtrace-chain --help` lists all options");
	if (options->request_id && options->thread)
		return set_usage(error, "--request-id and --thread are two questions", "give one of them");
	if (options->connection && (options->request_id || options->thread))
		return set_usage(error, "--connection is a question of its own",
				 "give it, or --request-id, or --thread");
	if ((options->mark_regex || options->spans) && !options->request_id)
		return set_usage(error, "--mark-regex and --spans tell where an id is",
				 "give the id with --request-id");
	if (options->request_id && !*options->request_id)
		return set_usage(error, "--request-id is empty", "give the id or the begin of it");
	if (!options->thread && (options->from || options->to))
		return set_usage(error, "--from and --to go with --thread", "a request has its own begin and end");
	if (options->max_depth < 0)
		return set_usage(error, "--max-depth is negative", "0 is no limit");
	if (options->connection && !dtc_connection_spec_parse(options->connection, &options->connection_spec, error))
		return false;
	if (options->min_duration && !dtc_span_parse("--min-duration", options->min_duration, &options->min_ns, error))
		return false;
	return dtc_common_options_get_json(&options->common, &options->is_json, error);
}

static bool find_thread(const DtcLoad *load, const struct analyze_options *options, DtcFindings *findings,
			struct dtc_question *question, GError **error)
{
	const DtcClocks *clocks = dtc_load_get_clocks(load);
	struct dtc_thread_span span;
	guint node;

	if (!dtc_load_find_node(load, options->thread_spec.node, &node, error))
		return false;
	const DtcHistory *history = dtc_load_get_history(load, node);
	if (!history) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "node '%s' has no kernel trace, so nothing is known about its threads: %s\n"
			    "`dtrace-chain stats` tells what each node has",
			    options->thread_spec.node, dtc_load_get_kernel_problem(load, node));
		return false;
	}
	if (!dtc_thread_spec_find(history, &options->thread_spec, options->from, options->to, findings, &span, error))
		return false;
	question->target.node = node;
	question->target.thread = span.thread;
	question->target.begin = dtc_clocks_to_cluster(clocks, node, span.begin);
	question->target.end = dtc_clocks_to_cluster(clocks, node, span.end);
	question->target.call = DTC_NONE;
	return true;
}

static bool find_request(const DtcLoad *load, const struct analyze_options *options, const DtcRequests *requests,
			 DtcFindings *findings, struct dtc_question *question, DtcServing **ret_serving, GError **error)
{
	guint index;

	if (dtc_load_get_capture_count(load) == 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "the bundle has no packet capture, and only captures tell which request has the id '%s'\n"
			    "record NODE.pcap beside the traces, or name a thread and a span: --thread NODE:TID "
			    "--from T --to T",
			    options->request_id);
		return false;
	}
	if (!dtc_request_find(requests, options->request_id, &index, error))
		return false;
	g_autoptr(DtcLocator) locator = dtc_load_new_locator(load, requests);
	if (!dtc_question_set_request(question, load, requests, locator, index, findings, error))
		return false;
	*ret_serving = dtc_question_new_serving(load, requests, locator, index);
	question->serving = *ret_serving;
	return true;
}

/* What the user pointed to comes first; what it does not know may still be in a captured header. */
static bool find_id(const DtcLoad *load, const struct analyze_options *options, const DtcRequests *requests,
		    const DtcIdSpans *spans, DtcFindings *findings, struct dtc_question *question,
		    DtcServing **ret_serving, GError **error)
{
	g_autoptr(GError) wrong = NULL;
	struct dtc_id_span span;

	if (!spans)
		return find_request(load, options, requests, findings, question, ret_serving, error);
	if (dtc_id_spans_find(spans, options->request_id, &span, &wrong)) {
		dtc_question_set_span(question, load, &span, findings);
		return true;
	}
	if (g_error_matches(wrong, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND) &&
	    find_request(load, options, requests, findings, question, ret_serving, NULL))
		return true;
	g_propagate_error(error, g_steal_pointer(&wrong));
	return false;
}

static bool print_report(const DtcReport *report, const struct analyze_options *options, GError **error)
{
	const struct dtc_terminal terminal = dtc_terminal_get(options->common.color);
	const struct dtc_text_options text_options = {
		.width = terminal.width,
		.has_color = terminal.has_color,
		.has_utf8 = terminal.has_utf8,
		.is_verbose = options->common.is_verbose,
		.is_exact = options->is_exact,
		.min_ns = options->min_ns,
	};
	g_autofree char *text =
		options->is_json ? dtc_report_to_json(report) : dtc_report_to_text(report, &text_options);

	return dtc_terminal_write(text, error);
}

static bool explain(const DtcLoad *load, const struct dtc_question *question, const struct analyze_options *options,
		    DtcFindings *findings, DtcProgress *progress, bool *ret_complete, GError **error)
{
	const struct dtc_path_options path_options = {
		.max_depth = (guint)options->max_depth,
		.min_blocking_ns = MAX(options->min_ns, 0),
	};

	dtc_progress_show(progress, "walking the critical path");
	g_autoptr(DtcPath) path = NULL;
	g_autoptr(DtcReport) report = dtc_question_answer(question, load, &path_options, findings, &path, error);
	if (!report)
		return false;
	dtc_progress_clear(progress);
	*ret_complete = report->complete;
	return dtc_export_write(&options->files, report, path, load, error) && print_report(report, options, error);
}

/* The whole job; ret_complete tells whether the answer rests on all of the selected data. */
static bool answer(struct analyze_options *options, int argc, char **argv, bool *ret_complete, GError **error)
{
	struct dtc_question question = { 0 };
	g_autoptr(DtcRequests) requests = NULL;
	g_autoptr(DtcServing) serving = NULL;
	g_autoptr(DtcIdSpans) spans = NULL;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = dtc_common_options_open_bundle(&options->common, argc, argv, error);
	if (!bundle || !dtc_export_options_check(&options->files, bundle, error) ||
	    (options->thread && !dtc_thread_spec_parse(options->thread, bundle, &options->thread_spec, error)))
		return false;
	const struct dtc_load_options load_options = {
		.sync_file = options->common.sync_file,
		/* times of a thread's report are best on the clock that --from and --to are on */
		.reference = options->reference ? options->reference : options->thread_spec.node,
		.needs_exchanges = options->request_id != NULL,
		.id_headers = (const char *const *)options->id_headers,
	};
	g_autoptr(DtcProgress) progress = dtc_progress_new(options->common.quiet);
	g_autoptr(DtcLoad) load = dtc_load_bundle(bundle, &load_options, progress, findings, error);
	if (!load)
		return false;
	if (options->request_id)
		requests = dtc_requests_new(dtc_load_get_exchanges(load));
	bool found;
	if (options->mark_regex || options->spans) {
		spans = dtc_id_spans_load(load, options->mark_regex, options->spans, findings, error);
		if (!spans)
			return false;
	}
	if (options->connection)
		found = dtc_question_set_connection(&question, load, &options->connection_spec, findings, error);
	else if (options->request_id)
		found = find_id(load, options, requests, spans, findings, &question, &serving, error);
	else
		found = find_thread(load, options, findings, &question, error);
	found = found && explain(load, &question, options, findings, progress, ret_complete, error);
	dtc_question_clear(&question);
	return found;
}

int dtc_command_analyze(int argc, char **argv)
{
	struct analyze_options options = { 0 };
	g_autoptr(GError) error = NULL;
	bool is_complete;
	int code;

	if (parse_options(&options, &argc, &argv, &error) && check_options(&options, &error) &&
	    answer(&options, argc, argv, &is_complete, &error))
		code = is_complete ? 0 : 3;
	else
		code = dtc_cli_report_error(error);
	options_clear(&options);
	return code;
}
