/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/output.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool set_unwritable(const char *path, const char *reason, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE, "cannot write '%s': %s\nname another file", path,
		    reason);
	return false;
}

static bool write_to_device(const char *path, const void *data, gsize bytes, GError **error)
{
	FILE *file = g_fopen(path, "wb");

	if (!file)
		return set_unwritable(path, g_strerror(errno), error);
	bool is_written = fwrite(data, 1, bytes, file) == bytes;
	int reason = errno;
	if (fclose(file) != 0 && is_written) {
		is_written = false;
		reason = errno;
	}
	return is_written || set_unwritable(path, g_strerror(reason), error);
}

bool dtc_output_write_all(int file, const void *data, gsize bytes)
{
	for (const char *at = data; bytes > 0;) {
		ssize_t written = write(file, at, bytes);
		if (written < 0 && errno == EINTR)
			continue;
		if (written == 0)
			errno = ENOSPC;
		if (written <= 0)
			return false;
		at += written;
		bytes -= (gsize)written;
	}
	return true;
}

bool dtc_output_write(const char *path, const void *data, gsize bytes, GError **error)
{
	struct stat info;
	g_autoptr(GError) reason = NULL;

	if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
		return write_to_device(path, data, bytes, error);
	char *real = realpath(path, NULL);
	bool is_written = g_file_set_contents_full(real ? real : path, data, (gssize)bytes,
						   G_FILE_SET_CONTENTS_CONSISTENT, 0644, &reason);
	free(real);
	return is_written || set_unwritable(path, reason->message, error);
}
