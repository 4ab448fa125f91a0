/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/held.h"

#include "analyze/edge/occupants.h"

/* For so long its own CPU is idle. */
#define IDLE_NS (INT64_C(10) * 1000 * 1000)
/* For so long, where the limit is known, and so much of it was used: CPUs hold 1 ms of it each back
 * (min_cfs_rq_runtime) */
#define SPENT_NS (INT64_C(1) * 1000 * 1000)
#define SPENT_PERCENT 90
/* Who made a process, who made that one, ... */
#define PARENTS_MAX 16

struct span {
	int64_t begin_ns, end_ns;
};

const struct dtc_cpu_limit *dtc_held_find_limit(const DtcHistory *h, uint32_t thread)
{
	for (guint i = 0; i < PARENTS_MAX && thread != DTC_NONE; i++) {
		const struct dtc_thread *of = dtc_history_get_thread(h, thread);
		const struct dtc_cpu_limit *limit = dtc_history_find_cpu_limit(h, of->pid);
		if (limit)
			return limit;
		if (of->begin_ns <= dtc_history_get_begin_ns(h))
			return NULL;
		thread = of->parent;
	}
	return NULL;
}

static gint compare_spans(gconstpointer a, gconstpointer b)
{
	const struct span *x = a, *y = b;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* When threads that the limit holds ran, on all CPUs, by begin (struct span). Caller owns. */
static GArray *list_runs(const DtcHistory *h, const struct dtc_cpu_limit *limit, int64_t begin_ns, int64_t end_ns)
{
	GArray *spans = g_array_new(FALSE, FALSE, sizeof(struct span));

	for (guint cpu = 0; cpu < dtc_history_get_cpu_count(h); cpu++) {
		uint32_t count = dtc_history_get_run_count(h, cpu);
		uint32_t after = dtc_history_find_run_after(h, cpu, begin_ns);
		for (uint32_t i = after ? after - 1 : 0; i < count; i++) {
			const struct dtc_run run = dtc_history_get_run(h, cpu, i);
			if (run.begin_ns >= end_ns)
				break;
			const struct dtc_cpu_limit *of =
				run.thread == DTC_NONE ? NULL : dtc_held_find_limit(h, run.thread);
			if (!of || of->cgroup != limit->cgroup)
				continue;
			int64_t run_end_ns =
				i + 1 < count ? dtc_history_get_run(h, cpu, i + 1).begin_ns : dtc_history_get_end_ns(h);
			const struct span span = { MAX(run.begin_ns, begin_ns), MIN(run_end_ns, end_ns) };
			g_array_append_val(spans, span);
		}
	}
	g_array_sort(spans, compare_spans);
	return spans;
}

/* All that was used in [begin, end]. */
static int64_t sum_up(const GArray *spans, int64_t begin_ns, int64_t end_ns)
{
	int64_t sum_ns = 0;
	const struct span *span = &g_array_index(spans, struct span, 0), *last = span + spans->len;

	for (; span < last; span++)
		sum_ns += MAX(MIN(span->end_ns, end_ns) - MAX(span->begin_ns, begin_ns), 0);
	return sum_ns;
}

/*
 * Nobody ran from begin to end: if the limit was spent in a period that ended meanwhile, that is why, up to there. From
 * there on somebody else had the CPU, as in any pause in which no period ended.
 */
static void add_gap(GArray *held, const DtcHistory *h, const GArray *runs, const struct dtc_cpu_limit *limit,
		    const struct dtc_interval *interval, struct span gap)
{
	int64_t period_ns = (int64_t)limit->period_us * 1000, quota_ns = (int64_t)limit->quota_us * 1000;
	int64_t end_ns = dtc_history_find_period_end(h, gap.end_ns);

	if (end_ns == DTC_TIME_NONE || end_ns <= gap.begin_ns)
		return;
	const struct span part = { MAX(gap.begin_ns, interval->begin_ns), MIN(end_ns, interval->end_ns) };
	if (part.end_ns - part.begin_ns >= SPENT_NS &&
	    sum_up(runs, end_ns - period_ns, gap.begin_ns) >= quota_ns / 100 * SPENT_PERCENT)
		g_array_append_val(held, part);
}

/* By a limit that was recorded. Before it became ready others may have spent it, at most a period before. */
static void list_spent(const DtcHistory *h, const struct dtc_cpu_limit *limit, const struct dtc_interval *interval,
		       GArray *held)
{
	int64_t begin_ns = interval->begin_ns - 2 * (int64_t)limit->period_us * 1000;
	g_autoptr(GArray) runs = list_runs(h, limit, begin_ns, interval->end_ns);
	int64_t idle_since_ns = begin_ns;

	for (guint i = 0; i <= runs->len; i++) {
		const struct span *run = i < runs->len ? &g_array_index(runs, struct span, i) : NULL;
		const struct span gap = { idle_since_ns, run ? run->begin_ns : interval->end_ns };
		if (gap.end_ns > MAX(gap.begin_ns, interval->begin_ns))
			add_gap(held, h, runs, limit, interval, gap);
		if (run)
			idle_since_ns = MAX(idle_since_ns, run->end_ns);
	}
}

/* Its CPU was idle for so long that nothing else than a limit, or how it was woken, can have kept it from it. */
static bool find_idle(const DtcHistory *h, const struct dtc_interval *interval, struct span *ret_span)
{
	struct dtc_idle idle;

	if (interval->end_ns - interval->begin_ns < IDLE_NS || !dtc_occupants_find_idle(h, interval, &idle) ||
	    idle.ns < IDLE_NS)
		return false;
	*ret_span = (struct span){ idle.begin_ns, idle.end_ns };
	return true;
}

/* Makes sum the span from the first to the last time in which a thread was held, in [begin, end], that lost its CPU. */
static void add_thread(const DtcHistory *h, uint32_t thread, const struct span *in, struct span *sum)
{
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_get_interval_after(h, thread, in->begin_ns, &place);

	for (; v && v->begin_ns < in->end_ns; v = dtc_history_get_next_interval(h, &place)) {
		struct span span;
		if (v->state != DTC_STATE_PREEMPTED || !find_idle(h, v, &span))
			continue;
		sum->begin_ns = MIN(sum->begin_ns, span.begin_ns);
		sum->end_ns = MAX(sum->end_ns, span.end_ns);
	}
}

/* By what its CPU did. */
static void list_idle(const DtcHistory *h, const struct dtc_interval *interval, GArray *held)
{
	struct span span, others = { INT64_MAX, INT64_MIN };

	if (!find_idle(h, interval, &span))
		return;
	if (interval->state == DTC_STATE_PREEMPTED) {
		g_array_append_val(held, span);
		return;
	}
	int32_t pid = dtc_history_get_thread(h, interval->thread)->pid;
	for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++)
		if (i != interval->thread && dtc_history_get_thread(h, i)->pid == pid)
			add_thread(h, i, &span, &others);
	if (others.begin_ns > others.end_ns) /* none was */
		return;
	span = (struct span){ MAX(span.begin_ns, others.begin_ns), MIN(span.end_ns, others.end_ns) };
	if (span.end_ns - span.begin_ns >= IDLE_NS)
		g_array_append_val(held, span);
}

struct dtc_ready_part dtc_held_find_part(const DtcHistory *h, const struct dtc_interval *interval, int64_t at_ns)
{
	struct dtc_ready_part part = { interval->begin_ns, interval->end_ns, false, NULL };
	g_autoptr(GArray) held = NULL;

	if (interval->end_ns - interval->begin_ns < SPENT_NS)
		return part;
	const struct dtc_cpu_limit *limit = dtc_held_find_limit(h, interval->thread);
	if (limit && !limit->throttled)
		return part;
	held = g_array_new(FALSE, FALSE, sizeof(struct span));
	if (limit)
		list_spent(h, limit, interval, held);
	bool is_spent = held->len > 0;
	if (!is_spent)
		list_idle(h, interval, held);
	for (guint i = 0; i < held->len; i++) {
		const struct span *span = &g_array_index(held, struct span, i);
		if (at_ns > span->begin_ns && at_ns <= span->end_ns)
			return (struct dtc_ready_part){ span->begin_ns, span->end_ns, true, is_spent ? limit : NULL };
		if (at_ns > span->end_ns)
			part.begin_ns = span->end_ns;
		else
			part.end_ns = MIN(part.end_ns, span->begin_ns);
	}
	return part;
}
