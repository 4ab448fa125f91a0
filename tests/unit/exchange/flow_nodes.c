/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/flow_nodes.h"

#define NODES 5
#define PORTS 40

/* One segment of the connection from a port, seen on its way out. */
static void add(DtcPackets *packets, uint16_t port, int64_t time_ns)
{
	struct dtc_headers headers = { .ip_version = 4,
				       .protocol = DTC_PROTOCOL_TCP,
				       .has_transport = true,
				       .source = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 },
				       .destination = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 2 },
				       .source_port = port,
				       .destination_port = 80,
				       .tcp_flags = DTC_TCP_ACK };
	dtc_packets_add(packets, time_ns, DTC_SENT, 0, 0, &headers);
}

static bool has(guint node, uint16_t port)
{
	return node != 2 && port % (node + 2) == 0;
}

static bool find(const guint *nodes, guint count, guint node)
{
	for (guint i = 0; i < count; i++) {
		g_assert_true(i == 0 || nodes[i - 1] < nodes[i]);
		if (nodes[i] == node)
			return true;
	}
	return false;
}

/* Each node that has a connection is told, in both directions; node 2 has no packets at all. */
static void test_nodes(void)
{
	DtcPackets *packets[NODES] = { NULL };
	for (guint node = 0; node < NODES; node++) {
		packets[node] = node == 2 ? NULL : dtc_packets_new();
		for (uint16_t port = 1; port <= PORTS; port++)
			if (has(node, port))
				add(packets[node], port, port);
		if (packets[node])
			dtc_packets_seal(packets[node]);
	}
	g_autoptr(DtcFlowNodes) nodes = dtc_flow_nodes_new((const DtcPackets *const *)packets, NODES);
	guint told = 0, all = 0;
	for (guint from = 0; from < NODES; from++) {
		for (uint32_t i = 0; packets[from] && i < dtc_packets_get_flow_count(packets[from]); i++) {
			const struct dtc_flow *flow = dtc_packets_get_flow(packets[from], i);
			uint16_t port = flow->source_port == 80 ? flow->destination_port : flow->source_port;
			guint count;
			const guint *found = dtc_flow_nodes_get(nodes, flow, &count);
			for (guint node = 0; node < NODES; node++)
				g_assert_true(!has(node, port) || find(found, count, node));
			told += count;
			all += NODES;
		}
	}
	g_assert_cmpuint(told, <, all);
	struct dtc_flow unknown = { .source_port = 7, .destination_port = 9 };
	guint count;
	dtc_flow_nodes_get(nodes, &unknown, &count);
	g_assert_cmpuint(count, ==, 0);
	for (guint node = 0; node < NODES; node++)
		dtc_packets_free(packets[node]);
}

static void test_none(void)
{
	const struct dtc_flow flow = { .source_port = 7 };
	guint count;
	g_autoptr(DtcFlowNodes) nodes = dtc_flow_nodes_new(NULL, 0);
	dtc_flow_nodes_get(nodes, &flow, &count);
	g_assert_cmpuint(count, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/exchange/flow-nodes/nodes", test_nodes);
	g_test_add_func("/exchange/flow-nodes/none", test_none);
	return g_test_run();
}
