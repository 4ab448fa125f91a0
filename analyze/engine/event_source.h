/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of one node's kernel trace, one after the other, with who runs on their CPU, on cluster time; and which of
 * them are wanted.
 */
#pragma once

#include "analyze/engine/event_line.h"
#include "collect/read/reader.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/sync.h"

typedef struct DtcEventSource DtcEventSource;

/* What is wanted of it; everything is borrowed. */
struct dtc_event_wants {
	int32_t tid;	       /* events that this thread was running at, or that name it; -1: all */
	char *const *patterns; /* of names, NULL-terminated; NULL: all */
	int64_t from_ns;       /* cluster time, both inclusive */
	int64_t to_ns;
};

/* node: its number in clocks. Errors as of dtc_reader_open_node. At the first event. Caller owns. */
DtcEventSource *dtc_event_source_open(const struct dtc_bundle_node *from, const DtcClocks *clocks, guint node,
				      GError **error);
void dtc_event_source_free(DtcEventSource *source);

DtcReader *dtc_event_source_get_reader(DtcEventSource *source);
/* False: it has ended. */
bool dtc_event_source_get_time(const DtcEventSource *source, DtcClusterTime *ret_time);
/* Whether the event is wanted, which must be asked of each; then the line is it, but for where times count from. */
bool dtc_event_source_look(DtcEventSource *source, const struct dtc_event_wants *wants,
			   struct dtc_event_line *ret_line);
/* On to the next event; true if the one that is left tells of a loss. */
bool dtc_event_source_leave(DtcEventSource *source);
/* An event that was looked at has a wanted name. */
bool dtc_event_source_has_matched(const DtcEventSource *source);
