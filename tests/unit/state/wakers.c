/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wakers in traces without sched_waking, whose wakeups are logged on the target's CPU; signals; locks. */
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define WAIT_PRIVATE 128 /* FUTEX_WAIT | FUTEX_PRIVATE_FLAG */
#define WAKE_PRIVATE 129

/* Thread 10 waits on CPU 1, in a call, since 20; threads 11 and 12 run on CPUs 0 and 2, and their calls are known. */
static void begin_remote(struct story *s)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 11, "other");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, 10, "waiter");
	story_switch(s, 0, 2, 0, "swapper/2", RUN, 12, "third");
	story_fork(s, 1, 0, 11, 9, 90, 9, "none"); /* 11 is of process 9 */
	story_fork(s, 1, 1, 10, 9, 91, 9, "none"); /* and so is 10 */
	for (uint32_t cpu = 0; cpu < 3; cpu += 2) {
		story_enter(s, 2, cpu, "getpid", -1);
		story_leave(s, 3, cpu, "getpid", 9);
	}
}

static void take_ipi(struct story *s, int64_t t, uint32_t cpu, int tid, const char *comm)
{
	story_context(s, DTC_EVENT_VECTOR_ENTRY, t - 1, cpu, DTC_VECTOR_CALL_FUNCTION_SINGLE, NULL);
	story_task(s, DTC_EVENT_SCHED_WAKEUP, t, cpu, tid, comm, (int)cpu);
	story_context(s, DTC_EVENT_VECTOR_EXIT, t + 1, cpu, DTC_VECTOR_CALL_FUNCTION_SINGLE, NULL);
}

static const struct dtc_wake *find_wake(const struct story *s, int tid, int64_t t)
{
	const struct dtc_interval *wait = story_interval(s, tid, t);
	g_assert_true(dtc_state_is_wait(wait->state));
	g_assert_cmpint(wait->end_ns, ==, t);
	static struct dtc_wake places[4]; /* so many may be looked at together */
	static guint next;
	return dtc_history_get_wake(s->history, wait->ref, &places[next++ % G_N_ELEMENTS(places)]);
}

static int get_waker(const struct story *s, const struct dtc_wake *wake)
{
	return wake->thread == DTC_NONE ? -1 : dtc_history_get_thread(s->history, wake->thread)->tid;
}

#define LATER 6000000 /* what happened before is long past */

/* The sender woke the futex that the target waited for; another thread in the kernel does not matter. */
static void test_futex(void)
{
	struct story s;
	begin_remote(&s);
	story_futex(&s, 10, 1, WAIT_PRIVATE, 0x1000);
	story_switch(&s, 20, 1, 10, "waiter", SLEEP, 13, "interrupted");
	story_fork(&s, 21, 2, 12, 9, 92, 9, "none");
	story_futex(&s, LATER - 30, 2, WAIT_PRIVATE, 0x1000); /* on its way to wait there, too */
	story_futex(&s, LATER, 0, WAKE_PRIVATE, 0x1000);
	take_ipi(&s, LATER + 10, 1, 10, "waiter");
	story_leave(&s, LATER + 15, 0, "futex", 1);
	story_switch(&s, LATER + 20, 1, 13, "interrupted", RUN, 10, "waiter");
	story_end(&s);
	const struct dtc_wake *wake = find_wake(&s, 10, LATER + 10);
	g_assert_cmpint(wake->waker, ==, DTC_WAKER_THREAD);
	g_assert_cmpint(get_waker(&s, wake), ==, 11);
	g_assert_cmpuint(wake->cpu, ==, 0);
	g_assert_true(wake->is_inferred);
	story_clear(&s);
}

/* The sender has returned to user mode before the target's CPU took the interrupt; one that woke nobody is not it. */
static void test_futex_that_returned(void)
{
	struct story s;
	begin_remote(&s);
	story_fork(&s, 4, 2, 12, 9, 92, 9, "none");
	story_futex(&s, 10, 1, WAIT_PRIVATE, 0x1000);
	story_switch(&s, 20, 1, 10, "waiter", SLEEP, 0, "swapper/1");
	story_futex(&s, LATER, 0, WAKE_PRIVATE, 0x1000);
	story_leave(&s, LATER + 5, 0, "futex", 1);
	story_futex(&s, LATER + 6, 2, WAKE_PRIVATE, 0x1000);
	story_leave(&s, LATER + 7, 2, "futex", 0);
	take_ipi(&s, LATER + 10, 1, 10, "waiter");
	story_switch(&s, LATER + 20, 1, 0, "swapper/1", RUN, 10, "waiter");
	story_end(&s);
	g_assert_cmpint(get_waker(&s, find_wake(&s, 10, LATER + 10)), ==, 11);
	story_clear(&s);
}

/* Two that fit: the waker is another CPU. The thread that was interrupted is never blamed. */
static void test_nothing_is_guessed(void)
{
	struct story s;
	begin_remote(&s);
	story_futex(&s, 10, 1, WAIT_PRIVATE, 0x1000);
	story_switch(&s, 20, 1, 10, "waiter", SLEEP, 13, "interrupted");
	story_enter(&s, 30, 1, "write", 5);
	story_enter(&s, LATER, 0, "write", 6);
	story_enter(&s, LATER + 1, 2, "write", 7);
	take_ipi(&s, LATER + 10, 1, 10, "waiter");
	story_switch(&s, LATER + 20, 1, 13, "interrupted", RUN, 10, "waiter");
	story_end(&s);
	const struct dtc_wake *wake = find_wake(&s, 10, LATER + 10);
	g_assert_cmpint(wake->waker, ==, DTC_WAKER_IPI);
	g_assert_false(wake->is_inferred);
	story_clear(&s);
}

/* The trace tells who wakes: this time that was lost, with all that happened on that CPU. */
static void test_lost(void)
{
	struct story s;
	begin_remote(&s);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 5, 0, 13, "another", 1);
	story_enter(&s, 10, 1, "poll", -1);
	story_switch(&s, 20, 1, 10, "waiter", SLEEP, 0, "swapper/1");
	story_enter(&s, 30, 0, "write", 6);
	take_ipi(&s, LATER + 10, 1, 10, "waiter");
	story_lost(&s, 31, LATER + 15, 2);
	story_switch(&s, LATER + 20, 1, 0, "swapper/1", RUN, 10, "waiter");
	story_end(&s);
	g_assert_cmpint(find_wake(&s, 10, LATER + 10)->waker, ==, DTC_WAKER_IPI);
	story_clear(&s);
}

/* Nothing is known of what the target waited for, but only one CPU was in the kernel. */
static void test_only_one_in_the_kernel(gconstpointer data)
{
	bool is_placed = GPOINTER_TO_INT(data);
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 11, "other");
	story_switch(&s, 0, 1, 0, "swapper/1", RUN, 10, "waiter");
	story_switch(&s, 0, 2, 0, "swapper/2", RUN, 12, "third");
	if (is_placed) { /* else it may be in a call since before the trace */
		story_enter(&s, 2, 2, "getpid", -1);
		story_leave(&s, 3, 2, "getpid", 9);
	}
	story_switch(&s, 20, 1, 10, "waiter", SLEEP, 0, "swapper/1");
	story_enter(&s, LATER, 0, "ioctl", 6);
	/* the target's CPU polls while idle: no interrupt at all */
	story_task(&s, DTC_EVENT_SCHED_WAKEUP, LATER + 10, 1, 10, "waiter", 1);
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, LATER + 11, 1, 9, NULL); /* this comes too late */
	story_switch(&s, LATER + 20, 1, 0, "swapper/1", RUN, 10, "waiter");
	story_switch(&s, LATER + 30, 1, 10, "waiter", SLEEP, 0, "swapper/1");
	story_task(&s, DTC_EVENT_SCHED_WAKEUP, 2 * LATER + 20, 1, 10, "waiter", 1);
	story_switch(&s, 2 * LATER + 25, 1, 0, "swapper/1", RUN, 10, "waiter");
	story_end(&s);
	/* without any interrupt event so far an idle CPU may have been in one */
	g_assert_cmpint(find_wake(&s, 10, LATER + 10)->waker, ==, DTC_WAKER_UNKNOWN);
	const struct dtc_wake *wake = find_wake(&s, 10, 2 * LATER + 20);
	g_assert_cmpint(wake->waker, ==, is_placed ? DTC_WAKER_THREAD : DTC_WAKER_IPI);
	g_assert_true(wake->is_inferred == is_placed);
	if (is_placed)
		g_assert_cmpint(get_waker(&s, wake), ==, 11);
	story_clear(&s);
}

/* A traced IPI names its sender; two before the target looks do not. */
static void test_traced_ipi(void)
{
	struct story s;
	begin_remote(&s);
	story_switch(&s, 20, 1, 10, "waiter", SLEEP, 0, "swapper/1");
	struct dtc_event raise = story_event(DTC_EVENT_IPI_SEND, LATER, 0);
	raise.v[DTC_IPI_MASK] = 1 << 1;
	story_enter(&s, LATER - 5, 0, "write", 6);
	story_enter(&s, LATER - 5, 2, "write", 6);
	dtc_machine_apply(s.machine, &raise);
	take_ipi(&s, LATER + 10, 1, 10, "waiter");
	story_switch(&s, LATER + 20, 1, 0, "swapper/1", RUN, 10, "waiter");
	story_switch(&s, LATER + 30, 1, 10, "waiter", SLEEP, 0, "swapper/1");
	for (uint32_t cpu = 0; cpu < 3; cpu += 2) {
		raise = story_event(DTC_EVENT_IPI_SEND, LATER + 40, cpu);
		raise.v[DTC_IPI_CPU] = 1;
		dtc_machine_apply(s.machine, &raise);
	}
	take_ipi(&s, LATER + 50, 1, 10, "waiter");
	story_switch(&s, LATER + 60, 1, 0, "swapper/1", RUN, 10, "waiter");
	story_end(&s);
	const struct dtc_wake *wake = find_wake(&s, 10, LATER + 10);
	g_assert_cmpint(get_waker(&s, wake), ==, 11);
	g_assert_cmpuint(wake->cpu, ==, 0);
	g_assert_false(wake->is_inferred);
	g_assert_cmpint(find_wake(&s, 10, LATER + 50)->waker, ==, DTC_WAKER_IPI);
	story_clear(&s);
}

/* A packet that another CPU's softirq received, a pipe that is written, a sleeper's timer. */
static void test_what_ends_the_wait(void)
{
	struct story s;
	begin_remote(&s);
	struct dtc_headers sent = story_headers(1, 1000, 2, 80, 100, 0, DTC_TCP_ACK, 5, 1);
	struct dtc_headers received = story_headers(2, 80, 1, 1000, 500, 105, DTC_TCP_ACK, 9, 1);
	struct dtc_headers other = story_headers(3, 80, 1, 1001, 500, 105, DTC_TCP_ACK, 9, 1);
	story_enter(&s, 5, 1, "write", 5);
	story_packet(&s, DTC_EVENT_NET_SEND, 6, 1, &sent);
	story_leave(&s, 7, 1, "write", 5);
	story_enter(&s, 10, 1, "read", 5);
	story_switch(&s, 20, 1, 10, "waiter", SLEEP, 0, "swapper/1");
	for (uint32_t cpu = 0; cpu < 3; cpu += 2) {
		story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, LATER, cpu, 3, NULL);
		story_packet(&s, DTC_EVENT_NET_RECEIVE, LATER + 1, cpu, cpu ? &received : &other);
	}
	take_ipi(&s, LATER + 10, 1, 10, "waiter");
	for (uint32_t cpu = 0; cpu < 3; cpu += 2)
		story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, LATER + 12, cpu, 3, NULL);
	story_switch(&s, LATER + 20, 1, 0, "swapper/1", RUN, 10, "waiter");
	story_leave(&s, LATER + 21, 1, "read", 9);

	struct dtc_event pipe = story_event(DTC_EVENT_SYSCALL_EXIT, LATER + 24, 1);
	story_enter(&s, LATER + 22, 1, "pipe2", -1);
	pipe.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s.machine, "pipe2");
	pipe.v[DTC_CALL_RET] = 0;
	pipe.v[DTC_CALL_FD] = 7;
	pipe.v[DTC_CALL_FD2] = 8;
	dtc_machine_apply(s.machine, &pipe);
	story_enter(&s, LATER + 25, 1, "poll", -1);
	story_switch(&s, LATER + 30, 1, 10, "waiter", SLEEP, 0, "swapper/1");
	story_enter(&s, LATER + 40, 0, "write", 8);
	story_enter(&s, LATER + 40, 2, "write", 9);
	take_ipi(&s, LATER + 50, 1, 10, "waiter");
	story_leave(&s, LATER + 51, 0, "write", 1);
	story_switch(&s, LATER + 60, 1, 0, "swapper/1", RUN, 10, "waiter");
	story_leave(&s, LATER + 61, 1, "poll", 1);

	/* once a sleep ended on this CPU: from then on it is known which timers end sleeps */
	story_enter(&s, LATER + 62, 1, "nanosleep", -1);
	for (int round = 0; round < 2; round++) {
		int64_t t = LATER + 70 + 100 * round;
		story_switch(&s, t, 1, 10, "waiter", SLEEP, 0, "swapper/1");
		story_context(&s, DTC_EVENT_VECTOR_ENTRY, t + 10, round ? 0 : 1, DTC_VECTOR_LOCAL_TIMER, NULL);
		story_context(&s, DTC_EVENT_HRTIMER_ENTRY, t + 11, round ? 0 : 1, 0xf00, NULL);
		if (!round)
			story_task(&s, DTC_EVENT_SCHED_WAKEUP, t + 12, 1, 10, "waiter", 1);
		story_context(&s, DTC_EVENT_HRTIMER_EXIT, t + 13, round ? 0 : 1, 0, NULL);
		story_context(&s, DTC_EVENT_VECTOR_EXIT, t + 14, round ? 0 : 1, DTC_VECTOR_LOCAL_TIMER, NULL);
		if (round)
			take_ipi(&s, t + 20, 1, 10, "waiter");
		story_switch(&s, t + 30, 1, 0, "swapper/1", RUN, 10, "waiter");
	}
	story_end(&s);
	const struct dtc_wake *wake = find_wake(&s, 10, LATER + 10);
	g_assert_cmpint(wake->waker, ==, DTC_WAKER_PACKET);
	g_assert_cmpuint(dtc_packets_get(dtc_history_get_packets(s.history), wake->ref).seq, ==, 500);
	g_assert_cmpuint(wake->cpu, ==, 2);
	wake = find_wake(&s, 10, LATER + 50);
	g_assert_cmpint(get_waker(&s, wake), ==, 11);
	g_assert_cmpint(find_wake(&s, 10, LATER + 82)->waker, ==, DTC_WAKER_TIMER);
	g_assert_false(find_wake(&s, 10, LATER + 82)->is_inferred);
	g_assert_cmpint(find_wake(&s, 10, LATER + 190)->waker, ==, DTC_WAKER_TIMER);
	g_assert_true(find_wake(&s, 10, LATER + 190)->is_inferred);
	story_clear(&s);
}

/* No interrupt is traced at all: what a thread in user mode seems to wake was woken in one. */
static void test_interrupted_user(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 11, "computes");
	story_switch(&s, 5, 1, 0, "swapper/1", RUN, 10, "waiter");
	story_switch(&s, 20, 1, 10, "waiter", SLEEP, 13, "closes");
	story_enter(&s, 30, 0, "getpid", -1);
	story_leave(&s, 31, 0, "getpid", 11);
	story_task(&s, DTC_EVENT_SCHED_WAKEUP, LATER, 0, 10, "waiter", 1);
	story_switch(&s, LATER + 10, 1, 13, "closes", RUN, 10, "waiter");
	story_switch(&s, LATER + 20, 1, 10, "waiter", SLEEP, 13, "closes");
	/* right after the call's exit the kernel still works for it */
	story_enter(&s, LATER + 30, 1, "close", 3);
	story_leave(&s, LATER + 31, 1, "close", 0);
	story_task(&s, DTC_EVENT_SCHED_WAKEUP, LATER + 32, 1, 10, "waiter", 1);
	story_switch(&s, LATER + 40, 1, 13, "closes", RUN, 10, "waiter");
	story_end(&s);
	g_assert_cmpint(find_wake(&s, 10, LATER)->waker, ==, DTC_WAKER_UNKNOWN);
	const struct dtc_wake *wake = find_wake(&s, 10, LATER + 32);
	g_assert_cmpint(wake->waker, ==, DTC_WAKER_THREAD);
	g_assert_cmpint(get_waker(&s, wake), ==, 13);
	story_clear(&s);
}

/* A signal is told right after the waking that it causes, and belongs to no later one. */
static void test_signal(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "sleeper");
	story_enter(&s, 5, 0, "nanosleep", -1);
	story_switch(&s, 10, 0, 10, "sleeper", SLEEP, 11, "killer");
	struct dtc_event signal = story_event(DTC_EVENT_SIGNAL_GENERATE, 22, 0);
	signal.v[DTC_SIGNAL_NUMBER] = 15;
	signal.v[DTC_SIGNAL_TID] = 10;
	story_enter(&s, 18, 0, "kill", -1);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 20, 0, 10, "sleeper", 0);
	story_task(&s, DTC_EVENT_SCHED_WAKEUP, 21, 0, 10, "sleeper", 0);
	dtc_machine_apply(s.machine, &signal);
	story_leave(&s, 25, 0, "kill", 0);
	story_switch(&s, 30, 0, 11, "killer", RUN, 10, "sleeper");
	story_leave(&s, 31, 0, "nanosleep", -4);
	story_enter(&s, 32, 0, "futex", -1);
	story_switch(&s, 35, 0, 10, "sleeper", SLEEP, 11, "killer");
	story_enter(&s, 40, 0, "futex", -1);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 41, 0, 10, "sleeper", 0);
	story_leave(&s, 42, 0, "futex", 1);
	signal.time_ns = 43;
	dtc_machine_apply(s.machine, &signal);
	story_switch(&s, 50, 0, 11, "killer", RUN, 10, "sleeper");
	story_end(&s);
	g_assert_cmpuint(find_wake(&s, 10, 20)->signal, ==, 15);
	g_assert_cmpuint(find_wake(&s, 10, 41)->signal, ==, 0);
	story_clear(&s);
}

/* fcntl is a lock only where it waits for one; futex_waitv tells no address. */
static void test_locks(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	static const struct {
		const char *name;
		int64_t operation;
		enum dtc_call_kind kind;
	} calls[] = {
		{ "fcntl", 7, DTC_CALL_LOCK },	{ "fcntl", 6, DTC_CALL_OTHER }, { "fcntl64", 14, DTC_CALL_LOCK },
		{ "fcntl", 38, DTC_CALL_LOCK }, { "flock", 2, DTC_CALL_LOCK },	{ "futex_waitv", 1, DTC_CALL_FUTEX },
	};
	for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
		struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, 10 + 2 * (int)i, 0);
		e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s.machine, calls[i].name);
		e.v[DTC_CALL_FD] = calls[i].kind == DTC_CALL_FUTEX ? DTC_ABSENT : 3;
		e.v[DTC_CALL_OP] = calls[i].operation;
		dtc_machine_apply(s.machine, &e);
		story_leave(&s, 11 + 2 * (int)i, 0, calls[i].name, 0);
	}
	story_end(&s);
	uint32_t thread = dtc_history_find_thread(s.history, 10, 5);
	for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
		uint32_t call = dtc_history_find_call(s.history, thread, 10 + 2 * (int)i);
		g_assert_cmpint(dtc_history_copy_call(s.history, call).kind, ==, calls[i].kind);
		if (calls[i].kind == DTC_CALL_FUTEX)
			g_assert_cmpuint(dtc_history_copy_call(s.history, call).argument, ==, 0);
	}
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/wakers/futex", test_futex);
	g_test_add_func("/wakers/futex-that-returned", test_futex_that_returned);
	g_test_add_func("/wakers/nothing-is-guessed", test_nothing_is_guessed);
	g_test_add_func("/wakers/lost", test_lost);
	g_test_add_data_func("/wakers/only-one-in-the-kernel", GINT_TO_POINTER(1), test_only_one_in_the_kernel);
	g_test_add_data_func("/wakers/one-unplaced", GINT_TO_POINTER(0), test_only_one_in_the_kernel);
	g_test_add_func("/wakers/traced-ipi", test_traced_ipi);
	g_test_add_func("/wakers/what-ends-the-wait", test_what_ends_the_wait);
	g_test_add_func("/wakers/interrupted-user", test_interrupted_user);
	g_test_add_func("/wakers/signal", test_signal);
	g_test_add_func("/wakers/locks", test_locks);
	return g_test_run();
}
