/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/brought.h"

#include "analyze/edge/shares.h"
#include "collect/packets/records.h"

#include <dtrace-chain/bisect.h>

/* Packets of the node since then: what else came in the microseconds from a packet to what it makes. */
#define PACKETS_MAX 16

static int64_t time_of(const DtcHistory *h, uint32_t packet)
{
	return dtc_packets_read(dtc_history_get_packets(h), packet).time_ns;
}

uint32_t dtc_brought_get_thread(const DtcHistory *h, uint32_t packet)
{
	if (dtc_packets_read(dtc_history_get_packets(h), packet).direction != DTC_RECEIVED)
		return DTC_NONE;
	const struct dtc_packet_context context = dtc_history_get_plain_context(h, packet);
	bool is_thread = !context.in_softirq && context.thread != DTC_NONE &&
			 dtc_history_get_thread(h, context.thread)->idle_cpu < 0 &&
			 !dtc_shares_find_vcpu(h, context.thread);
	return is_thread ? context.thread : DTC_NONE;
}

bool dtc_brought_has_run(const DtcHistory *h, uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
	while (end_ns > begin_ns) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, end_ns, &place);
		if (!v || !dtc_state_is_running(v->state))
			return false;
		end_ns = v->begin_ns;
	}
	return true;
}

uint32_t dtc_brought_find_last(const DtcHistory *h, uint32_t thread, int64_t time_ns)
{
	uint32_t count = dtc_packets_get_count(dtc_history_get_packets(h));
	uint32_t after = DTC_BISECT(i, 0, count, time_of(h, i) <= time_ns);
	for (uint32_t i = after, steps = 0; i-- > 0 && steps < PACKETS_MAX; steps++)
		if (dtc_brought_get_thread(h, i) == thread)
			return dtc_brought_has_run(h, thread, time_of(h, i), time_ns) ? i : DTC_NONE;
	return DTC_NONE;
}
