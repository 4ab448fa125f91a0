/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where threads were blocked, without following any single wait: the waits of a thread with the same cause, call and
 * waker are one row. Costs one pass over the intervals, and a look-up per wait that a packet ended.
 */
#pragma once

#include "analyze/edge/edges.h"
#include "dtrace-chain/path.h"

/* Which waits of a node count: those that end after begin and begin before end, cut to the span. */
struct dtc_blocked_part {
	DtcNodeTime begin;
	DtcNodeTime end;	/* not after begin: none */
	const uint8_t *threads; /* by thread, whether it counts; NULL: all do */
};

struct dtc_blocked_options {
	const struct dtc_blocked_part *parts; /* by node; NULL: all waits count */
	int64_t min_ns;			      /* leave out waits that are shorter */
};

struct dtc_blocked_row {
	guint node;
	uint32_t thread;
	enum dtc_cause cause;
	char *call;  /* owned: "read(to 10.77.0.3:9000)"; NULL: outside a system call */
	char *waker; /* owned: "redis-server (tid 137)", "packet from app@backend", "timer"; NULL: it did not end */
	uint64_t count;
	int64_t total_ns;
	int64_t max_ns;
	DtcClusterTime max_begin; /* of the longest */
};

typedef struct DtcBlocked DtcBlocked;

/* Caller owns; edges are borrowed for the call. */
DtcBlocked *dtc_blocked_new(const DtcEdges *edges, const struct dtc_blocked_options *options);
void dtc_blocked_free(DtcBlocked *blocked);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcBlocked, dtc_blocked_free)
/* Rows by total, longest first. Borrowed. */
guint dtc_blocked_get_count(const DtcBlocked *blocked);
const struct dtc_blocked_row *dtc_blocked_get_row(const DtcBlocked *blocked, guint index);
