/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/pool.h"

#include <string.h>

#define BLOCK_RECORDS 32

struct DtcPool {
	GPtrArray *blocks; /* owns them */
	gsize size;	   /* of a record */
	guint left;	   /* in the last block */
};

DtcPool *dtc_pool_new(gsize record_size)
{
	DtcPool *pool = g_new0(DtcPool, 1);
	pool->blocks = g_ptr_array_new_with_free_func(g_free);
	pool->size = record_size;
	return pool;
}

void dtc_pool_free(DtcPool *pool)
{
	if (!pool)
		return;
	g_ptr_array_unref(pool->blocks);
	g_free(pool);
}

gpointer dtc_pool_add(DtcPool *pool, gconstpointer record)
{
	if (!pool->left) {
		g_ptr_array_add(pool->blocks, g_malloc_n(BLOCK_RECORDS, pool->size));
		pool->left = BLOCK_RECORDS;
	}
	char *block = pool->blocks->pdata[pool->blocks->len - 1];
	return memcpy(block + (BLOCK_RECORDS - pool->left--) * pool->size, record, pool->size);
}
