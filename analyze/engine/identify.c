/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/identify.h"

#include "analyze/exchange/endpoint.h"
#include "dtrace-chain/error.h"

#include <dtrace-chain/bisect.h>

#include <arpa/inet.h>
#include <string.h>

/* "10.0.0.1:80" or "[fe80::1]:80" */
static bool parse_end(const char *text, uint8_t ret_address[16], uint16_t *ret_port)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	g_autofree char *address = g_strdup(text);
	char *colon = strrchr(address, ':');
	guint64 port;

	if (!colon || !g_ascii_string_to_unsigned(colon + 1, 10, 1, G_MAXUINT16, &port, NULL))
		return false;
	*colon = '\0';
	*ret_port = (uint16_t)port;
	gsize count = strlen(address);
	if (count > 2 && address[0] == '[' && address[count - 1] == ']') {
		address[count - 1] = '\0';
		return inet_pton(AF_INET6, address + 1, ret_address) == 1;
	}
	memcpy(ret_address, mapped, sizeof(mapped));
	return inet_pton(AF_INET, address, ret_address + 12) == 1;
}

bool dtc_connection_spec_parse(const char *text, struct dtc_connection_spec *ret_spec, GError **error)
{
	struct dtc_connection_spec spec;
	g_autofree char *ends = g_strdup(text);
	char *at = strrchr(ends, '@'), *dash = strchr(ends, '-');

	if (at && dash && dash < at) {
		*at = *dash = '\0';
		if (parse_end(ends, spec.ends.source, &spec.ends.source_port) &&
		    parse_end(dash + 1, spec.ends.destination, &spec.ends.destination_port)) {
			if (!dtc_moment_parse("--connection", at + 1, &spec.at, error))
				return false;
			spec.at_text = text + (at + 1 - ends);
			*ret_spec = spec;
			return true;
		}
	}
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
		    "--connection '%s' is not two ends and a time\n"
		    "for example 10.0.0.1:51700-10.0.0.2:80@+1.5s, or [fd00::1]:51700-[fd00::2]:80@+1.5s",
		    text);
	return false;
}

static void set_target(struct dtc_question *question, const DtcEngine *engine, guint node, uint32_t thread,
		       DtcNodeTime begin, DtcNodeTime end, uint32_t call)
{
	const DtcClocks *clocks = dtc_engine_get_clocks(engine);

	question->target.node = node;
	question->target.thread = thread;
	question->target.begin = dtc_clocks_to_cluster(clocks, node, begin);
	question->target.end = dtc_clocks_to_cluster(clocks, node, end);
	question->target.call = call;
}

bool dtc_question_set_connection(struct dtc_question *question, const DtcEngine *engine,
				 const struct dtc_connection_spec *spec, DtcFindings *findings, GError **error)
{
	DtcClusterTime at;
	struct dtc_turn turn;

	if (!dtc_moment_resolve("--connection", spec->at_text, &spec->at, dtc_engine_get_origin(engine).ns,
				dtc_engine_get_end(engine).ns, &at.ns, error))
		return false;
	if (!dtc_turn_find(dtc_engine_get_node_count(engine), dtc_engine_get_histories(engine),
			   dtc_engine_get_clocks(engine), &spec->ends, at, &turn, error))
		return false;
	set_target(question, engine, turn.node, turn.thread, turn.begin, turn.end, turn.call);
	const char *node = dtc_engine_get_node_names(engine)[turn.node];
	if (!turn.is_client)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, node,
				 "the end that connected is not traced: the span is the other's, from the first byte "
				 "read to the last byte written");
	if (!turn.has_end)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, node,
				 "nothing came back on the connection: the span ends with the last byte sent");
	if (question->target.begin.ns > at.ns || question->target.end.ns < at.ns)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, node,
				 "nothing was under way on the connection at that time: this is the exchange "
				 "nearest to it");
	return true;
}

static bool real_to_node(gconstpointer engine, guint node, int64_t real_ns, int64_t *ret_node_ns)
{
	return dtc_engine_capture_to_node(engine, node, real_ns, ret_node_ns);
}

DtcIdSpans *dtc_id_spans_load(const DtcEngine *engine, const char *mark_regex, const char *path, DtcFindings *findings,
			      GError **error)
{
	const struct dtc_id_spans_input input = {
		.node_count = dtc_engine_get_node_count(engine),
		.names = dtc_engine_get_node_names(engine),
		.histories = dtc_engine_get_histories(engine),
		.real_to_node = real_to_node,
		.data = engine,
	};
	g_autoptr(DtcIdSpans) spans = dtc_id_spans_new(&input);

	if ((mark_regex && !dtc_id_spans_add_marks(spans, mark_regex, error)) ||
	    (path && !dtc_id_spans_add_file(spans, path, findings, error)))
		return NULL;
	return g_steal_pointer(&spans);
}

#define CALLS_MAX 4096 /* of a thread, back from the begin of a span, and on in it */

/* What a thread that works for somebody did: read from a connection that it did not open, or answer on it. */
static bool serves(const DtcHistory *h, const struct dtc_call *call, bool *ret_is_told)
{
	bool moves = call->result > 0 && call->result != DTC_ABSENT && call->file != DTC_NONE &&
		     (call->kind == DTC_CALL_READ || call->kind == DTC_CALL_WRITE);

	*ret_is_told = moves && dtc_history_get_file(h, call->file)->flow_out != DTC_NONE;
	return *ret_is_told && dtc_endpoint_is_stream_server(h, call->file);
}

/*
 * Whether a span is a server's: it says so, or the last that its thread had to do with a connection before, or the
 * first in it, is to be asked or to answer.
 */
static bool is_server_span(const DtcHistory *h, const struct dtc_id_span *span)
{
	const struct dtc_thread *thread = dtc_history_get_thread(h, span->thread);
	uint32_t end = thread->call_first + thread->call_count, at = thread->call_first;
	bool is_told = false, is_server = span->is_server;
	struct dtc_call place;

	at += DTC_BISECT(i, 0, thread->call_count,
			 dtc_history_get_call_begin_ns(h, thread->call_first + i) <= span->begin.ns);
	for (uint32_t i = at; !is_server && !is_told && i > thread->call_first && at - i < CALLS_MAX; i--)
		is_server = serves(h, dtc_history_get_call(h, i - 1, &place), &is_told);
	for (uint32_t i = at; !is_server && !is_told && i < end && i - at < CALLS_MAX; i++)
		is_server = serves(h, dtc_history_get_call(h, i, &place), &is_told);
	return is_server;
}

bool dtc_question_set_span(struct dtc_question *question, const DtcEngine *engine, const DtcIdSpans *spans,
			   const char *id, DtcFindings *findings, GError **error)
{
	g_autoptr(GError) wrong = NULL;
	struct dtc_id_span span;

	if (!dtc_id_spans_find(spans, id, &span, &wrong)) {
		if (g_error_matches(wrong, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND) &&
		    dtc_question_set_id(question, engine, id, findings, NULL))
			return true;
		if (wrong->code == DTC_ERROR_NOT_FOUND)
			wrong->code = DTC_ERROR_USAGE; /* it is nowhere: a name that is not there */
		g_propagate_error(error, g_steal_pointer(&wrong));
		return false;
	}
	set_target(question, engine, span.node, span.thread, span.begin, span.end, DTC_NONE);
	question->span_identity = (struct dtc_identity){ span.source, span.id, span.id };
	dtc_findings_add(findings, DTC_SEVERITY_INFO, false, dtc_engine_get_node_names(engine)[span.node],
			 "the span is what the %s says, of the thread that has the longest one with this id",
			 span.source);
	question->is_client_hidden = is_server_span(dtc_engine_get_history(engine, span.node), &span);
	if (question->is_client_hidden)
		dtc_findings_add_coded(findings, DTC_FINDING_CLIENT_HIDDEN, DTC_SEVERITY_INFO, false,
				       dtc_engine_get_node_names(engine)[span.node],
				       "the client's part of the request is not visible: the span is a server's, and "
				       "what the client waited before and after is not in it");
	return true;
}
