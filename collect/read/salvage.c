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
 * The metadata could put fields elsewhere; where the context begins is therefore tried out, and a file in which no
 * layout makes sense is given up. babeltrace2 has the last word: what is made here must be accepted by it.
 */
#define _GNU_SOURCE /* memmem */
#include "collect/read/salvage.h"

#include "dtrace-chain/error.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0xc1fc1fc1u
#define PREFIX_BYTES 20	 /* magic and uuid: the same in every packet of a trace */
#define CONTEXT_BYTES 32 /* timestamps and sizes */
/* No tracer makes packets beyond this (LTTng's largest sub-buffers have 1 GiB): a larger size is damage. */
#define PACKET_BITS_MAX (UINT64_C(1) << 36)

struct DtcSalvage {
	char *source;	 /* owned, absolute */
	char *directory; /* owned: private, holds trial/ and trace/ */
	char *trace;	 /* owned */
	char *trial;	 /* owned */
	bool (*accepts)(const char *directory);
	GPtrArray *files; /* owned names of stream files, sorted */
	GPtrArray *good;  /* borrowed names */
	GPtrArray *damaged;
	GPtrArray *losses; /* owned sentences */
	bool has_prefix;
	uint8_t prefix[PREFIX_BYTES];
};

struct layout {
	bool is_big_endian;
	gsize context; /* offset of the packet context */
};

/* Offsets tried for the context, the likely ones first. */
static const gsize contexts[] = { 24, 32, 28, 20, 40 };

struct packet {
	uint64_t begin_ticks;
	uint64_t end_ticks;
	uint64_t content_bits;
	uint64_t packet_bits;
};

static G_GNUC_PRINTF(2, 3) void add_loss(DtcSalvage *salvage, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_ptr_array_add(salvage->losses, g_strdup_vprintf(format, args));
	va_end(args);
}

/* ---- files ---- */

static bool is_stream_name(const char *name)
{
	return name[0] != '.' && strcmp(name, "metadata") != 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool list_files(DtcSalvage *salvage, GError **error)
{
	g_autoptr(GDir) dir = g_dir_open(salvage->source, 0, error);
	if (!dir)
		return false;
	const char *name;
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(salvage->source, name, NULL);
		struct stat info;
		if (!is_stream_name(name) || stat(file, &info) != 0 || S_ISDIR(info.st_mode))
			continue;
		if (!S_ISREG(info.st_mode))
			add_loss(salvage, "'%s' is not a file and is left out", name);
		else if (info.st_size > 0)
			g_ptr_array_add(salvage->files, g_strdup(name));
	}
	g_ptr_array_sort(salvage->files, compare_names);
	return true;
}

static bool link_file(const DtcSalvage *salvage, const char *directory, const char *name)
{
	g_autofree char *from = g_build_filename(salvage->source, name, NULL);
	g_autofree char *to = g_build_filename(directory, name, NULL);
	return symlink(from, to) == 0;
}

static void empty_directory(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(path, name, NULL);
		g_unlink(file);
	}
}

/* ---- packets ---- */

static uint64_t get_bits(const uint8_t *bytes, bool is_big_endian)
{
	uint64_t value;
	memcpy(&value, bytes, sizeof(value));
	return is_big_endian ? GUINT64_FROM_BE(value) : GUINT64_FROM_LE(value);
}

static void put_bits(uint8_t *bytes, uint64_t value, bool is_big_endian)
{
	value = is_big_endian ? GUINT64_TO_BE(value) : GUINT64_TO_LE(value);
	memcpy(bytes, &value, sizeof(value));
}

/* Reads what the context at bytes says; false if the sizes cannot be those of a packet. It may end behind the file. */
static bool read_context(const struct layout *layout, const uint8_t *bytes, gsize left, struct packet *ret)
{
	gsize header = layout->context + CONTEXT_BYTES;
	if (left < header)
		return false;
	const uint8_t *context = bytes + layout->context;
	ret->begin_ticks = get_bits(context, layout->is_big_endian);
	ret->end_ticks = get_bits(context + 8, layout->is_big_endian);
	ret->content_bits = get_bits(context + 16, layout->is_big_endian);
	ret->packet_bits = get_bits(context + 24, layout->is_big_endian);
	return ret->packet_bits % 8 == 0 && ret->packet_bits <= PACKET_BITS_MAX &&
	       ret->content_bits <= ret->packet_bits && ret->content_bits >= header * 8;
}

/* babeltrace2 2.0.4 takes the highest number for "no time", and aborts the process over a packet that has it. */
static bool is_poison(const struct packet *packet)
{
	return packet->begin_ticks == UINT64_MAX || packet->end_ticks == UINT64_MAX;
}

/* The packet whose header begins at bytes, if one does. */
static bool parse_packet(const DtcSalvage *salvage, const struct layout *layout, const uint8_t *bytes, gsize left,
			 struct packet *ret)
{
	return left >= PREFIX_BYTES && memcmp(bytes, salvage->prefix, PREFIX_BYTES) == 0 &&
	       read_context(layout, bytes, left, ret) && !is_poison(ret);
}

/* Walks the packets as if they had the layout; true if babeltrace2 would abort over one. */
static bool has_poison(const uint8_t *bytes, gsize size, const struct layout *layout)
{
	struct packet packet;
	for (gsize at = 0; at < size && read_context(layout, bytes + at, size - at, &packet);
	     at += (gsize)(packet.packet_bits / 8))
		if (is_poison(&packet))
			return true;
	return false;
}

static bool is_dangerous_file(const char *path)
{
	g_autoptr(GMappedFile) map = g_mapped_file_new(path, FALSE, NULL);
	if (!map)
		return false;
	const uint8_t *bytes = (const uint8_t *)g_mapped_file_get_contents(map);
	gsize size = g_mapped_file_get_length(map);
	for (gsize i = 0; i < 2 * G_N_ELEMENTS(contexts); i++) {
		struct layout layout = { .is_big_endian = i % 2, .context = contexts[i / 2] };
		if (has_poison(bytes, size, &layout))
			return true;
	}
	return false;
}

static bool take_prefix(DtcSalvage *salvage, const uint8_t *bytes, gsize size)
{
	uint32_t magic;
	if (size < PREFIX_BYTES)
		return false;
	memcpy(&magic, bytes, sizeof(magic));
	if (magic != GUINT32_TO_LE(MAGIC) && magic != GUINT32_TO_BE(MAGIC))
		return false;
	memcpy(salvage->prefix, bytes, PREFIX_BYTES);
	salvage->has_prefix = true;
	return true;
}

static GMappedFile *map_file(const DtcSalvage *salvage, const char *name, GError **error)
{
	g_autofree char *path = g_build_filename(salvage->source, name, NULL);
	return g_mapped_file_new(path, FALSE, error);
}

/* The uuid that packets of this trace begin with: that of the first file, accepted ones first, that has a magic. */
static void find_prefix(DtcSalvage *salvage)
{
	const GPtrArray *lists[] = { salvage->good, salvage->damaged };
	for (gsize k = 0; k < G_N_ELEMENTS(lists); k++) {
		for (guint i = 0; i < lists[k]->len && !salvage->has_prefix; i++) {
			g_autoptr(GMappedFile) map = map_file(salvage, g_ptr_array_index(lists[k], i), NULL);
			if (map)
				take_prefix(salvage, (const uint8_t *)g_mapped_file_get_contents(map),
					    g_mapped_file_get_length(map));
		}
	}
}

/* The offset of the next packet prefix at or after from; size if there is none. */
static gsize find_packet(const DtcSalvage *salvage, const uint8_t *bytes, gsize size, gsize from)
{
	const uint8_t *found = NULL;
	if (from < size)
		found = memmem(bytes + from, size - from, salvage->prefix, PREFIX_BYTES);
	return found ? (gsize)(found - bytes) : size;
}

/* Where the context begins: the candidate with which the first packet makes sense, its times included. */
static bool find_layout(const DtcSalvage *salvage, const uint8_t *bytes, gsize size, struct layout *ret)
{
	uint32_t magic;
	memcpy(&magic, salvage->prefix, sizeof(magic));
	struct layout layout = { .is_big_endian = magic == GUINT32_TO_BE(MAGIC) };
	gsize at = find_packet(salvage, bytes, size, 0);
	for (; at < size; at = find_packet(salvage, bytes, size, at + 1)) {
		for (gsize i = 0; i < G_N_ELEMENTS(contexts); i++) {
			struct packet packet;
			layout.context = contexts[i];
			if (parse_packet(salvage, &layout, bytes + at, size - at, &packet) &&
			    packet.begin_ticks <= packet.end_ticks) {
				*ret = layout;
				return true;
			}
		}
	}
	return false;
}

static bool write_bytes(FILE *to, const uint8_t *bytes, gsize count)
{
	return fwrite(bytes, 1, count, to) == count;
}

/* The packet that the end of the file cuts: its sizes are set to what is there. */
static bool write_cut_packet(FILE *to, const struct layout *layout, const uint8_t *bytes, gsize left,
			     const struct packet *packet)
{
	uint8_t header[72];
	gsize header_bytes = layout->context + CONTEXT_BYTES;
	g_assert(header_bytes <= sizeof(header));
	memcpy(header, bytes, header_bytes);
	put_bits(header + layout->context + 16, MIN(packet->content_bits, (uint64_t)left * 8), layout->is_big_endian);
	put_bits(header + layout->context + 24, (uint64_t)left * 8, layout->is_big_endian);
	return write_bytes(to, header, header_bytes) && write_bytes(to, bytes + header_bytes, left - header_bytes);
}

/* Writes the packets that can be told apart; their number, or -1 if the disk is full. */
static int write_packets(DtcSalvage *salvage, const char *name, FILE *to, const uint8_t *bytes, gsize size,
			 const struct layout *layout)
{
	int count = 0;
	gsize at = 0, skipped = 0, first_skipped = 0;
	while (at < size) {
		struct packet packet;
		if (!parse_packet(salvage, layout, bytes + at, size - at, &packet)) {
			gsize next = find_packet(salvage, bytes, size, at + 1);
			if (skipped == 0)
				first_skipped = at;
			skipped += next - at;
			at = next;
			continue;
		}
		gsize length = (gsize)(packet.packet_bits / 8);
		bool is_cut = length > size - at;
		if (is_cut) {
			add_loss(salvage,
				 "stream file '%s' ends at byte %" G_GSIZE_FORMAT ", inside the packet from byte %"
				 G_GSIZE_FORMAT " to %" G_GSIZE_FORMAT, name, size, at, at + length);
			length = size - at;
		}
		if (is_cut ? !write_cut_packet(to, layout, bytes + at, length, &packet) :
			     !write_bytes(to, bytes + at, length))
			return -1;
		count++;
		at += length;
	}
	if (skipped > 0)
		add_loss(salvage,
			 "stream file '%s' is damaged at byte %" G_GSIZE_FORMAT ": %" G_GSIZE_FORMAT " of its %"
			 G_GSIZE_FORMAT " bytes are no packets and were skipped", name, first_skipped, skipped, size);
	return count;
}

/* Makes trace/NAME of a damaged stream file. False if nothing of it can be used. */
static bool rescue_file(DtcSalvage *salvage, const char *name)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GMappedFile) map = map_file(salvage, name, &error);
	if (!map) {
		add_loss(salvage, "stream file '%s' cannot be opened", name);
		return false;
	}
	const uint8_t *bytes = (const uint8_t *)g_mapped_file_get_contents(map);
	gsize size = g_mapped_file_get_length(map);
	struct layout layout;
	g_autofree char *path = g_build_filename(salvage->trace, name, NULL);
	if (!salvage->has_prefix || !find_layout(salvage, bytes, size, &layout)) {
		add_loss(salvage, "stream file '%s' holds no packet that can be read", name);
		return false;
	}
	FILE *to = fopen(path, "wb");
	int count = to ? write_packets(salvage, name, to, bytes, size, &layout) : -1;
	if ((to && fclose(to) != 0) || count < 0)
		add_loss(salvage, "stream file '%s' cannot be copied to '%s': %s", name, salvage->directory,
			 g_strerror(errno));
	else if (!is_dangerous_file(path) && salvage->accepts(salvage->trace))
		return true;
	else
		add_loss(salvage, "stream file '%s' cannot be used even without its damaged parts", name);
	g_unlink(path);
	return false;
}

/* ---- which files are damaged ---- */

bool dtc_salvage_is_needed(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(path, name, NULL);
		struct stat info;
		if (!is_stream_name(name) || stat(file, &info) != 0 || S_ISDIR(info.st_mode))
			continue;
		if (!S_ISREG(info.st_mode) || is_dangerous_file(file))
			return true;
	}
	return false;
}

static bool are_accepted(DtcSalvage *salvage, guint from, guint to)
{
	empty_directory(salvage->trial);
	bool ok = link_file(salvage, salvage->trial, "metadata");
	for (guint i = from; i < to && ok; i++) {
		const char *name = g_ptr_array_index(salvage->files, i);
		g_autofree char *path = g_build_filename(salvage->source, name, NULL);
		ok = !is_dangerous_file(path) && link_file(salvage, salvage->trial, name);
	}
	return ok && salvage->accepts(salvage->trial);
}

/* Halves the list until the culprits stand alone: few trials when few are damaged. Depth is log2 of the files. */
static void sort_out(DtcSalvage *salvage, guint from, guint to)
{
	if (from >= to)
		return;
	if (are_accepted(salvage, from, to)) {
		for (guint i = from; i < to; i++)
			g_ptr_array_add(salvage->good, g_ptr_array_index(salvage->files, i));
	} else if (to - from == 1) {
		g_ptr_array_add(salvage->damaged, g_ptr_array_index(salvage->files, from));
	} else {
		guint middle = from + (to - from) / 2;
		sort_out(salvage, from, middle);
		sort_out(salvage, middle, to);
	}
}

static bool make_directories(DtcSalvage *salvage, GError **error)
{
	salvage->directory = g_dir_make_tmp("dtrace-chain-XXXXXX", error);
	if (!salvage->directory)
		return false;
	salvage->trace = g_build_filename(salvage->directory, "trace", NULL);
	salvage->trial = g_build_filename(salvage->directory, "trial", NULL);
	if (g_mkdir(salvage->trace, 0700) == 0 && g_mkdir(salvage->trial, 0700) == 0)
		return true;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "cannot write to '%s': %s\nset TMPDIR to a directory with space", salvage->directory,
		    g_strerror(errno));
	return false;
}

DtcSalvage *dtc_salvage_new(const char *path, bool (*accepts)(const char *directory), GError **error)
{
	g_autoptr(DtcSalvage) salvage = g_new0(DtcSalvage, 1);
	salvage->source = g_canonicalize_filename(path, NULL);
	salvage->accepts = accepts;
	salvage->files = g_ptr_array_new_with_free_func(g_free);
	salvage->good = g_ptr_array_new();
	salvage->damaged = g_ptr_array_new();
	salvage->losses = g_ptr_array_new_with_free_func(g_free);
	if (!list_files(salvage, error) || !make_directories(salvage, error))
		return NULL;
	if (!are_accepted(salvage, 0, 0)) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
			    "the file 'metadata' in '%s' cannot be read\n"
			    "copy it again from the node: without it no stream can be decoded", path);
		return NULL;
	}
	sort_out(salvage, 0, salvage->files->len);
	find_prefix(salvage);
	bool ok = link_file(salvage, salvage->trace, "metadata");
	guint used = salvage->good->len;
	for (guint i = 0; i < salvage->good->len && ok; i++)
		ok = link_file(salvage, salvage->trace, g_ptr_array_index(salvage->good, i));
	for (guint i = 0; i < salvage->damaged->len && ok; i++)
		used += rescue_file(salvage, g_ptr_array_index(salvage->damaged, i));
	empty_directory(salvage->trial);
	if (ok && used > 0)
		return g_steal_pointer(&salvage);
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, "no stream file in '%s' can be read%s%s\n"
		    "copy the trace again from the node", path, salvage->losses->len > 0 ? ": " : "",
		    salvage->losses->len > 0 ? (const char *)g_ptr_array_index(salvage->losses, 0) : "");
	return NULL;
}

void dtc_salvage_free(DtcSalvage *salvage)
{
	if (!salvage)
		return;
	char *directories[] = { salvage->trial, salvage->trace, salvage->directory };
	for (gsize i = 0; i < G_N_ELEMENTS(directories); i++) {
		if (!directories[i])
			continue;
		if (i < 2)
			empty_directory(directories[i]);
		g_rmdir(directories[i]);
		g_free(directories[i]);
	}
	g_ptr_array_unref(salvage->files);
	g_ptr_array_unref(salvage->good);
	g_ptr_array_unref(salvage->damaged);
	g_ptr_array_unref(salvage->losses);
	g_free(salvage->source);
	g_free(salvage);
}

const char *dtc_salvage_get_path(const DtcSalvage *salvage)
{
	return salvage->trace;
}

const GPtrArray *dtc_salvage_get_losses(const DtcSalvage *salvage)
{
	return salvage->losses;
}
