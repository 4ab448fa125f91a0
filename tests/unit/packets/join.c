/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which packet a net event saw: each rule of the join as a story of a few events and packets. */
#include "tests/support/made_join.h"

/* --- one after the other ------------------------------------------------------------------------------------------ */

static void test_simple(void)
{
	struct made made = begin();
	uint32_t queued = see(&made, DTC_JOIN_QUEUE, 1000, 0, 0xa00, "eth0", 14 + BYTES);
	uint32_t sent = see(&made, DTC_JOIN_START_XMIT, 3000, 0, 0xa00, "eth0", BYTES);
	uint32_t other = see(&made, DTC_JOIN_START_XMIT, 4000, 0, 0xb00, "eth0", BYTES + 1);
	uint32_t received = see(&made, DTC_JOIN_RECEIVE, 9000, 1, 0xc00, "eth0", BYTES);
	uint32_t lost = see(&made, DTC_JOIN_RECEIVE, 5000000, 1, 0xc00, "eth0", BYTES);
	capture(made.here, 2800, 2, OUT, 5000, 0);
	capture(made.here, 3800, 2, OUT, 5001, 1);
	capture(made.here, 9400, 2, IN, 5002, 0);
	capture(made.here, 9500, 9, IN, 5003, 0); /* of an interface that nobody knows */
	run(&made);
	expect(&made, queued, DTC_HEADER_JOINED, 5000);
	expect(&made, sent, DTC_HEADER_JOINED, 5000);
	expect(&made, other, DTC_HEADER_JOINED, 5001);
	expect(&made, received, DTC_HEADER_JOINED, 5002);
	expect(&made, lost, DTC_HEADER_NONE, 0);
	g_assert_cmpuint(get_netns(&made, received), ==, HERE);
	struct dtc_join_summary summary = dtc_join_get_summary(made.join);
	g_assert_cmpuint(summary.events, ==, 5);
	g_assert_cmpuint(summary.joined, ==, 4);
	g_assert_cmpuint(summary.none, ==, 1);
	g_assert_cmpuint(summary.packets, ==, 4);
	g_assert_cmpuint(summary.packets_unmatched, ==, 1);
	end(&made);
}

/* Equal lengths: which is whose is known while CPUs take turns, and in doubt while two are at it at once. */
static void test_equal_lengths(void)
{
	struct made made = begin();
	uint32_t turns[2], at_once[2];
	turns[0] = see(&made, DTC_JOIN_RECEIVE, 10000, 0, 0xa00, "eth0", BYTES);
	at_once[0] = see(&made, DTC_JOIN_RECEIVE, 900000, 0, 0xa00, "eth0", BYTES);
	turns[1] = see(&made, DTC_JOIN_RECEIVE, 12000, 1, 0xb00, "eth0", BYTES);
	at_once[1] = see(&made, DTC_JOIN_RECEIVE, 900100, 1, 0xb00, "eth0", BYTES);
	capture(made.here, 10500, 2, IN, 5000, 0);
	capture(made.here, 12500, 2, IN, 5001, 0);
	capture(made.here, 900600, 2, IN, 5002, 0);
	capture(made.here, 900700, 2, IN, 5003, 0);
	run(&made);
	expect(&made, turns[0], DTC_HEADER_JOINED, 5000);
	expect(&made, turns[1], DTC_HEADER_JOINED, 5001);
	expect(&made, at_once[0], DTC_HEADER_INFERRED, 5002);
	expect(&made, at_once[1], DTC_HEADER_INFERRED, 5003);
	end(&made);
}

/* A packet that is not in the capture takes none of another: its CPU has gone on, or the other is nearer by far. */
static void test_missing_packets(void)
{
	struct made made = begin();
	uint32_t filtered = see(&made, DTC_JOIN_RECEIVE, 10000, 0, 0xa00, "eth0", BYTES);
	uint32_t next = see(&made, DTC_JOIN_RECEIVE, 14000, 0, 0xa00, "eth0", BYTES);
	uint32_t sent_filtered = see(&made, DTC_JOIN_START_XMIT, 400000, 0, 0xa00, "eth0", BYTES);
	uint32_t idle = see(&made, DTC_JOIN_RECEIVE, 700000, 0, 0xa00, "eth0", BYTES);
	uint32_t sent = see(&made, DTC_JOIN_START_XMIT, 395000, 1, 0xb00, "eth0", BYTES);
	uint32_t late = see(&made, DTC_JOIN_RECEIVE, 900000, 1, 0xb00, "eth0", BYTES);
	capture(made.here, 14400, 2, IN, 5000, 0);
	capture(made.here, 394800, 2, OUT, 5001, 0);
	capture(made.here, 900300, 2, IN, 5002, 0);
	run(&made);
	expect(&made, filtered, DTC_HEADER_NONE, 0);
	expect(&made, next, DTC_HEADER_JOINED, 5000);
	expect(&made, sent, DTC_HEADER_INFERRED, 5001); /* both CPUs may have been at it */
	expect(&made, sent_filtered, DTC_HEADER_NONE, 0);
	expect(&made, idle, DTC_HEADER_NONE, 0);
	expect(&made, late, DTC_HEADER_JOINED, 5002);
	end(&made);
}

/* --- one buffer ----------------------------------------------------------------------------------------------------
 */

/* The buffer is replaced by its segments: its headers are the first one's, with the length of the whole. */
static void test_segments(void)
{
	struct made made = begin();
	see(&made, DTC_JOIN_QUEUE, 100, 0, 0xe00, "eth0", 14 + BYTES);
	see(&made, DTC_JOIN_START_XMIT, 400, 0, 0xe00, "eth0", BYTES);
	uint32_t whole = see(&made, DTC_JOIN_QUEUE, 1000, 0, 0xa00, "eth0", 14 + BYTES + 3000);
	uint32_t first = see(&made, DTC_JOIN_START_XMIT, 3000, 0, 0xb00, "eth0", BYTES + 1400);
	uint32_t second = see(&made, DTC_JOIN_START_XMIT, 4000, 0, 0xc00, "eth0", BYTES + 1400);
	see(&made, DTC_JOIN_START_XMIT, 5000, 0, 0xd00, "eth0", BYTES + 200);
	uint32_t elsewhere = see(&made, DTC_JOIN_QUEUE, 6000, 0, 0xa00, "eth0", 14 + BYTES + 3000);
	see(&made, DTC_JOIN_START_XMIT, 7000, 1, 0xb00, "eth0", BYTES + 100); /* of another CPU */
	capture(made.here, 300, 2, OUT, 4999, 0);
	capture(made.here, 2800, 2, OUT, 5000, 1400);
	capture(made.here, 3800, 2, OUT, 5001, 1400);
	capture(made.here, 4800, 2, OUT, 5002, 200);
	capture(made.here, 6800, 2, OUT, 5003, 100);
	run(&made);
	expect(&made, whole, DTC_HEADER_JOINED, 5000);
	g_assert_cmpuint(get_total_bytes(&made, whole), ==, BYTES + 3000);
	expect(&made, first, DTC_HEADER_JOINED, 5000);
	g_assert_cmpuint(get_total_bytes(&made, first), ==, BYTES + 1400);
	expect(&made, second, DTC_HEADER_JOINED, 5001);
	expect(&made, elsewhere, DTC_HEADER_NONE, 0);
	end(&made);
}

/* A queue discipline cuts buffers and sends them at its own pace: whose a segment is, the bytes say. */
static void test_segments_later(void)
{
	struct made made = begin();
	uint32_t first = see(&made, DTC_JOIN_QUEUE, 1000, 0, 0xa00, "eth0", 14 + BYTES + 3000);
	uint32_t second = see(&made, DTC_JOIN_QUEUE, 2000, 0, 0xb00, "eth0", 14 + BYTES + 2000);
	uint32_t dropped = see(&made, DTC_JOIN_QUEUE, 3000, 0, 0xc00, "eth0", 14 + BYTES + 9000);
	uint32_t sent[5];
	const guint payload[] = { 1400, 1400, 200, 1400, 600 };
	guint seq = 7000;
	for (guint i = 0; i < G_N_ELEMENTS(sent); i++) {
		gint64 time_ns = 1000000 * (gint64)(i + 1);
		sent[i] = see(&made, DTC_JOIN_START_XMIT, time_ns, 1, 0xd00 + i, "eth0", BYTES + payload[i]);
		capture_tcp(made.here, time_ns - 200, 2, OUT, 5000, payload[i], seq, i == 4 ? 0x19 : 0x10);
		seq += payload[i];
	}
	run(&made);
	expect(&made, first, DTC_HEADER_JOINED, 5000);
	g_assert_cmpuint(get_total_bytes(&made, first), ==, BYTES + 3000);
	expect(&made, second, DTC_HEADER_JOINED, 5000);
	g_assert_cmpuint(get_total_bytes(&made, second), ==, BYTES + 2000);
	g_assert_cmpuint(get_seq(&made, first), ==, 7000);
	g_assert_cmpuint(get_seq(&made, second), ==, 10000);
	g_assert_cmphex(get_flags(&made, first), ==, 0x10);
	g_assert_cmphex(get_flags(&made, second), ==, 0x19); /* the last segment's FIN and PSH are the whole's */
	expect(&made, dropped, DTC_HEADER_NONE, 0);
	expect(&made, sent[4], DTC_HEADER_JOINED, 5000);
	end(&made);
}

/* What is missing in a flow, or is another flow's, is nobody's segment. */
static void test_segments_of_others(void)
{
	struct made made = begin();
	uint32_t hole = see(&made, DTC_JOIN_QUEUE, 1000, 0, 0xa00, "eth0", 14 + BYTES + 3000);
	uint32_t mixed = see(&made, DTC_JOIN_QUEUE, 2000, 0, 0xb00, "eth0", 14 + BYTES + 2900);
	see(&made, DTC_JOIN_START_XMIT, 1000000, 1, 0xd00, "eth0", BYTES + 1500);
	see(&made, DTC_JOIN_START_XMIT, 2000000, 1, 0xd01, "eth0", BYTES + 1501);
	see(&made, DTC_JOIN_START_XMIT, 3000000, 1, 0xd02, "eth0", BYTES + 1450);
	see(&made, DTC_JOIN_START_XMIT, 4000000, 1, 0xd03, "eth0", BYTES + 1449);
	capture_at(made.here, 999800, 2, OUT, 5000, 1500, 7000);
	capture_at(made.here, 1999800, 2, OUT, 5000, 1501, 8501); /* a byte further */
	capture_at(made.here, 2999800, 2, OUT, 5000, 1450, 20000);
	capture_at(made.here, 3999800, 2, OUT, 5001, 1449, 21450);
	run(&made);
	expect(&made, hole, DTC_HEADER_NONE, 0);
	expect(&made, mixed, DTC_HEADER_NONE, 0);
	end(&made);
}

/* A queue discipline held it: another CPU sends it, which is known by the buffer. */
static void test_queued_elsewhere(void)
{
	struct made made = begin();
	uint32_t queued = see(&made, DTC_JOIN_QUEUE, 1000, 0, 0xa00, "eth0", 14 + BYTES);
	uint32_t dropped = see(&made, DTC_JOIN_QUEUE, 1500, 0, 0xb00, "eth0", 14 + BYTES);
	uint32_t sent = see(&made, DTC_JOIN_START_XMIT, 700000, 1, 0xa00, "eth0", BYTES);
	capture(made.here, 699800, 2, OUT, 5000, 0);
	run(&made);
	expect(&made, queued, DTC_HEADER_JOINED, 5000);
	expect(&made, sent, DTC_HEADER_JOINED, 5000);
	expect(&made, dropped, DTC_HEADER_NONE, 0);
	end(&made);
}

/* libpcap leaves out what lo sends: it is what lo receives, in the same namespace, whichever that is. */
static void test_loopback(void)
{
	struct made made = begin();
	uint32_t queued = see(&made, DTC_JOIN_QUEUE, 1000, 0, 0xa00, "lo", 14 + BYTES);
	uint32_t sent = see(&made, DTC_JOIN_START_XMIT, 1300, 0, 0xa00, "lo", BYTES);
	uint32_t received = see(&made, DTC_JOIN_RECEIVE, 2000, 0, 0xa00, "lo", BYTES);
	capture(made.pod, 2500, 1, IN, 5000, 0);
	run(&made);
	expect(&made, queued, DTC_HEADER_JOINED, 5000);
	expect(&made, sent, DTC_HEADER_JOINED, 5000);
	expect(&made, received, DTC_HEADER_JOINED, 5000);
	g_assert_cmpuint(get_netns(&made, queued), ==, POD);
	end(&made);
}

/* Both ends of a veth pair saw one packet: where one of them is sure, so is the other. */
static void test_wire(void)
{
	struct made made = begin();
	uint32_t sent[2], received[2];
	sent[0] = see(&made, DTC_JOIN_START_XMIT, 1300, 0, 0xa00, "eth0", BYTES);
	received[0] = see(&made, DTC_JOIN_RECEIVE, 2000, 0, 0xa00, "veth7", BYTES);
	sent[1] = see(&made, DTC_JOIN_START_XMIT, 1350, 1, 0xb00, "eth0", BYTES);
	received[1] = see(&made, DTC_JOIN_RECEIVE, 9000, 1, 0xb00, "veth7", BYTES);
	capture(made.pod, 1100, 2, OUT, 5000, 0); /* at once, and the other way round */
	capture(made.pod, 1150, 2, OUT, 5001, 0);
	capture(made.here, 2500, 3, IN, 5001, 0);
	capture(made.here, 9500, 3, IN, 5000, 0);
	run(&made);
	expect(&made, received[0], DTC_HEADER_JOINED, 5001);
	expect(&made, received[1], DTC_HEADER_JOINED, 5000);
	expect(&made, sent[0], DTC_HEADER_JOINED, 5001);
	expect(&made, sent[1], DTC_HEADER_JOINED, 5000);
	g_assert_cmpuint(get_netns(&made, received[0]), ==, HERE);
	g_assert_cmpuint(get_netns(&made, sent[0]), ==, POD); /* of the two eth0, where its own packet was captured */
	end(&made);
}

/* A card frees the buffer, and its address comes back for a packet from elsewhere: that is another packet. */
static void test_address_reused(void)
{
	struct made made = begin();
	uint32_t sent = see(&made, DTC_JOIN_START_XMIT, 1000, 0, 0xa00, "eth0", BYTES);
	uint32_t received = see(&made, DTC_JOIN_RECEIVE, 9000, 0, 0xa00, "eth0", BYTES);
	for (guint i = 0; i < 4; i++)
		see(&made, DTC_JOIN_RECEIVE, 100000 * (gint64)(i + 1), 0, 0xb00, "eth0", BYTES);
	capture(made.here, 9400, 2, IN, 5000, 0);
	run(&made);
	expect(&made, received, DTC_HEADER_JOINED, 5000);
	expect(&made, sent, DTC_HEADER_NONE, 0);
	end(&made);
}

/* An event with headers of its own: they stand, and its packet is no other event's. */
static void test_own(void)
{
	struct made made = begin();
	struct dtc_wire_headers headers = { .netns = POD, .type = 0x0800, .network_bytes = 20, .transport_bytes = 20 };
	uint32_t one = see(&made, DTC_JOIN_RECEIVE, 10000, 0, 0xa00, "eth0", BYTES);
	uint32_t other = see(&made, DTC_JOIN_RECEIVE, 900000, 0, 0xa00, "eth0", BYTES);
	headers.bytes[20] = 7001 >> 8;
	headers.bytes[21] = 7001 & 0xff;
	dtc_join_set_headers(made.join, one, &headers);
	capture(made.here, 10500, 2, IN, 5000, 0);
	capture(made.here, 900500, 2, IN, 5001, 0);
	run(&made);
	expect(&made, one, DTC_HEADER_EVENT, 7001);
	g_assert_cmpuint(get_netns(&made, one), ==, POD);
	expect(&made, other, DTC_HEADER_JOINED, 5001);
	g_assert_cmpuint(dtc_join_get_summary(made.join).own, ==, 1);
	g_assert_cmpuint(dtc_join_get_summary(made.join).packets_unmatched, ==, 0);
	end(&made);
}

/* --- clocks --------------------------------------------------------------------------------------------------------
 */

/* A program asked for stamps: they are taken when a packet is put into the backlog, long before its reception. */
static void test_early_stamps(void)
{
	struct made made = begin();
	uint32_t sent[40], received[40], far[40];
	for (guint i = 0; i < 40; i++) {
		gint64 at = 100000 * (gint64)(i + 1);
		sent[i] = see(&made, DTC_JOIN_START_XMIT, at, 0, 0xa00, "lo", BYTES);
		see(&made, DTC_JOIN_START_XMIT, at + 10000, 0, 0xd00, "eth0", BYTES + 1);
		received[i] = see(&made, DTC_JOIN_RECEIVE, at + 80000, 1, 0xa00, "lo", BYTES);
		capture(made.here, at + 300, 1, IN, 5000 + i, 0);
		far[i] = see(&made, DTC_JOIN_RECEIVE, at + 90000, 1, 0xc00, "veth7", BYTES);
		capture(made.here, at + 30000, 3, IN, 6000 + i, 0);
	}
	run(&made);
	for (guint i = 0; i < 40; i++) {
		expect(&made, sent[i], DTC_HEADER_JOINED, 5000 + i);
		expect(&made, received[i], DTC_HEADER_JOINED, 5000 + i);
		expect(&made, far[i], DTC_HEADER_JOINED, 6000 + i);
	}
	end(&made);
}

/*
 * What came out of a tunnel is stamped before the backlog, what a socket sent bears a time and is stamped at the
 * capture: both come in by the same end of a wire, whose other end has another name. Of each the namespace is known.
 */
static void test_mixed_stamps(void)
{
	struct made made = begin();
	uint32_t sent[40], received[40];
	for (guint i = 0; i < 40; i++) {
		gint64 at = 100000 * (gint64)(i + 1);
		sent[i] = see(&made, DTC_JOIN_START_XMIT, at, 0, 0xa00, "veth7", BYTES);
		received[i] = see(&made, DTC_JOIN_RECEIVE, at + 1000, 0, 0xa00, "eth0", BYTES);
		see(&made, DTC_JOIN_START_XMIT, at + 3000, 0, 0xb00, "lo", BYTES + 1);
		capture(made.here, at - 200, 3, OUT, 5000 + i, 0);
		capture(made.pod, at + (i % 2 ? 300 : 1400), 2, IN, 5000 + i, 0);
	}
	run(&made);
	for (guint i = 0; i < 40; i++) {
		expect(&made, sent[i], DTC_HEADER_JOINED, 5000 + i);
		expect(&made, received[i], DTC_HEADER_JOINED, 5000 + i);
		g_assert_cmpuint(get_netns(&made, received[i]), ==, POD);
	}
	end(&made);
}

/* TCP over lo and datagrams, which are stamped as they are sent; returns when all that is over. */
static gint64 exchange_both(struct made *made, guint count, guint datagram_each)
{
	for (guint i = 0; i < count; i++) {
		gint64 at = 100000 * (gint64)(i + 1);
		see(made, DTC_JOIN_START_XMIT, at, 0, 0xa00, "lo", BYTES);
		see(made, DTC_JOIN_RECEIVE, at + 6000, 0, 0xa00, "lo", BYTES);
		capture(made->here, at + 6500, 1, IN, 5000, 0);
		if (i % datagram_each)
			continue;
		see(made, DTC_JOIN_START_XMIT, at + 20000, 0, 0xb00, "lo", BYTES + 1);
		see(made, DTC_JOIN_RECEIVE, at + 26000, 0, 0xb00, "lo", BYTES + 1);
		capture_datagram(made->here, at + 20400, 6000, 1);
	}
	return 100000 * (gint64)(count + 1);
}

/*
 * Two connect at once while others send datagrams: of TCP it is known that it is stamped behind its reception, though
 * the other one is on its way then.
 */
static void test_kinds(void)
{
	struct made made = begin();
	gint64 at = exchange_both(&made, 40, 1);
	uint32_t sent[2], received[2];
	sent[1] = see(&made, DTC_JOIN_START_XMIT, at, 1, 0xc00, "lo", BYTES);
	sent[0] = see(&made, DTC_JOIN_START_XMIT, at + 3460, 0, 0xd00, "lo", BYTES);
	received[1] = see(&made, DTC_JOIN_RECEIVE, at + 6330, 1, 0xc00, "lo", BYTES);
	capture(made.here, at + 7530, 1, IN, 7001, 0);
	received[0] = see(&made, DTC_JOIN_RECEIVE, at + 15290, 0, 0xd00, "lo", BYTES);
	capture(made.here, at + 16670, 1, IN, 7000, 0);
	run(&made);
	for (guint i = 0; i < 2; i++) {
		expect(&made, sent[i], DTC_HEADER_JOINED, 7000 + i);
		expect(&made, received[i], DTC_HEADER_JOINED, 7000 + i);
	}
	end(&made);
}

/*
 * Datagrams are few: one that was stamped as it was sent does not wait for the next of its length, far behind. And what
 * TCP sends where no socket is left bears no time, so that it is as datagrams are.
 */
static void test_few_datagrams(void)
{
	struct made made = begin();
	gint64 at = exchange_both(&made, 40, 10);
	uint32_t received[4];
	for (guint i = 0; i < 4; i++) {
		bool is_tcp = i >= 2;
		gint64 sent_ns = at + 384000 * (gint64)i;
		see(&made, DTC_JOIN_START_XMIT, sent_ns, i % 2, 0xc00, "lo", BYTES + 2);
		received[i] = see(&made, DTC_JOIN_RECEIVE, sent_ns + 3100, i % 2, 0xc00, "lo", BYTES + 2);
		if (is_tcp)
			capture(made.here, sent_ns + 600, 1, IN, 7000 + i, 2);
		else
			capture_datagram(made.here, sent_ns + 600, 7000 + i, 2);
	}
	run(&made);
	for (guint i = 0; i < 2; i++)
		expect_datagram(&made, received[i], DTC_HEADER_JOINED, 7000 + i);
	for (guint i = 2; i < 4; i++)
		expect(&made, received[i], DTC_HEADER_JOINED, 7000 + i);
	end(&made);
}

/* Nothing else is there, but it is not beside its event: a CPU may be taken away for a moment, not for so long. */
static void test_far(void)
{
	struct made made = begin();
	for (guint i = 0; i < 30; i++) {
		see(&made, DTC_JOIN_START_XMIT, 10000 * (gint64)(i + 1), 0, 0xa00, "eth0", BYTES + 1);
		capture(made.here, 10000 * (gint64)(i + 1) - 200, 2, OUT, 4000, 1);
		see(&made, DTC_JOIN_RECEIVE, 10000 * (gint64)(i + 1) + 3000, 0, 0xb00, "eth0", BYTES + 1);
		capture(made.here, 10000 * (gint64)(i + 1) + 3200, 2, IN, 4000, 1);
	}
	uint32_t near = see(&made, DTC_JOIN_RECEIVE, 1000000, 0, 0xa00, "eth0", BYTES);
	uint32_t far = see(&made, DTC_JOIN_RECEIVE, 3000000, 0, 0xa00, "eth0", BYTES);
	uint32_t sent = see(&made, DTC_JOIN_START_XMIT, 5000000, 0, 0xa00, "eth0", BYTES);
	capture(made.here, 1069000, 2, IN, 5000, 0);
	capture(made.here, 3389000, 2, IN, 5001, 0);
	capture(made.here, 4611000, 2, OUT, 5002, 0);
	run(&made);
	expect(&made, near, DTC_HEADER_JOINED, 5000);
	expect(&made, far, DTC_HEADER_INFERRED, 5001);
	expect(&made, sent, DTC_HEADER_INFERRED, 5002);
	end(&made);
}

/*
 * TCP over lo, and a datagram now and then: what TCP sends bears a time already, and is stamped at the capture. The few
 * that were stamped between transmission and reception are theirs all the same; one that was not is nobody's.
 */
static void test_few_early(void)
{
	struct made made = begin();
	uint32_t tcp[90], datagram[9], none[9];
	for (guint i = 0; i < 90; i++) {
		gint64 at = 100000 * (gint64)(i + 1);
		see(&made, DTC_JOIN_START_XMIT, at, 0, 0xa00, "lo", BYTES);
		tcp[i] = see(&made, DTC_JOIN_RECEIVE, at + 6000, 0, 0xa00, "lo", BYTES);
		capture(made.here, at + 6500, 1, IN, 5000 + i, 0);
		if (i % 10)
			continue;
		see(&made, DTC_JOIN_START_XMIT, at + 20000, 0, 0xb00, "lo", BYTES + 1);
		datagram[i / 10] = see(&made, DTC_JOIN_RECEIVE, at + 26000, 0, 0xb00, "lo", BYTES + 1);
		capture(made.here, at + 22000, 1, IN, 6000 + i, 1);
		see(&made, DTC_JOIN_START_XMIT, at + 40000, 0, 0xc00, "lo", BYTES + 2);
		none[i / 10] = see(&made, DTC_JOIN_RECEIVE, at + 46000, 0, 0xc00, "lo", BYTES + 2);
		capture(made.here, at + 39000, 1, IN, 7000 + i, 2);
	}
	run(&made);
	for (guint i = 0; i < 90; i++)
		expect(&made, tcp[i], DTC_HEADER_JOINED, 5000 + i);
	for (guint i = 0; i < 9; i++) {
		expect(&made, datagram[i], DTC_HEADER_JOINED, 6000 + 10 * i);
		expect(&made, none[i], DTC_HEADER_NONE, 0);
	}
	end(&made);
}

/*
 * A slow machine: its captures are 15 us from their events. The driver stamps what comes in on eth0, the capture what
 * comes in on lo, where the transmission does not tell when; each device is judged by itself.
 */
static void test_slow_machine(void)
{
	struct made made = begin();
	uint32_t near[40], far[40];
	for (guint i = 0; i < 40; i++) {
		gint64 at = 400000 * (gint64)(i + 1);
		see(&made, DTC_JOIN_START_XMIT, at, 0, 0xa00, "lo", BYTES);
		near[i] = see(&made, DTC_JOIN_RECEIVE, at + 30000, 0, 0xa00, "lo", BYTES);
		capture(made.here, at + 42000, 1, IN, 5000 + i, 0);
		see(&made, DTC_JOIN_START_XMIT, at + 100000, 0, 0xb00, "eth0", BYTES + 1);
		capture(made.here, at + 85000, 2, OUT, 6000 + i, 1);
		capture(made.here, at + 200000, 2, IN, 7000 + i, 0);
		capture(made.here, at + 200500, 2, IN, 8000 + i, 0);
		far[i] = see(&made, DTC_JOIN_RECEIVE, at + 240000, 0, 0xc00, "eth0", BYTES);
		see(&made, DTC_JOIN_RECEIVE, at + 250000, 0, 0xd00, "eth0", BYTES);
	}
	run(&made);
	for (guint i = 0; i < 40; i++) {
		expect(&made, near[i], DTC_HEADER_JOINED, 5000 + i);
		expect(&made, far[i], DTC_HEADER_JOINED, 7000 + i);
	}
	end(&made);
}

/* Packets are few, and stamped by the driver: none has an event of its kind shortly before. */
static void test_sparse_early(void)
{
	struct made made = begin();
	uint32_t received[40];
	for (guint i = 0; i < 40; i++) {
		gint64 at = 20000000 * (gint64)(i + 1);
		capture(made.here, at, 2, IN, 5000 + i, i % 7);
		received[i] = see(&made, DTC_JOIN_RECEIVE, at + 15000, i % 2, 0xa00, "eth0", BYTES + i % 7);
	}
	run(&made);
	for (guint i = 0; i < 40; i++)
		expect(&made, received[i], DTC_HEADER_JOINED, 5000 + i);
	end(&made);
}

/* lo alone, where nothing that is sent is captured, so that nothing but the transmission tells how slow the machine is.
 */
static void test_slow_loopback(void)
{
	struct made made = begin();
	uint32_t sent[40], received[40];
	for (guint i = 0; i < 40; i++) {
		gint64 at = 300000 * (gint64)(i + 1);
		sent[i] = see(&made, DTC_JOIN_START_XMIT, at, i % 2, 0xa00, "lo", BYTES);
		received[i] = see(&made, DTC_JOIN_RECEIVE, at + 60000, i % 2, 0xa00, "lo", BYTES);
		capture(made.here, at + 68000, 1, IN, 5000 + i, 0);
	}
	run(&made);
	for (guint i = 0; i < 40; i++) {
		expect(&made, sent[i], DTC_HEADER_JOINED, 5000 + i);
		expect(&made, received[i], DTC_HEADER_JOINED, 5000 + i);
	}
	end(&made);
}

/* The wall clock was set back 10 ms between two readings: what is of either side is joined, what may be of both not. */
static void test_step(void)
{
	struct made made = begin();
	dtc_join_add_clock(made.join, 1500000000, REAL + 1500000000 - 10000000, 100);
	dtc_join_add_clock(made.join, 2000000000, REAL + 2000000000 - 10000000, 100);
	uint32_t before = see(&made, DTC_JOIN_RECEIVE, 900000000, 0, 0xa00, "eth0", BYTES);
	uint32_t between = see(&made, DTC_JOIN_RECEIVE, 1200000000, 0, 0xa00, "eth0", BYTES);
	uint32_t after = see(&made, DTC_JOIN_RECEIVE, 1900000000, 0, 0xa00, "eth0", BYTES);
	capture(made.here, 900000400, 2, IN, 5000, 0);
	capture(made.here, 1200000400, 2, IN, 5001, 0);
	capture(made.here, 1900000400 - 10000000, 2, IN, 5002, 0);
	run(&made);
	expect(&made, before, DTC_HEADER_JOINED, 5000);
	expect(&made, between, DTC_HEADER_NONE, 0);
	expect(&made, after, DTC_HEADER_JOINED, 5002);
	g_assert_cmpuint(dtc_join_get_summary(made.join).packets_in_step, ==, 1);
	end(&made);
}

static void test_link_type(void)
{
	struct made made = begin();
	GByteArray *raw = made_capture_new(MADE_RAW);
	g_autofree char *path = made_capture_write(raw, raw->len);
	g_autoptr(GError) error = NULL;

	g_assert_false(dtc_join_add_capture(made.join, "made", path, HERE, made.findings, &error));
	g_assert_nonnull(strstr(error->message, "LINUX_SLL2"));
	unlink(path);
	g_byte_array_unref(raw);
	run(&made);
	end(&made);
}

/* Whatever is given, it ends. */
static void test_nonsense(void)
{
	struct made made = begin();
	g_autoptr(GRand) random = g_rand_new_with_seed(15);
	for (guint i = 0; i < 5000; i++) {
		gint64 time_ns =
			i % 7 ? g_rand_int_range(random, 0, 3000000) : (gint64)((guint64)g_rand_int(random) << 32);
		struct dtc_join_event event = { .time_ns = i % 11  ? time_ns
							   : i % 2 ? INT64_MIN
								   : INT64_MAX,
						.skb = g_rand_int_range(random, 0, 50),
						.length = (guint32)(BYTES + g_rand_int_range(random, -1, 2)),
						.cpu = (guint16)g_rand_int_range(random, 0, 3),
						.device = (guint16)g_rand_int_range(random, 0, 5),
						.kind = (guint8)g_rand_int_range(random, 0, 3) };
		dtc_join_add_event(made.join, &event);
		capture(made.here, g_rand_int_range(random, 0, 3000000), (guint)g_rand_int_range(random, 0, 4),
			i % 2 ? IN : OUT, i, 0);
	}
	run(&made);
	struct dtc_join_summary summary = dtc_join_get_summary(made.join);
	g_assert_cmpuint(summary.joined + summary.inferred + summary.none, ==, 5000);
	end(&made);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/join/simple", test_simple);
	g_test_add_func("/join/equal-lengths", test_equal_lengths);
	g_test_add_func("/join/missing-packets", test_missing_packets);
	g_test_add_func("/join/segments", test_segments);
	g_test_add_func("/join/segments-later", test_segments_later);
	g_test_add_func("/join/segments-of-others", test_segments_of_others);
	g_test_add_func("/join/queued-elsewhere", test_queued_elsewhere);
	g_test_add_func("/join/loopback", test_loopback);
	g_test_add_func("/join/wire", test_wire);
	g_test_add_func("/join/address-reused", test_address_reused);
	g_test_add_func("/join/own", test_own);
	g_test_add_func("/join/early-stamps", test_early_stamps);
	g_test_add_func("/join/mixed-stamps", test_mixed_stamps);
	g_test_add_func("/join/kinds", test_kinds);
	g_test_add_func("/join/few-datagrams", test_few_datagrams);
	g_test_add_func("/join/far", test_far);
	g_test_add_func("/join/few-early", test_few_early);
	g_test_add_func("/join/slow-machine", test_slow_machine);
	g_test_add_func("/join/sparse-early", test_sparse_early);
	g_test_add_func("/join/slow-loopback", test_slow_loopback);
	g_test_add_func("/join/step", test_step);
	g_test_add_func("/join/link-type", test_link_type);
	g_test_add_func("/join/nonsense", test_nonsense);
	return g_test_run();
}
