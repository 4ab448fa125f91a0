/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/held.h"
#include "analyze/finding/findings.h"

#include <inttypes.h>

/* As of stolen time: less than a hundredth of the whole is not felt; without a tenth the answer is another one. */
#define SHARE 100
#define LARGE_SHARE 10

struct held {
	guint node;
	const char *process;
	const struct dtc_cpu_limit *limit; /* NULL: it is not known */
	int64_t ns;
};

static void add_segment(GArray *all, const struct dtc_finding_input *input, const struct dtc_segment *segment)
{
	int64_t ns = segment->end.ns - segment->begin.ns;
	const struct dtc_cpu_limit *limit =
		segment->evidence.reason == DTC_REASON_SPENT
			? dtc_held_find_limit(dtc_links_get_history(input->links, segment->node), segment->thread)
			: NULL;

	for (guint i = 0; i < all->len; i++) {
		struct held *held = &g_array_index(all, struct held, i);
		if (held->node == segment->node && held->limit == limit &&
		    g_strcmp0(held->process, segment->process) == 0) {
			held->ns += ns;
			return;
		}
	}
	const struct held held = { segment->node, segment->process, limit, ns };
	g_array_append_val(all, held);
}

/* Caller owns. */
static char *describe(const struct dtc_finding_input *input, const struct held *held)
{
	const struct dtc_cpu_limit *limit = held->limit;
	double held_ms = (double)held->ns / 1e6;

	if (!limit)
		return g_strdup_printf(
			"%s was ready and not let run for %.3f ms of this, while its CPU was idle: as the limit of its "
			"cgroup or container (cpu.max) does, of which the trace has no event",
			held->process, held_ms);
	const char *cgroup = dtc_history_get_string(dtc_links_get_history(input->links, held->node), limit->cgroup);
	char *text = g_strdup_printf(
		"%s was held for %.3f ms of this: its cgroup %s may use %g ms of CPU in %g ms (cpu.max)", held->process,
		held_ms, cgroup, (double)limit->quota_us / 1e3, (double)limit->period_us / 1e3);
	if (limit->throttled < 0 || limit->throttled_us < 0)
		return text;
	g_autofree char *bare = text;
	return g_strdup_printf("%s; while it was recorded it was throttled %" PRId64
			       " times, its CPUs for %.3f ms together",
			       bare, limit->throttled, (double)limit->throttled_us / 1e3);
}

/* Processes that the limit of their cgroup held on the path; one finding for each. */
void dtc_finding_add_cpu_limit(const struct dtc_finding_input *input, DtcFindings *findings)
{
	int64_t whole_ns = dtc_path_get_end(input->path).ns - dtc_path_get_begin(input->path).ns;
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct held));

	for (guint i = 0; i < dtc_path_get_segment_count(input->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(input->path, i);
		if (s->cause == DTC_CAUSE_CPU_LIMIT)
			add_segment(all, input, s);
	}
	for (guint i = 0; i < all->len; i++) {
		const struct held *held = &g_array_index(all, struct held, i);
		if (held->ns < whole_ns / SHARE)
			continue;
		g_autofree char *text = describe(input, held);
		dtc_findings_add_coded(findings, DTC_FINDING_CPU_LIMIT,
				       held->ns >= whole_ns / LARGE_SHARE ? DTC_SEVERITY_WARNING : DTC_SEVERITY_INFO,
				       false, dtc_links_get_node_name(input->links, held->node), "%s", text);
	}
}
