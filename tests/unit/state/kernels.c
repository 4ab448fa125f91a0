/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What differs between kernels and tracers: prev_state, what the state dump tells, what is not traced at all. */
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define DISK 2

/* The state after a switch-out with that prev_state. */
static enum dtc_state switch_out(unsigned long major, unsigned long minor, int prev_state)
{
	struct story s;
	story_begin(&s, "n");
	if (major)
		dtc_machine_set_kernel(s.machine, major, minor);
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	story_switch(&s, 10, 0, 10, "a", prev_state, 11, "b");
	story_switch(&s, 20, 0, 11, "b", RUN, 12, "c");
	story_end(&s);
	enum dtc_state state = (enum dtc_state)story_interval(&s, 10, 20)->state;
	story_clear(&s);
	return state;
}

static void test_prev_state(void)
{
	static const struct {
		unsigned long major, minor;
		int prev_state;
		enum dtc_state state;
	} cases[] = {
		{ 6, 1, 0, DTC_STATE_PREEMPTED },      { 6, 1, 0x100, DTC_STATE_PREEMPTED },
		{ 6, 1, 1, DTC_STATE_WAIT },	       { 6, 1, 2, DTC_STATE_WAIT_DISK },
		{ 6, 1, 4, DTC_STATE_STOPPED },	       { 6, 1, 8, DTC_STATE_STOPPED }, /* traced */
		{ 6, 1, 0x10, DTC_STATE_EXITED },      { 6, 1, 0x20, DTC_STATE_EXITED },
		{ 6, 1, 0x40, DTC_STATE_WAIT }, /* parked */
		{ 6, 1, 0x80, DTC_STATE_WAIT }, /* idle kernel thread */
		{ 4, 14, 0x100, DTC_STATE_PREEMPTED }, { 4, 13, 4096, DTC_STATE_PREEMPTED },
		{ 4, 13, 130, DTC_STATE_WAIT_DISK },  /* killable: uninterruptible | wakekill */
		{ 4, 13, 1026, DTC_STATE_WAIT_DISK }, /* uninterruptible | noload */
		{ 4, 13, 512, DTC_STATE_WAIT },	      /* parked */
		{ 4, 13, 64, DTC_STATE_EXITED },      /* dead */
		{ 4, 4, 2048, DTC_STATE_PREEMPTED },   { 3, 10, 1024, DTC_STATE_PREEMPTED },
		{ 3, 10, 512, DTC_STATE_WAIT }, /* parked, since 3.9 */
		{ 3, 2, 512, DTC_STATE_PREEMPTED },    { 3, 2, 1, DTC_STATE_WAIT },
		{ 2, 6, 16, DTC_STATE_EXITED },
	};
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		enum dtc_state state = switch_out(cases[i].major, cases[i].minor, cases[i].prev_state);
		if (state != cases[i].state)
			g_error("%lu.%lu, prev_state %d: %s", cases[i].major, cases[i].minor, cases[i].prev_state,
				dtc_state_to_string(state));
	}
}

static void tell_dump(struct story *s, int64_t t, int tid, int status)
{
	struct dtc_event dump = story_event(DTC_EVENT_DUMP_PROCESS, t, 0);
	dump.v[DTC_DUMP_TID] = dump.v[DTC_DUMP_PID] = tid;
	dump.v[DTC_DUMP_TYPE] = 0;
	dump.v[DTC_DUMP_STATUS] = status;
	dump.text[0] = "dumped";
	dtc_machine_apply(s->machine, &dump);
}

static void test_dump(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	tell_dump(&s, 10, 20, 5);
	tell_dump(&s, 11, 21, 2);
	tell_dump(&s, 12, 22, 4);
	tell_dump(&s, 13, 10, 6);
	story_switch(&s, 30, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_assert_cmpint(story_interval(&s, 20, 30)->state, ==, DTC_STATE_WAIT);
	g_assert_cmpint(story_interval(&s, 20, 10)->state, ==, DTC_STATE_UNKNOWN);
	g_assert_cmpint(story_interval(&s, 21, 30)->state, ==, DTC_STATE_PREEMPTED);
	g_assert_cmpint(story_interval(&s, 22, 30)->state, ==, DTC_STATE_EXITED); /* a zombie */
	g_assert_cmpint(story_interval(&s, 10, 30)->state, ==, DTC_STATE_USER);	  /* the events know better */
	story_clear(&s);
}

/* Interrupts that the event gives no name bear the one of the state dump, or else their number. */
static void test_interrupt_names(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	struct dtc_event dump = story_event(DTC_EVENT_DUMP_INTERRUPT, 5, 0);
	dump.v[DTC_DUMP_IRQ] = 28;
	dump.text[0] = "eth0";
	dtc_machine_apply(s.machine, &dump);
	for (int i = 0; i < 2; i++) {
		story_context(&s, DTC_EVENT_IRQ_ENTRY, 10 + 10 * i, 0, 28 + i, NULL);
		story_context(&s, DTC_EVENT_IRQ_EXIT, 15 + 10 * i, 0, 28 + i, NULL);
	}
	story_context(&s, DTC_EVENT_VECTOR_ENTRY, 30, 0, DTC_VECTOR_IPI, "Rescheduling interrupts");
	story_context(&s, DTC_EVENT_VECTOR_EXIT, 35, 0, DTC_VECTOR_IPI, NULL);
	story_switch(&s, 40, 0, 10, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	static const char *const names[] = { "eth0", "irq 29", "Rescheduling interrupts" };
	for (int i = 0; i < 3; i++)
		g_assert_cmpstr(dtc_history_get_string(s.history, story_interval(&s, 10, 15 + 10 * i)->ref), ==,
				names[i]);
	story_clear(&s);
}

/* Without system calls a child would never return from its fork: what user threads run counts as user mode. */
static void test_no_calls(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	tell_dump(&s, 1, 10, 6);
	story_fork(&s, 10, 0, 10, 10, 20, 20, "a");
	story_switch(&s, 20, 0, 10, "a", SLEEP, 20, "a");
	story_switch(&s, 30, 0, 20, "a", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_assert_cmpint(story_interval(&s, 20, 30)->state, ==, DTC_STATE_USER);
	bool is_told = false;
	for (guint i = 0; i < dtc_findings_get_count(s.findings); i++)
		is_told |= strstr(dtc_findings_get(s.findings, i)->text, "counts as user mode") != NULL;
	g_assert_true(is_told);
	story_clear(&s);
}

/* exec by a thread that does not lead: it goes on under the leader's tid, and its own is gone. */
static void test_exec_by_another_thread(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "leader");
	story_enter(&s, 2, 0, "clone", -1);
	story_fork(&s, 5, 0, 10, 10, 11, 10, "leader");
	story_leave(&s, 6, 0, "clone", 11);
	story_enter(&s, 7, 0, "futex", -1);
	story_switch(&s, 10, 0, 10, "leader", SLEEP, 11, "leader");
	story_leave(&s, 12, 0, "clone", 0);
	story_enter(&s, 15, 0, "execve", -1);
	struct dtc_event exec = story_event(DTC_EVENT_SCHED_EXEC, 20, 0);
	exec.v[DTC_TASK_TID] = 10;
	exec.v[DTC_TASK_OLD_TID] = 11;
	exec.text[0] = "/bin/new";
	dtc_machine_apply(s.machine, &exec);
	story_leave(&s, 25, 0, "execve", 0);
	story_switch(&s, 40, 0, 10, "new", SLEEP, 0, "swapper/0");
	story_end(&s);
	uint32_t old = dtc_history_find_thread(s.history, 11, 15);
	g_assert_cmpint(dtc_history_get_thread(s.history, old)->end_ns, ==, 20);
	uint32_t last = dtc_history_find_call(s.history, old, 20);
	g_assert_cmpuint(story_interval(&s, 11, 20)->call, ==, last); /* in the exec */
	const struct dtc_interval *wait = story_interval(&s, 10, 20);
	g_assert_cmpint(wait->state, ==, DTC_STATE_WAIT);
	g_assert_cmpuint(wait->call, ==, dtc_history_find_call(s.history, wait->thread, 10)); /* in the futex */
	g_assert_cmpint(story_interval(&s, 10, 25)->state, ==, DTC_STATE_KERNEL);
	g_assert_cmpint(story_interval(&s, 10, 40)->state, ==, DTC_STATE_USER);
	uint32_t leader = dtc_history_find_thread(s.history, 10, 30);
	g_assert_cmpstr(dtc_history_get_comm(s.history, leader, 35), ==, "new");
	story_clear(&s);
}

/*
 * A worker of io_uring: nothing tells of its creation but that it is woken as new, with its maker's name. It is a
 * thread of the ring's process, and in the kernel all the time. A thread that only has such a name makes calls.
 */
static void test_ring_worker(void)
{
	static const char *const names[] = { "iou-wrk-21", "iou-sqp-21", "iou-wrk-", "iou-wrk-x" };
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		bool is_worker = i < 2;
		struct story s;
		story_begin(&s, "n");
		story_switch(&s, 0, 0, 0, "swapper/0", RUN, 9, "init");
		story_fork(&s, 1, 0, 9, 9, 20, 20, "server");
		story_fork(&s, 1, 0, 9, 9, 21, 20, "server");
		story_switch(&s, 2, 0, 9, "init", SLEEP, 21, "server");
		story_enter(&s, 3, 0, "io_uring_enter", 5);
		story_task(&s, DTC_EVENT_SCHED_WAKEUP_NEW, 5, 0, 30, "server", 0);
		story_leave(&s, 6, 0, "io_uring_enter", 1);
		story_switch(&s, 10, 0, 21, "server", SLEEP, 30, "server");
		story_switch(&s, 20, 0, 30, names[i], DISK, 0, "swapper/0");
		story_task(&s, DTC_EVENT_SCHED_WAKING, 30, 0, 30, names[i], 0);
		story_switch(&s, 40, 0, 0, "swapper/0", RUN, 30, names[i]);
		story_switch(&s, 50, 0, 30, names[i], SLEEP, 0, "swapper/0");
		story_end(&s);
		uint32_t thread = dtc_history_find_thread(s.history, 30, 40);
		const struct dtc_thread *worker = dtc_history_get_thread(s.history, thread);
		g_assert_cmpint(worker->begin_ns, ==, 5);
		g_assert_cmpint(dtc_history_get_thread(s.history, worker->parent)->tid, ==, 21);
		g_assert_cmpint(story_interval(&s, 30, 8)->state, ==, DTC_STATE_RUNQUEUE);
		g_assert_cmpint(story_interval(&s, 30, 15)->state, ==, DTC_STATE_KERNEL);
		g_assert_cmpint(worker->is_kernel, ==, is_worker);
		g_assert_cmpint(worker->pid, ==, is_worker ? 20 : -1);
		story_clear(&s);
	}
}

/* A thread that gave itself a worker's name. */
static void test_worker_by_name(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 20, "server");
	story_enter(&s, 5, 0, "prctl", -1);
	story_leave(&s, 6, 0, "prctl", 0);
	story_switch(&s, 10, 0, 20, "iou-wrk-20", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_assert_false(dtc_history_get_thread(s.history, dtc_history_find_thread(s.history, 20, 5))->is_kernel);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kernels/prev-state", test_prev_state);
	g_test_add_func("/kernels/dump", test_dump);
	g_test_add_func("/kernels/interrupt-names", test_interrupt_names);
	g_test_add_func("/kernels/no-calls", test_no_calls);
	g_test_add_func("/kernels/exec-by-another-thread", test_exec_by_another_thread);
	g_test_add_func("/kernels/ring-worker", test_ring_worker);
	g_test_add_func("/kernels/worker-by-name", test_worker_by_name);
	return g_test_run();
}
