/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A client and a server, their kernel events and their captures: which calls moved which bytes, and whose time it is.
 * The story of a connection takes 60 ms; a packet is on the way for 1 ms.
 */
#include "analyze/request/locate.h"
#include "analyze/request/hops.h"
#include "sync/fit/clocks.h"
#include "tests/support/made_connection.h"
#include "tests/support/story.h"

#define MS ((int64_t)1000000)
#define CAPTURE_AHEAD_NS (1000 * MS) /* of the captures' clocks before the traces' */
#define REQUEST "GET /a HTTP/1.1\r\nX-Request-Id: id-a\r\n\r\n"
#define RESPONSE "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define REQUEST_CUT 20
#define RESPONSE_CUT 10
#define CLIENT_FIRST 0xfffffff0u /* wraps inside the request */
#define SERVER_FIRST 7000u
#define CLIENT_TID 10
#define SERVER_TID 20

struct world {
	struct story story[2];
	struct made_capture capture[2];
	bool no_receive_headers;
	bool captures_begin_late; /* after the handshake */
	bool no_answer;
	bool loses_read; /* the client's events of its last read of the answer; then something else comes, and is read
			  */
	bool no_server_trace, no_client_trace, no_client_capture;
	const DtcHistory *histories[2];
	const DtcPackets *captures[2];
	DtcClocks *clocks;
	DtcLinks *links;
	DtcExchanges *exchanges;
	DtcRequests *requests;
	DtcLocator *locator;
	struct dtc_place *place;
};

static bool capture_to_node(gconstpointer data, guint node, int64_t capture_ns, int64_t *ret_node_ns)
{
	(void)data;
	(void)node;
	*ret_node_ns = capture_ns - CAPTURE_AHEAD_NS;
	return true;
}

static void world_begin(struct world *w)
{
	for (guint i = 0; i < 2; i++) {
		story_begin(&w->story[i], i == CLIENT ? "client" : "server");
		story_switch(&w->story[i], 0, 0, 0, "swapper/0", 0, i == CLIENT ? CLIENT_TID : SERVER_TID, "p");
		made_open_at(&w->capture[i], i, NULL);
		w->capture[i].here = (int)i;
	}
}

static void capture_packet(struct world *w, guint node, int64_t t, uint16_t port, enum made_side from, uint8_t flags,
			   uint32_t seq, uint32_t ack, const char *data, uint32_t bytes)
{
	if ((w->captures_begin_late && !bytes) || (w->no_client_capture && node == CLIENT))
		return;
	struct made_connection c;
	made_connect_silently(&c, &w->capture[node], port, 0, 0);
	w->capture[node].now_ns = t + CAPTURE_AHEAD_NS - 1000; /* made_packet adds it */
	made_packet(&c, from, flags, seq, ack, data, bytes);
}

/* A packet leaves at t, in a call or in a softirq, and arrives a millisecond later in a softirq. */
static void packet(struct world *w, int64_t t, bool in_call, uint16_t port, enum made_side from, uint8_t flags,
		   uint32_t seq, uint32_t ack, const char *data, uint32_t bytes)
{
	uint32_t address[2] = { 0x0a000001, 0x0a000002 };
	uint16_t ports[2] = { port, 80 };
	struct story *sender = &w->story[from], *receiver = &w->story[!from];
	struct dtc_headers headers =
		story_headers(address[from], ports[from], address[!from], ports[!from], seq, ack, flags, bytes, 0);
	if (!in_call)
		story_context(sender, DTC_EVENT_SOFTIRQ_ENTRY, t, 0, 3, NULL);
	story_packet(sender, DTC_EVENT_NET_SEND, t, 0, &headers);
	if (!in_call)
		story_context(sender, DTC_EVENT_SOFTIRQ_EXIT, t, 0, 3, NULL);
	if (w->no_receive_headers)
		headers = (struct dtc_headers){ 0 };
	story_context(receiver, DTC_EVENT_SOFTIRQ_ENTRY, t + MS, 0, 3, NULL);
	story_packet(receiver, DTC_EVENT_NET_RECEIVE, t + MS, 0, &headers);
	story_context(receiver, DTC_EVENT_SOFTIRQ_EXIT, t + MS, 0, 3, NULL);
	capture_packet(w, from, t, port, from, flags, seq, ack, data, bytes);
	capture_packet(w, !from, t + MS, port, from, flags, seq, ack, data, bytes);
}

/* One request on a connection of its own, from t on; fd is the client's, fd + 1 the server's. */
static void tell(struct world *w, int64_t t, uint16_t port, int fd)
{
	struct story *c = &w->story[CLIENT], *s = &w->story[SERVER];
	const uint32_t request_bytes = sizeof(REQUEST) - 1, response_bytes = sizeof(RESPONSE) - 1;
	const uint32_t client_end = CLIENT_FIRST + request_bytes;
	story_enter(c, t + 10 * MS, 0, "connect", fd);
	packet(w, t + 11 * MS, true, port, CLIENT, DTC_TCP_SYN, CLIENT_FIRST - 1, 0, "", 0);
	packet(w, t + 13 * MS, false, port, SERVER, DTC_TCP_SYN | DTC_TCP_ACK, SERVER_FIRST - 1, CLIENT_FIRST, "", 0);
	packet(w, t + 15 * MS, false, port, CLIENT, DTC_TCP_ACK, CLIENT_FIRST, SERVER_FIRST, "", 0);
	story_leave(c, t + 16 * MS, 0, "connect", 0);
	story_enter(s, t + 17 * MS, 0, "accept", 3);
	story_leave(s, t + 18 * MS, 0, "accept", fd + 1);
	story_enter(c, t + 20 * MS, 0, "write", fd);
	packet(w, t + 21 * MS, true, port, CLIENT, DTC_TCP_ACK, CLIENT_FIRST, SERVER_FIRST, REQUEST, REQUEST_CUT);
	story_leave(c, t + 22 * MS, 0, "write", REQUEST_CUT);
	story_enter(s, t + 25 * MS, 0, "read", fd + 1);
	story_leave(s, t + 26 * MS, 0, "read", REQUEST_CUT);
	story_enter(c, t + 30 * MS, 0, "write", fd);
	packet(w, t + 31 * MS, true, port, CLIENT, DTC_TCP_ACK, CLIENT_FIRST + REQUEST_CUT, SERVER_FIRST,
	       &REQUEST[REQUEST_CUT], request_bytes - REQUEST_CUT);
	story_leave(c, t + 32 * MS, 0, "write", request_bytes - REQUEST_CUT);
	story_enter(s, t + 35 * MS, 0, "read", fd + 1);
	story_leave(s, t + 36 * MS, 0, "read", request_bytes - REQUEST_CUT);
	if (!w->no_answer) {
		story_enter(s, t + 40 * MS, 0, "write", fd + 1);
		uint32_t bytes = w->loses_read ? RESPONSE_CUT : response_bytes;
		packet(w, t + 41 * MS, true, port, SERVER, DTC_TCP_ACK, SERVER_FIRST, client_end, RESPONSE, bytes);
		story_leave(s, t + 43 * MS, 0, "write", bytes);
		story_enter(c, t + 50 * MS, 0, "read", fd);
		story_leave(c, t + 51 * MS, 0, "read", RESPONSE_CUT);
	}
	if (w->loses_read) {
		story_enter(s, t + 50 * MS, 0, "write", fd + 1);
		packet(w, t + 50 * MS + 1000, true, port, SERVER, DTC_TCP_ACK, SERVER_FIRST + RESPONSE_CUT, client_end,
		       &RESPONSE[RESPONSE_CUT], response_bytes - RESPONSE_CUT);
		story_leave(s, t + 51 * MS, 0, "write", response_bytes - RESPONSE_CUT);
		story_lost(c, t + 51 * MS + 1000, t + 52 * MS, 0);
		story_switch(c, t + 52 * MS, 0, 0, "swapper/0", 0, CLIENT_TID, "p");
		story_enter(s, t + 51 * MS, 0, "write", fd + 1);
		packet(w, t + 52 * MS, true, port, SERVER, DTC_TCP_ACK, SERVER_FIRST + response_bytes, client_end,
		       "else", 4);
		story_leave(s, t + 53 * MS, 0, "write", 4);
		story_enter(c, t + 54 * MS, 0, "read", fd);
		story_leave(c, t + 55 * MS, 0, "read", 4);
	} else if (!w->no_answer) {
		story_enter(c, t + 52 * MS, 0, "read", fd);
		story_leave(c, t + 53 * MS, 0, "read", response_bytes - RESPONSE_CUT);
	}
	story_enter(c, t + 56 * MS, 0, "close", fd);
	story_leave(c, t + 57 * MS, 0, "close", 0);
	story_enter(s, t + 58 * MS, 0, "close", fd + 1);
	story_leave(s, t + 59 * MS, 0, "close", 0);
}

/* Asked again, a locator that keeps places gives the same as one that looks for them, and each caller owns a copy. */
static void check_kept(const struct world *w, DtcLocator *locator)
{
	struct dtc_place *first = dtc_locator_find(locator, 0), *again = dtc_locator_find(locator, 0);
	g_assert_true(first->hops != again->hops);
	g_assert_cmpmem(again->hops->data, again->hops->len * sizeof(struct dtc_hop), first->hops->data,
			first->hops->len * sizeof(struct dtc_hop));
	g_assert_cmpuint(again->hops->len, ==, w->place->hops->len);
	g_assert_cmpuint(again->root, ==, w->place->root);
	g_assert_cmpuint(again->attempt_count, ==, w->place->attempt_count);
	g_assert_cmpuint(again->node, ==, w->place->node);
	g_assert_cmpuint(again->thread, ==, w->place->thread);
	g_assert_cmpuint(again->outside, ==, w->place->outside);
	g_assert_cmpuint(again->outside_node, ==, w->place->outside_node);
	g_assert_cmpint(again->begin.ns, ==, w->place->begin.ns);
	g_assert_cmpint(again->end.ns, ==, w->place->end.ns);
	dtc_place_free(first);
	dtc_place_free(again);
}

/* Nor does it matter to a place whether it was found before the locator settled; of others nothing is kept then. */
static void check_settled(const struct world *w, const struct dtc_locate_input *input)
{
	for (guint found = 0; found < 2; found++) {
		g_autoptr(DtcLocator) locator = dtc_locator_new(w->requests, input);
		dtc_locator_keep(locator);
		if (found)
			check_kept(w, locator);
		dtc_locator_settle(locator);
		check_kept(w, locator);
		g_assert_cmpuint(dtc_kept_places_get_count(dtc_locator_get_kept(locator)), ==, found);
	}
}

static void world_end(struct world *w)
{
	w->exchanges = dtc_exchanges_new(0);
	w->clocks = dtc_clocks_new(2, 0);
	for (guint i = 0; i < 2; i++) {
		const DtcHistory *history = story_end(&w->story[i]);
		bool traced = i == CLIENT ? !w->no_client_trace : !w->no_server_trace;
		w->histories[i] = traced ? history : NULL;
		made_finish(&w->capture[i]);
		dtc_exchanges_move(w->exchanges, w->capture[i].exchanges);
		dtc_packets_seal(w->capture[i].packets);
		w->captures[i] = i == CLIENT && w->no_client_capture ? NULL : w->capture[i].packets;
		struct dtc_clock_knot knots[] = { { 0, 0, 0, 0 }, { MS * 1000, MS * 1000, MS * 1000, MS * 1000 } };
		dtc_clocks_set_node(w->clocks, i, 0, knots, 2, 0);
	}
	w->requests = dtc_requests_new(w->exchanges, NULL);
	g_assert_cmpuint(dtc_requests_get_count(w->requests), ==, 1);
	static const char *const names[] = { "client", "server" };
	w->links = dtc_links_new(2, names, w->histories, w->clocks);
	struct dtc_locate_input input = {
		.links = w->links,
		.captures = w->captures,
		.capture_to_node = capture_to_node,
	};
	w->locator = dtc_locator_new(w->requests, &input);
	w->place = dtc_locator_find(w->locator, 0);
	check_settled(w, &input);
}

static void world_clear(struct world *w)
{
	dtc_place_free(w->place);
	dtc_locator_free(w->locator);
	dtc_links_free(w->links);
	dtc_requests_free(w->requests);
	dtc_exchanges_free(w->exchanges);
	dtc_clocks_free(w->clocks);
	for (guint i = 0; i < 2; i++) {
		story_clear(&w->story[i]);
		made_close(&w->capture[i]);
	}
}

static const struct dtc_hop *get_hop(const struct world *w, guint index)
{
	g_assert_cmpuint(index, <, w->place->hops->len);
	return &g_array_index(w->place->hops, struct dtc_hop, index);
}

static void check_call(const struct world *w, enum made_side node, uint32_t call, int64_t begin_ns)
{
	g_assert_cmpuint(call, !=, DTC_NONE);
	g_assert_cmpint(dtc_history_get_call_begin_ns(w->histories[node], call), ==, begin_ns);
}

static int get_tid(const struct world *w, guint node, uint32_t thread)
{
	return thread == DTC_NONE ? -1 : dtc_history_get_thread(w->histories[node], thread)->tid;
}

static void check_client(const struct world *w, const struct dtc_hop *hop, int64_t t)
{
	const struct dtc_hop_side *side = &hop->client;
	g_assert_cmpuint(side->node, ==, CLIENT);
	g_assert_cmpint(get_tid(w, CLIENT, side->thread), ==, CLIENT_TID);
	check_call(w, CLIENT, side->request_first_call, t + 20 * MS);
	check_call(w, CLIENT, side->request_last_call, t + 30 * MS);
	check_call(w, CLIENT, side->response_first_call, t + 50 * MS);
	check_call(w, CLIENT, side->response_last_call, t + 52 * MS);
	g_assert_cmpint(side->end.ns, ==, t + 53 * MS);
}

static void check_server(const struct world *w, const struct dtc_hop *hop, int64_t t)
{
	const struct dtc_hop_side *side = &hop->server;
	g_assert_cmpuint(side->node, ==, SERVER);
	g_assert_cmpint(get_tid(w, SERVER, side->thread), ==, SERVER_TID);
	check_call(w, SERVER, side->request_first_call, t + 25 * MS);
	check_call(w, SERVER, side->request_last_call, t + 35 * MS);
	check_call(w, SERVER, side->response_first_call, t + 40 * MS);
	check_call(w, SERVER, side->response_last_call, t + 40 * MS);
	g_assert_cmpint(side->begin.ns, ==, t + 26 * MS);
	g_assert_cmpint(side->end.ns, ==, t + 43 * MS);
}

static void check_target(const struct world *w, guint node, int tid, int64_t begin_ns, int64_t end_ns)
{
	g_assert_cmpuint(w->place->node, ==, node);
	g_assert_cmpint(get_tid(w, node, w->place->thread), ==, tid);
	g_assert_cmpint(w->place->is_client, ==, node == CLIENT);
	g_assert_cmpint(w->place->begin.ns, ==, begin_ns);
	g_assert_cmpint(w->place->end.ns, ==, end_ns);
}

/* Both ends traced, with and without the headers of received packets: the same calls, none by guess. */
static void test_exact(void)
{
	for (int i = 0; i < 2; i++) {
		struct world w = { .no_receive_headers = i == 1 };
		world_begin(&w);
		tell(&w, 0, 4000, 5);
		world_end(&w);
		g_assert_cmpuint(w.place->hops->len, ==, 1);
		const struct dtc_hop *hop = get_hop(&w, 0);
		g_assert_cmpuint(hop->exchange_count, ==, 2);
		g_assert_false(hop->inferred || w.place->inferred);
		g_assert_true(w.place->has_end);
		check_client(&w, hop, 0);
		check_server(&w, hop, 0);
		check_call(&w, CLIENT, hop->client.connect_call, 10 * MS);
		check_target(&w, CLIENT, CLIENT_TID, 10 * MS, 53 * MS);
		world_clear(&w);
	}
}

/*
 * The client's last read is not in its trace, and the next one is of other bytes: it is not this answer's. The answer
 * ends when its last packet came.
 */
static void test_lost_read(void)
{
	struct world w = { .loses_read = true };
	world_begin(&w);
	tell(&w, 0, 4000, 5);
	world_end(&w);
	const struct dtc_hop_side *side = &get_hop(&w, 0)->client;
	check_call(&w, CLIENT, side->response_first_call, 50 * MS);
	g_assert_cmpuint(side->response_last_call, ==, DTC_NONE);
	g_assert_true(side->inferred);
	check_target(&w, CLIENT, CLIENT_TID, 10 * MS, 51 * MS + 1000);
	world_clear(&w);
}

/* No headers and no SYN: order and time lead to the same calls, and the hop says that it is inferred. */
static void test_by_time(void)
{
	struct world w = { .no_receive_headers = true, .captures_begin_late = true };
	world_begin(&w);
	tell(&w, 0, 4000, 5);
	world_end(&w);
	const struct dtc_hop *hop = get_hop(&w, 0);
	g_assert_true(hop->inferred && w.place->inferred);
	check_call(&w, CLIENT, hop->client.request_first_call, 20 * MS);
	check_call(&w, SERVER, hop->server.request_first_call, 25 * MS);
	check_call(&w, SERVER, hop->server.request_last_call, 35 * MS);
	check_call(&w, SERVER, hop->server.response_last_call, 40 * MS);
	g_assert_cmpint(get_tid(&w, CLIENT, w.place->thread), ==, CLIENT_TID);
	world_clear(&w);
}

static void test_untraced_server(void)
{
	struct world w = { .no_server_trace = true };
	world_begin(&w);
	tell(&w, 0, 4000, 5);
	world_end(&w);
	const struct dtc_hop *hop = get_hop(&w, 0);
	check_client(&w, hop, 0);
	g_assert_cmpuint(hop->server.file, ==, DTC_NONE);
	g_assert_cmpuint(hop->server.node, ==, SERVER); /* its capture shows the request arrive */
	check_target(&w, CLIENT, CLIENT_TID, 10 * MS, 53 * MS);
	world_clear(&w);
}

static void test_untraced_client(void)
{
	struct world w = { .no_client_trace = true, .no_client_capture = true };
	world_begin(&w);
	tell(&w, 0, 4000, 5);
	world_end(&w);
	const struct dtc_hop *hop = get_hop(&w, 0);
	g_assert_cmpuint(hop->client.node, ==, G_MAXUINT);
	check_server(&w, hop, 0);
	check_target(&w, SERVER, SERVER_TID, 26 * MS, 43 * MS);
	world_clear(&w);
}

/* Captures alone: no thread, but the times of the packets. */
static void test_captures_only(void)
{
	struct world w = { .no_client_trace = true, .no_server_trace = true };
	world_begin(&w);
	tell(&w, 0, 4000, 5);
	world_end(&w);
	g_assert_cmpuint(w.place->thread, ==, DTC_NONE);
	g_assert_true(w.place->inferred);
	g_assert_cmpuint(get_hop(&w, 0)->client.node, ==, CLIENT);
	g_assert_cmpuint(get_hop(&w, 0)->server.node, ==, SERVER);
	g_assert_cmpuint(w.place->node, ==, CLIENT);
	g_assert_cmpint(w.place->begin.ns, ==, 21 * MS);
	g_assert_cmpint(w.place->end.ns, ==, 42 * MS);
	world_clear(&w);
}

/* Only the server's capture has the exchange: the client's calls are found all the same. */
static void test_capture_of_one(void)
{
	struct world w = { .no_client_capture = true };
	world_begin(&w);
	tell(&w, 0, 4000, 5);
	world_end(&w);
	g_assert_cmpuint(get_hop(&w, 0)->exchange_count, ==, 1);
	check_client(&w, get_hop(&w, 0), 0);
	check_target(&w, CLIENT, CLIENT_TID, 10 * MS, 53 * MS);
	world_clear(&w);
}

static void test_no_answer(void)
{
	struct world w = { .no_answer = true };
	world_begin(&w);
	tell(&w, 0, 4000, 5);
	world_end(&w);
	g_assert_false(w.place->has_end);
	check_target(&w, CLIENT, CLIENT_TID, 10 * MS, 57 * MS); /* until it closed the connection */
	world_clear(&w);
}

/* The same request once more on another connection: one request, two attempts, from the first to the last. */
static void test_retry(void)
{
	struct world w = { 0 };
	world_begin(&w);
	w.no_answer = true;
	tell(&w, 0, 4000, 5);
	w.no_answer = false;
	tell(&w, 100 * MS, 4001, 5);
	world_end(&w);
	g_assert_cmpuint(w.place->hops->len, ==, 2);
	g_assert_cmpuint(w.place->attempt_count, ==, 2);
	g_assert_cmpuint(get_hop(&w, 0)->attempt, ==, 1);
	g_assert_cmpuint(get_hop(&w, 1)->attempt, ==, 2);
	g_assert_cmpuint(get_hop(&w, 1)->parent, ==, G_MAXUINT);
	check_client(&w, get_hop(&w, 1), 100 * MS);
	check_server(&w, get_hop(&w, 1), 100 * MS);
	check_target(&w, CLIENT, CLIENT_TID, 10 * MS, 153 * MS);
	g_assert_true(w.place->has_end);
	world_clear(&w);
}

/* So many attempts that not each is looked at as the cause of each: that is said, and they are attempts all the same.
 */
static void test_many_retries(void)
{
	for (guint count = 2; count <= 258; count += 256) {
		struct world w = { 0 };
		world_begin(&w);
		w.no_answer = true;
		for (guint i = 0; i + 1 < count; i++)
			tell(&w, (int64_t)i * 100 * MS, (uint16_t)(4000 + i), 5);
		w.no_answer = false;
		tell(&w, (int64_t)count * 100 * MS, (uint16_t)(4000 + count), 5);
		world_end(&w);
		g_assert_cmpuint(w.place->hops->len, >=, count);
		g_assert_cmpint(w.place->is_limited, ==, count > 256);
		world_clear(&w);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/locate/exact", test_exact);
	g_test_add_func("/locate/lost-read", test_lost_read);
	g_test_add_func("/locate/by-time", test_by_time);
	g_test_add_func("/locate/untraced-server", test_untraced_server);
	g_test_add_func("/locate/untraced-client", test_untraced_client);
	g_test_add_func("/locate/captures-only", test_captures_only);
	g_test_add_func("/locate/capture-of-one", test_capture_of_one);
	g_test_add_func("/locate/no-answer", test_no_answer);
	g_test_add_func("/locate/retry", test_retry);
	g_test_add_func("/locate/many-retries", test_many_retries);
	return g_test_run();
}
