/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of whom something is asked, and when: a thread, processes, or all, in a span. The same for all that can be asked. */
#pragma once

#include "analyze/engine/cluster_span.h"
#include "analyze/engine/engine.h"
#include "analyze/engine/thread_spec.h"

#include <glib.h>
#include <stdbool.h>

/* All NULL: everybody, all the time. Everything is borrowed. */
struct dtc_subject {
	const struct dtc_thread_spec *thread; /* or process, not both */
	const char *process;		      /* a name, NODE:NAME or NODE:PID */
	const char *from;		      /* as dtc_moment_parse takes them */
	const char *to;
	bool with_parents; /* before the birth of the thread its parents are meant (analyze/path/lineage.h) */
};

/* The threads and the part of the recordings that a subject means. */
struct dtc_selection {
	guint node_count;
	guint node;			/* of the thread */
	uint32_t thread;		/* DTC_NONE: it is not about a single thread */
	GArray *lineage;		/* struct dtc_lineage_part: of the thread, in its span; or NULL. Owned */
	struct dtc_cluster_span *spans; /* by node: empty where nothing is meant. Owned */
	uint8_t **wanted;		/* by node, NULL: all of its threads; by thread, whether it is meant. Owned */
};

/*
 * A thread is meant over --from to --to on its node's clock, cut as of dtc_thread_spec_find; processes (all of that
 * name) and nodes over that span on cluster time. NOT_FOUND if there is nobody in it.
 */
bool dtc_selection_find(const struct dtc_subject *subject, const DtcEngine *engine, DtcFindings *findings,
			struct dtc_selection *ret_selection, GError **error);
void dtc_selection_clear(struct dtc_selection *selection);
static inline bool dtc_selection_has_node(const struct dtc_selection *selection, guint node)
{
	return selection->spans[node].begin.ns < selection->spans[node].end.ns;
}
static inline bool dtc_selection_has_thread(const struct dtc_selection *selection, guint node, uint32_t thread)
{
	return !selection->wanted[node] || selection->wanted[node][thread];
}
