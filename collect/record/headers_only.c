/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/headers_only.h"

#include "collect/packets/id_headers.h"

#include <stdbool.h>
#include <string.h>

#define LINK_BYTES 20 /* LINUX_SLL2 */
#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define TCP_BYTES 20
#define UDP_BYTES 8
#define MAX_EXTENSIONS 8
#define MASK 'x'

/* What is kept of a packet that is none of those that are known: nothing beyond the bytes that were. */
struct span {
	uint8_t *bytes;
	guint32 count;
};

/* ---- HTTP/1 ---- */

/* Where a message ends depends on these. */
static const char *const framing_headers[] = { "content-length", "transfer-encoding", "connection", "upgrade", NULL };
static const char *const id_headers[] = {
#define NAME(name, form, width) name,
	DTC_ID_HEADERS(NAME)
#undef NAME
		NULL
};
static const char *const starts[] = { "HTTP/1.",  "GET ",     "POST ",	"PUT ",	  "HEAD ", "DELETE ",
				      "OPTIONS ", "CONNECT ", "PATCH ", "TRACE ", NULL };

static bool is_start(const uint8_t *bytes, guint32 count)
{
	for (const char *const *start = starts; *start; start++)
		if (count >= strlen(*start) && memcmp(bytes, *start, strlen(*start)) == 0)
			return true;
	return false;
}

static bool has_name(const char *const *names, const uint8_t *bytes, guint32 count)
{
	for (; names && *names; names++)
		if (strlen(*names) == count && g_ascii_strncasecmp(*names, (const char *)bytes, count) == 0)
			return true;
	return false;
}

/* Up to and with the line feed; without one, all there is. */
static guint32 get_line_bytes(const uint8_t *bytes, guint32 count)
{
	const uint8_t *end = memchr(bytes, '\n', count);
	return end ? (guint32)(end - bytes) + 1 : count;
}

static void mask(uint8_t *bytes, guint32 count)
{
	for (guint32 i = 0; i < count; i++)
		if (bytes[i] != '\r' && bytes[i] != '\n')
			bytes[i] = MASK;
}

static bool is_framing_length(const uint8_t *name, guint32 name_bytes)
{
	static const char *const names[] = { "content-length", NULL };
	return has_name(names, name, name_bytes);
}

/* A header line: its value stays or goes. A line without a name is the rest of one before it. */
static void cut_header(uint8_t *line, guint32 count, const char *const *more, guint64 *length)
{
	const uint8_t *colon = *line == ' ' || *line == '\t' ? NULL : memchr(line, ':', count);
	guint32 name_bytes = colon ? (guint32)(colon - line) : 0;

	if (!colon) {
		mask(line, count);
		return;
	}
	if (is_framing_length(line, name_bytes)) {
		guint32 at = name_bytes + 1;
		while (at < count && line[at] == ' ')
			at++;
		*length = 0;
		for (; at < count && g_ascii_isdigit(line[at]) && *length < G_MAXUINT32; at++)
			*length = *length * 10 + (guint64)(line[at] - '0');
	}
	if (!has_name(framing_headers, line, name_bytes) && !has_name(id_headers, line, name_bytes) &&
	    !has_name(more, line, name_bytes))
		mask(line + name_bytes + 1, count - name_bytes - 1);
}

/* One message: how many bytes its start line and headers take; *ret_body the length of its body, if it is told. */
static guint32 cut_message(uint8_t *bytes, guint32 count, const char *const *more, guint64 *ret_body)
{
	guint32 at = get_line_bytes(bytes, count);

	*ret_body = 0;
	while (at < count) {
		guint32 line = get_line_bytes(bytes + at, count - at);
		if (bytes[at] == '\n' || (line == 2 && bytes[at] == '\r'))
			return at + line;
		cut_header(bytes + at, line, more, ret_body);
		at += line;
	}
	return at;
}

/* Pieces that the kernel has put together may hold several messages. */
static guint32 cut_http(struct span payload, const char *const *more)
{
	guint32 at = 0, kept = 0;

	while (at < payload.count && is_start(payload.bytes + at, payload.count - at)) {
		guint64 body;
		at += cut_message(payload.bytes + at, payload.count - at, more, &body);
		kept = at;
		guint32 here = (guint32)MIN(body, payload.count - at);
		mask(payload.bytes + at, here);
		at += here;
	}
	return kept;
}

/* ---- the packet ---- */

static guint get_16(const uint8_t *bytes)
{
	return (guint)bytes[0] << 8 | bytes[1];
}

static guint32 cut_transport(uint8_t protocol, struct span rest, const char *const *more)
{
	if (protocol == PROTOCOL_UDP)
		return MIN(rest.count, UDP_BYTES);
	if (protocol != PROTOCOL_TCP)
		return 0;
	if (rest.count < TCP_BYTES)
		return rest.count;
	guint32 header = (guint32)(rest.bytes[12] >> 4) * 4;
	if (header < TCP_BYTES || header >= rest.count)
		return MIN(rest.count, MAX(header, TCP_BYTES));
	return header + cut_http((struct span){ rest.bytes + header, rest.count - header }, more);
}

static guint32 cut_ipv4(struct span rest, const char *const *more)
{
	if (rest.count < IPV4_BYTES)
		return rest.count;
	guint32 header = (guint32)(rest.bytes[0] & 15) * 4;
	guint offset = get_16(rest.bytes + 6) & 0x1fff;
	if (header < IPV4_BYTES || header > rest.count)
		return IPV4_BYTES;
	if (offset != 0)
		return header; /* a later fragment has payload only */
	return header + cut_transport(rest.bytes[9], (struct span){ rest.bytes + header, rest.count - header }, more);
}

static bool is_extension(uint8_t next)
{
	return next == 0 || next == 43 || next == 60; /* hop by hop, routing, destination */
}

static guint32 cut_ipv6(struct span rest, const char *const *more)
{
	if (rest.count < IPV6_BYTES)
		return rest.count;
	uint8_t next = rest.bytes[6];
	guint32 at = IPV6_BYTES;
	for (guint i = 0; i < MAX_EXTENSIONS && is_extension(next) && at + 8 <= rest.count; i++) {
		next = rest.bytes[at];
		at += ((guint32)rest.bytes[at + 1] + 1) * 8;
	}
	if (at >= rest.count)
		return rest.count;
	return at + cut_transport(next, (struct span){ rest.bytes + at, rest.count - at }, more);
}

guint32 dtc_headers_only_cut(uint8_t *packet, guint32 captured_bytes, const char *const *more)
{
	if (captured_bytes <= LINK_BYTES)
		return captured_bytes;
	struct span rest = { packet + LINK_BYTES, captured_bytes - LINK_BYTES };
	guint type = get_16(packet);
	if (type == TYPE_IPV4)
		return LINK_BYTES + cut_ipv4(rest, more);
	if (type == TYPE_IPV6)
		return LINK_BYTES + cut_ipv6(rest, more);
	return LINK_BYTES;
}
