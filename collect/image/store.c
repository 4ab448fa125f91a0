/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "collect/image/store.h"

#include "dtrace-chain/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_DIGITS 64	    /* of an image's name: its key */
#define TEMPORARY_DIGITS 16 /* of the name of one that is being written: random */
#define TEMPORARY_SUFFIX DTC_IMAGE_SUFFIX ".part"
#define PUTS_MIN 16 /* images between two looks at the folder */

struct DtcStore {
	char *directory;
	guint64 max_bytes;
	GMutex lock;	 /* of what was seen */
	GArray *entries; /* struct dtc_store_entry at the last look, that used last first; NULL: there was none */
	guint64 sum;	 /* bytes of these and of what was put since, less what went */
	guint put_count; /* since then */
};

DtcStore *dtc_store_new(const char *directory, guint64 max_bytes)
{
	DtcStore *store = g_new0(DtcStore, 1);

	store->directory = g_strdup(directory);
	store->max_bytes = max_bytes ? max_bytes : DTC_STORE_DEFAULT_BYTES;
	g_mutex_init(&store->lock);
	return store;
}

const char *dtc_store_get_directory(const DtcStore *store)
{
	return store->directory;
}

guint64 dtc_store_get_max_bytes(const DtcStore *store)
{
	return store->max_bytes;
}

/* Ours, and written by nobody else. */
static bool is_own(int file, mode_t kind)
{
	struct stat info;

	return fstat(file, &info) == 0 && (info.st_mode & S_IFMT) == kind && info.st_uid == geteuid() &&
	       (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* -1: it is not there, or not ours. */
static int open_directory(const DtcStore *store)
{
	int directory = open(store->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (directory >= 0 && !is_own(directory, S_IFDIR)) {
		close(directory);
		return -1;
	}
	return directory;
}

static char *make_name(const struct dtc_image_key *key)
{
	GString *name = g_string_sized_new(NAME_DIGITS + sizeof(DTC_IMAGE_SUFFIX));

	for (gsize i = 0; i < sizeof(key->bytes); i++)
		g_string_append_printf(name, "%02x", key->bytes[i]);
	g_string_append(name, DTC_IMAGE_SUFFIX);
	return g_string_free(name, FALSE);
}

static bool is_name(const char *name, gsize digits, const char *suffix)
{
	return strspn(name, "0123456789abcdef") == digits && strcmp(name + digits, suffix) == 0;
}

static bool is_image_name(const char *name)
{
	return is_name(name, NAME_DIGITS, DTC_IMAGE_SUFFIX);
}

/* ---- finding ---- */

static DtcImage *map(int directory, const char *name, const struct dtc_image_key *key)
{
	int file = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (file < 0)
		return NULL;
	DtcImage *image = is_own(file, S_IFREG) ? dtc_image_map(file, name, key, NULL) : NULL;
	close(file);
	return image;
}

DtcImage *dtc_store_find(DtcStore *store, const struct dtc_image_key *key)
{
	g_autofree char *name = make_name(key);
	int directory = open_directory(store);

	if (directory < 0)
		return NULL;
	DtcImage *image = map(directory, name, key);
	if (image) /* when it was used last is its modification time */
		(void)utimensat(directory, name, NULL, AT_SYMLINK_NOFOLLOW);
	close(directory);
	return image;
}

/* ---- what is there ---- */

static void entry_clear(void *data)
{
	g_free(((struct dtc_store_entry *)data)->file);
}

static gint compare_use(gconstpointer a, gconstpointer b)
{
	const struct dtc_store_entry *x = a, *y = b;

	if (x->used_us != y->used_us)
		return x->used_us > y->used_us ? -1 : 1;
	return strcmp(x->file, y->file);
}

static gint64 get_use_us(const struct stat *info)
{
	return (gint64)info->st_mtim.tv_sec * G_USEC_PER_SEC + info->st_mtim.tv_nsec / 1000;
}

static void add_entry(GArray *entries, int directory, const char *name)
{
	struct stat info;

	if (fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
		return;
	struct dtc_store_entry entry = {
		.file = g_strdup(name),
		.bytes = (guint64)info.st_blocks * 512, /* what removing it gives back */
		.used_us = get_use_us(&info),
	};
	g_array_append_val(entries, entry);
}

/* The names in the folder for which the test says yes. */
static GPtrArray *list_names(int directory, bool (*is_wanted)(const char *name))
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *found;

	if (!dir && copy >= 0)
		close(copy);
	while (dir && (found = readdir(dir)))
		if (is_wanted(found->d_name))
			g_ptr_array_add(names, g_strdup(found->d_name));
	if (dir)
		closedir(dir);
	return names;
}

static GArray *list_entries(int directory)
{
	GArray *entries = g_array_new(FALSE, FALSE, sizeof(struct dtc_store_entry));
	g_autoptr(GPtrArray) names = list_names(directory, is_image_name);

	g_array_set_clear_func(entries, entry_clear);
	for (guint i = 0; i < names->len; i++)
		add_entry(entries, directory, names->pdata[i]);
	g_array_sort(entries, compare_use);
	return entries;
}

GArray *dtc_store_list(const DtcStore *store)
{
	int directory = open_directory(store);
	GArray *entries = list_entries(directory);

	if (directory >= 0)
		close(directory);
	return entries;
}

DtcImage *dtc_store_open_entry(const DtcStore *store, const struct dtc_store_entry *entry)
{
	int directory = open_directory(store);
	DtcImage *image = directory >= 0 ? map(directory, entry->file, NULL) : NULL;

	if (directory >= 0)
		close(directory);
	return image;
}

/* ---- keeping ---- */

static bool is_temporary_name(const char *name)
{
	return is_name(name, TEMPORARY_DIGITS, TEMPORARY_SUFFIX);
}

/*
 * Whoever writes a file holds its lock, which goes with him: what is not locked is of somebody who was killed. A folder
 * named with --cache may hold a browser's half-loaded files, which end in .part as well: only names as ours count.
 */
static void remove_leavings(int directory)
{
	g_autoptr(GPtrArray) names = list_names(directory, is_temporary_name);

	for (guint i = 0; i < names->len; i++) {
		int file = openat(directory, names->pdata[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0)
			(void)unlinkat(directory, names->pdata[i], 0);
		if (file >= 0)
			close(file);
	}
}

/*
 * A look at the folder costs as much as there is in it, so that one for each image of 1,000 nodes was a million files
 * to ask for: the next is when a quarter as many were put as were there, and what others put meanwhile counts then.
 */
static void look(DtcStore *store, int directory)
{
	remove_leavings(directory);
	g_clear_pointer(&store->entries, g_array_unref);
	store->entries = list_entries(directory);
	store->sum = 0;
	store->put_count = 0;
	for (guint i = 0; i < store->entries->len; i++)
		store->sum += g_array_index(store->entries, struct dtc_store_entry, i).bytes;
}

/* Removes those that were used longest ago of what was seen; whatever was used since then is not among these. */
static void remove_oldest(DtcStore *store, int directory)
{
	while (store->sum > store->max_bytes && store->entries->len) {
		guint last = store->entries->len - 1;
		const struct dtc_store_entry *entry = &g_array_index(store->entries, struct dtc_store_entry, last);
		struct stat info;
		bool is_there = fstatat(directory, entry->file, &info, AT_SYMLINK_NOFOLLOW) == 0;
		if (!is_there || (get_use_us(&info) == entry->used_us && unlinkat(directory, entry->file, 0) == 0))
			store->sum -= MIN(entry->bytes, store->sum);
		g_array_set_size(store->entries, last);
	}
}

static void evict(DtcStore *store, int directory)
{
	remove_oldest(store, directory);
	if (store->sum <= store->max_bytes)
		return;
	look(store, directory);
	remove_oldest(store, directory);
}

static void count_put(DtcStore *store, int directory, guint64 bytes)
{
	g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&store->lock);

	store->sum += bytes;
	store->put_count++;
	if (!store->entries || store->put_count >= MAX(store->entries->len / 4, PUTS_MIN))
		look(store, directory);
	evict(store, directory);
}

static bool refuse(GError **error, const DtcStore *store, const char *what, int number)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "cache '%s' %s%s%s\n--cache DIR names another place", store->directory, what, number ? ": " : "",
		    number ? g_strerror(number) : "");
	return false;
}

/* A new file that is locked before it has a byte; -1: it cannot be. Its name is the caller's to free. */
static int create_temporary(int directory, char **ret_name)
{
	for (guint tries = 0; tries < 16; tries++) {
		g_autofree char *name = g_strdup_printf("%08x%08x" TEMPORARY_SUFFIX, g_random_int(), g_random_int());
		int file = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		struct stat info;
		if (file < 0 && errno == EEXIST)
			continue;
		if (file < 0)
			return -1;
		/* somebody who removes leavings may have been faster */
		if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &info) == 0 && info.st_nlink == 1) {
			*ret_name = g_steal_pointer(&name);
			return file;
		}
		close(file);
	}
	errno = EBUSY;
	return -1;
}

/* A file without a name gets one, under its lock. */
static bool name_file(int file, int directory, const char *name)
{
	g_autofree char *temporary = g_strdup_printf("%08x%08x" TEMPORARY_SUFFIX, g_random_int(), g_random_int());
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", file);

	if (flock(file, LOCK_EX | LOCK_NB) != 0 || linkat(AT_FDCWD, path, directory, temporary, AT_SYMLINK_FOLLOW) != 0)
		return false;
	if (renameat(directory, temporary, directory, name) == 0)
		return true;
	(void)unlinkat(directory, temporary, 0);
	return false;
}

static bool write_entry(const DtcStore *store, int directory, const struct dtc_image_key *key,
			const DtcImageWriter *writer, DtcSpace *space, GError **error)
{
	g_autofree char *name = make_name(key), *temporary = NULL;

	if (space && dtc_image_complete(writer, space, key, NULL) &&
	    name_file(dtc_space_get_file(space), directory, name))
		return true;
	int file = create_temporary(directory, &temporary);
	if (file < 0)
		return refuse(error, store, "cannot be written", errno);
	bool is_kept = dtc_image_write(writer, file, key, error);
	if (is_kept && renameat(directory, temporary, directory, name) != 0)
		is_kept = refuse(error, store, "cannot be written", errno);
	if (!is_kept)
		(void)unlinkat(directory, temporary, 0);
	close(file);
	return is_kept;
}

DtcSpace *dtc_store_open_space(DtcStore *store)
{
	int directory = g_mkdir_with_parents(store->directory, 0700) == 0 ? open_directory(store) : -1;
	int file = directory < 0 ? -1 : openat(directory, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (directory >= 0)
		close(directory);
	if (file >= 0 && fallocate(file, 0, 0, DTC_SPACE_HEAD) != 0) {
		close(file);
		return NULL;
	}
	return file >= 0 ? dtc_space_new(file, DTC_SPACE_HEAD) : NULL;
}

bool dtc_store_put(DtcStore *store, const struct dtc_image_key *key, const DtcImageWriter *writer, DtcSpace *space,
		   GError **error)
{
	if (dtc_image_writer_measure(writer) > store->max_bytes)
		return refuse(error, store, "is too small for this image", 0);
	if (g_mkdir_with_parents(store->directory, 0700) != 0)
		return refuse(error, store, "cannot be made", errno);
	int directory = open_directory(store);
	if (directory < 0)
		return refuse(error, store, "is not only ours to write", 0);
	bool is_kept = write_entry(store, directory, key, writer, space, error);
	if (is_kept)
		count_put(store, directory, dtc_image_writer_measure(writer));
	close(directory);
	return is_kept;
}

void dtc_store_free(DtcStore *store)
{
	if (!store)
		return;
	int directory = store->put_count ? open_directory(store) : -1;
	if (directory >= 0) { /* other runs have put some, too */
		look(store, directory);
		evict(store, directory);
		close(directory);
	}
	g_clear_pointer(&store->entries, g_array_unref);
	g_mutex_clear(&store->lock);
	g_free(store->directory);
	g_free(store);
}

bool dtc_store_clear(DtcStore *store, guint *ret_count, guint64 *ret_bytes, GError **error)
{
	int directory = open_directory(store);
	guint count = 0;
	guint64 bytes = 0;

	if (directory >= 0) {
		g_autoptr(GArray) entries = list_entries(directory);
		remove_leavings(directory);
		for (guint i = 0; i < entries->len; i++) {
			const struct dtc_store_entry *entry = &g_array_index(entries, struct dtc_store_entry, i);
			if (unlinkat(directory, entry->file, 0) != 0 && errno != ENOENT) {
				int number = errno;
				close(directory);
				return refuse(error, store, "cannot be cleared", number);
			}
			count++;
			bytes += entry->bytes;
		}
		close(directory);
	}
	*ret_count = count;
	*ret_bytes = bytes;
	return true;
}
