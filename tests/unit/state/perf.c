/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace as `perf data convert --to-ctf` writes it, from the bytes to the states: names with a subsystem, task ids
 * called pid, calls by number, no sched_waking; of two CPUs, with a wakeup through an IPI.
 */
#include "analyze/state/machine.h"
#include "tests/support/made_trace.h"

enum { SWITCH, WAKEUP, ENTER, EXIT, VECTOR_ENTRY, VECTOR_EXIT, IPI, FORK };

static const char perf_events[] = MADE_EVENT(
	0, "sched:sched_switch",
	MADE_SIGNED(32, "perf_tid") "    string _prev_comm;\n" MADE_SIGNED(32, "prev_pid")
		MADE_SIGNED(64, "prev_state") "    string _next_comm;\n" MADE_SIGNED(
			32, "next_pid")) MADE_EVENT(1, "sched:sched_wakeup",
						    MADE_SIGNED(32, "perf_tid") "    string _comm;\n" MADE_SIGNED(32,
														  "pid")
							    MADE_SIGNED(32, "prio") MADE_SIGNED(32, "target_cpu"))
	MADE_EVENT(2, "raw_syscalls:sys_enter", MADE_SIGNED(32, "perf_tid") MADE_SIGNED(64, "id")) MADE_EVENT(
		3, "raw_syscalls:sys_exit", MADE_SIGNED(32, "perf_tid") MADE_SIGNED(64, "id") MADE_SIGNED(64, "ret"))
		MADE_EVENT(4, "irq_vectors:call_function_single_entry",
			   MADE_SIGNED(32, "perf_tid")
				   MADE_SIGNED(32, "vector")) MADE_EVENT(5, "irq_vectors:call_function_single_exit",
									 MADE_SIGNED(32, "perf_tid")
										 MADE_SIGNED(32, "vector"))
			MADE_EVENT(6, "ipi:ipi_send_cpu",
				   MADE_SIGNED(32, "perf_tid") MADE_INT(32, "cpu") MADE_INT(64, "callsite"))
				MADE_EVENT(7, "sched:sched_process_fork",
					   MADE_SIGNED(32, "perf_tid") "    string _parent_comm;\n" MADE_SIGNED(
						   32,
						   "parent_pid") "    string _child_comm;\n" MADE_SIGNED(32,
													 "child_pid"));

static void add(struct made_bytes *to, guint id, guint64 t)
{
	made_begin_event(to, id, t);
	made_put(to, 0, 4); /* perf_tid: not the thread that the event is about */
}

static void add_switch(struct made_bytes *to, guint64 t, const char *prev, guint prev_pid, guint64 prev_state,
		       const char *next, guint next_pid)
{
	add(to, SWITCH, t);
	made_put_text(to, prev);
	made_put(to, prev_pid, 4);
	made_put(to, prev_state, 8);
	made_put_text(to, next);
	made_put(to, next_pid, 4);
}

static void add_call(struct made_bytes *to, guint64 t, guint number, guint64 length)
{
	add(to, ENTER, t);
	made_put(to, number, 8);
	add(to, EXIT, t + length);
	made_put(to, number, 8);
	made_put(to, 0, 8);
}

static void write_stream(const char *path, guint cpu, struct made_bytes *events)
{
	struct made_bytes stream = made_bytes_new(false);
	struct made_packet packet = { .begin = 0, .end = 1000, .cpu = cpu };
	g_autofree char *name = g_strdup_printf("stream%u", cpu);
	made_add_packet(&stream, &packet, events);
	made_write(path, name, stream.bytes->data, stream.bytes->len);
	made_bytes_clear(&stream);
	made_bytes_clear(events);
}

static DtcHistory *read_history(const char *path)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcReader) reader = dtc_reader_open("made", path, &error);
	g_assert_no_error(error);
	g_autoptr(DtcMachine) machine = dtc_machine_new("made", reader);
	const struct dtc_event *event;
	while ((event = dtc_reader_next(reader)))
		dtc_machine_apply(machine, event);
	g_assert_true(dtc_reader_finish(reader, findings, &error));
	DtcHistory *history = dtc_machine_finish(machine, findings);
	g_assert_true(dtc_history_check(history, &error));
	g_assert_no_error(error);
	return history;
}

/* A call by number, on a machine of that name. Caller owns. */
static char *name_call(const char *machine, guint number)
{
	g_autofree char *env = g_strdup_printf("tracer_name = \"perf\"; machine = \"%s\";", machine);
	const struct made_metadata metadata = { .events = perf_events, .env = env };
	g_autofree char *path = made_directory(&metadata);
	struct made_bytes events = made_bytes_new(false);
	add_switch(&events, 10, "swapper/0", 0, 0, "calls", 10);
	add_call(&events, 50, number, 10);
	write_stream(path, 0, &events);
	g_autoptr(DtcHistory) history = read_history(path);
	made_remove(path);
	g_assert_cmpuint(dtc_history_get_call_count(history), ==, 1);
	return g_strdup(dtc_history_get_string(history, dtc_history_copy_call(history, 0).name));
}

/* A number means another call on each machine, and nothing where the machine is not known. */
static void test_numbers(void)
{
	static const struct {
		const char *machine;
		guint number;
		const char *name;
	} calls[] = { { "x86_64", 0, "read" },		 { "x86_64", 232, "epoll_wait" },
		      { "aarch64", 63, "read" },	 { "aarch64", 0, "io_setup" },
		      { "aarch64", 260, "wait4" },	 { "riscv64", 63, "syscall_63" },
		      { "x86_64", 9999, "syscall_9999" } };
	for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
		g_autofree char *name = name_call(calls[i].machine, calls[i].number);
		g_assert_cmpstr(name, ==, calls[i].name);
	}
}

static const struct dtc_interval *find(const DtcHistory *history, int tid, int64_t t)
{
	uint32_t thread = dtc_history_find_thread(history, tid, DTC_TIME_NONE);
	g_assert_cmpuint(thread, !=, DTC_NONE);
	static struct dtc_interval place;
	const struct dtc_interval *interval =
		dtc_history_find_interval_before(history, thread, MADE_OFFSET_NS + t, &place);
	g_assert_nonnull(interval);
	return interval;
}

static void test_perf(void)
{
	struct made_metadata metadata = { .events = perf_events };
	g_autofree char *path = made_directory(&metadata);
	struct made_bytes first = made_bytes_new(false), second = made_bytes_new(false);
	/* CPU 0: 10 waits from 100, is woken inside an IPI at 300, and preempted at 500 */
	add_switch(&first, 10, "swapper/0", 0, 0, "waiter", 10);
	add(&first, ENTER, 50);
	made_put(&first, 435, 8);
	add_switch(&first, 100, "waiter", 10, 1, "busy", 12);
	add(&first, VECTOR_ENTRY, 299);
	made_put(&first, 251, 4);
	add(&first, WAKEUP, 300);
	made_put_text(&first, "waiter");
	made_put(&first, 10, 4);
	made_put(&first, 120, 4);
	made_put(&first, 0, 4);
	add(&first, VECTOR_EXIT, 301);
	made_put(&first, 251, 4);
	add_switch(&first, 400, "busy", 12, 0, "waiter", 10);
	add_switch(&first, 500, "waiter", 10, 0x100, "busy", 12);
	add_switch(&first, 600, "busy", 12, 0, "waiter", 10);
	write_stream(path, 0, &first);
	/* CPU 1: 11 sends the IPI, and forks */
	add_switch(&second, 20, "swapper/1", 0, 0, "waker", 11);
	add_call(&second, 60, 435, 10);
	add(&second, ENTER, 280);
	made_put(&second, 449, 8);
	add(&second, IPI, 290);
	made_put(&second, 0, 4);
	made_put(&second, 0, 8);
	add(&second, EXIT, 310);
	made_put(&second, 449, 8);
	made_put(&second, 1, 8);
	add(&second, FORK, 320);
	made_put_text(&second, "waker");
	made_put(&second, 11, 4);
	made_put_text(&second, "child");
	made_put(&second, 21, 4);
	write_stream(path, 1, &second);

	g_autoptr(DtcHistory) history = read_history(path);
	const struct dtc_interval *wait = find(history, 10, 200);
	g_assert_cmpint(wait->state, ==, DTC_STATE_WAIT);
	g_assert_cmpint(wait->begin_ns, ==, MADE_OFFSET_NS + 100);
	g_assert_cmpint(wait->end_ns, ==, MADE_OFFSET_NS + 300);
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(history, wait->call, &call_place);
	g_assert_cmpstr(dtc_history_get_string(history, call->name), ==, "clone3");
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = dtc_history_get_wake(history, wait->ref, &wake_place);
	g_assert_cmpint(wake->waker, ==, DTC_WAKER_THREAD);
	g_assert_cmpint(dtc_history_get_thread(history, wake->thread)->tid, ==, 11);
	g_assert_false(wake->is_inferred);
	g_assert_cmpint(find(history, 10, 350)->state, ==, DTC_STATE_RUNQUEUE);
	g_assert_cmpint(find(history, 10, 550)->state, ==, DTC_STATE_PREEMPTED);
	/* what was interrupted did not wake, but was interrupted */
	g_assert_cmpint(find(history, 12, 301)->state, ==, DTC_STATE_IRQ);
	g_assert_cmpstr(dtc_history_get_string(history, find(history, 12, 301)->ref), ==, "call_function_single");
	uint32_t child = dtc_history_find_thread(history, 21, DTC_TIME_NONE);
	g_assert_cmpuint(child, !=, DTC_NONE);
	uint32_t parent = dtc_history_get_thread(history, child)->parent;
	g_assert_cmpint(dtc_history_get_thread(history, parent)->tid, ==, 11);
	g_assert_cmpstr(dtc_history_get_comm(history, child, MADE_OFFSET_NS + 320), ==, "child");
	made_remove(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/perf/states", test_perf);
	g_test_add_func("/perf/numbers", test_numbers);
	return g_test_run();
}
