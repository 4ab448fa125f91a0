/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records that stay where they are and are freed together: thousands that are made and freed for each of thousands of
 * requests, one by one, would be scattered over all that was freed before.
 */
#pragma once

#include <glib.h>

typedef struct DtcPool DtcPool;

/* Caller owns. */
DtcPool *dtc_pool_new(gsize record_size);
void dtc_pool_free(DtcPool *pool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcPool, dtc_pool_free)

/* A copy of the record, owned by the pool. */
gpointer dtc_pool_add(DtcPool *pool, gconstpointer record);
