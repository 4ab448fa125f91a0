/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the frames of one direction of an HTTP/2 connection from pieces of its byte stream. A frame may be spread over
 * segments, a segment may hold many. Payload is stepped over by its length, captured or not; where the head of a frame
 * is lost, cut off or makes no sense, the next segment that consists of frames is where it goes on. Headers are
 * unpacked (hpack.h); of a block that was not captured as a whole nothing is known, and of later ones what does not
 * rest on it.
 */
#pragma once

#include "analyze/exchange/frames.h"
#include "analyze/exchange/hpack.h"
#include "analyze/exchange/stream.h"

#define DTC_HTTP2_HEAD_BYTES 9

enum dtc_http2_state {
	DTC_HTTP2_START, /* the preface, or a frame */
	DTC_HTTP2_HEAD,
	DTC_HTTP2_BODY,
	DTC_HTTP2_RESYNC,
};

/* A frame of a stream, as it ends; of headers all together, at the end of the last that goes on with them. */
struct dtc_http2_seen {
	uint32_t stream;
	uint8_t type; /* DATA, HEADERS, RST_STREAM; PREFACE, of which nothing else is told */
	bool ends_stream;
	bool has_headers; /* of HEADERS: they were read, as far as they are known */
	bool has_ack;
	uint32_t seq, end_seq; /* of its first byte, and after its last */
	uint32_t ack;	       /* of the segment with its first byte */
	int64_t begin_ns, end_ns;
};

/* A frame is told after its headers. */
struct dtc_http2_listener {
	void *data;
	dtc_hpack_take header;
	void (*frame)(void *data, const struct dtc_http2_seen *seen);
};

struct dtc_http2 {
	enum dtc_http2_state state;
	uint8_t head[DTC_HTTP2_HEAD_BYTES]; /* as far as it was read */
	uint8_t head_bytes;
	bool is_preface;    /* what is stepped over is no frame */
	bool is_of_begin;   /* of all headers of the connection none was missed */
	bool is_broken;	    /* of the headers that are being read something is missing */
	uint32_t remaining; /* of the body */
	uint32_t flow;
	guint lost_count; /* how often where a frame ends was not known */
	guint block_from; /* bytes of the block before this frame */
	struct dtc_http2_seen frame;
	struct dtc_http2_seen message; /* HEADERS, whose block is not at its end */
	GByteArray *block;	       /* of headers; owned, or NULL */
	DtcHpack *hpack;	       /* owned; NULL: nothing is known of earlier headers */
	DtcFrames *frames;	       /* borrowed, as what follows */
	const struct dtc_http2_listener *listener;
};

/* At the begin of a connection; of zeroed memory. */
void dtc_http2_init(struct dtc_http2 *reader, uint32_t flow, DtcFrames *frames,
		    const struct dtc_http2_listener *listener);
void dtc_http2_clear(struct dtc_http2 *reader);
/* Its side sends frames since before the capture. */
void dtc_http2_resync(struct dtc_http2 *reader);
/* The preface was read up to the end of its first line, which is before seq. */
void dtc_http2_skip_preface(struct dtc_http2 *reader, uint32_t seq);
/* Adds to frames, and tells, what a piece shows of the flow; used: of its bytes are not for this reader. */
void dtc_http2_read(struct dtc_http2 *reader, const struct dtc_tcp_stream_piece *piece, uint32_t used);
/* Whether a segment consists of frames, of which the last may go on behind it; from the first byte. */
bool dtc_http2_look_at(const uint8_t *data, gsize bytes);
