/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Captures of several network namespaces of one node: two pods that both listen on 127.0.0.1 are asked from the same
 * ports at the same time, and a pod's request to the outside is seen at both ends of its veth pair.
 */
#include "analyze/exchange/endpoint.h"
#include "analyze/exchange/http.h"
#include "collect/packets/node_captures.h"
#include "tests/support/made_tunnel.h"

#include <unistd.h>

#define SENT 4 /* packet types of the cooked link layer */
#define TO_US 0
#define HERE 4026531840u
#define POD_A 4026532100u
#define POD_B 4026532200u
#define PORT 40000

/* One TCP connection as the capture of a namespace has it. */
struct side {
	GByteArray *file;
	guint interface;
	guint32 address[2]; /* client, server */
	guint32 next[2];
};

struct node {
	DtcEnvironment *environment;
	GPtrArray *paths; /* NULL-terminated once it is read */
	DtcPackets *packets;
	DtcFindings *findings;
	DtcExchanges *exchanges;
};

static void add(struct side *side, gint64 time_ns, guint type, guint from, guint flags, const char *text)
{
	guint bytes = (guint)strlen(text);
	GByteArray *frame = g_byte_array_new();

	made_net(frame, 0x0800, 2);
	made_net(frame, 0, 2);
	made_net(frame, side->interface, 4);
	made_net(frame, 1, 2);
	made_net(frame, type, 1);
	made_net(frame, 6, 1);
	made_net(frame, 0x0200000000010000, 8);
	guint at = frame->len;
	made_ipv4(frame, 0, 0, 6, 52 + bytes, 0, 0, 64);
	for (guint i = 0; i < 2; i++)
		for (guint k = 0; k < 4; k++)
			frame->data[at + 12 + 4 * i + k] = (guint8)(side->address[i ? !from : from] >> (24 - 8 * k));
	made_tcp(frame, from ? 80 : PORT, from ? PORT : 80, side->next[from], side->next[!from], flags, 1);
	g_byte_array_append(frame, (const guint8 *)text, bytes);
	made_capture_add(side->file, time_ns, frame, 0, 0);
	side->next[from] += bytes + !!(flags & DTC_TCP_SYN);
}

/* Question and answer from begin on, a step between packets. */
static void talk(struct side *side, gint64 begin_ns, gint64 step_ns, guint type, const char *question,
		 const char *answer)
{
	guint other = type == SENT ? TO_US : side->interface == 1 ? type : SENT;

	add(side, begin_ns, type, 0, DTC_TCP_SYN, "");
	add(side, begin_ns + step_ns, other, 1, DTC_TCP_SYN | DTC_TCP_ACK, "");
	add(side, begin_ns + 2 * step_ns, type, 0, DTC_TCP_ACK, question);
	add(side, begin_ns + 3 * step_ns, other, 1, DTC_TCP_ACK, answer);
}

static struct side make_side(guint interface, guint32 client, guint32 server, guint32 first)
{
	return (struct side){ made_capture_new(MADE_COOKED2), interface, { client, server }, { first, first + 500 } };
}

static void add_file(struct node *node, struct side *side, guint32 netns, const char *address)
{
	char *path = made_capture_write(side->file, side->file->len);
	g_autofree char *name = g_path_get_basename(path);
	struct dtc_environment_capture *capture = dtc_environment_add_capture(node->environment, name);

	g_byte_array_unref(side->file);
	g_ptr_array_add(node->paths, path);
	capture->netns = netns;
	dtc_environment_add_interface(capture, 1, "lo", g_strsplit("127.0.0.1/8", ";", -1));
	dtc_environment_add_interface(capture, 2, "eth0", g_strsplit(address, ";", -1));
}

static struct node make_node(void)
{
	return (struct node){ dtc_environment_new(), g_ptr_array_new_with_free_func(g_free), dtc_packets_new(),
			      dtc_findings_new(), NULL };
}

static void read_node(struct node *node)
{
	const struct dtc_captured *captured;
	int64_t last_ns = 0;
	uint32_t id;

	g_ptr_array_add(node->paths, NULL);
	g_autoptr(DtcHttp) http = dtc_http_new(0, node->packets, NULL);
	g_autoptr(DtcNodeCaptures) captures = dtc_node_captures_new("made", (const char *const *)node->paths->pdata,
								    node->environment, node->packets, node->findings);
	while ((captured = dtc_node_captures_next(captures, &id))) {
		g_assert_cmpint(captured->time_ns, >=, last_ns);
		last_ns = captured->time_ns;
		dtc_http_add(http, id, captured);
	}
	node->exchanges = dtc_http_finish(http, "made", node->findings);
	dtc_packets_seal(node->packets);
}

static void clear(struct node *node)
{
	for (guint i = 0; i + 1 < node->paths->len; i++)
		unlink(g_ptr_array_index(node->paths, i));
	dtc_environment_free(node->environment);
	g_ptr_array_unref(node->paths);
	dtc_packets_free(node->packets);
	dtc_findings_free(node->findings);
	dtc_exchanges_free(node->exchanges);
}

/* The exchange with this question got this answer. */
static const struct dtc_exchange *expect(const struct node *node, const char *target, guint status)
{
	for (guint i = 0; i < dtc_exchanges_get_count(node->exchanges); i++) {
		const struct dtc_exchange *exchange = dtc_exchanges_get(node->exchanges, i);
		if (strcmp(exchange->target, target) != 0)
			continue;
		g_assert_cmpuint((guint)exchange->status, ==, status);
		return exchange;
	}
	g_error("no request for %s", target);
}

static void test_same_address(void)
{
	struct node node = make_node();
	struct side a = make_side(1, 0x7f000001, 0x7f000001, 1000), b = make_side(1, 0x7f000001, 0x7f000001, 70000);

	talk(&a, 1000, 100, TO_US, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n",
	     "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	talk(&b, 1050, 100, TO_US, "GET /b HTTP/1.1\r\nHost: b\r\n\r\n",
	     "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	add_file(&node, &a, POD_A, "10.0.0.5/24");
	add_file(&node, &b, POD_B, "10.0.0.6/24");
	read_node(&node);
	g_assert_cmpuint(dtc_exchanges_get_count(node.exchanges), ==, 2);
	const struct dtc_exchange *first = expect(&node, "/a", 200), *other = expect(&node, "/b", 404);
	const struct dtc_flow *flows[] = { dtc_packets_get_flow(node.packets, first->flow),
					   dtc_packets_get_flow(node.packets, other->flow) };
	g_assert_cmpuint(dtc_packets_get_netns(node.packets, flows[0]->netns), ==, POD_A);
	g_assert_cmpuint(dtc_packets_get_netns(node.packets, flows[1]->netns), ==, POD_B);
	for (guint i = 0; i < 2; i++) {
		g_assert_cmpuint(flows[i]->packet_count, ==, 2);
		g_assert_cmpuint(flows[i]->generation, ==, 0);
	}
	g_assert_cmpuint(dtc_endpoint_find_flow(node.packets, other->flow, node.packets, true, DTC_TIME_NONE), ==,
			 other->flow);
	clear(&node);
}

/* Seen as it leaves the pod and as it comes out of the pair: one connection, one request, two places. */
static void test_pair(void)
{
	struct node node = make_node();
	struct side pod = make_side(2, 0x0a000005, 0x0a000909, 1000), here = make_side(7, 0x0a000005, 0x0a000909, 1000);

	talk(&here, 1020, 100, TO_US, "GET /out HTTP/1.1\r\nHost: c\r\n\r\n",
	     "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	talk(&pod, 1000, 100, SENT, "GET /out HTTP/1.1\r\nHost: c\r\n\r\n",
	     "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	add_file(&node, &here, HERE, "192.168.1.2/24");
	add_file(&node, &pod, POD_A, "10.0.0.5/24");
	read_node(&node);
	g_assert_cmpuint(dtc_exchanges_get_count(node.exchanges), ==, 1);
	const struct dtc_flow *flow = dtc_packets_get_flow(node.packets, expect(&node, "/out", 200)->flow);
	g_assert_cmpuint(flow->netns, ==, 0);
	g_assert_cmpuint(flow->packet_count, ==, 4);
	g_assert_cmpuint(dtc_packets_get_flow_count(node.packets), ==, 2);
	uint32_t index = dtc_packets_get_flow(node.packets, flow->reverse)->reverse;
	uint32_t ids[] = { dtc_packets_get_flow_packet(node.packets, index, 0),
			   dtc_packets_get_flow_packet(node.packets, index, 1) };
	g_assert_cmpuint(dtc_packets_get_direction(node.packets, ids[0]), ==, DTC_SENT);
	g_assert_cmpuint(dtc_packets_get_direction(node.packets, ids[1]), ==, DTC_RECEIVED);
	g_assert_cmpuint(dtc_packets_get(node.packets, ids[0]).interface, !=,
			 dtc_packets_get(node.packets, ids[1]).interface);
	clear(&node);
}

/* A port that is used again, in files that run side by side: two connections, each with packets of both files. */
static void test_port_reused(void)
{
	struct node node = make_node();
	struct side sides[2];

	for (guint i = 0; i < 2; i++) {
		sides[i] = make_side(i ? 7 : 2, 0x0a000005, 0x0a000909, 1000);
		talk(&sides[i], 1000 + 20 * i, 100, i ? TO_US : SENT, "GET /1 HTTP/1.1\r\nHost: c\r\n\r\n",
		     "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		sides[i].next[0] = 5000000;
		sides[i].next[1] = 6000000;
		talk(&sides[i], 2000 + 20 * i, 100, i ? TO_US : SENT, "GET /2 HTTP/1.1\r\nHost: c\r\n\r\n",
		     "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	}
	add_file(&node, &sides[0], POD_A, "10.0.0.5/24");
	add_file(&node, &sides[1], HERE, "192.168.1.2/24");
	read_node(&node);
	g_assert_cmpuint(dtc_exchanges_get_count(node.exchanges), ==, 2);
	expect(&node, "/1", 200);
	expect(&node, "/2", 404);
	g_assert_cmpuint(dtc_packets_get_flow_count(node.packets), ==, 4);
	clear(&node);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/exchange/namespaces/same-address", test_same_address);
	g_test_add_func("/exchange/namespaces/pair", test_pair);
	g_test_add_func("/exchange/namespaces/port-reused", test_port_reused);
	return g_test_run();
}
