/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Usage on small stories of one node: every thread has a CPU of its own and never sleeps, so that its CPU time between
 * two calls is the time between them, and what a service is charged can be read off the story.
 */
#include "analyze/profile/usage.h"
#include "dtrace-chain/error.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define HOST 0x0a000001u
#define NET_CPU 7 /* where packets are received: no thread runs there */

struct made {
	struct story story;
	const DtcHistory *history;
	DtcClocks *clocks;
	DtcLinks *links;
	DtcUsage *usage;
};

static void made_ask(struct made *made, const struct dtc_usage_options *options)
{
	g_autoptr(GError) error = NULL;

	dtc_usage_free(made->usage);
	made->usage = dtc_usage_new(made->links, options, &error);
	g_assert_no_error(error);
	g_assert_true(dtc_usage_check(made->usage, &error));
	g_assert_no_error(error);
}

static void made_end(struct made *made, int64_t interval_ns)
{
	static const char *const names[] = { "n" };
	const struct dtc_usage_options options = { .interval_ns = interval_ns };

	made->history = story_end(&made->story);
	made->clocks = dtc_clocks_new_identity(1);
	made->links = dtc_links_new(1, names, &made->history, made->clocks);
	made_ask(made, &options);
}

static void made_clear(struct made *made)
{
	dtc_usage_free(made->usage);
	dtc_links_free(made->links);
	dtc_clocks_free(made->clocks);
	story_clear(&made->story);
}

static const struct dtc_usage_process *find(const struct made *made, const char *name)
{
	for (guint i = 0; i < made->usage->processes->len; i++) {
		const struct dtc_usage_process *p = &g_array_index(made->usage->processes, struct dtc_usage_process, i);
		if (strcmp(p->name, name) == 0)
			return p;
	}
	g_assert_not_reached();
}

static const struct dtc_usage_edge *find_edge(const struct made *made, const char *from, const char *to)
{
	for (guint i = 0; i < made->usage->edges->len; i++) {
		const struct dtc_usage_edge *e = &g_array_index(made->usage->edges, struct dtc_usage_edge, i);
		const GArray *processes = made->usage->processes;
		const char *a = e->from == G_MAXUINT ? e->host
						     : g_array_index(processes, struct dtc_usage_process, e->from).name;
		if (strcmp(a, from) == 0 &&
		    strcmp(g_array_index(processes, struct dtc_usage_process, e->to).name, to) == 0)
			return e;
	}
	return NULL;
}

/* The next line of the tree of servers: who stands at that depth, and what it took with all beneath it. */
static void assert_server(const struct made *made, guint index, guint depth, const char *name, uint64_t messages,
			  int64_t time_ns, int64_t cpu_ns, int64_t total_ns)
{
	g_assert_cmpuint(index, <, made->usage->servers->len);
	const struct dtc_usage_server *s = &g_array_index(made->usage->servers, struct dtc_usage_server, index);
	const GArray *processes = made->usage->processes;

	g_assert_cmpuint(s->depth, ==, depth);
	g_assert_cmpstr(s->process == G_MAXUINT ? s->host
						: g_array_index(processes, struct dtc_usage_process, s->process).name,
			==, name);
	g_assert_cmpuint(s->messages, ==, messages);
	g_assert_cmpint(s->time_ns, ==, time_ns);
	g_assert_cmpint(s->cpu_ns, ==, cpu_ns);
	g_assert_cmpint(s->total_ns, ==, total_ns);
}

static void packet(struct story *s, int64_t t, uint32_t cpu, uint16_t from, uint16_t to, uint32_t seq, uint8_t flags,
		   uint32_t bytes)
{
	/* sequence numbers begin at a thousand times the sender's port */
	uint32_t ack = flags & DTC_TCP_ACK ? to * 1000u + 1 : 0;
	struct dtc_headers h = story_headers(HOST, from, HOST, to, from * 1000u + seq, ack, flags, bytes, 0);

	story_packet(s, DTC_EVENT_NET_SEND, t, cpu, &h);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, NET_CPU, &h);
}

/* connect() on fd, from one port to another, with both SYNs. */
static void open_connection(struct story *s, int64_t t, uint32_t cpu, int fd, uint16_t from, uint16_t to)
{
	story_enter(s, t, cpu, "connect", fd);
	packet(s, t, cpu, from, to, 0, DTC_TCP_SYN, 0);
	packet(s, t, NET_CPU, to, from, 0, DTC_TCP_SYN | DTC_TCP_ACK, 0);
	story_leave(s, t, cpu, "connect", 0);
}

static void accept_connection(struct story *s, int64_t t, uint32_t cpu, int fd)
{
	story_enter(s, t, cpu, "accept", 3);
	story_leave(s, t, cpu, "accept", fd);
}

/* Bytes from position on (1: the first) leave at the begin of the write. */
static void put(struct story *s, int64_t begin, int64_t end, uint32_t cpu, int fd, uint16_t from, uint16_t to,
		uint32_t position, uint32_t bytes)
{
	story_enter(s, begin, cpu, "write", fd);
	packet(s, begin, cpu, from, to, position, DTC_TCP_ACK, bytes);
	story_leave(s, end, cpu, "write", bytes);
}

static void call(struct story *s, int64_t begin, int64_t end, uint32_t cpu, const char *name, int fd, int64_t result)
{
	story_enter(s, begin, cpu, name, fd);
	story_leave(s, end, cpu, name, result);
}

/* One client, one server; the work after the answer and a request without an answer are nobody's. */
static void test_self_and_sub(void)
{
	struct made made = { 0 };
	struct story *s = &made.story;

	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "client");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, 20, "server");
	open_connection(s, 10, 0, 5, 1001, 80);
	accept_connection(s, 20, 1, 4);
	put(s, 100, 105, 0, 5, 1001, 80, 1, 50);
	call(s, 110, 120, 1, "read", 4, 50);
	put(s, 150, 160, 1, 4, 80, 1001, 1, 70);
	call(s, 162, 165, 0, "read", 5, 70);
	put(s, 170, 175, 0, 5, 1001, 80, 51, 50);
	call(s, 300, 310, 1, "read", 4, 50);
	story_switch(s, 400, 1, 20, "server", SLEEP, 0, "swapper/1");
	story_switch(s, 500, 0, 10, "client", SLEEP, 0, "swapper/0");
	made_end(&made, 0);

	g_assert_cmpint(find(&made, "client")->cpu_ns, ==, 500);
	g_assert_cmpint(find(&made, "client")->sub_ns, ==, 50);
	g_assert_cmpint(find(&made, "client")->served_ns, ==, 0);
	g_assert_cmpint(find(&made, "server")->cpu_ns, ==, 400);
	g_assert_cmpint(find(&made, "server")->sub_ns, ==, 0);
	g_assert_cmpint(find(&made, "server")->served_ns, ==, 50);
	const struct dtc_usage_edge *edge = find_edge(&made, "client", "server");
	g_assert_nonnull(edge);
	g_assert_cmpuint(edge->messages, ==, 2);
	g_assert_cmpuint(edge->exact_count, ==, 2);
	g_assert_cmpuint(edge->bytes, ==, 100);
	g_assert_cmpuint(edge->answer_bytes, ==, 70);
	g_assert_cmpint(edge->cpu_ns, ==, 50);
	g_assert_cmpuint(made.usage->edges->len, ==, 1);
	made_clear(&made);
}

/* A part of a story: times are cut to it, and who works for whom is known from before it. */
static void test_span(void)
{
	struct made made = { 0 };
	struct story *s = &made.story;

	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "client");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, 20, "server");
	open_connection(s, 10, 0, 5, 1001, 80);
	accept_connection(s, 20, 1, 4);
	put(s, 100, 105, 0, 5, 1001, 80, 1, 50);
	call(s, 110, 120, 1, "read", 4, 50);
	put(s, 150, 160, 1, 4, 80, 1001, 1, 70);
	story_enter(s, 162, 0, "read", 5);
	story_switch(s, 165, 0, 10, "client", SLEEP, 0, "swapper/0");
	story_switch(s, 205, 0, 0, "swapper/0", RUN, 10, "client");
	story_leave(s, 210, 0, "read", 70);
	story_switch(s, 400, 1, 20, "server", SLEEP, 0, "swapper/1");
	story_switch(s, 500, 0, 10, "client", SLEEP, 0, "swapper/0");
	made_end(&made, 0);

	static const struct {
		int64_t begin_ns, end_ns;
		int64_t client_ns, server_ns, served_ns, idle_ns, blocked_ns;
		guint messages, bytes, answer_bytes, calls; /* of the client on its connection */
	} cases[] = {
		{ 0, 500, 460, 400, 50, 140, 40, 1, 50, 70, 3 },
		{ 0, 120, 120, 120, 10, 0, 0, 0, 0, 0, 2 }, /* the read returns at its end, which is not in it */
		{ 0, 140, 140, 140, 30, 0, 0, 1, 50, 0, 2 },
		{ 130, 140, 10, 10, 10, 0, 0, 0, 0, 0, 0 },
		{ 140, 180, 25, 40, 20, 15, 15, 0, 0, 70, 0 },
		{ 180, 500, 295, 220, 0, 125, 25, 0, 0, 0, 1 },
		{ 400, 500, 100, 0, 0, 100, 0, 0, 0, 0, 0 },
		{ 300, 300, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
	};
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct dtc_usage_span span = { { cases[i].begin_ns }, { cases[i].end_ns } };
		const struct dtc_usage_options options = { .interval_ns = 7, .spans = &span };
		made_ask(&made, &options);
		const struct dtc_usage_node *node = &made.usage->nodes[0];
		const struct dtc_usage_process *client = find(&made, "client"), *server = find(&made, "server");
		g_assert_cmpint(node->span_ns, ==, cases[i].end_ns - cases[i].begin_ns);
		g_assert_cmpint(node->idle_ns, ==, cases[i].idle_ns);
		g_assert_cmpint(client->cpu_ns, ==, cases[i].client_ns);
		g_assert_cmpint(server->cpu_ns, ==, cases[i].server_ns);
		g_assert_cmpint(server->served_ns, ==, cases[i].served_ns);
		g_assert_cmpint(client->sub_ns, ==, cases[i].served_ns);

		const struct dtc_usage_edge *edge = find_edge(&made, "client", "server");
		g_assert_true((edge != NULL) == (cases[i].messages || cases[i].answer_bytes || cases[i].served_ns));
		g_assert_cmpuint(edge ? edge->messages : 0, ==, cases[i].messages);
		g_assert_cmpuint(edge ? edge->bytes : 0, ==, cases[i].bytes);
		g_assert_cmpuint(edge ? edge->answer_bytes : 0, ==, cases[i].answer_bytes);
		uint64_t calls = 0;
		int64_t blocked_ns = 0;
		for (guint k = 0; k < made.usage->files->len; k++) {
			const struct dtc_usage_file *file = &g_array_index(made.usage->files, struct dtc_usage_file, k);
			if (&g_array_index(made.usage->processes, struct dtc_usage_process, file->process) != client)
				continue;
			calls += file->calls;
			blocked_ns += file->blocked_ns;
		}
		g_assert_cmpuint(calls, ==, cases[i].calls);
		g_assert_cmpint(blocked_ns, ==, cases[i].blocked_ns);
	}
	made_clear(&made);
}

/* A proxy that serves two clients in the same turns of its loop: each pays for its own part, and for its own backend's.
 */
static void test_event_loop(void)
{
	struct made made = { 0 };
	struct story *s = &made.story;

	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "one");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, 11, "two");
	story_switch(s, 0, 2, 0, "swapper/2", RUN, 20, "proxy");
	story_switch(s, 0, 3, 0, "swapper/3", RUN, 30, "backend");
	open_connection(s, 5, 0, 5, 1001, 80);
	accept_connection(s, 6, 2, 6);
	open_connection(s, 7, 1, 5, 1002, 80);
	accept_connection(s, 8, 2, 7);
	open_connection(s, 10, 2, 16, 2001, 90);
	accept_connection(s, 11, 3, 4);
	open_connection(s, 12, 2, 17, 2002, 90);
	accept_connection(s, 13, 3, 5);
	story_enter(s, 50, 2, "epoll_wait", 9);
	put(s, 100, 110, 0, 5, 1001, 80, 1, 40);
	put(s, 120, 130, 1, 5, 1002, 80, 1, 40);
	story_leave(s, 200, 2, "epoll_wait", 2);
	call(s, 200, 205, 2, "read", 6, 40);
	put(s, 230, 240, 2, 16, 2001, 90, 1, 30);
	call(s, 240, 245, 2, "read", 7, 40);
	call(s, 250, 255, 3, "read", 4, 30);
	put(s, 280, 290, 3, 4, 90, 2001, 1, 20);
	put(s, 300, 310, 2, 17, 2002, 90, 1, 30);
	story_enter(s, 310, 2, "epoll_wait", 9);
	call(s, 315, 320, 3, "read", 5, 30);
	put(s, 350, 360, 3, 5, 90, 2002, 1, 20);
	story_leave(s, 400, 2, "epoll_wait", 2);
	call(s, 400, 405, 2, "read", 17, 20);
	put(s, 450, 460, 2, 7, 80, 1002, 1, 20);
	call(s, 460, 465, 2, "read", 16, 20);
	put(s, 500, 510, 2, 6, 80, 1001, 1, 20);
	story_switch(s, 600, 2, 20, "proxy", SLEEP, 0, "swapper/2");
	made_end(&made, 7);

	/* of the proxy: one 200-240 and 460-510, two 240-310, what leads up to its next call, and that, to 460; of the
	 * backend: one 250-290, two 315-360 */
	g_assert_cmpint(find(&made, "one")->sub_ns, ==, 90 + 40);
	g_assert_cmpint(find(&made, "two")->sub_ns, ==, 220 + 45);
	g_assert_cmpint(find(&made, "proxy")->served_ns, ==, 90 + 220);
	g_assert_cmpint(find(&made, "proxy")->sub_ns, ==, 40 + 45);
	g_assert_cmpint(find(&made, "proxy")->cpu_ns, ==, 600);
	g_assert_cmpint(find(&made, "backend")->served_ns, ==, 40 + 45);
	g_assert_cmpint(find_edge(&made, "one", "proxy")->cpu_ns, ==, 90);
	g_assert_cmpint(find_edge(&made, "two", "proxy")->cpu_ns, ==, 220);
	g_assert_cmpint(find_edge(&made, "proxy", "backend")->cpu_ns, ==, 85);
	g_assert_null(find_edge(&made, "one", "backend"));
	/* the backend stands twice: for each client what it did for that one; 245-460 and 205-510 are the proxy's turns
	 */
	g_assert_cmpuint(made.usage->servers->len, ==, 6);
	assert_server(&made, 0, 0, "two", 0, 460 - 245, 0, 220 + 45);
	assert_server(&made, 1, 1, "proxy", 1, 460 - 245, 220, 220 + 45);
	assert_server(&made, 2, 2, "backend", 1, 360 - 320, 45, 45);
	assert_server(&made, 3, 0, "one", 0, 510 - 205, 0, 90 + 40);
	assert_server(&made, 4, 1, "proxy", 1, 510 - 205, 90, 90 + 40);
	assert_server(&made, 5, 2, "backend", 1, 290 - 255, 40, 40);
	/* a span cuts times, and asks who was asked in it */
	const struct dtc_usage_span span = { { 300 }, { 1000 } };
	made_ask(&made, &(const struct dtc_usage_options){ .spans = &span });
	assert_server(&made, 0, 0, "two", 0, 460 - 300, 0, 460 - 300 + 45);
	assert_server(&made, 1, 1, "proxy", 0, 460 - 300, 460 - 300, 460 - 300 + 45);
	assert_server(&made, 2, 2, "backend", 1, 360 - 320, 45, 45);
	made_clear(&made);
}

/* A server that looks for more, in vain, before it asks its own server: its work goes on, and carries the other's. */
static void test_glance(void)
{
	struct made made = { 0 };
	struct story *s = &made.story;

	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "client");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, 20, "server");
	story_switch(s, 0, 2, 0, "swapper/2", RUN, 30, "backend");
	open_connection(s, 10, 0, 5, 1001, 80);
	accept_connection(s, 20, 1, 4);
	open_connection(s, 30, 1, 6, 2001, 90);
	accept_connection(s, 40, 2, 4);
	put(s, 100, 105, 0, 5, 1001, 80, 1, 50);
	call(s, 110, 120, 1, "read", 4, 50);
	story_poll(s, 130, 1, "epoll_wait", 9, 0);
	story_leave(s, 140, 1, "epoll_wait", 0);
	put(s, 150, 160, 1, 6, 2001, 90, 1, 30);
	call(s, 165, 170, 2, "read", 4, 30);
	put(s, 190, 200, 2, 4, 90, 2001, 1, 20);
	call(s, 205, 210, 1, "read", 6, 20);
	put(s, 250, 260, 1, 4, 80, 1001, 1, 70);
	call(s, 262, 265, 0, "read", 5, 70);
	story_switch(s, 500, 1, 20, "server", SLEEP, 0, "swapper/1");
	made_end(&made, 0);

	g_assert_cmpint(find(&made, "server")->served_ns, ==, 150); /* 110-260 */
	g_assert_cmpint(find(&made, "server")->sub_ns, ==, 35);	    /* 165-200 */
	g_assert_cmpint(find(&made, "client")->sub_ns, ==, 150 + 35);
	made_clear(&made);
}

/* One thread reads, another of its process answers: charged from the read on, not before. */
static void test_pool(void)
{
	struct made made = { 0 };
	struct story *s = &made.story;

	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "client");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, 20, "server");
	story_fork(s, 5, 1, 20, 20, 21, 20, "server");
	story_switch(s, 6, 2, 0, "swapper/2", RUN, 21, "worker");
	open_connection(s, 10, 0, 5, 1001, 80);
	accept_connection(s, 20, 1, 4);
	put(s, 100, 105, 0, 5, 1001, 80, 1, 50);
	call(s, 200, 205, 1, "read", 4, 50);
	story_enter(s, 215, 1, "poll", -1);
	put(s, 250, 260, 2, 4, 80, 1001, 1, 70);
	story_leave(s, 400, 1, "poll", 0);
	story_switch(s, 500, 2, 21, "worker", SLEEP, 0, "swapper/2");
	made_end(&made, 0);

	/* the reader 200-215, the worker 205-260 */
	g_assert_cmpint(find(&made, "client")->sub_ns, ==, 15 + 55);
	g_assert_cmpint(find(&made, "server")->served_ns, ==, 15 + 55);
	g_assert_cmpuint(find(&made, "server")->count, ==, 1);
	g_assert_cmpint(find(&made, "server")->pid, ==, 20);
	made_clear(&made);
}

/* A client that is not traced: its server's time is charged to nobody, and the graph has its address. */
static void test_untraced(void)
{
	struct made made = { 0 };
	struct story *s = &made.story;
	struct dtc_headers syn = story_headers(0x0a000009u, 999, HOST, 80, 0, 0, DTC_TCP_SYN, 0, 0);
	struct dtc_headers request = story_headers(0x0a000009u, 999, HOST, 80, 1, 1, DTC_TCP_ACK, 50, 0);
	struct dtc_headers answer = story_headers(HOST, 80, 0x0a000009u, 999, 1, 51, DTC_TCP_ACK, 20, 0);

	story_begin(s, "n");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, 20, "server");
	story_packet(s, DTC_EVENT_NET_RECEIVE, 10, NET_CPU, &syn);
	accept_connection(s, 20, 1, 4);
	story_packet(s, DTC_EVENT_NET_RECEIVE, 30, NET_CPU, &request);
	call(s, 40, 45, 1, "read", 4, 50);
	story_enter(s, 60, 1, "write", 4);
	story_packet(s, DTC_EVENT_NET_SEND, 61, 1, &answer);
	story_leave(s, 70, 1, "write", 20);
	story_switch(s, 100, 1, 20, "server", SLEEP, 0, "swapper/1");
	made_end(&made, 0);

	g_assert_cmpint(find(&made, "server")->served_ns, ==, 0);
	g_assert_cmpuint(find(&made, "server")->network_received_bytes, ==, 50);
	g_assert_cmpuint(find(&made, "server")->network_sent_bytes, ==, 20);
	const struct dtc_usage_edge *edge = find_edge(&made, "10.0.0.9", "server");
	g_assert_nonnull(edge);
	g_assert_cmpint(edge->cpu_ns, ==, 30);
	assert_server(&made, 0, 0, "10.0.0.9", 0, 25, 0, 30);
	assert_server(&made, 1, 1, "server", 1, 25, 30, 30);
	made_clear(&made);
}

/* Sleeps, interrupts, idle CPUs, a gap of lost events and a CPU without a switch: whatever the steps, nothing is lost.
 */
static void test_conservation(void)
{
	const int64_t steps[] = { 0, 1, 3, 10, 97, 999, 1000, 5000 };

	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
		struct made made = { 0 };
		struct story *s = &made.story;
		story_begin(s, "n");
		story_context(s, DTC_EVENT_IRQ_ENTRY, 0, 2, 1, "disk");
		story_switch(s, 100, 0, 0, "swapper/0", RUN, 10, "a");
		story_switch(s, 150, 1, 0, "swapper/1", RUN, 11, "b");
		story_context(s, DTC_EVENT_IRQ_ENTRY, 200, 0, 1, "disk");
		story_context(s, DTC_EVENT_IRQ_EXIT, 230, 0, 1, "disk");
		story_switch(s, 300, 0, 10, "a", SLEEP, 0, "swapper/0");
		story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 310, 0, 3, NULL);
		story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 330, 0, 3, NULL);
		story_lost(s, 400, 500, 1);
		story_switch(s, 700, 1, 11, "b", SLEEP, 0, "swapper/1");
		story_switch(s, 1000, 0, 0, "swapper/0", RUN, 10, "a");
		made_end(&made, steps[i]);
		const struct dtc_usage_node *node = &made.usage->nodes[0];
		g_assert_cmpint(node->span_ns, ==, 1000);
		g_assert_cmpuint(node->cpu_count, ==, 3);
		g_assert_cmpint(find(&made, "a")->cpu_ns, ==, 170);
		g_assert_cmpint(find(&made, "b")->cpu_ns, ==, 250);
		g_assert_cmpint(node->interrupt_ns, ==, 50);
		g_assert_cmpint(node->idle_ns, ==, 680 + 300);
		g_assert_cmpint(node->unknown_ns, ==, 100 + 150 + 300 + 1000);
		if (steps[i] == 0)
			g_assert_cmpuint(node->interval_count, ==, DTC_USAGE_INTERVALS);
		else
			g_assert_cmpuint(node->interval_count, ==, (1000 + steps[i] - 1) / steps[i]);

		/* and a sum that is off does not pass */
		node->idle[node->interval_count / 2]++;
		g_autoptr(GError) error = NULL;
		g_assert_false(dtc_usage_check(made.usage, &error));
		g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED);
		made_clear(&made);
	}
}

static void test_short_interval(void)
{
	struct story s;
	static const char *const names[] = { "n" };
	const struct dtc_usage_options options = { .interval_ns = 1 };
	g_autoptr(GError) error = NULL;

	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 1000000000, 0, 10, "a", SLEEP, 0, "swapper/0");
	const DtcHistory *history = story_end(&s);
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, names, &history, clocks);
	g_assert_null(dtc_usage_new(links, &options, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE);
	story_clear(&s);
}

/* Time stamps from a damaged trace: an error, not an overflow. */
static void test_absurd_times(void)
{
	struct story s;
	static const char *const names[] = { "n" };
	const struct dtc_usage_options options = { 0 };
	g_autoptr(GError) error = NULL;

	story_begin(&s, "n");
	story_switch(&s, -INT64_MAX / 2, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, INT64_MAX / 2 + 10, 9, 10, "a", SLEEP, 0, "swapper/9");
	const DtcHistory *history = story_end(&s);
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, names, &history, clocks);
	g_assert_null(dtc_usage_new(links, &options, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_DAMAGED);
	story_clear(&s);
}

/* Bytes come out of a pipe in the order in which two writers put them in. */
static void test_pipe(void)
{
	struct made made = { 0 };
	struct story *s = &made.story;

	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "reader");
	story_enter(s, 1, 0, "pipe2", -1);
	struct dtc_event leave = story_event(DTC_EVENT_SYSCALL_EXIT, 2, 0);
	leave.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "pipe2");
	leave.v[DTC_CALL_RET] = 0;
	leave.v[DTC_CALL_FD] = 3;
	leave.v[DTC_CALL_FD2] = 4;
	dtc_machine_apply(s->machine, &leave);
	story_fork(s, 5, 0, 10, 10, 11, 11, "reader");
	story_fork(s, 6, 0, 10, 10, 12, 12, "reader");
	story_switch(s, 7, 1, 0, "swapper/1", RUN, 11, "first");
	story_switch(s, 8, 2, 0, "swapper/2", RUN, 12, "second");
	call(s, 10, 12, 1, "write", 4, 100);
	call(s, 20, 22, 2, "write", 4, 30);
	call(s, 30, 31, 0, "read", 3, 60);
	call(s, 40, 41, 0, "read", 3, 70);
	call(s, 50, 51, 0, "read", 3, 500); /* from a writer that was not seen */
	story_switch(s, 60, 1, 11, "first", SLEEP, 0, "swapper/1");
	story_switch(s, 70, 2, 12, "second", SLEEP, 0, "swapper/2");
	made_end(&made, 0);

	const struct dtc_usage_edge *first = find_edge(&made, "first", "reader");
	const struct dtc_usage_edge *second = find_edge(&made, "second", "reader");
	g_assert_cmpuint(first->bytes, ==, 100);
	g_assert_cmpuint(first->messages, ==, 2);
	g_assert_cmpuint(second->bytes, ==, 30);
	g_assert_cmpuint(second->messages, ==, 1);
	g_assert_cmpint(first->channel, ==, DTC_USAGE_PIPE);
	g_assert_cmpuint(made.usage->edges->len, ==, 2);
	made_clear(&made);
}

/* Bytes, calls and waits by file; a wait counts for the file of its call. */
static void test_files_and_disk(void)
{
	struct made made = { 0 };
	struct story *s = &made.story;

	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	struct dtc_event open = story_event(DTC_EVENT_SYSCALL_ENTRY, 5, 0);
	open.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "openat");
	open.text[0] = "/data/file";
	dtc_machine_apply(s->machine, &open);
	story_leave(s, 6, 0, "openat", 3);
	call(s, 10, 12, 0, "write", 3, 4096);
	story_block(s, DTC_EVENT_BLOCK_ISSUE, 15, 0, 800, 8);
	story_enter(s, 20, 0, "fsync", 3);
	story_switch(s, 25, 0, 10, "a", 2, 0, "swapper/0");
	story_task(s, DTC_EVENT_SCHED_WAKING, 65, 0, 10, "a", 0);
	story_switch(s, 70, 0, 0, "swapper/0", RUN, 10, "a");
	story_leave(s, 75, 0, "fsync", 0);
	story_switch(s, 100, 0, 10, "a", SLEEP, 0, "swapper/0");
	made_end(&made, 10);

	g_assert_cmpuint(made.usage->files->len, ==, 1);
	const struct dtc_usage_file *file = &g_array_index(made.usage->files, struct dtc_usage_file, 0);
	g_assert_cmpstr(file->text, ==, "/data/file");
	g_assert_cmpuint(file->calls, ==, 2);
	g_assert_cmpuint(file->written_bytes, ==, 4096);
	g_assert_cmpuint(file->read_bytes, ==, 0);
	g_assert_cmpuint(file->waits, ==, 1);
	g_assert_cmpint(file->blocked_ns, ==, 40);
	const struct dtc_usage_process *a = find(&made, "a");
	g_assert_cmpuint(a->disk_requests, ==, 1);
	g_assert_cmpuint(a->disk_read_bytes + a->disk_written_bytes, ==, 4096);
	g_assert_cmpuint(a->disk[1], ==, 4096);
	g_assert_cmpuint(a->network_sent_bytes, ==, 0);
	made_clear(&made);
}

/* A packet of another's connection ends a poll, as of a sniffer: that wait was not for the connection. */
static void test_listener(void)
{
	struct made made = { 0 };
	struct story *s = &made.story;

	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "client");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, 20, "server");
	story_switch(s, 0, 2, 0, "swapper/2", RUN, 30, "sniffer");
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 5, NET_CPU, 3, NULL);
	open_connection(s, 10, 0, 5, 1001, 80);
	accept_connection(s, 20, 1, 4);
	story_enter(s, 50, 1, "poll", -1);
	story_switch(s, 55, 1, 20, "server", SLEEP, 0, "swapper/1");
	story_enter(s, 60, 2, "poll", -1);
	story_switch(s, 65, 2, 30, "sniffer", SLEEP, 0, "swapper/2");
	put(s, 100, 105, 0, 5, 1001, 80, 1, 50);
	story_task(s, DTC_EVENT_SCHED_WAKING, 110, NET_CPU, 20, "server", 1);
	story_task(s, DTC_EVENT_SCHED_WAKING, 115, NET_CPU, 30, "sniffer", 2);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 116, NET_CPU, 3, NULL);
	story_switch(s, 120, 1, 0, "swapper/1", RUN, 20, "server");
	story_switch(s, 120, 2, 0, "swapper/2", RUN, 30, "sniffer");
	story_leave(s, 121, 1, "poll", 1);
	story_leave(s, 122, 2, "poll", 1);
	call(s, 130, 140, 1, "read", 4, 50);
	put(s, 142, 145, 1, 4, 80, 1001, 1, 70); /* tells which connection it is */
	story_switch(s, 150, 1, 20, "server", SLEEP, 0, "swapper/1");
	story_switch(s, 150, 2, 30, "sniffer", SLEEP, 0, "swapper/2");
	story_switch(s, 150, 0, 10, "client", SLEEP, 0, "swapper/0");
	made_end(&made, 10);

	int64_t blocked_ns = 0;
	for (guint i = 0; i < made.usage->files->len; i++) {
		const struct dtc_usage_file *file = &g_array_index(made.usage->files, struct dtc_usage_file, i);
		const struct dtc_usage_process *owner =
			&g_array_index(made.usage->processes, struct dtc_usage_process, file->process);
		g_assert_cmpstr(owner->name, !=, "sniffer");
		if (strcmp(owner->name, "server") == 0)
			blocked_ns += file->blocked_ns;
	}
	g_assert_cmpint(blocked_ns, ==, 55);
	made_clear(&made);
}

static void test_empty(void)
{
	struct made made = { 0 };

	story_begin(&made.story, "n");
	made_end(&made, 0);
	g_assert_false(made.usage->nodes[0].has_history);
	g_assert_cmpuint(made.usage->processes->len, ==, 0);
	made_clear(&made);
}

/* Two processes of one name: the one that is asked for has its own row, and the sums still hold. */
static void test_asked(void)
{
	static const char *const names[] = { "n" };
	struct story s;
	g_autoptr(GError) error = NULL;

	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 1000, 0, 10, "a", SLEEP, 20, "a");
	story_switch(&s, 1300, 0, 20, "a", SLEEP, 0, "swapper/0");
	story_switch(&s, 2000, 0, 0, "swapper/0", RUN, 10, "a");
	const DtcHistory *history = story_end(&s);
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, names, &history, clocks);
	g_autofree uint8_t *marks = g_new0(uint8_t, dtc_history_get_thread_count(history) + 1);
	marks[dtc_history_find_thread(history, 20, DTC_TIME_NONE)] = true;
	const uint8_t *const asked[] = { marks };
	const struct dtc_usage_options options = { .interval_ns = 1000, .asked = asked };
	g_autoptr(DtcUsage) usage = dtc_usage_new(links, &options, &error);
	g_assert_no_error(error);
	g_assert_true(dtc_usage_check(usage, &error));
	g_assert_cmpuint(usage->processes->len, ==, 2);
	const struct dtc_usage_process *rest = &g_array_index(usage->processes, struct dtc_usage_process, 0);
	const struct dtc_usage_process *wanted = &g_array_index(usage->processes, struct dtc_usage_process, 1);
	g_assert_true(wanted->is_asked && !rest->is_asked);
	g_assert_cmpint(wanted->cpu_ns, ==, 300);
	g_assert_cmpint(rest->cpu_ns, ==, 1000);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/usage/asked", test_asked);
	g_test_add_func("/usage/self-and-sub", test_self_and_sub);
	g_test_add_func("/usage/span", test_span);
	g_test_add_func("/usage/event-loop", test_event_loop);
	g_test_add_func("/usage/glance", test_glance);
	g_test_add_func("/usage/pool", test_pool);
	g_test_add_func("/usage/untraced", test_untraced);
	g_test_add_func("/usage/conservation", test_conservation);
	g_test_add_func("/usage/short-interval", test_short_interval);
	g_test_add_func("/usage/absurd-times", test_absurd_times);
	g_test_add_func("/usage/pipe", test_pipe);
	g_test_add_func("/usage/files-and-disk", test_files_and_disk);
	g_test_add_func("/usage/listener", test_listener);
	g_test_add_func("/usage/empty", test_empty);
	return g_test_run();
}
