/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/spool.h"

#include "collect/bundle/output.h"
#include "collect/record/privileges.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

struct chunk {
	char *bytes;
	gsize used;
};

struct DtcSpool {
	int fd;
	guint max_chunks;
	GMutex lock;
	GCond changed;
	GQueue waiting;	  /* struct chunk, owned */
	GPtrArray *spare; /* char *, owned */
	guint taken;	  /* chunks that exist */
	bool is_ending;
	gint is_failed; /* atomic */
	GThread *thread;
	gint64 cpu_ns;
};

gint64 dtc_spool_get_thread_cpu_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage) != 0)
		return 0;
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * G_GINT64_CONSTANT(1000000000) +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * G_GINT64_CONSTANT(1000);
}

/* NULL at the end. */
static struct chunk *get_next(DtcSpool *spool)
{
	g_mutex_lock(&spool->lock);
	while (g_queue_is_empty(&spool->waiting) && !spool->is_ending)
		g_cond_wait(&spool->changed, &spool->lock);
	struct chunk *chunk = g_queue_pop_head(&spool->waiting);
	g_mutex_unlock(&spool->lock);
	return chunk;
}

static void give_back(DtcSpool *spool, struct chunk *chunk)
{
	g_mutex_lock(&spool->lock);
	g_ptr_array_add(spool->spare, chunk->bytes);
	g_cond_broadcast(&spool->changed);
	g_mutex_unlock(&spool->lock);
	g_free(chunk);
}

static void *run(void *data)
{
	DtcSpool *spool = data;

	dtc_privileges_drop_all();
	for (struct chunk *chunk; (chunk = get_next(spool));) {
		if (!dtc_spool_is_failed(spool) && !dtc_output_write_all(spool->fd, chunk->bytes, chunk->used))
			g_atomic_int_set(&spool->is_failed, 1);
		give_back(spool, chunk);
	}
	spool->cpu_ns = dtc_spool_get_thread_cpu_ns();
	return NULL;
}

DtcSpool *dtc_spool_new(int fd, guint max_chunks)
{
	DtcSpool *spool = g_new0(DtcSpool, 1);

	spool->fd = fd;
	spool->max_chunks = MAX(max_chunks, 1);
	g_mutex_init(&spool->lock);
	g_cond_init(&spool->changed);
	g_queue_init(&spool->waiting);
	spool->spare = g_ptr_array_new_with_free_func(g_free);
	spool->thread = g_thread_new("spool", run, spool);
	return spool;
}

char *dtc_spool_take(DtcSpool *spool)
{
	char *bytes = NULL;

	g_mutex_lock(&spool->lock);
	while (spool->spare->len == 0 && spool->taken == spool->max_chunks)
		g_cond_wait(&spool->changed, &spool->lock);
	if (spool->spare->len > 0)
		bytes = g_ptr_array_steal_index_fast(spool->spare, spool->spare->len - 1);
	else
		spool->taken++;
	g_mutex_unlock(&spool->lock);
	return bytes ? bytes : g_malloc(DTC_SPOOL_CHUNK_BYTES);
}

void dtc_spool_put(DtcSpool *spool, char *chunk, gsize used)
{
	struct chunk *waiting = g_new(struct chunk, 1);

	*waiting = (struct chunk){ chunk, used };
	g_mutex_lock(&spool->lock);
	g_queue_push_tail(&spool->waiting, waiting);
	g_cond_broadcast(&spool->changed);
	g_mutex_unlock(&spool->lock);
}

bool dtc_spool_is_failed(DtcSpool *spool)
{
	return g_atomic_int_get(&spool->is_failed) != 0;
}

gint64 dtc_spool_finish(DtcSpool *spool)
{
	if (!spool->thread)
		return spool->cpu_ns;
	g_mutex_lock(&spool->lock);
	spool->is_ending = true;
	g_cond_broadcast(&spool->changed);
	g_mutex_unlock(&spool->lock);
	g_thread_join(g_steal_pointer(&spool->thread));
	return spool->cpu_ns;
}

void dtc_spool_free(DtcSpool *spool)
{
	if (!spool)
		return;
	dtc_spool_finish(spool);
	g_ptr_array_unref(spool->spare);
	g_mutex_clear(&spool->lock);
	g_cond_clear(&spool->changed);
	g_free(spool);
}
