/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Source: instrumentation/events of lttng-modules 2.13 against include/trace/events of Linux 6.1. */
#include "collect/record/lttng_names.h"

#include <string.h>

#define CALLS "syscalls:sys_"

/* The first that fits; "irq_softirq_entry" is the system "irq" and then "softirq_entry". */
static const struct {
	const char *ours; /* how LTTng's name begins */
	const char *theirs;
} prefixes[] = {
	{ "x86_irq_vectors_", "irq_vectors:" },
	{ "x86_exceptions_", "exceptions:" },
	{ "irq_softirq_", "irq:softirq_" },
	{ "irq_handler_", "irq:irq_handler_" },
	{ "timer_hrtimer_", "timer:hrtimer_" },
	{ "timer_itimer_", "timer:itimer_" },
	{ "net_if_", "net:netif_" },
	{ "net_dev_", "net:net_dev_" },
	{ "kvm_x86_", "kvm:kvm_" },
	{ "skb_kfree", "skb:kfree_skb" },
	{ "skb_consume", "skb:consume_skb" },
	{ "power_", "power:" },
	{ "kmem_", "kmem:" },
	{ "mm_vmscan_", "vmscan:mm_vmscan_" },
};

char *dtc_lttng_name_to_tracefs(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(prefixes); i++)
		if (g_str_has_prefix(name, prefixes[i].ours))
			return g_strconcat(prefixes[i].theirs, name + strlen(prefixes[i].ours), NULL);
	/* most keep their name, which begins with their system's: sched_switch is sched:sched_switch */
	return g_strdup_printf("%.*s:%s", (int)strcspn(name, "_"), name, name);
}

char *dtc_lttng_names_list(const GPtrArray *tracepoints, const GPtrArray *calls)
{
	GString *list = g_string_new(NULL);

	for (guint i = 0; i < tracepoints->len; i++) {
		g_autofree char *name = dtc_lttng_name_to_tracefs(g_ptr_array_index(tracepoints, i));
		g_string_append_printf(list, "%s\n", name);
	}
	for (guint i = 0; i < calls->len; i++) {
		const char *call = g_ptr_array_index(calls, i);
		g_string_append_printf(list, CALLS "enter_%s\n" CALLS "exit_%s\n", call, call);
	}
	return g_string_free(list, FALSE);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static GPtrArray *sort_keys(GHashTable *table)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	GHashTableIter iter;
	void *name;

	g_hash_table_iter_init(&iter, table);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, compare_names);
	return names;
}

void dtc_lttng_names_split(const GPtrArray *tracepoints, const GPtrArray *chosen, GPtrArray **ret_tracepoints,
			   GPtrArray **ret_calls)
{
	g_autoptr(GHashTable) wanted = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) calls = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < chosen->len; i++) {
		char *name = g_ptr_array_index(chosen, i);
		if (g_str_has_prefix(name, CALLS "enter_"))
			g_hash_table_add(calls, name + strlen(CALLS "enter_"));
		else if (g_str_has_prefix(name, CALLS "exit_"))
			g_hash_table_add(calls, name + strlen(CALLS "exit_"));
		else
			g_hash_table_add(wanted, name);
	}
	for (guint i = 0; i < tracepoints->len; i++) {
		char *ours = g_ptr_array_index(tracepoints, i);
		g_autofree char *theirs = dtc_lttng_name_to_tracefs(ours);
		if (g_hash_table_contains(wanted, theirs))
			g_hash_table_add(names, ours);
	}
	*ret_tracepoints = sort_keys(names);
	*ret_calls = sort_keys(calls);
}

bool dtc_lttng_has_otherwise(const char *lack)
{
	/* a fork tells all four ids, and renames are in exec and prctl */
	return g_str_has_prefix(lack, "events-task=");
}
