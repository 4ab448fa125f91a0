/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/findings.h"

/*
 * Looks that ended at their limit, each kind with its count. The limits are far beyond what any recording so far needed
 * (none of the recordings of the tests reaches one), so that one is enough to be said.
 */
void dtc_finding_add_limits(const struct dtc_finding_input *input, DtcFindings *findings)
{
	static const char *const texts[DTC_LIMITS] = {
		[DTC_LIMIT_TURN] =
			"what a thread that hardly polls had read before it sent was not found among its last calls",
		[DTC_LIMIT_HANDOVER] = "who made an answer that another thread sent was looked for only so far back",
		[DTC_LIMIT_SENDS] = "a packet without data has too many sends that look like it",
		[DTC_LIMIT_RELAYS] = "too many packets of the kernel in answer to each other",
		[DTC_LIMIT_INTERRUPTS] = "too many interrupts before the one that a guest got",
		[DTC_LIMIT_CIRCLE] =
			"causes at one instant lead back to each other: clocks or packets contradict each other",
	};

	for (guint i = 0; i < DTC_LIMITS; i++) {
		guint count = dtc_links_get_limit_count(input->links, (enum dtc_limit)i);
		if (count)
			dtc_findings_add_coded(findings, DTC_FINDING_LIMIT, DTC_SEVERITY_INFO, false, NULL,
					       "%s (%u times): what is behind is left out", texts[i], count);
	}
}
