/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A load generator (40) asks a proxy (20) over loopback, which asks a server (60): only the first serves nobody. */
#include "analyze/request/clients.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define LOCALHOST 0x7f000001u
#define PROXY 20
#define LOAD 40
#define SERVER 60

static void send(struct story *s, int64_t t, uint32_t cpu, const struct dtc_headers *h)
{
	story_packet(s, DTC_EVENT_NET_SEND, t, cpu, h);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t, cpu, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t + 1, cpu, h);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 1, cpu, 3, NULL);
}

/* From a thread on a CPU, to one on another, which takes it as fd 4. */
static void connect_to(struct story *s, int64_t t, uint32_t from_cpu, uint16_t from, uint32_t to_cpu, uint16_t to)
{
	struct dtc_headers syn = story_headers(LOCALHOST, from, LOCALHOST, to, 99, 0, DTC_TCP_SYN, 0, 1);
	struct dtc_headers syn_ack =
		story_headers(LOCALHOST, to, LOCALHOST, from, 499, 100, DTC_TCP_SYN | DTC_TCP_ACK, 0, 2);
	struct dtc_headers ack = story_headers(LOCALHOST, from, LOCALHOST, to, 100, 500, DTC_TCP_ACK, 0, 3);
	story_enter(s, t, from_cpu, "connect", 7);
	send(s, t + 2, from_cpu, &syn);
	send(s, t + 4, from_cpu, &syn_ack);
	send(s, t + 6, from_cpu, &ack);
	story_leave(s, t + 8, from_cpu, "connect", 0);
	story_enter(s, t + 9, to_cpu, "accept4", 3);
	story_leave(s, t + 10, to_cpu, "accept4", 4);
}

/* An exchange that the proxy's node captured. */
static bool has_only_asked(DtcClients *clients, const DtcPackets *packets, uint16_t from, uint16_t to)
{
	const struct dtc_headers h = story_headers(LOCALHOST, from, LOCALHOST, to, 0, 0, 0, 0, 0);
	const struct dtc_exchange e = { .flow = dtc_packets_find_flow(packets, h.source, from, h.destination, to,
								      DTC_PROTOCOL_TCP, 0) };
	g_assert_cmpuint(e.flow, !=, DTC_NONE);
	return dtc_clients_has_only_asked(clients, &e);
}

static void test_loopback(void)
{
	struct story s;
	static const char *const names[] = { "n" };
	story_begin(&s, "n");
	static const int pids[] = { PROXY, LOAD, SERVER };
	story_switch(&s, 0, 3, 0, "swapper/3", 0, 1, "init");
	for (guint cpu = 0; cpu < G_N_ELEMENTS(pids); cpu++) {
		story_fork(&s, 1 + cpu, 3, 1, 1, pids[cpu], pids[cpu], "process");
		story_switch(&s, 5 + cpu, cpu, 0, "swapper", 0, pids[cpu], "process");
	}
	connect_to(&s, 10, 1, 50000, 0, 80);
	connect_to(&s, 30, 0, 50001, 2, 81);
	const DtcHistory *h = story_end(&s);
	const DtcPackets *captures[] = { dtc_history_get_packets(h) };
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, names, &h, clocks);
	g_autoptr(DtcClients) clients = dtc_clients_new(links, captures);
	g_assert_true(has_only_asked(clients, captures[0], 50000, 80));
	g_assert_false(has_only_asked(clients, captures[0], 50001, 81));
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clients/loopback", test_loopback);
	return g_test_run();
}
