/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/capture_fit.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

#define SECOND INT64_C(1000000000)
#define MINUTE (INT64_C(60) * SECOND)
#define QUARTER (INT64_C(15) * MINUTE)
/* Clocks of a node that are more than this apart were not read from the same clock. */
#define APART_NS MINUTE
/* Time zones reach from -12 to +14 hours. */
#define ZONE_MAX_NS (INT64_C(14) * 60 * MINUTE)
/* A trace clock below this counts from a machine's start and not from 1970. */
#define DATE_MIN_NS (INT64_C(946684800) * SECOND)
#define UNITS 1000
#define FEW 10		   /* a share of less than one in so many */
#define SPAN_MIN_NS SECOND /* of a trace, before its length says something */

struct span {
	int64_t begin_ns;
	int64_t end_ns;
};

static struct span get_span(const DtcPackets *packets)
{
	uint32_t count = dtc_packets_get_count(packets);
	if (!count)
		return (struct span){ INT64_MAX, INT64_MIN };
	return (struct span){ dtc_packets_get_time_ns(packets, 0), dtc_packets_get_time_ns(packets, count - 1) };
}

/* ---- addresses ---- */

/* The addresses that the node sends from, as its kernel trace has them. Borrowed keys; caller unrefs. */
static GHashTable *list_own(const DtcPackets *kernel)
{
	GHashTable *own = g_hash_table_new(dtc_address_hash, dtc_address_equal);
	for (uint32_t i = 0; i < dtc_packets_get_flow_count(kernel); i++) {
		const struct dtc_flow *flow = dtc_packets_get_flow(kernel, i);
		if (flow->packet_count == 0 || dtc_address_is_loopback(flow->source))
			continue;
		uint32_t first = dtc_packets_get_flow_packet(kernel, i, 0);
		if (dtc_packets_get_direction(kernel, first) == DTC_SENT)
			g_hash_table_add(own, (void *)flow->source);
	}
	return own;
}

static bool shows_any(const DtcPackets *capture, GHashTable *addresses)
{
	for (uint32_t i = 0; i < dtc_packets_get_flow_count(capture); i++) {
		const struct dtc_flow *flow = dtc_packets_get_flow(capture, i);
		if (flow->packet_count > 0 && (g_hash_table_contains(addresses, flow->source) ||
					       g_hash_table_contains(addresses, flow->destination)))
			return true;
	}
	return false;
}

/* ", but those of 'web'": the other nodes whose addresses the capture shows. Caller frees. */
static char *describe_others(const struct dtc_recordings *recordings, const char *const *names, guint node)
{
	GString *text = g_string_new(NULL);
	for (guint i = 0; i < recordings->node_count; i++) {
		if (i == node || !recordings->histories[i])
			continue;
		g_autoptr(GHashTable) own = list_own(dtc_history_get_packets(recordings->histories[i]));
		if (g_hash_table_size(own) > 0 && shows_any(recordings->captures[node], own))
			g_string_append_printf(text, "%s'%s'", text->len ? ", " : ", but of ", names[i]);
	}
	return g_string_free(text, FALSE);
}

bool dtc_capture_fit_is_others(const DtcPackets *kernel, const DtcPackets *capture)
{
	g_autoptr(GHashTable) own = list_own(kernel);
	return g_hash_table_size(own) > 0 && dtc_packets_get_flow_count(capture) > 0 && !shows_any(capture, own);
}

static void report_others(const struct dtc_recordings *recordings, const char *const *names, guint node,
			  DtcFindings *findings)
{
	g_autofree char *others = describe_others(recordings, names, node);
	dtc_findings_add_coded(findings, DTC_FINDING_CAPTURE_FOREIGN, DTC_SEVERITY_WARNING, false, names[node],
			       "the capture shows no packet of the addresses that the node sends from%s: it looks like "
			       "another host's",
			       others);
}

/* ---- time ---- */

/* What a distance between the clocks of a node looks like. Caller frees. */
static char *describe_distance(int64_t off_ns)
{
	int64_t size_ns = off_ns < 0 ? -off_ns : off_ns;
	int64_t quarters = (size_ns + QUARTER / 2) / QUARTER;
	int64_t rest_ns = size_ns - quarters * QUARTER;
	bool is_zone = quarters > 0 && size_ns <= ZONE_MAX_NS && rest_ns > -APART_NS && rest_ns < APART_NS;
	return g_strdup_printf("the capture's clock is %.3f h %s the trace's: it looks like %s",
			       (double)size_ns / 3.6e12, off_ns < 0 ? "before" : "after",
			       is_zone ? "a time zone" : "a clock that was not set, or another recording");
}

#define LARGE_UNIT "nanoseconds taken for microseconds"
#define SMALL_UNIT "microseconds taken for nanoseconds"

static bool is_thousand(double factor)
{
	return factor > UNITS / 2. && factor < UNITS * 2.;
}

static int64_t get_length(struct span span)
{
	return span.end_ns - span.begin_ns;
}

static guint count_within(const DtcPackets *packets, struct span span)
{
	uint32_t count = dtc_packets_get_count(packets);
	uint32_t first = DTC_BISECT(i, 0, count, dtc_packets_get_time_ns(packets, i) < span.begin_ns);
	return DTC_BISECT(i, first, count, dtc_packets_get_time_ns(packets, i) <= span.end_ns) - first;
}

/*
 * Without a packet that both saw: a capture that is a thousand times as long as the trace may be one that ran all day,
 * and one that is a thousandth of it one that ran for a moment. But then the longer one saw what the shorter one did
 * while both ran. What it saw of that is thinner by the factor if its times, or those of the other, are stretched. A
 * capture that ran all day and was filtered has still more packets than the trace, which has all of its time.
 */
static const char *describe_units(const DtcPackets *kernel, const DtcPackets *capture)
{
	struct span trace = get_span(kernel), captured = get_span(capture);
	guint trace_count = dtc_packets_get_count(kernel), captured_count = dtc_packets_get_count(capture);
	double factor = (double)get_length(captured) / (double)MAX(get_length(trace), 1);

	if (is_thousand((double)trace.begin_ns / (double)MAX(captured.begin_ns, 1)))
		return SMALL_UNIT; /* of all of the date */
	if (get_length(trace) < SPAN_MIN_NS || captured.begin_ns > trace.end_ns || captured.end_ns < trace.begin_ns)
		return NULL;
	if (is_thousand(factor) && captured_count / 2 < trace_count && count_within(capture, trace) < trace_count / FEW)
		return LARGE_UNIT;
	if (is_thousand(1 / MAX(factor, 1e-9)) && count_within(kernel, captured) < captured_count / FEW)
		return SMALL_UNIT;
	return NULL;
}

/* Between packets that both saw distance and rate are known; else the spans are compared. */
char *dtc_capture_fit_describe_time(const DtcPackets *kernel, const DtcPackets *capture, const DtcMatches *matches,
				    guint node)
{
	struct span trace = get_span(kernel), captured = get_span(capture);
	double rate = dtc_matches_get_capture_rate(matches, node);
	const char *units = rate == 0			       ? describe_units(kernel, capture)
			    : is_thousand(rate)		       ? LARGE_UNIT
			    : is_thousand(1 / MAX(rate, 1e-9)) ? SMALL_UNIT
							       : NULL;
	int64_t node_ns;
	if (trace.begin_ns < DATE_MIN_NS)
		return NULL;
	if (units)
		return g_strdup_printf("the capture's times go %s as fast as the trace's: they look like %s",
				       strcmp(units, LARGE_UNIT) == 0 ? "a thousand times" : "a thousandth", units);
	if (dtc_matches_capture_to_node(matches, node, captured.begin_ns, &node_ns))
		return ABS(captured.begin_ns - node_ns) > APART_NS ? describe_distance(captured.begin_ns - node_ns)
								   : NULL;
	if (captured.begin_ns > trace.end_ns + APART_NS || captured.end_ns < trace.begin_ns - APART_NS)
		return describe_distance(captured.begin_ns - trace.begin_ns);
	return NULL;
}

void dtc_capture_fit_check(const struct dtc_recordings *recordings, const char *const *names, const DtcMatches *matches,
			   const struct dtc_node_brief *briefs, DtcFindings *findings)
{
	for (guint node = 0; node < recordings->node_count; node++) {
		const DtcPackets *capture = recordings->captures[node];
		if (!recordings->histories[node] || !capture || recordings->is_foreign[node])
			continue;
		const struct dtc_node_brief *told = briefs ? &briefs[node] : NULL;
		const DtcPackets *kernel = dtc_history_get_packets(recordings->histories[node]);
		bool is_told = told && told->brief;
		if (dtc_packets_get_count(kernel) == 0 || dtc_packets_get_count(capture) == 0)
			continue;
		if (is_told ? told->is_others : dtc_capture_fit_is_others(kernel, capture)) {
			report_others(recordings, names, node, findings);
			continue;
		}
		g_autofree char *what =
			is_told ? g_strdup(told->time) : dtc_capture_fit_describe_time(kernel, capture, matches, node);
		if (what)
			dtc_findings_add_coded(findings, DTC_FINDING_CAPTURE_TIME, DTC_SEVERITY_WARNING, false,
					       names[node], "%s", what);
	}
}
