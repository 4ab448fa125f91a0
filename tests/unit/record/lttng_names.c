/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sets of events are lists of tracefs names; what of them LTTng has is recorded, by LTTng's names. */
#include "collect/record/lttng_names.h"
#include "collect/record/events.h"

#include <glib.h>

static GPtrArray *list_of(const char *const *names)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

	for (; *names; names++)
		g_ptr_array_add(list, g_strdup(*names));
	return list;
}

static char *join(const GPtrArray *names)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < names->len; i++)
		g_string_append_printf(text, "%s%s", i ? " " : "", (char *)g_ptr_array_index(names, i));
	return g_string_free(text, FALSE);
}

static void test_names(void)
{
	static const char *const pairs[][2] = {
		{ "sched_switch", "sched:sched_switch" },
		{ "irq_softirq_entry", "irq:softirq_entry" },
		{ "irq_handler_exit", "irq:irq_handler_exit" },
		{ "timer_hrtimer_expire_entry", "timer:hrtimer_expire_entry" },
		{ "timer_expire_exit", "timer:timer_expire_exit" },
		{ "net_if_receive_skb", "net:netif_receive_skb" },
		{ "net_dev_queue", "net:net_dev_queue" },
		{ "x86_irq_vectors_reschedule_entry", "irq_vectors:reschedule_entry" },
		{ "x86_exceptions_page_fault_user", "exceptions:page_fault_user" },
		{ "block_rq_issue", "block:block_rq_issue" },
		{ "workqueue_queue_work", "workqueue:workqueue_queue_work" },
		{ "skb_kfree", "skb:kfree_skb" },
		{ "kvm_x86_entry", "kvm:kvm_entry" },
		{ "power_cpu_idle", "power:cpu_idle" },
		{ "mm_vmscan_kswapd_wake", "vmscan:mm_vmscan_kswapd_wake" },
		{ "lttng_logger", "lttng:lttng_logger" },
		{ "word", "word:word" },
		{ "", ":" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++) {
		g_autofree char *name = dtc_lttng_name_to_tracefs(pairs[i][0]);
		g_assert_cmpstr(name, ==, pairs[i][1]);
	}
}

/* A set of ours, chosen from what LTTng has. */
static void test_set(void)
{
	static const char *const tracepoints[] = { "irq_softirq_entry", "sched_switch",	  "net_if_receive_skb",
						   "asoc_snd_soc_path", "power_cpu_idle", NULL };
	static const char *const calls[] = { "read", "getpid", "futex", NULL };
	g_autoptr(GPtrArray) has_tracepoints = list_of(tracepoints);
	g_autoptr(GPtrArray) has_calls = list_of(calls);
	g_autofree char *available = dtc_lttng_names_list(has_tracepoints, has_calls);
	struct dtc_event_choice choice = { 0 };
	g_autoptr(GError) error = NULL;

	g_assert_cmpstr(available, ==,
			"irq:softirq_entry\nsched:sched_switch\nnet:netif_receive_skb\nasoc:asoc_snd_soc_path\n"
			"power:cpu_idle\nsyscalls:sys_enter_read\nsyscalls:sys_exit_read\nsyscalls:sys_enter_getpid\n"
			"syscalls:sys_exit_getpid\nsyscalls:sys_enter_futex\nsyscalls:sys_exit_futex\n");
	g_assert_true(dtc_events_choose(available, DTC_EVENTS_MINIMAL, NULL, &choice, &error));
	g_assert_no_error(error);

	g_autoptr(GPtrArray) names = NULL;
	g_autoptr(GPtrArray) wanted_calls = NULL;
	dtc_lttng_names_split(has_tracepoints, choice.events, &names, &wanted_calls);
	g_autofree char *name_list = join(names);
	g_autofree char *call_list = join(wanted_calls);
	g_assert_cmpstr(name_list, ==, "irq_softirq_entry net_if_receive_skb sched_switch");
	g_assert_cmpstr(call_list, ==, "futex read");
	dtc_event_choice_clear(&choice);
}

/* An entry alone is enough to have the call traced, and a name that LTTng has not gives none. */
static void test_split(void)
{
	static const char *const tracepoints[] = { "sched_switch", NULL };
	static const char *const chosen[] = { "syscalls:sys_enter_read", "syscalls:sys_exit_write", "sched:other",
					      NULL };
	g_autoptr(GPtrArray) has = list_of(tracepoints);
	g_autoptr(GPtrArray) wanted = list_of(chosen);
	g_autoptr(GPtrArray) names = NULL;
	g_autoptr(GPtrArray) calls = NULL;

	dtc_lttng_names_split(has, wanted, &names, &calls);
	g_assert_cmpuint(names->len, ==, 0);
	g_autofree char *call_list = join(calls);
	g_assert_cmpstr(call_list, ==, "read write");
}

static void test_lacks(void)
{
	g_assert_true(dtc_lttng_has_otherwise("events-task=this kernel has none of task:task_newtask"));
	g_assert_false(dtc_lttng_has_otherwise("events-block=this kernel has none of block:block_rq_insert"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/lttng/names", test_names);
	g_test_add_func("/record/lttng/set", test_set);
	g_test_add_func("/record/lttng/split", test_split);
	g_test_add_func("/record/lttng/lacks", test_lacks);
	return g_test_run();
}
