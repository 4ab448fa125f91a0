/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the HTTP/1.x messages of one direction from pieces of its byte stream (RFC 9112): where each begins and ends,
 * its start line and its headers, one event at a time. Bodies are counted, not kept; of a line at most 16 KiB are kept
 * while it is incomplete. Zeroed memory is a valid reader at the begin of a message.
 */
#pragma once

#include "analyze/exchange/stream.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum dtc_http_message_event {
	DTC_HTTP_MORE,	   /* the piece is used up */
	DTC_HTTP_BEGIN,	   /* the start line was read: is_request, method, target, status, begin_* are valid */
	DTC_HTTP_HEADER,   /* name and value are valid */
	DTC_HTTP_END,	   /* the message is complete; seq is after its last byte */
	DTC_HTTP_UPGRADED, /* complete, and what follows is another protocol (101, or 2xx to CONNECT) */
	DTC_HTTP_LOST,	   /* a hole, or headers that contradict each other: where the message ends is not known */
	DTC_HTTP_CUT,	   /* the headers lie beyond the snapshot length */
	DTC_HTTP_FOREIGN,  /* what should be a start line is none */
	DTC_HTTP_HTTP2,	   /* the preface of HTTP/2 */
};

enum dtc_http_message_state {
	DTC_HTTP_STATE_START,
	DTC_HTTP_STATE_HEADERS,
	DTC_HTTP_STATE_HEADERS_CUT, /* the start line itself was cut: to be told after BEGIN */
	DTC_HTTP_STATE_BODY,	    /* remaining bytes */
	DTC_HTTP_STATE_CHUNK_SIZE,
	DTC_HTTP_STATE_CHUNK, /* remaining bytes, line end included */
	DTC_HTTP_STATE_TRAILERS,
	DTC_HTTP_STATE_UNTIL_CLOSE,
	DTC_HTTP_STATE_TUNNEL, /* after CONNECT, until the response says */
	DTC_HTTP_STATE_RESYNC, /* lost: waits for a segment that begins like a message */
};

/* What a response answers; it decides whether there is a body. */
enum dtc_http_message_answers {
	DTC_HTTP_ANSWERS_UNKNOWN, /* perhaps HEAD: only the next message tells where the response ended */
	DTC_HTTP_ANSWERS_OTHER,
	DTC_HTTP_ANSWERS_HEAD,
	DTC_HTTP_ANSWERS_CONNECT,
};

struct dtc_http_message {
	enum dtc_http_message_state state;
	enum dtc_http_message_answers answers;
	bool is_request;
	bool after_hole; /* something is missing between the message before and this one */
	bool has_begin_ack;
	bool has_length, has_coding, is_chunked, has_bad_length; /* framing, from the headers */
	bool is_connect;
	bool line_overflows, line_is_given;
	int status;
	uint32_t begin_seq;
	uint32_t begin_ack; /* of the segment with the first byte, valid if has_begin_ack */
	uint32_t seq;	    /* after the last byte consumed */
	int64_t begin_ns;
	guint64 remaining;
	GByteArray *line; /* owned, or NULL */
	/* Borrowed until the next call. */
	const char *method, *target, *name, *value;
	gsize method_bytes, target_bytes, name_bytes, value_bytes;
};

struct dtc_http_message_input {
	const struct dtc_tcp_stream_piece *piece;
	uint32_t used;
};

void dtc_http_message_input_init(struct dtc_http_message_input *input, const struct dtc_tcp_stream_piece *piece);
/* The next event; MORE when the piece is used up. After LOST, CUT and FOREIGN the reader waits for the next message. */
enum dtc_http_message_event dtc_http_message_next(struct dtc_http_message *message,
						  struct dtc_http_message_input *input);
void dtc_http_message_clear(struct dtc_http_message *message);

/* Between BEGIN of a response and its first header: which request it answers (method), or NULL if that is not known. */
void dtc_http_message_set_request(struct dtc_http_message *message, const char *method);
/* Goes on at the next segment that begins like a message. */
void dtc_http_message_resync(struct dtc_http_message *message);
/* CONNECT was refused: requests go on. */
void dtc_http_message_leave_tunnel(struct dtc_http_message *message);
/* An interim response: 1xx other than 101. */
bool dtc_http_message_is_interim(const struct dtc_http_message *message);
/* The end of the stream is the proper end of the message being read. */
bool dtc_http_message_ends_with_stream(const struct dtc_http_message *message);

enum dtc_http_message_look {
	DTC_LOOK_FOREIGN,
	DTC_LOOK_SHORT, /* too short to tell; given only if not strict */
	DTC_LOOK_REQUEST,
	DTC_LOOK_RESPONSE,
};
/* strict: at a place that need not be the begin of a message, where only well-known methods count. */
enum dtc_http_message_look dtc_http_message_look_at(const uint8_t *data, gsize bytes, bool strict);
