/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A copy of a file, in memory that is the new file: what is written to it is in the file, of whatever size that is. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct DtcFileCopy DtcFileCopy;

/* The new file must not exist; it is this user's alone. Caller owns. */
DtcFileCopy *dtc_file_copy_new(const char *from, const char *to, GError **error);
/* A file of so many zeros. */
DtcFileCopy *dtc_file_copy_new_empty(const char *to, gsize count, GError **error);
/* Not finished: the new file is removed. */
void dtc_file_copy_free(DtcFileCopy *copy);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcFileCopy, dtc_file_copy_free)
uint8_t *dtc_file_copy_get_bytes(DtcFileCopy *copy);
gsize dtc_file_copy_get_count(const DtcFileCopy *copy);
/* is_good: it is kept. False if it is not, or could not be written. */
bool dtc_file_copy_finish(DtcFileCopy *copy, bool is_good, GError **error);
