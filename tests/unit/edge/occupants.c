/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who had the CPU while a thread waited for it: threads, what the kernel did on top of an idle thread, nobody. */
#include "analyze/edge/occupants.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define NET_RX 3

static void assert_occupant(const GArray *occupants, guint index, uint32_t thread, enum dtc_state state, uint32_t ref,
			    int64_t ns)
{
	g_assert_cmpuint(index, <, occupants->len);
	const struct dtc_occupant *o = &g_array_index(occupants, struct dtc_occupant, index);
	g_assert_cmpuint(o->thread, ==, thread);
	g_assert_cmpint(o->ns, ==, ns);
	if (thread == DTC_NONE) {
		g_assert_cmpint(o->state, ==, state);
		g_assert_cmpuint(o->ref, ==, ref);
	}
}

/* A thread is woken in a softirq of an idle CPU, and that goes on: it is the softirq for which the thread waits. */
static void test_softirq(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "waiter");
	story_switch(&s, 10, 0, 10, "waiter", SLEEP, 0, "swapper/0");
	story_context(&s, DTC_EVENT_SOFTIRQ_ENTRY, 50, 0, NET_RX, NULL);
	story_task(&s, DTC_EVENT_SCHED_WAKING, 60, 0, 10, "waiter", 0);
	story_context(&s, DTC_EVENT_SOFTIRQ_EXIT, 90, 0, NET_RX, NULL);
	story_switch(&s, 100, 0, 0, "swapper/0", RUN, 10, "waiter");
	story_switch(&s, 120, 0, 10, "waiter", SLEEP, 0, "swapper/0");
	const DtcHistory *h = story_end(&s);
	g_autoptr(GArray) occupants = dtc_occupants_find(h, story_interval(&s, 10, 80));
	g_assert_cmpuint(occupants->len, ==, 2);
	assert_occupant(occupants, 0, DTC_NONE, DTC_STATE_SOFTIRQ, NET_RX, 30);
	assert_occupant(occupants, 1, DTC_NONE, DTC_STATE_IDLE, DTC_NONE, 10);
	story_clear(&s);
}

/* Two threads have the CPU one after the other, the second longer. */
static void test_threads(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "waiter");
	story_switch(&s, 10, 0, 10, "waiter", RUN, 11, "first");
	story_switch(&s, 30, 0, 11, "first", RUN, 12, "second");
	story_switch(&s, 90, 0, 12, "second", RUN, 10, "waiter");
	story_switch(&s, 99, 0, 10, "waiter", SLEEP, 0, "swapper/0");
	const DtcHistory *h = story_end(&s);
	g_autoptr(GArray) occupants = dtc_occupants_find(h, story_interval(&s, 10, 50));
	g_assert_cmpuint(occupants->len, ==, 2);
	assert_occupant(occupants, 0, dtc_history_find_thread(h, 12, 50), 0, 0, 60);
	assert_occupant(occupants, 1, dtc_history_find_thread(h, 11, 50), 0, 0, 20);
	story_clear(&s);
}

/* A new thread waits on no CPU that is known; it ran first on CPU 1, where another one ran until then. */
static void test_new_thread(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "parent");
	story_switch(&s, 0, 1, 0, "swapper/1", RUN, 11, "hog");
	story_fork(&s, 20, 0, 10, 10, 12, 12, "child");
	story_switch(&s, 80, 1, 11, "hog", RUN, 12, "child");
	story_switch(&s, 99, 1, 12, "child", SLEEP, 0, "swapper/1");
	const DtcHistory *h = story_end(&s);
	const struct dtc_interval *first = story_interval(&s, 12, 50);
	g_assert_cmpint(first->state, ==, DTC_STATE_RUNQUEUE);
	g_autoptr(GArray) occupants = dtc_occupants_find(h, first);
	g_assert_cmpuint(occupants->len, ==, 1);
	assert_occupant(occupants, 0, dtc_history_find_thread(h, 11, 50), 0, 0, 60);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/occupants/softirq", test_softirq);
	g_test_add_func("/occupants/threads", test_threads);
	g_test_add_func("/occupants/new-thread", test_new_thread);
	return g_test_run();
}
