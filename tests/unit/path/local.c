/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A proxy (tid 20) hands the questions of two clients to two workers (30, 31) over sockets that no packet shows, as
 * nginx does with PHP-FPM. Y's question wakes the proxy while X's worker sleeps; the wait that X's answer ends begins
 * after that, and is X's all the same.
 *
 *   proxy    30 X read  34 connects, asks 30   41 sleeps   70 Y read   74 connects, asks 31   81 sleeps   203 answers X
 *   worker 30   36 accepted   38 read   40 sleeps                                             200 answers
 *   worker 31                             76 accepted   78 read   80 sleeps
 */
#include "analyze/path/walk.h"
#include "sync/fit/clocks.h"
#include "tests/support/path_at.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define UNIX 1
#define PROXY 20
#define CLIENT 0x0a000001u
#define SERVER 0x0a000002u

static void tell(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, result);
}

static void accepts(struct story *s, uint32_t cpu)
{
	story_switch(s, 1, cpu, 0, "swapper", RUN, 29 + (int)cpu, "worker");
	story_enter(s, 2, cpu, "accept", 3);
	story_switch(s, 3, cpu, 29 + (int)cpu, "worker", SLEEP, 0, "swapper");
}

static void opens(struct story *s, int64_t t, uint32_t cpu, int64_t fd)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, t, cpu);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "socket");
	e.v[DTC_CALL_FAMILY] = UNIX;
	dtc_machine_apply(s->machine, &e);
	story_leave(s, t + 1, cpu, "socket", fd);
}

/* A client's question comes to the sleeping proxy, which asks a worker; that one sleeps in the middle of its work. */
static void asks(struct story *s, int64_t t, uint32_t cpu, int64_t client_fd, const struct dtc_headers *question)
{
	int64_t fd = client_fd + 10;
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t - 4, 0, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t - 3, 0, question);
	story_task(s, DTC_EVENT_SCHED_WAKING, t - 3, 0, PROXY, "proxy", 0);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t - 2, 0, 3, NULL);
	story_switch(s, t - 2, 0, 0, "swapper/0", RUN, PROXY, "proxy");
	story_leave(s, t - 1, 0, "epoll_wait", 1);
	tell(s, t, 0, "read", client_fd, 50);
	opens(s, t + 2, 0, fd);
	story_enter(s, t + 4, 0, "connect", fd);
	story_task(s, DTC_EVENT_SCHED_WAKING, t + 5, 0, 29 + (int)cpu, "worker", (int)cpu);
	story_leave(s, t + 5, 0, "connect", 0);
	tell(s, t + 6, 0, "write", fd, 50);
	story_switch(s, t + 6, cpu, 0, "swapper", RUN, 29 + (int)cpu, "worker");
	story_leave(s, t + 6, cpu, "accept", 5);
	tell(s, t + 8, cpu, "read", 5, 50);
	story_enter(s, t + 10, cpu, "nanosleep", -1);
	story_switch(s, t + 10, cpu, 29 + (int)cpu, "worker", SLEEP, 0, "swapper");
	story_poll(s, t + 10, 0, "epoll_wait", 9, -1);
	story_switch(s, t + 11, 0, PROXY, "proxy", SLEEP, 0, "swapper/0");
}

static struct dtc_headers get_question(uint16_t port)
{
	return story_headers(CLIENT, port, SERVER, 80, 101, 0, DTC_TCP_ACK, 50, 0);
}

static void connects(struct story *s, int64_t t, uint16_t port, int64_t fd)
{
	const struct dtc_headers syn = story_headers(CLIENT, port, SERVER, 80, 100, 0, DTC_TCP_SYN, 0, 0);
	const struct dtc_headers reply =
		story_headers(SERVER, 80, CLIENT, port, 500, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	const struct dtc_headers ack = story_headers(CLIENT, port, SERVER, 80, 101, 501, DTC_TCP_ACK, 0, 0);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, t, 0, 3, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t, 0, &syn);
	story_packet(s, DTC_EVENT_NET_SEND, t + 1, 0, &reply);
	story_packet(s, DTC_EVENT_NET_RECEIVE, t + 1, 0, &ack);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, t + 2, 0, 3, NULL);
	tell(s, t + 3, 0, "accept4", 4, fd);
}

static void test_proxy(void)
{
	static const char *const names[] = { "server" };
	struct story s;
	const struct dtc_headers x = get_question(1000), y = get_question(1001);
	const struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 1000, 501, 151, DTC_TCP_ACK, 60, 0);
	story_begin(&s, "server");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, PROXY, "proxy");
	accepts(&s, 1);
	accepts(&s, 2);
	connects(&s, 5, 1000, 10);
	connects(&s, 10, 1001, 11);
	story_poll(&s, 20, 0, "epoll_wait", 9, -1);
	story_switch(&s, 21, 0, PROXY, "proxy", SLEEP, 0, "swapper/0");
	asks(&s, 30, 1, 10, &x);
	asks(&s, 70, 2, 11, &y);
	story_timer_wakes(&s, 195, 197, 1, 30, "worker");
	story_switch(&s, 199, 1, 0, "swapper/1", RUN, 30, "worker");
	story_leave(&s, 199, 1, "nanosleep", 0);
	story_enter(&s, 200, 1, "write", 5);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 200, 1, PROXY, "proxy", 0);
	story_leave(&s, 201, 1, "write", 40);
	story_switch(&s, 201, 0, 0, "swapper/0", RUN, PROXY, "proxy");
	story_leave(&s, 201, 0, "epoll_wait", 1);
	tell(&s, 202, 0, "read", 20, 40);
	story_enter(&s, 204, 0, "write", 10);
	story_packet(&s, DTC_EVENT_NET_SEND, 205, 0, &answer);
	story_leave(&s, 206, 0, "write", 60);
	const DtcHistory *histories[] = { story_end(&s) };
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, names, histories, clocks);
	g_autoptr(DtcEdges) edges = dtc_edges_new(links);
	uint32_t proxy = dtc_history_find_thread(histories[0], PROXY, 204);
	const struct dtc_path_target target = { .thread = proxy,
						.begin = { 27 },
						.end = { 206 },
						.call = dtc_history_find_call(histories[0], proxy, 204) };
	GError *error = NULL;
	g_autoptr(DtcPath) path = dtc_path_walk(edges, &target, NULL, &error);
	g_assert_no_error(error);
	int64_t slept_ns = 0;
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(path, i);
		g_assert_cmpint(segment->tid, !=, 31);
		if (segment->cause == DTC_CAUSE_TIMER && segment->tid == 30)
			slept_ns += segment->end.ns - segment->begin.ns;
	}
	g_assert_cmpint(slept_ns, ==, 197 - 40);
	const struct dtc_segment *first = dtc_path_get_segment(path, 0);
	g_assert_cmpint(first->tid, ==, PROXY);
	story_clear(&s);
}

static void connects_local(struct story *s, int64_t t, int64_t fd)
{
	opens(s, t, 0, fd);
	story_enter(s, t + 2, 0, "connect", fd);
	if (fd == 20)
		story_task(s, DTC_EVENT_SCHED_WAKING, t + 3, 0, 30, "worker", 1);
	story_leave(s, t + 4, 0, "connect", 0);
}

/*
 * The worker sleeps for X in a poll, until its timer, when the proxy connects and asks it for Y: it did not wait for
 * that, as it would have been woken.
 */
static void test_asleep(void)
{
	static const char *const names[] = { "server" };
	struct story s;
	story_begin(&s, "server");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, PROXY, "proxy");
	story_switch(&s, 0, 1, 0, "swapper/1", RUN, 30, "worker");
	opens(&s, 1, 1, 3);
	story_enter(&s, 3, 1, "accept", 3);
	story_switch(&s, 4, 1, 30, "worker", SLEEP, 0, "swapper/1");
	connects_local(&s, 5, 20);
	story_switch(&s, 8, 1, 0, "swapper/1", RUN, 30, "worker");
	story_leave(&s, 9, 1, "accept", 5);
	tell(&s, 30, 0, "write", 20, 50);
	tell(&s, 35, 1, "read", 5, 50);
	story_poll(&s, 40, 1, "ppoll", -1, DTC_ABSENT);
	story_switch(&s, 41, 1, 30, "worker", SLEEP, 0, "swapper/1");
	connects_local(&s, 70, 21);
	tell(&s, 74, 0, "write", 21, 50);
	story_enter(&s, 76, 0, "read", 21);
	story_switch(&s, 77, 0, PROXY, "proxy", SLEEP, 0, "swapper/0");
	story_timer_wakes(&s, 195, 197, 1, 30, "worker");
	story_switch(&s, 200, 1, 0, "swapper/1", RUN, 30, "worker");
	story_leave(&s, 201, 1, "ppoll", 1);
	tell(&s, 202, 1, "write", 5, 20);
	tell(&s, 204, 1, "accept", 3, 6);
	tell(&s, 206, 1, "read", 6, 50);
	story_enter(&s, 210, 1, "write", 6);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 210, 1, PROXY, "proxy", 0);
	story_leave(&s, 211, 1, "write", 40);
	story_switch(&s, 212, 0, 0, "swapper/0", RUN, PROXY, "proxy");
	story_leave(&s, 213, 0, "read", 40);
	const DtcHistory *histories[] = { story_end(&s) };
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, names, histories, clocks);
	g_autoptr(DtcEdges) edges = dtc_edges_new(links);
	const struct dtc_path_target target = { .thread = dtc_history_find_thread(histories[0], PROXY, 204),
						.begin = { 72 },
						.end = { 213 },
						.call = DTC_NONE };
	GError *error = NULL;
	g_autoptr(DtcPath) path = dtc_path_walk(edges, &target, NULL, &error);
	g_assert_no_error(error);
	g_assert_cmpstr(dtc_cause_to_string(path_at(path, 150)->cause), ==, "timer");
	story_clear(&s);
}

/*
 * The proxy sleeps for X, and connects to a worker, which greets it before it is asked. The worker had slept for
 * others, and polled since: that is no reason, what the proxy did before it came is (postfix, whose smtpd asks a
 * policy server before it connects to cleanup).
 */
static void test_greeting(void)
{
	struct story s;
	const struct dtc_headers x = get_question(1000);
	const struct dtc_headers answer = story_headers(SERVER, 80, CLIENT, 1000, 501, 151, DTC_TCP_ACK, 60, 0);
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, PROXY, "proxy");
	story_switch(&s, 0, 1, 0, "swapper/1", RUN, 30, "worker");
	opens(&s, 1, 1, 3);
	story_enter(&s, 3, 1, "nanosleep", -1);
	story_switch(&s, 4, 1, 30, "worker", SLEEP, 0, "swapper/1");
	connects(&s, 5, 1000, 10);
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 26, 0, 3, NULL);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 27, 0, &x);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 28, 0, 3, NULL);
	tell(&s, 30, 0, "read", 10, 50);
	story_enter(&s, 34, 0, "nanosleep", -1);
	story_switch(&s, 35, 0, PROXY, "proxy", SLEEP, 0, "swapper/0");
	story_timer_wakes(&s, 56, 58, 1, 30, "worker");
	story_switch(&s, 61, 1, 0, "swapper/1", RUN, 30, "worker");
	story_leave(&s, 62, 1, "nanosleep", 0);
	story_poll(&s, 63, 1, "epoll_wait", 9, -1);
	story_switch(&s, 64, 1, 30, "worker", SLEEP, 0, "swapper/1");
	story_timer_wakes(&s, 90, 92, 0, PROXY, "proxy");
	story_switch(&s, 95, 0, 0, "swapper/0", RUN, PROXY, "proxy");
	story_leave(&s, 96, 0, "nanosleep", 0);
	connects_local(&s, 98, 20);
	story_poll(&s, 102, 0, "poll", -1, -1);
	story_switch(&s, 103, 0, PROXY, "proxy", SLEEP, 0, "swapper/0");
	story_switch(&s, 104, 1, 0, "swapper/1", RUN, 30, "worker");
	story_leave(&s, 105, 1, "epoll_wait", 1);
	tell(&s, 106, 1, "accept", 3, 5);
	story_enter(&s, 110, 1, "write", 5);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 110, 1, PROXY, "proxy", 0);
	story_leave(&s, 111, 1, "write", 20);
	story_enter(&s, 112, 1, "read", 5);
	story_switch(&s, 113, 1, 30, "worker", SLEEP, 0, "swapper/1");
	story_switch(&s, 114, 0, 0, "swapper/0", RUN, PROXY, "proxy");
	story_leave(&s, 115, 0, "poll", 1);
	tell(&s, 116, 0, "read", 20, 20);
	story_enter(&s, 118, 0, "write", 20);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 118, 0, 30, "worker", 1);
	story_leave(&s, 119, 0, "write", 50);
	story_enter(&s, 120, 0, "read", 20);
	story_switch(&s, 121, 0, PROXY, "proxy", SLEEP, 0, "swapper/0");
	story_switch(&s, 122, 1, 0, "swapper/1", RUN, 30, "worker");
	story_leave(&s, 123, 1, "read", 50);
	story_enter(&s, 130, 1, "write", 5);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 130, 1, PROXY, "proxy", 0);
	story_leave(&s, 131, 1, "write", 40);
	story_switch(&s, 132, 0, 0, "swapper/0", RUN, PROXY, "proxy");
	story_leave(&s, 133, 0, "read", 40);
	story_enter(&s, 134, 0, "write", 10);
	story_packet(&s, DTC_EVENT_NET_SEND, 135, 0, &answer);
	story_leave(&s, 136, 0, "write", 60);
	story_end(&s);
	g_autoptr(DtcPath) path = path_of(s.history, PROXY, 32, 133, DTC_NONE);
	static const int64_t asleep_ns[] = { 50, 70, 90 };
	for (guint i = 0; i < G_N_ELEMENTS(asleep_ns); i++) {
		const struct dtc_segment *segment = path_at(path, asleep_ns[i]);
		g_assert_cmpint(segment->tid, ==, PROXY);
		g_assert_cmpstr(dtc_cause_to_string(segment->cause), ==, "timer");
	}
	g_assert_cmpint(path_at(path, 108)->tid, ==, 30);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/local/proxy", test_proxy);
	g_test_add_func("/local/asleep", test_asleep);
	g_test_add_func("/local/greeting", test_greeting);
	return g_test_run();
}
