/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Making a bundle with a manifest out of any bundle, and checking one. Two passes: the first computes the checksums,
 * the second copies and verifies that what it copies is what was summed, so that a recording that still grows is an
 * error and not a broken bundle. Nothing is ever overwritten: what is there already is an error, and until the last
 * step the new bundle has another name.
 */
#pragma once

#include "collect/bundle/defect.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/manifest.h"

#include <glib.h>
#include <stdbool.h>

/* Called now and then with the bytes done and the bytes to do in both passes. */
typedef void (*DtcCreateProgress)(guint64 done_bytes, guint64 all_bytes, void *data);

/* A file of a bundle to be, and where it comes from. */
struct dtc_bundle_file {
	char *path; /* owned; in the bundle */
	char *source;
	guint64 bytes;
};

/*
 * Every file that belongs to a node: NODE/kernel/ with all that is in it, captures as NODE.pcap or in NODE/, and the
 * environment files of the recorder. Sorted by path. What links lead to that lies outside of the bundle is left out,
 * with a finding, unless follows_links; the environment file never is a link. Free with g_ptr_array_unref.
 */
GPtrArray *dtc_bundle_list_files(const DtcBundle *bundle, bool follows_links, DtcFindings *findings, GError **error);

/*
 * Fills in the manifest's files and writes the bundle: packed if out ends with .dtcb, else a directory. False leaves
 * nothing behind.
 */
bool dtc_bundle_create(GPtrArray *files, DtcManifest *manifest, const char *out, DtcCreateProgress progress, void *data,
		       GError **error);

/* Reads every file of the tree; the defects by path (struct dtc_defect). Free with g_ptr_array_unref. */
GPtrArray *dtc_manifest_check_files(const DtcManifest *manifest, const char *directory, DtcCreateProgress progress,
				    void *data);
