/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A packed bundle from anywhere: it is unpacked, or refused; nothing of it is outside of its folder, nothing in it is
 * more than plain files and folders within the limits. The archive inside the zstd frame is tried bare as well: with
 * the frame around it most changes would only be damage to the frame.
 */
#include "collect/bundle/pack.h"
#include "collect/bundle/scratch.h"

#include <glib/gstdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MAX_BYTES (1 << 20)
#define MAX_FILES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes of all files below; anything else than files and folders ends the program. */
static guint64 sum_bytes(const char *folder, guint *files)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	guint64 bytes = 0;

	for (const char *name; dir && (name = g_dir_read_name(dir));) {
		g_autofree char *path = g_build_filename(folder, name, NULL);
		GStatBuf info;
		if (g_lstat(path, &info) != 0 || (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) ||
		    (info.st_mode & 07077) != 0)
			abort();
		if (S_ISDIR(info.st_mode)) {
			bytes += sum_bytes(path, files);
			continue;
		}
		bytes += (guint64)info.st_size;
		++*files;
	}
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct dtc_unpack_limits limits = { .max_bytes = MAX_BYTES, .max_files = MAX_FILES };
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autoptr(GError) error = NULL;
	guint files = 0, names = 0;
	enum dtc_seal seal;

	if (!scratch)
		return 0;
	g_autofree char *path = g_build_filename(dtc_scratch_get_path(scratch), "fuzz.dtcb", NULL);
	g_autofree char *folder = g_build_filename(dtc_scratch_get_path(scratch), "out", NULL);
	if (!g_file_set_contents(path, (const char *)data, (gssize)size, NULL) || g_mkdir(folder, 0700) != 0)
		return 0;
	bool is_unpacked = dtc_unpack(path, folder, &limits, NULL, &error);
	if (is_unpacked == (error != NULL))
		abort();
	if (!dtc_pack_check_seal(path, &seal, NULL))
		abort();
	if (sum_bytes(folder, &files) > MAX_BYTES || files > MAX_FILES)
		abort();
	g_autoptr(GDir) dir = g_dir_open(dtc_scratch_get_path(scratch), 0, NULL);
	while (g_dir_read_name(dir))
		names++;
	if (names != 2) /* the archive and the folder */
		abort();
	return 0;
}
