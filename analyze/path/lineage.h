/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fournier's parental chain: before a thread was born, the time that led to it is its parent's, and so on back. The
 * walk, the tree, and the sums over a thread's states and blockings all go that way.
 */
#pragma once

#include "dtrace-chain/history.h"

/* A part of a span, and the thread of the chain that lived in it. */
struct dtc_lineage_part {
	uint32_t thread;
	DtcNodeTime begin;
	DtcNodeTime end; /* of all but the first: the birth of the one before */
};

/*
 * Who made the thread: the nearest of its ancestors that lived when it was born. DTC_NONE if the trace does not tell,
 * or if the thread lived already when the trace began.
 */
uint32_t dtc_lineage_find_parent(const DtcHistory *history, uint32_t thread);
/* When the thread exited: a zombie does nothing any more, and nobody waits for it. The end of its life else. */
int64_t dtc_lineage_get_exit_ns(const DtcHistory *history, uint32_t thread);
/*
 * The parts of a span from its end back, the thread itself first; contiguous, none empty. They reach back to begin, or
 * as far as is known who made whom. The span must end within the thread's life. Free with g_array_unref.
 */
GArray *dtc_lineage_new(const DtcHistory *history, uint32_t thread, DtcNodeTime begin, DtcNodeTime end);
static inline const struct dtc_lineage_part *dtc_lineage_get(const GArray *lineage, guint index)
{
	return &g_array_index(lineage, struct dtc_lineage_part, index);
}
