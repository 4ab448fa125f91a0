/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recorder writes nowhere but into its folder, and overwrites nothing. */
#include "collect/record/place.h"

#include "dtrace-chain/error.h"

#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char *make_folder(void)
{
	return g_dir_make_tmp("place-XXXXXX", NULL);
}

static void assert_refused(const char *path)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcPlace) place = dtc_place_create(path, &error);

	g_assert_null(place);
	g_assert_nonnull(error);
}

static guint get_mode(const char *folder, const char *name)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	struct stat status;

	g_assert_cmpint(stat(path, &status), ==, 0);
	return status.st_mode & 07777;
}

static void test_files(void)
{
	g_autofree char *folder = make_folder();
	g_autofree char *path = g_build_filename(folder, "node", NULL);
	g_autoptr(GError) error = NULL;
	mode_t before = umask(0);
	g_autoptr(DtcPlace) place = dtc_place_create(path, &error);

	g_assert_no_error(error);
	int fd = dtc_place_create_file(place, DTC_PLACE_NODE, "a", &error);
	g_assert_cmpint(fd, >=, 0);
	close(fd);
	g_assert_cmpint(dtc_place_create_file(place, DTC_PLACE_NODE, "a", NULL), <, 0);
	g_assert_true(dtc_place_write(place, DTC_PLACE_RAW, "b", "one", &error));
	g_assert_true(dtc_place_write(place, DTC_PLACE_RAW, "b", "two", &error));
	g_assert_cmpuint(get_mode(folder, "node"), ==, 0700);
	g_assert_cmpuint(get_mode(folder, "node/raw"), ==, 0700);
	g_assert_cmpuint(get_mode(folder, "node/a"), ==, 0600);
	g_assert_cmpuint(get_mode(folder, "node/raw/b"), ==, 0600);
	umask(before);
	assert_refused(path); /* is not empty */
	dtc_place_remove_file(place, DTC_PLACE_NODE, "a");
	dtc_place_abandon(place);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	g_rmdir(folder);
}

static void test_links(void)
{
	g_autofree char *folder = make_folder();
	g_autofree char *real = g_build_filename(folder, "real", NULL);
	g_autofree char *link = g_build_filename(folder, "link", NULL);
	g_autofree char *slash = g_strconcat(link, "/", NULL);
	g_autofree char *file = g_build_filename(folder, "file", NULL);
	g_autofree char *target = g_build_filename(real, "raw", "trap", NULL);

	g_assert_cmpint(g_mkdir(real, 0700), ==, 0);
	g_assert_cmpint(symlink(real, link), ==, 0);
	g_assert_true(g_file_set_contents(file, "", 0, NULL));
	assert_refused(link);
	assert_refused(slash);
	assert_refused(file);
	g_autoptr(DtcPlace) place = dtc_place_create(real, NULL);
	g_assert_nonnull(place);
	g_assert_cmpint(symlink(file, target), ==, 0);
	g_assert_cmpint(dtc_place_create_file(place, DTC_PLACE_RAW, "trap", NULL), <, 0);
	dtc_place_abandon(place);
	g_assert_true(g_file_test(real, G_FILE_TEST_IS_DIR)); /* it was there before */
	g_unlink(link);
	g_unlink(file);
	g_rmdir(real);
	g_rmdir(folder);
}

/* A folder may be named with a slash behind it, and is not there yet. */
static void test_slash(void)
{
	g_autofree char *folder = make_folder();
	g_autofree char *path = g_build_filename(folder, "node", NULL);
	g_autofree char *slash = g_strconcat(path, "//", NULL);

	g_assert_cmpuint(dtc_place_guess_free_bytes(slash), !=, G_MAXUINT64);
	g_autoptr(DtcPlace) place = dtc_place_create(slash, NULL);
	g_assert_cmpstr(dtc_place_get_path(place), ==, path);
	dtc_place_abandon(place);
	g_rmdir(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/place/files", test_files);
	g_test_add_func("/record/place/links", test_links);
	g_test_add_func("/record/place/slash", test_slash);
	return g_test_run();
}
