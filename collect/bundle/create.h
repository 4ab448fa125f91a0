/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Making a bundle with a manifest out of any bundle: which files it has (write.h has the rest).
 */
#pragma once

#include "collect/bundle/write.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/finding.h"

#include <glib.h>
#include <stdbool.h>

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
