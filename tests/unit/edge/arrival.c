/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the turn of an event loop ends: a poll that only looked, and saw nothing, ends none. And which packet a wait
 * was for, if one softirq brings several.
 */
#include "analyze/edge/arrival.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u
#define LOOP 20

struct look {
	const char *name;
	int64_t timeout;
	int64_t result;
	bool ends_turn;
};

static void tell_call(struct story *s, int64_t t, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, 0, name, fd);
	story_leave(s, t + 1, 0, name, result);
}

/*
 * A packet brings a question and wakes the loop, which looks once more before it reads it, and once more before it asks
 * another server for its sake.
 */
static void test_look(gconstpointer data)
{
	const struct look *look = data;
	struct story s;
	story_begin(&s, "server");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, LOOP, "loop");
	struct dtc_headers syn = story_headers(CLIENT, 1000, SERVER, 80, 100, 0, DTC_TCP_SYN, 0, 1);
	struct dtc_headers syn_ack =
		story_headers(SERVER, 80, CLIENT, 1000, 5100, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	struct dtc_headers question = story_headers(CLIENT, 1000, SERVER, 80, 101, 5101, DTC_TCP_ACK, 50, 2);
	struct dtc_headers other = story_headers(CLIENT, 1001, SERVER, 80, 901, 77, DTC_TCP_ACK, 9, 3);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 1, 0, &syn);
	story_packet(&s, DTC_EVENT_NET_SEND, 2, 0, &syn_ack);
	tell_call(&s, 4, "accept4", 3, 4);
	story_poll(&s, 10, 0, "epoll_wait", 6, -1);
	story_switch(&s, 11, 0, LOOP, "loop", SLEEP, 0, "swapper/0");
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 19, 0, 3, NULL);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 20, 0, &question);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 21, 0, &other);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 22, 0, LOOP, "loop", 0);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 23, 0, 3, NULL);
	story_switch(&s, 25, 0, 0, "swapper/0", RUN, LOOP, "loop");
	story_leave(&s, 26, 0, "epoll_wait", 1);
	story_poll(&s, 30, 0, look->name, 6, look->timeout);
	story_leave(&s, 31, 0, look->name, look->result);
	tell_call(&s, 40, "read", 4, 50);
	story_poll(&s, 50, 0, look->name, 6, look->timeout);
	story_leave(&s, 51, 0, look->name, look->result);
	tell_call(&s, 60, "write", 9, 30);
	struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 1000, 5101, 151, DTC_TCP_ACK, 60, 4);
	story_enter(&s, 70, 0, "write", 4); /* tells which connection it is */
	story_packet(&s, DTC_EVENT_NET_SEND, 71, 0, &answer);
	story_leave(&s, 72, 0, "write", 60);
	const DtcHistory *history = story_end(&s);
	const char *name = "server";
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	uint32_t loop = dtc_history_find_thread(history, LOOP, 60);
	uint32_t file = dtc_history_copy_call(history, dtc_history_find_call(history, loop, 60)).file;

	struct dtc_arrival arrival;
	bool found = dtc_arrival_find_for_send(links, 0, loop, 60, file, DTC_NONE, &arrival);
	g_assert_cmpint(found, ==, !look->ends_turn);
	if (found)
		g_assert_cmpint(arrival.time_ns, ==, 20);
	/* without the read, the last packet that the softirq took is all that is known */
	g_assert_true(dtc_arrival_find_for_wait(links, 0, story_interval(&s, LOOP, 22), &arrival));
	g_assert_cmpint(arrival.time_ns, ==, look->ends_turn ? 21 : 20);
	story_clear(&s);
}

/*
 * A softirq brings bytes for two connections and wakes the loop, which polled for one of them only, and then reads the
 * other one first: it waited for what the poll returned.
 */
static void test_ready(gconstpointer data)
{
	bool is_told = GPOINTER_TO_INT(data);
	struct story s;
	story_begin(&s, "server");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, LOOP, "loop");
	for (uint16_t i = 0; i < 2; i++) {
		struct dtc_headers syn = story_headers(SERVER, 1000 + i, CLIENT, 80, 100, 0, DTC_TCP_SYN, 0, 1);
		struct dtc_headers syn_ack =
			story_headers(CLIENT, 80, SERVER, 1000 + i, 500, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
		story_enter(&s, 1 + 3 * i, 0, "connect", 4 + i);
		story_packet(&s, DTC_EVENT_NET_SEND, 2 + 3 * i, 0, &syn);
		story_packet(&s, DTC_EVENT_NET_RECEIVE, 2 + 3 * i, 0, &syn_ack);
		story_leave(&s, 3 + 3 * i, 0, "connect", 0);
	}
	story_poll(&s, 10, 0, "poll", -1, -1);
	story_switch(&s, 11, 0, LOOP, "loop", SLEEP, 0, "swapper/0");
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 19, 0, 3, NULL);
	for (uint16_t i = 0; i < 2; i++) {
		struct dtc_headers bytes = story_headers(CLIENT, 80, SERVER, 1000 + i, 501, 101, DTC_TCP_ACK, 50, 2);
		story_packet(&s, DTC_EVENT_NET_RECEIVE, 20 + i, 0, &bytes);
	}
	story_task(&s, DTC_EVENT_SCHED_WAKING, 22, 0, LOOP, "loop", 0);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 23, 0, 3, NULL);
	story_switch(&s, 25, 0, 0, "swapper/0", RUN, LOOP, "loop");
	const int64_t ready = 4;
	story_ready(&s, 26, 0, "poll", 1, false, is_told, &ready);
	tell_call(&s, 30, "read", 5, 50);
	const DtcHistory *history = story_end(&s);
	const char *name = "server";
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	struct dtc_arrival arrival;
	g_assert_true(dtc_arrival_find_for_wait(links, 0, story_interval(&s, LOOP, 22), &arrival));
	g_assert_cmpint(arrival.time_ns, ==, is_told ? 20 : 21);
	story_clear(&s);
}

/* A thread that never polls and never reads: what it acted on is looked for only so far, and that is counted. */
static void test_limit(void)
{
	struct story s;
	const char *name = "n";
	const int counts[] = { 100, 5000 };
	for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
		int64_t t = 10;
		story_begin(&s, "n");
		story_switch(&s, 0, 0, 0, "swapper/0", 0, 10, "a");
		for (int k = 0; k < counts[i]; k++, t += 4) {
			story_enter(&s, t, 0, "getpid", -1);
			story_leave(&s, t + 2, 0, "getpid", 10);
		}
		story_switch(&s, t, 0, 10, "a", 1, 0, "swapper/0");
		const DtcHistory *history = story_end(&s);
		struct dtc_clock_knot knots[] = { { 0, 0, -1, 1 }, { t, t, t - 1, t + 1 } };
		DtcClocks *clocks = dtc_clocks_new(1, 0);
		dtc_clocks_set_node(clocks, 0, 0, knots, 2, 0);
		DtcLinks *links = dtc_links_new(1, &name, &history, clocks);
		struct dtc_arrival arrival;
		uint32_t thread = dtc_history_find_thread(history, 10, DTC_TIME_NONE);
		g_assert_false(dtc_arrival_find_for_send(links, 0, thread, t, DTC_NONE, DTC_NONE, &arrival));
		g_assert_cmpuint(dtc_links_get_limit_count(links, DTC_LIMIT_TURN), ==, i);
		dtc_links_free(links);
		dtc_clocks_free(clocks);
		story_clear(&s);
	}
}

/* Two threads connect, and one softirq brings both answers: each wait was for the one with its own ports. */
static void test_connects(void)
{
	struct story s;
	struct dtc_headers syns[2], answers[2];
	story_begin(&s, "client");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "first");
	story_switch(&s, 0, 1, 0, "swapper/1", RUN, 11, "second");
	for (uint32_t i = 0; i < 2; i++) {
		uint16_t port = (uint16_t)(1000 + i);
		syns[i] = story_headers(CLIENT, port, SERVER, 80, 100, 0, DTC_TCP_SYN, 0, 1);
		answers[i] = story_headers(SERVER, 80, CLIENT, port, 500, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
		story_enter(&s, 5 + i, i, "connect", 5 + i);
		story_packet(&s, DTC_EVENT_NET_SEND, 7 + i, i, &syns[i]);
	}
	story_switch(&s, 10, 0, 10, "first", SLEEP, 0, "swapper/0");
	story_switch(&s, 11, 1, 11, "second", SLEEP, 0, "swapper/1");
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 19, 0, 3, NULL);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 20, 0, &answers[0]);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 21, 0, &answers[1]);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 22, 0, 10, "first", 0);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 23, 0, 11, "second", 1);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 24, 0, 3, NULL);
	story_switch(&s, 25, 0, 0, "swapper/0", RUN, 10, "first");
	story_switch(&s, 26, 1, 0, "swapper/1", RUN, 11, "second");
	story_leave(&s, 30, 0, "connect", 0);
	story_leave(&s, 31, 1, "connect", 0);
	const DtcHistory *history = story_end(&s);
	const char *name = "client";
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	for (int i = 0; i < 2; i++) {
		struct dtc_arrival arrival;
		g_assert_true(dtc_arrival_find_for_wait(links, 0, story_interval(&s, 10 + i, 22), &arrival));
		g_assert_cmpint(arrival.time_ns, ==, 20 + i);
		g_assert_true(arrival.exact);
	}
	story_clear(&s);
}

int main(int argc, char **argv)
{
	static const struct look looks[] = {
		{ "epoll_wait", 0, 0, false },	       { "poll", 0, 0, false },
		{ "epoll_pwait", 0, 0, false },	       { "epoll_wait", 0, 1, true },
		{ "epoll_wait", 20, 0, true },	       { "epoll_wait", -1, 1, true },
		{ "select", DTC_ABSENT, 0, true },     { "ppoll", DTC_ABSENT, 0, true },
		{ "epoll_wait", DTC_ABSENT, 0, true }, { "epoll_pwait2", 0, 0, true } /* the pointer */
	};
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/arrival/limit", test_limit);
	for (guint i = 0; i < G_N_ELEMENTS(looks); i++) {
		g_autofree char *path = g_strdup_printf("/arrival/look/%u-%s", i, looks[i].name);
		g_test_add_data_func(path, &looks[i], test_look);
	}
	g_test_add_func("/arrival/connects", test_connects);
	g_test_add_data_func("/arrival/ready", GINT_TO_POINTER(true), test_ready);
	g_test_add_data_func("/arrival/ready-not-told", GINT_TO_POINTER(false), test_ready);
	return g_test_run();
}
