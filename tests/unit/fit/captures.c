/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two nodes of which nothing is there but captures, in the formats that tools write: one classic with microseconds,
 * little-endian, cut after 80 bytes, with two VLAN tags; one pcapng of two interfaces that count micro- and
 * nanoseconds. The clocks are three days apart, drift, and one of them steps. From the files to the clocks.
 */
#include "collect/packets/node_captures.h"
#include "sync/fit/clocks.h"
#include "sync/fit/fit.h"
#include "tests/support/made_tunnel.h"

#include <math.h>

#define BEGIN_NS G_GINT64_CONSTANT(1700000000000000000)
#define AHEAD_NS G_GINT64_CONSTANT(259200000012345)
#define STEP_NS 2000000
#define MESSAGES 400
#define SNAPSHOT_BYTES 80

static void put(GByteArray *file, guint64 value, guint bytes)
{
	for (guint i = 0; i < bytes; i++) {
		guint8 byte = (guint8)(value >> 8 * i);
		g_byte_array_append(file, &byte, 1);
	}
}

/* b's clock at the time of a's. */
static gint64 read_b(gint64 a_ns)
{
	gint64 since_ns = a_ns - BEGIN_NS;
	return a_ns + AHEAD_NS + since_ns / 25000 +
	       (since_ns >= MESSAGES / 2 * G_GINT64_CONSTANT(25000000) ? STEP_NS : 0);
}

static GByteArray *make_frame(gboolean is_back, guint32 number, guint flags, guint bytes, gboolean is_tagged)
{
	GByteArray *frame = g_byte_array_new();
	made_ethernet(frame, is_back ? 1 : 2, is_back ? 2 : 1, is_tagged ? 0x88a8 : 0x0800);
	if (is_tagged) {
		made_net(frame, 0x00058100, 4);
		made_net(frame, 0x00070800, 4);
	}
	guint at = frame->len;
	made_ipv4(frame, is_back ? 2 : 1, is_back ? 1 : 2, 6, 20 + 32 + bytes, 0x4000, 0, 64);
	made_checksum(frame, at);
	/* numbers that wrap on the way */
	guint32 there = 0xffffff00u + (number ? 1 + 300 * (number - 1) : 0),
		back = 77 + (number ? 1 + 900 * (number - 1) : 0);
	made_tcp(frame, is_back ? 80 : 4000, is_back ? 4000 : 80, is_back ? back : there,
		 flags == DTC_TCP_SYN ? 0
		 : is_back	      ? there + (number ? 300 : 1)
				      : back,
		 flags, number + 1);
	made_zero(frame, bytes);
	return frame;
}

static void add_classic(GByteArray *file, gint64 ns, GByteArray *frame)
{
	guint captured = MIN(frame->len, SNAPSHOT_BYTES);
	put(file, (guint64)(ns / 1000000000), 4);
	put(file, (guint64)(ns % 1000000000 / 1000), 4);
	put(file, captured, 4);
	put(file, frame->len, 4);
	g_byte_array_append(file, frame->data, captured);
	g_byte_array_unref(frame);
}

static void add_block(GByteArray *file, guint type, GByteArray *body)
{
	made_zero(body, (4 - body->len % 4) % 4);
	put(file, type, 4);
	put(file, body->len + 12, 4);
	g_byte_array_append(file, body->data, body->len);
	put(file, body->len + 12, 4);
	g_byte_array_unref(body);
}

static void add_packet(GByteArray *file, guint interface, gint64 ns, GByteArray *frame)
{
	GByteArray *body = g_byte_array_new();
	guint64 ticks = (guint64)(interface ? ns : ns / 1000);
	put(body, interface, 4);
	put(body, ticks >> 32, 4);
	put(body, ticks & 0xffffffff, 4);
	put(body, frame->len, 4);
	put(body, frame->len, 4);
	made_append(body, frame);
	add_block(file, 6, body);
}

/* Section header, and two interfaces whose stamps are in 10^-6 and 10^-9 s. */
static GByteArray *make_pcapng(void)
{
	GByteArray *file = g_byte_array_new(), *body = g_byte_array_new();
	put(body, 0x1a2b3c4d, 4);
	put(body, 1, 4);
	put(body, G_MAXUINT64, 8);
	add_block(file, 0x0a0d0d0a, body);
	for (guint i = 0; i < 2; i++) {
		body = g_byte_array_new();
		put(body, 1, 8);
		put(body, 0x00010009, 4);
		put(body, i ? 9 : 6, 4);
		put(body, 0, 4);
		add_block(file, 1, body);
	}
	return file;
}

/* One frame over the wire, at the time of a's clock; a's file and b's. */
static void go(GByteArray *const files[2], gint64 sent_ns, gint64 received_ns, gboolean is_back, guint32 number,
	       guint flags, guint bytes)
{
	gint64 on_a = is_back ? received_ns : sent_ns, on_b = is_back ? sent_ns : received_ns;
	add_classic(files[0], on_a, make_frame(is_back, number, flags, bytes, TRUE));
	add_packet(files[1], is_back, read_b(on_b), make_frame(is_back, number, flags, bytes, FALSE));
}

static DtcPackets *read_capture(GByteArray *file)
{
	g_autofree char *path = made_capture_write(file, file->len);
	const char *const paths[] = { path, NULL };
	DtcPackets *packets = dtc_packets_new();
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcNodeCaptures) captures = dtc_node_captures_new("made", paths, NULL, packets, findings);
	const struct dtc_captured *captured;
	uint32_t id;
	while ((captured = dtc_node_captures_next(captures, &id)))
		g_assert_cmpint(captured->direction, !=, DTC_CAPTURE_UNKNOWN);
	g_assert_true(dtc_node_captures_finish(captures, NULL));
	g_assert_cmpuint(dtc_findings_get_count(findings), ==, 0);
	dtc_packets_seal(packets);
	g_byte_array_unref(file);
	g_unlink(path);
	return packets;
}

static void test_formats(void)
{
	GByteArray *files[2] = { g_byte_array_new(), make_pcapng() };
	guint64 random = 12345;
	put(files[0], 0xa1b2c3d4, 4);
	put(files[0], 0x00040002, 4);
	put(files[0], 0, 8);
	put(files[0], SNAPSHOT_BYTES, 4);
	put(files[0], MADE_ETHERNET, 4);
	/* the handshake tells whose captures these are */
	go(files, BEGIN_NS - 9000000, BEGIN_NS - 8900000, FALSE, 0, DTC_TCP_SYN, 0);
	go(files, BEGIN_NS - 8890000, BEGIN_NS - 8790000, TRUE, 0, DTC_TCP_SYN | DTC_TCP_ACK, 0);
	go(files, BEGIN_NS - 8780000, BEGIN_NS - 8680000, FALSE, 1, DTC_TCP_ACK, 0);
	for (guint32 i = 1; i <= MESSAGES; i++) {
		gint64 at = BEGIN_NS + (i - 1) * G_GINT64_CONSTANT(25000000), delays[2];
		for (guint k = 0; k < 2; k++) {
			random = random * G_GUINT64_CONSTANT(6364136223846793005) + 1442695040888963407u;
			/* some so short that what is lost to a microsecond would turn them round */
			delays[k] = 100 + (gint64)(random >> (i % 10 ? 48 : 54));
		}
		go(files, at + 137, at + 137 + delays[0], FALSE, i, DTC_TCP_ACK, 300);
		go(files, at + 5000731, at + 5000731 + delays[1], TRUE, i, DTC_TCP_ACK, 900);
	}
	g_autoptr(DtcPackets) a = read_capture(files[0]), b = read_capture(files[1]);
	const struct dtc_match_source sources[] = { { .node = "a", .capture = a }, { .node = "b", .capture = b } };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcMatches) matches = dtc_match_packets(sources, 2, NULL, findings);
	struct dtc_match_pair pair;
	g_assert_cmpuint(dtc_matches_get_pair_count(matches), ==, 1);
	dtc_matches_get_pair(matches, 0, &pair);
	g_assert_cmpuint(pair.ab_count, >=, MESSAGES);
	g_assert_cmpuint(pair.ba_count, >=, MESSAGES);
	for (guint i = 0; i < pair.ab_count; i++)
		g_assert_cmpint(pair.ab[i].received_ns, >=, read_b(pair.ab[i].sent_ns));
	for (guint i = 0; i < pair.ba_count; i++)
		g_assert_cmpint(read_b(pair.ba[i].received_ns), >=, pair.ba[i].sent_ns);
	struct dtc_fit_options options = dtc_fit_options_default();
	options.reference = 0;
	g_autoptr(DtcSync) sync = dtc_fit_clocks(matches, &options, findings, NULL);
	g_assert_true(dtc_sync_is_complete(sync));
	const struct dtc_sync_pair *found = dtc_sync_get_pair(sync, 0);
	g_assert_cmpuint(found->step_count, ==, 1);
	g_assert_cmpint(ABS(found->steps[0].change_ns - STEP_NS), <, 10000);
	g_assert_cmpuint(found->trimmed_count, ==, 0);
	g_assert_cmpfloat(fabs(found->drift_ppm - 40), <, 2); /* the step is no drift */
	const DtcClocks *clocks = dtc_sync_get_clocks(sync);
	g_assert_cmpfloat(fabs(dtc_clocks_get_rate(clocks, 1) * 1e6 - 40), <, 2);
	for (gint64 at = BEGIN_NS; at < BEGIN_NS + MESSAGES * G_GINT64_CONSTANT(25000000); at += 7777777) {
		DtcNodeTime time = { read_b(at) };
		DtcClusterTime lo, hi;
		dtc_clocks_get_bounds(clocks, 1, time, &lo, &hi);
		g_assert_cmpint(lo.ns, <=, at);
		g_assert_cmpint(hi.ns, >=, at);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fit/captures/formats", test_formats);
	return g_test_run();
}
