/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One direction of a TCP connection, byte by byte in order, replaced where the bytes lie: lines of HTTP/1 by lines.h,
 * frames of HTTP/2 but for their heads, of TLS but for the heads of records, and all of everything else. What a line is
 * is known at its end; until then its bytes, in whatever packets they are, wait.
 */
#pragma once

#include "collect/redact/lines.h"

enum dtc_redact_state {
	DTC_REDACT_START, /* of a connection, or between messages */
	DTC_REDACT_HEADERS,
	DTC_REDACT_BODY,
	DTC_REDACT_CHUNK_SIZE,
	DTC_REDACT_CHUNK,
	DTC_REDACT_TRAILERS,
	DTC_REDACT_RESYNC, /* until a packet begins like a message or a frame */
	DTC_REDACT_REST,   /* nothing that is known: to the end */
	DTC_REDACT_PREFACE,
	DTC_REDACT_FRAME,
	DTC_REDACT_FRAME_BODY,
};

#define DTC_REDACT_FRAME_BYTES 9

struct dtc_messages {
	DtcPseudonyms *words;	    /* borrowed, as headers */
	const char *const *headers; /* that carry ids */
	enum dtc_redact_state state;
	bool is_first; /* nothing came before */
	struct dtc_line_message message;
	uint64_t remaining; /* of a body, chunk, preface or frame */
	GByteArray *line;   /* so far; NULL: nothing */
	GArray *places;	    /* where it lies: struct dtc_messages_place */
	uint8_t head[DTC_REDACT_FRAME_BYTES];
	guint head_bytes;
	GQueue *asked; /* what this direction asked, for the other: DTC_LINE_REQUEST_HEAD and so on; owned */
};

struct dtc_messages_place {
	uint8_t *at;
	gsize count;
};

/* is_first: the connection was seen from its begin. Zeroed memory before. */
void dtc_messages_init(struct dtc_messages *messages, DtcPseudonyms *words, const char *const *headers, bool is_first);
/* Bytes of a line without an end are overwritten. */
void dtc_messages_clear(struct dtc_messages *messages);
/* The next bytes, in their place; they must stay there until dtc_messages_clear. other: the other direction, or NULL.
 */
void dtc_messages_take(struct dtc_messages *messages, struct dtc_messages *other, uint8_t *bytes, gsize count);
/* So many bytes are not there. */
void dtc_messages_skip(struct dtc_messages *messages, uint64_t count);
