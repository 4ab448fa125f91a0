/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/events.h"

#include "collect/bundle/suggest.h"
#include "dtrace-chain/error.h"

#include <fnmatch.h>
#include <string.h>

struct event_group {
	const char *name;
	enum dtc_event_set from; /* the smallest set that has it */
	const char *patterns[12];
	const char *lost; /* without any of them; NULL: little */
};

#define KVM_EVENTS "kvm:kvm_entry", "kvm:kvm_exit", "kvm:kvm_inj_virq", "kvm:kvm_apic_accept_irq"

/* docs/collecting.md has the same list with the reasons. */
static const struct event_group groups[] = {
	{ "sched",
	  DTC_EVENTS_MINIMAL,
	  { "sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup", "sched:sched_wakeup_new",
	    "sched:sched_migrate_task", "sched:sched_process_fork", "sched:sched_process_exec",
	    "sched:sched_process_exit", "sched:sched_process_free" },
	  "which thread ran and who woke it: there are no answers without" },
	{ "task",
	  DTC_EVENTS_MINIMAL,
	  { "task:task_newtask", "task:task_rename" },
	  "whether what was created is a thread or a process, and new names of threads" },
	{ "irq", DTC_EVENTS_MINIMAL, { "irq:irq_handler_*", "irq:softirq_*" }, "interrupts: who else held a CPU" },
	{ "timer",
	  DTC_EVENTS_MINIMAL,
	  { "timer:hrtimer_expire_*", "timer:timer_expire_*" },
	  "timers: which sleeps and timeouts ended by time" },
	{ "net",
	  DTC_EVENTS_MINIMAL,
	  { "net:net_dev_queue", "net:net_dev_start_xmit", "net:netif_receive_skb" },
	  "packets: what crossed the wire when, and the clocks of nodes" },
	{ "tcp", DTC_EVENTS_MINIMAL, { "tcp:tcp_retransmit_*" }, NULL },
	{ "block",
	  DTC_EVENTS_MINIMAL,
	  { "block:block_rq_insert", "block:block_rq_issue", "block:block_rq_complete" },
	  "disks: which requests were waited for" },
	{ "workqueue",
	  DTC_EVENTS_MINIMAL,
	  { "workqueue:workqueue_queue_work", "workqueue:workqueue_activate_work", "workqueue:workqueue_execute_*" },
	  "work items: for whom kernel workers worked" },
	{ "signal", DTC_EVENTS_MINIMAL, { "signal:signal_*" }, NULL },
	/* calls that wait, move bytes, or say what a descriptor is; the rest only names what a thread did meanwhile */
	{ "syscalls",
	  DTC_EVENTS_MINIMAL,
	  { "syscalls:sys_*read*", "syscalls:sys_*write*", "syscalls:sys_*send*", "syscalls:sys_*recv*",
	    "syscalls:sys_*poll*", "syscalls:sys_*select*", "syscalls:sys_*futex*", "syscalls:sys_*sleep*",
	    "syscalls:sys_*wait*", "syscalls:sys_*sync*", "syscalls:sys_*_exit", "syscalls:sys_*_exit_group" },
	  "system calls: what a wait was for (the kernel needs CONFIG_FTRACE_SYSCALLS)" },
	{ "syscalls",
	  DTC_EVENTS_MINIMAL,
	  { "syscalls:sys_*open*", "syscalls:sys_*_close*", "syscalls:sys_*socket*", "syscalls:sys_*accept*",
	    "syscalls:sys_*connect", "syscalls:sys_*_dup*", "syscalls:sys_*_pipe*", "syscalls:sys_*eventfd*",
	    "syscalls:sys_*clone*", "syscalls:sys_*fork", "syscalls:sys_*exec*" },
	  NULL },
	{ "syscalls",
	  DTC_EVENTS_MINIMAL,
	  { "syscalls:sys_*epoll*", "syscalls:sys_*bind", "syscalls:sys_*listen", "syscalls:sys_*shutdown",
	    "syscalls:sys_*splice", "syscalls:sys_*fcntl", "syscalls:sys_*flock", "syscalls:sys_*io_*",
	    "syscalls:sys_*timerfd*", "syscalls:sys_*pause", "syscalls:sys_*sigsuspend", "syscalls:sys_*copy_file*" },
	  NULL },
	{ "syscalls", DTC_EVENTS_DEFAULT, { "syscalls:*" }, NULL },
	{ "irq_vectors",
	  DTC_EVENTS_DEFAULT,
	  { "irq_vectors:local_timer_*", "irq_vectors:reschedule_*", "irq_vectors:call_function_*",
	    "irq_vectors:irq_work_*" },
	  NULL }, /* x86 alone has them */
	{ "ipi", DTC_EVENTS_DEFAULT, { "ipi:ipi_*" }, NULL },
	{ "net-transmitted",
	  DTC_EVENTS_DEFAULT,
	  { "net:net_dev_xmit", "napi:napi_poll", "sock:inet_sock_set_state", "skb:kfree_skb" },
	  NULL },
	{ "block-more",
	  DTC_EVENTS_DEFAULT,
	  { "block:block_rq_requeue", "block:block_rq_error", "block:block_rq_merge", "block:block_getrq",
	    "block:block_bio_*merge" },
	  NULL },
	{ "kvm", DTC_EVENTS_DEFAULT, { KVM_EVENTS }, NULL },
	{ "page-faults", DTC_EVENTS_FULL, { "exceptions:page_fault_*" }, NULL },
	{ "kvm-all", DTC_EVENTS_FULL, { "kvm:*" }, NULL },
	{ "timers-set", DTC_EVENTS_FULL, { "timer:*timer_start", "timer:*timer_cancel" }, NULL },
	{ "power", DTC_EVENTS_FULL, { "power:cpu_idle", "power:cpu_frequency" }, NULL },
	{ "memory",
	  DTC_EVENTS_FULL,
	  { "kmem:rss_stat", "kmem:mm_page_alloc", "kmem:mm_page_free", "vmscan:mm_vmscan_direct_reclaim_*",
	    "vmscan:mm_vmscan_kswapd_*", "compaction:mm_compaction_begin", "compaction:mm_compaction_end", "oom:*",
	    "csd:*" },
	  NULL },
};

static const char *const set_names[] = { "minimal", "default", "full", NULL };

bool dtc_event_set_parse(const char *word, enum dtc_event_set *ret_set, GError **error)
{
	for (guint i = 0; set_names[i]; i++)
		if (strcmp(set_names[i], word) == 0) {
			*ret_set = (enum dtc_event_set)i;
			return true;
		}
	const char *nearest = dtc_suggest(word, set_names);
	g_set_error(
		error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
		"unknown set of events '%s'\n%s%s%sthe sets are minimal, default and full; --events takes a list of "
		"your own",
		word, nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "");
	return false;
}

const char *dtc_event_set_to_string(enum dtc_event_set set)
{
	return set_names[set];
}

/* The names in the kernel's list, whose lines are cut in place. */
static GPtrArray *split_available(char *text)
{
	GPtrArray *names = g_ptr_array_new();

	for (char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = 0;
		if (strchr(line, ':'))
			g_ptr_array_add(names, line);
	}
	return names;
}

/* Adds to the chosen what matches the pattern, or takes it out; how many matched. */
static guint apply_pattern(GHashTable *chosen, const GPtrArray *available, const char *pattern, bool is_added)
{
	guint count = 0;

	for (guint i = 0; i < available->len; i++) {
		char *name = g_ptr_array_index(available, i);
		if (fnmatch(pattern, name, 0) != 0)
			continue;
		count++;
		if (is_added)
			g_hash_table_add(chosen, name);
		else
			g_hash_table_remove(chosen, name);
	}
	return count;
}

static void choose_set(GHashTable *chosen, const GPtrArray *available, enum dtc_event_set set, GPtrArray *lacks)
{
	for (gsize i = 0; i < G_N_ELEMENTS(groups); i++) {
		const struct event_group *group = &groups[i];
		guint count = 0;
		if (group->from > set)
			continue;
		for (gsize k = 0; k < G_N_ELEMENTS(group->patterns) && group->patterns[k]; k++)
			count += apply_pattern(chosen, available, group->patterns[k], true);
		if (count == 0 && group->lost)
			g_ptr_array_add(lacks, g_strdup_printf("events-%s=this kernel has none of %s: %s", group->name,
							       group->patterns[0], group->lost));
	}
}

static bool refuse_pattern(const char *pattern, GError **error)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
		    "this kernel has no event '%s'\na pattern is SYSTEM:EVENT, for example sched:* or "
		    "net:net_dev_queue; available_events of tracefs lists them",
		    pattern);
	return false;
}

static bool apply_list(GHashTable *chosen, const GPtrArray *available, char *const *patterns, GError **error)
{
	for (; *patterns; patterns++) {
		const char *pattern = *patterns;
		bool is_added = *pattern != '-';
		if (*pattern == '+' || *pattern == '-')
			pattern++;
		if (apply_pattern(chosen, available, pattern, is_added) == 0)
			return refuse_pattern(pattern, error);
	}
	return true;
}

/* Whether a list changes the set instead of standing for it. */
static bool check_signs(char *const *patterns, bool *ret_signed, GError **error)
{
	guint signs = 0, count = 0;

	for (; patterns[count]; count++)
		signs += *patterns[count] == '+' || *patterns[count] == '-';
	if (count == 0 || (signs > 0 && signs < count)) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    count ? "--events has patterns with a sign and without\n'+sched:*,-syscalls:*' changes the "
				    "set, 'sched:*,net:*' stands for it"
				  : "--events names no events\nfor example --events +exceptions:*");
		return false;
	}
	*ret_signed = signs > 0;
	return true;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static GPtrArray *sort_chosen(GHashTable *chosen)
{
	GPtrArray *events = g_ptr_array_new_with_free_func(g_free);
	GHashTableIter iter;
	void *name;

	g_hash_table_iter_init(&iter, chosen);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		g_ptr_array_add(events, g_strdup(name));
	g_ptr_array_sort(events, compare_names);
	return events;
}

bool dtc_events_choose(const char *available, enum dtc_event_set set, const char *list,
		       struct dtc_event_choice *ret_choice, GError **error)
{
	g_autofree char *text = g_strdup(available);
	g_autoptr(GPtrArray) names = split_available(text);
	g_autoptr(GHashTable) chosen = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GPtrArray) lacks = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) patterns = list ? g_strsplit(list, ",", -1) : NULL;
	bool changes_set = true;

	if (patterns && !check_signs(patterns, &changes_set, error))
		return false;
	if (changes_set)
		choose_set(chosen, names, set, lacks);
	if (patterns && !apply_list(chosen, names, patterns, error))
		return false;
	ret_choice->events = sort_chosen(chosen);
	ret_choice->lacks = g_steal_pointer(&lacks);
	return true;
}

guint dtc_event_choice_add_guests(struct dtc_event_choice *choice, const char *available)
{
	static const char *const patterns[] = { KVM_EVENTS };
	g_autofree char *text = g_strdup(available);
	g_autoptr(GPtrArray) names = split_available(text);
	g_autoptr(GHashTable) chosen = g_hash_table_new(g_str_hash, g_str_equal);
	guint count = 0;

	for (guint i = 0; i < choice->events->len; i++)
		g_hash_table_add(chosen, g_ptr_array_index(choice->events, i));
	for (gsize i = 0; i < G_N_ELEMENTS(patterns); i++)
		count += apply_pattern(chosen, names, patterns[i], true);
	GPtrArray *events = sort_chosen(chosen);
	g_ptr_array_unref(choice->events);
	choice->events = events;
	return count;
}

void dtc_event_choice_clear(struct dtc_event_choice *choice)
{
	g_clear_pointer(&choice->events, g_ptr_array_unref);
	g_clear_pointer(&choice->lacks, g_ptr_array_unref);
}
