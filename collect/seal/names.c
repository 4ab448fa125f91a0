/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tables. Sources: the probes of lttng-modules 2.13 (include/instrumentation/events), the metadata that it writes
 * for Linux 6.1, and the format files of Linux 6.1 and 6.18.
 */
#include "collect/seal/names.h"

#include <string.h>

/* Events whose name changes; name NULL: all of the system, which get the text in front. */
static const struct {
	const char *system;
	const char *name;
	const char *lttng;
} events[] = {
	{ "irq", "softirq_entry", "irq_softirq_entry" },
	{ "irq", "softirq_exit", "irq_softirq_exit" },
	{ "irq", "softirq_raise", "irq_softirq_raise" },
	{ "irq", "tasklet_entry", "irq_softirq_tasklet_entry" },
	{ "irq", "tasklet_exit", "irq_softirq_tasklet_exit" },
	{ "irq_vectors", NULL, "x86_irq_vectors_" },
	{ "exceptions", NULL, "x86_exceptions_" },
	{ "timer", "hrtimer_init", "timer_hrtimer_init" },
	{ "timer", "hrtimer_setup", "timer_hrtimer_init" },
	{ "timer", "hrtimer_start", "timer_hrtimer_start" },
	{ "timer", "hrtimer_expire_entry", "timer_hrtimer_expire_entry" },
	{ "timer", "hrtimer_expire_exit", "timer_hrtimer_expire_exit" },
	{ "timer", "hrtimer_cancel", "timer_hrtimer_cancel" },
	{ "timer", "itimer_state", "timer_itimer_state" },
	{ "timer", "itimer_expire", "timer_itimer_expire" },
	{ "net", "netif_receive_skb", "net_if_receive_skb" },
	{ "net", "netif_rx", "net_if_rx" },
	{ "skb", "kfree_skb", "skb_kfree" },
	{ "skb", "consume_skb", "skb_consume" },
	{ "power", NULL, "power_" },
	{ "kmem", NULL, "kmem_" },
	{ "printk", NULL, "printk_" },
	{ "kvm", "kvm_entry", "kvm_x86_entry" },
	{ "kvm", "kvm_exit", "kvm_x86_exit" },
	{ "kvm", "kvm_inj_virq", "kvm_x86_inj_virq" },
	{ "kvm", "kvm_apic_accept_irq", "kvm_x86_apic_accept_irq" },
	{ "kvm", "kvm_hypercall", "kvm_x86_hypercall" },
	{ "kvm", "kvm_msr", "kvm_x86_msr" },
	{ "kvm", "kvm_pio", "kvm_x86_pio" },
};

static const struct {
	const char *event; /* as tracefs calls it */
	const char *field;
	const char *lttng;
} fields[] = {
	{ "sys_enter_clone", "clone_flags", "flags" },	    { "sys_enter_clone", "parent_tidptr", "parent_tid" },
	{ "sys_enter_clone", "child_tidptr", "child_tid" }, { "sys_enter_mmap", "off", "offset" },
	{ "sys_enter_epoll_ctl", "op", "op_enum" },
};

/* Of the system sched, what the kernel calls pid is the thread. */
static const char *const tids[][2] = {
	{ "pid", "tid" },
	{ "prev_pid", "prev_tid" },
	{ "next_pid", "next_tid" },
	{ "parent_pid", "parent_tid" },
	{ "child_pid", "child_tid" },
	{ "old_pid", "old_tid" },
};

/* Arguments that point to what LTTng reads: the name stays free for who knows what is there. */
static const char *const read_by_lttng[] = {
	"filename", "pathname", "path",	       "name",	  "oldname",  "newname",       "dev_name",
	"dir_name", "u_name",	"specialfile", "special", "new_root", "put_old",       "event",
	"events",   "fds",	"ufds",	       "fildes",  "usockvec", "optlen",	       "addr_len",
	"library",  "type",	"inp",	       "outp",	  "exp",      "upeer_addrlen", "usockaddr_len",
};

static const struct {
	const char *event; /* as LTTng calls it */
	const char *order;
} orders[] = {
	{ "sched_switch", "prev_comm prev_tid prev_prio prev_state next_comm next_tid next_prio" },
	{ "sched_process_fork", "parent_comm parent_tid parent_pid child_comm child_tid child_pid" },
	{ "sched_process_exec", "filename tid old_tid" },
	{ "net_dev_queue", "skbaddr len name network_header_type netns header_source" },
	{ "net_if_receive_skb", "skbaddr len name network_header_type netns header_source" },
	{ "net_dev_xmit", "skbaddr rc len name" },
	{ "block_rq_issue", "dev sector nr_sector bytes tid rwbs comm" },
	{ "block_rq_insert", "dev sector nr_sector bytes tid rwbs comm" },
	{ "block_rq_complete", "dev sector nr_sector error rwbs" },
	{ "block_getrq", "dev sector nr_sector rwbs tid comm" },
	{ "block_rq_merge", "dev sector nr_sector bytes tid rwbs comm" },
	{ "block_bio_frontmerge", "dev sector nr_sector rwbs tid comm" },
	{ "block_bio_backmerge", "dev sector nr_sector rwbs tid comm" },
	{ "block_bio_queue", "dev sector nr_sector rwbs tid comm" },
	{ "workqueue_queue_work", "work function req_cpu" },
	{ "skb_kfree", "skbaddr location protocol" },
};

static const struct {
	const char *type;
	uint8_t bytes;
	bool is_signed;
} types[] = {
	{ "int", 4, true },
	{ "pid_t", 4, true },
	{ "clockid_t", 4, true },
	{ "timer_t", 4, true },
	{ "key_t", 4, true },
	{ "mqd_t", 4, true },
	{ "rwf_t", 4, true },
	{ "__s32", 4, true },
	{ "key_serial_t", 4, true },
	{ "unsigned int", 4, false },
	{ "unsigned", 4, false },
	{ "u32", 4, false },
	{ "__u32", 4, false },
	{ "uid_t", 4, false },
	{ "gid_t", 4, false },
	{ "qid_t", 4, false },
	{ "umode_t", 2, false },
	{ "long", 8, true },
	{ "loff_t", 8, true },
	{ "off_t", 8, true },
	{ "unsigned long", 8, false },
	{ "size_t", 8, false },
	{ "u64", 8, false },
	{ "__u64", 8, false },
	{ "aio_context_t", 8, false },
	{ "__s64", 8, true },
	{ "short", 2, true },
	{ "unsigned short", 2, false },
};

static char *name_call(const struct dtc_raw_format *format, bool has_calls)
{
	if (strcmp(format->system, "syscalls") == 0 && g_str_has_prefix(format->name, "sys_enter_"))
		return g_strconcat("syscall_entry_", format->name + strlen("sys_enter_"), NULL);
	if (strcmp(format->system, "syscalls") == 0 && g_str_has_prefix(format->name, "sys_exit_"))
		return g_strconcat("syscall_exit_", format->name + strlen("sys_exit_"), NULL);
	if (strcmp(format->system, "raw_syscalls") != 0 || has_calls)
		return NULL;
	if (strcmp(format->name, "sys_enter") == 0)
		return g_strdup("syscall_entry_unknown");
	return strcmp(format->name, "sys_exit") == 0 ? g_strdup("syscall_exit_unknown") : NULL;
}

char *dtc_lttng_name_event(const struct dtc_raw_format *format, bool has_calls)
{
	char *call = name_call(format, has_calls);
	if (call)
		return call;
	for (gsize i = 0; i < G_N_ELEMENTS(events); i++) {
		if (strcmp(events[i].system, format->system) != 0)
			continue;
		if (!events[i].name && !g_str_has_prefix(format->name, events[i].lttng))
			return g_strconcat(events[i].lttng, format->name, NULL);
		if (events[i].name && strcmp(events[i].name, format->name) == 0)
			return g_strdup(events[i].lttng);
	}
	return g_strdup(format->name);
}

static bool is_left_out(const struct dtc_raw_field *field)
{
	if (strcmp(field->name, "__syscall_nr") == 0)
		return true;
	for (gsize i = 0; field->is_pointer && i < G_N_ELEMENTS(read_by_lttng); i++)
		if (strcmp(read_by_lttng[i], field->name) == 0)
			return true;
	return false;
}

const char *dtc_lttng_name_field(const struct dtc_raw_format *format, const struct dtc_raw_field *field)
{
	if (strcmp(format->system, "sched") == 0)
		for (gsize i = 0; i < G_N_ELEMENTS(tids); i++)
			if (strcmp(tids[i][0], field->name) == 0)
				return tids[i][1];
	if (strcmp(format->system, "syscalls") == 0 && is_left_out(field))
		return NULL;
	for (gsize i = 0; i < G_N_ELEMENTS(fields); i++)
		if (strcmp(fields[i].field, field->name) == 0 && strcmp(fields[i].event, format->name) == 0)
			return fields[i].lttng;
	return field->name;
}

const char *dtc_lttng_get_order(const char *event)
{
	for (gsize i = 0; i < G_N_ELEMENTS(orders); i++)
		if (strcmp(orders[i].event, event) == 0)
			return orders[i].order;
	return NULL;
}

guint dtc_lttng_get_type_bytes(const char *type, bool *ret_is_signed)
{
	for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
		if (strcmp(types[i].type, type) != 0)
			continue;
		*ret_is_signed = types[i].is_signed;
		return types[i].bytes;
	}
	return 0;
}
