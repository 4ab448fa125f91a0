/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds events ahead of who takes them, in a thread of its own. Each stream has a ring of batches, which are filled in
 * the order of the stream, by whoever has its lock: the thread, or, where it is behind, who takes them. So what comes
 * out is what one thread alone would find, whatever the threads do, and nobody waits for more than one batch.
 */
#pragma once

#include "collect/read/fast/cursor.h"

typedef struct DtcAhead DtcAhead;

/* What a cursor was moved to, as it was then. */
struct dtc_ahead_batch {
	struct dtc_stream stream;
	struct dtc_decoder packet; /* with slots that are not the cursor's */
	guint64 done_bytes;
	struct dtc_item *items;
};

/*
 * Goes on from where the cursors are, with nothing of what they lent taken back; they must not be moved by others until
 * it is freed. slots: of who takes the batches. spare: one more when the thread has no more to do (atomic); it outlives
 * this. NULL if no thread can be started. Caller owns.
 */
DtcAhead *dtc_ahead_new(struct dtc_cursor *cursors, guint count, uint64_t *slots, gint *spare);
/* Stops the thread and waits for it. */
void dtc_ahead_free(DtcAhead *ahead);
/* The next batch of a stream, lent until the next call for that stream. Not to be asked for after the stream's end. */
const struct dtc_ahead_batch *dtc_ahead_take(DtcAhead *ahead, guint stream);
