/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections as packets tell them, and which of their responses took too long. */
#include "collect/record/slow.h"

#include <string.h>

#define MS INT64_C(1000000)
#define CLIENT 40000
#define SERVER 80

static const struct dtc_slow_limit any = { .limit_ns = 200 * MS, .patience_ns = 5000 * MS };

/* A packet from one port to another; both ends are 10.0.0.1. */
static char *look(DtcSlow *slow, int64_t ms, uint16_t from, uint16_t to, uint32_t bytes, uint8_t flags)
{
	static const uint8_t address[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1 };
	struct dtc_captured packet = { .time_ns = ms * MS,
				       .headers = { .source_port = from,
						    .destination_port = to,
						    .ip_version = 4,
						    .protocol = DTC_PROTOCOL_TCP,
						    .tcp_flags = flags,
						    .has_transport = true,
						    .payload_bytes = bytes } };

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

/* Memory stays bounded, and who waits for an answer is not forgotten for who does not. */
static void test_many(void)
{
	g_autoptr(DtcSlow) slow = dtc_slow_new(&any);

	expect_nothing(slow, 1, CLIENT, SERVER, 10);
	for (guint i = 0; i < 200000; i++)
		g_assert_null(look(slow, 1, (uint16_t)(1025 + i % 64000), (uint16_t)(1 + i / 64000), 0, DTC_TCP_SYN));
	expect_slow(slow, 400, SERVER, CLIENT, "answered after 399 ms: 10.0.0.1:40000 asked 10.0.0.1:80");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/slow/answers", test_answers);
	g_test_add_func("/record/slow/opened", test_opened);
	g_test_add_func("/record/slow/joined", test_joined);
	g_test_add_func("/record/slow/unanswered", test_unanswered);
	g_test_add_func("/record/slow/goodbyes", test_goodbyes);
	g_test_add_func("/record/slow/many", test_many);
	return g_test_run();
}
