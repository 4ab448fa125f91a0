/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Traffic that no recording has: containers without translation, fragments, handshakes that go wrong, translation of
 * both ends, datagrams that look the same. Delays are the same for all packets of a test, so that a wrong message shows
 * as another delay.
 */
#include "tests/support/brief_matches.h"

#include <string.h>

#define SYN DTC_TCP_SYN
#define ACK DTC_TCP_ACK
#define FIN DTC_TCP_FIN
#define RST DTC_TCP_RST
#define DELAY_NS 700000
#define AHEAD_NS G_GINT64_CONSTANT(259200000000000) /* b's clock: three days */

struct world {
	DtcPackets *packets[2];
	int64_t now_ns;
};

static struct world make_world(void)
{
	return (struct world){ .packets = { dtc_packets_new(), dtc_packets_new() } };
}

static struct dtc_headers make_headers(uint8_t from, uint8_t to, uint16_t source_port, uint16_t destination_port)
{
	struct dtc_headers headers = { .ip_version = 4,
				       .protocol = DTC_PROTOCOL_TCP,
				       .has_transport = true,
				       .tcp_flags = ACK,
				       .source_port = source_port,
				       .destination_port = destination_port,
				       .window = 500 };
	memset(headers.source + 10, 0xff, 2);
	memset(headers.destination + 10, 0xff, 2);
	headers.source[12] = headers.destination[12] = 10;
	headers.source[15] = from;
	headers.destination[15] = to;
	return headers;
}

static void see(struct world *world, guint node, const char *interface, enum dtc_direction direction, int64_t after_ns,
		const struct dtc_headers *headers)
{
	DtcPackets *packets = world->packets[node];
	dtc_packets_add(packets, world->now_ns + after_ns + (node ? AHEAD_NS : 0), direction, 0,
			dtc_packets_add_interface(packets, interface), headers);
}

/* From node to the other over the wire; seen by both unless it was lost. */
static void go(struct world *world, guint node, const struct dtc_headers *headers, bool is_lost)
{
	see(world, node, "eth0", DTC_SENT, 0, headers);
	if (!is_lost)
		see(world, !node, "eth0", DTC_RECEIVED, DELAY_NS, headers);
	world->now_ns += 1000000;
}

/* The only pair; every message took what the wire takes. */
static struct dtc_match_pair match(struct world *world, DtcMatches **ret_matches)
{
	struct dtc_match_source sources[2] = { { .node = "a" }, { .node = "b" } };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	struct dtc_match_pair pair = { 0 };
	for (guint i = 0; i < 2; i++) {
		dtc_packets_seal(world->packets[i]);
		sources[i].kernel = world->packets[i];
	}
	*ret_matches = dtc_match_packets(sources, 2, NULL, findings);
	brief_matches_assert_same(sources, 2, *ret_matches);
	for (guint i = 0; i < 2; i++)
		dtc_packets_free(world->packets[i]);
	g_assert_cmpuint(dtc_matches_get_pair_count(*ret_matches), <=, 1);
	if (dtc_matches_get_pair_count(*ret_matches))
		dtc_matches_get_pair(*ret_matches, 0, &pair);
	for (guint i = 0; i < pair.ab_count; i++)
		g_assert_cmpint(pair.ab[i].received_ns - pair.ab[i].sent_ns, ==, DELAY_NS + AHEAD_NS);
	for (guint i = 0; i < pair.ba_count; i++)
		g_assert_cmpint(pair.ba[i].received_ns - pair.ba[i].sent_ns, ==, DELAY_NS - AHEAD_NS);
	return pair;
}

/* From a container on one node to one on the other: own device, the pair's other end, the bridge, the wire. */
static void go_between_containers(struct world *world, guint node, const struct dtc_headers *headers)
{
	see(world, node, "eth0@container", DTC_SENT, -9000, headers);
	see(world, node, "veth1", DTC_RECEIVED, -8000, headers);
	see(world, node, "bridge0", DTC_RECEIVED, -7000, headers);
	see(world, node, "eth0", DTC_SENT, 0, headers);
	see(world, !node, "eth0", DTC_RECEIVED, DELAY_NS, headers);
	see(world, !node, "bridge0", DTC_SENT, DELAY_NS + 1000, headers);
	see(world, !node, "veth7", DTC_SENT, DELAY_NS + 2000, headers);
	see(world, !node, "eth0@container", DTC_RECEIVED, DELAY_NS + 3000, headers);
	world->now_ns += 1000000;
}

/* Routed between hosts without translation, each host sees the flow in both directions and is no router all the same.
 */
static void test_containers(void)
{
	struct world world = make_world();
	struct dtc_headers there = make_headers(1, 2, 4000, 80), back = make_headers(2, 1, 80, 4000);
	for (guint i = 0; i < 100; i++) {
		there.ip_id = back.ip_id = (uint16_t)i;
		there.payload_bytes = 100;
		back.payload_bytes = i % 2 ? 1000 : 0;
		go_between_containers(&world, 0, &there);
		there.seq += 100;
		back.ack = there.seq;
		go_between_containers(&world, 1, &back);
		back.seq += back.payload_bytes;
		there.ack = back.seq;
	}
	g_autoptr(DtcMatches) matches = NULL;
	struct dtc_match_pair pair = match(&world, &matches);
	g_assert_cmpuint(pair.ab_count, ==, 100);
	g_assert_cmpuint(pair.ba_count, ==, 100);
	g_assert_cmpuint(pair.ambiguous + pair.unmatched_a + pair.unmatched_b, ==, 0);
}

/* The same behind masquerading: each host sees three flows of one connection; only the one on the wire says much. */
static void test_translated_containers(void)
{
	struct world world = make_world();
	for (guint i = 0; i < 50; i++) {
		struct dtc_headers inner = make_headers(71, 2, 4000, 80), wire = make_headers(1, 2, 4000, 80);
		struct dtc_headers target = make_headers(1, 72, 4000, 80);
		inner.seq = wire.seq = target.seq = i * 10;
		inner.ip_id = wire.ip_id = target.ip_id = (uint16_t)i;
		inner.payload_bytes = wire.payload_bytes = target.payload_bytes = 10;
		see(&world, 0, "eth0@container", DTC_SENT, -9000, &inner);
		see(&world, 0, "veth1", DTC_RECEIVED, -8000, &inner);
		see(&world, 0, "eth0", DTC_SENT, 0, &wire);
		see(&world, 1, "eth0", DTC_RECEIVED, DELAY_NS, &wire);
		see(&world, 1, "veth7", DTC_SENT, DELAY_NS + 2000, &target);
		see(&world, 1, "eth0@container", DTC_RECEIVED, DELAY_NS + 3000, &target);
		world.now_ns += 1000000;
	}
	g_autoptr(DtcMatches) matches = NULL;
	struct dtc_match_pair pair = match(&world, &matches);
	g_assert_cmpuint(pair.ab_count, ==, 50);
	g_assert_cmpuint(pair.ba_count, ==, 0);
}

/*
 * Between two containers of one machine, which is recorded as two nodes: each sees all of the way. The last send came
 * after the first receive, and so the clocks of three nodes that were one machine contradicted each other.
 */
static void test_all_of_the_way(void)
{
	struct world world = make_world();
	struct dtc_headers there = make_headers(1, 2, 4000, 80);
	there.payload_bytes = 100;
	for (guint i = 0; i < 50; i++, there.seq += 100) {
		there.ip_id = (uint16_t)i;
		for (guint node = 0; node < 2; node++) {
			see(&world, node, "eth0@one", DTC_SENT, 0, &there);
			see(&world, node, "veth1", DTC_RECEIVED, 1000, &there);
			see(&world, node, "veth2", DTC_SENT, DELAY_NS - 1000, &there);
			see(&world, node, "eth0@two", DTC_RECEIVED, DELAY_NS, &there);
		}
		world.now_ns += 1000000;
	}
	g_autoptr(DtcMatches) matches = NULL;
	struct dtc_match_pair pair = match(&world, &matches);
	g_assert_cmpuint(pair.ab_count, ==, 50);
	g_assert_cmpuint(pair.ba_count, ==, 50);
}

/* Two routers on the way of strangers: which comes first is not told, and nothing is claimed. */
static void test_two_routers(void)
{
	struct world world = make_world();
	struct dtc_headers there = make_headers(1, 2, 4000, 80);
	there.payload_bytes = 100;
	for (guint i = 0; i < 50; i++, there.seq += 100) {
		there.ip_id = (uint16_t)i;
		see(&world, 0, "eth0", DTC_RECEIVED, -5000, &there);
		see(&world, 0, "eth1", DTC_SENT, 0, &there);
		see(&world, 1, "eth0", DTC_RECEIVED, DELAY_NS, &there);
		see(&world, 1, "eth1", DTC_SENT, DELAY_NS + 5000, &there);
		world.now_ns += 1000000;
	}
	g_autoptr(DtcMatches) matches = NULL;
	struct dtc_match_pair pair = match(&world, &matches);
	g_assert_cmpuint(pair.ab_count + pair.ba_count, ==, 0);
}

/*
 * Later fragments carry no TCP header. Their number is not that of byte 0 of some stream: each is told by its IP id,
 * also when b saw one that a did not send within its trace.
 */
static void test_fragments(void)
{
	struct world world = make_world();
	struct dtc_headers fragment = make_headers(1, 2, 0, 0);
	fragment.has_transport = false;
	fragment.tcp_flags = 0;
	fragment.window = 0;
	fragment.payload_bytes = 1200;
	fragment.ip_id = 999;
	see(&world, 1, "eth0", DTC_RECEIVED, -5000000, &fragment);
	for (guint i = 0; i < 20; i++) {
		fragment.ip_id = (uint16_t)i;
		go(&world, 0, &fragment, i % 5 == 4);
	}
	g_autoptr(DtcMatches) matches = NULL;
	struct dtc_match_pair pair = match(&world, &matches);
	g_assert_cmpuint(pair.ab_count, ==, 16);
	g_assert_cmpuint(pair.unmatched_a, ==, 4);
	g_assert_cmpuint(pair.unmatched_b, ==, 1);
}

/* SYN lost once, SYN-ACK (IP id 0, as Linux sends it) repeated, keep-alives, reset: what was sent twice is left out. */
static void test_handshake(void)
{
	struct world world = make_world();
	struct dtc_headers there = make_headers(1, 2, 4000, 80), back = make_headers(2, 1, 80, 4000);
	there.tcp_flags = SYN;
	there.seq = UINT32_MAX;
	go(&world, 0, &there, true);
	go(&world, 0, &there, false); /* 2 ambiguous */
	back.tcp_flags = SYN | ACK;
	back.seq = 5000;
	back.ack = 0;
	go(&world, 1, &back, false);
	go(&world, 1, &back, false); /* 2 ambiguous */
	there.tcp_flags = ACK;
	there.seq = 0;
	there.ack = 5001;
	for (guint i = 0; i < 10; i++, there.seq += 300) {
		there.payload_bytes = 300;
		there.ip_id = (uint16_t)(100 + i);
		go(&world, 0, &there, false); /* 10 messages */
	}
	there.seq--; /* keep-alives repeat the last byte's number, with one byte or none */
	for (guint i = 0; i < 3; i++) {
		there.payload_bytes = i == 2;
		there.ip_id = 200;
		go(&world, 0, &there, false); /* the two without a byte look the same */
	}
	back.tcp_flags = RST;
	back.seq = 5001;
	back.ip_id = 0;
	go(&world, 1, &back, false); /* 1 message */
	g_autoptr(DtcMatches) matches = NULL;
	struct dtc_match_pair pair = match(&world, &matches);
	/* the keep-alive with a byte makes the last segment doubtful as well */
	g_assert_cmpuint(pair.ab_count, ==, 9);
	g_assert_cmpuint(pair.ba_count, ==, 1);
	g_assert_cmpuint(pair.ambiguous, >=, 6);
}

/* Both ends connect at once: four segments of two bytes of sequence space, then data. */
static void test_simultaneous_open(void)
{
	struct world world = make_world();
	struct dtc_headers there = make_headers(1, 2, 4000, 4001), back = make_headers(2, 1, 4001, 4000);
	there.tcp_flags = back.tcp_flags = SYN;
	there.seq = 1000;
	back.seq = 9000;
	see(&world, 0, "eth0", DTC_SENT, 0, &there);
	see(&world, 1, "eth0", DTC_SENT, 0, &back);
	see(&world, 0, "eth0", DTC_RECEIVED, DELAY_NS, &back);
	see(&world, 1, "eth0", DTC_RECEIVED, DELAY_NS, &there);
	world.now_ns += 1000000;
	there.tcp_flags = back.tcp_flags = SYN | ACK;
	there.ack = 9001;
	back.ack = 1001;
	go(&world, 0, &there, false);
	go(&world, 1, &back, false);
	there.tcp_flags = back.tcp_flags = ACK;
	there.seq++;
	back.seq++;
	for (guint i = 0; i < 5; i++) {
		there.payload_bytes = back.payload_bytes = 50;
		go(&world, 0, &there, false);
		go(&world, 1, &back, false);
		there.seq += 50;
		back.seq += 50;
	}
	g_autoptr(DtcMatches) matches = NULL;
	struct dtc_match_pair pair = match(&world, &matches);
	g_assert_cmpuint(pair.ab_count, ==, 5);
	g_assert_cmpuint(pair.ba_count, ==, 5);
	g_assert_cmpuint(pair.ambiguous, ==, 4);
}

/* Both addresses translated, ports kept; ten connections at once, two of them from different hosts with the same ports.
 */
static void test_translated_both(void)
{
	struct world world = make_world();
	for (guint i = 0; i < 20; i++) {
		for (guint c = 0; c < 10; c++) {
			struct dtc_headers inside = make_headers((uint8_t)(10 + c), 99, (uint16_t)(4000 + c % 9), 80);
			struct dtc_headers outside = make_headers((uint8_t)(110 + c), 2, (uint16_t)(4000 + c % 9), 80);
			inside.seq = outside.seq = c * 77777777 + i * 10;
			inside.payload_bytes = outside.payload_bytes = 10;
			see(&world, 0, "eth0", DTC_SENT, 0, &inside);
			see(&world, 1, "eth0", DTC_RECEIVED, DELAY_NS, &outside);
			world.now_ns += 1000000;
		}
	}
	g_autoptr(DtcMatches) matches = NULL;
	struct dtc_match_pair pair = match(&world, &matches);
	g_assert_cmpuint(pair.ab_count, ==, 200);
	g_assert_cmpuint(pair.ambiguous, ==, 0);
}

/* Datagrams with DF have IP id 0, those over IPv6 none: of the same length they are one key, and none is a message. */
static void test_datagrams(void)
{
	struct world world = make_world();
	for (guint i = 0; i < 30; i++) {
		struct dtc_headers datagram = make_headers(1, 2, (uint16_t)(i % 3 ? 5000 : 6000 + i), 53);
		datagram.protocol = DTC_PROTOCOL_UDP;
		datagram.tcp_flags = 0;
		datagram.window = 0;
		datagram.payload_bytes = 64;
		datagram.ip_version = i % 2 ? 6 : 4;
		go(&world, 0, &datagram, i % 7 == 6);
	}
	g_autoptr(DtcMatches) matches = NULL;
	struct dtc_match_pair pair = match(&world, &matches);
	g_assert_cmpuint(pair.ab_count, ==, 8); /* each from a port of its own; two of ten were lost */
	g_assert_cmpuint(pair.ambiguous, ==, 20);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/match/odd-traffic/containers", test_containers);
	g_test_add_func("/match/odd-traffic/translated-containers", test_translated_containers);
	g_test_add_func("/match/odd-traffic/all-of-the-way", test_all_of_the_way);
	g_test_add_func("/match/odd-traffic/two-routers", test_two_routers);
	g_test_add_func("/match/odd-traffic/fragments", test_fragments);
	g_test_add_func("/match/odd-traffic/handshake", test_handshake);
	g_test_add_func("/match/odd-traffic/simultaneous-open", test_simultaneous_open);
	g_test_add_func("/match/odd-traffic/translated-both", test_translated_both);
	g_test_add_func("/match/odd-traffic/datagrams", test_datagrams);
	return g_test_run();
}
