/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where threads were blocked, without following any single wait: the waits of a thread with the same cause, call and
 * waker are one row. Costs one pass over the intervals, and a look-up per wait that a packet ended.
 */
#pragma once

#include "analyze/edge/edges.h"
#include "analyze/edge/wake_context.h"
#include "dtrace-chain/path.h"

/* Which waits of a node count: those that end after begin and begin before end, cut to the span. */
struct dtc_blocked_part {
	DtcNodeTime begin;
	DtcNodeTime end;	/* not after begin: none */
	const uint8_t *threads; /* by thread, whether it counts; NULL: all do */
};

struct dtc_blocked_options {
	const GArray *lineage; /* struct dtc_lineage_part: only their waits, on lineage_node; or NULL */
	guint lineage_node;
	const struct dtc_blocked_part *parts; /* by node; NULL: all waits count */
	int64_t min_ns;			      /* leave out waits that are shorter */
	/* How long requests waited for the wait with that index in the intervals of a node; NULL: not known. */
	int64_t (*weigh)(gconstpointer data, guint node, uint32_t interval);
	gconstpointer weigh_data;
};

enum dtc_blocked_by {
	DTC_BLOCKED_OPEN,	 /* nobody ended it */
	DTC_BLOCKED_BY_WAKE,	 /* who made the wake of the first of them */
	DTC_BLOCKED_BY_DISK,	 /* device */
	DTC_BLOCKED_BY_PROCESS,	 /* a packet of it came */
	DTC_BLOCKED_BY_KERNEL,	 /* a packet of node's kernel */
	DTC_BLOCKED_BY_HOST,	 /* a packet from that address, which no node has */
	DTC_BLOCKED_BY_SOMEBODY, /* a packet */
};

/* Who ended waits. Without padding, and 0 where it does not apply: compared as bytes. */
struct dtc_blocked_end {
	uint32_t by; /* enum dtc_blocked_by */
	uint32_t node;
	const char *process; /* borrowed of the node's history */
	uint64_t device;
	uint8_t address[16];
};
_Static_assert(sizeof(struct dtc_blocked_end) == 40, "no padding in what is compared as bytes");

/* In what the waits of a row were ended. */
struct dtc_blocked_context {
	struct dtc_wake_context first; /* of the first of these: its file stands for those of the same label */
	uint64_t count;
};

struct dtc_blocked_row {
	guint node;
	uint32_t thread;
	enum dtc_cause cause;
	/* of the waits: its call, file and wake are theirs, but that files of one label (exchange/label.h) are one, and
	   sectors */
	struct dtc_interval first;
	struct dtc_blocked_end ended;
	uint64_t count;
	int64_t total_ns;
	int64_t request_ns; /* how long requests waited for these, together; 0 if that is not known */
	int64_t away_ns; /* of total: what was to end them was there, and the vCPU of a guest was away (edge/shares.h)
			  */
	int64_t max_ns;
	DtcClusterTime max_begin; /* of the longest */
	/*
	 * struct dtc_blocked_context, the most frequent first; their counts sum to that of the waits that ended. Kinds
	 * of calls, labels of files and interrupts are told apart, threads are not. Owned by the table.
	 */
	GArray *contexts;
};

typedef struct DtcBlocked DtcBlocked;

/* Caller owns; edges are borrowed for the call. */
DtcBlocked *dtc_blocked_new(const DtcEdges *edges, const struct dtc_blocked_options *options);
void dtc_blocked_free(DtcBlocked *blocked);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcBlocked, dtc_blocked_free)
/* Rows by what requests waited, then by total, longest first. Borrowed. */
guint dtc_blocked_get_count(const DtcBlocked *blocked);
const struct dtc_blocked_row *dtc_blocked_get_row(const DtcBlocked *blocked, guint index);
