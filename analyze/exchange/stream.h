/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of one direction of a TCP connection in order, from captured segments that may be lost, cut short by the
 * snapshot length, repeated, overlapping or out of order. Of bytes that were sent twice the first copy counts. Segments
 * in order are handed on without a copy; segments beyond a hole wait, within bounds, until the hole is filled or it is
 * certain that it will not be (the peer acknowledged it, the stream ended, or too much waits).
 *
 * A stream is a plain struct inside its connection: zeroed memory is a valid stream that has not started.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* What may wait beyond holes: one stream alone, and all streams together (a budget is shared by them). */
#define DTC_TCP_STREAM_MAX_WAITING_BYTES (1u << 20)
#define DTC_TCP_STREAM_MAX_WAITING_SEGMENTS 1024u

struct dtc_tcp_stream_budget {
	gsize waiting_bytes;
	gsize max_waiting_bytes;
};

/* A segment as TCP has them: no piece of a path. */
struct dtc_tcp_segment {
	uint32_t seq; /* of the first payload byte */
	uint32_t ack; /* valid if has_ack */
	bool has_ack;
	uint32_t bytes;		 /* payload on the wire */
	uint32_t captured_bytes; /* of them in data, <= bytes */
	const uint8_t *data;
	int64_t time_ns;
};

enum dtc_piece_kind {
	DTC_PIECE_DATA,
	DTC_PIECE_CUT,	   /* on the wire, but beyond the snapshot length */
	DTC_PIECE_LOST,	   /* never captured */
	DTC_PIECE_RESTART, /* the sequence jumped by more than a window: another connection; bytes is 0 */
};

struct dtc_tcp_stream_piece {
	enum dtc_piece_kind kind;
	bool at_segment_begin; /* the first byte of a segment as it was sent */
	bool has_ack;
	uint32_t seq;
	uint32_t ack; /* of the segment that carried it */
	uint32_t bytes;
	const uint8_t *data; /* DATA only; borrowed until the next call on the stream */
	int64_t time_ns;     /* of the packet that carried it; LOST: DTC_TIME_NONE */
};

struct dtc_tcp_stream {
	bool is_started;
	bool has_end;  /* FIN seen: end_seq is after the last byte */
	bool may_skip; /* holes before skip_seq are final */
	bool has_current;
	uint32_t next_seq;
	uint32_t end_seq;
	uint32_t skip_seq;
	gsize waiting_bytes;
	GArray *waiting;   /* struct waiting_segment by seq, or NULL; owned */
	uint8_t *released; /* data of the piece given last, freed with the next call; owned */
	struct dtc_tcp_segment current;
};

/* The first byte that will come has this sequence number. */
void dtc_tcp_stream_start(struct dtc_tcp_stream *stream, uint32_t seq);
void dtc_tcp_stream_clear(struct dtc_tcp_stream *stream, struct dtc_tcp_stream_budget *budget);

/* Takes a segment (data borrowed until dtc_tcp_stream_next has returned false). A stream not started starts with it. */
void dtc_tcp_stream_add(struct dtc_tcp_stream *stream, struct dtc_tcp_stream_budget *budget,
			const struct dtc_tcp_segment *segment);
/* The next piece in order; false if there is none yet. Call until false after each of the other functions. */
bool dtc_tcp_stream_next(struct dtc_tcp_stream *stream, struct dtc_tcp_stream_budget *budget,
			 struct dtc_tcp_stream_piece *ret_piece);

/* The peer got everything before seq: a hole there, with data captured behind it, will not be filled. */
void dtc_tcp_stream_acknowledge(struct dtc_tcp_stream *stream, uint32_t seq);
/* Gives up what is missing before seq, even if nothing behind it was captured. */
void dtc_tcp_stream_skip(struct dtc_tcp_stream *stream, struct dtc_tcp_stream_budget *budget, uint32_t seq);
/* Gives up all holes: the pieces that wait come out. */
void dtc_tcp_stream_flush(struct dtc_tcp_stream *stream);
/* FIN: the stream ends before seq. */
void dtc_tcp_stream_end(struct dtc_tcp_stream *stream, uint32_t seq);
/* All bytes up to the FIN were given. */
bool dtc_tcp_stream_is_at_end(const struct dtc_tcp_stream *stream);
