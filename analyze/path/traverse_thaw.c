/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A wait that was frozen in its place, and ended with the thaw: stopped since the freeze, and before that what it is
 * without anybody who ended it. Where nobody tells when it was frozen, nothing is known of it.
 */
#include "analyze/edge/broken_off.h"
#include "analyze/edge/cause.h"
#include "analyze/path/traverse_build.h"

bool dtc_traverse_follow_thaw(struct dtc_traverse *t, const struct dtc_interval *wait, int64_t low_ns)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	int64_t since_ns;
	if (!dtc_broken_off_find_thaw(h, wait, &since_ns))
		return false;
	t->link = since_ns == DTC_TIME_NONE ? DTC_LINK_UNKNOWN : DTC_LINK_INFERRED;
	if (since_ns == DTC_TIME_NONE) {
		dtc_traverse_explain_interval(t, wait, low_ns, DTC_CAUSE_UNKNOWN);
		return true;
	}
	dtc_traverse_explain_interval(t, wait, MAX(since_ns, low_ns), DTC_CAUSE_STOPPED);
	if (since_ns <= low_ns)
		return true;
	t->link = DTC_LINK_INFERRED;
	dtc_traverse_explain_interval(t, wait, low_ns, dtc_cause_of_interval(h, wait));
	return true;
}
