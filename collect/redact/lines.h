/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines of HTTP/1, replaced in place: the method, the version, the status, and what says how long a message is stay;
 * targets and the values of headers that carry ids are replaced word by word, equal ones alike; all else is
 * overwritten.
 */
#pragma once

#include "collect/redact/pseudonyms.h"

/* What stands in the place of what is overwritten: no protocol begins with it. */
#define DTC_REDACTED_BYTE '.'

void dtc_redacted_fill(uint8_t *bytes, gsize count);

enum dtc_line_start {
	DTC_LINE_OTHER,
	DTC_LINE_REQUEST,
	DTC_LINE_RESPONSE,
	DTC_LINE_PROXY, /* what proxies put before the first request */
	DTC_LINE_HTTP2, /* of the preface */
};

struct dtc_line_message {
	enum dtc_line_start start;
	bool is_head;	 /* HEAD, whose response has no body */
	bool is_connect; /* CONNECT */
	guint status;
	bool has_length, has_coding, is_chunked, is_length_bad;
	uint64_t length;
};

/* Whether bytes begin as a request or response does (as far as there are any), of a method that is in use. */
bool dtc_line_is_start(const uint8_t *bytes, gsize count);
/* Of a line without its end. What it says is in ret_message. */
void dtc_line_replace_start(DtcPseudonyms *words, char *line, gsize count, struct dtc_line_message *ret_message);
/* headers: names of headers that carry ids besides the known ones, lower case; or NULL. */
void dtc_line_replace_header(DtcPseudonyms *words, const char *const *headers, char *line, gsize count,
			     struct dtc_line_message *message);
/* The size of a chunk; false if it is none. */
bool dtc_line_replace_chunk(char *line, gsize count, uint64_t *ret_bytes);
/* A target or another URL. */
void dtc_line_replace_target(DtcPseudonyms *words, char *target, gsize count);
/* The value of a header that carries an id. */
void dtc_line_replace_id(DtcPseudonyms *words, const char *header, gsize header_bytes, char *value, gsize count);
