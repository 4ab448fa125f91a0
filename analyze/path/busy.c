/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/path/busy.h"
#include "analyze/path/path_build.h"

/* Whether a thread in this state is at work, or waits in the course of its work, whoever it works for. */
static bool is_work(enum dtc_cause cause)
{
	switch (cause) {
	case DTC_CAUSE_NETWORK_SEND:
	case DTC_CAUSE_NETWORK_WIRE:
	case DTC_CAUSE_NETWORK_RECEIVE:
	case DTC_CAUSE_RETRANSMISSION:
	case DTC_CAUSE_UNKNOWN:
		return false;
	default:
		return true;
	}
}

/* Before its next call a thread may sleep for reasons of its own: only what it runs leads up to the call. */
static bool counts(const struct dtc_served *span, enum dtc_cause cause)
{
	return !span->leads || cause == DTC_CAUSE_RUNNING_USER || cause == DTC_CAUSE_RUNNING_KERNEL;
}

/* The first span that ends after a time. */
static guint find_first(const struct dtc_served *spans, guint count, int64_t node_ns)
{
	guint low = 0, high = count;

	while (low < high) {
		guint middle = low + (high - low) / 2;
		if (spans[middle].end_ns <= node_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct pass {
	GArray *to; /* struct dtc_segment */
	const DtcRequests *requests;
};

/* Appends [begin, end) of a segment. Its latest part bears the link of the step that led to it. */
static void add_part(struct pass *pass, const struct dtc_segment *from, int64_t begin_ns, int64_t end_ns,
		     const char *busy_with)
{
	struct dtc_segment part = *from;

	if (end_ns <= begin_ns)
		return;
	part.begin.ns = begin_ns;
	part.end.ns = end_ns;
	if (end_ns != from->end.ns) {
		part.link = DTC_LINK_EXACT;
		part.uncertainty_ns = 0;
	}
	part.comm = g_strdup(from->comm);
	part.process = g_strdup(from->process);
	if (!busy_with)
		part.detail = g_strdup(from->detail);
	else if (from->detail)
		part.detail = g_strdup_printf("busy with request %s: %s", busy_with, from->detail);
	else
		part.detail = g_strdup_printf("busy with request %s", busy_with);
	part.busy_with = g_strdup(busy_with);
	g_array_append_val(pass->to, part);
}

static void split(struct pass *pass, const struct dtc_segment *from, guint request, const DtcServing *serving,
		  const DtcClocks *clocks)
{
	guint count = 0;
	const struct dtc_served *spans = NULL;
	int64_t at_ns = from->begin.ns;

	if (from->thread != DTC_NONE && is_work(from->cause))
		spans = dtc_serving_get(serving, from->node, from->thread, &count);
	/* the map may round: one span before may still reach into the segment */
	guint i = count ? find_first(spans, count, dtc_clocks_to_node(clocks, from->node, from->begin).ns) : 0;
	for (i = i ? i - 1 : 0; i < count && at_ns < from->end.ns; i++) {
		int64_t begin_ns = dtc_clocks_to_cluster(clocks, from->node, (DtcNodeTime){ spans[i].begin_ns }).ns;
		int64_t end_ns = dtc_clocks_to_cluster(clocks, from->node, (DtcNodeTime){ spans[i].end_ns }).ns;
		if (begin_ns >= from->end.ns)
			break;
		if (spans[i].request == request || end_ns <= at_ns || !counts(&spans[i], from->cause))
			continue;
		begin_ns = MAX(begin_ns, at_ns);
		end_ns = MIN(end_ns, from->end.ns);
		add_part(pass, from, at_ns, begin_ns, NULL);
		add_part(pass, from, begin_ns, end_ns, dtc_requests_get(pass->requests, spans[i].request)->id);
		at_ns = end_ns;
	}
	add_part(pass, from, at_ns, from->end.ns, NULL);
}

void dtc_path_name_busy(DtcPath *path, guint request, const DtcRequests *requests, const DtcServing *serving,
			const DtcClocks *clocks)
{
	guint count = dtc_path_get_segment_count(path);
	struct pass pass = { g_array_sized_new(FALSE, FALSE, sizeof(struct dtc_segment), count), requests };

	for (guint i = 0; i < count; i++)
		split(&pass, dtc_path_get_segment(path, i), request, serving, clocks);
	dtc_path_set_segments(path, pass.to);
}
