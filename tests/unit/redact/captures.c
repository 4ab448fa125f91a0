/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Captures made by hand: what of headers goes and stays, envelopes, other protocols, what is in no packet. */
#include "collect/packets/capture.h"
#include "collect/packets/frame.h"
#include "collect/redact/capture_file.h"
#include "dtrace-chain/error.h"
#include "tests/support/made_capture.h"

#define TCP 6
#define UDP 17
#define SECRET "swordfish of alice"

struct fixture {
	DtcPseudonyms *words;
	DtcAddresses *addresses;
};

static struct fixture begin(void)
{
	struct fixture fixture = { dtc_pseudonyms_new("a key of the tests", 18), NULL };
	fixture.addresses = dtc_addresses_new(fixture.words);
	return fixture;
}

static void end(struct fixture *fixture)
{
	dtc_addresses_free(fixture->addresses);
	dtc_pseudonyms_free(fixture->words);
}

static bool redact(struct fixture *fixture, GByteArray *file, bool has_addresses, GError **error)
{
	const struct dtc_capture_redaction redaction = { fixture->words, has_addresses ? fixture->addresses : NULL,
							 true, NULL };
	return dtc_capture_bytes_redact(&redaction, "made", file->data, file->len, error);
}

static bool holds(const GByteArray *file, const void *bytes, gsize count)
{
	for (gsize i = 0; i + count <= file->len; i++)
		if (memcmp(file->data + i, bytes, count) == 0)
			return true;
	return false;
}

static void check_gone(const GByteArray *file)
{
	static const guint8 address[] = { 10, 0, 0, 1 }, back[] = { 1, 0, 0, 10 };
	g_assert_false(holds(file, "swordfish", 9));
	g_assert_false(holds(file, "alice", 5));
	g_assert_false(holds(file, address, 4));
	g_assert_false(holds(file, back, 4));
}

static void put_text(GByteArray *to, const char *text)
{
	g_byte_array_append(to, (const guint8 *)text, (guint)strlen(text));
}

/* The right checksum of the IPv4 header at a place of a frame. */
static void set_checksum(GByteArray *frame, gsize at)
{
	guint sum = 0;
	frame->data[at + 10] = frame->data[at + 11] = 0;
	for (gsize i = 0; i < 20; i += 2)
		sum += (guint)frame->data[at + i] << 8 | frame->data[at + i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff;
	frame->data[at + 10] = (guint8)(sum >> 8);
	frame->data[at + 11] = (guint8)sum;
}

static guint get_sum(const guint8 *ip)
{
	guint sum = 0;
	for (gsize i = 0; i < 20; i += 2)
		sum += (guint)ip[i] << 8 | ip[i + 1];
	return (sum & 0xffff) + (sum >> 16);
}

static void test_tcp(void)
{
	struct fixture fixture = begin();
	GByteArray *frame = g_byte_array_new(), *file = made_capture_new(1);
	g_autoptr(GError) error = NULL;
	made_ethernet(frame, 2, 1, 0x0800);
	made_ipv4(frame, 1, 2, TCP, 20 + 32 + 18, 0, 0, 64);
	set_checksum(frame, 14);
	made_tcp(frame, 40000, 5432, 1000, 2000, 0x18, 77);
	put_text(frame, SECRET);
	put_text(frame, "padding of alice");
	made_capture_add(file, 1, g_byte_array_ref(frame), 0, 0);
	gsize at = file->len - frame->len;
	g_assert_true(redact(&fixture, file, true, &error));
	check_gone(file);
	const guint8 *ip = file->data + at + 14, *tcp = ip + 20;
	g_assert_cmpuint(get_sum(ip), ==, 0xffff);
	g_assert_cmpuint(ip[12], ==, 10);
	g_assert_cmpmem(tcp, 16, frame->data + 34, 16);	     /* ports, numbers, flags, window */
	g_assert_cmpmem(tcp + 20, 12, frame->data + 54, 12); /* times */
	for (gsize i = 70; i < frame->len - 14; i++)
		g_assert_cmpuint(ip[i], ==, 0);
	g_byte_array_unref(frame);
	g_byte_array_unref(file);
	end(&fixture);
}

static GByteArray *make_frame(void)
{
	GByteArray *frame = g_byte_array_new();
	made_ethernet(frame, 2, 1, 0x0800);
	made_ipv4(frame, 1, 2, TCP, 20 + 32 + 18, 0, 0, 64);
	made_tcp(frame, 40000, 5432, 1000, 2000, 0x18, 77);
	put_text(frame, SECRET);
	return frame;
}

static guint count_packets(const GByteArray *file)
{
	g_autofree char *path = made_capture_write(file, file->len);
	g_autoptr(DtcCapture) capture = dtc_capture_open("made", path, NULL);
	guint count = 0;
	while (dtc_capture_next(capture))
		count++;
	g_unlink(path);
	return count;
}

/* A machine that was told the time while it was recorded; a record that leads nowhere. */
static void test_steps(void)
{
	static const gint64 seconds[] = { 7, 8, 1700000000, 1700000001, 9, 10, 1700000002 };
	struct fixture fixture = begin();
	GByteArray *file = made_capture_new(1), *damaged = made_capture_new(1);
	for (guint i = 0; i < G_N_ELEMENTS(seconds); i++)
		made_capture_add(file, seconds[i] * 1000000000, make_frame(), 0, 0);
	g_assert_true(redact(&fixture, file, true, NULL));
	check_gone(file);
	g_assert_cmpuint(count_packets(file), ==, G_N_ELEMENTS(seconds));
	for (guint i = 0; i < 2; i++)
		made_capture_add(damaged, seconds[i] * 1000000000, make_frame(), 0, 0);
	made_capture_add(damaged, 1700000000000000000, make_frame(), 0, 0);
	put_text(damaged, "what is no record, of alice");
	g_assert_true(redact(&fixture, damaged, true, NULL));
	check_gone(damaged);
	g_assert_cmpuint(count_packets(damaged), ==, 2);
	g_byte_array_unref(file);
	g_byte_array_unref(damaged);
	end(&fixture);
}

/* Datagrams are told apart by what is in them, and are so afterwards. */
static void test_datagrams(void)
{
	static const char *const texts[] = { SECRET, SECRET, "another of alice 1", "another of alice 2" };
	struct fixture fixture = begin();
	GByteArray *file = made_capture_new(1);
	guint8 tokens[4][18];
	for (guint i = 0; i < 4; i++) {
		GByteArray *frame = g_byte_array_new();
		made_ethernet(frame, 2, 1, 0x0800);
		made_ipv4(frame, 1, 2, UDP, 20 + 8 + 18, 0, 0, 64);
		made_udp(frame, 40000, 53, 8 + 18);
		put_text(frame, texts[i]);
		made_capture_add(file, i, g_byte_array_ref(frame), 0, 0);
		g_byte_array_unref(frame);
	}
	g_assert_true(redact(&fixture, file, true, NULL));
	check_gone(file);
	for (guint i = 0; i < 4; i++)
		memcpy(tokens[i], file->data + 24 + (i + 1) * (16 + 60) - 18, 18);
	g_assert_cmpmem(tokens[0], 18, tokens[1], 18);
	g_assert_cmpint(memcmp(tokens[0], tokens[2], 18), !=, 0);
	g_assert_cmpint(memcmp(tokens[2], tokens[3], 18), !=, 0);
	g_byte_array_unref(file);
	end(&fixture);
}

static void add_vxlan(GByteArray *frame, bool is_right)
{
	guint inner = 14 + 20 + 32 + 18;
	made_ethernet(frame, 2, 1, 0x0800);
	made_ipv4(frame, 1, 2, UDP, 20 + 8 + 8 + inner, 0, 0, 64);
	made_udp(frame, 40000, 4789, 8 + 8 + inner);
	made_net(frame, 0x0800000000001200, 8);
	made_ethernet(frame, 4, 3, 0x0800);
	gsize at = frame->len;
	made_ipv4(frame, 1, 3, TCP, 20 + 32 + 18, 0, 0, 64);
	if (is_right)
		set_checksum(frame, at);
	made_tcp(frame, 40000, 80, 1, 1, 0x18, 1);
	put_text(frame, SECRET);
}

/* What is opened by our reader is redacted inside, and can be opened afterwards; all else in it goes. */
static void test_envelopes(void)
{
	for (guint is_right = 0; is_right < 2; is_right++) {
		struct fixture fixture = begin();
		GByteArray *frame = g_byte_array_new(), *file = made_capture_new(1);
		add_vxlan(frame, is_right);
		made_capture_add(file, 1, g_byte_array_ref(frame), 0, 0);
		g_assert_true(redact(&fixture, file, true, NULL));
		check_gone(file);
		struct dtc_captured captured;
		dtc_frame_decode(DTC_FRAME_ETHERNET, file->data + file->len - frame->len, frame->len, frame->len,
				 &captured);
		g_assert_cmpuint(captured.tunnel_count, ==, is_right);
		if (is_right)
			g_assert_cmpuint(captured.headers.destination_port, ==, 80);
		g_byte_array_unref(frame);
		g_byte_array_unref(file);
		end(&fixture);
	}
}

static void test_other_protocols(void)
{
	struct fixture fixture = begin();
	GByteArray *file = made_capture_new(1), *arp = g_byte_array_new(), *lldp = g_byte_array_new();
	GByteArray *icmp = g_byte_array_new(), *sctp = g_byte_array_new();
	made_ethernet(arp, 2, 1, 0x0806);
	made_net(arp, 0x0001080006040001, 8);
	made_net(arp, 0x020000000001, 6);
	made_net(arp, 0x0a000001, 4);
	made_net(arp, 0, 6);
	made_net(arp, 0x0a000002, 4);
	put_text(arp, SECRET);
	made_ethernet(lldp, 2, 1, 0x88cc);
	put_text(lldp, SECRET);
	made_ethernet(icmp, 2, 1, 0x0800);
	made_ipv4(icmp, 1, 2, 1, 20 + 8 + 20 + 18, 0, 0, 64);
	made_net(icmp, 0x0301000000000000, 8);
	made_ipv4(icmp, 2, 1, UDP, 100, 0, 0, 64);
	put_text(icmp, SECRET);
	made_ethernet(sctp, 2, 1, 0x0800);
	made_ipv4(sctp, 1, 2, 132, 20 + 18, 0, 0, 64);
	put_text(sctp, SECRET);
	GByteArray *const frames[] = { arp, lldp, icmp, sctp };
	for (guint i = 0; i < G_N_ELEMENTS(frames); i++) {
		made_capture_add(file, i, g_byte_array_ref(frames[i]), 0, 0);
		g_byte_array_unref(frames[i]);
	}
	g_assert_true(redact(&fixture, file, true, NULL));
	check_gone(file);
	g_byte_array_unref(file);
	end(&fixture);
}

/* Without addresses, payload alone goes. */
static void test_payload_alone(void)
{
	struct fixture fixture = begin();
	static const guint8 address[] = { 10, 0, 0, 1 };
	GByteArray *frame = g_byte_array_new(), *file = made_capture_new(1);
	made_ethernet(frame, 2, 1, 0x0800);
	made_ipv4(frame, 1, 2, TCP, 20 + 32 + 18, 0, 0, 64);
	made_tcp(frame, 40000, 5432, 1000, 2000, 0x18, 77);
	put_text(frame, SECRET);
	made_capture_add(file, 1, g_byte_array_ref(frame), 0, 0);
	g_assert_true(redact(&fixture, file, false, NULL));
	g_assert_false(holds(file, "swordfish", 9));
	g_assert_true(holds(file, address, 4));
	g_byte_array_unref(frame);
	g_byte_array_unref(file);
	end(&fixture);
}

static void test_refused(void)
{
	struct fixture fixture = begin();
	g_autoptr(GError) error = NULL;
	GByteArray *file = made_capture_new(105); /* IEEE 802.11 */
	g_assert_false(redact(&fixture, file, true, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE);
	g_clear_error(&error);
	memset(file->data, 'x', file->len);
	g_assert_false(redact(&fixture, file, true, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE);
	g_byte_array_unref(file);
	end(&fixture);
}

/* ---- pcapng ---- */

static void put_32(GByteArray *to, guint32 value)
{
	g_byte_array_append(to, (const guint8 *)&value, 4);
}

static void put_block(GByteArray *file, guint32 type, const GByteArray *body)
{
	guint32 length = 12 + body->len;
	put_32(file, type);
	put_32(file, length);
	g_byte_array_append(file, body->data, body->len);
	put_32(file, length);
}

/* An option of a text, padded. */
static void put_option(GByteArray *to, guint16 code, const char *text)
{
	guint16 length = (guint16)strlen(text);
	g_byte_array_append(to, (const guint8 *)&code, 2);
	g_byte_array_append(to, (const guint8 *)&length, 2);
	put_text(to, text);
	made_zero(to, (4 - length % 4) % 4);
}

static void put_section(GByteArray *file)
{
	g_autoptr(GByteArray) section = g_byte_array_new(), interface = g_byte_array_new();
	put_32(section, 0x1a2b3c4d);
	put_32(section, 1);
	put_32(section, G_MAXUINT32);
	put_32(section, G_MAXUINT32);
	put_option(section, 2, "alice's machine");
	put_option(section, 1, SECRET);
	put_32(section, 0);
	put_block(file, 0x0a0d0d0a, section);
	put_32(interface, 1);
	put_32(interface, 65535);
	put_option(interface, 2, "eth-alice");
	put_option(interface, 9, "\x09");
	put_32(interface, 0);
	put_block(file, 1, interface);
}

static void put_packet(GByteArray *file)
{
	g_autoptr(GByteArray) block = g_byte_array_new(), frame = make_frame();
	put_32(block, 0);
	put_32(block, 0);
	put_32(block, 1000);
	put_32(block, frame->len);
	put_32(block, frame->len);
	g_byte_array_append(block, frame->data, frame->len);
	made_zero(block, (4 - frame->len % 4) % 4);
	put_option(block, 1, SECRET);
	put_32(block, 0);
	put_block(file, 6, block);
}

static void test_pcapng(void)
{
	struct fixture fixture = begin();
	g_autoptr(GByteArray) file = g_byte_array_new(), names = g_byte_array_new();
	g_autoptr(GError) error = NULL;
	put_section(file);
	put_option(names, 1,
		   "\x0a\x01\x01\x01"
		   "alice.example");
	put_32(names, 0);
	put_block(file, 4, names);
	put_packet(file);
	put_block(file, 10, names); /* secrets of connections */
	put_text(file, "what is no block, of alice");
	g_assert_true(redact(&fixture, file, true, &error));
	g_assert_no_error(error);
	check_gone(file);
	g_assert_false(holds(file, "eth-", 4));
	g_autofree char *path = made_capture_write(file, file->len);
	g_autoptr(DtcCapture) capture = dtc_capture_open("made", path, &error);
	g_assert_no_error(error);
	const struct dtc_captured *captured = dtc_capture_next(capture);
	g_assert_nonnull(captured);
	g_assert_cmpint(captured->time_ns, ==, 1000); /* its resolution stayed */
	g_assert_cmpuint(captured->headers.seq, ==, 1000);
	g_assert_cmpuint(captured->headers.payload_bytes, ==, 18);
	g_unlink(path);
	end(&fixture);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/captures/tcp", test_tcp);
	g_test_add_func("/captures/steps", test_steps);
	g_test_add_func("/captures/datagrams", test_datagrams);
	g_test_add_func("/captures/envelopes", test_envelopes);
	g_test_add_func("/captures/other-protocols", test_other_protocols);
	g_test_add_func("/captures/payload-alone", test_payload_alone);
	g_test_add_func("/captures/refused", test_refused);
	g_test_add_func("/captures/pcapng", test_pcapng);
	return g_test_run();
}
