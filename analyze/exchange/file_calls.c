/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/file_calls.h"

#include <dtrace-chain/bisect.h>

/* A capture's time and the trace's differ by what the relation of the two clocks leaves open. */
#define SLACK_NS 100000

struct DtcFileCalls {
	const DtcHistory *history;
	uint32_t file;
	GArray *moved[2];    /* uint32_t: calls that read [0] or wrote [1] something, in the order of the bytes */
	GArray *asking;	     /* uint32_t: writes, whatever they moved, and connects, in time order */
	GArray *others;	     /* uint32_t: neither reads nor writes, in time order: few where many bytes move */
	uint32_t open_write; /* the last write that never returned in the trace, or DTC_NONE */
};

/* Calls of two threads on one file may end in another order than they began, and bytes move at the end. */
static int compare_offsets(gconstpointer a, gconstpointer b, gpointer history)
{
	struct dtc_call x_place;
	const struct dtc_call *x = dtc_history_get_call(history, *(const uint32_t *)a, &x_place);
	struct dtc_call y_place;
	const struct dtc_call *y = dtc_history_get_call(history, *(const uint32_t *)b, &y_place);
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

DtcFileCalls *dtc_file_calls_new(const DtcHistory *history, uint32_t file)
{
	DtcFileCalls *calls = g_new0(DtcFileCalls, 1);
	calls->history = history;
	calls->file = file;
	calls->open_write = DTC_NONE;
	for (guint i = 0; i < 2; i++)
		calls->moved[i] = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	calls->asking = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	calls->others = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	uint32_t count;
	const uint32_t *ids = dtc_history_get_file_calls(history, file, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(history, ids[i], &call_place);
		if (call->kind == DTC_CALL_WRITE || call->kind == DTC_CALL_CONNECT)
			g_array_append_val(calls->asking, ids[i]);
		if (call->kind != DTC_CALL_WRITE && call->kind != DTC_CALL_READ)
			g_array_append_val(calls->others, ids[i]);
		if (call->kind == DTC_CALL_WRITE && call->result == DTC_ABSENT)
			calls->open_write = ids[i];
		if (call->result <= 0) /* absent is negative too */
			continue;
		if (call->kind == DTC_CALL_READ || call->kind == DTC_CALL_WRITE)
			g_array_append_val(calls->moved[call->kind == DTC_CALL_WRITE], ids[i]);
	}
	for (guint i = 0; i < 2; i++)
		if (calls->moved[i]->len > 1)
			g_array_sort_with_data(calls->moved[i], compare_offsets, (gpointer)history);
	return calls;
}

void dtc_file_calls_free(DtcFileCalls *calls)
{
	if (!calls)
		return;
	g_array_unref(calls->moved[0]);
	g_array_unref(calls->moved[1]);
	g_array_unref(calls->asking);
	g_array_unref(calls->others);
	g_free(calls);
}

static struct dtc_call get_moved(const DtcFileCalls *calls, bool written, guint index)
{
	return dtc_history_copy_call(calls->history, g_array_index(calls->moved[written], uint32_t, index));
}

/* How many calls began at or before a time. Calls of several threads on one file begin in the order of their ids. */
static guint count_begun(const DtcFileCalls *calls, bool written, int64_t time_ns)
{
	return DTC_BISECT(i, 0, calls->moved[written]->len, get_moved(calls, written, i).begin_ns <= time_ns);
}

static guint count_from_offset(const DtcFileCalls *calls, bool written, uint64_t offset)
{
	return DTC_BISECT(i, 0, calls->moved[written]->len, get_moved(calls, written, i).offset <= offset);
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

uint32_t dtc_file_calls_find_byte(const DtcFileCalls *calls, bool written, uint32_t position, int64_t near_ns)
{
	const GArray *moved = calls->moved[written];
	uint64_t offset = position, total = get_total(calls, written);
	/* From 2 GiB on, the position of a byte from before the first call is that of another byte, too. */
	if (total > INT32_MAX && near_ns != DTC_TIME_NONE) {
		guint before = count_begun(calls, written, near_ns);
		uint64_t near_offset = before ? get_moved(calls, written, before - 1).offset : 0;
		int64_t distance = (int32_t)(position - (uint32_t)near_offset);
		if (distance < 0 && near_offset < (uint64_t)-distance)
			return DTC_NONE;
		offset = near_offset + (uint64_t)distance;
	}
	guint before = count_from_offset(calls, written, offset);
	if (before > 0) {
		const struct dtc_call call = get_moved(calls, written, before - 1);
		if (offset - call.offset < (uint64_t)call.result)
			return g_array_index(moved, uint32_t, before - 1);
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
	const GArray *moved = calls->moved[written];
	if (packet_ns == DTC_TIME_NONE || dtc_file_calls_compare_to_trace(calls->history, packet_ns) != 0)
		return DTC_NONE;
	if (written) {
		guint before = count_begun(calls, true, packet_ns + SLACK_NS);
		return before ? g_array_index(moved, uint32_t, before - 1) : DTC_NONE;
	}
	/* A read that began before may end after; one step back is enough, as one thread reads at a time. */
	guint i = count_begun(calls, false, packet_ns - SLACK_NS);
	if (i > 0) {
		const struct dtc_call call = get_moved(calls, false, i - 1);
		if (call.end_ns == DTC_TIME_NONE || call.end_ns >= packet_ns - SLACK_NS)
			i--;
	}
	return i < moved->len ? g_array_index(moved, uint32_t, i) : DTC_NONE;
}

uint32_t dtc_file_calls_find_answer(const DtcFileCalls *calls, uint32_t write)
{
	int64_t begin_ns = dtc_history_get_call_begin_ns(calls->history, write);
	guint next_write = count_begun(calls, true, begin_ns);
	int64_t until_ns = next_write < calls->moved[1]->len ? get_moved(calls, true, next_write).begin_ns : INT64_MAX;
	guint reads = count_begun(calls, false, until_ns);
	if (reads == 0 || get_moved(calls, false, reads - 1).begin_ns < begin_ns)
		return DTC_NONE;
	return g_array_index(calls->moved[0], uint32_t, reads - 1);
}

uint32_t dtc_file_calls_find_moved(const DtcFileCalls *calls, bool written, int64_t time_ns)
{
	const GArray *moved = calls->moved[written];
	guint i = count_begun(calls, written, time_ns);
	if (!written && i > 0) { /* one step back is enough, as one thread reads at a time */
		int64_t end_ns = get_moved(calls, false, i - 1).end_ns;
		i -= end_ns == DTC_TIME_NONE || end_ns > time_ns;
	}
	return i < moved->len ? g_array_index(moved, uint32_t, i) : DTC_NONE;
}

static int64_t get_begin_ns(const DtcFileCalls *calls, uint32_t call)
{
	return dtc_history_get_call_begin_ns(calls->history, call);
}

uint32_t dtc_file_calls_find_asking(const DtcFileCalls *calls, int64_t before_ns)
{
	const uint32_t *ids = (const uint32_t *)calls->asking->data;
	guint i = DTC_BISECT(k, 0, calls->asking->len, get_begin_ns(calls, ids[k]) < before_ns);
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
	uint32_t count = calls->others->len;
	const uint32_t *ids = is_other ? (const uint32_t *)calls->others->data
				       : dtc_history_get_file_calls(calls->history, calls->file, &count);
	for (uint32_t i = DTC_BISECT(k, 0, count, get_begin_ns(calls, ids[k]) < from_ns); i < count; i++)
		if (dtc_history_copy_call(calls->history, ids[i]).kind == kind)
			return ids[i];
	return DTC_NONE;
}
