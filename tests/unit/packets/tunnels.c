/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets in VXLAN, GRE and IP in IP: the innermost one counts; what only looks like a tunnel stays what it is. */
#include "collect/packets/frame.h"
#include "tests/support/made_tunnel.h"

static GByteArray *make_inner(guint payload_bytes)
{
	GByteArray *inner = g_byte_array_new();
	made_ipv4(inner, 21, 22, 6, 20 + 32 + payload_bytes, 0, 0, 64);
	made_checksum(inner, 0);
	made_tcp(inner, 4000, 80, 1234, 99, 0x18, 55);
	for (guint i = 0; i < payload_bytes; i++)
		made_net(inner, i, 1);
	return inner;
}

static GByteArray *on_ethernet(GByteArray *packet)
{
	GByteArray *frame = g_byte_array_new();
	made_ethernet(frame, 2, 1, 0x0800);
	made_append(frame, packet);
	return frame;
}

static void decode(const GByteArray *frame, guint captured_bytes, struct dtc_captured *ret_captured)
{
	/* exactly as long as it is, for the sanitizer */
	g_autofree guint8 *copy = g_memdup2(frame->data, captured_bytes);
	dtc_frame_decode(DTC_FRAME_ETHERNET, copy, captured_bytes, frame->len, ret_captured);
	g_assert_cmpuint(ret_captured->payload_captured_bytes, <=, ret_captured->headers.payload_bytes);
	ret_captured->payload = NULL;
}

static void check_inner(const struct dtc_captured *captured, guint tunnels, guint payload_bytes)
{
	const struct dtc_headers *headers = &captured->headers;
	g_assert_cmpuint(captured->tunnel_count, ==, tunnels);
	g_assert_cmpuint(headers->protocol, ==, DTC_PROTOCOL_TCP);
	g_assert_true(headers->has_transport);
	g_assert_cmpuint(headers->source[15], ==, 21);
	g_assert_cmpuint(headers->destination[15], ==, 22);
	g_assert_cmpuint(headers->source_port, ==, 4000);
	g_assert_cmpuint(headers->seq, ==, 1234);
	g_assert_cmpuint(headers->payload_bytes, ==, payload_bytes);
	g_assert_cmpuint(captured->mac_source[5], ==, 1); /* of the frame, not of what is in it */
	g_assert_cmpuint(captured->mac_destination[5], ==, 2);
}

static void check_plain(const struct dtc_captured *captured, guint protocol)
{
	g_assert_cmpuint(captured->tunnel_count, ==, 0);
	g_assert_cmpuint(captured->headers.protocol, ==, protocol);
	g_assert_cmpuint(captured->headers.source[15], ==, 1);
	g_assert_cmpuint(captured->headers.destination[15], ==, 2);
}

static void test_envelopes(void)
{
	for (enum made_envelope kind = 0; kind < MADE_ENVELOPES; kind++) {
		struct dtc_captured captured;
		g_autoptr(GByteArray) frame = on_ethernet(made_envelope(kind, 1, 2, make_inner(30)));
		decode(frame, frame->len, &captured);
		check_inner(&captured, 1, 30);
		g_assert_cmpuint(captured.payload_captured_bytes, ==, 30);
		/* however little of it was kept: the inner packet, or the outer one, and never anything else */
		for (guint kept = 0; kept < frame->len; kept++) {
			decode(frame, kept, &captured);
			g_assert_cmpuint(captured.tunnel_count, <=, 1);
			if (captured.tunnel_count)
				g_assert_cmpuint(captured.headers.source[15], ==, 21);
			else if (captured.headers.ip_version)
				g_assert_cmpuint(captured.headers.source[15], ==, 1);
		}
		/* all but the payload */
		decode(frame, frame->len - 30, &captured);
		check_inner(&captured, 1, 30);
	}
}

static void test_ipv6_inside(void)
{
	GByteArray *inner = g_byte_array_new(), *outer = g_byte_array_new();
	made_ipv6(inner, 6, 32 + 10);
	made_tcp(inner, 4000, 80, 1234, 99, 0x18, 55);
	made_zero(inner, 10);
	made_ipv4(outer, 1, 2, 41, 20 + inner->len, 0, 0, 64);
	made_append(outer, inner);
	g_autoptr(GByteArray) frame = on_ethernet(outer);
	struct dtc_captured captured;
	decode(frame, frame->len, &captured);
	g_assert_cmpuint(captured.tunnel_count, ==, 1);
	g_assert_cmpuint(captured.headers.ip_version, ==, 6);
	g_assert_cmpuint(captured.headers.seq, ==, 1234);
	g_assert_cmpuint(captured.headers.payload_bytes, ==, 10);
}

/* The port that Linux took before there was one, which overlays of containers go on with. */
static void test_linux_port(void)
{
	enum { PORT = 14 + 20 + 2 };
	struct dtc_captured captured;
	g_autoptr(GByteArray) frame = on_ethernet(made_envelope(MADE_VXLAN, 1, 2, make_inner(5)));
	frame->data[PORT] = 8472 >> 8;
	frame->data[PORT + 1] = 8472 & 0xff;
	decode(frame, frame->len, &captured);
	check_inner(&captured, 1, 5);
}

/* A tunnel in a tunnel is opened, a bomb of them only so far. */
static void test_nested(void)
{
	struct dtc_captured captured;
	g_autoptr(GByteArray) two =
		on_ethernet(made_envelope(MADE_VXLAN, 1, 2, made_envelope(MADE_GRE_KEY, 3, 4, make_inner(5))));
	decode(two, two->len, &captured);
	check_inner(&captured, 2, 5);
	GByteArray *packet = make_inner(5);
	for (guint i = 0; i < 500; i++)
		packet = made_envelope(MADE_IP_IN_IP, 1, 2, packet);
	g_autoptr(GByteArray) bomb = on_ethernet(packet);
	decode(bomb, bomb->len, &captured);
	g_assert_cmpuint(captured.tunnel_count, ==, DTC_CAPTURE_TUNNELS);
	g_assert_cmpuint(captured.headers.protocol, ==, 4);
}

/* Other programs use the port, too, and their datagrams stay theirs. */
static void test_garbage(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(4789);
	for (guint round = 0; round < 50000; round++) {
		guint bytes = (guint)g_rand_int_range(rand, 0, 120);
		GByteArray *packet = g_byte_array_new();
		made_ipv4(packet, 1, 2, 17, 28 + bytes, 0, 0, 64);
		made_udp(packet, 999, 4789, 8 + bytes);
		for (guint i = 0; i < bytes; i++)
			made_net(packet, g_rand_int(rand) & 255, 1);
		if (round % 2 && bytes > 8) { /* with the header that VXLAN has */
			static const guint8 vxlan[8] = { 8 };
			memcpy(packet->data + 28, vxlan, 8);
		}
		g_autoptr(GByteArray) frame = on_ethernet(packet);
		struct dtc_captured captured;
		decode(frame, frame->len, &captured);
		check_plain(&captured, 17);
		g_assert_cmpuint(captured.headers.destination_port, ==, 4789);
		g_assert_cmpuint(captured.headers.payload_bytes, ==, bytes);
	}
}

/* Each of these is wrong in one place. */
static void test_refused(void)
{
	enum { OUTER = 14, UDP = OUTER + 20, VXLAN = UDP + 8, INNER = VXLAN + 8 + 14, GRE = OUTER + 20 };
	static const struct {
		enum made_envelope kind;
		guint at;
		guint8 flip;
	} cases[] = {
		{ MADE_VXLAN, UDP + 3, 0x01 },	     /* another port */
		{ MADE_VXLAN, VXLAN, 0x08 },	     /* no identifier */
		{ MADE_VXLAN, VXLAN + 2, 0x01 },     /* reserved */
		{ MADE_VXLAN, VXLAN + 7, 0x01 },     /* reserved */
		{ MADE_VXLAN, INNER, 0x20 },	     /* IP version */
		{ MADE_VXLAN, INNER + 11, 0x01 },    /* checksum */
		{ MADE_VXLAN, INNER + 2, 0x80 },     /* longer than its envelope */
		{ MADE_VXLAN, UDP + 4, 0x80 },	     /* a datagram longer than the packet: fragments follow */
		{ MADE_GRE, GRE, 0x40 },	     /* source routes */
		{ MADE_GRE, GRE + 1, 0x01 },	     /* version 1: PPTP */
		{ MADE_GRE, GRE + 2, 0x80 },	     /* mirrored: ERSPAN's type is 88be */
		{ MADE_GRE, GRE + 4 + 15, 0x01 },    /* checksum */
		{ MADE_IP_IN_IP, OUTER + 20, 0x20 }, /* IP version */
	};
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct dtc_captured captured;
		g_autoptr(GByteArray) frame = on_ethernet(made_envelope(cases[i].kind, 1, 2, make_inner(30)));
		decode(frame, frame->len, &captured);
		g_assert_cmpuint(captured.tunnel_count, ==, 1);
		frame->data[cases[i].at] ^= cases[i].flip;
		decode(frame, frame->len, &captured);
		check_plain(&captured, cases[i].kind == MADE_VXLAN ? 17 : cases[i].kind == MADE_IP_IN_IP ? 4 : 47);
	}
}

/* The envelope's later fragment has no tunnel header, whatever its bytes look like. */
static void test_fragment(void)
{
	g_autoptr(GByteArray) frame = on_ethernet(made_envelope(MADE_VXLAN, 1, 2, make_inner(30)));
	frame->data[14 + 7] = 100;
	struct dtc_captured captured;
	decode(frame, frame->len, &captured);
	check_plain(&captured, 17);
	g_assert_false(captured.headers.has_transport);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tunnels/envelopes", test_envelopes);
	g_test_add_func("/tunnels/ipv6-inside", test_ipv6_inside);
	g_test_add_func("/tunnels/linux-port", test_linux_port);
	g_test_add_func("/tunnels/nested", test_nested);
	g_test_add_func("/tunnels/garbage", test_garbage);
	g_test_add_func("/tunnels/refused", test_refused);
	g_test_add_func("/tunnels/fragment", test_fragment);
	return g_test_run();
}
