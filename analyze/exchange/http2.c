/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/http2.h"

#include <string.h>

/* RFC 9113, 3.4: its first line is read by whoever finds it. */
#define PREFACE_BYTES 24
#define PREFACE_LINE_BYTES 16
/* What a sender may use without having been asked to (6.5.2); implementations ask for up to this. */
#define MAX_FRAME_BYTES (1u << 20)
/* Of the headers of one message, packed; a server takes 8 to 64 KiB of them. */
#define MAX_BLOCK_BYTES (64u << 10)

#define END_STREAM 0x1
#define END_HEADERS 0x4
#define PADDED 0x8
#define PRIORITY 0x20

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

static void add_frame(struct dtc_http2 *reader, uint32_t seq, uint32_t bytes, uint8_t type, uint32_t stream)
{
	struct dtc_http2_frame frame = { .seq = seq, .bytes = bytes, .stream = stream, .type = type };

	dtc_frames_add(reader->frames, reader->flow, &frame);
}

void dtc_http2_init(struct dtc_http2 *reader, uint32_t flow, DtcFrames *frames,
		    const struct dtc_http2_listener *listener)
{
	reader->flow = flow;
	reader->frames = frames;
	reader->listener = listener;
	reader->is_of_begin = true;
}

/* Headers that were said before mean nothing from here on. */
static void forget_headers(struct dtc_http2 *reader)
{
	g_clear_pointer(&reader->hpack, dtc_hpack_free);
	reader->is_of_begin = false;
	if (reader->block)
		g_byte_array_set_size(reader->block, 0);
}

void dtc_http2_clear(struct dtc_http2 *reader)
{
	forget_headers(reader);
	if (reader->block)
		g_byte_array_unref(reader->block);
	reader->block = NULL;
}

void dtc_http2_resync(struct dtc_http2 *reader)
{
	forget_headers(reader);
	reader->state = DTC_HTTP2_RESYNC;
}

static void lose(struct dtc_http2 *reader)
{
	reader->lost_count++;
	dtc_http2_resync(reader);
}

/* ---- headers ---- */

static bool is_of_block(uint8_t type)
{
	return type == DTC_FRAME_HEADERS || type == DTC_FRAME_PUSH_PROMISE || type == DTC_FRAME_CONTINUATION;
}

static void begin_block_frame(struct dtc_http2 *reader)
{
	uint8_t type = reader->head[3];

	if (!reader->block)
		reader->block = g_byte_array_new();
	if (type != DTC_FRAME_CONTINUATION) {
		g_byte_array_set_size(reader->block, 0);
		reader->is_broken = false;
		reader->message = reader->frame;
	} else if (reader->frame.stream != reader->message.stream) {
		reader->is_broken = true;
	}
	reader->block_from = reader->block->len;
}

static void add_to_block(struct dtc_http2 *reader, const uint8_t *data, uint32_t bytes)
{
	if (!data || reader->block->len + bytes > MAX_BLOCK_BYTES)
		reader->is_broken = true;
	if (!reader->is_broken)
		g_byte_array_append(reader->block, data, bytes);
}

/* What of a frame's payload is no header: padding, priority, the stream that is promised (6.2, 6.6). */
static void strip_block_frame(struct dtc_http2 *reader)
{
	uint8_t type = reader->head[3], flags = reader->head[4];
	guint before = 0, behind = 0, bytes = reader->block->len - reader->block_from;
	bool is_padded = flags & PADDED && type != DTC_FRAME_CONTINUATION;

	if (is_padded && bytes) {
		before = 1;
		behind = reader->block->data[reader->block_from];
	}
	if (type == DTC_FRAME_HEADERS && flags & PRIORITY)
		before += 5;
	if (type == DTC_FRAME_PUSH_PROMISE)
		before += 4;
	if (before + behind > bytes) {
		reader->is_broken = true;
		return;
	}
	g_byte_array_set_size(reader->block, reader->block->len - behind);
	if (before)
		g_byte_array_remove_range(reader->block, reader->block_from, before);
}

static void end_block(struct dtc_http2 *reader)
{
	bool is_promise = reader->message.type == DTC_FRAME_PUSH_PROMISE;

	if (!reader->hpack)
		reader->hpack = dtc_hpack_new(reader->is_of_begin);
	reader->message.has_headers =
		!reader->is_broken &&
		dtc_hpack_read(reader->hpack, reader->block->data, reader->block->len,
			       is_promise ? NULL : reader->listener->header, reader->listener->data);
	if (!reader->message.has_headers)
		forget_headers(reader);
	reader->message.end_seq = reader->frame.end_seq;
	reader->message.end_ns = reader->frame.end_ns;
	if (!is_promise)
		reader->listener->frame(reader->listener->data, &reader->message);
}

/* ---- frames ---- */

static void end_frame(struct dtc_http2 *reader, int64_t time_ns)
{
	reader->head_bytes = 0;
	reader->state = DTC_HTTP2_HEAD;
	if (reader->is_preface) {
		const struct dtc_http2_seen preface = { .type = DTC_FRAME_PREFACE };
		reader->is_preface = false;
		reader->listener->frame(reader->listener->data, &preface);
		return;
	}
	reader->frame.end_ns = time_ns;
	if (is_of_block(reader->frame.type)) {
		if (!reader->is_broken)
			strip_block_frame(reader);
		if (reader->head[4] & END_HEADERS)
			end_block(reader);
	} else if (reader->frame.type == DTC_FRAME_DATA || reader->frame.type == DTC_FRAME_RST_STREAM) {
		reader->listener->frame(reader->listener->data, &reader->frame);
	}
}

static void step_over_preface(struct dtc_http2 *reader, uint32_t seq, uint32_t left)
{
	add_frame(reader, seq, PREFACE_BYTES, DTC_FRAME_PREFACE, 0);
	reader->is_preface = true;
	reader->remaining = left;
	reader->state = DTC_HTTP2_BODY;
}

void dtc_http2_skip_preface(struct dtc_http2 *reader, uint32_t seq)
{
	step_over_preface(reader, seq - PREFACE_LINE_BYTES, PREFACE_BYTES - PREFACE_LINE_BYTES);
}

/* Takes bytes of a head; how many. */
static uint32_t read_head(struct dtc_http2 *reader, const struct dtc_tcp_stream_piece *piece, uint32_t used)
{
	uint32_t taken = MIN(piece->bytes - used, (uint32_t)(DTC_HTTP2_HEAD_BYTES - reader->head_bytes));

	if (!reader->head_bytes)
		reader->frame = (struct dtc_http2_seen){ .seq = piece->seq + used,
							 .ack = piece->ack,
							 .has_ack = piece->has_ack,
							 .begin_ns = piece->time_ns };
	memcpy(reader->head + reader->head_bytes, piece->data + used, taken);
	reader->head_bytes = (uint8_t)(reader->head_bytes + taken);
	if (reader->head_bytes < DTC_HTTP2_HEAD_BYTES)
		return taken;
	if (!is_valid(reader->head)) {
		lose(reader);
		return taken;
	}
	reader->frame.type = reader->head[3];
	reader->frame.stream = get_stream(reader->head);
	reader->frame.ends_stream = reader->head[4] & END_STREAM;
	reader->remaining = get_length(reader->head);
	reader->frame.end_seq = reader->frame.seq + DTC_HTTP2_HEAD_BYTES + reader->remaining;
	add_frame(reader, reader->frame.seq, DTC_HTTP2_HEAD_BYTES + reader->remaining, reader->frame.type,
		  reader->frame.stream);
	if (is_of_block(reader->frame.type))
		begin_block_frame(reader);
	reader->state = DTC_HTTP2_BODY;
	if (!reader->remaining)
		end_frame(reader, piece->time_ns);
	return taken;
}

/* Takes bytes of a body; how many. */
static uint32_t read_body(struct dtc_http2 *reader, const struct dtc_tcp_stream_piece *piece, uint32_t used)
{
	uint32_t taken = MIN(piece->bytes - used, reader->remaining);

	if (!reader->is_preface && is_of_block(reader->frame.type))
		add_to_block(reader, piece->kind == DTC_PIECE_DATA ? piece->data + used : NULL, taken);
	reader->remaining -= taken;
	if (!reader->remaining)
		end_frame(reader, piece->time_ns);
	return taken;
}

void dtc_http2_read(struct dtc_http2 *reader, const struct dtc_tcp_stream_piece *piece, uint32_t used)
{
	const bool has_data = piece->kind == DTC_PIECE_DATA;

	if (piece->kind == DTC_PIECE_RESTART) {
		lose(reader);
		return;
	}
	while (used < piece->bytes) {
		switch (reader->state) {
		case DTC_HTTP2_BODY:
			used += read_body(reader, piece, used);
			break;
		case DTC_HTTP2_RESYNC:
			if (!has_data || used || !piece->at_segment_begin ||
			    !dtc_http2_look_at(piece->data, piece->bytes))
				return;
			reader->head_bytes = 0;
			reader->is_preface = false;
			reader->state = DTC_HTTP2_HEAD;
			break;
		case DTC_HTTP2_START:
			/* no frame begins so: it would be of 5 MiB */
			if (has_data && piece->data[used] == 'P')
				step_over_preface(reader, piece->seq + used, PREFACE_BYTES);
			else
				reader->state = DTC_HTTP2_HEAD;
			break;
		case DTC_HTTP2_HEAD:
			if (!has_data) {
				lose(reader);
				return;
			}
			used += read_head(reader, piece, used);
			break;
		}
	}
}
