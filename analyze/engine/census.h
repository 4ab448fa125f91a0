/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a bundle holds: everything is read and counted, nothing is analysed. Recordings are read in parallel. */
#pragma once

#include "analyze/engine/reading.h"

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
	GArray *kinds; /* struct dtc_census_kind, those that occurred; in no particular order */
};

/*
 * The kernel trace and the captures of every node, as an array of struct dtc_census_source * in the order of the nodes,
 * and so are the findings, whoever ended first. NULL with an error if nothing could be read or the watcher (which may
 * be NULL) stops it. Free with g_ptr_array_unref; the bundle must outlive it.
 */
GPtrArray *dtc_census_new(const DtcBundle *bundle, const struct dtc_watch *watch, DtcFindings *findings,
			  GError **error);
/* The kernel trace or the captures of a node; NULL if it has none. */
const struct dtc_census_source *dtc_census_find(const GPtrArray *sources, guint node_index, bool is_capture);
