/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What processes had in memory over time, where the trace has events of it: what is resident of each (rss_stat, from
 * Linux 5.5 on), and the pages that were allocated and freed while they ran (mm_page_alloc, mm_page_free). A history
 * has none of these: the traces are read once more. Steps are those of the usage.
 *
 * Resident is known from a process' first event of a kind of pages (of files, anonymous, shared) on: what it had before
 * is not in the trace, so that a figure is that of the kinds that were seen. Who allocated a page need not keep it:
 * what a process writes to a file stays in the cache. What interrupts allocate and free is a row by itself.
 *
 * Conservation: the rows' allocated and freed bytes sum to their node's.
 */
#pragma once

#include "analyze/engine/reading.h"
#include "analyze/profile/usage.h"

#include <stdint.h>

#define DTC_MEMORY_UNKNOWN (-1)

/* The processes of one name on a node, as far as there are events of their memory. */
struct dtc_memory_row {
	char *name; /* NULL: interrupts, or not known who ran. Owned */
	bool is_interrupts;
	bool has_resident;
	int64_t most_bytes; /* resident, at any time of the span */
	int64_t last_bytes; /* resident, at its end */
	int64_t *resident;  /* by step: at its end; DTC_MEMORY_UNKNOWN before the first is known. Owned */
	uint64_t allocated_bytes, freed_bytes;
};

struct dtc_memory {
	struct dtc_reading reading;
	const struct dtc_usage_node *axis; /* borrowed: steps */
	int64_t interval_ns;
	const DtcClocks *clocks; /* borrowed */
	bool is_told;		 /* there is a trace that can be read, and it has some of these events */
	bool has_resident;	 /* rss_stat */
	bool has_pages;		 /* mm_page_alloc, mm_page_free */
	uint64_t allocated_bytes, freed_bytes;
	int64_t *change; /* by step: pages allocated less freed, in bytes. Owned */
	GArray *rows;	 /* struct dtc_memory_row: most resident first, then most allocated; NULL: nothing is told */
};

/* Reads one of them, which is zeroed but for its reading and what is borrowed. */
void dtc_memory_read(struct dtc_memory *memory);
/* Rows, which free what they have. */
GArray *dtc_memory_rows_new(void);
/*
 * One for each kernel trace of the bundle, in the order of the nodes, as struct dtc_memory *; those of captures are
 * empty. What is borrowed must outlive it. NULL with an error if the watcher stops it. Free with g_ptr_array_unref.
 */
GPtrArray *dtc_memories_new(const DtcBundle *bundle, const DtcUsage *usage, const DtcClocks *clocks,
			    const struct dtc_watch *watch, DtcFindings *findings, GError **error);
