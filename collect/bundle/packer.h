/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What writes the archive of a packed bundle, entry by entry, and seals it: libarchive's, which compresses (pack.h),
 * and one of our own, which does not and needs no library (stored.h). All that reads takes either.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_PACK_SUFFIX ".dtcb"

struct dtc_packer_kind {
	/* fd is borrowed, empty and open for writing; name is how errors call it. Caller owns. */
	void *(*open)(int fd, const char *name, GError **error);
	/* An entry of exactly that many bytes, which must follow with write. */
	bool (*begin)(void *packer, const char *path, guint64 bytes, GError **error);
	bool (*write)(void *packer, const void *data, gsize bytes, GError **error);
	/* Ends the archive and seals it. */
	bool (*finish)(void *packer, GError **error);
	void (*free)(void *packer);
};

#define DTC_PACK_SEAL_BYTES 48
#define DTC_PACK_SHA256_BYTES 32

/* The seal of what the checksum has had, which ends with that. */
void dtc_pack_seal_make(GChecksum *checksum, uint8_t ret_seal[DTC_PACK_SEAL_BYTES]);
/* These bytes are a seal: the SHA-256 in it, borrowed; else NULL. */
const uint8_t *dtc_pack_seal_get_sha256(const uint8_t seal[DTC_PACK_SEAL_BYTES]);
