/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchanges without an id: how many requests they are, how they are named, and which a server asked while asked. */
#include "analyze/request/requests.h"
#include "dtrace-chain/error.h"
#include "tests/support/made_connection.h"

#define NODES 2
#define REQUEST "GET /a HTTP/1.1\r\n\r\n"
#define RESPONSE "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

enum node { USER, PROXY };

struct net {
	struct made_capture capture[NODES];
	const DtcPackets *captures[NODES];
	DtcExchanges *exchanges;
	DtcRequests *requests;
};

static void begin(struct net *net)
{
	*net = (struct net){ 0 };
	for (guint i = 0; i < NODES; i++)
		made_open_at(&net->capture[i], i, NULL);
}

/* What one node captures of an exchange between t and t + span. */
static void see(struct net *net, enum node node, uint16_t client_port, uint32_t first, int64_t t, int64_t span,
		const char *request)
{
	struct made_capture *m = &net->capture[node];
	struct made_connection c;
	made_connect_silently(&c, m, client_port, first, first + 77);
	m->now_ns = t;
	made_send(&c, CLIENT, request);
	m->now_ns = t + span;
	made_send(&c, SERVER, RESPONSE);
}

static int64_t to_cluster(gconstpointer data, guint node, int64_t capture_ns)
{
	const int64_t *ahead_ns = data;
	return capture_ns - ahead_ns[node];
}

static void end(struct net *net, const int64_t *ahead_ns)
{
	net->exchanges = dtc_exchanges_new(0);
	for (guint i = 0; i < NODES; i++) {
		made_finish(&net->capture[i]);
		dtc_exchanges_move(net->exchanges, net->capture[i].exchanges);
		dtc_packets_seal(net->capture[i].packets);
		net->captures[i] = net->capture[i].packets;
	}
	dtc_exchanges_sort(net->exchanges);
	const struct dtc_anonymous_input input = { .captures = net->captures,
						   .to_cluster = to_cluster,
						   .data = ahead_ns };
	net->requests = dtc_requests_new(net->exchanges, &input);
}

static void clear(struct net *net)
{
	dtc_requests_free(net->requests);
	dtc_exchanges_free(net->exchanges);
	for (guint i = 0; i < NODES; i++)
		made_close(&net->capture[i]);
}

/* Two captures saw it: one request, of both; its time is the cluster's, not the capture's that is an hour ahead. */
static void test_two_captures(void)
{
	const int64_t hour_ns = INT64_C(3600) * 1000000000, ahead_ns[NODES] = { hour_ns, 0 };
	struct net net;
	begin(&net);
	see(&net, USER, 50001, 1000, hour_ns + INT64_C(5123456789), 1000, REQUEST);
	see(&net, PROXY, 50001, 1000, INT64_C(5123556789), 900, REQUEST);
	see(&net, PROXY, 50002, 2000, INT64_C(7000000000), 900, REQUEST);
	end(&net, ahead_ns);
	g_assert_cmpuint(dtc_requests_get_count(net.requests), ==, 2);
	g_assert_cmpuint(dtc_requests_get_anonymous_count(net.requests), ==, 2);
	guint index;
	g_assert_true(dtc_request_find(net.requests, ":50001-", &index, NULL));
	const struct dtc_request *request = dtc_requests_get(net.requests, index);
	g_assert_true(g_str_has_suffix(request->id, "@00:00:05.123457"));
	g_assert_null(request->source);
	g_assert_cmpuint(request->identity_count, ==, 0);
	g_assert_cmpuint(request->exchange_count, ==, 2);
	clear(&net);
}

/* Beside one with an id; what is left out without captures is counted with them. */
static void test_beside_ids(void)
{
	const int64_t ahead_ns[NODES] = { 0, 0 };
	struct net net;
	begin(&net);
	see(&net, USER, 50001, 1000, 1000, 500, "GET /a HTTP/1.1\r\nX-Request-Id: r1\r\n\r\n");
	see(&net, USER, 50002, 9000, 3000, 500, REQUEST);
	end(&net, ahead_ns);
	g_assert_cmpuint(dtc_requests_get_count(net.requests), ==, 2);
	g_assert_cmpuint(dtc_requests_get_anonymous_count(net.requests), ==, 1);
	g_assert_cmpstr(dtc_requests_get(net.requests, 0)->id, ==, "r1");
	g_assert_false(dtc_requests_get(net.requests, 1)->is_inner);
	g_autoptr(DtcRequests) without = dtc_requests_new(net.exchanges, NULL);
	g_assert_cmpuint(dtc_requests_get_count(without), ==, 1);
	clear(&net);
}

/* The other end of the first exchange asks on while it is being asked, and again after it has answered. */
static void test_inner(void)
{
	const int64_t ahead_ns[NODES] = { 0, 0 };
	struct net net;
	begin(&net);
	see(&net, PROXY, 50001, 1000, 1000000, 500000, REQUEST);
	struct made_capture *m = &net.capture[PROXY];
	for (guint i = 0; i < 2; i++) {
		struct made_connection c;
		made_connect_silently(&c, m, 40000, 5000 + i * 1000, 6000 + i * 1000);
		uint8_t address[16];
		memcpy(address, c.address[CLIENT], 16);
		memcpy(c.address[CLIENT], c.address[SERVER], 16);
		memcpy(c.address[SERVER], address, 16);
		c.port[CLIENT] = (uint16_t)(40000 + i);
		m->now_ns = i ? 3000000 : 1200000;
		made_send(&c, CLIENT, REQUEST);
		m->now_ns += 100000;
		made_send(&c, SERVER, RESPONSE);
	}
	end(&net, ahead_ns);
	g_assert_cmpuint(dtc_requests_get_count(net.requests), ==, 3);
	g_assert_false(dtc_requests_get(net.requests, 0)->is_inner);
	g_assert_true(dtc_requests_get(net.requests, 1)->is_inner);
	g_assert_false(dtc_requests_get(net.requests, 2)->is_inner);
	clear(&net);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/anonymous/two-captures", test_two_captures);
	g_test_add_func("/anonymous/beside-ids", test_beside_ids);
	g_test_add_func("/anonymous/inner", test_inner);
	return g_test_run();
}
