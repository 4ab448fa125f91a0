/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A lock that is waited for in timed sleeps is one wait, and its holder explains all of it; what only looks like that
 * is not. The holder runs and wakes the waiter at 310, which waits from 20 to 100, from 120 to 200 and from 220 on.
 */
#include "analyze/edge/in_vain.h"
#include "tests/support/path_at.h"
#include "tests/support/story.h"

#include <errno.h>

#define RUN 0
#define SLEEP 1
#define WAITER 10
#define HOLDER 11
#define WAIT_PRIVATE 137
#define WAIT_BY_DAY 393 /* pthread_cond_wait's, which has no timeout, too */
#define WAKE_PRIVATE 129
#define LOCK 0x1000
#define END 400

/* What the waiter does between its second and its third wait. */
enum between {
	NOTHING,
	WAKES_NOBODY,
	WAKES_SOMEBODY,
	GIVES_MUTEX, /* to another thread that waits for the same lock */
	LOOKS_AGAIN, /* it has changed when it wants to sleep */
	OTHER_CALL,
	WORKS,
	HANDLER,
	WRITES,
	SLEPT /* by another clock than that of the third, which has no timeout */
};
#define OTHER 12
#define MUTEX_PRIVATE 128
#define ERESTARTSYS 512

struct variant {
	enum between between;
	int64_t second_result; /* of the second wait */
	int64_t second_lock;
	int64_t in_vain_ns; /* of the third */
};

static const struct variant variants[] = {
	{ NOTHING, -ETIMEDOUT, LOCK, 200 },
	{ WAKES_NOBODY, -ETIMEDOUT, LOCK, 200 },
	{ WAKES_SOMEBODY, -ETIMEDOUT, LOCK, 0 },
	{ GIVES_MUTEX, -ETIMEDOUT, LOCK, 200 },
	{ LOOKS_AGAIN, -ETIMEDOUT, LOCK, 200 },
	{ OTHER_CALL, -ETIMEDOUT, LOCK, 0 },
	{ WORKS, -ETIMEDOUT, LOCK, 0 },
	{ NOTHING, 0, LOCK, 0 },		/* somebody gave it the lock, and another one was faster */
	{ NOTHING, -ETIMEDOUT, LOCK + 4, 200 }, /* a condition's other group of waiters */
	{ NOTHING, -ETIMEDOUT, LOCK + 8, 0 },
	{ HANDLER, -ERESTARTSYS, LOCK, 200 }, /* a signal came, and its handler said so */
	{ HANDLER, -EINTR, LOCK, 200 },
	{ HANDLER, -ETIMEDOUT, LOCK, 0 },
	{ WRITES, -ERESTARTSYS, LOCK, 0 },
	{ SLEPT, -ETIMEDOUT, LOCK, 0 }, /* it slept, and then waits for its lock (Ruby) */
	{ SLEPT, -EINTR, LOCK, 100 },
};

static void tell_wait(struct story *s, int64_t from, int64_t to, int64_t lock, int64_t result)
{
	story_futex(s, from - 1, 0, WAIT_PRIVATE, lock);
	story_switch(s, from, 0, WAITER, "waiter", SLEEP, 0, "swapper/0");
	story_context(s, DTC_EVENT_HRTIMER_ENTRY, to, 0, 1, NULL);
	story_task(s, DTC_EVENT_SCHED_WAKING, to, 0, WAITER, "waiter", 0);
	story_context(s, DTC_EVENT_HRTIMER_EXIT, to, 0, 1, NULL);
	story_switch(s, to + 1, 0, 0, "swapper/0", RUN, WAITER, "waiter");
	story_leave(s, to + 2, 0, "futex", result);
}

static void tell_between(struct story *s, enum between between)
{
	if (between == WAKES_NOBODY || between == WAKES_SOMEBODY || between == SLEPT) {
		story_futex(s, 204, 0, WAKE_PRIVATE, LOCK + 8);
		story_leave(s, 205, 0, "futex", between == WAKES_SOMEBODY);
	} else if (between == GIVES_MUTEX) {
		story_futex(s, 204, 0, WAKE_PRIVATE, LOCK + 8);
		story_task(s, DTC_EVENT_SCHED_WAKING, 204, 0, OTHER, "other", 2);
		story_leave(s, 205, 0, "futex", 1);
	} else if (between == LOOKS_AGAIN) {
		story_futex(s, 204, 0, WAIT_PRIVATE, LOCK);
		story_leave(s, 205, 0, "futex", -EAGAIN);
	} else if (between == HANDLER || between == WRITES) {
		story_enter(s, 203, 0, "write", 5);
		story_leave(s, 204, 0, "write", between == HANDLER ? 1 : 100);
		story_enter(s, 205, 0, "rt_sigreturn", -1);
		story_leave(s, 206, 0, "rt_sigreturn", -ERESTARTSYS);
	} else if (between == OTHER_CALL) {
		story_enter(s, 204, 0, "getpid", -1);
		story_leave(s, 205, 0, "getpid", WAITER);
	}
}

/* Until when the waiter's third wait begins: it works for longer than it had waited, or right on. */
static const DtcHistory *tell(struct story *s, const struct variant *variant)
{
	int64_t third = variant->between == WORKS ? 300 : 220;
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, WAITER, "waiter");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, HOLDER, "holder");
	story_switch(s, 2, 2, 0, "swapper/2", RUN, OTHER, "other");
	story_futex(s, 3, 2, MUTEX_PRIVATE, LOCK + 8);
	story_switch(s, 4, 2, OTHER, "other", SLEEP, 0, "swapper/2");
	tell_wait(s, 20, 100, LOCK, -ETIMEDOUT);
	tell_wait(s, 120, 200, variant->second_lock, variant->second_result);
	tell_between(s, variant->between);
	story_futex(s, third - 1, 0, variant->between == SLEPT ? WAIT_BY_DAY : WAIT_PRIVATE, LOCK);
	story_switch(s, third, 0, WAITER, "waiter", SLEEP, 0, "swapper/0");
	story_futex(s, 305, 1, WAKE_PRIVATE, LOCK);
	story_task(s, DTC_EVENT_SCHED_WAKING, 310, 1, WAITER, "waiter", 0);
	story_leave(s, 312, 1, "futex", 1);
	story_switch(s, 315, 0, 0, "swapper/0", RUN, WAITER, "waiter");
	story_leave(s, 316, 0, "futex", 0);
	story_switch(s, END, 0, WAITER, "waiter", SLEEP, 0, "swapper/0");
	return story_end(s);
}

static void test_row(gconstpointer data)
{
	const struct variant *variant = data;
	struct story s;
	const DtcHistory *h = tell(&s, variant);
	const struct dtc_interval *last = story_interval(&s, WAITER, 309);

	g_assert_cmpint(last->end_ns, ==, 310);
	g_assert_cmpint(dtc_in_vain_get_ns(h, last, NULL), ==, variant->in_vain_ns);
	g_assert_cmpint(dtc_in_vain_get_ns(h, story_interval(&s, WAITER, 50), NULL), ==, 0);
	story_clear(&s);
}

static int64_t sum(const DtcPath *path, int tid, enum dtc_cause cause)
{
	int64_t ns = 0;
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(path, i);
		if (segment->tid == tid && segment->cause == cause)
			ns += segment->end.ns - segment->begin.ns;
	}
	return ns;
}

/* All that the row lasted is what the holder did; what the waiter ran between is no part of the answer. */
static void test_holder(void)
{
	struct story s;
	const DtcHistory *h = tell(&s, &variants[0]);
	g_autoptr(DtcPath) path = path_of(h, WAITER, 0, END, DTC_NONE);

	g_assert_cmpint(sum(path, WAITER, DTC_CAUSE_TIMER), ==, 0);
	g_assert_cmpint(sum(path, HOLDER, DTC_CAUSE_RUNNING_USER) + sum(path, HOLDER, DTC_CAUSE_RUNNING_KERNEL), ==,
			290);
	/* one node of the tree, as long as the row */
	g_assert_cmpint(dtc_path_get_blocking(path, 0)->cause, ==, DTC_CAUSE_LOCK);
	g_assert_cmpint(dtc_path_get_blocking(path, 0)->begin.ns, ==, 20);
	g_assert_cmpint(dtc_path_get_blocking(path, 0)->end.ns, ==, 310);
	story_clear(&s);
}

/* A signal cuts the wait at 120, and the handler signals the thread itself, which takes that from its signalfd. */
static const DtcHistory *tell_signal(struct story *s, bool reads_socket)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, WAITER, "waiter");
	story_switch(s, 0, 1, 0, "swapper/1", RUN, HOLDER, "holder");
	story_enter(s, 1, 0, "signalfd4", -1);
	story_leave(s, 2, 0, "signalfd4", 9);
	story_enter(s, 3, 0, "accept", 5);
	story_leave(s, 4, 0, "accept", 8);
	story_poll(s, 19, 0, "epoll_wait", 4, -1);
	story_switch(s, 20, 0, WAITER, "waiter", SLEEP, 0, "swapper/0");
	story_context(s, DTC_EVENT_HRTIMER_ENTRY, 120, 0, 1, NULL);
	story_task(s, DTC_EVENT_SCHED_WAKING, 120, 0, WAITER, "waiter", 0);
	story_context(s, DTC_EVENT_HRTIMER_EXIT, 120, 0, 1, NULL);
	story_switch(s, 121, 0, 0, "swapper/0", RUN, WAITER, "waiter");
	story_leave(s, 122, 0, "epoll_wait", -EINTR);
	story_enter(s, 123, 0, "kill", -1);
	story_leave(s, 124, 0, "kill", 0);
	story_poll(s, 125, 0, "epoll_wait", 4, -1);
	story_leave(s, 126, 0, "epoll_wait", 1);
	story_enter(s, 127, 0, "read", reads_socket ? 8 : 9);
	story_leave(s, 128, 0, "read", 128);
	story_poll(s, 129, 0, "epoll_wait", 4, -1);
	story_switch(s, 130, 0, WAITER, "waiter", SLEEP, 0, "swapper/0");
	story_task(s, DTC_EVENT_SCHED_WAKING, 310, 1, WAITER, "waiter", 0);
	story_switch(s, 311, 0, 0, "swapper/0", RUN, WAITER, "waiter");
	story_leave(s, 312, 0, "epoll_wait", 1);
	story_switch(s, END, 0, WAITER, "waiter", SLEEP, 0, "swapper/0");
	return story_end(s);
}

static void test_signal(gconstpointer data)
{
	bool reads_socket = GPOINTER_TO_INT(data);
	struct story s;
	const DtcHistory *h = tell_signal(&s, reads_socket);
	g_assert_cmpint(dtc_in_vain_get_ns(h, story_interval(&s, WAITER, 200), NULL), ==, reads_socket ? 0 : 110);
	g_assert_cmpint(dtc_in_vain_get_ns(h, story_interval(&s, WAITER, 100), NULL), ==, 0);
	story_clear(&s);
}

/*
 * The waiter sleeps three times in one call, of which a timer ends two, and its holder the last: one wait, but for a
 * thread that gave it something in between, and for a disk.
 */
static void test_slept_on(void)
{
	enum { TICKS, GIVEN, HELD_BACK, VARIANTS };

	for (guint variant = 0; variant < VARIANTS; variant++) {
		struct story s;
		story_begin(&s, "n");
		story_switch(&s, 0, 0, 0, "swapper/0", RUN, WAITER, "waiter");
		story_switch(&s, 0, 1, 0, "swapper/1", RUN, HOLDER, "holder");
		story_enter(&s, 10, 0, "openat", -1);
		for (int64_t t = 20; t <= 220; t += 100) {
			story_switch(&s, t, 0, WAITER, "waiter", variant == HELD_BACK ? 2 : SLEEP, 0, "swapper/0");
			bool is_timer = t < (variant == GIVEN ? 120 : 220);
			if (is_timer)
				story_context(&s, DTC_EVENT_TIMER_ENTRY, t + 90, 0, 1, NULL);
			story_task(&s, DTC_EVENT_SCHED_WAKING, t + 90, is_timer ? 0 : 1, WAITER, "waiter", 0);
			if (is_timer)
				story_context(&s, DTC_EVENT_TIMER_EXIT, t + 90, 0, 1, NULL);
			story_switch(&s, t + 95, 0, 0, "swapper/0", RUN, WAITER, "waiter");
		}
		story_leave(&s, 320, 0, "openat", 5);
		story_switch(&s, END, 0, WAITER, "waiter", SLEEP, 0, "swapper/0");
		const DtcHistory *h = story_end(&s);
		g_assert_cmpint(dtc_in_vain_get_ns(h, story_interval(&s, WAITER, 300), NULL), ==,
				variant == TICKS ? 200 : 0);
		story_clear(&s);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(variants); i++) {
		g_autofree char *path = g_strdup_printf("/in-vain/row/%u", i);
		g_test_add_data_func(path, &variants[i], test_row);
	}
	g_test_add_func("/in-vain/holder", test_holder);
	g_test_add_func("/in-vain/slept-on", test_slept_on);
	g_test_add_data_func("/in-vain/signal/taken", GINT_TO_POINTER(false), test_signal);
	g_test_add_data_func("/in-vain/signal/socket", GINT_TO_POINTER(true), test_signal);
	return g_test_run();
}
