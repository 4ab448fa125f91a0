/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What lies in the folder of a trace: its stream files, and what is none of them. A file is a stream of the trace if it
 * holds packets with the trace's uuid; what has the name of one (ch0_1 beside ch0_0, or ch0_1.idx in index/) and does
 * not is a stream that was damaged, and all else is somebody's README or core. Costs a page per packet.
 */
#pragma once

#include "dtrace-chain/finding.h"

#include <glib.h>
#include <stdbool.h>

typedef struct DtcInventory DtcInventory;

/* Of the trace in a directory; also of one that cannot be read. Caller owns. */
DtcInventory *dtc_inventory_new(const char *path);
void dtc_inventory_free(DtcInventory *inventory);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcInventory, dtc_inventory_free)

/* Names of the files that hold the trace's streams, damaged or not, sorted, NULL-terminated. Borrowed. */
const char *const *dtc_inventory_get_streams(const DtcInventory *inventory);
/*
 * True if the folder must not be given to babeltrace2 as it is, which refuses all of a trace for one file that is no
 * stream, waits for pipes, reads copies as streams of their own and believes an index whatever it says.
 */
bool dtc_inventory_has_others(const DtcInventory *inventory);
/* True if no file has the uuid that the metadata tells: then the metadata's is not asked for. */
bool dtc_inventory_is_all_foreign(const DtcInventory *inventory);
/* A trace of which no stream can be read: a kernel that is traced has events, of others it is no fault. */
void dtc_inventory_report_empty(const char *path, const char *node, DtcFindings *findings);
/* What is missing, copied, of another trace or no part of it. node names the trace. */
void dtc_inventory_report(const DtcInventory *inventory, const char *node, DtcFindings *findings);
