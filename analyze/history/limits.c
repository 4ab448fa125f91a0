/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPU limits of cgroups. */
#include "analyze/history/check_lists.h"
#include "analyze/history/records.h"

#include <dtrace-chain/bisect.h>

#define LIMIT(h, index) (&g_array_index((h)->cpu_limits, struct dtc_cpu_limit, (index)))

const struct dtc_cpu_limit *dtc_history_find_cpu_limit(const DtcHistory *h, int32_t pid)
{
	g_assert(h->is_sealed);
	guint count = h->cpu_limits->len;
	guint at = DTC_BISECT(i, 0, count, LIMIT(h, i)->pid < pid);
	const struct dtc_cpu_limit *limit = at < count ? LIMIT(h, at) : NULL;
	return limit && limit->pid == pid ? limit : NULL;
}

int64_t dtc_history_find_period_end(const DtcHistory *h, int64_t time_ns)
{
	g_assert(h->is_sealed);
	const int64_t *ends = DTC_AT(h->period_ends, int64_t, 0);
	guint behind = DTC_BISECT(i, 0, h->period_ends->len, ends[i] <= time_ns);
	return behind ? ends[behind - 1] : DTC_TIME_NONE;
}

const char *dtc_history_judge_limits(const DtcHistory *h)
{
	for (guint i = 0; i < h->cpu_limits->len; i++) {
		const struct dtc_cpu_limit *limit = LIMIT(h, i);
		if (i && LIMIT(h, i - 1)->pid >= limit->pid)
			return "a CPU limit is not in the order of processes, or the second of one";
		if (!limit->quota_us || !limit->period_us || limit->period_us > DTC_PERIOD_MAX_US ||
		    limit->throttled < -1 || limit->throttled_us < -1)
			return "a CPU limit is none";
		if (limit->cgroup >= h->string_at->len)
			return "a CPU limit's cgroup is no string";
	}
	for (guint i = 0; i < h->period_ends->len; i++) {
		const int64_t *end = DTC_AT(h->period_ends, int64_t, i);
		if (*end < h->begin_ns || *end > h->end_ns)
			return "a period of a limit ends outside of the trace";
		if (i && end[-1] > *end)
			return "a period of a limit ends before the one before it";
	}
	return NULL;
}
