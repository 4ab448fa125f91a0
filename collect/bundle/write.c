/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* renameat2, nftw */
#include "collect/bundle/write.h"

#include "collect/bundle/digest.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART ".part-" /* of the name of a bundle that is being written */

struct dtc_bundle_file *dtc_bundle_file_new(const char *path, const char *source, guint64 bytes)
{
	struct dtc_bundle_file *file = g_new0(struct dtc_bundle_file, 1);

	file->path = g_strdup(path);
	file->source = g_strdup(source);
	file->bytes = bytes;
	return file;
}

void dtc_bundle_file_free(void *data)
{
	struct dtc_bundle_file *file = data;
	g_free(file->path);
	g_free(file->source);
	g_free(file);
}

struct writing {
	const char *out;
	const struct dtc_packer_kind *kind;
	void *packer;  /* of that kind; or */
	int folder_fd; /* of the new directory */
	int file_fd;
	guint64 expected_bytes; /* of the current file, as it was summed */
	guint64 done_bytes;
	guint64 all_bytes;
	DtcCreateProgress progress;
	void *data;
};

static bool set_unwritable(GError **error, const char *path, int reason)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE, "cannot write '%s': %s\nname another place", path,
		    g_strerror(reason));
	return false;
}

static bool set_exists(GError **error, const char *out)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
		    "'%s' is there already\nnothing is overwritten: name another place, or remove it first", out);
	return false;
}

static bool count_bytes(const void *bytes, gsize count, void *data, GError **error)
{
	struct writing *writing = data;
	(void)bytes;
	writing->done_bytes += count;
	if (!writing->progress || writing->progress(writing->done_bytes, writing->all_bytes, writing->data))
		return true;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_CANCELLED, "'%s' was not written\nit was not waited for",
		    writing->out);
	return false;
}

static bool set_growing(GError **error, const char *source)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
		    "'%s' changed while the bundle was made\nend the recording first", source);
	return false;
}

static bool write_to_packer(const void *bytes, gsize count, void *data, GError **error)
{
	struct writing *writing = data;
	if (count > writing->expected_bytes)
		count = (gsize)writing->expected_bytes; /* the checksum will tell */
	writing->expected_bytes -= count;
	return count_bytes(bytes, count, data, error) && writing->kind->write(writing->packer, bytes, count, error);
}

static bool write_to_file(const void *bytes, gsize count, void *data, GError **error)
{
	struct writing *writing = data;
	const char *from = bytes;
	for (gsize done = 0; done < count;) {
		ssize_t written = write(writing->file_fd, from + done, count - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return set_unwritable(error, writing->out, errno);
		done += (gsize)written;
	}
	return count_bytes(bytes, count, data, error);
}

static bool sum_files(struct writing *writing, GPtrArray *files, DtcManifest *manifest, GError **error)
{
	for (guint i = 0; i < files->len; i++) {
		struct dtc_bundle_file *file = g_ptr_array_index(files, i);
		char sha256[DTC_SHA256_HEX + 1];
		if (!dtc_digest_file(file->source, count_bytes, writing, &file->bytes, sha256, error))
			return false;
		dtc_manifest_add_file(manifest, file->path, file->bytes, sha256);
	}
	return true;
}

static int open_below(int folder_fd, const char *path)
{
	g_auto(GStrv) parts = g_strsplit(path, "/", -1);
	g_autoptr(GString) folder = g_string_new(NULL);

	for (guint i = 0; parts[i] && parts[i + 1]; i++) {
		g_string_append_printf(folder, "%s%s", i ? "/" : "", parts[i]);
		if (mkdirat(folder_fd, folder->str, 0777) != 0 && errno != EEXIST)
			return -1;
	}
	return openat(folder_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static bool copy_file(struct writing *writing, const struct dtc_bundle_file *file, const char *want_sha256,
		      GError **error)
{
	char sha256[DTC_SHA256_HEX + 1];
	guint64 bytes;
	bool is_copied;

	writing->expected_bytes = file->bytes;
	if (writing->packer) {
		is_copied = writing->kind->begin(writing->packer, file->path, file->bytes, error) &&
			    dtc_digest_file(file->source, write_to_packer, writing, &bytes, sha256, error);
	} else {
		writing->file_fd = open_below(writing->folder_fd, file->path);
		if (writing->file_fd < 0)
			return set_unwritable(error, writing->out, errno);
		is_copied = dtc_digest_file(file->source, write_to_file, writing, &bytes, sha256, error);
		if (close(writing->file_fd) != 0 && is_copied)
			return set_unwritable(error, writing->out, errno);
	}
	return is_copied && (strcmp(sha256, want_sha256) == 0 || set_growing(error, file->source));
}

static bool write_manifest(struct writing *writing, const DtcManifest *manifest, GError **error)
{
	g_autoptr(GBytes) bytes = dtc_manifest_to_bytes(manifest);
	gsize count;
	const void *data = g_bytes_get_data(bytes, &count);

	if (writing->packer)
		return writing->kind->begin(writing->packer, DTC_MANIFEST_NAME, count, error) &&
		       writing->kind->write(writing->packer, data, count, error);
	writing->file_fd = open_below(writing->folder_fd, DTC_MANIFEST_NAME);
	if (writing->file_fd < 0)
		return set_unwritable(error, writing->out, errno);
	bool is_written = write_to_file(data, count, writing, error);
	if (close(writing->file_fd) != 0 && is_written)
		return set_unwritable(error, writing->out, errno);
	return is_written;
}

/* The manifest goes first, so that it can be shown without unpacking the rest. */
static bool write_files(struct writing *writing, GPtrArray *files, const DtcManifest *manifest, GError **error)
{
	if (!write_manifest(writing, manifest, error))
		return false;
	for (guint i = 0; i < files->len; i++) {
		const struct dtc_bundle_file *file = g_ptr_array_index(files, i);
		const struct dtc_manifest_file *summed = g_ptr_array_index(manifest->files, i);
		if (!copy_file(writing, file, summed->sha256, error))
			return false;
	}
	return true;
}

/* Gives the new bundle its name, unless somebody else has it. Not all file systems know RENAME_NOREPLACE. */
static bool publish(const char *temporary, const char *out, bool is_file, GError **error)
{
	if (renameat2(AT_FDCWD, temporary, AT_FDCWD, out, RENAME_NOREPLACE) == 0)
		return true;
	if (errno == EINVAL || errno == ENOSYS) {
		if (is_file && link(temporary, out) == 0) {
			unlink(temporary);
			return true;
		}
		/* rename() replaces no folder but an empty one, and a file not by a folder */
		if (!is_file && rename(temporary, out) == 0)
			return true;
	}
	return errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR ? set_exists(error, out)
									 : set_unwritable(error, out, errno);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
	(void)info;
	(void)type;
	(void)walk;
	return remove(path);
}

/*
 * Removes what runs that were killed left beside the new bundle. A run holds a lock on what it writes; nobody does on
 * what is left over.
 */
static void remove_leftovers(const char *out)
{
	g_autofree char *folder = g_path_get_dirname(out);
	g_autofree char *base = g_path_get_basename(out);
	g_autofree char *prefix = g_strconcat(base, PART, NULL);
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		if (!g_str_has_prefix(name, prefix) || strlen(name) != strlen(prefix) + strlen("XXXXXX"))
			continue;
		g_autofree char *path = g_build_filename(folder, name, NULL);
		int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
		close(fd);
	}
}

static bool create_packed(struct writing *writing, GPtrArray *files, const DtcManifest *manifest, GError **error)
{
	g_autofree char *temporary = g_strconcat(writing->out, PART "XXXXXX", NULL);
	int fd = g_mkstemp_full(temporary, O_WRONLY | O_CLOEXEC, 0666);
	if (fd < 0)
		return set_unwritable(error, writing->out, errno);
	(void)flock(fd, LOCK_EX | LOCK_NB); /* where there are no locks, nothing is removed either */
	writing->packer = writing->kind->open(fd, writing->out, error);
	bool is_written = writing->packer && write_files(writing, files, manifest, error) &&
			  writing->kind->finish(writing->packer, error);
	if (writing->packer)
		writing->kind->free(writing->packer);
	if (close(fd) != 0 && is_written)
		is_written = set_unwritable(error, writing->out, errno);
	if (is_written && publish(temporary, writing->out, true, error))
		return true;
	unlink(temporary);
	return false;
}

static bool create_directory(struct writing *writing, GPtrArray *files, const DtcManifest *manifest, GError **error)
{
	g_autofree char *temporary = g_strconcat(writing->out, PART "XXXXXX", NULL);
	if (!g_mkdtemp_full(temporary, 0777))
		return set_unwritable(error, writing->out, errno);
	writing->folder_fd = open(temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (writing->folder_fd >= 0)
		(void)flock(writing->folder_fd, LOCK_EX | LOCK_NB);
	bool is_written = writing->folder_fd >= 0 ? write_files(writing, files, manifest, error)
						  : set_unwritable(error, writing->out, errno);
	if (writing->folder_fd >= 0)
		close(writing->folder_fd);
	if (is_written && publish(temporary, writing->out, false, error))
		return true;
	nftw(temporary, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	return false;
}

bool dtc_bundle_write(GPtrArray *files, DtcManifest *manifest, const char *out, const struct dtc_packer_kind *kind,
		      DtcCreateProgress progress, void *data, GError **error)
{
	g_autofree char *clean = g_strdup(out);
	struct writing writing = { .out = clean, .kind = kind, .progress = progress, .data = data };
	struct stat info;

	while (strlen(clean) > 1 && g_str_has_suffix(clean, "/"))
		clean[strlen(clean) - 1] = 0;
	if (lstat(clean, &info) == 0)
		return set_exists(error, clean);
	remove_leftovers(clean);
	for (guint i = 0; i < files->len; i++)
		writing.all_bytes += 2 * ((const struct dtc_bundle_file *)g_ptr_array_index(files, i))->bytes;
	if (!sum_files(&writing, files, manifest, error))
		return false;
	return g_str_has_suffix(clean, DTC_PACK_SUFFIX) ? create_packed(&writing, files, manifest, error)
							: create_directory(&writing, files, manifest, error);
}
