/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets in any order: each is in exactly one flow, flows come in pairs, generations one after the other. */
#include "collect/packets/packets.h"

#include <string.h>

static struct dtc_headers make_headers(GRand *rand)
{
	static const guint8 flags[] = { DTC_TCP_SYN, DTC_TCP_SYN | DTC_TCP_ACK, DTC_TCP_ACK,
					DTC_TCP_ACK, DTC_TCP_ACK | DTC_TCP_FIN, DTC_TCP_RST };
	static const guint32 numbers[] = { 0, 1, 2, 1000, 1001, 0x7fffffff, 0x80000000, 0xffffffff };
	struct dtc_headers headers = { 0 };
	if (g_rand_int_range(rand, 0, 20) == 0)
		return headers;
	headers.ip_version = 4;
	headers.protocol = g_rand_int_range(rand, 0, 5) == 0 ? DTC_PROTOCOL_UDP : DTC_PROTOCOL_TCP;
	headers.has_transport = g_rand_int_range(rand, 0, 10) != 0;
	headers.source[15] = (guint8)g_rand_int_range(rand, 1, 4);
	headers.destination[15] = (guint8)g_rand_int_range(rand, 1, 4);
	headers.source_port = (guint16)g_rand_int_range(rand, 80, 83);
	headers.destination_port = (guint16)g_rand_int_range(rand, 80, 83);
	headers.tcp_flags = flags[g_rand_int_range(rand, 0, G_N_ELEMENTS(flags))];
	headers.seq = numbers[g_rand_int_range(rand, 0, G_N_ELEMENTS(numbers))];
	headers.ack = numbers[g_rand_int_range(rand, 0, G_N_ELEMENTS(numbers))];
	headers.payload_bytes = (guint32)g_rand_int_range(rand, 0, 1500);
	return headers;
}

static void check_flow(const DtcPackets *packets, guint32 id, guint32 *ret_packets)
{
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, id);
	const struct dtc_flow *reverse = dtc_packets_get_flow(packets, flow->reverse);
	g_assert_cmpuint(reverse->reverse, ==, id);
	g_assert_cmpuint(reverse->generation, ==, flow->generation);
	g_assert_cmpuint(reverse->source_port, ==, flow->destination_port);
	g_assert_cmpmem(reverse->source, 16, flow->destination, 16);
	guint32 previous = dtc_packets_find_previous_generation(packets, id);
	g_assert_true((previous == DTC_NONE) == (flow->generation == 0));
	if (previous != DTC_NONE)
		g_assert_cmpuint(dtc_packets_get_flow(packets, previous)->generation + 1, ==, flow->generation);
	for (guint32 i = 0; i < flow->packet_count; i++) {
		g_assert_cmpuint(dtc_packets_get_flow_of(packets, dtc_packets_get_flow_packet(packets, id, i)), ==, id);
		if (i > 0)
			g_assert_cmpuint(dtc_packets_get_flow_packet(packets, id, i - 1), <,
					 dtc_packets_get_flow_packet(packets, id, i));
	}
	*ret_packets += flow->packet_count;
}

static void check_random(guint32 seed)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	guint count = (guint)g_rand_int_range(rand, 0, 3000), without_flow = 0;
	for (guint i = 0; i < count; i++) {
		struct dtc_headers headers = make_headers(rand);
		gint64 time = (gint64)i + (g_rand_int_range(rand, 0, 10) == 0 ? g_rand_int_range(rand, -5, 5) : 0);
		g_assert_cmpuint(dtc_packets_add(packets, time, DTC_SENT, 0, 0, &headers), ==, i);
		without_flow += headers.ip_version == 0;
	}
	dtc_packets_seal(packets);
	g_assert_cmpuint(dtc_packets_get_count(packets), ==, count);
	for (guint i = 1; i < count; i++)
		g_assert_cmpint(dtc_packets_get_time_ns(packets, i - 1), <=, dtc_packets_get_time_ns(packets, i));
	guint32 in_flows = 0, latest = 0;
	for (guint32 id = 0; id < dtc_packets_get_flow_count(packets); id++) {
		const struct dtc_flow *flow = dtc_packets_get_flow(packets, id);
		check_flow(packets, id, &in_flows);
		latest += dtc_packets_find_flow(packets, flow->source, flow->source_port, flow->destination,
						flow->destination_port, flow->protocol, 0) == id;
	}
	g_assert_cmpuint(in_flows + without_flow, ==, count);
	g_assert_true(latest > 0 || count == without_flow);
}

static void test_random(void)
{
	for (guint32 seed = 1; seed <= 60; seed++)
		check_random(seed);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/packets/random", test_random);
	return g_test_run();
}
