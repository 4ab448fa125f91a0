/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The arrays behind a history, for the two that need them: history.c (queries, sealing) and analyze/state (filling).
 * Nobody else includes this. While a history is filled, intervals and calls stand in the order in which they were
 * written; dtc_history_seal groups both by thread and renames the ids.
 */
#pragma once

#include "collect/read/table.h"
#include "dtrace-chain/history.h"

/* From from_ns on the thread bears this name, until the next record of the thread. */
struct dtc_name_record {
	int64_t from_ns;
	uint32_t thread;
	uint32_t string;
};

struct dtc_device {
	uint32_t device;
	uint32_t name; /* string */
};

struct DtcHistory {
	int64_t begin_ns, end_ns;
	GStringChunk *string_chunk;
	GPtrArray *strings;	 /* const char *, in string_chunk */
	GHashTable *string_ids;	 /* const char * -> id + 1 */
	GArray *threads;	 /* struct dtc_thread */
	GArray *tid_previous;	 /* uint32_t per thread: the earlier thread with the same tid */
	GArray *tid_latest;	 /* uint32_t by tid: the latest thread with it */
	DtcTable *names;	 /* struct dtc_name_record; sealed: sorted by (thread, from_ns) */
	GArray *name_first;	 /* sealed: uint32_t per thread + 1 */
	DtcTable *intervals;	 /* struct dtc_interval */
	DtcTable *wakes;	 /* struct dtc_wake */
	DtcTable *faults;	 /* struct dtc_fault */
	DtcTable *calls;	 /* struct dtc_call */
	GArray *files;		 /* struct dtc_file */
	DtcTable *file_calls;	 /* sealed: uint32_t call ids, grouped by file */
	GArray *file_call_first; /* sealed: uint32_t per file + 1 */
	GArray *flow_files;	 /* uint32_t by flow: the file whose flow_out it is */
	DtcTable *blocks;	 /* struct dtc_block_request */
	GArray *devices;	 /* struct dtc_device: disks by name */
	DtcTable *works;	 /* struct dtc_work; sealed: sorted by (worker, begin_ns) */
	GArray *marks;		 /* struct dtc_mark */
	GArray *vcpus;		 /* struct dtc_vcpu */
	DtcTable *guest_spans;	 /* struct dtc_guest_span; sealed: grouped by vCPU */
	DtcTable *guest_irqs;	 /* struct dtc_guest_irq */
	GPtrArray *runs;	 /* per CPU: GArray of struct dtc_run */
	DtcPackets *packets;
	DtcTable *contexts; /* struct dtc_packet_context per packet */
};

DtcHistory *dtc_history_new(void);
/* Interns; NULL gives DTC_NONE. */
uint32_t dtc_history_add_string(DtcHistory *history, const char *string);
/* Groups intervals and calls by thread, renames ids, builds the indexes. Everything must be closed. */
void dtc_history_seal(DtcHistory *history);
