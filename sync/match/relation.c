/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/match/relation.h"

#include "collect/packets/records.h"

#include <dtrace-chain/bisect.h>
#include <dtrace-chain/sort.h>

#include <stdlib.h>
#include <string.h>

/* Shared packets per stretch of time: enough that the fastest of them is close to the shortest way. */
#define PACKETS_PER_KNOT 32
#define MAX_KNOTS 256
/* The way from the kernel event to the tap is a few microseconds and not known better. */
#define LEAST_ERROR_NS 2000

struct pairing {
	int64_t capture_ns;
	int64_t difference_ns;
};

/* Two packets tell the rate if that much lies between them, on either clock; of so many such pairs the middle. */
#define RATE_SPAN_NS INT64_C(1000000000)
#define RATES 32

/* Packets of which the relation is made, about; more say no more. */
#define PACKETS_USED 131072
/* Of the lists of them, in memory: of several nodes at a time. */
#define LIST_BYTES ((gsize)256 << 10)

/* What tells a packet from others; the first word is the flow's addresses. */
struct packet_key {
	guint64 words[4];
};

/* What all packets of a flow have in common: the first word, and their part of the second. */
struct flow_key {
	guint64 addresses; /* hash of both ends */
	guint64 ports;
};

/* A packet of which the relation is made: its number, and the hash of its key. */
struct taken {
	guint64 hash;
	uint32_t packet;
	uint32_t partner; /* of the kernel's: the capture's with the same hash, as its place in taken; or one of these
			     two */
};
#define PARTNER_NONE G_MAXUINT32
#define PARTNER_MANY (G_MAXUINT32 - 1) /* on either side: none is known for certain */

/* One of a node's two sources, and of its packets those that the relation is made of. */
struct side {
	const DtcPackets *packets;
	struct flow_key *flows; /* owned; by flow */
	DtcTable *taken;	/* struct taken, in the order of time; owned */
};

void dtc_relation_clear(struct dtc_relation *relation)
{
	g_clear_pointer(&relation->knots, g_free);
	relation->count = 0;
}

void dtc_relation_copy(struct dtc_relation *to, const struct dtc_relation *from)
{
	*to = *from;
	to->knots = g_memdup2(from->knots, from->count * sizeof(*from->knots));
}

static guint64 mix(guint64 hash, const uint8_t *bytes, guint count)
{
	for (guint i = 0; i < count; i++)
		hash = (hash ^ bytes[i]) * G_GUINT64_CONSTANT(0x100000001b3);
	return hash;
}

static struct packet_key get_key(const struct side *side, const struct dtc_packet *packet)
{
	const struct flow_key *flow = &side->flows[packet->flow];
	return (struct packet_key){ {
		flow->addresses,
		flow->ports | (guint64)packet->tcp_flags << 16 | packet->ip_id,
		(guint64)packet->seq << 32 | packet->ack,
		(guint64)packet->payload_bytes << 8 | packet->direction,
	} };
}

static guint64 hash_key(const struct packet_key *key)
{
	guint64 hash = G_GUINT64_CONSTANT(0xcbf29ce484222325);
	for (guint i = 0; i < G_N_ELEMENTS(key->words); i++) {
		hash = (hash ^ key->words[i]) * G_GUINT64_CONSTANT(0x9fb21c651e98df25);
		hash ^= hash >> 32;
	}
	return hash;
}

static struct side make_side(const DtcPackets *packets, DtcSpace *scratch)
{
	uint32_t count = dtc_packets_get_flow_count(packets);
	struct side side = { packets, g_new0(struct flow_key, (gsize)count + 1),
			     dtc_table_new_in(sizeof(struct taken), LIST_BYTES, scratch) };
	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_flow *flow = dtc_packets_get_flow(packets, i);
		guint64 hash = mix(G_GUINT64_CONSTANT(0xcbf29ce484222325), flow->source, 16);
		side.flows[i].addresses = mix(hash, flow->destination, 16);
		side.flows[i].ports = (guint64)flow->source_port << 48 | (guint64)flow->destination_port << 32 |
				      (guint64)flow->protocol << 24;
	}
	return side;
}

static void clear_side(struct side *side)
{
	g_free(side->flows);
	dtc_table_free(side->taken);
}

/* Both sides take a packet or leave it by the same part of its key, so that what is taken can still be paired. */
static void collect(struct side *side, uint32_t share)
{
	uint32_t count = dtc_packets_get_count(side->packets);
	struct dtc_packet list[DTC_PACKED_COUNT];
	for (uint32_t i = 0; i < count; i++) {
		if (i % DTC_PACKED_COUNT == 0)
			dtc_packed_list(side->packets->packed, i / DTC_PACKED_COUNT, list);
		const struct dtc_packet *packet = &list[i % DTC_PACKED_COUNT];
		if (packet->flow == DTC_NONE)
			continue;
		struct packet_key key = get_key(side, packet);
		guint64 part = (key.words[0] ^ key.words[1] ^ key.words[2]) * G_GUINT64_CONSTANT(0x9fb21c651e98df25);
		if ((uint32_t)(part >> 32) % share != 0)
			continue;
		const struct taken taken = { hash_key(&key), i, PARTNER_NONE };
		dtc_table_append(side->taken, &taken);
	}
}

static struct taken *get_record(const struct side *side, uint32_t index)
{
	return DTC_AT(side->taken, struct taken, index);
}

static struct dtc_packet get_taken(const struct side *side, uint32_t index)
{
	return dtc_packets_read(side->packets, get_record(side, index)->packet);
}

static bool have_equal_keys(const struct side sides[2], const struct dtc_packet *kernel,
			    const struct dtc_packet *captured)
{
	struct packet_key left = get_key(&sides[0], kernel), right = get_key(&sides[1], captured);
	return memcmp(&left, &right, sizeof(left)) == 0;
}

/* --- pairs ------------------------------------------------------------------------------------------------------ */

/*
 * Where the kernel's taken packets are found by hash: open addressing, in the table one more than a packet's place; 0
 * is free. Looked for in the order of time, both lists are gone through in the order of memory, and only this table is
 * not.
 */
struct places {
	DtcTable *table; /* uint32_t; owned */
	uint32_t mask;
	guint bits;	/* of the mask */
	guint64 factor; /* odd: who writes a recording must not choose the slots */
};

/* The slot with that hash, or the free one where it belongs. */
static uint32_t *find_slot(const struct places *places, const struct side *kernel, guint64 hash)
{
	uint32_t *table = DTC_AT(places->table, uint32_t, 0);
	/* the top bits alone depend on all bits of the hash */
	uint32_t slot = (uint32_t)(hash * places->factor >> (64 - places->bits));
	while (table[slot] && get_record(kernel, table[slot] - 1)->hash != hash)
		slot = (slot + 1) & places->mask;
	return &table[slot];
}

/* Of several with the same hash the first stands for all, which are too many. */
static struct places index_places(const struct side *kernel)
{
	struct places places = { NULL, 1, 1, (guint64)g_random_int() << 32 | g_random_int() | 1 };
	for (; places.mask / 2 < kernel->taken->len; places.bits++)
		places.mask = places.mask * 2 + 1;
	places.table = dtc_table_new_beside(kernel->taken, sizeof(uint32_t));
	dtc_table_set_length(places.table, places.mask + 1);
	for (uint32_t i = 0; i < kernel->taken->len; i++) {
		uint32_t *slot = find_slot(&places, kernel, get_record(kernel, i)->hash);
		if (*slot)
			get_record(kernel, *slot - 1)->partner = PARTNER_MANY;
		else
			*slot = i + 1;
	}
	return places;
}

/*
 * For each taken packet of the kernel the capture's that it is; partner of the capture's is the way back. Two and no
 * more have a hash in common; one that others share by chance makes them too many, which is one pairing less.
 */
static void find_partners(struct side sides[2])
{
	struct places places = index_places(&sides[0]);
	for (uint32_t i = 0; i < sides[1].taken->len; i++) {
		uint32_t slot = *find_slot(&places, &sides[0], get_record(&sides[1], i)->hash);
		if (!slot)
			continue;
		struct taken *kernel = get_record(&sides[0], slot - 1);
		kernel->partner = kernel->partner == PARTNER_NONE ? i : PARTNER_MANY;
		get_record(&sides[1], i)->partner = slot - 1;
	}
	dtc_table_free(places.table);
}

/* When the capture's packet was seen, and the kernel's that it is; false: that is not known. */
static bool get_times(const struct side sides[2], uint32_t capture, int64_t *ret_capture_ns, int64_t *ret_kernel_ns)
{
	uint32_t kernel = get_record(&sides[1], capture)->partner;
	if (kernel == PARTNER_NONE || get_record(&sides[0], kernel)->partner != capture)
		return false;
	const struct dtc_packet of_kernel = get_taken(&sides[0], kernel), captured = get_taken(&sides[1], capture);
	*ret_capture_ns = captured.time_ns;
	*ret_kernel_ns = of_kernel.time_ns;
	return have_equal_keys(sides, &of_kernel, &captured);
}

static int compare_pairings(gconstpointer left, gconstpointer right)
{
	const struct pairing *p = left, *q = right;
	if (p->capture_ns != q->capture_ns)
		return p->capture_ns < q->capture_ns ? -1 : 1;
	return (p->difference_ns > q->difference_ns) - (p->difference_ns < q->difference_ns);
}

/* In the order of the capture's time, which is that of its packets but for what shares a stamp. */
static void list_pairings(const struct side sides[2], DtcTable *pairings)
{
	bool is_sorted = true;
	for (uint32_t i = 0; i < sides[1].taken->len; i++) {
		struct pairing pairing;
		int64_t kernel_ns;
		if (!get_times(sides, i, &pairing.capture_ns, &kernel_ns) ||
		    __builtin_sub_overflow(pairing.capture_ns, kernel_ns, &pairing.difference_ns))
			continue;
		dtc_table_append(pairings, &pairing);
		const struct pairing *last = DTC_AT(pairings, struct pairing, pairings->len - 1);
		is_sorted &= pairings->len == 1 || compare_pairings(last - 1, last) <= 0;
	}
	if (!is_sorted)
		qsort(pairings->data, pairings->len, sizeof(struct pairing), compare_pairings);
}

/* What both sources saw, by time. */
static DtcTable *find_pairings(const DtcPackets *kernel, const DtcPackets *capture, DtcSpace *scratch)
{
	struct side sides[2] = { make_side(kernel, scratch), make_side(capture, scratch) };
	uint32_t packet_count = MAX(dtc_packets_get_count(kernel), dtc_packets_get_count(capture));
	uint32_t share = MAX(1, packet_count / PACKETS_USED);
	collect(&sides[0], share);
	collect(&sides[1], share);
	DtcTable *pairings = dtc_table_new_in(sizeof(struct pairing), LIST_BYTES, scratch);
	find_partners(sides);
	list_pairings(sides, pairings);
	clear_side(&sides[0]);
	clear_side(&sides[1]);
	return pairings;
}

/*
 * A stretch's difference is its smallest, but one packet that was stamped wrongly must not make the relation: a
 * smallest that lies further below the next one than that lies below the median is left out.
 */
static int64_t get_stretch_difference(const struct pairing *pairings, guint count)
{
	g_autofree int64_t *values = g_new(int64_t, count);
	for (guint i = 0; i < count; i++)
		values[i] = pairings[i].difference_ns;
	guint low = count / 8 + 2; /* in order, and the middle one in its place, is all that is looked at */
	if (low < count / 2) {
		dtc_select_int64(values, count, count / 2);
		dtc_select_int64(values, count / 2, low);
	}
	dtc_sort_int64(values, low < count / 2 ? low : count);
	guint first = 0;
	while (first + 2 < count && first < count / 8 &&
	       values[first + 1] - values[first] > values[count / 2] - values[first + 1])
		first++;
	return values[first];
}

/* The middle one, so that a packet that was taken for another says nothing. 0 if all lie too close together. */
static double get_rate(const DtcTable *pairings)
{
	double rates[RATES];
	guint count = 0, half = pairings->len / 2, step = half / RATES + 1;
	for (guint i = 0; i < half; i += step) {
		const struct pairing *a = DTC_AT(pairings, struct pairing, i);
		const struct pairing *b = DTC_AT(pairings, struct pairing, i + half);
		double capture_ns = (double)b->capture_ns - (double)a->capture_ns;
		double node_ns = capture_ns - ((double)b->difference_ns - (double)a->difference_ns);
		if (node_ns > 0 && MAX(capture_ns, node_ns) >= (double)RATE_SPAN_NS)
			rates[count++] = capture_ns / node_ns;
	}
	dtc_sort_double(rates, count);
	return count > 0 ? rates[count / 2] : 0;
}

void dtc_relation_estimate(struct dtc_relation *relation, const DtcPackets *kernel, const DtcPackets *capture,
			   DtcSpace *scratch)
{
	g_autoptr(DtcTable) pairings = find_pairings(kernel, capture, scratch);
	if (!pairings->len)
		return;
	relation->rate = get_rate(pairings);
	const struct pairing *list = DTC_AT(pairings, struct pairing, 0);
	guint count = CLAMP(pairings->len / PACKETS_PER_KNOT, 1, MAX_KNOTS);
	relation->knots = g_new(struct dtc_relation_knot, count);
	relation->count = 0;
	relation->error_ns = LEAST_ERROR_NS;
	for (guint k = 0; k < count; k++) {
		guint begin = (guint)((guint64)pairings->len * k / count);
		guint end = (guint)((guint64)pairings->len * (k + 1) / count);
		struct dtc_relation_knot knot = { list[begin + (end - begin) / 2].capture_ns,
						  get_stretch_difference(list + begin, end - begin) };
		if (relation->count) {
			const struct dtc_relation_knot *before = &relation->knots[relation->count - 1];
			if (before->capture_ns == knot.capture_ns)
				continue;
			relation->error_ns = MAX(relation->error_ns, ABS(knot.difference_ns - before->difference_ns));
		}
		relation->knots[relation->count++] = knot;
	}
}

bool dtc_relation_to_node(const struct dtc_relation *relation, int64_t capture_ns, int64_t *ret_node_ns)
{
	if (relation->identity) {
		*ret_node_ns = capture_ns;
		return true;
	}
	if (!relation->count)
		return false;
	const struct dtc_relation_knot *knots = relation->knots;
	/* the last knot that is not after capture_ns, or the first */
	guint low = DTC_BISECT(i, 1, relation->count, knots[i].capture_ns <= capture_ns) - 1;
	int64_t difference = knots[low].difference_ns;
	if (capture_ns > knots[low].capture_ns && low + 1 < relation->count) {
		int64_t distance = capture_ns - knots[low].capture_ns,
			length = knots[low + 1].capture_ns - knots[low].capture_ns;
		int64_t gained, part;
		if (!__builtin_sub_overflow(knots[low + 1].difference_ns, difference, &gained) &&
		    !__builtin_mul_overflow(gained, distance, &part)) /* 128 bits take five times as long */
			difference += part / length;
		else
			difference +=
				(int64_t)(((__int128)knots[low + 1].difference_ns - difference) * distance / length);
	}
	return !__builtin_sub_overflow(capture_ns, difference, ret_node_ns);
}
