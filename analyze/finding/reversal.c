/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/findings.h"

/* The threshold is the uncertainty of the two clocks, which sync certifies: there is none of our own. */

void dtc_finding_add_reversals(const struct dtc_finding_input *input, DtcFindings *findings)
{
	int64_t most_ns = 0;
	guint possible = 0;

	for (guint i = 0; i < dtc_path_get_reversal_count(input->path); i++) {
		const struct dtc_reversal *reversal = dtc_path_get_reversal(input->path, i);
		if (reversal->by_ns > reversal->uncertainty_ns) {
			dtc_findings_add_coded(
				findings, DTC_FINDING_CONTRADICTION, DTC_SEVERITY_WARNING, false,
				dtc_links_get_node_name(input->links, reversal->to),
				"a message from %s arrives %" G_GINT64_FORMAT " ns before it was sent, more than "
				"the clocks' uncertainty of %" G_GINT64_FORMAT " ns: clocks or match are wrong",
				dtc_links_get_node_name(input->links, reversal->from), (gint64)reversal->by_ns,
				(gint64)reversal->uncertainty_ns);
			continue;
		}
		possible++;
		most_ns = MAX(most_ns, reversal->by_ns);
	}
	if (possible)
		dtc_findings_add_coded(findings, DTC_FINDING_REVERSAL, DTC_SEVERITY_INFO, false, NULL,
				       "%u messages on the path seem to arrive up to %" G_GINT64_FORMAT
				       " ns before they were "
				       "sent, within the clocks' uncertainty: their time on the wire counts as nothing",
				       possible, (gint64)most_ns);
}
