/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What applications sent, in any order and any pieces: ids become other ids, everything else goes, lengths stay. */
#include "collect/redact/connections.h"
#include "collect/packets/url_segment.h"

#include <string.h>

#define REQUEST                                                                                                        \
	"GET /cart/8123/items?user=alice HTTP/1.1\r\nHost: shop.example\r\nX-Request-Id: req-0111\r\n"                 \
	"X-Secret: swordfish\r\nContent-Length: 9\r\n\r\n"
#define BODY "swordfish"
#define RESPONSE "HTTP/1.1 200 Fine\r\nServer: nginx\r\nContent-Length: 9\r\nx-request-id: req-0111\r\n\r\n"

struct talk {
	DtcPseudonyms *words;
	DtcConnections *connections;
	struct dtc_connection_key to_server, to_client;
};

static struct talk begin_talk(void)
{
	struct talk talk = { .words = dtc_pseudonyms_new("a key of the tests", 18) };
	talk.connections = dtc_connections_new(talk.words, NULL);
	talk.to_server = (struct dtc_connection_key){ .source = { 1 }, .destination = { 2 }, 40000, 80 };
	talk.to_client = (struct dtc_connection_key){ .source = { 2 }, .destination = { 1 }, 80, 40000 };
	return talk;
}

static void end_talk(struct talk *talk)
{
	dtc_connections_free(talk->connections);
	dtc_pseudonyms_free(talk->words);
}

static void open_connection(struct talk *talk)
{
	const struct dtc_connection_segment syn = { .seq = 2, .is_begin = true };
	dtc_connections_add(talk->connections, &talk->to_server, &syn);
	dtc_connections_add(talk->connections, &talk->to_client, &syn);
}

/* A piece of text at a sequence number; lost: so many bytes of it were not captured. */
static void send_bytes(struct talk *talk, bool is_answer, uint32_t seq, char *text, gsize bytes, gsize lost)
{
	const struct dtc_connection_segment segment = { .seq = seq,
							.bytes = (uint32_t)bytes,
							.captured_bytes = (uint32_t)(bytes - lost),
							.data = (uint8_t *)text };
	dtc_connections_add(talk->connections, is_answer ? &talk->to_client : &talk->to_server, &segment);
}

static void send_text(struct talk *talk, bool is_answer, uint32_t seq, char *text)
{
	send_bytes(talk, is_answer, seq, text, strlen(text), 0);
}

static void check_gone(const char *text)
{
	static const char *const secrets[] = { "alice", "shop", "example", "swordfish", "nginx", "Fine",
					       "0111",	"cart", "8123",	   "Secret",	"Host",	 "items" };
	for (gsize i = 0; i < G_N_ELEMENTS(secrets); i++)
		g_assert_null(strstr(text, secrets[i]));
}

/* "req-0111" becomes that everywhere. Caller frees. */
static char *get_id(const struct talk *talk)
{
	char *id = g_strdup("req-0111");
	dtc_pseudonyms_replace_text(talk->words, (uint8_t *)id, strlen(id), 0);
	return id;
}

static void check_request(const struct talk *talk, const char *text)
{
	g_autofree char *id = get_id(talk);
	g_autofree char *header = g_strconcat("X-Request-Id: ", id, "\r\n", NULL);
	check_gone(text);
	g_assert_nonnull(strstr(text, header));
	g_assert_true(g_str_has_prefix(text, "GET /"));
	g_assert_nonnull(strstr(text, " HTTP/1.1\r\n"));
	g_assert_nonnull(strstr(text, "\r\nContent-Length: 9\r\n\r\n"));
	g_auto(GStrv) parts = g_strsplit(text + 5, "/", 3);
	g_assert_true(dtc_url_segment_is_id(parts[1], strlen(parts[1])));
	g_assert_false(dtc_url_segment_is_id(parts[0], strlen(parts[0])));
}

static void test_messages(void)
{
	struct talk talk = begin_talk();
	char request[] = REQUEST BODY REQUEST BODY, response[] = RESPONSE BODY RESPONSE BODY;
	g_autofree char *id = get_id(&talk);
	open_connection(&talk);
	send_text(&talk, false, 2, request);
	send_text(&talk, true, 2, response);
	end_talk(&talk);
	check_gone(request);
	check_gone(response);
	g_assert_cmpuint(strlen(request), ==, 2 * strlen(REQUEST BODY));
	g_assert_true(g_str_has_prefix(response, "HTTP/1.1 200 ....\r\n"));
	char *second = response + strlen(RESPONSE BODY);
	g_assert_true(g_str_has_prefix(second, "HTTP/1.1 200 ....\r\n"));
	g_assert_nonnull(strstr(second, id));
}

/* However a message is cut, it is the same afterwards. */
static void test_any_pieces(void)
{
	for (gsize cut = 1; cut < strlen(REQUEST BODY); cut++) {
		struct talk talk = begin_talk();
		char whole[] = REQUEST BODY, pieces[] = REQUEST BODY;
		open_connection(&talk);
		send_bytes(&talk, false, 2, pieces, cut, 0);
		send_bytes(&talk, false, 2 + (uint32_t)cut, pieces + cut, strlen(pieces) - cut, 0);
		dtc_connections_free(talk.connections);
		talk.connections = dtc_connections_new(talk.words, NULL);
		open_connection(&talk);
		send_text(&talk, false, 2, whole);
		dtc_connections_free(talk.connections);
		check_request(&talk, whole);
		g_assert_cmpstr(pieces, ==, whole);
		dtc_pseudonyms_free(talk.words);
	}
}

static void test_order_and_repetition(void)
{
	struct talk talk = begin_talk();
	char whole[] = REQUEST BODY, again[] = REQUEST BODY, part[] = REQUEST BODY;
	open_connection(&talk);
	send_bytes(&talk, false, 2 + 60, whole + 60, strlen(whole) - 60, 0); /* waits for those before it */
	send_bytes(&talk, false, 2, whole, 60, 0);
	send_bytes(&talk, false, 2 + 60, again + 60, strlen(again) - 60, 0);
	send_bytes(&talk, false, 2, again, 60, 0);
	send_bytes(&talk, false, 2 + 70, part + 70, strlen(part) - 70, 0);
	dtc_connections_free(talk.connections);
	check_request(&talk, whole);
	g_assert_cmpstr(again, ==, whole);
	g_assert_cmpstr(part + 70, ==, whole + 70);
	dtc_pseudonyms_free(talk.words);
}

/* What comes after a hole is believed when it begins like a message, and nothing in between is left. */
static void test_holes(void)
{
	struct talk talk = begin_talk();
	char head[] = REQUEST, cut[] = REQUEST, next[] = REQUEST BODY, other[] = "X-Secret: swordfish alice\r\n";
	open_connection(&talk);
	send_bytes(&talk, false, 2, head, 50, 0);
	send_bytes(&talk, false, 5000, next, strlen(next), 0);
	send_bytes(&talk, false, 5000 + (uint32_t)strlen(next), cut, strlen(cut), strlen(cut) - 70);
	send_bytes(&talk, false, 20000, other, strlen(other), 0);
	end_talk(&talk);
	head[50] = cut[70] = 0;
	check_gone(head);
	check_gone(cut);
	check_gone(other);
	check_gone(next);
	g_assert_true(g_str_has_prefix(next, "GET /"));
}

static void test_bodies(void)
{
	struct talk talk = begin_talk();
	char head[] = "HEAD /x HTTP/1.1\r\n\r\n", get[] = "GET /x HTTP/1.1\r\n\r\n";
	char answers[] = RESPONSE "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9;alice=1\r\n" BODY
				  "\r\n0\r\nX-Trailer: alice\r\n\r\n" RESPONSE BODY;
	open_connection(&talk);
	send_text(&talk, false, 2, head);
	send_text(&talk, false, 2 + (uint32_t)strlen(head), get);
	send_text(&talk, false, 2 + (uint32_t)strlen(head) + (uint32_t)strlen(get), get);
	send_text(&talk, true, 2, answers);
	g_autofree char *id = get_id(&talk);
	end_talk(&talk);
	check_gone(answers);
	g_assert_nonnull(strstr(answers, "\r\nTransfer-Encoding: chunked\r\n\r\n9;"));
	g_auto(GStrv) parts = g_strsplit(answers, "HTTP/1.1 200 ", -1);
	g_assert_cmpuint(g_strv_length(parts), ==, 4);
	g_assert_nonnull(strstr(parts[3], id));
}

static void test_other_protocols(void)
{
	struct talk talk = begin_talk();
	char query[] = "Q\0\0\0\x20SELECT * FROM alice WHERE swordfish = 1\r\n",
	     tls[64] = "\x16\x03\x01\x02\x00swordfish";
	char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x9\x1\x4\0\0\0\x1swordfish\0\0\0\x4\1\0\0\0\0";
	open_connection(&talk);
	send_bytes(&talk, false, 2, query, sizeof(query) - 1, 0);
	send_bytes(&talk, true, 2, tls, sizeof(tls), 0);
	talk.to_server.source_port = 40001;
	open_connection(&talk);
	send_bytes(&talk, false, 2, preface, sizeof(preface) - 1, 0);
	end_talk(&talk);
	g_assert_null(g_strstr_len(query, sizeof(query), "alice"));
	g_assert_null(g_strstr_len(query, sizeof(query), "SELECT"));
	g_assert_cmpmem(tls, 5, "\x16\x03\x01\x02\x00", 5);
	g_assert_cmpint(tls[5], ==, '.');
	g_assert_true(g_str_has_prefix(preface, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
	g_assert_cmpmem(preface + 24, 9, "\0\0\x9\x1\x4\0\0\0\x1", 9);
	g_assert_cmpmem(preface + 33, 9, ".........", 9);
	g_assert_cmpmem(preface + 42, 9, "\0\0\0\x4\1\0\0\0\0", 9);
}

static void check_id(const char *header, const char *value, const char *form)
{
	g_autoptr(DtcPseudonyms) words = dtc_pseudonyms_new("a key of the tests", 18);
	g_autofree char *copy = g_strdup(value);
	dtc_line_replace_id(words, header, strlen(header), copy, strlen(copy));
	g_assert_true(g_regex_match_simple(form, copy, 0, 0));
	g_assert_cmpstr(copy, !=, value);
}

/* As the analysis takes them: capitals are small letters, and zeros are no id. */
static void test_same_ids(void)
{
	g_autoptr(DtcPseudonyms) words = dtc_pseudonyms_new("a key of the tests", 18);
	char small[] = "4bf92f3577b34da6:00f067aa0ba902b7:0:1", capital[] = "4BF92F3577B34DA6:00F067AA0BA902B7:0:1";
	char none[] = "00-00000000000000000000000000000000-0000000000000000-00";

	dtc_line_replace_id(words, "uber-trace-id", 13, small, strlen(small));
	dtc_line_replace_id(words, "Uber-Trace-Id", 13, capital, strlen(capital));
	g_assert_cmpstr(small, ==, capital);
	dtc_line_replace_id(words, "traceparent", 11, none, strlen(none));
	g_assert_cmpstr(none, ==, "00-00000000000000000000000000000000-0000000000000000-00");
}

static void test_ids(void)
{
	check_id("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		 "^00-[0-9a-f]{32}-[0-9a-f]{16}-01$");
	check_id("traceparent", "00-aaaabbbbccccddddeeeeffffaaaabbbb-aabbccddeeffaabb-01",
		 "^00-[0-9a-f]{32}-[0-9a-f]{16}-01$");
	check_id("B3", "80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1", "^[0-9a-f]{32}-[0-9a-f]{16}-1$");
	check_id("uber-trace-id", "4bf92f3577b34da6%3A00f067aa0ba902b7%3A0%3A1",
		 "^[0-9a-f]{16}%3A[0-9a-f]{16}%3A.%3A.$");
	check_id("sw8",
		 "1-dHJhY2UtMDAwMQ==-c2VnbWVudA==-3-c2VydmljZQ==-aW5z-cG9pbnQ=-MQ==", "^[0-9]-[A-Za-z0-9+/]{14}==-");
	check_id("x-request-id", "req-0111", "^[a-z]{3}-[0-9]{4}$");
}

/* Any bytes, cut anywhere: nothing but the bytes changes, and what was a secret is none. */
static void test_any_bytes(void)
{
	g_autoptr(GRand) random = g_rand_new_with_seed(7);
	for (guint round = 0; round < 300; round++) {
		struct talk talk = begin_talk();
		char bytes[8][512];
		open_connection(&talk);
		for (guint i = 0; i < 8; i++) {
			gsize count = (gsize)g_rand_int_range(random, 1, 512);
			for (gsize k = 0; k < count; k++)
				bytes[i][k] = (char)g_rand_int_range(random, 0, 256);
			if (count > sizeof(REQUEST) && g_rand_boolean(random))
				memcpy(bytes[i], g_rand_boolean(random) ? REQUEST : RESPONSE, sizeof(RESPONSE) - 1);
			send_bytes(&talk, g_rand_boolean(random), (uint32_t)g_rand_int_range(random, 0, 2048), bytes[i],
				   count, (gsize)g_rand_int_range(random, 0, (gint32)count));
		}
		end_talk(&talk);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/connections/messages", test_messages);
	g_test_add_func("/connections/any-pieces", test_any_pieces);
	g_test_add_func("/connections/order-and-repetition", test_order_and_repetition);
	g_test_add_func("/connections/holes", test_holes);
	g_test_add_func("/connections/bodies", test_bodies);
	g_test_add_func("/connections/other-protocols", test_other_protocols);
	g_test_add_func("/connections/ids", test_ids);
	g_test_add_func("/connections/same-ids", test_same_ids);
	g_test_add_func("/connections/any-bytes", test_any_bytes);
	return g_test_run();
}
