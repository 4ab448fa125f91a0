/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/path/busy.h"
#include "analyze/path/path_build.h"

#include <dtrace-chain/bisect.h>

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
	return DTC_BISECT(i, 0, count, spans[i].end_ns <= node_ns);
}

/* A span that was found, and that nothing before it can be found instead of it from that time on. */
struct found {
	const struct dtc_served *span; /* NULL: none */
	guint node;
	uint32_t thread;
	int64_t from_ns, end_ns; /* cluster time */
};

struct pass {
	DtcTable *to; /* struct dtc_segment */
	const DtcPath *path;
	const DtcRequests *requests;
	const DtcServing *serving;
	const DtcClocks *clocks;
	struct found found; /* last: of most segments it is the one before's */
};

/* For whom a part of a segment was, and for whom it may have been instead; DTC_NO_REQUEST: nobody, or not told. */
struct whose {
	guint request;
	guint other;
};

static const char *get_id(const struct pass *pass, guint request)
{
	return request == DTC_NO_REQUEST ? NULL : dtc_requests_get(pass->requests, request)->id;
}

/*
 * Appends [begin, end) of a segment. Its latest part bears the link of the step that led to it, which is no exact one
 * where two requests are in question.
 */
static void add_part(struct pass *pass, const struct dtc_segment *from, int64_t begin_ns, int64_t end_ns,
		     const struct whose *whose)
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
	part.busy_with = get_id(pass, whose->request);
	part.candidate = get_id(pass, whose->other);
	if (part.candidate)
		part.link = MAX(part.link, DTC_LINK_INFERRED);
	dtc_table_append(pass->to, &part);
}

/* A thread that worked, or waited for the one above it, in a part of a segment. */
struct level {
	guint node;
	uint32_t thread;
	guint outer;
	bool waits;
};

static bool is_found(const struct found *found, const struct level *level, enum dtc_cause cause, int64_t at_ns,
		     int64_t segment_end_ns)
{
	return found->span && found->node == level->node && found->thread == level->thread && !level->waits &&
	       found->from_ns <= at_ns && segment_end_ns <= found->end_ns && counts(found->span, cause);
}

/*
 * The earliest span of a level that tells for whom [at, end) was, as [*ret_begin, *ret_end) within it. A waiter's spans
 * that lead up to a call do not count: it may have waited for reasons of its own. NULL if there is none.
 */
static const struct dtc_served *find_span(struct pass *pass, const struct level *level, enum dtc_cause cause,
					  int64_t at_ns, int64_t segment_end_ns, int64_t *ret_begin_ns,
					  int64_t *ret_end_ns)
{
	if (is_found(&pass->found, level, cause, at_ns, segment_end_ns)) {
		*ret_begin_ns = at_ns;
		*ret_end_ns = segment_end_ns;
		return pass->found.span;
	}
	guint count = 0;
	bool is_first = !level->waits; /* of those that end after that time, and of what a thread does itself */
	const struct dtc_served *spans =
		level->thread == DTC_NONE ? NULL : dtc_serving_get(pass->serving, level->node, level->thread, &count);
	DtcClusterTime at = { at_ns };
	/* the map may round: one span before may still reach into the segment */
	guint i = count ? find_first(spans, count, dtc_clocks_to_node(pass->clocks, level->node, at).ns) : 0;

	for (i = i ? i - 1 : 0; i < count; i++) {
		DtcNodeTime begin = { spans[i].begin_ns }, end = { spans[i].end_ns };
		*ret_begin_ns = MAX(dtc_clocks_to_cluster(pass->clocks, level->node, begin).ns, at_ns);
		*ret_end_ns = MIN(dtc_clocks_to_cluster(pass->clocks, level->node, end).ns, segment_end_ns);
		if (*ret_begin_ns >= segment_end_ns)
			break;
		if (*ret_end_ns <= *ret_begin_ns)
			continue;
		if (level->waits ? !spans[i].leads : counts(&spans[i], cause)) {
			if (is_first)
				pass->found =
					(struct found){ &spans[i], level->node, level->thread, *ret_begin_ns,
							dtc_clocks_to_cluster(pass->clocks, level->node, end).ns };
			return &spans[i];
		}
		is_first = false;
	}
	return NULL;
}

/*
 * The write that led the walk to a thread was for a request, and so was what it did before: but not in who sends the
 * request itself, for whom that is the first it does. A worker of etcd's slept 101 ms on a job that it had been told
 * of, and then wrote the result: that job's wait was said to be for the writing of it.
 */
static bool is_of_owner(const struct pass *pass, const struct dtc_segment *from)
{
	return from->owner && !dtc_serving_is_client(pass->serving, from->owner - 1, from->node, from->thread);
}

/*
 * Until when from at on the time of a segment is for one and the same request, and for which: that of its own thread,
 * or if that works for nobody known, the one whose write led the walk there, or of the nearest of those who wait for
 * it. Nobody: of nobody known. A thread that never serves (a kernel's worker, a journal, a collector of garbage) may
 * hold up several at once: of those it is for the nearest on this way, behind whom the path's request queues.
 */
static struct whose find_request(struct pass *pass, const struct dtc_segment *from, int64_t at_ns,
				 int64_t *ret_until_ns)
{
	static const struct whose nobody = { DTC_NO_REQUEST, DTC_NO_REQUEST };
	struct level level = { from->node, from->thread, from->waiter, false };

	*ret_until_ns = from->end.ns;
	for (;;) {
		int64_t begin_ns, end_ns;
		const struct dtc_served *span =
			find_span(pass, &level, from->cause, at_ns, *ret_until_ns, &begin_ns, &end_ns);
		if (span && begin_ns == at_ns) {
			*ret_until_ns = end_ns;
			return (struct whose){ span->request, span->other };
		}
		if (span)
			*ret_until_ns = begin_ns;
		if (is_of_owner(pass, from) && !level.waits)
			return (struct whose){ from->owner - 1, DTC_NO_REQUEST };
		if (dtc_serving_only_inherits(pass->serving, from->node,
					      from->thread)) /* beside that it serves nobody */
			break;
		const struct dtc_waiter *waiter = dtc_path_get_waiter(pass->path, level.outer);
		if (!waiter)
			break;
		level = (struct level){ waiter->node, waiter->thread, waiter->outer, true };
	}
	return nobody;
}

static void split(struct pass *pass, const struct dtc_segment *from, guint request)
{
	/* where a request lay in a way that is not visible, what the thread did meanwhile is no reason */
	bool is_asked = from->thread != DTC_NONE && !from->by_kernel && is_work(from->cause) &&
			from->evidence.reason != DTC_REASON_INSIDE;
	int64_t begin_ns = from->begin.ns, until_ns;
	struct whose before = { DTC_NO_REQUEST, DTC_NO_REQUEST };

	for (int64_t at_ns = begin_ns; is_asked && at_ns < from->end.ns; at_ns = until_ns) {
		struct whose whose = find_request(pass, from, at_ns, &until_ns);
		if (whose.request == request) /* its own */
			whose.request = DTC_NO_REQUEST;
		if (whose.request != before.request || whose.request != DTC_NO_REQUEST || whose.other != before.other) {
			add_part(pass, from, begin_ns, at_ns, &before);
			begin_ns = at_ns;
			before = whose;
		}
	}
	add_part(pass, from, begin_ns, from->end.ns, &before);
}

void dtc_path_name_busy(DtcPath *path, guint request, const DtcRequests *requests, const DtcServing *serving,
			const DtcClocks *clocks)
{
	guint count = dtc_path_get_segment_count(path);
	struct pass pass = {
		.to = dtc_path_segments_new(), .path = path, .requests = requests, .serving = serving, .clocks = clocks
	};

	dtc_table_reserve(pass.to, count);
	for (guint i = 0; i < count; i++)
		split(&pass, dtc_path_get_segment(path, i), request);
	dtc_path_set_segments(path, pass.to);
}
