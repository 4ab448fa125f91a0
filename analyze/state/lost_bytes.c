/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where events were lost, calls were, and the bytes that they moved are missing in the offsets of all calls behind
 * them: in a recording that lacked 8 ms, one read of a client's was lost, and every request behind it on the connection
 * was taken for its neighbour. Packets tell how far offsets are off. What leaves has been written, so that after a gap
 * at least so much is missing that it is so; what is read has arrived, so that at most so much is. The one is exact as
 * soon as a socket has sent all that was written, the other as soon as it was drained, and neither ever gets less: a
 * later period bounds an earlier one. A period is from one begin or end of a gap to the next. In a gap itself, of which
 * other CPUs may have recorded all, a write has what the segments that left in it or before tell.
 *
 * Where bytes are missing before anything was lost, calls move bytes of which nothing is known here: such a file is
 * left as it is.
 */
#include "analyze/state/machine_state.h"

#include <dtrace-chain/bisect.h>

#define UNKNOWN INT64_MIN

/* The calls of one direction of a file, in the order of their bytes. */
struct moves {
	struct dtc_file *file;
	const uint32_t *calls;
	guint count;
	const uint32_t *others; /* reads that took nothing: they looked, found nothing or the end, or never returned */
	guint other_count;
	guint first_period;
	int64_t *missing; /* of each period from the first on, until its end; UNKNOWN: nothing tells */
	guint period_count;
	int64_t *told; /* of each write, by what left in it; UNKNOWN: nothing did. Of reads NULL */
};

static struct dtc_call *get_call(const DtcMachine *m, uint32_t call)
{
	return DTC_AT(m->history->filling->calls, struct dtc_call, call);
}

static struct dtc_file *get_file(const DtcMachine *m, const struct dtc_call *call)
{
	return DTC_AT(m->history->files, struct dtc_file, call->file);
}

static guint count_until(const GArray *times, int64_t time_ns)
{
	return DTC_BISECT(i, 0, times->len, g_array_index(times, int64_t, i) <= time_ns);
}

static guint find_period(const DtcMachine *m, int64_t time_ns)
{
	return count_until(m->gap_bounds, time_ns);
}

/* More gaps have begun than have ended. */
static bool is_in_gap(const DtcMachine *m, int64_t time_ns)
{
	return find_period(m, time_ns) > 2 * count_until(m->gap_ends, time_ns);
}

/* Of a period; NULL: it is none of the file's. */
static int64_t *get_missing(const DtcMachine *m, const struct moves *moves, int64_t time_ns)
{
	guint period =
		find_period(m, time_ns) - moves->first_period; /* far beyond the last if it is before the first */

	return period < moves->period_count ? &moves->missing[period] : NULL;
}

static int64_t get_moved_ns(const struct dtc_call *call, bool is_write)
{
	return is_write ? call->begin_ns : call->end_ns;
}

static void bound_reads(const DtcMachine *m, struct moves *moves)
{
	g_autofree struct dtc_seq_bound *bounds = g_new(struct dtc_seq_bound, moves->count);

	dtc_machine_bound_reads(m, moves->file->flow_in, moves->calls, moves->count, bounds);
	for (guint i = 0; i < moves->count; i++) {
		int64_t *missing = get_missing(m, moves, get_call(m, moves->calls[i])->end_ns);
		int64_t most = dtc_seq_distance(moves->file->base_in, bounds[i].seq);
		if (missing && bounds[i].is_known && (*missing == UNKNOWN || most < *missing))
			*missing = most;
	}
	for (guint i = moves->period_count - 1, next = i; i-- > 0;) {
		if (moves->missing[i] == UNKNOWN)
			continue;
		if (moves->missing[next] != UNKNOWN)
			moves->missing[i] = MIN(moves->missing[i], moves->missing[next]);
		next = i;
	}
}

/* When the first of the calls from each on began: of two threads' the one that began first may have returned last. */
static int64_t *list_begins(const DtcMachine *m, const struct moves *moves)
{
	int64_t *begins = g_new(int64_t, moves->count);

	for (guint i = moves->count; i-- > 0;) {
		begins[i] = get_call(m, moves->calls[i])->begin_ns;
		if (i + 1 < moves->count)
			begins[i] = MIN(begins[i], begins[i + 1]);
	}
	return begins;
}

static void bound_writes(const DtcMachine *m, struct moves *moves)
{
	g_autofree int64_t *begins = list_begins(m, moves);
	const DtcPackets *packets = m->history->packets;
	uint32_t flow = moves->file->flow_out, count = dtc_packets_get_flow(packets, flow)->packet_count;
	const struct dtc_call *write = NULL;
	guint next = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_packet p = dtc_packets_get(packets, dtc_packets_get_flow_packet(packets, flow, i));
		if (p.direction != DTC_SENT || !p.payload_bytes)
			continue;
		for (; next < moves->count && begins[next] <= p.time_ns; next++)
			write = get_call(m, moves->calls[next]);
		int64_t *missing = get_missing(m, moves, p.time_ns);
		/* of a write that did not return nobody knows how much it gave */
		if (!missing || (write && write->result == DTC_ABSENT))
			continue;
		uint32_t written = write ? (uint32_t)(write->offset + (uint64_t)write->result) : 0;
		int64_t least = dtc_seq_distance(moves->file->base_out + written, p.seq + p.payload_bytes);
		*missing = MAX(*missing, MAX(least, 0));
		if (write && p.time_ns <= write->end_ns)
			moves->told[next - 1] = MAX(moves->told[next - 1], least);
	}
}

/* Each period has at least what the one before it has; where nothing tells, just that. */
static bool settle(struct moves *moves)
{
	int64_t before = 0;

	if (moves->missing[0] != UNKNOWN && moves->missing[0] != 0)
		return false;
	for (guint i = 0; i < moves->period_count; i++)
		before = moves->missing[i] = MAX(before, moves->missing[i]);
	return before > 0;
}

/* In a gap a write may be one from before what was lost in it. */
static int64_t find_missing(const DtcMachine *m, const struct moves *moves, guint index, bool is_write)
{
	const struct dtc_call *call = get_call(m, moves->calls[index]);
	const int64_t *missing = get_missing(m, moves, get_moved_ns(call, is_write));

	if (!missing)
		return 0;
	if (!is_write || !is_in_gap(m, call->begin_ns))
		return *missing;
	return MAX(moves->told[index], missing > moves->missing ? missing[-1] : 0);
}

static void move(const DtcMachine *m, const struct moves *moves, bool is_write)
{
	int64_t last = moves->missing[moves->period_count - 1], missing = 0;

	for (guint i = 0; i < moves->count; i++) {
		missing = MAX(missing, find_missing(m, moves, i, is_write));
		get_call(m, moves->calls[i])->offset += (uint64_t)missing;
	}
	for (guint i = 0; i < moves->other_count; i++) {
		struct dtc_call *call = get_call(m, moves->others[i]);
		guint period = find_period(m, call->end_ns == DTC_TIME_NONE ? call->begin_ns : call->end_ns);
		if (period >= moves->first_period)
			call->offset +=
				(uint64_t)moves->missing[MIN(period - moves->first_period, moves->period_count - 1)];
	}
	moves->file->has_lost_bytes = true;
	*(is_write ? &moves->file->written_bytes : &moves->file->read_bytes) += (uint64_t)last;
}

/* Its calls are there, its missing bytes not yet. */
static void place_file(const DtcMachine *m, struct moves *moves, bool is_write)
{
	moves->file = get_file(m, get_call(m, moves->calls[0]));
	moves->first_period = find_period(m, moves->file->begin_ns);
	moves->period_count = find_period(m, get_moved_ns(get_call(m, moves->calls[moves->count - 1]), is_write)) + 1 -
			      moves->first_period;
	if (moves->period_count < 2 || moves->period_count > m->gap_bounds->len + 1)
		return; /* nothing was lost while it was used */
	moves->missing = g_new(int64_t, moves->period_count);
	moves->told = is_write ? g_new(int64_t, moves->count) : NULL;
	for (guint i = 0; i < moves->period_count; i++)
		moves->missing[i] = UNKNOWN;
	for (guint i = 0; is_write && i < moves->count; i++)
		moves->told[i] = UNKNOWN;
	if (is_write)
		bound_writes(m, moves);
	else
		bound_reads(m, moves);
	if (settle(moves))
		move(m, moves, is_write);
	g_free(moves->missing);
	g_free(moves->told);
}

static bool is_wanted(const DtcMachine *m, const struct dtc_call *call, bool is_write)
{
	if (call->file == DTC_NONE || call->kind != (is_write ? DTC_CALL_WRITE : DTC_CALL_READ))
		return false;
	if (call->result != DTC_ABSENT ? call->result <= 0 : !is_write)
		return false;
	const struct dtc_file *file = get_file(m, call);
	return (is_write ? file->has_base_out : file->has_base_in) && file->flow_out != DTC_NONE &&
	       dtc_packets_get_flow(m->history->packets, file->flow_out)->protocol == DTC_PROTOCOL_TCP;
}

static int compare_calls(gconstpointer a, gconstpointer b, gpointer machine)
{
	const struct dtc_call *x = get_call(machine, *(const uint32_t *)a),
			      *y = get_call(machine, *(const uint32_t *)b);

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static bool is_other(const struct dtc_call *call)
{
	return call->file != DTC_NONE &&
	       (call->kind == DTC_CALL_PEEK ||
		(call->kind == DTC_CALL_READ && (call->result == DTC_ABSENT || call->result <= 0)));
}

/* How many calls from one on are of that file. */
static guint count_of(const DtcMachine *m, const GArray *calls, guint first, uint32_t file)
{
	guint end = first;

	while (end < calls->len && get_call(m, g_array_index(calls, uint32_t, end))->file == file)
		end++;
	return end - first;
}

static void place_direction(DtcMachine *m, bool is_write)
{
	g_autoptr(GArray) calls = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GArray) others = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (uint32_t i = 0; i < m->history->filling->calls->len; i++) {
		if (is_wanted(m, get_call(m, i), is_write))
			g_array_append_val(calls, i);
		else if (!is_write && is_other(get_call(m, i)))
			g_array_append_val(others, i);
	}
	if (calls->len > 1)
		g_array_sort_with_data(calls, compare_calls, m);
	if (others->len > 1)
		g_array_sort_with_data(others, compare_calls, m);
	const uint32_t *ids = (const uint32_t *)calls->data, *other_ids = (const uint32_t *)others->data;
	for (guint first = 0, other = 0; first < calls->len;) {
		uint32_t file = get_call(m, ids[first])->file;
		while (other < others->len && get_call(m, other_ids[other])->file < file)
			other++;
		struct moves moves = { .calls = ids + first,
				       .count = count_of(m, calls, first, file),
				       .others = other_ids + other,
				       .other_count = count_of(m, others, other, file) };
		place_file(m, &moves, is_write);
		first += moves.count;
	}
}

void dtc_machine_place_lost_bytes(DtcMachine *m)
{
	if (m->gap_bounds->len == 0)
		return;
	place_direction(m, false);
	place_direction(m, true);
}
