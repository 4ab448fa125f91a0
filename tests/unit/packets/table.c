/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records that outgrow the heap are in a file, whose descriptor is not kept longer than they grow. Or they are in one
 * that several tables share, and which becomes an image.
 */
#define _GNU_SOURCE /* unshare */
#include "collect/packets/table.h"
#include "tests/support/open_files.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void append(DtcTable *table, guint begin, guint end)
{
	for (guint i = begin; i < end; i++) {
		guint64 record = (guint64)i * 7919;
		dtc_table_append(table, &record);
	}
}

static void check(const DtcTable *table, guint count)
{
	g_assert_cmpuint(table->len, ==, count);
	for (guint i = 0; i < count; i++)
		g_assert_cmpuint(*DTC_AT(table, guint64, i), ==, (guint64)i * 7919);
}

static void test_settle(void)
{
	guint before = count_open_files();
	g_autoptr(DtcTable) few = dtc_table_new(sizeof(guint64)), many = dtc_table_new(sizeof(guint64));
	append(few, 0, 100);
	append(many, 0, 100000);
	g_assert_cmpuint(count_open_files(), ==, before + 1);
	dtc_table_settle(few);
	dtc_table_settle(many);
	g_assert_cmpuint(count_open_files(), ==, before);
	check(few, 100);
	check(many, 100000);
	append(few, 100, 30000);
	append(many, 100000, 300000);
	check(few, 30000);
	check(many, 300000);
	dtc_table_settle(many);
	dtc_table_settle(few);
	g_assert_cmpuint(count_open_files(), ==, before);
	check(many, 300000);
}

/* What is made for each of many answers opens no file until it is large. */
static void test_on_heap(void)
{
	guint before = count_open_files();
	g_autoptr(DtcTable) table = dtc_table_new_on_heap(sizeof(guint64), 1 << 20);
	append(table, 0, 100000);
	g_assert_cmpuint(count_open_files(), ==, before);
	append(table, 100000, 300000);
	g_assert_cmpuint(count_open_files(), ==, before + 1);
	check(table, 300000);
}

/* What of a space has room. */
static guint64 count_bytes(const DtcSpace *space)
{
	struct stat info;
	g_assert_cmpint(fstat(dtc_space_get_file(space), &info), ==, 0);
	return (guint64)info.st_blocks * 512;
}

/* What tables gave back to a scratch space others take, also where it lies in pieces between what is still needed. */
static void test_taken_again(void)
{
	g_autoptr(DtcSpace) scratch = dtc_space_new_scratch();
	DtcTable *tables[8];
	for (guint i = 0; i < G_N_ELEMENTS(tables); i++) {
		tables[i] = dtc_table_new(sizeof(guint64));
		dtc_table_set_space(tables[i], scratch);
	}
	for (guint step = 0; step < 10; step++)
		for (guint i = 0; i < G_N_ELEMENTS(tables); i++)
			append(tables[i], step * 20000, (step + 1) * 20000);
	guint64 before = count_bytes(scratch);
	for (guint i = 0; i < G_N_ELEMENTS(tables); i += 2)
		g_clear_pointer(&tables[i], dtc_table_free);
	for (guint i = 0; i < G_N_ELEMENTS(tables); i += 2) {
		tables[i] = dtc_table_new_beside(tables[i + 1], sizeof(guint64));
		append(tables[i], 0, 200000);
	}
	g_assert_cmpuint(count_bytes(scratch), <, before + 200000 * sizeof(guint64));
	for (guint i = 0; i < G_N_ELEMENTS(tables); i++) {
		check(tables[i], 200000);
		dtc_table_free(tables[i]);
	}
}

static gpointer grow_and_free(gpointer data)
{
	for (guint round = 0; round < 20; round++) {
		g_autoptr(DtcTable) one = dtc_table_new_in(sizeof(guint64), 1 << 16, data);
		g_autoptr(DtcTable) other = dtc_table_new_beside(one, sizeof(guint64));
		for (guint step = 0; step < 5; step++) {
			append(one, step * 10000, (step + 1) * 10000);
			append(other, step * 7000, (step + 1) * 7000);
		}
		check(one, 50000);
		dtc_table_settle(other);
		check(other, 35000);
	}
	return NULL;
}

/* Threads take of one scratch space and give back to it at the same time. */
static void test_threads(void)
{
	g_autoptr(DtcSpace) scratch = dtc_space_new_scratch();
	GThread *threads[4];
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		threads[i] = g_thread_new("table", grow_and_free, scratch);
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		g_thread_join(threads[i]);
}

/* An image of tables that took turns, so that the parts of each lie among the others'. */
static DtcSpace *make_image(char **ret_path)
{
	const struct dtc_image_key key = { { 1 } };
	g_autoptr(GError) error = NULL;
	int file = g_file_open_tmp("dtc-table-XXXXXX", ret_path, &error);
	DtcSpace *space = dtc_space_new(file, DTC_SPACE_HEAD);
	g_autoptr(DtcTable) few = dtc_table_new(sizeof(guint64)), one = dtc_table_new(sizeof(guint64)),
			    other = dtc_table_new(sizeof(guint64));
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	DtcTable *const tables[] = { few, one, other };
	static const char *const names[] = { "few", "one", "other" };
	const guint ends[] = { 100, 100000, 40000 };
	g_assert_no_error(error);
	for (guint i = 0; i < G_N_ELEMENTS(tables); i++)
		dtc_table_set_space(tables[i], space);
	for (guint step = 0; step < 10; step++)
		for (guint i = 0; i < G_N_ELEMENTS(tables); i++)
			append(tables[i], ends[i] / 10 * step, ends[i] / 10 * (step + 1));
	for (guint i = 0; i < G_N_ELEMENTS(tables); i++) {
		dtc_table_settle(tables[i]);
		check(tables[i], ends[i]);
		dtc_table_save(tables[i], writer, names[i]);
	}
	g_assert_cmpuint(one->parts->len, >, 1);
	g_assert_true(dtc_image_complete(writer, space, &key, &error));
	g_assert_no_error(error);
	return space;
}

static void check_section(const DtcImage *image, const char *name, guint count)
{
	g_autoptr(GError) error = NULL;
	gsize found;
	const guint64 *records = dtc_image_get(image, name, sizeof(guint64), &found, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(found, ==, count);
	for (guint i = 0; i < count; i++)
		g_assert_cmpuint(records[i], ==, (guint64)i * 7919);
}

static void test_image(void)
{
	g_autofree char *path = NULL;
	g_autoptr(DtcSpace) space = make_image(&path);
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcImage) image = dtc_image_open(path, &error);
	g_assert_no_error(error);
	check_section(image, "few", 100);
	check_section(image, "one", 100000);
	check_section(image, "other", 40000);
	g_assert_cmpuint(dtc_image_get_bytes(image), <, (100000 + 40000 + 1000) * sizeof(guint64));
	g_unlink(path);
}

/* Whatever the header, the table or a part has instead. */
static void test_damaged_image(void)
{
	g_autofree char *path = NULL;
	g_autoptr(DtcSpace) space = make_image(&path);
	int file = dtc_space_get_file(space);
	guint8 byte, other;
	for (off_t at = 0; at < 2 * (off_t)DTC_SPACE_HEAD; at += at < 512 ? 1 : 4099) {
		g_assert_cmpint(pread(file, &byte, 1, at), ==, 1);
		for (guint bit = 0; bit < 8; bit++) {
			other = byte ^ (guint8)(1 << bit);
			g_assert_cmpint(pwrite(file, &other, 1, at), ==, 1);
			g_autoptr(DtcImage) image = dtc_image_open(path, NULL);
			g_assert_true(!image || byte == 0);
			if (image)
				check_section(image, "one", 100000);
		}
		g_assert_cmpint(pwrite(file, &byte, 1, at), ==, 1);
	}
	g_unlink(path);
}

/* A space without room, or one that is an image already. */
static void test_no_room(void)
{
	g_autofree char *path = NULL;
	g_autoptr(DtcSpace) space = make_image(&path);
	g_autoptr(DtcTable) table = dtc_table_new(sizeof(guint64));
	guint64 end = dtc_space_get_end(space);
	dtc_table_set_space(table, space);
	append(table, 0, 100000);
	check(table, 100000);
	g_assert_cmpuint(dtc_space_get_end(space), ==, end);
	g_unlink(path);
}

/* A disk that is full on the way: the table moves, and what it had there is others' again. */
static void test_full_on_the_way(void)
{
	g_autofree char *path = NULL;
	int file = g_file_open_tmp("dtc-table-XXXXXX", &path, NULL);
	g_autoptr(DtcSpace) space = dtc_space_new(file, DTC_SPACE_HEAD);
	g_autoptr(DtcTable) table = dtc_table_new(sizeof(guint64));
	struct rlimit before, full;
	g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
	dtc_table_set_space(table, space);
	append(table, 0, 20000);
	guint64 end = dtc_space_get_end(space);
	g_assert_cmpuint(end, >, DTC_SPACE_HEAD);
	full = (struct rlimit){ .rlim_cur = end, .rlim_max = before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &full), ==, 0);
	append(table, 20000, 100000);
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
	check(table, 100000);
	g_assert_cmpuint(dtc_space_get_end(space), ==, DTC_SPACE_HEAD);
	g_unlink(path);
}

/* A disk of one MiB, of this process alone; NULL: none can be had. */
static const char *mount_small_disk(void)
{
	const char *path = g_get_tmp_dir();

	if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return NULL;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("small", path, "tmpfs", 0, "size=1m") != 0)
		return NULL;
	return path;
}

/* Parts can be taken of a disk that has no room for them: what is filled tells. No record is lost, and no signal comes.
 */
static void test_full_disk(void)
{
	const char *disk = mount_small_disk();

	if (!disk) {
		g_test_skip("no disk may be mounted");
		return;
	}
	g_autofree char *path = g_build_filename(disk, "space", NULL);
	g_autoptr(DtcSpace) space = dtc_space_new(open(path, O_CREAT | O_RDWR, 0600), 0);
	g_autoptr(DtcTable) shared = dtc_table_new(sizeof(guint64)), own = dtc_table_new(sizeof(guint64));
	dtc_table_set_space(shared, space);
	for (guint i = 0; i < 10; i++) {
		append(shared, i * 50000, (i + 1) * 50000);
		append(own, i * 50000, (i + 1) * 50000);
	}
	check(shared, 500000);
	check(own, 500000);
	g_assert_null(own->space);
	dtc_table_settle(shared);
	dtc_table_settle(own);
	append(own, 500000, 600000);
	check(own, 600000);
}

/* What had no room in its file before it settled is not there after. */
static void test_grow_after_settling(void)
{
	g_autoptr(DtcTable) table = dtc_table_new(sizeof(guint64));

	for (guint i = 0; i < 8; i++) {
		append(table, i * 40000, (i + 1) * 40000);
		dtc_table_settle(table);
	}
	check(table, 320000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/table/settle", test_settle);
	g_test_add_func("/table/on-heap", test_on_heap);
	g_test_add_func("/table/taken-again", test_taken_again);
	g_test_add_func("/table/threads", test_threads);
	g_test_add_func("/table/image", test_image);
	g_test_add_func("/table/damaged-image", test_damaged_image);
	g_test_add_func("/table/no-room", test_no_room);
	g_test_add_func("/table/full-on-the-way", test_full_on_the_way);
	g_test_add_func("/table/grow-after-settling", test_grow_after_settling);
	g_test_add_func("/table/full-disk", test_full_disk); /* last: $TMPDIR is that disk after it */
	return g_test_run();
}
