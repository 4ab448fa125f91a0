/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A packet, as LTTng (2.0 to 2.13) and perf write it, in the trace's byte order:
 *
 *   0   u32      magic 0xc1fc1fc1
 *   4   u8[16]   uuid of the trace
 *   20  u32      stream id
 *   24  u64      stream instance id (since LTTng 2.8; then the context begins at 32)
 *   24  u64 u64  context: timestamps of begin and end
 *   40  u64 u64  content size, packet size, in bits
 *
 * The metadata could put fields elsewhere; where the context begins is therefore tried out.
 */
#define _GNU_SOURCE /* memmem */
#include "collect/read/ctf/stream_file.h"

#include "collect/bundle/access.h"
#include "collect/read/ctf/metadata.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAGIC 0xc1fc1fc1u
#define STREAM_ID_AT ((gsize)20)
#define INSTANCE_AT ((gsize)24)
#define CONTEXT_BYTES 32 /* timestamps and sizes */
/* No tracer makes packets beyond this (LTTng's largest sub-buffers have 1 GiB): a larger size is damage. */
#define PACKET_BITS_MAX (UINT64_C(1) << 36)

/* Offsets tried for the context, the likely ones first. */
static const gsize contexts[] = { 24, 32, 28, 20, 40 };

struct bytes {
	const uint8_t *at;
	gsize size;
};

struct packet {
	uint64_t begin_ticks;
	uint64_t end_ticks;
	uint64_t content_bits;
	uint64_t packet_bits;
};

static struct bytes get_bytes(GMappedFile *map)
{
	return (struct bytes){ (const uint8_t *)g_mapped_file_get_contents(map), g_mapped_file_get_length(map) };
}

static uint64_t get_number(const uint8_t *bytes, bool is_big_endian)
{
	uint64_t value;
	memcpy(&value, bytes, sizeof(value));
	return is_big_endian ? GUINT64_FROM_BE(value) : GUINT64_FROM_LE(value);
}

static void put_number(uint8_t *bytes, uint64_t value, bool is_big_endian)
{
	value = is_big_endian ? GUINT64_TO_BE(value) : GUINT64_TO_LE(value);
	memcpy(bytes, &value, sizeof(value));
}

/* The packet whose header begins at an offset, if a plausible one does. Its end may lie behind the file's. */
static bool parse_packet(struct bytes file, gsize offset, const struct dtc_packet_layout *layout, struct packet *ret)
{
	gsize header = layout->context + CONTEXT_BYTES;
	if (file.size - offset < header || memcmp(file.at + offset, layout->prefix, DTC_PACKET_PREFIX_BYTES) != 0)
		return false;
	const uint8_t *context = file.at + offset + layout->context;
	ret->begin_ticks = get_number(context, layout->is_big_endian);
	ret->end_ticks = get_number(context + 8, layout->is_big_endian);
	ret->content_bits = get_number(context + 16, layout->is_big_endian);
	ret->packet_bits = get_number(context + 24, layout->is_big_endian);
	/* babeltrace2 takes the highest number for "no time", and aborts over sizes that do not fit each other */
	return ret->begin_ticks != UINT64_MAX && ret->end_ticks != UINT64_MAX && ret->packet_bits % 8 == 0 &&
	       ret->packet_bits <= PACKET_BITS_MAX && ret->content_bits <= ret->packet_bits &&
	       ret->content_bits >= header * 8;
}

/* True if the packets go on to the file's last byte. */
static bool count_packets(struct bytes file, const struct dtc_packet_layout *layout, guint64 *ret_count)
{
	gsize offset = 0;
	for (*ret_count = 0; offset < file.size; ++*ret_count) {
		struct packet packet;
		if (!parse_packet(file, offset, layout, &packet) || packet.packet_bits / 8 > file.size - offset)
			return false;
		offset += (gsize)(packet.packet_bits / 8);
	}
	return true;
}

static bool is_whole(struct bytes file, const struct dtc_packet_layout *layout)
{
	guint64 count;
	return count_packets(file, layout, &count);
}

/* The byte order and the prefix, from the first bytes of a file; uuid: what must follow the magic, or NULL. */
static bool take_prefix(struct bytes file, const guint8 *uuid, struct dtc_packet_layout *layout)
{
	uint32_t magic;
	if (file.size < DTC_PACKET_PREFIX_BYTES)
		return false;
	memcpy(&magic, file.at, sizeof(magic));
	if (magic != GUINT32_TO_LE(MAGIC) && magic != GUINT32_TO_BE(MAGIC))
		return false;
	if (uuid && memcmp(file.at + sizeof(magic), uuid, 16) != 0)
		return false;
	layout->is_big_endian = magic == GUINT32_TO_BE(MAGIC);
	memcpy(layout->prefix, file.at, DTC_PACKET_PREFIX_BYTES);
	return true;
}

bool dtc_packet_layout_find(const char *directory, const char *const *names, struct dtc_packet_layout *ret)
{
	bool is_found = false;
	guint8 uuid[16];
	g_autofree char *metadata = g_build_filename(directory, "metadata", NULL);
	bool has_uuid = dtc_metadata_get_uuid(metadata, uuid);
	for (; *names; names++) {
		g_autofree char *path = g_build_filename(directory, *names, NULL);
		g_autoptr(GMappedFile) map = dtc_access_map(path);
		struct dtc_packet_layout layout;
		if (!map || !take_prefix(get_bytes(map), has_uuid ? uuid : NULL, &layout))
			continue;
		for (gsize i = 0; i < G_N_ELEMENTS(contexts); i++) {
			struct packet packet;
			layout.context = contexts[i];
			/* a tracer that died left no end */
			if (!parse_packet(get_bytes(map), 0, &layout, &packet) ||
			    (packet.begin_ticks > packet.end_ticks && packet.end_ticks != 0))
				continue;
			bool is_proof = is_whole(get_bytes(map), &layout);
			if (is_proof || !is_found)
				*ret = layout;
			if (is_proof)
				return true;
			is_found = true; /* the first packet makes sense: good enough if no file is whole */
		}
	}
	return is_found;
}

bool dtc_packets_are_foreign(const char *directory, const char *const *names)
{
	guint8 uuid[16];
	g_autofree char *metadata = g_build_filename(directory, "metadata", NULL);
	guint foreign_count = 0;
	if (!dtc_metadata_get_uuid(metadata, uuid))
		return false;
	for (; *names; names++) {
		g_autofree char *path = g_build_filename(directory, *names, NULL);
		g_autoptr(GMappedFile) map = dtc_access_map(path);
		struct dtc_packet_layout layout;
		if (!map || !take_prefix(get_bytes(map), NULL, &layout))
			continue;
		if (take_prefix(get_bytes(map), uuid, &layout))
			return false;
		foreign_count++;
	}
	return foreign_count > 0;
}

bool dtc_stream_file_is_foreign(const char *path, const struct dtc_packet_layout *layout)
{
	g_autoptr(GMappedFile) map = dtc_access_map(path);
	struct dtc_packet_layout other;
	return map && take_prefix(get_bytes(map), NULL, &other) &&
	       memcmp(other.prefix, layout->prefix, DTC_PACKET_PREFIX_BYTES) != 0;
}

#define MARK_BYTES 4096 /* the headers of a packet, and more */

/* Of the first bytes of a file, and zeros behind its end. */
static guint64 make_mark(const uint8_t head[MARK_BYTES], guint64 size)
{
	guint64 mark = UINT64_C(0xcbf29ce484222325); /* FNV-1a, of words */
	for (gsize i = 0; i < MARK_BYTES; i += sizeof(guint64)) {
		guint64 word;
		memcpy(&word, head + i, sizeof(word));
		mark = (mark ^ word) * UINT64_C(0x100000001b3);
	}
	return mark ^ size;
}

guint64 dtc_stream_file_get_mark(const char *path)
{
	uint8_t head[MARK_BYTES] = { 0 };
	guint64 size;
	return dtc_access_read_head(path, head, sizeof(head), &size) < 0 ? 0 : make_mark(head, size);
}

bool dtc_stream_file_is_equal(const char *path, const char *other)
{
	g_autoptr(GMappedFile) map = dtc_access_map(path);
	g_autoptr(GMappedFile) other_map = dtc_access_map(other);
	if (!map || !other_map)
		return false;
	struct bytes a = get_bytes(map), b = get_bytes(other_map);
	return a.size == b.size && memcmp(a.at, b.at, a.size) == 0;
}

guint64 dtc_stream_file_count_packets(const char *path, const struct dtc_packet_layout *layout)
{
	g_autoptr(GMappedFile) map = dtc_access_map(path);
	guint64 count = 0;
	if (map)
		count_packets(get_bytes(map), layout, &count);
	return count;
}

/* The offset of the next packet prefix at or after from; the file's size if there is none. */
static gsize find_prefix(struct bytes file, gsize from, const struct dtc_packet_layout *layout)
{
	const uint8_t *found = NULL;
	if (from < file.size)
		found = memmem(file.at + from, file.size - from, layout->prefix, DTC_PACKET_PREFIX_BYTES);
	return found ? (gsize)(found - file.at) : file.size;
}

bool dtc_stream_file_has_packet(const char *path, const struct dtc_packet_layout *layout, guint64 *ret_mark)
{
	uint8_t head[MARK_BYTES] = { 0 };
	guint64 size;
	int64_t bytes = dtc_access_read_head(path, head, sizeof(head), &size);
	*ret_mark = bytes < 0 ? 0 : make_mark(head, size);
	/* nearly always; the file need not be mapped for that */
	if (bytes >= DTC_PACKET_PREFIX_BYTES && memcmp(head, layout->prefix, DTC_PACKET_PREFIX_BYTES) == 0)
		return true;
	g_autoptr(GMappedFile) map = dtc_access_map(path);
	if (!map)
		return false;
	struct bytes file = get_bytes(map);
	if (file.size < DTC_PACKET_PREFIX_BYTES) /* of a packet nothing but its first bytes */
		return memcmp(file.at, layout->prefix, file.size) == 0;
	return find_prefix(file, 0, layout) < file.size;
}

/* ---- LTTng's index ---- */

/*
 * lttng-tools, ctf-index.h, all in big endian; an entry has more fields from version 1.1 on, and may grow:
 *
 *   0   u32  magic 0xc1f1dcc1              entry:  0   u64  offset of the packet in the file
 *   4   u32  version, major                        8   u64  packet size, in bits
 *   8   u32  version, minor                        16  u64  content size, in bits
 *   12  u32  bytes of an entry                     24  u64  timestamp of the begin
 *   16       entries                               32  u64  timestamp of the end
 */
#define INDEX_MAGIC 0xc1f1dcc1u
#define INDEX_HEADER_BYTES 16
#define INDEX_ENTRY_BYTES 40 /* at least */

static uint32_t get_be32(const uint8_t *bytes)
{
	uint32_t value;
	memcpy(&value, bytes, sizeof(value));
	return GUINT32_FROM_BE(value);
}

/* The bytes of an entry, 0 if the file is no index. */
static gsize get_entry_bytes(struct bytes index)
{
	if (index.size < INDEX_HEADER_BYTES || get_be32(index.at) != INDEX_MAGIC)
		return 0;
	gsize bytes = get_be32(index.at + 12);
	return bytes >= INDEX_ENTRY_BYTES && bytes <= 4096 ? bytes : 0;
}

int64_t dtc_stream_index_count_packets(const char *path)
{
	g_autoptr(GMappedFile) map = g_file_test(path, G_FILE_TEST_IS_REGULAR) ? dtc_access_map(path) : NULL;
	if (!map)
		return -1;
	gsize entry_bytes = get_entry_bytes(get_bytes(map));
	return entry_bytes ? (int64_t)((g_mapped_file_get_length(map) - INDEX_HEADER_BYTES) / entry_bytes) : 0;
}

static bool is_entry_of(const uint8_t *entry, gsize offset, const struct packet *packet)
{
	return get_number(entry, true) == offset && get_number(entry + 8, true) == packet->packet_bits &&
	       get_number(entry + 16, true) == packet->content_bits &&
	       get_number(entry + 24, true) == packet->begin_ticks && get_number(entry + 32, true) == packet->end_ticks;
}

bool dtc_stream_index_fits(const char *path, const char *stream_path, const struct dtc_packet_layout *layout)
{
	g_autoptr(GMappedFile) map = g_file_test(path, G_FILE_TEST_IS_REGULAR) ? dtc_access_map(path) : NULL;
	g_autoptr(GMappedFile) stream_map = map ? dtc_access_map(stream_path) : NULL;
	if (!map || !stream_map)
		return true;
	struct bytes index = get_bytes(map), file = get_bytes(stream_map);
	gsize entry_bytes = get_entry_bytes(index), at = INDEX_HEADER_BYTES;
	if (!entry_bytes)
		return false;
	for (gsize offset = 0; offset < file.size; at += entry_bytes) {
		struct packet packet;
		if (!parse_packet(file, offset, layout, &packet))
			return true; /* the stream itself is damaged: that is said, and then no index is used */
		if (index.size < entry_bytes || at > index.size - entry_bytes ||
		    !is_entry_of(index.at + at, offset, &packet))
			return false;
		offset += (gsize)MIN(packet.packet_bits / 8, file.size - offset);
	}
	return at == index.size;
}

/* ---- all packets ---- */

static uint32_t get_number32(const uint8_t *bytes, bool is_big_endian)
{
	uint32_t value;
	memcpy(&value, bytes, sizeof(value));
	return is_big_endian ? GUINT32_FROM_BE(value) : GUINT32_FROM_LE(value);
}

static void put_number32(uint8_t *bytes, uint32_t value, bool is_big_endian)
{
	value = is_big_endian ? GUINT32_TO_BE(value) : GUINT32_TO_LE(value);
	memcpy(bytes, &value, sizeof(value));
}

/* All of the header: its context may reach beyond the content of a packet that is too short for it. */
static gsize get_header_bytes(const struct dtc_packet_layout *layout, const struct dtc_ctf_context *context)
{
	int bytes = CONTEXT_BYTES;
	bytes = MAX(bytes, context->sequence + (int)sizeof(uint64_t));
	bytes = MAX(bytes, context->discarded + (int)sizeof(uint64_t));
	bytes = MAX(bytes, context->cpu + (int)sizeof(uint32_t));
	return layout->context + (gsize)bytes;
}

static struct dtc_ctf_packet take_packet(struct bytes file, gsize offset, const struct dtc_packet_layout *layout,
					 const struct dtc_ctf_context *context, const struct packet *packet)
{
	const uint8_t *header = file.at + offset;
	const uint8_t *inner = header + layout->context;
	bool is_big = layout->is_big_endian;
	struct dtc_ctf_packet taken = {
		.offset = offset,
		.bytes = (gsize)(packet->packet_bits / 8),
		.begin_ticks = packet->begin_ticks,
		.end_ticks = packet->end_ticks,
		.content_bits = packet->content_bits,
	};
	if (taken.bytes > file.size - offset) {
		taken.bytes = file.size - offset;
		taken.is_cut = true;
	}
	if (layout->context >= STREAM_ID_AT + sizeof(uint32_t))
		taken.stream_id = get_number32(header + STREAM_ID_AT, is_big);
	if (layout->context == INSTANCE_AT + sizeof(uint64_t))
		taken.instance = get_number(header + INSTANCE_AT, is_big);
	if (get_header_bytes(layout, context) > taken.bytes)
		return taken;
	if (context->sequence >= 0)
		taken.sequence = get_number(inner + context->sequence, is_big);
	if (context->discarded >= 0)
		taken.discarded = get_number(inner + context->discarded, is_big);
	if (context->cpu >= 0)
		taken.cpu = get_number32(inner + context->cpu, is_big);
	return taken;
}

GArray *dtc_stream_file_list_packets(const char *path, const struct dtc_packet_layout *layout,
				     const struct dtc_ctf_context *context, struct dtc_stream_holes *ret_holes,
				     GMappedFile **ret_map)
{
	GArray *packets = g_array_new(FALSE, FALSE, sizeof(struct dtc_ctf_packet));
	GMappedFile *map = *ret_map = dtc_access_map(path);
	struct bytes file = map ? get_bytes(map) : (struct bytes){ NULL, 0 };
	*ret_holes = (struct dtc_stream_holes){ .file_bytes = file.size };
	for (gsize offset = 0; offset < file.size;) {
		struct packet packet;
		bool is_packet = parse_packet(file, offset, layout, &packet);
		bool is_over = is_packet && packet.packet_bits / 8 > file.size - offset;
		gsize next = is_packet && !is_over ? offset + (gsize)(packet.packet_bits / 8)
						   : find_prefix(file, offset + 1, layout);
		/* a packet beyond the end of the file that others follow has a wrong size */
		if (is_packet && (!is_over || next == file.size)) {
			struct dtc_ctf_packet taken = take_packet(file, offset, layout, context, &packet);
			g_array_append_val(packets, taken);
		} else {
			if (ret_holes->skipped_bytes == 0)
				ret_holes->first_skipped = offset;
			ret_holes->skipped_bytes += next - offset;
		}
		offset = next;
	}
	return packets;
}

/* ---- writing ---- */

static void set_header(uint8_t *header, const struct dtc_packet_layout *layout, const struct dtc_ctf_context *context,
		       const struct dtc_ctf_packet *packet)
{
	bool is_big = layout->is_big_endian;
	uint8_t *inner = header + layout->context;
	put_number(inner, packet->begin_ticks, is_big);
	put_number(inner + 8, packet->end_ticks, is_big);
	put_number(inner + 16, MIN(packet->content_bits, (uint64_t)packet->bytes * 8), is_big);
	put_number(inner + 24, (uint64_t)packet->bytes * 8, is_big);
	if (layout->context >= STREAM_ID_AT + sizeof(uint32_t))
		put_number32(header + STREAM_ID_AT, packet->stream_id, is_big);
	if (layout->context == INSTANCE_AT + sizeof(uint64_t))
		put_number(header + INSTANCE_AT, packet->instance, is_big);
	if (get_header_bytes(layout, context) > packet->bytes)
		return;
	if (context->sequence >= 0)
		put_number(inner + context->sequence, packet->sequence, is_big);
	if (context->discarded >= 0)
		put_number(inner + context->discarded, packet->discarded, is_big);
	if (context->cpu >= 0)
		put_number32(inner + context->cpu, packet->cpu, is_big);
}

static bool write_packet(FILE *to, struct bytes file, const struct dtc_packet_layout *layout,
			 const struct dtc_ctf_context *context, const struct dtc_ctf_packet *packet)
{
	gsize header_bytes = MIN(get_header_bytes(layout, context), packet->bytes);
	g_autofree uint8_t *header = g_memdup2(file.at + packet->offset, header_bytes);
	if (packet->is_changed || packet->is_cut)
		set_header(header, layout, context, packet);
	gsize rest = packet->bytes - header_bytes;
	return fwrite(header, 1, header_bytes, to) == header_bytes &&
	       fwrite(file.at + packet->offset + header_bytes, 1, rest, to) == rest;
}

bool dtc_stream_file_write(const char *path, const struct dtc_packet_layout *layout,
			   const struct dtc_ctf_context *context, const GArray *packets, bool with_cut,
			   const char *copy, GError **error)
{
	g_autoptr(GMappedFile) map = g_mapped_file_new(path, FALSE, error);
	FILE *to = map ? fopen(copy, "wb") : NULL;
	bool is_written = to != NULL;
	for (guint i = 0; is_written && i < packets->len; i++) {
		const struct dtc_ctf_packet *packet = &g_array_index(packets, struct dtc_ctf_packet, i);
		if (!packet->is_cut || with_cut)
			is_written = write_packet(to, get_bytes(map), layout, context, packet);
	}
	int reason = errno;
	if (to && fclose(to) != 0 && is_written) {
		reason = errno;
		is_written = false;
	}
	if (map && !is_written)
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "cannot write to '%s': %s\nset TMPDIR to a directory with space", copy, g_strerror(reason));
	return is_written;
}
