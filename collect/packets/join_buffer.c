/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A buffer (skb) is queued, transmitted and, on a device that leads back into this node (lo, veth), received at the
 * other end under the same address. What these events have in common, in the words of net/core/dev.c (6.1 to 6.18):
 *   queue -> transmission   __dev_queue_xmit traces the buffer, and dev_hard_start_xmit the same one, later perhaps and
 *                           on another CPU if a queue discipline held it. If the device cannot segment, the buffer is
 *                           replaced by its segments (validate_xmit_skb): new buffers, the first of which is traced
 *                           next in this thread on this CPU, since bottom halves are off in between.
 *   transmission ->         loopback_xmit and veth_xmit hand the buffer to netif_rx. Other devices free it, and its
 *     reception             address comes back for other packets: hence only devices on which all that is received was
 *                           transmitted under the same address before, with the same length, are believed. libpcap
 *                           leaves out what is sent on lo, since it is received there: the reception's packet stands
 *                           for both.
 */
#include "collect/packets/join_records.h"
#include "collect/packets/packets.h"

#include <string.h>

/* Longer than a backlog is waited in. */
#define TURNAROUND_NS INT64_C(1000000000)
/* A device on which this share of the receptions was transmitted before is an end of a wire within the node. */
#define WIRE_PERCENT 95
/* The link header if no buffer told: Ethernet's. */
#define LINK_BYTES 14

struct device_count {
	uint32_t received;
	uint32_t returned; /* of them, transmitted under the same address before */
	uint32_t queued;   /* now, and not transmitted yet */
	uint8_t link_bytes;
};

struct following {
	DtcJoin *join;
	GHashTable *queued;	     /* address -> event + 1 */
	GHashTable *transmitted;     /* address -> event + 1 */
	uint32_t *queued_last;	     /* of each CPU: the latest net_dev_queue, or DTC_NONE once its packet was seen */
	struct device_count *counts; /* of each device */
};

static guint hash_buffer(gconstpointer address)
{
	guint64 bits = (guint64)(gsize)address;

	return (guint)(bits >> 6 ^ bits >> 32); /* the lowest bits of a slab's addresses are all alike */
}

static void *get_key(const struct dtc_join_event *event)
{
	return GSIZE_TO_POINTER((gsize)event->skb);
}

/* The event of this buffer that waits in the table, taken out; DTC_NONE: there is none. */
static uint32_t take(GHashTable *table, const struct dtc_join_event *event)
{
	void *found;

	if (!g_hash_table_steal_extended(table, get_key(event), NULL, &found))
		return DTC_NONE;
	return GPOINTER_TO_UINT(found) - 1;
}

static void put(GHashTable *table, const struct dtc_join_event *event, uint32_t id)
{
	g_hash_table_insert(table, get_key(event), GUINT_TO_POINTER(id + 1));
}

static void follow_queue(struct following *following, const struct dtc_join_event *event, uint32_t id)
{
	uint32_t dropped = take(following->queued, event);

	if (dropped != DTC_NONE)
		following->counts[dtc_join_event_at(following->join, dropped)->device].queued--;
	put(following->queued, event, id);
	following->counts[event->device].queued++;
	following->queued_last[event->cpu] = id;
}

/* The buffer that this is the first segment of, or DTC_NONE. */
static uint32_t find_whole(const struct following *following, const struct dtc_join_event *segment)
{
	uint32_t queued = following->queued_last[segment->cpu];

	if (queued == DTC_NONE)
		return DTC_NONE;
	const struct dtc_join_event *whole = dtc_join_event_at(following->join, queued);
	if (whole->tid != segment->tid || whole->device != segment->device || whole->length <= segment->length ||
	    whole->skb == segment->skb)
		return DTC_NONE;
	/* what another buffer left in the queue may go first: then the bytes tell (join_segments.c) */
	if (following->counts[whole->device].queued > 1)
		return DTC_NONE;
	return queued;
}

static void link_segment(struct following *following, uint32_t whole, uint32_t segment)
{
	const struct dtc_join_event *event = dtc_join_event_at(following->join, whole);
	struct dtc_join_slot *slot = dtc_join_slot_at(following->join, whole);
	struct device_count *count = &following->counts[event->device];

	slot->next = segment;
	slot->is_segment = true;
	slot->link_bytes = count->link_bytes;
	take(following->queued, event);
	count->queued--;
}

static void follow_transmission(struct following *following, const struct dtc_join_event *event, uint32_t id)
{
	uint32_t queued = take(following->queued, event);
	struct device_count *count = &following->counts[event->device];

	if (queued != DTC_NONE) {
		const struct dtc_join_event *before = dtc_join_event_at(following->join, queued);
		following->counts[before->device].queued--;
		if (before->device == event->device) {
			dtc_join_slot_at(following->join, queued)->next = id;
			if (before->length >= event->length && before->length - event->length <= UINT8_MAX)
				count->link_bytes = (uint8_t)(before->length - event->length);
		}
	} else {
		uint32_t whole = find_whole(following, event);
		if (whole != DTC_NONE)
			link_segment(following, whole, id);
	}
	following->queued_last[event->cpu] = DTC_NONE; /* what comes next is not the first */
	put(following->transmitted, event, id);
}

static void follow_reception(struct following *following, const struct dtc_join_event *event, uint32_t id)
{
	uint32_t sent = take(following->transmitted, event);
	struct device_count *count = &following->counts[event->device];

	count->received++;
	if (sent == DTC_NONE)
		return;
	const struct dtc_join_event *before = dtc_join_event_at(following->join, sent);
	if (before->length != event->length || event->time_ns - before->time_ns > TURNAROUND_NS)
		return;
	dtc_join_slot_at(following->join, sent)->next = id;
	count->returned++;
}

/*
 * Forgets what looked like a reception of the same buffer at devices that receive from elsewhere; of the others the
 * reception knows its transmission, too.
 */
static void drop_chances(const struct following *following)
{
	DtcJoin *join = following->join;

	for (uint32_t i = 0; i < join->events->len; i++) {
		struct dtc_join_slot *slot = dtc_join_slot_at(join, i);
		if (dtc_join_event_at(join, i)->kind != DTC_JOIN_START_XMIT || slot->next == DTC_NONE)
			continue;
		const struct device_count *count = &following->counts[dtc_join_event_at(join, slot->next)->device];
		if ((uint64_t)count->returned * 100 < (uint64_t)count->received * WIRE_PERCENT)
			slot->next = DTC_NONE;
		else
			dtc_join_slot_at(join, slot->next)->next = i;
	}
}

void dtc_join_follow_buffers(DtcJoin *join)
{
	struct following following = { .join = join };
	gsize device_count = (gsize)UINT16_MAX + 1;

	following.queued = g_hash_table_new(hash_buffer, g_direct_equal);
	following.transmitted = g_hash_table_new(hash_buffer, g_direct_equal);
	following.queued_last = g_new(uint32_t, (gsize)join->cpu_count + 1);
	memset(following.queued_last, 0xff, join->cpu_count * sizeof(uint32_t));
	following.counts = g_new0(struct device_count, device_count);
	for (gsize i = 0; i < device_count; i++)
		following.counts[i].link_bytes = LINK_BYTES;
	for (uint32_t i = 0; i < join->events->len; i++) {
		uint32_t id = join->event_order[i];
		const struct dtc_join_event *event = dtc_join_event_at(join, id);
		if (event->kind == DTC_JOIN_QUEUE)
			follow_queue(&following, event, id);
		else if (event->kind == DTC_JOIN_START_XMIT)
			follow_transmission(&following, event, id);
		else
			follow_reception(&following, event, id);
	}
	drop_chances(&following);
	g_hash_table_unref(following.queued);
	g_hash_table_unref(following.transmitted);
	g_free(following.queued_last);
	g_free(following.counts);
}

/* --- afterwards ------------------------------------------------------------------------------------------------- */

bool dtc_join_is_same(const DtcJoin *join, uint32_t one, uint32_t other)
{
	const struct dtc_wire_headers *a = DTC_AT(join->headers, struct dtc_wire_headers, one);
	const struct dtc_wire_headers *b = DTC_AT(join->headers, struct dtc_wire_headers, other);

	return a->type == b->type && a->network_bytes == b->network_bytes && a->transport_bytes == b->transport_bytes &&
	       memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/* Gives one end of a wire what the other end saw. */
static void carry(struct dtc_join_slot *to, const struct dtc_join_slot *from)
{
	to->packet = from->packet;
	to->is_doubted = from->is_doubted;
	to->state = DTC_JOIN_CARRIED;
}

/*
 * A transmission and the reception of the same buffer saw the same packet. Where only one of them has it, or only one
 * of them is sure, its packet is the other's; where two that are sure contradict each other, neither is.
 */
static void agree(DtcJoin *join, struct dtc_join_slot *sent, struct dtc_join_slot *received)
{
	if (sent->packet == DTC_NONE && received->packet == DTC_NONE)
		return;
	if (sent->packet == DTC_NONE) {
		carry(sent, received);
	} else if (received->packet == DTC_NONE) {
		carry(received, sent);
	} else if (dtc_join_is_same(join, sent->packet, received->packet)) {
		sent->is_doubted = received->is_doubted = sent->is_doubted && received->is_doubted;
	} else if (sent->is_doubted != received->is_doubted) {
		if (sent->is_doubted)
			carry(sent, received);
		else
			carry(received, sent);
	} else {
		sent->is_doubted = received->is_doubted = true;
	}
}

void dtc_join_carry_packets(DtcJoin *join)
{
	for (uint32_t i = 0; i < join->events->len; i++) {
		struct dtc_join_slot *slot = dtc_join_slot_at(join, i);
		if (dtc_join_event_at(join, i)->kind == DTC_JOIN_START_XMIT && slot->next != DTC_NONE)
			agree(join, slot, dtc_join_slot_at(join, slot->next));
	}
	for (uint32_t i = 0; i < join->events->len; i++) {
		struct dtc_join_slot *slot = dtc_join_slot_at(join, i);
		if (dtc_join_event_at(join, i)->kind != DTC_JOIN_QUEUE || slot->next == DTC_NONE)
			continue;
		const struct dtc_join_slot *transmission = dtc_join_slot_at(join, slot->next);
		slot->packet = transmission->packet;
		slot->is_doubted |= transmission->is_doubted;
		slot->state = transmission->state;
	}
}
