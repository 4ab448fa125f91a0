/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/held.h"

#include "analyze/edge/occupants.h"

static bool is_long(const struct dtc_interval *interval)
{
	return interval->end_ns - interval->begin_ns >= DTC_HELD_LEAST_NS;
}

/* Its CPU was idle for so long that nothing else than a limit, or how it was woken, can have kept it from it. */
static bool find_idle(const DtcHistory *h, const struct dtc_interval *interval, struct dtc_held *ret_held)
{
	struct dtc_idle idle;

	if (!is_long(interval) || !dtc_occupants_find_idle(h, interval, &idle) || idle.ns < DTC_HELD_LEAST_NS)
		return false;
	*ret_held = (struct dtc_held){ idle.begin_ns, idle.end_ns, idle.ns };
	return true;
}

/* The span from the first to the last time in which a thread is held that had lost its CPU, within [begin, end]. */
static void add_thread(const DtcHistory *h, uint32_t thread, int64_t begin_ns, int64_t end_ns, struct dtc_held *span)
{
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_get_interval_after(h, thread, begin_ns, &place);

	for (; v && v->begin_ns < end_ns; v = dtc_history_get_next_interval(h, &place)) {
		struct dtc_held held;
		if (v->state != DTC_STATE_PREEMPTED || !find_idle(h, v, &held))
			continue;
		span->begin_ns = MIN(span->begin_ns, held.begin_ns);
		span->end_ns = MAX(span->end_ns, held.end_ns);
	}
}

bool dtc_held_find(const DtcHistory *h, const struct dtc_interval *interval, struct dtc_held *ret_held)
{
	struct dtc_held span = { .begin_ns = INT64_MAX, .end_ns = INT64_MIN };

	if (!find_idle(h, interval, ret_held))
		return false;
	if (interval->state == DTC_STATE_PREEMPTED)
		return true;
	const struct dtc_thread *of = dtc_history_get_thread(h, interval->thread);
	for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++)
		if (i != interval->thread && dtc_history_get_thread(h, i)->pid == of->pid)
			add_thread(h, i, ret_held->begin_ns, ret_held->end_ns, &span);
	ret_held->begin_ns = MAX(ret_held->begin_ns, span.begin_ns);
	ret_held->end_ns = MIN(ret_held->end_ns, span.end_ns);
	return ret_held->end_ns - ret_held->begin_ns >= DTC_HELD_LEAST_NS;
}
