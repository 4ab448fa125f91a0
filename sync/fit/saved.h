/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Alignments in files: written by us (proto/sync.proto behind the line "DTCSYNC1"), or by hand as text, one node a
 * line:
 *
 *   # the clock of web is 37.5 s ahead of the reference's and gains 51 us per second, give or take 20 us
 *   web +37.5s 51ppm ~20us
 *   backend -83.721806871s
 *
 * The offset holds at the begin of the node's trace. The reference is the first node without a line (or the one of a
 * line "reference NAME"). Without '~' the bounds are the map itself: nobody said how sure it is.
 */
#pragma once

#include "dtrace-chain/sync.h"

/* Writes the maps to path, replacing it whole; names[i] is node i. */
bool dtc_clocks_save(const DtcClocks *clocks, const char *const *names, const char *path, GError **error);

/*
 * Reads either form for the named nodes; begin_ns[i] is where node i's trace begins. A node that the file does not know
 * is in a group of its own. Caller owns; NULL with DTC_SYNC_ERROR (UNREADABLE, DAMAGED with the line, NOT_FOUND if no
 * node is in the file).
 */
DtcClocks *dtc_clocks_read_file(const char *path, const char *const *names, const int64_t *begin_ns, guint node_count,
				GError **error);
