/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far several threads are with reading: each counts in a record of its own, and whoever draws the progress line
 * adds them up.
 */
#pragma once

#include "analyze/cli/terminal.h"
#include "dtrace-chain/bundle.h"

#include <glib.h>

#define DTC_READING_STEP 4096	   /* events between two notes */
#define DTC_READING_WAIT_US 200000 /* between two looks at them */

struct dtc_reading {
	gint steps;	   /* atomic: notes taken */
	gint kib;	   /* atomic: read so far; a recording that has more than 2 TiB just seems to stand still */
	guint64 all_bytes; /* set before the threads run */
};

/* What a node's kernel trace, or all its captures, hold. */
guint64 dtc_reading_measure(const struct dtc_bundle_node *node, bool is_capture);
/* After every DTC_READING_STEP events; done_bytes counts from the beginning of the recording. */
void dtc_reading_note(struct dtc_reading *reading, guint64 done_bytes);
/* When the whole recording was read, or no more of it can be. */
void dtc_reading_end(struct dtc_reading *reading);

/* Draws the line if it is due, from records that lie stride_bytes apart. */
void dtc_reading_show(const struct dtc_reading *first, gsize stride_bytes, guint count, gint64 begin_us,
		      DtcProgress *progress);
/* "reading: 38 % of 299 MB, 2.1 M events at 1.9 M/s, 12 s left": what is shown of a sum; caller frees. */
char *dtc_reading_describe(guint64 events, guint64 done_bytes, guint64 all_bytes, double seconds);
