/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/findings.h"

/* As of stolen time: less than a hundredth of the whole is not felt; without a tenth the answer is another one. */
#define SHARE 100
#define LARGE_SHARE 10

struct held {
	guint node;
	const char *process;
	int64_t ns;
};

static void add_segment(GArray *all, const struct dtc_segment *segment)
{
	int64_t ns = segment->end.ns - segment->begin.ns;

	for (guint i = 0; i < all->len; i++) {
		struct held *held = &g_array_index(all, struct held, i);
		if (held->node == segment->node && g_strcmp0(held->process, segment->process) == 0) {
			held->ns += ns;
			return;
		}
	}
	const struct held held = { segment->node, segment->process, ns };
	g_array_append_val(all, held);
}

/* Processes that the limit of their cgroup held on the path; one finding for each. */
void dtc_finding_add_cpu_limit(const struct dtc_finding_input *input, DtcFindings *findings)
{
	int64_t whole_ns = dtc_path_get_end(input->path).ns - dtc_path_get_begin(input->path).ns;
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct held));

	for (guint i = 0; i < dtc_path_get_segment_count(input->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(input->path, i);
		if (s->cause == DTC_CAUSE_CPU_LIMIT)
			add_segment(all, s);
	}
	for (guint i = 0; i < all->len; i++) {
		const struct held *held = &g_array_index(all, struct held, i);
		if (held->ns < whole_ns / SHARE)
			continue;
		dtc_findings_add_coded(
			findings, DTC_FINDING_CPU_LIMIT,
			held->ns >= whole_ns / LARGE_SHARE ? DTC_SEVERITY_WARNING : DTC_SEVERITY_INFO, false,
			dtc_links_get_node_name(input->links, held->node),
			"%s was ready and not let run for %.3f ms of this, while its CPU was idle: as the limit of its "
			"cgroup or container (cpu.max) does, of which the trace has no event",
			held->process, (double)held->ns / 1e6);
	}
}
