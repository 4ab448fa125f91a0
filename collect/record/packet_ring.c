/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/packet_ring.h"

#include <string.h>
#include <sys/mman.h>

#define BLOCK_BYTES ((gsize)256 << 10)
#define KIB 1024

/*
 * Packets one after the other, each behind its head; 8 bytes aligned. A mapping of its own, which malloc would keep:
 * 250 MiB after a minute of downloads.
 */
struct block {
	gsize room;
	gsize used;
	int64_t last_ns; /* the latest in it */
	uint8_t bytes[];
};

struct DtcPacketRing {
	int64_t keep_ns;
	int64_t cut_ns;
	int64_t until_ns; /* INT64_MAX: it is not held */
	struct dtc_packet_budget *budget;
	GQueue blocks; /* the oldest first */
};

static gsize get_stride(uint32_t captured_bytes)
{
	return (sizeof(struct dtc_ring_packet) + captured_bytes + 7) & ~(gsize)7;
}

static gint get_kib(gsize room)
{
	return (gint)((sizeof(struct block) + room + KIB - 1) / KIB);
}

DtcPacketRing *dtc_packet_ring_new(int64_t keep_ns, struct dtc_packet_budget *budget)
{
	DtcPacketRing *ring = g_new0(DtcPacketRing, 1);

	ring->keep_ns = keep_ns;
	ring->cut_ns = INT64_MIN;
	ring->until_ns = INT64_MAX;
	ring->budget = budget;
	g_queue_init(&ring->blocks);
	return ring;
}

static void drop_oldest(DtcPacketRing *ring)
{
	struct block *block = g_queue_pop_head(&ring->blocks);

	g_atomic_int_add(&ring->budget->kib, -get_kib(block->room));
	munmap(block, sizeof(*block) + block->room);
}

void dtc_packet_ring_free(DtcPacketRing *ring)
{
	if (!ring)
		return;
	while (!g_queue_is_empty(&ring->blocks))
		drop_oldest(ring);
	g_free(ring);
}

/* A block goes as a whole, when the latest packet in it is too old. */
void dtc_packet_ring_age(DtcPacketRing *ring, int64_t now_ns)
{
	const struct block *oldest;

	if (ring->until_ns != INT64_MAX)
		return;
	while ((oldest = g_queue_peek_head(&ring->blocks)) && oldest->last_ns < now_ns - ring->keep_ns)
		drop_oldest(ring);
}

/* Its own oldest go, until there is room: what other captures keep is theirs. NULL: there is none even so. */
static struct block *add_block(DtcPacketRing *ring, gsize room, int64_t time_ns)
{
	gint kib = get_kib(room);

	while (g_atomic_int_add(&ring->budget->kib, kib) + kib > ring->budget->max_kib) {
		g_atomic_int_add(&ring->budget->kib, -kib);
		const struct block *oldest = g_queue_peek_head(&ring->blocks);
		ring->cut_ns = MAX(ring->cut_ns, oldest ? oldest->last_ns : time_ns);
		if (!oldest)
			return NULL;
		drop_oldest(ring);
	}
	struct block *block =
		mmap(NULL, sizeof(struct block) + room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED) {
		g_atomic_int_add(&ring->budget->kib, -kib);
		ring->cut_ns = MAX(ring->cut_ns, time_ns);
		return NULL;
	}
	block->room = room;
	block->used = 0;
	block->last_ns = INT64_MIN;
	g_queue_push_tail(&ring->blocks, block);
	return block;
}

void dtc_packet_ring_add(DtcPacketRing *ring, const struct dtc_ring_packet *packet, const uint8_t *bytes)
{
	gsize stride = get_stride(packet->captured_bytes);
	struct block *block;

	if (packet->time_ns > ring->until_ns)
		return;
	dtc_packet_ring_age(ring, packet->time_ns);
	block = g_queue_peek_tail(&ring->blocks);
	if (!block || block->room - block->used < stride)
		block = add_block(ring, MAX(stride, BLOCK_BYTES), packet->time_ns);
	if (!block)
		return;
	memcpy(block->bytes + block->used, packet, sizeof(*packet));
	memcpy(block->bytes + block->used + sizeof(*packet), bytes, packet->captured_bytes);
	block->used += stride;
	block->last_ns = MAX(block->last_ns, packet->time_ns);
}

void dtc_packet_ring_hold(DtcPacketRing *ring, int64_t until_ns)
{
	ring->until_ns = until_ns;
}

int64_t dtc_packet_ring_get_cut_ns(const DtcPacketRing *ring)
{
	return ring->cut_ns;
}

void dtc_packet_ring_each(const DtcPacketRing *ring, int64_t from_ns, int64_t until_ns,
			  void (*call)(const struct dtc_ring_packet *packet, const uint8_t *bytes, void *data),
			  void *data)
{
	for (const GList *link = ring->blocks.head; link; link = link->next) {
		const struct block *block = link->data;
		for (gsize at = 0; at < block->used;) {
			struct dtc_ring_packet packet;
			memcpy(&packet, block->bytes + at, sizeof(packet));
			if (packet.time_ns >= from_ns && packet.time_ns <= until_ns)
				call(&packet, block->bytes + at + sizeof(packet), data);
			at += get_stride(packet.captured_bytes);
		}
	}
}
