/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Switches that the trace does not have, although no events are said to be lost. */
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define A 10
#define B 20

static guint count_findings(const struct story *s)
{
	guint count = 0;
	for (guint i = 0; i < dtc_findings_get_count(s->findings); i++)
		count += g_strcmp0(dtc_findings_get(s->findings, i)->code, DTC_FINDING_SWITCH_MISSING) == 0;
	return count;
}

/* B waits in its call on one CPU, and A computes there. */
static void begin(struct story *s, const char *call)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, B, "b");
	story_enter(s, 5, 0, "getpid", -1);
	story_leave(s, 6, 0, "getpid", B);
	story_enter(s, 10, 0, call, 3);
	story_switch(s, 20, 0, B, "b", SLEEP, A, "a");
	story_enter(s, 30, 0, "read", 4);
	story_leave(s, 40, 0, "read", 1);
}

static void wake_b(struct story *s, int64_t t)
{
	story_context(s, DTC_EVENT_HRTIMER_ENTRY, t, 0, 1, NULL);
	story_task(s, DTC_EVENT_SCHED_WAKING, t + 1, 0, B, "b", 0);
	story_context(s, DTC_EVENT_HRTIMER_EXIT, t + 2, 0, 1, NULL);
}

static void assert_state(const struct story *s, int tid, int64_t t, enum dtc_state state)
{
	g_assert_cmpstr(dtc_state_to_string(story_interval(s, tid, t)->state), ==, dtc_state_to_string(state));
}

static void assert_runs(const struct story *s, int64_t t, int tid, bool is_missing)
{
	uint32_t after = dtc_history_find_run_after(s->history, 0, t - 1);
	g_assert_cmpuint(after, >, 0);
	const struct dtc_run run = dtc_history_get_run(s->history, 0, after - 1);
	g_assert_cmpuint(run.is_missing, ==, is_missing);
	if (is_missing)
		g_assert_cmpuint(run.thread, ==, DTC_NONE);
	else
		g_assert_cmpint(dtc_history_get_thread(s->history, run.thread)->tid, ==, tid);
}

/* What comes after the switch that is not there: it gives B the CPU. */
static void go_on(struct story *s)
{
	story_leave(s, 100, 0, "epoll_wait", 1);
	story_enter(s, 110, 0, "write", 5);
	story_leave(s, 120, 0, "write", 1);
	story_switch(s, 140, 0, B, "b", SLEEP, A, "a");
	story_enter(s, 150, 0, "read", 4);
	story_leave(s, 160, 0, "read", 1);
	story_end(s);
}

/* A call returns in A that A did not enter, and B can have: from A's last sign of life on nobody is known to run. */
static void test_exit(void)
{
	struct story s;
	begin(&s, "epoll_wait");
	wake_b(&s, 60);
	go_on(&s);
	assert_state(&s, A, 35, DTC_STATE_SYSCALL);
	assert_state(&s, A, 95, DTC_STATE_UNKNOWN);
	assert_state(&s, A, 130, DTC_STATE_UNKNOWN);
	assert_state(&s, B, 50, DTC_STATE_WAIT);
	assert_state(&s, B, 130, DTC_STATE_UNKNOWN);
	assert_state(&s, A, 155, DTC_STATE_SYSCALL);
	assert_runs(&s, 35, A, false);
	assert_runs(&s, 130, 0, true);
	assert_runs(&s, 155, A, false);
	uint32_t call = dtc_history_find_call(s.history, dtc_history_find_thread(s.history, A, 95), 155);
	g_assert_cmpint(dtc_history_get_call_begin_ns(s.history, call), ==, 150);
	g_assert_cmpint(dtc_history_get_call_begin_ns(s.history, call - 1), ==, 30); /* no write of A's */
	g_assert_cmpuint(count_findings(&s), ==, 1);
	g_assert_true(dtc_findings_get_complete(s.findings));
	story_clear(&s);
}

/* Nobody else is in such a call: seccomp refused it before its entry was logged. */
static void test_refused(void)
{
	struct story s;
	begin(&s, "futex");
	wake_b(&s, 60);
	story_leave(&s, 100, 0, "epoll_wait", -1);
	story_switch(&s, 140, 0, A, "a", SLEEP, B, "b");
	story_end(&s);
	assert_state(&s, A, 130, DTC_STATE_USER);
	g_assert_cmpuint(count_findings(&s), ==, 0);
	story_clear(&s);
}

/* A call begins in A, which is in one. */
static void test_entry(void)
{
	struct story s;
	begin(&s, "futex");
	story_enter(&s, 70, 0, "read", 4);
	story_enter(&s, 100, 0, "write", 5);
	story_switch(&s, 140, 0, B, "b", SLEEP, A, "a");
	story_end(&s);
	assert_state(&s, A, 130, DTC_STATE_UNKNOWN);
	assert_runs(&s, 130, 0, true);
	g_assert_cmpuint(count_findings(&s), ==, 1);
	story_clear(&s);
}

/* The next switch is from B. */
static void test_switch(void)
{
	struct story s;
	begin(&s, "futex");
	story_switch(&s, 140, 0, B, "b", SLEEP, A, "a");
	story_switch(&s, 150, 0, A, "a", SLEEP, B, "b");
	story_end(&s);
	assert_state(&s, A, 35, DTC_STATE_SYSCALL);
	assert_state(&s, A, 130, DTC_STATE_UNKNOWN);
	assert_runs(&s, 130, 0, true);
	assert_runs(&s, 145, A, false);
	g_assert_cmpuint(count_findings(&s), ==, 1);
	story_clear(&s);
}

/* The events say in whose context they are: the CPU is B's from the first one on. */
static void test_context(void)
{
	struct story s;
	begin(&s, "epoll_wait");
	wake_b(&s, 60);
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_EXIT, 60000, 0);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s.machine, "epoll_wait");
	e.v[DTC_CALL_RET] = 1;
	e.has_tid = true;
	e.tid = B;
	dtc_machine_apply(s.machine, &e);
	story_enter(&s, 60010, 0, "write", 5);
	story_leave(&s, 60020, 0, "write", 1);
	story_switch(&s, 60040, 0, B, "b", SLEEP, A, "a");
	story_end(&s);
	assert_state(&s, A, 50000, DTC_STATE_UNKNOWN);
	assert_state(&s, B, 50000, DTC_STATE_RUNQUEUE);
	assert_state(&s, B, 60015, DTC_STATE_SYSCALL);
	assert_runs(&s, 59000, 0, true);
	assert_runs(&s, 60030, B, false);
	g_assert_cmpuint(count_findings(&s), ==, 1);
	story_clear(&s);
}

/* Right after a switch ftrace's events still bear the thread before it. */
static void test_context_before(void)
{
	struct story s;
	begin(&s, "epoll_wait");
	story_switch(&s, 60000, 0, A, "a", SLEEP, B, "b");
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_EXIT, 60005, 0);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s.machine, "epoll_wait");
	e.v[DTC_CALL_RET] = 1;
	e.has_tid = true;
	e.tid = A;
	dtc_machine_apply(s.machine, &e);
	story_switch(&s, 90000, 0, B, "b", SLEEP, A, "a");
	story_end(&s);
	assert_state(&s, B, 80000, DTC_STATE_USER);
	g_assert_cmpuint(count_findings(&s), ==, 0);
	story_clear(&s);
}

/* A exits where B was: its own event tells. */
static void test_exit_of_thread(void)
{
	struct story s;
	begin(&s, "futex");
	story_switch(&s, 60, 0, A, "a", RUN, B, "b");
	story_task(&s, DTC_EVENT_SCHED_EXIT, 100, 0, A, "a", 0);
	story_switch(&s, 140, 0, A, "a", 0x20, 0, "swapper/0");
	story_end(&s);
	assert_state(&s, B, 90, DTC_STATE_UNKNOWN);
	assert_state(&s, A, 130, DTC_STATE_KERNEL);
	assert_runs(&s, 130, A, false);
	g_assert_cmpuint(count_findings(&s), ==, 1);
	story_clear(&s);
}

/* A goes on on another CPU, and something happens where it had been. */
static void test_elsewhere(gconstpointer data)
{
	bool is_lost = GPOINTER_TO_INT(data);
	struct story s;
	begin(&s, "futex");
	story_switch(&s, 100, 1, 0, "swapper/1", RUN, A, "a");
	if (is_lost)
		story_lost(&s, 50, 110, 0);
	story_context(&s, DTC_EVENT_IRQ_ENTRY, 120, 0, 5, "disk");
	story_context(&s, DTC_EVENT_IRQ_EXIT, 121, 0, 5, NULL);
	story_switch(&s, 140, 0, B, "b", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_assert_cmpuint(count_findings(&s), ==, !is_lost);
	if (!is_lost)
		assert_runs(&s, 130, 0, true);
	story_clear(&s);
}

static void put_in(struct story *s, int64_t t, int prev, const char *prev_comm, int next)
{
	struct dtc_event e = story_event(DTC_EVENT_SCHED_SWITCH, t, 0);
	e.v[DTC_SWITCH_PREV_TID] = prev;
	e.v[DTC_SWITCH_PREV_STATE] = RUN;
	e.v[DTC_SWITCH_NEXT_TID] = next;
	e.v[DTC_SWITCH_REPAIRED] = 1;
	e.text[0] = prev_comm;
	e.text[1] = "";
	dtc_machine_apply(s->machine, &e);
}

/* The recorder put a switch in: from the idle thread it is one like any other, and B keeps its name. */
static void test_put_in_idle(void)
{
	struct story s;
	begin(&s, "epoll_wait");
	story_switch(&s, 50, 0, A, "a", SLEEP, 0, "swapper/0");
	wake_b(&s, 60);
	put_in(&s, 63, 0, "swapper/0", B);
	go_on(&s);
	assert_state(&s, A, 55, DTC_STATE_WAIT);
	assert_state(&s, B, 80, DTC_STATE_SYSCALL);
	assert_runs(&s, 56, 0, false);
	assert_runs(&s, 90, B, false);
	g_assert_cmpstr(dtc_history_get_comm(s.history, dtc_history_find_thread(s.history, B, 90), 90), ==, "b");
	g_assert_cmpuint(count_findings(&s), ==, 0);
	story_clear(&s);
}

/* From another thread: after that one's last sign of life nobody is known to have run, and B runs from here on. */
static void test_put_in_late(void)
{
	struct story s;
	begin(&s, "epoll_wait");
	wake_b(&s, 60);
	put_in(&s, 100, A, "a", B);
	go_on(&s);
	assert_state(&s, A, 35, DTC_STATE_SYSCALL);
	assert_state(&s, A, 95, DTC_STATE_UNKNOWN);
	assert_state(&s, B, 105, DTC_STATE_USER);
	assert_runs(&s, 95, A, true);
	assert_runs(&s, 105, B, false);
	g_assert_cmpuint(count_findings(&s), ==, 1);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/missing/exit", test_exit);
	g_test_add_func("/missing/refused", test_refused);
	g_test_add_func("/missing/entry", test_entry);
	g_test_add_func("/missing/switch", test_switch);
	g_test_add_func("/missing/put-in-idle", test_put_in_idle);
	g_test_add_func("/missing/put-in-late", test_put_in_late);
	g_test_add_func("/missing/context", test_context);
	g_test_add_func("/missing/context-before", test_context_before);
	g_test_add_func("/missing/exit-of-thread", test_exit_of_thread);
	g_test_add_data_func("/missing/elsewhere", GINT_TO_POINTER(false), test_elsewhere);
	g_test_add_data_func("/missing/elsewhere-lost", GINT_TO_POINTER(true), test_elsewhere);
	return g_test_run();
}
