/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests on a connection that was there before the kernel traces and is there after them, while the captures have it
 * all: what lies outside of a node's trace has no place on that node. Three requests, id-a at 10 ms, id-b at 110 ms and
 * id-c at 210 ms; each takes the client 24 ms, and a packet is on the way for 1 ms. A node's trace has the events of a
 * window.
 */
#include "analyze/request/locate.h"
#include "sync/fit/clocks.h"
#include "tests/support/made_connection.h"
#include "tests/support/story.h"

#define MS ((int64_t)1000000)
#define CAPTURE_AHEAD_NS (1000 * MS) /* of the captures' clocks before the traces' */
#define REQUEST "GET /a HTTP/1.1\r\nX-Request-Id: id-%c\r\n\r\n"
#define RESPONSE "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define REQUEST_BYTES ((uint32_t)sizeof(REQUEST) - 2)
#define RESPONSE_BYTES ((uint32_t)sizeof(RESPONSE) - 1)
#define HEADER_BYTES 4
#define CLIENT_FIRST 1000u
#define SERVER_FIRST 7000u
#define CLIENT_TID 10
#define SERVER_TID 20
#define FD 5

struct world {
	/* what a test sets */
	int64_t begin_ms[2], end_ms[2]; /* of the nodes' traces */
	char silent;			/* the request without an answer, or 0 */
	bool is_opened;			/* the connection is opened at 101 ms, and there is no id-a */
	bool no_relation;		/* of the captures' clocks to the traces' */
	bool no_client_trace;
	bool reads_header; /* the server: 4 bytes, then the rest */
	bool blocks;	   /* the client waits for the answer in its read */
	/* what it gets */
	struct story story[2];
	struct made_capture capture[2];
	const DtcHistory *histories[2];
	const DtcPackets *captures[2];
	DtcClocks *clocks;
	DtcLinks *links;
	DtcExchanges *exchanges;
	DtcRequests *requests;
	DtcLocator *locator;
};

static bool capture_to_node(gconstpointer data, guint node, int64_t capture_ns, int64_t *ret_node_ns)
{
	(void)node;
	*ret_node_ns = capture_ns - CAPTURE_AHEAD_NS;
	return !((const struct world *)data)->no_relation;
}

static bool has(const struct world *w, enum made_side node, int64_t t_ms)
{
	return t_ms >= w->begin_ms[node] && t_ms <= w->end_ms[node];
}

static void enter(struct world *w, enum made_side node, int64_t t_ms, const char *name)
{
	if (has(w, node, t_ms))
		story_enter(&w->story[node], t_ms * MS, 0, name, FD);
}

static void leave(struct world *w, enum made_side node, int64_t t_ms, const char *name, int64_t result)
{
	if (has(w, node, t_ms))
		story_leave(&w->story[node], t_ms * MS, 0, name, result);
}

/* Leaves at t_ms inside of a call, and arrives a millisecond later in a softirq. */
static void packet(struct world *w, int64_t t_ms, enum made_side from, uint8_t flags, uint32_t seq, uint32_t ack,
		   const char *data, uint32_t bytes)
{
	static const uint32_t address[2] = { 0x0a000001, 0x0a000002 };
	static const uint16_t port[2] = { 4000, 80 };
	struct dtc_headers headers =
		story_headers(address[from], port[from], address[!from], port[!from], seq, ack, flags, bytes, 0);
	if (has(w, from, t_ms))
		story_packet(&w->story[from], DTC_EVENT_NET_SEND, t_ms * MS, 0, &headers);
	if (has(w, !from, t_ms + 1)) {
		struct story *receiver = &w->story[!from];
		story_context(receiver, DTC_EVENT_SOFTIRQ_ENTRY, (t_ms + 1) * MS, 0, 3, NULL);
		story_packet(receiver, DTC_EVENT_NET_RECEIVE, (t_ms + 1) * MS, 0, &headers);
		story_context(receiver, DTC_EVENT_SOFTIRQ_EXIT, (t_ms + 1) * MS, 0, 3, NULL);
	}
	for (enum made_side node = CLIENT; node <= SERVER; node++) {
		struct made_connection c;
		made_connect_silently(&c, &w->capture[node], port[CLIENT], 0, 0);
		w->capture[node].now_ns = (t_ms + (node != from)) * MS + CAPTURE_AHEAD_NS - 1000;
		made_packet(&c, from, flags, seq, ack, data, bytes);
	}
}

static void open_connection(struct world *w)
{
	enter(w, CLIENT, 101, "connect");
	packet(w, 102, CLIENT, DTC_TCP_SYN, CLIENT_FIRST - 1, 0, "", 0);
	packet(w, 104, SERVER, DTC_TCP_SYN | DTC_TCP_ACK, SERVER_FIRST - 1, CLIENT_FIRST, "", 0);
	leave(w, CLIENT, 106, "connect", 0);
	enter(w, SERVER, 107, "accept");
	leave(w, SERVER, 108, "accept", FD);
}

static void exchange(struct world *w, char id)
{
	guint index = (guint)(id - 'a');
	int64_t t = 10 + 100 * index;
	uint32_t before = w->is_opened ? index - 1 : index;
	uint32_t asked = CLIENT_FIRST + before * REQUEST_BYTES, answered = SERVER_FIRST + before * RESPONSE_BYTES;
	g_autofree char *request = g_strdup_printf(REQUEST, id);

	enter(w, CLIENT, t, "write");
	packet(w, t + 1, CLIENT, DTC_TCP_ACK, asked, answered, request, REQUEST_BYTES);
	leave(w, CLIENT, t + 2, "write", REQUEST_BYTES);
	if (w->blocks)
		enter(w, CLIENT, t + 3, "read");
	enter(w, SERVER, t + 3, "read");
	if (w->reads_header) {
		leave(w, SERVER, t + 4, "read", HEADER_BYTES);
		enter(w, SERVER, t + 5, "read");
		leave(w, SERVER, t + 6, "read", REQUEST_BYTES - HEADER_BYTES);
	} else {
		leave(w, SERVER, t + 4, "read", REQUEST_BYTES);
	}
	if (id == w->silent)
		return;
	enter(w, SERVER, t + 20, "write");
	packet(w, t + 21, SERVER, DTC_TCP_ACK, answered, asked + REQUEST_BYTES, RESPONSE, RESPONSE_BYTES);
	leave(w, SERVER, t + 22, "write", RESPONSE_BYTES);
	if (!w->blocks)
		enter(w, CLIENT, t + 23, "read");
	leave(w, CLIENT, t + 24, "read", RESPONSE_BYTES);
}

static void tell(struct world *w)
{
	w->exchanges = dtc_exchanges_new(0);
	w->clocks = dtc_clocks_new(2, 0);
	for (guint i = 0; i < 2; i++) {
		int tid = i == CLIENT ? CLIENT_TID : SERVER_TID;
		story_begin(&w->story[i], i == CLIENT ? "client" : "server");
		story_switch(&w->story[i], w->begin_ms[i] * MS, 0, 0, "swapper/0", 0, tid, "p");
		made_open_at(&w->capture[i], i, NULL);
		w->capture[i].here = (int)i;
	}
	if (w->is_opened)
		open_connection(w);
	for (char id = w->is_opened ? 'b' : 'a'; id <= 'c'; id++)
		exchange(w, id);
	for (guint i = 0; i < 2; i++) {
		int tid = i == CLIENT ? CLIENT_TID : SERVER_TID;
		story_switch(&w->story[i], w->end_ms[i] * MS, 0, tid, "p", 0, 0, "swapper/0");
		const DtcHistory *history = story_end(&w->story[i]);
		w->histories[i] = i == CLIENT && w->no_client_trace ? NULL : history;
		made_finish(&w->capture[i]);
		dtc_exchanges_move(w->exchanges, w->capture[i].exchanges);
		dtc_packets_seal(w->capture[i].packets);
		w->captures[i] = w->capture[i].packets;
		struct dtc_clock_knot knots[] = { { 0, 0, 0, 0 }, { MS * 1000, MS * 1000, MS * 1000, MS * 1000 } };
		dtc_clocks_set_node(w->clocks, i, 0, knots, 2, 0);
	}
	w->requests = dtc_requests_new(w->exchanges, NULL);
	static const char *const names[] = { "client", "server" };
	w->links = dtc_links_new(2, names, w->histories, w->clocks);
	struct dtc_locate_input input = {
		.links = w->links,
		.captures = w->captures,
		.capture_to_node = capture_to_node,
		.capture_data = w,
	};
	w->locator = dtc_locator_new(w->requests, &input);
}

static void world_clear(struct world *w)
{
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

static struct dtc_place *find(const struct world *w, const char *id)
{
	GError *error = NULL;
	guint index;
	dtc_request_find(w->requests, id, &index, &error);
	g_assert_no_error(error);
	struct dtc_place *place = dtc_locator_find(w->locator, index);
	g_assert_cmpuint(place->hops->len, ==, 1);
	return place;
}

/* The request's place: its span on a node, and what of it is outside of which trace. */
static void check_inside(const struct world *w, const char *id, enum made_side node, int64_t begin_ms, int64_t end_ms,
			 guint outside, guint outside_node)
{
	struct dtc_place *place = find(w, id);
	g_assert_cmpuint(place->outside, ==, outside);
	g_assert_cmpuint(place->outside_node, ==, outside_node);
	g_assert_cmpuint(place->thread, !=, DTC_NONE);
	g_assert_cmpuint(place->node, ==, node);
	int tid = dtc_history_get_thread(w->histories[node], place->thread)->tid;
	g_assert_cmpint(tid, ==, node == CLIENT ? CLIENT_TID : SERVER_TID);
	g_assert_cmpint(place->is_client, ==, node == CLIENT);
	g_assert_cmpint(place->begin.ns, ==, begin_ms * MS);
	g_assert_cmpint(place->end.ns, ==, end_ms * MS);
	dtc_place_free(place);
}

/* No trace has anything of the request: no thread, and no call on either side. */
static void check_nowhere(const struct world *w, const char *id, guint outside, guint outside_node)
{
	struct dtc_place *place = find(w, id);
	g_assert_cmpuint(place->outside, ==, outside);
	g_assert_cmpuint(place->outside_node, ==, outside_node);
	g_assert_cmpuint(place->thread, ==, DTC_NONE);
	const struct dtc_hop *hop = &g_array_index(place->hops, struct dtc_hop, 0);
	const struct dtc_hop_side *sides[] = { &hop->client, &hop->server };
	for (guint i = 0; i < 2; i++) {
		g_assert_cmpuint(sides[i]->thread, ==, DTC_NONE);
		g_assert_cmpuint(sides[i]->request_first_call, ==, DTC_NONE);
		g_assert_cmpuint(sides[i]->request_last_call, ==, DTC_NONE);
		g_assert_cmpuint(sides[i]->response_first_call, ==, DTC_NONE);
		g_assert_cmpuint(sides[i]->response_last_call, ==, DTC_NONE);
	}
	dtc_place_free(place);
}

#define BEFORE (DTC_OUTSIDE_BEGIN | DTC_OUTSIDE_WHOLE)
#define AFTER (DTC_OUTSIDE_END | DTC_OUTSIDE_WHOLE)

/* Answered before the trace: the next reads and writes on the connection are other requests'. */
static void test_before(void)
{
	struct world w = { .begin_ms = { 100, 100 }, .end_ms = { 300, 300 } };
	tell(&w);
	check_nowhere(&w, "id-a", BEFORE, CLIENT);
	check_inside(&w, "id-b", CLIENT, 110, 134, 0, G_MAXUINT);
	check_inside(&w, "id-c", CLIENT, 210, 234, 0, G_MAXUINT);
	world_clear(&w);
}

static void test_after(void)
{
	struct world w = { .begin_ms = { 0, 0 }, .end_ms = { 200, 200 } };
	tell(&w);
	check_inside(&w, "id-a", CLIENT, 10, 34, 0, G_MAXUINT);
	check_inside(&w, "id-b", CLIENT, 110, 134, 0, G_MAXUINT);
	check_nowhere(&w, "id-c", AFTER, CLIENT);
	world_clear(&w);
}

/* Asked before the trace's begin or answered after its end: the part inside, and it says so. */
static void test_partly(void)
{
	struct world late = { .begin_ms = { 115, 115 }, .end_ms = { 300, 300 } };
	tell(&late);
	check_nowhere(&late, "id-a", BEFORE, CLIENT);
	check_inside(&late, "id-b", CLIENT, 115, 134, DTC_OUTSIDE_BEGIN, CLIENT);
	check_inside(&late, "id-c", CLIENT, 210, 234, 0, G_MAXUINT);
	world_clear(&late);

	struct world early = { .begin_ms = { 0, 0 }, .end_ms = { 125, 125 } };
	tell(&early);
	check_inside(&early, "id-a", CLIENT, 10, 34, 0, G_MAXUINT);
	check_inside(&early, "id-b", CLIENT, 110, 125, DTC_OUTSIDE_END, CLIENT);
	check_nowhere(&early, "id-c", AFTER, CLIENT);
	world_clear(&early);

	/* in between nothing shows who waited */
	struct world within = { .begin_ms = { 115, 115 }, .end_ms = { 125, 125 } };
	tell(&within);
	check_nowhere(&within, "id-b", DTC_OUTSIDE_BEGIN | DTC_OUTSIDE_END, CLIENT);
	world_clear(&within);
}

/* The read that was under way when the trace began is in no trace; the next one is another answer's. */
static void test_read_under_way(void)
{
	struct world w = { .begin_ms = { 115, 115 }, .end_ms = { 300, 300 }, .blocks = true };
	tell(&w);
	check_inside(&w, "id-b", CLIENT, 115, 132, DTC_OUTSIDE_BEGIN, CLIENT);
	check_inside(&w, "id-c", CLIENT, 210, 234, 0, G_MAXUINT);
	world_clear(&w);
}

/* A server that reads a header first: each request is read by its own calls, not by those for the one before. */
static void test_header_first(void)
{
	struct world w = { .begin_ms = { 100, 100 }, .end_ms = { 300, 300 }, .reads_header = true };
	tell(&w);
	for (char id = 'b'; id <= 'c'; id++) {
		const char name[] = { 'i', 'd', '-', id, 0 };
		int64_t t = 10 + 100 * (id - 'a');
		struct dtc_place *place = find(&w, name);
		const struct dtc_hop_side *server = &g_array_index(place->hops, struct dtc_hop, 0).server;
		const uint32_t calls[] = { server->request_first_call, server->request_last_call };
		for (guint i = 0; i < 2; i++) {
			g_assert_cmpuint(calls[i], !=, DTC_NONE);
			g_assert_cmpint(dtc_history_get_call_begin_ns(w.histories[SERVER], calls[i]), ==,
					(t + 3 + 2 * i) * MS);
		}
		g_assert_cmpint(server->begin.ns, ==, (t + 4) * MS);
		dtc_place_free(place);
	}
	world_clear(&w);
}

/* The client's trace decides, also where it is the shorter one; then the server has the part inside. */
static void test_client_decides(void)
{
	struct world w = { .begin_ms = { 200, 100 }, .end_ms = { 300, 300 } };
	tell(&w);
	check_nowhere(&w, "id-a", BEFORE, CLIENT);
	check_inside(&w, "id-b", SERVER, 114, 132, BEFORE, CLIENT);
	check_inside(&w, "id-c", CLIENT, 210, 234, 0, G_MAXUINT);
	world_clear(&w);
}

/* A server whose trace is the shorter one: the request is whole, and the server has no place in it. */
static void test_server_is_late(void)
{
	struct world w = { .begin_ms = { 100, 200 }, .end_ms = { 300, 300 } };
	tell(&w);
	check_inside(&w, "id-b", CLIENT, 110, 134, 0, G_MAXUINT);
	struct dtc_place *place = find(&w, "id-b");
	const struct dtc_hop_side *server = &g_array_index(place->hops, struct dtc_hop, 0).server;
	g_assert_cmpuint(server->node, ==, SERVER);
	g_assert_cmpuint(server->outside, ==, BEFORE);
	g_assert_cmpuint(server->thread, ==, DTC_NONE);
	g_assert_cmpuint(server->request_first_call, ==, DTC_NONE);
	dtc_place_free(place);
	world_clear(&w);
}

/* Without a trace of the client the server's decides. */
static void test_untraced_client(void)
{
	struct world w = { .begin_ms = { 0, 115 }, .end_ms = { 300, 300 }, .no_client_trace = true };
	tell(&w);
	check_nowhere(&w, "id-a", BEFORE, SERVER);
	check_inside(&w, "id-b", SERVER, 115, 132, DTC_OUTSIDE_BEGIN, SERVER);
	check_inside(&w, "id-c", SERVER, 214, 232, 0, G_MAXUINT);
	world_clear(&w);
}

/* No answer: all bytes lie inside, but the wait for it runs beyond the trace. */
static void test_no_answer(void)
{
	struct world w = { .begin_ms = { 100, 100 }, .end_ms = { 300, 300 }, .silent = 'c' };
	tell(&w);
	check_inside(&w, "id-c", CLIENT, 210, 300, 0, G_MAXUINT);
	struct dtc_place *place = find(&w, "id-c");
	g_assert_true(place->is_open);
	g_assert_false(place->has_end);
	dtc_place_free(place);
	place = find(&w, "id-b");
	g_assert_false(place->is_open);
	dtc_place_free(place);
	world_clear(&w);

	struct world before = { .begin_ms = { 100, 100 }, .end_ms = { 300, 300 }, .silent = 'a' };
	tell(&before);
	check_nowhere(&before, "id-a", DTC_OUTSIDE_BEGIN, CLIENT);
	world_clear(&before);
}

/* Bytes of a connection that was opened in the trace lie inside, wherever an unrelated clock puts their packets. */
static void test_bytes_beat_clocks(void)
{
	struct world w = { .begin_ms = { 50, 50 }, .end_ms = { 300, 300 }, .is_opened = true, .no_relation = true };
	tell(&w);
	check_inside(&w, "id-b", CLIENT, 101, 134, 0, G_MAXUINT);
	check_inside(&w, "id-c", CLIENT, 210, 234, 0, G_MAXUINT);
	world_clear(&w);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/outside/before", test_before);
	g_test_add_func("/outside/after", test_after);
	g_test_add_func("/outside/partly", test_partly);
	g_test_add_func("/outside/read-under-way", test_read_under_way);
	g_test_add_func("/outside/header-first", test_header_first);
	g_test_add_func("/outside/client-decides", test_client_decides);
	g_test_add_func("/outside/server-is-late", test_server_is_late);
	g_test_add_func("/outside/untraced-client", test_untraced_client);
	g_test_add_func("/outside/no-answer", test_no_answer);
	g_test_add_func("/outside/bytes-beat-clocks", test_bytes_beat_clocks);
	return g_test_run();
}
