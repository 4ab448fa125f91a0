/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of whom a report is asked: --thread, --process, --from and --to, the same for every command that takes them. */
#pragma once

#include "analyze/cli/cluster_span.h"
#include "analyze/cli/command_line.h"
#include "analyze/cli/load.h"
#include "analyze/cli/thread_spec.h"

#include <glib.h>
#include <stdbool.h>

struct dtc_subject {
	char *thread; /* as given, NULL if not; all strings are owned */
	char *process;
	char *from;
	char *to;
	struct dtc_thread_spec spec; /* of thread, after dtc_subject_locate */
};

void dtc_subject_clear(struct dtc_subject *subject);
/* --thread and --process. */
void dtc_subject_add_options(struct dtc_subject *subject, DtcCommandLine *line);
/* --from and --to. */
void dtc_subject_add_span_options(struct dtc_subject *subject, DtcCommandLine *line);
/* False with a usage error if two subjects were given, or a thread that is no thread's name. */
bool dtc_subject_locate(struct dtc_subject *subject, const DtcBundle *bundle, GError **error);

/* The threads and the part of the recordings that a subject means. */
struct dtc_selection {
	guint node_count;
	guint node;			/* of the thread */
	uint32_t thread;		/* DTC_NONE: it is not about a single thread */
	struct dtc_cluster_span *spans; /* by node: empty where nothing is meant. Owned */
	uint8_t **wanted;		/* by node, NULL: all of its threads; by thread, whether it is meant. Owned */
};

/*
 * A thread is meant over --from to --to on its node's clock, cut to its life; processes (all of that name) and nodes
 * over that span on cluster time. NOT_FOUND if there is nobody in it.
 */
bool dtc_subject_select(const struct dtc_subject *subject, const DtcLoad *load, DtcFindings *findings,
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
