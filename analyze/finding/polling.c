/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/polling.h"

#include "analyze/finding/findings.h"

#include <errno.h>
#include <string.h>

/* A loop may look a few times before it blocks; one that does so 16 times in a row has no wait to come to. */
#define CALLS_MIN 16
/* Shorter sleeps are breaks between two looks: poll and epoll_wait count their timeouts in ms. */
#define SHORT_SLEEP_NS 1000000
/* As for long runs: a whole tick of the slowest kernels (HZ=100), and a tenth of the span. */
#define POLLING_NS (INT64_C(10) * 1000 * 1000)
#define SHARE 10

enum yield { IN_VAIN, NEUTRAL, FRUITFUL };

/* What a look-up of clocks and ids says of a loop is nothing. */
static bool is_neutral(const char *name)
{
	static const char *const names[] = { "clock_gettime", "gettimeofday", "time", "getpid", "gettid", "getcpu" };
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static enum yield classify(const DtcHistory *history, const struct dtc_call *call)
{
	const char *name = dtc_history_get_string(history, call->name);
	bool is_short = call->end_ns != DTC_TIME_NONE && call->end_ns - call->begin_ns <= SHORT_SLEEP_NS;
	switch ((enum dtc_call_kind)call->kind) {
	case DTC_CALL_SLEEP:
		return is_short ? IN_VAIN : FRUITFUL;
	case DTC_CALL_POLL:
		return is_short && call->result == 0 ? IN_VAIN : FRUITFUL;
	case DTC_CALL_READ:
	case DTC_CALL_WRITE:
	case DTC_CALL_PEEK:
	case DTC_CALL_ACCEPT:
	case DTC_CALL_FUTEX:
		return call->result == -EAGAIN ? IN_VAIN : FRUITFUL;
	default:
		return strcmp(name, "sched_yield") == 0 ? IN_VAIN : is_neutral(name) ? NEUTRAL : FRUITFUL;
	}
}

bool dtc_polling_find(const DtcHistory *history, uint32_t thread, DtcNodeTime begin, DtcNodeTime end,
		      struct dtc_polling *ret_polling)
{
	const struct dtc_thread *t = dtc_history_get_thread(history, thread);
	uint32_t last = t->call_first + t->call_count, first = dtc_history_find_call(history, thread, begin.ns);
	struct dtc_polling now = { 0 }, longest = { 0 };
	for (uint32_t i = first == DTC_NONE ? t->call_first : first; i < last; i++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(history, i, &call_place);
		if (call->begin_ns >= end.ns)
			break;
		if (call->begin_ns < begin.ns || call->end_ns == DTC_TIME_NONE)
			continue;
		enum yield yield = classify(history, call);
		if (yield == FRUITFUL)
			now.count = 0;
		if (yield != IN_VAIN)
			continue;
		if (now.count++ == 0) {
			now.begin_ns = call->begin_ns;
			now.call = i;
		}
		now.end_ns = MIN(call->end_ns, end.ns);
		if (now.count >= CALLS_MIN && now.end_ns - now.begin_ns > longest.end_ns - longest.begin_ns)
			longest = now;
	}
	if (!longest.count)
		return false;
	*ret_polling = longest;
	return true;
}

void dtc_finding_add_polling(const struct dtc_finding_input *input, DtcFindings *findings)
{
	const DtcClocks *clocks = dtc_links_get_clocks(input->links);
	int64_t total_ns = dtc_path_get_end(input->path).ns - dtc_path_get_begin(input->path).ns;
	guint count = dtc_path_get_segment_count(input->path), end;
	const struct dtc_segment *who = NULL;
	struct dtc_polling longest = { 0 }, polling;

	for (guint i = 0; i < count; i = end) {
		const struct dtc_segment *first = dtc_path_get_segment(input->path, i), *last = first;
		for (end = i + 1; end < count; end++) {
			const struct dtc_segment *next = dtc_path_get_segment(input->path, end);
			if (next->node != first->node || next->thread != first->thread)
				break;
			last = next;
		}
		const DtcHistory *h = dtc_links_get_history(input->links, first->node);
		if (first->thread == DTC_NONE || !h)
			continue;
		if (dtc_polling_find(h, first->thread, dtc_clocks_to_node(clocks, first->node, first->begin),
				     dtc_clocks_to_node(clocks, first->node, last->end), &polling) &&
		    polling.end_ns - polling.begin_ns > longest.end_ns - longest.begin_ns) {
			longest = polling;
			who = first;
		}
	}
	int64_t ns = longest.end_ns - longest.begin_ns;
	if (!who || ns < POLLING_NS || ns < total_ns / SHARE)
		return;
	const DtcHistory *h = dtc_links_get_history(input->links, who->node);
	dtc_findings_add_coded(
		findings, DTC_FINDING_POLLING, DTC_SEVERITY_INFO, false,
		dtc_links_get_node_name(input->links, who->node),
		"%s (tid %d) is not blocked but polls: %" G_GUINT64_FORMAT " calls in vain (%s and the like) "
		"in %.3f ms; what it waits for is not in a kernel trace",
		who->comm, who->tid, (guint64)longest.count,
		dtc_history_get_string(h, dtc_history_copy_call(h, longest.call).name), (double)ns / 1e6);
}
