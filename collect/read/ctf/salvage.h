/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes a readable trace of a damaged one. babeltrace2 refuses a whole trace because of one stream file that it cannot
 * index; here the files that it accepts are linked into a private temporary directory, and of the others a copy is made
 * that holds the packets that can be told apart, the last one cut where the file ends. The trace itself is not touched.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct DtcSalvage DtcSalvage;

/* accepts tells whether the back end can open a trace directory. NULL with an error if nothing can be saved. */
DtcSalvage *dtc_salvage_new(const char *path, bool (*accepts)(const char *directory), GError **error);
/* Removes the temporary directory. */
void dtc_salvage_free(DtcSalvage *salvage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcSalvage, dtc_salvage_free)

/* The directory to read instead; lives as long as the salvage. */
const char *dtc_salvage_get_path(const DtcSalvage *salvage);
/* One sentence per loss, with file and position. Borrowed strings. */
const GPtrArray *dtc_salvage_get_losses(const DtcSalvage *salvage);

/*
 * True if the directory must not be given to babeltrace2 as it is: a pipe in it would block for ever, and some packet
 * headers make babeltrace2 abort the process. Costs one page per packet.
 */
bool dtc_salvage_is_needed(const char *path);
