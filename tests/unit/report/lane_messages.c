/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages between lanes: two questions on one connection, which two threads of the server take in turn. What a read
 * takes is told by its bytes: a question that arrives while the first thread still reads the one before is the second
 * thread's.
 */
#include "analyze/path/path_build.h"
#include "analyze/report/lanes.h"
#include "analyze/report/model.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define ASKS 10
#define FIRST 20
#define SECOND 21

static const char *const names[] = { "client", "server" };

static void receive(struct story *s, int64_t t, uint32_t cpu, const struct dtc_headers *headers, int wakes,
		    const char *comm)
{
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t - 1, cpu, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, cpu, headers);
	if (wakes)
		story_task(s, DTC_EVENT_SCHED_WAKING, t + 1, cpu, wakes, comm, (int)cpu);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 2, cpu, 3, NULL);
}

/* The second question leaves at this time. */
static const DtcHistory *tell_client(struct story *c, const struct dtc_headers *headers, int64_t second_ns)
{
	story_begin(c, "client");
	story_switch(c, 0, 0, 0, "swapper/0", RUN, ASKS, "asks");
	story_enter(c, 3, 0, "connect", 5);
	story_packet(c, DTC_EVENT_NET_SEND, 4, 0, &headers[0]);
	receive(c, 8, 0, &headers[1], 0, NULL);
	story_leave(c, 11, 0, "connect", 0);
	story_enter(c, 90, 0, "write", 5);
	story_packet(c, DTC_EVENT_NET_SEND, 92, 0, &headers[2]);
	story_leave(c, 94, 0, "write", 50);
	story_enter(c, second_ns - 2, 0, "write", 5);
	story_packet(c, DTC_EVENT_NET_SEND, second_ns, 0, &headers[3]);
	story_leave(c, second_ns + 2, 0, "write", 50);
	story_switch(c, 300, 0, ASKS, "asks", SLEEP, 0, "swapper/0");
	return story_end(c);
}

/* The first thread waits for the first question, the second one for the second; then the first looks for another. */
static const DtcHistory *tell_server(struct story *v, const struct dtc_headers *headers, int64_t second_ns)
{
	bool is_early = second_ns < 120;
	story_begin(v, "server");
	story_switch(v, 0, 0, 0, "swapper/0", RUN, FIRST, "first");
	story_fork(v, 1, 0, FIRST, FIRST, SECOND, FIRST, "second");
	story_task(v, DTC_EVENT_SCHED_WAKEUP_NEW, 2, 0, SECOND, "second", 1);
	story_switch(v, 3, 1, 0, "swapper/1", RUN, SECOND, "second");
	receive(v, 6, 0, &headers[0], 0, NULL);
	story_context(v, DTC_EVENT_SOFTIRQ_ENTRY, 9, 0, 3, NULL);
	story_packet(v, DTC_EVENT_NET_SEND, 10, 0, &headers[1]);
	story_context(v, DTC_EVENT_SOFTIRQ_EXIT, 11, 0, 3, NULL);
	story_enter(v, 12, 0, "accept", 3);
	story_leave(v, 13, 0, "accept", 4);
	story_enter(v, 14, 0, "read", 4);
	story_switch(v, 15, 0, FIRST, "first", SLEEP, 0, "swapper/0");
	receive(v, 110, 0, &headers[2], FIRST, "first");
	story_switch(v, 115, 0, 0, "swapper/0", RUN, FIRST, "first");
	if (is_early)
		receive(v, second_ns, 1, &headers[3], 0, NULL);
	story_leave(v, 120, 0, "read", 50);
	story_enter(v, 122, 1, "read", 4);
	if (!is_early) {
		story_switch(v, 124, 1, SECOND, "second", SLEEP, 0, "swapper/1");
		receive(v, second_ns, 1, &headers[3], SECOND, "second");
		story_switch(v, 155, 1, 0, "swapper/1", RUN, SECOND, "second");
	}
	story_leave(v, 160, 1, "read", 50);
	story_enter(v, 170, 0, "read", 4);
	story_leave(v, 175, 0, "read", -11);
	story_enter(v, 250, 0, "write", 4); /* after the window: it shows whose connection fd 4 is */
	story_packet(v, DTC_EVENT_NET_SEND, 251, 0, &headers[4]);
	story_leave(v, 252, 0, "write", 20);
	story_switch(v, 300, 0, FIRST, "first", SLEEP, 0, "swapper/0");
	return story_end(v);
}

/* A path on which all three threads are, from 50 to 200. */
static DtcPath *make_path(const DtcHistory *const *histories)
{
	static const struct {
		int64_t begin, end;
		guint node;
		int tid;
	} pieces[] = { { 50, 100, 0, ASKS }, { 100, 150, 1, FIRST }, { 150, 200, 1, SECOND } };
	DtcPath *path = dtc_path_new((DtcClusterTime){ 50 }, (DtcClusterTime){ 200 });
	for (guint i = G_N_ELEMENTS(pieces); i-- > 0;) {
		const DtcHistory *history = histories[pieces[i].node];
		uint32_t thread = dtc_history_find_thread(history, pieces[i].tid, DTC_TIME_NONE);
		struct dtc_segment segment = { .begin = { pieces[i].begin },
					       .end = { pieces[i].end },
					       .node = pieces[i].node,
					       .thread = thread,
					       .cause = DTC_CAUSE_RUNNING_USER,
					       .tid = pieces[i].tid,
					       .pid = pieces[i].tid,
					       .comm = dtc_history_get_comm(history, thread, 100),
					       .process = "p" };
		dtc_path_add_segment(path, &segment);
	}
	dtc_path_finish(path);
	return path;
}

static int32_t get_tid(const DtcLanes *lanes, guint lane)
{
	g_assert_cmpuint(lane, <, lanes->lanes->len);
	return g_array_index(lanes->lanes, struct dtc_lane, lane).tid;
}

static void check_readers(int64_t second_sent_ns, int64_t second_received_ns)
{
	const struct dtc_headers headers[] = {
		story_headers(CLIENT, 1000, SERVER, 80, 100, 0, DTC_TCP_SYN, 0, 1),
		story_headers(SERVER, 80, CLIENT, 1000, 5100, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0),
		story_headers(CLIENT, 1000, SERVER, 80, 101, 5101, DTC_TCP_ACK, 50, 2),
		story_headers(CLIENT, 1000, SERVER, 80, 151, 5101, DTC_TCP_ACK, 50, 3),
		story_headers(SERVER, 80, CLIENT, 1000, 5101, 201, DTC_TCP_ACK, 20, 4),
	};
	struct story client, server;
	const DtcHistory *histories[] = { tell_client(&client, headers, second_sent_ns),
					  tell_server(&server, headers, second_received_ns) };
	g_autoptr(DtcClocks) clocks = dtc_clocks_new(2, 0);
	const struct dtc_clock_knot knots[] = { { 0, 0, -1, 1 }, { 1000, 1000, 999, 1001 } };
	dtc_clocks_set_node(clocks, 0, 0, knots, 2, 0);
	dtc_clocks_set_node(clocks, 1, 0, knots, 2, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(2, names, histories, clocks);
	g_autoptr(DtcPath) path = make_path(histories);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const struct dtc_report_input input = {
		.origin_ns = INT64_MIN,
		.node_names = names,
		.node_count = 2,
		.path = path,
		.clocks = clocks,
		.findings = findings,
		.target_node = 1,
		.target_pid = FIRST,
		.target_tid = SECOND,
		.target_comm = "second",
		.target_process = "p",
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcReport) report = dtc_report_new(&input, &error);
	g_assert_no_error(error);
	const struct dtc_lanes_options options = { .max_lanes = 10, .max_bars = 1000, .max_messages = 10 };
	g_autoptr(DtcLanes) lanes = dtc_lanes_new(report, path, links, &options);
	const struct {
		int64_t sent_ns, received_ns;
		int32_t to;
	} wanted[] = { { 92, 110, FIRST }, { second_sent_ns, second_received_ns, SECOND } };
	g_assert_cmpuint(lanes->messages->len, ==, G_N_ELEMENTS(wanted));
	for (guint i = 0; i < G_N_ELEMENTS(wanted); i++) {
		const struct dtc_lane_message *m = &g_array_index(lanes->messages, struct dtc_lane_message, i);
		g_assert_cmpint(get_tid(lanes, m->from_lane), ==, ASKS);
		g_assert_cmpint(get_tid(lanes, m->to_lane), ==, wanted[i].to);
		g_assert_cmpint(m->sent_ns, ==, wanted[i].sent_ns);
		g_assert_cmpint(m->received_ns, ==, wanted[i].received_ns);
		g_assert_cmpuint(m->step, ==, G_MAXUINT);
	}
	story_clear(&client);
	story_clear(&server);
}

static void test_waiting(void)
{
	check_readers(132, 150);
}

static void test_while_another_reads(void)
{
	check_readers(100, 117);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lanes/reader-waiting", test_waiting);
	g_test_add_func("/lanes/reader-while-another-reads", test_while_another_reads);
	return g_test_run();
}
