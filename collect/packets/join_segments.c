/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A buffer that a queue discipline cuts into segments and sends later, at the pace of its link (sch_tbf.c, sch_cake.c,
 * sch_netem.c, 6.1 to 6.18): its segments are new buffers, transmitted from a softirq on any CPU, and nothing but the
 * bytes says whose they are. Segments of one flow whose sequence numbers follow each other and whose payload sums to
 * that of a buffer that was queued before, in the order of the queue, are its segments: without this the sender of
 * large answers over a shaped link is unknown. Only TCP, since other protocols do not number their bytes.
 */
#include "collect/packets/join_records.h"
#include "collect/packets/packets.h"

#include <string.h>

/* A queue holds a buffer for less. */
#define HELD_NS INT64_C(2000000000)
/* Buffers of a device that wait for their segments; when there are more, the oldest is given up. */
#define WHOLES_MAX 64
#define LINK_BYTES 14 /* Ethernet's, if no buffer told */

struct whole {
	uint32_t event;
	uint32_t first;	   /* the segment it begins with, DTC_NONE: not seen yet */
	uint32_t next_seq; /* and the number that the next one must have */
	uint32_t left;	   /* bytes of payload that are missing */
};

struct device {
	GArray *wholes; /* struct whole, in the order of the queue */
	uint32_t link_bytes;
};

static const uint8_t *get_headers(const DtcJoin *join, uint32_t event, const struct dtc_wire_headers **ret)
{
	uint32_t packet = dtc_join_slot_at(join, event)->packet;

	*ret = DTC_AT(join->headers, struct dtc_wire_headers, packet);
	return (*ret)->bytes + (*ret)->network_bytes;
}

static bool is_tcp(const struct dtc_wire_headers *headers)
{
	return headers->transport_bytes == 20 &&
	       headers->bytes[headers->network_bytes == 40 ? 6 : 9] == DTC_PROTOCOL_TCP;
}

static uint32_t get_seq(const uint8_t *tcp)
{
	return (uint32_t)tcp[4] << 24 | (uint32_t)tcp[5] << 16 | (uint32_t)tcp[6] << 8 | tcp[7];
}

/* Bytes of the network and transport headers, options included. */
static uint32_t get_header_bytes(const struct dtc_wire_headers *headers, const uint8_t *tcp)
{
	uint32_t network = headers->network_bytes == 20 ? (headers->bytes[0] & 15u) * 4 : headers->network_bytes;

	return network + (tcp[12] >> 4) * 4u;
}

/* Are both packets of one direction of one connection? */
static bool is_same_flow(const DtcJoin *join, uint32_t one, uint32_t other)
{
	const struct dtc_wire_headers *a, *b;
	const uint8_t *tcp_a = get_headers(join, one, &a), *tcp_b = get_headers(join, other, &b);
	uint32_t at = a->network_bytes == 40 ? 8 : 12;

	return a->netns == b->netns && a->network_bytes == b->network_bytes && a->network_bytes > at &&
	       memcmp(a->bytes + at, b->bytes + at, a->network_bytes - at) == 0 && memcmp(tcp_a, tcp_b, 4) == 0;
}

/* --- what waits ----------------------------------------------------------------------------------------------------
 */

static void add_whole(struct device *device, uint32_t event)
{
	struct whole whole = { .event = event, .first = DTC_NONE };

	if (device->wholes->len == WHOLES_MAX)
		g_array_remove_index(device->wholes, 0);
	g_array_append_val(device->wholes, whole);
}

static void give_up(const DtcJoin *join, struct device *device, int64_t now_ns)
{
	while (device->wholes->len > 0) {
		const struct whole *oldest = &g_array_index(device->wholes, struct whole, 0);
		if (now_ns - dtc_join_event_at(join, oldest->event)->time_ns <= HELD_NS)
			return;
		g_array_remove_index(device->wholes, 0);
	}
}

/* Two of one length wait: a drop of the first would leave its segments to be taken for the second's. */
static bool is_alone(const DtcJoin *join, const struct device *device, const struct whole *whole)
{
	uint32_t length = dtc_join_event_at(join, whole->event)->length;

	for (guint i = 0; i < device->wholes->len; i++) {
		const struct whole *other = &g_array_index(device->wholes, struct whole, i);
		if (other != whole && dtc_join_event_at(join, other->event)->length == length)
			return false;
	}
	return true;
}

static void link_whole(DtcJoin *join, struct device *device, guint index)
{
	const struct whole *whole = &g_array_index(device->wholes, struct whole, index);
	struct dtc_join_slot *slot = dtc_join_slot_at(join, whole->event);

	slot->next = whole->first;
	slot->is_segment = true;
	slot->link_bytes = (uint8_t)device->link_bytes;
	slot->is_doubted = !is_alone(join, device, whole);
	g_array_remove_index(device->wholes, index);
}

/* --- segments ------------------------------------------------------------------------------------------------------
 */

/* Does the buffer begin with this segment, by its length? */
static bool begin_whole(const DtcJoin *join, const struct device *device, struct whole *whole, uint32_t segment,
			uint32_t header_bytes, uint32_t payload)
{
	uint32_t length = dtc_join_event_at(join, whole->event)->length;
	const struct dtc_wire_headers *headers;

	if (length <= device->link_bytes + header_bytes + payload)
		return false;
	whole->first = segment;
	whole->left = length - device->link_bytes - header_bytes - payload;
	whole->next_seq = get_seq(get_headers(join, segment, &headers)) + payload;
	return true;
}

/* The buffer that has begun goes on with this segment, or does not begin where it was thought to. */
static bool continue_whole(DtcJoin *join, struct device *device, guint index, uint32_t segment, uint32_t payload)
{
	struct whole *whole = &g_array_index(device->wholes, struct whole, index);
	const struct dtc_wire_headers *headers;

	if (get_seq(get_headers(join, segment, &headers)) != whole->next_seq || payload > whole->left ||
	    !is_same_flow(join, whole->first, segment))
		return false;
	whole->next_seq += payload;
	whole->left -= payload;
	if (whole->left == 0)
		link_whole(join, device, index);
	return true;
}

static void take_segment(DtcJoin *join, struct device *device, uint32_t segment)
{
	const struct dtc_wire_headers *headers;
	const uint8_t *tcp = get_headers(join, segment, &headers);
	uint32_t length = dtc_join_event_at(join, segment)->length;

	if (!is_tcp(headers) || length <= get_header_bytes(headers, tcp))
		return;
	uint32_t header_bytes = get_header_bytes(headers, tcp), payload = length - header_bytes;
	for (guint i = 0; i < device->wholes->len; i++)
		if (g_array_index(device->wholes, struct whole, i).first != DTC_NONE &&
		    continue_whole(join, device, i, segment, payload))
			return;
	for (guint i = 0; i < device->wholes->len; i++) {
		struct whole *whole = &g_array_index(device->wholes, struct whole, i);
		if (whole->first == DTC_NONE && begin_whole(join, device, whole, segment, header_bytes, payload))
			return;
	}
}

/* --- all of them ---------------------------------------------------------------------------------------------------
 */

/* Transmissions of buffers that were queued as they are; and what devices put before the network header. */
static uint8_t *find_claimed(const DtcJoin *join, struct device *devices)
{
	uint8_t *is_claimed = g_new0(uint8_t, (gsize)join->events->len + 1);

	for (uint32_t i = 0; i < join->events->len; i++) {
		const struct dtc_join_event *event = dtc_join_event_at(join, i);
		const struct dtc_join_slot *slot = dtc_join_slot_at(join, i);
		if (event->kind != DTC_JOIN_QUEUE || slot->next == DTC_NONE || (slot->is_segment && slot->is_doubted))
			continue;
		is_claimed[slot->next] = true;
		uint32_t length = dtc_join_event_at(join, slot->next)->length;
		if (!slot->is_segment && event->length >= length && event->length - length <= UINT8_MAX)
			devices[event->device].link_bytes = event->length - length;
	}
	return is_claimed;
}

void dtc_join_link_segments(DtcJoin *join)
{
	gsize device_count = (gsize)UINT16_MAX + 1;
	g_autofree struct device *devices = g_new0(struct device, device_count);

	for (gsize i = 0; i < device_count; i++)
		devices[i].link_bytes = LINK_BYTES;
	g_autofree uint8_t *is_claimed = find_claimed(join, devices);
	for (uint32_t i = 0; i < join->events->len; i++) {
		uint32_t id = join->event_order[i];
		const struct dtc_join_event *event = dtc_join_event_at(join, id);
		const struct dtc_join_slot *slot = dtc_join_slot_at(join, id);
		struct device *device = &devices[event->device];
		if (!device->wholes)
			device->wholes = g_array_new(FALSE, FALSE, sizeof(struct whole));
		if (event->kind == DTC_JOIN_QUEUE &&
		    (slot->next == DTC_NONE || (slot->is_segment && slot->is_doubted))) {
			add_whole(device, id);
		} else if (event->kind == DTC_JOIN_START_XMIT && !is_claimed[id] && slot->packet != DTC_NONE) {
			give_up(join, device, event->time_ns);
			take_segment(join, device, id);
		}
	}
	for (gsize i = 0; i < device_count; i++)
		g_clear_pointer(&devices[i].wholes, g_array_unref);
}
