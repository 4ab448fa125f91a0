/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two copies of the same two machines, each machine a namespace of one node: the same addresses and ports twice, joined
 * in pairs. What goes through a pair is one connection, and what goes through the other one another.
 */
#include "collect/packets/packets.h"

#define UNKNOWN 0

enum { CLIENT, SERVER };

static const guint32 namespaces[2][2] = { { 4026532100u, 4026532200u }, { 4026532300u, 4026532400u } };
static const guint8 addresses[] = { 1, 2 };

static struct dtc_headers make(guint from, guint8 flags, guint32 seq, guint32 ack)
{
	struct dtc_headers headers = {
		.ip_version = 4,
		.protocol = DTC_PROTOCOL_TCP,
		.has_transport = true,
		.tcp_flags = flags,
		.seq = seq,
		.ack = ack,
		.payload_bytes = flags & DTC_TCP_SYN ? 0 : 10,
		.source_port = from == CLIENT ? 40000 : 80,
		.destination_port = from == CLIENT ? 80 : 40000,
		.source = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = addresses[from] },
		.destination = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = addresses[!from] },
	};
	return headers;
}

static DtcPackets *make_packets(void)
{
	DtcPackets *packets = dtc_packets_new();

	for (guint from = CLIENT; from <= SERVER; from++) {
		struct dtc_headers headers = make(from, 0, 0, 0);
		dtc_packets_share_address(packets, headers.source);
	}
	return packets;
}

/* Gives the flow. */
static guint32 see(DtcPackets *packets, enum dtc_direction direction, guint32 netns, struct dtc_headers headers)
{
	gint64 now_ns = dtc_packets_get_count(packets);

	headers.netns = netns;
	return dtc_packets_get_flow_of(packets, dtc_packets_add(packets, now_ns, direction, 0, 0, &headers));
}

/* Sent and received, by the one whose packet it is and by the other. Gives the flow, which is one. */
static guint32 pass(DtcPackets *packets, const guint32 pair[2], guint from, guint8 flags, guint32 seq, guint32 ack)
{
	struct dtc_headers headers = make(from, flags, seq, ack);
	guint32 sent = see(packets, DTC_SENT, pair[from], headers);
	guint32 received = see(packets, DTC_RECEIVED, pair[!from], headers);

	g_assert_cmpuint(sent, ==, received);
	return sent;
}

static guint32 open_connection(DtcPackets *packets, const guint32 pair[2], guint32 isn)
{
	guint32 flow = pass(packets, pair, CLIENT, DTC_TCP_SYN, isn, 0);
	guint32 reverse = pass(packets, pair, SERVER, DTC_TCP_SYN | DTC_TCP_ACK, isn + 500, isn + 1);

	g_assert_cmpuint(dtc_packets_get_flow(packets, flow)->reverse, ==, reverse);
	g_assert_cmpuint(pass(packets, pair, CLIENT, DTC_TCP_ACK, isn + 1, isn + 501), ==, flow);
	return flow;
}

static void test_pairs(void)
{
	g_autoptr(DtcPackets) packets = make_packets();
	guint32 flows[2];

	for (guint i = 0; i < 2; i++)
		flows[i] = open_connection(packets, namespaces[i], 1000 + 70000000 * i);
	g_assert_cmpuint(flows[0], !=, flows[1]);
	for (guint i = 0; i < 2; i++) {
		struct dtc_headers headers = make(CLIENT, 0, 0, 0);
		g_assert_cmpuint(pass(packets, namespaces[i], CLIENT, DTC_TCP_ACK, 1011 + 70000000 * i, 1501), ==,
				 flows[i]);
		for (guint end = CLIENT; end <= SERVER; end++) /* found from both of its namespaces */
			g_assert_cmpuint(dtc_packets_find_flow(packets, headers.source, 40000, headers.destination, 80,
							       DTC_PROTOCOL_TCP, namespaces[i][end]),
					 ==, flows[i]);
	}
	g_assert_cmpuint(dtc_packets_get_flow_count(packets), ==, 4);
	g_assert_cmpuint(dtc_packets_get_flow(packets, flows[1])->generation, ==, 0);
	/* the same port once more */
	guint32 next = open_connection(packets, namespaces[0], 9000000);
	g_assert_cmpuint(dtc_packets_get_flow(packets, next)->generation, ==, 1);
	g_assert_cmpuint(dtc_packets_get_flow_count(packets), ==, 6);
}

/* The machine behind the address was replaced by one in another namespace, with the same address. */
static void test_replaced(void)
{
	g_autoptr(DtcPackets) packets = make_packets();
	const guint32 after[] = { namespaces[1][CLIENT], namespaces[0][SERVER] };
	guint32 flow = open_connection(packets, namespaces[0], 1000);

	g_assert_cmpuint(open_connection(packets, after, 70000000), !=, flow);
}

/* Connections from before the trace: the packets that are seen twice tell. */
static void test_open(void)
{
	g_autoptr(DtcPackets) packets = make_packets();
	guint32 flows[2];

	for (guint i = 0; i < 2; i++)
		flows[i] = pass(packets, namespaces[i], CLIENT, DTC_TCP_ACK, 1000 + 70000000 * i, 500);
	g_assert_cmpuint(flows[0], !=, flows[1]);
	for (guint i = 0; i < 2; i++)
		g_assert_cmpuint(pass(packets, namespaces[i], SERVER, DTC_TCP_ACK, 500, 1010 + 70000000 * i), ==,
				 dtc_packets_get_flow(packets, flows[i])->reverse);
}

/* Nor does it matter that packets before a window are forgotten as they come: those that are seen twice tell even so.
 */
static void test_forgotten(void)
{
	g_autoptr(DtcPackets) packets = make_packets();
	guint32 flows[2][2];

	for (guint i = 0; i < 2; i++)
		for (guint end = CLIENT; end <= SERVER; end++) {
			struct dtc_headers headers = make(CLIENT, DTC_TCP_ACK, 1000 + 70000000 * i, 500);
			flows[i][end] =
				see(packets, end == CLIENT ? DTC_SENT : DTC_RECEIVED, namespaces[i][end], headers);
			dtc_packets_forget(packets);
		}
	g_assert_cmpuint(flows[0][CLIENT], !=, flows[1][CLIENT]);
	for (guint i = 0; i < 2; i++) {
		g_assert_cmpuint(flows[i][SERVER], ==, flows[i][CLIENT]);
		g_assert_cmpuint(pass(packets, namespaces[i], SERVER, DTC_TCP_ACK, 500, 1010 + 70000000 * i), ==,
				 dtc_packets_get_flow(packets, flows[i][CLIENT])->reverse);
	}
}

/* Where a client's packets were sent is not known, or of a few of a server's. */
static void test_unknown(void)
{
	g_autoptr(DtcPackets) packets = make_packets();
	guint32 flows[2];

	for (guint i = 0; i < 2; i++) {
		const guint32 pair[] = { UNKNOWN, namespaces[i][SERVER] };
		flows[i] = open_connection(packets, pair, 1000 + 70000000 * i);
	}
	g_assert_cmpuint(flows[0], !=, flows[1]);
	for (guint i = 0; i < 2; i++) {
		const guint32 pair[] = { UNKNOWN, namespaces[i][SERVER] };
		g_assert_cmpuint(pass(packets, pair, CLIENT, DTC_TCP_ACK, 1011 + 70000000 * i, 1501), ==, flows[i]);
	}
	guint32 known = open_connection(packets, namespaces[0], 9000000);
	struct dtc_headers headers = make(CLIENT, DTC_TCP_ACK, 9000011, 9000501);
	g_assert_cmpuint(see(packets, DTC_SENT, UNKNOWN, headers), ==, known);
	g_assert_cmpuint(see(packets, DTC_RECEIVED, namespaces[0][SERVER], headers), ==, known);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/packets/homes/pairs", test_pairs);
	g_test_add_func("/packets/homes/replaced", test_replaced);
	g_test_add_func("/packets/homes/open", test_open);
	g_test_add_func("/packets/homes/forgotten", test_forgotten);
	g_test_add_func("/packets/homes/unknown", test_unknown);
	return g_test_run();
}
