/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows and their generations: which packet begins a connection, and to which one a late packet belongs. */
#include "collect/packets/packets.h"

#include <string.h>

struct side {
	guint8 last; /* of the address 10.0.0.x */
	guint16 port;
};

static const struct side client = { 1, 40000 };
static const struct side server = { 2, 80 };

static struct dtc_headers make(struct side from, struct side to, guint8 flags, guint32 seq, guint32 ack, guint32 bytes)
{
	struct dtc_headers headers = {
		.ip_version = 4,
		.protocol = DTC_PROTOCOL_TCP,
		.has_transport = true,
		.tcp_flags = flags,
		.seq = seq,
		.ack = ack,
		.payload_bytes = bytes,
		.source_port = from.port,
		.destination_port = to.port,
		.source = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = from.last },
		.destination = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = to.last },
	};
	return headers;
}

static guint32 add(DtcPackets *packets, gint64 time, enum dtc_direction direction, struct side from, struct side to,
		   guint8 flags, guint32 seq, guint32 ack, guint32 bytes)
{
	struct dtc_headers headers = make(from, to, flags, seq, ack, bytes);
	guint32 id = dtc_packets_add(packets, time, direction, 0, 0, &headers);
	return dtc_packets_get_flow_of(packets, id);
}

/* SYN, SYN-ACK, ACK; gives the flow of the client's side. */
static guint32 connect(DtcPackets *packets, gint64 time, guint32 client_isn, guint32 server_isn)
{
	guint32 flow = add(packets, time, DTC_SENT, client, server, DTC_TCP_SYN, client_isn, 0, 0);
	guint32 reverse = add(packets, time + 1, DTC_RECEIVED, server, client, DTC_TCP_SYN | DTC_TCP_ACK, server_isn,
			      client_isn + 1, 0);
	g_assert_cmpuint(dtc_packets_get_flow(packets, flow)->reverse, ==, reverse);
	guint32 last = add(packets, time + 2, DTC_SENT, client, server, DTC_TCP_ACK, client_isn + 1, server_isn + 1, 0);
	g_assert_cmpuint(last, ==, flow);
	return flow;
}

static void test_handshake(void)
{
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	guint32 flow = connect(packets, 100, 1000, 5000);
	const struct dtc_flow *forward = dtc_packets_get_flow(packets, flow);
	const struct dtc_flow *reverse = dtc_packets_get_flow(packets, forward->reverse);
	g_assert_true(forward->has_isn);
	g_assert_cmpuint(forward->isn, ==, 1000);
	g_assert_true(reverse->has_isn);
	g_assert_cmpuint(reverse->isn, ==, 5000);
	g_assert_cmpuint(reverse->reverse, ==, flow);
	g_assert_cmpuint(forward->generation, ==, 0);
	g_assert_cmpuint(dtc_packets_get_flow_count(packets), ==, 2);
}

/* The same SYN is seen again: sent and received on loopback, retransmitted, on veth and bridge. */
static void test_same_syn(void)
{
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	guint32 flow = add(packets, 100, DTC_SENT, client, server, DTC_TCP_SYN, 1000, 0, 0);
	g_assert_cmpuint(add(packets, 101, DTC_RECEIVED, client, server, DTC_TCP_SYN, 1000, 0, 0), ==, flow);
	g_assert_cmpuint(add(packets, 1101, DTC_SENT, client, server, DTC_TCP_SYN, 1000, 0, 0), ==, flow);
	g_assert_cmpuint(dtc_packets_get_flow_count(packets), ==, 2);
}

static void test_port_reuse(void)
{
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	guint32 old = connect(packets, 100, 1000, 5000);
	guint32 new = connect(packets, 200, 900000000, 700000000);
	g_assert_cmpuint(new, !=, old);
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, new);
	g_assert_cmpuint(flow->generation, ==, 1);
	g_assert_cmpuint(dtc_packets_get_flow(packets, flow->reverse)->generation, ==, 1);
	g_assert_cmpuint(dtc_packets_find_previous_generation(packets, new), ==, old);
	g_assert_cmpuint(dtc_packets_find_previous_generation(packets, old), ==, DTC_NONE);
	guint32 found = dtc_packets_find_flow(packets, flow->source, client.port, flow->destination, server.port, 6, 0);
	g_assert_cmpuint(found, ==, new);
	/* the old connection's last ACK and a late SYN-ACK come after the new SYN */
	g_assert_cmpuint(add(packets, 300, DTC_SENT, client, server, DTC_TCP_ACK, 1001, 5001, 0), ==, old);
	g_assert_cmpuint(add(packets, 301, DTC_RECEIVED, server, client, DTC_TCP_SYN | DTC_TCP_ACK, 5000, 1001, 0), ==,
			 dtc_packets_get_flow(packets, old)->reverse);
	/* and the new one's data go to the new one */
	g_assert_cmpuint(add(packets, 302, DTC_SENT, client, server, DTC_TCP_ACK, 900000001, 700000001, 10), ==, new);
}

/* Recording began in mid-connection: the next SYN on the ports is another connection. */
static void test_mid_connection(void)
{
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	guint32 old = add(packets, 100, DTC_SENT, client, server, DTC_TCP_ACK, 777, 888, 100);
	g_assert_false(dtc_packets_get_flow(packets, old)->has_isn);
	guint32 new = add(packets, 200, DTC_SENT, client, server, DTC_TCP_SYN, 4000000, 0, 0);
	g_assert_cmpuint(new, !=, old);
	g_assert_cmpuint(dtc_packets_get_flow(packets, new)->generation, ==, 1);
}

/* The SYN was lost to the recording, or comes after its answer (two CPUs): the answer tells its number. */
static void test_answer_first(void)
{
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	guint32 reverse = add(packets, 100, DTC_RECEIVED, server, client, DTC_TCP_SYN | DTC_TCP_ACK, 5000, 1001, 0);
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, dtc_packets_get_flow(packets, reverse)->reverse);
	g_assert_true(flow->has_isn);
	g_assert_cmpuint(flow->isn, ==, 1000);
	g_assert_cmpuint(add(packets, 101, DTC_SENT, client, server, DTC_TCP_SYN, 1000, 0, 0), ==,
			 dtc_packets_get_flow(packets, reverse)->reverse);
	g_assert_cmpuint(dtc_packets_get_flow_count(packets), ==, 2);
}

/* Data of more than 2 GiB: sequence numbers are far from the first one, yet it is the same connection. */
static void test_long_connection(void)
{
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	connect(packets, 10, 3000000000u, 5);
	guint32 flow = connect(packets, 100, 1000, 5000);
	guint32 seq = 1001;
	for (guint i = 0; i < 100000; i++, seq += 65000) {
		guint32 of = add(packets, 200 + i, DTC_SENT, client, server, DTC_TCP_ACK, seq, 5001, 65000);
		g_assert_cmpuint(of, ==, flow);
	}
	g_assert_cmpuint(dtc_packets_get_flow_count(packets), ==, 4);
}

/* Both ends are the same address and port: the flow is its own reverse. */
static void test_self_connection(void)
{
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	guint32 flow = add(packets, 100, DTC_SENT, client, client, DTC_TCP_SYN, 1000, 0, 0);
	g_assert_cmpuint(dtc_packets_get_flow(packets, flow)->reverse, ==, flow);
	add(packets, 101, DTC_SENT, client, client, DTC_TCP_SYN | DTC_TCP_ACK, 1000, 1001, 0);
	add(packets, 102, DTC_SENT, client, client, DTC_TCP_SYN, 2000, 0, 0);
	dtc_packets_seal(packets);
	g_assert_cmpuint(dtc_packets_get_flow_count(packets), ==, 2);
}

static void test_no_headers(void)
{
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	/* GRO off: nothing; inet_sock_local_*: numbers without addresses; a later fragment: addresses without ports */
	struct dtc_headers none = { 0 },
			   numbers = { .protocol = DTC_PROTOCOL_TCP, .seq = 7, .ack = 8, .tcp_flags = DTC_TCP_SYN };
	struct dtc_headers fragment = make(client, server, 0, 0, 0, 500);
	fragment.has_transport = false;
	guint32 ids[] = { dtc_packets_add(packets, 1, DTC_RECEIVED, 0, 0, &none),
			  dtc_packets_add(packets, 2, DTC_RECEIVED, 0, 0, &numbers),
			  dtc_packets_add(packets, 3, DTC_RECEIVED, 0, 0, &fragment) };
	g_assert_cmpuint(dtc_packets_get_flow_of(packets, ids[0]), ==, DTC_NONE);
	g_assert_cmpuint(dtc_packets_get_flow_of(packets, ids[1]), ==, DTC_NONE);
	g_assert_cmpuint(dtc_packets_get(packets, ids[1]).seq, ==, 7);
	g_assert_cmpuint(dtc_packets_get_flow(packets, dtc_packets_get_flow_of(packets, ids[2]))->source_port, ==, 0);
	dtc_packets_seal(packets);
	g_assert_cmpuint(dtc_packets_get_count(packets), ==, 3);
}

static void test_interfaces(void)
{
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	guint16 eth = dtc_packets_add_interface(packets, "eth0"), none = dtc_packets_add_interface(packets, NULL);
	g_assert_cmpuint(dtc_packets_add_interface(packets, "eth0"), ==, eth);
	g_assert_cmpuint(dtc_packets_add_interface(packets, ""), ==, none);
	g_assert_cmpstr(dtc_packets_get_interface(packets, eth), ==, "eth0");
	g_assert_cmpstr(dtc_packets_get_interface(packets, none), ==, "");
	g_assert_cmpstr(dtc_packets_get_interface(packets, 60000), ==, "");
}

/* A capture need not be in order of time; equal times keep the order of the file. */
static void test_sort(void)
{
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	static const gint64 times[] = { 5, 3, 3, 9, 1, 3 };
	for (guint i = 0; i < G_N_ELEMENTS(times); i++)
		add(packets, times[i], DTC_SENT, client, server, DTC_TCP_ACK, i, 0, 1);
	dtc_packets_seal(packets);
	static const guint32 order[] = { 4, 1, 2, 5, 0, 3 };
	g_assert_cmpuint(dtc_packets_get_flow(packets, 0)->packet_count, ==, G_N_ELEMENTS(order));
	for (guint i = 0; i < G_N_ELEMENTS(order); i++) {
		g_assert_cmpuint(dtc_packets_get(packets, i).seq, ==, order[i]);
		g_assert_cmpuint(dtc_packets_get_flow_packet(packets, 0, i), ==, i);
	}
}

/* Late ones among many with equal times; a mark goes with its packet. */
static void test_sort_marked(void)
{
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	g_autoptr(GRand) random = g_rand_new_with_seed(1);
	const guint count = 3000;
	for (guint i = 0; i < count; i++) {
		bool is_late = g_rand_int_range(random, 0, 8) == 0;
		gint64 time_ns = i / 4 - (is_late ? g_rand_int_range(random, 0, 50) : 0);
		struct dtc_headers headers = { .seq = i, .tsval = 7 * i + 1, .protocol = DTC_PROTOCOL_TCP };
		dtc_packets_add(packets, time_ns, DTC_SENT, 0, 0, &headers);
	}
	dtc_packets_seal(packets);
	for (guint i = 0; i < count; i++) {
		const struct dtc_packet packet = dtc_packets_get(packets, i);
		g_assert_cmpuint(dtc_packets_get_mark(packets, i), ==, 7 * packet.seq + 1);
		if (i == 0)
			continue;
		const struct dtc_packet before = dtc_packets_get(packets, i - 1);
		g_assert_cmpint(before.time_ns, <=, packet.time_ns);
		g_assert_true(before.time_ns < packet.time_ns || before.seq < packet.seq);
	}
}

/* Runs of equal times, short and as long as a coarse clock makes them: a walk through them would take minutes. */
static void test_behind(void)
{
	static const guint32 runs[] = { 1, 2, 1, 3, 127, 1, 129, 200000, 4, 1 };
	g_autoptr(DtcPackets) packets = dtc_packets_new();

	for (gsize run = 0; run < G_N_ELEMENTS(runs); run++)
		for (guint32 i = 0; i < runs[run]; i++)
			add(packets, (gint64)run, DTC_SENT, client, server, DTC_TCP_ACK, i, 1, 0);
	dtc_packets_seal(packets);
	for (guint32 run = 0, id = 0, end = 0; run < G_N_ELEMENTS(runs); run++)
		for (end += runs[run]; id < end; id++)
			g_assert_cmpuint(dtc_packets_find_behind(packets, id), ==, end);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/packets/handshake", test_handshake);
	g_test_add_func("/packets/same-syn", test_same_syn);
	g_test_add_func("/packets/port-reuse", test_port_reuse);
	g_test_add_func("/packets/mid-connection", test_mid_connection);
	g_test_add_func("/packets/answer-first", test_answer_first);
	g_test_add_func("/packets/long-connection", test_long_connection);
	g_test_add_func("/packets/self-connection", test_self_connection);
	g_test_add_func("/packets/no-headers", test_no_headers);
	g_test_add_func("/packets/interfaces", test_interfaces);
	g_test_add_func("/packets/sort", test_sort);
	g_test_add_func("/packets/sort-marked", test_sort_marked);
	g_test_add_func("/packets/behind", test_behind);
	return g_test_run();
}
