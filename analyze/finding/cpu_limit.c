/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/occupants.h"
#include "analyze/finding/findings.h"

/*
 * A thread that lost its CPU while it was runnable has it again as soon as that CPU has nothing to do, but if it was
 * moved to the queue of another one, from which idle CPUs take at the next tick: 10 ms with HZ=100. What is ready for
 * longer, its own CPU being idle, is held: its cgroup has spent what cpu.max gives it (throttle_cfs_rq in
 * kernel/sched/fair.c), until the next period. No event of the kernel says so.
 */
#define IDLE_NS (INT64_C(10) * 1000 * 1000)
/* As of stolen time: less than a hundredth of the whole is not felt; without a tenth the answer is another one. */
#define SHARE 100
#define LARGE_SHARE 10

struct held {
	guint node;
	const char *process;
	int64_t ns;
};

static int64_t get_idle_ns(const struct dtc_finding_input *input, const struct dtc_segment *segment)
{
	g_autoptr(GArray) occupants = dtc_finding_list_occupants(input, segment);
	int64_t idle_ns = 0;

	for (guint i = 0; occupants && i < occupants->len; i++) {
		const struct dtc_occupant *occupant = &g_array_index(occupants, struct dtc_occupant, i);
		if (occupant->thread == DTC_NONE && occupant->state == DTC_STATE_IDLE)
			idle_ns += occupant->ns;
	}
	return MIN(idle_ns, segment->end.ns - segment->begin.ns);
}

static void add_held(GArray *all, const struct dtc_segment *segment, int64_t ns)
{
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

/* Processes that were ready and not let run though their CPU was free; one finding for each. */
void dtc_finding_add_cpu_limit(const struct dtc_finding_input *input, DtcFindings *findings)
{
	int64_t whole_ns = dtc_path_get_end(input->path).ns - dtc_path_get_begin(input->path).ns;
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct held));

	for (guint i = 0; i < dtc_path_get_segment_count(input->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(input->path, i);
		int64_t ns = s->cause == DTC_CAUSE_PREEMPTED ? get_idle_ns(input, s) : 0;
		if (ns >= IDLE_NS)
			add_held(all, s, ns);
	}
	for (guint i = 0; i < all->len; i++) {
		const struct held *held = &g_array_index(all, struct held, i);
		if (held->ns < whole_ns / SHARE)
			continue;
		dtc_findings_add_coded(
			findings, DTC_FINDING_CPU_LIMIT,
			held->ns >= whole_ns / LARGE_SHARE ? DTC_SEVERITY_WARNING : DTC_SEVERITY_INFO, false,
			dtc_links_get_node_name(input->links, held->node),
			"%s was ready and not let run for %.3f ms of this, while the CPU that it had lost was idle: "
			"as the limit of its cgroup or container (cpu.max) does, of which the trace has no event",
			held->process, (double)held->ns / 1e6);
	}
}
