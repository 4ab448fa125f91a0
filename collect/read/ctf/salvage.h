/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes a readable trace of a damaged one. babeltrace2 refuses a whole trace because of one stream file that it cannot
 * index; here the files that it accepts are linked into a private temporary directory, and of the others a copy is made
 * that holds the packets that can be told apart, the last one cut where the file ends. The trace itself is not touched.
 */
#pragma once

#include "collect/read/ctf/inventory.h"
#include "collect/read/ctf/packet_table.h"

#include <glib.h>
#include <stdbool.h>

typedef struct DtcSalvage DtcSalvage;

/*
 * The streams that the inventory of the trace at path tells of, with their packets as they should be (both borrowed for
 * the call). accepts tells whether the back end can open a trace directory. NULL with an error if nothing can be saved.
 */
DtcSalvage *dtc_salvage_new(const char *path, const DtcInventory *inventory, const DtcPacketTable *table,
			    bool (*accepts)(const char *directory), GError **error);
/* Removes the temporary directory. */
void dtc_salvage_free(DtcSalvage *salvage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcSalvage, dtc_salvage_free)

/* The directory to read instead; lives as long as the salvage. */
const char *dtc_salvage_get_path(const DtcSalvage *salvage);
/* One sentence per loss, with file and position. Borrowed strings. */
const GPtrArray *dtc_salvage_get_losses(const DtcSalvage *salvage);
