/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP messages on connections that arrive whole: framing, pairing, what is and what is not HTTP. */
#include "tests/support/made_connection.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static void check(const struct dtc_exchange *e, const char *method, const char *target, int status, bool complete)
{
	g_assert_cmpstr(e->method, ==, method);
	g_assert_cmpstr(e->target, ==, target);
	g_assert_cmpint(e->status, ==, status);
	g_assert_cmpint(e->response_complete, ==, complete);
	g_assert_cmpint(e->has_request, ==, *method != '\0');
	g_assert_cmpuint(e->node, ==, 3);
}

static void check_id(const struct dtc_exchange *e, guint index, const char *source, const char *id)
{
	g_assert_cmpuint(index, <, e->identity_count);
	g_assert_cmpstr(e->identities[index].source, ==, source);
	g_assert_cmpstr(e->identities[index].id, ==, id);
}

static void test_one(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, "GET /a HTTP/1.1\r\nHost: x\r\nX-Request-ID:  id-1 \r\n\r\n");
	int64_t request_ns = m.now_ns;
	made_acknowledge(&c, SERVER);
	made_send(&c, SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nx-trace: t\r\n\r\nab");
	int64_t response_ns = m.now_ns;
	made_send(&c, SERVER, "cd");
	int64_t end_ns = m.now_ns;
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 1);
	const struct dtc_exchange *e = made_get(&m, 0);
	check(e, "GET", "/a", 200, true);
	g_assert_true(e->request_complete && e->has_response && e->is_first);
	g_assert_cmpuint(e->identity_count, ==, 1);
	check_id(e, 0, "x-request-id", "id-1");
	g_assert_cmpuint(e->request_seq, ==, c.first[CLIENT]);
	g_assert_cmpuint(e->request_end_seq, ==, c.next[CLIENT]);
	g_assert_cmpuint(e->response_seq, ==, c.first[SERVER]);
	g_assert_cmpuint(e->response_end_seq, ==, c.next[SERVER]);
	g_assert_cmpint(e->request_ns, ==, request_ns);
	g_assert_cmpint(e->request_end_ns, ==, request_ns);
	g_assert_cmpint(e->response_ns, ==, response_ns);
	g_assert_cmpint(e->response_end_ns, ==, end_ns);
	const struct dtc_flow *flow = dtc_packets_get_flow(m.packets, e->flow);
	g_assert_cmpuint(flow->source_port, ==, 4000);
	made_close(&m);
}

static void test_keep_alive(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	for (int i = 0; i < 3; i++) {
		g_autofree char *request =
			g_strdup_printf("POST /%d HTTP/1.1\r\nX-Request-Id: k%d\r\nContent-Length: 3\r\n\r\nxyz", i, i);
		made_send(&c, CLIENT, request);
		made_send(&c, SERVER, OK);
	}
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 3);
	for (guint i = 0; i < 3; i++) {
		g_autofree char *target = g_strdup_printf("/%u", i), *id = g_strdup_printf("k%u", i);
		check(made_get(&m, i), "POST", target, 200, true);
		check_id(made_get(&m, i), 0, "x-request-id", id);
		g_assert_cmpint(made_get(&m, i)->is_first, ==, i == 0);
	}
	made_close(&m);
}

/* Three requests in one segment, the answers in pieces that respect no message. */
static void test_pipelined(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT,
		  "GET /1 HTTP/1.1\r\nX-Request-Id: p1\r\n\r\nHEAD /2 HTTP/1.1\r\nX-Request-Id: p2\r\n\r\n"
		  "GET /3 HTTP/1.1\r\nX-Request-Id: p3\r\n\r\n");
	made_send(&c, SERVER, "HTTP/1.1 201 A\r\nContent-Length: 5\r\n\r\nHTT");
	made_send(&c, SERVER, "P/HTTP/1.1 202 B\r\nContent-Length: 500\r\n\r\nHTTP/1.1 2");
	made_send(&c, SERVER, "03 C\r\nContent-Length: 0\r\n\r\n");
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 3);
	check(made_get(&m, 0), "GET", "/1", 201, true);
	check(made_get(&m, 1), "HEAD", "/2", 202, true);
	check(made_get(&m, 2), "GET", "/3", 203, true);
	check_id(made_get(&m, 2), 0, "x-request-id", "p3");
	g_assert_cmpuint(made_get(&m, 1)->response_seq, ==, made_get(&m, 0)->response_end_seq);
	made_close(&m);
}

static void test_chunked(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT,
		  "PUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\nX-Request-Id: c1\r\n\r\n"
		  "5;name=value\r\nhello\r\n0\r\nTrailer: x\r\n\r\n");
	made_send(&c, SERVER, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n1");
	made_send(&c, SERVER, "0\r\n0123456789abcdef\r");
	made_send(&c, SERVER, "\n0\r\nX-Checksum: 1\r\n");
	made_send(&c, SERVER, "\r\n");
	made_send(&c, CLIENT, "GET /d HTTP/1.1\r\n\r\n");
	made_send(&c, SERVER, "HTTP/1.1 204 No Content\r\n\r\n");
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 2);
	check(made_get(&m, 0), "PUT", "/c", 200, true);
	g_assert_true(made_get(&m, 0)->request_complete);
	check(made_get(&m, 1), "GET", "/d", 204, true);
	g_assert_cmpuint(made_get(&m, 1)->response_seq, ==, made_get(&m, 0)->response_end_seq);
	made_close(&m);
}

static void test_interim(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	made_send(&c, SERVER, "HTTP/1.1 100 Continue\r\n\r\n");
	made_send(&c, CLIENT, "hi");
	int64_t end_ns = m.now_ns;
	made_send(&c, SERVER, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK);
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 1);
	check(made_get(&m, 0), "POST", "/", 200, true);
	g_assert_cmpint(made_get(&m, 0)->request_end_ns, ==, end_ns);
	g_assert_cmpuint(made_get(&m, 0)->response_end_seq - made_get(&m, 0)->response_seq, ==, strlen(OK));
	made_close(&m);
}

static void test_empty_responses(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	static const char *const heads[] = {
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n",
		"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 0, 0\r\n\r\n",
		"HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 500\r\nContent-Length: 0\r\n\r\n",
	};
	static const int statuses[] = { 304, 204, 200, 404, 500 };
	for (guint i = 0; i < G_N_ELEMENTS(heads); i++) {
		made_send(&c, CLIENT, "GET /e HTTP/1.1\r\n\r\n");
		made_send(&c, SERVER, heads[i]);
	}
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, G_N_ELEMENTS(heads));
	for (guint i = 0; i < G_N_ELEMENTS(heads); i++)
		check(made_get(&m, i), "GET", "/e", statuses[i], true);
	made_close(&m);
}

/* HTTP/1.0: the response ends with the connection, or does not end in the capture. */
static void test_until_close(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	for (uint16_t port = 4000; port < 4003; port++) {
		made_connect(&c, &m, port);
		made_send(&c, CLIENT, "GET /o HTTP/1.0\r\n\r\n");
		made_send(&c, SERVER, "HTTP/1.0 200 OK\r\n\r\nsome");
		made_send(&c, SERVER, " body");
		if (port == 4000)
			made_end(&c, SERVER);
		else if (port == 4001)
			made_reset(&c, SERVER);
	}
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 3);
	check(made_get(&m, 0), "GET", "/o", 200, true);
	check(made_get(&m, 1), "GET", "/o", 200, false);
	check(made_get(&m, 2), "GET", "/o", 200, false);
	for (guint i = 0; i < 3; i++)
		g_assert_cmpuint(made_get(&m, i)->response_end_seq - made_get(&m, i)->response_seq, ==, 28);
	made_close(&m);
}

static void test_without_response(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, "GET /never HTTP/1.1\r\nX-Request-Id: n\r\n\r\n");
	made_end(&c, CLIENT);
	made_end(&c, SERVER);
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 1);
	check(made_get(&m, 0), "GET", "/never", 0, false);
	g_assert_false(made_get(&m, 0)->has_response);
	g_assert_cmpint(made_get(&m, 0)->response_ns, ==, DTC_TIME_NONE);
	made_close(&m);
}

/* The server refuses before the body has arrived; the body is still part of the request. */
static void test_early_response(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, "POST /big HTTP/1.1\r\nContent-Length: 10\r\n\r\n01234");
	made_send(&c, SERVER, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
	made_send(&c, CLIENT, "56789");
	made_send(&c, CLIENT, "GET /next HTTP/1.1\r\n\r\n");
	made_send(&c, SERVER, OK);
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 2);
	check(made_get(&m, 0), "POST", "/big", 413, true);
	g_assert_true(made_get(&m, 0)->request_complete);
	g_assert_cmpint(made_get(&m, 0)->request_end_ns, >, made_get(&m, 0)->response_ns);
	check(made_get(&m, 1), "GET", "/next", 200, true);
	made_close(&m);
}

static void test_upgrade(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, "GET /chat HTTP/1.1\r\nUpgrade: websocket\r\nX-Request-Id: ws\r\n\r\n");
	made_send(&c, SERVER, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n");
	made_send(&c, CLIENT, "GET /inside HTTP/1.1\r\n\r\n");
	made_send(&c, SERVER, OK);
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 1);
	check(made_get(&m, 0), "GET", "/chat", 101, true);
	g_assert_true(made_has_finding(&m, "1 HTTP connections were upgraded"));
	made_close(&m);
}

static void test_connect(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, "CONNECT db:443 HTTP/1.1\r\n\r\n");
	made_send(&c, SERVER, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno");
	made_send(&c, CLIENT, "CONNECT db:443 HTTP/1.1\r\nProxy-Authorization: x\r\n\r\n");
	made_send(&c, SERVER, "HTTP/1.1 200 Established\r\n\r\n");
	made_send(&c, CLIENT, "GET /inside HTTP/1.1\r\n\r\n");
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 2);
	check(made_get(&m, 0), "CONNECT", "db:443", 407, true);
	check(made_get(&m, 1), "CONNECT", "db:443", 200, true);
	made_close(&m);
}

static void test_foreign(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	static const char *const protocols[][2] = {
		{ "SSH-2.0-OpenSSH\r\n", "SSH-2.0-OpenSSH\r\n" },
		{ "*1\r\n$4\r\nPING\r\n", "+PONG\r\n" },
		{ "SET a b\r\n", "+OK\r\n" },
		{ "OPTIONS rtsp://x RTSP/1.0\r\n\r\n", "RTSP/1.0 200 OK\r\n\r\n" },
		{ "\x03\x01\x02", "HELO" },
		{ "GET", " nothing" },
	};
	for (guint i = 0; i < G_N_ELEMENTS(protocols); i++) {
		made_connect(&c, &m, (uint16_t)(4000 + i));
		made_send(&c, CLIENT, protocols[i][0]);
		made_send(&c, SERVER, protocols[i][1]);
		made_send(&c, CLIENT, "GET /x HTTP/1.1\r\n\r\n"); /* it is too late to be HTTP */
		made_end(&c, CLIENT);
	}
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 0);
	g_assert_cmpuint(dtc_findings_get_count(m.findings), ==, 0);
	made_close(&m);
}

static void test_tls_and_http2(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	for (uint16_t port = 4000; port < 4003; port++) {
		made_connect(&c, &m, port);
		made_send_bytes(&c, CLIENT, "\x16\x03\x01\x00\x64\x01\x00\x00\x60", 9);
		made_send_bytes(&c, SERVER, "\x16\x03\x03\x00\x64\x02\x00\x00\x60", 9);
	}
	made_connect_silently(&c, &m, 4100, 77, 88); /* one that was open before the capture began */
	made_send_bytes(&c, CLIENT, "\x17\x03\x03\x00\x20 12345678", 14);
	made_send_bytes(&c, CLIENT, "\x17\x03\x03\x00\x20 12345678", 14);
	made_connect(&c, &m, 4200);
	made_send(&c, CLIENT, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 0);
	g_assert_cmpuint(dtc_findings_get_count(m.findings), ==, 1);
	g_assert_true(made_has_finding(&m, "4 connections are TLS; identities need --mark-regex or --spans"));
	made_close(&m);
}

/* Lines as they should not be: line feeds alone, empty lines first, names in any case, folded and nonsense lines. */
static void test_sloppy(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT,
		  "\r\n\nPOST /s p a c e HTTP/1.1\nnonsense\n: x\n folded\nx-REQUEST-id :s1\n"
		  "CONTENT-LENGTH:\t2\n\nhi");
	made_send(&c, SERVER, OK);
	made_send(&c, CLIENT, "GET /2 HTTP/1.1\nContent-Length: 1\nContent-Length: 2\nX-Request-Id: s2\n\n");
	made_send(&c, CLIENT, "GET /3 HTTP/1.1\r\n\r\n");
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 3);
	check(made_get(&m, 0), "POST", "/s p a c e", 200, true);
	check_id(made_get(&m, 0), 0, "x-request-id", "s1");
	/* Two lengths: nobody knows where this request ends, but the next one begins a segment. */
	g_assert_false(made_get(&m, 1)->request_complete);
	check_id(made_get(&m, 1), 0, "x-request-id", "s2");
	check(made_get(&m, 2), "GET", "/3", 0, false);
	made_close(&m);
}

/* Where it is not known where a request ends, the next one begins with a known method and what a target begins with. */
static void test_next_target(void)
{
	static const char *const next[] = { "GET / HTTP/1.1\r\n\r\n", "OPTIONS * HTTP/1.1\r\n\r\n",
					    "CONNECT [::1]:443 HTTP/1.1\r\n\r\n", "GET x HTTP/1.1\r\n\r\n" };
	static const char *const text[] = { "GET )/ HTTP/1.1\r\n\r\n", "GET .a HTTP/1.1\r\n\r\n",
					    "GRAB / HTTP/1.1\r\n\r\n" };
	const char *const endless = "GET /1 HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	for (guint i = 0; i < G_N_ELEMENTS(next) + G_N_ELEMENTS(text); i++) {
		bool is_next = i < G_N_ELEMENTS(next);
		made_connect(&c, &m, (uint16_t)(4000 + i));
		made_send(&c, CLIENT, endless);
		made_send(&c, CLIENT, is_next ? next[i] : text[i - G_N_ELEMENTS(next)]);
	}
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 2 * G_N_ELEMENTS(next) + G_N_ELEMENTS(text));
	made_close(&m);
}

/* What a load balancer puts before the first request tells the client's address and is no request. */
static void test_proxy_line(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, "PROXY TCP4 192.0.2.1 192.0.2.2 5 6\r\nGET /p HTTP/1.1\r\n\r\n");
	made_send(&c, SERVER, OK);
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 1);
	check(made_get(&m, 0), "GET", "/p", 200, true);
	g_assert_true(made_get(&m, 0)->is_first);
	g_assert_cmpuint(made_get(&m, 0)->request_seq, ==, c.first[CLIENT] + 36);
	made_close(&m);
}

/* A megabyte of header and a start line without end: bounded, and the next connection is read as ever. */
static void test_endless(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open(&m);
	g_autofree char *filler = g_strnfill(60000, 'a');
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, "GET /long HTTP/1.1\r\nCookie: ");
	for (int i = 0; i < 20; i++)
		made_send(&c, CLIENT, filler);
	made_send(&c, CLIENT, "\r\nX-Request-Id: after\r\n\r\n");
	made_send(&c, SERVER, OK);
	made_connect(&c, &m, 4001);
	made_send(&c, CLIENT, "GET /");
	for (int i = 0; i < 20; i++)
		made_send(&c, CLIENT, filler);
	made_send(&c, CLIENT, " HTTP/1.1\r\n\r\n");
	made_connect(&c, &m, 4002);
	g_autofree char *target = g_strnfill(8000, 't'), *request = g_strdup_printf("GET /%s HTTP/1.1\r\n\r\n", target);
	made_send(&c, CLIENT, request);
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 2);
	check(made_get(&m, 0), "GET", "/long", 200, true);
	check_id(made_get(&m, 0), 0, "x-request-id", "after");
	g_assert_cmpuint(strlen(made_get(&m, 1)->target), <=, DTC_REQUEST_TEXT_BYTES);
	made_close(&m);
}

static void test_response_brings_id(void)
{
	struct made_capture m;
	struct made_connection c;
	const char *const more[] = { "X-Ray", NULL };
	made_open_with(&m, &(struct dtc_http_options){ .id_headers = more });
	made_connect(&c, &m, 4000);
	made_send(&c, CLIENT, "GET / HTTP/1.1\r\nX-Request-Id: -\r\nx-ray: r1\r\n\r\n");
	made_send(&c, SERVER, "HTTP/1.1 200 OK\r\nX-Request-Id: new\r\nX-Ray: r1\r\nContent-Length: 0\r\n\r\n");
	made_finish(&m);
	const struct dtc_exchange *e = made_get(&m, 0);
	g_assert_cmpuint(e->identity_count, ==, 2);
	check_id(e, 0, "x-ray", "r1");
	check_id(e, 1, "x-request-id", "new");
	made_close(&m);
}

/*
 * A bridge shows an answer between ends of which one is translated back already, and never its question: that is no
 * exchange of its own, and nothing is missing. With other numbers it is an answer whose question was not captured.
 */
static void test_half_translated(void)
{
	for (guint is_other = 0; is_other < 2; is_other++) {
		struct made_capture m;
		struct made_connection c, half;
		made_open(&m);
		made_connect_silently(&c, &m, 4000, 1001, 5001);
		made_connect_silently(&half, &m, 4000, 1001, 5001 + is_other);
		half.port[SERVER] = 8080;
		for (guint i = 0; i < 3; i++) {
			made_send(&c, CLIENT, "GET /a HTTP/1.1\r\nX-Request-ID: id-1\r\n\r\n");
			half.next[CLIENT] = c.next[CLIENT];
			made_send(&c, SERVER, OK);
			made_send(&half, SERVER, OK);
		}
		made_finish(&m);
		g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, is_other ? 6 : 3);
		g_assert_cmpint(made_has_finding(&m, "the capture lacks"), ==, is_other);
		made_close(&m);
	}
}

/*
 * What is looked at begins in the middle of connections whose SYN is known: of a message that goes on, of one that is
 * no HTTP, between messages. That is no loss, and what follows is found.
 */
static void test_passed(void)
{
	struct made_capture m;
	struct made_connection c, between, other, fresh;
	made_open(&m);
	m.passes = true;
	made_connect(&c, &m, 4000);
	made_connect(&between, &m, 4001);
	made_connect(&other, &m, 4002);
	made_send(&c, CLIENT, "GET /a HTTP/1.1\r\n\r\n");
	made_send(&c, SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
	made_send(&between, CLIENT, "GET /b HTTP/1.1\r\n\r\n");
	made_send(&between, SERVER, OK);
	made_send(&other, CLIENT, "*1\r\n$4\r\nPING\r\n");
	m.passes = false;
	made_send(&c, SERVER, "def");
	made_connect(&fresh, &m, 4003);
	made_send(&other, SERVER, "+PONG\r\n");
	made_send(&c, CLIENT, "GET /c HTTP/1.1\r\n\r\n");
	made_send(&between, CLIENT, "GET /d HTTP/1.1\r\n\r\n");
	made_send(&fresh, CLIENT, "GET /e HTTP/1.1\r\n\r\n");
	made_send(&c, SERVER, OK);
	made_send(&between, SERVER, OK);
	made_send(&fresh, SERVER, OK);
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 3);
	check(made_get(&m, 0), "GET", "/c", 200, true);
	check(made_get(&m, 1), "GET", "/d", 200, true);
	check(made_get(&m, 2), "GET", "/e", 200, true);
	g_assert_false(made_get(&m, 0)->is_first || made_get(&m, 1)->is_first);
	g_assert_true(made_get(&m, 2)->is_first);
	g_assert_false(made_has_finding(&m, "the capture lacks"));
	made_close(&m);
}

static void test_limits(void)
{
	struct made_capture m;
	struct made_connection c;
	made_open_with(&m, &(struct dtc_http_options){ .max_exchange_bytes = 100000 });
	made_connect(&c, &m, 4000);
	for (int i = 0; i < 2000; i++) {
		g_autofree char *request = g_strdup_printf("GET / HTTP/1.1\r\nX-Request-Id: id-%d\r\n\r\n", i);
		made_send(&c, CLIENT, request);
		made_send(&c, SERVER, OK);
	}
	made_finish(&m);
	guint count = dtc_exchanges_get_count(m.exchanges);
	g_assert_cmpuint(count, >, 100);
	g_assert_cmpuint(count, <, 1000);
	g_assert_cmpuint(dtc_exchanges_get_dropped_count(m.exchanges), ==, 2000 - count);
	g_assert_true(made_has_finding(&m, "were left out"));
	made_close(&m);

	/* A client that sends requests and never gets an answer does not collect them for ever. */
	made_open(&m);
	made_connect(&c, &m, 4000);
	for (int i = 0; i < 2000; i++)
		made_send(&c, CLIENT, "GET / HTTP/1.1\r\n\r\n");
	made_finish(&m);
	g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 2000);
	made_close(&m);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/http/one", test_one);
	g_test_add_func("/http/keep-alive", test_keep_alive);
	g_test_add_func("/http/pipelined", test_pipelined);
	g_test_add_func("/http/chunked", test_chunked);
	g_test_add_func("/http/interim", test_interim);
	g_test_add_func("/http/empty-responses", test_empty_responses);
	g_test_add_func("/http/until-close", test_until_close);
	g_test_add_func("/http/without-response", test_without_response);
	g_test_add_func("/http/early-response", test_early_response);
	g_test_add_func("/http/upgrade", test_upgrade);
	g_test_add_func("/http/connect", test_connect);
	g_test_add_func("/http/foreign", test_foreign);
	g_test_add_func("/http/tls-and-http2", test_tls_and_http2);
	g_test_add_func("/http/sloppy", test_sloppy);
	g_test_add_func("/http/next-target", test_next_target);
	g_test_add_func("/http/proxy-line", test_proxy_line);
	g_test_add_func("/http/endless", test_endless);
	g_test_add_func("/http/response-brings-id", test_response_brings_id);
	g_test_add_func("/http/half-translated", test_half_translated);
	g_test_add_func("/http/passed", test_passed);
	g_test_add_func("/http/limits", test_limits);
	return g_test_run();
}
