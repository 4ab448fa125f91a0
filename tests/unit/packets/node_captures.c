/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Captures of one node as its packets: directions, interfaces, files that are not there, foreign traffic. */
#include "collect/packets/node_captures.h"
#include "tests/support/made_tunnel.h"

#define SENT 4 /* packet types of the cooked link layer */
#define TO_US 0
#define TO_OTHERS 3

static GByteArray *make_segment(void)
{
	GByteArray *packet = g_byte_array_new();
	made_ipv4(packet, 21, 22, 6, 20 + 32, 0, 0, 64);
	made_checksum(packet, 0);
	made_tcp(packet, 4000, 80, 1000, 1, 0x10, 1);
	return packet;
}

/* Appends a packet as it is seen on an interface, and frees it. */
static void see(GByteArray *file, gint64 time_ns, guint interface, guint type, GByteArray *packet)
{
	GByteArray *frame = g_byte_array_new();
	made_net(frame, 0x0800, 2);
	made_net(frame, 0, 2);
	made_net(frame, interface, 4);
	made_net(frame, 1, 2);
	made_net(frame, type, 1);
	made_net(frame, 6, 1);
	made_net(frame, 0x0200000000010000, 8);
	made_append(frame, packet);
	made_capture_add(file, time_ns, frame, 0, 0);
}

static char *write_file(GByteArray *file)
{
	char *path = made_capture_write(file, file->len);
	g_byte_array_unref(file);
	return path;
}

static const char *get_interface(const DtcPackets *packets, uint32_t id)
{
	return dtc_packets_get_interface(packets, dtc_packets_get(packets, id).interface);
}

static void test_files(void)
{
	GByteArray *first = made_capture_new(MADE_COOKED2), *last = made_capture_new(MADE_RAW);
	see(first, 10, 2, SENT, make_segment());
	see(first, 20, 3, TO_US, make_segment());
	see(first, 30, 3, TO_US, made_envelope(MADE_GRE, 1, 2, make_segment()));
	guint first_bytes = first->len, last_bytes = last->len + 16 + 52;
	made_capture_add(last, 15, make_segment(), 0, 0);
	g_autofree char *first_path = write_file(first), *last_path = write_file(last);
	const char *const paths[] = { first_path, "/nonexistent/made.pcap", last_path, NULL };

	g_autoptr(DtcPackets) packets = dtc_packets_new();
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcNodeCaptures) captures = dtc_node_captures_new("made", paths, NULL, packets, findings);
	const struct dtc_captured *captured;
	int64_t last_ns = 0;
	uint32_t id, count = 0;
	g_assert_cmpuint(dtc_node_captures_measure(paths), ==, first_bytes + last_bytes);
	while ((captured = dtc_node_captures_next(captures, &id))) {
		g_assert_cmpuint(id, ==, count++);
		g_assert_cmpint(dtc_packets_get_time_ns(packets, id), ==, captured->time_ns);
		guint64 bytes = dtc_node_captures_get_consumed_bytes(captures);
		g_assert_cmpuint(bytes, >, 0);
		g_assert_cmpuint(bytes, <=, first_bytes + last_bytes);
		g_assert_cmpint(captured->time_ns, >, last_ns);
		last_ns = captured->time_ns;
	}
	g_assert_null(dtc_node_captures_next(captures, &id));
	g_assert_cmpuint(count, ==, 4);
	g_assert_cmpuint(dtc_node_captures_get_consumed_bytes(captures), ==, first_bytes + last_bytes);
	g_assert_cmpuint(dtc_packets_get_direction(packets, 0), ==, DTC_SENT);
	g_assert_cmpuint(dtc_packets_get_direction(packets, 1), ==, DTC_RECEIVED);
	g_assert_cmpuint(dtc_packets_get_direction(packets, 2), ==, DTC_RECEIVED);
	g_assert_cmpuint(dtc_packets_get_direction(packets, 3), ==, DTC_RECEIVED);
	g_assert_cmpstr(get_interface(packets, 0), ==, "2, tunnels 0");
	g_assert_cmpstr(get_interface(packets, 1), ==, ""); /* raw: nothing tells */
	g_assert_cmpstr(get_interface(packets, 2), ==, "3, tunnels 0");
	g_assert_cmpstr(get_interface(packets, 3), ==, "3, tunnels 1"); /* another place than outside of the tunnel */

	g_assert_cmpuint(dtc_node_captures_get_file_count(captures), ==, 2);
	g_assert_cmpuint(dtc_findings_get_count(findings), ==, 1);
	g_assert_cmpstr(dtc_findings_get(findings, 0)->node, ==, "made");
	g_autoptr(GError) error = NULL;
	g_assert_false(dtc_node_captures_finish(captures, &error));
	g_assert_nonnull(strstr(error->message, "/nonexistent/made.pcap"));
	g_unlink(first_path);
	g_unlink(last_path);
}

/* Who wants no more is told of what was odd until then. */
static void test_left_early(void)
{
	GByteArray *file = made_capture_new(MADE_RAW);
	for (guint i = 0; i < 3; i++)
		made_capture_add(file, 10 + i, make_segment(), 0, 0);
	g_autofree char *path = write_file(file);
	const char *const paths[] = { path, "/nonexistent/made.pcap", NULL };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcNodeCaptures) captures = dtc_node_captures_new("made", paths, NULL, NULL, findings);
	uint32_t id;
	g_assert_nonnull(dtc_node_captures_next(captures, &id));
	g_assert_false(dtc_node_captures_finish(captures, NULL));
	g_assert_cmpuint(dtc_findings_get_count(findings), ==, 1);
	g_assert_false(dtc_findings_get_complete(findings));
	g_assert_null(dtc_node_captures_next(captures, &id));
	g_assert_cmpuint(dtc_findings_get_count(findings), ==, 1);
	g_unlink(path);
}

/* Two packets of the node's own among others that pass by: with as many it is still its capture, with more not. */
static void test_foreign(void)
{
	for (guint others = 1; others <= 3; others++) {
		GByteArray *file = made_capture_new(MADE_COOKED2);
		see(file, 10, 2, SENT, make_segment());
		see(file, 11, 2, TO_US, make_segment());
		for (guint i = 0; i < others; i++)
			see(file, 20 + i, 2, TO_OTHERS, make_segment());
		g_autofree char *path = write_file(file);
		const char *const paths[] = { path, NULL };
		g_autoptr(DtcFindings) findings = dtc_findings_new();
		g_autoptr(DtcNodeCaptures) captures = dtc_node_captures_new("made", paths, NULL, NULL, findings);
		uint32_t id, count = 0;
		g_assert_false(dtc_node_captures_are_foreign(captures));
		for (; dtc_node_captures_next(captures, &id); count++)
			g_assert_cmpuint(id, ==, DTC_NONE);
		g_assert_cmpuint(count, ==, 2 + others);
		g_assert_true(dtc_node_captures_finish(captures, NULL));
		g_assert_cmpint(dtc_node_captures_are_foreign(captures), ==, others > 2);
		g_unlink(path);
	}
}

/* A rotation: more files than stay open, each with its time, given in another order. */
static void test_rotation(void)
{
	enum { FILES = 150 };
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < FILES; i++) {
		GByteArray *file = made_capture_new(MADE_COOKED2);
		gint64 turn = (gint64)(i * 77 % FILES);
		see(file, 1000 + turn * 10, 2, SENT, make_segment());
		see(file, 1000 + turn * 10 + 5, 2, SENT, make_segment());
		g_ptr_array_add(paths, write_file(file));
	}
	g_ptr_array_add(paths, NULL);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcNodeCaptures) captures =
		dtc_node_captures_new("made", (const char *const *)paths->pdata, NULL, NULL, findings);
	const struct dtc_captured *captured;
	uint32_t id, count = 0;
	for (; (captured = dtc_node_captures_next(captures, &id)); count++)
		g_assert_cmpint(captured->time_ns, ==, 1000 + count * 5);
	g_assert_cmpuint(count, ==, 2 * FILES);
	g_assert_cmpuint(dtc_node_captures_get_file_count(captures), ==, FILES);
	g_assert_cmpuint(dtc_findings_get_count(findings), ==, 0);
	for (guint i = 0; i < FILES; i++)
		g_unlink(g_ptr_array_index(paths, i));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/packets/node-captures/files", test_files);
	g_test_add_func("/packets/node-captures/left-early", test_left_early);
	g_test_add_func("/packets/node-captures/foreign", test_foreign);
	g_test_add_func("/packets/node-captures/rotation", test_rotation);
	return g_test_run();
}
