/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which packet completed which bytes, and which send brought it, in the odd orders that networks make. */
#include "analyze/edge/links.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define A 0x0a000001u
#define B 0x0a000002u

struct net {
	struct story a, b;
	const DtcHistory *histories[2];
	DtcClocks *clocks;
	DtcLinks *links;
};

static void net_begin(struct net *net)
{
	story_begin(&net->a, "a");
	story_begin(&net->b, "b");
	struct dtc_headers syn = story_headers(A, 1000, B, 80, 0xfffffff0u, 0, DTC_TCP_SYN, 0, 1);
	story_packet(&net->a, DTC_EVENT_NET_SEND, 1, 0, &syn);
	story_packet(&net->b, DTC_EVENT_NET_RECEIVE, 2, 0, &syn);
}

static void net_end(struct net *net)
{
	static const char *const names[] = { "a", "b" };
	net->histories[0] = story_end(&net->a);
	net->histories[1] = story_end(&net->b);
	net->clocks = dtc_clocks_new(2, 0);
	for (guint i = 0; i < 2; i++) {
		struct dtc_clock_knot knots[] = { { 0, 0, 0, 0 }, { 100000, 100000, 100000, 100000 } };
		dtc_clocks_set_node(net->clocks, i, 0, knots, 2, 0);
	}
	net->links = dtc_links_new(2, names, net->histories, net->clocks);
}

static void net_clear(struct net *net)
{
	dtc_links_free(net->links);
	dtc_clocks_free(net->clocks);
	story_clear(&net->a);
	story_clear(&net->b);
}

/* Data from a to b; position counts from the first byte, sequence numbers wrap at once (isn 0xfffffff0). */
static struct dtc_headers data(uint32_t position, uint32_t bytes, uint16_t id)
{
	return story_headers(A, 1000, B, 80, 0xfffffff1u + position, 1, DTC_TCP_ACK, bytes, id);
}

static uint32_t completing_id(const struct net *net, uint32_t position)
{
	const DtcPackets *packets = dtc_history_get_packets(net->histories[1]);
	uint32_t packet = dtc_links_find_completing_packet(net->links, 1, 0, 0xfffffff1u + position);
	return packet == DTC_NONE ? 0 : dtc_packets_get(packets, packet).ip_id;
}

static void test_order(void)
{
	struct net net;
	net_begin(&net);
	/* three segments; the second is lost, the third arrives first, the second is sent again */
	struct dtc_headers first = data(0, 20, 11), second = data(20, 20, 12), third = data(40, 20, 13),
			   again = data(20, 20, 14);
	story_packet(&net.a, DTC_EVENT_NET_SEND, 10, 0, &first);
	story_packet(&net.a, DTC_EVENT_NET_SEND, 11, 0, &second);
	story_packet(&net.a, DTC_EVENT_NET_SEND, 12, 0, &third);
	story_packet(&net.a, DTC_EVENT_NET_SEND, 200, 0, &again);
	story_packet(&net.b, DTC_EVENT_NET_RECEIVE, 20, 0, &first);
	story_packet(&net.b, DTC_EVENT_NET_RECEIVE, 22, 0, &third);
	story_packet(&net.b, DTC_EVENT_NET_RECEIVE, 210, 0, &again);
	net_end(&net);
	g_assert_cmpuint(completing_id(&net, 0), ==, 11);
	g_assert_cmpuint(completing_id(&net, 19), ==, 11);
	g_assert_cmpuint(completing_id(&net, 20), ==, 14);
	g_assert_cmpuint(completing_id(&net, 59), ==, 14); /* arrived before, but could be read only now */
	g_assert_cmpuint(completing_id(&net, 60), ==, 0);
	struct dtc_send send;
	const DtcPackets *sends = dtc_history_get_packets(net.histories[0]);
	g_assert_true(dtc_links_find_send(net.links, 1, 3, &send));
	g_assert_cmpuint(send.node, ==, 0);
	g_assert_cmpuint(dtc_packets_get(sends, send.packet).ip_id, ==, 14);
	g_assert_cmpuint(dtc_packets_get(sends, send.first).ip_id, ==, 12);
	net_clear(&net);
}

/* As a recording from tracefs has it: with its namespace, and where its headers are from. */
static void see_joined(struct story *story, enum dtc_event_kind kind, int64_t t, const char *interface, uint32_t netns,
		       enum dtc_header_source source, struct dtc_headers headers)
{
	struct dtc_event event = story_event(kind, t, 0);

	event.headers = headers;
	event.text[0] = interface;
	event.v[DTC_NET_NETNS] = netns;
	event.v[DTC_NET_SOURCE] = source;
	dtc_machine_apply(story->machine, &event);
}

/*
 * Datagrams of one length, of which the first is lost: the second is no repetition, whatever it was written for. Each
 * leaves a pod by its own interface and the machine by another: it is sent where it was seen first. Without numbers of
 * their own two of them are told apart by their order.
 */
static void test_datagrams(void)
{
	for (guint has_id = 0; has_id < 2; has_id++) {
		struct net net;
		net_begin(&net);
		for (uint16_t i = 0; i < 2; i++) {
			struct dtc_headers datagram =
				story_headers(A, 2000, B, 53, 0, 0, 0, 24, has_id ? (uint16_t)(11 + i) : 0);
			datagram.protocol = DTC_PROTOCOL_UDP;
			see_joined(&net.a, DTC_EVENT_NET_SEND, 10 + 100 * i, "pod", 1, DTC_HEADER_JOINED, datagram);
			see_joined(&net.a, DTC_EVENT_NET_SEND, 12 + 100 * i, "card", 1, DTC_HEADER_JOINED, datagram);
			if (i)
				story_packet(&net.b, DTC_EVENT_NET_RECEIVE, 120, 0, &datagram);
		}
		net_end(&net);
		struct dtc_send send;
		g_assert_true(dtc_links_find_send(net.links, 1, 1, &send));
		g_assert_cmpint(dtc_packets_get(dtc_history_get_packets(net.histories[0]), send.packet).time_ns, ==,
				110);
		g_assert_cmpuint(send.first, ==, send.packet);
		g_assert_cmpuint(send.copies, ==, 1);
		g_assert_cmpint(send.exact, ==, has_id);
		net_clear(&net);
	}
}

/*
 * A segment leaves a pod, a bridge and the card: that is one send, seen three times. What is sent again afterwards is a
 * second one, wherever it was seen.
 */
static void test_passage(void)
{
	for (guint is_again = 0; is_again < 2; is_again++) {
		struct net net;
		net_begin(&net);
		see_joined(&net.a, DTC_EVENT_NET_SEND, 10, "eth0", 7, DTC_HEADER_JOINED, data(0, 20, 11));
		see_joined(&net.a, DTC_EVENT_NET_SEND, 12, "cni0", 1, DTC_HEADER_JOINED, data(0, 20, 11));
		see_joined(&net.a, DTC_EVENT_NET_SEND, 14, "eth0", 1, DTC_HEADER_JOINED, data(0, 20, 11));
		if (is_again)
			see_joined(&net.a, DTC_EVENT_NET_SEND, 400, "eth0", 7, DTC_HEADER_JOINED, data(0, 20, 12));
		see_joined(&net.b, DTC_EVENT_NET_RECEIVE, 500, "eth0", 1, DTC_HEADER_JOINED,
			   data(0, 20, is_again ? 12 : 11));
		net_end(&net);
		struct dtc_send send;
		g_assert_true(dtc_links_find_send(net.links, 1, 1, &send));
		g_assert_cmpuint(send.copies, ==, 1 + is_again);
		g_assert_cmpuint(send.first, ==, 1);
		g_assert_cmpuint(send.packet, ==, is_again ? 4 : 1);
		g_assert_true(send.exact);
		net_clear(&net);
	}
}

/* Headers that may be another packet's make no exact link. */
static void test_inferred_headers(void)
{
	struct net net;
	net_begin(&net);
	see_joined(&net.a, DTC_EVENT_NET_SEND, 10, "eth0", 7, DTC_HEADER_INFERRED, data(0, 20, 11));
	see_joined(&net.b, DTC_EVENT_NET_RECEIVE, 500, "eth0", 1, DTC_HEADER_JOINED, data(0, 20, 11));
	net_end(&net);
	struct dtc_send send;
	g_assert_true(dtc_links_find_send(net.links, 1, 1, &send));
	g_assert_false(send.exact);
	net_clear(&net);
}

/* One send of 60 bytes (GSO) received as three; two sends received as one (GRO). */
static void test_boundaries(void)
{
	struct net net;
	net_begin(&net);
	struct dtc_headers large = data(0, 60, 11), x = data(60, 10, 12), y = data(70, 10, 13),
			   merged = data(60, 20, 12);
	story_packet(&net.a, DTC_EVENT_NET_SEND, 10, 0, &large);
	story_packet(&net.a, DTC_EVENT_NET_SEND, 30, 0, &x);
	story_packet(&net.a, DTC_EVENT_NET_SEND, 31, 0, &y);
	for (uint32_t i = 0; i < 3; i++) {
		struct dtc_headers part = data(20 * i, 20, (uint16_t)(20 + i));
		story_packet(&net.b, DTC_EVENT_NET_RECEIVE, 20 + i, 0, &part);
	}
	story_packet(&net.b, DTC_EVENT_NET_RECEIVE, 40, 0, &merged);
	net_end(&net);
	struct dtc_send send;
	const DtcPackets *sends = dtc_history_get_packets(net.histories[0]);
	for (uint32_t i = 1; i <= 3; i++) {
		g_assert_true(dtc_links_find_send(net.links, 1, i, &send));
		g_assert_cmpuint(dtc_packets_get(sends, send.packet).ip_id, ==, 11);
	}
	g_assert_true(dtc_links_find_send(net.links, 1, 4, &send));
	g_assert_cmpuint(dtc_packets_get(sends, send.packet).ip_id, ==, 13); /* its last byte left with the second */
	net_clear(&net);
}

/*
 * The server tells its initial number to a client that saw no header of what it received, and of the connection that
 * the client's own number tells; not if the trace lacks the server's SYN-ACK.
 */
static void test_initial_number(void)
{
	for (guint has_answer = 0; has_answer < 2; has_answer++) {
		struct net net;
		uint32_t isn = 0;
		net_begin(&net);
		struct dtc_headers answer = story_headers(B, 80, A, 1000, 500, 0xfffffff1u, DTC_TCP_SYN | DTC_TCP_ACK,
							  0, 2),
				   bytes = story_headers(B, 80, A, 1000, 501, 0xfffffff1u, DTC_TCP_ACK, 10, 3),
				   next_syn = story_headers(A, 1000, B, 80, 7000, 0, DTC_TCP_SYN, 0, 4),
				   next_answer =
					   story_headers(B, 80, A, 1000, 900, 7001, DTC_TCP_SYN | DTC_TCP_ACK, 0, 5);
		if (has_answer)
			story_packet(&net.b, DTC_EVENT_NET_SEND, 3, 0, &answer);
		story_packet(&net.b, DTC_EVENT_NET_SEND, 5, 0, &bytes);
		story_packet(&net.b, DTC_EVENT_NET_RECEIVE, 1000, 0, &next_syn);
		story_packet(&net.b, DTC_EVENT_NET_SEND, 1001, 0, &next_answer);
		net_end(&net);
		const DtcPackets *packets = dtc_history_get_packets(net.histories[0]);
		uint32_t flow = dtc_packets_get_flow(packets, dtc_packets_get_flow_of(packets, 0))->reverse;
		g_assert_cmpint(dtc_links_find_isn(net.links, 0, flow, &isn), ==, has_answer);
		g_assert_cmpuint(isn, ==, has_answer ? 500 : 0);
		net_clear(&net);
	}
}

/* Many holes at once, filled from behind: delivery jumps over all of them when the first is filled. */
static void test_many_holes(void)
{
	struct net net;
	net_begin(&net);
	struct dtc_headers begin = data(0, 10, 1);
	story_packet(&net.b, DTC_EVENT_NET_RECEIVE, 10, 0, &begin);
	for (uint32_t i = 50; i > 1; i--) {
		struct dtc_headers part = data(10 * i, 10, (uint16_t)(100 + i));
		story_packet(&net.b, DTC_EVENT_NET_RECEIVE, 100 - i, 0, &part);
	}
	struct dtc_headers fill = data(10, 10, 999);
	story_packet(&net.b, DTC_EVENT_NET_RECEIVE, 200, 0, &fill);
	net_end(&net);
	g_assert_cmpuint(completing_id(&net, 9), ==, 1);
	g_assert_cmpuint(completing_id(&net, 10), ==, 999);
	g_assert_cmpuint(completing_id(&net, 509), ==, 999);
	g_assert_cmpuint(completing_id(&net, 510), ==, 0);
	struct dtc_send send;
	g_assert_false(dtc_links_find_send(net.links, 1, 1, &send)); /* nobody traced sent it */
	net_clear(&net);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/link/passage", test_passage);
	g_test_add_func("/link/inferred-headers", test_inferred_headers);
	g_test_add_func("/link/order", test_order);
	g_test_add_func("/link/datagrams", test_datagrams);
	g_test_add_func("/link/boundaries", test_boundaries);
	g_test_add_func("/link/initial-number", test_initial_number);
	g_test_add_func("/link/many-holes", test_many_holes);
	return g_test_run();
}
