/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/redact/messages.h"

#include <string.h>

#define LINE_MAX_BYTES 16384
#define ASKED_MAX 256
#define FRAME_MAX_BYTES (1u << 20)
#define PREFACE_REST 8 /* of its 24 bytes, behind the first line */
#define TLS_HEAD_BYTES 5

/* ASKED_UNKNOWN: the question was not seen, so that whether the answer has a body is not known. */
enum { ASKED_UNKNOWN, ASKED_OTHER, ASKED_HEAD, ASKED_CONNECT };

void dtc_messages_init(struct dtc_messages *messages, DtcPseudonyms *words, const char *const *headers, bool is_first)
{
	messages->words = words;
	messages->headers = headers;
	messages->is_first = is_first;
	messages->state = is_first ? DTC_REDACT_START : DTC_REDACT_RESYNC;
}

static void fill_line(struct dtc_messages *messages)
{
	for (guint i = 0; messages->places && i < messages->places->len; i++) {
		const struct dtc_messages_place *place = &g_array_index(messages->places, struct dtc_messages_place, i);
		dtc_redacted_fill(place->at, place->count);
	}
}

static void drop_line(struct dtc_messages *messages)
{
	if (messages->line)
		g_byte_array_set_size(messages->line, 0);
	if (messages->places)
		g_array_set_size(messages->places, 0);
}

void dtc_messages_clear(struct dtc_messages *messages)
{
	fill_line(messages);
	g_clear_pointer(&messages->line, g_byte_array_unref);
	g_clear_pointer(&messages->places, g_array_unref);
	g_clear_pointer(&messages->asked, g_queue_free);
}

static void lose(struct dtc_messages *messages)
{
	fill_line(messages);
	drop_line(messages);
	messages->head_bytes = 0;
	messages->state = DTC_REDACT_RESYNC;
}

/* ---- HTTP/2 ---- */

static uint32_t get_frame_bytes(const uint8_t *head)
{
	return (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
}

/* A head as RFC 9113 has them: a type in use, on the stream it is for, of its length. */
static bool is_frame(const uint8_t *head, bool is_strict)
{
	static const uint8_t flags[] = { 0x9, 0x2d, 0xff, 0xff, 0x1, 0xc, 0x1, 0xff, 0xff, 0x4 };
	uint32_t bytes = get_frame_bytes(head);
	uint32_t stream =
		((uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8]) & 0x7fffffff;
	uint8_t type = head[3];

	if (bytes > FRAME_MAX_BYTES || (is_strict && (type > 9 || head[4] & ~flags[type] || head[5] & 0x80)))
		return false;
	switch (type) {
	case 0: /* data, headers, push promise, continuation */
	case 1:
	case 5:
	case 9:
		return stream;
	case 2: /* priority */
		return stream && bytes == 5;
	case 3: /* reset */
		return stream && bytes == 4;
	case 4: /* settings */
		return !stream && bytes % 6 == 0;
	case 6: /* ping */
		return !stream && bytes == 8;
	case 7: /* going away */
		return !stream && bytes >= 8;
	case 8: /* window */
		return bytes == 4;
	default:
		return !is_strict;
	}
}

/* A packet that consists of frames, of which the last may go on in the next one. */
static bool is_frames(const uint8_t *bytes, gsize count)
{
	gsize at = 0;
	while (count - at >= DTC_REDACT_FRAME_BYTES) {
		if (!is_frame(bytes + at, true))
			return false;
		gsize frame = DTC_REDACT_FRAME_BYTES + get_frame_bytes(bytes + at);
		if (frame >= count - at)
			return frame == count - at || at > 0;
		at += frame;
	}
	return false;
}

static gsize take_frame_head(struct dtc_messages *messages, uint8_t *bytes, gsize count)
{
	gsize taken = MIN(count, DTC_REDACT_FRAME_BYTES - messages->head_bytes);
	memcpy(messages->head + messages->head_bytes, bytes, taken);
	messages->head_bytes += (guint)taken;
	if (messages->head_bytes < DTC_REDACT_FRAME_BYTES)
		return taken;
	messages->head_bytes = 0;
	if (!is_frame(messages->head, false)) {
		dtc_redacted_fill(bytes, taken);
		lose(messages);
		return taken;
	}
	messages->remaining = get_frame_bytes(messages->head);
	messages->state = messages->remaining ? DTC_REDACT_FRAME_BODY : DTC_REDACT_FRAME;
	return taken;
}

/* The rest of the preface is the same in every connection. */
static gsize take_preface(struct dtc_messages *messages, uint8_t *bytes, gsize count)
{
	static const char rest[PREFACE_REST + 1] = "\r\nSM\r\n\r\n";
	gsize taken = (gsize)MIN((uint64_t)count, messages->remaining);
	const char *from = rest + PREFACE_REST - messages->remaining;
	if (memcmp(bytes, from, taken) != 0)
		dtc_redacted_fill(bytes, taken);
	messages->remaining -= taken;
	if (!messages->remaining)
		messages->state = DTC_REDACT_FRAME;
	return taken;
}

/* ---- HTTP/1 ---- */

static void begin_request(struct dtc_messages *messages)
{
	const struct dtc_line_message *message = &messages->message;
	gpointer what = GUINT_TO_POINTER(message->is_head      ? ASKED_HEAD
					 : message->is_connect ? ASKED_CONNECT
							       : ASKED_OTHER);
	if (!messages->asked)
		messages->asked = g_queue_new();
	if (g_queue_get_length(messages->asked) >= ASKED_MAX)
		g_queue_pop_head(messages->asked);
	g_queue_push_tail(messages->asked, what);
}

static bool is_interim(const struct dtc_line_message *message)
{
	return message->start == DTC_LINE_RESPONSE && message->status >= 100 && message->status < 200 &&
	       message->status != 101;
}

static void end_start_line(struct dtc_messages *messages)
{
	switch (messages->message.start) {
	case DTC_LINE_REQUEST:
		begin_request(messages);
		messages->state = DTC_REDACT_HEADERS;
		break;
	case DTC_LINE_RESPONSE:
		messages->state = DTC_REDACT_HEADERS;
		break;
	case DTC_LINE_PROXY:
		messages->state = DTC_REDACT_START;
		break;
	case DTC_LINE_HTTP2:
		messages->state = DTC_REDACT_PREFACE;
		messages->remaining = PREFACE_REST;
		break;
	case DTC_LINE_OTHER:
		messages->state = DTC_REDACT_RESYNC;
		break;
	}
}

/* What follows the empty line. */
static void end_head(struct dtc_messages *messages, struct dtc_messages *other)
{
	const struct dtc_line_message *message = &messages->message;
	bool is_response = message->start == DTC_LINE_RESPONSE;
	guint asked = is_response ? ASKED_UNKNOWN : ASKED_OTHER;

	if (is_response && !is_interim(message) && other && other->asked)
		asked = GPOINTER_TO_UINT(g_queue_pop_head(other->asked));
	bool is_empty = is_response ? message->status < 200 || message->status == 204 || message->status == 304 ||
					      asked == ASKED_HEAD
				    : !message->has_coding && !message->has_length;
	messages->remaining = message->length;
	if (message->is_connect ||
	    (is_response && (message->status == 101 || (asked == ASKED_CONNECT && message->status / 100 == 2))))
		messages->state = DTC_REDACT_REST;
	else if (is_empty)
		messages->state = DTC_REDACT_START;
	else if (asked != ASKED_UNKNOWN && message->is_chunked)
		messages->state = DTC_REDACT_CHUNK_SIZE;
	else if (asked != ASKED_UNKNOWN && !message->has_coding && message->has_length && !message->is_length_bad)
		messages->state = message->length ? DTC_REDACT_BODY : DTC_REDACT_START;
	else
		messages->state = DTC_REDACT_RESYNC; /* to the end of the connection, or not told */
}

/* Writes the line back to where it came from. */
static void scatter(const struct dtc_messages *messages)
{
	const uint8_t *from = messages->line->data;
	for (guint i = 0; i < messages->places->len; i++) {
		const struct dtc_messages_place *place = &g_array_index(messages->places, struct dtc_messages_place, i);
		memcpy(place->at, from, place->count);
		from += place->count;
	}
}

static void end_chunk_size(struct dtc_messages *messages, char *text, gsize count)
{
	uint64_t bytes;
	if (!dtc_line_replace_chunk(text, count, &bytes)) {
		messages->state = DTC_REDACT_RESYNC;
		return;
	}
	messages->remaining = bytes + 2;
	messages->state = bytes ? DTC_REDACT_CHUNK : DTC_REDACT_TRAILERS;
}

static void end_line(struct dtc_messages *messages, struct dtc_messages *other)
{
	char *text = (char *)messages->line->data;
	gsize count = messages->line->len - 1; /* without the line feed */
	struct dtc_line_message unused = { 0 };

	count -= count > 0 && text[count - 1] == '\r';
	if (messages->state == DTC_REDACT_START) {
		dtc_line_replace_start(messages->words, text, count, &messages->message);
		end_start_line(messages);
	} else if (messages->state == DTC_REDACT_CHUNK_SIZE) {
		end_chunk_size(messages, text, count);
	} else if (count == 0) {
		if (messages->state == DTC_REDACT_HEADERS)
			end_head(messages, other);
		else
			messages->state = DTC_REDACT_START;
	} else if (messages->state == DTC_REDACT_HEADERS) {
		dtc_line_replace_header(messages->words, messages->headers, text, count, &messages->message);
	} else {
		dtc_line_replace_header(messages->words, NULL, text, count, &unused);
	}
	scatter(messages);
	drop_line(messages);
}

static gsize take_line(struct dtc_messages *messages, struct dtc_messages *other, uint8_t *bytes, gsize count)
{
	const uint8_t *feed = memchr(bytes, '\n', count);
	gsize taken = feed ? (gsize)(feed - bytes) + 1 : count;
	struct dtc_messages_place place = { bytes, taken };

	if (!messages->line) {
		messages->line = g_byte_array_new();
		messages->places = g_array_new(FALSE, FALSE, sizeof(struct dtc_messages_place));
	}
	g_byte_array_append(messages->line, bytes, (guint)taken);
	g_array_append_val(messages->places, place);
	if (messages->line->len > LINE_MAX_BYTES)
		lose(messages);
	else if (feed)
		end_line(messages, other);
	return taken;
}

/* ---- bytes ---- */

static bool is_tls(const uint8_t *bytes, gsize count)
{
	return count >= TLS_HEAD_BYTES && bytes[0] >= 0x14 && bytes[0] <= 0x17 && bytes[1] == 3 && bytes[2] <= 4 &&
	       (bytes[3] << 8 | bytes[4]) > 0 && (bytes[3] << 8 | bytes[4]) <= (1 << 14) + 2048;
}

/* Empty lines before a start line are no part of it. */
static gsize take_empty_lines(const uint8_t *bytes, gsize count)
{
	gsize at = 0;
	while (at < count && (bytes[at] == '\r' || bytes[at] == '\n'))
		at++;
	return at;
}

static gsize take_all(uint8_t *bytes, gsize count)
{
	dtc_redacted_fill(bytes, count);
	return count;
}

/* Where nothing is known of what comes; the bytes are a packet's, from its first one on. */
static gsize find_start(struct dtc_messages *messages, uint8_t *bytes, gsize count)
{
	if (is_tls(bytes, count)) {
		messages->state = messages->is_first ? DTC_REDACT_REST : DTC_REDACT_RESYNC;
		take_all(bytes + TLS_HEAD_BYTES, count - TLS_HEAD_BYTES);
		return count;
	}
	if (is_frames(bytes, count)) {
		messages->state = DTC_REDACT_FRAME;
		return 0;
	}
	if (!dtc_line_is_start(bytes, count))
		return take_all(bytes, count);
	messages->state = DTC_REDACT_START;
	return 0;
}

static gsize take_remaining(struct dtc_messages *messages, uint8_t *bytes, gsize count, enum dtc_redact_state next)
{
	gsize taken = (gsize)MIN((uint64_t)count, messages->remaining);
	/* the end of a chunk's line is none of its bytes */
	dtc_redacted_fill(bytes, taken);
	messages->remaining -= taken;
	if (!messages->remaining)
		messages->state = next;
	return taken;
}

static gsize take_some(struct dtc_messages *messages, struct dtc_messages *other, uint8_t *bytes, gsize count,
		       bool is_packet)
{
	switch (messages->state) {
	case DTC_REDACT_START: {
		bool is_begun = messages->line && messages->line->len > 0;
		gsize empty = is_begun ? 0 : take_empty_lines(bytes, count);
		return empty ? empty : take_line(messages, other, bytes, count);
	}
	case DTC_REDACT_HEADERS:
	case DTC_REDACT_CHUNK_SIZE:
	case DTC_REDACT_TRAILERS:
		return take_line(messages, other, bytes, count);
	case DTC_REDACT_BODY:
		return take_remaining(messages, bytes, count, DTC_REDACT_START);
	case DTC_REDACT_CHUNK:
		return take_remaining(messages, bytes, count, DTC_REDACT_CHUNK_SIZE);
	case DTC_REDACT_RESYNC:
		return is_packet ? find_start(messages, bytes, count) : take_all(bytes, count);
	case DTC_REDACT_PREFACE:
		return take_preface(messages, bytes, count);
	case DTC_REDACT_FRAME:
		return take_frame_head(messages, bytes, count);
	case DTC_REDACT_FRAME_BODY:
		return take_remaining(messages, bytes, count, DTC_REDACT_FRAME);
	case DTC_REDACT_REST:
		break;
	}
	return take_all(bytes, count);
}

void dtc_messages_take(struct dtc_messages *messages, struct dtc_messages *other, uint8_t *bytes, gsize count)
{
	gsize at = 0;
	/* a connection that begins with something else is something else all through */
	if (messages->is_first && count > 0 && messages->state == DTC_REDACT_START &&
	    (!messages->line || !messages->line->len)) {
		if (is_tls(bytes, count) || is_frames(bytes, count))
			messages->state = DTC_REDACT_RESYNC;
	}
	while (at < count)
		at += take_some(messages, other, bytes + at, count - at, at == 0);
	messages->is_first = messages->is_first && count == 0;
}

void dtc_messages_skip(struct dtc_messages *messages, uint64_t count)
{
	bool is_inside = messages->state == DTC_REDACT_BODY || messages->state == DTC_REDACT_CHUNK ||
			 messages->state == DTC_REDACT_FRAME_BODY;
	if (messages->state == DTC_REDACT_REST || count == 0)
		return;
	if (!is_inside || messages->remaining < count) {
		lose(messages);
		return;
	}
	messages->remaining -= count;
	if (!messages->remaining)
		messages->state = messages->state == DTC_REDACT_BODY	? DTC_REDACT_START
				  : messages->state == DTC_REDACT_CHUNK ? DTC_REDACT_CHUNK_SIZE
									: DTC_REDACT_FRAME;
}
