/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which events are recorded, of a kernel that was made up. */
#include "collect/record/events.h"

#include "dtrace-chain/error.h"

#include <string.h>

static const char kernel[] = "sched:sched_switch\nsched:sched_waking\nirq:irq_handler_entry\nsyscalls:sys_enter_read\n"
			     "syscalls:sys_exit_read\nsyscalls:sys_enter_getpid\nexceptions:page_fault_user\n"
			     "net:net_dev_queue\ntimer:hrtimer_expire_entry\nblock:block_rq_issue\n"
			     "workqueue:workqueue_queue_work\ntask:task_newtask\nodd line without a colon\n";

static char *choose(const char *available, enum dtc_event_set set, const char *list, char **ret_lacks)
{
	struct dtc_event_choice choice = { 0 };
	g_autoptr(GError) error = NULL;

	g_assert_true(dtc_events_choose(available, set, list, &choice, &error));
	g_assert_no_error(error);
	g_ptr_array_add(choice.events, NULL);
	g_ptr_array_add(choice.lacks, NULL);
	char *events = g_strjoinv(" ", (char **)choice.events->pdata);
	if (ret_lacks)
		*ret_lacks = g_strjoinv("\n", (char **)choice.lacks->pdata);
	dtc_event_choice_clear(&choice);
	return events;
}

static bool has(const char *events, const char *name)
{
	g_auto(GStrv) words = g_strsplit(events, " ", -1);
	return g_strv_contains((const char *const *)words, name);
}

static void test_sets(void)
{
	g_autofree char *lacks = NULL;
	g_autofree char *minimal = choose(kernel, DTC_EVENTS_MINIMAL, NULL, &lacks);
	g_autofree char *normal = choose(kernel, DTC_EVENTS_DEFAULT, NULL, NULL);
	g_autofree char *full = choose(kernel, DTC_EVENTS_FULL, NULL, NULL);

	g_assert_cmpstr(lacks, ==, "");
	g_assert_true(has(minimal, "sched:sched_waking"));
	g_assert_true(has(minimal, "syscalls:sys_enter_read"));
	g_assert_false(has(minimal, "syscalls:sys_enter_getpid"));
	g_assert_true(has(normal, "syscalls:sys_enter_getpid"));
	g_assert_false(has(normal, "exceptions:page_fault_user"));
	g_assert_true(has(full, "exceptions:page_fault_user"));
	g_assert_true(g_str_has_prefix(minimal, "block:block_rq_issue irq:irq_handler_entry net:"));
}

/* To a list, too, which would not have them; and none, where KVM is not loaded. */
static void test_guests(void)
{
	static const char available[] = "sched:sched_switch\nkvm:kvm_entry\nkvm:kvm_exit\nkvm:kvm_mmio\n";
	struct dtc_event_choice choice = { 0 };

	g_assert_true(dtc_events_choose(available, DTC_EVENTS_MINIMAL, "sched:*", &choice, NULL));
	g_assert_cmpuint(dtc_event_choice_add_guests(&choice, available), ==, 2);
	g_assert_cmpuint(choice.events->len, ==, 3);
	g_assert_cmpstr(g_ptr_array_index(choice.events, 0), ==, "kvm:kvm_entry");
	g_assert_cmpstr(g_ptr_array_index(choice.events, 2), ==, "sched:sched_switch");
	g_assert_cmpuint(dtc_event_choice_add_guests(&choice, kernel), ==, 0);
	g_assert_cmpuint(choice.events->len, ==, 3);
	dtc_event_choice_clear(&choice);
}

static void test_lacks(void)
{
	g_autofree char *lacks = NULL;
	g_autofree char *events = choose("sched:sched_switch\n", DTC_EVENTS_DEFAULT, NULL, &lacks);

	g_assert_cmpstr(events, ==, "sched:sched_switch");
	g_assert_nonnull(strstr(lacks, "events-syscalls=this kernel has none"));
	g_assert_nonnull(strstr(lacks, "events-net="));
	g_assert_null(strstr(lacks, "events-sched="));
	g_assert_null(strstr(lacks, "events-kvm"));
}

static void test_lists(void)
{
	g_autofree char *own = choose(kernel, DTC_EVENTS_DEFAULT, "sched:*,net:net_dev_queue", NULL);
	g_autofree char *changed = choose(kernel, DTC_EVENTS_MINIMAL, "+exceptions:*,-sched:sched_wak*", NULL);

	g_assert_cmpstr(own, ==, "net:net_dev_queue sched:sched_switch sched:sched_waking");
	g_assert_true(has(changed, "exceptions:page_fault_user"));
	g_assert_true(has(changed, "sched:sched_switch"));
	g_assert_false(has(changed, "sched:sched_waking"));
}

static void test_refused(void)
{
	static const char *const lists[] = { "sched:nothing", "+sched:*,net:*", "", "+" };
	enum dtc_event_set set = DTC_EVENTS_FULL;
	g_autoptr(GError) set_error = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(lists); i++) {
		struct dtc_event_choice choice = { 0 };
		g_autoptr(GError) error = NULL;
		g_assert_false(dtc_events_choose(kernel, DTC_EVENTS_DEFAULT, lists[i], &choice, &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
		g_assert_null(choice.events);
	}
	g_assert_false(dtc_event_set_parse("minimum", &set, &set_error));
	g_assert_nonnull(strstr(set_error->message, "did you mean 'minimal'"));
	g_assert_cmpint(set, ==, DTC_EVENTS_FULL);
	g_assert_true(dtc_event_set_parse("minimal", &set, NULL));
	g_assert_cmpint(set, ==, DTC_EVENTS_MINIMAL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/events/sets", test_sets);
	g_test_add_func("/record/events/guests", test_guests);
	g_test_add_func("/record/events/lacks", test_lacks);
	g_test_add_func("/record/events/lists", test_lists);
	g_test_add_func("/record/events/refused", test_refused);
	return g_test_run();
}
