/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/http2.h"

#include <string.h>

/* RFC 9113, 3.4: its first line is read by whoever finds it. */
#define PREFACE_BYTES 24
#define PREFACE_LINE_BYTES 16
/* What a sender may use without having been asked to (6.5.2); implementations ask for up to this. */
#define MAX_FRAME_BYTES (1u << 20)

/* 0 bytes | 3 length | 1 type | 1 flags | 1 bit reserved, 31 stream | (9) payload */
static uint32_t get_length(const uint8_t *head)
{
	return (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
}

static uint32_t get_stream(const uint8_t *head)
{
	return ((uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8]) & 0x7fffffff;
}

/* What the protocol demands of each type: of which stream, and how long. */
static bool is_valid(const uint8_t *head)
{
	uint32_t length = get_length(head), stream = get_stream(head);

	if (length > MAX_FRAME_BYTES)
		return false;
	switch (head[3]) {
	case DTC_FRAME_DATA:
	case DTC_FRAME_HEADERS:
	case DTC_FRAME_PUSH_PROMISE:
	case DTC_FRAME_CONTINUATION:
		return stream;
	case DTC_FRAME_PRIORITY:
		return stream && length == 5;
	case DTC_FRAME_RST_STREAM:
		return stream && length == 4;
	case DTC_FRAME_SETTINGS:
		return !stream && length % 6 == 0;
	case DTC_FRAME_PING:
		return !stream && length == 8;
	case DTC_FRAME_GOAWAY:
		return !stream && length >= 8;
	case DTC_FRAME_WINDOW_UPDATE:
		return length == 4;
	default:
		return true; /* to be ignored, says 4.1 */
	}
}

/* As long as nothing else tells that it is HTTP/2: a type and flags that are in use. */
static bool is_likely(const uint8_t *head)
{
	static const uint8_t flags[] = {
		[DTC_FRAME_DATA] = 0x9, [DTC_FRAME_HEADERS] = 0x2d,	[DTC_FRAME_SETTINGS] = 0x1,
		[DTC_FRAME_PING] = 0x1, [DTC_FRAME_PUSH_PROMISE] = 0xc, [DTC_FRAME_CONTINUATION] = 0x4,
	};

	return head[3] <= DTC_FRAME_CONTINUATION && !(head[4] & ~flags[head[3]]) && !(head[5] & 0x80) && is_valid(head);
}

bool dtc_http2_look_at(const uint8_t *data, gsize bytes)
{
	gsize at = 0;

	while (bytes - at >= DTC_HTTP2_HEAD_BYTES) {
		if (!is_likely(data + at))
			return false;
		gsize frame_bytes = DTC_HTTP2_HEAD_BYTES + get_length(data + at);
		if (frame_bytes >= bytes - at) /* one that goes on elsewhere needs another before it to be believed */
			return frame_bytes == bytes - at || at > 0;
		at += frame_bytes;
	}
	return false;
}

static void add_frame(DtcFrames *frames, uint32_t flow, uint32_t seq, uint32_t bytes, uint8_t type, uint32_t stream)
{
	struct dtc_http2_frame frame = { .seq = seq, .bytes = bytes, .stream = stream, .type = type };

	dtc_frames_add(frames, flow, &frame);
}

void dtc_http2_resync(struct dtc_http2 *reader)
{
	reader->state = DTC_HTTP2_RESYNC;
}

static void lose(struct dtc_http2 *reader)
{
	reader->lost_count++;
	dtc_http2_resync(reader);
}

static void expect_body(struct dtc_http2 *reader, uint32_t bytes)
{
	reader->remaining = bytes;
	reader->head_bytes = 0;
	reader->state = bytes ? DTC_HTTP2_BODY : DTC_HTTP2_HEAD;
}

void dtc_http2_skip_preface(struct dtc_http2 *reader, uint32_t seq, DtcFrames *frames, uint32_t flow)
{
	add_frame(frames, flow, seq - PREFACE_LINE_BYTES, PREFACE_BYTES, DTC_FRAME_PREFACE, 0);
	expect_body(reader, PREFACE_BYTES - PREFACE_LINE_BYTES);
}

/* Takes bytes of a head; how many. */
static uint32_t read_head(struct dtc_http2 *reader, const uint8_t *data, uint32_t bytes, uint32_t seq,
			  DtcFrames *frames, uint32_t flow)
{
	uint32_t taken = MIN(bytes, (uint32_t)(DTC_HTTP2_HEAD_BYTES - reader->head_bytes));

	if (!reader->head_bytes)
		reader->begin_seq = seq;
	memcpy(reader->head + reader->head_bytes, data, taken);
	reader->head_bytes = (uint8_t)(reader->head_bytes + taken);
	if (reader->head_bytes < DTC_HTTP2_HEAD_BYTES)
		return taken;
	if (!is_valid(reader->head)) {
		lose(reader);
		return taken;
	}
	uint32_t length = get_length(reader->head);
	add_frame(frames, flow, reader->begin_seq, DTC_HTTP2_HEAD_BYTES + length, reader->head[3],
		  get_stream(reader->head));
	expect_body(reader, length);
	return taken;
}

void dtc_http2_read(struct dtc_http2 *reader, const struct dtc_tcp_stream_piece *piece, uint32_t used,
		    DtcFrames *frames, uint32_t flow)
{
	const bool has_data = piece->kind == DTC_PIECE_DATA;

	if (piece->kind == DTC_PIECE_RESTART) {
		lose(reader);
		return;
	}
	while (used < piece->bytes) {
		uint32_t left = piece->bytes - used;
		switch (reader->state) {
		case DTC_HTTP2_BODY:
			left = MIN(left, reader->remaining);
			used += left;
			reader->remaining -= left;
			if (!reader->remaining)
				expect_body(reader, 0);
			break;
		case DTC_HTTP2_RESYNC:
			if (!has_data || used || !piece->at_segment_begin ||
			    !dtc_http2_look_at(piece->data, piece->bytes))
				return;
			expect_body(reader, 0);
			break;
		case DTC_HTTP2_START:
			/* no frame begins so: it would be of 5 MiB */
			if (has_data && piece->data[used] == 'P') {
				dtc_http2_skip_preface(reader, piece->seq + used + PREFACE_LINE_BYTES, frames, flow);
				reader->remaining = PREFACE_BYTES;
				break;
			}
			expect_body(reader, 0);
			break;
		case DTC_HTTP2_HEAD:
			if (!has_data) {
				lose(reader);
				return;
			}
			used += read_head(reader, piece->data + used, left, piece->seq + used, frames, flow);
			break;
		}
	}
}
