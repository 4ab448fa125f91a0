/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CTF 1.8.3, section 7.1, a metadata packet in the trace's byte order:
 *
 *   0   u32     magic 0x75d11d57
 *   4   u8[16]  uuid of the trace
 *   20  u32     checksum
 *   24  u32     content size, in bits, this header included
 *   28  u32     packet size, in bits
 *   32  u8[5]   compression, encryption and checksum schemes; version
 *   37          text
 */
#include "collect/read/ctf/metadata.h"

#include "collect/bundle/access.h"
#include "dtrace-chain/error.h"

#include <stdint.h>
#include <string.h>

#define MAGIC 0x75d11d57u
#define HEADER_BYTES 37

static uint32_t get32(const uint8_t *bytes, bool is_big_endian)
{
	uint32_t value;
	memcpy(&value, bytes, sizeof(value));
	return is_big_endian ? GUINT32_FROM_BE(value) : GUINT32_FROM_LE(value);
}

/* The length of the packet at bytes, or 0 if there is no whole one. */
static gsize get_packet_bytes(const uint8_t *bytes, gsize left, bool is_big_endian)
{
	if (left < HEADER_BYTES || get32(bytes, is_big_endian) != MAGIC)
		return 0;
	uint32_t content_bits = get32(bytes + 24, is_big_endian);
	uint32_t packet_bits = get32(bytes + 28, is_big_endian);
	bool is_plain = bytes[32] == 0 && bytes[33] == 0 && bytes[34] == 0;
	if (!is_plain || content_bits % 8 != 0 || packet_bits % 8 != 0 || content_bits > packet_bits ||
	    content_bits < HEADER_BYTES * 8 || packet_bits / 8 > left)
		return 0;
	return packet_bits / 8;
}

bool dtc_metadata_is_there(const char *trace_path)
{
	g_autofree char *metadata = g_build_filename(trace_path, "metadata", NULL);
	return g_file_test(metadata, G_FILE_TEST_IS_REGULAR);
}

void dtc_metadata_set_no_clock(const char *node, const char *trace_path, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "the trace of node '%s' in '%s' has no clock\nrecord with a tracer that stamps its events", node,
		    trace_path);
}

bool dtc_metadata_check(const char *path, GError **error)
{
	g_autoptr(GMappedFile) map = dtc_access_map(path);
	if (!map) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "'%s' cannot be opened\ncopy it again from the node: without it no stream can be decoded",
			    path);
		return false;
	}
	const uint8_t *bytes = (const uint8_t *)g_mapped_file_get_contents(map);
	gsize size = g_mapped_file_get_length(map);
	if (size < sizeof(uint32_t) || (get32(bytes, false) != MAGIC && get32(bytes, true) != MAGIC))
		return true;
	bool is_big_endian = get32(bytes, true) == MAGIC;
	for (gsize at = 0; at < size;) {
		gsize length = get_packet_bytes(bytes + at, size - at, is_big_endian);
		if (length == 0) {
			g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
				    "'%s' is damaged at byte %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT "\n"
				    "copy it again from the node: without it no stream can be decoded",
				    path, at, size);
			return false;
		}
		at += length;
	}
	return true;
}

/* "2a1bda29-ffc3-e248-8053-81ccaf830d2f" */
static bool parse_uuid(const char *text, guint8 ret_uuid[16])
{
	guint digits = 0;
	guint8 uuid[16] = { 0 };
	for (; digits < 32; text++) {
		if (*text == '-')
			continue;
		int value = g_ascii_xdigit_value(*text);
		if (value < 0)
			return false;
		uuid[digits / 2] = (guint8)(uuid[digits / 2] << 4 | value);
		digits++;
	}
	memcpy(ret_uuid, uuid, sizeof(uuid));
	return true;
}

bool dtc_metadata_get_uuid(const char *path, guint8 ret_uuid[16])
{
	g_autoptr(GMappedFile) map = dtc_access_map(path);
	if (!map)
		return false;
	gsize size = g_mapped_file_get_length(map);
	const uint8_t *bytes = (const uint8_t *)g_mapped_file_get_contents(map);
	if (size >= HEADER_BYTES && (get32(bytes, false) == MAGIC || get32(bytes, true) == MAGIC)) {
		memcpy(ret_uuid, bytes + 4, 16);
		return true;
	}
	g_autofree char *text = g_strndup(size > 0 ? (const char *)bytes : "", size); /* which ends */
	/* The trace's block comes before the clock's, which has a uuid too. */
	const char *found = strstr(text, "uuid");
	if (!found)
		return false;
	found += strlen("uuid");
	found += strspn(found, " \t\n=");
	return *found == '"' && parse_uuid(found + 1, ret_uuid);
}
