/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a capture's times are said to be wrong, beside those of its node's trace. */
#include "analyze/engine/capture_fit.h"

#include <string.h>

#define SECOND INT64_C(1000000000)
#define BEGIN (INT64_C(1795168700) * SECOND)
#define STEP_NS (SECOND / 100)
#define PACKETS 2600 /* 26 s of them */
#define HOUR (3600 * SECOND)

/* The times of packets: count of them from begin_ns on. */
struct times {
	int64_t begin_ns;
	int64_t step_ns;
	guint count;
};

static const struct times trace = { BEGIN, STEP_NS, PACKETS };

/* Of what is numbered alike both sources have the same packets. */
static DtcPackets *make_packets(const struct times *times, uint8_t host)
{
	DtcPackets *packets = dtc_packets_new();
	uint16_t interface = dtc_packets_add_interface(packets, "eth0");
	struct dtc_headers headers = { .ip_version = 4,
				       .protocol = DTC_PROTOCOL_TCP,
				       .has_transport = true,
				       .tcp_flags = 0x10,
				       .source_port = 4000,
				       .destination_port = 80,
				       .payload_bytes = 10 };
	memset(headers.source + 10, 0xff, 2);
	memset(headers.destination + 10, 0xff, 2);
	headers.source[12] = headers.destination[12] = 10;
	headers.source[15] = host;
	headers.destination[15] = 9;
	for (guint i = 0; i < times->count; i++) {
		headers.seq = 10 * i + 1;
		headers.ip_id = (uint16_t)i;
		dtc_packets_add(packets, times->begin_ns + i * times->step_ns, DTC_SENT, 0, interface, &headers);
	}
	dtc_packets_seal(packets);
	return packets;
}

/* What is said of the capture's times; word NULL: nothing. */
static void check(const struct times *kernel_times, const struct times *capture_times, bool is_shared, const char *word)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	DtcPackets *kernel = make_packets(kernel_times, 1), *capture = make_packets(capture_times, is_shared ? 1 : 2);
	struct dtc_match_source source = { "web", kernel, capture, NULL };
	g_autoptr(DtcMatches) matches = dtc_match_packets(&source, 1, NULL, findings);
	g_autofree char *text = dtc_capture_fit_describe_time(kernel, capture, matches, 0);
	if (word) {
		g_assert_nonnull(text);
		g_assert_nonnull(strstr(text, word));
	} else {
		g_assert_cmpstr(text, ==, NULL);
	}
	dtc_packets_free(kernel);
	dtc_packets_free(capture);
}

/* tcpdump ran all day, and somebody traced for half a minute of it; or the other way around. */
static void test_other_lengths(void)
{
	const struct times day = { BEGIN - 3 * HOUR, STEP_NS, 1000 * PACKETS };
	const struct times thin_day = { BEGIN - 3 * HOUR, 40 * STEP_NS, 25 * PACKETS };
	const struct times moment = { BEGIN + 13 * SECOND, STEP_NS, 3 };
	const struct times busy_moment = { BEGIN + 13 * SECOND, STEP_NS / 100, 260 };
	const struct times busy_trace = { BEGIN, STEP_NS / 100, 100 * PACKETS };
	check(&trace, &day, false, NULL);
	check(&trace, &thin_day, false, NULL);
	check(&trace, &moment, false, NULL);
	check(&busy_trace, &busy_moment, false, NULL);
}

static void test_other_units(void)
{
	const struct times stretched = { BEGIN, 1000 * STEP_NS, PACKETS };
	const struct times squeezed = { BEGIN, STEP_NS / 1000, PACKETS };
	const struct times old = { BEGIN / 1000, STEP_NS / 1000, PACKETS };
	for (guint is_shared = 0; is_shared < 2; is_shared++) {
		check(&trace, &stretched, is_shared, "nanoseconds taken for microseconds");
		check(&trace, &squeezed, is_shared, "microseconds taken for nanoseconds");
		check(&trace, &old, is_shared, "microseconds taken for nanoseconds");
	}
}

/* What both saw tells, however long each of them ran. */
static void test_shared(void)
{
	const struct times day = { BEGIN, STEP_NS, 1000 * PACKETS };
	const struct times moment = { BEGIN, STEP_NS, 3 };
	const struct times late = { BEGIN + HOUR, STEP_NS, PACKETS };
	const struct times same = { BEGIN + 3000, STEP_NS, PACKETS };
	check(&trace, &day, true, NULL);
	check(&trace, &moment, true, NULL);
	check(&trace, &same, true, NULL);
	check(&trace, &late, true, "1.000 h after the trace's: it looks like a time zone");
}

static void test_elsewhen(void)
{
	const struct times late = { BEGIN + 40 * HOUR, STEP_NS, PACKETS };
	const struct times early = { BEGIN - HOUR, STEP_NS, PACKETS };
	check(&trace, &late, false, "40.000 h after the trace's: it looks like a clock that was not set");
	check(&trace, &early, false, "1.000 h before the trace's: it looks like a time zone");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/capture-fit/other-lengths", test_other_lengths);
	g_test_add_func("/capture-fit/other-units", test_other_units);
	g_test_add_func("/capture-fit/shared", test_shared);
	g_test_add_func("/capture-fit/elsewhen", test_elsewhen);
	return g_test_run();
}
