/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a bundle holds: everything is read and counted, nothing is analysed. Recordings are read in parallel. */
#pragma once

#include "analyze/engine/reading.h"
#include "collect/image/image.h"
#include "collect/image/store.h"
#include "collect/read/reader.h"

#include <stdint.h>

/* Events of one name. The name is the trace's, whatever bytes it is made of. */
struct dtc_census_kind {
	char *name; /* owned */
	guint64 count;
};

/* One kernel trace, or all captures of a node. */
struct dtc_census_source {
	struct dtc_reading reading;
	char *backend;
	char *release; /* of the kernel, and of what recorded it; "" if not told */
	char *tracer;
	guint64 events;
	guint64 lost_events;
	int64_t begin_ns; /* valid if events > 0 */
	int64_t end_ns;
	guint64 packets;
	GArray *kinds;			/* struct dtc_census_kind, those that occurred; in no particular order */
	struct dtc_trace_origin origin; /* after dtc_census_describe; all NULL: it does not tell */
	struct dtc_clock_class clock;	/* the same; all zero */
};

/* For who reads a kernel trace and counts on the way: after it is opened, of each event, after its last one. */
void dtc_census_begin(struct dtc_census_source *source, const DtcReader *reader);
static inline void dtc_census_count(struct dtc_census_source *source, const struct dtc_event *event)
{
	if (event->kind == DTC_EVENT_LOST)
		return;
	if (source->events++ == 0)
		source->begin_ns = event->time_ns;
	source->end_ns = event->time_ns;
}
void dtc_census_end(struct dtc_census_source *source, const DtcReader *reader);
/* What the metadata say of where a kernel trace was recorded and of its clock, whether or not it can be read. */
void dtc_census_describe(struct dtc_census_source *source);
/* Frees what is in it. */
void dtc_census_source_clear(struct dtc_census_source *source);

/* Counts, origin and clock as sections of an image; copied. */
void dtc_census_save(const struct dtc_census_source *source, DtcImageWriter *writer);
/* Those of an image. False with DAMAGED. */
bool dtc_census_load(struct dtc_census_source *source, const DtcImage *image, GError **error);

/*
 * The kernel trace and the captures of every node, as an array of struct dtc_census_source * in the order of the nodes,
 * and so are the findings, whoever ended first. What is in the store (or NULL) is not read again. NULL with an error if
 * nothing could be read or the watcher (which may be NULL) stops it. Free with g_ptr_array_unref; the bundle must
 * outlive it.
 */
GPtrArray *dtc_census_new(const DtcBundle *bundle, DtcStore *store, const struct dtc_watch *watch,
			  DtcFindings *findings, GError **error);
/* Counts one of them, which is zeroed but for its reading; reading.error is set. store: or NULL. */
void dtc_census_read(struct dtc_census_source *source, const DtcBundle *bundle, DtcStore *store);
/* The kernel trace or the captures of a node; NULL if it has none. */
const struct dtc_census_source *dtc_census_find(const GPtrArray *sources, guint node_index, bool is_capture);
