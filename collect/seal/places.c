/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/places.h"

#include "collect/bundle/output.h"
#include "collect/seal/raw.h"
#include "dtrace-chain/error.h"
#include "dtrace-chain/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART ".sealing"
#define REPLACED "replaced" /* in it: the kernel/ of before */

static bool set_unwritable(const char *path, int reason, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IO,
		    "cannot write '%s': %s\nmake room and seal again: nothing of the recording is lost", path,
		    g_strerror(reason));
	return false;
}

static void remove_below(int folder_fd, const char *name, dev_t device);

/* Takes the descriptor. */
static void empty(int fd, dev_t device)
{
	DIR *dir = fdopendir(fd);

	if (!dir) {
		close(fd);
		return;
	}
	for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_below(dirfd(dir), entry->d_name, device);
	closedir(dir);
}

/* From folder to folder, each held open: a path could lead elsewhere since it was looked at. Device 0: any. */
static void remove_below(int folder_fd, const char *name, dev_t device)
{
	struct stat status;

	/* EACCES: it may be a folder all the same, which can be emptied, though not removed */
	if (unlinkat(folder_fd, name, 0) == 0 || (errno != EISDIR && errno != EPERM && errno != EACCES))
		return;
	int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &status) != 0 || (device != 0 && status.st_dev != device)) {
		close(fd);
		return;
	}
	empty(fd, status.st_dev);
	unlinkat(folder_fd, name, AT_REMOVEDIR);
}

void dtc_places_remove(const char *folder)
{
	remove_below(AT_FDCWD, folder, 0);
}

char *dtc_places_begin(const char *node_folder, GError **error)
{
	g_autofree char *part = g_build_filename(node_folder, PART, NULL);
	g_autofree char *kernel = g_build_filename(part, DTC_SEALED_KERNEL, NULL);

	dtc_places_remove(part);
	if (g_mkdir(part, 0700) != 0 || g_mkdir(kernel, 0755) != 0) {
		set_unwritable(part, errno, error);
		return NULL;
	}
	return g_steal_pointer(&part);
}

bool dtc_places_write(const char *part, const char *name, const void *data, gsize bytes, GError **error)
{
	g_autofree char *path = g_build_filename(part, name, NULL);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return set_unwritable(path, errno, error);
	int reason = dtc_output_write_all(fd, data, bytes) && fsync(fd) == 0 ? 0 : errno;
	if (close(fd) != 0 && reason == 0)
		reason = errno;
	return reason == 0 || set_unwritable(path, reason, error);
}

static void sync_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

/* A file replaces another; a folder goes to where there is none. */
static bool move(const char *part, const char *node_folder, const char *name, GError **error)
{
	g_autofree char *from = g_build_filename(part, name, NULL);
	g_autofree char *to = g_build_filename(node_folder, name, NULL);
	return g_rename(from, to) == 0 || set_unwritable(to, errno, error);
}

bool dtc_places_publish(const char *node_folder, const char *part, GError **error)
{
	g_autofree char *kernel = g_build_filename(node_folder, DTC_SEALED_KERNEL, NULL);
	g_autofree char *replaced = g_build_filename(part, REPLACED, NULL);
	g_autofree char *made = g_build_filename(part, DTC_SEALED_KERNEL, NULL);

	sync_folder(made);
	if (g_rename(kernel, replaced) != 0 && errno != ENOENT)
		return set_unwritable(kernel, errno, error);
	if (!move(part, node_folder, DTC_SEALED_KERNEL, error) ||
	    !move(part, node_folder, DTC_SEALED_ENVIRONMENT, error) ||
	    !move(part, node_folder, DTC_MANIFEST_NAME, error))
		return false;
	sync_folder(node_folder);
	dtc_places_remove(part);
	return true;
}

static bool is_raw_name(const char *name)
{
	static const char *const names[] = {
		DTC_RAW_RECORDING, DTC_RAW_HEADER_PAGE, DTC_RAW_FORMATS,  DTC_RAW_CLOCKS,
		DTC_RAW_DROPS,	   DTC_RAW_PROC_BEGIN,	DTC_RAW_PROC_END, DTC_RAW_CAPTURES
	};
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	const char *digits = name + strlen(DTC_RAW_CPU);
	return g_str_has_prefix(name, DTC_RAW_CPU) && *digits && strspn(digits, "0123456789") == strlen(digits);
}

void dtc_places_remove_raw(const char *node_folder)
{
	g_autofree char *raw = g_build_filename(node_folder, DTC_RAW_FOLDER, NULL);
	g_autoptr(GDir) dir = g_dir_open(raw, 0, NULL);
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *recording = g_build_filename(raw, DTC_RAW_RECORDING, NULL);
	g_autofree char *originals = g_build_filename(raw, DTC_RAW_ORIGINALS, NULL);
	const char *name;

	g_unlink(recording); /* first: nobody seals the rest of it */
	dtc_places_remove(originals);
	while (dir && (name = g_dir_read_name(dir)))
		if (is_raw_name(name))
			g_ptr_array_add(paths, g_build_filename(raw, name, NULL));
	for (guint i = 0; i < paths->len; i++)
		g_unlink(g_ptr_array_index(paths, i));
	g_rmdir(raw);
	sync_folder(node_folder);
}
