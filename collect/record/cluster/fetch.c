/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/fetch.h"

#include "collect/bundle/paths.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILES 100000u

struct file {
	char *path;
	guint64 bytes;
	guint64 here; /* bytes of it that have come */
};

struct DtcFetch {
	char *folder;
	GPtrArray *files; /* struct file, in the order of the list */
	GQueue asked;	  /* of these, borrowed */
	int fd;		  /* of the first that was asked for; -1 */
};

static void file_free(void *data)
{
	struct file *file = data;

	g_free(file->path);
	g_free(file);
}

DtcFetch *dtc_fetch_new(const char *folder)
{
	DtcFetch *fetch = g_new0(DtcFetch, 1);

	fetch->folder = g_strdup(folder);
	fetch->files = g_ptr_array_new_with_free_func(file_free);
	g_queue_init(&fetch->asked);
	fetch->fd = -1;
	return fetch;
}

static void close_file(DtcFetch *fetch)
{
	if (fetch->fd >= 0)
		close(fetch->fd);
	fetch->fd = -1;
}

void dtc_fetch_free(DtcFetch *fetch)
{
	if (!fetch)
		return;
	close_file(fetch);
	g_queue_clear(&fetch->asked);
	g_ptr_array_unref(fetch->files);
	g_free(fetch->folder);
	g_free(fetch);
}

void dtc_fetch_clear_list(DtcFetch *fetch)
{
	close_file(fetch);
	g_queue_clear(&fetch->asked);
	g_ptr_array_set_size(fetch->files, 0);
}

bool dtc_fetch_add(DtcFetch *fetch, const char *path, guint64 bytes, GError **error)
{
	if (!dtc_bundle_path_check(path) || fetch->files->len >= MAX_FILES || bytes > G_MAXINT64) {
		g_autofree char *shown = g_strescape(path, NULL);
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
			    "'%s' is no file of a recording\nwho is it that answers there?", shown);
		return false;
	}
	struct file *file = g_new0(struct file, 1);
	file->path = g_strdup(path);
	file->bytes = bytes;
	g_ptr_array_add(fetch->files, file);
	return true;
}

static bool set_unwritable(GError **error, const char *path)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IO,
		    "cannot write '%s': %s\nis the disk full? -o names another place", path, g_strerror(errno));
	return false;
}

static int open_file(const DtcFetch *fetch, const struct file *file, GError **error)
{
	g_autofree char *path = g_build_filename(fetch->folder, file->path, NULL);
	g_autofree char *parent = g_path_get_dirname(path);
	int fd = g_mkdir_with_parents(parent, 0700) == 0
			 ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600)
			 : -1;

	if (fd < 0)
		set_unwritable(error, path);
	return fd;
}

/* What is here of it, and that there is a file at all. */
static bool look(struct file *file, int fd)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return false;
	file->here = (guint64)status.st_size;
	if (file->here <= file->bytes)
		return true;
	file->here = 0; /* another recording's, or damaged */
	return ftruncate(fd, 0) == 0;
}

bool dtc_fetch_ask(DtcFetch *fetch, DtcChannel *channel, GError **error)
{
	for (guint i = 0; i < fetch->files->len; i++) {
		struct file *file = g_ptr_array_index(fetch->files, i);
		int fd = open_file(fetch, file, error);
		if (fd < 0)
			return false;
		bool is_known = look(file, fd);
		if (!is_known)
			set_unwritable(error, file->path);
		close(fd);
		if (!is_known)
			return false;
		if (file->here == file->bytes)
			continue;
		g_autofree char *offset = g_strdup_printf("%" G_GUINT64_FORMAT, file->here);
		dtc_channel_send(channel, "get", file->path, offset, NULL);
		g_queue_push_tail(&fetch->asked, file);
	}
	return true;
}

bool dtc_fetch_write(DtcFetch *fetch, const void *bytes, gsize count, GError **error)
{
	struct file *file = g_queue_peek_head(&fetch->asked);
	const char *from = bytes;

	if (!file || count > file->bytes - file->here) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
			    "more bytes came than were asked for\nwho is it that answers there?");
		return false;
	}
	if (fetch->fd < 0 && (fetch->fd = open_file(fetch, file, error)) < 0)
		return false;
	while (count > 0) {
		ssize_t written = write(fetch->fd, from, count);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return set_unwritable(error, file->path);
		from += written;
		count -= (gsize)written;
		file->here += (guint64)written;
	}
	return true;
}

bool dtc_fetch_end_file(DtcFetch *fetch, GError **error)
{
	const struct file *file = g_queue_pop_head(&fetch->asked);

	close_file(fetch);
	if (file && file->here == file->bytes)
		return true;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
		    "'%s' did not come as it was listed\ndid somebody change it there?", file ? file->path : "?");
	return false;
}

bool dtc_fetch_is_whole(const DtcFetch *fetch)
{
	return g_queue_is_empty((GQueue *)&fetch->asked);
}

guint64 dtc_fetch_get_all_bytes(const DtcFetch *fetch)
{
	guint64 bytes = 0;

	for (guint i = 0; i < fetch->files->len; i++)
		bytes += ((const struct file *)g_ptr_array_index(fetch->files, i))->bytes;
	return bytes;
}

guint64 dtc_fetch_get_done_bytes(const DtcFetch *fetch)
{
	guint64 bytes = 0;

	for (guint i = 0; i < fetch->files->len; i++)
		bytes += ((const struct file *)g_ptr_array_index(fetch->files, i))->here;
	return bytes;
}
