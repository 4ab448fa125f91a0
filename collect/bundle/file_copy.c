/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _DEFAULT_SOURCE
#include "collect/bundle/file_copy.h"

#include "collect/bundle/access.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct DtcFileCopy {
	char *path;
	uint8_t *bytes; /* NULL: there are none */
	gsize count;
	int fd;
	bool is_kept;
};

static bool set_unwritable(const char *path, int reason, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IO, "cannot write '%s': %s\nmake room, or name another place",
		    path, g_strerror(reason));
	return false;
}

DtcFileCopy *dtc_file_copy_new_empty(const char *to, gsize count, GError **error)
{
	DtcFileCopy *copy = g_new0(DtcFileCopy, 1);
	copy->path = g_strdup(to);
	copy->count = count;
	copy->fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int reason = copy->fd < 0 ? errno : 0;
	/* room first: a disk that is full while memory is written to would be a signal */
	if (!reason && count > 0)
		reason = posix_fallocate(copy->fd, 0, (off_t)count);
	if (!reason && count > 0) {
		void *bytes = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_SHARED, copy->fd, 0);
		reason = bytes == MAP_FAILED ? errno : 0;
		copy->bytes = bytes == MAP_FAILED ? NULL : bytes;
	}
	if (!reason)
		return copy;
	set_unwritable(to, reason, error);
	dtc_file_copy_free(copy);
	return NULL;
}

DtcFileCopy *dtc_file_copy_new(const char *from, const char *to, GError **error)
{
	g_autoptr(GMappedFile) map = dtc_access_map(from);
	if (!map) {
		if (dtc_access_check(error))
			g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
				    "cannot read '%s'\ncheck that it is a file, and its permissions", from);
		return NULL;
	}
	gsize count = g_mapped_file_get_length(map);
	DtcFileCopy *copy = dtc_file_copy_new_empty(to, count, error);
	if (copy && copy->bytes)
		memcpy(copy->bytes, g_mapped_file_get_contents(map), count);
	return copy;
}

void dtc_file_copy_free(DtcFileCopy *copy)
{
	if (!copy)
		return;
	if (copy->bytes)
		munmap(copy->bytes, copy->count);
	if (copy->fd >= 0) {
		close(copy->fd);
		if (!copy->is_kept)
			unlink(copy->path);
	}
	g_free(copy->path);
	g_free(copy);
}

uint8_t *dtc_file_copy_get_bytes(DtcFileCopy *copy)
{
	return copy->bytes;
}

gsize dtc_file_copy_get_count(const DtcFileCopy *copy)
{
	return copy->count;
}

bool dtc_file_copy_finish(DtcFileCopy *copy, bool is_good, GError **error)
{
	if (!is_good)
		return false;
	if (copy->bytes && msync(copy->bytes, copy->count, MS_SYNC) != 0)
		return set_unwritable(copy->path, errno, error);
	copy->is_kept = true;
	return true;
}
