/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which thread and which part of its life --thread NODE:TID or NODE:NAME, --from and --to mean. */
#pragma once

#include "dtrace-chain/bundle.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/history.h"

#include <glib.h>
#include <stdbool.h>

struct dtc_thread_spec {
	char *node; /* strings are owned */
	char *name; /* NULL: the tid counts */
	int32_t tid;
};

/*
 * Splits NODE:TID or NODE:NAME where the name of a node of the bundle ends. If it has no such node (or is NULL), a
 * number after the last colon is a tid, and else the node ends at the first colon.
 */
bool dtc_thread_spec_parse(const char *text, const DtcBundle *bundle, struct dtc_thread_spec *ret_spec, GError **error);
void dtc_thread_spec_clear(struct dtc_thread_spec *spec);

struct dtc_thread_span {
	uint32_t thread;
	DtcNodeTime begin; /* of with_parents it may lie before the thread's birth */
	DtcNodeTime end;   /* after begin */
};

/*
 * The thread that had the tid or the name on a node in [from, to] (texts as dtc_moment_parse takes them; NULL: its
 * whole life up to its exit), cut to its life; with_parents a span that begins before its birth is cut where it is not
 * known any more who made whom (analyze/path/lineage.h). A cut is a finding that says why. Errors name threads that are
 * there. A tid that was used again is a finding: the last owner is taken. A name is the one that a thread had last in
 * the span; several threads of it are an error that lists the tids.
 */
bool dtc_thread_spec_find(const DtcHistory *history, const struct dtc_thread_spec *spec, const char *from,
			  const char *to, bool with_parents, DtcFindings *findings, struct dtc_thread_span *ret_span,
			  GError **error);
