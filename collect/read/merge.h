/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Merges sorted streams: a loser tree over the time of each stream's next item. Equal times go to the stream with the
 * lower index, so the order depends on nothing but the input. An update costs log2(streams) comparisons.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct DtcMerge DtcMerge;

/* All streams begin as ended; set the first item of each, then build. */
DtcMerge *dtc_merge_new(guint stream_count);
void dtc_merge_free(DtcMerge *merge);
void dtc_merge_set(DtcMerge *merge, guint stream, int64_t time_ns, bool ended);
void dtc_merge_build(DtcMerge *merge);

/* The stream whose item is next, or G_MAXUINT if all have ended. */
guint dtc_merge_get_top(const DtcMerge *merge);
/*
 * How far the top stream may go on before another is next: all its items before ret_ns are next, and those at ret_ns
 * if the result says so. Costs as much as an update.
 */
bool dtc_merge_get_bound(const DtcMerge *merge, int64_t *ret_ns);
/* The top stream moved on to its next item. */
void dtc_merge_replace_top(DtcMerge *merge, int64_t time_ns, bool ended);
