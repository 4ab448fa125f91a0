/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packed bundles (*.dtcb): a tar archive in a zstd frame, followed by a seal, which zstd skips: 8 bytes of a skippable
 * frame's header, "dtcb-sha", and the SHA-256 of everything before the seal. `tar --zstd -xf` reads it; this file is
 * the only one that knows libarchive. Archives come from anywhere: what would leave the folder, overwrite, link, or
 * is no plain file or folder is an error that names the entry, and nothing after it is unpacked.
 */
#pragma once

#include "collect/bundle/defect.h"
#include "collect/bundle/packer.h"

#include <glib.h>
#include <stdbool.h>

#define DTC_UNPACK_MAX_BYTES ((guint64)64 << 30)
#define DTC_UNPACK_MAX_FILES 100000u

struct dtc_unpack_limits {
	guint64 max_bytes; /* of all files together, unpacked; 0: DTC_UNPACK_MAX_BYTES */
	guint max_files;   /* and folders; 0: DTC_UNPACK_MAX_FILES */
};

/*
 * Unpacks into the existing, empty folder. On error the folder holds what came before; the caller removes it. With
 * only not NULL just that file is unpacked, if it is there: whether it was is the file's existence.
 */
bool dtc_unpack(const char *path, const char *folder, const struct dtc_unpack_limits *limits, const char *only,
		GError **error);

/*
 * The same, and, if the archive begins with a manifest, compares the checksum of every file with it while the bytes
 * pass: what is not as it was packed is added to the list (defect.h).
 */
bool dtc_unpack_and_check(const char *path, const char *folder, const struct dtc_unpack_limits *limits,
			  GPtrArray *defects, GError **error);

enum dtc_seal {
	DTC_SEAL_INTACT,
	DTC_SEAL_MISSING, /* not made by dtrace-chain, or cut */
	DTC_SEAL_BROKEN,  /* a byte was changed, somewhere */
};
bool dtc_pack_check_seal(const char *path, enum dtc_seal *ret_seal, GError **error);

/* Writes an archive, entry by entry, to a file that does not exist yet; owners, dates and modes are not kept. */
typedef struct DtcPacker DtcPacker;

/* fd is borrowed, empty and open for writing; name is how errors call it. Caller owns. */
DtcPacker *dtc_packer_new(int fd, const char *name, GError **error);
void dtc_packer_free(DtcPacker *packer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcPacker, dtc_packer_free)
/* An entry of exactly that many bytes, which must follow with dtc_packer_write. */
bool dtc_packer_begin(DtcPacker *packer, const char *path, guint64 bytes, GError **error);
bool dtc_packer_write(DtcPacker *packer, const void *data, gsize bytes, GError **error);
/* Ends the archive and seals it. */
bool dtc_packer_finish(DtcPacker *packer, GError **error);

extern const struct dtc_packer_kind dtc_packer_zstd;
