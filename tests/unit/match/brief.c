/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is told in brief of a long connection with loss, and what is none. */
#define _GNU_SOURCE /* CPU_SET(3) */
#include "tests/support/brief_matches.h"

#include <sched.h>

#define SEGMENTS 6000
#define SEGMENT_BYTES 1448
#define AHEAD_NS G_GINT64_CONSTANT(259200000000000) /* b's clock: three days */

static struct dtc_headers make_headers(guint from)
{
	struct dtc_headers headers = { .ip_version = 4,
				       .protocol = DTC_PROTOCOL_TCP,
				       .has_transport = true,
				       .tcp_flags = DTC_TCP_ACK,
				       .source_port = from ? 80 : 4000,
				       .destination_port = from ? 4000 : 80,
				       .window = 500 };
	memset(headers.source + 10, 0xff, 2);
	memset(headers.destination + 10, 0xff, 2);
	headers.source[12] = headers.destination[12] = 10;
	headers.source[15] = (uint8_t)(1 + from);
	headers.destination[15] = (uint8_t)(2 - from);
	return headers;
}

static void see(DtcPackets *const packets[2], guint node, int64_t ns, enum dtc_direction direction,
		const struct dtc_headers *headers)
{
	dtc_packets_add(packets[node], ns + (node ? AHEAD_NS : 0), direction, 0,
			dtc_packets_add_interface(packets[node], "eth0"), headers);
}

/* Segments from a to b, of which some are lost, some sent again, and each that arrived is acknowledged. */
static void fill(DtcPackets *const packets[2])
{
	for (guint i = 0; i < SEGMENTS; i++) {
		struct dtc_headers data = make_headers(0), ack = make_headers(1);
		int64_t ns = (int64_t)i * 100000;
		bool is_lost = i % 97 == 5;
		data.seq = 1000 + (i % 301 == 7 ? i - 1 : i) * SEGMENT_BYTES;
		data.payload_bytes = SEGMENT_BYTES;
		data.ip_id = (uint16_t)i;
		ack.ack = data.seq + SEGMENT_BYTES;
		ack.ip_id = (uint16_t)(2 * i);
		see(packets, 0, ns, DTC_SENT, &data);
		if (is_lost)
			continue;
		see(packets, 1, ns + 20000, DTC_RECEIVED, &data);
		see(packets, 1, ns + 30000, DTC_SENT, &ack);
		see(packets, 0, ns + 50000, DTC_RECEIVED, &ack);
	}
}

static void test_long(void)
{
	DtcPackets *packets[2] = { dtc_packets_new(), dtc_packets_new() };
	struct dtc_match_source sources[2] = { { .node = "a" }, { .node = "b" } };
	g_autoptr(DtcFindings) findings = dtc_findings_new();

	fill(packets);
	for (guint i = 0; i < 2; i++) {
		dtc_packets_seal(packets[i]);
		sources[i].kernel = packets[i];
	}
	g_autoptr(DtcMatches) matches = dtc_match_packets(sources, 2, NULL, findings);
	struct dtc_match_pair pair;
	dtc_matches_get_pair(matches, 0, &pair);
	g_assert_cmpuint(pair.ab_count, >, SEGMENTS / 2);
	g_assert_cmpuint(pair.ba_count, >, SEGMENTS / 2);
	g_assert_cmpuint(pair.unmatched_a, >, SEGMENTS / 100);
	brief_matches_assert_same(sources, 2, matches);
	g_autoptr(DtcBrief) brief = brief_matches_carry(&sources[0]);
	g_assert_cmpuint(brief->passages->len, ==, 2);
	for (guint i = 0; i < 2; i++)
		g_assert_nonnull(g_array_index(brief->passages, struct dtc_brief_passage, i).packets);
	dtc_packets_free(packets[0]);
	dtc_packets_free(packets[1]);
}

static DtcBrief *load(const void *bytes, gsize count, GError **error)
{
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	dtc_image_add(writer, "brief", 1, bytes, count);
	g_autoptr(GBytes) file = dtc_image_to_bytes(writer, NULL);
	gsize file_bytes;
	const void *data = g_bytes_get_data(file, &file_bytes);
	g_autoptr(DtcImage) image = dtc_image_from_bytes(data, file_bytes, "brief", NULL);
	return dtc_brief_load(image, error);
}

static DtcPackets *make_short(void)
{
	DtcPackets *both[2] = { dtc_packets_new(), NULL };
	for (guint i = 0; i < 20; i++) {
		struct dtc_headers headers = make_headers(i % 2);
		headers.seq = 10 * i;
		headers.payload_bytes = 10;
		see(both, 0, i * 1000, i % 2 ? DTC_RECEIVED : DTC_SENT, &headers);
	}
	dtc_packets_seal(both[0]);
	return both[0];
}

/* The section of what is saved. Caller frees. */
static void *make_bytes(const struct dtc_match_source *source, gsize *ret_count)
{
	g_autoptr(DtcBrief) brief = dtc_brief_make(source, NULL);
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	dtc_brief_save(brief, writer);
	g_autoptr(GBytes) file = dtc_image_to_bytes(writer, NULL);
	gsize file_bytes;
	const void *data = g_bytes_get_data(file, &file_bytes);
	g_autoptr(DtcImage) image = dtc_image_from_bytes(data, file_bytes, "brief", NULL);
	const void *bytes = dtc_image_get(image, "brief", 1, ret_count, NULL);
	return g_memdup2(bytes, *ret_count);
}

/* What is told of the first of two is refused, is another's, or can be matched. */
static void match_damaged(const struct dtc_match_source *sources, const void *bytes, gsize count)
{
	struct dtc_match_source told[2] = { sources[0], sources[1] };
	g_autoptr(DtcBrief) brief = load(bytes, count, NULL);
	g_autoptr(DtcFindings) findings = dtc_findings_new();

	if (!brief || !dtc_brief_is_of(brief, &sources[0]))
		return;
	told[0].brief = brief;
	DtcMatches *matches = dtc_match_packets(told, 2, NULL, findings);
	dtc_matches_free(matches);
}

/* One CPU: to begin threads for twenty packets takes all the time, with sanitizers minutes of it. */
static void use_one_cpu(cpu_set_t *ret_before)
{
	cpu_set_t one;
	g_assert_no_errno(sched_getaffinity(0, sizeof(*ret_before), ret_before));
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, ret_before))
			CPU_SET(i, &one);
	g_assert_no_errno(sched_setaffinity(0, sizeof(one), &one));
}

/* The kernel's packets, and those of a capture beside. */
static void test_damaged(void)
{
	cpu_set_t before;
	use_one_cpu(&before);
	DtcPackets *packets = make_short();
	const struct dtc_match_source sources[2] = { { .node = "a", .kernel = packets, .capture = packets },
						     { .node = "b", .kernel = packets } };
	gsize count;
	g_autofree guint8 *bytes = make_bytes(&sources[0], &count);

	for (gsize cut = 0; cut < count; cut++) {
		g_autoptr(GError) error = NULL;
		g_assert_null(load(bytes, cut, &error));
		g_assert_nonnull(error);
	}
	for (gsize i = 0; i < count; i++) {
		for (guint value = 0; value < 256; value++) {
			guint8 was = bytes[i];
			bytes[i] = (guint8)value;
			match_damaged(sources, bytes, count);
			bytes[i] = was;
		}
	}
	dtc_packets_free(packets);
	g_assert_no_errno(sched_setaffinity(0, sizeof(before), &before));
}

/* Of passages whose packets are not there, and of those that are none of theirs. */
static void test_of_others(void)
{
	DtcPackets *packets = make_short(), *none = dtc_packets_new();
	dtc_packets_seal(none);
	const struct dtc_match_source own = { .node = "a", .kernel = packets };
	const struct dtc_match_source others[] = { { .node = "a", .kernel = none },
						   { .node = "a", .capture = packets },
						   { .node = "a" } };
	g_autoptr(DtcBrief) brief = brief_matches_carry(&own);
	g_assert_true(dtc_brief_is_of(brief, &own));
	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		g_assert_false(dtc_brief_is_of(brief, &others[i]));
	dtc_packets_free(packets);
	dtc_packets_free(none);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/match/brief/long", test_long);
	g_test_add_func("/match/brief/damaged", test_damaged);
	g_test_add_func("/match/brief/of-others", test_of_others);
	return g_test_run();
}
