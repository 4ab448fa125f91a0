/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/findings.h"

/* What the path's segments have at all: a look at hundreds of thousands of them for each finding would be in vain. */
struct present {
	bool causes[DTC_CAUSES];
	bool is_busy;
	bool has_candidate;
};

static struct present look(const DtcPath *path)
{
	struct present present = { .is_busy = false };

	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(path, i);
		present.causes[s->cause] = true;
		present.is_busy |= s->busy_with != NULL;
		present.has_candidate |= s->candidate != NULL;
	}
	return present;
}

void dtc_finding_add_all(const struct dtc_finding_input *input, DtcFindings *findings)
{
	const struct present present = look(input->path);

	if (present.is_busy)
		dtc_finding_add_busy(input, findings);
	if (present.has_candidate || input->ambiguous_hops)
		dtc_finding_add_ambiguous(input, findings);
	dtc_finding_add_reversals(input, findings);
	dtc_finding_add_unmatched(input, findings);
	if (present.causes[DTC_CAUSE_RUNNING_USER])
		dtc_finding_add_long_run(input, findings);
	dtc_finding_add_polling(input, findings);
	if (present.causes[DTC_CAUSE_NETWORK_WIRE])
		dtc_finding_add_silence(input, findings);
	if (present.causes[DTC_CAUSE_VM_PREEMPTED])
		dtc_finding_add_vm_preempted(input, findings);
	if (present.causes[DTC_CAUSE_CPU_LIMIT])
		dtc_finding_add_cpu_limit(input, findings);
	dtc_finding_add_missing(input, findings);
	dtc_finding_add_tracer(input, findings);
	dtc_finding_add_limits(input, findings);
}

void dtc_finding_add_incomplete(const struct dtc_finding_input *input, DtcFindings *findings)
{
	dtc_finding_add_missing(input, findings);
}
