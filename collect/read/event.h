/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A kernel event as the stages after the reader see it: node time, CPU, kind, a few integers in slots whose meaning
 * depends on the kind, two borrowed strings, and packet headers for net events. The reader maps the spellings
 * of LTTng 2.0 to 2.13 and of perf/ftrace onto kinds and slots by a table (spellings.c); classes are resolved once.
 */
#pragma once

#include "collect/packets/headers.h"
#include "dtrace-chain/absent.h"

#include <stdbool.h>
#include <stdint.h>

enum dtc_event_kind {
	DTC_EVENT_OTHER, /* counted under its name, otherwise ignored */
	DTC_EVENT_SCHED_SWITCH,
	DTC_EVENT_SCHED_WAKING,
	DTC_EVENT_SCHED_WAKEUP,
	DTC_EVENT_SCHED_WAKEUP_NEW,
	DTC_EVENT_SCHED_MIGRATE,
	DTC_EVENT_SCHED_FORK,
	DTC_EVENT_SCHED_EXEC,
	DTC_EVENT_SCHED_EXIT,
	DTC_EVENT_SCHED_FREE,
	DTC_EVENT_IRQ_ENTRY,
	DTC_EVENT_IRQ_EXIT,
	DTC_EVENT_SOFTIRQ_ENTRY,
	DTC_EVENT_SOFTIRQ_EXIT,
	DTC_EVENT_SOFTIRQ_RAISE,
	DTC_EVENT_HRTIMER_ENTRY,
	DTC_EVENT_HRTIMER_EXIT,
	DTC_EVENT_TIMER_ENTRY,
	DTC_EVENT_TIMER_EXIT,
	DTC_EVENT_FAULT_USER,
	DTC_EVENT_FAULT_KERNEL,
	DTC_EVENT_PAGE_ALLOC,	/* mm_page_alloc */
	DTC_EVENT_PAGE_FREE,	/* mm_page_free */
	DTC_EVENT_RSS_STAT,	/* what a process has in memory of one kind has changed */
	DTC_EVENT_VECTOR_ENTRY, /* x86_irq_vectors_*_entry (and ipi entry of other architectures) */
	DTC_EVENT_VECTOR_EXIT,
	DTC_EVENT_SYSCALL_ENTRY,
	DTC_EVENT_SYSCALL_EXIT,
	DTC_EVENT_NET_SEND,    /* net_dev_queue */
	DTC_EVENT_NET_XMIT,    /* net_dev_xmit: left the qdisc */
	DTC_EVENT_NET_RECEIVE, /* net_if_receive_skb, netif_receive_skb */
	DTC_EVENT_INET_OUT,    /* inet_sock_local_out (LTTng 2.1): only seq, ack_seq, flags */
	DTC_EVENT_INET_IN,
	DTC_EVENT_BLOCK_GETRQ,
	DTC_EVENT_BLOCK_INSERT,
	DTC_EVENT_BLOCK_ISSUE,
	DTC_EVENT_BLOCK_COMPLETE,
	DTC_EVENT_BLOCK_FRONT, /* a bio was put before a request: sector and nr_sector are the bio's */
	DTC_EVENT_BLOCK_MERGE, /* a request was put behind another, and is none any more */
	DTC_EVENT_WORK_QUEUE,
	DTC_EVENT_WORK_START,
	DTC_EVENT_WORK_END,
	DTC_EVENT_SIGNAL_GENERATE,
	DTC_EVENT_SIGNAL_DELIVER,
	DTC_EVENT_IPI_SEND, /* ipi_raise, ipi_send_cpu: on the sender's CPU */
	DTC_EVENT_CPU_IDLE,
	DTC_EVENT_LOGGER,
	DTC_EVENT_DUMP_PROCESS,
	DTC_EVENT_DUMP_FD,
	DTC_EVENT_DUMP_INTERFACE,
	DTC_EVENT_DUMP_INTERRUPT,
	DTC_EVENT_DUMP_BLOCK,
	DTC_EVENT_DUMP_NETNS,
	DTC_EVENT_DUMP_CPU_LIMIT,
	DTC_EVENT_DUMP_END,
	DTC_EVENT_KVM_ENTRY,
	DTC_EVENT_KVM_EXIT,
	DTC_EVENT_KVM_ACCEPT, /* kvm_apic_accept_irq: an interrupt becomes pending for a vCPU, on whatever CPU */
	DTC_EVENT_KVM_INJECT, /* kvm_inj_virq: it is put into the guest at the next entry */
	DTC_EVENT_LOST,	      /* made by the reader: events (or a whole packet) of this CPU were lost up to time */
	DTC_EVENT_KINDS
};

/*
 * Slots by kind. Fields are widened to 64 bits; addresses of kernel objects keep their bits; DTC_ABSENT is in the slot
 * of a field that the event does not have.
 */
enum {
	/* SCHED_SWITCH: text[0] prev_comm, text[1] next_comm */
	DTC_SWITCH_PREV_TID = 0,
	DTC_SWITCH_PREV_STATE,
	DTC_SWITCH_NEXT_TID,
	DTC_SWITCH_PREV_PRIO,
	DTC_SWITCH_NEXT_PRIO,
	DTC_SWITCH_REPAIRED, /* 1: dtrace-collect put it in, since it was missing (dtrace-collect only) */
	/* SCHED_WAKING, WAKEUP, WAKEUP_NEW, MIGRATE, EXEC, EXIT, FREE: text[0] comm (EXEC: filename) */
	DTC_TASK_TID = 0,
	DTC_TASK_TARGET_CPU, /* target_cpu, dest_cpu */
	DTC_TASK_PRIO,
	DTC_TASK_OLD_TID,  /* EXEC */
	DTC_TASK_FROM_CPU, /* MIGRATE: orig_cpu */
	/* SCHED_FORK: text[0] parent_comm, text[1] child_comm */
	DTC_FORK_PARENT_TID = 0,
	DTC_FORK_PARENT_PID,
	DTC_FORK_CHILD_TID,
	DTC_FORK_CHILD_PID, /* = child tid for a new process, = parent pid for a new thread */
	/* IRQ_*: text[0] name (action) */
	DTC_IRQ_NUMBER = 0,
	DTC_IRQ_RESULT,
	/* SOFTIRQ_* */
	DTC_SOFTIRQ_VECTOR = 0,
	/* HRTIMER_*, TIMER_* */
	DTC_TIMER_ADDRESS = 0,
	DTC_TIMER_FUNCTION,
	/* FAULT_* */
	DTC_FAULT_ADDRESS = 0,
	DTC_FAULT_IP,
	DTC_FAULT_ERROR,
	/* PAGE_* */
	DTC_PAGE_FRAME = 0, /* pfn; -1: there was none to give */
	DTC_PAGE_ORDER,	    /* 2^order pages */
	/* RSS_STAT */
	DTC_RSS_MM = 0, /* hash of the address space */
	DTC_RSS_IS_OWN, /* it is that of the thread which runs */
	DTC_RSS_MEMBER, /* enum in include/linux/mm_types_task.h: 0 file, 1 anonymous, 2 in swap, 3 shared */
	DTC_RSS_BYTES,
	/* VECTOR_*: text[0] reason (ipi_entry) */
	DTC_VECTOR_NUMBER = 0,
	DTC_VECTOR_TYPE, /* enum dtc_vector, from the event's name */
	/* SYSCALL_ENTRY, SYSCALL_EXIT: text[0] file name (filename, pathname, name, oldname; NULL if none) */
	DTC_CALL_NAME = 0, /* index for dtc_reader_get_syscall_name; 0 is "unknown" (old exit_syscall has no name) */
	DTC_CALL_NUMBER,   /* syscall_entry_unknown: its id; else absent */
	DTC_CALL_FD,	   /* first of: epfd, out_fd, fildes, oldfd, fd_in, fd, sockfd */
	DTC_CALL_FD2,	   /* first of: in_fd, newfd, fd_out; with epfd also fd; exit of pipe, socketpair: the second */
	DTC_CALL_LENGTH,   /* count, len, size, nbytes, vlen */
	DTC_CALL_UADDR,	   /* uaddr (futex) */
	DTC_CALL_OP,	   /* op, cmd, request, which, which_clock, type (socket) */
	DTC_CALL_FLAGS,	   /* flags, clone_flags */
	DTC_CALL_FAMILY,   /* family (connect, accept, sendto, recvfrom, socket) */
	DTC_CALL_PORT,	   /* dport or sport, host order */
	DTC_CALL_RET,	   /* exit only */
	DTC_CALL_VALUE,	   /* val, arg, protocol; epoll_ctl: its event's data */
	DTC_CALL_TIMEOUT,  /* timeout, timeout_msecs */
	DTC_CALL_PID,	   /* pid, tid, upid: kill, wait4, ptrace */
	/*
	 * NET_*: headers; text[0] interface name. INET_*: v[DTC_NET_SKB] is the socket; the headers have ip_version 0,
	 * but protocol (TCP), seq, ack, tcp_flags and window.
	 */
	DTC_NET_SKB = 0,
	DTC_NET_LENGTH, /* len as traced: with the Ethernet header on send, without it on receive */
	DTC_NET_RESULT, /* XMIT: rc */
	DTC_NET_NETNS,	/* inode of the network namespace, 0: not known; absent in LTTng's */
	DTC_NET_SOURCE, /* enum dtc_header_source; absent in LTTng's */
	/* BLOCK_*: text[0] comm */
	DTC_BLOCK_DEVICE = 0,
	DTC_BLOCK_SECTOR,
	DTC_BLOCK_SECTORS, /* nr_sector */
	DTC_BLOCK_FLAGS,   /* rwbs as a number (bit 0 write, 0x1 read...) as LTTng gives it */
	DTC_BLOCK_TID,
	DTC_BLOCK_ERROR,
	/* WORK_* */
	DTC_WORK_ADDRESS = 0,
	DTC_WORK_FUNCTION,
	/* SIGNAL_*: text[0] comm */
	DTC_SIGNAL_NUMBER = 0,
	DTC_SIGNAL_TID, /* pid field of signal_generate: the target */
	/* IPI_SEND */
	DTC_IPI_CPU = 0, /* the target, or */
	DTC_IPI_MASK,	 /* a mask of the targets among the first 64 */
	/* CPU_IDLE */
	DTC_IDLE_STATE = 0, /* 4294967295: leaving idle */
	/* LOGGER: text[0] msg */
	/* DUMP_PROCESS: text[0] name */
	DTC_DUMP_TID = 0,
	DTC_DUMP_PID,
	DTC_DUMP_PPID,
	DTC_DUMP_TYPE, /* 0 user thread, 1 kernel thread */
	DTC_DUMP_STATUS,
	DTC_DUMP_CPU,
	DTC_DUMP_FILES, /* file_table_address; absent before LTTng 2.10 */
	/* DUMP_NETNS: the network namespace of a thread */
	DTC_DUMP_NETNS_TID = 0,
	DTC_DUMP_NETNS_INODE,
	/* DUMP_FD: text[0] filename */
	DTC_DUMP_FD_FILES = 0, /* file_table_address; absent before 2.10 */
	DTC_DUMP_FD_PID,       /* pid; absent since 2.10 */
	DTC_DUMP_FD_NUMBER,
	/* DUMP_INTERFACE: text[0] name */
	DTC_DUMP_ADDRESS = 0, /* IPv4, host order */
	/* DUMP_INTERRUPT: text[0] action, text[1] chip name */
	DTC_DUMP_IRQ = 0,
	/* DUMP_BLOCK: text[0] diskname */
	DTC_DUMP_DEVICE = 0,
	/* DUMP_CPU_LIMIT: text[0] cgroup */
	DTC_DUMP_LIMIT_PID = 0,
	DTC_DUMP_LIMIT_QUOTA,
	DTC_DUMP_LIMIT_PERIOD,
	DTC_DUMP_LIMIT_THROTTLED,
	DTC_DUMP_LIMIT_THROTTLED_US,
	DTC_DUMP_LIMIT_TIMER,
	/* KVM_*: the vCPU is the thread that runs; vcpu_id of stock modules is garbage */
	DTC_KVM_VCPU = 0, /* ENTRY, EXIT */
	DTC_KVM_REASON,	  /* EXIT: the processor's code; what it means depends on ISA */
	DTC_KVM_ISA,	  /* EXIT: 1 VMX, 2 SVM; absent in old traces and on other architectures */
	DTC_KVM_APIC,	  /* ACCEPT: APIC id of the vCPU */
	DTC_KVM_VECTOR,	  /* ACCEPT, INJECT */
	/* LOST */
	DTC_LOST_COUNT = 0, /* events, absent if not known */
	DTC_LOST_BEGIN,	    /* node time in ns at which the gap begins; event.time_ns is its end */

	DTC_EVENT_FEW_SLOTS = 8, /* of all kinds but calls */
	DTC_EVENT_SLOTS = 14
};

/* Descriptors of one poll that are kept. A loop takes more at once only where it is far behind. */
#define DTC_EVENT_READY 64

enum dtc_vector {
	DTC_VECTOR_OTHER,
	DTC_VECTOR_LOCAL_TIMER,
	DTC_VECTOR_RESCHEDULE,
	DTC_VECTOR_CALL_FUNCTION,
	DTC_VECTOR_CALL_FUNCTION_SINGLE,
	DTC_VECTOR_IRQ_WORK,
	DTC_VECTOR_IPI, /* ipi_entry: not x86, and not told which */
};

/*
 * No kernel is built for more (the most that CONFIG_NR_CPUS takes is 8192): a packet that claims another is damaged.
 * Later stages size arrays by cpu.
 */
#define DTC_CPU_LIMIT 8192

/* What is used of nearly every event comes first: three lines of the cache. */
struct dtc_event {
	int64_t time_ns; /* node time */
	uint32_t cpu;	 /* below DTC_CPU_LIMIT */
	uint16_t kind;	 /* enum dtc_event_kind */
	uint16_t name;	 /* index for dtc_reader_get_event_name */
	bool has_address;
	bool has_tid;	    /* the event itself says whose context it happened in */
	bool is_ready_data; /* of ready: the data of epoll_ctl that belongs to a descriptor; else the descriptor */
	uint16_t ready_count;
	int64_t tid;
	const char *text[2];	    /* borrowed until the next event; NULL if absent */
	int64_t v[DTC_EVENT_SLOTS]; /* those behind DTC_EVENT_FEW_SLOTS are set for SYSCALL_* alone */
	uint8_t address[16];	    /* syscalls with an address: IPv4 mapped or IPv6 */
	/* SYSCALL_EXIT of poll, ppoll and epoll_wait's kin: what is ready, of which the first so many are kept */
	int64_t ready[DTC_EVENT_READY];
	struct dtc_headers headers; /* net kinds only */
};

static inline unsigned dtc_event_get_slot_count(uint16_t kind)
{
	return kind == DTC_EVENT_SYSCALL_ENTRY || kind == DTC_EVENT_SYSCALL_EXIT ? DTC_EVENT_SLOTS
										 : DTC_EVENT_FEW_SLOTS;
}
