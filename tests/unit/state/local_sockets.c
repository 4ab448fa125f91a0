/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connections that no packet shows: thread 10 connects, threads 20 and 21 accept. Addresses are not in the trace; which
 * file is the other end is told by wakeups, by the order, and by the bytes.
 */
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define UNIX 1
#define LISTENER 3

static void tell(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, result);
}

static void open_socket(struct story *s, int64_t t, uint32_t cpu, int64_t fd)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, t, cpu);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "socket");
	e.v[DTC_CALL_FAMILY] = UNIX;
	dtc_machine_apply(s->machine, &e);
	story_leave(s, t + 1, cpu, "socket", fd);
}

static void begin(struct story *s)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 10, "front");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, 20, "worker");
	story_switch(s, 0, 2, 0, "swapper/2", RUN, 21, "worker");
	open_socket(s, 1, 1, LISTENER);
	open_socket(s, 1, 2, LISTENER);
}

static void connect_socket(struct story *s, int64_t t, int64_t fd)
{
	open_socket(s, t, 0, fd);
	tell(s, t + 2, 0, "connect", fd, 0);
}

/* The file of the call in which a thread is at a time. */
static uint32_t file_at(const struct story *s, int tid, int64_t t)
{
	uint32_t thread = dtc_history_find_thread(s->history, tid, t);
	return dtc_history_copy_call(s->history, dtc_history_find_call(s->history, thread, t)).file;
}

static void assert_pair(const struct story *s, int64_t asks, int tid, int64_t answers, enum dtc_pairing pairing)
{
	uint32_t asking = file_at(s, 10, asks), asked = file_at(s, tid, answers);
	g_assert_cmpuint(dtc_history_get_file(s->history, asking)->peer, ==, asked);
	g_assert_cmpuint(dtc_history_get_file(s->history, asked)->peer, ==, asking);
	g_assert_cmpint(dtc_history_get_file(s->history, asking)->pairing, ==, pairing);
}

/* Two connections, taken one after the other: either fits the first, which is whose it is by the order alone. */
static void test_order(void)
{
	struct story s;
	begin(&s);
	connect_socket(&s, 10, 5);
	tell(&s, 20, 0, "write", 5, 40);
	connect_socket(&s, 30, 6);
	tell(&s, 40, 0, "write", 6, 40);
	tell(&s, 50, 1, "accept", LISTENER, 7);
	tell(&s, 60, 1, "read", 7, 40);
	tell(&s, 70, 1, "accept", LISTENER, 8);
	tell(&s, 80, 1, "read", 8, 40);
	story_end(&s);
	assert_pair(&s, 20, 20, 60, DTC_PAIRING_INFERRED);
	assert_pair(&s, 40, 20, 80, DTC_PAIRING_INFERRED);
	story_clear(&s);
}

/* What was read on a descriptor from before the trace had been written before, too, but elsewhere for all we know. */
static void test_unknown(void)
{
	struct story s;
	begin(&s);
	connect_socket(&s, 10, 5);
	tell(&s, 20, 0, "write", 5, 40);
	tell(&s, 60, 1, "read", 9, 8);
	story_end(&s);
	g_assert_cmpuint(dtc_history_get_file(s.history, file_at(&s, 10, 20))->peer, ==, DTC_NONE);
	g_assert_cmpint(dtc_history_get_file(s.history, file_at(&s, 20, 60))->pairing, ==, DTC_PAIRING_NONE);
	story_clear(&s);
}

/* Without packets what was accepted of an unknown listener may come from anywhere. */
static void test_no_packets(void)
{
	struct story s;
	begin(&s);
	connect_socket(&s, 10, 5);
	tell(&s, 20, 0, "write", 5, 40);
	tell(&s, 50, 1, "accept", 4, 7);
	tell(&s, 60, 1, "read", 7, 40);
	story_end(&s);
	g_assert_cmpuint(dtc_history_get_file(s.history, file_at(&s, 10, 20))->peer, ==, DTC_NONE);
	story_clear(&s);
}

/* What was read had not been written on the first, so that it is the second's: another service took the first. */
static void test_bytes(void)
{
	struct story s;
	begin(&s);
	connect_socket(&s, 10, 5);
	connect_socket(&s, 30, 6);
	tell(&s, 40, 0, "write", 6, 40);
	tell(&s, 50, 1, "accept", LISTENER, 7);
	tell(&s, 60, 1, "read", 7, 10);
	tell(&s, 62, 1, "read", 7, 30);
	tell(&s, 80, 1, "write", 7, 20);
	tell(&s, 90, 0, "read", 6, 20);
	tell(&s, 95, 0, "write", 5, 40);
	story_end(&s);
	assert_pair(&s, 40, 20, 60, DTC_PAIRING_INFERRED);
	g_assert_cmpuint(dtc_history_get_file(s.history, file_at(&s, 10, 95))->peer, ==, DTC_NONE);
	story_clear(&s);
}

/*
 * One service reads less than was written on the first connection, another one just that, but accepts later: the first
 * connection is that one's, as each end read all that the other had written.
 */
static void test_whole(void)
{
	struct story s;
	begin(&s);
	connect_socket(&s, 10, 5);
	connect_socket(&s, 20, 6);
	tell(&s, 30, 0, "write", 5, 40);
	tell(&s, 32, 0, "write", 6, 30);
	tell(&s, 50, 1, "accept", LISTENER, 7);
	tell(&s, 52, 1, "read", 7, 30);
	tell(&s, 60, 2, "accept", LISTENER, 7);
	tell(&s, 62, 2, "read", 7, 40);
	story_end(&s);
	assert_pair(&s, 30, 21, 62, DTC_PAIRING_INFERRED);
	assert_pair(&s, 32, 20, 52, DTC_PAIRING_INFERRED);
	story_clear(&s);
}

/* Each connect wakes who accepts it, of two that wait for different services; the later one comes to it first. */
static void test_wakes(void)
{
	struct story s;
	begin(&s);
	for (uint32_t cpu = 1; cpu <= 2; cpu++) {
		story_enter(&s, 5, cpu, "accept", LISTENER);
		story_switch(&s, 6, cpu, 19 + (int)cpu, "worker", SLEEP, 0, "swapper");
	}
	for (int i = 0; i < 2; i++) {
		int64_t t = 10 + 20 * i;
		open_socket(&s, t, 0, 5 + i);
		story_enter(&s, t + 5, 0, "connect", 5 + i);
		story_task(&s, DTC_EVENT_SCHED_WAKING, t + 6, 0, 20 + i, "worker", 1 + i);
		story_leave(&s, t + 7, 0, "connect", 0);
		tell(&s, t + 8, 0, "write", 5 + i, 40);
	}
	for (uint32_t cpu = 2; cpu >= 1; cpu--) {
		int64_t t = 70 - 10 * cpu;
		story_switch(&s, t, cpu, 0, "swapper", RUN, 19 + (int)cpu, "worker");
		story_leave(&s, t + 1, cpu, "accept", 7);
		tell(&s, t + 2, cpu, "read", 7, 40);
	}
	story_end(&s);
	assert_pair(&s, 18, 20, 62, DTC_PAIRING_EXACT);
	assert_pair(&s, 38, 21, 52, DTC_PAIRING_EXACT);
	story_clear(&s);
}

/* It slept in accept when the trace began: there is the exit alone, and what it returned is a connection. */
static void test_half_seen(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "front");
	story_switch(&s, 6, 1, 20, "worker", SLEEP, 0, "swapper/1");
	open_socket(&s, 10, 0, 5);
	story_enter(&s, 15, 0, "connect", 5);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 16, 0, 20, "worker", 1);
	story_leave(&s, 17, 0, "connect", 0);
	tell(&s, 20, 0, "write", 5, 40);
	story_switch(&s, 50, 1, 0, "swapper/1", RUN, 20, "worker");
	story_leave(&s, 51, 1, "accept", 7);
	story_poll(&s, 52, 1, "poll", -1, 2000);
	story_leave(&s, 53, 1, "poll", 1);
	tell(&s, 60, 1, "read", 7, 40);
	story_end(&s);
	assert_pair(&s, 20, 20, 60, DTC_PAIRING_EXACT);
	story_clear(&s);
}

/* Nobody in the trace accepted it. */
static void test_nobody(void)
{
	struct story s;
	begin(&s);
	connect_socket(&s, 10, 5);
	tell(&s, 20, 0, "write", 5, 40);
	tell(&s, 50, 1, "accept", LISTENER, 7);
	tell(&s, 60, 1, "read", 7, 41);
	story_end(&s);
	g_assert_cmpuint(dtc_history_get_file(s.history, file_at(&s, 10, 20))->peer, ==, DTC_NONE);
	g_assert_cmpint(dtc_history_get_file(s.history, file_at(&s, 20, 60))->pairing, ==, DTC_PAIRING_NONE);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/local-sockets/order", test_order);
	g_test_add_func("/local-sockets/unknown", test_unknown);
	g_test_add_func("/local-sockets/no-packets", test_no_packets);
	g_test_add_func("/local-sockets/bytes", test_bytes);
	g_test_add_func("/local-sockets/whole", test_whole);
	g_test_add_func("/local-sockets/wakes", test_wakes);
	g_test_add_func("/local-sockets/half-seen", test_half_seen);
	g_test_add_func("/local-sockets/nobody", test_nobody);
	return g_test_run();
}
