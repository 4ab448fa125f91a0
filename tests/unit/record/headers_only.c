/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What --headers-only leaves of a packet. */
#include "collect/record/headers_only.h"

#include <string.h>

#define LINK 20
#define IPV4 20
#define TCP 20

/* A packet of TCP over IPv4 as LINUX_SLL2; how long it is. */
static guint32 make_packet(uint8_t *packet, const char *payload, gsize bytes)
{
	memset(packet, 0, LINK + IPV4 + TCP);
	packet[0] = 0x08;
	packet[LINK] = 0x45;
	packet[LINK + 9] = 6;
	packet[LINK + IPV4 + 12] = 5 << 4;
	for (gsize i = 0; i < bytes; i++)
		packet[LINK + IPV4 + TCP + i] = (uint8_t)payload[i];
	return (guint32)(LINK + IPV4 + TCP + bytes);
}

/* What is left of the payload, as text. */
static char *cut(const char *payload, const char *const *more)
{
	uint8_t packet[4096];
	guint32 bytes = make_packet(packet, payload, strlen(payload));
	guint32 kept = dtc_headers_only_cut(packet, bytes, more);

	g_assert_cmpuint(kept, >=, LINK + IPV4 + TCP);
	g_assert_cmpuint(kept, <=, bytes);
	return g_strndup((const char *)packet + LINK + IPV4 + TCP, kept - (LINK + IPV4 + TCP));
}

static void assert_cut(const char *payload, const char *want)
{
	g_autofree char *got = cut(payload, NULL);
	g_assert_cmpstr(got, ==, want);
}

static void test_request(void)
{
	assert_cut("GET /a?b HTTP/1.1\r\nCookie: s=1\r\nX-Request-ID: 77\r\nTraceparent: 00-1\r\n\r\nbody",
		   "GET /a?b HTTP/1.1\r\nCookie:xxxx\r\nX-Request-ID: 77\r\nTraceparent: 00-1\r\n\r\n");
	assert_cut("POST / HTTP/1.1\r\nContent-Length: 4\r\nA:1\r\n\r\nbodyPUT /x HTTP/1.1\r\nB:2\r\n\r\nmore",
		   "POST / HTTP/1.1\r\nContent-Length: 4\r\nA:x\r\n\r\nxxxxPUT /x HTTP/1.1\r\nB:x\r\n\r\n");
}

static void test_response(void)
{
	assert_cut("HTTP/1.1 200 OK\r\nSet-Cookie: s=1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n",
		   "HTTP/1.1 200 OK\r\nSet-Cookie:xxxx\r\nTransfer-Encoding: chunked\r\n\r\n");
	/* a value that goes on in the next line, and one that was cut */
	assert_cut("HTTP/1.1 200 OK\r\nA: b\r\n secret\r\nAuthorization: Bea",
		   "HTTP/1.1 200 OK\r\nA:xx\r\nxxxxxxx\r\nAuthorization:xxxx");
}

static void test_other(void)
{
	assert_cut("*3\r\n$3\r\nSET\r\n", "");
	assert_cut("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "");
	assert_cut("secret: what follows in a second segment\r\n\r\n", "");
	assert_cut("", "");
	assert_cut("GET", "");
}

static void test_kept(void)
{
	static const char *const more[] = { "x-tenant", NULL };
	g_autofree char *got = cut("GET / HTTP/1.1\r\nX-Tenant: 5\r\nX-Tenants: 6\r\n\r\n", more);

	g_assert_cmpstr(got, ==, "GET / HTTP/1.1\r\nX-Tenant: 5\r\nX-Tenants:xx\r\n\r\n");
}

static void test_headers(void)
{
	uint8_t packet[4096];
	guint32 bytes = make_packet(packet, "payload", 7);

	packet[LINK + 9] = 17;
	g_assert_cmpuint(dtc_headers_only_cut(packet, bytes, NULL), ==, LINK + IPV4 + 8);
	packet[LINK + 9] = 1; /* ICMP carries what was sent, too */
	g_assert_cmpuint(dtc_headers_only_cut(packet, bytes, NULL), ==, LINK + IPV4);
	packet[LINK + 9] = 6;
	packet[LINK + 7] = 9; /* a later fragment */
	g_assert_cmpuint(dtc_headers_only_cut(packet, bytes, NULL), ==, LINK + IPV4);
	packet[0] = 0x12;
	g_assert_cmpuint(dtc_headers_only_cut(packet, bytes, NULL), ==, LINK);
}

static void test_ipv6(void)
{
	static const char payload[] = "GET / HTTP/1.1\r\nA: b\r\n\r\n";
	uint8_t packet[512] = { 0x86, 0xdd };

	packet[LINK + 6] = 0; /* hop by hop */
	packet[LINK + 40] = 6;
	packet[LINK + 48 + 12] = 5 << 4;
	memcpy(packet + LINK + 48 + TCP, payload, sizeof(payload) - 1);
	guint32 bytes = LINK + 48 + TCP + sizeof(payload) - 1;
	g_assert_cmpuint(dtc_headers_only_cut(packet, bytes, NULL), ==, bytes);
	g_assert_cmpint(packet[LINK + 48 + TCP + 18], ==, 'x');
	packet[LINK + 40] = 17;
	g_assert_cmpuint(dtc_headers_only_cut(packet, bytes, NULL), ==, LINK + 48 + 8);
}

/* Any bytes, any length: never more than there was, and nothing behind it is touched. */
static void test_any(void)
{
	static const char request[] = "GET / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n";
	g_autoptr(GRand) random = g_rand_new_with_seed(15);

	for (guint round = 0; round < 200000; round++) {
		uint8_t packet[256];
		for (gsize i = 0; i < sizeof(packet); i++)
			packet[i] = (uint8_t)g_rand_int(random);
		if (round % 2)
			make_packet(packet, request, sizeof(request) - 1);
		packet[g_rand_int_range(random, 0, 120)] = (uint8_t)g_rand_int(random);
		guint32 bytes = (guint32)g_rand_int_range(random, 0, 150);
		uint8_t behind[50];
		memcpy(behind, packet + bytes, sizeof(behind));
		g_assert_cmpuint(dtc_headers_only_cut(packet, bytes, NULL), <=, bytes);
		g_assert_cmpmem(behind, sizeof(behind), packet + bytes, sizeof(behind));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/headers-only/request", test_request);
	g_test_add_func("/record/headers-only/response", test_response);
	g_test_add_func("/record/headers-only/other", test_other);
	g_test_add_func("/record/headers-only/kept", test_kept);
	g_test_add_func("/record/headers-only/headers", test_headers);
	g_test_add_func("/record/headers-only/ipv6", test_ipv6);
	g_test_add_func("/record/headers-only/any", test_any);
	return g_test_run();
}
