/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP over connections of which the capture shows less, more, or another order than was sent. */
#include "tests/support/made_connection.h"

#define REQUEST "GET /a HTTP/1.1\r\nX-Request-Id: id-a\r\n\r\n"
#define REQUEST_B "GET /b HTTP/1.1\r\nX-Request-Id: id-b\r\n\r\n"
#define REQUEST_C "GET /c HTTP/1.1\r\nX-Request-Id: id-c\r\n\r\n"
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define CREATED "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"
#define ACCEPTED "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok"

static void check(const struct dtc_exchange *e, const char *target, const char *id, int status)
{
	g_assert_cmpstr(e->target, ==, target);
	if (id) {
		g_assert_cmpuint(e->identity_count, ==, 1);
		g_assert_cmpstr(e->identities[0].id, ==, id);
	} else {
		g_assert_cmpuint(e->identity_count, ==, 0);
	}
	g_assert_cmpint(e->status, ==, status);
}

static void check_count(const struct made_capture *m, guint count)
{
	g_assert_cmpuint(dtc_exchanges_get_count(m->exchanges), ==, count);
}

/* Every byte a segment of its own, and the sequence number wraps inside the request. */
static void test_bytes_and_wrap(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect_silently(&c, &m, 4000, (uint32_t)-10, (uint32_t)-5);
	made_shake_hands(&c);
	for (const char *p = REQUEST; *p; p++)
		made_send_bytes(&c, CLIENT, p, 1);
	int64_t request_end_ns = m.now_ns;
	for (const char *p = OK; *p; p++)
		made_send_bytes(&c, SERVER, p, 1);
	int64_t response_end_ns = m.now_ns;
	made_finish(&m);
	check_count(&m, 1);
	const struct dtc_exchange *e = made_get(&m, 0);
	check(e, "/a", "id-a", 200);
	g_assert_true(e->is_first && e->request_complete && e->response_complete);
	g_assert_cmpuint(e->request_seq, ==, (uint32_t)-10);
	g_assert_cmpuint(e->request_end_seq, ==, strlen(REQUEST) - 10);
	g_assert_cmpuint(e->response_end_seq, ==, strlen(OK) - 5);
	g_assert_cmpint(e->request_end_ns, ==, request_end_ns);
	g_assert_cmpint(e->response_end_ns, ==, response_end_ns);
	made_close(&m);
}

/* Sent again, with other boundaries and other bytes: the first copy counts, its time too. */
static void test_retransmitted(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send_bytes(&c, CLIENT, REQUEST, 10);
	int64_t first_ns = m.now_ns;
	made_segment(&c, CLIENT, 0, REQUEST, 10);
	made_segment(&c, CLIENT, 5, "XXXXX", 5);
	c.next[CLIENT] = c.first[CLIENT];
	made_send(&c, CLIENT, REQUEST); /* all of it in one segment: overlaps what is there */
	int64_t end_ns = m.now_ns;
	made_segment(&c, CLIENT, 0, REQUEST, sizeof(REQUEST) - 1);
	made_send(&c, SERVER, OK);
	made_segment(&c, SERVER, 0, OK, sizeof(OK) - 1);
	made_segment(&c, CLIENT, (uint32_t)-1, "", 0);
	made_segment(&c, CLIENT, sizeof(REQUEST) - 2, "?", 1); /* a keep-alive probe with a byte of garbage */
	made_finish(&m);
	check_count(&m, 1);
	check(made_get(&m, 0), "/a", "id-a", 200);
	g_assert_cmpint(made_get(&m, 0)->request_ns, ==, first_ns);
	g_assert_cmpint(made_get(&m, 0)->request_end_ns, ==, end_ns);
	made_close(&m);
}

/* The segments of a request in any order; what comes too early waits, what fills the hole ends the request. */
static void test_reordered(void)
{
	static const guint8 orders[6][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	static const guint8 cuts[4] = { 0, 3, 20, sizeof(REQUEST) - 1 };
	for (guint i = 0; i < 6; i++) {
		struct made_capture m;
		struct made_connection c;
		made_open(&m);
		made_connect(&c, &m, 4000);
		int64_t begin_ns = 0;
		for (guint k = 0; k < 3; k++) {
			guint from = cuts[orders[i][k]], to = cuts[orders[i][k] + 1];
			made_segment(&c, CLIENT, from, &REQUEST[from], to - from);
			if (from == 0)
				begin_ns = m.now_ns;
		}
		int64_t end_ns = m.now_ns;
		c.next[CLIENT] += sizeof(REQUEST) - 1;
		made_send(&c, SERVER, OK);
		made_finish(&m);
		check_count(&m, 1);
		check(made_get(&m, 0), "/a", "id-a", 200);
		g_assert_true(made_get(&m, 0)->is_first);
		g_assert_cmpint(made_get(&m, 0)->request_ns, ==, begin_ns);
		g_assert_cmpint(made_get(&m, 0)->request_end_ns, ==, end_ns);
		g_assert_cmpuint(dtc_findings_get_count(m.findings), ==, 0);
		made_close(&m);
	}
}

/* The first segment of a request is not in the capture: that request is gone, the others are found. */
static void test_lost_request(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, REQUEST);
	made_send(&c, SERVER, OK);
	made_lose(&c, CLIENT, REQUEST_B);
	made_send(&c, SERVER, CREATED);
	made_send(&c, CLIENT, REQUEST_C);
	made_send(&c, SERVER, ACCEPTED);
	made_finish(&m);
	check_count(&m, 3);
	check(made_get(&m, 0), "/a", "id-a", 200);
	check(made_get(&m, 1), "", NULL, 201);
	g_assert_false(made_get(&m, 1)->has_request);
	check(made_get(&m, 2), "/c", "id-c", 202);
	g_assert_true(made_has_finding(&m, "the capture lacks 39 bytes of HTTP connections"));
	made_close(&m);
}

/* A lost response leaves its request without one, and the next response goes to the next request. */
static void test_lost_response(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, REQUEST);
	made_lose(&c, SERVER, OK);
	made_send(&c, CLIENT, REQUEST_B);
	made_send(&c, SERVER, CREATED);
	made_acknowledge(&c, CLIENT);
	made_send(&c, CLIENT, REQUEST_C);
	made_send(&c, SERVER, ACCEPTED);
	made_finish(&m);
	check_count(&m, 3);
	check(made_get(&m, 0), "/a", "id-a", 0);
	g_assert_false(made_get(&m, 0)->has_response);
	check(made_get(&m, 1), "/b", "id-b", 201);
	check(made_get(&m, 2), "/c", "id-c", 202);
	made_close(&m);
}

/* Bytes of a body are missing: the length tells where it ends, nothing else is lost. */
static void test_lost_body(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, REQUEST REQUEST_B);
	made_send(&c, SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n0123456789");
	made_lose(&c, SERVER, "0123456789");
	made_send(&c, SERVER,
		  "0123456789" /* the next response is in the same segment */
		  "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n01234");
	made_acknowledge(&c, CLIENT);
	made_lose(&c, SERVER, "0123456789");
	made_send(&c, SERVER, "01234\r\n0\r\n\r\n");
	made_acknowledge(&c, CLIENT);
	made_finish(&m);
	check_count(&m, 2);
	check(made_get(&m, 0), "/a", "id-a", 200);
	g_assert_true(made_get(&m, 0)->response_complete);
	check(made_get(&m, 1), "/b", "id-b", 201);
	g_assert_true(made_get(&m, 1)->response_complete);
	g_assert_true(made_has_finding(&m, "the capture lacks 20 bytes"));
	made_close(&m);
}

/* A hole in the headers: what was read counts, where the message ends is not known; the next one is found again. */
static void test_lost_headers(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, "POST /h HTTP/1.1\r\nX-Request-Id: id-h\r\nContent-");
	made_lose(&c, CLIENT, "Length: 4\r\n\r\n");
	made_send(&c, CLIENT, "body");
	made_send(&c, SERVER, OK);
	made_send(&c, CLIENT, REQUEST_B);
	made_send(&c, SERVER, CREATED);
	made_finish(&m);
	check_count(&m, 2);
	check(made_get(&m, 0), "/h", "id-h", 200);
	g_assert_false(made_get(&m, 0)->request_complete);
	g_assert_true(made_get(&m, 0)->response_complete);
	check(made_get(&m, 1), "/b", "id-b", 201);
	made_close(&m);
}

/* The capture begins inside the body of a response, with more pipelined requests to come. */
static void test_middle(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect_silently(&c, &m, 4000, 5, 6);
	made_send(&c, SERVER, "rest of a body, in which GET / HTTP/1.1 stands\r\n");
	made_acknowledge(&c, CLIENT);
	made_send(&c, SERVER, "HTTP is not a message\r\n\r\n");
	made_send(&c, CLIENT, REQUEST);
	made_send(&c, SERVER, OK);
	made_send(&c, CLIENT, REQUEST_B);
	made_send(&c, SERVER, CREATED);
	made_connect_silently(&c, &m, 4001, 7, 8); /* and one that begins with a response */
	made_send(&c, SERVER, OK);
	made_send(&c, CLIENT, REQUEST_C);
	made_send(&c, SERVER, ACCEPTED);
	made_finish(&m);
	check_count(&m, 4);
	check(made_get(&m, 0), "/a", "id-a", 200);
	g_assert_false(made_get(&m, 0)->is_first);
	check(made_get(&m, 1), "/b", "id-b", 201);
	check(made_get(&m, 2), "", NULL, 200);
	check(made_get(&m, 3), "/c", "id-c", 202);
	made_close(&m);
}

/* The capture begins inside a download of text that looks like requests: the real ones come from the other side. */
static void test_mistaken_roles(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect_silently(&c, &m, 4000, 5, 6);
	made_send(&c, SERVER, "GET /fake HTTP/1.1\r\nX-Request-Id: fake\r\n\r\n");
	made_send(&c, SERVER, "GET /fake HTTP/1.1\r\nX-Request-Id: fake\r\n\r\n");
	made_send(&c, CLIENT, REQUEST);
	made_send(&c, SERVER, OK);
	made_send(&c, CLIENT, REQUEST_B);
	made_send(&c, SERVER, CREATED);
	made_finish(&m);
	check_count(&m, 2);
	check(made_get(&m, 0), "/a", "id-a", 200);
	check(made_get(&m, 1), "/b", "id-b", 201);
	g_assert_cmpuint(dtc_packets_get_flow(m.packets, made_get(&m, 0)->flow)->source_port, ==, 4000);
	made_close(&m);
}

/* Only the first bytes of each packet are captured. */
static void test_snapshot_length(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	m.snapshot_bytes = 39;
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, REQUEST);								    /* just fits */
	made_send(&c, SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n01234567890123456789"); /* body cut */
	made_send(&c, CLIENT, "GET /b HTTP/1.1\r\nCookie: 0123456789\r\nX-Request-Id: id-b\r\n\r\n");
	made_send(&c, SERVER, CREATED);
	made_send(&c, CLIENT, "GET /a-very-long-target/which-goes-on HTTP/1.1\r\nX-Request-Id: id-c\r\n\r\n");
	made_send(&c, SERVER, ACCEPTED);
	made_finish(&m);
	check_count(&m, 3);
	check(made_get(&m, 0), "/a", "id-a", 200);
	g_assert_true(made_get(&m, 0)->request_complete && made_get(&m, 0)->response_complete);
	check(made_get(&m, 1), "/b", NULL, 201);
	check(made_get(&m, 2), "/a-very-long-target/which-goes-on", NULL, 202);
	g_assert_true(made_has_finding(&m, "HTTP headers were cut by the capture's snapshot length"));
	made_close(&m);
}

/* The same ports again: another connection, with or without its SYN in the capture. */
static void test_reused_port(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, REQUEST);
	made_connect_silently(&c, &m, 4000, 900000000, 2000000000);
	made_shake_hands(&c);
	made_send(&c, CLIENT, REQUEST_B);
	made_send(&c, SERVER, OK);
	made_connect_silently(&c, &m, 4000, 1900000000, 3000000000u); /* silently: a jump in the sequence */
	made_send(&c, CLIENT, REQUEST_C);
	made_send(&c, SERVER, CREATED);
	made_finish(&m);
	check_count(&m, 3);
	check(made_get(&m, 0), "/a", "id-a", 0);
	check(made_get(&m, 1), "/b", "id-b", 200);
	g_assert_true(made_get(&m, 1)->is_first);
	g_assert_cmpuint(made_get(&m, 1)->flow, !=, made_get(&m, 0)->flow);
	check(made_get(&m, 2), "/c", "id-c", 201);
	g_assert_false(made_get(&m, 2)->is_first);
	made_close(&m);
}

/* A hole that nobody acknowledges: what waits behind it stays within bounds, and the hole is given up. */
static void test_waiting_is_bounded(void)
{
	struct made_capture m;
	struct made_connection c;
	g_autofree char *filler = g_strnfill(1000, 'x');
	made_open_with(&m, &(struct dtc_http_options){ .max_waiting_bytes = 20000 });
	for (uint16_t port = 4000; port < 4010; port++) {
		made_connect(&c, &m, port);
		made_send(&c, CLIENT, "POST /w HTTP/1.1\r\nContent-Length: 6000\r\n\r\n");
		uint32_t offset = c.next[CLIENT] - c.first[CLIENT];
		for (guint i = 1; i < 6; i++)
			made_segment(&c, CLIENT, offset + i * 1000, filler, 1000);
		made_segment(&c, CLIENT, offset + 6000, REQUEST, sizeof(REQUEST) - 1);
	}
	made_finish(&m);
	check_count(&m, 20);
	for (guint i = 0; i < 20; i += 2) {
		g_assert_true(made_get(&m, i)->request_complete);
		check(made_get(&m, i + 1), "/a", "id-a", 0);
	}
	made_close(&m);
}

/* One hole for ever and small segments behind it, from the last to the first. */
static void test_many_segments(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, "POST /w HTTP/1.1\r\nContent-Length: 100000\r\n\r\n");
	uint32_t offset = c.next[CLIENT] - c.first[CLIENT];
	for (uint32_t i = 50000; i > 1; i--)
		made_segment(&c, CLIENT, offset + i * 2, "xx", 2);
	made_finish(&m);
	check_count(&m, 1);
	check(made_get(&m, 0), "/w", NULL, 0);
	made_close(&m);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/loss/bytes-and-wrap", test_bytes_and_wrap);
	g_test_add_func("/loss/retransmitted", test_retransmitted);
	g_test_add_func("/loss/reordered", test_reordered);
	g_test_add_func("/loss/lost-request", test_lost_request);
	g_test_add_func("/loss/lost-response", test_lost_response);
	g_test_add_func("/loss/lost-body", test_lost_body);
	g_test_add_func("/loss/lost-headers", test_lost_headers);
	g_test_add_func("/loss/middle", test_middle);
	g_test_add_func("/loss/mistaken-roles", test_mistaken_roles);
	g_test_add_func("/loss/snapshot-length", test_snapshot_length);
	g_test_add_func("/loss/reused-port", test_reused_port);
	g_test_add_func("/loss/waiting-is-bounded", test_waiting_is_bounded);
	g_test_add_func("/loss/many-segments", test_many_segments);
	return g_test_run();
}
