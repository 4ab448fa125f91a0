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

#include "collect/read/ctf/metadata.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAGIC 0xc1fc1fc1u
#define CONTEXT_BYTES 32 /* timestamps and sizes */
/* No tracer makes packets beyond this (LTTng's largest sub-buffers have 1 GiB): a larger size is damage. */
#define PACKET_BITS_MAX (UINT64_C(1) << 36)

/* Offsets tried for the context, the likely ones first. */
static const gsize contexts[] = { 24, 32, 28, 20, 40 };
#define CONTEXT_MAX 40

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
		g_autoptr(GMappedFile) map = g_mapped_file_new(path, FALSE, NULL);
		struct dtc_packet_layout layout;
		if (!map || !take_prefix(get_bytes(map), has_uuid ? uuid : NULL, &layout))
			continue;
		for (gsize i = 0; i < G_N_ELEMENTS(contexts); i++) {
			struct packet packet;
			layout.context = contexts[i];
			if (!parse_packet(get_bytes(map), 0, &layout, &packet) || packet.begin_ticks > packet.end_ticks)
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

bool dtc_stream_file_is_whole(const char *path, const struct dtc_packet_layout *layout)
{
	g_autoptr(GMappedFile) map = g_mapped_file_new(path, FALSE, NULL);
	return map && is_whole(get_bytes(map), layout);
}

guint64 dtc_stream_file_count_packets(const char *path, const struct dtc_packet_layout *layout)
{
	g_autoptr(GMappedFile) map = g_mapped_file_new(path, FALSE, NULL);
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

static bool write_bytes(FILE *to, const uint8_t *bytes, gsize count)
{
	return fwrite(bytes, 1, count, to) == count;
}

/* The packet that the end of the file cuts: its sizes are set to what is there. */
static bool write_cut_packet(FILE *to, const struct dtc_packet_layout *layout, const uint8_t *bytes, gsize left,
			     const struct packet *packet)
{
	uint8_t header[CONTEXT_MAX + CONTEXT_BYTES];
	gsize header_bytes = layout->context + CONTEXT_BYTES;
	memcpy(header, bytes, header_bytes);
	put_number(header + layout->context + 16, MIN(packet->content_bits, (uint64_t)left * 8), layout->is_big_endian);
	put_number(header + layout->context + 24, (uint64_t)left * 8, layout->is_big_endian);
	return write_bytes(to, header, header_bytes) && write_bytes(to, bytes + header_bytes, left - header_bytes);
}

static G_GNUC_PRINTF(2, 3) void add_loss(GPtrArray *losses, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_ptr_array_add(losses, g_strdup_vprintf(format, args));
	va_end(args);
}

/* The number of packets written, or -1 if the disk is full. */
static int64_t write_packets(struct bytes file, const char *name, const struct dtc_packet_layout *layout, bool with_cut,
			     FILE *to, GPtrArray *losses)
{
	int64_t count = 0;
	gsize offset = 0, skipped = 0, first_skipped = 0;
	while (offset < file.size) {
		struct packet packet;
		if (!parse_packet(file, offset, layout, &packet)) {
			gsize next = find_prefix(file, offset + 1, layout);
			if (skipped == 0)
				first_skipped = offset;
			skipped += next - offset;
			offset = next;
			continue;
		}
		gsize left = file.size - offset;
		gsize length = (gsize)(packet.packet_bits / 8);
		bool is_cut = length > left;
		if (is_cut) {
			add_loss(losses,
				 "stream file '%s' ends at byte %" G_GSIZE_FORMAT
				 ", inside the packet from byte %" G_GSIZE_FORMAT " to %" G_GSIZE_FORMAT,
				 name, file.size, offset, offset + length);
			if (!with_cut)
				break;
			length = left;
		}
		if (is_cut ? !write_cut_packet(to, layout, file.at + offset, length, &packet)
			   : !write_bytes(to, file.at + offset, length))
			return -1;
		count++;
		offset += length;
	}
	if (skipped > 0)
		add_loss(losses,
			 "stream file '%s' is damaged at byte %" G_GSIZE_FORMAT ": %" G_GSIZE_FORMAT
			 " of its %" G_GSIZE_FORMAT " bytes are no packets and were skipped",
			 name, first_skipped, skipped, file.size);
	return count;
}

bool dtc_stream_file_rescue(const char *path, const char *name, const struct dtc_packet_layout *layout, bool with_cut,
			    const char *copy, GPtrArray *losses)
{
	g_autoptr(GMappedFile) map = g_mapped_file_new(path, FALSE, NULL);
	if (!map) {
		add_loss(losses, "stream file '%s' cannot be opened", name);
		return false;
	}
	FILE *to = fopen(copy, "wb");
	int64_t count = to ? write_packets(get_bytes(map), name, layout, with_cut, to, losses) : -1;
	if ((to && fclose(to) != 0) || count < 0) {
		add_loss(losses, "stream file '%s' cannot be copied to '%s': %s", name, copy, g_strerror(errno));
		return false;
	}
	if (count == 0)
		add_loss(losses, "stream file '%s' holds no packet that can be read", name);
	return count > 0;
}
