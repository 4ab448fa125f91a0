/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hops from captures alone: which exchanges are the same one, which hop caused which, and what is a retry. Three nodes:
 * a client, a proxy, a server; their captures share a clock that the test sets.
 */
#include "analyze/request/locate.h"
#include "sync/fit/clocks.h"
#include "tests/support/made_connection.h"

#define NODES 3
#define REQUEST "GET /a HTTP/1.1\r\nX-Request-Id: id-a\r\n\r\n"
#define RESPONSE "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

enum node { USER, PROXY, BACKEND };

struct net {
	struct made_capture capture[NODES];
	const DtcPackets *captures[NODES];
	const DtcHistory *histories[NODES];
	guint group[NODES];
	DtcExchanges *exchanges;
	DtcClocks *clocks;
	DtcLinks *links;
	DtcRequests *requests;
	DtcLocator *locator;
	struct dtc_place *place;
};

static void net_begin(struct net *net)
{
	*net = (struct net){ 0 };
	for (guint i = 0; i < NODES; i++)
		made_open_at(&net->capture[i], i, NULL);
}

/* One node's view of an exchange between t and t + span; here: which side the node is. */
static void see(struct net *net, enum node node, enum made_side here, uint16_t client_port, uint16_t server_port,
		uint32_t first, int64_t t, int64_t span, const char *request, const char *response)
{
	struct made_capture *m = &net->capture[node];
	struct made_connection c;
	m->here = (int)here;
	made_connect_silently(&c, m, client_port, first, first + 77);
	c.port[SERVER] = server_port;
	m->now_ns = t - 1000;
	made_send(&c, CLIENT, request);
	m->now_ns = t + span - 1000;
	if (response)
		made_send(&c, SERVER, response);
}

static void net_end(struct net *net)
{
	net->exchanges = dtc_exchanges_new(0);
	net->clocks = dtc_clocks_new(NODES, 0);
	for (guint i = 0; i < NODES; i++) {
		made_finish(&net->capture[i]);
		dtc_exchanges_move(net->exchanges, net->capture[i].exchanges);
		dtc_packets_seal(net->capture[i].packets);
		net->captures[i] = net->capture[i].packets;
		struct dtc_clock_knot knots[] = { { 0, 0, 0, 0 }, { 1000000, 1000000, 1000000, 1000000 } };
		dtc_clocks_set_node(net->clocks, i, net->group[i], knots, 2, 0);
	}
	net->requests = dtc_requests_new(net->exchanges, NULL);
	g_assert_cmpuint(dtc_requests_get_count(net->requests), ==, 1);
	static const char *const names[NODES] = { "user", "proxy", "backend" };
	net->links = dtc_links_new(NODES, names, net->histories, net->clocks);
	struct dtc_locate_input input = {
		.links = net->links,
		.captures = net->captures,
	};
	net->locator = dtc_locator_new(net->requests, &input);
	net->place = dtc_locator_find(net->locator, 0);
}

static void net_clear(struct net *net)
{
	dtc_place_free(net->place);
	dtc_locator_free(net->locator);
	dtc_links_free(net->links);
	dtc_requests_free(net->requests);
	dtc_exchanges_free(net->exchanges);
	dtc_clocks_free(net->clocks);
	for (guint i = 0; i < NODES; i++)
		made_close(&net->capture[i]);
}

/* The hop to a server port, which must be there once. */
static const struct dtc_hop *find(const struct net *net, uint16_t server_port, guint *ret_index)
{
	const struct dtc_hop *found = NULL;
	for (guint i = 0; i < net->place->hops->len; i++) {
		const struct dtc_hop *hop = &g_array_index(net->place->hops, struct dtc_hop, i);
		const DtcPackets *packets = net->captures[hop->exchange->node];
		if (dtc_packets_get_flow(packets, hop->exchange->flow)->destination_port != server_port)
			continue;
		g_assert_null(found);
		found = hop;
		*ret_index = i;
	}
	g_assert_nonnull(found);
	return found;
}

/* User -> proxy -> backend, each hop seen by both ends: the second is the first one's child, on any clocks. */
static void test_chain(void)
{
	for (guint unaligned = 0; unaligned < 2; unaligned++) {
		struct net net;
		guint first, second;
		int64_t ahead = unaligned ? 500000 : 0; /* of the proxy's clock, which then proves nothing */
		net_begin(&net);
		net.group[PROXY] = unaligned;
		see(&net, USER, CLIENT, 4000, 80, 100, 10000, 50000, REQUEST, RESPONSE);
		see(&net, PROXY, SERVER, 4000, 80, 100, 11000 + ahead, 48000, REQUEST, RESPONSE);
		see(&net, PROXY, CLIENT, 5000, 8080, 999, 20000 + ahead, 20000, REQUEST, RESPONSE);
		see(&net, BACKEND, SERVER, 5000, 8080, 999, 21000, 18000, REQUEST, RESPONSE);
		net_end(&net);
		const struct dtc_hop *outer = find(&net, 80, &first), *inner = find(&net, 8080, &second);
		g_assert_cmpuint(net.place->hops->len, ==, 2);
		g_assert_cmpuint(outer->exchange_count, ==, 2);
		g_assert_cmpuint(inner->exchange_count, ==, 2);
		g_assert_cmpuint(outer->client.node, ==, USER);
		g_assert_cmpuint(outer->server.node, ==, PROXY);
		g_assert_cmpuint(inner->client.node, ==, PROXY);
		g_assert_cmpuint(inner->server.node, ==, BACKEND);
		g_assert_cmpuint(outer->parent, ==, G_MAXUINT);
		g_assert_cmpuint(net.place->root, ==, first);
		g_assert_cmpuint(inner->parent, ==, first);
		g_assert_cmpuint(net.place->attempt_count, ==, 1);
		net_clear(&net);
	}
}

/* The proxy is not known at all: the hop that lies within the other is its child, one that does not is not. */
static void test_unknown_proxy(void)
{
	struct net net;
	guint outer, within, after;
	net_begin(&net);
	see(&net, USER, CLIENT, 4000, 80, 100, 10000, 50000, REQUEST, RESPONSE);
	see(&net, BACKEND, SERVER, 5000, 8080, 999, 20000, 20000, REQUEST, RESPONSE);
	see(&net, BACKEND, SERVER, 5001, 8081, 5999, 70000, 20000, REQUEST, RESPONSE);
	net_end(&net);
	g_assert_cmpuint(find(&net, 80, &outer)->parent, ==, G_MAXUINT);
	g_assert_cmpuint(find(&net, 8080, &within)->parent, ==, outer);
	g_assert_cmpuint(find(&net, 8081, &after)->parent, ==, G_MAXUINT);
	g_assert_cmpuint(net.place->root, ==, outer);
	net_clear(&net);
}

/*
 * The same, and nothing relates the clocks: the one that took longer caused the other, wherever its clock stands.
 */
static void test_unknown_proxy_unaligned(void)
{
	static const int64_t begins[] = { 20000, 500, 900000 }; /* of the backend's clock */
	for (guint i = 0; i < G_N_ELEMENTS(begins); i++) {
		struct net net;
		guint outer, inner;
		net_begin(&net);
		net.group[BACKEND] = 1;
		see(&net, USER, CLIENT, 4000, 80, 100, 10000, 50000, REQUEST, RESPONSE);
		see(&net, BACKEND, SERVER, 5000, 8080, 999, begins[i], 20000, REQUEST, RESPONSE);
		net_end(&net);
		g_assert_cmpuint(find(&net, 80, &outer)->parent, ==, G_MAXUINT);
		g_assert_cmpuint(find(&net, 8080, &inner)->parent, ==, outer);
		g_assert_cmpuint(net.place->root, ==, outer);
		g_assert_cmpuint(net.place->node, ==, USER);
		net_clear(&net);
	}
}

/* Equally long on clocks that nothing relates: neither caused the other, and a root is still chosen. */
static void test_unaligned_and_equal(void)
{
	struct net net;
	guint first, second;
	net_begin(&net);
	net.group[BACKEND] = 1;
	see(&net, USER, CLIENT, 4000, 80, 100, 10000, 20000, REQUEST, RESPONSE);
	see(&net, BACKEND, SERVER, 5000, 8080, 999, 500, 20000, REQUEST, RESPONSE);
	net_end(&net);
	g_assert_cmpuint(find(&net, 80, &first)->parent, ==, G_MAXUINT);
	g_assert_cmpuint(find(&net, 8080, &second)->parent, ==, G_MAXUINT);
	g_assert_cmpuint(net.place->root, <, net.place->hops->len);
	net_clear(&net);
}

/* Work that the proxy starts after it has answered was still caused by the request. */
static void test_after_the_answer(void)
{
	struct net net;
	guint outer, later;
	net_begin(&net);
	see(&net, PROXY, SERVER, 4000, 80, 100, 10000, 5000, REQUEST, RESPONSE);
	see(&net, PROXY, CLIENT, 5000, 8080, 999, 20000, 20000, REQUEST, RESPONSE);
	net_end(&net);
	find(&net, 80, &outer);
	g_assert_cmpuint(find(&net, 8080, &later)->parent, ==, outer);
	g_assert_cmpint(net.place->end.ns, ==, 15000); /* the user had the answer */
	net_clear(&net);
}

/* Address translation between the captures: the ports differ, both sequence numbers do not. */
static void test_translated(void)
{
	struct net net;
	net_begin(&net);
	see(&net, USER, CLIENT, 4000, 80, 100, 10000, 50000, REQUEST, RESPONSE);
	see(&net, BACKEND, SERVER, 6000, 8080, 100, 11000, 48000, REQUEST, RESPONSE);
	net_end(&net);
	g_assert_cmpuint(net.place->hops->len, ==, 1);
	const struct dtc_hop *hop = &g_array_index(net.place->hops, struct dtc_hop, 0);
	g_assert_cmpuint(hop->exchange_count, ==, 2);
	g_assert_cmpuint(hop->client.node, ==, USER);
	g_assert_cmpuint(hop->server.node, ==, BACKEND);
	net_clear(&net);
}

/* One capture lacks the response: still one hop, and the exchange that shows more stands for it. */
static void test_partial(void)
{
	struct net net;
	net_begin(&net);
	see(&net, USER, CLIENT, 4000, 80, 100, 10000, 50000, REQUEST, NULL);
	see(&net, BACKEND, SERVER, 4000, 80, 100, 11000, 48000, REQUEST, RESPONSE);
	net_end(&net);
	g_assert_cmpuint(net.place->hops->len, ==, 1);
	g_assert_cmpuint(g_array_index(net.place->hops, struct dtc_hop, 0).exchange->node, ==, BACKEND);
	g_assert_true(net.place->has_end);
	net_clear(&net);
}

/* Retries to the same server, and a call to another target that is none. */
static void test_attempts(void)
{
	struct net net;
	guint index;
	net_begin(&net);
	see(&net, USER, CLIENT, 4000, 80, 100, 10000, 0, REQUEST, NULL);
	see(&net, USER, CLIENT, 4001, 81, 4100, 110000, 5000, REQUEST, RESPONSE);
	see(&net, USER, CLIENT, 4002, 82, 8100, 120000, 5000, "GET /b HTTP/1.1\r\nX-Request-Id: id-a\r\n\r\n",
	    RESPONSE);
	net_end(&net);
	g_assert_cmpuint(find(&net, 80, &index)->attempt, ==, 1);
	g_assert_cmpuint(net.place->root, ==, index);
	g_assert_cmpuint(find(&net, 81, &index)->attempt, ==, 2);
	g_assert_cmpuint(find(&net, 82, &index)->attempt, ==, 1);
	g_assert_cmpuint(net.place->attempt_count, ==, 2);
	g_assert_cmpint(net.place->begin.ns, ==, 10000);
	g_assert_cmpint(net.place->end.ns, ==, 115000);
	net_clear(&net);
}

/* An id that a client uses for everything: many hops, none lost, in bounded time. */
static void test_one_id_for_all(void)
{
	struct net net;
	net_begin(&net);
	for (guint i = 0; i < 3000; i++)
		see(&net, USER, CLIENT, (uint16_t)(1000 + i), 80, i * 1000, 10000 + i * 100000, 50000, REQUEST,
		    RESPONSE);
	net_end(&net);
	g_assert_cmpuint(net.place->hops->len, ==, 3000);
	g_assert_cmpuint(net.place->attempt_count, ==, 3000);
	net_clear(&net);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/hops/chain", test_chain);
	g_test_add_func("/hops/unknown-proxy", test_unknown_proxy);
	g_test_add_func("/hops/unknown-proxy-unaligned", test_unknown_proxy_unaligned);
	g_test_add_func("/hops/unaligned-and-equal", test_unaligned_and_equal);
	g_test_add_func("/hops/after-the-answer", test_after_the_answer);
	g_test_add_func("/hops/translated", test_translated);
	g_test_add_func("/hops/partial", test_partial);
	g_test_add_func("/hops/attempts", test_attempts);
	g_test_add_func("/hops/one-id-for-all", test_one_id_for_all);
	return g_test_run();
}
