/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * X waits for what Y's thread does, and Y began meanwhile: what Y's client had done before is no reason.
 *
 *   20   30 X's question  34 reads  40 waits                           104 goes on  108 answers
 *   22   20 polls                          64 Y's question 66 reads   102 wakes 20     112 answers
 *   40   22 sleeps                   58    60 sends Y's question
 */
#include "tests/support/served_path.h"

#define RUN 0
#define SLEEP 1
#define REMOTE 0x0a000001u
#define SERVER 0x0a000002u
#define LOCAL 0x7f000001u
#define WAITER 20
#define HOLDER 22
#define CLIENT 40
#define OURS 4
#define SENDS 5
#define THEIRS 7
#define SENT 61
#define ANSWERED 108
#define PSH_ACK 0x18
#define X 0
#define Y 1

static void tell_call(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, result);
}

/* On the loopback interface: sent and received by one CPU at one time. */
static void pass(struct story *s, int64_t t, bool to_server, uint8_t flags, uint32_t seq, uint32_t ack, uint16_t bytes)
{
	struct dtc_headers packet = story_headers(LOCAL, to_server ? 50000 : 80, LOCAL, to_server ? 80 : 50000, seq,
						  ack, flags, bytes, (uint16_t)t);
	story_packet(s, DTC_EVENT_NET_SEND, t, 2, &packet);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t, 2, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, 2, &packet);
	if (t == SENT)
		story_task(s, DTC_EVENT_SCHED_WAKING, t, 2, HOLDER, "app", 1);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t, 2, 3, NULL);
}

static void begin(struct story *s)
{
	story_begin(s, "server");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, WAITER, "app");
	story_fork(s, 1, 0, WAITER, WAITER, HOLDER, WAITER, "app");
	story_switch(s, 2, 1, 0, "swapper/1", RUN, HOLDER, "app");
	story_switch(s, 3, 2, 0, "swapper/2", RUN, CLIENT, "client");
	tell_call(s, 4, 0, "accept4", 3, OURS);
	story_enter(s, 8, 2, "connect", SENDS);
	pass(s, 9, true, DTC_TCP_SYN, 99, 0, 0);
	pass(s, 10, false, DTC_TCP_SYN | DTC_TCP_ACK, 499, 100, 0);
	pass(s, 11, true, DTC_TCP_ACK, 100, 500, 0);
	story_leave(s, 12, 2, "connect", 0);
	tell_call(s, 14, 1, "accept4", 3, THEIRS);
	story_poll(s, 20, 1, "epoll_wait", 6, -1);
	story_switch(s, 21, 1, HOLDER, "app", SLEEP, 0, "swapper/1");
	story_enter(s, 22, 2, "nanosleep", -1);
	story_switch(s, 23, 2, CLIENT, "client", SLEEP, 0, "swapper/2");
	story_poll(s, 24, 0, "epoll_wait", 8, -1);
	story_switch(s, 25, 0, WAITER, "app", SLEEP, 0, "swapper/0");
}

static void tell(struct story *s)
{
	struct dtc_headers question = story_headers(REMOTE, 60000, SERVER, 80, 1000, 500, PSH_ACK, 50, 1);
	struct dtc_headers answer = story_headers(SERVER, 80, REMOTE, 60000, 500, 1050, PSH_ACK, 60, 2);
	begin(s);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 29, 0, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, 30, 0, &question);
	story_task(s, DTC_EVENT_SCHED_WAKING, 31, 0, WAITER, "app", 0);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 31, 0, 3, NULL);
	story_switch(s, 32, 0, 0, "swapper/0", RUN, WAITER, "app");
	story_leave(s, 33, 0, "epoll_wait", 1);
	tell_call(s, 34, 0, "read", OURS, 50);
	story_futex(s, 39, 0, 0, 64);
	story_switch(s, 40, 0, WAITER, "app", SLEEP, 0, "swapper/0");
	story_timer_wakes(s, 57, 58, 2, CLIENT, "client");
	story_switch(s, 59, 2, 0, "swapper/2", RUN, CLIENT, "client");
	story_leave(s, 59, 2, "nanosleep", 0);
	story_enter(s, 60, 2, "write", SENDS);
	pass(s, SENT, true, PSH_ACK, 100, 500, 50);
	story_leave(s, 63, 2, "write", 50);
	story_switch(s, 64, 1, 0, "swapper/1", RUN, HOLDER, "app");
	story_leave(s, 65, 1, "epoll_wait", 1);
	tell_call(s, 66, 1, "read", THEIRS, 50);
	story_futex(s, 101, 1, 1, 64);
	story_task(s, DTC_EVENT_SCHED_WAKING, 102, 1, WAITER, "app", 0);
	story_leave(s, 103, 1, "futex", 1);
	story_switch(s, 104, 0, 0, "swapper/0", RUN, WAITER, "app");
	story_leave(s, 105, 0, "futex", 0);
	story_enter(s, ANSWERED, 0, "write", OURS);
	story_packet(s, DTC_EVENT_NET_SEND, ANSWERED + 1, 0, &answer);
	story_leave(s, ANSWERED + 2, 0, "write", 60);
	story_enter(s, 112, 1, "write", THEIRS);
	pass(s, 113, false, PSH_ACK, 500, 150, 20);
	story_leave(s, 114, 1, "write", 20);
	story_end(s);
}

static struct dtc_hop_side tell_side(const struct served_path *w, int tid, int64_t request, int64_t response)
{
	uint32_t call = served_path_find_call(w, tid, request);
	uint32_t last = response ? served_path_find_call(w, tid, response) : DTC_NONE;
	return (struct dtc_hop_side){ .node = 0,
				      .thread = dtc_history_find_thread(w->history, tid, request),
				      .file = dtc_history_copy_call(w->history, call).file,
				      .connect_call = DTC_NONE,
				      .request_first_call = call,
				      .request_last_call = call,
				      .response_first_call = last,
				      .response_last_call = last };
}

/* The client sends Y for itself, or, if it is none, for somebody that is not seen. */
static void add_other(const struct served_path *w, bool is_client, bool has_id)
{
	const struct dtc_exchange exchange = { .request_ns = 61, .identity_count = has_id };
	const struct dtc_hop hop = { .exchange = &exchange,
				     .exchange_count = 1,
				     .client = tell_side(w, CLIENT, 60, 0),
				     .server = tell_side(w, HOLDER, 66, 112),
				     .parent = G_MAXUINT };
	g_autoptr(GArray) hops = g_array_new(FALSE, FALSE, sizeof(struct dtc_hop));
	g_array_append_val(hops, hop);
	const struct dtc_place place = { .hops = hops,
					 .thread = is_client ? hop.client.thread : hop.server.thread,
					 .is_client = is_client,
					 .begin = { 60 },
					 .end = { 114 },
					 .has_end = true };
	dtc_serving_add(w->serving, Y, &place);
}

/* The segment of X's path at a time. */
static struct dtc_segment walk(bool is_client, int64_t t)
{
	struct story s;
	tell(&s);
	struct served_path w = served_path_begin(&s);
	add_other(&w, is_client, false);
	served_path_add(&w, WAITER, 34, X, false);
	served_path_add(&w, WAITER, ANSWERED, X, true);
	return served_path_at(&w, WAITER, 34, ANSWERED, t);
}

static void test_client(void)
{
	g_assert_cmpint(walk(true, 80).tid, ==, HOLDER);
	g_assert_cmpint(walk(true, 80).cause, ==, DTC_CAUSE_RUNNING_USER);
	for (int64_t t = 44; t <= 56; t += 4) {
		struct dtc_segment at = walk(true, t);
		g_assert_cmpint(at.tid, ==, WAITER);
		g_assert_cmpint(at.cause, ==, DTC_CAUSE_UNKNOWN);
		g_assert_cmpint(at.link, ==, DTC_LINK_UNKNOWN);
		g_assert_cmpint(at.evidence.reason, ==, DTC_REASON_INSIDE);
	}
	g_assert_cmpint(walk(true, 37).tid, ==, WAITER);
	g_assert_cmpint(walk(true, 37).cause, ==, DTC_CAUSE_RUNNING_USER);
}

/* Who asks for somebody else may be why: a proxy. */
static void test_proxy(void)
{
	g_assert_cmpint(walk(false, 50).tid, ==, CLIENT);
}

/* X is asked about, whose thread, by ways that are not told, does what Y asked for: there is no wait to come back from.
 */
static void test_asked(gconstpointer owner)
{
	bool has_id = GPOINTER_TO_UINT(owner) == X + 1;
	for (int64_t t = 44; t <= 80; t += 36) {
		struct story s;
		tell(&s);
		struct served_path w = served_path_begin(&s);
		w.owner = owner ? X + 1 : 0;
		add_other(&w, true, has_id);
		struct dtc_segment at = served_path_at(&w, HOLDER, 34, 112, t);
		if (t < SENT && has_id) {
			g_assert_cmpint(at.tid, ==, HOLDER);
			g_assert_cmpint(at.cause, ==, DTC_CAUSE_UNKNOWN);
			g_assert_cmpint(at.evidence.reason, ==, DTC_REASON_INSIDE);
		} else {
			g_assert_cmpint(at.tid, ==, t < SENT ? CLIENT : HOLDER);
			g_assert_cmpint(at.cause, !=, DTC_CAUSE_UNKNOWN);
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/another/client", test_client);
	g_test_add_func("/another/proxy", test_proxy);
	g_test_add_data_func("/another/asked/not-told", GUINT_TO_POINTER(0), test_asked);
	g_test_add_data_func("/another/asked/told", GUINT_TO_POINTER(X + 1), test_asked);
	g_test_add_data_func("/another/asked/without-id", GUINT_TO_POINTER(X + 2), test_asked);
	return g_test_run();
}
