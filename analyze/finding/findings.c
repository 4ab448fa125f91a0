/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/findings.h"

void dtc_finding_add_all(const struct dtc_finding_input *input, DtcFindings *findings)
{
	dtc_finding_add_busy(input, findings);
	dtc_finding_add_ambiguous(input, findings);
	dtc_finding_add_reversals(input, findings);
	dtc_finding_add_unmatched(input, findings);
	dtc_finding_add_long_run(input, findings);
	dtc_finding_add_polling(input, findings);
	dtc_finding_add_silence(input, findings);
	dtc_finding_add_vm_preempted(input, findings);
	dtc_finding_add_cpu_limit(input, findings);
	dtc_finding_add_missing(input, findings);
	dtc_finding_add_tracer(input, findings);
	dtc_finding_add_limits(input, findings);
}

void dtc_finding_add_incomplete(const struct dtc_finding_input *input, DtcFindings *findings)
{
	dtc_finding_add_missing(input, findings);
}
