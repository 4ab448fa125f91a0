/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * System calls: how they are packed into 32 bytes when a history is sealed, and how they are given out whole. Hardly
 * any call has more than one of what only some have (an offset, an argument, a path, an address as its result), so
 * that these share a place; a call that does not fit is kept whole beside.
 */
#include "analyze/history/check_lists.h"
#include "analyze/history/records.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

#define LIMIT(bits) (UINT64_C(1) << (bits))
#define VALUE_LIMIT LIMIT(48)
#define FILE_UNKNOWN (LIMIT(24) - 1)
#define FD_UNKNOWN 0xffffu
/* A poll's value: its timeout, where its files begin, and how many. */
#define TIMEOUT_BITS 20
#define FIRST_BITS 22
#define COUNT_BITS 6
/* In ms, and more than this, which stands for DTC_TIMEOUT_UNKNOWN: daemons wait for up to some minutes. */
#define TIMEOUT_MIN (-(INT64_C(1) << (TIMEOUT_BITS - 1)))

/* --- sealing ---------------------------------------------------------------------------------------------------- */

static bool pack_ready(const struct dtc_call *call, uint64_t *ret_value)
{
	int64_t timeout = (int64_t)call->argument;
	uint64_t first = (uint32_t)call->offset, count = call->offset >> 32;
	if (call->argument == DTC_TIMEOUT_UNKNOWN)
		timeout = TIMEOUT_MIN;
	else if (timeout <= TIMEOUT_MIN || timeout >= -TIMEOUT_MIN)
		return false;
	if (first >= LIMIT(FIRST_BITS) || count >= LIMIT(COUNT_BITS))
		return false;
	*ret_value = ((uint64_t)timeout & (LIMIT(TIMEOUT_BITS) - 1)) | first << TIMEOUT_BITS |
		     count << (TIMEOUT_BITS + FIRST_BITS);
	return true;
}

static bool is_short(int64_t result)
{
	return result == DTC_ABSENT || (result > INT32_MIN && result <= INT32_MAX);
}

/* False: it has more than one value, or one that is too large. */
static bool pack_value(const struct dtc_call *call, enum dtc_call_value *ret_kind, uint64_t *ret_value)
{
	const struct {
		bool has;
		enum dtc_call_value kind;
		uint64_t value;
	} values[] = {
		{ call->offset != 0, DTC_VALUE_OFFSET, call->offset },
		{ call->argument != 0, DTC_VALUE_ARGUMENT, call->argument },
		{ call->path != DTC_NONE, DTC_VALUE_PATH, call->path },
		{ !is_short(call->result), DTC_VALUE_RESULT, (uint64_t)call->result },
	};
	guint count = 0;
	*ret_kind = DTC_VALUE_NONE;
	*ret_value = 0;
	for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
		if (values[i].has) {
			*ret_kind = values[i].kind;
			*ret_value = values[i].value;
			count++;
		}
	if (count <= 1 && *ret_value < VALUE_LIMIT)
		return true;
	*ret_kind = DTC_VALUE_READY;
	return call->kind == DTC_CALL_POLL && call->path == DTC_NONE && is_short(call->result) &&
	       pack_ready(call, ret_value);
}

static bool fits(const DtcHistory *h, const struct dtc_call *call)
{
	bool has_returned = call->end_ns != DTC_TIME_NONE;
	return call->begin_ns >= h->begin_ns && ((uint64_t)call->begin_ns - (uint64_t)h->begin_ns) < DTC_BEGIN_ODD &&
	       (!has_returned || (call->end_ns >= call->begin_ns &&
				  ((uint64_t)call->end_ns - (uint64_t)call->begin_ns) < DTC_DURATION_OPEN)) &&
	       call->name <= UINT16_MAX && call->thread < LIMIT(24) && call->kind < LIMIT(5) && !call->spare &&
	       (call->file == DTC_NONE || call->file < FILE_UNKNOWN) && call->fd >= -1 &&
	       call->fd < (int32_t)FD_UNKNOWN;
}

static struct dtc_call_record pack(const DtcHistory *h, const struct dtc_call *call)
{
	enum dtc_call_value kind;
	uint64_t value;
	if (!fits(h, call) || !pack_value(call, &kind, &value))
		return (struct dtc_call_record){ .begin = DTC_BEGIN_ODD };
	bool has_returned = call->end_ns != DTC_TIME_NONE;
	bool has_result = call->result != DTC_ABSENT;
	int64_t result = kind == DTC_VALUE_RESULT ? 0 : has_result ? call->result : INT32_MIN;
	return (struct dtc_call_record){
		.begin = ((uint64_t)call->begin_ns - (uint64_t)h->begin_ns) & DTC_BEGIN_ODD,
		.name = call->name & UINT16_MAX,
		.value_kind = kind & 7,
		.duration = (has_returned ? ((uint64_t)call->end_ns - (uint64_t)call->begin_ns) : DTC_DURATION_OPEN) &
			    DTC_DURATION_OPEN,
		.thread = call->thread & (LIMIT(24) - 1),
		.kind = call->kind & 0x1f,
		.closes_on_exec = call->closes_on_exec,
		.file = MIN(call->file, FILE_UNKNOWN) & FILE_UNKNOWN,
		.result = (uint32_t)(int32_t)result,
		.operation = call->operation,
		.value = value & (VALUE_LIMIT - 1),
		.fd = (uint32_t)call->fd & FD_UNKNOWN,
	};
}

/* Places by thread; filled up with calls in the order in which they were made, which of one thread is that of time. */
static void count_calls(const DtcHistory *h, GArray *places)
{
	g_array_set_size(places, h->threads->len + 1);
	uint32_t *at = &g_array_index(places, uint32_t, 0), first = 0;
	for (guint i = 0; i < h->filling->calls->len; i++)
		at[DTC_AT(h->filling->calls, struct dtc_call, i)->thread]++;
	for (guint i = 0; i < h->threads->len; i++) {
		struct dtc_thread *thread = &g_array_index(h->threads, struct dtc_thread, i);
		thread->call_first = first;
		thread->call_count = at[i];
		at[i] = first;
		first += thread->call_count;
	}
}

static int compare_odd(const void *a, const void *b)
{
	const struct dtc_odd_call *x = a, *y = b;
	return x->index < y->index ? -1 : x->index > y->index;
}

void dtc_history_seal_calls(DtcHistory *h, uint32_t *renamed)
{
	g_assert(!h->is_sealed);
	const DtcTable *calls = h->filling->calls;
	g_autoptr(GArray) places = g_array_new(FALSE, TRUE, sizeof(uint32_t));
	count_calls(h, places);
	dtc_table_set_length(h->calls, calls->len);
	for (guint i = 0; i < calls->len; i++) {
		const struct dtc_call *call = DTC_AT(calls, struct dtc_call, i);
		const struct dtc_call_record record = pack(h, call);
		renamed[i] = g_array_index(places, uint32_t, call->thread)++;
		*DTC_AT(h->calls, struct dtc_call_record, renamed[i]) = record;
		const struct dtc_odd_call odd = { *call, renamed[i], 0 };
		if (record.begin == DTC_BEGIN_ODD)
			dtc_table_append(h->odd_calls, &odd);
	}
	if (h->odd_calls->len)
		qsort(h->odd_calls->data, h->odd_calls->len, sizeof(struct dtc_odd_call), compare_odd);
}

/* --- queries ---------------------------------------------------------------------------------------------------- */

static const struct dtc_call *find_odd(const DtcHistory *h, uint32_t call)
{
	const DtcTable *odd = h->odd_calls;
	uint32_t at = DTC_BISECT(i, 0, odd->len, DTC_AT(odd, struct dtc_odd_call, i)->index < call);
	const struct dtc_odd_call *found = at < odd->len ? DTC_AT(odd, struct dtc_odd_call, at) : NULL;
	return found && found->index == call ? &found->call : NULL;
}

int64_t dtc_history_read_odd_begin(const DtcHistory *h, uint32_t call)
{
	const struct dtc_call *odd = find_odd(h, call);
	return odd ? odd->begin_ns : DTC_TIME_NONE;
}

uint32_t dtc_history_read_call_file(const DtcHistory *h, uint32_t call)
{
	const struct dtc_call_record *record = DTC_AT(h->calls, struct dtc_call_record, call);
	if (G_UNLIKELY(record->begin == DTC_BEGIN_ODD)) {
		const struct dtc_call *odd = find_odd(h, call);
		return odd ? odd->file : DTC_NONE;
	}
	return record->file == FILE_UNKNOWN ? DTC_NONE : record->file;
}

static void unpack_ready(uint64_t value, struct dtc_call *place)
{
	uint64_t code = (value & (LIMIT(TIMEOUT_BITS) - 1)) ^ LIMIT(TIMEOUT_BITS - 1); /* from the least on */
	int64_t timeout = (int64_t)code + TIMEOUT_MIN;
	place->argument = timeout == TIMEOUT_MIN ? DTC_TIMEOUT_UNKNOWN : (uint64_t)timeout;
	place->offset =
		DTC_READY_AT(value >> TIMEOUT_BITS & (LIMIT(FIRST_BITS) - 1), value >> (TIMEOUT_BITS + FIRST_BITS));
}

static void unpack_value(const struct dtc_call_record *record, struct dtc_call *place)
{
	uint64_t value = record->value;
	switch ((enum dtc_call_value)record->value_kind) {
	case DTC_VALUE_OFFSET:
		place->offset = value;
		break;
	case DTC_VALUE_ARGUMENT:
		place->argument = value;
		break;
	case DTC_VALUE_PATH:
		place->path = (uint32_t)value;
		break;
	case DTC_VALUE_RESULT:
		place->result = (int64_t)value;
		break;
	case DTC_VALUE_READY:
		unpack_ready(value, place);
		break;
	case DTC_VALUE_NONE:
	default:
		break;
	}
}

const struct dtc_call *dtc_history_read_call(const DtcHistory *h, uint32_t call, struct dtc_call *place)
{
	const struct dtc_call_record *record = DTC_AT(h->calls, struct dtc_call_record, call);
	if (G_UNLIKELY(record->begin == DTC_BEGIN_ODD)) {
		const struct dtc_call *odd = find_odd(h, call);
		*place = odd ? *odd : (struct dtc_call){ .begin_ns = DTC_TIME_NONE, .thread = DTC_NONE };
		return place;
	}
	int64_t begin_ns = (int64_t)((uint64_t)h->begin_ns + record->begin);
	*place = (struct dtc_call){
		.begin_ns = begin_ns,
		.end_ns = record->duration == DTC_DURATION_OPEN ? DTC_TIME_NONE
								: (int64_t)((uint64_t)begin_ns + record->duration),
		.result = record->result == (uint32_t)INT32_MIN ? DTC_ABSENT : (int32_t)record->result,
		.thread = record->thread,
		.name = record->name,
		.file = record->file == FILE_UNKNOWN ? DTC_NONE : record->file,
		.path = DTC_NONE,
		.fd = record->fd == FD_UNKNOWN ? -1 : (int32_t)record->fd,
		.kind = record->kind,
		.operation = record->operation,
		.closes_on_exec = record->closes_on_exec,
	};
	unpack_value(record, place);
	return place;
}

const struct dtc_call *dtc_history_get_call(const DtcHistory *h, uint32_t call, struct dtc_call *place)
{
	g_assert(h->is_sealed);
	return dtc_history_read_call(h, call, place);
}

int64_t dtc_history_get_call_begin_ns(const DtcHistory *h, uint32_t call)
{
	g_assert(h->is_sealed);
	return dtc_history_read_call_begin(h, call);
}

uint64_t dtc_history_get_call_offset(const DtcHistory *h, uint32_t call)
{
	g_assert(h->is_sealed);
	const struct dtc_call_record *record = DTC_AT(h->calls, struct dtc_call_record, call);
	struct dtc_call place;
	if (G_UNLIKELY(record->begin == DTC_BEGIN_ODD || record->value_kind == DTC_VALUE_READY))
		return dtc_history_read_call(h, call, &place)->offset;
	return record->value_kind == DTC_VALUE_OFFSET ? record->value : 0;
}

const char *dtc_history_judge_odd_call(const DtcHistory *h, uint32_t index)
{
	const struct dtc_odd_call *odd = DTC_AT(h->odd_calls, struct dtc_odd_call, index);
	const struct dtc_call_record plain = { .begin = DTC_BEGIN_ODD };
	if (odd->index >= h->calls->len ||
	    memcmp(DTC_AT(h->calls, struct dtc_call_record, odd->index), &plain, sizeof(plain)) != 0)
		return "its call has none";
	if (odd->spare)
		return "spare bytes are set";
	return index && (odd - 1)->index >= odd->index ? "comes before the one before it" : NULL;
}
