/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of threads and processes: every nanosecond in one column, every event counted once. */
#include "analyze/profile/profile.h"

#include "analyze/edge/cause.h"
#include "tests/support/story.h"

/* A worker (10, of process 9) computes, writes, is interrupted, sleeps, is woken and preempted by a hog (20). */
static void tell_worker(struct story *s)
{
	story_begin(s, "n");
	struct dtc_event dump = story_event(DTC_EVENT_DUMP_PROCESS, 0, 0);
	dump.v[DTC_DUMP_TID] = 10;
	dump.v[DTC_DUMP_PID] = 9;
	dump.v[DTC_DUMP_TYPE] = 0;
	dump.text[0] = "worker";
	dtc_machine_apply(s->machine, &dump);
	story_switch(s, 10, 0, 0, "swapper/0", 0, 10, "worker");
	story_enter(s, 20, 0, "nanosleep", -1);
	story_context(s, DTC_EVENT_IRQ_ENTRY, 25, 0, 7, "disk");
	story_context(s, DTC_EVENT_IRQ_EXIT, 27, 0, 7, "disk");
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 27, 0, 4, NULL);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 30, 0, 4, NULL);
	story_switch(s, 40, 0, 10, "worker", 1, 0, "swapper/0");
	story_context(s, DTC_EVENT_HRTIMER_ENTRY, 60, 0, 1, NULL);
	story_task(s, DTC_EVENT_SCHED_WAKING, 61, 0, 10, "worker", 0);
	story_task(s, DTC_EVENT_SCHED_WAKEUP, 62, 0, 10, "worker", 0);
	story_context(s, DTC_EVENT_HRTIMER_EXIT, 63, 0, 1, NULL);
	story_switch(s, 70, 0, 0, "swapper/0", 0, 10, "worker");
	story_leave(s, 75, 0, "nanosleep", 0);
	struct dtc_event fault = story_event(DTC_EVENT_FAULT_USER, 77, 0);
	dtc_machine_apply(s->machine, &fault);
	story_task(s, DTC_EVENT_SCHED_WAKING, 78, 0, 20, "hog", 0);
	story_switch(s, 80, 0, 10, "worker", 0x100, 20, "hog");
	story_switch(s, 95, 0, 20, "hog", 1, 10, "worker");
	story_switch(s, 100, 0, 10, "worker", 1, 0, "swapper/0");
	story_end(s);
}

static GArray *profile(const struct story *s, int64_t begin_ns, int64_t end_ns)
{
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_profile_row));
	dtc_profile_add_threads(rows, NULL, 0, s->history, (DtcNodeTime){ begin_ns }, (DtcNodeTime){ end_ns });
	return rows;
}

static const struct dtc_profile_row *find(const struct story *s, const GArray *rows, int tid)
{
	for (guint i = 0; i < rows->len; i++) {
		const struct dtc_profile_row *row = &g_array_index(rows, struct dtc_profile_row, i);
		if (dtc_history_get_thread(s->history, row->thread)->tid == tid)
			return row;
	}
	g_assert_not_reached();
}

static void assert_sums(const GArray *rows)
{
	for (guint i = 0; i < rows->len; i++) {
		const struct dtc_profile_row *row = &g_array_index(rows, struct dtc_profile_row, i);
		int64_t sum = 0;
		for (guint k = 0; k < DTC_PROFILE_BASIC_COLUMNS; k++)
			sum += row->value[k];
		g_assert_cmpint(sum, ==, row->value[DTC_PROFILE_LIFE]);
	}
}

static void test_columns(void)
{
	struct story s;
	tell_worker(&s);
	g_autoptr(GArray) rows = profile(&s, 0, 100);
	const int64_t *worker = find(&s, rows, 10)->value;

	assert_sums(rows);
	g_assert_cmpint(worker[DTC_PROFILE_LIFE], ==, 100);
	g_assert_cmpint(worker[DTC_PROFILE_UNKNOWN], ==, 10); /* until it is switched in */
	g_assert_cmpint(worker[DTC_PROFILE_USER], ==, 10 + 5 + 5);
	g_assert_cmpint(worker[DTC_PROFILE_SYSTEM], ==, 5 + 10 + 5);
	g_assert_cmpint(worker[DTC_PROFILE_IRQ], ==, 2);
	g_assert_cmpint(worker[DTC_PROFILE_SOFTIRQ], ==, 3);
	g_assert_cmpint(worker[DTC_PROFILE_CPU], ==, 45);
	g_assert_cmpint(worker[DTC_PROFILE_TIMER], ==, 21);
	g_assert_cmpint(worker[DTC_PROFILE_BLOCKED], ==, 21);
	g_assert_cmpint(worker[DTC_PROFILE_RUNQUEUE], ==, 9);
	g_assert_cmpint(worker[DTC_PROFILE_PREEMPTED], ==, 15);
	g_assert_cmpint(worker[DTC_PROFILE_CALLS], ==, 1);
	g_assert_cmpint(worker[DTC_PROFILE_FAULTS], ==, 1);
	g_assert_cmpint(worker[DTC_PROFILE_WOKEN], ==, 1);
	g_assert_cmpint(worker[DTC_PROFILE_WAKES], ==, 1); /* the hog; the timer's wakeup is nobody's */
	g_assert_cmpint(worker[DTC_PROFILE_SWITCHES], ==, 3);
	g_assert_cmpint(find(&s, rows, 20)->value[DTC_PROFILE_WOKEN], ==, 1);
	g_assert_cmpint(find(&s, rows, 0)->value[DTC_PROFILE_WAKES], ==, 0);
	story_clear(&s);
}

/* Intervals are cut at both ends of the span, and events count from its begin up to, but not at, its end. */
static void test_span(void)
{
	struct story s;
	tell_worker(&s);
	g_autoptr(GArray) rows = profile(&s, 35, 70);
	const int64_t *worker = find(&s, rows, 10)->value;

	assert_sums(rows);
	g_assert_cmpint(worker[DTC_PROFILE_LIFE], ==, 35);
	g_assert_cmpint(worker[DTC_PROFILE_SYSTEM], ==, 5);
	g_assert_cmpint(worker[DTC_PROFILE_TIMER], ==, 21);
	g_assert_cmpint(worker[DTC_PROFILE_RUNQUEUE], ==, 9);
	g_assert_cmpint(worker[DTC_PROFILE_CALLS], ==, 0);
	g_assert_cmpint(worker[DTC_PROFILE_WOKEN], ==, 1);
	g_assert_cmpint(worker[DTC_PROFILE_SWITCHES], ==, 0); /* at 70 */
	/* any cut of the life in two gives the same sums as the whole */
	for (int64_t cut = 1; cut < 100; cut++) {
		g_autoptr(GArray) whole = profile(&s, 0, 100);
		g_autoptr(GArray) first = profile(&s, 0, cut), second = profile(&s, cut, 100);
		for (guint i = 0; i < DTC_PROFILE_COLUMNS; i++)
			g_assert_cmpint(find(&s, first, 10)->value[i] + find(&s, second, 10)->value[i], ==,
					find(&s, whole, 10)->value[i]);
	}
	story_clear(&s);
}

static void test_cpu(void)
{
	struct story s;
	tell_worker(&s);
	struct dtc_profile_cpu cpu =
		dtc_profile_get_cpu(NULL, 0, s.history, 0, (DtcNodeTime){ 0 }, (DtcNodeTime){ 100 });

	g_assert_cmpint(cpu.span_ns, ==, 100);
	g_assert_cmpuint(cpu.wrong_count, ==, 0);
	g_assert_cmpint(cpu.irq_ns, ==, 2);
	g_assert_cmpint(cpu.softirq_ns, ==, 3);
	g_assert_cmpint(cpu.idle_ns, ==, 30);
	g_assert_cmpint(cpu.unknown_ns, ==, 10);
	g_assert_cmpint(cpu.user_ns, ==, 20 + 15);
	g_assert_cmpint(cpu.system_ns, ==, 20);
	story_clear(&s);
}

/* What ran while events were lost is not known, and is not made up. */
static void test_gap(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", 0, 10, "a");
	story_lost(&s, 40, 70, 0);
	story_switch(&s, 80, 0, 10, "a", 0, 11, "b");
	story_switch(&s, 100, 0, 11, "b", 1, 0, "swapper/0");
	story_end(&s);
	g_autoptr(GArray) rows = profile(&s, 0, 100);
	struct dtc_profile_cpu cpu =
		dtc_profile_get_cpu(NULL, 0, s.history, 0, (DtcNodeTime){ 0 }, (DtcNodeTime){ 100 });

	assert_sums(rows);
	g_assert_cmpint(cpu.user_ns, ==, 40 + 20);
	g_assert_cmpint(cpu.unknown_ns, ==, 40);
	g_assert_cmpuint(cpu.wrong_count, ==, 0);
	story_clear(&s);
}

static void test_processes(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", 0, 10, "server");
	story_fork(&s, 10, 0, 10, 10, 11, 10, "server"); /* a thread */
	story_fork(&s, 20, 0, 10, 10, 12, 12, "server"); /* a process */
	story_switch(&s, 30, 0, 10, "server", 1, 11, "server");
	story_switch(&s, 50, 0, 11, "server", 1, 12, "child");
	story_switch(&s, 90, 0, 12, "child", 1, 0, "swapper/0");
	story_end(&s);
	g_autoptr(GArray) rows = profile(&s, 0, 90);
	g_autoptr(GArray) processes = dtc_profile_group_processes(rows, s.history);

	g_assert_cmpuint(processes->len, ==, 2);
	dtc_profile_sort(processes, DTC_PROFILE_CPU);
	const struct dtc_profile_row *first = &g_array_index(processes, struct dtc_profile_row, 0);
	const struct dtc_profile_row *second = &g_array_index(processes, struct dtc_profile_row, 1);
	g_assert_cmpint(dtc_history_get_thread(s.history, first->thread)->tid, ==, 10);
	g_assert_cmpuint(first->thread_count, ==, 2);
	g_assert_cmpint(first->value[DTC_PROFILE_CPU], ==, 50);
	g_assert_cmpint(first->value[DTC_PROFILE_LIFE], ==, 90 + 80);
	g_assert_cmpint(dtc_history_get_thread(s.history, second->thread)->tid, ==, 12);
	g_assert_cmpint(second->value[DTC_PROFILE_CPU], ==, 40);
	story_clear(&s);
}

static void test_names(void)
{
	for (guint i = 0; i < DTC_PROFILE_COLUMNS; i++) {
		enum dtc_profile_column column;
		const char *name = dtc_profile_column_to_string((enum dtc_profile_column)i);
		g_assert_true(dtc_profile_column_parse(name, &column));
		g_assert_cmpuint(column, ==, i);
	}
	enum dtc_profile_column column = DTC_PROFILE_LIFE;
	g_assert_false(dtc_profile_column_parse("time", &column));
	g_assert_cmpint(column, ==, DTC_PROFILE_LIFE);
}

static void test_sum_of_cpus(void)
{
	const struct dtc_profile_cpu cpus[] = {
		{ 100, 10, 20, 5, 6, 1, 2, 3, 44, 9, 1 },
		{ 200, 1, 2, 3, 4, 10, 20, 30, 30, 100, 0 },
	};
	struct dtc_profile_cpu sum = dtc_profile_sum_cpus(cpus, 2);

	g_assert_cmpint(sum.span_ns, ==, 300);
	g_assert_cmpint(sum.user_ns, ==, 11);
	g_assert_cmpint(sum.system_ns, ==, 22);
	g_assert_cmpint(sum.irq_ns, ==, 8);
	g_assert_cmpint(sum.softirq_ns, ==, 10);
	g_assert_cmpint(sum.guest_ns, ==, 11);
	g_assert_cmpint(sum.vm_preempted_ns, ==, 22);
	g_assert_cmpint(sum.vm_exit_ns, ==, 33);
	g_assert_cmpint(sum.idle_ns, ==, 74);
	g_assert_cmpint(sum.unknown_ns, ==, 109);
	g_assert_cmpuint(sum.wrong_count, ==, 1);
}

/* A shell waits for its child, which ends: path, blockings and the table say so with one word. */
static void test_child(gconstpointer call)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 10, 0, 0, "swapper/0", 0, 10, "sh");
	story_enter(&s, 20, 0, call, -1);
	story_switch(&s, 30, 0, 10, "sh", 1, 20, "child");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 50, 0, 10, "sh", 0);
	story_switch(&s, 60, 0, 20, "child", 0x20, 10, "sh");
	story_leave(&s, 70, 0, call, 20);
	story_end(&s);
	g_autoptr(GArray) rows = profile(&s, 0, 70);
	g_assert_cmpint(find(&s, rows, 10)->value[DTC_PROFILE_CHILD], ==, 20);
	g_assert_cmpint(find(&s, rows, 10)->value[DTC_PROFILE_FORK_EXEC], ==, 0);
	g_assert_cmpstr(dtc_profile_column_to_string(DTC_PROFILE_CHILD), ==, "child");
	g_assert_cmpstr(dtc_cause_to_string(dtc_cause_of_interval(s.history, story_interval(&s, 10, 50))), ==, "child");
	story_clear(&s);
}

/* A page that comes from the disk: also of the part of the wait that is in the span. */
static void test_part_of_fault(void)
{
	struct story s;
	story_begin(&s, "node");
	story_switch(&s, 10, 0, 0, "swapper/0", 0, 10, "worker");
	story_enter(&s, 12, 0, "getpid", -1);
	story_leave(&s, 14, 0, "getpid", 10);
	struct dtc_event fault = story_event(DTC_EVENT_FAULT_USER, 18, 0);
	dtc_machine_apply(s.machine, &fault);
	story_block(&s, DTC_EVENT_BLOCK_ISSUE, 19, 0, 8, 8);
	story_switch(&s, 20, 0, 10, "worker", 2, 0, "swapper/0");
	story_context(&s, DTC_EVENT_IRQ_ENTRY, 88, 0, 9, "nvme0");
	story_block(&s, DTC_EVENT_BLOCK_COMPLETE, 89, 0, 8, 8);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 90, 0, 10, "worker", 0);
	story_context(&s, DTC_EVENT_IRQ_EXIT, 91, 0, 9, NULL);
	story_switch(&s, 95, 0, 0, "swapper/0", 0, 10, "worker");
	story_switch(&s, 100, 0, 10, "worker", 1, 0, "swapper/0");
	story_end(&s);
	for (int64_t from_ns = 20; from_ns <= 60; from_ns += 40) {
		g_autoptr(GArray) rows = profile(&s, from_ns, 100);
		g_assert_cmpint(find(&s, rows, 10)->value[DTC_PROFILE_PAGE_FAULT], ==, 90 - from_ns);
	}
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/profile/sum-of-cpus", test_sum_of_cpus);
	g_test_add_func("/profile/columns", test_columns);
	g_test_add_func("/profile/span", test_span);
	g_test_add_func("/profile/cpu", test_cpu);
	g_test_add_func("/profile/gap", test_gap);
	g_test_add_func("/profile/processes", test_processes);
	g_test_add_func("/profile/names", test_names);
	g_test_add_data_func("/profile/wait4", "wait4", test_child);
	g_test_add_data_func("/profile/waitid", "waitid", test_child);
	g_test_add_data_func("/profile/waitpid", "waitpid", test_child);
	g_test_add_func("/profile/part-of-fault", test_part_of_fault);
	return g_test_run();
}
