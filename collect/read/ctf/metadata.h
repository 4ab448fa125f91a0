/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A look at a CTF metadata file before babeltrace2 gets it: on a file whose last packet is cut, babeltrace2 2.0.4 reads
 * for ever.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Whether the folder is a CTF trace, by a look that says nothing of its being whole. */
bool dtc_metadata_is_there(const char *trace_path);
/* The trace has no clock; node names it. */
void dtc_metadata_set_no_clock(const char *node, const char *trace_path, GError **error);
/* False with an error that names the byte if the packets of the file do not fill it. Plain text passes. */
bool dtc_metadata_check(const char *path, GError **error);

/* The trace's uuid, as the file's packets or its text give it; false if they do not. */
bool dtc_metadata_get_uuid(const char *path, guint8 ret_uuid[16]);
