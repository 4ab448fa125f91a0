/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/identify.h"

#include "dtrace-chain/error.h"

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

static int64_t find_origin_ns(const DtcLoad *load)
{
	const DtcClocks *clocks = dtc_load_get_clocks(load);
	guint reference = dtc_clocks_get_reference(clocks);
	int64_t origin_ns = INT64_MAX;

	for (guint i = 0; i < dtc_load_get_node_count(load); i++) {
		const DtcHistory *history = dtc_load_get_history(load, i);
		if (!history || dtc_clocks_get_group(clocks, i) != dtc_clocks_get_group(clocks, reference))
			continue;
		int64_t begin_ns = dtc_history_get_begin_ns(history);
		if (begin_ns != DTC_TIME_NONE)
			origin_ns = MIN(origin_ns, dtc_clocks_to_cluster(clocks, i, (DtcNodeTime){ begin_ns }).ns);
	}
	return origin_ns == INT64_MAX ? 0 : origin_ns;
}

static void set_target(struct dtc_question *question, const DtcLoad *load, guint node, uint32_t thread,
		       DtcNodeTime begin, DtcNodeTime end, uint32_t call)
{
	const DtcClocks *clocks = dtc_load_get_clocks(load);

	question->target.node = node;
	question->target.thread = thread;
	question->target.begin = dtc_clocks_to_cluster(clocks, node, begin);
	question->target.end = dtc_clocks_to_cluster(clocks, node, end);
	question->target.call = call;
}

bool dtc_question_set_connection(struct dtc_question *question, const DtcLoad *load,
				 const struct dtc_connection_spec *spec, DtcFindings *findings, GError **error)
{
	DtcClusterTime at = { spec->at.ns };
	struct dtc_turn turn;

	if (spec->at.is_relative && __builtin_add_overflow(find_origin_ns(load), spec->at.ns, &at.ns))
		at.ns = INT64_MAX;
	if (!dtc_turn_find(dtc_load_get_node_count(load), dtc_load_get_histories(load), dtc_load_get_clocks(load),
			   &spec->ends, at, &turn, error))
		return false;
	set_target(question, load, turn.node, turn.thread, turn.begin, turn.end, turn.call);
	const char *node = dtc_load_get_node_names(load)[turn.node];
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

static bool real_to_node(gconstpointer load, guint node, int64_t real_ns, int64_t *ret_node_ns)
{
	return dtc_matches_capture_to_node(dtc_load_get_matches(load), node, real_ns, ret_node_ns);
}

DtcIdSpans *dtc_id_spans_load(const DtcLoad *load, const char *mark_regex, const char *path, DtcFindings *findings,
			      GError **error)
{
	const struct dtc_id_spans_input input = {
		.node_count = dtc_load_get_node_count(load),
		.names = dtc_load_get_node_names(load),
		.histories = dtc_load_get_histories(load),
		.real_to_node = real_to_node,
		.data = load,
	};
	g_autoptr(DtcIdSpans) spans = dtc_id_spans_new(&input);

	if ((mark_regex && !dtc_id_spans_add_marks(spans, mark_regex, error)) ||
	    (path && !dtc_id_spans_add_file(spans, path, findings, error)))
		return NULL;
	return g_steal_pointer(&spans);
}

void dtc_question_set_span(struct dtc_question *question, const DtcLoad *load, const struct dtc_id_span *span,
			   DtcFindings *findings)
{
	set_target(question, load, span->node, span->thread, span->begin, span->end, DTC_NONE);
	question->span_identity = (struct dtc_identity){ span->source, span->id, span->id };
	dtc_findings_add(findings, DTC_SEVERITY_INFO, false, dtc_load_get_node_names(load)[span->node],
			 "the span is what the %s says, of the thread that has the longest one with this id",
			 span->source);
}
