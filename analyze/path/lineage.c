/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/path/lineage.h"

uint32_t dtc_lineage_find_parent(const DtcHistory *history, uint32_t thread)
{
	const struct dtc_thread *child = dtc_history_get_thread(history, thread);
	int64_t birth_ns = child->begin_ns;
	uint32_t parent = child->parent;

	if (birth_ns <= dtc_history_get_begin_ns(history))
		return DTC_NONE;
	/* the parents of a state dump may have changed, and may form a circle: so many steps are all there are */
	for (uint32_t i = dtc_history_get_thread_count(history); i > 0 && parent != DTC_NONE; i--) {
		const struct dtc_thread *made_by = dtc_history_get_thread(history, parent);
		if (made_by->begin_ns < birth_ns && made_by->end_ns >= birth_ns)
			return parent;
		parent = made_by->parent;
	}
	return DTC_NONE;
}

int64_t dtc_lineage_get_exit_ns(const DtcHistory *history, uint32_t thread)
{
	const struct dtc_thread *of = dtc_history_get_thread(history, thread);

	if (of->interval_count == 0)
		return of->end_ns;
	struct dtc_interval last;
	dtc_history_get_interval(history, thread, of->interval_first + of->interval_count - 1, &last);
	return last.state == DTC_STATE_EXITED ? last.begin_ns : of->end_ns;
}

GArray *dtc_lineage_new(const DtcHistory *history, uint32_t thread, DtcNodeTime begin, DtcNodeTime end)
{
	GArray *lineage = g_array_new(FALSE, FALSE, sizeof(struct dtc_lineage_part));
	int64_t at_ns = end.ns;

	while (thread != DTC_NONE && at_ns > begin.ns) {
		int64_t birth_ns = dtc_history_get_thread(history, thread)->begin_ns;
		const struct dtc_lineage_part part = { thread, { MAX(birth_ns, begin.ns) }, { at_ns } };
		if (part.begin.ns < part.end.ns)
			g_array_append_val(lineage, part);
		at_ns = MIN(at_ns, birth_ns);
		thread = dtc_lineage_find_parent(history, thread);
	}
	return lineage;
}
