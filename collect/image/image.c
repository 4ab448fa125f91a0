/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file, in the order of bytes of the machine that wrote it; docs/formats.md has the same table:
 *
 *     header     magic "dtcimage", u32 0x01020304, u32 version, u64 bytes of the file, u32 sections, u32 parts,
 *                32 bytes key, u64 hash of the table, u64 hash of the header up to here
 *     table      for each section: 24 bytes name, u64 bytes, u64 hash, u32 bytes of a record, u32 its first part,
 *                u32 how many it has, u32 0; then for each part: u64 offset, u64 bytes
 *     parts      each at a multiple of 64, those of a section that has several at multiples of 65536; between them
 * zeros
 *
 * A section that is written has one part. One that grew in the file (space.h) has as many as it took, and all but the
 * last are multiples of 65536 bytes long, so that they are mapped in a row.
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
/* So that the header and all tables fit into what a space leaves free. */
#define PARTS_MAX 3000
/* Of a section; each takes 8 bytes of memory besides, and a file of zeros is one of strings without letters. */
#define STRINGS_MAX (1u << 24)
_Static_assert(80 + SECTIONS_MAX * 56 + PARTS_MAX * sizeof(struct dtc_part) <= DTC_SPACE_HEAD, "there is room");

struct header {
	char magic[8];
	uint32_t byte_order;
	uint32_t version;
	uint64_t bytes;
	uint32_t section_count;
	uint32_t part_count;
	struct dtc_image_key key;
	uint64_t table_hash;
	uint64_t hash; /* of all before it */
};
_Static_assert(sizeof(struct header) == 80, "as docs/formats.md has it");

struct section {
	char name[DTC_IMAGE_NAME_BYTES];
	uint64_t bytes;
	uint64_t hash;
	uint32_t record_bytes;
	uint32_t part_first;
	uint32_t part_count;
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

struct content {
	const char *name;
	gsize record_bytes;
	const void *records;
	gsize bytes;
	void *owned;		      /* or NULL */
	const DtcSpace *space;	      /* that has the records; NULL: there is none */
	const struct dtc_part *parts; /* of the space: as many as the records need */
};

struct DtcImageWriter {
	GArray *contents; /* struct content */
};

static void content_clear(void *data)
{
	g_free(((struct content *)data)->owned);
}

DtcImageWriter *dtc_image_writer_new(void)
{
	DtcImageWriter *writer = g_new0(DtcImageWriter, 1);

	writer->contents = g_array_new(FALSE, FALSE, sizeof(struct content));
	g_array_set_clear_func(writer->contents, content_clear);
	return writer;
}

void dtc_image_writer_free(DtcImageWriter *writer)
{
	if (!writer)
		return;
	g_array_unref(writer->contents);
	g_free(writer);
}

static struct content *get_content(const DtcImageWriter *writer, guint index)
{
	return &g_array_index(writer->contents, struct content, index);
}

void dtc_image_add_placed(DtcImageWriter *writer, const char *name, gsize record_bytes, const void *records,
			  gsize count, const DtcSpace *space, const struct dtc_part *parts)
{
	struct content content = { name, record_bytes, records, record_bytes * count, NULL, space, parts };

	g_assert(strlen(name) < DTC_IMAGE_NAME_BYTES && writer->contents->len < SECTIONS_MAX);
	g_array_append_val(writer->contents, content);
}

void dtc_image_add(DtcImageWriter *writer, const char *name, gsize record_bytes, const void *records, gsize count)
{
	dtc_image_add_placed(writer, name, record_bytes, records, count, NULL, NULL);
}

void dtc_image_add_copy(DtcImageWriter *writer, const char *name, gsize record_bytes, const void *records, gsize count)
{
	void *copy = count ? g_memdup2(records, record_bytes * count) : NULL;

	dtc_image_add(writer, name, record_bytes, copy, count);
	get_content(writer, writer->contents->len - 1)->owned = copy;
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

/* Where parts can begin, behind header and table. */
static uint64_t get_first_offset(guint section_count, guint part_count)
{
	return align(sizeof(struct header) + section_count * sizeof(struct section) +
		     part_count * sizeof(struct dtc_part));
}

guint64 dtc_image_writer_measure(const DtcImageWriter *writer)
{
	guint64 end = get_first_offset(writer->contents->len, writer->contents->len);

	for (guint i = 0; i < writer->contents->len; i++)
		end = align(end + get_content(writer, i)->bytes);
	return end;
}

static bool fail(GError **error, int number)
{
	bool is_full = number == ENOSPC || number == EDQUOT || number == EFBIG;

	g_set_error(error, DTC_COLLECT_ERROR, is_full ? DTC_ERROR_LIMIT : DTC_ERROR_IO,
		    "cannot write an image: %s\nmake room there, or choose another place", g_strerror(number));
	return false;
}

#define COPY_BYTES ((gsize)64 * 1024)

/* The kernel does not touch memory that comes when it is touched (userfaultfd for user mode): it is done here. */
static ssize_t write_copy(int file, const char *at, gsize bytes, uint64_t offset)
{
	g_autofree char *copy = g_memdup2(at, MIN(bytes, COPY_BYTES));

	return pwrite(file, copy, MIN(bytes, COPY_BYTES), (off_t)offset);
}

static bool write_at(int file, const void *data, gsize bytes, uint64_t offset, GError **error)
{
	const char *at = data;

	while (bytes > 0) {
		ssize_t count = pwrite(file, at, bytes, (off_t)offset);
		if (count < 0 && errno == EFAULT)
			count = write_copy(file, at, bytes, offset);
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

/* What is written at the file's begin, and how far it came. */
struct layout {
	const DtcSpace *space; /* that the file is of; NULL: of none */
	struct section *table; /* owned */
	GArray *parts;	       /* struct dtc_part; owned */
	uint64_t at;	       /* where the next part can be */
};

/* Those of the space that have the records; the last one ends with them. */
static void add_placed_parts(struct layout *layout, const struct content *content)
{
	gsize left = content->bytes;

	for (const struct dtc_part *part = content->parts; left; part++) {
		const struct dtc_part used = { part->offset, MIN(part->bytes, left) };
		g_array_append_val(layout->parts, used);
		left -= used.bytes;
	}
}

static void lay_out(const DtcImageWriter *writer, struct layout *layout)
{
	guint count = writer->contents->len;

	layout->table = g_new0(struct section, count + 1);
	layout->parts = g_array_new(FALSE, FALSE, sizeof(struct dtc_part));
	layout->at = layout->space ? align(dtc_space_get_end(layout->space)) : get_first_offset(count, count);
	for (guint i = 0; i < count; i++) {
		const struct content *content = get_content(writer, i);
		struct section *section = &layout->table[i];
		g_strlcpy(section->name, content->name, DTC_IMAGE_NAME_BYTES);
		section->record_bytes = (uint32_t)content->record_bytes;
		section->bytes = content->bytes;
		section->hash = dtc_image_hash(content->records, content->bytes);
		section->part_first = layout->parts->len;
		if (layout->space && content->space == layout->space && content->bytes) {
			add_placed_parts(layout, content);
		} else {
			const struct dtc_part part = { layout->at, content->bytes };
			g_array_append_val(layout->parts, part);
			layout->at = align(layout->at + content->bytes);
		}
		section->part_count = layout->parts->len - section->part_first;
	}
}

static bool write_contents(const DtcImageWriter *writer, const struct layout *layout, int file, GError **error)
{
	for (guint i = 0; i < writer->contents->len; i++) {
		const struct content *content = get_content(writer, i);
		const struct dtc_part *part =
			&g_array_index(layout->parts, struct dtc_part, layout->table[i].part_first);
		bool is_there = layout->space && content->space == layout->space;
		if (content->bytes && !is_there &&
		    !write_at(file, content->records, content->bytes, part->offset, error))
			return false;
	}
	return true;
}

static bool write_header(const struct layout *layout, guint count, int file, const struct dtc_image_key *key,
			 GError **error)
{
	struct header header = { .byte_order = BYTE_ORDER_MARK,
				 .version = DTC_IMAGE_VERSION,
				 .bytes = layout->at,
				 .section_count = count,
				 .part_count = layout->parts->len,
				 .key = *key };
	g_autoptr(GByteArray) table = g_byte_array_new();

	g_byte_array_append(table, (const guint8 *)layout->table, count * (guint)sizeof(struct section));
	g_byte_array_append(table, (const guint8 *)layout->parts->data,
			    layout->parts->len * (guint)sizeof(struct dtc_part));
	memcpy(header.magic, MAGIC, sizeof(header.magic));
	header.table_hash = dtc_image_hash(table->data, table->len);
	header.hash = dtc_image_hash(&header, offsetof(struct header, hash));
	return write_at(file, table->data, table->len, sizeof(header), error) &&
	       write_at(file, &header, sizeof(header), 0, error);
}

static bool write_layout(const DtcImageWriter *writer, const struct layout *layout, int file,
			 const struct dtc_image_key *key, GError **error)
{
	uint64_t begin = layout->space ? dtc_space_get_end(layout->space) : 0;

	if (layout->parts->len > PARTS_MAX)
		return fail(error, EFBIG);
	/* a full disk shows at once, and not after most was written */
	if (layout->at > begin && fallocate(file, 0, (off_t)begin, (off_t)(layout->at - begin)) != 0 &&
	    (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
		return fail(error, errno);
	if (ftruncate(file, (off_t)layout->at) != 0) /* the gaps are zeros */
		return fail(error, errno);
	return write_contents(writer, layout, file, error) &&
	       write_header(layout, writer->contents->len, file, key, error);
}

static bool write_image(const DtcImageWriter *writer, const DtcSpace *space, int file, const struct dtc_image_key *key,
			GError **error)
{
	struct layout layout = { .space = space };

	lay_out(writer, &layout);
	bool is_written = write_layout(writer, &layout, file, key, error);
	g_free(layout.table);
	g_array_unref(layout.parts);
	return is_written;
}

bool dtc_image_write(const DtcImageWriter *writer, int file, const struct dtc_image_key *key, GError **error)
{
	return write_image(writer, NULL, file, key, error);
}

bool dtc_image_complete(const DtcImageWriter *writer, DtcSpace *space, const struct dtc_image_key *key, GError **error)
{
	dtc_space_freeze(space);
	return write_image(writer, space, dtc_space_get_file(space), key, error);
}

/* ---- reading ---- */

struct view;

struct DtcImage {
	gint references; /* atomic */
	char *name;
	const char *data;
	gsize bytes;
	const struct section *table;  /* in data */
	const struct dtc_part *parts; /* in data */
	guint section_count;
	guint part_count;
	struct view *views;	/* owned; by section */
	GDestroyNotify release; /* of data, with its owner; NULL: it is mapped */
	void *owner;
};

/* Where the records of a section are. */
struct view {
	const char *data;
	gsize mapped; /* bytes that are mapped once more, in a row; 0: they are in a row anyhow */
};

bool dtc_image_refuse(const DtcImage *image, GError **error, const char *what)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, "image '%s': %s\nmake it again from the recording",
		    image->name, what);
	return false;
}

static gsize measure_table(const struct header *header)
{
	return header->section_count * sizeof(struct section) + header->part_count * sizeof(struct dtc_part);
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
	if (header->bytes != bytes || header->section_count > SECTIONS_MAX || header->part_count > PARTS_MAX ||
	    sizeof(*header) + measure_table(header) > bytes)
		return "it is not as long as it was";
	if (key && memcmp(&header->key, key, sizeof(*key)) != 0)
		return "it is of another recording";
	return NULL;
}

#define NO_PLACE "a section is not where it can be"

/* All are in the file, have as many bytes as the section, and can be mapped in a row. */
static bool are_parts(const DtcImage *image, const struct section *section)
{
	guint64 bytes = 0;

	if (!section->part_count || section->part_first > image->part_count ||
	    section->part_count > image->part_count - section->part_first)
		return false;
	for (guint i = 0; i < section->part_count; i++) {
		const struct dtc_part *part = &image->parts[section->part_first + i];
		bool is_last = i + 1 == section->part_count;
		if (part->offset > image->bytes || part->bytes > image->bytes - part->offset ||
		    part->offset % (section->part_count > 1 ? DTC_PART_ALIGNMENT : ALIGNMENT) != 0 ||
		    (!is_last && part->bytes % DTC_PART_ALIGNMENT != 0) || (section->part_count > 1 && !part->bytes))
			return false;
		bytes += part->bytes;
	}
	return bytes == section->bytes;
}

static const char *judge_section(const DtcImage *image, const struct section *section)
{
	if (!memchr(section->name, 0, sizeof(section->name)) || section->record_bytes == 0 ||
	    section->bytes % section->record_bytes != 0 || !are_parts(image, section))
		return NO_PLACE;
	return NULL;
}

/*
 * Each part is one section's, and all sections together are no longer than the file: else a small one could have the
 * same bytes mapped, and hashed, as often as it likes.
 */
static const char *judge_sections(const DtcImage *image)
{
	const char *wrong = NULL;
	guint part_first = 0;
	guint64 left = image->bytes;

	for (guint i = 0; i < image->section_count && !wrong; i++) {
		const struct section *section = &image->table[i];
		wrong = judge_section(image, section);
		if (!wrong && (section->part_first != part_first || section->bytes > left))
			wrong = NO_PLACE;
		part_first += section->part_count;
		left -= section->bytes;
	}
	return wrong;
}

static const char *judge(DtcImage *image, const struct dtc_image_key *key)
{
	const struct header *header = (const struct header *)(const void *)image->data;
	const char *wrong = judge_header(header, image->bytes, key);

	if (wrong)
		return wrong;
	image->table = (const struct section *)(const void *)(image->data + sizeof(*header));
	image->section_count = header->section_count;
	image->parts = (const struct dtc_part *)(const void *)(image->table + image->section_count);
	image->part_count = header->part_count;
	if (header->table_hash != dtc_image_hash(image->table, measure_table(header)))
		return "its table of sections is damaged";
	return judge_sections(image);
}

/* False if the parts of a section cannot be mapped in a row. */
static bool view_section(const DtcImage *image, int file, const struct section *section, struct view *view)
{
	const struct dtc_part *parts = &image->parts[section->part_first];

	view->data = image->data + parts->offset;
	if (section->part_count == 1)
		return true;
	char *at = mmap(NULL, section->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return false;
	view->data = at;
	view->mapped = section->bytes;
	for (guint i = 0; i < section->part_count; at += parts[i++].bytes)
		if (mmap(at, parts[i].bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, (off_t)parts[i].offset) ==
		    MAP_FAILED)
			return false;
	return true;
}

static bool view_sections(DtcImage *image, int file)
{
	image->views = g_new0(struct view, image->section_count + 1);
	for (guint i = 0; i < image->section_count; i++)
		if (!view_section(image, file, &image->table[i], &image->views[i]))
			return false;
	return true;
}

static bool are_whole(const DtcImage *image)
{
	for (guint i = 0; i < image->section_count; i++)
		if (image->table[i].hash != dtc_image_hash(image->views[i].data, image->table[i].bytes))
			return false;
	return true;
}

static void refuse_mapping(const char *name, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_LIMIT,
		    "image '%s' cannot be mapped: %s\nraise the limits (ulimit -v)", name, g_strerror(errno));
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
		refuse_mapping(name, error);
		return NULL;
	}
	image->data = data;
	image->bytes = (gsize)info.st_size;
	const char *wrong = judge(image, key);
	if (!wrong && !view_sections(image, file)) {
		refuse_mapping(name, error);
		return NULL;
	}
	if (!wrong && !are_whole(image))
		wrong = "a section is damaged";
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
	for (guint i = 0; image->views && i < image->section_count; i++)
		if (image->views[i].mapped)
			munmap((void *)image->views[i].data, image->views[i].mapped);
	if (image->release)
		image->release(image->owner);
	else if (image->data)
		munmap((void *)image->data, image->bytes);
	g_free(image->views);
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
		return image->views[i].data;
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
	if (count > STRINGS_MAX) {
		dtc_image_refuse(image, error, "it has more strings than any recording");
		return NULL;
	}
	const char **strings = g_new0(const char *, count + 1);
	for (gsize i = 0; i < count; i++, data += strlen(data) + 1)
		strings[i] = data;
	*ret_count = count;
	return strings;
}

guint64 dtc_image_get_bytes(const DtcImage *image)
{
	guint64 end = get_first_offset(image->section_count, image->section_count);

	for (guint i = 0; i < image->section_count; i++)
		end = align(end + image->table[i].bytes);
	return end;
}

/* ---- elsewhere ---- */

/*
 * Who takes an image looks into most of its small sections at once, which lie anywhere between large ones, and into
 * those that were written before the first large one. Shown first, they come with the begin. What is large begins with
 * a page, since the begin is sent by pages, too: half a page of records that nobody had asked for, and the sections'
 * hashes, were an eighth of what aligning the clocks of 256 short recordings sent.
 */
#define SMALL_BYTES 256
#define SHOWN_PAGE ((uint64_t)4096)

/* So many sections are before the first large one. */
static guint count_leading(const DtcImage *image)
{
	guint count = 0;

	while (count < image->section_count && image->table[count].bytes <= SHOWN_PAGE)
		count++;
	return count;
}

/* Where the next section is shown: in the begin, or behind it. */
struct showing {
	const DtcImage *image;
	guint leading_count;
	uint64_t begin_at, large_at;
};

static uint64_t place_next(struct showing *showing, guint index)
{
	const struct section *section = &showing->image->table[index];
	bool is_first = index < showing->leading_count || section->bytes <= SMALL_BYTES;
	uint64_t *at = is_first ? &showing->begin_at : &showing->large_at, place = *at;

	*at = align(place + section->bytes);
	return place;
}

/* places: by section, or NULL. */
static struct showing place_from(const DtcImage *image, uint64_t large_at, uint64_t *places)
{
	struct showing showing = { image, count_leading(image),
				   get_first_offset(image->section_count, image->section_count), large_at };

	for (guint i = 0; i < image->section_count; i++) {
		uint64_t place = place_next(&showing, i);
		if (places)
			places[i] = place;
	}
	return showing;
}

gsize dtc_image_get_begin_bytes(const DtcImage *image)
{
	return place_from(image, 0, NULL).begin_at;
}

static uint64_t get_first_large(const DtcImage *image)
{
	return (dtc_image_get_begin_bytes(image) + SHOWN_PAGE - 1) / SHOWN_PAGE * SHOWN_PAGE;
}

guint64 dtc_image_get_shown_bytes(const DtcImage *image)
{
	return place_from(image, get_first_large(image), NULL).large_at;
}

/* By section; caller frees. */
static uint64_t *place_sections(const DtcImage *image)
{
	uint64_t *places = g_new0(uint64_t, image->section_count + 1);

	(void)place_from(image, get_first_large(image), places);
	return places;
}

/* What is before the sections; caller frees. Nobody looks at the hashes of sections, which cannot be squeezed. */
static char *make_head(const DtcImage *image, const uint64_t *places)
{
	guint count = image->section_count;
	char *head = g_malloc0(get_first_offset(count, count));
	struct header *header = (struct header *)(void *)head;
	struct section *table = (struct section *)(void *)(header + 1);
	struct dtc_part *parts = (struct dtc_part *)(void *)(table + count);

	memcpy(header, image->data, sizeof(*header));
	header->bytes = dtc_image_get_shown_bytes(image);
	header->part_count = count;
	for (guint i = 0; i < count; i++) {
		table[i] = image->table[i];
		table[i].hash = 0;
		table[i].part_first = i;
		table[i].part_count = 1;
		parts[i] = (struct dtc_part){ places[i], table[i].bytes };
	}
	header->table_hash = dtc_image_hash(table, measure_table(header));
	header->hash = dtc_image_hash(header, offsetof(struct header, hash));
	return head;
}

/* Of some bytes that begin at an offset what is among those that are wanted. */
struct wanted {
	uint64_t offset;
	gsize bytes;
	char *to;
};

static void copy_part(const struct wanted *wanted, const char *from, uint64_t offset, uint64_t bytes)
{
	uint64_t begin = MAX(offset, wanted->offset), end = MIN(offset + bytes, wanted->offset + wanted->bytes);

	if (begin < end)
		memcpy(wanted->to + (begin - wanted->offset), from + (begin - offset), end - begin);
}

void dtc_image_copy_file(const DtcImage *image, guint64 offset, gsize bytes, void *to)
{
	const struct wanted wanted = { offset, bytes, to };
	g_autofree uint64_t *places = place_sections(image);
	uint64_t head_bytes = get_first_offset(image->section_count, image->section_count);

	memset(to, 0, bytes); /* what is between sections */
	if (offset < head_bytes) {
		g_autofree char *head = make_head(image, places);
		copy_part(&wanted, head, 0, head_bytes);
	}
	for (guint i = 0; i < image->section_count; i++)
		copy_part(&wanted, image->views[i].data, places[i], image->table[i].bytes);
}

DtcImage *dtc_image_take(const void *data, gsize bytes, const char *name, GDestroyNotify release, void *owner,
			 GError **error)
{
	g_autoptr(DtcImage) image = g_new0(DtcImage, 1);

	image->references = 1;
	image->name = g_strdup(name);
	image->data = data;
	image->bytes = bytes;
	image->release = release;
	image->owner = owner;
	const char *wrong = bytes < sizeof(struct header) ? "it is no image" : judge(image, NULL);
	if (!wrong && image->part_count != image->section_count)
		wrong = NO_PLACE;
	if (!wrong && !view_sections(image, -1))
		wrong = NO_PLACE;
	if (wrong) {
		dtc_image_refuse(image, error, wrong);
		return NULL;
	}
	return g_steal_pointer(&image);
}

bool dtc_image_is_far(const DtcImage *image)
{
	return image->release != NULL;
}

DtcImage *dtc_image_from_bytes(const void *data, gsize bytes, const char *name, GError **error)
{
	void *copy = g_memdup2(data, bytes);

	return dtc_image_take(copy, bytes, name, g_free, copy, error);
}

GBytes *dtc_image_to_bytes(const DtcImageWriter *writer, GError **error)
{
	const struct dtc_image_key key = { { 0 } };
	gsize bytes = dtc_image_writer_measure(writer);
	int file = memfd_create("image", MFD_CLOEXEC);
	g_autofree char *data = g_malloc(bytes);

	if (file < 0 || !dtc_image_write(writer, file, &key, error) || pread(file, data, bytes, 0) != (ssize_t)bytes) {
		if (error && !*error)
			fail(error, errno);
		if (file >= 0)
			close(file);
		return NULL;
	}
	close(file);
	return g_bytes_new_take(g_steal_pointer(&data), bytes);
}
