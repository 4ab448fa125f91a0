/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of kernel traces divided by where they came: by CPU, or by what that CPU did (after the statistics of
 * LTT and LTTV). All events are decoded for that, and for contexts the states are followed; nothing is kept. The parts
 * of a node sum to its events, kind by kind.
 */
#pragma once

#include "analyze/engine/reading.h"
#include "dtrace-chain/history.h"

#include <stdint.h>

enum dtc_split_by { DTC_SPLIT_BY_CPU, DTC_SPLIT_BY_CONTEXT };

/* Events of one name. */
struct dtc_split_kind {
	char *name; /* owned */
	guint64 count;
};

struct dtc_split_part {
	uint32_t cpu;	      /* BY_CPU; else DTC_NONE */
	enum dtc_state state; /* BY_CONTEXT: what the CPU did: USER, SYSCALL, KERNEL, IRQ, SOFTIRQ, IDLE, UNKNOWN */
	char *name;	      /* of the call, interrupt or softirq; NULL: there is none, or it is not known. Owned */
	char *process;	      /* that had the CPU, "idle" for none; NULL: not known. Owned */
	guint64 events;
	GArray *kinds; /* struct dtc_split_kind, most frequent first. Owned */
};

struct dtc_split {
	struct dtc_reading reading;
	enum dtc_split_by by;
	GArray *parts; /* struct dtc_split_part: by CPU, or most events first; NULL: there is no trace, or none to read
			*/
};

/*
 * One for each recording of the bundle, in the order of the nodes, as struct dtc_split *; captures have no parts. Its
 * findings are the census' too, but for that of an index, which has no events. NULL with an error if the watcher stops
 * it. Free with g_ptr_array_unref; the bundle must outlive it.
 */
GPtrArray *dtc_splits_new(const DtcBundle *bundle, enum dtc_split_by by, const struct dtc_watch *watch,
			  DtcFindings *findings, GError **error);
/* Divides the events of one of them, which is zeroed but for its reading and how. */
void dtc_split_read(struct dtc_split *split);
/* Parts, which free what they have; each is added with no kinds and all else to be set. */
GArray *dtc_split_parts_new(void);
struct dtc_split_part *dtc_split_parts_add(GArray *parts);
/* Of a node; NULL: it has none. */
const struct dtc_split *dtc_splits_find(const GPtrArray *splits, guint node_index);
