/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of what an image is made, as a key: a text of lines, and its SHA-256. The first line is the program itself, build by
 * build, since what it reads of the same bytes may change with any line of code.
 *
 * A file is its place, length, times and number in the file system, and a hash of its begin and end. Of these the time
 * of the last change (ctime) cannot be set back by whoever writes a byte in its middle; where a file system keeps none,
 * such a change is not seen if the modification time is set back, too. And two changes within one tick of its clock
 * have one time: what was changed just before it was read is told by dtc_fingerprint_is_settled, and not to be kept.
 */
#pragma once

#include "collect/image/image.h"

#include <glib.h>
#include <stdbool.h>

typedef struct DtcFingerprint DtcFingerprint;

DtcFingerprint *dtc_fingerprint_new(void);
void dtc_fingerprint_free(DtcFingerprint *fingerprint);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcFingerprint, dtc_fingerprint_free)

void dtc_fingerprint_add(DtcFingerprint *fingerprint, const char *name, const char *value);
/* A file, or a folder with all that is below it. What cannot be looked at makes the fingerprint of no use. */
void dtc_fingerprint_add_path(DtcFingerprint *fingerprint, const char *path);
/*
 * The same of what was unpacked from that archive: the archive counts, and of the path what is below the directory.
 */
void dtc_fingerprint_add_unpacked(DtcFingerprint *fingerprint, const char *archive, const char *directory,
				  const char *path);

/* False: something could not be looked at; there is no key. */
bool dtc_fingerprint_get_key(const DtcFingerprint *fingerprint, struct dtc_image_key *ret_key);
/* Nothing was changed within two seconds before that time (of the wall clock), nor after it. */
bool dtc_fingerprint_is_settled(const DtcFingerprint *fingerprint, gint64 time_us);
