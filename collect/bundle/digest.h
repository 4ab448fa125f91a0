/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a file once: its SHA-256, and what is done with its bytes on the way. */
#pragma once

#include "dtrace-chain/manifest.h"

#include <glib.h>
#include <stdbool.h>

/* False with an error ends the reading. */
typedef bool (*DtcDigestSink)(const void *bytes, gsize count, void *data, GError **error);

/* sink may be NULL. Not a plain file, or one that cannot be read: UNREADABLE. */
bool dtc_digest_file(const char *path, DtcDigestSink sink, void *data, guint64 *ret_bytes,
		     char ret_sha256[DTC_SHA256_HEX + 1], GError **error);
/* Adds the file at path below folder to the manifest, with its checksum. */
bool dtc_digest_add_file(DtcManifest *manifest, const char *folder, const char *path, GError **error);
