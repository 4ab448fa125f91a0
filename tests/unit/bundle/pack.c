/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Archives from anywhere: what is good is unpacked, what is hostile is refused by name, and nothing leaves the folder.
 */
#include "collect/bundle/pack.h"
#include "collect/bundle/scratch.h"
#include "dtrace-chain/error.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct entry {
	const char *path;
	unsigned type;
	const char *link; /* target */
	const char *data;
};

/* An archive as anybody could make it. */
static char *write_archive(const char *folder, const struct entry *entries, guint count)
{
	char *path = g_build_filename(folder, "made.dtcb", NULL);
	struct archive *writer = archive_write_new();

	archive_write_set_format_pax_restricted(writer);
	archive_write_add_filter_zstd(writer);
	g_assert_cmpint(archive_write_open_filename(writer, path), ==, ARCHIVE_OK);
	for (guint i = 0; i < count; i++) {
		struct archive_entry *header = archive_entry_new();
		gsize bytes = entries[i].data ? strlen(entries[i].data) : 0;
		archive_entry_set_pathname(header, entries[i].path);
		archive_entry_set_perm(header, 0777);
		archive_entry_set_size(header, (la_int64_t)bytes);
		if (entries[i].type)
			archive_entry_set_filetype(header, entries[i].type);
		if (entries[i].link && entries[i].type == AE_IFLNK)
			archive_entry_set_symlink(header, entries[i].link);
		else if (entries[i].link)
			archive_entry_set_hardlink(header, entries[i].link);
		g_assert_cmpint(archive_write_header(writer, header), >=, ARCHIVE_WARN);
		if (bytes)
			g_assert_cmpint(archive_write_data(writer, entries[i].data, bytes), ==, (la_ssize_t)bytes);
		archive_entry_free(header);
	}
	g_assert_cmpint(archive_write_free(writer), ==, ARCHIVE_OK);
	return path;
}

static guint count_names(const char *folder)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	guint count = 0;
	while (dir && g_dir_read_name(dir))
		count++;
	return count;
}

static void assert_content(const char *folder, const char *name, const char *want)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	g_autofree char *got = NULL;
	g_assert_true(g_file_get_contents(path, &got, NULL, NULL));
	g_assert_cmpstr(got, ==, want);
}

static void test_good(void)
{
	static const struct entry entries[] = {
		{ "./", AE_IFDIR, NULL, NULL },
		{ "./web/", AE_IFDIR, NULL, NULL },
		{ "./web/kernel/metadata", AE_IFREG, NULL, "text" },
		{ "web/kernel/ch0_0", AE_IFREG, NULL, "stream" },
		{ "empty", AE_IFDIR, NULL, NULL },
		{ "web.pcap", AE_IFREG, NULL, "" },
	};
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *path = write_archive(dtc_scratch_get_path(scratch), entries, G_N_ELEMENTS(entries));
	g_autofree char *folder = g_build_filename(dtc_scratch_get_path(scratch), "out", NULL);
	g_autoptr(GError) error = NULL;

	g_mkdir(folder, 0700);
	g_assert_true(dtc_unpack(path, folder, NULL, NULL, &error));
	g_assert_no_error(error);
	assert_content(folder, "web/kernel/metadata", "text");
	assert_content(folder, "web/kernel/ch0_0", "stream");
	assert_content(folder, "web.pcap", "");
	g_assert_cmpuint(count_names(folder), ==, 3);
	/* it is readable all the same that it was not made by bundle create */
	enum dtc_seal seal;
	g_assert_true(dtc_pack_check_seal(path, &seal, &error));
	g_assert_cmpint(seal, ==, DTC_SEAL_MISSING);
}

static void test_hostile(void)
{
	static const struct {
		const char *what;
		struct entry entries[2];
	} cases[] = {
		{ "absolute", { { "/absolute", AE_IFREG, NULL, "x" } } },
		{ "up", { { "../up", AE_IFREG, NULL, "x" } } },
		{ "up again", { { "web/../../up", AE_IFREG, NULL, "x" } } },
		{ "up in a folder", { { "web/..", AE_IFDIR, NULL, NULL } } },
		{ "after dot", { { ".//../up", AE_IFREG, NULL, "x" } } },
		{ "symbolic link", { { "link", AE_IFLNK, "/etc", NULL } } },
		{ "through a link", { { "link", AE_IFLNK, "..", NULL }, { "link/up", AE_IFREG, NULL, "x" } } },
		{ "hard link", { { "file", AE_IFREG, NULL, "x" }, { "link", AE_IFREG, "file", NULL } } },
		{ "hard link out", { { "link", AE_IFREG, "../../made.dtcb", NULL } } },
		{ "character device", { { "device", AE_IFCHR, NULL, NULL } } },
		{ "block device", { { "device", AE_IFBLK, NULL, NULL } } },
		{ "fifo", { { "fifo", AE_IFIFO, NULL, NULL } } },
		{ "twice", { { "file", AE_IFREG, NULL, "x" }, { "file", AE_IFREG, NULL, "y" } } },
		{ "folder over file", { { "file", AE_IFREG, NULL, "x" }, { "file/in", AE_IFREG, NULL, "y" } } },
		{ "file over folder", { { "web/file", AE_IFREG, NULL, "x" }, { "web", AE_IFREG, NULL, "y" } } },
		{ "control", { { "a\033[31mb", AE_IFREG, NULL, "x" } } },
		{ "newline", { { "a\nb", AE_IFREG, NULL, "x" } } },
		{ "empty part", { { "a//b", AE_IFREG, NULL, "x" } } },
		{ "deep", { { "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", AE_IFREG, NULL, "x" } } },
		{ "bytes", { { "a\xff\xfe", AE_IFREG, NULL, "x" } } },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
		guint count = cases[i].entries[1].path ? 2 : 1;
		g_autofree char *path = write_archive(dtc_scratch_get_path(scratch), cases[i].entries, count);
		g_autofree char *folder = g_build_filename(dtc_scratch_get_path(scratch), "out", NULL);
		g_autoptr(GError) error = NULL;

		g_test_message("%s", cases[i].what);
		g_mkdir(folder, 0700);
		g_assert_false(dtc_unpack(path, folder, NULL, NULL, &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
		g_assert_nonnull(strchr(error->message, '\n')); /* a hint */
		for (const char *c = error->message; *c; c++)
			g_assert_true(*c == '\n' || (unsigned char)*c >= 0x20);
		/* beside the archive and the folder there is nothing */
		g_assert_cmpuint(count_names(dtc_scratch_get_path(scratch)), ==, 2);
	}
	g_assert_false(g_file_test("/absolute", G_FILE_TEST_EXISTS));
}

static void test_limits(void)
{
	static const struct entry entries[] = { { "a", AE_IFREG, NULL, "12345" }, { "b", AE_IFREG, NULL, "67890" } };
	static const struct {
		struct dtc_unpack_limits limits;
		bool fits;
	} cases[] = {
		{ { .max_bytes = 10, .max_files = 2 }, true },
		{ { .max_bytes = 9, .max_files = 2 }, false },
		{ { .max_bytes = 10, .max_files = 1 }, false },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
		g_autofree char *path = write_archive(dtc_scratch_get_path(scratch), entries, G_N_ELEMENTS(entries));
		g_autofree char *folder = g_build_filename(dtc_scratch_get_path(scratch), "out", NULL);
		g_autoptr(GError) error = NULL;

		g_mkdir(folder, 0700);
		g_assert_cmpint(dtc_unpack(path, folder, &cases[i].limits, NULL, &error), ==, cases[i].fits);
		if (!cases[i].fits)
			g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE);
	}
}

/* A file of a hundred megabytes in a few kilobytes: not a byte of it is written. */
static void test_bomb(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *path = g_build_filename(dtc_scratch_get_path(scratch), "bomb.dtcb", NULL);
	g_autofree char *folder = g_build_filename(dtc_scratch_get_path(scratch), "out", NULL);
	g_autofree char *file = g_build_filename(folder, "zeros", NULL);
	const struct dtc_unpack_limits limits = { .max_bytes = 1 << 20 };
	g_autoptr(GError) error = NULL;
	enum { MEGABYTES = 100 };

	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	g_autoptr(DtcPacker) packer = dtc_packer_new(fd, path, NULL);
	g_autofree char *zeros = g_malloc0(1 << 20);
	g_assert_true(dtc_packer_begin(packer, "zeros", (guint64)MEGABYTES << 20, NULL));
	for (guint i = 0; i < MEGABYTES; i++)
		g_assert_true(dtc_packer_write(packer, zeros, 1 << 20, NULL));
	g_assert_true(dtc_packer_finish(packer, NULL));
	close(fd);
	g_mkdir(folder, 0700);
	g_assert_false(dtc_unpack(path, folder, &limits, NULL, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE);
	g_assert_nonnull(strstr(error->message, "--max-unpacked"));
	g_assert_false(g_file_test(file, G_FILE_TEST_EXISTS));
}

static GBytes *pack(const char *folder, const char *name)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	char *data;
	gsize bytes;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	g_autoptr(DtcPacker) packer = dtc_packer_new(fd, path, NULL);

	g_assert_true(dtc_packer_begin(packer, "web/kernel/metadata", 4, NULL));
	g_assert_true(dtc_packer_write(packer, "text", 4, NULL));
	g_assert_true(dtc_packer_begin(packer,
				       "w\xc3\xa9"
				       "b.pcap",
				       3, NULL));
	g_assert_true(dtc_packer_write(packer, "abc", 3, NULL));
	g_assert_true(dtc_packer_finish(packer, NULL));
	close(fd);
	g_assert_true(g_file_get_contents(path, &data, &bytes, NULL));
	return g_bytes_new_take(data, bytes);
}

/* Two packings are the same bytes; every byte that is changed, and every cut, breaks the seal. */
static void test_seal(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	const char *folder = dtc_scratch_get_path(scratch);
	g_autoptr(GBytes) first = pack(folder, "a.dtcb");
	g_autoptr(GBytes) second = pack(folder, "b.dtcb");
	g_autofree char *path = g_build_filename(folder, "c.dtcb", NULL);
	g_autofree char *out = g_build_filename(folder, "out", NULL);
	gsize bytes;
	const guint8 *data = g_bytes_get_data(first, &bytes);
	g_autofree guint8 *copy = g_memdup2(data, bytes);
	enum dtc_seal seal;

	g_assert_true(g_bytes_equal(first, second));
	for (gsize i = 0; i < bytes; i++) {
		copy[i] ^= (guint8)(1u << i % 8);
		g_assert_true(g_file_set_contents(path, (char *)copy, (gssize)bytes, NULL));
		g_assert_true(dtc_pack_check_seal(path, &seal, NULL));
		g_assert_cmpint(seal, !=, DTC_SEAL_INTACT);
		copy[i] = data[i];
		g_assert_true(g_file_set_contents(path, (char *)copy, (gssize)i, NULL));
		g_assert_true(dtc_pack_check_seal(path, &seal, NULL));
		g_assert_cmpint(seal, !=, DTC_SEAL_INTACT);
	}
	g_assert_true(g_file_set_contents(path, (char *)copy, (gssize)bytes, NULL));
	g_assert_true(dtc_pack_check_seal(path, &seal, NULL));
	g_assert_cmpint(seal, ==, DTC_SEAL_INTACT);
	g_mkdir(out, 0700);
	g_assert_true(dtc_unpack(path, out, NULL, NULL, NULL));
	assert_content(out,
		       "w\xc3\xa9"
		       "b.pcap",
		       "abc");
}

/* Cut anywhere before the end of the archive, it is an error, not a bundle with fewer files. */
static void test_cut(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	const char *folder = dtc_scratch_get_path(scratch);
	g_autoptr(GBytes) packed = pack(folder, "a.dtcb");
	g_autofree char *path = g_build_filename(folder, "cut.dtcb", NULL);
	gsize bytes;
	const char *data = g_bytes_get_data(packed, &bytes);

	for (gsize cut = 0; cut + 48 + 8 < bytes; cut++) {
		g_autoptr(DtcScratch) inner = dtc_scratch_new(NULL);
		g_autoptr(GError) error = NULL;
		g_assert_true(g_file_set_contents(path, data, (gssize)cut, NULL));
		g_assert_false(dtc_unpack(path, dtc_scratch_get_path(inner), NULL, NULL, &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	}
}

static void test_scratch(void)
{
	DtcScratch *scratch = dtc_scratch_new(NULL);
	g_autofree char *path = g_strdup(dtc_scratch_get_path(scratch));
	g_autofree char *file = g_build_filename(path, "file", NULL);
	GStatBuf info;

	g_assert_cmpint(g_stat(path, &info), ==, 0);
	g_assert_cmpint(info.st_mode & 0777, ==, 0700);
	g_assert_true(g_file_set_contents(file, "x", 1, NULL));
	dtc_scratch_free(scratch);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

/* The folder goes even if the program is killed without a chance to do anything. */
static void test_scratch_of_the_dead(void)
{
	char path[4096] = { 0 };
	int ends[2], status;

	g_assert_cmpint(pipe(ends), ==, 0);
	pid_t child = fork();
	if (child == 0) {
		DtcScratch *scratch = dtc_scratch_new(NULL);
		const char *name = dtc_scratch_get_path(scratch);
		ssize_t written = write(ends[1], name, strlen(name));
		(void)written;
		raise(SIGKILL);
	}
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(read(ends[0], path, sizeof(path) - 1), >, 0);
	g_assert_true(g_str_has_prefix(path, g_get_tmp_dir()));
	for (guint i = 0; i < 500 && g_file_test(path, G_FILE_TEST_EXISTS); i++)
		g_usleep(10000);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	close(ends[0]);
	close(ends[1]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bundle/pack/good", test_good);
	g_test_add_func("/bundle/pack/hostile", test_hostile);
	g_test_add_func("/bundle/pack/limits", test_limits);
	g_test_add_func("/bundle/pack/bomb", test_bomb);
	g_test_add_func("/bundle/pack/seal", test_seal);
	g_test_add_func("/bundle/pack/cut", test_cut);
	g_test_add_func("/bundle/pack/scratch", test_scratch);
	g_test_add_func("/bundle/pack/scratch-of-the-dead", test_scratch_of_the_dead);
	return g_test_run();
}
