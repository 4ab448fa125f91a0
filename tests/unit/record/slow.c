/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections as packets tell them, and which of their responses took too long. */
#include "collect/record/slow.h"

#include <string.h>

#define MS INT64_C(1000000)
#define CLIENT 40000
#define SERVER 80

static const struct dtc_slow_limit any = { .limit_ns = 200 * MS, .patience_ns = 5000 * MS };

/* A packet of its own bytes, from one port to another; both ends are 10.0.0.1. */
static char *look(DtcSlow *slow, int64_t ms, uint16_t from, uint16_t to, uint32_t bytes, uint8_t flags)
{
	static const uint8_t address[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1 };
	static uint32_t sent_bytes; /* by all */
	struct dtc_captured packet = { .time_ns = ms * MS,
				       .headers = { .source_port = from,
						    .destination_port = to,
						    .ip_version = 4,
						    .protocol = DTC_PROTOCOL_TCP,
						    .tcp_flags = flags,
						    .has_transport = true,
						    .seq = sent_bytes,
						    .payload_bytes = bytes } };

	sent_bytes += bytes;
	memcpy(packet.headers.source, address, sizeof(address));
	memcpy(packet.headers.destination, address, sizeof(address));
	return dtc_slow_look(slow, &packet);
}

static void expect_nothing(DtcSlow *slow, int64_t ms, uint16_t from, uint16_t to, uint32_t bytes)
{
	g_assert_null(look(slow, ms, from, to, bytes, DTC_TCP_ACK));
}

static void expect_slow(DtcSlow *slow, int64_t ms, uint16_t from, uint16_t to, const char *want)
{
	g_autofree char *text = look(slow, ms, from, to, 10, DTC_TCP_ACK);

	g_assert_cmpstr(text, ==, want);
}

/* From the first byte that was asked to the first that was answered, each time anew; acknowledgements are no answer. */
static void test_answers(void)
{
	g_autoptr(DtcSlow) slow = dtc_slow_new(&any);

	g_assert_null(look(slow, 0, CLIENT, SERVER, 0, DTC_TCP_SYN));
	g_assert_null(look(slow, 0, SERVER, CLIENT, 0, DTC_TCP_SYN | DTC_TCP_ACK));
	expect_nothing(slow, 1, CLIENT, SERVER, 100);
	expect_nothing(slow, 150, SERVER, CLIENT, 500);
	expect_nothing(slow, 900, SERVER, CLIENT, 500); /* more of the same */
	expect_nothing(slow, 1000, CLIENT, SERVER, 100);
	expect_nothing(slow, 1001, SERVER, CLIENT, 0);
	expect_nothing(slow, 1150, CLIENT, SERVER, 100); /* more of the question */
	expect_slow(slow, 1210, SERVER, CLIENT, "answered after 210 ms: 10.0.0.1:40000 asked 10.0.0.1:80");
	expect_nothing(slow, 1500, SERVER, CLIENT, 10);
}

/* Who sent the SYN asks, whatever the ports are; the same ports again are another connection. */
static void test_opened(void)
{
	g_autoptr(DtcSlow) slow = dtc_slow_new(&any);

	g_assert_null(look(slow, 0, 5000, 60000, 0, DTC_TCP_SYN));
	expect_nothing(slow, 1, 5000, 60000, 10);
	g_assert_null(look(slow, 900, 60000, 5000, 0, DTC_TCP_SYN));
	expect_nothing(slow, 1000, 5000, 60000, 10);
	expect_nothing(slow, 1300, 60000, 5000, 10);
	expect_slow(slow, 1600, 5000, 60000, "answered after 300 ms: 10.0.0.1:60000 asked 10.0.0.1:5000");
}

/* The begin was not seen: the port that was named is the server's, else the lower one. */
static void test_joined(void)
{
	const struct dtc_slow_limit named = { .limit_ns = 200 * MS, .patience_ns = 5000 * MS, .port = 50000 };
	g_autoptr(DtcSlow) lower = dtc_slow_new(&any);
	g_autoptr(DtcSlow) by_port = dtc_slow_new(&named);

	expect_nothing(lower, 0, SERVER, CLIENT, 10);
	expect_nothing(lower, 10, CLIENT, SERVER, 10);
	expect_slow(lower, 400, SERVER, CLIENT, "answered after 390 ms: 10.0.0.1:40000 asked 10.0.0.1:80");
	expect_nothing(by_port, 100, CLIENT, 50000, 10);
	expect_slow(by_port, 500, 50000, CLIENT, "answered after 400 ms: 10.0.0.1:40000 asked 10.0.0.1:50000");
	expect_nothing(by_port, 1000, CLIENT, SERVER, 10);
	expect_nothing(by_port, 2000, SERVER, CLIENT, 10);
}

/* A request that nobody answers is told once, also if its client gave up. */
static void test_unanswered(void)
{
	g_autoptr(DtcSlow) slow = dtc_slow_new(&any);

	expect_nothing(slow, 1, CLIENT, SERVER, 10);
	g_assert_null(look(slow, 3000, CLIENT, SERVER, 0, DTC_TCP_FIN | DTC_TCP_ACK));
	g_assert_null(dtc_slow_find_unanswered(slow, 4999 * MS));
	g_autofree char *text = dtc_slow_find_unanswered(slow, 5001 * MS);
	g_assert_cmpstr(text, ==, "not answered for 5000 ms: 10.0.0.1:40000 asked 10.0.0.1:80");
	g_assert_null(dtc_slow_find_unanswered(slow, 6000 * MS));
}

/* Goodbyes are answered by the end of the connection, whoever says it first. */
static void test_goodbyes(void)
{
	const uint8_t fin = DTC_TCP_FIN | DTC_TCP_ACK;
	g_autoptr(DtcSlow) slow = dtc_slow_new(&any);

	expect_nothing(slow, 1, CLIENT, SERVER, 10);
	g_assert_null(look(slow, 2, CLIENT, SERVER, 0, fin));
	g_assert_null(look(slow, 3, SERVER, CLIENT, 0, fin));
	expect_nothing(slow, 10, CLIENT + 1, SERVER, 10);
	g_assert_null(look(slow, 11, SERVER, CLIENT + 1, 0, DTC_TCP_RST));
	/* the server closes first */
	expect_nothing(slow, 20, CLIENT + 2, SERVER, 10);
	expect_nothing(slow, 21, SERVER, CLIENT + 2, 10);
	g_assert_null(look(slow, 100, SERVER, CLIENT + 2, 24, fin));
	g_assert_null(look(slow, 101, CLIENT + 2, SERVER, 24, fin));
	g_assert_null(dtc_slow_find_unanswered(slow, 9000 * MS));
	/* a request that is answered by closing after all was slow */
	expect_nothing(slow, 10000, CLIENT + 3, SERVER, 10);
	g_autofree char *text = look(slow, 10300, SERVER, CLIENT + 3, 0, fin);
	g_assert_cmpstr(text, ==, "answered after 300 ms: 10.0.0.1:40003 asked 10.0.0.1:80");
}

static char *look_at_bytes(DtcSlow *slow, int64_t ms, bool is_question, uint32_t seq, uint32_t bytes)
{
	struct dtc_captured packet = { .time_ns = ms * MS,
				       .headers = { .source_port = is_question ? CLIENT : SERVER,
						    .destination_port = is_question ? SERVER : CLIENT,
						    .ip_version = 4,
						    .protocol = DTC_PROTOCOL_TCP,
						    .tcp_flags = DTC_TCP_ACK,
						    .has_transport = true,
						    .seq = seq,
						    .payload_bytes = bytes } };

	return dtc_slow_look(slow, &packet);
}

/* What was asked before asks for nothing: a question sent again, and a keep-alive with its byte. Numbers wrap. */
static void test_repeated(void)
{
	const uint32_t begin = UINT32_MAX - 50;
	g_autoptr(DtcSlow) slow = dtc_slow_new(&any);

	g_assert_null(look_at_bytes(slow, 0, true, begin, 100));
	g_assert_null(look_at_bytes(slow, 10, false, 7, 100));
	g_assert_null(look_at_bytes(slow, 11, true, begin, 100));
	g_assert_null(look_at_bytes(slow, 6000, true, begin + 99, 1));
	g_assert_null(look_at_bytes(slow, 6001, false, 107, 0));
	g_assert_null(dtc_slow_find_unanswered(slow, 20000 * MS));
	g_assert_null(look_at_bytes(slow, 30000, true, begin + 90, 20)); /* ten bytes are new */
	g_autofree char *text = look_at_bytes(slow, 30300, false, 107, 10);
	g_assert_cmpstr(text, ==, "answered after 300 ms: [::]:40000 asked [::]:80");
}

/* Of a connection whose begin was not seen, a byte alone may be a keep-alive. */
static void test_kept_alive(void)
{
	g_autoptr(DtcSlow) slow = dtc_slow_new(&any);

	g_assert_null(look_at_bytes(slow, 0, true, 99, 1));
	g_assert_null(look_at_bytes(slow, 10000, true, 99, 1));
	g_assert_null(dtc_slow_find_unanswered(slow, 20000 * MS));
	g_assert_null(look_at_bytes(slow, 30000, true, 100, 20));
	g_autofree char *text = dtc_slow_find_unanswered(slow, 36000 * MS);
	g_assert_nonnull(text);
	g_assert_null(look(slow, 40000, CLIENT + 1, SERVER, 0, DTC_TCP_SYN));
	expect_nothing(slow, 40001, CLIENT + 1, SERVER, 2); /* the first byte is that of the SYN */
	g_autofree char *opened = dtc_slow_find_unanswered(slow, 46000 * MS);
	g_assert_nonnull(opened);
}

/* Memory stays bounded, and who waits for an answer is not forgotten for who does not. */
static void test_many(void)
{
	g_autoptr(DtcSlow) slow = dtc_slow_new(&any);

	expect_nothing(slow, 1, CLIENT, SERVER, 10);
	for (guint i = 0; i < 200000; i++)
		g_assert_null(look(slow, 1, (uint16_t)(1025 + i % 64000), (uint16_t)(1 + i / 64000), 0, DTC_TCP_SYN));
	expect_slow(slow, 400, SERVER, CLIENT, "answered after 399 ms: 10.0.0.1:40000 asked 10.0.0.1:80");
}

/* A packet of one of many connections that begin one after the other, each millisecond. */
static char *look_at_one(DtcSlow *slow, int64_t ms, guint number, bool is_question)
{
	uint16_t client = (uint16_t)(1025 + number % 64000), server = (uint16_t)(1 + number / 64000);

	return look(slow, ms, is_question ? client : server, is_question ? server : client, 10, DTC_TCP_ACK);
}

/* Where all wait, the one that has waited longest goes for a new one. That they are asked for each time costs little.
 */
static void test_all_wait(void)
{
	const struct dtc_slow_limit patient = { .limit_ns = 200 * MS, .patience_ns = INT64_MAX };
	g_autoptr(DtcSlow) slow = dtc_slow_new(&patient);
	const guint count = 65536 + 2;

	for (guint i = 0; i < count; i++) {
		g_assert_null(look_at_one(slow, i, i, true));
		g_assert_null(dtc_slow_find_unanswered(slow, i * MS));
	}
	for (guint i = count; i-- > 0;) {
		g_autofree char *text = look_at_one(slow, count + 1000, i, false);
		g_assert_cmpint(text != NULL, ==, i >= 2);
	}
}

/* Wall clocks are stepped: a request waits from then on. */
static void test_stepped(void)
{
	g_autoptr(DtcSlow) slow = dtc_slow_new(&any);

	expect_nothing(slow, 900000, CLIENT, SERVER, 10);
	g_assert_null(dtc_slow_find_unanswered(slow, 900001 * MS));
	g_assert_null(dtc_slow_find_unanswered(slow, 1000 * MS));
	expect_nothing(slow, 2000, CLIENT + 1, SERVER, 10);
	g_assert_null(dtc_slow_find_unanswered(slow, 5999 * MS));
	g_autofree char *first = dtc_slow_find_unanswered(slow, 7000 * MS);
	g_autofree char *second = dtc_slow_find_unanswered(slow, 7000 * MS);
	g_assert_cmpstr(first, ==, "not answered for 6000 ms: 10.0.0.1:40000 asked 10.0.0.1:80");
	g_assert_cmpstr(second, ==, "not answered for 5000 ms: 10.0.0.1:40001 asked 10.0.0.1:80");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/slow/answers", test_answers);
	g_test_add_func("/record/slow/opened", test_opened);
	g_test_add_func("/record/slow/joined", test_joined);
	g_test_add_func("/record/slow/unanswered", test_unanswered);
	g_test_add_func("/record/slow/goodbyes", test_goodbyes);
	g_test_add_func("/record/slow/repeated", test_repeated);
	g_test_add_func("/record/slow/kept-alive", test_kept_alive);
	g_test_add_func("/record/slow/many", test_many);
	g_test_add_func("/record/slow/all-wait", test_all_wait);
	g_test_add_func("/record/slow/stepped", test_stepped);
	return g_test_run();
}
