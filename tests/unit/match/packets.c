/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages from packets that are made here one by one, for what no recording has: other boundaries on both sides,
 * sequence wrap, used ports, translated addresses, routers, several interfaces, two sources on a node.
 */
#include "tests/support/brief_matches.h"

#include <string.h>

#define ACK 0x10
#define SYN 0x02

struct made {
	DtcPackets *packets;
	uint16_t interface;
	struct dtc_headers headers; /* the last ones, to be changed by the test */
};

static struct made make_node(const char *interface)
{
	struct made made = { .packets = dtc_packets_new() };
	made.interface = dtc_packets_add_interface(made.packets, interface);
	return made;
}

static struct dtc_headers make_tcp(uint8_t from, uint8_t to, uint16_t source_port, uint16_t destination_port)
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

static void see(struct made *node, int64_t time_ns, enum dtc_direction direction, const struct dtc_headers *headers)
{
	dtc_packets_add(node->packets, time_ns, direction, 0, node->interface, headers);
}

static void see_data(struct made *node, int64_t time_ns, enum dtc_direction direction, struct dtc_headers headers,
		     uint32_t seq, uint32_t bytes)
{
	headers.seq = seq;
	headers.payload_bytes = bytes;
	headers.ip_id = (uint16_t)(seq * 7);
	see(node, time_ns, direction, &headers);
}

/* Node i is kernel[i] and capture[i] (either may be NULL), named "a", "b", "c". */
static DtcMatches *match(struct made *const *kernel, struct made *const *capture, guint count)
{
	static const char *const names[] = { "a", "b", "c" };
	struct dtc_match_source sources[3] = { { 0 } };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	for (guint i = 0; i < count; i++) {
		sources[i].node = names[i];
		if (kernel && kernel[i]) {
			dtc_packets_seal(kernel[i]->packets);
			sources[i].kernel = kernel[i]->packets;
		}
		if (capture && capture[i]) {
			dtc_packets_seal(capture[i]->packets);
			sources[i].capture = capture[i]->packets;
		}
	}
	DtcMatches *matches = dtc_match_packets(sources, count, NULL, findings);
	brief_matches_assert_same(sources, count, matches);
	for (guint i = 0; i < count; i++) {
		if (kernel && kernel[i])
			dtc_packets_free(kernel[i]->packets);
		if (capture && capture[i])
			dtc_packets_free(capture[i]->packets);
	}
	return matches;
}

static DtcMatches *match_two(struct made *a, struct made *b)
{
	struct made *const nodes[] = { a, b };
	return match(nodes, NULL, 2);
}

static struct dtc_match_pair get_only_pair(const DtcMatches *matches)
{
	struct dtc_match_pair pair;
	g_assert_cmpuint(dtc_matches_get_pair_count(matches), ==, 1);
	dtc_matches_get_pair(matches, 0, &pair);
	return pair;
}

static void assert_message(const struct dtc_message *message, int64_t sent_ns, int64_t received_ns)
{
	g_assert_cmpint(message->sent_ns, ==, sent_ns);
	g_assert_cmpint(message->received_ns, ==, received_ns);
}

/* Headers that may be another packet's bound no clock; that their bytes were sent twice they still tell. */
static void test_inferred(void)
{
	struct made a = make_node("eth0"), b = make_node("eth0");
	struct dtc_headers sure = make_tcp(1, 2, 4000, 80), inferred = sure;
	inferred.is_inferred = true;
	see_data(&a, 100, DTC_SENT, sure, 1000, 10);
	see_data(&b, 9100, DTC_RECEIVED, sure, 1000, 10);
	see_data(&a, 200, DTC_SENT, inferred, 1010, 10);
	see_data(&b, 9200, DTC_RECEIVED, sure, 1010, 10);
	see_data(&a, 300, DTC_SENT, sure, 1020, 10);
	see_data(&b, 9300, DTC_RECEIVED, inferred, 1020, 10);
	see_data(&a, 400, DTC_SENT, inferred, 1030, 10);
	see_data(&a, 500, DTC_SENT, sure, 1030, 10);
	see_data(&b, 9500, DTC_RECEIVED, sure, 1030, 10);
	g_autoptr(DtcMatches) matches = match_two(&a, &b);
	struct dtc_match_pair pair = get_only_pair(matches);
	g_assert_cmpuint(pair.ab_count, ==, 1);
	assert_message(&pair.ab[0], 100, 9100);
}

/* One send of 4,000 bytes arrives as three segments, two sends arrive merged: the tightest pair of each. */
static void test_boundaries(void)
{
	struct made a = make_node("eth0"), b = make_node("eth0");
	struct dtc_headers there = make_tcp(1, 2, 4000, 80);
	see_data(&a, 100, DTC_SENT, there, 1000, 4000);
	see_data(&b, 9100, DTC_RECEIVED, there, 1000, 1448);
	see_data(&b, 9200, DTC_RECEIVED, there, 2448, 1448);
	see_data(&b, 9300, DTC_RECEIVED, there, 3896, 1104);
	see_data(&a, 500, DTC_SENT, there, 5000, 100);
	see_data(&a, 600, DTC_SENT, there, 5100, 100);
	see_data(&b, 9700, DTC_RECEIVED, there, 5000, 200);
	g_autoptr(DtcMatches) matches = match_two(&a, &b);
	struct dtc_match_pair pair = get_only_pair(matches);
	g_assert_cmpuint(pair.ab_count, ==, 2);
	assert_message(&pair.ab[0], 100, 9100);
	assert_message(&pair.ab[1], 600, 9700);
	g_assert_cmpuint(pair.unmatched_a + pair.unmatched_b + pair.ambiguous, ==, 0);
}

static void test_wrap(void)
{
	struct made a = make_node("eth0"), b = make_node("eth0");
	struct dtc_headers there = make_tcp(1, 2, 4000, 80);
	uint32_t seq = UINT32_MAX - 2500;
	for (int i = 0; i < 8; i++, seq += 1000) {
		see_data(&a, 100 * i, DTC_SENT, there, seq, 1000);
		see_data(&b, 7000 + 100 * i, DTC_RECEIVED, there, seq, 1000);
	}
	g_autoptr(DtcMatches) matches = match_two(&a, &b);
	struct dtc_match_pair pair = get_only_pair(matches);
	g_assert_cmpuint(pair.ab_count, ==, 8);
	for (int i = 0; i < 8; i++)
		assert_message(&pair.ab[i], 100 * i, 7000 + 100 * i);
}

/* What was sent twice before it arrived says nothing about when: left out and counted; so are keep-alives. */
static void test_ambiguous(void)
{
	struct made a = make_node("eth0"), b = make_node("eth0");
	struct dtc_headers there = make_tcp(1, 2, 4000, 80);
	see_data(&a, 100, DTC_SENT, there, 1000, 500);
	see_data(&a, 200, DTC_SENT, there, 1500, 500);
	see_data(&a, 90000, DTC_SENT, there, 1500, 500);
	see_data(&b, 50100, DTC_RECEIVED, there, 1000, 500);
	see_data(&b, 140000, DTC_RECEIVED, there, 1500, 500);
	struct dtc_headers empty = there;
	empty.seq = 2000;
	for (int i = 0; i < 2; i++) {
		see(&a, 200000 + i, DTC_SENT, &empty);
		see(&b, 250000 + i, DTC_RECEIVED, &empty);
	}
	g_autoptr(DtcMatches) matches = match_two(&a, &b);
	struct dtc_match_pair pair = get_only_pair(matches);
	g_assert_cmpuint(pair.ab_count, ==, 1);
	assert_message(&pair.ab[0], 100, 50100);
	g_assert_cmpuint(pair.ambiguous, ==, 3);
}

static void test_lost(void)
{
	struct made a = make_node("eth0"), b = make_node("eth0");
	struct dtc_headers there = make_tcp(1, 2, 4000, 80), back = make_tcp(2, 1, 80, 4000);
	see_data(&a, 100, DTC_SENT, there, 1000, 500);
	see_data(&a, 200, DTC_SENT, there, 1500, 500);
	see_data(&b, 50100, DTC_RECEIVED, there, 1000, 500);
	back.seq = 7;
	back.ack = 1500;
	see(&b, 50200, DTC_SENT, &back);
	see(&a, 900, DTC_RECEIVED, &back);
	g_autoptr(DtcMatches) matches = match_two(&a, &b);
	struct dtc_match_pair pair = get_only_pair(matches);
	g_assert_cmpuint(pair.ab_count, ==, 1);
	g_assert_cmpuint(pair.ba_count, ==, 1);
	assert_message(&pair.ba[0], 50200, 900);
	g_assert_cmpuint(pair.unmatched_a, ==, 1);
	g_assert_cmpuint(pair.unmatched_b, ==, 0);
}

/* The same ports again with other numbers; b began to record during the second connection. */
static void test_used_ports(void)
{
	struct made a = make_node("eth0"), b = make_node("eth0");
	struct dtc_headers there = make_tcp(1, 2, 4000, 80), syn = there;
	syn.tcp_flags = SYN;
	for (uint32_t run = 0; run < 3; run++) {
		int64_t at = run * 10000;
		syn.seq = 1000 + run * 5000000;
		see(&a, at + 1, DTC_SENT, &syn);
		see_data(&a, at + 100, DTC_SENT, there, syn.seq + 1, 300);
		if (run == 2)
			see(&b, 700000 + at + 1, DTC_RECEIVED, &syn);
		if (run >= 1)
			see_data(&b, 700000 + at + 100, DTC_RECEIVED, there, syn.seq + 1, 300);
	}
	g_autoptr(DtcMatches) matches = match_two(&a, &b);
	struct dtc_match_pair pair = get_only_pair(matches);
	g_assert_cmpuint(pair.ab_count, ==, 3);
	for (guint i = 0; i < pair.ab_count; i++)
		g_assert_cmpint(pair.ab[i].received_ns - pair.ab[i].sent_ns, ==, 700000);
}

/* One connection of these ports was seen by each node, and it is not the same one; or a saw both. */
static void test_another_connection(gconstpointer is_seen_by_both)
{
	struct made a = make_node("eth0"), b = make_node("eth0");
	struct dtc_headers there = make_tcp(1, 2, 4000, 80), syn = there;
	syn.tcp_flags = SYN;
	for (uint32_t run = 0; run < 2; run++) {
		int64_t at = run * 10000;
		syn.seq = 1000 + run * 5000000;
		if (run == 0 || is_seen_by_both) {
			see(&a, at + 1, DTC_SENT, &syn);
			see_data(&a, at + 100, DTC_SENT, there, syn.seq + 1, 300);
		}
		if (run == 1) {
			see(&b, 700000 + at + 1, DTC_RECEIVED, &syn);
			see_data(&b, 700000 + at + 100, DTC_RECEIVED, there, syn.seq + 1, 300);
		}
	}
	g_autoptr(DtcMatches) matches = match_two(&a, &b);
	g_assert_cmpuint(get_only_pair(matches).ab_count, ==, is_seen_by_both ? 2 : 0);
}

/*
 * A client that comes from the same port again and again: 20,000 connections on one pair of ports, of which b missed
 * every tenth. The time grows with their number, not with its square.
 */
static void test_many_generations(void)
{
	struct made a = make_node("eth0"), b = make_node("eth0");
	struct dtc_headers there = make_tcp(1, 2, 4000, 80), syn = there;
	guint expected = 0;
	syn.tcp_flags = SYN;
	g_test_timer_start();
	for (uint32_t run = 0; run < 20000; run++) {
		int64_t at = (int64_t)run * 10000;
		syn.seq = 1000 + run * 200000;
		see(&a, at + 1, DTC_SENT, &syn);
		see_data(&a, at + 100, DTC_SENT, there, syn.seq + 1, 300);
		if (run % 10 == 9)
			continue;
		see(&b, 700000 + at + 1, DTC_RECEIVED, &syn);
		see_data(&b, 700000 + at + 100, DTC_RECEIVED, there, syn.seq + 1, 300);
		expected += 2;
	}
	g_autoptr(DtcMatches) matches = match_two(&a, &b);
	struct dtc_match_pair pair = get_only_pair(matches);
	g_assert_cmpuint(pair.ab_count, ==, expected);
	for (guint i = 0; i < pair.ab_count; i++)
		g_assert_cmpint(pair.ab[i].received_ns - pair.ab[i].sent_ns, ==, 700000);
	g_test_message("%.3f s", g_test_timer_elapsed());
	g_assert_cmpfloat(g_test_timer_elapsed(), <, 30);
}

static void test_udp_and_ipv6(void)
{
	struct made a = make_node("eth0"), b = make_node("eth0");
	struct dtc_headers datagram = make_tcp(1, 2, 5000, 53);
	datagram.protocol = DTC_PROTOCOL_UDP;
	datagram.tcp_flags = 0;
	datagram.window = 0;
	for (uint16_t i = 0; i < 4; i++) {
		datagram.ip_id = (uint16_t)(i == 3 ? 2 : i); /* the last two cannot be told apart */
		datagram.payload_bytes = 40;
		see(&a, i * 10, DTC_SENT, &datagram);
		see(&b, 3000 + i * 10, DTC_RECEIVED, &datagram);
	}
	struct dtc_headers six = make_tcp(1, 2, 6000, 443);
	six.ip_version = 6;
	six.source[0] = six.destination[0] = 0xfd;
	see_data(&a, 500, DTC_SENT, six, 1, 900);
	see_data(&b, 3500, DTC_RECEIVED, six, 1, 900);
	g_autoptr(DtcMatches) matches = match_two(&a, &b);
	struct dtc_match_pair pair = get_only_pair(matches);
	g_assert_cmpuint(pair.ab_count, ==, 3);
	g_assert_cmpuint(pair.ambiguous, ==, 2);
	for (guint i = 0; i < pair.ab_count; i++)
		g_assert_cmpint(pair.ab[i].received_ns - pair.ab[i].sent_ns, ==, 3000);
}

/* 1:1 translation: other addresses on b's side, ports and numbers the same. */
static void test_translated(void)
{
	struct made a = make_node("eth0"), b = make_node("eth0");
	struct dtc_headers inside = make_tcp(1, 99, 4000, 80), outside = make_tcp(77, 2, 4000, 80);
	for (uint32_t i = 0; i < 5; i++) {
		see_data(&a, 100 * i, DTC_SENT, inside, 123456789 + 10 * i, 10);
		see_data(&b, 8000 + 100 * i, DTC_RECEIVED, outside, 123456789 + 10 * i, 10);
	}
	g_autoptr(DtcMatches) matches = match_two(&a, &b);
	struct dtc_match_pair pair = get_only_pair(matches);
	g_assert_cmpuint(pair.ab_count, ==, 5);
	assert_message(&pair.ab[4], 400, 8400);
}

/*
 * One packet that agrees in ports and numbers is chance: of all connections that lead out of two clusters some will.
 * Two are none.
 */
static void test_translated_by_chance(void)
{
	for (uint32_t agreeing = 1; agreeing <= 2; agreeing++) {
		struct made a = make_node("eth0"), b = make_node("eth0");
		struct dtc_headers inside = make_tcp(1, 99, 4000, 80), outside = make_tcp(77, 2, 4000, 80);
		for (uint32_t i = 0; i < 4; i++) {
			see_data(&a, 100 * i, DTC_SENT, inside, 1000 + 10 * i, 10);
			see_data(&b, 8000 + 100 * i, DTC_RECEIVED, outside, (i < agreeing ? 1000 : 5000) + 10 * i, 10);
		}
		g_autoptr(DtcMatches) matches = match_two(&a, &b);
		if (agreeing == 1) {
			g_assert_cmpuint(dtc_matches_get_pair_count(matches), ==, 0);
		} else {
			struct dtc_match_pair pair = get_only_pair(matches);
			g_assert_cmpuint(pair.ab_count, ==, 2);
			assert_message(&pair.ab[1], 100, 8100);
		}
	}
}

/* c forwards from a to b: a to c, c to b and a to b are messages, and never c's send with c's receive or back. */
static void test_router(void)
{
	struct made a = make_node("eth0"), b = make_node("eth0"), c = make_node("eth0");
	uint16_t other = dtc_packets_add_interface(c.packets, "eth1");
	struct dtc_headers there = make_tcp(1, 2, 4000, 80);
	there.seq = 50;
	there.payload_bytes = 10;
	see(&a, 100, DTC_SENT, &there);
	see(&c, 5200, DTC_RECEIVED, &there);
	dtc_packets_add(c.packets, 5300, DTC_SENT, 0, other, &there);
	see(&b, 400, DTC_RECEIVED, &there);
	struct made *const nodes[] = { &a, &b, &c };
	g_autoptr(DtcMatches) matches = match(nodes, NULL, 3);
	static const struct {
		guint from, to;
		int64_t sent, received;
	} expected[] = { { 0, 1, 100, 400 }, { 0, 2, 100, 5200 }, { 2, 1, 5300, 400 } };
	guint found = 0;
	for (guint i = 0; i < dtc_matches_get_pair_count(matches); i++) {
		struct dtc_match_pair pair;
		dtc_matches_get_pair(matches, i, &pair);
		for (guint k = 0; k < G_N_ELEMENTS(expected); k++) {
			if (pair.a == expected[k].from && pair.b == expected[k].to) {
				g_assert_cmpuint(pair.ab_count, ==, 1);
				assert_message(pair.ab, expected[k].sent, expected[k].received);
			} else if (pair.a == expected[k].to && pair.b == expected[k].from) {
				g_assert_cmpuint(pair.ba_count, ==, 1);
				assert_message(pair.ba, expected[k].sent, expected[k].received);
			}
		}
		found += pair.ab_count + pair.ba_count;
	}
	g_assert_cmpuint(found, ==, G_N_ELEMENTS(expected));
}

/* Leaves through veth, bridge and wire; loopback traffic with the same numbers on both nodes is nobody's message. */
static void test_interfaces(void)
{
	struct made a = make_node("veth1"), b = make_node("eth0");
	uint16_t wire = dtc_packets_add_interface(a.packets, "eth0");
	uint16_t loop_a = dtc_packets_add_interface(a.packets, "lo"),
		 loop_b = dtc_packets_add_interface(b.packets, "lo");
	struct dtc_headers there = make_tcp(1, 2, 4000, 80), local = make_tcp(9, 9, 1, 2);
	for (uint32_t i = 0; i < 3; i++) {
		there.seq = 10 * i;
		there.payload_bytes = 10;
		see(&a, 1000 * i, DTC_SENT, &there);
		dtc_packets_add(a.packets, 1000 * i + 7, DTC_SENT, 0, wire, &there);
		see(&b, 50000 + 1000 * i, DTC_RECEIVED, &there);
	}
	dtc_packets_add(a.packets, 5000, DTC_SENT, 0, loop_a, &local);
	dtc_packets_add(b.packets, 9000, DTC_RECEIVED, 0, loop_b, &local);
	g_autoptr(DtcMatches) matches = match_two(&a, &b);
	struct dtc_match_pair pair = get_only_pair(matches);
	g_assert_cmpuint(pair.ab_count, ==, 3);
	for (guint i = 0; i < 3; i++)
		assert_message(&pair.ab[i], 1000 * i + 7, 50000 + 1000 * i);
	g_assert_cmpuint(pair.ambiguous, ==, 0);
}

/* b's receive events have no headers: its capture stands in, on a clock that is 5 s ahead and 2 us late. */
static void test_two_sources(void)
{
	struct made a = make_node("eth0"), b = make_node("eth0"), tap = make_node("");
	struct dtc_headers there = make_tcp(1, 2, 4000, 80), back = make_tcp(2, 1, 80, 4000), none = { 0 };
	const int64_t ahead = G_GINT64_CONSTANT(5000000001); /* not a multiple of microseconds */
	for (uint32_t i = 0; i < 100; i++) {
		int64_t at = (int64_t)i * 1000000;
		see_data(&a, at, DTC_SENT, there, 10 * i, 10);
		see(&b, at + 30000, DTC_RECEIVED, &none);
		see_data(&tap, at + 32000 + ahead, DTC_RECEIVED, there, 10 * i, 10);
		see_data(&b, at + 50000, DTC_SENT, back, 10 * i, 10);
		see_data(&tap, at + 52000 + ahead, DTC_SENT, back, 10 * i, 10);
		see_data(&a, at + 80000, DTC_RECEIVED, back, 10 * i, 10);
	}
	struct made *const kernel[] = { &a, &b }, *const capture[] = { NULL, &tap };
	g_autoptr(DtcMatches) matches = match(kernel, capture, 2);
	int64_t node_ns;
	g_assert_true(dtc_matches_capture_to_node(matches, 1, ahead + 1002000, &node_ns));
	g_assert_cmpint(node_ns, ==, 1000000);
	g_assert_false(dtc_matches_capture_to_node(matches, 0, 0, &node_ns));
	struct dtc_match_pair pair = get_only_pair(matches);
	g_assert_cmpuint(pair.ab_count, ==, 100);
	g_assert_cmpuint(pair.ba_count, ==, 100);
	int64_t error = dtc_matches_get_capture_error_ns(matches, 1);
	/* stamps from the capture are made safe by its error: a receive may only look later */
	for (guint i = 0; i < 100; i++) {
		assert_message(&pair.ab[i], (int64_t)i * 1000000, (int64_t)i * 1000000 + 30000 + error);
		assert_message(&pair.ba[i], (int64_t)i * 1000000 + 50000, (int64_t)i * 1000000 + 80000);
	}
}

/* Events of LTTng 2.1: numbers and nothing else. */
static void test_bare(void)
{
	struct made a = make_node(NULL), b = make_node(NULL);
	for (uint32_t i = 0; i < 4; i++) {
		struct dtc_headers bare = {
			.protocol = DTC_PROTOCOL_TCP, .seq = 1000 + i, .ack = 77, .tcp_flags = ACK
		};
		see(&a, 10 * i, DTC_SENT, &bare);
		see(&b, 900 + 10 * i, DTC_RECEIVED, &bare);
	}
	g_autoptr(DtcMatches) matches = match_two(&a, &b);
	struct dtc_match_pair pair = get_only_pair(matches);
	g_assert_cmpuint(pair.ab_count, ==, 4);
	for (guint i = 0; i < 4; i++) /* in no order that is promised */
		g_assert_cmpint(pair.ab[i].received_ns - pair.ab[i].sent_ns, ==, 900);
}

/*
 * 9 GB of one connection that both nodes saw in the middle only, the receiver from 4.5 GB on: numbers come round and
 * fit in two places. What the packets carry beside them tells which; if it does not, nothing is claimed.
 */
static void test_long_stream(void)
{
	for (guint is_blind = 0; is_blind < 2; is_blind++) {
		struct made a = make_node("eth0"), b = make_node("eth0");
		struct dtc_headers there = make_tcp(1, 2, 4000, 80);
		const guint count = 140000, from = 70000;
		there.payload_bytes = is_blind ? 65536 : 65000; /* 2^32 is a multiple of one of them */
		for (guint i = 0; i < count; i++) {
			there.seq = 77 + i * there.payload_bytes;
			there.ip_id = is_blind ? 0 : (uint16_t)i;
			see(&a, 1000 * i, DTC_SENT, &there);
			if (i >= from)
				see(&b, 1000 * i + 700, DTC_RECEIVED, &there);
		}
		g_autoptr(DtcMatches) matches = match_two(&a, &b);
		struct dtc_match_pair pair = get_only_pair(matches);
		g_assert_cmpuint(pair.ab_count, ==, is_blind ? 0 : count - from);
		for (guint i = 0; i < pair.ab_count; i++)
			g_assert_cmpint(pair.ab[i].received_ns - pair.ab[i].sent_ns, ==, 700);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/match/packets/inferred", test_inferred);
	g_test_add_func("/match/packets/boundaries", test_boundaries);
	g_test_add_func("/match/packets/wrap", test_wrap);
	g_test_add_func("/match/packets/ambiguous", test_ambiguous);
	g_test_add_func("/match/packets/lost", test_lost);
	g_test_add_func("/match/packets/used-ports", test_used_ports);
	g_test_add_data_func("/match/packets/another-connection", NULL, test_another_connection);
	g_test_add_data_func("/match/packets/another-connection/and-that", "both", test_another_connection);
	g_test_add_func("/match/packets/many-generations", test_many_generations);
	g_test_add_func("/match/packets/udp-and-ipv6", test_udp_and_ipv6);
	g_test_add_func("/match/packets/translated", test_translated);
	g_test_add_func("/match/packets/translated-by-chance", test_translated_by_chance);
	g_test_add_func("/match/packets/router", test_router);
	g_test_add_func("/match/packets/interfaces", test_interfaces);
	g_test_add_func("/match/packets/two-sources", test_two_sources);
	g_test_add_func("/match/packets/bare", test_bare);
	g_test_add_func("/match/packets/long-stream", test_long_stream);
	return g_test_run();
}
