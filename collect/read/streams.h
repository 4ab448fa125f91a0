/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a back end of the reader keeps per stream, whatever it decodes with: where the stream is in time, gaps that the
 * tracer tells of, and what was odd. The back end sets it while it advances; reader.c merges by it and reports it.
 */
#pragma once

#include "collect/read/event.h"

#include <glib.h>

/* A gap that the tracer tells of. */
struct dtc_gap {
	int64_t begin_ns;
	int64_t end_ns;
	int64_t count; /* events, DTC_ABSENT if not known */
};

struct dtc_stream {
	char *name;	 /* owned: base name of its file */
	char *error;	 /* owned: why it ended early, or NULL */
	uint32_t cpu;	 /* below DTC_CPU_LIMIT */
	int64_t last_ns; /* time of the current item; never decreases */
	bool has_item;	 /* there is a current item: an event or a gap */
	bool is_gap;	 /* the current item is gap, not an event */
	struct dtc_gap gap;
	/*
	 * Tracers count lost events per packet, so the count is known when a packet begins but says "up to its end":
	 * the gap waits here and comes after the packet's events.
	 */
	bool has_pending_gap;
	struct dtc_gap pending_gap;
	bool is_cut; /* the gap is the rest of a damaged stream, from its last event on */
	guint64 event_count;
	guint64 reversal_count;
	int64_t reversal_max_ns;
};

void dtc_stream_clear(struct dtc_stream *stream);
/*
 * The stream's next item is an event at that time. A clock that runs backward inside a stream is counted and held, so
 * that what the reader gives out never goes back.
 */
void dtc_stream_take_event(struct dtc_stream *stream, int64_t time_ns);
/* The stream's next item is a gap. */
void dtc_stream_take_gap(struct dtc_stream *stream, struct dtc_gap gap);
/* Makes the pending gap the current item; false if there is none. */
bool dtc_stream_flush_gap(struct dtc_stream *stream);
/*
 * The back end has no more: the pending gap, or, once, the rest of a stream with an error becomes the current item, so
 * that nobody takes its last state for one that lasts. False if there is neither.
 */
bool dtc_stream_end(struct dtc_stream *stream);
/* Keeps the first error; takes ownership of the text. */
void dtc_stream_take_error(struct dtc_stream *stream, char *error);
