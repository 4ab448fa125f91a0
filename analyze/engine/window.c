/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/window.h"

#include "analyze/engine/cluster_span.h"
#include "analyze/engine/moment.h"
#include "analyze/engine/owners.h"
#include "collect/packets/node_captures.h"
#include "collect/read/reader.h"

#include <string.h>

#define SLACK_NS G_GINT64_CONSTANT(1000000000) /* that clocks which nobody aligned show different times, as a rule */
#define SLACK_SHARE                                                                                                    \
	1000 /* clocks of a sample go wrong by as much of the time since: twice what rates may differ by               \
	      */
#define SAMPLE_NS G_GINT64_CONSTANT(5000000000)

static int64_t find_trace_begin(const struct dtc_bundle_node *node)
{
	g_autoptr(DtcReader) reader = node->kernel_path ? dtc_reader_open_node(node, NULL) : NULL;
	const struct dtc_event *event = reader ? dtc_reader_next(reader) : NULL;

	return event ? event->time_ns : DTC_TIME_NONE;
}

static int64_t find_capture_begin(const struct dtc_bundle_node *node)
{
	g_autoptr(DtcFindings) unused = dtc_findings_new();
	g_autoptr(DtcNodeCaptures) captures = dtc_node_captures_new(node->name, (const char *const *)node->pcap_paths,
								    node->environment, NULL, unused);
	uint32_t id;
	const struct dtc_captured *captured = dtc_node_captures_next(captures, &id);

	return captured ? captured->time_ns : DTC_TIME_NONE;
}

struct dtc_window_begin dtc_window_find_begin(const struct dtc_bundle_node *node)
{
	struct dtc_window_begin begin = { .ns = find_trace_begin(node) };

	begin.is_trace = begin.ns != DTC_TIME_NONE;
	if (!begin.is_trace && node->pcap_paths)
		begin.ns = find_capture_begin(node);
	return begin;
}

struct dtc_window_begin *dtc_window_find_begins(const DtcBundle *bundle)
{
	guint count = dtc_bundle_get_count(bundle);
	struct dtc_window_begin *begins = g_new0(struct dtc_window_begin, count + 1);

	bool are_asked = dtc_owners_ask_begins(bundle, NULL);
	for (guint i = 0; i < count; i++) {
		const struct dtc_bundle_node *node = dtc_bundle_get_node(bundle, i);
		if (!node->is_elsewhere)
			begins[i] = dtc_window_find_begin(node);
		else if (!are_asked || !dtc_owners_take_begin(bundle, i, &begins[i]))
			begins[i].ns = DTC_TIME_NONE;
	}
	return begins;
}

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

struct dtc_window_span *dtc_window_sample(const struct dtc_window_begin *begins, guint node_count)
{
	struct dtc_window_span *spans = g_new(struct dtc_window_span, node_count + 1);

	for (guint i = 0; i < node_count; i++)
		spans[i] = (struct dtc_window_span){ INT64_MIN, begins[i].ns == DTC_TIME_NONE
									? INT64_MIN
									: add(begins[i].ns, SAMPLE_NS) };
	return spans;
}

static int64_t to_cluster(const DtcClocks *clocks, guint node, int64_t ns)
{
	return clocks ? dtc_clocks_to_cluster(clocks, node, (DtcNodeTime){ ns }).ns : ns;
}

/* What relative times count from. */
static bool find_origin(const DtcBundle *bundle, const char *of, const struct dtc_window_begin *begins,
			const DtcClocks *clocks, int64_t *ret_origin_ns)
{
	int64_t origin_ns = INT64_MAX;

	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		if (!begins[i].is_trace)
			continue;
		if (!dtc_wall_clock_is_known(begins[i].ns)) /* captures show another time */
			return false;
		int64_t begin_ns = to_cluster(clocks, i, begins[i].ns);
		bool is_it = of && strcmp(dtc_bundle_get_node(bundle, i)->name, of) == 0;
		if (is_it || begin_ns < origin_ns)
			origin_ns = begin_ns;
		if (is_it)
			break;
	}
	*ret_origin_ns = origin_ns;
	return origin_ns != INT64_MAX;
}

static bool resolve(const char *option, const char *text, int64_t origin_ns, int64_t *ret_ns)
{
	struct dtc_moment moment;

	/* a time of day is of the first one: how long the traces are is not known yet */
	return !text || (dtc_moment_parse(option, text, &moment, NULL) &&
			 dtc_moment_resolve(option, text, &moment, origin_ns, origin_ns + DTC_DAY_NS - 4 * SLACK_NS,
					    ret_ns, NULL));
}

/* The time on the node's clock, so much and what clocks may have gone wrong since the origin earlier or later. */
static int64_t to_node(const DtcClocks *clocks, guint node, int64_t cluster_ns, int64_t origin_ns, int64_t away_ns)
{
	int64_t node_ns = clocks ? dtc_clocks_to_node(clocks, node, (DtcClusterTime){ cluster_ns }).ns : cluster_ns;
	int64_t slack_ns = SLACK_NS + ABS(cluster_ns / SLACK_SHARE - origin_ns / SLACK_SHARE);

	return add(node_ns, away_ns < 0 ? add(away_ns, -slack_ns) : add(away_ns, slack_ns));
}

struct dtc_window_span *dtc_window_find(const DtcBundle *bundle, const struct dtc_window *window,
					const struct dtc_window_begin *begins, const DtcClocks *clocks)
{
	guint count = dtc_bundle_get_count(bundle);
	int64_t origin_ns, from_ns = INT64_MIN, to_ns = INT64_MAX, lead_ns = MAX(window->lead_ns, 1);

	if (!find_origin(bundle, window->of, begins, clocks, &origin_ns) ||
	    !resolve("--from", window->from, origin_ns, &from_ns) || !resolve("--to", window->to, origin_ns, &to_ns) ||
	    from_ns >= to_ns)
		return NULL;
	struct dtc_window_span *spans = g_new(struct dtc_window_span, count + 1);
	for (guint i = 0; i < count; i++) {
		spans[i].begin_ns = window->from ? to_node(clocks, i, from_ns, origin_ns, -lead_ns) : INT64_MIN;
		spans[i].end_ns = window->to ? to_node(clocks, i, to_ns, origin_ns, lead_ns) : INT64_MAX;
	}
	return spans;
}

/* A node that talked to nobody, and a capture of others' packets, cannot be aligned by whatever is read. */
static bool is_wanted(const struct dtc_window_reading *reading, guint node)
{
	const struct dtc_window_begin *begin = &reading->begins[node];

	return reading->histories[node] ||
	       (!begin->is_trace && begin->ns != DTC_TIME_NONE && !reading->are_foreign[node]);
}

bool dtc_window_are_aligned(const struct dtc_window_reading *reading)
{
	const DtcClocks *clocks = reading->clocks;
	guint group = dtc_clocks_get_group(clocks, dtc_clocks_get_reference(clocks));

	for (guint i = 0; i < dtc_clocks_get_node_count(clocks); i++)
		if (is_wanted(reading, i) && dtc_clocks_get_group(clocks, i) != group)
			return false;
	return true;
}

/* What is asked of a node, as the clocks tell now, with the lead; where its trace begins and ends does not matter. */
static struct dtc_window_span find_asked(const struct dtc_window *window, const DtcClocks *clocks, guint node,
					 int64_t origin_ns)
{
	struct dtc_window_span asked = { INT64_MIN, INT64_MAX };
	int64_t from_ns, to_ns;

	if (!resolve("--from", window->from, origin_ns, &from_ns) || !resolve("--to", window->to, origin_ns, &to_ns))
		return asked;
	if (window->from)
		asked.begin_ns =
			add(dtc_clocks_to_node(clocks, node, (DtcClusterTime){ from_ns }).ns, -window->lead_ns);
	if (window->to)
		asked.end_ns = add(dtc_clocks_to_node(clocks, node, (DtcClusterTime){ to_ns }).ns, window->lead_ns);
	return asked;
}

bool dtc_window_is_enough(const struct dtc_window *window, const struct dtc_window_span *spans,
			  const struct dtc_window_reading *reading)
{
	const DtcClocks *clocks = reading->clocks;
	guint of = G_MAXUINT;

	for (guint i = 0; window->of && reading->names[i]; i++)
		if (strcmp(reading->names[i], window->of) == 0)
			of = i;
	if (!dtc_window_are_aligned(reading))
		return false;
	g_autofree struct dtc_cluster_span *cut =
		dtc_cluster_span_find(clocks, reading->histories, of, window->from, window->to, NULL);
	for (guint i = 0; cut && i < dtc_clocks_get_node_count(clocks); i++) {
		if (!is_wanted(reading, i))
			continue;
		/* a recording that ends before the span does may have been cut there */
		const struct dtc_window_span asked = find_asked(window, clocks, i, cut[i].origin.ns);
		if (spans[i].begin_ns > MAX(reading->begins[i].ns, asked.begin_ns) || spans[i].end_ns < asked.end_ns)
			return false;
	}
	return cut != NULL;
}
