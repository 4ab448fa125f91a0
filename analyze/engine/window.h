/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of a long recording only what lies about a span: each trace is followed from its begin, so that what threads do, what
 * is open and which connection a descriptor is are known as ever, but nothing is kept of what happened before the span
 * and its lead, and nothing is read of what comes behind. The answer is that of a recording which was made for that
 * time alone by somebody who knew what was the case when it began: clocks are aligned by the packets in it, and
 * requests are those that lie in it.
 *
 * When that is on each node's clock is known for certain only once clocks are aligned, for which packets must have been
 * read. So the first seconds of each recording are read to align them about; where these do not tell, clocks are
 * believed to the second. If that turns out wrong, everything is read.
 */
#pragma once

#include "dtrace-chain/bundle.h"
#include "dtrace-chain/history.h"
#include "dtrace-chain/sync.h"

#include <stdbool.h>
#include <stdint.h>

/* What is asked; borrowed. */
struct dtc_window {
	const char *from; /* as dtc_moment_parse takes them; NULL: from the begin, to the end */
	const char *to;
	const char *of;	 /* the node from whose begin relative times count; NULL: the first */
	int64_t lead_ns; /* so much before and after is kept as well */
};

/* What is kept of a node's recordings, on its clock. */
struct dtc_window_span {
	int64_t begin_ns;
	int64_t end_ns;
};

/* When a node's trace begins, or its captures if it has none that can be read. */
struct dtc_window_begin {
	int64_t ns; /* DTC_TIME_NONE: there is neither */
	bool is_trace;
};

/* Of a node that is here. */
struct dtc_window_begin dtc_window_find_begin(const struct dtc_bundle_node *node);
/* By node; caller owns. */
struct dtc_window_begin *dtc_window_find_begins(const DtcBundle *bundle);
/* By node, what is read to align the clocks about. Caller owns. */
struct dtc_window_span *dtc_window_sample(const struct dtc_window_begin *begins, guint node_count);
/*
 * By node, what must be read; caller owns. clocks: those of the sample, NULL if that did not align all that are to be.
 * NULL: it cannot be told before everything is read, since clocks do not show the time of day, or the times are none.
 */
struct dtc_window_span *dtc_window_find(const DtcBundle *bundle, const struct dtc_window *window,
					const struct dtc_window_begin *begins, const DtcClocks *clocks);

/* What was read of these spans, by node. Borrowed. */
struct dtc_window_reading {
	const struct dtc_window_begin *begins;
	const char *const *names;	    /* NULL-terminated */
	const DtcHistory *const *histories; /* NULL: a node without */
	const bool *are_foreign;	    /* captures that align nothing */
	const DtcClocks *clocks;
};

/* Whether all clocks are aligned that can be expected to: of traces, and of captures of the nodes' own packets. */
bool dtc_window_are_aligned(const struct dtc_window_reading *reading);
/* Whether what was read has what was asked for, now that the clocks are known; and these are aligned. */
bool dtc_window_is_enough(const struct dtc_window *window, const struct dtc_window_span *spans,
			  const struct dtc_window_reading *reading);
