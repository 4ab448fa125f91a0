/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wakes: how they are packed into 24 bytes, and how they are given out whole. */
#include "analyze/history/records.h"

#define THREAD_UNKNOWN DTC_THREAD_LIMIT
#define LATENCY_LOW_BITS 32
#define LATENCY_BITS 45 /* 9 hours */

static struct dtc_wake_record *get_record(const DtcHistory *h, uint32_t wake)
{
	return DTC_AT(h->wakes, struct dtc_wake_record, wake);
}

static uint32_t unpack_thread(uint64_t thread)
{
	return thread == THREAD_UNKNOWN ? DTC_NONE : (uint32_t)thread;
}

/* --- filling ---------------------------------------------------------------------------------------------------- */

/* 0: not seen; else one more than the ns between waking and wakeup. */
static void set_latency(struct dtc_wake_record *record, int64_t waking_ns, int64_t wakeup_ns)
{
	uint64_t latency = wakeup_ns == DTC_TIME_NONE ? 0 : (uint64_t)wakeup_ns - (uint64_t)waking_ns + 1;
	if (latency >> LATENCY_BITS)
		latency = 0;
	record->latency_low = (uint32_t)latency;
	record->latency_high = latency >> LATENCY_LOW_BITS & ((1u << (LATENCY_BITS - LATENCY_LOW_BITS)) - 1);
}

struct dtc_wake_record dtc_wake_pack(uint64_t distance, const struct dtc_wake *wake)
{
	struct dtc_wake_record record = {
		.waking = distance & ((UINT64_C(1) << DTC_ERA_BITS) - 1),
		.target = MIN(wake->target, THREAD_UNKNOWN) & THREAD_UNKNOWN,
		.is_inferred = wake->is_inferred,
		.thread = MIN(wake->thread, THREAD_UNKNOWN) & THREAD_UNKNOWN,
		.cpu = wake->cpu,
		.waker = wake->waker & 0xf,
		.signal = wake->signal,
		.ref = wake->ref,
	};
	set_latency(&record, wake->waking_ns, wake->wakeup_ns);
	return record;
}

uint32_t dtc_history_add_wake(DtcHistory *h, const struct dtc_wake *wake)
{
	g_assert(!h->is_sealed);
	uint64_t distance = dtc_history_measure(h, wake->waking_ns);
	const struct dtc_wake_record record = dtc_wake_pack(distance, wake);
	dtc_eras_follow(h->wake_eras, h->wakes->len, distance);
	dtc_table_append(h->wakes, &record);
	return h->wakes->len - 1;
}

void dtc_history_set_wakeup(DtcHistory *h, uint32_t wake, int64_t wakeup_ns)
{
	g_assert(!h->is_sealed);
	set_latency(get_record(h, wake), dtc_history_read_waking_ns(h, wake), wakeup_ns);
}

void dtc_history_set_signal(DtcHistory *h, uint32_t wake, uint8_t signal)
{
	g_assert(!h->is_sealed);
	struct dtc_wake_record *record = get_record(h, wake);
	record->signal = signal & 0x7f;
	if (record->waker == DTC_WAKER_TIMER && record->is_inferred) { /* no timer, then */
		record->waker = DTC_WAKER_THREAD;
		record->is_inferred = false;
	}
}

/* --- queries ---------------------------------------------------------------------------------------------------- */

uint32_t dtc_history_read_wake_target(const DtcHistory *h, uint32_t wake)
{
	return unpack_thread(get_record(h, wake)->target);
}

const struct dtc_wake *dtc_history_read_wake(const DtcHistory *h, uint32_t wake, struct dtc_wake *place)
{
	const struct dtc_wake_record *record = get_record(h, wake);
	uint64_t latency = record->latency_low | (uint64_t)record->latency_high << LATENCY_LOW_BITS;
	int64_t waking_ns = dtc_history_read_waking_ns(h, wake);
	*place = (struct dtc_wake){
		.waking_ns = waking_ns,
		.wakeup_ns = latency ? (int64_t)((uint64_t)waking_ns + latency - 1) : DTC_TIME_NONE,
		.target = unpack_thread(record->target),
		.thread = unpack_thread(record->thread),
		.ref = record->ref,
		.cpu = record->cpu,
		.waker = record->waker,
		.signal = record->signal,
		.is_inferred = record->is_inferred,
	};
	return place;
}

const struct dtc_wake *dtc_history_get_wake(const DtcHistory *h, uint32_t wake, struct dtc_wake *place)
{
	g_assert(h->is_sealed);
	return dtc_history_read_wake(h, wake, place);
}

int64_t dtc_history_get_waking_ns(const DtcHistory *h, uint32_t wake)
{
	g_assert(h->is_sealed);
	return dtc_history_read_waking_ns(h, wake);
}

uint32_t dtc_history_get_wake_count(const DtcHistory *h)
{
	g_assert(h->is_sealed);
	return h->wakes->len;
}
