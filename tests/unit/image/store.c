/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The folder of images: found by what they were made of, or not at all; what is too much or was left behind goes. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "collect/image/store.h"

#include "collect/image/fingerprint.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIB 1024

static guint looks; /* folders that were listed */

DIR *fdopendir(int file) /* in the place of libc's */
{
	static DIR *(*next)(int file);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "fdopendir");
	looks++;
	return next(file);
}

struct fixture {
	char *root;
	char *folder; /* of the store */
	DtcStore *store;
};

static void set_up(struct fixture *f, guint64 max_bytes)
{
	f->root = g_dir_make_tmp("dtc-store-XXXXXX", NULL);
	f->folder = g_build_filename(f->root, "cache", "dtrace-chain", NULL);
	f->store = dtc_store_new(f->folder, max_bytes);
}

static void tear_down(struct fixture *f)
{
	g_autofree char *parent = g_path_get_dirname(f->folder);
	guint count;
	guint64 bytes;

	g_chmod(f->folder, 0700);
	g_assert_true(dtc_store_clear(f->store, &count, &bytes, NULL));
	dtc_store_free(f->store);
	g_rmdir(f->folder);
	g_rmdir(parent);
	g_rmdir(f->root);
	g_free(f->folder);
	g_free(f->root);
}

static struct dtc_image_key make_key(guint number)
{
	return (struct dtc_image_key){ { (uint8_t)number } };
}

static bool put(const struct fixture *f, guint number, gsize bytes)
{
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	g_autofree char *data = g_malloc0(bytes);
	struct dtc_image_key key = make_key(number);

	data[0] = (char)number;
	dtc_image_add(writer, "data", 1, data, bytes);
	return dtc_store_put(f->store, &key, writer, NULL, NULL);
}

static bool has(const struct fixture *f, guint number)
{
	struct dtc_image_key key = make_key(number);
	g_autoptr(DtcImage) image = dtc_store_find(f->store, &key);
	gsize count;
	const char *data = image ? dtc_image_get(image, "data", 1, &count, NULL) : NULL;

	g_assert_true(!image || *data == (char)number);
	return image != NULL;
}

static char *get_path(const struct fixture *f, guint index)
{
	g_autoptr(GArray) entries = dtc_store_list(f->store);

	return g_build_filename(f->folder, g_array_index(entries, struct dtc_store_entry, index).file, NULL);
}

static void test_put_and_find(void)
{
	struct fixture f;

	set_up(&f, 0);
	g_assert_false(has(&f, 1)); /* there is not even a folder */
	g_assert_true(put(&f, 1, KIB));
	g_assert_true(put(&f, 1, KIB)); /* another run was as fast */
	g_assert_true(has(&f, 1));
	g_assert_false(has(&f, 2));
	g_autoptr(GArray) entries = dtc_store_list(f.store);
	g_assert_cmpuint(entries->len, ==, 1);
	tear_down(&f);
}

/* What grew in the store's own space is kept as it is: the file that has it gets a name. */
static void test_space(void)
{
	struct fixture f;
	const struct dtc_image_key key = make_key(1);
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	static const char data[KIB] = { 1 };
	struct stat space_info, info;

	set_up(&f, 0);
	g_autoptr(DtcSpace) space = dtc_store_open_space(f.store);
	if (!space) {
		g_test_skip("the file system has no files without names");
		tear_down(&f);
		return;
	}
	g_autoptr(GArray) none = dtc_store_list(f.store);
	g_assert_cmpuint(none->len, ==, 0);
	dtc_image_add(writer, "data", 1, data, sizeof(data));
	g_assert_true(dtc_store_put(f.store, &key, writer, space, NULL));
	g_assert_true(has(&f, 1));
	g_autofree char *path = get_path(&f, 0);
	g_assert_cmpint(fstat(dtc_space_get_file(space), &space_info), ==, 0);
	g_assert_cmpint(stat(path, &info), ==, 0);
	g_assert_cmpuint(info.st_ino, ==, space_info.st_ino);
	g_assert_cmpuint(info.st_mode & 0777, ==, 0600);
	tear_down(&f); /* and nothing else is in the folder */
}

/* What is wrong with an image is nobody's problem: it is not there. */
static void test_damaged(void)
{
	struct fixture f;

	set_up(&f, 0);
	g_assert_true(put(&f, 1, KIB));
	g_autofree char *path = get_path(&f, 0);
	g_assert_cmpint(truncate(path, KIB), ==, 0);
	g_assert_false(has(&f, 1));
	g_assert_true(put(&f, 1, KIB));
	g_assert_true(has(&f, 1));
	tear_down(&f);
}

/* An image of one recording under the name of another. */
static void test_renamed(void)
{
	struct fixture f;

	set_up(&f, 0);
	g_assert_true(put(&f, 1, KIB));
	g_autofree char *path = get_path(&f, 0);
	g_autofree char *other = g_strdup(path);
	memcpy(other + strlen(f.folder) + 1, "02", 2);
	g_assert_cmpint(g_rename(path, other), ==, 0);
	g_assert_false(has(&f, 1));
	g_assert_false(has(&f, 2));
	tear_down(&f);
}

static void test_others_may_write(void)
{
	struct fixture f;

	set_up(&f, 0);
	g_assert_true(put(&f, 1, KIB));
	g_autofree char *path = get_path(&f, 0);
	g_chmod(path, 0666);
	g_assert_false(has(&f, 1));
	g_chmod(path, 0600);
	g_assert_true(has(&f, 1));
	g_chmod(f.folder, 0777);
	g_assert_false(has(&f, 1));
	g_assert_false(put(&f, 2, KIB));
	tear_down(&f);
}

static void test_link(void)
{
	struct fixture f;

	set_up(&f, 0);
	g_assert_true(put(&f, 1, KIB));
	g_autofree char *path = get_path(&f, 0);
	g_autofree char *elsewhere = g_build_filename(f.root, "image", NULL);
	g_assert_cmpint(g_rename(path, elsewhere), ==, 0);
	g_assert_cmpint(symlink(elsewhere, path), ==, 0);
	g_assert_false(has(&f, 1));
	g_unlink(elsewhere);
	g_unlink(path);
	tear_down(&f);
}

/* What was used longest ago goes first. */
static void test_eviction(void)
{
	struct fixture f;

	set_up(&f, 100 * KIB);
	for (guint i = 1; i <= 3; i++) {
		g_assert_true(put(&f, i, 28 * KIB));
		g_usleep(20000); /* the clock of the file system may tick slowly */
	}
	g_assert_true(has(&f, 1));
	g_usleep(20000);
	g_assert_true(put(&f, 4, 28 * KIB));
	g_assert_true(has(&f, 1));
	g_assert_false(has(&f, 2));
	g_assert_true(has(&f, 3));
	g_assert_true(has(&f, 4));
	g_assert_false(put(&f, 5, 200 * KIB)); /* and all others stay */
	g_assert_true(has(&f, 4));
	tear_down(&f);
}

/* Images of 500 nodes: 1,000 lists of the folder were read, and 125,000 files asked for, to keep them. */
static void test_looks(void)
{
	struct fixture f;
	guint before = looks;

	set_up(&f, 0);
	for (guint i = 0; i < 500; i++) {
		struct dtc_image_key key = { { (uint8_t)i, (uint8_t)(i >> 8) } };
		g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
		dtc_image_add(writer, "data", 1, "x", 1);
		g_assert_true(dtc_store_put(f.store, &key, writer, NULL, NULL));
	}
	g_assert_cmpuint(looks - before, <, 50);
	tear_down(&f);
}

/* What another run has put counts, and goes if it was used longest ago: at the end, if not before. */
static void test_two_runs(void)
{
	struct fixture f;

	set_up(&f, 100 * KIB);
	g_assert_true(put(&f, 1, 28 * KIB));
	struct fixture other = { .store = dtc_store_new(f.folder, 100 * KIB) };
	for (guint i = 2; i <= 4; i++) {
		g_usleep(20000);
		g_assert_true(put(i == 3 ? &other : &f, i, 28 * KIB));
	}
	g_usleep(20000);
	g_assert_true(put(&f, 5, 28 * KIB));
	dtc_store_free(other.store);
	dtc_store_free(f.store);
	f.store = dtc_store_new(f.folder, 100 * KIB);
	for (guint i = 1; i <= 5; i++)
		g_assert_cmpint(has(&f, i), ==, i > 2);
	tear_down(&f);
}

static int leave(const struct fixture *f, const char *name)
{
	g_autofree char *path = g_build_filename(f->folder, name, NULL);

	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/* A killed run's file goes with the next run that writes; one that is being written does not, nor a user's own. */
static void test_leavings(void)
{
	struct fixture f;

	set_up(&f, 0);
	g_assert_true(put(&f, 1, KIB));
	close(leave(&f, "0123456789abcdef.dtci.part"));
	close(leave(&f, "debian-12.iso.part"));
	int alive = leave(&f, "fedcba9876543210.dtci.part");
	g_assert_cmpint(flock(alive, LOCK_EX), ==, 0);
	struct fixture next = { .store = dtc_store_new(f.folder, 0) };
	g_assert_true(put(&next, 2, KIB));
	dtc_store_free(next.store);
	g_autofree char *dead_path = g_build_filename(f.folder, "0123456789abcdef.dtci.part", NULL);
	g_autofree char *alive_path = g_build_filename(f.folder, "fedcba9876543210.dtci.part", NULL);
	g_autofree char *users_path = g_build_filename(f.folder, "debian-12.iso.part", NULL);
	g_assert_false(g_file_test(dead_path, G_FILE_TEST_EXISTS));
	g_assert_true(g_file_test(alive_path, G_FILE_TEST_EXISTS));
	g_assert_true(g_file_test(users_path, G_FILE_TEST_EXISTS));
	g_assert_cmpint(g_unlink(users_path), ==, 0);
	close(alive);
	tear_down(&f);
	g_assert_false(g_file_test(alive_path, G_FILE_TEST_EXISTS));
}

static void test_unusable(void)
{
	g_autoptr(DtcStore) store = dtc_store_new("/dev/null/cache", 0);
	struct fixture f = { .store = store };
	guint count;
	guint64 bytes;

	g_assert_false(put(&f, 1, KIB));
	g_assert_false(has(&f, 1));
	g_autoptr(GArray) entries = dtc_store_list(store);
	g_assert_cmpuint(entries->len, ==, 0);
	g_assert_true(dtc_store_clear(store, &count, &bytes, NULL));
	g_assert_cmpuint(count, ==, 0);
}

/* ---- fingerprints ---- */

static bool make_file_key(const char *path, struct dtc_image_key *ret_key)
{
	g_autoptr(DtcFingerprint) fingerprint = dtc_fingerprint_new();

	dtc_fingerprint_add_path(fingerprint, path);
	return dtc_fingerprint_get_key(fingerprint, ret_key);
}

static bool is_same(const struct dtc_image_key *a, const struct dtc_image_key *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static void set_times(const char *path, gint64 time_s)
{
	const struct timespec times[2] = { { .tv_sec = time_s }, { .tv_sec = time_s } };

	g_assert_cmpint(utimensat(AT_FDCWD, path, times, 0), ==, 0);
}

/* A byte in the middle, and the modification time as it was: the time of the change itself cannot be set. */
static void test_fingerprint(void)
{
	g_autofree char *root = g_dir_make_tmp("dtc-print-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(root, "file", NULL);
	g_autofree char *data = g_malloc0(64 * KIB);
	struct dtc_image_key keys[4];

	g_assert_true(g_file_set_contents(path, data, 64 * KIB, NULL));
	set_times(path, 1000000);
	g_assert_true(make_file_key(root, &keys[0]));
	g_assert_true(make_file_key(root, &keys[1]));
	g_assert_true(is_same(&keys[0], &keys[1]));
	g_usleep(20000);
	int file = open(path, O_RDWR | O_CLOEXEC);
	g_assert_cmpint(pwrite(file, "x", 1, 32 * KIB), ==, 1);
	close(file);
	set_times(path, 1000000);
	g_assert_true(make_file_key(root, &keys[2]));
	g_assert_false(is_same(&keys[0], &keys[2]));
	g_assert_cmpint(truncate(path, 63 * KIB), ==, 0);
	g_assert_true(make_file_key(root, &keys[3]));
	g_assert_false(is_same(&keys[2], &keys[3]));
	g_unlink(path);
	g_rmdir(root);
	g_assert_false(make_file_key(path, &keys[0]));
}

static void test_settled(void)
{
	g_autofree char *path = NULL;
	int file = g_file_open_tmp("dtc-print-XXXXXX", &path, NULL);
	g_autoptr(DtcFingerprint) fingerprint = dtc_fingerprint_new();
	gint64 now_us = g_get_real_time();

	dtc_fingerprint_add_path(fingerprint, path);
	g_assert_false(dtc_fingerprint_is_settled(fingerprint, now_us));
	g_assert_true(dtc_fingerprint_is_settled(fingerprint, now_us + 3 * G_USEC_PER_SEC));
	close(file);
	g_unlink(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/image/store/put-and-find", test_put_and_find);
	g_test_add_func("/image/store/space", test_space);
	g_test_add_func("/image/store/damaged", test_damaged);
	g_test_add_func("/image/store/renamed", test_renamed);
	g_test_add_func("/image/store/others-may-write", test_others_may_write);
	g_test_add_func("/image/store/link", test_link);
	g_test_add_func("/image/store/eviction", test_eviction);
	g_test_add_func("/image/store/looks", test_looks);
	g_test_add_func("/image/store/two-runs", test_two_runs);
	g_test_add_func("/image/store/leavings", test_leavings);
	g_test_add_func("/image/store/unusable", test_unusable);
	g_test_add_func("/image/fingerprint/changes", test_fingerprint);
	g_test_add_func("/image/fingerprint/settled", test_settled);
	return g_test_run();
}
