/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that a user named for output. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * Writes all of data to path: a regular file is replaced as a whole or not at all (a link stays a link, what it points
 * to is replaced); a device or pipe gets the bytes as they are, because renaming over it would destroy it. The error
 * (DTC_COLLECT_ERROR, UNREADABLE) names the file and the reason.
 */
bool dtc_output_write(const char *path, const void *data, gsize bytes, GError **error);
/* All of it to what is open, however often that takes; false: errno tells why not. */
bool dtc_output_write_all(int file, const void *data, gsize bytes);
