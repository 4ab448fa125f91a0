/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events in the sub-buffers of a CPU. Written here rather than left to libtraceevent's kbuffer, which trusts every
 * length in the page: these files may be damaged. Nothing outside of a sub-buffer's committed part is read, whatever
 * its bytes; a page that contradicts itself or its neighbours is read up to there, and what it may have held is lost.
 *
 * A sub-buffer (Linux, kernel/trace/ring_buffer.c; header_page says where):
 *   0  u64   time of the first event, ns
 *   8  long  committed bytes; bit 31: events before this page were lost; bit 30: how many is in the 8 bytes behind them
 *  16        events, each a 32-bit word (5 bits type, 27 bits time since the event before) and its data
 * type 1..28: that many words of data; 0: their bytes, this word included, are in the next word; 29: nothing, of so
 * many bytes as the next word says, or up to the end if the time is 0; 30: 27 bits and the next word are a time to add;
 * 31: a time
 */
#pragma once

#include "collect/seal/formats.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_LOST_UNKNOWN UINT64_MAX

struct dtc_raw_event {
	int64_t time_ns;     /* not before the event before */
	const uint8_t *data; /* borrowed until the next event */
	uint32_t bytes;
	uint64_t lost; /* events that are lost right before this one; DTC_LOST_UNKNOWN: some */
};

struct dtc_pages_summary {
	uint64_t pages;
	uint64_t damaged_pages; /* in part or as a whole */
	uint64_t lost;		/* as far as pages tell */
	uint64_t uncounted;	/* times that pages do not tell how many */
	bool is_cut;		/* the file ends within a page */
};

typedef struct DtcPages DtcPages;

/* Times outside of the span are damage. Caller owns. */
DtcPages *dtc_pages_open(const char *path, const struct dtc_page_layout *layout, uint32_t page_bytes, int64_t begin_ns,
			 int64_t end_ns, GError **error);
/*
 * Leaves out events before that time. What was lost up to there, and before the first event of all, was overwritten as
 * a flight recorder's buffer is meant to be: it counts as nothing.
 */
void dtc_pages_skip_until(DtcPages *pages, int64_t from_ns);
void dtc_pages_free(DtcPages *pages);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcPages, dtc_pages_free)
/* False at the end, or where the file cannot be read further: dtc_pages_finish tells. */
bool dtc_pages_next(DtcPages *pages, struct dtc_raw_event *ret_event);
/* How many were lost behind the last event. */
uint64_t dtc_pages_get_lost_at_end(const DtcPages *pages);
bool dtc_pages_finish(DtcPages *pages, struct dtc_pages_summary *ret_summary, GError **error);
