/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the threads of one node did in a span, summed: LTT's per-process table. A row's times are of one of three kinds:
 * basic columns, which cut the row's life in the span into disjoint parts (they sum to it to the nanosecond); sums of
 * some of these (CPU, BLOCKED, LIFE); and counts of events inside the span, which are no times.
 *
 * Cost: one pass over the intervals that meet the span, one binary search and one pass for each kind of event.
 */
#pragma once

#include "analyze/edge/links.h"
#include "dtrace-chain/history.h"
#include "dtrace-chain/path.h"

enum dtc_profile_column {
	/* basic: on a CPU */
	DTC_PROFILE_USER,
	DTC_PROFILE_SYSTEM,  /* system calls, kernel threads */
	DTC_PROFILE_IRQ,     /* hard interrupts on top of it */
	DTC_PROFILE_SOFTIRQ, /* softirqs on top of it */
	DTC_PROFILE_GUEST,   /* a vCPU's thread, in its guest */
	/* basic: runnable, not on a CPU */
	DTC_PROFILE_RUNQUEUE,
	DTC_PROFILE_PREEMPTED,
	/* basic: a guest's thread that had its CPU or waited for it, while the vCPU was away */
	DTC_PROFILE_VM_PREEMPTED, /* ready, and another had the host's CPU: stolen */
	DTC_PROFILE_VM_EXIT,	  /* the host worked or waited for it */
	/* basic: waiting, by cause */
	DTC_PROFILE_DISK,
	DTC_PROFILE_PAGE_FAULT,
	DTC_PROFILE_NETWORK, /* send and receive */
	DTC_PROFILE_TIMER,
	DTC_PROFILE_LOCK,
	DTC_PROFILE_IPC,
	DTC_PROFILE_FORK_EXEC,
	DTC_PROFILE_CHILD, /* until one ended, or changed its state */
	DTC_PROFILE_DEVICE,
	DTC_PROFILE_STOPPED,
	DTC_PROFILE_WAIT, /* not told for what: not woken until the trace's end, and no sleep, or by nobody it shows */
	/* basic: the rest */
	DTC_PROFILE_EXITED, /* zombie */
	DTC_PROFILE_IDLE,   /* the idle thread runs */
	DTC_PROFILE_UNKNOWN,
	DTC_PROFILE_BASIC_COLUMNS,
	/* sums */
	DTC_PROFILE_CPU = DTC_PROFILE_BASIC_COLUMNS, /* user, system, irq, softirq, guest */
	DTC_PROFILE_IO,				     /* disk, page-fault */
	DTC_PROFILE_BLOCKED,			     /* all waits but IO */
	DTC_PROFILE_LIFE,			     /* all */
	/* counts */
	DTC_PROFILE_CALLS,    /* system calls begun */
	DTC_PROFILE_FAULTS,   /* page faults */
	DTC_PROFILE_WOKEN,    /* wakeups received */
	DTC_PROFILE_WAKES,    /* wakeups given: by its own code, not by an interrupt on top of it */
	DTC_PROFILE_SWITCHES, /* times it was switched in */
	DTC_PROFILE_COLUMNS
};

/* "user", "page-fault", ...: names of columns for options and keys; NULL beyond the last. */
const char *dtc_profile_column_to_string(enum dtc_profile_column column);
/* False if no column has that name. */
bool dtc_profile_column_parse(const char *name, enum dtc_profile_column *ret_column);
static inline bool dtc_profile_column_is_count(enum dtc_profile_column column)
{
	return column >= DTC_PROFILE_CALLS;
}

struct dtc_profile_row {
	guint node;			    /* as given to dtc_profile_threads */
	uint32_t thread;		    /* of a process: its leader, or the first thread seen of it */
	uint32_t thread_count;		    /* 1, or of a process the threads that lived in the span */
	int64_t value[DTC_PROFILE_COLUMNS]; /* ns, or counts */
};

/* The column in which the time of an interval, or of a part of one (edge/shares.h), is counted; always a basic one. */
enum dtc_profile_column dtc_profile_get_column(const DtcHistory *history, const struct dtc_interval *interval);

/*
 * Appends a row per thread that lived in [begin, end], in the order of the history, the idle threads included. Events
 * are counted if begin <= time < end, those at the very end of the history too. rows: struct dtc_profile_row. links may
 * be NULL: then a guest's time is as it seems to the guest, and a host does not know what a guest is.
 */
void dtc_profile_add_threads(GArray *rows, const DtcLinks *links, guint node, const DtcHistory *history,
			     DtcNodeTime begin, DtcNodeTime end);

/* What one CPU did in a span: the parts sum to span_ns. */
struct dtc_profile_cpu {
	int64_t span_ns;
	int64_t user_ns; /* threads but the idle one */
	int64_t system_ns;
	int64_t irq_ns; /* on top of any thread, the idle one too */
	int64_t softirq_ns;
	int64_t guest_ns;
	int64_t vm_preempted_ns; /* of a guest's CPU: what ran on it did not, since the vCPU was away */
	int64_t vm_exit_ns;
	int64_t idle_ns;      /* also while the vCPU was away */
	int64_t unknown_ns;   /* before the first switch shows who runs, and lost events */
	uint32_t wrong_count; /* runs of a thread that was not running meanwhile: a defect */
};
/* links as of dtc_profile_add_threads. */
struct dtc_profile_cpu dtc_profile_get_cpu(const DtcLinks *links, guint node, const DtcHistory *history, guint cpu,
					   DtcNodeTime begin, DtcNodeTime end);
/* What all CPUs of a node did together. */
struct dtc_profile_cpu dtc_profile_sum_cpus(const struct dtc_profile_cpu *cpus, guint count);

/* Sums the rows of threads of the same process (one node's rows, idle threads left out). Caller owns. */
GArray *dtc_profile_group_processes(const GArray *rows, const DtcHistory *history);

/* Largest value of the column first; ties by more CPU time, then by node and thread: always the same order. */
void dtc_profile_sort(GArray *rows, enum dtc_profile_column column);
