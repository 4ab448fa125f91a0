/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/begun.h"

#include "collect/packets/packets.h"

bool dtc_begun_find_packet(const DtcHistory *h, uint32_t thread, struct dtc_wake *ret_wake)
{
	const struct dtc_thread *of = dtc_history_get_thread(h, thread);
	struct dtc_interval place;
	if (!of->call_count)
		return false;
	int64_t at_ns = dtc_history_get_call_begin_ns(h, of->call_first);
	const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, at_ns, &place);
	while (v && !dtc_state_is_wait(v->state))
		v = dtc_history_find_interval_before(h, thread, v->begin_ns, &place);
	if (!v || v->call != DTC_NONE || v->ref == DTC_NONE)
		return false;
	*ret_wake = dtc_history_copy_wake(h, v->ref);
	return ret_wake->waker == DTC_WAKER_PACKET;
}

bool dtc_begun_was_in_read(const DtcHistory *h, uint32_t thread)
{
	struct dtc_wake wake;
	return dtc_begun_find_packet(h, thread, &wake) && wake.ref != DTC_NONE &&
	       dtc_packets_get(dtc_history_get_packets(h), wake.ref).payload_bytes;
}

int64_t dtc_begun_find_work_ns(const DtcHistory *h, uint32_t thread, uint32_t first)
{
	const struct dtc_thread *of = dtc_history_get_thread(h, thread);
	uint32_t at = of->call_first;
	if (!dtc_begun_was_in_read(h, thread))
		return of->begin_ns;
	for (; at < first; at++) {
		struct dtc_call place;
		uint8_t kind = dtc_history_get_call(h, at, &place)->kind;
		if (kind == DTC_CALL_POLL || kind == DTC_CALL_READ || kind == DTC_CALL_ACCEPT)
			break;
	}
	return dtc_history_get_call_begin_ns(h, at);
}
