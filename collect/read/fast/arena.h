/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that is given out in pieces and goes all at once, up to a limit: what hostile metadata can make us keep. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct DtcArena DtcArena;

DtcArena *dtc_arena_new(gsize max_bytes);
void dtc_arena_free(DtcArena *arena);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcArena, dtc_arena_free)

/* All that was given out goes. */
void dtc_arena_clear(DtcArena *arena);

/* Zeroed and aligned for any type; NULL beyond the limit. */
void *dtc_arena_take(DtcArena *arena, gsize bytes);
/* Array of count elements; NULL beyond the limit. */
void *dtc_arena_take_array(DtcArena *arena, gsize count, gsize bytes);
/* A copy that ends with a zero. */
char *dtc_arena_take_text(DtcArena *arena, const char *text, gsize bytes);
/* What was given out so far. */
gsize dtc_arena_get_used(const DtcArena *arena);
/* True once something was refused. */
bool dtc_arena_is_full(const DtcArena *arena);
