/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* renameat2, nftw */
#include "collect/bundle/create.h"

#include "collect/bundle/digest.h"
#include "collect/bundle/pack.h"
#include "collect/bundle/paths.h"
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
#define MAX_DEPTH 8   /* folders in a kernel trace; a link that leads back to its parent ends here too */

static void file_free(void *data)
{
	struct dtc_bundle_file *file = data;
	g_free(file->path);
	g_free(file->source);
	g_free(file);
}

static int compare_files(gconstpointer a, gconstpointer b)
{
	const struct dtc_bundle_file *const *x = a, *const *y = b;
	return strcmp((*x)->path, (*y)->path);
}

/* ---- which files ---- */

struct listing {
	GPtrArray *files;      /* struct dtc_bundle_file */
	const char *directory; /* of the bundle; NULL: there is none */
	bool follows_links;
	const char *node;
	DtcFindings *findings;
};

/* What a link leads to outside of the bundle is somebody else's, unless the caller says that it is the bundle's. */
static bool is_left_out(const struct listing *listing, const char *source)
{
	g_autofree char *target = listing->follows_links ? NULL : dtc_path_find_outside(listing->directory, source);
	if (!target)
		return false;
	dtc_findings_add_coded(listing->findings, DTC_FINDING_LINK, DTC_SEVERITY_WARNING, true, listing->node,
			       "'%s' leads out of the bundle, to '%s', and was left out: --dereference takes it along",
			       source, target);
	return true;
}

static bool has_path(const GPtrArray *files, const char *path)
{
	for (guint i = 0; i < files->len; i++)
		if (strcmp(((const struct dtc_bundle_file *)g_ptr_array_index(files, i))->path, path) == 0)
			return true;
	return false;
}

static bool add_file(GPtrArray *files, const char *path, const char *source, GError **error)
{
	struct stat info;

	if (!dtc_bundle_path_check(path)) {
		g_autofree char *shown = g_strescape(source, NULL);
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "'%s' has a name that cannot be in a bundle\n"
			    "names are UTF-8 without control characters; rename it",
			    shown);
		return false;
	}
	if (stat(source, &info) != 0) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "cannot read '%s': %s\ncheck its permissions", source, g_strerror(errno));
		return false;
	}
	struct dtc_bundle_file *file = g_new0(struct dtc_bundle_file, 1);
	file->path = g_strdup(path);
	file->source = g_strdup(source);
	file->bytes = (guint64)info.st_size;
	g_ptr_array_add(files, file);
	return true;
}

/* All files below folder; what is neither a file nor a folder is no part of a trace. */
static bool add_folder(struct listing *listing, const char *path, const char *folder, guint depth, GError **error)
{
	GPtrArray *files = listing->files;
	g_autoptr(GError) reason = NULL;
	g_autoptr(GDir) dir = g_dir_open(folder, 0, &reason);
	const char *name;

	if (!dir || depth > MAX_DEPTH || files->len > DTC_UNPACK_MAX_FILES) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "cannot list '%s': %s\na kernel trace is a folder with some files per CPU", folder,
			    reason ? reason->message : "there are too many files in it");
		return false;
	}
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *source = g_build_filename(folder, name, NULL);
		g_autofree char *target = g_strconcat(path, "/", name, NULL);
		bool added = true;
		if (is_left_out(listing, source))
			continue;
		if (g_file_test(source, G_FILE_TEST_IS_DIR))
			added = add_folder(listing, target, source, depth + 1, error);
		else if (g_file_test(source, G_FILE_TEST_IS_REGULAR))
			added = add_file(files, target, source, error);
		if (!added)
			return false;
	}
	return true;
}

/*
 * A trace that lies in the node's folder itself: only its own files and index/, since kernel/ of another trace, or
 * captures, may lie beside them.
 */
static bool add_kernel(struct listing *listing, const struct dtc_bundle_node *node, GError **error)
{
	GPtrArray *files = listing->files;
	g_autofree char *path = g_strconcat(node->name, "/kernel", NULL);
	guint before = files->len;

	if (!node->kernel_path || is_left_out(listing, node->kernel_path))
		return true;
	if (!add_folder(listing, path, node->kernel_path, 1, error))
		return false;
	for (guint i = files->len; i-- > before;) {
		const struct dtc_bundle_file *file = g_ptr_array_index(files, i);
		if (g_str_has_suffix(file->path, ".pcap") || g_str_has_suffix(file->path, ".pcapng"))
			g_ptr_array_remove_index(files, i); /* added as a capture */
	}
	return true;
}

/* What is in the place of recordings that are not there. */
static bool add_images(struct listing *listing, const struct dtc_bundle_node *node, GError **error)
{
	const char *const sources[] = { node->kernel_image, node->capture_image };

	for (gsize i = 0; i < G_N_ELEMENTS(sources); i++) {
		if (!sources[i] || is_left_out(listing, sources[i]))
			continue;
		g_autofree char *base = g_path_get_basename(sources[i]);
		g_autofree char *path = g_strconcat(node->name, "/", base, NULL);
		if (!add_file(listing->files, path, sources[i], error))
			return false;
	}
	return true;
}

/* NODE.pcap beside the folder where that is its name, or where there is no folder without it. */
static bool add_captures(struct listing *listing, const struct dtc_bundle_node *node, GError **error)
{
	GPtrArray *files = listing->files;
	bool needs_beside = !node->kernel_path;

	for (char **source = node->pcap_paths; *source; source++) {
		if (is_left_out(listing, *source))
			continue;
		g_autofree char *base = g_path_get_basename(*source);
		const char *suffix = g_str_has_suffix(base, ".pcapng") ? ".pcapng" : ".pcap";
		g_autofree char *beside = g_strconcat(node->name, suffix, NULL);
		g_autofree char *path = g_strconcat(node->name, "/", base, NULL);
		if ((needs_beside || strcmp(base, beside) == 0) && !has_path(files, beside)) {
			g_free(path);
			path = g_steal_pointer(&beside);
		}
		needs_beside = false;
		for (guint number = 2; has_path(files, path); number++) {
			g_free(path);
			path = g_strdup_printf("%s/%u-%s", node->name, number, base);
		}
		if (!add_file(files, path, *source, error))
			return false;
	}
	return true;
}

/*
 * What the recorder wrote about the machine, if it did. A recorder writes no links: one would make a bundle of whatever
 * file its maker liked to have.
 */
static bool add_environment(struct listing *listing, const DtcBundle *bundle, const struct dtc_bundle_node *node,
			    GError **error)
{
	const char *directory = dtc_bundle_get_directory(bundle);
	struct stat info;
	if (!directory)
		return true;
	g_autofree char *source = g_build_filename(directory, node->name, "environment", NULL);
	g_autofree char *path = g_strconcat(node->name, "/environment", NULL);
	if (lstat(source, &info) != 0)
		return true;
	g_autofree char *outside = dtc_path_find_outside(listing->directory, source);
	if (S_ISREG(info.st_mode) && !outside)
		return add_file(listing->files, path, source, error);
	dtc_findings_add_coded(listing->findings, DTC_FINDING_LINK, DTC_SEVERITY_WARNING, false, node->name,
			       "'%s' is not a file of the bundle and was left out", source);
	return true;
}

GPtrArray *dtc_bundle_list_files(const DtcBundle *bundle, bool follows_links, DtcFindings *findings, GError **error)
{
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(file_free);
	struct listing listing = { .files = files,
				   .directory = dtc_bundle_get_directory(bundle),
				   .follows_links = follows_links,
				   .findings = findings };

	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const struct dtc_bundle_node *node = dtc_bundle_get_node(bundle, i);
		listing.node = node->name;
		if (!add_kernel(&listing, node, error) || !add_images(&listing, node, error) ||
		    !add_captures(&listing, node, error) || !add_environment(&listing, bundle, node, error))
			return NULL;
	}
	g_ptr_array_sort(files, compare_files);
	return g_steal_pointer(&files);
}

/* ---- writing ---- */

struct writing {
	const char *out;
	DtcPacker *packer; /* or */
	int folder_fd;	   /* of the new directory */
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
	(void)error;
	writing->done_bytes += count;
	if (writing->progress)
		writing->progress(writing->done_bytes, writing->all_bytes, writing->data);
	return true;
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
	return count_bytes(bytes, count, data, error) && dtc_packer_write(writing->packer, bytes, count, error);
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
		is_copied = dtc_packer_begin(writing->packer, file->path, file->bytes, error) &&
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
		return dtc_packer_begin(writing->packer, DTC_MANIFEST_NAME, count, error) &&
		       dtc_packer_write(writing->packer, data, count, error);
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
	g_autoptr(DtcPacker) packer = dtc_packer_new(fd, writing->out, error);
	writing->packer = packer;
	bool is_written = packer && write_files(writing, files, manifest, error) && dtc_packer_finish(packer, error);
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

bool dtc_bundle_create(GPtrArray *files, DtcManifest *manifest, const char *out, DtcCreateProgress progress, void *data,
		       GError **error)
{
	g_autofree char *clean = g_strdup(out);
	struct writing writing = { .out = clean, .progress = progress, .data = data };
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

/* ---- checking ---- */

static void check_file(GPtrArray *defects, const struct dtc_manifest_file *file, const char *directory,
		       struct writing *reading)
{
	g_autofree char *path = g_build_filename(directory, file->path, NULL);
	g_autoptr(GError) reason = NULL;
	char sha256[DTC_SHA256_HEX + 1];
	guint64 bytes;

	if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
		dtc_defects_add(defects, DTC_DEFECT_MISSING, file->path, "is missing");
	} else if (!dtc_digest_file(path, count_bytes, reading, &bytes, sha256, &reason)) {
		g_autofree char *text = g_strndup(reason->message, strcspn(reason->message, "\n"));
		dtc_defects_add(defects, DTC_DEFECT_UNREADABLE, file->path, text);
	} else {
		dtc_defects_compare(defects, file, bytes, sha256);
	}
}

static void find_extra(GPtrArray *defects, const DtcManifest *manifest, const char *directory, const char *below,
		       guint depth)
{
	g_autofree char *folder = g_build_filename(directory, below, NULL);
	g_autoptr(GDir) dir = depth <= MAX_DEPTH ? g_dir_open(folder, 0, NULL) : NULL;
	const char *name;

	while (dir && (name = g_dir_read_name(dir)) && defects->len < DTC_UNPACK_MAX_FILES) {
		g_autofree char *path = *below ? g_strconcat(below, "/", name, NULL) : g_strdup(name);
		g_autofree char *whole = g_build_filename(folder, name, NULL);
		if (g_file_test(whole, G_FILE_TEST_IS_DIR) && !g_file_test(whole, G_FILE_TEST_IS_SYMLINK))
			find_extra(defects, manifest, directory, path, depth + 1);
		else if (strcmp(name, DTC_MANIFEST_NAME) != 0 && !dtc_manifest_find_file(manifest, path))
			dtc_defects_add(defects, DTC_DEFECT_EXTRA, path, "is not in the manifest");
	}
}

static int compare_defects(gconstpointer a, gconstpointer b)
{
	const struct dtc_defect *const *x = a, *const *y = b;
	return strcmp((*x)->path, (*y)->path);
}

GPtrArray *dtc_manifest_check_files(const DtcManifest *manifest, const char *directory, DtcCreateProgress progress,
				    void *data)
{
	GPtrArray *defects = dtc_defects_new();
	struct writing reading = { .progress = progress, .data = data };

	for (guint i = 0; i < manifest->files->len; i++)
		reading.all_bytes += ((const struct dtc_manifest_file *)g_ptr_array_index(manifest->files, i))->bytes;
	for (guint i = 0; i < manifest->files->len; i++)
		check_file(defects, g_ptr_array_index(manifest->files, i), directory, &reading);
	find_extra(defects, manifest, directory, "", 1);
	g_ptr_array_sort(defects, compare_defects);
	return defects;
}
