/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every thread of one node did: flat fixed-size records in node time, built in one pass over the events and
 * self-contained, so that a new alignment of the clocks needs no second pass. Records refer to each other by 32-bit
 * index; DTC_NONE (UINT32_MAX) is "none". The state machine (analyze/state) fills it; after dtc_history_seal it is
 * read-only and may be used from several threads. Whoever asks a history that is not sealed is stopped by an assertion.
 *
 * Invariants after sealing: the intervals of a thread are contiguous, sorted, and span exactly [thread.begin_ns,
 * thread.end_ns]; every wait that ended has exactly one wake, of its own; on each CPU exactly one thread runs at any
 * time; a thread in a guest runs, and its stays there do not overlap; an interval lies in one call and one work, or in
 * none. These, and what is said below of each record and each list, dtc_history_check verifies.
 *
 * The records hold no pointers, and no bytes that nobody sets (the compiler is told to refuse padding): they can be
 * written to a file, mapped by another process, and two equal histories are equal byte by byte.
 */
#pragma once

#include "collect/packets/packets.h"
#include "dtrace-chain/absent.h"
#include "dtrace-chain/time.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum dtc_state {
	DTC_STATE_UNKNOWN,   /* before the thread's first event, or after lost events */
	DTC_STATE_USER,	     /* running in user mode */
	DTC_STATE_SYSCALL,   /* running in a system call */
	DTC_STATE_KERNEL,    /* running: kernel thread, or kernel code outside a system call (fork return, exit) */
	DTC_STATE_IRQ,	     /* a hard interrupt runs on top of the thread */
	DTC_STATE_SOFTIRQ,   /* a softirq runs on top of the thread */
	DTC_STATE_RUNQUEUE,  /* woken, not yet on a CPU */
	DTC_STATE_PREEMPTED, /* switched out while runnable */
	DTC_STATE_WAIT,	     /* not runnable, interruptible sleep */
	DTC_STATE_WAIT_DISK, /* not runnable, uninterruptible sleep */
	DTC_STATE_STOPPED,   /* stopped or traced */
	DTC_STATE_EXITED,    /* zombie, until freed or reused */
	DTC_STATE_IDLE,	     /* the idle thread runs */
	DTC_STATES,
	/* never in a history: what an interval really was, where virtual machines are (analyze/edge/shares.h) */
	DTC_STATE_GUEST = DTC_STATES, /* of a host: a vCPU's thread, in its guest */
	DTC_STATE_VM_PREEMPTED,	      /* of a guest: its vCPU was ready, and another thread had the CPU: stolen */
	DTC_STATE_VM_EXIT,	      /* of a guest: its vCPU was out, and the host worked or waited for it */
	DTC_STATES_OF_SHARES
};

#define DTC_SOFTIRQ_NET_RX 3 /* include/linux/interrupt.h */
/* So long after a call's exit event the kernel may do what the call put off (task_work: the last close of a file). */
#define DTC_CALL_SETTLED_NS 50000
const char *dtc_softirq_to_string(uint32_t vector); /* "net-rx", ...; "softirq" beyond the last */
const char *dtc_state_to_string(enum dtc_state state);
static inline bool dtc_state_is_running(enum dtc_state s)
{
	return s >= DTC_STATE_USER && s <= DTC_STATE_SOFTIRQ;
}
static inline bool dtc_state_is_wait(enum dtc_state s)
{
	return s == DTC_STATE_WAIT || s == DTC_STATE_WAIT_DISK || s == DTC_STATE_STOPPED;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

/* What the getters make of a record of 8 bytes, whoever asks keeps it. */
struct dtc_interval {
	int64_t begin_ns;
	int64_t end_ns;
	uint32_t thread;
	uint32_t call;	/* the system call it lies in, or DTC_NONE */
	uint32_t ref;	/* WAIT*, STOPPED: the wake that ended it; IRQ: string (name); SOFTIRQ: vector; else DTC_NONE */
	uint32_t index; /* its number: those of a thread are consecutive */
	uint32_t last_call; /* the thread's last call that began at or before it, or DTC_NONE */
	uint16_t cpu;	    /* running states: where; RUNQUEUE, PREEMPTED: where it waited, 0xffff if not known */
	uint8_t state;	    /* enum dtc_state */
	uint8_t spare;	    /* 0, here and below */
};
_Static_assert(sizeof(struct dtc_interval) == 40, "made for each look at an interval, and kept with what it explains");

struct dtc_thread {
	int64_t begin_ns; /* first event of the thread, or the trace's begin if the statedump or a switch shows it lived
			   */
	int64_t end_ns;	  /* freed, or the trace's end */
	int32_t tid;
	int32_t pid;		 /* thread group leader; -1 if not known */
	uint32_t parent;	 /* thread that forked it, or DTC_NONE */
	uint32_t leader;	 /* thread of the group leader (may be itself), or DTC_NONE */
	uint32_t interval_first; /* after sealing */
	uint32_t interval_count;
	uint32_t call_first; /* after sealing: calls of this thread are contiguous, in time order */
	uint32_t call_count;
	int32_t idle_cpu; /* the CPU of an idle thread (tid 0), else -1 */
	bool is_kernel;
	uint8_t spare[3];
};
_Static_assert(sizeof(struct dtc_thread) == 56, "walks over all threads of a node touch one cache line for each");

enum dtc_waker {
	DTC_WAKER_UNKNOWN,
	DTC_WAKER_THREAD,  /* thread: by its own code */
	DTC_WAKER_TIMER,   /* hrtimer or timer softirq; ref: string with the timer's function, or DTC_NONE */
	DTC_WAKER_BLOCK,   /* ref: block request that completed */
	DTC_WAKER_PACKET,  /* ref: packet received last in that softirq, or DTC_NONE */
	DTC_WAKER_IRQ,	   /* ref: string, name of the interrupt */
	DTC_WAKER_SOFTIRQ, /* ref: vector */
	DTC_WAKER_IPI,	   /* another CPU: a wakeup that only the target's CPU logged, and whose sender is not known */
	DTC_WAKER_NEW,	   /* sched_wakeup_new: thread is the parent */
};

struct dtc_wake {
	int64_t waking_ns; /* sched_waking: the wait ends */
	int64_t wakeup_ns; /* sched_wakeup: on the runqueue; DTC_TIME_NONE if not seen */
	uint32_t target;
	uint32_t thread;	 /* what was current on the waking CPU (may be an idle thread), or DTC_NONE */
	uint32_t ref;		 /* depends on waker */
	uint16_t cpu;		 /* the waking CPU */
	uint8_t waker;		 /* enum dtc_waker */
	uint8_t signal : 7;	 /* the signal that woke it, or 0 */
	uint8_t is_inferred : 1; /* who did it was found by what the CPUs did: the sender of an IPI, a hidden timer */
};
_Static_assert(sizeof(struct dtc_wake) == 32, "made for each look at a wake, of a record of 24 bytes");

/* Kinds of system calls that the analysis tells apart. */
enum dtc_call_kind {
	DTC_CALL_OTHER,
	DTC_CALL_READ,	/* read, recv*, pread, readv, splice from fd... : takes bytes from fd */
	DTC_CALL_WRITE, /* write, send*, pwrite, writev, sendfile, splice to fd... */
	DTC_CALL_ACCEPT,
	DTC_CALL_CONNECT,
	DTC_CALL_POLL, /* epoll_wait, poll, select and their kin: waits for several fds */
	DTC_CALL_SLEEP,
	DTC_CALL_FUTEX,
	DTC_CALL_SYNC, /* fsync, fdatasync, sync... */
	DTC_CALL_CLOSE,
	DTC_CALL_OPEN,
	DTC_CALL_FORK, /* clone, fork, vfork */
	DTC_CALL_EXEC,
	DTC_CALL_WAITPID,
	DTC_CALL_LOCK,	   /* flock, fcntl(F_SETLKW) */
	DTC_CALL_SIGNAL,   /* pause, sigsuspend, sigtimedwait */
	DTC_CALL_PEEK,	   /* recv with MSG_PEEK: reads, but takes nothing */
	DTC_CALL_RING,	   /* io_uring_enter: does whatever was put in its ring, and waits */
	DTC_CALL_REGISTER, /* epoll_ctl, which says what file is to be waited for, and for what */
};

/* select, ppoll and epoll_pwait2 pass their timeout by pointer; it is no 0: such a poll may have waited. */
#define DTC_TIMEOUT_UNKNOWN ((uint64_t)INT64_MIN)

/* What the getters make of a record of 32 bytes, whoever asks keeps it. */
struct dtc_call {
	int64_t begin_ns;  /* entry; a call of which only the exit was seen has no record, but for ACCEPT: the exit */
	int64_t end_ns;	   /* exit; DTC_TIME_NONE if it never returned in the trace */
	int64_t result;	   /* DTC_ABSENT if not known */
	uint64_t offset;   /* READ, PEEK, WRITE: bytes (or messages) taken or given on this file before the call;
			      POLL: what it returned, for dtc_history_get_ready */
	uint64_t argument; /* FUTEX: uaddr; POLL: timeout in ms, DTC_TIMEOUT_UNKNOWN if the trace does not tell it;
			      ACCEPT that succeeded: the file of the connection; FORK: flags; REGISTER: the file that
			      is added or changed, or DTC_NONE; else the operation (of ioctl, fcntl), or 0 */
	uint32_t thread;
	uint32_t name;	     /* string: "read", "epoll_wait" */
	uint32_t file;	     /* the fd's file, or DTC_NONE */
	uint32_t path;	     /* string: file name argument, or DTC_NONE */
	int32_t fd;	     /* -1: none */
	uint8_t kind;	     /* enum dtc_call_kind */
	uint8_t operation;   /* FUTEX: the operation, and DTC_FUTEX_BY_WALL_CLOCK; REGISTER: EPOLL_CTL_ADD, ...; on
				sockets: the address family; DTC_COUNTS_MESSAGES; else 0 */
	bool closes_on_exec; /* what it opens, or FD_CLOEXEC as it sets it */
	uint8_t spare;
};
_Static_assert(sizeof(struct dtc_call) == 64, "made for each look at a call; a cache line");

/*
 * A poll that only looked, and saw nothing: with timeout 0 it returned 0. It neither waited nor brought anything, so
 * that the turn of a loop goes on over it: asyncio and libuv look so between a read and the write that follows from it.
 */
static inline bool dtc_call_is_glance(const struct dtc_call *call)
{
	return call->kind == DTC_CALL_POLL && call->argument == 0 && call->result == 0;
}

/* recvmmsg, sendmmsg: the result is how many datagrams it took or gave. What these had of bytes is not told. */
#define DTC_COUNTS_MESSAGES 0xff
static inline bool dtc_call_counts_messages(const struct dtc_call *call)
{
	return call->operation == DTC_COUNTS_MESSAGES && (call->kind == DTC_CALL_READ || call->kind == DTC_CALL_WRITE);
}

/* Bytes that a READ or WRITE which succeeded moved, as far as it tells. */
static inline uint64_t dtc_call_get_bytes(const struct dtc_call *call)
{
	return dtc_call_counts_messages(call) ? 0 : (uint64_t)call->result;
}

/* Operations of a FUTEX, without their flags (include/uapi/linux/futex.h): those that are looked at. */
#define DTC_FUTEX_WAIT 0
#define DTC_FUTEX_WAKE 1
#define DTC_FUTEX_WAIT_BITSET 9

/* Of their flags one: its timeout, if it has any, is a time of day. pthread_cond_wait, which has none, has this. */
#define DTC_FUTEX_BY_WALL_CLOCK 0x80

static inline uint8_t dtc_call_get_futex_operation(const struct dtc_call *call)
{
	return call->operation & (uint8_t)~DTC_FUTEX_BY_WALL_CLOCK;
}

/* A wait of a mutex, a condition or a semaphore. */
static inline bool dtc_call_is_futex_wait(const struct dtc_call *call)
{
	return call->kind == DTC_CALL_FUTEX && (dtc_call_get_futex_operation(call) == DTC_FUTEX_WAIT ||
						dtc_call_get_futex_operation(call) == DTC_FUTEX_WAIT_BITSET);
}

enum dtc_file_kind {
	DTC_FILE_UNKNOWN,
	DTC_FILE_PATH,
	DTC_FILE_SOCKET,
	DTC_FILE_PIPE,
	DTC_FILE_EVENT, /* eventfd, timerfd, signalfd, epoll, inotify */
};

/* How the other end of a connection was found that no packet shows (analyze/state/local_sockets.c). */
enum dtc_pairing {
	DTC_PAIRING_NONE, /* it was not, or it is a pipe's or a pair's, which one call made */
	DTC_PAIRING_EXACT,
	DTC_PAIRING_INFERRED, /* by order; or it is older than the trace */
};

/* An open file description, shared by dup and fork. */
struct dtc_file {
	uint32_t name;	   /* string: path, "pipe", "socket"; DTC_NONE if not known */
	uint32_t flow_out; /* SOCKET: flow local -> remote of the packets, or DTC_NONE */
	uint32_t flow_in;  /* its reverse */
	uint32_t base_out; /* sequence number of the first byte written (valid if has_base_out) */
	uint32_t base_in;  /* of a pair older than the trace: bytes read here that were written before it */
	bool has_base_out;
	bool has_base_in;
	uint8_t kind;	     /* enum dtc_file_kind */
	bool listens;	     /* accept was called on it */
	uint64_t read_bytes; /* final counts */
	uint64_t written_bytes;
	int64_t begin_ns; /* when it was first seen */
	uint32_t peer;	  /* PIPE, SOCKET of a pair or of this node alone: the file of the other end, or DTC_NONE */
	uint32_t accept;  /* SOCKET: the call that accepted it, or DTC_NONE */
	int32_t pid;
	/* Calls that are not in the trace, as events were lost, moved bytes between those of its calls: offsets of
	 * these count them, as far as packets tell. */
	bool has_lost_bytes;
	uint8_t pairing; /* enum dtc_pairing */
	bool asks;	 /* of a pair older than the trace: this end asks, as far as is told */
	uint8_t spare;
};
_Static_assert(sizeof(struct dtc_file) == 64,
	       "0.01 of these per event where files are opened and connections accepted");

/* A request to a block device. */
struct dtc_block_request {
	int64_t insert_ns;   /* block_rq_insert, else getrq, else issue */
	int64_t issue_ns;    /* the last time; DTC_TIME_NONE: not seen */
	int64_t complete_ns; /* DTC_TIME_NONE: still in flight at the end */
	int64_t sector;
	uint32_t device;
	uint32_t sectors;
	uint32_t thread; /* that inserted or issued it, or DTC_NONE */
	uint32_t flags;
};
_Static_assert(sizeof(struct dtc_block_request) == 48, "0.003 of these per event on a database");

/* A work item that a kernel worker executed. Those of a worker do not overlap. */
struct dtc_work {
	struct dtc_wake queued; /* who queued it, and when (waking_ns; DTC_TIME_NONE: not seen); target: the worker */
	int64_t begin_ns;
	int64_t end_ns;	   /* DTC_TIME_NONE: not seen */
	uint64_t function; /* address, 0: not known */
};
_Static_assert(sizeof(struct dtc_work) == 56, "0.007 of these per event on a database");

/* Where a packet event happened: in which thread's context, and in which call if it was the call's own work. */
struct dtc_packet_context {
	/*
	 * The other end of its time in this node's queues. Sent, and kept by the qdisc: when it was handed to the
	 * device. Received: when the softirq that took it was asked for. Else DTC_TIME_NONE.
	 */
	int64_t queue_ns;
	uint32_t thread; /* current on that CPU, or DTC_NONE */
	uint32_t call;	 /* DTC_NONE if in a softirq or irq */
	bool in_softirq; /* in an interrupt of any kind */
	uint8_t vector;	 /* the softirq's, if in one (1 timer, 3 net rx); else 0xff */
	uint8_t spare[6];
};
_Static_assert(sizeof(struct dtc_packet_context) == 24, "made of a record of 8 bytes");

/* A CPU's occupancy: thread runs from begin_ns to the next run's begin, the last one to the history's end. */
struct dtc_run {
	int64_t begin_ns;
	uint32_t thread;     /* DTC_NONE: not known */
	uint32_t is_missing; /* 1: not known, since a switch is not in the trace, although no events are said to be lost
			      */
};
_Static_assert(sizeof(struct dtc_run) == 16, "made of a record of 8 bytes");

#define DTC_PERIOD_MAX_US 1000000 /* max_cfs_quota_period, kernel/sched/core.c */

/* What the tightest CPU limit of a process's cgroup and those above it lets it use, as the recorder found it. */
struct dtc_cpu_limit {
	int64_t throttled_us; /* for so long its CPUs were held while it was recorded (cpu.stat); -1: not known */
	int64_t throttled;    /* so often; -1: not known */
	int32_t pid;
	uint32_t cgroup; /* string: whose limit it is */
	uint32_t quota_us;
	uint32_t period_us; /* at most DTC_PERIOD_MAX_US */
};
_Static_assert(sizeof(struct dtc_cpu_limit) == 32, "few; fixed, so that it can be written to a file");

/*
 * A stay of a virtual CPU in its guest, as its host saw it. The host's own time of that thread stays what it is (it is
 * in the ioctl that runs the guest); this says in which parts of it the guest's code ran.
 */
struct dtc_guest_span {
	int64_t entry_ns; /* kvm_entry: the guest ran after this */
	int64_t left_ns;  /* the first event that shows the CPU back in the host: the guest ran before this */
	int64_t exit_ns;  /* kvm_exit, which may come after interrupts of the host; DTC_TIME_NONE: not seen */
	uint32_t thread;
	uint16_t reason; /* of the exit, as the processor codes it; DTC_EXIT_UNKNOWN */
	uint8_t isa;	 /* 1 VMX, 2 SVM: whose codes; 0 not known */
	uint8_t spare;
};
_Static_assert(sizeof(struct dtc_guest_span) == 32, "one for each exit, of which a busy guest has 10^5 a second");
#define DTC_EXIT_UNKNOWN 0xffff

/* KVM_MAX_VCPU_IDS of x86 */
#define DTC_VCPU_LIMIT 4096

/* A thread of this node that entered a guest. */
struct dtc_vcpu {
	uint32_t thread;
	int32_t number; /* below DTC_VCPU_LIMIT; -1 if the trace tells nothing credible (stock lttng-modules on 6.1) */
	uint32_t span_first; /* after sealing: spans of a vCPU are contiguous, in time order */
	uint32_t span_count;
};
_Static_assert(sizeof(struct dtc_vcpu) == 16, "few; fixed, so that it can be written to a file");

/* An interrupt on its way into a guest. */
struct dtc_guest_irq {
	int64_t time_ns;
	uint32_t thread; /* what ran on that CPU: of an injection the vCPU; DTC_NONE inside an interrupt of the host */
	uint8_t apic;	 /* of the vCPU; injections: 0 */
	uint8_t vector;
	bool is_injection; /* it goes in at the next entry; else it became pending */
	uint8_t spare;
};
_Static_assert(sizeof(struct dtc_guest_irq) == 16, "about as many as exits of a guest");

/* A mark from lttng_logger. */
struct dtc_mark {
	int64_t time_ns;
	uint32_t thread;
	uint32_t text; /* string */
};
_Static_assert(sizeof(struct dtc_mark) == 16, "few; fixed, so that it can be written to a file");

/* A page fault; the trace has no event for its end. */
struct dtc_fault {
	int64_t time_ns;
	uint32_t thread;    /* DTC_NONE: not known which ran */
	uint32_t in_kernel; /* 1: the kernel's own access faulted; 0: user code */
};
_Static_assert(sizeof(struct dtc_fault) == 16, "made of a record of 8 bytes");

/* Times of a thread by state, of these states and that CPU alone. */
struct dtc_state_times {
	uint32_t states; /* bits, by enum dtc_state */
	uint32_t cpu;	 /* DTC_NONE: any, or none */
	int64_t ns[DTC_STATES];
};
_Static_assert(sizeof(struct dtc_state_times) == 8 + 8 * DTC_STATES, "a sum, of which there are two a CPU");

#pragma GCC diagnostic pop

typedef struct DtcHistory DtcHistory;

void dtc_history_free(DtcHistory *history);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcHistory, dtc_history_free)

int64_t dtc_history_get_begin_ns(const DtcHistory *history); /* first and last event */
int64_t dtc_history_get_end_ns(const DtcHistory *history);
/* The string with an id, "" for DTC_NONE. Borrowed. */
const char *dtc_history_get_string(const DtcHistory *history, uint32_t string);

uint32_t dtc_history_get_thread_count(const DtcHistory *history);
const struct dtc_thread *dtc_history_get_thread(const DtcHistory *history, uint32_t thread);
/* The thread that had this tid at that time (tids are reused), or the latest with it if time is DTC_TIME_NONE, or
 * DTC_NONE. */
uint32_t dtc_history_find_thread(const DtcHistory *history, int32_t tid, int64_t time_ns);
/* The thread's name at that time; names that only a later event tells (prctl) are carried back to that event's
 * interval. */
const char *dtc_history_get_comm(const DtcHistory *history, uint32_t thread, int64_t time_ns);
/* The name of the thread's group leader at that time: the process. */
const char *dtc_history_get_process(const DtcHistory *history, uint32_t thread, int64_t time_ns);

/*
 * Intervals are given in the caller's place, whose address is the answer. The first one of the thread that ends after
 * time, or NULL.
 */
const struct dtc_interval *dtc_history_get_interval_after(const DtcHistory *history, uint32_t thread, int64_t time_ns,
							  struct dtc_interval *place);
/* The one that follows in its thread, into the same place; NULL: none does. Cheaper than any other. */
const struct dtc_interval *dtc_history_get_next_interval(const DtcHistory *history, struct dtc_interval *place);
/*
 * The same two for whoever looks at the call and the wake of few of many: both are DTC_NONE until they are asked for,
 * and nothing is searched.
 */
const struct dtc_interval *dtc_history_get_plain_after(const DtcHistory *history, uint32_t thread, int64_t time_ns,
						       struct dtc_interval *place);
const struct dtc_interval *dtc_history_get_next_plain(const DtcHistory *history, struct dtc_interval *place);
/*
 * Adds what of [begin_ns, end_ns) is in the interval that the two above have put into place, which begin_ns is not
 * behind, and in those that follow, up to the first of another state or CPU, which is then in place; NULL: all up to
 * end_ns, or to the thread's end, was added, and the last of them is there. So sums over millions of intervals do not
 * take a call, and a copy, for each.
 */
const struct dtc_interval *dtc_history_add_times(const DtcHistory *history, struct dtc_interval *place,
						 int64_t begin_ns, int64_t end_ns, struct dtc_state_times *times);
/* Call and ref of the interval in a place that these have filled. */
void dtc_history_fill_interval(const DtcHistory *history, struct dtc_interval *place);
/* As dtc_history_find_interval_near, likewise. */
const struct dtc_interval *dtc_history_find_plain_near(const DtcHistory *history, uint32_t thread, int64_t time_ns,
						       struct dtc_interval *place);
/* The interval that contains time (begin_ns < time <= end_ns: the one that leads up to it), or NULL. */
const struct dtc_interval *dtc_history_find_interval_before(const DtcHistory *history, uint32_t thread, int64_t time_ns,
							    struct dtc_interval *place);
/*
 * The same, for who looks for one after the other: what was found last stands in place, and if it is of that thread the
 * search begins there. At first its thread is DTC_NONE; with NULL it stays as it is.
 */
const struct dtc_interval *dtc_history_find_interval_near(const DtcHistory *history, uint32_t thread, int64_t time_ns,
							  struct dtc_interval *place);
/* By its number, from the thread's interval_first on. */
const struct dtc_interval *dtc_history_get_interval(const DtcHistory *history, uint32_t thread, uint32_t interval,
						    struct dtc_interval *place);
/* The number of the first interval of the thread that ends after time; what follows its last one if none does. */
uint32_t dtc_history_find_interval_after(const DtcHistory *history, uint32_t thread, int64_t time_ns);
/* By its number, into the caller's place, whose address is the answer. */
const struct dtc_wake *dtc_history_get_wake(const DtcHistory *history, uint32_t wake, struct dtc_wake *place);
/* The same as a copy, for a look at one part of it. */
static inline struct dtc_wake dtc_history_copy_wake(const DtcHistory *history, uint32_t wake)
{
	struct dtc_wake place;
	return *dtc_history_get_wake(history, wake, &place);
}
/* Its waking_ns: for searches; cheaper than all of it. */
int64_t dtc_history_get_waking_ns(const DtcHistory *history, uint32_t wake);
/* All wakes, in the order of waking_ns: also those that ended no wait (of a thread that still ran). */
uint32_t dtc_history_get_wake_count(const DtcHistory *history);
/* All page faults in time order. */
uint32_t dtc_history_get_fault_count(const DtcHistory *history);
struct dtc_fault dtc_history_get_fault(const DtcHistory *history, uint32_t fault);
uint32_t dtc_history_get_call_count(const DtcHistory *history);
/* By its number, into the caller's place, whose address is the answer. */
const struct dtc_call *dtc_history_get_call(const DtcHistory *history, uint32_t call, struct dtc_call *place);
/* The same as a copy, for a look at one part of it. */
static inline struct dtc_call dtc_history_copy_call(const DtcHistory *history, uint32_t call)
{
	struct dtc_call place;
	return *dtc_history_get_call(history, call, &place);
}
/* When it began: for searches; cheaper than all of it. */
int64_t dtc_history_get_call_begin_ns(const DtcHistory *history, uint32_t call);
/* And its offset. */
uint64_t dtc_history_get_call_offset(const DtcHistory *history, uint32_t call);
/* The last call of the thread that began at or before time, or DTC_NONE. Calls of a thread have consecutive ids. */
uint32_t dtc_history_find_call(const DtcHistory *history, uint32_t thread, int64_t time_ns);
/*
 * The files that a poll returned as ready; DTC_NONE is one, or several, that the trace does not tell. With 0 it is not
 * known which: the call returned none, or it is select, or the data of epoll are from before the trace. Borrowed.
 */
const uint32_t *dtc_history_get_ready(const DtcHistory *history, uint32_t call, uint32_t *ret_count);
/* Whether that poll may have returned for the file: it did, or it is not known for which it did. */
bool dtc_history_may_be_ready(const DtcHistory *history, uint32_t call, uint32_t file);
uint32_t dtc_history_get_file_count(const DtcHistory *history);
const struct dtc_file *dtc_history_get_file(const DtcHistory *history, uint32_t file);
/* Sealed: the calls on a file in time order (ids), ret_count of them. Borrowed. */
const uint32_t *dtc_history_get_file_calls(const DtcHistory *history, uint32_t file, uint32_t *ret_count);
/* The file whose packets leave by this flow (flow_out), or DTC_NONE. */
uint32_t dtc_history_find_file_of_flow(const DtcHistory *history, uint32_t flow_out);
uint32_t dtc_history_get_block_request_count(const DtcHistory *history);
const struct dtc_block_request *dtc_history_get_block_request(const DtcHistory *history, uint32_t request);
/* "vda", as the state dump names it, or NULL. Borrowed. */
const char *dtc_history_get_device_name(const DtcHistory *history, uint32_t device);
/* Of a process; NULL: it has none, or it is not known. */
const struct dtc_cpu_limit *dtc_history_find_cpu_limit(const DtcHistory *history, int32_t pid);
/* The last time up to that one at which a period of some cgroup's limit ended; DTC_TIME_NONE: none is known. */
int64_t dtc_history_find_period_end(const DtcHistory *history, int64_t time_ns);
/* Whether the thread executed any: else there is nothing to ask. */
bool dtc_history_is_worker(const DtcHistory *history, uint32_t thread);
/* What the worker executed just before that time, or NULL: nothing, or it is no worker. */
const struct dtc_work *dtc_history_find_work(const DtcHistory *history, uint32_t worker, int64_t time_ns);
/* All work items, by worker (queued.target) and then in time order. */
uint32_t dtc_history_get_work_count(const DtcHistory *history);
const struct dtc_work *dtc_history_get_work(const DtcHistory *history, uint32_t work);
guint dtc_history_get_cpu_count(const DtcHistory *history);
/* How many runs a CPU has; 0 of one that is not there. They are in time order. */
uint32_t dtc_history_get_run_count(const DtcHistory *history, guint cpu);
struct dtc_run dtc_history_get_run(const DtcHistory *history, guint cpu, uint32_t run);
/* The first of them that begins after time; how many there are if none does. */
uint32_t dtc_history_find_run_after(const DtcHistory *history, guint cpu, int64_t time_ns);
/* The same, looked for from near on, which may be any of them or how many there are. */
uint32_t dtc_history_find_run_near(const DtcHistory *history, guint cpu, int64_t time_ns, uint32_t near);
/* Whether some run is_missing. */
bool dtc_history_has_missing(const DtcHistory *history);
/* Threads that entered a guest, in the order of their first entries; none where the trace has no kvm events. */
uint32_t dtc_history_get_vcpu_count(const DtcHistory *history);
const struct dtc_vcpu *dtc_history_get_vcpu(const DtcHistory *history, uint32_t vcpu);
const struct dtc_guest_span *dtc_history_get_guest_span(const DtcHistory *history, uint32_t span);
/* All interrupts for guests in time order. */
uint32_t dtc_history_get_guest_irq_count(const DtcHistory *history);
const struct dtc_guest_irq *dtc_history_get_guest_irq(const DtcHistory *history, uint32_t irq);
uint32_t dtc_history_get_mark_count(const DtcHistory *history);
const struct dtc_mark *dtc_history_get_mark(const DtcHistory *history, uint32_t mark);

/* The kernel's packet events (sealed), and where each happened. Borrowed; owned by the history. */
const DtcPackets *dtc_history_get_packets(const DtcHistory *history);
struct dtc_packet_context dtc_history_get_packet_context(const DtcHistory *history, uint32_t packet);
/* The same without its call, which alone has to be searched: that is DTC_NONE. */
struct dtc_packet_context dtc_history_get_plain_context(const DtcHistory *history, uint32_t packet);

/*
 * Verifies what this header promises, record by record. False with a message that names the first record that breaks a
 * promise, and which. Linear in the records, with a binary search for some.
 */
bool dtc_history_check(const DtcHistory *history, GError **error);

/* The sections of an image that hold a sealed history, its packets included; the image borrows them. */
void dtc_history_save(const DtcHistory *history, DtcImageWriter *writer);
/*
 * The history of an image, sealed; its larger lists stay there. Lists that go together are as long as each other, and
 * nothing more is known of one from elsewhere until dtc_history_check has judged it. Caller owns; NULL with DAMAGED.
 */
DtcHistory *dtc_history_load(DtcImage *image, GError **error);
/* The same without any list: its span and packets are what clocks need. */
DtcHistory *dtc_history_load_packets(DtcImage *image, GError **error);
