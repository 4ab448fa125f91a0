/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "analyze/path/walk.h"
#include "sync/fit/clocks.h"

#include <glib.h>

/* What a path says of an instant, at which it must say something: of two that meet there the earlier segment. */
static inline const struct dtc_segment *path_at(const DtcPath *path, int64_t ns)
{
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(path, i);
		if (segment->begin.ns < ns && ns <= segment->end.ns)
			return segment;
	}
	g_assert_not_reached();
}

/* The path of a thread of the only node, whose clock is the cluster's. call: as of a target. */
static inline DtcPath *path_of(const DtcHistory *history, int tid, int64_t begin_ns, int64_t end_ns, uint32_t call)
{
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	g_autoptr(DtcEdges) edges = dtc_edges_new(links);
	const struct dtc_path_target target = { .thread = dtc_history_find_thread(history, tid, DTC_TIME_NONE),
						.begin = { begin_ns },
						.end = { end_ns },
						.call = call };
	GError *error = NULL;
	DtcPath *path = dtc_path_walk(edges, &target, NULL, &error);

	g_assert_no_error(error);
	g_assert_true(dtc_path_check(path, &error));
	return path;
}
