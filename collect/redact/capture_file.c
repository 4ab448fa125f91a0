/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pcap: magic 4, version 2 2, zone 4, accuracy 4, snapshot length 4, link type 4; then for each packet seconds 4,
 * fraction 4, captured 4, wire 4, bytes.
 * pcapng: blocks of type 4, length 4, body, length 4, padded to 4; options at the end of a body are code 2, length 2,
 * value padded to 4, and end with code 0 (draft-ietf-opsawg-pcapng).
 */
#include "collect/redact/capture_file.h"

#include "collect/bundle/file_copy.h"
#include "collect/redact/packets.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define PCAP_HEADER 24
#define RECORD_HEADER 16
#define PACKET_MAX (1u << 24)
#define JUMP_SECONDS INT64_C(2592000) /* 30 days */
#define MAGIC_MICRO 0xa1b2c3d4u
#define MAGIC_NANO 0xa1b23c4du
#define SECTION_MAGIC 0x1a2b3c4du

#define BLOCK_SECTION 0x0a0d0d0au
#define BLOCK_INTERFACE 1
#define BLOCK_OLD_PACKET 2
#define BLOCK_SIMPLE_PACKET 3
#define BLOCK_STATISTICS 5
#define BLOCK_PACKET 6
#define BLOCK_MIN 12

#define OPTION_FLAGS 2	 /* of a packet */
#define OPTION_TSRESOL 9 /* of an interface: without them its times are wrong */
#define OPTION_TSOFFSET 14

struct file {
	struct dtc_packet_redaction redaction;
	const char *name;
	uint8_t *bytes;
	gsize count;
	bool is_swapped;
	GArray *kinds; /* enum dtc_frame_kind of each interface of the section; -1: not known */
};

static uint32_t get32(const struct file *file, gsize at)
{
	uint32_t value;
	memcpy(&value, file->bytes + at, sizeof(value));
	return file->is_swapped ? GUINT32_SWAP_LE_BE(value) : value;
}

static uint16_t get16(const struct file *file, gsize at)
{
	uint16_t value;
	memcpy(&value, file->bytes + at, sizeof(value));
	return file->is_swapped ? GUINT16_SWAP_LE_BE(value) : value;
}

/* The link types of collect/packets/capture.c, by the numbers that files have (tcpdump.org/linktypes.html). */
static int find_kind(uint32_t link_type)
{
	switch (link_type & 0x0fffffff) {
	case 1:
		return DTC_FRAME_ETHERNET;
	case 113:
		return DTC_FRAME_COOKED;
	case 276:
		return DTC_FRAME_COOKED2;
	case 12: /* of systems that write their own number of it */
	case 14:
	case 101:
	case 228:
	case 229:
		return DTC_FRAME_RAW;
	case 0:
	case 108:
		return DTC_FRAME_LOOPBACK;
	default:
		return -1;
	}
}

static bool set_link_type(const struct file *file, uint32_t type, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "cannot redact the capture '%s': what its packets of link type %u hold is not known\n"
		    "leave its node out with --nodes, or capture on an Ethernet interface or on 'any'",
		    file->name, type);
	return false;
}

static void clear(struct file *file, gsize from, gsize to)
{
	memset(file->bytes + from, 0, to - from);
}

/* What is no packet or block begins there, and would be one if it were zeros. */
static void cut_off(struct file *file, gsize from)
{
	if (file->count > from)
		memset(file->bytes + from, 0xff, file->count - from);
}

/* ---- pcap ---- */

/* Whether one is there whole; before: the last one, or 0. *ret_end is behind it. */
static bool is_record(const struct file *file, gsize before, gsize at, bool *ret_is_far, gsize *ret_end)
{
	if (file->count - at < RECORD_HEADER)
		return false;
	uint32_t captured = get32(file, at + 8);
	int64_t seconds = before ? (int64_t)get32(file, at) - (int64_t)get32(file, before) : 0;
	*ret_is_far = seconds > JUMP_SECONDS || seconds < -JUMP_SECONDS;
	*ret_end = at + RECORD_HEADER + captured;
	return captured <= PACKET_MAX && captured <= file->count - at - RECORD_HEADER;
}

/*
 * What is far away in time is damage, as a rule: but a machine without a clock begins in 1970, until it is told the
 * time. Then the next one is near again, or the file is at its end.
 */
static bool find_record_end(const struct file *file, gsize before, gsize at, gsize *ret_end)
{
	bool is_far, is_next_far;
	gsize next_end;

	if (!is_record(file, before, at, &is_far, ret_end))
		return false;
	return !is_far || *ret_end == file->count ||
	       (is_record(file, at, *ret_end, &is_next_far, &next_end) && !is_next_far);
}

static bool redact_pcap(struct file *file, GError **error)
{
	int kind = find_kind(get32(file, 20));
	gsize at = PCAP_HEADER, before = 0, end;

	if (kind < 0)
		return set_link_type(file, get32(file, 20), error);
	for (; find_record_end(file, before, at, &end); at = end) {
		dtc_packet_redact(&file->redaction, (enum dtc_frame_kind)kind, file->bytes + at + RECORD_HEADER,
				  get32(file, at + 8), get32(file, at + 12));
		before = at;
	}
	cut_off(file, at);
	return true;
}

/* ---- pcapng ---- */

static bool is_kept_option(uint32_t block, uint16_t code)
{
	return (block == BLOCK_INTERFACE && (code == OPTION_TSRESOL || code == OPTION_TSOFFSET)) ||
	       ((block == BLOCK_PACKET || block == BLOCK_OLD_PACKET) && code == OPTION_FLAGS);
}

/* The values of options; those that are not known keep their length, so that it stays what they are: nothing. */
static void redact_options(struct file *file, uint32_t block, gsize at, gsize end)
{
	while (end - at >= 4) {
		uint16_t code = get16(file, at), length = get16(file, at + 2);
		gsize padded = ((gsize)length + 3) & ~(gsize)3;
		at += 4;
		if (code == 0 || padded > end - at)
			break;
		if (!is_kept_option(block, code))
			clear(file, at, at + padded);
		at += padded;
	}
	clear(file, at, end);
}

static bool redact_section(struct file *file, gsize body, gsize end)
{
	g_array_set_size(file->kinds, 0);
	if (end - body < 16)
		return false;
	redact_options(file, BLOCK_SECTION, body + 16, end);
	return true;
}

static bool redact_interface(struct file *file, gsize body, gsize end, GError **error)
{
	if (end - body < 8) {
		clear(file, body, end);
		return true;
	}
	int kind = find_kind(get16(file, body));
	if (kind < 0)
		return set_link_type(file, get16(file, body), error);
	g_array_append_val(file->kinds, kind);
	redact_options(file, BLOCK_INTERFACE, body + 8, end);
	return true;
}

/* header: bytes before the packet's own. */
static void redact_block_packet(struct file *file, uint32_t block, gsize body, gsize end, gsize header)
{
	bool is_simple = block == BLOCK_SIMPLE_PACKET;
	if (end - body < header) {
		clear(file, body, end);
		return;
	}
	uint32_t interface = is_simple ? 0 : block == BLOCK_OLD_PACKET ? get16(file, body) : get32(file, body);
	uint32_t wire = get32(file, body + header - 4);
	gsize left = end - body - header;
	gsize captured = is_simple ? MIN((gsize)wire, left) : get32(file, body + header - 8);
	if (interface >= file->kinds->len || captured > left || captured > PACKET_MAX) {
		clear(file, body + header, end);
		return;
	}
	gsize packet = body + header, padded = MIN((captured + 3) & ~(gsize)3, left);
	dtc_packet_redact(&file->redaction, (enum dtc_frame_kind)g_array_index(file->kinds, int, interface),
			  file->bytes + packet, (uint32_t)captured, wire);
	clear(file, packet + captured, packet + padded);
	redact_options(file, block, packet + padded, end);
}

static bool redact_block(struct file *file, uint32_t block, gsize body, gsize end, GError **error)
{
	switch (block) {
	case BLOCK_SECTION:
		if (!redact_section(file, body, end))
			clear(file, body, end);
		return true;
	case BLOCK_INTERFACE:
		return redact_interface(file, body, end, error);
	case BLOCK_PACKET:
	case BLOCK_OLD_PACKET:
		redact_block_packet(file, block, body, end, 20);
		return true;
	case BLOCK_SIMPLE_PACKET:
		redact_block_packet(file, block, body, end, 4);
		return true;
	case BLOCK_STATISTICS:
		if (end - body >= 12)
			redact_options(file, block, body + 12, end);
		else
			clear(file, body, end);
		return true;
	default:
		clear(file, body, end);
		return true;
	}
}

static bool redact_pcapng(struct file *file, GError **error)
{
	gsize at = 0;
	while (file->count - at >= BLOCK_MIN) {
		uint32_t block = get32(file, at);
		if (block == BLOCK_SECTION) { /* tells the order of its own bytes */
			file->is_swapped = false;
			file->is_swapped = get32(file, at + 8) != SECTION_MAGIC;
		}
		uint32_t length = get32(file, at + 4);
		if (length < BLOCK_MIN || length % 4 != 0 || length > file->count - at)
			break;
		if (!redact_block(file, block, at + 8, at + length - 4, error))
			return false;
		at += length;
	}
	cut_off(file, at);
	return true;
}

/* ---- either ---- */

static bool redact_file(struct file *file, GError **error)
{
	uint32_t magic = file->count >= 4 ? get32(file, 0) : 0;
	uint32_t swapped = GUINT32_SWAP_LE_BE(magic);

	file->is_swapped = swapped == MAGIC_MICRO || swapped == MAGIC_NANO;
	bool is_pcap = file->is_swapped || magic == MAGIC_MICRO || magic == MAGIC_NANO;
	if (is_pcap && file->count >= PCAP_HEADER)
		return redact_pcap(file, error);
	if (file->count >= BLOCK_MIN && magic == BLOCK_SECTION)
		return redact_pcapng(file, error);
	if (file->count < BLOCK_MIN || is_pcap) { /* a recorder was killed before it wrote the begin of it */
		cut_off(file, 0);
		return true;
	}
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "cannot redact the capture '%s': it is neither pcap nor pcapng\n"
		    "leave its node out with --nodes",
		    file->name);
	return false;
}

bool dtc_capture_bytes_redact(const struct dtc_capture_redaction *redaction, const char *name, uint8_t *bytes,
			      gsize count, GError **error)
{
	g_autoptr(DtcConnections) connections =
		redaction->has_payload ? dtc_connections_new(redaction->words, redaction->id_headers) : NULL;
	struct file file = {
		.redaction = { redaction->words, redaction->addresses, connections },
		.name = name,
		.bytes = bytes,
		.count = count,
		.kinds = g_array_new(FALSE, FALSE, sizeof(int)),
	};
	bool is_done = redact_file(&file, error);
	g_array_unref(file.kinds);
	return is_done;
}

bool dtc_capture_file_redact(const struct dtc_capture_redaction *redaction, const char *from, const char *to,
			     GError **error)
{
	g_autoptr(DtcFileCopy) copy = dtc_file_copy_new(from, to, error);
	if (!copy)
		return false;
	bool is_done = dtc_capture_bytes_redact(redaction, from, dtc_file_copy_get_bytes(copy),
						dtc_file_copy_get_count(copy), error);
	return dtc_file_copy_finish(copy, is_done, error);
}
