/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/digest.h"

#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)256 * 1024)

static bool set_unreadable(GError **error, const char *path, const char *reason)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE, "cannot read '%s': %s\ncheck its permissions", path,
		    reason);
	return false;
}

static bool read_all(int fd, const char *path, GChecksum *checksum, DtcDigestSink sink, void *data, guint64 *bytes,
		     GError **error)
{
	g_autofree char *buffer = g_malloc(BLOCK_BYTES);

	for (;;) {
		ssize_t got = read(fd, buffer, BLOCK_BYTES);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return set_unreadable(error, path, g_strerror(errno));
		if (got == 0)
			return true;
		g_checksum_update(checksum, (const guchar *)buffer, got);
		*bytes += (guint64)got;
		if (sink && !sink(buffer, (gsize)got, data, error))
			return false;
	}
}

bool dtc_digest_file(const char *path, DtcDigestSink sink, void *data, guint64 *ret_bytes,
		     char ret_sha256[DTC_SHA256_HEX + 1], GError **error)
{
	g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
	guint64 bytes = 0;
	struct stat info;
	/* without blocking: somebody may have put a pipe there */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return set_unreadable(error, path, g_strerror(errno));
	bool is_read = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
	if (!is_read)
		set_unreadable(error, path, "it is not a file");
	else
		is_read = read_all(fd, path, checksum, sink, data, &bytes, error);
	close(fd);
	if (!is_read)
		return false;
	*ret_bytes = bytes;
	g_strlcpy(ret_sha256, g_checksum_get_string(checksum), DTC_SHA256_HEX + 1);
	return true;
}

bool dtc_digest_add_file(DtcManifest *manifest, const char *folder, const char *path, GError **error)
{
	g_autofree char *full = g_build_filename(folder, path, NULL);
	char sha256[DTC_SHA256_HEX + 1];
	guint64 bytes;
	if (!dtc_digest_file(full, NULL, NULL, &bytes, sha256, error))
		return false;
	dtc_manifest_add_file(manifest, path, bytes, sha256);
	return true;
}
