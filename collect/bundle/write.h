/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writing a bundle with a manifest, and checking one. Two passes: the first computes the checksums, the second copies
 * and verifies that what it copies is what was summed, so that a recording that still grows is an error and not a
 * broken bundle. Nothing is ever overwritten: what is there already is an error, and until the last step the new bundle
 * has another name. Knows no library for archives: what packs is the caller's.
 */
#pragma once

#include "collect/bundle/defect.h"
#include "collect/bundle/packer.h"
#include "dtrace-chain/manifest.h"

#include <glib.h>
#include <stdbool.h>

/* Called now and then with the bytes done and the bytes to do in both passes. False: it is not wanted any more. */
typedef bool (*DtcCreateProgress)(guint64 done_bytes, guint64 all_bytes, void *data);

/* A file of a bundle to be, and where it comes from. */
struct dtc_bundle_file {
	char *path; /* owned; in the bundle */
	char *source;
	guint64 bytes;
};

/* Caller owns. */
struct dtc_bundle_file *dtc_bundle_file_new(const char *path, const char *source, guint64 bytes);
/* Of a list of them. */
void dtc_bundle_file_free(void *file);

/*
 * Fills in the manifest's files, of which it has none yet, and writes the bundle: packed if out ends with .dtcb, else a
 * directory. Files are sorted by path. False leaves nothing behind; CANCELLED: the progress said so.
 */
bool dtc_bundle_write(GPtrArray *files, DtcManifest *manifest, const char *out, const struct dtc_packer_kind *kind,
		      DtcCreateProgress progress, void *data, GError **error);

/*
 * Reads every file of the tree; the defects by path (struct dtc_defect): no more of them are right once the progress
 * says false. Free with g_ptr_array_unref.
 */
GPtrArray *dtc_manifest_check_files(const DtcManifest *manifest, const char *directory, DtcCreateProgress progress,
				    void *data);
