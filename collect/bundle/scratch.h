/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A private folder for the life of an object: below TMPDIR (or /tmp), for this user only. It goes with the object, and
 * also with the program, however that ends: a small shell waits at a pipe for its end and removes the folder then.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct DtcScratch DtcScratch;

DtcScratch *dtc_scratch_new(GError **error);
/* Removes the folder with all that is in it. */
void dtc_scratch_free(DtcScratch *scratch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcScratch, dtc_scratch_free)
const char *dtc_scratch_get_path(const DtcScratch *scratch);
