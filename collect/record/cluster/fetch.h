/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a node recorded, on its way here: the files that its agent lists, each asked for from where it is lacking, so
 * that what came over a connection that broke is not asked for again (agent.h has the messages).
 */
#pragma once

#include "collect/record/cluster/channel.h"

#include <glib.h>
#include <stdbool.h>

typedef struct DtcFetch DtcFetch;

/* Files are written below the folder, which is made. Caller owns. */
DtcFetch *dtc_fetch_new(const char *folder);
void dtc_fetch_free(DtcFetch *fetch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcFetch, dtc_fetch_free)

/* A new list begins; what is here already stays. */
void dtc_fetch_clear_list(DtcFetch *fetch);
bool dtc_fetch_add(DtcFetch *fetch, const char *path, guint64 bytes, GError **error);
/* Asks for all that is lacking. False with an error: a file cannot be made here. */
bool dtc_fetch_ask(DtcFetch *fetch, DtcChannel *channel, GError **error);
/* Bytes of the file that was asked for first and has not ended. */
bool dtc_fetch_write(DtcFetch *fetch, const void *bytes, gsize count, GError **error);
/* It has ended; a file that is shorter than it was listed is an error. */
bool dtc_fetch_end_file(DtcFetch *fetch, GError **error);
/* All that was asked for has come. */
bool dtc_fetch_is_whole(const DtcFetch *fetch);
/* Of the list, and of it here. */
guint64 dtc_fetch_get_all_bytes(const DtcFetch *fetch);
guint64 dtc_fetch_get_done_bytes(const DtcFetch *fetch);
