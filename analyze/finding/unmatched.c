/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/findings.h"

/* No threshold: the reader must know of one packet. Packets that no other node's match: drops, other peers, missing
 * events. */
void dtc_finding_add_unmatched(const struct dtc_finding_input *input, DtcFindings *findings)
{
	const DtcSync *sync = input->sync;

	for (guint i = 0; sync && i < dtc_sync_get_pair_count(sync); i++) {
		const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, i);
		guint64 matched = pair->messages_ab + pair->messages_ba;
		guint64 unmatched = pair->unmatched_a + pair->unmatched_b;
		if (matched && unmatched)
			dtc_findings_add_coded(
				findings, DTC_FINDING_UNMATCHED, DTC_SEVERITY_INFO, false, NULL,
				"%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
				" packets between %s and %s have no match on the other side (%s)",
				unmatched, matched + unmatched, dtc_links_get_node_name(input->links, pair->a),
				dtc_links_get_node_name(input->links, pair->b),
				input->is_part ? "lost, not recorded, or not read" : "lost, or not recorded");
	}
}
