/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key of a cluster: what is drawn, read and written is the same, and hostile words write nothing. */
#include "collect/record/cluster/shared_key.h"

#include "dtrace-chain/error.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

static void test_drawn(void)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *a = dtc_shared_key_make(NULL, &error), *b = dtc_shared_key_make(NULL, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(strlen(a), ==, 64);
	g_assert_cmpstr(a, !=, b);
}

static void test_same_bytes(void)
{
	g_autofree char *folder = g_dir_make_tmp("dtc-key-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "mine", NULL);
	g_autoptr(GError) error = NULL;
	struct stat status;
	char *bytes;
	gsize count;

	g_assert_null(dtc_shared_key_get_option(folder));
	g_assert_true(g_file_set_contents(path, "sixteen bytes\n\xff\x01 and more", -1, NULL));
	g_autofree char *key = dtc_shared_key_make(path, &error);
	g_assert_no_error(error);
	g_assert_true(dtc_shared_key_write(folder, key));
	g_assert_false(dtc_shared_key_write(folder, key)); /* nothing is written over */
	g_autofree char *option = dtc_shared_key_get_option(folder);
	g_assert_true(g_str_has_prefix(option, "--redact-key="));
	g_assert_true(g_file_get_contents(strchr(option, '=') + 1, &bytes, &count, NULL));
	g_assert_cmpmem(bytes, count, "sixteen bytes\n\xff\x01 and more", 25);
	g_assert_cmpint(stat(strchr(option, '=') + 1, &status), ==, 0);
	g_assert_cmpuint(status.st_mode & 0777, ==, 0600);
	g_free(bytes);
	dtc_shared_key_remove(folder);
	g_assert_null(dtc_shared_key_get_option(folder));
	g_unlink(path);
	g_rmdir(folder);
}

static void test_hostile(void)
{
	g_autofree char *folder = g_dir_make_tmp("dtc-key-XXXXXX", NULL);
	g_autoptr(GError) error = NULL;
	static const char *const words[] = { "", "00", "../../etc", "0123456789ABCDEF0123456789abcdef",
					     "zz23456789abcdef0123456789abcdef" };
	for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
		g_assert_false(dtc_shared_key_write(folder, words[i]));
	g_assert_null(dtc_shared_key_get_option(folder));
	/* what has no end, or nothing in it, is no key: a pipe would be waited for, random numbers read for ever */
	static const char *const files[] = { "/nowhere/at/all", "/dev/zero", "/", "pipe" };
	g_autofree char *pipe = g_build_filename(folder, "pipe", NULL);
	g_assert_cmpint(mkfifo(pipe, 0600), ==, 0);
	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_assert_null(dtc_shared_key_make(strcmp(files[i], "pipe") == 0 ? pipe : files[i], &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND);
		g_clear_error(&error);
	}
	g_unlink(pipe);
	g_rmdir(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/shared-key/drawn", test_drawn);
	g_test_add_func("/shared-key/same-bytes", test_same_bytes);
	g_test_add_func("/shared-key/hostile", test_hostile);
	return g_test_run();
}
