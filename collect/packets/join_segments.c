/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A buffer that a queue discipline cuts into segments and sends later, at the pace of its link (sch_tbf.c, sch_cake.c,
 * sch_netem.c, 6.1 to 6.18): its segments are new buffers, transmitted from a softirq on any CPU, and nothing but the
 * bytes says whose they are. Segments of one flow whose sequence numbers follow each other and whose payload sums to
 * that of a buffer that was queued before, in the order of the queue, are its segments: without this the sender of
 * large answers over a shaped link is unknown. Only TCP, since other protocols do not number their bytes. Which one is
 * the last is looked for where the first is known, too: tcp_gso_segment leaves FIN and PSH to the last, and the whole
 * had them; an answer that ends with FIN would seem to be from nobody.
 */
#include "collect/packets/join_records.h"
#include "collect/packets/packets.h"

#include <string.h>

/* A queue holds a buffer for less. */
#define HELD_NS INT64_C(2000000000)
/* Buffers of a device that wait for their segments; when there are more, the oldest is given up. */
#define WHOLES_MAX 64
#define LINK_BYTES 14 /* Ethernet's, if no buffer told */

/* A buffer that was queued and not transmitted as it is. */
struct whole {
	uint32_t event;
	uint32_t first;	   /* the segment that it seems to begin with, DTC_NONE: not seen yet */
	uint32_t last;	   /* so far; in between by open_next of their slots */
	uint32_t next_seq; /* the number that the next one must have */
	uint32_t left;	   /* bytes of payload that are missing */
};

struct queue {
	GArray *wholes; /* struct whole, in their order */
	uint32_t link_bytes;
};

struct segmenting {
	DtcJoin *join;
	struct queue *queues; /* of each device */
	GArray *todo;	      /* segments that have no whole yet; the next one is the last */
	uint8_t *is_claimed;  /* of each event: a transmission of a buffer as it was queued */
};

static bool read_tcp(const DtcJoin *join, uint32_t event, struct dtc_join_transport *ret)
{
	return dtc_join_read_transport(join, dtc_join_slot_at(join, event)->packet, ret) && ret->is_tcp;
}

/* Are both packets of one direction of one connection? */
static bool is_same_flow(const DtcJoin *join, uint32_t one, uint32_t other)
{
	struct dtc_join_transport a, b;

	return read_tcp(join, one, &a) && read_tcp(join, other, &b) && a.netns == b.netns &&
	       a.address_bytes == b.address_bytes &&
	       memcmp(a.addresses, b.addresses, (gsize)2 * a.address_bytes) == 0 && memcmp(a.ports, b.ports, 4) == 0;
}

/* --- what waits ----------------------------------------------------------------------------------------------------
 */

/* Two of one length wait: if the first was dropped, the segments of the second are taken for its own. */
static bool is_alone(const DtcJoin *join, const struct queue *queue, const struct whole *whole)
{
	uint32_t length = dtc_join_event_at(join, whole->event)->length;

	for (guint i = 0; i < queue->wholes->len; i++) {
		const struct whole *other = &g_array_index(queue->wholes, struct whole, i);
		if (other != whole && dtc_join_event_at(join, other->event)->length == length)
			return false;
	}
	return true;
}

static void link_whole(DtcJoin *join, struct queue *queue, guint index)
{
	const struct whole *whole = &g_array_index(queue->wholes, struct whole, index);
	struct dtc_join_slot *slot = dtc_join_slot_at(join, whole->event);

	slot->open_next = whole->last;
	if (slot->next != whole->first) {
		slot->next = whole->first;
		slot->is_segment = true;
		slot->link_bytes = (uint8_t)queue->link_bytes;
		slot->is_doubted = !is_alone(join, queue, whole);
	}
	g_array_remove_index(queue->wholes, index);
}

/* It was dropped, or is not what it seemed to be: what was taken for its segments is looked at again without it. */
static void give_up(struct segmenting *segmenting, struct queue *queue, guint index)
{
	struct whole whole = g_array_index(queue->wholes, struct whole, index);
	guint from = segmenting->todo->len;

	g_array_remove_index(queue->wholes, index);
	for (uint32_t id = whole.first; id != DTC_NONE; id = dtc_join_slot_at(segmenting->join, id)->open_next)
		g_array_append_val(segmenting->todo, id);
	uint32_t *ids = &g_array_index(segmenting->todo, uint32_t, 0);
	for (guint a = from, b = segmenting->todo->len; a + 1 < b; a++, b--) {
		uint32_t id = ids[a];
		ids[a] = ids[b - 1];
		ids[b - 1] = id;
	}
}

static void add_whole(struct segmenting *segmenting, struct queue *queue, uint32_t event)
{
	struct whole whole = { .event = event, .first = DTC_NONE, .last = DTC_NONE };

	if (!queue->wholes)
		queue->wholes = g_array_new(FALSE, FALSE, sizeof(struct whole));
	if (queue->wholes->len == WHOLES_MAX)
		give_up(segmenting, queue, 0);
	g_array_append_val(queue->wholes, whole);
}

static void give_up_old(struct segmenting *segmenting, struct queue *queue, int64_t now_ns)
{
	while (queue->wholes && queue->wholes->len > 0) {
		const struct whole *oldest = &g_array_index(queue->wholes, struct whole, 0);
		if (now_ns - dtc_join_event_at(segmenting->join, oldest->event)->time_ns <= HELD_NS)
			return;
		give_up(segmenting, queue, 0);
	}
}

/* --- segments ------------------------------------------------------------------------------------------------------
 */

struct segment {
	uint32_t event;
	uint32_t seq;
	uint32_t header_bytes;
	uint32_t payload_bytes;
};

/* False: it is not TCP, or has no payload. */
static bool read_segment(const DtcJoin *join, uint32_t event, struct segment *ret)
{
	struct dtc_join_transport tcp;
	uint32_t length = dtc_join_event_at(join, event)->length;

	if (!read_tcp(join, event, &tcp) || length <= tcp.header_bytes)
		return false;
	*ret = (struct segment){ event, tcp.seq, tcp.header_bytes, length - tcp.header_bytes };
	return true;
}

/* Can the buffer begin with this segment, by its length and time? */
static bool begin_whole(const DtcJoin *join, const struct queue *queue, struct whole *whole,
			const struct segment *segment)
{
	const struct dtc_join_event *event = dtc_join_event_at(join, whole->event);

	if (event->length <= queue->link_bytes + segment->header_bytes + segment->payload_bytes ||
	    event->time_ns > dtc_join_event_at(join, segment->event)->time_ns)
		return false;
	whole->first = whole->last = segment->event;
	whole->left = event->length - queue->link_bytes - segment->header_bytes - segment->payload_bytes;
	whole->next_seq = segment->seq + segment->payload_bytes;
	return true;
}

/* Puts a segment where it belongs; a buffer that cannot be is given up, and the segment is looked at again. */
static void place_segment(struct segmenting *segmenting, struct queue *queue, const struct segment *segment)
{
	DtcJoin *join = segmenting->join;

	for (guint i = 0; i < queue->wholes->len; i++) {
		struct whole *whole = &g_array_index(queue->wholes, struct whole, i);
		if (whole->first == DTC_NONE || !is_same_flow(join, whole->first, segment->event))
			continue;
		if (segment->seq != whole->next_seq || segment->payload_bytes > whole->left) {
			g_array_append_val(segmenting->todo, segment->event);
			give_up(segmenting, queue, i);
			return;
		}
		dtc_join_slot_at(join, whole->last)->open_next = segment->event;
		whole->last = segment->event;
		whole->next_seq += segment->payload_bytes;
		whole->left -= segment->payload_bytes;
		if (whole->left == 0)
			link_whole(join, queue, i);
		return;
	}
	for (guint i = 0; i < queue->wholes->len; i++) {
		struct whole *whole = &g_array_index(queue->wholes, struct whole, i);
		if (whole->first == DTC_NONE && begin_whole(join, queue, whole, segment))
			return;
	}
}

/* Every buffer that is given up on the way is one less, so that this ends. */
static void place_segments(struct segmenting *segmenting, struct queue *queue)
{
	while (segmenting->todo->len > 0) {
		struct segment segment;
		uint32_t id = g_array_index(segmenting->todo, uint32_t, segmenting->todo->len - 1);
		g_array_set_size(segmenting->todo, segmenting->todo->len - 1);
		dtc_join_slot_at(segmenting->join, id)->open_next = DTC_NONE;
		if (queue->wholes && queue->wholes->len > 0 && read_segment(segmenting->join, id, &segment))
			place_segment(segmenting, queue, &segment);
	}
}

/* --- all of them ---------------------------------------------------------------------------------------------------
 */

/* Transmissions of buffers as they were queued; and what devices put before the network header. */
static void claim_transmissions(struct segmenting *segmenting)
{
	const DtcJoin *join = segmenting->join;

	for (uint32_t i = 0; i < join->events->len; i++) {
		const struct dtc_join_event *event = dtc_join_event_at(join, i);
		const struct dtc_join_slot *slot = dtc_join_slot_at(join, i);
		if (event->kind != DTC_JOIN_QUEUE || slot->next == DTC_NONE || slot->is_segment)
			continue;
		segmenting->is_claimed[slot->next] = true;
		uint32_t length = dtc_join_event_at(join, slot->next)->length;
		if (event->length >= length && event->length - length <= UINT8_MAX)
			segmenting->queues[event->device].link_bytes = event->length - length;
	}
}

static void pass_event(struct segmenting *segmenting, uint32_t id)
{
	const struct dtc_join_event *event = dtc_join_event_at(segmenting->join, id);
	const struct dtc_join_slot *slot = dtc_join_slot_at(segmenting->join, id);
	struct queue *queue = &segmenting->queues[event->device];

	if (event->kind == DTC_JOIN_QUEUE && (slot->next == DTC_NONE || slot->is_segment)) {
		add_whole(segmenting, queue, id);
	} else if (event->kind == DTC_JOIN_START_XMIT && !segmenting->is_claimed[id] && slot->packet != DTC_NONE) {
		g_array_append_val(segmenting->todo, id);
		give_up_old(segmenting, queue, event->time_ns);
	}
	place_segments(segmenting, queue);
}

void dtc_join_link_segments(DtcJoin *join)
{
	gsize device_count = (gsize)UINT16_MAX + 1;
	g_autofree struct queue *queues = g_new0(struct queue, device_count);
	g_autofree uint8_t *is_claimed = g_new0(uint8_t, (gsize)join->events->len + 1);
	struct segmenting segmenting = { join, queues, g_array_new(FALSE, FALSE, sizeof(uint32_t)), is_claimed };

	for (gsize i = 0; i < device_count; i++)
		queues[i].link_bytes = LINK_BYTES;
	claim_transmissions(&segmenting);
	for (uint32_t i = 0; i < join->events->len; i++)
		pass_event(&segmenting, join->event_order[i]);
	for (gsize i = 0; i < device_count; i++)
		g_clear_pointer(&queues[i].wholes, g_array_unref);
	g_array_unref(segmenting.todo);
}
