/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where packet events happened, of which there are as many as packets: 8 bytes for each. The call is the thread's last
 * one at that time, and the time in the queue counts from the packet's; what does not fit is kept whole beside.
 */
#include "analyze/history/check_lists.h"
#include "analyze/history/records.h"

#include <dtrace-chain/bisect.h>

static struct dtc_context_record *get_record(const DtcHistory *h, uint32_t packet)
{
	return DTC_AT(h->contexts, struct dtc_context_record, packet);
}

/* 0: none, or DTC_QUEUE_ODD. A packet waits after it was sent, and before it was received. */
static uint64_t pack_queue(const DtcHistory *h, uint32_t packet, int64_t queue_ns)
{
	if (queue_ns == DTC_TIME_NONE)
		return 0;
	const struct dtc_packet p = dtc_packets_read(h->packets, packet);
	int64_t ns = p.direction == DTC_SENT ? queue_ns - p.time_ns : p.time_ns - queue_ns;
	return ns >= 0 && ns < DTC_QUEUE_ODD - 1 ? (uint64_t)ns + 1 : DTC_QUEUE_ODD;
}

static void add_odd(DtcHistory *h, uint32_t packet, const struct dtc_packet_context *context)
{
	const struct dtc_odd_context odd = { *context, packet, 0 };
	dtc_table_append(h->odd_contexts, &odd);
	get_record(h, packet)->queue = DTC_QUEUE_ODD;
}

/* Those that are not known have the highest number. */
static bool is_vector(uint8_t vector)
{
	return vector == 0xff || vector < DTC_VECTOR_UNKNOWN;
}

void dtc_history_add_context(DtcHistory *h, const struct dtc_packet_context *context)
{
	g_assert(!h->is_sealed);
	uint32_t packet = h->contexts->len;
	uint64_t queue = pack_queue(h, packet, context->queue_ns);
	const struct dtc_context_record record = {
		.thread = MIN(context->thread, DTC_THREAD_UNKNOWN) & DTC_THREAD_UNKNOWN,
		.queue = queue & DTC_QUEUE_ODD,
		.vector = MIN(context->vector, DTC_VECTOR_UNKNOWN) & DTC_VECTOR_UNKNOWN,
		.in_softirq = context->in_softirq,
		.is_in_call = context->call != DTC_NONE,
	};
	dtc_table_append(h->contexts, &record);
	dtc_table_append(h->filling->context_calls, &context->call);
	bool fits = is_vector(context->vector) && (context->thread == DTC_NONE || context->thread < DTC_THREAD_UNKNOWN);
	if (!fits || queue == DTC_QUEUE_ODD)
		add_odd(h, packet, context);
}

static int64_t unpack_queue(const DtcHistory *h, uint32_t packet)
{
	const struct dtc_context_record *record = get_record(h, packet);
	if (!record->queue)
		return DTC_TIME_NONE;
	const struct dtc_packet p = dtc_packets_read(h->packets, packet);
	int64_t ns = (int64_t)record->queue - 1;
	return p.direction == DTC_SENT ? p.time_ns + ns : p.time_ns - ns;
}

static struct dtc_packet_context unpack(const DtcHistory *h, uint32_t packet, uint32_t call)
{
	const struct dtc_context_record *record = get_record(h, packet);
	return (struct dtc_packet_context){
		.queue_ns = unpack_queue(h, packet),
		.thread = record->thread == DTC_THREAD_UNKNOWN ? DTC_NONE : record->thread,
		.call = call,
		.in_softirq = record->in_softirq,
		.vector = record->vector == DTC_VECTOR_UNKNOWN ? 0xff : record->vector,
	};
}

/* While a history is filled they come in any order. */
static struct dtc_odd_context *find_unsorted(const DtcHistory *h, uint32_t packet)
{
	for (uint32_t i = h->odd_contexts->len; i-- > 0;)
		if (DTC_AT(h->odd_contexts, struct dtc_odd_context, i)->packet == packet)
			return DTC_AT(h->odd_contexts, struct dtc_odd_context, i);
	g_assert_not_reached();
}

struct dtc_packet_context dtc_history_read_context(const DtcHistory *h, uint32_t packet)
{
	g_assert(!h->is_sealed);
	if (get_record(h, packet)->queue == DTC_QUEUE_ODD)
		return find_unsorted(h, packet)->context;
	return unpack(h, packet, *DTC_AT(h->filling->context_calls, uint32_t, packet));
}

void dtc_history_set_queue(DtcHistory *h, uint32_t packet, int64_t queue_ns)
{
	g_assert(!h->is_sealed);
	struct dtc_context_record *record = get_record(h, packet);
	uint64_t queue = pack_queue(h, packet, queue_ns);
	struct dtc_packet_context context;
	if (record->queue == DTC_QUEUE_ODD) {
		find_unsorted(h, packet)->context.queue_ns = queue_ns;
	} else if (queue == DTC_QUEUE_ODD) {
		context = dtc_history_read_context(h, packet);
		context.queue_ns = queue_ns;
		add_odd(h, packet, &context);
	} else {
		record->queue = queue & DTC_QUEUE_ODD;
	}
}

static int compare_odd(const void *a, const void *b)
{
	const struct dtc_odd_context *x = a, *y = b;
	return x->packet < y->packet ? -1 : x->packet > y->packet;
}

/* The call that a record stands for. */
static uint32_t find_call(const DtcHistory *h, uint32_t packet)
{
	const struct dtc_context_record *record = get_record(h, packet);
	if (!record->is_in_call || record->thread >= h->threads->len)
		return DTC_NONE;
	const struct dtc_thread *t = &g_array_index(h->threads, struct dtc_thread, record->thread);
	int64_t time_ns = dtc_packets_read(h->packets, packet).time_ns;
	uint32_t after = DTC_BISECT(i, t->call_first, t->call_first + t->call_count,
				    dtc_history_read_call_begin(h, i) <= time_ns);
	return after == t->call_first ? DTC_NONE : after - 1;
}

/* Whether find_call gives that one: no other of the thread begins between it and the packet. */
static bool is_found(const DtcHistory *h, uint32_t packet, uint32_t call)
{
	uint32_t thread = get_record(h, packet)->thread;
	int64_t time_ns = dtc_packets_read(h->packets, packet).time_ns;
	if (thread >= h->threads->len)
		return false;
	const struct dtc_thread *t = &g_array_index(h->threads, struct dtc_thread, thread);
	uint32_t place = call - t->call_first; /* beyond all, of another thread's */
	if (place >= t->call_count || dtc_history_read_call_begin(h, call) > time_ns)
		return false;
	return place + 1 == t->call_count || dtc_history_read_call_begin(h, call + 1) > time_ns;
}

void dtc_history_seal_contexts(DtcHistory *h, const uint32_t *renamed)
{
	g_assert(!h->is_sealed);
	for (uint32_t i = 0; i < h->odd_contexts->len; i++) {
		uint32_t *call = &DTC_AT(h->odd_contexts, struct dtc_odd_context, i)->context.call;
		*call = *call == DTC_NONE ? DTC_NONE : renamed[*call];
	}
	for (uint32_t i = 0; i < h->contexts->len; i++) {
		uint32_t call = *DTC_AT(h->filling->context_calls, uint32_t, i);
		if (call == DTC_NONE || get_record(h, i)->queue == DTC_QUEUE_ODD)
			continue;
		if (is_found(h, i, renamed[call]))
			continue;
		/* on a coarse clock, another one began at the same time */
		const struct dtc_packet_context context = unpack(h, i, renamed[call]);
		add_odd(h, i, &context);
	}
	if (h->odd_contexts->len)
		qsort(h->odd_contexts->data, h->odd_contexts->len, sizeof(struct dtc_odd_context), compare_odd);
}

/* That is kept whole. */
static struct dtc_packet_context find_odd(const DtcHistory *h, uint32_t packet)
{
	const DtcTable *odd = h->odd_contexts;
	uint32_t at = DTC_BISECT(i, 0, odd->len, DTC_AT(odd, struct dtc_odd_context, i)->packet < packet);
	if (at < odd->len && DTC_AT(odd, struct dtc_odd_context, at)->packet == packet)
		return DTC_AT(odd, struct dtc_odd_context, at)->context;
	return (struct dtc_packet_context){
		.queue_ns = DTC_TIME_NONE, .thread = DTC_NONE, .call = DTC_NONE, .vector = 0xff
	};
}

struct dtc_packet_context dtc_history_get_packet_context(const DtcHistory *h, uint32_t packet)
{
	g_assert(h->is_sealed);
	return get_record(h, packet)->queue == DTC_QUEUE_ODD ? find_odd(h, packet)
							     : unpack(h, packet, find_call(h, packet));
}

struct dtc_packet_context dtc_history_get_plain_context(const DtcHistory *h, uint32_t packet)
{
	g_assert(h->is_sealed);
	if (get_record(h, packet)->queue != DTC_QUEUE_ODD)
		return unpack(h, packet, DTC_NONE);
	struct dtc_packet_context context = find_odd(h, packet);
	context.call = DTC_NONE;
	return context;
}

const char *dtc_history_judge_odd_context(const DtcHistory *h, uint32_t index)
{
	const struct dtc_odd_context *odd = DTC_AT(h->odd_contexts, struct dtc_odd_context, index);
	if (odd->packet >= h->contexts->len ||
	    DTC_AT(h->contexts, struct dtc_context_record, odd->packet)->queue != DTC_QUEUE_ODD)
		return "its packet has none";
	if (odd->spare)
		return "spare bytes are set";
	return index && (odd - 1)->packet >= odd->packet ? "comes before the one before it" : NULL;
}
