/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/woken.h"

int64_t dtc_woken_get_ns(const DtcHistory *history, uint32_t thread, const struct dtc_call *call)
{
	int64_t at_ns = call->end_ns == DTC_TIME_NONE ? call->begin_ns : call->end_ns;

	while (at_ns > call->begin_ns) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_find_interval_before(history, thread, at_ns, &place);
		if (!v || v->end_ns <= call->begin_ns)
			break;
		if (dtc_state_is_wait(v->state))
			return v->end_ns;
		at_ns = v->begin_ns;
	}
	return call->begin_ns;
}

int64_t dtc_woken_get_run_ns(const DtcHistory *history, uint32_t thread, int64_t woken_ns)
{
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_find_interval_before(history, thread, woken_ns + 1, &place);

	return v && v->state == DTC_STATE_RUNQUEUE ? v->end_ns : woken_ns;
}
