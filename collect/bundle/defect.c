/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/defect.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static void defect_free(void *data)
{
	struct dtc_defect *defect = data;
	g_free(defect->path);
	g_free(defect->text);
	g_free(defect);
}

GPtrArray *dtc_defects_new(void)
{
	return g_ptr_array_new_with_free_func(defect_free);
}

void dtc_defects_add(GPtrArray *defects, enum dtc_defect_kind kind, const char *path, const char *text)
{
	struct dtc_defect *defect = g_new0(struct dtc_defect, 1);
	defect->kind = kind;
	defect->path = g_strdup(path);
	defect->text = g_strdup(text);
	g_ptr_array_add(defects, defect);
}

void dtc_defects_compare(GPtrArray *defects, const struct dtc_manifest_file *file, guint64 bytes, const char *sha256)
{
	if (bytes != file->bytes) {
		g_autofree char *text =
			g_strdup_printf("has %" G_GUINT64_FORMAT " bytes, not %" G_GUINT64_FORMAT, bytes, file->bytes);
		dtc_defects_add(defects, DTC_DEFECT_CHANGED, file->path, text);
	} else if (sha256 && strcmp(sha256, file->sha256) != 0) {
		dtc_defects_add(defects, DTC_DEFECT_CHANGED, file->path, "has changed: its SHA-256 is another");
	}
}

void dtc_defects_compare_sizes(GPtrArray *defects, const DtcManifest *manifest, const char *directory)
{
	for (guint i = 0; i < manifest->files->len; i++) {
		const struct dtc_manifest_file *file = g_ptr_array_index(manifest->files, i);
		g_autofree char *path = g_build_filename(directory, file->path, NULL);
		struct stat info;
		if (stat(path, &info) != 0)
			dtc_defects_add(defects, DTC_DEFECT_MISSING, file->path, "is missing");
		else if (!S_ISREG(info.st_mode))
			dtc_defects_add(defects, DTC_DEFECT_UNREADABLE, file->path, "is not a file");
		else
			dtc_defects_compare(defects, file, (guint64)info.st_size, NULL);
	}
}
