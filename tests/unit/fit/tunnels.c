/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two nodes that talk in a tunnel only, captured on "any" device: from the files to the clocks. */
#include "collect/packets/node_captures.h"
#include "sync/fit/fit.h"
#include "tests/support/made_tunnel.h"

#define AHEAD_NS G_GINT64_CONSTANT(7000000000)		/* b's clock */
#define BEGIN_NS G_GINT64_CONSTANT(1700000000000000001) /* no round number: it is not in microseconds */
#define MESSAGES 200

/* Adds the sighting of a packet on an interface; direction as the link layer has it: 4 outgoing, 0 to us. */
static void see(GByteArray *file, gint64 time_ns, guint interface, guint direction, const GByteArray *packet)
{
	GByteArray *frame = g_byte_array_new();
	made_net(frame, 0x0800, 2);
	made_net(frame, 0, 2);
	made_net(frame, interface, 4);
	made_net(frame, 1, 2);
	made_net(frame, direction, 1);
	made_net(frame, 6, 1);
	made_net(frame, 0x0200000000010000, 8);
	g_byte_array_append(frame, packet->data, packet->len);
	made_capture_add(file, time_ns, frame, 0, 0);
}

static GByteArray *make_segment(gboolean is_back, guint32 number)
{
	GByteArray *packet = g_byte_array_new();
	made_ipv4(packet, is_back ? 22 : 21, is_back ? 21 : 22, 6, 20 + 32 + 10, 0, 0, 64);
	made_checksum(packet, 0);
	made_tcp(packet, is_back ? 80 : 4000, is_back ? 4000 : 80, 1000 + 10 * number, 1, 0x18, number + 1);
	made_zero(packet, 10);
	return packet;
}

/*
 * One segment: on the sender's virtual device and bridge as it is, on its card in the envelope, and back on the other
 * side. True times; the sender's card has it at time_ns, the receiver's 50 us later.
 */
static void send(GByteArray *const files[2], guint from, gint64 time_ns, guint32 number, enum made_envelope kind)
{
	g_autoptr(GByteArray) inner = make_segment(from == 1, number);
	g_autoptr(GByteArray) outer =
		made_envelope(kind, (guint8)(1 + from), (guint8)(2 - from), make_segment(from == 1, number));
	gint64 sent_ns = time_ns + (from == 1 ? AHEAD_NS : 0);
	gint64 received_ns = time_ns + 50000 + (from == 0 ? AHEAD_NS : 0);
	see(files[from], sent_ns - 9000, 5, 4, inner);
	see(files[from], sent_ns - 5000, 4, 4, inner);
	see(files[from], sent_ns, 2, 4, outer);
	see(files[!from], received_ns, 2, 0, outer);
	see(files[!from], received_ns + 5000, 4, 0, inner);
	see(files[!from], received_ns + 9000, 5, 0, inner);
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

static void test_envelope(gconstpointer data)
{
	enum made_envelope kind = (enum made_envelope)GPOINTER_TO_UINT(data);
	GByteArray *files[2] = { made_capture_new(MADE_COOKED2), made_capture_new(MADE_COOKED2) };
	for (guint32 i = 0; i < MESSAGES; i++) {
		send(files, 0, BEGIN_NS + i * 1000000, i, kind);
		send(files, 1, BEGIN_NS + i * 1000000 + 300000, i, kind);
	}
	g_autoptr(DtcPackets) a = read_capture(files[0]), b = read_capture(files[1]);
	const struct dtc_match_source sources[] = { { .node = "a", .capture = a }, { .node = "b", .capture = b } };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcMatches) matches = dtc_match_packets(sources, 2, NULL, findings);
	struct dtc_match_pair pair;
	g_assert_cmpuint(dtc_matches_get_pair_count(matches), ==, 1);
	dtc_matches_get_pair(matches, 0, &pair);
	g_assert_cmpuint(pair.ab_count, ==, MESSAGES);
	g_assert_cmpuint(pair.ba_count, ==, MESSAGES);
	g_assert_cmpuint(pair.unmatched_a + pair.unmatched_b + pair.ambiguous, ==, 0);
	for (guint i = 0; i < MESSAGES; i++) /* on the wire: not 9 us earlier, not 9 us later */
		g_assert_cmpint(pair.ab[i].received_ns - pair.ab[i].sent_ns, ==, AHEAD_NS + 50000);
	struct dtc_fit_options options = dtc_fit_options_default();
	options.reference = 0;
	g_autoptr(DtcSync) sync = dtc_fit_clocks(matches, &options, findings, NULL);
	g_assert_true(dtc_sync_is_complete(sync));
	const DtcClocks *clocks = dtc_sync_get_clocks(sync);
	for (gint64 at = BEGIN_NS; at < BEGIN_NS + MESSAGES * 1000000; at += 777777) {
		DtcNodeTime time = { at + AHEAD_NS };
		DtcClusterTime lo, hi;
		dtc_clocks_get_bounds(clocks, 1, time, &lo, &hi);
		g_assert_cmpint(lo.ns, <=, at);
		g_assert_cmpint(hi.ns, >=, at);
		g_assert_cmpint(hi.ns - lo.ns, <=, 110000);
		g_assert_cmpint(ABS(dtc_clocks_to_cluster(clocks, 1, time).ns - at), <=, 1000);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/fit/tunnels/vxlan", GUINT_TO_POINTER(MADE_VXLAN), test_envelope);
	g_test_add_data_func("/fit/tunnels/gre", GUINT_TO_POINTER(MADE_GRE), test_envelope);
	g_test_add_data_func("/fit/tunnels/gre-key", GUINT_TO_POINTER(MADE_GRE_KEY), test_envelope);
	g_test_add_data_func("/fit/tunnels/gre-bridge", GUINT_TO_POINTER(MADE_GRE_BRIDGE), test_envelope);
	g_test_add_data_func("/fit/tunnels/ip-in-ip", GUINT_TO_POINTER(MADE_IP_IN_IP), test_envelope);
	return g_test_run();
}
