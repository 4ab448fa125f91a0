/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The arrays behind a history, for those that need them: history.c (queries, sealing), intervals.c, calls.c, moments.c,
 * wakes.c, check.c, and analyze/state (filling). Nobody else includes this, and only history.c, intervals.c, calls.c,
 * contexts.c, moments.c, wakes.c, forget.c and analyze/state write (tests/lint/history.sh). While a history is filled,
 * intervals stand in a chain for each thread, and calls in the order in which they were written; dtc_history_seal lays
 * both in a row by thread and renames the calls' ids. A sealed history is flat arrays without pointers, but for its
 * packets.
 */
#pragma once

#include "analyze/history/grouper.h"
#include "collect/packets/records.h"
#include "collect/packets/table.h"
#include "dtrace-chain/history.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* as in dtrace-chain/history.h */

/*
 * What is kept of an interval. Those of a thread follow each other without a gap, so that each ends where the next
 * begins, and the last one with the thread. Its call is the thread's last that began at or before it; the wake that
 * ended a wait is the first one of that thread at that time.
 */
struct dtc_interval_record {
	uint64_t begin : 39; /* ns since its era began; the first era begins with the history, the next 2^39 ns later */
	uint64_t state : 4;  /* enum dtc_state */
	uint64_t is_in_call : 1;
	uint64_t cpu : 14; /* DTC_CPU_UNKNOWN */
	uint64_t ref : 6;  /* 0: none; DTC_REF_WAKE, DTC_REF_ODD; else one more than an index in interval_refs */
};
_Static_assert(sizeof(struct dtc_interval_record) == 8, "0.5 to 0.7 of these per event: a third of a history");
#define DTC_ERA_BITS 39
#define DTC_CPU_UNKNOWN 0x3fffu
#define DTC_REF_WAKE 62
#define DTC_REF_ODD 63 /* in odd_refs, by its index */

/* Which of its parts, that only some calls have, the value of a call's record is. */
enum dtc_call_value {
	DTC_VALUE_NONE,
	DTC_VALUE_OFFSET,
	DTC_VALUE_ARGUMENT,
	DTC_VALUE_PATH,
	DTC_VALUE_RESULT, /* as addresses are; the record's own is 0 */
	DTC_VALUE_READY,  /* POLL: offset and argument */
};

/* What is kept of a call. */
struct dtc_call_record {
	uint64_t
		begin : 45; /* ns since the history began; DTC_BEGIN_ODD: the call is in odd_calls, and all else is 0 */
	uint64_t name : 16;
	uint64_t value_kind : 3; /* enum dtc_call_value */
	uint64_t duration : 34;	 /* ns; DTC_DURATION_OPEN: it never returned */
	uint64_t thread : 24;
	uint64_t kind : 5; /* enum dtc_call_kind */
	uint64_t closes_on_exec : 1;
	uint64_t file : 24;   /* the highest: none */
	uint64_t result : 32; /* signed; the lowest: DTC_ABSENT */
	uint64_t operation : 8;
	uint64_t value : 48;
	uint64_t fd : 16; /* the highest: none */
};
_Static_assert(sizeof(struct dtc_call_record) == 32, "0.03 to 0.14 of these per event; two to a cache line");
#define DTC_BEGIN_ODD ((UINT64_C(1) << 45) - 1)
#define DTC_DURATION_OPEN ((UINT64_C(1) << 34) - 1)

/* A call that does not fit. */
struct dtc_odd_call {
	struct dtc_call call;
	uint32_t index;
	uint32_t spare;
};
_Static_assert(sizeof(struct dtc_odd_call) == 72, "a few: calls that took longer than 17 s, or have two values");

/* From that record on, times are in that era. Traces of up to 9 minutes have one only. */
struct dtc_begin_era {
	uint32_t from;
	uint32_t era;
};
_Static_assert(sizeof(struct dtc_begin_era) == 8, "two for each thread or CPU and era");

/* What is kept of a run of a CPU, and of a page fault. */
struct dtc_moment_record {
	uint64_t time : 39;    /* ns since its era began */
	uint64_t thread : 24;  /* the highest: not known */
	uint64_t has_flag : 1; /* a run: is_missing; a fault: in_kernel */
};
_Static_assert(sizeof(struct dtc_moment_record) == 8, "0.05 to 0.2 of these per event; searched by time");
#define DTC_THREAD_BITS 24 /* here, and where a thread stands elsewhere */
/* Of one node; what comes after them is not known. */
#define DTC_THREAD_LIMIT ((1u << DTC_THREAD_BITS) - 1)

/* What does not fit into a record, or is not what a record takes for granted. */
struct dtc_odd_ref {
	uint32_t interval;
	uint32_t ref;
};
_Static_assert(sizeof(struct dtc_odd_ref) == 8, "none, on most machines");

/* What is kept of a packet's context. Its call is the last that the thread made before the packet, or with it. */
struct dtc_context_record {
	uint64_t thread : 30; /* DTC_THREAD_UNKNOWN */
	uint64_t queue : 28;  /* 0: none; DTC_QUEUE_ODD; else 1 more than the ns between it and the packet's time */
	uint64_t vector : 4;  /* DTC_VECTOR_UNKNOWN */
	uint64_t in_softirq : 1;
	uint64_t is_in_call : 1;
};
_Static_assert(sizeof(struct dtc_context_record) == 8, "one beside each packet, up to 0.2 per event");
#define DTC_THREAD_UNKNOWN 0x3fffffffu
#define DTC_QUEUE_ODD 0xfffffff
#define DTC_VECTOR_UNKNOWN 0xfu

/* A context that does not fit. */
struct dtc_odd_context {
	struct dtc_packet_context context;
	uint32_t packet;
	uint32_t spare;
};
_Static_assert(sizeof(struct dtc_odd_context) == 32, "none, on most machines");

/* What is kept of a wake. */
struct dtc_wake_record {
	uint64_t waking : 39; /* ns since its era began */
	uint64_t target : 24;
	uint64_t is_inferred : 1;
	uint64_t thread : 24; /* the highest: not known */
	uint64_t cpu : 16;
	uint64_t waker : 4; /* enum dtc_waker */
	uint64_t signal : 7;
	uint64_t latency_high : 13;
	uint32_t latency_low; /* 1 more than the ns between waking and wakeup; 0: not seen */
	uint32_t ref;
};
_Static_assert(sizeof(struct dtc_wake_record) == 24, "0.01 to 0.05 of these per event; searched by time");

/* While a history is filled, what a record does not hold of one of a thread's or CPU's, by its place among these. */
struct dtc_remark {
	uint32_t owner;
	uint32_t place;
	uint32_t value;
};
_Static_assert(sizeof(struct dtc_remark) == 12, "as many as eras and odd references");

/* While a history is filled, the last run of a CPU, which is not yet among the others. */
struct dtc_last_run {
	struct dtc_run run; /* begin_ns DTC_TIME_NONE: there is none */
	uint32_t era;	    /* of the one before it */
	uint32_t spare;
};
_Static_assert(sizeof(struct dtc_last_run) == 24, "one for each CPU");

/* From from_ns on the thread bears this name, until the next record of the thread. */
struct dtc_name_record {
	int64_t from_ns;
	uint32_t thread;
	uint32_t string;
};
_Static_assert(sizeof(struct dtc_name_record) == 16, "0.005 of these per event; searched by time");

struct dtc_device {
	uint32_t device;
	uint32_t name; /* string */
};
_Static_assert(sizeof(struct dtc_device) == 8, "few; fixed, so that it can be written to a file");

#pragma GCC diagnostic pop

/* What only filling needs; gone when the history is sealed. */
struct dtc_history_filling {
	GStringChunk *string_chunk;
	GPtrArray *strings;	/* const char *, in string_chunk */
	GHashTable *string_ids; /* const char * -> id + 1 */
	guint64 string_bytes;
	DtcGrouper *intervals;	 /* struct dtc_interval_record by thread; NULL: they are laid in a row already */
	uint8_t ref_slots[64];	 /* by what is referred to, modulo: its small number, if it was asked for last there */
	GArray *thread_eras;	 /* uint32_t by thread: of its last record */
	GArray *eras;		 /* struct dtc_remark: where the era of a thread changes, in time order */
	GArray *odd_refs;	 /* struct dtc_remark, likewise */
	DtcTable *calls;	 /* struct dtc_call, in the order of their begins */
	DtcTable *context_calls; /* uint32_t per packet: its call */
	DtcGrouper *runs;	 /* struct dtc_moment_record by CPU, without the last */
	GArray *last_runs;	 /* struct dtc_last_run by CPU */
	GArray *run_eras;	 /* struct dtc_remark: where the era of a CPU's runs changes */
};

struct DtcHistory {
	int64_t begin_ns, end_ns;
	bool is_sealed;
	bool has_missing;		     /* a run that is_missing */
	bool has_forgotten;		     /* some of the calls on files; never so in an image */
	struct dtc_history_filling *filling; /* sealed: NULL */
	DtcTable *string_bytes;		     /* sealed: the strings, each with its NUL */
	GArray *string_at;		     /* sealed: uint32_t per string, where it begins */
	GArray *threads;		     /* struct dtc_thread */
	GArray *tid_previous;		     /* uint32_t per thread: the earlier thread with the same tid */
	GArray *tid_latest;		     /* uint32_t by tid: the latest thread with it */
	DtcTable *names;		     /* struct dtc_name_record; sealed: sorted by (thread, from_ns) */
	GArray *name_first;		     /* sealed: uint32_t per thread + 1 */
	DtcTable *intervals;		     /* sealed: struct dtc_interval_record */
	DtcTable *eras;		 /* sealed: struct dtc_begin_era, by interval; none if all are in the first, as below */
	GArray *interval_refs;	 /* uint32_t: what records of interrupts refer to by a small number */
	DtcTable *odd_refs;	 /* sealed: struct dtc_odd_ref, by interval */
	DtcTable *wakes;	 /* struct dtc_wake_record */
	DtcTable *wake_eras;	 /* struct dtc_begin_era, by wake */
	DtcTable *faults;	 /* struct dtc_moment_record */
	DtcTable *fault_eras;	 /* struct dtc_begin_era, by fault */
	DtcTable *calls;	 /* sealed: struct dtc_call_record, grouped by thread */
	DtcTable *odd_calls;	 /* sealed: struct dtc_odd_call, by index */
	DtcTable *ready;	 /* uint32_t files that polls returned, those of a call in a row */
	DtcTable *files;	 /* struct dtc_file */
	DtcTable *file_calls;	 /* sealed: uint32_t call ids, grouped by file */
	GArray *file_call_first; /* sealed: uint32_t per file + 1 */
	GArray *flow_files;	 /* uint32_t by flow: the file whose flow_out it is */
	DtcTable *blocks;	 /* struct dtc_block_request */
	GArray *devices;	 /* struct dtc_device: disks by name */
	GArray *cpu_limits;	 /* struct dtc_cpu_limit; sealed: by pid, one of each */
	DtcTable *period_ends;	 /* int64_t: when a period of some cgroup's limit ended, in order */
	DtcTable *works;	 /* struct dtc_work; sealed: sorted by (worker, begin_ns) */
	GArray *marks;		 /* struct dtc_mark */
	GArray *vcpus;		 /* struct dtc_vcpu */
	DtcTable *guest_spans;	 /* struct dtc_guest_span; sealed: grouped by vCPU */
	DtcTable *guest_irqs;	 /* struct dtc_guest_irq */
	DtcTable *runs;		 /* sealed: struct dtc_moment_record, grouped by CPU */
	DtcTable *run_eras;	 /* sealed: struct dtc_begin_era, by run */
	GArray *run_first;	 /* sealed: uint32_t per CPU + 1 */
	DtcPackets *packets;
	DtcTable *contexts;	/* struct dtc_context_record per packet */
	DtcTable *odd_contexts; /* struct dtc_odd_context; sealed: by packet */
	DtcImage *image;	/* that holds the records of the tables; NULL: they are their own */
};

DtcHistory *dtc_history_new(void);
/* What stays when it is sealed grows in one space, what does not in the other; both may be one. While it is empty. */
void dtc_history_set_spaces(DtcHistory *history, DtcSpace *space, DtcSpace *scratch);
/* Interns; NULL gives DTC_NONE. */
uint32_t dtc_history_add_string(DtcHistory *history, const char *string);
/* Makes room for the runs of one more CPU; their numbers have no gaps. */
void dtc_history_add_cpu(DtcHistory *history);
/*
 * The next interval of its thread, which begins where the one before it ended. Its call, if it has one, is the last one
 * that the thread made, and the wake that ended a wait is in the history.
 */
void dtc_history_add_interval(DtcHistory *history, const struct dtc_interval *interval);
/* Of the next packet in the history's list, which is there already. */
void dtc_history_add_context(DtcHistory *history, const struct dtc_packet_context *context);
struct dtc_packet_context dtc_history_read_context(const DtcHistory *history, uint32_t packet);
void dtc_history_set_queue(DtcHistory *history, uint32_t packet, int64_t queue_ns);
/*
 * Packs the calls and lays them in a row, by thread; for dtc_history_seal. In renamed, which has room for all, their
 * new numbers.
 */
void dtc_history_seal_calls(DtcHistory *history, uint32_t *renamed);
/* As dtc_history_get_call, as soon as they are packed. */
const struct dtc_call *dtc_history_read_call(const DtcHistory *history, uint32_t call, struct dtc_call *place);
/* Its file alone. */
uint32_t dtc_history_read_call_file(const DtcHistory *history, uint32_t call);
/* When it began; of a call in odd_calls. */
int64_t dtc_history_read_odd_begin(const DtcHistory *history, uint32_t call);
/* When it began; of any call. */
static inline int64_t dtc_history_read_call_begin(const DtcHistory *history, uint32_t call)
{
	uint64_t begin = DTC_AT(history->calls, struct dtc_call_record, call)->begin;
	if (G_UNLIKELY(begin == DTC_BEGIN_ODD))
		return dtc_history_read_odd_begin(history, call);
	return (int64_t)((uint64_t)history->begin_ns + begin);
}
/* For dtc_history_seal: calls have got their last ids, in the order of their first. */
void dtc_history_seal_contexts(DtcHistory *history, const uint32_t *renamed);
/*
 * Lays the intervals in a row, by thread, unless they are: for dtc_history_seal, and for who has added all of them and
 * seals something else first, whose lists then take the room that their chains had in the scratch space.
 */
void dtc_history_seal_intervals(DtcHistory *history);
/* A CPU changes hands, not before its last run began. */
void dtc_history_add_run(DtcHistory *history, uint32_t cpu, int64_t begin_ns, uint32_t thread);
/* Of a CPU of which it is not known who has it: since a switch is missing. */
void dtc_history_mark_missing(DtcHistory *history, uint32_t cpu);
/* The last run of the CPU, NULL if it has none. Borrowed until the next is added. */
const struct dtc_run *dtc_history_get_last_run(const DtcHistory *history, uint32_t cpu);
/* Not before the last wake; gives its number. */
uint32_t dtc_history_add_wake(DtcHistory *history, const struct dtc_wake *wake);
void dtc_history_set_wakeup(DtcHistory *history, uint32_t wake, int64_t wakeup_ns);
/* A wake that was taken for a timer's without being told so was the thread's that sent it. */
void dtc_history_set_signal(DtcHistory *history, uint32_t wake, uint8_t signal);
/* Its record; distance is that of waking_ns. */
struct dtc_wake_record dtc_wake_pack(uint64_t distance, const struct dtc_wake *wake);
/* Of a record. */
uint32_t dtc_eras_find(const DtcTable *eras, uint32_t index);
/* As soon as it is there. */
static inline int64_t dtc_history_read_waking_ns(const DtcHistory *history, uint32_t wake)
{
	uint64_t distance = DTC_AT(history->wakes, struct dtc_wake_record, wake)->waking;
	if (G_UNLIKELY(history->wake_eras->len > 0))
		distance += (uint64_t)dtc_eras_find(history->wake_eras, wake) << DTC_ERA_BITS;
	return (int64_t)((uint64_t)history->begin_ns + distance);
}
/* All of it, into the caller's place, whose address is the answer. */
const struct dtc_wake *dtc_history_read_wake(const DtcHistory *history, uint32_t wake, struct dtc_wake *place);
uint32_t dtc_history_read_wake_target(const DtcHistory *history, uint32_t wake);
void dtc_history_add_fault(DtcHistory *history, const struct dtc_fault *fault);
/* Lays the runs in a row, by CPU; for dtc_history_seal. */
void dtc_history_seal_runs(DtcHistory *history);
/*
 * All records that events have made are taken back, but for the last run of each CPU and the last name of each thread.
 * Threads, files, strings, flows and marks keep their numbers; no file knows any more which call accepted it. Whoever
 * fills the history adds anew what is still open, and gives each thread one interval up to what it does now.
 */
void dtc_history_forget(DtcHistory *history);
/* How much dtc_history_forget would take back, about. */
guint64 dtc_history_measure_filling(const DtcHistory *history);
/* By owner and place. */
int dtc_remark_compare(const void *a, const void *b);
/*
 * Of changes (struct dtc_remark, which it sorts; value: the era), by number of the record; first[owner] is where the
 * records of an owner begin, also behind the last owner. Each owner's begin in the first era.
 */
void dtc_eras_index(GArray *changes, const uint32_t *first, DtcTable *eras);
/* The next record of a list in time order, at that index, is so far from the history's begin. */
void dtc_eras_follow(DtcTable *eras, uint32_t index, uint64_t distance);
/* How far that is; what was told to happen before the trace's first event happened with it. */
static inline uint64_t dtc_history_measure(const DtcHistory *history, int64_t time_ns)
{
	return time_ns > history->begin_ns ? (uint64_t)time_ns - (uint64_t)history->begin_ns : 0;
}
/* Of a POLL, its offset: where its files begin among those that polls returned, and how many. */
#define DTC_READY_AT(first, count) ((uint64_t)(count) << 32 | (first))
/* Groups intervals, calls and runs, renames ids, builds the indexes. Everything must be closed; once only. */
void dtc_history_seal(DtcHistory *history);