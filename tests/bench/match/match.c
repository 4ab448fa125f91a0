/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What matching costs on packets that nobody recorded: two nodes, millions of packets of kinds that could make a
 * matcher quadratic or keep too much. Prints packets, messages, CPU time, and the anonymous memory that matching had
 * beside the packets themselves at its peak.
 *
 * usage: bench-match [PERCENT [CASE]]: so much of each case (default 100); exits 1 if a packet takes too much memory
 */
#include "sync/match/match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DELAY_NS 50000
#define AHEAD_NS G_GINT64_CONSTANT(7200000000000)
/*
 * Messages are 16 bytes, sorting takes a copy, and a flow of one packet costs what a flow costs; below so many packets
 * the fixed part of everything would count for too much.
 */
#define BYTES_PER_PACKET_MAX 64
#define PACKETS_LEAST 100000

struct world {
	DtcPackets *kernel[2];
	int64_t now_ns;
	guint count;
};

static struct dtc_headers make_headers(guint32 from, guint32 to, guint16 from_port, guint16 to_port)
{
	struct dtc_headers headers = { .ip_version = 4,
				       .protocol = DTC_PROTOCOL_TCP,
				       .has_transport = true,
				       .source_port = from_port,
				       .destination_port = to_port,
				       .tcp_flags = DTC_TCP_ACK,
				       .window = 501 };
	for (guint i = 0; i < 2; i++) {
		uint8_t *address = i ? headers.destination : headers.source;
		guint32 ip = i ? to : from;
		address[10] = address[11] = 0xff;
		for (guint k = 0; k < 4; k++)
			address[12 + k] = (uint8_t)(ip >> (24 - 8 * k));
	}
	return headers;
}

static void see(struct world *world, guint node, enum dtc_direction direction, const struct dtc_headers *headers)
{
	int64_t ns = world->now_ns + (node ? AHEAD_NS : 0) + (direction == DTC_RECEIVED ? DELAY_NS : 0);
	dtc_packets_add(world->kernel[node], ns, direction, 0, 0, headers);
	world->count++;
}

/* From a node to the other: seen by both. */
static void send(struct world *world, guint node, const struct dtc_headers *headers)
{
	see(world, node, DTC_SENT, headers);
	see(world, !node, DTC_RECEIVED, headers);
	world->now_ns += 1000;
}

/* 2 M packets of 20,000 connections with hosts that nobody traced, on both nodes. */
static void talk_to_strangers(struct world *world, guint percent)
{
	for (guint i = 0; i < 20000 * percent; i++) {
		guint connection = i % 20000;
		struct dtc_headers headers = make_headers(0x0a000001 + (connection & 1), 0xc0a80000 + connection,
							  (guint16)(20000 + connection), 443);
		headers.seq = i / 20000 * 1000;
		headers.ip_id = (guint16)i;
		headers.payload_bytes = 1000;
		see(world, connection & 1, DTC_SENT, &headers);
		world->now_ns += 500;
	}
}

/* 1 M segments of one connection whose numbers wrap, and an acknowledgement for every fourth. */
static void stream_and_wrap(struct world *world, guint percent)
{
	struct dtc_headers there = make_headers(0x0a000001, 0x0a000002, 40000, 80);
	struct dtc_headers back = make_headers(0x0a000002, 0x0a000001, 80, 40000);
	there.seq = 0xffff0000;
	for (guint i = 0; i < 10000 * percent; i++) {
		there.payload_bytes = 5000;
		there.ip_id = back.ip_id = (guint16)i;
		send(world, 0, &there);
		there.seq += 5000;
		back.ack = there.seq;
		if (i % 4 == 3)
			send(world, 1, &back);
	}
}

/* 150,000 short connections, one after the other on the same few ports. */
static void reuse_ports(struct world *world, guint percent)
{
	for (guint i = 0; i < 1500 * percent; i++) {
		struct dtc_headers there = make_headers(0x0a000001, 0x0a000002, (guint16)(40000 + i % 4), 80);
		struct dtc_headers back = make_headers(0x0a000002, 0x0a000001, 80, (guint16)(40000 + i % 4));
		guint32 isn = i * 2654435761u;
		there.tcp_flags = DTC_TCP_SYN;
		there.seq = isn;
		send(world, 0, &there);
		back.tcp_flags = DTC_TCP_SYN | DTC_TCP_ACK;
		back.seq = ~isn;
		back.ack = isn + 1;
		send(world, 1, &back);
		there.tcp_flags = DTC_TCP_ACK | DTC_TCP_FIN;
		there.seq = isn + 1;
		there.ack = ~isn + 1;
		there.payload_bytes = 100;
		send(world, 0, &there);
	}
}

/* 1 M acknowledgements without data, each with an IP id that comes again and again. */
static void acknowledge(struct world *world, guint percent)
{
	struct dtc_headers there = make_headers(0x0a000001, 0x0a000002, 40000, 80);
	for (guint i = 0; i < 10000 * percent; i++) {
		there.ack += i % 16 ? 1448 : 0; /* every sixteenth is sent twice */
		there.ip_id = (guint16)(i / 16 * 16);
		send(world, 0, &there);
	}
}

/* 500,000 flows of one packet: names asked from one port each, answers never seen. */
static void ask_once(struct world *world, guint percent)
{
	for (guint i = 0; i < 5000 * percent; i++) {
		struct dtc_headers headers =
			make_headers(0x0a000001, 0x0a000002 + i / 60000, (guint16)(1000 + i % 60000), 53);
		headers.protocol = DTC_PROTOCOL_UDP;
		headers.payload_bytes = 40;
		headers.ip_id = (guint16)i;
		see(world, 0, DTC_SENT, &headers);
		world->now_ns += 1000;
	}
}

static const struct {
	const char *name;
	void (*fill)(struct world *world, guint percent);
} cases[] = {
	{ "2 M packets that never match", talk_to_strangers },
	{ "1 M segments of one connection, with wrap", stream_and_wrap },
	{ "150,000 connections on four ports", reuse_ports },
	{ "1 M acknowledgements, some twice", acknowledge },
	{ "500,000 flows of one packet", ask_once },
};

static guint64 get_anonymous_bytes(void)
{
	g_autofree char *text = NULL;
	if (!g_file_get_contents("/proc/self/status", &text, NULL, NULL))
		return 0;
	const char *line = strstr(text, "RssAnon:");
	return line ? g_ascii_strtoull(line + 8, NULL, 10) * 1024 : 0;
}

struct watch {
	gint is_done; /* atomic */
	guint64 peak_bytes;
};

static gpointer watch_memory(gpointer data)
{
	struct watch *watch = data;
	while (!g_atomic_int_get(&watch->is_done)) {
		watch->peak_bytes = MAX(watch->peak_bytes, get_anonymous_bytes());
		g_usleep(500);
	}
	return NULL;
}

static bool run(guint index, guint percent)
{
	struct world world = { .kernel = { dtc_packets_new(), dtc_packets_new() } };
	struct dtc_match_source sources[2] = { { .node = "a" }, { .node = "b" } };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	struct watch watch = { 0 };
	cases[index].fill(&world, percent);
	for (guint i = 0; i < 2; i++) {
		dtc_packets_seal(world.kernel[i]);
		sources[i].kernel = world.kernel[i];
	}
	guint64 before = watch.peak_bytes = get_anonymous_bytes();
	GThread *thread = g_thread_new("memory", watch_memory, &watch);
	clock_t begin = clock();
	g_autoptr(DtcMatches) matches = dtc_match_packets(sources, 2, NULL, findings);
	double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
	watch.peak_bytes = MAX(watch.peak_bytes, get_anonymous_bytes());
	g_atomic_int_set(&watch.is_done, 1);
	g_thread_join(thread);
	guint64 messages = 0, ambiguous = 0;
	for (guint i = 0; i < dtc_matches_get_pair_count(matches); i++) {
		struct dtc_match_pair pair;
		dtc_matches_get_pair(matches, i, &pair);
		messages += pair.ab_count + pair.ba_count;
		ambiguous += pair.ambiguous;
	}
	double bytes = (double)(watch.peak_bytes - before) / MAX(world.count, 1);
	printf("%-42s %9u packets %9" G_GUINT64_FORMAT " messages %7" G_GUINT64_FORMAT
	       " ambiguous %6.2f s %6.1f B/packet\n",
	       cases[index].name, world.count, messages, ambiguous, seconds, bytes);
	fflush(stdout);
	for (guint i = 0; i < 2; i++)
		dtc_packets_free(world.kernel[i]);
	return world.count < PACKETS_LEAST || bytes <= BYTES_PER_PACKET_MAX;
}

int main(int argc, char **argv)
{
	guint percent = argc > 1 ? (guint)CLAMP(atoi(argv[1]), 1, 100) : 100;
	bool is_small = true;
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		if (argc < 3 || (guint)atoi(argv[2]) == i)
			is_small &= run(i, percent);
	return is_small ? 0 : 1;
}
