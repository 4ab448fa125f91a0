/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of HTTP/2 in made-up connections: many at a time, headers that were said before, and what was not captured.
 */
#include "tests/support/made_connection.h"
#include "tests/support/made_frames.h"

/* HPACK (RFC 7541), of its static table and dynamic one, whose newest entry is 62 */
#define GET "\x82"
#define STATUS_200 "\x88"
#define STATUS_NEW "\x48\x03" /* three digits follow, as an entry that is kept */
#define PATH "\x44\x02"	      /* two bytes follow, likewise */
#define ID "\x40\x0cx-request-id\x02"
#define ID_AGAIN "\x7e\x02" /* the name of the newest entry */
#define NEWEST "\xbe"
#define SECOND "\xbf"

struct both {
	struct made_capture capture;
	struct made_connection connection;
};

static void open_connection(struct both *b, bool is_from_begin)
{
	made_open(&b->capture);
	made_connect_silently(&b->connection, &b->capture, 40000, 0xffffffe0u, 7000);
	if (!is_from_begin)
		return;
	made_shake_hands(&b->connection);
	made_send(&b->connection, CLIENT, MADE_PREFACE);
}

/* A segment with a frame of these bytes. */
static void send(struct both *b, enum made_side from, enum dtc_http2_frame_type type, uint8_t flags, uint32_t stream,
		 const char *payload)
{
	struct made_frames frames = { .count = 0 };
	made_frames_add(&frames, type, flags, stream, (uint32_t)strlen(payload));
	memcpy(frames.bytes + frames.count - strlen(payload), payload, strlen(payload));
	made_send_bytes(&b->connection, from, frames.bytes, frames.count);
}

static void ask(struct both *b, uint32_t stream, const char *headers)
{
	send(b, CLIENT, DTC_FRAME_HEADERS, 5, stream, headers);
}

static void answer(struct both *b, uint32_t stream, const char *headers, const char *body)
{
	send(b, SERVER, DTC_FRAME_HEADERS, 4, stream, headers);
	send(b, SERVER, DTC_FRAME_DATA, 1, stream, body);
}

/* All of them by their streams, "1 GET /a r1 200", "?" for what is not known, "..." for what does not end. */
static char *tell(struct both *b)
{
	GString *told = g_string_new(NULL);
	made_finish(&b->capture);
	for (guint i = 0; i < dtc_exchanges_get_count(b->capture.exchanges); i++) {
		const struct dtc_exchange *e = dtc_exchanges_get(b->capture.exchanges, i);
		g_string_append_printf(told, "%s%u %s %s %s", i ? ", " : "", e->stream, *e->method ? e->method : "?",
				       *e->target ? e->target : "?", e->identity_count ? e->identities[0].id : "-");
		g_string_append_printf(told, e->has_response ? " %d" : " ...", e->status);
		if (!e->has_request || !e->request_complete || (e->has_response && !e->response_complete))
			g_string_append(told, "...");
	}
	made_close(&b->capture);
	return g_string_free(told, FALSE);
}

static void assert_told(struct both *b, const char *wanted)
{
	g_autofree char *told = tell(b);
	g_assert_cmpstr(told, ==, wanted);
}

static void test_many(void)
{
	struct both b;
	open_connection(&b, true);
	uint32_t first = b.connection.next[CLIENT];
	ask(&b, 1, GET PATH "/a" ID "r1");
	uint32_t second = b.connection.next[CLIENT];
	ask(&b, 3, GET PATH "/b" ID "r3");
	uint32_t answers = b.connection.next[SERVER];
	answer(&b, 3, STATUS_200, "three");
	answer(&b, 1, STATUS_NEW "404", "");
	made_finish(&b.capture);
	g_assert_cmpuint(dtc_exchanges_get_count(b.capture.exchanges), ==, 2);
	const struct dtc_exchange *e = made_get(&b.capture, 0), *other = made_get(&b.capture, 1);
	g_assert_cmpuint(e->request_seq, ==, first);
	g_assert_cmpuint(e->request_end_seq, ==, second);
	g_assert_true(e->is_first);
	g_assert_cmpint(e->status, ==, 404);
	g_assert_cmpuint(other->request_seq, ==, second);
	g_assert_cmpuint(other->response_seq, ==, answers);
	g_assert_cmpuint(other->response_end_seq, ==, answers + 9 + 1 + 9 + 5);
	g_assert_false(other->is_first);
	g_assert_cmpint(other->response_ns, <, other->response_end_ns);
	g_assert_cmpint(other->response_end_ns, <, e->response_ns);
	g_assert_cmpuint(dtc_findings_get_count(b.capture.findings), ==, 0);
	made_close(&b.capture);
}

/* What was said before is a number: of the path 63, of the id 62, and then of the new path. */
static void test_said_before(void)
{
	struct both b;
	open_connection(&b, true);
	ask(&b, 1, GET PATH "/a" ID "r1");
	ask(&b, 3, GET SECOND NEWEST);
	ask(&b, 5, GET PATH "/c" SECOND);
	answer(&b, 1, STATUS_200, "1");
	assert_told(&b, "1 GET /a r1 200, 3 GET /a r1 ..., 5 GET /c r1 ...");
}

/* The capture begins within the connection: numbers of what was said before it mean nothing, those of later ones do. */
static void test_middle(void)
{
	struct both b;
	open_connection(&b, false);
	ask(&b, 7, GET NEWEST SECOND);
	ask(&b, 9, GET PATH "/b" ID "r9");
	ask(&b, 11, GET SECOND ID_AGAIN "11");
	ask(&b, 13, GET SECOND "\xc0\xc1");
	answer(&b, 7, "\xc5", "of which the status was said before");
	assert_told(&b, "7 GET ? - 0, 9 GET /b r9 ..., 11 GET /b 11 ..., 13 GET /b r9 ...");
}

/* A segment is missing: it may have said anything. */
static void test_lost(void)
{
	struct both b;
	open_connection(&b, true);
	ask(&b, 1, GET PATH "/a" ID "r1");
	made_lose(&b.connection, CLIENT, "123456789 123456789");
	ask(&b, 5, GET SECOND NEWEST);
	made_acknowledge(&b.connection, SERVER);
	ask(&b, 7, GET PATH "/d" ID "r7");
	answer(&b, 5, STATUS_200, "5");
	assert_told(&b, "1 GET /a r1 ..., 5 GET ? - 200, 7 GET /d r7 ...");
}

/* Of the client's frames none was captured. */
static void test_answers_alone(void)
{
	struct both b;
	open_connection(&b, false);
	b.connection.next[CLIENT] += 100;
	answer(&b, 3, STATUS_200 ID "r3", "three");
	answer(&b, 5, "\xc0", "five");
	assert_told(&b, "3 ? ? r3 200..., 5 ? ? - 0...");
}

static void test_shapes(void)
{
	struct both b;
	open_connection(&b, true);
	/* padding of 2 and a priority; and goes on in another frame */
	struct made_frames frames = { .count = 0 };
	made_frames_add_bytes(&frames, "\0\0\x0d\1\x28\0\0\0\1\2\0\0\0\0\x10\x82\x44\2/a\0\0", 22);
	made_send_bytes(&b.connection, CLIENT, frames.bytes, frames.count);
	send(&b, CLIENT, DTC_FRAME_CONTINUATION, 4, 1, ID "r1");
	send(&b, CLIENT, DTC_FRAME_DATA, 0, 1, "body");
	send(&b, SERVER, DTC_FRAME_HEADERS, 4, 1, STATUS_NEW "100"); /* go on */
	/* what nobody asked for; of its headers the next ones may speak */
	send(&b, SERVER, DTC_FRAME_PUSH_PROMISE, 4, 1, "\1\1\1\2" GET PATH "/p");
	send(&b, SERVER, DTC_FRAME_HEADERS, 5, 2, STATUS_200);
	send(&b, CLIENT, DTC_FRAME_HEADERS, 5, 1, "\x40\2tt\1x"); /* trailers */
	answer(&b, 1, STATUS_200, "1");
	ask(&b, 3, GET PATH "/c");
	send(&b, CLIENT, DTC_FRAME_RST_STREAM, 0, 3, "\1\1\1\1");
	ask(&b, 5, GET PATH "/d");
	send(&b, SERVER, DTC_FRAME_HEADERS, 4, 5, STATUS_200);
	assert_told(&b, "1 GET /a r1 200, 3 GET /c - ..., 5 GET /d - 200...");
}

/* Blocks that are none: the stream is there, and what was said before is forgotten. */
static void test_damaged(void)
{
	struct both b;
	open_connection(&b, true);
	ask(&b, 1, GET PATH "/a" ID "r1");
	ask(&b, 3, "\xff\xff\xff\xff\xff\xff");
	ask(&b, 5, GET SECOND NEWEST);
	send(&b, CLIENT, DTC_FRAME_HEADERS, 0xd, 7, "\x7fpadded more than there is");
	assert_told(&b, "1 GET /a r1 ..., 3 ? ? - ..., 5 GET ? - ..., 7 ? ? - ...");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/http2-streams/many", test_many);
	g_test_add_func("/http2-streams/said-before", test_said_before);
	g_test_add_func("/http2-streams/middle", test_middle);
	g_test_add_func("/http2-streams/lost", test_lost);
	g_test_add_func("/http2-streams/answers-alone", test_answers_alone);
	g_test_add_func("/http2-streams/shapes", test_shapes);
	g_test_add_func("/http2-streams/damaged", test_damaged);
	return g_test_run();
}
