/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of a work that several do: who was given which, and what became of it, in the order of the parts. Neighbours
 * look at much of the same, so that each is given one behind the other, and begins where most is left. A part that was
 * given and has not come back is done by the first of them when nothing else is left, so that nobody has to be waited
 * for; what comes twice is the same, and the second is dropped.
 *
 * Used under a lock of the caller's.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define DTC_PARTS_NONE G_MAXUINT

typedef struct DtcParts DtcParts;

/* who_count: how many do it, of which 0 begins with the first part. */
DtcParts *dtc_parts_new(guint count, guint who_count);
void dtc_parts_free(DtcParts *parts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcParts, dtc_parts_free)

/* One that nobody was given; NONE: there are no more. It counts as given. */
guint dtc_parts_give(DtcParts *parts, guint who);
/* The same for 0: when there are no more, the first that has not come back. */
guint dtc_parts_give_last(DtcParts *parts);
/* What became of it. */
void dtc_parts_put(DtcParts *parts, guint part, GBytes *made);
/* The next in their order, if it is there. Caller owns; NULL: it is not. */
GBytes *dtc_parts_take(DtcParts *parts, guint *ret_part);
