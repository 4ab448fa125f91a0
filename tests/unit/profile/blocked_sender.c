/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who a thread was blocked by when a packet ended the wait: who wrote the bytes; in a connect the peer's kernel, which
 * answered the thread's own SYN, and not the thread itself, also if its kernel sent the SYN once more.
 */
#include "analyze/profile/blocked.h"
#include "sync/fit/clocks.h"
#include "tests/support/said.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define TIMER 1
#define NET_RX 3

static const char *const names[] = { "client", "server" };

static void in_softirq(struct story *s, int64_t t, int vector, enum dtc_event_kind kind,
		       const struct dtc_headers *headers, int wakes, const char *comm)
{
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t - 1, 0, vector, NULL);
	story_packet(s, kind, t, 0, headers);
	if (wakes)
		story_task(s, DTC_EVENT_SCHED_WAKING, t + 1, 0, wakes, comm, 0);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 2, 0, vector, NULL);
}

/* The first SYN is lost if is_again. The thread that asks is not the first of its process. */
static const DtcHistory *tell_client(struct story *c, const struct dtc_headers headers[4], bool is_again)
{
	story_begin(c, "client");
	story_switch(c, 0, 0, 0, "swapper/0", RUN, 10, "main");
	story_fork(c, 1, 0, 10, 10, 11, 10, "asks");
	story_task(c, DTC_EVENT_SCHED_WAKEUP_NEW, 2, 0, 11, "asks", 0);
	story_switch(c, 3, 0, 10, "main", SLEEP, 11, "asks");
	story_enter(c, 5, 0, "connect", 5);
	story_packet(c, DTC_EVENT_NET_SEND, 6, 0, &headers[0]);
	story_switch(c, 10, 0, 11, "asks", SLEEP, 0, "swapper/0");
	if (is_again)
		in_softirq(c, 20, TIMER, DTC_EVENT_NET_SEND, &headers[0], 0, NULL);
	in_softirq(c, 60, NET_RX, DTC_EVENT_NET_RECEIVE, &headers[1], 11, "asks");
	story_switch(c, 65, 0, 0, "swapper/0", RUN, 11, "asks");
	story_leave(c, 70, 0, "connect", 0);
	story_enter(c, 90, 0, "write", 5);
	story_packet(c, DTC_EVENT_NET_SEND, 92, 0, &headers[2]);
	story_leave(c, 94, 0, "write", 50);
	story_enter(c, 100, 0, "read", 5);
	story_switch(c, 101, 0, 11, "asks", SLEEP, 0, "swapper/0");
	in_softirq(c, 160, NET_RX, DTC_EVENT_NET_RECEIVE, &headers[3], 11, "asks");
	story_switch(c, 165, 0, 0, "swapper/0", RUN, 11, "asks");
	story_leave(c, 170, 0, "read", 60);
	story_switch(c, 900, 0, 11, "asks", SLEEP, 0, "swapper/0");
	return story_end(c);
}

static const DtcHistory *tell_server(struct story *v, const struct dtc_headers headers[4])
{
	story_begin(v, "server");
	story_switch(v, 0, 0, 0, "swapper/0", RUN, 20, "answers");
	in_softirq(v, 40, NET_RX, DTC_EVENT_NET_RECEIVE, &headers[0], 0, NULL);
	in_softirq(v, 45, NET_RX, DTC_EVENT_NET_SEND, &headers[1], 0, NULL);
	story_enter(v, 50, 0, "accept", 3);
	story_leave(v, 52, 0, "accept", 4);
	in_softirq(v, 110, NET_RX, DTC_EVENT_NET_RECEIVE, &headers[2], 0, NULL);
	story_enter(v, 120, 0, "read", 4);
	story_leave(v, 125, 0, "read", 50);
	story_enter(v, 130, 0, "write", 4);
	story_packet(v, DTC_EVENT_NET_SEND, 140, 0, &headers[3]);
	story_leave(v, 145, 0, "write", 60);
	story_switch(v, 900, 0, 20, "answers", SLEEP, 0, "swapper/0");
	return story_end(v);
}

static const char *find_waker(const DtcLinks *links, const DtcBlocked *blocked, const char *call)
{
	for (guint i = 0; i < dtc_blocked_get_count(blocked); i++) {
		const struct dtc_blocked_row *row = dtc_blocked_get_row(blocked, i);
		const char *said = row->node == 0 ? said_of_blocked_call(links, row) : NULL;
		if (said && g_str_has_prefix(said, call))
			return said_of_blocked_end(links, row);
	}
	return NULL;
}

static void check(bool is_again)
{
	const struct dtc_headers headers[] = {
		story_headers(CLIENT, 1000, SERVER, 80, 100, 0, DTC_TCP_SYN, 0, 1),
		story_headers(SERVER, 80, CLIENT, 1000, 5100, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0),
		story_headers(CLIENT, 1000, SERVER, 80, 101, 5101, DTC_TCP_ACK, 50, 2),
		story_headers(SERVER, 80, CLIENT, 1000, 5101, 151, DTC_TCP_ACK, 60, 3),
	};
	struct story client, server;
	const DtcHistory *histories[] = { tell_client(&client, headers, is_again), tell_server(&server, headers) };
	g_autoptr(DtcClocks) clocks = dtc_clocks_new(2, 0);
	const struct dtc_clock_knot knots[] = { { 0, 0, -1, 1 }, { 1000, 1000, 999, 1001 } };
	dtc_clocks_set_node(clocks, 0, 0, knots, 2, 0);
	dtc_clocks_set_node(clocks, 1, 0, knots, 2, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(2, names, histories, clocks);
	g_autoptr(DtcEdges) edges = dtc_edges_new(links);
	const struct dtc_blocked_options all = { 0 };
	g_autoptr(DtcBlocked) blocked = dtc_blocked_new(edges, &all);
	g_assert_cmpstr(find_waker(links, blocked, "connect"), ==, "packet from the kernel of server");
	g_assert_cmpstr(find_waker(links, blocked, "read"), ==, "packet from answers@server");
	story_clear(&client);
	story_clear(&server);
}

static void test_once(void)
{
	check(false);
}

static void test_again(void)
{
	check(true);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/blocked/sender/handshake", test_once);
	g_test_add_func("/blocked/sender/handshake-again", test_again);
	return g_test_run();
}
