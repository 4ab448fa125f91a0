/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The critical path of a thread over a span of cluster time: contiguous segments, each the work or wait of one thread,
 * that explain the span down to the nanosecond; and the nested causality: what the target was blocked on, what the
 * waker was blocked on meanwhile, and so on down. Both come from the same wake and message edges.
 */
#pragma once

#include "dtrace-chain/history.h"
#include "dtrace-chain/time.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The names that reports print for these are the contract in docs/formats.md. */
enum dtc_cause {
	DTC_CAUSE_RUNNING_USER,
	DTC_CAUSE_RUNNING_KERNEL,
	DTC_CAUSE_RUNNING_GUEST, /* a vCPU's thread of a host, in its guest */
	DTC_CAUSE_RUNQUEUE,
	DTC_CAUSE_PREEMPTED,
	DTC_CAUSE_CPU_LIMIT, /* ready, and held by the limit of its cgroup */
	DTC_CAUSE_IRQ,
	DTC_CAUSE_SOFTIRQ,
	DTC_CAUSE_TIMER,
	DTC_CAUSE_DISK,
	DTC_CAUSE_LOCK,
	DTC_CAUSE_IPC,
	DTC_CAUSE_PAGE_FAULT,
	DTC_CAUSE_FORK_EXEC,
	DTC_CAUSE_CHILD,
	DTC_CAUSE_NETWORK_SEND,
	DTC_CAUSE_NETWORK_WIRE,
	DTC_CAUSE_NETWORK_RECEIVE,
	DTC_CAUSE_RETRANSMISSION,
	DTC_CAUSE_VM_PREEMPTED,
	DTC_CAUSE_VM_EXIT,
	DTC_CAUSE_DEVICE,
	DTC_CAUSE_STOPPED,
	DTC_CAUSE_UNKNOWN,
	DTC_CAUSES
};
/* "running-user", "network-wire", ... */
const char *dtc_cause_to_string(enum dtc_cause cause);

enum dtc_link_quality {
	DTC_LINK_EXACT,	   /* bytes or events matched */
	DTC_LINK_INFERRED, /* by order on the connection or thread */
	DTC_LINK_UNKNOWN,
};
const char *dtc_link_quality_to_string(enum dtc_link_quality quality);

/* What a span was, beside its cause: who makes words of it takes them from this and from the records it names. */
enum dtc_reason {
	DTC_REASON_NONE, /* the cause says it all */
	DTC_REASON_OWN,	 /* what its interval tells: call, wake, disk request, who had the CPU, interrupt */
	/* of a blocking */
	DTC_REASON_ON_CPU,	   /* no wait: a stretch of work, on_cpu_ns of it on a CPU */
	DTC_REASON_NOT_YET_QUEUED, /* a kernel worker's work item */
	DTC_REASON_NOT_YET_GIVEN,  /* what the thread was going to answer: another thread made it */
	DTC_REASON_ASKED,	   /* for what was asked on file */
	/* where the way ends, or goes on at an older call */
	DTC_REASON_UNTRACED_SENDER, /* interval: for a packet whose sender is not traced */
	DTC_REASON_UNTRACED_PEER,   /* of file: it answers */
	DTC_REASON_UNKNOWN_BEFORE,  /* nothing is known before */
	DTC_REASON_CIRCLE,	    /* causes lead back to each other */
	/*
	 * interval: a runtime that schedules by itself: for what the request waited inside of the process is not in the
	 * trace, only what ended it
	 */
	DTC_REASON_INSIDE,
	DTC_REASON_SPENT,    /* interval: the part of it in which the limit of its thread's cgroup was spent */
	DTC_REASON_IDLE_CPU, /* interval: the part of it in which the CPU that its thread was ready for was idle */
	/* a vCPU was not in its guest: node, interval and exit are the host's */
	DTC_REASON_HOST_PREEMPTED,
	DTC_REASON_HOST_EXIT,
	DTC_REASON_HOST_BLOCKED,
	/* the way of a message */
	DTC_REASON_WIRE,
	DTC_REASON_RECEIVER_SOFTIRQ, /* it had arrived, and the receiver's softirq did not yet run */
	DTC_REASON_QDISC,	     /* of the sender */
	DTC_REASON_KERNEL_ANSWER,    /* a kernel answers a packet by itself */
	DTC_REASON_DELAYED_ACK,
	/* it was sent again, copies times in all */
	DTC_REASON_SENT_AGAIN,
	DTC_REASON_HANDSHAKE_TIMEOUT,
	DTC_REASON_RETRANSMISSION_TIMEOUT,
	DTC_REASON_TAIL_LOSS_PROBE,
	DTC_REASON_REORDERING_TIMER,
	DTC_REASON_FAST_RETRANSMIT,
	/* its bytes waited in the sender's socket */
	DTC_REASON_HELD, /* it is not known for what */
	DTC_REASON_HELD_BY_RECEIVER,
	DTC_REASON_HELD_BY_CONGESTION,
	DTC_REASON_HELD_BY_QUEUE,
	DTC_REASON_HELD_BY_TIMER,
	DTC_REASON_HELD_BY_NAGLE,
	DTC_REASON_HELD_BACK, /* a disk request, before it was made: throttled */
	DTC_REASONS
};
/* "own", "tail-loss-probe", ... as in docs/formats.md; NULL for DTC_REASON_NONE. */
const char *dtc_reason_to_string(enum dtc_reason reason);

/*
 * The records of the histories that tell what a span of a thread was, as ids: for programs, and for who makes words of
 * them. What does not apply is NULL or DTC_NONE.
 */
struct dtc_evidence {
	enum dtc_reason reason;
	guint node; /* whose interval and file are */
	bool has_interval;
	struct dtc_interval interval; /* call, wake, CPU */
	uint32_t file;
	uint32_t copies;      /* of a message that was sent again */
	uint16_t exit_reason; /* HOST_EXIT: as in struct dtc_guest_span */
	uint8_t isa;	      /* and this */
	uint32_t packet;      /* that arrived on the span's node */
	guint sent_node;      /* who sent it: valid with sent_packet */
	uint32_t sent_packet;
	uint32_t sent_call; /* that wrote it */
	guint by_node;	    /* who ended the wait, or had the CPU: valid with by_thread */
	uint32_t by_thread;
	int64_t on_cpu_ns; /* of a stretch of work */
};

struct dtc_segment {
	DtcClusterTime begin;
	DtcClusterTime end;
	guint node;	 /* index in the bundle; of a wire segment: the receiver */
	uint32_t thread; /* index in that node's history; DTC_NONE if not known */
	enum dtc_cause cause;
	struct dtc_evidence evidence;
	enum dtc_link_quality link; /* how sure the step is that led to this segment from the later one */
	int64_t uncertainty_ns;	    /* of the clocks, for a step between nodes; 0 within a node */
	int32_t tid, pid;
	/* strings are borrowed of the history and the requests */
	const char *comm;      /* the thread's name at that time */
	const char *process;   /* its group leader's */
	const char *busy_with; /* or NULL: id of the other request for which the thread worked */
	/* or NULL: for which it may have worked instead of that, or, without that, instead of the one on the path */
	const char *candidate;
	bool by_kernel; /* it answered a packet by itself, whatever the thread did meanwhile */
	bool is_kernel; /* no thread, or one of the kernel */
	/* for whom this time is explained: who waited for this segment's thread; 0: nobody, it is on the path itself */
	guint waiter;
	guint owner; /* the request, plus 1, for which the walk looks at this time; 0: not known */
};

/* A thread whose wait is explained by what others did, and who, in turn, waited for it. */
struct dtc_waiter {
	guint node;
	uint32_t thread;
	guint outer; /* as a segment's waiter: always smaller than this one's own number */
};

/* Who ended a blocking. */
enum dtc_ender {
	DTC_ENDED_BY_NOBODY,  /* a stretch of work */
	DTC_ENDED_BY_WAKE,    /* who made the wake of the evidence's interval; or it was not woken */
	DTC_ENDED_BY_THREAD,  /* node, thread */
	DTC_ENDED_BY_MESSAGE, /* that node and thread sent; thread may be DTC_NONE: not known */
	DTC_ENDED_BY_KERNEL,  /* of node, which sent packet by itself */
	DTC_ENDED_BY_HOST,    /* node: it ran the vCPU again */
};

struct dtc_end {
	enum dtc_ender by;
	guint node;
	uint32_t thread;
	uint32_t packet;
	int64_t at_ns; /* node time: when it did it, and had its name */
};

/*
 * A blocking of a thread, and beneath it what its waker was blocked on meanwhile. Children in time order. Between the
 * blockings of a waker stand its stretches of work (ended by nobody): it was not blocked, and so delayed the one above.
 */
struct dtc_blocking {
	DtcClusterTime begin;
	DtcClusterTime end;
	guint node;
	uint32_t thread;
	int32_t tid, pid;
	const char *comm; /* borrowed of the history */
	const char *process;
	enum dtc_cause cause; /* why it lasted, seen from this thread: lock, ipc, disk, timer, network-receive, ... */
	struct dtc_evidence evidence;
	struct dtc_end ended;
	enum dtc_link_quality link;
	/* index in the list; G_MAXUINT for a blocking of the target itself, or of who the path was with before it */
	guint parent;
	guint depth; /* 0 without a parent */
};

/* A message on the path that seems to arrive before it was sent: its wire time counts as nothing. */
struct dtc_reversal {
	guint from; /* node */
	guint to;
	int64_t by_ns;		/* how much too early it seems to arrive */
	int64_t uncertainty_ns; /* of the two clocks: not more than this is possible, more is a contradiction */
};

/* Blockings nested deeper are left out with a finding: JSON readers give up at some depth too. */
#define DTC_REPORT_MAX_DEPTH 100

typedef struct DtcPath DtcPath;

void dtc_path_free(DtcPath *path);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcPath, dtc_path_free)

DtcClusterTime dtc_path_get_begin(const DtcPath *path);
DtcClusterTime dtc_path_get_end(const DtcPath *path);
/* Segments from the earliest to the latest; contiguous from begin to end. Borrowed. */
guint dtc_path_get_segment_count(const DtcPath *path);
const struct dtc_segment *dtc_path_get_segment(const DtcPath *path, guint index);
/* Of a segment, or of another waiter; NULL for 0. Borrowed. */
const struct dtc_waiter *dtc_path_get_waiter(const DtcPath *path, guint waiter);
/* Blockings in depth-first order (a parent before its children). Borrowed. */
guint dtc_path_get_blocking_count(const DtcPath *path);
const struct dtc_blocking *dtc_path_get_blocking(const DtcPath *path, guint index);
/* Further blockings that are only counted, since whoever asked shows none so short, nor what is beneath them:
 * those of a report's depths, and deeper ones. */
guint dtc_path_get_untold_count(const DtcPath *path, guint *ret_deep);
guint dtc_path_get_reversal_count(const DtcPath *path);
const struct dtc_reversal *dtc_path_get_reversal(const DtcPath *path, guint index);
/* Conservation: segments contiguous, none empty or negative, sum equal to the span. */
bool dtc_path_check(const DtcPath *path, GError **error);
