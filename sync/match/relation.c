/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/match/relation.h"

#include <dtrace-chain/bisect.h>
#include <dtrace-chain/sort.h>

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

struct keyed {
	guint64 key[4];
	int64_t ns;
	guint side; /* 0 kernel, 1 capture */
};

void dtc_relation_clear(struct dtc_relation *relation)
{
	g_clear_pointer(&relation->knots, g_free);
	relation->count = 0;
}

static guint64 mix(guint64 hash, const uint8_t *bytes, guint count)
{
	for (guint i = 0; i < count; i++)
		hash = (hash ^ bytes[i]) * G_GUINT64_CONSTANT(0x100000001b3);
	return hash;
}

/* Both sides take a packet or leave it by the same part of its key, so that what is taken can still be paired. */
static void collect(const DtcPackets *packets, guint side, uint32_t share, GArray *keyed)
{
	uint32_t count = dtc_packets_get_count(packets);
	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_packet *packet = dtc_packets_get(packets, i);
		if (packet->flow == DTC_NONE)
			continue;
		const struct dtc_flow *flow = dtc_packets_get_flow(packets, packet->flow);
		struct keyed item = { .ns = packet->time_ns, .side = side };
		guint64 hash = mix(G_GUINT64_CONSTANT(0xcbf29ce484222325), flow->source, 16);
		item.key[0] = mix(hash, flow->destination, 16);
		item.key[1] = (guint64)flow->source_port << 48 | (guint64)flow->destination_port << 32 |
			      (guint64)flow->protocol << 24 | (guint64)packet->tcp_flags << 16 | packet->ip_id;
		item.key[2] = (guint64)packet->seq << 32 | packet->ack;
		item.key[3] = (guint64)packet->payload_bytes << 8 | packet->direction;
		hash = (item.key[0] ^ item.key[1] ^ item.key[2]) * G_GUINT64_CONSTANT(0x9fb21c651e98df25);
		if ((hash >> 32) % share == 0)
			g_array_append_val(keyed, item);
	}
}

static int compare_keyed(gconstpointer left, gconstpointer right, gpointer data)
{
	(void)data;
	const struct keyed *p = left, *q = right;
	for (guint i = 0; i < 4; i++)
		if (p->key[i] != q->key[i])
			return p->key[i] < q->key[i] ? -1 : 1;
	return (int)p->side - (int)q->side;
}

static int compare_pairings(gconstpointer left, gconstpointer right)
{
	const struct pairing *p = left, *q = right;
	if (p->capture_ns != q->capture_ns)
		return p->capture_ns < q->capture_ns ? -1 : 1;
	return (p->difference_ns > q->difference_ns) - (p->difference_ns < q->difference_ns);
}

static void find_pairings(const GArray *keyed, GArray *pairings)
{
	for (guint i = 0, next; i < keyed->len; i = next) {
		const struct keyed *items = &g_array_index(keyed, struct keyed, i);
		for (next = i + 1; next < keyed->len; next++)
			if (memcmp(items[next - i].key, items->key, sizeof(items->key)) != 0)
				break;
		struct pairing pairing = { items[next - i - 1].ns, 0 };
		if (next - i == 2 && items[0].side == 0 && items[1].side == 1 &&
		    !__builtin_sub_overflow(items[1].ns, items[0].ns, &pairing.difference_ns))
			g_array_append_val(pairings, pairing);
	}
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
	dtc_sort_int64(values, count);
	guint first = 0;
	while (first + 2 < count && first < count / 8 &&
	       values[first + 1] - values[first] > values[count / 2] - values[first + 1])
		first++;
	return values[first];
}

static int compare_doubles(gconstpointer left, gconstpointer right)
{
	double p = *(const double *)left, q = *(const double *)right;
	return (p > q) - (p < q);
}

/* The middle one, so that a packet that was taken for another says nothing. 0 if all lie too close together. */
static double get_rate(const GArray *pairings)
{
	double rates[RATES];
	guint count = 0, half = pairings->len / 2, step = half / RATES + 1;
	for (guint i = 0; i < half; i += step) {
		const struct pairing *a = &g_array_index(pairings, struct pairing, i);
		const struct pairing *b = &g_array_index(pairings, struct pairing, i + half);
		double capture_ns = (double)b->capture_ns - (double)a->capture_ns;
		double node_ns = capture_ns - ((double)b->difference_ns - (double)a->difference_ns);
		if (node_ns > 0 && MAX(capture_ns, node_ns) >= (double)RATE_SPAN_NS)
			rates[count++] = capture_ns / node_ns;
	}
	qsort(rates, count, sizeof(*rates), compare_doubles);
	return count > 0 ? rates[count / 2] : 0;
}

void dtc_relation_estimate(struct dtc_relation *relation, const DtcPackets *kernel, const DtcPackets *capture)
{
	g_autoptr(GArray) keyed = g_array_new(FALSE, FALSE, sizeof(struct keyed));
	g_autoptr(GArray) pairings = g_array_new(FALSE, FALSE, sizeof(struct pairing));
	uint32_t packet_count = MAX(dtc_packets_get_count(kernel), dtc_packets_get_count(capture));
	uint32_t share = MAX(1, packet_count / PACKETS_USED);
	collect(kernel, 0, share, keyed);
	collect(capture, 1, share, keyed);
	if (!keyed->len)
		return;
	g_qsort_with_data(keyed->data, (gint)keyed->len, sizeof(struct keyed), compare_keyed, NULL);
	find_pairings(keyed, pairings);
	if (!pairings->len)
		return;
	g_array_sort(pairings, compare_pairings);
	relation->rate = get_rate(pairings);
	const struct pairing *list = (const struct pairing *)(const void *)pairings->data;
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
		__int128 part =
			(__int128)(knots[low + 1].difference_ns - difference) * (capture_ns - knots[low].capture_ns);
		difference += (int64_t)(part / (knots[low + 1].capture_ns - knots[low].capture_ns));
	}
	return !__builtin_sub_overflow(capture_ns, difference, ret_node_ns);
}
