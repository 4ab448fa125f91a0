/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A server's wait from 10 to 36 is broken off by a shell that stops it, at 35, and lets it go on at 100: who did that
 * is no reason for what it had waited for.
 */
#include "tests/support/path_at.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define DISK 2
#define STOPPED 4
#define SERVER 10
#define SHELL 11
#define HOLDER 12
#define SIBLING 13
#define INIT 9
#define WAIT_PRIVATE 137
#define WAKE_PRIVATE 129
#define LOCK 0x1000

/* The shell sleeps until it stops somebody, and then until it lets it go on. */
static void begin(struct story *s)
{
	story_begin(s, "n");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, INIT, "init");
	story_fork(s, 0, 1, INIT, INIT, SERVER, SERVER, "server");
	story_fork(s, 0, 1, SERVER, SERVER, SIBLING, SERVER, "server");
	story_fork(s, 0, 1, INIT, INIT, HOLDER, HOLDER, "holder");
	story_fork(s, 0, 1, INIT, INIT, SHELL, SHELL, "shell");
	story_switch(s, 1, 1, INIT, "init", SLEEP, SHELL, "shell");
	story_switch(s, 1, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_switch(s, 1, 2, 0, "swapper/2", RUN, HOLDER, "holder");
	story_enter(s, 2, 2, "getpid", -1);
	story_leave(s, 3, 2, "getpid", HOLDER);
}

static void shell_sleeps(struct story *s, int64_t from)
{
	story_enter(s, from, 1, "nanosleep", -1);
	story_switch(s, from + 1, 1, SHELL, "shell", SLEEP, 0, "swapper/1");
}

static void shell_wakes(struct story *s, int64_t to)
{
	story_timer_wakes(s, to - 5, to - 4, 1, SHELL, "shell");
	story_switch(s, to - 1, 1, 0, "swapper/1", RUN, SHELL, "shell");
	story_leave(s, to, 1, "nanosleep", 0);
}

static void assert_at(const DtcPath *path, int64_t t, int tid, enum dtc_cause cause)
{
	g_assert_cmpint(path_at(path, t)->tid, ==, tid);
	g_assert_cmpstr(dtc_cause_to_string(path_at(path, t)->cause), ==, dtc_cause_to_string(cause));
}

/* Stopped in a call that was begun, which is taken up again, and that another thread or a timer ends, or nobody. */
static void tell_stop(struct story *s, const char *call, bool waits_again)
{
	shell_sleeps(s, 6);
	story_switch(s, 10, 0, SERVER, "server", SLEEP, 0, "swapper/0");
	shell_wakes(s, 30);
	story_enter(s, 33, 1, "kill", -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, 35, 1, SERVER, "server", 0);
	story_leave(s, 36, 1, "kill", 0);
	story_switch(s, 37, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_leave(s, 38, 0, call, -516);
	story_switch(s, 40, 0, SERVER, "server", STOPPED, 0, "swapper/0");
	shell_sleeps(s, 42);
	shell_wakes(s, 98);
	story_enter(s, 99, 1, "kill", -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, 100, 1, SERVER, "server", 0);
	story_leave(s, 101, 1, "kill", 0);
	story_switch(s, 103, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_enter(s, 104, 0, "restart_syscall", -1);
	if (waits_again)
		story_switch(s, 106, 0, SERVER, "server", SLEEP, 0, "swapper/0");
}

static void tell_end(struct story *s)
{
	story_switch(s, 122, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_leave(s, 124, 0, "restart_syscall", 0);
	story_switch(s, 150, 0, SERVER, "server", SLEEP, 0, "swapper/0");
	story_end(s);
}

static void test_sleep(void)
{
	struct story s;
	begin(&s);
	story_enter(&s, 5, 0, "nanosleep", -1);
	tell_stop(&s, "nanosleep", true);
	story_timer_wakes(&s, 118, 120, 0, SERVER, "server");
	tell_end(&s);
	g_autoptr(DtcPath) path = path_of(s.history, SERVER, 2, 140, DTC_NONE);
	assert_at(path, 20, SERVER, DTC_CAUSE_TIMER);
	assert_at(path, 60, SERVER, DTC_CAUSE_STOPPED);
	assert_at(path, 110, SERVER, DTC_CAUSE_TIMER);
	story_clear(&s);
}

/* Who ends the wait that comes after the stop is what the first part of it was for, too. */
static void test_lock(void)
{
	struct story s;
	begin(&s);
	story_futex(&s, 5, 0, WAIT_PRIVATE, LOCK);
	tell_stop(&s, "futex", true);
	story_futex(&s, 119, 2, WAKE_PRIVATE, LOCK);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 120, 2, SERVER, "server", 0);
	tell_end(&s);
	g_autoptr(DtcPath) path = path_of(s.history, SERVER, 2, 140, DTC_NONE);
	assert_at(path, 20, HOLDER, DTC_CAUSE_RUNNING_USER);
	assert_at(path, 60, SERVER, DTC_CAUSE_STOPPED);
	assert_at(path, 110, HOLDER, DTC_CAUSE_RUNNING_USER);
	story_clear(&s);
}

/* It was given the lock while it was stopped, and nothing tells by whom. */
static void test_nobody(void)
{
	struct story s;
	begin(&s);
	story_futex(&s, 5, 0, WAIT_PRIVATE, LOCK);
	tell_stop(&s, "futex", false);
	story_leave(&s, 124, 0, "restart_syscall", 0);
	story_switch(&s, 150, 0, SERVER, "server", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_autoptr(DtcPath) path = path_of(s.history, SERVER, 2, 140, DTC_NONE);
	assert_at(path, 20, SERVER, DTC_CAUSE_LOCK);
	assert_at(path, 60, SERVER, DTC_CAUSE_STOPPED);
	story_clear(&s);
}

/* A signal that its handler takes ends a wait as any other wakeup does. */
static void test_handled(void)
{
	struct story s;
	begin(&s);
	story_futex(&s, 5, 0, WAIT_PRIVATE, LOCK);
	shell_sleeps(&s, 6);
	story_switch(&s, 10, 0, SERVER, "server", SLEEP, 0, "swapper/0");
	shell_wakes(&s, 30);
	story_enter(&s, 33, 1, "kill", -1);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 35, 1, SERVER, "server", 0);
	story_leave(&s, 36, 1, "kill", 0);
	story_switch(&s, 37, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_leave(&s, 38, 0, "futex", -4);
	story_switch(&s, 150, 0, SERVER, "server", SLEEP, 0, "swapper/0");
	story_end(&s);
	g_autoptr(DtcPath) path = path_of(s.history, SERVER, 2, 140, DTC_NONE);
	assert_at(path, 20, SHELL, DTC_CAUSE_TIMER);
	story_clear(&s);
}

/* Frozen where it sleeps: another thread of its process is seen to be frozen, or nobody tells since when it is. */
static void test_in_place(void)
{
	for (int told = 0; told < 2; told++) {
		struct story s;
		begin(&s);
		story_enter(&s, 5, 0, "nanosleep", -1);
		shell_sleeps(&s, 6);
		story_switch(&s, 10, 0, SERVER, "server", SLEEP, SIBLING, "server");
		story_enter(&s, 12, 0, "accept4", 3);
		story_switch(&s, 14, 0, SIBLING, "server", SLEEP, 0, "swapper/0");
		shell_wakes(&s, 30);
		story_enter(&s, 33, 1, "write", 7);
		if (told) {
			story_task(&s, DTC_EVENT_SCHED_WAKING, 35, 1, SIBLING, "server", 0);
			story_switch(&s, 37, 0, 0, "swapper/0", RUN, SIBLING, "server");
			story_leave(&s, 38, 0, "accept4", -512);
			story_switch(&s, 40, 0, SIBLING, "server", DISK, 0, "swapper/0");
		}
		story_leave(&s, 41, 1, "write", 6);
		shell_sleeps(&s, 42);
		shell_wakes(&s, 98);
		story_enter(&s, 99, 1, "write", 7);
		story_task(&s, DTC_EVENT_SCHED_WAKING, 120, 1, SERVER, "server", 0);
		if (told)
			story_task(&s, DTC_EVENT_SCHED_WAKING, 121, 1, SIBLING, "server", 2);
		story_switch(&s, 122, 0, 0, "swapper/0", RUN, SERVER, "server");
		story_leave(&s, 123, 1, "write", 6);
		story_leave(&s, 124, 0, "nanosleep", 0);
		story_switch(&s, 150, 0, SERVER, "server", SLEEP, 0, "swapper/0");
		story_end(&s);
		g_autoptr(DtcPath) path = path_of(s.history, SERVER, 2, 140, DTC_NONE);
		assert_at(path, 20, SERVER, told ? DTC_CAUSE_TIMER : DTC_CAUSE_UNKNOWN);
		assert_at(path, 60, SERVER, told ? DTC_CAUSE_STOPPED : DTC_CAUSE_UNKNOWN);
		story_clear(&s);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/path/broken-off/sleep", test_sleep);
	g_test_add_func("/path/broken-off/lock", test_lock);
	g_test_add_func("/path/broken-off/nobody", test_nobody);
	g_test_add_func("/path/broken-off/handled", test_handled);
	g_test_add_func("/path/broken-off/in-place", test_in_place);
	return g_test_run();
}
