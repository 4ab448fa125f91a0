/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/event_fields.h"

#include <stddef.h>

#define NUMBER(name, slot)                                                                                             \
	{                                                                                                              \
		name, DTC_FORM_NUMBER, slot                                                                            \
	}
#define UNSIGNED(name, slot)                                                                                           \
	{                                                                                                              \
		name, DTC_FORM_UNSIGNED, slot                                                                          \
	}
#define ADDRESS(name, slot)                                                                                            \
	{                                                                                                              \
		name, DTC_FORM_ADDRESS, slot                                                                           \
	}
#define TID(name, slot)                                                                                                \
	{                                                                                                              \
		name, DTC_FORM_TID, slot                                                                               \
	}
#define TEXT(name, slot)                                                                                               \
	{                                                                                                              \
		name, DTC_FORM_TEXT, slot                                                                              \
	}
#define END                                                                                                            \
	{                                                                                                              \
		NULL, 0, 0                                                                                             \
	}

/* The slots of collect/read/event.h by kind, under the names that LTTng gives them. */
static const struct dtc_event_field no_fields[] = { END };
static const struct dtc_event_field switch_fields[] = {
	TEXT("prev_comm", 0),
	TID("prev_tid", DTC_SWITCH_PREV_TID),
	NUMBER("prev_prio", DTC_SWITCH_PREV_PRIO),
	NUMBER("prev_state", DTC_SWITCH_PREV_STATE),
	TEXT("next_comm", 1),
	TID("next_tid", DTC_SWITCH_NEXT_TID),
	NUMBER("next_prio", DTC_SWITCH_NEXT_PRIO),
	NUMBER("repaired", DTC_SWITCH_REPAIRED),
	END,
};
static const struct dtc_event_field task_fields[] = {
	TEXT("comm", 0),
	TID("tid", DTC_TASK_TID),
	NUMBER("prio", DTC_TASK_PRIO),
	NUMBER("target_cpu", DTC_TASK_TARGET_CPU),
	END,
};
static const struct dtc_event_field exec_fields[] = {
	TEXT("filename", 0),
	TID("tid", DTC_TASK_TID),
	TID("old_tid", DTC_TASK_OLD_TID),
	END,
};
static const struct dtc_event_field fork_fields[] = {
	TEXT("parent_comm", 0),
	TID("parent_tid", DTC_FORK_PARENT_TID),
	NUMBER("parent_pid", DTC_FORK_PARENT_PID),
	TEXT("child_comm", 1),
	TID("child_tid", DTC_FORK_CHILD_TID),
	NUMBER("child_pid", DTC_FORK_CHILD_PID),
	END,
};
static const struct dtc_event_field irq_fields[] = {
	NUMBER("irq", DTC_IRQ_NUMBER),
	TEXT("name", 0),
	NUMBER("ret", DTC_IRQ_RESULT),
	END,
};
static const struct dtc_event_field softirq_fields[] = { NUMBER("vec", DTC_SOFTIRQ_VECTOR), END };
static const struct dtc_event_field timer_fields[] = {
	ADDRESS("timer", DTC_TIMER_ADDRESS),
	ADDRESS("function", DTC_TIMER_FUNCTION),
	END,
};
static const struct dtc_event_field fault_fields[] = {
	ADDRESS("address", DTC_FAULT_ADDRESS),
	ADDRESS("ip", DTC_FAULT_IP),
	NUMBER("error_code", DTC_FAULT_ERROR),
	END,
};
static const struct dtc_event_field page_fields[] = {
	ADDRESS("pfn", DTC_PAGE_FRAME),
	NUMBER("order", DTC_PAGE_ORDER),
	END,
};
static const struct dtc_event_field rss_fields[] = {
	ADDRESS("mm_id", DTC_RSS_MM),
	NUMBER("curr", DTC_RSS_IS_OWN),
	NUMBER("member", DTC_RSS_MEMBER),
	NUMBER("size", DTC_RSS_BYTES),
	END,
};
static const struct dtc_event_field vector_fields[] = { NUMBER("vector", DTC_VECTOR_NUMBER), END };
static const struct dtc_event_field call_fields[] = {
	NUMBER("number", DTC_CALL_NUMBER),
	NUMBER("ret", DTC_CALL_RET),
	NUMBER("fd", DTC_CALL_FD),
	NUMBER("fd2", DTC_CALL_FD2),
	TEXT("path", 0),
	NUMBER("length", DTC_CALL_LENGTH),
	ADDRESS("uaddr", DTC_CALL_UADDR),
	NUMBER("op", DTC_CALL_OP),
	ADDRESS("flags", DTC_CALL_FLAGS),
	NUMBER("value", DTC_CALL_VALUE),
	NUMBER("timeout", DTC_CALL_TIMEOUT),
	NUMBER("pid", DTC_CALL_PID),
	NUMBER("family", DTC_CALL_FAMILY),
	NUMBER("port", DTC_CALL_PORT),
	END,
};
static const struct dtc_event_field net_fields[] = {
	TEXT("interface", 0),
	ADDRESS("skbaddr", DTC_NET_SKB),
	NUMBER("len", DTC_NET_LENGTH),
	NUMBER("rc", DTC_NET_RESULT),
	NUMBER("netns", DTC_NET_NETNS),
	NUMBER("header_source", DTC_NET_SOURCE),
	END,
};
static const struct dtc_event_field inet_fields[] = { ADDRESS("sk", DTC_NET_SKB), END };
static const struct dtc_event_field block_fields[] = {
	NUMBER("dev", DTC_BLOCK_DEVICE),
	UNSIGNED("sector", DTC_BLOCK_SECTOR),
	NUMBER("nr_sector", DTC_BLOCK_SECTORS),
	NUMBER("rwbs", DTC_BLOCK_FLAGS),
	TEXT("comm", 0),
	TID("tid", DTC_BLOCK_TID),
	NUMBER("error", DTC_BLOCK_ERROR),
	END,
};
static const struct dtc_event_field work_fields[] = {
	ADDRESS("work", DTC_WORK_ADDRESS),
	ADDRESS("function", DTC_WORK_FUNCTION),
	END,
};
static const struct dtc_event_field signal_fields[] = {
	NUMBER("sig", DTC_SIGNAL_NUMBER),
	TEXT("comm", 0),
	TID("tid", DTC_SIGNAL_TID),
	END,
};
static const struct dtc_event_field ipi_fields[] = { NUMBER("cpu", DTC_IPI_CPU), ADDRESS("target_cpus", DTC_IPI_MASK),
						     END };
static const struct dtc_event_field idle_fields[] = { NUMBER("state", DTC_IDLE_STATE), END };
static const struct dtc_event_field logger_fields[] = { TEXT("msg", 0), END };
static const struct dtc_event_field dump_process_fields[] = {
	TEXT("name", 0),
	TID("tid", DTC_DUMP_TID),
	NUMBER("pid", DTC_DUMP_PID),
	NUMBER("ppid", DTC_DUMP_PPID),
	NUMBER("type", DTC_DUMP_TYPE),
	NUMBER("status", DTC_DUMP_STATUS),
	NUMBER("cpu", DTC_DUMP_CPU),
	ADDRESS("file_table_address", DTC_DUMP_FILES),
	END,
};
static const struct dtc_event_field dump_fd_fields[] = {
	ADDRESS("file_table_address", DTC_DUMP_FD_FILES),
	NUMBER("pid", DTC_DUMP_FD_PID),
	NUMBER("fd", DTC_DUMP_FD_NUMBER),
	TEXT("filename", 0),
	END,
};
static const struct dtc_event_field dump_interface_fields[] = { TEXT("name", 0),
								ADDRESS("address_ipv4", DTC_DUMP_ADDRESS), END };
static const struct dtc_event_field dump_interrupt_fields[] = {
	NUMBER("irq", DTC_DUMP_IRQ),
	TEXT("action", 0),
	TEXT("name", 1),
	END,
};
static const struct dtc_event_field dump_netns_fields[] = { TID("tid", DTC_DUMP_NETNS_TID),
							    NUMBER("ns_inum", DTC_DUMP_NETNS_INODE), END };
static const struct dtc_event_field dump_block_fields[] = { NUMBER("dev", DTC_DUMP_DEVICE), TEXT("diskname", 0), END };
static const struct dtc_event_field dump_cpu_limit_fields[] = {
	NUMBER("pid", DTC_DUMP_LIMIT_PID),
	TEXT("cgroup", 0),
	NUMBER("quota_us", DTC_DUMP_LIMIT_QUOTA),
	NUMBER("period_us", DTC_DUMP_LIMIT_PERIOD),
	NUMBER("throttled", DTC_DUMP_LIMIT_THROTTLED),
	NUMBER("throttled_us", DTC_DUMP_LIMIT_THROTTLED_US),
	ADDRESS("period_timer", DTC_DUMP_LIMIT_TIMER),
	END,
};
static const struct dtc_event_field kvm_fields[] = {
	NUMBER("vcpu_id", DTC_KVM_VCPU),
	NUMBER("exit_reason", DTC_KVM_REASON),
	NUMBER("isa", DTC_KVM_ISA),
	END,
};
static const struct dtc_event_field guest_irq_fields[] = {
	NUMBER("apicid", DTC_KVM_APIC),
	NUMBER("vector", DTC_KVM_VECTOR),
	END,
};
static const struct dtc_event_field lost_fields[] = {
	NUMBER("count", DTC_LOST_COUNT),
	NUMBER("begin_ns", DTC_LOST_BEGIN),
	END,
};

const struct dtc_event_field *dtc_event_get_fields(const struct dtc_event *event)
{
	switch ((enum dtc_event_kind)event->kind) {
	case DTC_EVENT_SCHED_SWITCH:
		return switch_fields;
	case DTC_EVENT_SCHED_WAKING:
	case DTC_EVENT_SCHED_WAKEUP:
	case DTC_EVENT_SCHED_WAKEUP_NEW:
	case DTC_EVENT_SCHED_MIGRATE:
	case DTC_EVENT_SCHED_EXIT:
	case DTC_EVENT_SCHED_FREE:
		return task_fields;
	case DTC_EVENT_SCHED_FORK:
		return fork_fields;
	case DTC_EVENT_SCHED_EXEC:
		return exec_fields;
	case DTC_EVENT_IRQ_ENTRY:
	case DTC_EVENT_IRQ_EXIT:
		return irq_fields;
	case DTC_EVENT_SOFTIRQ_ENTRY:
	case DTC_EVENT_SOFTIRQ_EXIT:
	case DTC_EVENT_SOFTIRQ_RAISE:
		return softirq_fields;
	case DTC_EVENT_HRTIMER_ENTRY:
	case DTC_EVENT_HRTIMER_EXIT:
	case DTC_EVENT_TIMER_ENTRY:
	case DTC_EVENT_TIMER_EXIT:
		return timer_fields;
	case DTC_EVENT_FAULT_USER:
	case DTC_EVENT_FAULT_KERNEL:
		return fault_fields;
	case DTC_EVENT_PAGE_ALLOC:
	case DTC_EVENT_PAGE_FREE:
		return page_fields;
	case DTC_EVENT_RSS_STAT:
		return rss_fields;
	case DTC_EVENT_VECTOR_ENTRY:
	case DTC_EVENT_VECTOR_EXIT:
		return vector_fields;
	case DTC_EVENT_SYSCALL_ENTRY:
	case DTC_EVENT_SYSCALL_EXIT:
		return call_fields;
	case DTC_EVENT_NET_SEND:
	case DTC_EVENT_NET_XMIT:
	case DTC_EVENT_NET_RECEIVE:
		return net_fields;
	case DTC_EVENT_INET_OUT:
	case DTC_EVENT_INET_IN:
		return inet_fields;
	case DTC_EVENT_BLOCK_GETRQ:
	case DTC_EVENT_BLOCK_INSERT:
	case DTC_EVENT_BLOCK_ISSUE:
	case DTC_EVENT_BLOCK_COMPLETE:
	case DTC_EVENT_BLOCK_FRONT:
	case DTC_EVENT_BLOCK_MERGE:
		return block_fields;
	case DTC_EVENT_WORK_QUEUE:
	case DTC_EVENT_WORK_START:
	case DTC_EVENT_WORK_END:
		return work_fields;
	case DTC_EVENT_SIGNAL_GENERATE:
	case DTC_EVENT_SIGNAL_DELIVER:
		return signal_fields;
	case DTC_EVENT_IPI_SEND:
		return ipi_fields;
	case DTC_EVENT_CPU_IDLE:
		return idle_fields;
	case DTC_EVENT_LOGGER:
		return logger_fields;
	case DTC_EVENT_DUMP_PROCESS:
		return dump_process_fields;
	case DTC_EVENT_DUMP_FD:
		return dump_fd_fields;
	case DTC_EVENT_DUMP_NETNS:
		return dump_netns_fields;
	case DTC_EVENT_DUMP_INTERFACE:
		return dump_interface_fields;
	case DTC_EVENT_DUMP_INTERRUPT:
		return dump_interrupt_fields;
	case DTC_EVENT_DUMP_BLOCK:
		return dump_block_fields;
	case DTC_EVENT_DUMP_CPU_LIMIT:
		return dump_cpu_limit_fields;
	case DTC_EVENT_KVM_ENTRY:
	case DTC_EVENT_KVM_EXIT:
		return kvm_fields;
	case DTC_EVENT_KVM_ACCEPT:
	case DTC_EVENT_KVM_INJECT:
		return guest_irq_fields;
	case DTC_EVENT_LOST:
		return lost_fields;
	case DTC_EVENT_DUMP_END:
	case DTC_EVENT_OTHER:
	case DTC_EVENT_KINDS:
		break;
	}
	return no_fields;
}

bool dtc_event_names_thread(const struct dtc_event *event, int32_t tid)
{
	for (const struct dtc_event_field *field = dtc_event_get_fields(event); field->name; field++)
		if (field->form == DTC_FORM_TID && event->v[field->slot] == tid)
			return true;
	return false;
}
