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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/image/image/round-trip", test_round_trip);
	g_test_add_func("/image/image/other-sections", test_other_sections);
	g_test_add_func("/image/image/every-byte", test_every_byte);
	g_test_add_func("/image/image/lengths", test_lengths);
	g_test_add_func("/image/image/another-key", test_another_key);
	g_test_add_func("/image/image/no-image", test_no_image);
	return g_test_run();
}
