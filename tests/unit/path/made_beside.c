/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A server makes a child for a request, reads what it had asked another one for, waits for a lock that somebody else
 * has, and only then for the child, which has slept all the time. Times in milliseconds.
 *
 *   server   10 reads  15 asks  20 makes child  22 reads  25 waits for the lock  45  46 waits for the child  60  65
 * answers child                          20 sleeps                                                                 60
 * exits
 */
#include "tests/support/datagrams.h"
#include "tests/support/served_path.h"

#define RUN 0
#define SLEEP 1
#define DEAD 0x10
#define SERVER 20
#define CLIENT 21
#define OTHER 22
#define HOLDER 23
#define CHILD 30
#define PORT 18300
#define PORT_CLIENT 40001
#define PORT_OUT 40002
#define PORT_OTHER 5300
#define LOCK 0x1000
#define X 0

static void tell(struct story *s)
{
	static const struct story_woken client = { CLIENT, "client", 1 };
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, CLIENT, "client");
	story_switch(s, 2, 2, 0, "swapper/2", RUN, OTHER, "other");
	story_switch(s, 3, 4, 0, "swapper/4", RUN, HOLDER, "server");
	story_sends(s, 10000, 1, 5, PORT_CLIENT, PORT, 40, NULL);
	story_enter(s, 10002 * US, 1, "recvfrom", 5);
	story_switch(s, 10003 * US, 1, CLIENT, "client", SLEEP, 0, "swapper/1");
	story_takes(s, 10010, 0, 4, 40);
	story_sends(s, 15000, 0, 7, PORT_OUT, PORT_OTHER, 44, NULL);
	story_takes(s, 15010, 2, 4, 44);
	story_enter(s, 20000 * US, 0, "clone", -1);
	story_fork(s, 20000 * US + 300, 0, SERVER, SERVER, CHILD, CHILD, "server");
	story_leave(s, 20001 * US, 0, "clone", CHILD);
	story_switch(s, 20002 * US, 3, 0, "swapper/3", RUN, CHILD, "child");
	story_enter(s, 20010 * US, 3, "clock_nanosleep", -1);
	story_switch(s, 20011 * US, 3, CHILD, "child", SLEEP, 0, "swapper/3");
	story_sends(s, 21000, 2, 4, PORT_OTHER, PORT_OUT, 48, NULL);
	story_takes(s, 22000, 0, 7, 48);
	story_futex(s, 25000 * US, 0, DTC_FUTEX_WAIT, LOCK);
	story_switch(s, 25001 * US, 0, SERVER, "server", SLEEP, 0, "swapper/0");
	story_futex(s, 45000 * US, 4, DTC_FUTEX_WAKE, LOCK);
	story_task(s, DTC_EVENT_SCHED_WAKING, 45000 * US + 100, 4, SERVER, "server", 0);
	story_leave(s, 45001 * US, 4, "futex", 1);
	story_switch(s, 45002 * US, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_leave(s, 45003 * US, 0, "futex", 0);
	story_enter(s, 46000 * US, 0, "wait4", -1);
	story_switch(s, 46001 * US, 0, SERVER, "server", SLEEP, 0, "swapper/0");
	story_timer_wakes(s, 59900 * US, 59900 * US + 100, 3, CHILD, "child");
	story_switch(s, 59901 * US, 3, 0, "swapper/3", RUN, CHILD, "child");
	story_leave(s, 59902 * US, 3, "clock_nanosleep", 0);
	story_enter(s, 60000 * US, 3, "exit_group", -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, 60000 * US + 500, 3, SERVER, "server", 0);
	story_switch(s, 60001 * US, 3, CHILD, "child", DEAD, 0, "swapper/3");
	story_switch(s, 60002 * US, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_leave(s, 60003 * US, 0, "wait4", CHILD);
	story_sends(s, 65000, 0, 4, PORT, PORT_CLIENT, 60, &client);
	story_switch(s, 65005 * US, 1, 0, "swapper/1", RUN, CLIENT, "client");
	story_leave(s, 65006 * US, 1, "recvfrom", 60);
	story_end(s);
}

/* What the child did is why, also for the time in which the server waited for the lock. */
static void test_child(void)
{
	struct story s;
	tell(&s);
	struct served_path w = served_path_begin(&s);
	served_path_add(&w, CLIENT, 10000 * US, X, false);
	w.owner = X + 1;
	g_autoptr(DtcPath) path = served_path_walk(&w, CLIENT, 10000 * US, 65006 * US);
	for (int64_t ms = 30; ms < 60; ms += 10) {
		const struct dtc_segment *segment = path_at(path, ms * 1000 * US);
		g_assert_cmpuint(segment->thread, ==, dtc_history_find_thread(w.history, CHILD, 30000 * US));
		g_assert_cmpint(segment->cause, ==, DTC_CAUSE_TIMER);
	}
	served_path_clear(&w);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/path/made-beside/child", test_child);
	return g_test_run();
}
