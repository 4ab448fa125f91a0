/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a message lost its time between two nodes: what made it be sent again, what held it in the sender's socket and
 * qdisc, and what the receiver's softirq took. Each story is a question and its answer; what differs is how the answer
 * gets across. Times are in ms.
 */
#include "analyze/edge/arrival.h"
#include "analyze/path/walk.h"
#include "sync/fit/clocks.h"
#include "tests/support/said.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define MS 1000000
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define TIMER 1
#define NET_RX 3
#define TASKLET 6
#define WRITTEN 160

struct exchange {
	struct story client, server;
	DtcClocks *clocks;
	DtcLinks *links;
	DtcPath *path;
	int64_t half_ns; /* of the clocks' uncertainty; 1 after begin */
};

static struct dtc_headers to_client(uint32_t seq, uint32_t bytes, uint16_t ip_id)
{
	return story_headers(SERVER, 80, CLIENT, 1000, seq, 151, DTC_TCP_ACK, bytes, ip_id);
}

static struct dtc_headers to_server(uint32_t ack, uint16_t window)
{
	struct dtc_headers headers = story_headers(CLIENT, 1000, SERVER, 80, 151, ack, DTC_TCP_ACK, 0, 77);
	headers.window = window;
	return headers;
}

static void at(struct story *s, enum dtc_event_kind kind, double ms, const struct dtc_headers *headers)
{
	story_packet(s, kind, (int64_t)(ms * MS), 0, headers);
}

/* A packet event inside a softirq of its own. */
static void in_softirq(struct story *s, int vector, enum dtc_event_kind kind, double ms,
		       const struct dtc_headers *headers)
{
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, (int64_t)((ms - 0.01) * MS), 0, vector, NULL);
	at(s, kind, ms, headers);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, (int64_t)((ms + 0.02) * MS), 0, vector, NULL);
}

static void begin(struct exchange *x)
{
	struct dtc_headers syn = story_headers(CLIENT, 1000, SERVER, 80, 100, 0, DTC_TCP_SYN, 0, 1);
	struct dtc_headers syn_ack =
		story_headers(SERVER, 80, CLIENT, 1000, 5100, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	struct dtc_headers question = story_headers(CLIENT, 1000, SERVER, 80, 101, 5101, DTC_TCP_ACK, 50, 2);
	struct story *c = &x->client, *v = &x->server;
	x->half_ns = 1;
	story_begin(c, "client");
	story_begin(v, "server");
	story_switch(c, 0, 0, 0, "swapper/0", RUN, 10, "asks");
	story_switch(v, 0, 0, 0, "swapper/0", RUN, 20, "answers");
	story_enter(c, 3 * MS, 0, "connect", 5);
	at(c, DTC_EVENT_NET_SEND, 4, &syn);
	in_softirq(v, NET_RX, DTC_EVENT_NET_RECEIVE, 6, &syn);
	in_softirq(v, NET_RX, DTC_EVENT_NET_SEND, 7, &syn_ack);
	in_softirq(c, NET_RX, DTC_EVENT_NET_RECEIVE, 8, &syn_ack);
	story_leave(c, 9 * MS, 0, "connect", 0);
	story_enter(v, 9 * MS, 0, "accept", 3);
	story_leave(v, 10 * MS, 0, "accept", 4);
	story_enter(v, 11 * MS, 0, "read", 4);
	story_switch(v, 12 * MS, 0, 20, "answers", SLEEP, 0, "swapper/0");
	story_enter(c, 90 * MS, 0, "write", 5);
	at(c, DTC_EVENT_NET_SEND, 92, &question);
	story_leave(c, 94 * MS, 0, "write", 50);
	story_enter(c, 95 * MS, 0, "read", 5);
	story_switch(c, 97 * MS, 0, 10, "asks", SLEEP, 0, "swapper/0");
	story_context(v, DTC_EVENT_SOFTIRQ_ENTRY, 109 * MS, 0, NET_RX, NULL);
	at(v, DTC_EVENT_NET_RECEIVE, 110, &question);
	story_task(v, DTC_EVENT_SCHED_WAKING, 111 * MS, 0, 20, "answers", 0);
	story_context(v, DTC_EVENT_SOFTIRQ_EXIT, 112 * MS, 0, NET_RX, NULL);
	story_switch(v, 115 * MS, 0, 0, "swapper/0", RUN, 20, "answers");
	story_leave(v, 120 * MS, 0, "read", 50);
	story_enter(v, WRITTEN * MS, 0, "write", 4);
}

/* The server's write returns and it sleeps; what follows happens in interrupts. */
static void write_returns(struct exchange *x)
{
	story_leave(&x->server, 165 * MS, 0, "write", 60);
	story_switch(&x->server, 166 * MS, 0, 20, "answers", SLEEP, 0, "swapper/0");
}

/* The client's softirq, asked for at asked_ms, takes the answer; the client wakes and reads it. */
static void end(struct exchange *x, double asked_ms, double arrived_ms, const struct dtc_headers *answer)
{
	struct story *c = &x->client;
	int64_t arrived_ns = (int64_t)(arrived_ms * MS);
	if (asked_ms > 0)
		story_context(c, DTC_EVENT_SOFTIRQ_RAISE, (int64_t)(asked_ms * MS), 0, NET_RX, NULL);
	story_context(c, DTC_EVENT_SOFTIRQ_ENTRY, arrived_ns - 1000, 0, NET_RX, NULL);
	at(c, DTC_EVENT_NET_RECEIVE, arrived_ms, answer);
	story_task(c, DTC_EVENT_SCHED_WAKING, arrived_ns + MS, 0, 10, "asks", 0);
	story_context(c, DTC_EVENT_SOFTIRQ_EXIT, arrived_ns + 2 * MS, 0, NET_RX, NULL);
	story_switch(c, arrived_ns + 3 * MS, 0, 0, "swapper/0", RUN, 10, "asks");
	story_leave(c, arrived_ns + 4 * MS, 0, "read", 60);
	story_switch(c, arrived_ns + 5 * MS, 0, 10, "asks", SLEEP, 0, "swapper/0");

	const DtcHistory *histories[2] = { story_end(c), story_end(&x->server) };
	const char *names[2] = { "client", "server" };
	x->clocks = dtc_clocks_new(2, 0);
	for (guint i = 0; i < 2; i++) {
		int64_t half_ns = x->half_ns, last_ns = 4000LL * MS;
		struct dtc_clock_knot knots[] = { { 0, 0, -half_ns, half_ns },
						  { last_ns, last_ns, last_ns - half_ns, last_ns + half_ns } };
		dtc_clocks_set_node(x->clocks, i, 0, knots, 2, 0);
	}
	x->links = dtc_links_new(2, names, histories, x->clocks);
	struct dtc_path_target target = { .node = 0,
					  .thread = dtc_history_find_thread(histories[0], 10, DTC_TIME_NONE),
					  .begin = { 90 * MS },
					  .end = { arrived_ns + 4 * MS },
					  .call = DTC_NONE };
	struct dtc_path_options options = { 0 };
	GError *error = NULL;
	g_autoptr(DtcEdges) edges = dtc_edges_new(x->links);
	x->path = dtc_path_walk(edges, &target, &options, &error);
	g_assert_no_error(error);
	dtc_path_check(x->path, &error);
	g_assert_no_error(error);
}

static void clear(struct exchange *x)
{
	dtc_path_free(x->path);
	dtc_links_free(x->links);
	dtc_clocks_free(x->clocks);
	story_clear(&x->client);
	story_clear(&x->server);
}

/* The segment with this cause, of which there must be one; it spans [begin, end], and its detail begins with text. */
static void assert_only(const struct exchange *x, enum dtc_cause cause, double begin_ms, double end_ms,
			const char *text)
{
	const struct dtc_segment *found = NULL;
	for (guint i = 0; i < dtc_path_get_segment_count(x->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(x->path, i);
		if (s->cause != cause)
			continue;
		g_assert_null(found);
		found = s;
	}
	g_assert_nonnull(found);
	g_assert_cmpint(found->begin.ns, ==, (int64_t)(begin_ms * MS));
	g_assert_cmpint(found->end.ns, ==, (int64_t)(end_ms * MS));
	const char *said = said_of_segment(x->links, found);
	if (!g_str_has_prefix(said, text))
		g_error("'%s' does not begin with '%s'", said, text);
}

enum loss {
	PROBE,		 /* the last bytes again, 10 ms later, by a timer */
	REORDERING,	 /* the first bytes again, 10 ms later, by a timer, after an ACK that came since */
	SHORT_TIMEOUT,	 /* the same without an ACK: a timeout on a route with a short one */
	TIMEOUT,	 /* after 210 ms */
	SECOND_TIMEOUT,	 /* after 210 and then 420 ms */
	FAST_IN_SOFTIRQ, /* by the softirq that received an ACK */
	FAST_IN_CALL,	 /* by a call of the sender that had its socket locked when the ACK came */
};

static void test_sent_again(gconstpointer data)
{
	static const struct {
		double again_ms;
		const char *text;
	} expected[] = {
		[PROBE] = { 171, "tail-loss probe: 60 bytes" },
		[REORDERING] = { 171, "RACK-TLP reordering timer: 60 bytes" },
		[SHORT_TIMEOUT] = { 171, "retransmission timeout: 60 bytes" },
		[TIMEOUT] = { 371, "retransmission timeout: 60 bytes" },
		[SECOND_TIMEOUT] = { 791, "retransmission timeout, sent 3 times: 60 bytes" },
		[FAST_IN_SOFTIRQ] = { 171, "fast retransmit: 60 bytes" },
		[FAST_IN_CALL] = { 171, "fast retransmit: 60 bytes" },
	};
	enum loss loss = (enum loss)GPOINTER_TO_INT(data);
	double again_ms = expected[loss].again_ms;
	struct exchange x;
	begin(&x);
	struct story *v = &x.server;
	struct dtc_headers answer = to_client(5101, 60, 10), fin = to_client(5161, 0, 11);
	struct dtc_headers dup = to_server(5101, 500);
	fin.tcp_flags |= DTC_TCP_FIN;
	at(v, DTC_EVENT_NET_SEND, 161, &answer);
	if (loss == REORDERING || loss == SHORT_TIMEOUT)
		at(v, DTC_EVENT_NET_SEND, 162, &fin);
	if (loss != FAST_IN_CALL)
		write_returns(&x);
	if (loss == REORDERING || loss == FAST_IN_CALL)
		in_softirq(v, NET_RX, DTC_EVENT_NET_RECEIVE, 168, &dup);
	if (loss == FAST_IN_SOFTIRQ)
		in_softirq(v, NET_RX, DTC_EVENT_NET_RECEIVE, 170.9, &dup);
	if (loss == SECOND_TIMEOUT) {
		answer.ip_id++;
		in_softirq(v, TIMER, DTC_EVENT_NET_SEND, 371, &answer);
	}
	answer.ip_id++;
	if (loss == FAST_IN_CALL) {
		at(v, DTC_EVENT_NET_SEND, again_ms, &answer);
		story_leave(v, 172 * MS, 0, "write", 60);
		story_switch(v, 173 * MS, 0, 20, "answers", SLEEP, 0, "swapper/0");
	} else {
		in_softirq(v, loss == FAST_IN_SOFTIRQ ? NET_RX : TIMER, DTC_EVENT_NET_SEND, again_ms, &answer);
	}
	end(&x, 0, again_ms + 20, &answer);
	assert_only(&x, DTC_CAUSE_RETRANSMISSION, 161, again_ms, expected[loss].text);
	clear(&x);
}

/*
 * The client's device receives the answer, and a filter drops it: nobody is woken. What came for the reader is what the
 * server sent again.
 */
static void test_dropped(void)
{
	struct exchange x;
	begin(&x);
	struct dtc_headers answer = to_client(5101, 60, 10);
	at(&x.server, DTC_EVENT_NET_SEND, 161, &answer);
	write_returns(&x);
	in_softirq(&x.client, NET_RX, DTC_EVENT_NET_RECEIVE, 163, &answer);
	answer.ip_id++;
	in_softirq(&x.server, TIMER, DTC_EVENT_NET_SEND, 371, &answer);
	end(&x, 0, 373, &answer);
	assert_only(&x, DTC_CAUSE_RETRANSMISSION, 161, 371, "retransmission timeout: 60 bytes");
	clear(&x);
}

/*
 * The span ends in the middle of the client's wait, while the server computes, while the question is on its way to it,
 * or while the answer is on its way back: what will end the wait is known.
 */
static void test_cut(void)
{
	struct exchange x;
	begin(&x);
	struct dtc_headers answer = to_client(5101, 60, 10);
	at(&x.server, DTC_EVENT_NET_SEND, 161, &answer);
	write_returns(&x);
	end(&x, 0, 190, &answer);
	static const struct {
		double to_ms;
		enum dtc_cause cause;
		double begin_ms;
	} cuts[] = {
		{ 140, DTC_CAUSE_RUNNING_USER, 120 },
		{ 180, DTC_CAUSE_NETWORK_WIRE, 161 },
		{ 105, DTC_CAUSE_NETWORK_WIRE, 92 },
	};
	g_autoptr(DtcEdges) edges = dtc_edges_new(x.links);
	for (guint i = 0; i < G_N_ELEMENTS(cuts); i++) {
		struct dtc_path_target target = { .node = 0,
						  .thread = dtc_history_find_thread(dtc_links_get_history(x.links, 0),
										    10, DTC_TIME_NONE),
						  .begin = { 91 * MS },
						  .end = { (int64_t)(cuts[i].to_ms * MS) },
						  .call = DTC_NONE };
		struct dtc_path_options options = { 0 };
		GError *error = NULL;
		g_autoptr(DtcPath) path = dtc_path_walk(edges, &target, &options, &error);
		g_assert_no_error(error);
		g_assert_true(dtc_path_check(path, &error));
		const struct dtc_segment *last = dtc_path_get_segment(path, dtc_path_get_segment_count(path) - 1);
		g_assert_cmpstr(dtc_cause_to_string(last->cause), ==, dtc_cause_to_string(cuts[i].cause));
		g_assert_cmpint(last->begin.ns, ==, (int64_t)(cuts[i].begin_ms * MS));
		g_assert_cmpint(dtc_path_get_segment(path, 0)->node, ==, 0);
	}
	clear(&x);
}

/* A SYN that nobody answered is sent again after a second. */
static void test_handshake(void)
{
	struct story c, v;
	struct dtc_headers syn = story_headers(CLIENT, 1000, SERVER, 80, 100, 0, DTC_TCP_SYN, 0, 1);
	struct dtc_headers syn_ack =
		story_headers(SERVER, 80, CLIENT, 1000, 5100, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	story_begin(&c, "client");
	story_begin(&v, "server");
	story_switch(&c, 0, 0, 0, "swapper/0", RUN, 10, "asks");
	story_switch(&v, 0, 0, 0, "swapper/0", RUN, 20, "answers");
	story_enter(&c, 3 * MS, 0, "connect", 5);
	at(&c, DTC_EVENT_NET_SEND, 4, &syn);
	story_switch(&c, 5 * MS, 0, 10, "asks", SLEEP, 0, "swapper/0");
	syn.ip_id = 2;
	in_softirq(&c, TIMER, DTC_EVENT_NET_SEND, 1004, &syn);
	story_context(&v, DTC_EVENT_SOFTIRQ_ENTRY, 1005 * MS, 0, NET_RX, NULL);
	at(&v, DTC_EVENT_NET_RECEIVE, 1006, &syn);
	at(&v, DTC_EVENT_NET_SEND, 1007, &syn_ack);
	story_context(&v, DTC_EVENT_SOFTIRQ_EXIT, 1008 * MS, 0, NET_RX, NULL);
	story_context(&c, DTC_EVENT_SOFTIRQ_ENTRY, 1009 * MS, 0, NET_RX, NULL);
	at(&c, DTC_EVENT_NET_RECEIVE, 1010, &syn_ack);
	story_task(&c, DTC_EVENT_SCHED_WAKING, 1011 * MS, 0, 10, "asks", 0);
	story_context(&c, DTC_EVENT_SOFTIRQ_EXIT, 1012 * MS, 0, NET_RX, NULL);
	story_switch(&c, 1013 * MS, 0, 0, "swapper/0", RUN, 10, "asks");
	story_leave(&c, 1014 * MS, 0, "connect", 0);
	story_switch(&c, 1015 * MS, 0, 10, "asks", SLEEP, 0, "swapper/0");
	story_switch(&v, 1015 * MS, 0, 20, "answers", SLEEP, 0, "swapper/0");
	const DtcHistory *histories[2] = { story_end(&c), story_end(&v) };
	const char *names[2] = { "client", "server" };
	struct exchange x = { .client = c, .server = v, .clocks = dtc_clocks_new(2, 0) };
	for (guint i = 0; i < 2; i++) {
		struct dtc_clock_knot knots[] = { { 0, 0, -1, 1 },
						  { 2000LL * MS, 2000LL * MS, 2000LL * MS - 1, 2000LL * MS + 1 } };
		dtc_clocks_set_node(x.clocks, i, 0, knots, 2, 0);
	}
	x.links = dtc_links_new(2, names, histories, x.clocks);
	struct dtc_path_target target = { .node = 0,
					  .thread = dtc_history_find_thread(histories[0], 10, DTC_TIME_NONE),
					  .begin = { 3 * MS },
					  .end = { 1014LL * MS },
					  .call = DTC_NONE };
	GError *error = NULL;
	g_autoptr(DtcEdges) edges = dtc_edges_new(x.links);
	x.path = dtc_path_walk(edges, &target, NULL, &error);
	g_assert_no_error(error);
	assert_only(&x, DTC_CAUSE_RETRANSMISSION, 4, 1004, "handshake timeout: SYN");
	for (guint i = 0; i < dtc_path_get_segment_count(x.path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(x.path, i);
		g_assert_cmpint(s->by_kernel, ==, s->cause == DTC_CAUSE_SOFTIRQ && s->node == 1);
	}
	assert_only(&x, DTC_CAUSE_SOFTIRQ, 1006, 1007, "the kernel answers a packet");
	clear(&x);
}

/* What let the answer go, long after the write: its second part leaves at 250. */
static void test_held(gconstpointer data)
{
	static const char *const texts[] = {
		[DTC_HOLD_RECEIVER] = "in the sender's socket: the receiver's window was full",
		[DTC_HOLD_CONGESTION] = "in the sender's socket until earlier bytes were acknowledged",
		[DTC_HOLD_NAGLE] = "in the sender's socket until all before was acknowledged (Nagle",
		[DTC_HOLD_QUEUE] = "in the sender's socket until its qdisc",
		[DTC_HOLD_TIMER] = "in the sender's socket until a timer",
	};
	enum dtc_hold hold = (enum dtc_hold)GPOINTER_TO_INT(data);
	struct exchange x;
	begin(&x);
	struct story *v = &x.server;
	struct dtc_headers first = to_client(5101, 1, 10), rest = to_client(5102, 59, 11);
	uint32_t behind = hold == DTC_HOLD_CONGESTION; /* not all was acknowledged that had been sent before */
	struct dtc_headers ack = to_server(5101 - behind, 50), later = to_server(5102 - behind, 50),
			   closed = to_server(5102, 0), opened = to_server(5102, 50);
	in_softirq(v, NET_RX, DTC_EVENT_NET_RECEIVE, 160.5, &ack);
	at(v, DTC_EVENT_NET_SEND, 161, &first);
	write_returns(&x);
	if (hold == DTC_HOLD_RECEIVER) {
		in_softirq(v, NET_RX, DTC_EVENT_NET_RECEIVE, 170, &closed);
		story_context(v, DTC_EVENT_SOFTIRQ_ENTRY, 249 * MS, 0, NET_RX, NULL);
		at(v, DTC_EVENT_NET_RECEIVE, 249.5, &opened);
	} else if (hold == DTC_HOLD_CONGESTION || hold == DTC_HOLD_NAGLE) {
		story_context(v, DTC_EVENT_SOFTIRQ_ENTRY, 249 * MS, 0, NET_RX, NULL);
		at(v, DTC_EVENT_NET_RECEIVE, 249.2, &later); /* on a bridge */
		at(v, DTC_EVENT_NET_RECEIVE, 249.5, &later);
	} else {
		story_context(v, DTC_EVENT_SOFTIRQ_ENTRY, 249 * MS, 0, hold == DTC_HOLD_TIMER ? TIMER : TASKLET, NULL);
	}
	at(v, DTC_EVENT_NET_SEND, 250, &rest);
	story_context(v, DTC_EVENT_SOFTIRQ_EXIT, 251 * MS, 0, NET_RX, NULL);
	in_softirq(&x.client, NET_RX, DTC_EVENT_NET_RECEIVE, 175, &first);
	end(&x, 0, 270, &rest);
	assert_only(&x, DTC_CAUSE_NETWORK_SEND, 165, 250, texts[hold]);
	clear(&x);
}

/*
 * The window was not closed, but too small for what was left: an ACK that only opens it further is what lets the rest
 * go. One that tells of a smaller window is none: that it acknowledged lost bytes again made room for more.
 */
static void test_window(gconstpointer data)
{
	bool opens = GPOINTER_TO_INT(data);
	struct exchange x;
	begin(&x);
	struct story *v = &x.server;
	struct dtc_headers first = to_client(5101, 1, 10), rest = to_client(5102, 59, 11);
	struct dtc_headers small = to_server(5102, 5), wide = to_server(5102, 500);
	at(v, DTC_EVENT_NET_SEND, 161, &first);
	write_returns(&x);
	in_softirq(v, NET_RX, DTC_EVENT_NET_RECEIVE, 170, opens ? &small : &wide);
	story_context(v, DTC_EVENT_SOFTIRQ_ENTRY, 249 * MS, 0, NET_RX, NULL);
	at(v, DTC_EVENT_NET_RECEIVE, 249.5, opens ? &wide : &small);
	at(v, DTC_EVENT_NET_SEND, 250, &rest);
	story_context(v, DTC_EVENT_SOFTIRQ_EXIT, 251 * MS, 0, NET_RX, NULL);
	in_softirq(&x.client, NET_RX, DTC_EVENT_NET_RECEIVE, 175, &first);
	end(&x, 0, 270, &rest);
	assert_only(&x, DTC_CAUSE_NETWORK_SEND, 165, 250,
		    opens ? "in the sender's socket: the receiver's window was full"
			  : "in the sender's socket until earlier bytes were acknowledged");
	clear(&x);
}

/*
 * The client takes the first part, sleeps, and reads on at 240: its read tells that there is room, or acknowledges what
 * had come, and the rest may go. What it did until then is why, whether the server still sleeps in its write or not; in
 * a softirq its kernel acknowledges by itself. Before the bytes were written, the server is why.
 */
enum reading { OPENS, ACKNOWLEDGES, OPENS_TO_SLEEPER, BY_KERNEL, WRITTEN_LATE };

static void test_reader(gconstpointer data)
{
	enum reading reading = GPOINTER_TO_INT(data);
	bool opens = reading == OPENS || reading == OPENS_TO_SLEEPER;
	struct exchange x;
	begin(&x);
	struct story *c = &x.client, *v = &x.server;
	struct dtc_headers first = to_client(5101, 10, 10), rest = to_client(5111, 50, 11);
	struct dtc_headers closed = to_server(5111, 0), ack = to_server(5101, 50);
	struct dtc_headers told = to_server(opens ? 5111 : 5110, 50); /* not all: that would be Nagle's */
	told.ip_id = 78;
	at(v, DTC_EVENT_NET_SEND, 161, &first);
	if (reading == WRITTEN_LATE)
		story_leave(v, 165 * MS, 0, "write", 10);
	else if (reading != OPENS_TO_SLEEPER)
		write_returns(&x);
	else
		story_switch(v, 166 * MS, 0, 20, "answers", SLEEP, 0, "swapper/0");
	in_softirq(v, NET_RX, DTC_EVENT_NET_RECEIVE, 190, opens ? &closed : &ack);
	story_context(c, DTC_EVENT_SOFTIRQ_ENTRY, 170 * MS, 0, NET_RX, NULL);
	at(c, DTC_EVENT_NET_RECEIVE, 171, &first);
	story_task(c, DTC_EVENT_SCHED_WAKING, 172 * MS, 0, 10, "asks", 0);
	story_context(c, DTC_EVENT_SOFTIRQ_EXIT, 173 * MS, 0, NET_RX, NULL);
	story_switch(c, 174 * MS, 0, 0, "swapper/0", RUN, 10, "asks");
	story_leave(c, 175 * MS, 0, "read", 10);
	story_enter(c, 178 * MS, 0, "nanosleep", -1);
	story_switch(c, 180 * MS, 0, 10, "asks", SLEEP, 0, "swapper/0");
	story_timer_wakes(c, 229 * MS, 230 * MS, 0, 10, "asks");
	story_switch(c, 231 * MS, 0, 0, "swapper/0", RUN, 10, "asks");
	story_leave(c, 232 * MS, 0, "nanosleep", 0);
	if (reading == BY_KERNEL)
		in_softirq(c, NET_RX, DTC_EVENT_NET_SEND, 239, &told);
	story_enter(c, 240 * MS, 0, "read", 5);
	if (reading != BY_KERNEL)
		at(c, DTC_EVENT_NET_SEND, 241, &told);
	story_switch(c, 243 * MS, 0, 10, "asks", SLEEP, 0, "swapper/0");
	if (reading == WRITTEN_LATE) {
		story_enter(v, 242 * MS, 0, "write", 4);
		story_leave(v, 243 * MS, 0, "write", 50);
		story_switch(v, 244 * MS, 0, 20, "answers", SLEEP, 0, "swapper/0");
	}
	story_context(v, DTC_EVENT_SOFTIRQ_ENTRY, 249 * MS, 0, NET_RX, NULL);
	at(v, DTC_EVENT_NET_RECEIVE, 249.5, &told);
	at(v, DTC_EVENT_NET_SEND, 250, &rest);
	story_context(v, DTC_EVENT_SOFTIRQ_EXIT, 251 * MS, 0, NET_RX, NULL);
	end(&x, 0, 270, &rest);
	if (reading == WRITTEN_LATE) {
		for (guint i = 0; i < dtc_path_get_segment_count(x.path); i++) {
			const struct dtc_segment *s = dtc_path_get_segment(x.path, i);
			if (s->begin.ns <= 200 * MS && s->end.ns > 200 * MS) {
				g_assert_cmpint(s->tid, ==, 20);
				g_assert_cmpstr(dtc_cause_to_string(s->cause), ==, "running-user");
			}
		}
		clear(&x);
		return;
	}
	int64_t held_ns = 0;
	for (guint i = 0; i < dtc_path_get_segment_count(x.path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(x.path, i);
		held_ns += s->cause == DTC_CAUSE_NETWORK_SEND ? s->end.ns - s->begin.ns : 0;
	}
	if (reading == BY_KERNEL) {
		g_assert_cmpint(held_ns, >, 80 * MS);
	} else {
		g_assert_cmpint(held_ns, <, MS);
		assert_only(&x, DTC_CAUSE_TIMER, 180, 230, "");
	}
	clear(&x);
}

/* The client has the CPU at a time, sleeps until another one, and 10 ms later reads on, which its server is told. */
static void pauses(struct exchange *x, int64_t from_ms, int64_t until_ms, uint32_t ack)
{
	struct story *c = &x->client;
	struct dtc_headers told = to_server(ack, 50);
	told.ip_id = (uint16_t)until_ms;
	story_enter(c, from_ms * MS, 0, "nanosleep", -1);
	story_switch(c, (from_ms + 2) * MS, 0, 10, "asks", SLEEP, 0, "swapper/0");
	story_timer_wakes(c, (until_ms - 1) * MS, until_ms * MS, 0, 10, "asks");
	story_switch(c, (until_ms + 1) * MS, 0, 0, "swapper/0", RUN, 10, "asks");
	story_leave(c, (until_ms + 2) * MS, 0, "nanosleep", 0);
	story_enter(c, (until_ms + 10) * MS, 0, "read", 5);
	at(c, DTC_EVENT_NET_SEND, (double)until_ms + 11, &told);
	story_switch(c, (until_ms + 13) * MS, 0, 10, "asks", SLEEP, 0, "swapper/0");
}

/* The server is told of room, and so lets a part go, which comes 10 ms later. */
static void goes_on(struct exchange *x, int64_t ms, uint32_t ack, uint32_t seq)
{
	struct story *v = &x->server;
	struct dtc_headers told = to_server(ack, 50), part = to_client(seq, 25, (uint16_t)seq);
	told.ip_id = (uint16_t)(ms - 20);
	story_context(v, DTC_EVENT_SOFTIRQ_ENTRY, (ms - 1) * MS, 0, NET_RX, NULL);
	at(v, DTC_EVENT_NET_RECEIVE, (double)ms - 0.5, &told);
	at(v, DTC_EVENT_NET_SEND, (double)ms, &part);
	story_context(v, DTC_EVENT_SOFTIRQ_EXIT, (ms + 1) * MS, 0, NET_RX, NULL);
}

static void takes(struct exchange *x, int64_t ms, const struct dtc_headers *part, int64_t bytes)
{
	struct story *c = &x->client;
	story_context(c, DTC_EVENT_SOFTIRQ_ENTRY, (ms - 1) * MS, 0, NET_RX, NULL);
	at(c, DTC_EVENT_NET_RECEIVE, (double)ms, part);
	story_task(c, DTC_EVENT_SCHED_WAKING, (ms + 1) * MS, 0, 10, "asks", 0);
	story_context(c, DTC_EVENT_SOFTIRQ_EXIT, (ms + 2) * MS, 0, NET_RX, NULL);
	story_switch(c, (ms + 3) * MS, 0, 0, "swapper/0", RUN, 10, "asks");
	story_leave(c, (ms + 4) * MS, 0, "read", bytes);
}

/*
 * The rest goes in two parts, each let go by a read, and all was written at once: what the client did before either
 * read is why (nginx hands 2 MB over with one sendfile, and the client pauses after each 64 KiB).
 */
static void test_reader_twice(void)
{
	struct exchange x;
	begin(&x);
	struct dtc_headers first = to_client(5101, 10, 10), second = to_client(5111, 25, 5111),
			   third = to_client(5136, 25, 5136), ack = to_server(5101, 50);
	at(&x.server, DTC_EVENT_NET_SEND, 161, &first);
	write_returns(&x);
	takes(&x, 171, &first, 10);
	in_softirq(&x.server, NET_RX, DTC_EVENT_NET_RECEIVE, 190, &ack);
	pauses(&x, 178, 230, 5110);
	goes_on(&x, 250, 5110, 5111);
	takes(&x, 260, &second, 25);
	pauses(&x, 270, 310, 5130);
	goes_on(&x, 330, 5130, 5136);
	end(&x, 0, 340, &third);
	int64_t held_ns = 0, asleep_ns = 0;
	for (guint i = 0; i < dtc_path_get_segment_count(x.path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(x.path, i);
		held_ns += s->cause == DTC_CAUSE_NETWORK_SEND ? s->end.ns - s->begin.ns : 0;
		asleep_ns += s->cause == DTC_CAUSE_TIMER ? s->end.ns - s->begin.ns : 0;
	}
	g_assert_cmpint(held_ns, <, 2 * MS);
	g_assert_cmpint(asleep_ns, ==, (230 - 180 + 310 - 272) * MS);
	clear(&x);
}

/* The answer is on the wire from 161 on; the client's interrupt came at 180, and its softirq took it at 260. */
static void test_softirq_delay(void)
{
	struct exchange x;
	begin(&x);
	struct dtc_headers answer = to_client(5101, 60, 10);
	at(&x.server, DTC_EVENT_NET_SEND, 161, &answer);
	write_returns(&x);
	end(&x, 180, 260, &answer);
	gboolean wire = FALSE, late = FALSE;
	for (guint i = 0; i < dtc_path_get_segment_count(x.path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(x.path, i);
		wire |= s->cause == DTC_CAUSE_NETWORK_WIRE && s->begin.ns == 161 * MS && s->end.ns == 180 * MS &&
			s->uncertainty_ns > 0;
		late |= s->cause == DTC_CAUSE_NETWORK_RECEIVE && s->begin.ns == 180 * MS && s->end.ns == 260 * MS &&
			s->node == 0 && s->uncertainty_ns == 0 && s->evidence.reason == DTC_REASON_RECEIVER_SOFTIRQ;
	}
	g_assert_true(wire);
	g_assert_true(late);
	clear(&x);
}

/*
 * A softirq that was asked for at 150 and takes the packet at 260: when the packet left, at 161, the receiver was late
 * already. Of its way no more is known than that the clocks leave open, 3 ns.
 */
static void test_softirq_asked_before(void)
{
	struct exchange x;
	begin(&x);
	struct dtc_headers answer = to_client(5101, 60, 10);
	at(&x.server, DTC_EVENT_NET_SEND, 161, &answer);
	write_returns(&x);
	end(&x, 150, 260, &answer);
	for (guint i = 0; i < dtc_path_get_segment_count(x.path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(x.path, i);
		if (s->end.ns != 260 * MS)
			continue;
		g_assert_cmpint(s->begin.ns, >, 161 * MS);
		g_assert_cmpint(s->begin.ns, <=, 161 * MS + 3);
		g_assert_cmpint(s->cause, ==, DTC_CAUSE_NETWORK_RECEIVE);
		g_assert_cmpint(s->evidence.reason, ==, DTC_REASON_RECEIVER_SOFTIRQ);
	}
	clear(&x);
}

/*
 * By the clocks the answer arrives a tenth of a ms before it was sent, and they are not known better: its wire has no
 * time, nothing is lost or counted twice, and the path remembers it.
 */
static void test_reversal(void)
{
	struct exchange x;
	struct dtc_headers answer = to_client(5101, 60, 3);
	begin(&x);
	x.half_ns = 80000;
	at(&x.server, DTC_EVENT_NET_SEND, 162, &answer);
	write_returns(&x);
	end(&x, 0, 161.9, &answer);
	g_assert_cmpuint(dtc_path_get_reversal_count(x.path), ==, 1);
	const struct dtc_reversal *reversal = dtc_path_get_reversal(x.path, 0);
	g_assert_cmpuint(reversal->from, ==, 1);
	g_assert_cmpuint(reversal->to, ==, 0);
	g_assert_cmpint(reversal->by_ns, ==, MS / 10);
	g_assert_cmpint(reversal->uncertainty_ns, >=, MS / 10);
	int64_t wire_ns = 0;
	for (guint i = 0; i < dtc_path_get_segment_count(x.path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(x.path, i);
		if (s->cause == DTC_CAUSE_NETWORK_WIRE)
			wire_ns += s->end.ns - s->begin.ns;
	}
	g_assert_cmpint(wire_ns, ==, (110 - 92) * MS); /* the question's */
	clear(&x);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/messages/probe", GINT_TO_POINTER(PROBE), test_sent_again);
	g_test_add_data_func("/messages/reordering", GINT_TO_POINTER(REORDERING), test_sent_again);
	g_test_add_data_func("/messages/short-timeout", GINT_TO_POINTER(SHORT_TIMEOUT), test_sent_again);
	g_test_add_func("/messages/dropped", test_dropped);
	g_test_add_data_func("/messages/timeout", GINT_TO_POINTER(TIMEOUT), test_sent_again);
	g_test_add_data_func("/messages/second-timeout", GINT_TO_POINTER(SECOND_TIMEOUT), test_sent_again);
	g_test_add_data_func("/messages/fast-in-softirq", GINT_TO_POINTER(FAST_IN_SOFTIRQ), test_sent_again);
	g_test_add_data_func("/messages/fast-in-call", GINT_TO_POINTER(FAST_IN_CALL), test_sent_again);
	g_test_add_func("/messages/handshake", test_handshake);
	g_test_add_data_func("/messages/reader/opens", GINT_TO_POINTER(OPENS), test_reader);
	g_test_add_data_func("/messages/reader/acknowledges", GINT_TO_POINTER(ACKNOWLEDGES), test_reader);
	g_test_add_data_func("/messages/reader/opens-to-sleeper", GINT_TO_POINTER(OPENS_TO_SLEEPER), test_reader);
	g_test_add_data_func("/messages/reader/written-late", GINT_TO_POINTER(WRITTEN_LATE), test_reader);
	g_test_add_data_func("/messages/reader/by-kernel", GINT_TO_POINTER(BY_KERNEL), test_reader);
	g_test_add_data_func("/messages/flow-control", GINT_TO_POINTER(DTC_HOLD_RECEIVER), test_held);
	g_test_add_data_func("/messages/window/opens", GINT_TO_POINTER(1), test_window);
	g_test_add_data_func("/messages/window/shrinks", GINT_TO_POINTER(0), test_window);
	g_test_add_data_func("/messages/congestion", GINT_TO_POINTER(DTC_HOLD_CONGESTION), test_held);
	g_test_add_data_func("/messages/nagle", GINT_TO_POINTER(DTC_HOLD_NAGLE), test_held);
	g_test_add_data_func("/messages/small-queues", GINT_TO_POINTER(DTC_HOLD_QUEUE), test_held);
	g_test_add_data_func("/messages/timer", GINT_TO_POINTER(DTC_HOLD_TIMER), test_held);
	g_test_add_func("/messages/reader/twice", test_reader_twice);
	g_test_add_func("/messages/softirq-delay", test_softirq_delay);
	g_test_add_func("/messages/reversal", test_reversal);
	g_test_add_func("/messages/softirq-asked-before", test_softirq_asked_before);
	g_test_add_func("/messages/cut", test_cut);
	return g_test_run();
}
