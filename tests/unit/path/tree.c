/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands beneath a blocking: the waker's own waits, its messages, and its parent's waits before it was born. */
#include "analyze/path/tree.h"
#include "analyze/path/path_build.h"
#include "sync/fit/clocks.h"
#include "tests/support/said.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u

struct pair {
	struct story client, server;
	DtcClocks *clocks;
	DtcLinks *links;
	DtcPath *path;
	struct dtc_path_target target;
};

static void receive(struct story *s, int64_t t, uint32_t cpu, const struct dtc_headers *headers, int wakes,
		    const char *comm)
{
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t - 1, cpu, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, cpu, headers);
	if (wakes)
		story_task(s, DTC_EVENT_SCHED_WAKING, t + 1, cpu, wakes, comm, (int)cpu);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 2, cpu, 3, NULL);
}

static void assert_span(const struct dtc_blocking *b, int64_t begin, int64_t end_ns)
{
	g_assert_cmpint(b->begin.ns, ==, begin);
	g_assert_cmpint(b->end.ns, ==, end_ns);
}

/* With short ones counted alone, those are told that are long, and so is all above them; none is lost. */
static void assert_told(const DtcEdges *edges, const struct pair *pair, int64_t told_ns)
{
	const struct dtc_path_options options = { .told_ns = told_ns };
	g_autoptr(DtcPath) some = dtc_path_walk(edges, &pair->target, &options, NULL);
	guint count = dtc_path_get_blocking_count(pair->path), told = 0, deep;
	g_autofree bool *is_told = g_new0(bool, count);
	for (guint i = 0; i < count; i++) {
		const struct dtc_blocking *b = dtc_path_get_blocking(pair->path, i);
		is_told[i] = b->end.ns - b->begin.ns >= told_ns && (b->depth == 0 || is_told[b->parent]);
		if (!is_told[i])
			continue;
		const struct dtc_blocking *other = dtc_path_get_blocking(some, told++);
		assert_span(other, b->begin.ns, b->end.ns);
		g_assert_cmpuint(other->depth, ==, b->depth);
		g_assert_cmpint(other->tid, ==, b->tid);
		g_assert_cmpint(other->cause, ==, b->cause);
		g_assert_cmpint(other->ended.by, ==, b->ended.by);
	}
	g_assert_cmpuint(dtc_path_get_blocking_count(some), ==, told);
	g_assert_cmpuint(dtc_path_get_untold_count(some, &deep), ==, count - told);
	g_assert_cmpuint(deep, ==, 0);
}

/* The causality of a thread of the server over a span. */
static void end(struct pair *pair, int tid, int64_t begin, int64_t end_ns)
{
	const DtcHistory *histories[2] = { story_end(&pair->client), story_end(&pair->server) };
	const char *names[2] = { "client", "server" };
	struct dtc_clock_knot knots[] = { { 0, 0, -1, 1 }, { 100000, 100000, 99999, 100001 } };
	pair->clocks = dtc_clocks_new(2, 0);
	dtc_clocks_set_node(pair->clocks, 0, 0, knots, 2, 0);
	dtc_clocks_set_node(pair->clocks, 1, 0, knots, 2, 0);
	pair->links = dtc_links_new(2, names, histories, pair->clocks);
	pair->target = (struct dtc_path_target){ .node = 1,
						 .thread = dtc_history_find_thread(histories[1], tid, DTC_TIME_NONE),
						 .begin = { begin },
						 .end = { end_ns },
						 .call = DTC_NONE };
	GError *error = NULL;
	g_autoptr(DtcEdges) edges = dtc_edges_new(pair->links);
	pair->path = dtc_path_walk(edges, &pair->target, NULL, &error);
	g_assert_no_error(error);
	for (int64_t told_ns = 1; told_ns <= end_ns - begin; told_ns++)
		assert_told(edges, pair, told_ns);
}

static void clear(struct pair *pair)
{
	dtc_path_free(pair->path);
	dtc_links_free(pair->links);
	dtc_clocks_free(pair->clocks);
	story_clear(&pair->client);
	story_clear(&pair->server);
}

static const struct dtc_blocking *find(const struct pair *pair, guint depth, int tid, enum dtc_cause cause)
{
	const struct dtc_blocking *found = NULL;
	for (guint i = 0; i < dtc_path_get_blocking_count(pair->path); i++) {
		const struct dtc_blocking *b = dtc_path_get_blocking(pair->path, i);
		if (b->depth != depth || b->tid != tid || b->cause != cause)
			continue;
		g_assert_null(found);
		found = b;
	}
	g_assert_nonnull(found);
	return found;
}

/*
 * The server waits in accept from 12 on. What it waits for comes from a client that is born at 30, connects and is
 * answered by the server's kernel. Before, its parent slept.
 */
static void test_young_client(void)
{
	struct pair pair = { 0 };
	struct story *c = &pair.client, *v = &pair.server;
	struct dtc_headers syn = story_headers(CLIENT, 1000, SERVER, 80, 100, 0, DTC_TCP_SYN, 0, 1);
	struct dtc_headers syn_ack =
		story_headers(SERVER, 80, CLIENT, 1000, 5100, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	struct dtc_headers question = story_headers(CLIENT, 1000, SERVER, 80, 101, 5101, DTC_TCP_ACK, 50, 2);
	struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 1000, 5101, 151, DTC_TCP_ACK, 60, 3);
	story_begin(c, "client");
	story_begin(v, "server");
	story_switch(v, 0, 0, 0, "swapper/0", RUN, 20, "answers");
	story_enter(v, 10, 0, "read", 4);
	story_switch(v, 12, 0, 20, "answers", SLEEP, 0, "swapper/0");
	story_switch(c, 0, 0, 0, "swapper/0", RUN, 9, "shell");
	story_enter(c, 3, 0, "nanosleep", -1);
	story_switch(c, 5, 0, 9, "shell", SLEEP, 0, "swapper/0");
	story_context(c, DTC_EVENT_HRTIMER_ENTRY, 25, 0, 0, NULL);
	story_task(c, DTC_EVENT_SCHED_WAKING, 25, 0, 9, "shell", 0);
	story_context(c, DTC_EVENT_HRTIMER_EXIT, 26, 0, 0, NULL);
	story_switch(c, 27, 0, 0, "swapper/0", RUN, 9, "shell");
	story_leave(c, 28, 0, "nanosleep", 0);
	story_fork(c, 30, 0, 9, 9, 10, 10, "asks");
	story_task(c, DTC_EVENT_SCHED_WAKEUP_NEW, 31, 0, 10, "asks", 0);
	story_switch(c, 35, 0, 9, "shell", SLEEP, 10, "asks");
	story_enter(c, 40, 0, "connect", 5);
	story_packet(c, DTC_EVENT_NET_SEND, 41, 0, &syn);
	story_switch(c, 42, 0, 10, "asks", SLEEP, 0, "swapper/0");
	story_context(v, DTC_EVENT_SOFTIRQ_ENTRY, 44, 0, 3, NULL);
	story_packet(v, DTC_EVENT_NET_RECEIVE, 45, 0, &syn);
	story_packet(v, DTC_EVENT_NET_SEND, 46, 0, &syn_ack);
	story_context(v, DTC_EVENT_SOFTIRQ_EXIT, 47, 0, 3, NULL);
	receive(c, 60, 0, &syn_ack, 10, "asks");
	story_switch(c, 65, 0, 0, "swapper/0", RUN, 10, "asks");
	story_leave(c, 66, 0, "connect", 0);
	story_enter(c, 90, 0, "write", 5);
	story_packet(c, DTC_EVENT_NET_SEND, 92, 0, &question);
	story_leave(c, 94, 0, "write", 50);
	story_switch(c, 95, 0, 10, "asks", SLEEP, 0, "swapper/0");
	receive(v, 110, 0, &question, 20, "answers");
	story_switch(v, 115, 0, 0, "swapper/0", RUN, 20, "answers");
	story_leave(v, 120, 0, "read", 50);
	story_enter(v, 130, 0, "write", 4);
	story_packet(v, DTC_EVENT_NET_SEND, 131, 0, &answer);
	story_leave(v, 132, 0, "write", 60);
	story_switch(v, 140, 0, 20, "answers", SLEEP, 0, "swapper/0");
	end(&pair, 20, 12, 135);
	const struct dtc_blocking *wait = find(&pair, 0, 20, DTC_CAUSE_NETWORK_RECEIVE);
	assert_span(wait, 12, 111);
	g_assert_cmpstr(said_of_end(pair.links, wait), ==, "packet from asks (tid 10) on client");
	const struct dtc_blocking *handshake = find(&pair, 1, 10, DTC_CAUSE_NETWORK_RECEIVE);
	assert_span(handshake, 42, 61);
	g_assert_cmpstr(said_of_end(pair.links, handshake), ==, "SYN-ACK from the kernel of server");
	assert_span(find(&pair, 1, 9, DTC_CAUSE_TIMER), 12, 25);
	/* beneath the handshake: the way of its packets, and nobody's work */
	for (guint i = 0; i < dtc_path_get_blocking_count(pair.path); i++)
		if (dtc_path_get_blocking(pair.path, i)->depth > 1)
			g_assert_cmpint(dtc_path_get_blocking(pair.path, i)->cause, ==, DTC_CAUSE_NETWORK_WIRE);
	clear(&pair);
}

/*
 * A thread of the server waits from 12 to 311 for a question. The client that asks it asked another at 90, was answered
 * at 182, and slept from 200 to 300: it waited for that answer from 90 on, not from 12 on.
 */
static void test_asked_before(void)
{
	struct pair pair = { 0 };
	struct story *c = &pair.client, *v = &pair.server;
	struct dtc_headers q1 = story_headers(CLIENT, 1000, SERVER, 80, 101, 5101, DTC_TCP_ACK, 50, 2);
	struct dtc_headers a1 = story_headers(SERVER, 80, CLIENT, 1000, 5101, 151, DTC_TCP_ACK, 60, 3);
	struct dtc_headers q2 = story_headers(CLIENT, 1001, SERVER, 80, 701, 901, DTC_TCP_ACK, 50, 4);
	struct dtc_headers a2 = story_headers(SERVER, 80, CLIENT, 1001, 901, 751, DTC_TCP_ACK, 60, 5);
	story_begin(c, "client");
	story_begin(v, "server");
	story_switch(v, 0, 0, 0, "swapper/0", RUN, 20, "first");
	story_switch(v, 0, 1, 0, "swapper/1", RUN, 21, "second");
	story_enter(v, 10, 0, "read", 4);
	story_switch(v, 12, 0, 20, "first", SLEEP, 0, "swapper/0");
	story_enter(v, 10, 1, "read", 5);
	story_switch(v, 12, 1, 21, "second", SLEEP, 0, "swapper/1");
	story_switch(c, 0, 0, 0, "swapper/0", RUN, 10, "asks");
	story_enter(c, 90, 0, "write", 5);
	story_packet(c, DTC_EVENT_NET_SEND, 92, 0, &q1);
	story_leave(c, 94, 0, "write", 50);
	story_enter(c, 95, 0, "read", 5);
	story_switch(c, 97, 0, 10, "asks", SLEEP, 0, "swapper/0");
	receive(v, 110, 0, &q1, 20, "first");
	story_switch(v, 115, 0, 0, "swapper/0", RUN, 20, "first");
	story_leave(v, 120, 0, "read", 50);
	story_enter(v, 160, 0, "write", 4);
	story_packet(v, DTC_EVENT_NET_SEND, 161, 0, &a1);
	story_leave(v, 162, 0, "write", 60);
	story_switch(v, 170, 0, 20, "first", SLEEP, 0, "swapper/0");
	receive(c, 182, 0, &a1, 10, "asks");
	story_switch(c, 185, 0, 0, "swapper/0", RUN, 10, "asks");
	story_leave(c, 186, 0, "read", 60);
	story_enter(c, 190, 0, "nanosleep", -1);
	story_switch(c, 200, 0, 10, "asks", SLEEP, 0, "swapper/0");
	story_context(c, DTC_EVENT_HRTIMER_ENTRY, 300, 0, 0, NULL);
	story_task(c, DTC_EVENT_SCHED_WAKING, 300, 0, 10, "asks", 0);
	story_context(c, DTC_EVENT_HRTIMER_EXIT, 301, 0, 0, NULL);
	story_switch(c, 302, 0, 0, "swapper/0", RUN, 10, "asks");
	story_leave(c, 303, 0, "nanosleep", 0);
	story_enter(c, 304, 0, "write", 6);
	story_packet(c, DTC_EVENT_NET_SEND, 305, 0, &q2);
	story_leave(c, 306, 0, "write", 50);
	story_switch(c, 307, 0, 10, "asks", SLEEP, 0, "swapper/0");
	receive(v, 310, 1, &q2, 21, "second");
	story_switch(v, 315, 1, 0, "swapper/1", RUN, 21, "second");
	story_leave(v, 316, 1, "read", 50);
	story_enter(v, 320, 1, "write", 5);
	story_packet(v, DTC_EVENT_NET_SEND, 321, 1, &a2);
	story_leave(v, 322, 1, "write", 60);
	story_switch(v, 330, 1, 21, "second", SLEEP, 0, "swapper/1");
	end(&pair, 21, 12, 318);
	assert_span(find(&pair, 0, 21, DTC_CAUSE_NETWORK_RECEIVE), 12, 311);
	const struct dtc_blocking *answer = find(&pair, 1, 10, DTC_CAUSE_NETWORK_RECEIVE);
	assert_span(answer, 90, 183);
	g_assert_cmpstr(said_of_end(pair.links, answer), ==, "packet from first (tid 20) on server");
	assert_span(find(&pair, 1, 10, DTC_CAUSE_TIMER), 200, 300);
	clear(&pair);
}

/* What is asked about ends while the thread waits again. */
static void test_past_the_end(void)
{
	struct pair pair = { 0 };
	struct story *v = &pair.server;
	story_begin(&pair.client, "client");
	story_begin(v, "server");
	story_switch(&pair.client, 0, 0, 0, "swapper/0", RUN, 9, "idles");
	story_switch(v, 0, 0, 0, "swapper/0", RUN, 20, "sleeps");
	for (int64_t t = 0; t <= 100; t += 100) {
		story_enter(v, t + 20, 0, "nanosleep", -1);
		story_switch(v, t + 25, 0, 20, "sleeps", SLEEP, 0, "swapper/0");
		story_context(v, DTC_EVENT_HRTIMER_ENTRY, t + 60, 0, 0, NULL);
		story_task(v, DTC_EVENT_SCHED_WAKING, t + 60, 0, 20, "sleeps", 0);
		story_context(v, DTC_EVENT_HRTIMER_EXIT, t + 61, 0, 0, NULL);
		story_switch(v, t + 65, 0, 0, "swapper/0", RUN, 20, "sleeps");
		story_leave(v, t + 70, 0, "nanosleep", 0);
	}
	story_switch(v, 190, 0, 20, "sleeps", SLEEP, 0, "swapper/0");
	end(&pair, 20, 10, 140);
	g_assert_cmpuint(dtc_path_get_blocking_count(pair.path), ==, 2);
	assert_span(dtc_path_get_blocking(pair.path, 0), 25, 60);
	/* up to the end the path says timer, and so does the tree */
	assert_span(dtc_path_get_blocking(pair.path, 1), 125, 140);
	/* asked for the waits alone, that one is none of those that ended */
	g_autoptr(DtcEdges) edges = dtc_edges_new(pair.links);
	g_autoptr(DtcPath) waits = dtc_path_new((DtcClusterTime){ 10 }, (DtcClusterTime){ 140 });
	dtc_tree_add_waits(edges, &pair.target, NULL, waits);
	g_assert_cmpuint(dtc_path_get_blocking_count(waits), ==, 1);
	assert_span(dtc_path_get_blocking(waits, 0), 25, 60);
	clear(&pair);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tree/young-client", test_young_client);
	g_test_add_func("/tree/asked-before", test_asked_before);
	g_test_add_func("/tree/past-the-end", test_past_the_end);
	return g_test_run();
}
