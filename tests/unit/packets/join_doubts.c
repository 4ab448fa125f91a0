/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of two packets of one moment a net event saw: each sign that is against their order, as a story. */
#include "tests/support/made_join.h"

/* In doubt, and against the order: the thread sends from one of the ports at other times, too, and from the other
 * never. */
static void test_known_source(void)
{
	for (guint other = 0; other < 2; other++) {
		struct made made = begin();
		uint32_t sent[2];
		see(&made, DTC_JOIN_START_XMIT, 100000, 0, 0xa00, "eth0", BYTES + 7);
		capture(made.here, 99800, 2, OUT, 5000 + other, 7);
		sent[0] = see(&made, DTC_JOIN_START_XMIT, 900000, 0, 0xa00, "eth0", BYTES + 7);
		sent[1] = see(&made, DTC_JOIN_START_XMIT, 900100, 1, 0xb00, "eth0", BYTES + 7);
		capture(made.here, 899800, 2, OUT, 5001, 7);
		capture(made.here, 899900, 2, OUT, 5000, 7);
		run(&made);
		expect(&made, sent[0], DTC_HEADER_INFERRED, 5000 + other);
		expect(&made, sent[1], DTC_HEADER_INFERRED, 5001 - other);
		end(&made);
	}
}

/* So is which of a server's threads answers a connection: always one, not now this one and now the other. */
static void test_known_sender(void)
{
	const guint8 hosts[2] = { 2, 1 };

	for (guint is_pool = 0; is_pool < 2; is_pool++) {
		struct made made = begin();
		uint32_t sent[2];
		for (guint i = 0; i < 12; i++) {
			gint64 at = 100000 * (gint64)(i + 1);
			guint cpu = is_pool ? i / 2 % 2 : i % 2;
			const guint ports[2] = { 80, 5000 + i % 2 };
			see(&made, DTC_JOIN_START_XMIT, at, cpu, 0xa00, "eth0", BYTES + 7);
			capture_ends(made.here, at - 200, 2, OUT, hosts, ports, 7, 1000, 1, 0x10);
		}
		sent[0] = see(&made, DTC_JOIN_START_XMIT, 9000000, 0, 0xa00, "eth0", BYTES + 7);
		sent[1] = see(&made, DTC_JOIN_START_XMIT, 9000100, 1, 0xb00, "eth0", BYTES + 7);
		for (guint i = 0; i < 2; i++) {
			const guint ports[2] = { 80, 5001 - i };
			capture_ends(made.here, 8999800 + 100 * (gint64)i, 2, OUT, hosts, ports, 7, 2000, 1, 0x10);
		}
		run(&made);
		for (guint i = 0; i < 2; i++) {
			struct dtc_wire_headers headers;
			g_assert_cmpint(dtc_join_get(made.join, sent[i], &headers), ==, DTC_HEADER_INFERRED);
			guint port = (guint)headers.bytes[22] << 8 | headers.bytes[23];
			g_assert_cmpuint(port, ==, is_pool ? 5001 - i : 5000 + i);
		}
		end(&made);
	}
}

/* So is which of the two a CPU acknowledged at once, before it received anything else, and in the same thread. */
static void test_acknowledged(void)
{
	enum { AT_ONCE, LATER, OTHER_NUMBER, BY_ANOTHER_THREAD, VARIANTS };

	for (guint variant = 0; variant < VARIANTS; variant++) {
		struct made made = begin();
		gint tid = variant == BY_ANOTHER_THREAD ? 200 : 100;
		gint64 sent_ns = variant == LATER ? 902000 : 901000;
		uint32_t received[2];
		see(&made, DTC_JOIN_START_XMIT, 899000, 0, 0xa00, "lo", BYTES + 7);
		see(&made, DTC_JOIN_START_XMIT, 899100, 1, 0xb00, "lo", BYTES + 7);
		received[0] = see(&made, DTC_JOIN_RECEIVE, 900000, 0, 0xa00, "lo", BYTES + 7);
		received[1] = see(&made, DTC_JOIN_RECEIVE, 900100, 1, 0xb00, "lo", BYTES + 7);
		capture(made.here, 900300, 1, IN, 5001, 7);
		capture(made.here, 900400, 1, IN, 5000, 7);
		if (variant == LATER) {
			see(&made, DTC_JOIN_START_XMIT, 899500, 0, 0xd00, "lo", BYTES + 9);
			see(&made, DTC_JOIN_RECEIVE, 901000, 0, 0xd00, "lo", BYTES + 9);
			capture(made.here, 901300, 1, IN, 5002, 9);
		}
		see_in(&made, tid, DTC_JOIN_QUEUE, sent_ns, 0, 0xc00, "lo", 14 + BYTES);
		see_in(&made, tid, DTC_JOIN_START_XMIT, sent_ns + 100, 0, 0xc00, "lo", BYTES);
		see_in(&made, tid, DTC_JOIN_RECEIVE, sent_ns + 300, 0, 0xc00, "lo", BYTES);
		capture_answer(made.here, sent_ns + 600, 1, 5000, variant == OTHER_NUMBER ? 1006 : 1007);
		run(&made);
		expect(&made, received[0], DTC_HEADER_INFERRED, variant == AT_ONCE ? 5000 : 5001);
		expect(&made, received[1], DTC_HEADER_INFERRED, variant == AT_ONCE ? 5001 : 5000);
		end(&made);
	}
}

/*
 * Two threads connect at once: what they send later tells whose SYN was which. If the CPUs were interrupted, the SYNs
 * are not of these threads.
 */
static void test_connecting(void)
{
	enum { UNKNOWN, IN_THREAD, IN_INTERRUPT, VARIANTS };
	static const enum dtc_join_context contexts[] = { DTC_JOIN_CONTEXT_UNKNOWN, DTC_JOIN_CONTEXT_THREAD,
							  DTC_JOIN_CONTEXT_INTERRUPT };

	for (guint variant = 0; variant < VARIANTS; variant++) {
		struct made made = begin();
		uint32_t sent[2];
		for (guint i = 0; i < 2; i++) {
			sent[i] = see_by(&made, contexts[variant], 100 + (gint)i, DTC_JOIN_START_XMIT, 900000 + 100 * i,
					 i, 0xa00 + 0x100 * i, "eth0", BYTES);
			capture_tcp(made.here, 899800 + 100 * i, 2, OUT, 5001 - i, 0, 1000, 0x02);
		}
		for (guint i = 0; i < 2; i++) {
			see_by(&made, variant == UNKNOWN ? DTC_JOIN_CONTEXT_UNKNOWN : DTC_JOIN_CONTEXT_THREAD,
			       100 + (gint)i, DTC_JOIN_START_XMIT, 2000000 + 900000 * i, 0, 0xc00, "eth0", BYTES + 7);
			capture(made.here, 1999800 + 900000 * i, 2, OUT, 5000 + i, 7);
		}
		run(&made);
		for (guint i = 0; i < 2; i++)
			expect(&made, sent[i], DTC_HEADER_INFERRED, variant == IN_INTERRUPT ? 5001 - i : 5000 + i);
		end(&made);
	}
}

/* What a CPU sends when it has received something, and what comes in of it again, on lo. */
static uint32_t see_answer(struct made *made, gint64 time_ns, guint cpu, guint64 skb)
{
	see_by(made, DTC_JOIN_CONTEXT_INTERRUPT, 100 + (gint)cpu, DTC_JOIN_QUEUE, time_ns, cpu, skb, "lo", 14 + BYTES);
	see_by(made, DTC_JOIN_CONTEXT_INTERRUPT, 100 + (gint)cpu, DTC_JOIN_START_XMIT, time_ns + 900, cpu, skb, "lo",
	       BYTES);
	return see_by(made, DTC_JOIN_CONTEXT_INTERRUPT, 100 + (gint)cpu, DTC_JOIN_RECEIVE, time_ns + 2500, cpu, skb,
		      "lo", BYTES);
}

/*
 * Two handshakes at once, each on a CPU, one of whose packets are stamped the other way round: what is sure is what the
 * threads send when they are through, and all of a handshake is of one connection.
 */
static void test_handshakes(void)
{
	const guint8 client[2] = { 1, 2 }, server[2] = { 2, 1 };
	const gint64 step_ns = 10000;

	for (guint inverted = 0; inverted < 3; inverted++) {
		struct made made = begin();
		uint32_t received[3][2];
		for (guint cpu = 0; cpu < 2; cpu++) {
			gint64 at = 900000 + 100 * (gint64)cpu;
			guint64 skb = 0xa00 + 0x100 * cpu;
			gint tid = 100 + (gint)cpu;
			see_by(&made, DTC_JOIN_CONTEXT_THREAD, tid, DTC_JOIN_QUEUE, at, cpu, skb, "lo", 14 + BYTES);
			see_by(&made, DTC_JOIN_CONTEXT_THREAD, tid, DTC_JOIN_START_XMIT, at + 900, cpu, skb, "lo",
			       BYTES);
			received[0][cpu] = see_by(&made, DTC_JOIN_CONTEXT_INTERRUPT, tid, DTC_JOIN_RECEIVE, at + 2500,
						  cpu, skb, "lo", BYTES);
			received[1][cpu] = see_answer(&made, at + step_ns, cpu, skb + 0x1000);
			received[2][cpu] = see_answer(&made, at + 2 * step_ns, cpu, skb + 0x2000);
			see_by(&made, DTC_JOIN_CONTEXT_THREAD, tid, DTC_JOIN_START_XMIT, at + 500000 * (cpu + 1), cpu,
			       skb, "lo", BYTES + 7);
			see_by(&made, DTC_JOIN_CONTEXT_INTERRUPT, tid, DTC_JOIN_RECEIVE, at + 500000 * (cpu + 1) + 2500,
			       cpu, skb, "lo", BYTES + 7);
			capture_at(made.here, at + 500000 * (cpu + 1) + 3000, 1, IN, 5000 + cpu, 7, 1001);
		}
		for (guint i = 0; i < 6; i++) {
			guint port = 5000 + (inverted == i / 2 ? 1 - i % 2 : i % 2);
			gint64 at = 902900 + step_ns * (i / 2) + 200 * (i % 2);
			const guint up[2] = { port, 80 }, down[2] = { 80, port };
			if (i / 2 == 0)
				capture_ends(made.here, at, 1, IN, client, up, 0, 1000, 0, 0x02);
			else if (i / 2 == 1)
				capture_ends(made.here, at, 1, IN, server, down, 0, 8000, 1001, 0x12);
			else
				capture_ends(made.here, at, 1, IN, client, up, 0, 1001, 8001, 0x10);
		}
		run(&made);
		for (guint cpu = 0; cpu < 2; cpu++) {
			expect(&made, received[0][cpu], DTC_HEADER_INFERRED, 5000 + cpu);
			expect(&made, received[1][cpu], DTC_HEADER_INFERRED, 80);
			g_assert_cmpuint(get_destination(&made, received[1][cpu]), ==, 5000 + cpu);
			expect(&made, received[2][cpu], DTC_HEADER_INFERRED, 5000 + cpu);
		}
		end(&made);
	}
}

/*
 * Two threads send datagrams of one length at once, and nothing else: the answers come one after the other, and who
 * waits for one sends from where it comes to.
 */
static void test_woken(void)
{
	for (guint is_known = 0; is_known < 2; is_known++) {
		struct made made = begin();
		uint32_t sent[2];
		for (guint i = 0; i < 2; i++) {
			sent[i] = see(&made, DTC_JOIN_START_XMIT, 900000 + 100 * i, i, 0xa00 + 0x100 * i, "eth0",
				      BYTES + 7);
			capture(made.here, 899800 + 100 * i, 2, OUT, 5001 - i, 7);
		}
		for (guint i = 0; i < 2; i++) {
			uint32_t answer =
				see_in(&made, 300, DTC_JOIN_RECEIVE, 1000000 + 50000 * i, 0, 0xc00, "eth0", BYTES);
			capture_answer(made.here, 1000300 + 50000 * i, 2, 5000 + i, 1);
			if (is_known)
				dtc_join_add_woken(made.join, answer, 100 + (gint32)i);
		}
		run(&made);
		for (guint i = 0; i < 2; i++)
			expect(&made, sent[i], DTC_HEADER_INFERRED, is_known ? 5000 + i : 5001 - i);
		end(&made);
	}
}

/* What is passed on at once from one device to another is one packet, whatever its ports are made to be. */
static void test_passed_on(void)
{
	struct made made = begin();
	uint32_t queued[2], sent[2];
	for (guint cpu = 0; cpu < 2; cpu++) {
		gint64 at = 900000 + 100 * (gint64)cpu;
		guint64 skb = 0xa00 + 0x100 * cpu;
		see(&made, DTC_JOIN_RECEIVE, at - 5000 + 2000 * cpu, cpu, skb, "veth7", BYTES);
		capture_at(made.here, at - 4600 + 2000 * cpu, 3, IN, 5000 + cpu, 0, 1000 + cpu);
		queued[cpu] = see(&made, DTC_JOIN_QUEUE, at - 1000, cpu, skb, "eth0", 14 + BYTES);
		sent[cpu] = see(&made, DTC_JOIN_START_XMIT, at, cpu, skb, "eth0", BYTES);
		capture_at(made.here, at - 200, 2, OUT, 6001 - cpu, 0, 1001 - cpu);
	}
	run(&made);
	for (guint cpu = 0; cpu < 2; cpu++) {
		expect(&made, queued[cpu], DTC_HEADER_INFERRED, 6000 + cpu);
		expect(&made, sent[cpu], DTC_HEADER_INFERRED, 6000 + cpu);
	}
	end(&made);
}

/*
 * Both ends of two wires, stamped the other way round where they were sent: a CPU acknowledged at once what came in. By
 * how the clocks were read one stamp is just before the reception that it is of.
 */
static void test_both_ends(void)
{
	const guint8 hosts[2] = { 2, 1 };
	const guint ports[2] = { 80, 6000 };
	struct made made = begin();
	uint32_t sent[2], received[2];
	for (guint i = 0; i < 2; i++) {
		sent[i] = see(&made, DTC_JOIN_START_XMIT, 899000 + 100 * i, i, 0xa00 + 0x100 * i, "veth7", BYTES + 7);
		capture(made.here, 898800 + 100 * i, 3, OUT, 6001 - i, 7);
		received[i] = see(&made, DTC_JOIN_RECEIVE, 900000 + 460 * i, i, 0xa00 + 0x100 * i, "eth0", BYTES + 7);
		capture(made.pod, 900300 + 1200 * i, 2, IN, 6000 + i, 7);
	}
	see(&made, DTC_JOIN_QUEUE, 903000, 0, 0xc00, "eth0", 14 + BYTES);
	see(&made, DTC_JOIN_START_XMIT, 903100, 0, 0xc00, "eth0", BYTES);
	capture_ends(made.pod, 902900, 2, OUT, hosts, ports, 0, 1, 1007, 0x10);
	run(&made);
	for (guint i = 0; i < 2; i++) {
		expect(&made, received[i], DTC_HEADER_INFERRED, 6000 + i);
		expect(&made, sent[i], DTC_HEADER_INFERRED, 6000 + i);
	}
	end(&made);
}

/* Two of one length are sent at once, and stamped the other way round: what is in doubt there is so where they come in.
 */
static void test_doubt_goes_on(void)
{
	struct made made = begin();
	uint32_t sent[2], received[2];
	for (guint i = 0; i < 40; i++) {
		gint64 at = 100000 * (gint64)(i + 1);
		see(&made, DTC_JOIN_START_XMIT, at, 0, 0xa00, "veth7", BYTES);
		see(&made, DTC_JOIN_RECEIVE, at + 1000, 0, 0xa00, "eth0", BYTES);
		capture(made.here, at - 200, 3, OUT, 5000 + i, 0);
		capture(made.pod, at + 300, 2, IN, 5000 + i, 0);
	}
	sent[0] = see_in(&made, 300, DTC_JOIN_START_XMIT, 5000000, 0, 0xa00, "veth7", BYTES);
	sent[1] = see_in(&made, 301, DTC_JOIN_START_XMIT, 5000180, 1, 0xb00, "veth7", BYTES);
	received[0] = see_in(&made, 300, DTC_JOIN_RECEIVE, 5000780, 0, 0xa00, "eth0", BYTES);
	received[1] = see_in(&made, 301, DTC_JOIN_RECEIVE, 5001750, 1, 0xb00, "eth0", BYTES);
	capture(made.here, 4999510, 3, OUT, 6001, 0);
	capture(made.here, 4999550, 3, OUT, 6000, 0);
	capture(made.pod, 5000350, 2, IN, 6000, 0);
	capture(made.pod, 5000650, 2, IN, 6001, 0);
	run(&made);
	for (guint i = 0; i < 2; i++) {
		expect(&made, sent[i], DTC_HEADER_INFERRED, 6001 - i);
		expect(&made, received[i], DTC_HEADER_INFERRED, 6001 - i);
	}
	end(&made);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/join-doubts/known-source", test_known_source);
	g_test_add_func("/join-doubts/known-sender", test_known_sender);
	g_test_add_func("/join-doubts/acknowledged", test_acknowledged);
	g_test_add_func("/join-doubts/connecting", test_connecting);
	g_test_add_func("/join-doubts/handshakes", test_handshakes);
	g_test_add_func("/join-doubts/woken", test_woken);
	g_test_add_func("/join-doubts/passed-on", test_passed_on);
	g_test_add_func("/join-doubts/both-ends", test_both_ends);
	g_test_add_func("/join-doubts/doubt-goes-on", test_doubt_goes_on);
	return g_test_run();
}
