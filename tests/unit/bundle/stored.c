/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is packed without a library is read like any other packed bundle, byte for byte. */
#include "collect/bundle/stored.h"
#include "collect/bundle/pack.h"
#include "collect/bundle/scratch.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK ((gsize)128 * 1024) /* of the frame: sizes around it are the odd ones */

static const gsize sizes[] = { 0, 1, 511, 512, 513, BLOCK - 513, BLOCK, BLOCK + 1, 3 * BLOCK + 77 };

static char *make_name(guint number)
{
	g_autofree char *part = g_strnfill(120, 'a');

	return number % 2 ? g_strdup_printf("web/kernel/%u", number) : g_strdup_printf("web/%s/%u", part, number);
}

static char *make_bytes(guint number)
{
	char *bytes = g_malloc(sizes[number] + 1);

	for (gsize i = 0; i < sizes[number]; i++)
		bytes[i] = (char)(i * 31 + i / 251 + number);
	return bytes;
}

/* In portions of that size, as they come from a file. */
static void add_entry(void *packer, guint number, gsize portion)
{
	g_autofree char *name = make_name(number);
	g_autofree char *bytes = make_bytes(number);

	g_assert_true(dtc_packer_stored.begin(packer, name, sizes[number], NULL));
	for (gsize done = 0; done < sizes[number]; done += portion)
		g_assert_true(dtc_packer_stored.write(packer, bytes + done, MIN(portion, sizes[number] - done), NULL));
}

static void pack(const char *path, gsize portion)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	void *packer = dtc_packer_stored.open(fd, path, NULL);

	g_assert_nonnull(packer);
	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
		add_entry(packer, i, portion);
	g_assert_true(dtc_packer_stored.finish(packer, NULL));
	dtc_packer_stored.free(packer);
	close(fd);
}

static void assert_unpacked(const char *folder)
{
	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autofree char *name = make_name(i);
		g_autofree char *path = g_build_filename(folder, name, NULL);
		g_autofree char *expected = make_bytes(i);
		g_autofree char *got = NULL;
		gsize bytes;
		g_assert_true(g_file_get_contents(path, &got, &bytes, NULL));
		g_assert_cmpmem(got, bytes, expected, sizes[i]);
	}
}

static void test_identity(void)
{
	static const gsize portions[] = { 7, 4096, 1000000 };

	for (guint i = 0; i < G_N_ELEMENTS(portions); i++) {
		g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
		g_autofree char *path = g_build_filename(dtc_scratch_get_path(scratch), "a.dtcb", NULL);
		g_autofree char *folder = g_build_filename(dtc_scratch_get_path(scratch), "out", NULL);
		g_autoptr(GError) error = NULL;
		enum dtc_seal seal;
		pack(path, portions[i]);
		g_assert_true(dtc_pack_check_seal(path, &seal, NULL));
		g_assert_cmpint(seal, ==, DTC_SEAL_INTACT);
		g_mkdir(folder, 0700);
		g_assert_true(dtc_unpack(path, folder, NULL, NULL, &error));
		g_assert_no_error(error);
		assert_unpacked(folder);
	}
}

/* An entry is of the size that was told, or the archive is none. */
static void test_sizes(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *path = g_build_filename(dtc_scratch_get_path(scratch), "a.dtcb", NULL);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	void *packer = dtc_packer_stored.open(fd, path, NULL);

	g_assert_true(dtc_packer_stored.begin(packer, "a", 3, NULL));
	g_assert_false(dtc_packer_stored.write(packer, "abcd", 4, NULL));
	g_assert_true(dtc_packer_stored.write(packer, "ab", 2, NULL));
	g_assert_false(dtc_packer_stored.begin(packer, "b", 0, NULL));
	dtc_packer_stored.free(packer);
	close(fd);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/stored/identity", test_identity);
	g_test_add_func("/stored/sizes", test_sizes);
	return g_test_run();
}
