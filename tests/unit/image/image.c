/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The container of images: what goes in comes out, and what was changed on the way is refused. */
#include "collect/image/image.h"
#include "dtrace-chain/error.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

struct record {
	uint64_t a;
	uint32_t b;
	uint32_t c;
};

static const struct dtc_image_key key = { { 1, 2, 3 } };

/* An image of three sections, one of them empty. Caller frees; the file stays open. */
static char *write_image(int *ret_file)
{
	static const char *const strings[] = { "", "web", "back end" };
	struct record records[100];
	char *path = NULL;
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	g_autoptr(GError) error = NULL;

	*ret_file = g_file_open_tmp("dtc-image-XXXXXX", &path, &error);
	g_assert_no_error(error);
	for (guint i = 0; i < G_N_ELEMENTS(records); i++)
		records[i] = (struct record){ i * UINT64_C(1000000007), i, ~i };
	dtc_image_add(writer, "records", sizeof(struct record), records, G_N_ELEMENTS(records));
	dtc_image_add(writer, "nothing", 4, NULL, 0);
	dtc_image_add_strings(writer, "strings", strings, G_N_ELEMENTS(strings));
	g_assert_true(dtc_image_write(writer, *ret_file, &key, &error));
	g_assert_no_error(error);
	return path;
}

static void test_round_trip(void)
{
	int file;
	g_autofree char *path = write_image(&file);
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcImage) image = dtc_image_map(file, path, &key, &error);
	gsize count;

	g_assert_no_error(error);
	const struct record *records = dtc_image_get(image, "records", sizeof(struct record), &count, &error);
	g_assert_cmpuint(count, ==, 100);
	g_assert_cmpuint((uintptr_t)records % 64, ==, 0);
	for (guint i = 0; i < count; i++)
		g_assert_true(records[i].a == i * UINT64_C(1000000007) && records[i].b == i && records[i].c == ~i);
	g_assert_nonnull(dtc_image_get(image, "nothing", 4, &count, &error));
	g_assert_cmpuint(count, ==, 0);
	g_autofree const char **strings = dtc_image_get_strings(image, "strings", &count, &error);
	g_assert_cmpuint(count, ==, 3);
	g_assert_cmpstr(strings[0], ==, "");
	g_assert_cmpstr(strings[2], ==, "back end");
	g_assert_null(strings[3]);
	close(file);
	g_unlink(path);
}

/* A section that is not there, one of other records, and one that is more than one. */
static void test_other_sections(void)
{
	int file;
	g_autofree char *path = write_image(&file);
	g_autoptr(DtcImage) image = dtc_image_map(file, path, NULL, NULL);
	gsize count;
	g_autoptr(GError) absent = NULL;
	g_autoptr(GError) other = NULL;
	g_autoptr(GError) several = NULL;

	g_assert_null(dtc_image_get(image, "absent", 4, &count, &absent));
	g_assert_error(absent, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	g_assert_null(dtc_image_get(image, "records", sizeof(struct record) / 2, &count, &other));
	g_assert_error(other, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	g_assert_null(dtc_image_get_one(image, "records", sizeof(struct record), &several));
	g_assert_error(several, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	close(file);
	g_unlink(path);
}

static void expect_refused(int file, const char *what)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcImage) image = dtc_image_map(file, what, &key, &error);

	g_assert_null(image);
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
}

/* Whichever byte is another one: but for the zeros between sections, which nobody looks at. */
static void test_every_byte(void)
{
	int file;
	g_autofree char *path = write_image(&file);
	guint8 byte;
	guint accepted = 0;

	for (off_t at = 0; pread(file, &byte, 1, at) == 1; at++) {
		guint8 other = byte ^ 0x40;
		g_assert_cmpint(pwrite(file, &other, 1, at), ==, 1);
		g_autoptr(DtcImage) image = dtc_image_map(file, path, &key, NULL);
		accepted += image != NULL;
		g_assert_true(!image || byte == 0);
		g_assert_cmpint(pwrite(file, &byte, 1, at), ==, 1);
	}
	g_assert_cmpuint(accepted, <, 3 * 64);
	close(file);
	g_unlink(path);
}

static void test_lengths(void)
{
	int file;
	g_autofree char *path = write_image(&file);
	off_t bytes = lseek(file, 0, SEEK_END);

	g_assert_cmpint(ftruncate(file, bytes + 1), ==, 0);
	expect_refused(file, "longer");
	for (off_t at = bytes - 1; at >= 0; at -= 7) {
		g_assert_cmpint(ftruncate(file, at), ==, 0);
		expect_refused(file, "shorter");
	}
	close(file);
	g_unlink(path);
}

static void test_another_key(void)
{
	int file;
	g_autofree char *path = write_image(&file);
	const struct dtc_image_key other = { { 1, 2, 4 } };
	g_autoptr(GError) error = NULL;

	g_assert_null(dtc_image_map(file, path, &other, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	close(file);
	g_unlink(path);
}

static void test_no_image(void)
{
	g_autoptr(GError) absent = NULL;
	g_autoptr(GError) folder = NULL;

	g_assert_null(dtc_image_open("/nonexistent/image", &absent));
	g_assert_error(absent, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND);
	g_assert_null(dtc_image_open(g_get_tmp_dir(), &folder));
	g_assert_error(folder, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
}

/* ---- tables that were meant to be wrong: hashes are made anew, as whoever can write the file can ---- */

/* Places in the file, as docs/formats.md has them. */
#define HEADER_BYTES 80
#define SECTION_BYTES 56
#define SECTION_COUNT_AT 24
#define PART_COUNT_AT 28
#define TABLE_HASH_AT 64
#define HEADER_HASH_AT 72
#define SECTION(index, at) (HEADER_BYTES + (index)*SECTION_BYTES + (at))
#define NAME 0
#define BYTES 24
#define HASH 32
#define RECORD_BYTES 40
#define PART_FIRST 44
#define PART_COUNT 48
#define PART(index, at) (HEADER_BYTES + 2 * SECTION_BYTES + (index)*16 + (at))
#define PART_OFFSET 0
#define PART_BYTES 8
#define K64 UINT64_C(65536)
#define FIRST_BYTES (2 * K64 + 100)
#define ZEROS_MAX (16 * K64)

static void put(int file, off_t at, uint64_t value, gsize bytes)
{
	g_assert_cmpint(pwrite(file, &value, bytes, at), ==, (ssize_t)bytes);
}

/* All sections are zeros, wherever and however long they are. */
static void hash_again(int file)
{
	g_autofree char *zeros = g_malloc0(ZEROS_MAX);
	char head[1024];
	uint32_t section_count, part_count;

	for (guint i = 0; i < 2; i++) {
		uint64_t bytes;
		g_assert_cmpint(pread(file, &bytes, sizeof(bytes), SECTION(i, BYTES)), ==, sizeof(bytes));
		put(file, SECTION(i, HASH), dtc_image_hash(zeros, MIN(bytes, ZEROS_MAX)), 8);
	}
	g_assert_cmpint(pread(file, head, sizeof(head), 0), ==, sizeof(head));
	memcpy(&section_count, head + SECTION_COUNT_AT, sizeof(section_count));
	memcpy(&part_count, head + PART_COUNT_AT, sizeof(part_count));
	put(file, TABLE_HASH_AT, dtc_image_hash(head + HEADER_BYTES, section_count * SECTION_BYTES + part_count * 16),
	    8);
	g_assert_cmpint(pread(file, head, sizeof(head), 0), ==, sizeof(head));
	put(file, HEADER_HASH_AT, dtc_image_hash(head, HEADER_HASH_AT), 8);
}

/* Two sections that grew in turns: the first has parts 0 to 2, the last of them of 100 bytes, the other 3 and 4. */
static char *write_parts(int *ret_file)
{
	g_autofree char *zeros = g_malloc0(3 * K64);
	char *path = NULL;
	struct dtc_part parts[5];
	g_autoptr(GError) error = NULL;

	*ret_file = g_file_open_tmp("dtc-image-XXXXXX", &path, &error);
	g_assert_no_error(error);
	g_autoptr(DtcSpace) space = dtc_space_new(dup(*ret_file), DTC_SPACE_HEAD);
	for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
		bool has_room;
		g_assert_true(dtc_space_take(space, K64, &parts[i], &has_room));
	}
	const struct dtc_part first[] = { parts[0], parts[2], parts[4] }, other[] = { parts[1], parts[3] };
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	dtc_image_add_placed(writer, "first", 4, zeros, FIRST_BYTES / 4, space, first);
	dtc_image_add_placed(writer, "other", 4, zeros, 2 * K64 / 4, space, other);
	g_assert_true(dtc_image_complete(writer, space, &key, &error));
	g_assert_no_error(error);
	return path;
}

/* Numbers in the tables that are others; bytes 0: no more. */
struct wrong {
	const char *what;
	struct {
		off_t at;
		guint bytes;
		uint64_t value;
	} puts[5];
};

static const struct wrong wrongs[] = {
	{ "offset beyond the file", { { PART(1, PART_OFFSET), 8, 100 * K64 } } },
	{ "offset that wraps", { { PART(1, PART_OFFSET), 8, UINT64_MAX / K64 *K64 } } },
	{ "offset inside of a page", { { PART(1, PART_OFFSET), 8, K64 + 64 } } },
	{ "end beyond the file", { { PART(1, PART_OFFSET), 8, 6 * K64 } } },
	{ "bytes that wrap", { { PART(2, PART_BYTES), 8, UINT64_MAX }, { SECTION(0, BYTES), 8, 2 * K64 - 1 } } },
	{ "part that ends in a page",
	  { { PART(0, PART_BYTES), 8, K64 - 64 }, { SECTION(0, BYTES), 8, FIRST_BYTES - 64 } } },
	{ "part without bytes", { { PART(0, PART_BYTES), 8, 0 }, { SECTION(0, BYTES), 8, FIRST_BYTES - K64 } } },
	{ "first part beyond the table", { { SECTION(1, PART_FIRST), 4, 6 } } },
	{ "first part that wraps", { { SECTION(1, PART_FIRST), 4, UINT32_MAX } } },
	{ "more parts than there are", { { SECTION(1, PART_COUNT), 4, 3 } } },
	{ "parts that wrap", { { SECTION(1, PART_COUNT), 4, UINT32_MAX - 1 } } },
	{ "no parts", { { SECTION(1, PART_COUNT), 4, 0 }, { SECTION(1, BYTES), 8, 0 } } },
	{ "fewer bytes than the parts", { { SECTION(1, BYTES), 8, K64 } } },
	{ "more bytes than the parts", { { SECTION(1, BYTES), 8, 3 * K64 } } },
	{ "records without bytes", { { SECTION(1, RECORD_BYTES), 4, 0 } } },
	{ "the begin of a record", { { SECTION(1, RECORD_BYTES), 4, 3 } } },
	{ "name without end",
	  { { SECTION(1, NAME), 8, UINT64_MAX },
	    { SECTION(1, 8), 8, UINT64_MAX },
	    { SECTION(1, 16), 8, UINT64_MAX } } },
	/* a small file of which much would be mapped */
	{ "parts of another section",
	  { { SECTION(1, PART_FIRST), 4, 0 },
	    { SECTION(1, PART_COUNT), 4, 3 },
	    { SECTION(1, BYTES), 8, FIRST_BYTES } } },
	{ "more than the file",
	  { { PART(3, PART_OFFSET), 8, K64 },
	    { PART(3, PART_BYTES), 8, 5 * K64 },
	    { PART(4, PART_OFFSET), 8, K64 },
	    { PART(4, PART_BYTES), 8, 5 * K64 },
	    { SECTION(1, BYTES), 8, 10 * K64 } } },
};

static void test_wrong_tables(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(wrongs); i++) {
		int file;
		g_autofree char *path = write_parts(&file);
		hash_again(file);
		g_autoptr(DtcImage) right = dtc_image_map(file, path, &key, NULL);
		g_assert_nonnull(right);
		for (guint k = 0; k < G_N_ELEMENTS(wrongs[i].puts) && wrongs[i].puts[k].bytes; k++)
			put(file, wrongs[i].puts[k].at, wrongs[i].puts[k].value, wrongs[i].puts[k].bytes);
		hash_again(file);
		expect_refused(file, wrongs[i].what);
		close(file);
		g_unlink(path);
	}
}

/* Strings without letters, of which each byte of the file would be eight of memory. */
static void test_many_strings(void)
{
	const gsize count = (1 << 24) + 1;
	g_autofree char *zeros = g_malloc0(count), *path = NULL;
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	g_autoptr(GError) error = NULL;
	int file = g_file_open_tmp("dtc-image-XXXXXX", &path, NULL);
	gsize found;

	dtc_image_add(writer, "some", 1, zeros, 100);
	dtc_image_add(writer, "many", 1, zeros, count);
	g_assert_true(dtc_image_write(writer, file, &key, NULL));
	g_autoptr(DtcImage) image = dtc_image_map(file, path, &key, NULL);
	g_autofree const char **some = dtc_image_get_strings(image, "some", &found, NULL);
	g_assert_nonnull(some);
	g_assert_cmpuint(found, ==, 100);
	g_assert_null(dtc_image_get_strings(image, "many", &found, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	close(file);
	g_unlink(path);
}

/* As another process shows it: an image like the file, in whatever parts it is asked for, and taken from memory. */
static void test_elsewhere(void)
{
	int file;
	g_autofree char *path = write_image(&file);
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcImage) image = dtc_image_map(file, path, &key, &error);
	gsize bytes, count;

	g_assert_no_error(error);
	bytes = dtc_image_get_shown_bytes(image);
	g_autofree char *wanted = g_malloc(bytes), *shown = g_malloc(bytes);
	dtc_image_copy_file(image, 0, bytes, wanted);
	for (gsize step = 1; step <= bytes; step = step * 3 + 1) {
		memset(shown, 'x', bytes);
		for (gsize at = 0; at < bytes; at += step)
			dtc_image_copy_file(image, at, MIN(step, bytes - at), shown + at);
		g_assert_cmpmem(shown, bytes, wanted, bytes);
	}
	g_autoptr(DtcImage) taken = dtc_image_from_bytes(shown, bytes, "taken", &error);
	g_assert_no_error(error);
	const struct record *records = dtc_image_get(taken, "records", sizeof(struct record), &count, &error);
	g_assert_cmpuint(count, ==, 100);
	for (guint i = 0; i < count; i++)
		g_assert_true(records[i].a == i * UINT64_C(1000000007) && records[i].b == i && records[i].c == ~i);
	g_autofree const char **strings = dtc_image_get_strings(taken, "strings", &count, &error);
	g_assert_cmpuint(count, ==, 3);
	g_assert_cmpstr(strings[2], ==, "back end");
	g_assert_null(dtc_image_from_bytes(shown, bytes - 64, "short", NULL));
	g_assert_null(dtc_image_from_bytes(shown, 7, "shorter", NULL));
	close(file);
	g_unlink(path);
}

/* The begin of what is shown has what is before the first large section, and the small ones behind it. */
static void test_elsewhere_small_first(void)
{
	static const char *const strings[] = { "", "web" };
	guint32 leading[200], large[2000], medium[200];
	gsize count;

	for (guint i = 0; i < G_N_ELEMENTS(large); i++)
		leading[i % 200] = medium[i % 200] = large[i] = i + 1;
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	dtc_image_add(writer, "leading", 4, leading, G_N_ELEMENTS(leading));
	dtc_image_add(writer, "large", 4, large, G_N_ELEMENTS(large));
	dtc_image_add(writer, "medium", 4, medium, G_N_ELEMENTS(medium));
	dtc_image_add_strings(writer, "strings", strings, G_N_ELEMENTS(strings));
	g_autoptr(GBytes) written = dtc_image_to_bytes(writer, NULL);
	g_autoptr(DtcImage) image =
		dtc_image_from_bytes(g_bytes_get_data(written, NULL), g_bytes_get_size(written), "written", NULL);
	gsize bytes = dtc_image_get_shown_bytes(image), begin_bytes = dtc_image_get_begin_bytes(image);
	char *shown = g_malloc0(bytes);

	dtc_image_copy_file(image, 0, (begin_bytes + 4095) / 4096 * 4096, shown); /* as it is sent */
	g_autoptr(DtcImage) taken = dtc_image_take(shown, bytes, "taken", g_free, shown, NULL);
	g_autofree const char **seen = dtc_image_get_strings(taken, "strings", &count, NULL);
	g_assert_cmpuint(count, ==, 2);
	g_assert_cmpstr(seen[1], ==, "web");
	const guint32 *records = dtc_image_get(taken, "leading", 4, &count, NULL);
	g_assert_cmpmem(records, 4 * count, leading, sizeof(leading));
	records = dtc_image_get(taken, "large", 4, &count, NULL);
	g_assert_cmpuint(count, ==, G_N_ELEMENTS(large));
	g_assert_cmpuint((uintptr_t)records % 64, ==, (uintptr_t)shown % 64);
	for (guint i = 0; i < count; i++)
		g_assert_cmpuint(records[i], ==, 0);
	records = dtc_image_get(taken, "medium", 4, &count, NULL);
	g_assert_cmpuint(records[0], ==, 0);
	dtc_image_copy_file(image, 0, bytes, shown);
	g_assert_cmpmem(records, 4 * count, medium, sizeof(medium));
	records = dtc_image_get(taken, "large", 4, &count, NULL);
	g_assert_cmpmem(records, 4 * count, large, sizeof(large));
}

/* One that became of a space is shown as if it had been written. */
static void test_elsewhere_of_space(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	char *path = NULL;
	int file = g_file_open_tmp("dtc-image-XXXXXX", &path, &error);
	g_autofree char *own = path, *parts_data = g_malloc(3 * DTC_PART_ALIGNMENT);
	struct dtc_part parts[2];
	gsize count;

	g_assert_cmpint(ftruncate(file, DTC_SPACE_HEAD), ==, 0);
	g_autoptr(DtcSpace) space = dtc_space_new(file, DTC_SPACE_HEAD);
	for (gsize i = 0; i < 3 * DTC_PART_ALIGNMENT; i++)
		parts_data[i] = (char)(i * 31 >> 4);
	for (guint i = 0; i < 2; i++) {
		bool has_room;
		g_assert_true(dtc_space_take(space, (i + 1) * DTC_PART_ALIGNMENT, &parts[i], &has_room));
		g_assert_cmpint(
			pwrite(file, parts_data + (i ? DTC_PART_ALIGNMENT : 0), parts[i].bytes, (off_t)parts[i].offset),
			==, (ssize_t)parts[i].bytes);
	}
	gsize placed = 3 * DTC_PART_ALIGNMENT - 100;
	dtc_image_add_copy(writer, "first", 1, "abc", 3);
	dtc_image_add_placed(writer, "placed", 1, parts_data, placed, space, parts);
	dtc_image_add_copy(writer, "last", 1, "xyz", 3);
	g_assert_true(dtc_image_complete(writer, space, &key, &error));
	g_autoptr(DtcImage) image = dtc_image_map(file, "space", &key, &error);
	g_assert_no_error(error);
	gsize bytes = dtc_image_get_shown_bytes(image);
	g_autofree char *shown = g_malloc(bytes);
	dtc_image_copy_file(image, 0, bytes, shown);
	g_autoptr(DtcImage) taken = dtc_image_from_bytes(shown, bytes, "taken", &error);
	g_assert_no_error(error);
	const char *data = dtc_image_get(taken, "placed", 1, &count, &error);
	g_assert_cmpmem(data, count, parts_data, placed);
	data = dtc_image_get(taken, "last", 1, &count, &error);
	g_assert_cmpmem(data, count, "xyz", 3);
	g_unlink(own);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/image/image/round-trip", test_round_trip);
	g_test_add_func("/image/image/other-sections", test_other_sections);
	g_test_add_func("/image/image/every-byte", test_every_byte);
	g_test_add_func("/image/image/lengths", test_lengths);
	g_test_add_func("/image/image/another-key", test_another_key);
	g_test_add_func("/image/image/no-image", test_no_image);
	g_test_add_func("/image/image/wrong-tables", test_wrong_tables);
	g_test_add_func("/image/image/many-strings", test_many_strings);
	g_test_add_func("/image/elsewhere", test_elsewhere);
	g_test_add_func("/image/elsewhere/small-first", test_elsewhere_small_first);
	g_test_add_func("/image/elsewhere-of-space", test_elsewhere_of_space);
	return g_test_run();
}
