/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is wrong with the files of a bundle that has a manifest. */
#pragma once

#include "dtrace-chain/manifest.h"

#include <glib.h>

/* What is wrong with a file of a bundle. */
enum dtc_defect_kind {
	DTC_DEFECT_CHANGED, /* its bytes are not those that were summed */
	DTC_DEFECT_MISSING,
	DTC_DEFECT_EXTRA, /* in the bundle, not in the manifest: harmless unless it is a node's */
	DTC_DEFECT_UNREADABLE,
};

struct dtc_defect {
	enum dtc_defect_kind kind;
	char *path; /* owned; in the bundle */
	char *text; /* owned; what is wrong, in a few words */
};

/* A list of struct dtc_defect. Free with g_ptr_array_unref. */
GPtrArray *dtc_defects_new(void);
void dtc_defects_add(GPtrArray *defects, enum dtc_defect_kind kind, const char *path, const char *text);
/* A file that has so many bytes and such a checksum (NULL: not known), against what the manifest says of it. */
void dtc_defects_compare(GPtrArray *defects, const struct dtc_manifest_file *file, guint64 bytes, const char *sha256);
/*
 * Compares the sizes of the files in a directory with its manifest, which costs no reading. Checksums are compared by
 * dtc_manifest_check_files, and by dtc_unpack_and_check while the bytes pass.
 */
void dtc_defects_compare_sizes(GPtrArray *defects, const DtcManifest *manifest, const char *directory);
