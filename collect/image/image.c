/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file, in the order of bytes of the machine that wrote it; docs/formats.md has the same table:
 *
 *     header     magic "dtcimage", u32 0x01020304, u32 version, u64 bytes of the file, u32 sections, u32 0,
 *                32 bytes key, u64 hash of the table, u64 hash of the header up to here
 *     table      for each section: 24 bytes name, u64 offset, u64 bytes, u64 hash, u32 bytes of a record, u32 0
 *     sections   each at the next multiple of 64; between them zeros
 */
#define _GNU_SOURCE /* fallocate */
#include "collect/image/image.h"

#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "dtcimage"
#define BYTE_ORDER_MARK 0x01020304u
#define ALIGNMENT 64
#define SECTIONS_MAX 256

struct header {
	char magic[8];
	uint32_t byte_order;
	uint32_t version;
	uint64_t bytes;
	uint32_t section_count;
	uint32_t spare;
	struct dtc_image_key key;
	uint64_t table_hash;
	uint64_t hash; /* of all before it */
};
_Static_assert(sizeof(struct header) == 80, "as docs/formats.md has it");

struct section {
	char name[DTC_IMAGE_NAME_BYTES];
	uint64_t offset;
	uint64_t bytes;
	uint64_t hash;
	uint32_t record_bytes;
	uint32_t spare;
};
_Static_assert(sizeof(struct section) == 56, "as docs/formats.md has it");

/* ---- hash ---- */

#define FACTOR UINT64_C(0x9fb21c651e98df25)

static uint64_t stir(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * FACTOR;
	return hash ^ (hash >> 29);
}

/* Eight lanes, since one would wait for its multiplications: it is to be as fast as memory. */
uint64_t dtc_image_hash(const void *data, gsize bytes)
{
	const char *at = data;
	uint64_t lanes[8], words[8];
	uint64_t hash = bytes;

	for (guint i = 0; i < 8; i++)
		lanes[i] = FACTOR * (i + 1);
	for (; bytes >= sizeof(words); at += sizeof(words), bytes -= sizeof(words)) {
		memcpy(words, at, sizeof(words));
		for (guint i = 0; i < 8; i++)
			lanes[i] = stir(lanes[i], words[i]);
	}
	memset(words, 0, sizeof(words));
	if (bytes)
		memcpy(words, at, bytes);
	for (guint i = 0; i < 8; i++)
		hash = stir(stir(hash, lanes[i]), words[i]);
	return hash;
}

/* ---- writing ---- */

struct part {
	const char *name;
	gsize record_bytes;
	const void *records;
	gsize bytes;
	void *owned; /* or NULL */
};

struct DtcImageWriter {
	GArray *parts; /* struct part */
};

static void part_clear(void *data)
{
	g_free(((struct part *)data)->owned);
}

DtcImageWriter *dtc_image_writer_new(void)
{
	DtcImageWriter *writer = g_new0(DtcImageWriter, 1);

	writer->parts = g_array_new(FALSE, FALSE, sizeof(struct part));
	g_array_set_clear_func(writer->parts, part_clear);
	return writer;
}

void dtc_image_writer_free(DtcImageWriter *writer)
{
	if (!writer)
		return;
	g_array_unref(writer->parts);
	g_free(writer);
}

void dtc_image_add(DtcImageWriter *writer, const char *name, gsize record_bytes, const void *records, gsize count)
{
	struct part part = { name, record_bytes, records, record_bytes * count, NULL };

	g_assert(strlen(name) < DTC_IMAGE_NAME_BYTES && writer->parts->len < SECTIONS_MAX);
	g_array_append_val(writer->parts, part);
}

void dtc_image_add_copy(DtcImageWriter *writer, const char *name, gsize record_bytes, const void *records, gsize count)
{
	void *copy = count ? g_memdup2(records, record_bytes * count) : NULL;

	dtc_image_add(writer, name, record_bytes, copy, count);
	g_array_index(writer->parts, struct part, writer->parts->len - 1).owned = copy;
}

void dtc_image_add_strings(DtcImageWriter *writer, const char *name, const char *const *strings, gsize count)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	for (gsize i = 0; i < count; i++)
		g_byte_array_append(bytes, (const guint8 *)strings[i], (guint)strlen(strings[i]) + 1);
	dtc_image_add_copy(writer, name, 1, bytes->data, bytes->len);
}

static uint64_t align(uint64_t at)
{
	return (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint64_t get_first_offset(guint section_count)
{
	return align(sizeof(struct header) + section_count * sizeof(struct section));
}

guint64 dtc_image_writer_measure(const DtcImageWriter *writer)
{
	guint64 end = get_first_offset(writer->parts->len);

	for (guint i = 0; i < writer->parts->len; i++)
		end = align(end + g_array_index(writer->parts, struct part, i).bytes);
	return end;
}

static bool fail(GError **error, int number)
{
	bool is_full = number == ENOSPC || number == EDQUOT || number == EFBIG;

	g_set_error(error, DTC_COLLECT_ERROR, is_full ? DTC_ERROR_LIMIT : DTC_ERROR_IO,
		    "cannot write an image: %s\nmake room there, or choose another place", g_strerror(number));
	return false;
}

static bool write_at(int file, const void *data, gsize bytes, uint64_t offset, GError **error)
{
	const char *at = data;

	while (bytes > 0) {
		ssize_t count = pwrite(file, at, bytes, (off_t)offset);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return fail(error, count ? errno : ENOSPC);
		at += count;
		bytes -= (gsize)count;
		offset += (uint64_t)count;
	}
	return true;
}

bool dtc_image_write(const DtcImageWriter *writer, int file, const struct dtc_image_key *key, GError **error)
{
	guint count = writer->parts->len;
	g_autofree struct section *table = g_new0(struct section, count + 1);
	struct header header = { .byte_order = BYTE_ORDER_MARK,
				 .version = DTC_IMAGE_VERSION,
				 .bytes = dtc_image_writer_measure(writer),
				 .section_count = count };
	uint64_t at = get_first_offset(count);

	/* a full disk shows at once, and not after most was written */
	if (fallocate(file, 0, 0, (off_t)header.bytes) != 0 && (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
		return fail(error, errno);
	if (ftruncate(file, (off_t)header.bytes) != 0) /* the gaps are zeros */
		return fail(error, errno);
	for (guint i = 0; i < count; i++) {
		const struct part *part = &g_array_index(writer->parts, struct part, i);
		g_strlcpy(table[i].name, part->name, DTC_IMAGE_NAME_BYTES);
		table[i].record_bytes = (uint32_t)part->record_bytes;
		table[i].offset = at;
		table[i].bytes = part->bytes;
		table[i].hash = dtc_image_hash(part->records, part->bytes);
		if (part->bytes && !write_at(file, part->records, part->bytes, at, error))
			return false;
		at = align(at + part->bytes);
	}
	memcpy(header.magic, MAGIC, sizeof(header.magic));
	header.key = *key;
	header.table_hash = dtc_image_hash(table, count * sizeof(*table));
	header.hash = dtc_image_hash(&header, offsetof(struct header, hash));
	return write_at(file, table, count * sizeof(*table), sizeof(header), error) &&
	       write_at(file, &header, sizeof(header), 0, error);
}

/* ---- reading ---- */

struct DtcImage {
	gint references; /* atomic */
	char *name;
	const char *data;
	gsize bytes;
	const struct section *table; /* in data */
	guint section_count;
};

bool dtc_image_refuse(const DtcImage *image, GError **error, const char *what)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, "image '%s': %s\nmake it again from the recording",
		    image->name, what);
	return false;
}

static const char *judge_header(const struct header *header, gsize bytes, const struct dtc_image_key *key)
{
	if (memcmp(header->magic, MAGIC, sizeof(header->magic)) != 0)
		return "it is no image";
	if (header->byte_order != BYTE_ORDER_MARK)
		return "it was written on a machine with another order of bytes";
	if (header->version != DTC_IMAGE_VERSION)
		return "it was written by another version of dtrace-chain";
	if (header->hash != dtc_image_hash(header, offsetof(struct header, hash)))
		return "its header is damaged";
	if (header->bytes != bytes || header->section_count > SECTIONS_MAX ||
	    sizeof(*header) + header->section_count * sizeof(struct section) > bytes)
		return "it is not as long as it was";
	if (key && memcmp(&header->key, key, sizeof(*key)) != 0)
		return "it is of another recording";
	return NULL;
}

static const char *judge_section(const DtcImage *image, const struct section *section)
{
	if (!memchr(section->name, 0, sizeof(section->name)) || section->record_bytes == 0 ||
	    section->offset % ALIGNMENT != 0 || section->offset > image->bytes ||
	    section->bytes > image->bytes - section->offset || section->bytes % section->record_bytes != 0)
		return "a section is not where it can be";
	if (section->hash != dtc_image_hash(image->data + section->offset, section->bytes))
		return "a section is damaged";
	return NULL;
}

static const char *judge(DtcImage *image, const struct dtc_image_key *key)
{
	const struct header *header = (const struct header *)(const void *)image->data;
	const char *wrong = judge_header(header, image->bytes, key);

	if (wrong)
		return wrong;
	image->table = (const struct section *)(const void *)(image->data + sizeof(*header));
	image->section_count = header->section_count;
	if (header->table_hash != dtc_image_hash(image->table, image->section_count * sizeof(struct section)))
		return "its table of sections is damaged";
	for (guint i = 0; i < image->section_count && !wrong; i++)
		wrong = judge_section(image, &image->table[i]);
	return wrong;
}

DtcImage *dtc_image_map(int file, const char *name, const struct dtc_image_key *key, GError **error)
{
	g_autoptr(DtcImage) image = g_new0(DtcImage, 1);
	struct stat info;

	image->references = 1;
	image->name = g_strdup(name);
	if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || (guint64)info.st_size < sizeof(struct header)) {
		dtc_image_refuse(image, error, "it is no image");
		return NULL;
	}
	void *data = mmap(NULL, (gsize)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	if (data == MAP_FAILED) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_LIMIT,
			    "image '%s' cannot be mapped: %s\nraise the limits (ulimit -v)", name, g_strerror(errno));
		return NULL;
	}
	image->data = data;
	image->bytes = (gsize)info.st_size;
	const char *wrong = judge(image, key);
	if (wrong) {
		dtc_image_refuse(image, error, wrong);
		return NULL;
	}
	return g_steal_pointer(&image);
}

DtcImage *dtc_image_open(const char *path, GError **error)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (file < 0) {
		g_set_error(error, DTC_COLLECT_ERROR, errno == ENOENT ? DTC_ERROR_NOT_FOUND : DTC_ERROR_UNREADABLE,
			    "image '%s' cannot be opened: %s\nsee that it is there and may be read", path,
			    g_strerror(errno));
		return NULL;
	}
	DtcImage *image = dtc_image_map(file, path, NULL, error);
	close(file);
	return image;
}

DtcImage *dtc_image_ref(DtcImage *image)
{
	g_atomic_int_inc(&image->references);
	return image;
}

void dtc_image_unref(DtcImage *image)
{
	if (!image || !g_atomic_int_dec_and_test(&image->references))
		return;
	if (image->data)
		munmap((void *)image->data, image->bytes);
	g_free(image->name);
	g_free(image);
}

const void *dtc_image_get(const DtcImage *image, const char *name, gsize record_bytes, gsize *ret_count, GError **error)
{
	for (guint i = 0; i < image->section_count; i++) {
		const struct section *section = &image->table[i];
		if (strcmp(section->name, name) != 0)
			continue;
		gsize count = section->bytes / section->record_bytes;
		if (section->record_bytes != record_bytes || count >= UINT32_MAX)
			break;
		*ret_count = count;
		return image->data + section->offset;
	}
	g_autofree char *what = g_strdup_printf("its section '%s' is not as this program has it", name);
	dtc_image_refuse(image, error, what);
	return NULL;
}

const void *dtc_image_get_one(const DtcImage *image, const char *name, gsize record_bytes, GError **error)
{
	gsize count;
	const void *record = dtc_image_get(image, name, record_bytes, &count, error);

	if (record && count != 1) {
		dtc_image_refuse(image, error, "a section that is one record is not");
		return NULL;
	}
	return record;
}

const char **dtc_image_get_strings(const DtcImage *image, const char *name, gsize *ret_count, GError **error)
{
	gsize bytes, count = 0;
	const char *data = dtc_image_get(image, name, 1, &bytes, error);

	if (!data)
		return NULL;
	if (bytes && data[bytes - 1]) {
		dtc_image_refuse(image, error, "a string has no end");
		return NULL;
	}
	for (gsize i = 0; i < bytes; i++)
		count += !data[i];
	const char **strings = g_new0(const char *, count + 1);
	for (gsize i = 0; i < count; i++, data += strlen(data) + 1)
		strings[i] = data;
	*ret_count = count;
	return strings;
}

guint64 dtc_image_get_bytes(const DtcImage *image)
{
	return image->bytes;
}
