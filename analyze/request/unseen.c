/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/unseen.h"

bool dtc_unseen_is_any(const DtcHistory *h)
{
	for (guint cpu = 0; cpu < dtc_history_get_cpu_count(h); cpu++)
		for (uint32_t i = 1; i < dtc_history_get_run_count(h, cpu); i++) /* nothing is known before the first */
			if (dtc_history_get_run(h, cpu, i).thread == DTC_NONE)
				return true;
	return false;
}

bool dtc_unseen_find(const DtcHistory *h, uint32_t thread, int64_t begin_ns, int64_t end_ns, int64_t *ret_first_ns,
		     int64_t *ret_last_ns)
{
	struct dtc_interval place;
	bool is_found = false;

	for (const struct dtc_interval *v = dtc_history_get_plain_after(h, thread, begin_ns, &place);
	     v && v->begin_ns < end_ns; v = dtc_history_get_next_plain(h, &place)) {
		if (v->state != DTC_STATE_UNKNOWN)
			continue;
		if (!is_found)
			*ret_first_ns = MAX(v->begin_ns, begin_ns);
		*ret_last_ns = MIN(v->end_ns, end_ns);
		is_found = true;
	}
	return is_found;
}
