/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets without addresses (LTTng 2.1's inet_sock_local_*): the walk crosses from node to node by TCP's numbers, also
 * where a kernel answered by itself, and never takes another connection's segment. Times are in ms.
 */
#include "analyze/path/walk.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define MS 1000000
#define NET_RX 3
#define TIMER 1
#define PSH_ACK 0x18

struct two {
	struct story client, server;
	DtcClocks *clocks;
	DtcLinks *links;
	DtcEdges *edges;
	DtcPath *path;
};

static void at(struct story *s, enum dtc_event_kind kind, int64_t ms, uint32_t seq, uint32_t ack, uint8_t flags)
{
	const struct dtc_headers headers = { .protocol = DTC_PROTOCOL_TCP, .tcp_flags = flags, .seq = seq, .ack = ack };
	story_packet(s, kind, ms * MS, 0, &headers);
}

static void wake(struct story *s, int64_t ms, uint32_t seq, uint32_t ack, int tid, const char *comm)
{
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, ms * MS - 1000, 0, NET_RX, NULL);
	at(s, DTC_EVENT_INET_IN, ms, seq, ack, PSH_ACK);
	story_task(s, DTC_EVENT_SCHED_WAKING, ms * MS + 1000, 0, tid, comm, 0);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, ms * MS + 2000, 0, NET_RX, NULL);
	story_switch(s, ms * MS + 3000, 0, 0, "swapper/0", RUN, tid, comm);
}

/* 10 asks 20 at 10, which gets it at 12, works to 60 and answers; the answer comes at 62. */
static void begin(struct two *x)
{
	struct story *c = &x->client, *v = &x->server;
	story_begin(c, "client");
	story_begin(v, "server");
	story_switch(c, 0, 0, 0, "swapper/0", RUN, 10, "asks");
	story_switch(v, 0, 0, 0, "swapper/0", RUN, 20, "answers");
	story_switch(v, 1 * MS, 0, 20, "answers", SLEEP, 0, "swapper/0");
	at(c, DTC_EVENT_INET_OUT, 10, 1000, 5000, PSH_ACK);
	story_switch(c, 11 * MS, 0, 10, "asks", SLEEP, 0, "swapper/0");
	wake(v, 12, 1000, 5000, 20, "answers");
}

static void end(struct two *x)
{
	story_switch(&x->client, 70 * MS, 0, 10, "asks", SLEEP, 0, "swapper/0");
	story_switch(&x->server, 71 * MS, 0, 20, "answers", SLEEP, 0, "swapper/0");
	story_end(&x->client);
	story_end(&x->server);
	const DtcHistory *histories[] = { x->client.history, x->server.history };
	const char *names[] = { "client", "server" };
	x->clocks = dtc_clocks_new_identity(2);
	x->links = dtc_links_new(2, names, histories, x->clocks);
	x->edges = dtc_edges_new(x->links);
	const struct dtc_path_target target = { .node = 0,
						.thread = dtc_history_find_thread(x->client.history, 10, DTC_TIME_NONE),
						.begin = { 0 },
						.end = { 70 * MS },
						.call = DTC_NONE };
	GError *error = NULL;
	x->path = dtc_path_walk(x->edges, &target, NULL, &error);
	g_assert_no_error(error);
	g_assert_true(dtc_path_check(x->path, &error));
}

static void clear(struct two *x)
{
	dtc_path_free(x->path);
	dtc_edges_free(x->edges);
	dtc_links_free(x->links);
	dtc_clocks_free(x->clocks);
	story_clear(&x->client);
	story_clear(&x->server);
}

static const struct dtc_segment *get_at(const struct two *x, int64_t ms)
{
	for (guint i = 0; i < dtc_path_get_segment_count(x->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(x->path, i);
		if (s->begin.ns < ms * MS && ms * MS <= s->end.ns)
			return s;
	}
	g_assert_not_reached();
}

static void assert_at(const struct two *x, int64_t ms, guint node, enum dtc_cause cause)
{
	const struct dtc_segment *s = get_at(x, ms);
	g_assert_cmpuint(s->node, ==, node);
	g_assert_cmpstr(dtc_cause_to_string(s->cause), ==, dtc_cause_to_string(cause));
}

static void test_crosses(void)
{
	struct two x;
	begin(&x);
	at(&x.server, DTC_EVENT_INET_OUT, 60, 5000, 1050, PSH_ACK);
	wake(&x.client, 62, 5000, 1050, 10, "asks");
	end(&x);
	assert_at(&x, 65, 0, DTC_CAUSE_RUNNING_USER);
	assert_at(&x, 61, 0, DTC_CAUSE_NETWORK_WIRE);
	assert_at(&x, 40, 1, DTC_CAUSE_RUNNING_USER); /* the server's own work, and back to who asked it */
	assert_at(&x, 11, 1, DTC_CAUSE_NETWORK_WIRE);
	assert_at(&x, 9, 0, DTC_CAUSE_RUNNING_USER);
	clear(&x);
}

/* The client's kernel holds bytes back until an acknowledgement, which the server's timer sends late (Nagle). */
static void test_delayed(void)
{
	struct two x;
	struct story *c = &x.client, *v = &x.server;
	begin(&x);
	story_switch(v, 14 * MS, 0, 20, "answers", SLEEP, 0, "swapper/0");
	story_context(v, DTC_EVENT_SOFTIRQ_ENTRY, 49 * MS, 0, TIMER, NULL);
	at(v, DTC_EVENT_INET_OUT, 50, 5000, 1050, DTC_TCP_ACK);
	story_context(v, DTC_EVENT_SOFTIRQ_EXIT, 51 * MS, 0, TIMER, NULL);
	story_context(c, DTC_EVENT_SOFTIRQ_ENTRY, 52 * MS - 1000, 0, NET_RX, NULL);
	at(c, DTC_EVENT_INET_IN, 52, 5000, 1050, DTC_TCP_ACK);
	at(c, DTC_EVENT_INET_OUT, 53, 1050, 5000, PSH_ACK);
	story_context(c, DTC_EVENT_SOFTIRQ_EXIT, 53 * MS + 2000, 0, NET_RX, NULL);
	wake(v, 54, 1050, 5000, 20, "answers");
	at(v, DTC_EVENT_INET_OUT, 60, 5000, 1080, PSH_ACK);
	wake(c, 62, 5000, 1080, 10, "asks");
	end(&x);
	assert_at(&x, 58, 1, DTC_CAUSE_RUNNING_USER);
	assert_at(&x, 40, 1, DTC_CAUSE_NETWORK_SEND);
	g_assert_cmpint(get_at(&x, 40)->evidence.reason, ==, DTC_REASON_DELAYED_ACK);
	assert_at(&x, 9, 0, DTC_CAUSE_RUNNING_USER);
	clear(&x);
}

/* Nobody sent a segment with these numbers: another connection's is not taken for it. */
static void test_untraced(void)
{
	struct two x;
	begin(&x);
	at(&x.server, DTC_EVENT_INET_OUT, 60, 5000, 1051, PSH_ACK);
	wake(&x.client, 62, 5000, 1050, 10, "asks");
	end(&x);
	assert_at(&x, 40, 0, DTC_CAUSE_UNKNOWN);
	clear(&x);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/path/bare/crosses", test_crosses);
	g_test_add_func("/path/bare/delayed", test_delayed);
	g_test_add_func("/path/bare/untraced", test_untraced);
	return g_test_run();
}
