/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tables. Sources: the probes of lttng-modules 2.0 to 2.13 (instrumentation/events), the trace events of Linux up
 * to 6.1 as `perf data convert --to-ctf` writes them (SUBSYSTEM:EVENT, task ids called pid), and what recorded traces
 * of LTTng 2.1, 2.5 and 2.13 hold.
 */
#include "collect/read/spellings.h"

#include <glib.h>
#include <string.h>

#define INTEGER(name, slot)                                                                                            \
	{                                                                                                              \
		name, DTC_FIELD_INTEGER, slot, DTC_SCALAR                                                              \
	}
#define ELEMENT(name, slot, element)                                                                                   \
	{                                                                                                              \
		name, DTC_FIELD_FD, slot, element                                                                      \
	}
#define FD(name, slot)                                                                                                 \
	{                                                                                                              \
		name, DTC_FIELD_FD, slot, DTC_SCALAR                                                                   \
	}
#define TEXT(name, slot)                                                                                               \
	{                                                                                                              \
		name, DTC_FIELD_TEXT, slot, DTC_SCALAR                                                                 \
	}
#define ADDRESS(name)                                                                                                  \
	{                                                                                                              \
		name, DTC_FIELD_ADDRESS, 0, DTC_SCALAR                                                                 \
	}
#define HEADER(name, field)                                                                                            \
	{                                                                                                              \
		name, DTC_FIELD_HEADER, field, DTC_SCALAR                                                              \
	}
#define READY(name)                                                                                                    \
	{                                                                                                              \
		name, DTC_FIELD_READY, 0, DTC_SCALAR                                                                   \
	}
#define DATA(name, slot)                                                                                               \
	{                                                                                                              \
		name, DTC_FIELD_DATA, slot, DTC_SCALAR                                                                 \
	}
#define END                                                                                                            \
	{                                                                                                              \
		NULL, 0, 0, 0                                                                                          \
	}

static const struct dtc_field_spelling no_fields[] = { END };
static const struct dtc_field_spelling switch_fields[] = {
	INTEGER("prev_tid", DTC_SWITCH_PREV_TID),
	INTEGER("prev_pid", DTC_SWITCH_PREV_TID),
	INTEGER("prev_state", DTC_SWITCH_PREV_STATE),
	INTEGER("next_tid", DTC_SWITCH_NEXT_TID),
	INTEGER("next_pid", DTC_SWITCH_NEXT_TID),
	INTEGER("prev_prio", DTC_SWITCH_PREV_PRIO),
	INTEGER("next_prio", DTC_SWITCH_NEXT_PRIO),
	INTEGER("repaired", DTC_SWITCH_REPAIRED),
	TEXT("prev_comm", 0),
	TEXT("next_comm", 1),
	END,
};
static const struct dtc_field_spelling task_fields[] = {
	INTEGER("tid", DTC_TASK_TID),
	INTEGER("pid", DTC_TASK_TID),
	INTEGER("target_cpu", DTC_TASK_TARGET_CPU),
	INTEGER("dest_cpu", DTC_TASK_TARGET_CPU),
	INTEGER("orig_cpu", DTC_TASK_FROM_CPU),
	INTEGER("prio", DTC_TASK_PRIO),
	TEXT("comm", 0),
	END,
};
static const struct dtc_field_spelling exec_fields[] = {
	INTEGER("tid", DTC_TASK_TID),	      INTEGER("pid", DTC_TASK_TID), INTEGER("old_tid", DTC_TASK_OLD_TID),
	INTEGER("old_pid", DTC_TASK_OLD_TID), TEXT("filename", 0),	    END,
};
/* ftrace calls the task ids pid and has no process ids; LTTng has both: the tid takes its member first */
static const struct dtc_field_spelling fork_fields[] = {
	INTEGER("parent_tid", DTC_FORK_PARENT_TID),
	INTEGER("parent_pid", DTC_FORK_PARENT_TID),
	INTEGER("parent_pid", DTC_FORK_PARENT_PID),
	INTEGER("child_tid", DTC_FORK_CHILD_TID),
	INTEGER("child_pid", DTC_FORK_CHILD_TID),
	INTEGER("child_pid", DTC_FORK_CHILD_PID),
	TEXT("parent_comm", 0),
	TEXT("child_comm", 1),
	END,
};
static const struct dtc_field_spelling irq_fields[] = {
	INTEGER("irq", DTC_IRQ_NUMBER),
	INTEGER("ret", DTC_IRQ_RESULT),
	TEXT("name", 0),
	END,
};
static const struct dtc_field_spelling softirq_fields[] = { INTEGER("vec", DTC_SOFTIRQ_VECTOR), END };
static const struct dtc_field_spelling timer_fields[] = {
	INTEGER("hrtimer", DTC_TIMER_ADDRESS),
	INTEGER("timer", DTC_TIMER_ADDRESS),
	INTEGER("function", DTC_TIMER_FUNCTION),
	END,
};
static const struct dtc_field_spelling fault_fields[] = {
	INTEGER("address", DTC_FAULT_ADDRESS),
	INTEGER("ip", DTC_FAULT_IP),
	INTEGER("error_code", DTC_FAULT_ERROR),
	END,
};
static const struct dtc_field_spelling page_fields[] = {
	INTEGER("pfn", DTC_PAGE_FRAME),
	INTEGER("order", DTC_PAGE_ORDER),
	END,
};
static const struct dtc_field_spelling rss_fields[] = {
	INTEGER("mm_id", DTC_RSS_MM),
	INTEGER("curr", DTC_RSS_IS_OWN),
	INTEGER("member", DTC_RSS_MEMBER),
	INTEGER("size", DTC_RSS_BYTES),
	END,
};
static const struct dtc_field_spelling vector_fields[] = {
	INTEGER("vector", DTC_VECTOR_NUMBER),
	INTEGER("irq", DTC_VECTOR_NUMBER),
	TEXT("reason", 0),
	END,
};
static const struct dtc_field_spelling call_fields[] = {
	INTEGER("ret", DTC_CALL_RET),
	/* which of several descriptors the call works on: the one whose data or state it is about */
	FD("epfd", DTC_CALL_FD),
	FD("out_fd", DTC_CALL_FD),
	ELEMENT("fildes", DTC_CALL_FD, 0),
	ELEMENT("socket", DTC_CALL_FD, 0),
	ELEMENT("usockvec", DTC_CALL_FD, 0),
	FD("fildes", DTC_CALL_FD),
	FD("oldfd", DTC_CALL_FD),
	FD("fd_in", DTC_CALL_FD),
	FD("fdin", DTC_CALL_FD),
	FD("fd", DTC_CALL_FD),
	FD("sockfd", DTC_CALL_FD),
	FD("ufd", DTC_CALL_FD),
	FD("in_fd", DTC_CALL_FD2),
	FD("newfd", DTC_CALL_FD2),
	FD("fd_out", DTC_CALL_FD2),
	FD("fdout", DTC_CALL_FD2),
	ELEMENT("fildes", DTC_CALL_FD2, 1),
	ELEMENT("socket", DTC_CALL_FD2, 1),
	ELEMENT("usockvec", DTC_CALL_FD2, 1),
	FD("fd", DTC_CALL_FD2),
	INTEGER("count", DTC_CALL_LENGTH),
	INTEGER("len", DTC_CALL_LENGTH),
	INTEGER("size", DTC_CALL_LENGTH),
	INTEGER("nbytes", DTC_CALL_LENGTH),
	INTEGER("vlen", DTC_CALL_LENGTH),
	INTEGER("uaddr", DTC_CALL_UADDR),
	INTEGER("op", DTC_CALL_OP),
	INTEGER("op_enum", DTC_CALL_OP),
	INTEGER("cmd", DTC_CALL_OP),
	INTEGER("request", DTC_CALL_OP),
	INTEGER("which", DTC_CALL_OP),
	INTEGER("which_clock", DTC_CALL_OP),
	INTEGER("type", DTC_CALL_OP),
	INTEGER("flags", DTC_CALL_FLAGS),
	INTEGER("clone_flags", DTC_CALL_FLAGS),
	INTEGER("family", DTC_CALL_FAMILY),
	INTEGER("dport", DTC_CALL_PORT),
	INTEGER("sport", DTC_CALL_PORT),
	INTEGER("val", DTC_CALL_VALUE),
	INTEGER("arg", DTC_CALL_VALUE),
	INTEGER("protocol", DTC_CALL_VALUE),
	DATA("event", DTC_CALL_VALUE),
	READY("fds"),
	INTEGER("timeout", DTC_CALL_TIMEOUT),
	INTEGER("timeout_msecs", DTC_CALL_TIMEOUT),
	INTEGER("pid", DTC_CALL_PID),
	INTEGER("tid", DTC_CALL_PID),
	INTEGER("upid", DTC_CALL_PID),
	ADDRESS("v4addr"),
	ADDRESS("v6addr"),
	TEXT("filename", 0),
	TEXT("pathname", 0),
	TEXT("name", 0),
	TEXT("oldname", 0),
	TEXT("path", 0),
	END,
};
static const struct dtc_field_spelling numbered_call_fields[] = {
	INTEGER("id", DTC_CALL_NUMBER),
	INTEGER("nr", DTC_CALL_NUMBER),
	INTEGER("ret", DTC_CALL_RET),
	END,
};
static const struct dtc_field_spelling net_fields[] = {
	INTEGER("skbaddr", DTC_NET_SKB),
	INTEGER("len", DTC_NET_LENGTH),
	INTEGER("rc", DTC_NET_RESULT),
	INTEGER("netns", DTC_NET_NETNS),
	INTEGER("header_source", DTC_NET_SOURCE),
	TEXT("name", 0),
	TEXT("dev", 0),
	END,
};
static const struct dtc_field_spelling inet_fields[] = {
	INTEGER("sk", DTC_NET_SKB),	     HEADER("seq", DTC_HEADER_SEQ),	     HEADER("ack_seq", DTC_HEADER_ACK),
	HEADER("window", DTC_HEADER_WINDOW), HEADER("flags", DTC_HEADER_INET_FLAGS), END,
};
static const struct dtc_field_spelling block_fields[] = {
	INTEGER("dev", DTC_BLOCK_DEVICE),
	INTEGER("sector", DTC_BLOCK_SECTOR),
	INTEGER("nr_sector", DTC_BLOCK_SECTORS),
	INTEGER("rwbs", DTC_BLOCK_FLAGS),
	INTEGER("tid", DTC_BLOCK_TID),
	INTEGER("error", DTC_BLOCK_ERROR),
	INTEGER("errors", DTC_BLOCK_ERROR),
	TEXT("comm", 0),
	END,
};
static const struct dtc_field_spelling work_fields[] = {
	INTEGER("work", DTC_WORK_ADDRESS),
	INTEGER("function", DTC_WORK_FUNCTION),
	END,
};
static const struct dtc_field_spelling signal_fields[] = {
	INTEGER("sig", DTC_SIGNAL_NUMBER),
	INTEGER("pid", DTC_SIGNAL_TID),
	TEXT("comm", 0),
	END,
};
/* ipi_raise has a mask of CPUs, as one word or as an array of words */
static const struct dtc_field_spelling ipi_fields[] = {
	INTEGER("cpu", DTC_IPI_CPU),
	INTEGER("cpunr", DTC_IPI_CPU),
	ELEMENT("target_cpus", DTC_IPI_MASK, 0),
	INTEGER("target_cpus", DTC_IPI_MASK),
	ELEMENT("cpumask", DTC_IPI_MASK, 0),
	INTEGER("cpumask", DTC_IPI_MASK),
	END,
};
static const struct dtc_field_spelling idle_fields[] = { INTEGER("state", DTC_IDLE_STATE), END };
static const struct dtc_field_spelling logger_fields[] = { TEXT("msg", 0), TEXT("buf", 0), END };
static const struct dtc_field_spelling dump_process_fields[] = {
	INTEGER("tid", DTC_DUMP_TID),
	INTEGER("pid", DTC_DUMP_PID),
	INTEGER("ppid", DTC_DUMP_PPID),
	INTEGER("type", DTC_DUMP_TYPE),
	INTEGER("status", DTC_DUMP_STATUS),
	INTEGER("cpu", DTC_DUMP_CPU),
	INTEGER("file_table_address", DTC_DUMP_FILES),
	TEXT("name", 0),
	END,
};
static const struct dtc_field_spelling dump_fd_fields[] = {
	INTEGER("file_table_address", DTC_DUMP_FD_FILES),
	INTEGER("pid", DTC_DUMP_FD_PID),
	INTEGER("fd", DTC_DUMP_FD_NUMBER),
	TEXT("filename", 0),
	END,
};
static const struct dtc_field_spelling dump_netns_fields[] = {
	INTEGER("tid", DTC_DUMP_NETNS_TID),
	INTEGER("ns_inum", DTC_DUMP_NETNS_INODE),
	END,
};
static const struct dtc_field_spelling dump_interface_fields[] = {
	INTEGER("address_ipv4", DTC_DUMP_ADDRESS),
	TEXT("name", 0),
	END,
};
static const struct dtc_field_spelling dump_interrupt_fields[] = {
	INTEGER("irq", DTC_DUMP_IRQ),
	TEXT("action", 0),
	TEXT("name", 1),
	END,
};
static const struct dtc_field_spelling dump_block_fields[] = {
	INTEGER("dev", DTC_DUMP_DEVICE),
	TEXT("diskname", 0),
	END,
};
static const struct dtc_field_spelling dump_cpu_limit_fields[] = {
	INTEGER("pid", DTC_DUMP_LIMIT_PID),
	INTEGER("quota_us", DTC_DUMP_LIMIT_QUOTA),
	INTEGER("period_us", DTC_DUMP_LIMIT_PERIOD),
	INTEGER("throttled", DTC_DUMP_LIMIT_THROTTLED),
	INTEGER("throttled_us", DTC_DUMP_LIMIT_THROTTLED_US),
	INTEGER("period_timer", DTC_DUMP_LIMIT_TIMER),
	TEXT("cgroup", 0),
	END,
};
static const struct dtc_field_spelling kvm_fields[] = {
	INTEGER("vcpu_id", DTC_KVM_VCPU),
	INTEGER("exit_reason", DTC_KVM_REASON),
	INTEGER("esr_ec", DTC_KVM_REASON),
	INTEGER("isa", DTC_KVM_ISA),
	END,
};
static const struct dtc_field_spelling guest_irq_fields[] = {
	INTEGER("apicid", DTC_KVM_APIC),
	INTEGER("vec", DTC_KVM_VECTOR),
	INTEGER("irq", DTC_KVM_VECTOR),
	END,
};

struct name_row {
	const char *name;
	enum dtc_event_kind kind;
	const struct dtc_field_spelling *fields;
};

static const struct name_row names[] = {
	{ "sched_switch", DTC_EVENT_SCHED_SWITCH, switch_fields },
	{ "sched_waking", DTC_EVENT_SCHED_WAKING, task_fields },
	{ "sched_wakeup", DTC_EVENT_SCHED_WAKEUP, task_fields },
	{ "sched_wakeup_new", DTC_EVENT_SCHED_WAKEUP_NEW, task_fields },
	{ "sched_migrate_task", DTC_EVENT_SCHED_MIGRATE, task_fields },
	{ "sched_process_fork", DTC_EVENT_SCHED_FORK, fork_fields },
	{ "sched_process_exec", DTC_EVENT_SCHED_EXEC, exec_fields },
	{ "sched_process_exit", DTC_EVENT_SCHED_EXIT, task_fields },
	{ "sched_process_free", DTC_EVENT_SCHED_FREE, task_fields },
	{ "irq_handler_entry", DTC_EVENT_IRQ_ENTRY, irq_fields },
	{ "irq_handler_exit", DTC_EVENT_IRQ_EXIT, irq_fields },
	{ "irq_softirq_entry", DTC_EVENT_SOFTIRQ_ENTRY, softirq_fields },
	{ "irq_softirq_exit", DTC_EVENT_SOFTIRQ_EXIT, softirq_fields },
	{ "irq_softirq_raise", DTC_EVENT_SOFTIRQ_RAISE, softirq_fields },
	{ "softirq_entry", DTC_EVENT_SOFTIRQ_ENTRY, softirq_fields },
	{ "softirq_exit", DTC_EVENT_SOFTIRQ_EXIT, softirq_fields },
	{ "softirq_raise", DTC_EVENT_SOFTIRQ_RAISE, softirq_fields },
	{ "timer_hrtimer_expire_entry", DTC_EVENT_HRTIMER_ENTRY, timer_fields },
	{ "timer_hrtimer_expire_exit", DTC_EVENT_HRTIMER_EXIT, timer_fields },
	{ "hrtimer_expire_entry", DTC_EVENT_HRTIMER_ENTRY, timer_fields },
	{ "hrtimer_expire_exit", DTC_EVENT_HRTIMER_EXIT, timer_fields },
	{ "timer_timer_expire_entry", DTC_EVENT_TIMER_ENTRY, timer_fields },
	{ "timer_timer_expire_exit", DTC_EVENT_TIMER_EXIT, timer_fields },
	{ "timer_expire_entry", DTC_EVENT_TIMER_ENTRY, timer_fields },
	{ "timer_expire_exit", DTC_EVENT_TIMER_EXIT, timer_fields },
	{ "x86_exceptions_page_fault_user", DTC_EVENT_FAULT_USER, fault_fields },
	{ "x86_exceptions_page_fault_kernel", DTC_EVENT_FAULT_KERNEL, fault_fields },
	{ "exceptions_page_fault_user", DTC_EVENT_FAULT_USER, fault_fields },
	{ "exceptions_page_fault_kernel", DTC_EVENT_FAULT_KERNEL, fault_fields },
	{ "page_fault_user", DTC_EVENT_FAULT_USER, fault_fields },
	{ "page_fault_kernel", DTC_EVENT_FAULT_KERNEL, fault_fields },
	{ "kmem_mm_page_alloc", DTC_EVENT_PAGE_ALLOC, page_fields },
	{ "kmem_mm_page_free", DTC_EVENT_PAGE_FREE, page_fields },
	{ "kmem_rss_stat", DTC_EVENT_RSS_STAT, rss_fields },
	{ "mm_page_alloc", DTC_EVENT_PAGE_ALLOC, page_fields },
	{ "mm_page_free", DTC_EVENT_PAGE_FREE, page_fields },
	{ "rss_stat", DTC_EVENT_RSS_STAT, rss_fields },
	{ "ipi_entry", DTC_EVENT_VECTOR_ENTRY, vector_fields },
	{ "ipi_exit", DTC_EVENT_VECTOR_EXIT, vector_fields },
	{ "exit_syscall", DTC_EVENT_SYSCALL_EXIT, call_fields },
	{ "net_dev_queue", DTC_EVENT_NET_SEND, net_fields },
	{ "net_dev_xmit", DTC_EVENT_NET_XMIT, net_fields },
	{ "net_if_receive_skb", DTC_EVENT_NET_RECEIVE, net_fields },
	{ "netif_receive_skb", DTC_EVENT_NET_RECEIVE, net_fields },
	{ "inet_sock_local_out", DTC_EVENT_INET_OUT, inet_fields },
	{ "inet_sock_local_in", DTC_EVENT_INET_IN, inet_fields },
	{ "block_getrq", DTC_EVENT_BLOCK_GETRQ, block_fields },
	{ "block_rq_insert", DTC_EVENT_BLOCK_INSERT, block_fields },
	{ "block_rq_issue", DTC_EVENT_BLOCK_ISSUE, block_fields },
	{ "block_rq_complete", DTC_EVENT_BLOCK_COMPLETE, block_fields },
	{ "block_bio_frontmerge", DTC_EVENT_BLOCK_FRONT, block_fields },
	{ "block_rq_merge", DTC_EVENT_BLOCK_MERGE, block_fields },
	{ "workqueue_queue_work", DTC_EVENT_WORK_QUEUE, work_fields },
	{ "workqueue_execute_start", DTC_EVENT_WORK_START, work_fields },
	{ "workqueue_execute_end", DTC_EVENT_WORK_END, work_fields },
	{ "signal_generate", DTC_EVENT_SIGNAL_GENERATE, signal_fields },
	{ "signal_deliver", DTC_EVENT_SIGNAL_DELIVER, signal_fields },
	{ "ipi_raise", DTC_EVENT_IPI_SEND, ipi_fields },
	{ "ipi_send_cpu", DTC_EVENT_IPI_SEND, ipi_fields },
	{ "ipi_send_cpumask", DTC_EVENT_IPI_SEND, ipi_fields },
	{ "power_cpu_idle", DTC_EVENT_CPU_IDLE, idle_fields },
	{ "cpu_idle", DTC_EVENT_CPU_IDLE, idle_fields },
	{ "lttng_logger", DTC_EVENT_LOGGER, logger_fields },
	{ "ftrace:print", DTC_EVENT_LOGGER, logger_fields },
	{ "lttng_statedump_process_state", DTC_EVENT_DUMP_PROCESS, dump_process_fields },
	{ "lttng_statedump_file_descriptor", DTC_EVENT_DUMP_FD, dump_fd_fields },
	{ "lttng_statedump_network_interface", DTC_EVENT_DUMP_INTERFACE, dump_interface_fields },
	{ "lttng_statedump_interrupt", DTC_EVENT_DUMP_INTERRUPT, dump_interrupt_fields },
	{ "lttng_statedump_block_device", DTC_EVENT_DUMP_BLOCK, dump_block_fields },
	{ "lttng_statedump_process_net_ns", DTC_EVENT_DUMP_NETNS, dump_netns_fields },
	{ "dtrace_chain_statedump_cpu_limit", DTC_EVENT_DUMP_CPU_LIMIT, dump_cpu_limit_fields },
	{ "lttng_statedump_end", DTC_EVENT_DUMP_END, no_fields },
	{ "kvm_x86_entry", DTC_EVENT_KVM_ENTRY, kvm_fields },
	{ "kvm_x86_exit", DTC_EVENT_KVM_EXIT, kvm_fields },
	{ "kvm_entry", DTC_EVENT_KVM_ENTRY, kvm_fields },
	{ "kvm_exit", DTC_EVENT_KVM_EXIT, kvm_fields },
	{ "kvm_x86_apic_accept_irq", DTC_EVENT_KVM_ACCEPT, guest_irq_fields },
	{ "kvm_apic_accept_irq", DTC_EVENT_KVM_ACCEPT, guest_irq_fields },
	{ "kvm_x86_inj_virq", DTC_EVENT_KVM_INJECT, guest_irq_fields },
	{ "kvm_inj_virq", DTC_EVENT_KVM_INJECT, guest_irq_fields },
	{ "raw_syscalls:sys_enter", DTC_EVENT_SYSCALL_ENTRY, numbered_call_fields },
	{ "raw_syscalls:sys_exit", DTC_EVENT_SYSCALL_EXIT, numbered_call_fields },
};

/*
 * System calls: the rest of the name is the call. The order matters: "sys_exit_group" is an entry in LTTng 2.0 to 2.5,
 * but "syscalls:sys_exit_read" is an exit in ftrace, so names with a subsystem come first.
 */
struct call_row {
	const char *prefix;
	enum dtc_event_kind kind;
	bool is_compat;
};

static const struct call_row calls[] = {
	{ "syscalls:sys_enter_", DTC_EVENT_SYSCALL_ENTRY, false },
	{ "syscalls:sys_exit_", DTC_EVENT_SYSCALL_EXIT, false },
	{ "syscall_entry_", DTC_EVENT_SYSCALL_ENTRY, false },
	{ "syscall_exit_", DTC_EVENT_SYSCALL_EXIT, false },
	{ "compat_syscall_entry_", DTC_EVENT_SYSCALL_ENTRY, true },
	{ "compat_syscall_exit_", DTC_EVENT_SYSCALL_EXIT, true },
	{ "compat_sys_", DTC_EVENT_SYSCALL_ENTRY, true },
	{ "sys_", DTC_EVENT_SYSCALL_ENTRY, false },
};

static const char *const vector_prefixes[] = { "x86_irq_vectors_", "irq_vectors:" };
static const struct {
	const char *name;
	enum dtc_vector vector;
} vectors[] = {
	{ "local_timer", DTC_VECTOR_LOCAL_TIMER },     { "reschedule", DTC_VECTOR_RESCHEDULE },
	{ "call_function", DTC_VECTOR_CALL_FUNCTION }, { "call_function_single", DTC_VECTOR_CALL_FUNCTION_SINGLE },
	{ "irq_work", DTC_VECTOR_IRQ_WORK },
};

static bool find_name(const char *name, struct dtc_event_spelling *spelling)
{
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		if (names[i].name[0] != name[0] || strcmp(names[i].name, name) != 0)
			continue;
		spelling->kind = names[i].kind;
		spelling->fields = names[i].fields;
		spelling->call_by_number = names[i].fields == numbered_call_fields;
		if (names[i].fields == vector_fields)
			spelling->vector = DTC_VECTOR_IPI;
		return true;
	}
	return false;
}

static bool find_call(const char *name, struct dtc_event_spelling *spelling)
{
	for (gsize i = 0; i < G_N_ELEMENTS(calls); i++) {
		if (!g_str_has_prefix(name, calls[i].prefix))
			continue;
		spelling->kind = calls[i].kind;
		spelling->fields = call_fields;
		spelling->is_compat = calls[i].is_compat;
		spelling->call = name + strlen(calls[i].prefix);
		if (strcmp(spelling->call, "unknown") == 0) {
			spelling->call = NULL;
			spelling->call_by_number = true;
			spelling->fields = numbered_call_fields;
		}
		return true;
	}
	return false;
}

static bool find_vector(const char *name, struct dtc_event_spelling *spelling)
{
	for (gsize i = 0; i < G_N_ELEMENTS(vector_prefixes); i++) {
		if (!g_str_has_prefix(name, vector_prefixes[i]))
			continue;
		const char *rest = name + strlen(vector_prefixes[i]);
		bool is_entry = g_str_has_suffix(rest, "_entry");
		if (!is_entry && !g_str_has_suffix(rest, "_exit"))
			return false; /* vector_alloc and its like: management, not an interrupt */
		spelling->kind = is_entry ? DTC_EVENT_VECTOR_ENTRY : DTC_EVENT_VECTOR_EXIT;
		spelling->fields = vector_fields;
		gsize length = strlen(rest) - strlen(is_entry ? "_entry" : "_exit");
		for (gsize k = 0; k < G_N_ELEMENTS(vectors); k++)
			if (strlen(vectors[k].name) == length && strncmp(vectors[k].name, rest, length) == 0)
				spelling->vector = vectors[k].vector;
		return true;
	}
	return false;
}

struct dtc_event_spelling dtc_spelling_find_event(const char *name)
{
	struct dtc_event_spelling spelling = { .kind = DTC_EVENT_OTHER, .fields = no_fields };
	if (find_name(name, &spelling) || find_call(name, &spelling) || find_vector(name, &spelling))
		return spelling;
	const char *colon = strchr(name, ':'); /* "sched:sched_switch" */
	if (colon)
		find_name(colon + 1, &spelling);
	return spelling;
}

const char *dtc_spelling_skip_underscores(const char *name)
{
	return name + strspn(name, "_");
}

/*
 * From 424 on the numbers are the same on every architecture. The ones below are those of x86-64 that lttng-modules up
 * to 2.13 has no name for; other architectures' tracers know what these numbers are there, and so do not ask.
 */
#define FIRST_COMMON_CALL 424

static const struct {
	int64_t number;
	const char *name;
} new_calls[] = {
	{ 15, "rt_sigreturn" },
	{ 158, "arch_prctl" },
	{ 318, "getrandom" },
	{ 322, "execveat" },
	{ 323, "userfaultfd" },
	{ 324, "membarrier" },
	{ 325, "mlock2" },
	{ 326, "copy_file_range" },
	{ 327, "preadv2" },
	{ 328, "pwritev2" },
	{ 329, "pkey_mprotect" },
	{ 330, "pkey_alloc" },
	{ 331, "pkey_free" },
	{ 332, "statx" },
	{ 333, "io_pgetevents" },
	{ 334, "rseq" },
	{ 424, "pidfd_send_signal" },
	{ 425, "io_uring_setup" },
	{ 426, "io_uring_enter" },
	{ 427, "io_uring_register" },
	{ 428, "open_tree" },
	{ 429, "move_mount" },
	{ 430, "fsopen" },
	{ 431, "fsconfig" },
	{ 432, "fsmount" },
	{ 433, "fspick" },
	{ 434, "pidfd_open" },
	{ 435, "clone3" },
	{ 436, "close_range" },
	{ 437, "openat2" },
	{ 438, "pidfd_getfd" },
	{ 439, "faccessat2" },
	{ 440, "process_madvise" },
	{ 441, "epoll_pwait2" },
	{ 442, "mount_setattr" },
	{ 443, "quotactl_fd" },
	{ 444, "landlock_create_ruleset" },
	{ 445, "landlock_add_rule" },
	{ 446, "landlock_restrict_self" },
	{ 447, "memfd_secret" },
	{ 448, "process_mrelease" },
	{ 449, "futex_waitv" },
	{ 450, "set_mempolicy_home_node" },
	{ 451, "cachestat" },
	{ 452, "fchmodat2" },
	{ 453, "map_shadow_stack" },
	{ 454, "futex_wake" },
	{ 455, "futex_wait" },
	{ 456, "futex_requeue" },
	{ 457, "statmount" },
	{ 458, "listmount" },
	{ 459, "lsm_get_self_attr" },
	{ 460, "lsm_set_self_attr" },
	{ 461, "lsm_list_modules" },
	{ 462, "mseal" },
	{ 463, "setxattrat" },
	{ 464, "getxattrat" },
	{ 465, "listxattrat" },
	{ 466, "removexattrat" },
};

void dtc_spelling_name_call(int64_t number, bool is_compat, char ret_name[DTC_CALL_NAME_BYTES])
{
	g_snprintf(ret_name, DTC_CALL_NAME_BYTES, "syscall_%" G_GINT64_FORMAT, number);
	if (is_compat && number < FIRST_COMMON_CALL)
		return;
	for (gsize i = 0; i < G_N_ELEMENTS(new_calls); i++)
		if (new_calls[i].number == number)
			g_strlcpy(ret_name, new_calls[i].name, DTC_CALL_NAME_BYTES);
}

const char dtc_spelling_network_header[] = "network_header";
const char dtc_spelling_transport_header[] = "transport_header";

static const struct {
	const char *option;
	enum dtc_header_layer layer;
} layers[] = {
	{ "ipv4", DTC_LAYER_IPV4 },
	{ "ipv6", DTC_LAYER_IPV6 },
	{ "tcp", DTC_LAYER_TCP },
	{ "udp", DTC_LAYER_UDP },
};

static const struct {
	enum dtc_header_layer layer;
	const char *member;
	enum dtc_header_field field;
} header_fields[] = {
	{ DTC_LAYER_IPV4, "ihl", DTC_HEADER_IHL },
	{ DTC_LAYER_IPV4, "tot_len", DTC_HEADER_TOTAL_LENGTH },
	{ DTC_LAYER_IPV4, "id", DTC_HEADER_ID },
	{ DTC_LAYER_IPV4, "frag_off", DTC_HEADER_FRAGMENT },
	{ DTC_LAYER_IPV4, "protocol", DTC_HEADER_PROTOCOL },
	{ DTC_LAYER_IPV4, "saddr", DTC_HEADER_SOURCE },
	{ DTC_LAYER_IPV4, "daddr", DTC_HEADER_DESTINATION },
	{ DTC_LAYER_IPV6, "payload_len", DTC_HEADER_PAYLOAD_LENGTH },
	{ DTC_LAYER_IPV6, "nexthdr", DTC_HEADER_PROTOCOL },
	{ DTC_LAYER_IPV6, "saddr", DTC_HEADER_SOURCE },
	{ DTC_LAYER_IPV6, "daddr", DTC_HEADER_DESTINATION },
	{ DTC_LAYER_TCP, "source_port", DTC_HEADER_SOURCE_PORT },
	{ DTC_LAYER_TCP, "dest_port", DTC_HEADER_DESTINATION_PORT },
	{ DTC_LAYER_TCP, "seq", DTC_HEADER_SEQ },
	{ DTC_LAYER_TCP, "ack_seq", DTC_HEADER_ACK },
	{ DTC_LAYER_TCP, "data_offset", DTC_HEADER_DATA_OFFSET },
	{ DTC_LAYER_TCP, "flags", DTC_HEADER_FLAGS },
	{ DTC_LAYER_TCP, "window_size", DTC_HEADER_WINDOW },
	{ DTC_LAYER_UDP, "source_port", DTC_HEADER_SOURCE_PORT },
	{ DTC_LAYER_UDP, "dest_port", DTC_HEADER_DESTINATION_PORT },
	{ DTC_LAYER_UDP, "len", DTC_HEADER_UDP_LENGTH },
};

enum dtc_header_layer dtc_spelling_find_layer(const char *option)
{
	option = dtc_spelling_skip_underscores(option);
	for (gsize i = 0; i < G_N_ELEMENTS(layers); i++)
		if (strcmp(layers[i].option, option) == 0)
			return layers[i].layer;
	return DTC_LAYER_OTHER;
}

int dtc_spelling_find_header_field(enum dtc_header_layer layer, const char *member)
{
	member = dtc_spelling_skip_underscores(member);
	for (gsize i = 0; i < G_N_ELEMENTS(header_fields); i++)
		if (header_fields[i].layer == layer && strcmp(header_fields[i].member, member) == 0)
			return header_fields[i].field;
	return -1;
}
