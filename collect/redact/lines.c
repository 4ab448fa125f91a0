/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/redact/lines.h"

#include "collect/packets/id_headers.h"
#include "collect/packets/url_segment.h"

#include <string.h>

#define TWEAKS_MAX 200
#define CHUNK_MAX (UINT64_C(1) << 40)

enum id_form {
	FORM_PLAIN,
	FORM_TRACEPARENT,
	FORM_B3,
	FORM_UBER,
	FORM_SW8,
};

static const struct {
	const char *name;
	enum id_form form;
} id_headers[] = {
#define HEADER(name, form, width) { name, form },
	DTC_ID_HEADERS(HEADER)
#undef HEADER
};

static const char *const methods[] = {
	"GET",	  "POST",   "PUT",   "HEAD",	  "DELETE",	"PATCH", "OPTIONS", "CONNECT",	   "TRACE", "PROPFIND",
	"REPORT", "SEARCH", "MKCOL", "PROPPATCH", "COPY",	"MOVE",	 "LOCK",    "UNLOCK",	   "MERGE", "CHECKOUT",
	"PURGE",  "NOTIFY", "BAN",   "SUBSCRIBE", "MKACTIVITY", "LINK",	 "UNLINK",  "UNSUBSCRIBE", "QUERY",
};

void dtc_redacted_fill(uint8_t *bytes, gsize count)
{
	memset(bytes, DTC_REDACTED_BYTE, count);
}

static void fill_text(char *text, gsize count)
{
	dtc_redacted_fill((uint8_t *)text, count);
}

static void replace_words(DtcPseudonyms *words, char *text, gsize count)
{
	dtc_pseudonyms_replace_text(words, (uint8_t *)text, count, 0);
}

/* ---- start lines ---- */

static bool is_method(const void *bytes, gsize count)
{
	for (gsize i = 0; i < G_N_ELEMENTS(methods); i++)
		if (strlen(methods[i]) == count && memcmp(methods[i], bytes, count) == 0)
			return true;
	return false;
}

bool dtc_line_is_start(const uint8_t *bytes, gsize count)
{
	if (count > 7 && memcmp(bytes, "HTTP/1.", 7) == 0)
		return g_ascii_isdigit(bytes[7]);
	const uint8_t *space = memchr(bytes, ' ', MIN(count, 24));
	if (!space || (gsize)(space - bytes) + 1 >= count)
		return false;
	return is_method(bytes, (gsize)(space - bytes)) &&
	       (g_ascii_isalnum(space[1]) || space[1] == '/' || space[1] == '*' || space[1] == '[');
}

/* A segment that was an id is one afterwards, and no other is: URLs are folded by that. */
static void replace_segment(DtcPseudonyms *words, char *segment, gsize count)
{
	bool is_id = dtc_url_segment_is_id(segment, count);
	g_autofree char *before = g_strndup(segment, count);
	for (guint tweak = 0; tweak < TWEAKS_MAX; tweak++) {
		memcpy(segment, before, count);
		dtc_pseudonyms_replace_text(words, (uint8_t *)segment, count, tweak);
		if (dtc_url_segment_is_id(segment, count) == is_id)
			return;
	}
}

void dtc_line_replace_target(DtcPseudonyms *words, char *target, gsize count)
{
	for (gsize at = 0; at < count;) {
		gsize end = at;
		while (end < count && !strchr("/?#&=;", target[end]))
			end++;
		replace_segment(words, target + at, end - at);
		at = end + 1;
	}
}

static void replace_response(char *line, gsize count, struct dtc_line_message *message)
{
	bool has_status = count >= 12 && line[8] == ' ' && g_ascii_isdigit(line[9]) && g_ascii_isdigit(line[10]) &&
			  g_ascii_isdigit(line[11]) && (count == 12 || line[12] == ' ');
	if (!has_status) {
		fill_text(line, count);
		return;
	}
	message->start = DTC_LINE_RESPONSE;
	message->status = (guint)(line[9] - '0') * 100 + (guint)(line[10] - '0') * 10 + (guint)(line[11] - '0');
	if (count > 13)
		fill_text(line + 13, count - 13);
}

static bool is_version(const char *text, gsize count)
{
	return count == 8 && memcmp(text, "HTTP/1.", 7) == 0 && g_ascii_isdigit(text[7]);
}

static void replace_request(DtcPseudonyms *words, char *line, gsize count, struct dtc_line_message *message)
{
	const char *target = memchr(line, ' ', count);
	const char *version = g_strrstr_len(line, (gssize)count, " ");
	gsize method_bytes = target ? (gsize)(target - line) : 0;

	if (!target || version <= target || !is_version(version + 1, (gsize)(line + count - version - 1))) {
		fill_text(line, count);
		return;
	}
	message->start = DTC_LINE_REQUEST;
	message->is_head = method_bytes == 4 && memcmp(line, "HEAD", 4) == 0;
	message->is_connect = method_bytes == 7 && memcmp(line, "CONNECT", 7) == 0;
	if (!is_method(line, method_bytes))
		replace_words(words, line, method_bytes);
	dtc_line_replace_target(words, line + method_bytes + 1, (gsize)(version - target) - 1);
}

void dtc_line_replace_start(DtcPseudonyms *words, char *line, gsize count, struct dtc_line_message *ret_message)
{
	*ret_message = (struct dtc_line_message){ .start = DTC_LINE_OTHER };
	if (count == 14 && memcmp(line, "PRI * HTTP/2.0", 14) == 0) {
		ret_message->start = DTC_LINE_HTTP2;
	} else if (count > 8 && is_version(line, 8)) {
		replace_response(line, count, ret_message);
	} else if (count > 6 && memcmp(line, "PROXY ", 6) == 0 && !g_strrstr_len(line, (gssize)count, " HTTP/1.")) {
		ret_message->start = DTC_LINE_PROXY;
		fill_text(line + 6, count - 6);
	} else {
		replace_request(words, line, count, ret_message);
	}
}

/* ---- ids ---- */

static gsize count_hex(const char *text, gsize count)
{
	gsize n = 0;
	while (n < count && g_ascii_isxdigit(text[n]))
		n++;
	return n;
}

/* Who reads them (analyze/exchange/identity.c) takes capitals for small letters, and zeros for no id at all. */
static void replace_hex(DtcPseudonyms *words, char *text, gsize count)
{
	gsize zeros = 0;
	for (gsize i = 0; i < count; i++) {
		text[i] = g_ascii_tolower(text[i]);
		zeros += text[i] == '0';
	}
	if (zeros < count)
		dtc_pseudonyms_replace_hex(words, (uint8_t *)text, count);
}

/* Hexadecimal words; shorter ones are versions, flags and decisions. */
static void replace_long_hex(DtcPseudonyms *words, char *text, gsize count, gsize min_bytes)
{
	for (gsize at = 0; at < count;) {
		gsize end = at;
		while (end < count && dtc_pseudonyms_is_letter((uint8_t)text[end]))
			end++;
		if (count_hex(text + at, end - at) < end - at)
			dtc_pseudonyms_replace_word(words, (uint8_t *)text + at, end - at, 0);
		else if (end - at >= min_bytes)
			replace_hex(words, text + at, end - at);
		at = end + 1;
	}
}

/* "%3A", as many write the colons, is no part of an id. */
static void replace_uber(DtcPseudonyms *words, char *text, gsize count)
{
	for (gsize at = 0; at < count;) {
		gsize end = at;
		while (end < count && text[end] != ':' && text[end] != '%')
			end++;
		replace_long_hex(words, text + at, end - at, 1);
		at = end + 1;
		if (end + 2 < count && text[end] == '%')
			at = end + 3;
	}
}

/* Of one part of sw8: text in base64, which it is again. */
static void replace_base64(DtcPseudonyms *words, char *text, gsize count)
{
	g_autofree char *copy = g_strndup(text, count);
	gsize bytes = 0;
	g_autofree guchar *decoded = g_base64_decode(copy, &bytes);
	g_autofree char *again = decoded && bytes ? g_base64_encode(decoded, bytes) : NULL;

	if (!again || strcmp(again, copy) != 0) {
		replace_words(words, text, count);
		return;
	}
	dtc_pseudonyms_replace_text(words, decoded, bytes, 0);
	g_autofree char *encoded = g_base64_encode(decoded, bytes);
	memcpy(text, encoded, count);
}

static void replace_sw8(DtcPseudonyms *words, char *text, gsize count)
{
	for (gsize at = 0; at < count;) {
		gsize end = at;
		while (end < count && text[end] != '-')
			end++;
		if (end - at >= 4)
			replace_base64(words, text + at, end - at);
		else
			replace_words(words, text + at, end - at);
		at = end + 1;
	}
}

static bool is_name(const char *name, const char *text, gsize count)
{
	return strlen(name) == count && g_ascii_strncasecmp(name, text, count) == 0;
}

void dtc_line_replace_id(DtcPseudonyms *words, const char *header, gsize header_bytes, char *value, gsize count)
{
	enum id_form form = FORM_PLAIN;
	for (gsize i = 0; i < G_N_ELEMENTS(id_headers); i++)
		if (is_name(id_headers[i].name, header, header_bytes))
			form = id_headers[i].form;
	switch (form) {
	case FORM_TRACEPARENT:
		replace_long_hex(words, value, count, 3);
		break;
	case FORM_B3:
		replace_long_hex(words, value, count, 2);
		break;
	case FORM_UBER:
		replace_uber(words, value, count);
		break;
	case FORM_SW8:
		replace_sw8(words, value, count);
		break;
	case FORM_PLAIN:
		replace_words(words, value, count);
		break;
	}
}

/* ---- headers ---- */

static bool carries_id(const char *const *headers, const char *name, gsize count)
{
	for (gsize i = 0; i < G_N_ELEMENTS(id_headers); i++)
		if (is_name(id_headers[i].name, name, count))
			return true;
	for (; headers && *headers; headers++)
		if (is_name(*headers, name, count))
			return true;
	return false;
}

/* "5" or "5, 5"; false if it is something else. */
static bool read_length(const char *value, gsize count, struct dtc_line_message *message)
{
	for (gsize at = 0; at < count;) {
		uint64_t length = 0;
		gsize begin = at;
		for (; at < count && g_ascii_isdigit(value[at]) && length < (uint64_t)G_MAXINT64 / 16; at++)
			length = length * 10 + (uint64_t)(value[at] - '0');
		if (at == begin || (message->has_length && message->length != length))
			return false;
		message->has_length = true;
		message->length = length;
		while (at < count && (value[at] == ',' || value[at] == ' '))
			at++;
		if (at < count && !g_ascii_isdigit(value[at]))
			return false;
	}
	return count > 0;
}

static void replace_coding(char *value, gsize count, struct dtc_line_message *message)
{
	static const char *const codings[] = { "chunked", "gzip", "deflate", "compress", "br", "zstd", "identity" };
	message->has_coding = true;
	message->is_chunked = false;
	for (gsize at = 0; at < count;) {
		gsize end = at;
		bool is_known = false;
		while (end < count && value[end] != ',' && value[end] != ' ')
			end++;
		for (gsize i = 0; i < G_N_ELEMENTS(codings); i++)
			is_known = is_known || is_name(codings[i], value + at, end - at);
		if (!is_known)
			fill_text(value + at, end - at);
		if (end > at)
			message->is_chunked = is_name("chunked", value + at, end - at);
		at = end + 1;
	}
}

void dtc_line_replace_header(DtcPseudonyms *words, const char *const *headers, char *line, gsize count,
			     struct dtc_line_message *message)
{
	char *colon = memchr(line, ':', count);
	gsize name = colon && !g_ascii_isspace(*line) ? (gsize)(colon - line) : 0;
	gsize at = name + 1, end = count;

	while (name > 0 && g_ascii_isspace(line[name - 1]))
		name--;
	while (at < end && g_ascii_isspace(line[at]))
		at++;
	while (end > at && g_ascii_isspace(line[end - 1]))
		end--;
	if (name > 0 && is_name("content-length", line, name)) {
		if (read_length(line + at, end - at, message))
			return;
		message->is_length_bad = true;
		fill_text(line + at, end - at);
	} else if (name > 0 && is_name("transfer-encoding", line, name)) {
		replace_coding(line + at, end - at, message);
	} else if (name > 0 && carries_id(headers, line, name)) {
		dtc_line_replace_id(words, line, name, line + at, end - at);
	} else {
		/* names of headers tell, too; a colon makes it one */
		fill_text(line, count);
		if (count > 1)
			line[1] = ':';
	}
}

bool dtc_line_replace_chunk(char *line, gsize count, uint64_t *ret_bytes)
{
	uint64_t size = 0;
	gsize n = 0;
	for (; n < count && g_ascii_isxdigit(line[n]) && size < CHUNK_MAX; n++)
		size = size * 16 + (uint64_t)g_ascii_xdigit_value(line[n]);
	bool is_size = n > 0 && size < CHUNK_MAX && (n == count || strchr("; \t", line[n]));
	*ret_bytes = size;
	if (!is_size)
		fill_text(line, count);
	else if (n + 1 < count)
		fill_text(line + n + 1, count - n - 1);
	return is_size;
}
