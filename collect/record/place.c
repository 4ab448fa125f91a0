/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/place.h"

#include "collect/bundle/output.h"
#include "collect/seal/raw.h"
#include "dtrace-chain/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define NEW_SUFFIX ".new"

struct DtcPlace {
	char *path;
	int node_fd;
	int raw_fd;
	bool is_created; /* the folder was not there before */
};

static bool set_system_error(GError **error, const char *what, const char *path, const char *hint)
{
	int reason = errno;

	g_set_error(error, DTC_COLLECT_ERROR, reason == ENOSPC || reason == EDQUOT ? DTC_ERROR_LIMIT : DTC_ERROR_IO,
		    "cannot %s '%s': %s\n%s", what, path, g_strerror(reason), hint);
	return false;
}

/* "link/" would be followed, and what "node/" is in is not "node". Caller frees. */
static char *trim_path(const char *path)
{
	char *trimmed = g_strdup(path);

	for (gsize length = strlen(trimmed); length > 1 && trimmed[length - 1] == '/'; length--)
		trimmed[length - 1] = 0;
	return trimmed;
}

/* Calls nobody back: entries are few, and names are copied. Free with g_ptr_array_unref. */
static GPtrArray *list_entries(int folder_fd)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;

	if (!folder) {
		if (fd >= 0)
			close(fd);
		return names;
	}
	for (struct dirent *entry; (entry = readdir(folder));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			g_ptr_array_add(names, g_strdup(entry->d_name));
	closedir(folder);
	return names;
}

static bool open_node(DtcPlace *place, GError **error)
{
	struct stat status;

	place->is_created = mkdir(place->path, 0700) == 0;
	if (!place->is_created && errno != EEXIST)
		return set_system_error(error, "create", place->path,
					errno == ENOENT
						? "make the folder that it shall be in, or give another place with -o"
						: "give another place with -o");
	if (lstat(place->path, &status) == 0 && S_ISLNK(status.st_mode)) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "'%s' is a symbolic link\nrecordings are written to no link: name the folder itself",
			    place->path);
		return false;
	}
	place->node_fd = open(place->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (place->node_fd < 0)
		return set_system_error(error, "open", place->path, "give another place with -o");
	g_autoptr(GPtrArray) entries = list_entries(place->node_fd);
	if (entries->len > 0) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "'%s' is not empty\nnothing is overwritten: give another place with -o, or remove it",
			    place->path);
		return false;
	}
	return true;
}

DtcPlace *dtc_place_create(const char *node_folder, GError **error)
{
	g_autoptr(DtcPlace) place = g_new0(DtcPlace, 1);

	place->path = trim_path(node_folder);
	place->node_fd = place->raw_fd = -1;
	if (!open_node(place, error))
		return NULL;
	if (mkdirat(place->node_fd, DTC_RAW_FOLDER, 0700) != 0) {
		set_system_error(error, "create a folder in", place->path, "is the disk full, or read-only?");
		return NULL;
	}
	place->raw_fd = openat(place->node_fd, DTC_RAW_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (place->raw_fd < 0) {
		set_system_error(error, "open", place->path, "did somebody else write there?");
		return NULL;
	}
	return g_steal_pointer(&place);
}

void dtc_place_free(DtcPlace *place)
{
	if (!place)
		return;
	if (place->node_fd >= 0)
		close(place->node_fd);
	if (place->raw_fd >= 0)
		close(place->raw_fd);
	g_free(place->path);
	g_free(place);
}

const char *dtc_place_get_path(const DtcPlace *place)
{
	return place->path;
}

static int get_folder(const DtcPlace *place, enum dtc_place_part part)
{
	return part == DTC_PLACE_RAW ? place->raw_fd : place->node_fd;
}

int dtc_place_create_file(const DtcPlace *place, enum dtc_place_part part, const char *name, GError **error)
{
	int fd = openat(get_folder(place, part), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		set_system_error(error, "create", name, "is the disk full, or did somebody else write there?");
	return fd;
}

bool dtc_place_write(const DtcPlace *place, enum dtc_place_part part, const char *name, const char *text,
		     GError **error)
{
	g_autofree char *new_name = g_strconcat(name, NEW_SUFFIX, NULL);
	int folder = get_folder(place, part), fd;

	unlinkat(folder, new_name, 0);
	fd = dtc_place_create_file(place, part, new_name, error);
	if (fd < 0)
		return false;
	bool is_written = dtc_output_write_all(fd, text, strlen(text));
	is_written = close(fd) == 0 && is_written;
	if (!is_written || renameat(folder, new_name, folder, name) != 0) {
		set_system_error(error, "write", name, "is the disk full?");
		unlinkat(folder, new_name, 0);
		return false;
	}
	return true;
}

void dtc_place_remove_file(const DtcPlace *place, enum dtc_place_part part, const char *name)
{
	unlinkat(get_folder(place, part), name, 0);
}

static guint64 count_free_bytes(const struct statvfs *status)
{
	return (guint64)status->f_bavail * status->f_frsize;
}

guint64 dtc_place_get_free_bytes(const DtcPlace *place)
{
	struct statvfs status;

	return fstatvfs(place->node_fd, &status) == 0 ? count_free_bytes(&status) : G_MAXUINT64;
}

guint64 dtc_place_guess_free_bytes(const char *node_folder)
{
	struct statvfs status;
	g_autofree char *path = trim_path(node_folder);
	g_autofree char *parent = g_path_get_dirname(path);

	return statvfs(parent, &status) == 0 ? count_free_bytes(&status) : G_MAXUINT64;
}

static void remove_entries(int folder_fd)
{
	g_autoptr(GPtrArray) names = list_entries(folder_fd);

	for (guint i = 0; i < names->len; i++)
		unlinkat(folder_fd, g_ptr_array_index(names, i), 0); /* folders stay */
}

void dtc_place_abandon(DtcPlace *place)
{
	remove_entries(place->raw_fd);
	unlinkat(place->node_fd, DTC_RAW_FOLDER, AT_REMOVEDIR);
	if (place->is_created)
		rmdir(place->path); /* fails where anything is left */
}

static bool give_entries(int folder_fd, uid_t uid, gid_t gid)
{
	g_autoptr(GPtrArray) names = list_entries(folder_fd);

	for (guint i = 0; i < names->len; i++)
		if (fchownat(folder_fd, g_ptr_array_index(names, i), uid, gid, AT_SYMLINK_NOFOLLOW) != 0)
			return false;
	return fchown(folder_fd, uid, gid) == 0;
}

bool dtc_place_give_away(const DtcPlace *place, uid_t uid, gid_t gid, GError **error)
{
	if (give_entries(place->raw_fd, uid, gid) && give_entries(place->node_fd, uid, gid))
		return true;
	return set_system_error(error, "give to its user", place->path, "it stays root's");
}
