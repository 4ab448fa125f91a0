/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of all nodes in one list on cluster time, so that any figure can be traced to what it was computed from.
 * The list is merged while it is read: its length costs no memory.
 */
#pragma once

#include "analyze/engine/event_line.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/sync.h"

/* What is listed; all zeros but tid, -1: everything. Everything is borrowed. */
struct dtc_event_filter {
	int32_t tid; /* only events that this thread was running at, or that name it; -1: all. Of a bundle of one node
		      */
	const char *kinds; /* only events of these names, "NAME,NAME", * and ? stand for any characters; NULL: all */
	const char *from;  /* as dtc_moment_parse takes them, both inclusive; NULL: all */
	const char *to;
	int64_t end_ns; /* cluster time of the last event, for a time of day; else anything */
};

typedef struct DtcEventList DtcEventList;

/*
 * Of every node with a kernel trace that can be read; that of another is a finding. IMPOSSIBLE if there is none, USAGE
 * if from is after to. All of these must outlive the list. Caller owns.
 */
DtcEventList *dtc_event_list_new(const DtcBundle *bundle, const DtcClocks *clocks,
				 const struct dtc_event_filter *filter, DtcFindings *findings, GError **error);
void dtc_event_list_free(DtcEventList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcEventList, dtc_event_list_free)

/* The next one, borrowed until the next call; NULL at the end, and from then on. */
const struct dtc_event_line *dtc_event_list_next(DtcEventList *list);
/*
 * After the last that is wanted, which need not be the last there is. Adds what the readers found. NOT_FOUND if no
 * event that was read bears a wanted name, as other codes for what cannot be read to its end.
 */
bool dtc_event_list_finish(DtcEventList *list, GError **error);
