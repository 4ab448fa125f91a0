/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The path of a request through the threads of one node, of whose calls it is known for which request they were. */
#pragma once

#include "analyze/path/walk.h"
#include "analyze/request/serving.h"
#include "sync/fit/clocks.h"
#include "tests/support/path_at.h"
#include "tests/support/story.h"

#include <glib.h>

struct served_path {
	struct story *story; /* that is told */
	const DtcHistory *history;
	DtcClocks *clocks;
	DtcLinks *links;
	DtcEdges *edges;
	DtcServing *serving;
	guint owner; /* the request, plus 1, that is asked about; 0: not told */
};

static inline struct served_path served_path_begin(struct story *story)
{
	static const char *const names[] = { "server" };
	struct served_path w = { .story = story, .history = story->history };
	w.clocks = dtc_clocks_new_identity(1);
	w.links = dtc_links_new(1, names, &w.history, w.clocks);
	w.edges = dtc_edges_new(w.links);
	w.serving = dtc_serving_new(w.links);
	return w;
}

static inline uint32_t served_path_find_call(const struct served_path *w, int tid, int64_t ns)
{
	return dtc_history_find_call(w->history, dtc_history_find_thread(w->history, tid, ns), ns);
}

/* The call that a thread is in was for a request; with ends, its work for that is done then. */
static inline void served_path_add(const struct served_path *w, int tid, int64_t ns, guint request, bool ends)
{
	dtc_serving_add_call(w->serving, 0, served_path_find_call(w, tid, ns), request, ends);
}

/* Up to the call that a thread is in at the end. Nothing can be added then. */
static inline DtcPath *served_path_walk(const struct served_path *w, int tid, int64_t begin_ns, int64_t end_ns)
{
	dtc_serving_seal(w->serving, true);
	const struct dtc_path_target target = { .thread = dtc_history_find_thread(w->history, tid, end_ns),
						.begin = { begin_ns },
						.end = { end_ns },
						.call = served_path_find_call(w, tid, end_ns),
						.serving = w->serving,
						.owner = w->owner };
	GError *error = NULL;
	DtcPath *path = dtc_path_walk(w->edges, &target, NULL, &error);
	g_assert_no_error(error);
	return path;
}

/* The story, too. */
static inline void served_path_clear(struct served_path *w)
{
	dtc_serving_free(w->serving);
	dtc_edges_free(w->edges);
	dtc_links_free(w->links);
	dtc_clocks_free(w->clocks);
	story_clear(w->story);
}

/* The segment at a time, whose names are gone. All is cleared. */
static inline struct dtc_segment served_path_at(struct served_path *w, int tid, int64_t begin_ns, int64_t end_ns,
						int64_t ns)
{
	g_autoptr(DtcPath) path = served_path_walk(w, tid, begin_ns, end_ns);
	const struct dtc_segment found = *path_at(path, ns);
	served_path_clear(w);
	return found;
}
