/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A server hands its jobs on by a thread in the middle: reader 20 has X, wakes 22 for it, and that tells 23,
 * which sleeps for X until its timer. Meanwhile reader 21 has Y, and wakes 22, too. What 22 waited for last began
 * behind that, and what 23 did before is X's all the same: 22 was idle.
 *
 *   20   30 reads X   34 wakes 22, waits                                                           201 answers X
 *   21                                     100 reads Y   104 wakes 22
 *   22                35 works 38 tells 23, 40 waits     106 works   110 waits        195 works, 198 wakes 20
 *   23                                           42 sleeps                   190 works, 194 wakes 22
 */
#include "tests/support/served_path.h"

#define RUN 0
#define SLEEP 1
#define X 0
#define Y 1
#define WAIT 128 /* FUTEX_WAIT_PRIVATE */

static void tell_call(struct story *s, int64_t t, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, t, cpu, name, fd);
	story_leave(s, t + 1, cpu, name, result);
}

/* Each waits at a place of its own. */
static void wait_at(struct story *s, int64_t t, uint32_t cpu)
{
	int tid = 20 + (int)cpu;
	story_futex(s, t, cpu, WAIT, 0x1000 * tid);
	story_switch(s, t + 1, cpu, tid, "server", SLEEP, 0, "swapper");
}

static void wake(struct story *s, int64_t t, uint32_t by, uint32_t cpu)
{
	story_futex(s, t, by, 129, 0x1000 * (20 + (int)cpu));
	story_task(s, DTC_EVENT_SCHED_WAKING, t, by, 20 + (int)cpu, "server", (int)cpu);
	story_switch(s, t, cpu, 0, "swapper", RUN, 20 + (int)cpu, "server");
	story_leave(s, t + 1, by, "futex", 1);
	story_leave(s, t + 1, cpu, "futex", 0);
}

static void test_between(gconstpointer data)
{
	bool has_other = GPOINTER_TO_INT(data);
	struct story s;
	story_begin(&s, "server");
	for (uint32_t cpu = 0; cpu < 4; cpu++) {
		story_fork(&s, 1, 5, 20, 20, 20 + (int)cpu, 20, "server");
		story_switch(&s, 2, cpu, 0, "swapper", RUN, 20 + (int)cpu, "server");
	}
	tell_call(&s, 3, 0, "accept4", 3, 4);
	tell_call(&s, 3, 1, "accept4", 3, 7);
	wait_at(&s, 5, 2);
	tell_call(&s, 30, 0, "read", 4, 50);
	wake(&s, 34, 0, 2);
	wait_at(&s, 36, 0);
	tell_call(&s, 38, 2, "write", 9, 8); /* which 23 polls for, but when it read that is not seen */
	wait_at(&s, 40, 2);
	story_enter(&s, 42, 3, "nanosleep", -1);
	story_switch(&s, 43, 3, 23, "server", SLEEP, 0, "swapper/3");
	if (has_other) {
		tell_call(&s, 100, 1, "read", 7, 50);
		wake(&s, 104, 1, 2);
		wait_at(&s, 110, 2);
	}
	story_timer_wakes(&s, 188, 190, 3, 23, "server");
	story_switch(&s, 191, 3, 0, "swapper/3", RUN, 23, "server");
	story_leave(&s, 192, 3, "nanosleep", 0);
	wake(&s, 194, 3, 2);
	wake(&s, 198, 2, 0);
	tell_call(&s, 201, 0, "write", 4, 20);
	if (has_other)
		tell_call(&s, 210, 1, "write", 7, 20);
	story_end(&s);
	struct served_path w = served_path_begin(&s);
	served_path_add(&w, 20, 30, X, false);
	served_path_add(&w, 20, 201, X, true);
	if (has_other) {
		served_path_add(&w, 21, 100, Y, false);
		served_path_add(&w, 21, 210, Y, true);
	}
	struct dtc_segment early = served_path_at(&w, 20, 30, 201, 80);
	g_assert_cmpstr(dtc_cause_to_string(early.cause), ==, "timer");
}

/*
 * A worker that serves one after the other: 20 has Y, sleeps for it, answers, and waits until 21, of another process,
 * closes that connection. X's question lies in its socket all that time, and 20 had no part of it: what 21 did is not
 * why, and what 20 did is.
 *
 *   20   30 reads Y   40 sleeps   90 works   94 answers Y, 100 waits   112 goes on   118 reads X   130 answers X
 *   21   20 sleeps                                               105 works   108 closes, 110 wakes 20
 *   35 X's question arrives
 */
static void test_taken_later(void)
{
	const uint32_t client = 0x0a000001, server = 0x0a000002;
	struct dtc_headers question = story_headers(client, 60000, server, 80, 1000, 500, 0x18, 50, 1);
	struct dtc_headers answer = story_headers(server, 80, client, 60000, 500, 1050, 0x18, 20, 2);
	struct story s;
	story_begin(&s, "server");
	story_fork(&s, 1, 5, 1, 1, 20, 20, "worker");
	story_fork(&s, 1, 5, 1, 1, 21, 21, "front");
	story_switch(&s, 2, 0, 0, "swapper", RUN, 20, "worker");
	story_switch(&s, 2, 1, 0, "swapper", RUN, 21, "front");
	tell_call(&s, 3, 0, "accept4", 3, 4);
	story_enter(&s, 20, 1, "nanosleep", -1);
	story_switch(&s, 21, 1, 21, "front", SLEEP, 0, "swapper");
	tell_call(&s, 30, 0, "read", 4, 50);
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 34, 2, 3, NULL);
	story_packet(&s, DTC_EVENT_NET_RECEIVE, 35, 2, &question);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 36, 2, 3, NULL);
	story_enter(&s, 40, 0, "nanosleep", -1);
	story_switch(&s, 41, 0, 20, "worker", SLEEP, 0, "swapper");
	story_timer_wakes(&s, 88, 90, 0, 20, "worker");
	story_switch(&s, 91, 0, 0, "swapper", RUN, 20, "worker");
	story_leave(&s, 92, 0, "nanosleep", 0);
	tell_call(&s, 94, 0, "write", 4, 20);
	story_enter(&s, 99, 0, "recvfrom", 4);
	story_switch(&s, 100, 0, 20, "worker", SLEEP, 0, "swapper");
	story_timer_wakes(&s, 103, 105, 1, 21, "front");
	story_switch(&s, 106, 1, 0, "swapper", RUN, 21, "front");
	story_leave(&s, 107, 1, "nanosleep", 0);
	story_enter(&s, 108, 1, "close", 9);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 110, 1, 20, "worker", 0);
	story_leave(&s, 111, 1, "close", 0);
	story_switch(&s, 111, 0, 0, "swapper", RUN, 20, "worker");
	story_leave(&s, 112, 0, "recvfrom", 0);
	tell_call(&s, 115, 0, "accept4", 3, 5);
	tell_call(&s, 118, 0, "read", 5, 50);
	story_enter(&s, 130, 0, "write", 5);
	story_packet(&s, DTC_EVENT_NET_SEND, 131, 0, &answer);
	story_leave(&s, 132, 0, "write", 20);
	story_end(&s);
	struct served_path w = served_path_begin(&s);
	served_path_add(&w, 20, 30, Y, false);
	served_path_add(&w, 20, 94, Y, true);
	served_path_add(&w, 20, 118, X, false);
	served_path_add(&w, 20, 130, X, true);
	w.owner = X + 1;
	uint32_t worker = dtc_history_find_thread(w.history, 20, 60);
	struct dtc_segment early = served_path_at(&w, 20, 36, 130, 60);
	g_assert_cmpstr(dtc_cause_to_string(early.cause), ==, "timer");
	g_assert_cmpuint(early.thread, ==, worker);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/idle/alone", GINT_TO_POINTER(false), test_between);
	g_test_add_data_func("/idle/another", GINT_TO_POINTER(true), test_between);
	g_test_add_func("/idle/taken-later", test_taken_later);
	return g_test_run();
}
