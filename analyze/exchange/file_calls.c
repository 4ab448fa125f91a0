/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/file_calls.h"

#include "collect/packets/table.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

/* A capture's time and the trace's differ by what the relation of the two clocks leaves open. */
#define SLACK_NS 100000

#define LISTS 4

struct DtcFileCalls {
	const DtcHistory *history;
	uint32_t file;
	uint32_t open_write;	   /* the last write that never returned in the trace, or DTC_NONE */
	uint32_t first[LISTS + 1]; /* of each list in calls, and behind the last one */
	DtcTable *table;	   /* of calls, if there are so many; else NULL */
	uint32_t *calls;	   /* behind this, or the table's */
};

/* Most connections have few calls; those of one that lasts are as many as the trace is long. */
#define CALLS_MAX 16384

/* One after the other: there are as many of these as connections. */
enum list {
	LIST_READ,    /* calls that read something, in the order of the bytes */
	LIST_WRITTEN, /* that wrote something */
	LIST_ASKING,  /* writes, whatever they moved, and connects, in time order */
	LIST_OTHERS,  /* neither reads nor writes, in time order: few where many bytes move */
};

/* Calls of two threads on one file may end in another order than they began, and bytes move at the end. */
static int compare_offsets(gconstpointer a, gconstpointer b, gpointer history)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t x_offset = dtc_history_get_call_offset(history, x), y_offset = dtc_history_get_call_offset(history, y);
	if (x_offset != y_offset)
		return x_offset < y_offset ? -1 : 1;
	int64_t x_ns = dtc_history_get_call_begin_ns(history, x), y_ns = dtc_history_get_call_begin_ns(history, y);
	return x_ns < y_ns ? -1 : x_ns > y_ns;
}

/* Mostly they are so already. */
static void order_by_offset(const DtcHistory *history, uint32_t *calls, guint count)
{
	guint i = 1;
	while (i < count && compare_offsets(&calls[i - 1], &calls[i], (gpointer)history) <= 0)
		i++;
	if (i < count)
		g_qsort_with_data(calls, (gint)count, sizeof(*calls), compare_offsets, (gpointer)history);
}

/* The lists that a call belongs to, a bit each. */
static guint get_lists(const struct dtc_call *call)
{
	bool is_read = call->kind == DTC_CALL_READ, is_write = call->kind == DTC_CALL_WRITE;
	bool has_moved = call->result > 0; /* absent is negative */
	return (guint)(is_read && has_moved) << LIST_READ | (guint)(is_write && has_moved) << LIST_WRITTEN |
	       (guint)(is_write || call->kind == DTC_CALL_CONNECT) << LIST_ASKING |
	       (guint)(!is_read && !is_write) << LIST_OTHERS;
}

static const uint32_t *get_list(const DtcFileCalls *calls, enum list list, guint *ret_count)
{
	*ret_count = calls->first[list + 1] - calls->first[list];
	return calls->calls + calls->first[list];
}

DtcFileCalls *dtc_file_calls_new(const DtcHistory *history, uint32_t file)
{
	uint32_t count, first[LISTS + 1] = { 0 }, open_write = DTC_NONE;
	const uint32_t *ids = dtc_history_get_file_calls(history, file, &count);
	g_autoptr(DtcTable) list_table = dtc_table_new(sizeof(uint8_t));
	dtc_table_extend(list_table, count + 1);
	uint8_t *lists = DTC_AT(list_table, uint8_t, 0);
	for (uint32_t i = 0; i < count; i++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(history, ids[i], &call_place);
		lists[i] = (uint8_t)get_lists(call);
		for (guint k = 0; k < LISTS; k++)
			first[k + 1] += lists[i] >> k & 1;
		if (call->kind == DTC_CALL_WRITE && call->result == DTC_ABSENT)
			open_write = ids[i];
	}
	for (guint k = 0; k < LISTS; k++)
		first[k + 1] += first[k];
	bool is_large = first[LISTS] > CALLS_MAX;
	DtcFileCalls *calls = g_malloc(sizeof(*calls) + (is_large ? 0 : first[LISTS] * sizeof(uint32_t)));
	*calls = (DtcFileCalls){ .history = history, .file = file, .open_write = open_write };
	calls->calls = (uint32_t *)(calls + 1);
	if (is_large) {
		calls->table = dtc_table_new(sizeof(uint32_t));
		dtc_table_extend(calls->table, first[LISTS]);
		dtc_table_settle(calls->table);
		calls->calls = DTC_AT(calls->table, uint32_t, 0);
	}
	memcpy(calls->first, first, sizeof(first));
	for (uint32_t i = 0; i < count; i++)
		for (guint k = 0; k < LISTS; k++)
			if (lists[i] >> k & 1)
				calls->calls[first[k]++] = ids[i];
	for (enum list k = LIST_READ; k <= LIST_WRITTEN; k++)
		order_by_offset(history, calls->calls + calls->first[k], calls->first[k + 1] - calls->first[k]);
	return calls;
}

void dtc_file_calls_free(DtcFileCalls *calls)
{
	if (!calls)
		return;
	dtc_table_free(calls->table);
	g_free(calls);
}

static const uint32_t *get_moved_list(const DtcFileCalls *calls, bool written, guint *ret_count)
{
	return get_list(calls, written ? LIST_WRITTEN : LIST_READ, ret_count);
}

static guint count_moved(const DtcFileCalls *calls, bool written)
{
	guint count;
	get_moved_list(calls, written, &count);
	return count;
}

static uint32_t get_moved_id(const DtcFileCalls *calls, bool written, guint index)
{
	guint count;
	return get_moved_list(calls, written, &count)[index];
}

static struct dtc_call get_moved(const DtcFileCalls *calls, bool written, guint index)
{
	return dtc_history_copy_call(calls->history, get_moved_id(calls, written, index));
}

/* How many calls began at or before a time. Calls of several threads on one file begin in the order of their ids. */
static guint count_begun(const DtcFileCalls *calls, bool written, int64_t time_ns)
{
	guint count;
	const uint32_t *ids = get_moved_list(calls, written, &count);
	return DTC_BISECT(i, 0, count, dtc_history_get_call_begin_ns(calls->history, ids[i]) <= time_ns);
}

static guint count_from_offset(const DtcFileCalls *calls, bool written, uint64_t offset)
{
	guint count;
	const uint32_t *ids = get_moved_list(calls, written, &count);
	return DTC_BISECT(i, 0, count, dtc_history_get_call_offset(calls->history, ids[i]) <= offset);
}

static uint64_t get_total(const DtcFileCalls *calls, bool written)
{
	const struct dtc_file *file = dtc_history_get_file(calls->history, calls->file);
	return written ? file->written_bytes : file->read_bytes;
}

bool dtc_file_calls_is_before_first(const DtcFileCalls *calls, bool written, uint32_t position)
{
	return get_total(calls, written) <= INT32_MAX && (int32_t)position < 0;
}

/* Which byte of the file's is meant. From 2 GiB on, one from before the first call has the position of another, too. */
static bool find_offset(const DtcFileCalls *calls, bool written, uint32_t position, int64_t near_ns,
			uint64_t *ret_offset)
{
	*ret_offset = position;
	if (get_total(calls, written) <= INT32_MAX || near_ns == DTC_TIME_NONE)
		return true;
	guint before = count_begun(calls, written, near_ns);
	uint64_t near_offset = before ? get_moved(calls, written, before - 1).offset : 0;
	int64_t distance = (int32_t)(position - (uint32_t)near_offset);
	*ret_offset = near_offset + (uint64_t)distance;
	return distance >= 0 || near_offset >= (uint64_t)-distance;
}

bool dtc_file_calls_is_lost(const DtcFileCalls *calls, bool written, uint32_t position, int64_t near_ns)
{
	uint64_t offset;

	return dtc_history_get_file(calls->history, calls->file)->has_lost_bytes &&
	       find_offset(calls, written, position, near_ns, &offset) &&
	       count_from_offset(calls, written, offset) < count_moved(calls, written) &&
	       dtc_file_calls_find_byte(calls, written, position, near_ns) == DTC_NONE;
}

uint32_t dtc_file_calls_find_byte(const DtcFileCalls *calls, bool written, uint32_t position, int64_t near_ns)
{
	uint64_t offset;
	if (!find_offset(calls, written, position, near_ns, &offset))
		return DTC_NONE;
	guint before = count_from_offset(calls, written, offset);
	if (before > 0) {
		const struct dtc_call call = get_moved(calls, written, before - 1);
		if (offset - call.offset < (uint64_t)call.result)
			return get_moved_id(calls, written, before - 1);
	}
	bool is_open = written && calls->open_write != DTC_NONE &&
		       !dtc_file_calls_is_before_first(calls, true, position) &&
		       offset >= dtc_history_copy_call(calls->history, calls->open_write).offset;
	return is_open ? calls->open_write : DTC_NONE;
}

int dtc_file_calls_compare_to_trace(const DtcHistory *history, int64_t packet_ns)
{
	int64_t begin_ns = dtc_history_get_begin_ns(history), end_ns = dtc_history_get_end_ns(history);

	if (packet_ns == DTC_TIME_NONE || begin_ns == DTC_TIME_NONE)
		return 0;
	return packet_ns < begin_ns - SLACK_NS ? -1 : packet_ns > end_ns + SLACK_NS ? 1 : 0;
}

uint32_t dtc_file_calls_find_at(const DtcFileCalls *calls, bool written, int64_t packet_ns)
{
	if (packet_ns == DTC_TIME_NONE || dtc_file_calls_compare_to_trace(calls->history, packet_ns) != 0)
		return DTC_NONE;
	if (written) {
		guint before = count_begun(calls, true, packet_ns + SLACK_NS);
		return before ? get_moved_id(calls, true, before - 1) : DTC_NONE;
	}
	/* A read that began before may end after; one step back is enough, as one thread reads at a time. */
	guint i = count_begun(calls, false, packet_ns - SLACK_NS);
	if (i > 0) {
		const struct dtc_call call = get_moved(calls, false, i - 1);
		if (call.end_ns == DTC_TIME_NONE || call.end_ns >= packet_ns - SLACK_NS)
			i--;
	}
	return i < count_moved(calls, false) ? get_moved_id(calls, false, i) : DTC_NONE;
}

uint32_t dtc_file_calls_find_answer(const DtcFileCalls *calls, uint32_t write)
{
	int64_t begin_ns = dtc_history_get_call_begin_ns(calls->history, write);
	guint next_write = count_begun(calls, true, begin_ns);
	int64_t until_ns =
		next_write < count_moved(calls, true) ? get_moved(calls, true, next_write).begin_ns : INT64_MAX;
	guint reads = count_begun(calls, false, until_ns);
	if (reads == 0 || get_moved(calls, false, reads - 1).begin_ns < begin_ns)
		return DTC_NONE;
	return get_moved_id(calls, false, reads - 1);
}

uint32_t dtc_file_calls_find_moved(const DtcFileCalls *calls, bool written, int64_t time_ns)
{
	guint i = count_begun(calls, written, time_ns);
	if (!written && i > 0) { /* one step back is enough, as one thread reads at a time */
		int64_t end_ns = get_moved(calls, false, i - 1).end_ns;
		i -= end_ns == DTC_TIME_NONE || end_ns > time_ns;
	}
	return i < count_moved(calls, written) ? get_moved_id(calls, written, i) : DTC_NONE;
}

static int64_t get_begin_ns(const DtcFileCalls *calls, uint32_t call)
{
	return dtc_history_get_call_begin_ns(calls->history, call);
}

uint32_t dtc_file_calls_find_asking(const DtcFileCalls *calls, int64_t before_ns)
{
	guint count;
	const uint32_t *ids = get_list(calls, LIST_ASKING, &count);
	guint i = DTC_BISECT(k, 0, count, get_begin_ns(calls, ids[k]) < before_ns);
	return i ? ids[i - 1] : DTC_NONE;
}

uint32_t dtc_file_calls_find_next(const DtcFileCalls *calls, int64_t from_ns)
{
	uint32_t count;
	const uint32_t *ids = dtc_history_get_file_calls(calls->history, calls->file, &count);
	uint32_t i = DTC_BISECT(k, 0, count, get_begin_ns(calls, ids[k]) < from_ns);
	return i < count ? ids[i] : DTC_NONE;
}

uint32_t dtc_file_calls_find_kind(const DtcFileCalls *calls, enum dtc_call_kind kind, int64_t from_ns)
{
	bool is_other = kind != DTC_CALL_READ && kind != DTC_CALL_WRITE;
	uint32_t count;
	const uint32_t *ids = is_other ? get_list(calls, LIST_OTHERS, &count)
				       : dtc_history_get_file_calls(calls->history, calls->file, &count);
	for (uint32_t i = DTC_BISECT(k, 0, count, get_begin_ns(calls, ids[k]) < from_ns); i < count; i++)
		if (dtc_history_copy_call(calls->history, ids[i]).kind == kind)
			return ids[i];
	return DTC_NONE;
}
