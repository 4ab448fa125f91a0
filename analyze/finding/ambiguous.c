/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/findings.h"

#define SHARE 100 /* as for what others did: less than a hundredth of the whole changes no answer */

void dtc_finding_add_ambiguous(const struct dtc_finding_input *input, DtcFindings *findings)
{
	int64_t whole_ns = dtc_path_get_end(input->path).ns - dtc_path_get_begin(input->path).ns, ns = 0;

	for (guint i = 0; i < dtc_path_get_segment_count(input->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(input->path, i);
		if (s->candidate)
			ns += s->end.ns - s->begin.ns;
	}
	if (!input->ambiguous_hops && (!ns || ns < whole_ns / SHARE))
		return;
	dtc_findings_add_coded(
		findings, DTC_FINDING_AMBIGUOUS, DTC_SEVERITY_INFO, false, NULL,
		"for which of two requests %u hops and %.3f ms of the path were cannot be told: both are named",
		input->ambiguous_hops, (double)ns / 1e6);
}
