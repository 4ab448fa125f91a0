/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a bundle holds: everything is read and counted, nothing is analysed. Sources are read in parallel. */
#pragma once

#include "analyze/cli/reading.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/finding.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* One kernel trace, or all captures of a node: read by one thread. */
struct dtc_census_source {
	const struct dtc_bundle_node *node;
	guint node_index;
	bool is_capture;
	struct dtc_reading reading;
	/* results */
	DtcFindings *findings;
	GError *error;
	char *backend;
	char *release; /* of the kernel, and of what recorded it; "" if not told */
	char *tracer;
	guint64 events;
	guint64 lost_events;
	int64_t begin_ns; /* valid if events > 0 */
	int64_t end_ns;
	guint64 packets;
	GHashTable *kinds; /* owned printable name -> owned guint64 */
};

/*
 * The kernel trace and the captures of every node, as an array of struct dtc_census_source in the order of the nodes,
 * and so are the findings, whoever ended first. NULL with an error if nothing could be read. Free with g_array_unref;
 * the bundle must outlive it.
 */
GArray *dtc_census_new(const DtcBundle *bundle, bool is_quiet, DtcFindings *findings, GError **error);
/* The kernel trace or the captures of a node; NULL if it has none. */
const struct dtc_census_source *dtc_census_find(const GArray *sources, guint node_index, bool is_capture);
