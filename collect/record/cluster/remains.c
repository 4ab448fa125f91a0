/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/remains.h"

#include "collect/seal/places.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK "lock"
#define MAX_DEPTH 8
#define MAX_FILES 100000u
#define OLD_SECONDS 86400

static void file_free(void *data)
{
	struct dtc_remains_file *file = data;

	g_free(file->path);
	g_free(file);
}

bool dtc_remains_check(const char *folder, GError **error)
{
	g_autofree char *name = g_path_get_basename(folder);
	struct stat status;

	if (g_path_is_absolute(folder) && g_str_has_prefix(name, DTC_REMAINS_PREFIX) && lstat(folder, &status) == 0 &&
	    S_ISDIR(status.st_mode))
		return true;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND,
		    "'%s' is no folder of a recording\n`dtrace-collect cluster` makes and names it", folder);
	return false;
}

int dtc_remains_open_lock(const char *folder)
{
	g_autofree char *path = g_build_filename(folder, LOCK, NULL);

	return open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

bool dtc_remains_lock(int lock_fd)
{
	return flock(lock_fd, LOCK_EX | LOCK_NB) == 0;
}

void dtc_remains_unlock(int lock_fd)
{
	(void)flock(lock_fd, LOCK_UN);
}

/* ---- what is there ---- */

static void add_files(GPtrArray *files, const char *folder, const char *below, guint depth)
{
	g_autofree char *place = g_build_filename(folder, below, NULL);
	g_autoptr(GDir) dir = depth <= MAX_DEPTH ? g_dir_open(place, 0, NULL) : NULL;
	const char *name;
	struct stat status;

	while (dir && (name = g_dir_read_name(dir)) && files->len < MAX_FILES) {
		g_autofree char *path = *below ? g_strconcat(below, "/", name, NULL) : g_strdup(name);
		g_autofree char *whole = g_build_filename(folder, path, NULL);
		if (lstat(whole, &status) != 0)
			continue;
		if (S_ISDIR(status.st_mode))
			add_files(files, folder, path, depth + 1);
		if (!S_ISREG(status.st_mode))
			continue;
		struct dtc_remains_file *file = g_new0(struct dtc_remains_file, 1);
		file->path = g_steal_pointer(&path);
		file->bytes = (guint64)status.st_size;
		g_ptr_array_add(files, file);
	}
}

static int compare_files(gconstpointer a, gconstpointer b)
{
	const struct dtc_remains_file *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

GPtrArray *dtc_remains_list(const char *folder)
{
	GPtrArray *files = g_ptr_array_new_with_free_func(file_free);

	add_files(files, folder, "", 1);
	g_ptr_array_sort(files, compare_files);
	return files;
}

guint64 dtc_remains_count_bytes(const char *folder)
{
	g_autoptr(GPtrArray) files = dtc_remains_list(folder);
	guint64 bytes = 0;

	for (guint i = 0; i < files->len; i++)
		bytes += ((const struct dtc_remains_file *)g_ptr_array_index(files, i))->bytes;
	return bytes;
}

/* ---- removing ---- */

void dtc_remains_remove(const char *folder)
{
	dtc_places_remove(folder);
}

/* Root's own, or of who became root by sudo: what others put into a place that is everybody's is theirs to remove. */
static bool is_ours(const struct stat *status)
{
	const char *user = geteuid() == 0 ? g_getenv("SUDO_UID") : NULL;
	guint64 number;

	return status->st_uid == geteuid() ||
	       (user && g_ascii_string_to_unsigned(user, 10, 0, G_MAXUINT32, &number, NULL) &&
		status->st_uid == (uid_t)number);
}

static bool is_old(const char *folder)
{
	struct stat status;

	if (lstat(folder, &status) != 0 || !S_ISDIR(status.st_mode) ||
	    status.st_mtim.tv_sec + OLD_SECONDS > time(NULL) || !is_ours(&status))
		return false;
	int fd = dtc_remains_open_lock(folder);
	bool is_free = fd >= 0 && dtc_remains_lock(fd);
	if (fd >= 0)
		close(fd);
	return is_free;
}

void dtc_remains_remove_old(const char *folder)
{
	g_autofree char *place = g_path_get_dirname(folder);
	g_autoptr(GDir) dir = g_dir_open(place, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(place, name, NULL);
		if (g_str_has_prefix(name, DTC_REMAINS_PREFIX) && strcmp(path, folder) != 0 && is_old(path))
			dtc_remains_remove(path);
	}
}
