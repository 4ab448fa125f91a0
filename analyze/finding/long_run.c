/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/findings.h"

/*
 * A lock that spins on purpose gives up soon: glibc's adaptive mutex tries 100 times and can be set to 32,767
 * (glibc.pthread.mutex_spin_count), which is some 1.5 ms on a CPU with the slowest pause instruction (140 cycles at 3
 * GHz). Ten ms, a whole tick of the slowest kernels (HZ=100, kernel/Kconfig.hz), are beyond that; and a tenth of the
 * span, so that the answer would be another one without it.
 */
#define RUN_NS (INT64_C(10) * 1000 * 1000)
#define SHARE 10

/*
 * The longest time that one thread ran on the path without entering the kernel, if it is a good part of the whole. It
 * may be work, and it may be a lock in user space that spins, or a poll of shared memory: the trace shows the same.
 */
void dtc_finding_add_long_run(const struct dtc_finding_input *input, DtcFindings *findings)
{
	int64_t total_ns = dtc_path_get_end(input->path).ns - dtc_path_get_begin(input->path).ns;
	int64_t longest_ns = 0, ns = 0;
	const struct dtc_segment *longest = NULL, *before = NULL;

	for (guint i = 0; i < dtc_path_get_segment_count(input->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(input->path, i);
		bool is_taken = s->cause == DTC_CAUSE_IRQ || s->cause == DTC_CAUSE_SOFTIRQ ||
				s->cause == DTC_CAUSE_PREEMPTED || s->cause == DTC_CAUSE_RUNQUEUE ||
				s->cause == DTC_CAUSE_CPU_LIMIT;
		bool is_same = before && before->node == s->node && before->thread == s->thread;
		if (!is_same || (s->cause != DTC_CAUSE_RUNNING_USER && !is_taken))
			ns = 0;
		if (s->cause == DTC_CAUSE_RUNNING_USER)
			ns += s->end.ns - s->begin.ns;
		if (ns > longest_ns) {
			longest_ns = ns;
			longest = s;
		}
		before = s;
	}
	if (longest && longest_ns >= RUN_NS && longest_ns >= total_ns / SHARE)
		dtc_findings_add_coded(
			findings, DTC_FINDING_LONG_RUN, DTC_SEVERITY_INFO, false,
			dtc_links_get_node_name(input->links, longest->node),
			"%s (tid %d) ran %.3f ms without a system call: it computes, or spins on memory; a "
			"kernel trace does not tell which",
			longest->comm, longest->tid, (double)longest_ns / 1e6);
}
