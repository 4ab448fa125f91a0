/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages against a wire that is known: loss, reordering, retransmission with other boundaries, segmentation and
 * coalescing, ports used again, numbers that wrap, packets that only one node recorded. Seeded.
 */
#include "sync/match/match.h"
#include "sync/match/passage.h"
#include "tests/support/brief_matches.h"

#include <string.h>

#define ROUNDS 150
#define AHEAD_NS G_GINT64_CONSTANT(432000000000000) /* b's clock: five days */
#define SEGMENT_BYTES 1448

/* What one node recorded. */
struct sighting {
	int64_t ns; /* true time */
	enum dtc_direction direction;
	struct dtc_headers headers;
};

struct world {
	GRand *rand;
	GArray *nodes[2];   /* struct sighting */
	GHashTable *caused; /* "sent received" -> itself: what really was a message, true times */
	int64_t tick_ns;    /* all times are multiples of it, so that many are equal */
	guint loss_percent;
	bool has_offload;
};

static bool happens(struct world *world, guint percent)
{
	return (guint)g_rand_int_range(world->rand, 0, 100) < percent;
}

static int64_t round_time(const struct world *world, int64_t ns)
{
	return ns / world->tick_ns * world->tick_ns;
}

static void add_caused(struct world *world, int64_t sent_ns, int64_t received_ns)
{
	g_hash_table_add(world->caused,
			 g_strdup_printf("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT, sent_ns, received_ns));
}

static void see(struct world *world, guint node, int64_t ns, enum dtc_direction direction,
		const struct dtc_headers *headers)
{
	struct sighting sighting = { ns, direction, *headers };
	g_array_append_val(world->nodes[node], sighting);
}

/*
 * One send event of bytes at a time. The device cuts it into segments, the wire loses and delays them, the receiver may
 * merge neighbours. is_hidden: the sender did not record it. Never what is sent again: who recorded the second send but
 * not the first cannot know of the first.
 */
static void transmit(struct world *world, guint from, int64_t ns, struct dtc_headers headers, uint32_t begin,
		     uint32_t bytes, bool is_hidden)
{
	int64_t sent_ns = round_time(world, ns), arrival_ns = 0;
	uint32_t merged = 0, merged_begin = 0;
	headers.seq = begin;
	headers.payload_bytes = bytes;
	if (!is_hidden)
		see(world, from, sent_ns, DTC_SENT, &headers);
	for (uint32_t at = 0; at < bytes; at += SEGMENT_BYTES) {
		uint32_t piece = MIN(bytes - at, SEGMENT_BYTES);
		bool is_lost = happens(world, world->loss_percent);
		bool is_merged = merged && world->has_offload && !is_lost && happens(world, 60);
		if (merged && !is_merged) {
			headers.seq = merged_begin;
			headers.payload_bytes = merged;
			see(world, !from, arrival_ns, DTC_RECEIVED, &headers);
			merged = 0;
		}
		if (is_lost)
			continue;
		if (!merged) {
			arrival_ns = round_time(world, ns + 20000 + g_rand_int_range(world->rand, 0, 90000));
			merged_begin = begin + at;
			if (!is_hidden)
				add_caused(world, sent_ns, arrival_ns);
		}
		merged += piece;
	}
	if (merged) {
		headers.seq = merged_begin;
		headers.payload_bytes = merged;
		see(world, !from, arrival_ns, DTC_RECEIVED, &headers);
	}
}

static struct dtc_headers make_headers(guint from, uint16_t port, uint8_t flags)
{
	struct dtc_headers headers = { .ip_version = 4,
				       .protocol = DTC_PROTOCOL_TCP,
				       .has_transport = true,
				       .tcp_flags = flags,
				       .source_port = from ? 80 : port,
				       .destination_port = from ? port : 80,
				       .window = 500 };
	memset(headers.source + 10, 0xff, 2);
	memset(headers.destination + 10, 0xff, 2);
	headers.source[12] = headers.destination[12] = 10;
	headers.source[15] = (uint8_t)(1 + from);
	headers.destination[15] = (uint8_t)(2 - from);
	return headers;
}

/* SYN (not lost: a connection has one), data both ways, some of it again later with other boundaries. */
static int64_t run_connection(struct world *world, int64_t ns, uint16_t port, bool wraps)
{
	uint32_t next[2];
	for (guint side = 0; side < 2; side++) {
		struct dtc_headers syn = make_headers(side, port, side ? DTC_TCP_SYN | DTC_TCP_ACK : DTC_TCP_SYN);
		syn.seq = wraps ? UINT32_MAX - (uint32_t)g_rand_int_range(world->rand, 0, 20000)
				: g_rand_int(world->rand);
		syn.ack = side ? next[0] : 0;
		int64_t sent_ns = round_time(world, ns), received_ns = round_time(world, ns + 50000);
		see(world, side, sent_ns, DTC_SENT, &syn);
		see(world, !side, received_ns, DTC_RECEIVED, &syn);
		add_caused(world, sent_ns, received_ns);
		next[side] = syn.seq + 1;
		ns += 200000 + g_rand_int_range(world->rand, 0, 1000);
	}
	for (gint32 sends = g_rand_int_range(world->rand, 1, 25); sends > 0; sends--) {
		guint side = happens(world, 40);
		struct dtc_headers headers = make_headers(side, port, DTC_TCP_ACK);
		uint32_t bytes = (uint32_t)g_rand_int_range(world->rand, 1, world->has_offload ? 20000 : SEGMENT_BYTES);
		headers.ack = next[!side];
		headers.ip_id = (uint16_t)g_rand_int(world->rand);
		ns += g_rand_int_range(world->rand, 1, 60000); /* closer than delays differ: they overtake each other */
		bool is_again = happens(world, 2 * world->loss_percent);
		transmit(world, side, ns, headers, next[side], bytes, !is_again && happens(world, 5));
		if (is_again) {
			uint32_t skipped = happens(world, 50) ? 0 : bytes / 3;
			uint32_t again = MAX(1u, (bytes - skipped) / (happens(world, 50) ? 1 : 2));
			transmit(world, side, ns + 250000 + g_rand_int_range(world->rand, 0, 9999), headers,
				 next[side] + skipped, again, false);
		}
		next[side] += bytes;
	}
	return ns + 1000000;
}

static void world_fill(struct world *world, guint32 seed, guint loss_percent, bool has_offload, int64_t tick_ns)
{
	*world = (struct world){ .rand = g_rand_new_with_seed(seed),
				 .tick_ns = tick_ns,
				 .loss_percent = loss_percent,
				 .has_offload = has_offload };
	world->caused = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; i < 2; i++)
		world->nodes[i] = g_array_new(FALSE, FALSE, sizeof(struct sighting));
	int64_t ns = 1000000000;
	/* four connections on each of three ports; one of them wraps: the next has other numbers (RFC 6528) */
	for (guint i = 0; i < 12; i++)
		ns = run_connection(world, ns, (uint16_t)(40000 + i % 3), i / 3 == seed % 4);
}

static void world_clear(struct world *world)
{
	g_rand_free(world->rand);
	g_hash_table_unref(world->caused);
	for (guint i = 0; i < 2; i++)
		g_array_unref(world->nodes[i]);
}

static int compare_sightings(gconstpointer left, gconstpointer right)
{
	const struct sighting *p = left, *q = right;
	return p->ns < q->ns ? -1 : p->ns > q->ns;
}

static DtcPackets *make_packets(const struct world *world, guint node)
{
	DtcPackets *packets = dtc_packets_new();
	uint16_t interface = dtc_packets_add_interface(packets, "eth0");
	g_array_sort(world->nodes[node], compare_sightings); /* stable: the order within a time is the array's */
	for (guint i = 0; i < world->nodes[node]->len; i++) {
		const struct sighting *sighting = &g_array_index(world->nodes[node], struct sighting, i);
		dtc_packets_add(packets, sighting->ns + (node ? AHEAD_NS : 0), sighting->direction, 0, interface,
				&sighting->headers);
	}
	dtc_packets_seal(packets);
	return packets;
}

static DtcMatches *match(const struct world *world, bool is_swapped)
{
	static const char *const names[2] = { "a", "b" };
	g_autoptr(DtcPackets) a = make_packets(world, 0), b = make_packets(world, 1);
	const DtcPackets *const packets[2] = { a, b };
	struct dtc_match_source sources[2] = { { 0 } };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	for (guint i = 0; i < 2; i++) {
		sources[i].node = names[i ^ is_swapped];
		sources[i].kernel = packets[i ^ is_swapped];
	}
	DtcMatches *matches = dtc_match_packets(sources, 2, NULL, findings);
	brief_matches_assert_same(sources, 2, matches);
	return matches;
}

static struct dtc_match_pair get_pair(const DtcMatches *matches)
{
	struct dtc_match_pair pair;
	g_assert_cmpuint(dtc_matches_get_pair_count(matches), ==, 1);
	dtc_matches_get_pair(matches, 0, &pair);
	return pair;
}

static guint check_messages(const struct world *world, const struct dtc_message *messages, guint count,
			    int64_t sender_ns, int64_t receiver_ns)
{
	for (guint i = 0; i < count; i++) {
		g_autofree char *key =
			g_strdup_printf("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT, messages[i].sent_ns - sender_ns,
					messages[i].received_ns - receiver_ns);
		if (!g_hash_table_contains(world->caused, key))
			g_error("no message: %s, offset %u of %u", key, i, count);
	}
	return count;
}

/* Whatever the wire did: what is called a message was one. And most of what could be found is. */
static void test_truth(void)
{
	guint found = 0, possible = 0;
	for (guint32 seed = 0; seed < ROUNDS; seed++) {
		struct world world;
		world_fill(&world, seed, seed % 3 * 4, seed % 2, 1);
		g_autoptr(DtcMatches) matches = match(&world, false);
		struct dtc_match_pair pair = get_pair(matches);
		found += check_messages(&world, pair.ab, pair.ab_count, 0, AHEAD_NS);
		found += check_messages(&world, pair.ba, pair.ba_count, AHEAD_NS, 0);
		possible += g_hash_table_size(world.caused);
		world_clear(&world);
	}
	g_test_message("%u messages of %u segments that arrived", found, possible);
	g_assert_cmpuint(found, >, possible / 5);
}

/*
 * Nothing is lost or split: each packet that both recorded is a message, or ambiguous if a later one overtook it; the
 * rest is unmatched, and that is all.
 */
static void test_counts(void)
{
	for (guint32 seed = 0; seed < ROUNDS; seed++) {
		struct world world;
		world_fill(&world, seed, 0, false, 1);
		guint sent[2] = { 0, 0 }, received[2] = { 0, 0 };
		for (guint node = 0; node < 2; node++)
			for (guint i = world.nodes[node]->len; i-- > 0;) {
				const struct sighting *sighting = &g_array_index(world.nodes[node], struct sighting, i);
				/* some are not recorded */
				if (!(sighting->headers.tcp_flags & DTC_TCP_SYN) && happens(&world, 10))
					g_array_remove_index(world.nodes[node], i);
				else if (sighting->direction == DTC_SENT)
					sent[node]++;
				else
					received[node]++;
			}
		g_autoptr(DtcMatches) matches = match(&world, false);
		struct dtc_match_pair pair = get_pair(matches);
		check_messages(&world, pair.ab, pair.ab_count, 0, AHEAD_NS);
		check_messages(&world, pair.ba, pair.ba_count, AHEAD_NS, 0);
		guint messages = pair.ab_count + pair.ba_count;
		g_assert_cmpuint(messages + pair.ambiguous + pair.unmatched_a, ==, sent[0] + received[0]);
		g_assert_cmpuint(messages + pair.ambiguous + pair.unmatched_b, ==, sent[1] + received[1]);
		world_clear(&world);
	}
}

/* With retransmissions, of whole packets: what was received is a message, ambiguous or unmatched, once. */
static void test_ambiguous_counts(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(3);
	for (guint round = 0; round < ROUNDS; round++) {
		g_autoptr(DtcPackets) packets = dtc_packets_new();
		g_autoptr(DtcTable) sent = dtc_table_new(sizeof(struct dtc_seen));
		g_autoptr(DtcTable) received = dtc_table_new(sizeof(struct dtc_seen));
		struct dtc_headers headers = { .seq = UINT32_MAX - 5000, .payload_bytes = 100, .tcp_flags = 16 };
		for (guint i = 0; i < 100; i++, headers.seq += 100) {
			struct dtc_seen seen = { .packet =
							 dtc_packets_add(packets, i * 1000, DTC_SENT, 0, 0, &headers) };
			guint times = g_rand_int_range(rand, 0, 5) ? 1 : 2;
			for (guint k = 0; k < times; k++) {
				dtc_table_append(sent, &seen);
				if (g_rand_int_range(rand, 0, 5))
					dtc_table_append(received, &seen);
			}
			if (g_rand_int_range(rand, 0, 10) == 0)
				dtc_table_set_length(sent, sent->len - times); /* not recorded */
		}
		struct dtc_passage_lists lists;
		struct dtc_passage_result result;
		dtc_passage_lists_init(&lists, NULL);
		dtc_passage_compare(&(struct dtc_sightings){ .packets = packets, .seen = sent },
				    &(struct dtc_sightings){ .packets = packets, .seen = received }, 6, true, &lists,
				    &result);
		guint messages = lists.messages->len;
		dtc_passage_lists_clear(&lists);
		g_assert_cmpuint(messages, >, 20);
		g_assert_cmpuint(messages + result.ambiguous_received + result.unmatched_received, ==, received->len);
		g_assert_cmpuint(messages + result.ambiguous_sent + result.unmatched_sent, <=, sent->len);
	}
}

static int compare_messages(gconstpointer left, gconstpointer right)
{
	const struct dtc_message *p = left, *q = right;
	if (p->sent_ns != q->sent_ns)
		return p->sent_ns < q->sent_ns ? -1 : 1;
	return p->received_ns < q->received_ns ? -1 : p->received_ns > q->received_ns;
}

static void assert_same(const struct dtc_message *one, guint one_count, const struct dtc_message *other,
			guint other_count)
{
	g_assert_cmpuint(one_count, ==, other_count);
	g_autofree struct dtc_message *p = g_memdup2(one, one_count * sizeof(*one));
	g_autofree struct dtc_message *q = g_memdup2(other, other_count * sizeof(*other));
	if (!one_count)
		return;
	qsort(p, one_count, sizeof(*p), compare_messages);
	qsort(q, other_count, sizeof(*q), compare_messages);
	g_assert_cmpmem(p, one_count * sizeof(*p), q, other_count * sizeof(*q));
}

/* The order of the nodes, and of packets with the same time, says nothing. */
static void test_order(void)
{
	for (guint32 seed = 0; seed < ROUNDS; seed++) {
		struct world world;
		world_fill(&world, seed, seed % 3 * 4, seed % 2, 20000);
		g_autoptr(DtcMatches) first = match(&world, false);
		g_autoptr(DtcMatches) swapped = match(&world, true);
		for (guint node = 0; node < 2; node++) {
			GArray *seen = world.nodes[node];
			for (guint i = seen->len; i-- > 1;) {
				guint k = (guint)g_rand_int_range(world.rand, 0, (gint32)i + 1);
				struct sighting kept = g_array_index(seen, struct sighting, i);
				g_array_index(seen, struct sighting, i) = g_array_index(seen, struct sighting, k);
				g_array_index(seen, struct sighting, k) = kept;
			}
		}
		g_autoptr(DtcMatches) shuffled = match(&world, false);
		struct dtc_match_pair a = get_pair(first), b = get_pair(swapped), c = get_pair(shuffled);
		assert_same(a.ab, a.ab_count, b.ba, b.ba_count);
		assert_same(a.ba, a.ba_count, b.ab, b.ab_count);
		g_assert_cmpuint(a.unmatched_a, ==, b.unmatched_b);
		g_assert_cmpuint(a.unmatched_b, ==, b.unmatched_a);
		g_assert_cmpuint(a.ambiguous, ==, b.ambiguous);
		assert_same(a.ab, a.ab_count, c.ab, c.ab_count);
		assert_same(a.ba, a.ba_count, c.ba, c.ba_count);
		g_assert_cmpuint(a.unmatched_a, ==, c.unmatched_a);
		g_assert_cmpuint(a.unmatched_b, ==, c.unmatched_b);
		g_assert_cmpuint(a.ambiguous, ==, c.ambiguous);
		world_clear(&world);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/match/truth/truth", test_truth);
	g_test_add_func("/match/truth/counts", test_counts);
	g_test_add_func("/match/truth/ambiguous-counts", test_ambiguous_counts);
	g_test_add_func("/match/truth/order", test_order);
	return g_test_run();
}
