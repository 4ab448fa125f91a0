/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What stands between a ring buffer and a disk. A file system that writes back makes who writes wait, for a second and
 * more, and the ring buffer is full in less: so one thread empties the buffer into chunks of memory, and another writes
 * them. Memory is taken only as the disk falls behind.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define DTC_SPOOL_CHUNK_BYTES ((gsize)256 << 10)

typedef struct DtcSpool DtcSpool;

/* Starts the writing thread, which has no rights. fd is borrowed until the end; at most so many chunks wait. */
DtcSpool *dtc_spool_new(int fd, guint max_chunks);
/* DTC_SPOOL_CHUNK_BYTES to fill; waits where too many are on their way. To be given back by put. */
char *dtc_spool_take(DtcSpool *spool);
/* The first used bytes are to be written. */
void dtc_spool_put(DtcSpool *spool, char *chunk, gsize used);
/* A write has failed: what is put from then on is dropped. */
bool dtc_spool_is_failed(DtcSpool *spool);
/* All is written, or has failed; gives the CPU time of the writing. Nothing may be put after it. */
gint64 dtc_spool_finish(DtcSpool *spool);
/* Finishes, too. */
void dtc_spool_free(DtcSpool *spool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcSpool, dtc_spool_free)
/* CPU time of the calling thread. */
gint64 dtc_spool_get_thread_cpu_ns(void);
