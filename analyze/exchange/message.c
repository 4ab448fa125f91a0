/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/message.h"

#include <string.h>

#define MAX_LINE_BYTES 16384 /* servers refuse request lines above 8 KiB or so */
#define KEEP_LINE_BYTES 1024 /* a larger buffer is given back after the line */
#define MAX_METHOD_BYTES 24
#define MAX_CHUNK_BYTES ((guint64)1 << 40)

static const char *const known_methods[] = {
	"GET",	  "POST",   "PUT",   "HEAD",	  "DELETE",	"PATCH", "OPTIONS", "CONNECT",	   "TRACE", "PROPFIND",
	"REPORT", "SEARCH", "MKCOL", "PROPPATCH", "COPY",	"MOVE",	 "LOCK",    "UNLOCK",	   "MERGE", "CHECKOUT",
	"PURGE",  "NOTIFY", "BAN",   "SUBSCRIBE", "MKACTIVITY", "LINK",	 "UNLINK",  "UNSUBSCRIBE", "QUERY",
};

void dtc_http_message_input_init(struct dtc_http_message_input *input, const struct dtc_tcp_stream_piece *piece)
{
	*input = (struct dtc_http_message_input){ .piece = piece };
}

void dtc_http_message_clear(struct dtc_http_message *message)
{
	if (message->line)
		g_byte_array_unref(message->line);
	*message = (struct dtc_http_message){ 0 };
}

bool dtc_http_message_is_interim(const struct dtc_http_message *message)
{
	return !message->is_request && message->status >= 100 && message->status < 200 && message->status != 101;
}

bool dtc_http_message_ends_with_stream(const struct dtc_http_message *message)
{
	return message->state == DTC_HTTP_STATE_UNTIL_CLOSE;
}

void dtc_http_message_set_request(struct dtc_http_message *message, const char *method)
{
	if (!method)
		message->answers = DTC_HTTP_ANSWERS_UNKNOWN;
	else if (strcmp(method, "HEAD") == 0)
		message->answers = DTC_HTTP_ANSWERS_HEAD;
	else if (strcmp(method, "CONNECT") == 0)
		message->answers = DTC_HTTP_ANSWERS_CONNECT;
	else
		message->answers = DTC_HTTP_ANSWERS_OTHER;
}

static void drop_line(struct dtc_http_message *message)
{
	message->line_overflows = message->line_is_given = false;
	if (!message->line)
		return;
	if (message->line->len > KEEP_LINE_BYTES)
		g_clear_pointer(&message->line, g_byte_array_unref);
	else
		g_byte_array_set_size(message->line, 0);
}

void dtc_http_message_resync(struct dtc_http_message *message)
{
	drop_line(message);
	message->state = DTC_HTTP_STATE_RESYNC;
	message->after_hole = true;
}

void dtc_http_message_leave_tunnel(struct dtc_http_message *message)
{
	if (message->state == DTC_HTTP_STATE_TUNNEL)
		message->state = DTC_HTTP_STATE_START;
}

/* --- what a message looks like --- */

static bool is_method_char(uint8_t c)
{
	return g_ascii_isalpha(c) || c == '-' || c == '_';
}

static bool is_known_method(const uint8_t *data, gsize bytes)
{
	for (guint i = 0; i < G_N_ELEMENTS(known_methods); i++)
		if (strlen(known_methods[i]) == bytes && memcmp(known_methods[i], data, bytes) == 0)
			return true;
	return false;
}

enum dtc_http_message_look dtc_http_message_look_at(const uint8_t *data, gsize bytes, bool strict)
{
	while (!strict && bytes > 0 && (*data == '\r' || *data == '\n')) {
		data++;
		bytes--;
	}
	static const char version[] = "HTTP/1.";
	const gsize version_bytes = sizeof(version) - 1;
	if (bytes > 0 && memcmp(data, version, MIN(bytes, version_bytes)) == 0) {
		if (bytes > version_bytes)
			return g_ascii_isdigit(data[version_bytes]) ? DTC_LOOK_RESPONSE : DTC_LOOK_FOREIGN;
		return strict ? DTC_LOOK_FOREIGN : DTC_LOOK_SHORT;
	}
	gsize n = 0;
	while (n < bytes && n <= MAX_METHOD_BYTES && is_method_char(data[n]))
		n++;
	if (n > MAX_METHOD_BYTES)
		return DTC_LOOK_FOREIGN;
	if (n + 1 >= bytes) {
		bool may_grow = n == bytes || (n > 0 && data[n] == ' ');
		return strict || !may_grow ? DTC_LOOK_FOREIGN : DTC_LOOK_SHORT;
	}
	if (n == 0 || data[n] != ' ' || data[n + 1] <= ' ' || data[n + 1] >= 0x7f)
		return DTC_LOOK_FOREIGN;
	if (!strict)
		return DTC_LOOK_REQUEST;
	uint8_t c = data[n + 1];
	bool is_target = c == '/' || c == '*' || c == '[' || g_ascii_isalnum(c);
	return is_target && is_known_method(data, n) ? DTC_LOOK_REQUEST : DTC_LOOK_FOREIGN;
}

static bool is_version(const char *text, gsize bytes)
{
	return bytes == 8 && memcmp(text, "HTTP/1.", 7) == 0 && g_ascii_isdigit(text[7]);
}

static bool parse_status_line(struct dtc_http_message *message, const char *line, gsize bytes)
{
	if (bytes < 12 || !is_version(line, 8) || line[8] != ' ')
		return false;
	if (!g_ascii_isdigit(line[9]) || !g_ascii_isdigit(line[10]) || !g_ascii_isdigit(line[11]))
		return false;
	if (bytes > 12 && line[12] != ' ')
		return false;
	message->status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
	message->is_request = false;
	return message->status >= 100;
}

static bool parse_request_line(struct dtc_http_message *message, const char *line, gsize bytes, bool is_cut)
{
	const char *target = memchr(line, ' ', bytes);
	if (!target)
		return false;
	const char *end = line + bytes;
	const char *version =
		is_cut ? memchr(target + 1, ' ', (gsize)(end - target - 1)) : g_strrstr_len(line, (gssize)bytes, " ");
	if (!is_cut && (version <= target || !is_version(version + 1, (gsize)(end - version - 1))))
		return false;
	if (version)
		end = version;
	message->method = line;
	message->method_bytes = (gsize)(target - line);
	message->target = target + 1;
	message->target_bytes = end > target + 1 ? (gsize)(end - target - 1) : 0;
	message->is_connect = message->method_bytes == 7 && memcmp(line, "CONNECT", 7) == 0;
	message->status = 0;
	message->is_request = true;
	return message->target_bytes > 0;
}

/* --- headers --- */

static bool is_name(const struct dtc_http_message *message, const char *name)
{
	return strlen(name) == message->name_bytes &&
	       g_ascii_strncasecmp(name, message->name, message->name_bytes) == 0;
}

static void note_length(struct dtc_http_message *message)
{
	/* "5" or, from proxies that joined equal headers, "5, 5" */
	const char *at = message->value, *end = message->value + message->value_bytes;
	do {
		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		guint64 length = 0;
		const char *digits = at;
		for (; at < end && g_ascii_isdigit(*at); at++) {
			if (length > G_MAXINT64 / 10 - 1) {
				message->has_bad_length = true;
				return;
			}
			length = length * 10 + (guint64)(*at - '0');
		}
		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		if (at == digits || (at < end && *at != ',') || (message->has_length && length != message->remaining)) {
			message->has_bad_length = true;
			return;
		}
		message->has_length = true;
		message->remaining = length;
	} while (at++ < end);
}

static void note_framing(struct dtc_http_message *message)
{
	if (is_name(message, "content-length")) {
		note_length(message);
	} else if (is_name(message, "transfer-encoding")) {
		const gsize n = strlen("chunked");
		message->has_coding = true;
		message->is_chunked = message->value_bytes >= n &&
				      g_ascii_strncasecmp(message->value + message->value_bytes - n, "chunked", n) == 0;
	}
}

static bool parse_header(struct dtc_http_message *message, const char *line, gsize bytes)
{
	const char *colon = memchr(line, ':', bytes);
	if (!colon || colon == line || g_ascii_isspace(line[0])) /* also folded lines, which no identity uses */
		return false;
	const char *name_end = colon, *value = colon + 1, *end = line + bytes;
	while (name_end > line && g_ascii_isspace(name_end[-1]))
		name_end--;
	while (value < end && g_ascii_isspace(*value))
		value++;
	while (end > value && g_ascii_isspace(end[-1]))
		end--;
	message->name = line;
	message->name_bytes = (gsize)(name_end - line);
	message->value = value;
	message->value_bytes = (gsize)(end - value);
	return message->name_bytes > 0;
}

static enum dtc_http_message_event end_message(struct dtc_http_message *message)
{
	message->state = DTC_HTTP_STATE_START;
	message->after_hole = message->after_hole && dtc_http_message_is_interim(message);
	return DTC_HTTP_END;
}

static enum dtc_http_message_event lose(struct dtc_http_message *message, enum dtc_http_message_event event)
{
	dtc_http_message_resync(message);
	return event;
}

/* The empty line was read: what follows? MORE means a body. */
static enum dtc_http_message_event end_head(struct dtc_http_message *message)
{
	bool is_empty = false;
	if (message->is_request) {
		if (message->is_connect) {
			message->state = DTC_HTTP_STATE_TUNNEL;
			return DTC_HTTP_END;
		}
		is_empty = !message->has_coding && !message->has_length;
	} else {
		int status = message->status;
		bool is_success = status >= 200 && status < 300;
		if (status == 101 || (message->answers == DTC_HTTP_ANSWERS_CONNECT && is_success)) {
			message->state = DTC_HTTP_STATE_TUNNEL;
			return DTC_HTTP_UPGRADED;
		}
		is_empty = status < 200 || status == 204 || status == 304 || message->answers == DTC_HTTP_ANSWERS_HEAD;
	}
	if (is_empty)
		return end_message(message);
	if (message->has_coding ? message->is_request && !message->is_chunked : message->has_bad_length)
		return lose(message, DTC_HTTP_LOST);
	if (!message->has_coding && message->has_length && message->remaining == 0)
		return end_message(message);
	if (!message->is_request && message->answers == DTC_HTTP_ANSWERS_UNKNOWN)
		return lose(message, DTC_HTTP_LOST);
	if (message->is_chunked)
		message->state = DTC_HTTP_STATE_CHUNK_SIZE;
	else if (!message->has_coding && message->has_length)
		message->state = DTC_HTTP_STATE_BODY;
	else
		message->state = DTC_HTTP_STATE_UNTIL_CLOSE;
	return DTC_HTTP_MORE;
}

/* --- lines --- */

/* Appends to line what the piece holds of it. True when the line is complete: text without its end. */
static bool read_line(struct dtc_http_message *message, struct dtc_http_message_input *input, const char **ret_text,
		      gsize *ret_bytes)
{
	if (message->line_is_given)
		drop_line(message);
	const uint8_t *from = input->piece->data + input->used;
	gsize available = input->piece->bytes - input->used;
	const uint8_t *newline = memchr(from, '\n', available);
	gsize taken = newline ? (gsize)(newline - from) + 1 : available;
	input->used += (uint32_t)taken;
	message->seq = input->piece->seq + input->used;
	if (newline && (!message->line || message->line->len == 0)) {
		*ret_text = (const char *)from;
		*ret_bytes = taken - 1;
		message->line_overflows = taken > MAX_LINE_BYTES;
	} else {
		if (!message->line)
			message->line = g_byte_array_new();
		gsize room = MAX_LINE_BYTES - message->line->len;
		gsize kept = MIN(newline ? taken - 1 : taken, room);
		message->line_overflows |= kept < (newline ? taken - 1 : taken);
		g_byte_array_append(message->line, from, (guint)kept);
		if (!newline)
			return false;
		*ret_text = (const char *)message->line->data;
		*ret_bytes = message->line->len;
		message->line_is_given = true;
	}
	*ret_bytes = MIN(*ret_bytes, MAX_LINE_BYTES);
	if (*ret_bytes > 0 && (*ret_text)[*ret_bytes - 1] == '\r')
		(*ret_bytes)--;
	return true;
}

/* The begin of a line waits for the rest of it. */
static bool has_line(const struct dtc_http_message *message)
{
	return message->line && message->line->len > 0 && !message->line_is_given;
}

static enum dtc_http_message_event end_start_line(struct dtc_http_message *message, const char *text, gsize bytes,
						  bool is_cut)
{
	bool is_response = bytes >= 5 && memcmp(text, "HTTP/", 5) == 0;
	bool parsed = is_response ? parse_status_line(message, text, bytes)
				  : parse_request_line(message, text, bytes, is_cut);
	if (!parsed && bytes > 6 && memcmp(text, "PROXY ", 6) == 0)
		return DTC_HTTP_MORE; /* what HAProxy and others put before the first request: not part of it */
	if (!parsed || message->line_overflows) {
		bool is_http2 = bytes == 14 && memcmp(text, "PRI * HTTP/2.0", 14) == 0;
		return lose(message, is_http2 ? DTC_HTTP_HTTP2 : DTC_HTTP_FOREIGN);
	}
	message->state = is_cut ? DTC_HTTP_STATE_HEADERS_CUT : DTC_HTTP_STATE_HEADERS;
	message->has_length = message->has_coding = message->is_chunked = message->has_bad_length = false;
	message->remaining = 0;
	message->answers = DTC_HTTP_ANSWERS_UNKNOWN;
	return DTC_HTTP_BEGIN;
}

static enum dtc_http_message_event read_start(struct dtc_http_message *message, struct dtc_http_message_input *input)
{
	const struct dtc_tcp_stream_piece *piece = input->piece;
	if (!has_line(message)) {
		/* Empty lines before a start line are to be ignored (RFC 9112, 2.2). */
		while (input->used < piece->bytes &&
		       (piece->data[input->used] == '\r' || piece->data[input->used] == '\n'))
			input->used++;
		message->seq = piece->seq + input->used;
		if (input->used == piece->bytes)
			return DTC_HTTP_MORE;
		message->begin_seq = message->seq;
		message->begin_ack = piece->ack;
		message->has_begin_ack = piece->has_ack;
		message->begin_ns = piece->time_ns;
	}
	const char *text;
	gsize bytes;
	if (read_line(message, input, &text, &bytes))
		return end_start_line(message, text, bytes, false);
	if (message->line_overflows ||
	    dtc_http_message_look_at(message->line->data, message->line->len, false) == DTC_LOOK_FOREIGN)
		return lose(message, DTC_HTTP_FOREIGN);
	return DTC_HTTP_MORE;
}

static enum dtc_http_message_event read_chunk_size(struct dtc_http_message *message, const char *text, gsize bytes)
{
	guint64 size = 0;
	gsize n = 0;
	for (; n < bytes && g_ascii_isxdigit(text[n]) && size < MAX_CHUNK_BYTES; n++)
		size = size * 16 + (guint64)g_ascii_xdigit_value(text[n]);
	bool ends_well = n == bytes || text[n] == ';' || text[n] == ' ' || text[n] == '\t';
	if (n == 0 || !ends_well || size >= MAX_CHUNK_BYTES)
		return lose(message, DTC_HTTP_LOST);
	message->remaining = size + 2;
	message->state = size > 0 ? DTC_HTTP_STATE_CHUNK : DTC_HTTP_STATE_TRAILERS;
	return DTC_HTTP_MORE;
}

static enum dtc_http_message_event read_header_line(struct dtc_http_message *message, const char *text, gsize bytes)
{
	switch (message->state) {
	case DTC_HTTP_STATE_HEADERS:
		if (bytes == 0)
			return end_head(message);
		if (!parse_header(message, text, bytes))
			return DTC_HTTP_MORE;
		note_framing(message);
		return DTC_HTTP_HEADER;
	case DTC_HTTP_STATE_CHUNK_SIZE:
		return read_chunk_size(message, text, bytes);
	default: /* TRAILERS */
		return bytes == 0 ? end_message(message) : DTC_HTTP_MORE;
	}
}

/* --- pieces --- */

/* Skips bytes of any kind, captured or not. True when remaining is used up. */
static bool skip(struct dtc_http_message *message, struct dtc_http_message_input *input)
{
	guint64 n = MIN(message->remaining, input->piece->bytes - input->used);
	input->used += (uint32_t)n;
	message->remaining -= n;
	message->seq = input->piece->seq + input->used;
	return message->remaining == 0;
}

static void skip_all(struct dtc_http_message *message, struct dtc_http_message_input *input)
{
	input->used = input->piece->bytes;
	message->seq = input->piece->seq + input->used;
}

/* A piece without bytes to read, where bytes are needed. */
static enum dtc_http_message_event read_hole(struct dtc_http_message *message, struct dtc_http_message_input *input)
{
	bool is_cut = input->piece->kind == DTC_PIECE_CUT;
	if (is_cut && message->state == DTC_HTTP_STATE_START && has_line(message) &&
	    dtc_http_message_look_at(message->line->data, message->line->len, true) == DTC_LOOK_REQUEST)
		return end_start_line(message, (const char *)message->line->data, message->line->len, true);
	/* Bytes seen end where the hole begins. */
	message->seq = input->piece->seq;
	input->used = input->piece->bytes;
	bool in_head = message->state == DTC_HTTP_STATE_HEADERS || message->state == DTC_HTTP_STATE_HEADERS_CUT;
	return lose(message, is_cut && in_head ? DTC_HTTP_CUT : DTC_HTTP_LOST);
}

enum dtc_http_message_event dtc_http_message_next(struct dtc_http_message *message,
						  struct dtc_http_message_input *input)
{
	const struct dtc_tcp_stream_piece *piece = input->piece;
	if (piece->kind == DTC_PIECE_RESTART) {
		if (input->used++ > 0) /* RESTART has no bytes: used tells that it was seen */
			return DTC_HTTP_MORE;
		return lose(message, DTC_HTTP_LOST);
	}
	while (input->used < piece->bytes) {
		enum dtc_http_message_event event = DTC_HTTP_MORE;
		switch (message->state) {
		case DTC_HTTP_STATE_RESYNC:
			if (piece->kind == DTC_PIECE_DATA && piece->at_segment_begin && input->used == 0 &&
			    dtc_http_message_look_at(piece->data, piece->bytes, true) != DTC_LOOK_FOREIGN)
				message->state = DTC_HTTP_STATE_START;
			else
				skip_all(message, input);
			break;
		case DTC_HTTP_STATE_BODY:
			if (skip(message, input))
				event = end_message(message);
			break;
		case DTC_HTTP_STATE_CHUNK:
			if (skip(message, input))
				message->state = DTC_HTTP_STATE_CHUNK_SIZE;
			break;
		case DTC_HTTP_STATE_UNTIL_CLOSE:
		case DTC_HTTP_STATE_TUNNEL:
			skip_all(message, input);
			break;
		case DTC_HTTP_STATE_HEADERS_CUT:
			event = read_hole(message, input);
			break;
		case DTC_HTTP_STATE_START:
			event = piece->kind == DTC_PIECE_DATA ? read_start(message, input) : read_hole(message, input);
			break;
		case DTC_HTTP_STATE_HEADERS:
		case DTC_HTTP_STATE_CHUNK_SIZE:
		case DTC_HTTP_STATE_TRAILERS: {
			const char *text;
			gsize bytes;
			if (piece->kind != DTC_PIECE_DATA)
				event = read_hole(message, input);
			else if (read_line(message, input, &text, &bytes))
				event = read_header_line(message, text, bytes);
			break;
		}
		}
		if (event != DTC_HTTP_MORE)
			return event;
	}
	return DTC_HTTP_MORE;
}
