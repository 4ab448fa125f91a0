/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the frames of one direction of an HTTP/2 connection from pieces of its byte stream. A frame may be spread over
 * segments, a segment may hold many. Payload is stepped over by its length, captured or not; where the head of a frame
 * is lost, cut off or makes no sense, the next segment that consists of frames is where it goes on. Zeroed memory is a
 * reader at the begin of a connection.
 */
#pragma once

#include "analyze/exchange/frames.h"
#include "analyze/exchange/stream.h"

#define DTC_HTTP2_HEAD_BYTES 9

enum dtc_http2_state {
	DTC_HTTP2_START, /* the preface, or a frame */
	DTC_HTTP2_HEAD,
	DTC_HTTP2_BODY,
	DTC_HTTP2_RESYNC,
};

struct dtc_http2 {
	enum dtc_http2_state state;
	uint8_t head[DTC_HTTP2_HEAD_BYTES]; /* as far as it was read */
	uint8_t head_bytes;
	uint32_t begin_seq; /* of the head */
	uint32_t remaining; /* of the body */
	guint lost_count;   /* how often where a frame ends was not known */
};

/* Its side sends frames since before the capture. */
void dtc_http2_resync(struct dtc_http2 *reader);
/* The preface was read up to the end of its first line, which is before seq. */
void dtc_http2_skip_preface(struct dtc_http2 *reader, uint32_t seq, DtcFrames *frames, uint32_t flow);
/* Adds to frames what a piece shows of a flow; used: of its bytes are not for this reader. */
void dtc_http2_read(struct dtc_http2 *reader, const struct dtc_tcp_stream_piece *piece, uint32_t used,
		    DtcFrames *frames, uint32_t flow);
/* Whether a segment consists of frames, of which the last may go on behind it; from the first byte. */
bool dtc_http2_look_at(const uint8_t *data, gsize bytes);
