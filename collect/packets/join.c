/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is joined with what: events and packets of one device name, direction and length are a group, in which order and
 * time decide (join_match.c). Device names repeat in the namespaces of a node (lo, eth0), and events do not say which
 * is theirs: packets of all of them are candidates. Events of one buffer share their packet (join_buffer.c).
 */
#include "collect/packets/capture.h"
#include "collect/packets/join_records.h"
#include "collect/packets/layers.h"
#include "collect/packets/packets.h"
#include "dtrace-chain/error.h"

#include <dtrace-chain/hash.h>

#include <string.h>

#define LOOPBACK "lo"
#define DEVICES_MAX UINT16_MAX
#define IPV6_BYTES 40
#define TCP_BYTES 20
#define UDP_BYTES 8
#define DIGIT_BITS 16
#define DIGITS (1u << DIGIT_BITS)
/* Times beyond are damage; within, distances and tolerances do not overflow. */
#define TIME_MAX (INT64_MAX / 4)

DtcJoin *dtc_join_new(void)
{
	DtcJoin *join = g_new0(DtcJoin, 1);

	join->clock = dtc_join_clock_new();
	join->devices = g_ptr_array_new_with_free_func(g_free);
	join->device_ids = g_hash_table_new(g_str_hash, g_str_equal);
	join->device_netns = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	join->interfaces = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL);
	join->groups = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL);
	join->events = dtc_table_new(sizeof(struct dtc_join_event));
	join->slots = dtc_table_new(sizeof(struct dtc_join_slot));
	join->packets = dtc_table_new(sizeof(struct dtc_join_packet));
	join->headers = dtc_table_new(sizeof(struct dtc_wire_headers));
	join->own = dtc_table_new(sizeof(struct dtc_wire_headers));
	join->woken = dtc_table_new(sizeof(struct dtc_join_woken));
	join->own_of = dtc_table_new(sizeof(uint32_t));
	return join;
}

void dtc_join_free(DtcJoin *join)
{
	if (!join)
		return;
	dtc_join_clock_free(join->clock);
	g_hash_table_unref(join->device_ids);
	g_ptr_array_unref(join->devices);
	g_hash_table_unref(join->device_netns);
	g_hash_table_unref(join->interfaces);
	g_hash_table_unref(join->groups);
	dtc_table_free(join->events);
	dtc_table_free(join->slots);
	dtc_table_free(join->packets);
	dtc_table_free(join->headers);
	dtc_table_free(join->own);
	dtc_table_free(join->woken);
	dtc_table_free(join->own_of);
	g_free(join->event_order);
	g_free(join->packet_order);
	g_free(join);
}

void dtc_join_add_clock(DtcJoin *join, int64_t mono_ns, int64_t real_ns, int64_t uncertainty_ns)
{
	dtc_join_clock_add(join->clock, mono_ns, real_ns, uncertainty_ns);
}

uint16_t dtc_join_add_device(DtcJoin *join, const char *name)
{
	void *id;

	if (g_hash_table_lookup_extended(join->device_ids, name, NULL, &id))
		return (uint16_t)GPOINTER_TO_UINT(id);
	if (join->devices->len == DEVICES_MAX) /* no machine has that many; those beyond share one, and do not match */
		return DEVICES_MAX;
	char *copy = g_strdup(name);
	guint device = join->devices->len;
	g_ptr_array_add(join->devices, copy);
	g_hash_table_insert(join->device_ids, copy, GUINT_TO_POINTER(device));
	return (uint16_t)device;
}

/* The number of a key, counted from 1; 0: it is not there. */
static guint find_number(GHashTable *numbers, gint64 key)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(numbers, &key));
}

static void set_number(GHashTable *numbers, gint64 key, guint number)
{
	g_hash_table_insert(numbers, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(number));
}

static gint64 make_interface_key(uint32_t netns, uint32_t index)
{
	return (gint64)((uint64_t)netns << 32 | index);
}

void dtc_join_add_interface(DtcJoin *join, uint32_t netns, uint32_t index, const char *name)
{
	void *known;
	bool is_elsewhere = g_hash_table_lookup_extended(join->device_netns, name, NULL, &known) &&
			    GPOINTER_TO_UINT(known) != netns;

	g_hash_table_replace(join->device_netns, g_strdup(name), GUINT_TO_POINTER(is_elsewhere ? 0 : netns));
	set_number(join->interfaces, make_interface_key(netns, index), dtc_join_add_device(join, name) + 1u);
}

/* The namespace of an event whose packet was seen at the other end of its wire: a name may be in one only; 0: unknown.
 */
static uint32_t find_netns(const DtcJoin *join, const struct dtc_join_event *event, uint32_t other_end)
{
	const char *name = g_ptr_array_index(join->devices, event->device);

	if (strcmp(name, LOOPBACK) == 0)
		return other_end;
	return GPOINTER_TO_UINT(g_hash_table_lookup(join->device_netns, name));
}

static uint32_t find_group(DtcJoin *join, uint16_t device, bool is_in, uint32_t length)
{
	gint64 key = (gint64)((uint64_t)length << 17 | (uint64_t)device << 1 | is_in);
	guint group = find_number(join->groups, key);

	if (group == 0) {
		group = g_hash_table_size(join->groups) + 1;
		set_number(join->groups, key, group);
	}
	return group;
}

uint32_t dtc_join_add_event(DtcJoin *join, const struct dtc_join_event *event)
{
	g_assert(!join->is_run);
	uint32_t id = join->events->len;
	struct dtc_join_slot slot = { .packet = DTC_NONE, .next = DTC_NONE, .open_next = DTC_NONE };

	if (id == DTC_NONE - 1)
		return DTC_NONE;
	if (event->kind != DTC_JOIN_QUEUE && event->device < join->devices->len)
		slot.group = find_group(join, event->device, event->kind == DTC_JOIN_RECEIVE, event->length);
	dtc_table_append(join->events, event);
	dtc_table_append(join->slots, &slot);
	struct dtc_join_event *copy = DTC_AT(join->events, struct dtc_join_event, id);
	copy->time_ns = CLAMP(copy->time_ns, -TIME_MAX, TIME_MAX);
	join->cpu_count = MAX(join->cpu_count, event->cpu + 1u);
	return id;
}

void dtc_join_set_headers(DtcJoin *join, uint32_t event, const struct dtc_wire_headers *headers)
{
	g_assert(event < join->events->len);
	if (event >= join->own_of->len)
		dtc_table_set_length(join->own_of, event + 1);
	dtc_table_append(join->own, headers);
	*DTC_AT(join->own_of, uint32_t, event) = join->own->len;
}

void dtc_join_add_woken(DtcJoin *join, uint32_t event, int32_t tid)
{
	g_assert(event < join->events->len);
	const struct dtc_join_woken woken = { event, tid };

	dtc_table_append(join->woken, &woken);
}

/* NULL: it has none of its own. */
static const struct dtc_wire_headers *find_own(const DtcJoin *join, uint32_t event)
{
	uint32_t place = event < join->own_of->len ? *DTC_AT(join->own_of, uint32_t, event) : 0;

	return place ? DTC_AT(join->own, struct dtc_wire_headers, place - 1) : NULL;
}

/* --- captures --------------------------------------------------------------------------------------------------- */

static void add_packet(DtcJoin *join, const DtcCapture *capture, const struct dtc_captured *captured, uint32_t netns)
{
	struct dtc_wire_headers headers = { .netns = netns };
	/* what is addressed to others is received as well: by the port of a bridge */
	struct dtc_join_packet packet = { .is_in = captured->direction != DTC_CAPTURE_OUT };
	uint32_t length;

	if (join->packets->len == DTC_NONE - 1 || !dtc_capture_get_wire(capture, &headers, &length))
		return;
	if (!dtc_join_clock_convert(join->clock, captured->time_ns, &packet.time_ns)) {
		join->packets_in_step++;
		return;
	}
	packet.time_ns = CLAMP(packet.time_ns, -TIME_MAX, TIME_MAX);
	packet.is_tcp = headers.transport_bytes == TCP_BYTES;
	guint device = find_number(join->interfaces, make_interface_key(netns, captured->interface));
	if (device > 0)
		packet.group = find_group(join, (uint16_t)(device - 1), packet.is_in, length);
	dtc_table_append(join->packets, &packet);
	dtc_table_append(join->headers, &headers);
}

bool dtc_join_add_capture(DtcJoin *join, const char *node, const char *path, uint32_t netns, DtcFindings *findings,
			  GError **error)
{
	g_assert(!join->is_run);
	g_autoptr(DtcCapture) capture = dtc_capture_open(node, path, error);
	const struct dtc_captured *captured;

	if (!capture)
		return false;
	if (!dtc_capture_is_cooked2(capture)) {
		g_set_error(
			error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			"the capture '%s' of node '%s' cannot be joined with events: its link type is not LINUX_SLL2\n"
			"capture with `dtrace-collect record`, or `tcpdump -i any -y LINUX_SLL2`",
			path, node);
		return false;
	}
	while ((captured = dtc_capture_next(capture)))
		add_packet(join, capture, captured, netns);
	dtc_capture_finish(capture, findings);
	return true;
}

bool dtc_join_read_transport(const DtcJoin *join, uint32_t packet, struct dtc_join_transport *ret)
{
	const struct dtc_wire_headers *headers = DTC_AT(join->headers, struct dtc_wire_headers, packet);
	const uint8_t *ip = headers->bytes, *transport = ip + headers->network_bytes;
	bool is_v6 = headers->network_bytes == IPV6_BYTES;
	uint8_t protocol = ip[is_v6 ? 6 : 9];

	if (headers->transport_bytes == 0 || (protocol != DTC_PROTOCOL_TCP && protocol != DTC_PROTOCOL_UDP))
		return false;
	*ret = (struct dtc_join_transport){
		.addresses = ip + (is_v6 ? 8 : 12),
		.ports = transport,
		.address_bytes = is_v6 ? 16 : 4,
		.netns = headers->netns,
		.header_bytes = (is_v6 ? IPV6_BYTES : (ip[0] & 15u) * 4) + UDP_BYTES,
		.is_tcp = headers->transport_bytes == TCP_BYTES,
	};
	if (ret->is_tcp) {
		ret->header_bytes += (transport[12] >> 4) * 4u - UDP_BYTES;
		ret->seq = dtc_layer_get32(transport + 4);
		ret->ack = dtc_layer_get32(transport + 8);
		ret->flags = transport[13];
	}
	return true;
}

/* --- order ------------------------------------------------------------------------------------------------------ */

/* One pass over a digit of the keys; what is equal stays in order. */
static void sort_by_digit(const uint64_t *keys, const uint32_t *from, uint32_t *to, uint32_t count, unsigned int shift,
			  uint32_t *places)
{
	uint32_t place = 0;

	memset(places, 0, DIGITS * sizeof(*places));
	for (uint32_t i = 0; i < count; i++)
		places[keys[i] >> shift & (DIGITS - 1)]++;
	for (uint32_t digit = 0; digit < DIGITS; digit++) {
		uint32_t here = places[digit];
		places[digit] = place;
		place += here;
	}
	for (uint32_t i = 0; i < count; i++)
		to[places[keys[from[i]] >> shift & (DIGITS - 1)]++] = from[i];
}

/* The order of the keys, by digits: linear, and files that are not in order cost no more than others. */
static uint32_t *sort_keys(const uint64_t *keys, uint32_t count)
{
	g_autofree uint32_t *places = g_new(uint32_t, DIGITS);
	uint32_t *order = g_new(uint32_t, (gsize)count + 1), *other = g_new(uint32_t, (gsize)count + 1);
	uint64_t largest = 0;

	for (uint32_t i = 0; i < count; i++) {
		largest = MAX(largest, keys[i]);
		order[i] = i;
	}
	for (unsigned int shift = 0; shift < 64 && largest >> shift > 0; shift += DIGIT_BITS) {
		sort_by_digit(keys, order, other, count, shift, places);
		uint32_t *sorted = other;
		other = order;
		order = sorted;
	}
	g_free(other);
	return order;
}

/* Times may be anything in a damaged file; differences to the first are taken as they wrap. */
static uint32_t *sort_times(const DtcJoin *join, bool is_packets)
{
	uint32_t count = is_packets ? join->packets->len : join->events->len;
	g_autofree uint64_t *keys = g_new(uint64_t, (gsize)count + 1);
	int64_t first = INT64_MAX;

	for (uint32_t i = 0; i < count; i++) {
		int64_t time_ns =
			is_packets ? dtc_join_packet_at(join, i)->time_ns : dtc_join_event_at(join, i)->time_ns;
		keys[i] = (uint64_t)time_ns;
		first = MIN(first, time_ns);
	}
	for (uint32_t i = 0; i < count; i++)
		keys[i] -= (uint64_t)first;
	return sort_keys(keys, count);
}

void dtc_join_run(DtcJoin *join)
{
	g_assert(!join->is_run);
	join->is_run = true;
	join->event_order = sort_times(join, false);
	join->packet_order = sort_times(join, true);
	dtc_join_follow_buffers(join);
	dtc_join_match_packets(join);
	dtc_join_link_segments(join);
	dtc_join_carry_packets(join);
}

/* --- results ---------------------------------------------------------------------------------------------------- */

struct dtc_join_summary dtc_join_get_summary(const DtcJoin *join)
{
	struct dtc_join_summary summary = { .events = join->events->len,
					    .packets = join->packets->len + join->packets_in_step,
					    .packets_unmatched = join->packets_in_step,
					    .packets_in_step = join->packets_in_step };

	for (uint32_t i = 0; i < join->events->len; i++) {
		const struct dtc_join_slot *slot = dtc_join_slot_at(join, i);
		if (find_own(join, i))
			summary.own++;
		else if (slot->packet == DTC_NONE)
			summary.none++;
		else if (slot->is_doubted)
			summary.inferred++;
		else
			summary.joined++;
	}
	for (uint32_t i = 0; i < join->packets->len; i++)
		summary.packets_unmatched += !dtc_join_packet_at(join, i)->is_matched;
	return summary;
}

static void put16(uint8_t *bytes, uint32_t value)
{
	value = value > UINT16_MAX ? 0 : value; /* as the kernel writes what the field does not hold */
	bytes[0] = (uint8_t)(value >> 8);
	bytes[1] = (uint8_t)value;
}

/* Makes the headers of a first segment those of the whole, which is length bytes long from the network header on. */
static void set_length(struct dtc_wire_headers *headers, uint32_t length)
{
	bool is_v6 = headers->network_bytes == IPV6_BYTES;

	if (headers->network_bytes == 0 || length < headers->network_bytes)
		return;
	put16(headers->bytes + (is_v6 ? 4 : 2), is_v6 ? length - IPV6_BYTES : length);
	if (headers->bytes[is_v6 ? 6 : 9] == DTC_PROTOCOL_UDP && headers->transport_bytes > 0)
		put16(headers->bytes + headers->network_bytes + 4, length - headers->network_bytes);
}

static const struct dtc_wire_headers *find_packet(const DtcJoin *join, uint32_t event)
{
	return DTC_AT(join->headers, struct dtc_wire_headers, dtc_join_slot_at(join, event)->packet);
}

/* What segments leave to the last of them, the whole had. */
static void set_last_flags(struct dtc_wire_headers *headers, const struct dtc_wire_headers *last)
{
	if (headers->transport_bytes == TCP_BYTES && last->transport_bytes == TCP_BYTES)
		headers->bytes[headers->network_bytes + 13] |=
			last->bytes[last->network_bytes + 13] & (DTC_TCP_FIN | DTC_TCP_PSH);
}

enum dtc_header_source dtc_join_get(const DtcJoin *join, uint32_t event, struct dtc_wire_headers *ret_headers)
{
	g_assert(join->is_run && event < join->events->len);
	const struct dtc_join_slot *slot = dtc_join_slot_at(join, event);

	const struct dtc_wire_headers *own = find_own(join, event);
	if (own) {
		*ret_headers = *own;
		return DTC_HEADER_EVENT;
	}
	if (slot->packet == DTC_NONE)
		return DTC_HEADER_NONE;
	*ret_headers = *DTC_AT(join->headers, struct dtc_wire_headers, slot->packet);
	const struct dtc_join_event *of = dtc_join_event_at(join, event);
	if (slot->state == DTC_JOIN_CARRIED)
		ret_headers->netns = find_netns(join, of, ret_headers->netns);
	if (slot->is_segment)
		set_length(ret_headers, of->length - slot->link_bytes);
	if (slot->is_segment && slot->open_next != DTC_NONE)
		set_last_flags(ret_headers, find_packet(join, slot->open_next));
	return slot->is_doubted ? DTC_HEADER_INFERRED : DTC_HEADER_JOINED;
}
