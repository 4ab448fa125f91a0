/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads a bundle: the kernel trace of a node, or all its captures, is one recording, read by one thread from beginning
 * to end; as many at a time as there are processors. Where recordings are fewer, what reads one may have the threads
 * that are left. Threads share nothing: what they find is left in the record of their recording, and whoever started
 * them takes it in the order of the records, not in that in which they ended.
 */
#pragma once

#include "analyze/engine/watch.h"
#include "collect/image/space.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/finding.h"

#include <glib.h>
#include <stdbool.h>

#define DTC_READING_STEP 4096 /* events or packets between two notes */

/* What is read, and how far; the first member of a record that has room for the results, too. */
struct dtc_reading {
	const struct dtc_bundle_node *node; /* borrowed */
	guint node_index;
	bool is_capture;       /* the node's captures; else its kernel trace */
	DtcFindings *findings; /* owned; the reader adds to them */
	GError *error;	       /* owned; for the reader: why it could not read, or not to the end */
	guint64 all_bytes;
	/* owned, of all of a list: where grows what is needed for a while, and what is read, if it is not kept */
	DtcSpace *scratch;
	/* of dtc_reading_note and dtc_reading_run alone */
	gint steps; /* atomic: notes taken */
	gint kib;   /* atomic: read so far; a recording that has more than 2 TiB just seems to stand still */
	const gint *stop;
	gint *spare; /* for the reader: threads of the run that have nothing to do (dtc_reader_share_threads) */
};

/*
 * A record for the kernel trace and one for the captures of every node that has them, in this order, by node: size
 * bytes, of which the first are a struct dtc_reading, the others 0. free_record frees a record after
 * dtc_reading_clear. The bundle must outlive them. Caller owns.
 */
GPtrArray *dtc_readings_new(const DtcBundle *bundle, gsize size, GDestroyNotify free_record);
void dtc_reading_clear(struct dtc_reading *reading);
/* That a kernel trace cannot be read, and why, as a finding: the others are answered. */
void dtc_reading_report_error(const char *node, const GError *reason, DtcFindings *findings);

/*
 * Calls read_record for every record, each in one of several threads of which none is left afterwards. False with an
 * error if the watcher stops it (the records are then half read) or there are no threads.
 */
bool dtc_readings_run(GPtrArray *readings, void (*read_record)(struct dtc_reading *), const struct dtc_watch *watch,
		      GError **error);

/*
 * For read_record, after every DTC_READING_STEP events; done_bytes counts from the beginning of the recording. False:
 * stop, nobody will look at the result.
 */
bool dtc_reading_note(struct dtc_reading *reading, guint64 done_bytes);
