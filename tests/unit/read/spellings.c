/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/spellings.h"

#include <glib.h>

static void check(const char *name, enum dtc_event_kind kind, const char *call)
{
	struct dtc_event_spelling spelling = dtc_spelling_find_event(name);
	g_assert_cmpint(spelling.kind, ==, kind);
	g_assert_cmpstr(spelling.call, ==, call);
	g_assert_nonnull(spelling.fields);
}

static void test_events(void)
{
	check("sched_switch", DTC_EVENT_SCHED_SWITCH, NULL);
	check("sched:sched_switch", DTC_EVENT_SCHED_SWITCH, NULL);
	check("softirq_entry", DTC_EVENT_SOFTIRQ_ENTRY, NULL);
	check("irq_softirq_entry", DTC_EVENT_SOFTIRQ_ENTRY, NULL);
	check("irq:softirq_entry", DTC_EVENT_SOFTIRQ_ENTRY, NULL);
	check("timer_hrtimer_expire_entry", DTC_EVENT_HRTIMER_ENTRY, NULL);
	check("hrtimer_expire_exit", DTC_EVENT_HRTIMER_EXIT, NULL);
	check("netif_receive_skb", DTC_EVENT_NET_RECEIVE, NULL);
	check("net:netif_receive_skb", DTC_EVENT_NET_RECEIVE, NULL);
	check("net_if_receive_skb", DTC_EVENT_NET_RECEIVE, NULL);
	check("power:cpu_idle", DTC_EVENT_CPU_IDLE, NULL);
	check("kvm:kvm_entry", DTC_EVENT_KVM_ENTRY, NULL);
	check("kvm_x86_exit", DTC_EVENT_KVM_EXIT, NULL);
	check("kvm_x86_inj_virq", DTC_EVENT_KVM_INJECT, NULL);
	check("kvm:kvm_inj_virq", DTC_EVENT_KVM_INJECT, NULL);
	check("kvm_apic_accept_irq", DTC_EVENT_KVM_ACCEPT, NULL);
	check("kvm_x86_apic_accept_irq", DTC_EVENT_KVM_ACCEPT, NULL);
	check("ftrace:print", DTC_EVENT_LOGGER, NULL);
	check("sched_switchx", DTC_EVENT_OTHER, NULL);
	check("sched_stat_runtime", DTC_EVENT_OTHER, NULL);
	check("", DTC_EVENT_OTHER, NULL);
	check(":", DTC_EVENT_OTHER, NULL);
}

static void test_calls(void)
{
	check("syscall_entry_read", DTC_EVENT_SYSCALL_ENTRY, "read");
	check("syscall_exit_read", DTC_EVENT_SYSCALL_EXIT, "read");
	check("compat_syscall_entry_read", DTC_EVENT_SYSCALL_ENTRY, "read");
	check("sys_read", DTC_EVENT_SYSCALL_ENTRY, "read");
	check("compat_sys_read", DTC_EVENT_SYSCALL_ENTRY, "read");
	/* LTTng 2.1's entry of exit_group, and ftrace's exit of read */
	check("sys_exit_group", DTC_EVENT_SYSCALL_ENTRY, "exit_group");
	check("syscalls:sys_exit_read", DTC_EVENT_SYSCALL_EXIT, "read");
	check("syscalls:sys_enter_exit_group", DTC_EVENT_SYSCALL_ENTRY, "exit_group");
	check("exit_syscall", DTC_EVENT_SYSCALL_EXIT, NULL);
	check("raw_syscalls:sys_enter", DTC_EVENT_SYSCALL_ENTRY, NULL);
	g_assert_true(dtc_spelling_find_event("syscall_entry_unknown").call_by_number);
	g_assert_true(dtc_spelling_find_event("compat_syscall_exit_unknown").call_by_number);
	g_assert_true(dtc_spelling_find_event("compat_syscall_exit_unknown").is_compat);
	g_assert_true(dtc_spelling_find_event("raw_syscalls:sys_exit").call_by_number);
	g_assert_false(dtc_spelling_find_event("exit_syscall").call_by_number);
}

static void test_call_numbers(void)
{
	static const struct {
		gint64 number;
		bool is_compat;
		const char *name;
	} cases[] = {
		{ 435, false, "clone3" },
		{ 435, true, "clone3" },
		{ 334, false, "rseq" },
		{ 334, true, "syscall_334" },
		{ -1, false, "syscall_-1" },
		{ G_MAXINT64, false, "syscall_9223372036854775807" },
		{ G_MININT64, false, "syscall_-9223372036854775808" },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		char name[DTC_CALL_NAME_BYTES];
		dtc_spelling_name_call(cases[i].number, cases[i].is_compat, name);
		g_assert_cmpstr(name, ==, cases[i].name);
	}
}

static void test_vectors(void)
{
	static const struct {
		const char *name;
		enum dtc_event_kind kind;
		enum dtc_vector vector;
	} cases[] = {
		{ "x86_irq_vectors_local_timer_entry", DTC_EVENT_VECTOR_ENTRY, DTC_VECTOR_LOCAL_TIMER },
		{ "x86_irq_vectors_call_function_entry", DTC_EVENT_VECTOR_ENTRY, DTC_VECTOR_CALL_FUNCTION },
		{ "x86_irq_vectors_call_function_single_exit", DTC_EVENT_VECTOR_EXIT, DTC_VECTOR_CALL_FUNCTION_SINGLE },
		{ "irq_vectors:reschedule_entry", DTC_EVENT_VECTOR_ENTRY, DTC_VECTOR_RESCHEDULE },
		{ "x86_irq_vectors_thermal_apic_exit", DTC_EVENT_VECTOR_EXIT, DTC_VECTOR_OTHER },
		{ "x86_irq_vectors_vector_alloc", DTC_EVENT_OTHER, DTC_VECTOR_OTHER },
		{ "ipi_entry", DTC_EVENT_VECTOR_ENTRY, DTC_VECTOR_IPI },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct dtc_event_spelling spelling = dtc_spelling_find_event(cases[i].name);
		g_assert_cmpint(spelling.kind, ==, cases[i].kind);
		g_assert_cmpint(spelling.vector, ==, cases[i].vector);
	}
}

/* Every slot that a table names exists, and every kind but those without fields of their own is reached. */
static void test_tables(void)
{
	static const char *const names[] = {
		"sched_switch",
		"sched_waking",
		"sched_process_fork",
		"sched_process_exec",
		"irq_handler_entry",
		"softirq_raise",
		"timer_expire_entry",
		"page_fault_user",
		"ipi_entry",
		"exit_syscall",
		"net_dev_queue",
		"inet_sock_local_in",
		"block_rq_issue",
		"workqueue_queue_work",
		"signal_generate",
		"cpu_idle",
		"lttng_logger",
		"lttng_statedump_process_state",
		"lttng_statedump_file_descriptor",
		"kvm_exit",
		"lttng_statedump_network_interface",
		"lttng_statedump_interrupt",
		"lttng_statedump_block_device",
		"dtrace_chain_statedump_cpu_limit",
		"raw_syscalls:sys_enter",
		"kvm_x86_apic_accept_irq",
	};
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		const struct dtc_field_spelling *field = dtc_spelling_find_event(names[i]).fields;
		guint count = 0;
		for (; field->name; field++, count++) {
			guint limit = field->type == DTC_FIELD_TEXT	? 2
				      : field->type == DTC_FIELD_HEADER ? DTC_HEADER_FIELDS
									: DTC_EVENT_SLOTS;
			g_assert_cmpuint(field->slot, <, limit);
			g_assert_true(field->name == dtc_spelling_skip_underscores(field->name));
		}
		g_assert_cmpuint(count, >, 0);
	}
}

static void test_headers(void)
{
	g_assert_cmpint(dtc_spelling_find_layer("_ipv4"), ==, DTC_LAYER_IPV4);
	g_assert_cmpint(dtc_spelling_find_layer("tcp"), ==, DTC_LAYER_TCP);
	g_assert_cmpint(dtc_spelling_find_layer("_icmp"), ==, DTC_LAYER_OTHER);
	g_assert_cmpint(dtc_spelling_find_header_field(DTC_LAYER_TCP, "_ack_seq"), ==, DTC_HEADER_ACK);
	g_assert_cmpint(dtc_spelling_find_header_field(DTC_LAYER_UDP, "_ack_seq"), ==, -1);
	g_assert_cmpint(dtc_spelling_find_header_field(DTC_LAYER_UDP, "len"), ==, DTC_HEADER_UDP_LENGTH);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/spellings/events", test_events);
	g_test_add_func("/spellings/calls", test_calls);
	g_test_add_func("/spellings/call-numbers", test_call_numbers);
	g_test_add_func("/spellings/vectors", test_vectors);
	g_test_add_func("/spellings/tables", test_tables);
	g_test_add_func("/spellings/headers", test_headers);
	return g_test_run();
}
