/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/digest.h"
#include "collect/bundle/pack.h"
#include "collect/bundle/write.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define MAX_DEPTH 8 /* as where they are listed */

/* How far it is. */
struct reading {
	guint64 done_bytes;
	guint64 all_bytes;
	DtcCreateProgress progress;
	void *data;
};

static bool count_read(const void *bytes, gsize count, void *data, GError **error)
{
	struct reading *reading = data;
	(void)bytes;
	reading->done_bytes += count;
	if (!reading->progress || reading->progress(reading->done_bytes, reading->all_bytes, reading->data))
		return true;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_CANCELLED, "was not read to its end\nit was not waited for");
	return false;
}

static void check_file(GPtrArray *defects, const struct dtc_manifest_file *file, const char *directory,
		       struct reading *reading)
{
	g_autofree char *path = g_build_filename(directory, file->path, NULL);
	g_autoptr(GError) reason = NULL;
	char sha256[DTC_SHA256_HEX + 1];
	guint64 bytes;

	if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
		dtc_defects_add(defects, DTC_DEFECT_MISSING, file->path, "is missing");
	} else if (!dtc_digest_file(path, count_read, reading, &bytes, sha256, &reason)) {
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
	struct reading reading = { .progress = progress, .data = data };

	for (guint i = 0; i < manifest->files->len; i++)
		reading.all_bytes += ((const struct dtc_manifest_file *)g_ptr_array_index(manifest->files, i))->bytes;
	for (guint i = 0; i < manifest->files->len; i++)
		check_file(defects, g_ptr_array_index(manifest->files, i), directory, &reading);
	find_extra(defects, manifest, directory, "", 1);
	g_ptr_array_sort(defects, compare_defects);
	return defects;
}
