/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/stream.h"

#include "collect/packets/packets.h"
#include "dtrace-chain/time.h"

/* Larger than the largest window (RFC 7323: 1 GiB is the limit, 64 MiB is much in practice): no retransmission and no
 * segment in flight is further away, so such a segment belongs to another connection whose SYN was not captured. */
#define MAX_JUMP_BYTES (1 << 28)

struct waiting_segment {
	struct dtc_tcp_segment segment;
	uint8_t *data; /* owned copy */
};

void dtc_tcp_stream_start(struct dtc_tcp_stream *stream, uint32_t seq)
{
	stream->is_started = true;
	stream->next_seq = seq;
}

static void waiting_remove_first(struct dtc_tcp_stream *stream, struct dtc_tcp_stream_budget *budget)
{
	struct waiting_segment *first = &g_array_index(stream->waiting, struct waiting_segment, 0);
	stream->waiting_bytes -= first->segment.captured_bytes;
	budget->waiting_bytes -= first->segment.captured_bytes;
	g_free(stream->released);
	stream->released = first->data;
	g_array_remove_index(stream->waiting, 0);
}

static bool has_waiting(const struct dtc_tcp_stream *stream)
{
	return stream->waiting && stream->waiting->len > 0;
}

void dtc_tcp_stream_clear(struct dtc_tcp_stream *stream, struct dtc_tcp_stream_budget *budget)
{
	while (has_waiting(stream))
		waiting_remove_first(stream, budget);
	if (stream->waiting)
		g_array_unref(stream->waiting);
	g_free(stream->released);
	*stream = (struct dtc_tcp_stream){ 0 };
}

static void waiting_add(struct dtc_tcp_stream *stream, struct dtc_tcp_stream_budget *budget,
			const struct dtc_tcp_segment *segment)
{
	if (!stream->waiting)
		stream->waiting = g_array_new(FALSE, FALSE, sizeof(struct waiting_segment));
	guint at = stream->waiting->len;
	while (at > 0) {
		const struct waiting_segment *w = &g_array_index(stream->waiting, struct waiting_segment, at - 1);
		int32_t distance = dtc_seq_distance(w->segment.seq, segment->seq);
		if (distance == 0 && w->segment.captured_bytes >= segment->captured_bytes)
			return; /* sent again before the hole was filled */
		if (distance >= 0)
			break;
		at--;
	}
	struct waiting_segment new = { .segment = *segment };
	new.data = g_memdup2(segment->data, segment->captured_bytes);
	new.segment.data = new.data;
	g_array_insert_val(stream->waiting, at, new);
	stream->waiting_bytes += segment->captured_bytes;
	budget->waiting_bytes += segment->captured_bytes;
}

void dtc_tcp_stream_add(struct dtc_tcp_stream *stream, struct dtc_tcp_stream_budget *budget,
			const struct dtc_tcp_segment *segment)
{
	if (segment->bytes == 0)
		return;
	if (!stream->is_started)
		dtc_tcp_stream_start(stream, segment->seq);
	int32_t ahead = dtc_seq_distance(stream->next_seq, segment->seq);
	if (ahead > 0 && ahead < MAX_JUMP_BYTES) {
		waiting_add(stream, budget, segment);
		return;
	}
	if (ahead > -MAX_JUMP_BYTES && dtc_seq_distance(stream->next_seq, segment->seq + segment->bytes) <= 0)
		return; /* old */
	stream->current = *segment;
	stream->has_current = true;
}

/* Gives what of the segment lies at next_seq: first its captured bytes, then the cut ones. False if nothing does. */
static bool give(struct dtc_tcp_stream *stream, const struct dtc_tcp_segment *segment,
		 struct dtc_tcp_stream_piece *ret_piece)
{
	uint32_t skipped = stream->next_seq - segment->seq;
	if (skipped >= segment->bytes)
		return false;
	bool cut = skipped >= segment->captured_bytes;
	*ret_piece = (struct dtc_tcp_stream_piece){
		.kind = cut ? DTC_PIECE_CUT : DTC_PIECE_DATA,
		.at_segment_begin = skipped == 0,
		.has_ack = segment->has_ack,
		.seq = stream->next_seq,
		.ack = segment->ack,
		.bytes = (cut ? segment->bytes : segment->captured_bytes) - skipped,
		.data = cut ? NULL : segment->data + skipped,
		.time_ns = segment->time_ns,
	};
	stream->next_seq += ret_piece->bytes;
	return true;
}

static bool give_lost(struct dtc_tcp_stream *stream, uint32_t to_seq, struct dtc_tcp_stream_piece *ret_piece)
{
	*ret_piece = (struct dtc_tcp_stream_piece){
		.kind = DTC_PIECE_LOST,
		.seq = stream->next_seq,
		.bytes = to_seq - stream->next_seq,
		.time_ns = DTC_TIME_NONE,
	};
	stream->next_seq = to_seq;
	return true;
}

static bool may_give_up_hole(const struct dtc_tcp_stream *stream, const struct dtc_tcp_stream_budget *budget,
			     uint32_t to_seq)
{
	if (stream->may_skip && dtc_seq_distance(to_seq, stream->skip_seq) >= 0)
		return true;
	return stream->waiting_bytes > DTC_TCP_STREAM_MAX_WAITING_BYTES ||
	       stream->waiting->len > DTC_TCP_STREAM_MAX_WAITING_SEGMENTS ||
	       budget->waiting_bytes > budget->max_waiting_bytes;
}

bool dtc_tcp_stream_next(struct dtc_tcp_stream *stream, struct dtc_tcp_stream_budget *budget,
			 struct dtc_tcp_stream_piece *ret_piece)
{
	g_clear_pointer(&stream->released, g_free);
	if (stream->has_current) {
		int32_t ahead = dtc_seq_distance(stream->next_seq, stream->current.seq);
		if (ahead >= MAX_JUMP_BYTES || ahead <= -MAX_JUMP_BYTES) {
			while (has_waiting(stream))
				waiting_remove_first(stream, budget);
			stream->next_seq = stream->current.seq;
			stream->has_end = stream->may_skip = false;
			*ret_piece = (struct dtc_tcp_stream_piece){
				.kind = DTC_PIECE_RESTART,
				.seq = stream->next_seq,
				.time_ns = stream->current.time_ns,
			};
			return true;
		}
		if (give(stream, &stream->current, ret_piece))
			return true;
		stream->has_current = false;
	}
	while (has_waiting(stream)) {
		const struct dtc_tcp_segment *first =
			&g_array_index(stream->waiting, struct waiting_segment, 0).segment;
		if (dtc_seq_distance(stream->next_seq, first->seq) > 0) {
			if (!may_give_up_hole(stream, budget, first->seq))
				return false;
			return give_lost(stream, first->seq, ret_piece);
		}
		if (dtc_seq_distance(stream->next_seq, first->seq + first->bytes) <= 0) {
			waiting_remove_first(stream, budget);
			g_clear_pointer(&stream->released, g_free);
			continue;
		}
		return give(stream, first, ret_piece); /* removed as old by the next call */
	}
	return false;
}

void dtc_tcp_stream_acknowledge(struct dtc_tcp_stream *stream, uint32_t seq)
{
	if (!stream->is_started)
		return;
	if (stream->may_skip && dtc_seq_distance(stream->skip_seq, seq) <= 0)
		return;
	stream->skip_seq = seq;
	stream->may_skip = true;
}

void dtc_tcp_stream_skip(struct dtc_tcp_stream *stream, struct dtc_tcp_stream_budget *budget, uint32_t seq)
{
	int32_t missing = dtc_seq_distance(stream->next_seq, seq);
	if (!stream->is_started || missing <= 0 || missing >= MAX_JUMP_BYTES)
		return;
	dtc_tcp_stream_acknowledge(stream, seq);
	if (stream->has_current)
		return;
	/* An empty segment at seq stands for what was not captured: the hole before it ends there. */
	struct dtc_tcp_segment mark = { .seq = seq, .data = (const uint8_t *)"" };
	waiting_add(stream, budget, &mark);
}

void dtc_tcp_stream_flush(struct dtc_tcp_stream *stream)
{
	if (!has_waiting(stream))
		return;
	const struct waiting_segment *last =
		&g_array_index(stream->waiting, struct waiting_segment, stream->waiting->len - 1);
	dtc_tcp_stream_acknowledge(stream, last->segment.seq);
}

void dtc_tcp_stream_end(struct dtc_tcp_stream *stream, uint32_t seq)
{
	if (!stream->has_end || dtc_seq_distance(stream->end_seq, seq) < 0) {
		stream->has_end = true;
		stream->end_seq = seq;
	}
}

bool dtc_tcp_stream_is_at_end(const struct dtc_tcp_stream *stream)
{
	return stream->is_started && stream->has_end && dtc_seq_distance(stream->end_seq, stream->next_seq) >= 0;
}
