/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a usage is put together: its parts, one file each, fill the rows that usage.c made. */
#pragma once

#include "analyze/profile/usage.h"

/* The rows and axes, for the parts. */
struct dtc_usage_cluster_span {
	int64_t begin_ns, end_ns;
};

struct dtc_usage_build {
	const DtcLinks *links;
	const DtcClocks *clocks;
	DtcUsage *usage;
	guint **thread_process;	  /* by node: the process by thread; G_MAXUINT: an idle thread */
	GHashTable *edge_index;	  /* ends and channel as text -> edge + 1 */
	GHashTable *server_index; /* parent, process and host as text -> server + 1 */
	int64_t **edges_ns; /* by node: interval_count + 1 times of the node; what counts is between first and last */
	struct dtc_usage_span *spans; /* by node: what counts; without an end where the trace does not go on */
	struct dtc_usage_cluster_span *group_spans; /* by group of clocks: what counts on its nodes */
};

static inline bool dtc_usage_is_counted(const struct dtc_usage_build *build, guint node, int64_t node_ns)
{
	return node_ns >= build->spans[node].begin.ns && node_ns < build->spans[node].end.ns;
}

/* The interval that a time of the node falls in; times outside count to the first or last. */
guint dtc_usage_find_interval(const struct dtc_usage_build *build, guint node, int64_t node_ns);
static inline struct dtc_usage_process *dtc_usage_get_process(const struct dtc_usage_build *build, guint process)
{
	return &g_array_index(build->usage->processes, struct dtc_usage_process, process);
}

/* usage_files.c: bytes, calls and waits by file; network bytes over time */
void dtc_usage_add_files(struct dtc_usage_build *build);
/* usage_service.c: CPU time of servers charged to their clients, and edges along connections */
void dtc_usage_add_services(struct dtc_usage_build *build);
/* usage_pipe.c: edges along pipes and socket pairs */
void dtc_usage_add_pipes(struct dtc_usage_build *build);

/* The edge with these ends, made if it is not there. host only without from. */
struct dtc_usage_edge *dtc_usage_get_edge(struct dtc_usage_build *build, guint from, const char *host, guint to,
					  enum dtc_usage_channel channel);

/* usage_servers.c: the place of a process (or of a host, without one) beneath another, made if it is not there. */
guint dtc_usage_get_server(struct dtc_usage_build *build, guint parent, guint process, const char *host);
/* Nothing more goes beneath it. */
bool dtc_usage_server_is_deepest(const struct dtc_usage_build *build, guint server);
/* Adds up the tree, drops what was not asked for and brings it into its order; processes have their last indexes. */
void dtc_usage_sort_servers(struct dtc_usage_build *build);
