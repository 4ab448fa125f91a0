/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/ahead.h"

#define RINGS_EVENTS 32768 /* in the batches of all streams: for longer than it takes to wake a thread */
#define RING_MAX 64
#define RING_MIN 4

struct ring {
	GMutex lock;		 /* of who fills */
	guint filled;		 /* atomic: batches so far; set by who has the lock */
	gint is_over;		 /* atomic: the last one was the stream's end */
	gint is_wanted;		 /* atomic: who takes is waiting for the lock */
	guint given;		 /* atomic: batches that were taken and given back */
	guint taken;		 /* by who takes, whose alone it is */
	struct dtc_item *before; /* the cursor's own */
	struct dtc_ahead_batch *batches;
};

struct DtcAhead {
	struct dtc_cursor *cursors; /* borrowed */
	guint count;
	guint ring_size;
	struct ring *rings;
	uint64_t *slots; /* borrowed, as the next */
	gint *spare;
	GThread *thread;
	GMutex lock; /* of sleeping */
	GCond cond;
	bool is_called;
	gint is_asleep; /* atomic */
	gint stop;	/* atomic */
	guint since;	/* batches that were taken since the thread was called; of who takes */
};

/* ---- filling, with a ring's lock ---- */

static void fill_batch(DtcAhead *ahead, guint stream)
{
	struct ring *ring = &ahead->rings[stream];
	struct dtc_cursor *cursor = &ahead->cursors[stream];
	struct dtc_ahead_batch *batch = &ring->batches[ring->filled % ahead->ring_size];
	cursor->items = batch->items;
	cursor->stream.items = batch->items;
	dtc_cursor_advance(cursor);
	batch->stream = cursor->stream;
	batch->packet = cursor->decoder;
	batch->packet.slots = ahead->slots;
	batch->done_bytes = cursor->done_bytes;
	if (!cursor->stream.has_item)
		g_atomic_int_set(&ring->is_over, 1);
	g_atomic_int_set(&ring->filled, ring->filled + 1);
}

static guint count_free(const DtcAhead *ahead, const struct ring *ring)
{
	return ahead->ring_size - (g_atomic_int_get(&ring->filled) - g_atomic_int_get(&ring->given));
}

/* ---- the thread ---- */

/* A ring that is half empty, until it is full, or somebody waits for it. False: that was not to be done. */
static bool fill_ring(DtcAhead *ahead, guint stream)
{
	struct ring *ring = &ahead->rings[stream];
	if (g_atomic_int_get(&ring->is_over) || g_atomic_int_get(&ring->is_wanted) ||
	    count_free(ahead, ring) < ahead->ring_size / 2 || !g_mutex_trylock(&ring->lock))
		return false;
	while (!g_atomic_int_get(&ring->is_over) && !g_atomic_int_get(&ring->is_wanted) &&
	       !g_atomic_int_get(&ahead->stop) && count_free(ahead, ring) > 0)
		fill_batch(ahead, stream);
	g_mutex_unlock(&ring->lock);
	return true;
}

static void wait_for_call(DtcAhead *ahead)
{
	g_mutex_lock(&ahead->lock);
	g_atomic_int_set(&ahead->is_asleep, 1);
	while (!ahead->is_called && !g_atomic_int_get(&ahead->stop))
		g_cond_wait(&ahead->cond, &ahead->lock);
	g_atomic_int_set(&ahead->is_asleep, 0);
	ahead->is_called = false;
	g_mutex_unlock(&ahead->lock);
}

static gpointer fill_all(gpointer data)
{
	DtcAhead *ahead = data;
	bool is_over = false;
	while (!is_over && !g_atomic_int_get(&ahead->stop)) {
		bool was_filled = false;
		is_over = true;
		for (guint i = 0; i < ahead->count; i++) {
			was_filled |= fill_ring(ahead, i);
			is_over &= g_atomic_int_get(&ahead->rings[i].is_over) != 0;
		}
		if (!was_filled && !is_over)
			wait_for_call(ahead);
	}
	g_atomic_int_inc(ahead->spare);
	return NULL;
}

static void call_thread(DtcAhead *ahead)
{
	g_mutex_lock(&ahead->lock);
	ahead->is_called = true;
	g_cond_signal(&ahead->cond);
	g_mutex_unlock(&ahead->lock);
}

/* ---- taking ---- */

/*
 * With the next batch of an empty ring nobody waits for the thread to be woken. One that is at that very ring lets it
 * go, and sleeps unless it has others to fill: as long as it went for the lock again and again, who takes did not get
 * it where other programs had the processors, and all that time went into that.
 */
static void fill_for_taker(DtcAhead *ahead, guint stream)
{
	struct ring *ring = &ahead->rings[stream];
	bool is_held = !g_mutex_trylock(&ring->lock);
	if (is_held) {
		g_atomic_int_set(&ring->is_wanted, 1);
		g_mutex_lock(&ring->lock);
		g_atomic_int_set(&ring->is_wanted, 0);
	}
	if (ring->filled == ring->taken)
		fill_batch(ahead, stream);
	g_mutex_unlock(&ring->lock);
	if (is_held && g_atomic_int_get(&ahead->is_asleep))
		call_thread(ahead);
}

const struct dtc_ahead_batch *dtc_ahead_take(DtcAhead *ahead, guint stream)
{
	struct ring *ring = &ahead->rings[stream];
	g_atomic_int_set(&ring->given, ring->taken);
	if ((guint)g_atomic_int_get(&ring->filled) == ring->taken)
		fill_for_taker(ahead, stream);
	const struct dtc_ahead_batch *batch = &ring->batches[ring->taken++ % ahead->ring_size];
	/* rarely, since a call costs as much as hundreds of events */
	if (++ahead->since >= ahead->count * ahead->ring_size / 4) {
		ahead->since = 0;
		if (g_atomic_int_get(&ahead->is_asleep))
			call_thread(ahead);
	}
	return batch;
}

/* ---- life ---- */

static void make_ring(const DtcAhead *ahead, guint stream)
{
	struct ring *ring = &ahead->rings[stream];
	const struct dtc_cursor *cursor = &ahead->cursors[stream];
	g_mutex_init(&ring->lock);
	ring->before = cursor->items;
	ring->is_over = !cursor->stream.has_item;
	ring->batches = g_new0(struct dtc_ahead_batch, ahead->ring_size);
	struct dtc_item *items = g_new(struct dtc_item, (gsize)ahead->ring_size * cursor->batch_limit);
	for (guint i = 0; i < ahead->ring_size; i++)
		ring->batches[i].items = items + (gsize)i * cursor->batch_limit;
}

DtcAhead *dtc_ahead_new(struct dtc_cursor *cursors, guint count, uint64_t *slots, gint *spare)
{
	DtcAhead *ahead = g_new0(DtcAhead, 1);
	ahead->cursors = cursors;
	ahead->count = count;
	ahead->ring_size = CLAMP(RINGS_EVENTS / (count * cursors[0].batch_limit), RING_MIN, RING_MAX);
	ahead->slots = slots;
	ahead->spare = spare;
	ahead->rings = g_new0(struct ring, count);
	g_mutex_init(&ahead->lock);
	g_cond_init(&ahead->cond);
	for (guint i = 0; i < count; i++)
		make_ring(ahead, i);
	ahead->thread = g_thread_try_new("ahead", fill_all, ahead, NULL);
	if (!ahead->thread)
		g_clear_pointer(&ahead, dtc_ahead_free);
	return ahead;
}

void dtc_ahead_free(DtcAhead *ahead)
{
	if (!ahead)
		return;
	g_atomic_int_set(&ahead->stop, 1);
	call_thread(ahead);
	if (ahead->thread)
		g_thread_join(ahead->thread);
	for (guint i = 0; i < ahead->count; i++) {
		struct ring *ring = &ahead->rings[i];
		ahead->cursors[i].items = ring->before;
		ahead->cursors[i].stream.items = ring->before;
		g_free(ring->batches[0].items);
		g_free(ring->batches);
		g_mutex_clear(&ring->lock);
	}
	g_free(ahead->rings);
	g_mutex_clear(&ahead->lock);
	g_cond_clear(&ahead->cond);
	g_free(ahead);
}
