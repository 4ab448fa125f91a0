/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every process or thread did with its time, per node. */
#pragma once

#include "analyze/engine/selection.h"
#include "analyze/profile/profile.h"

struct dtc_top_node {
	const char *name;
	const DtcHistory *history; /* NULL: no kernel trace; then no rows */
	guint index;		   /* of the engine's nodes */
	DtcNodeTime begin;
	DtcNodeTime end;       /* names are those at the end of the span */
	DtcClusterTime origin; /* that relative times count from */
	DtcClusterTime cluster_begin;
	DtcClusterTime cluster_end;
	GArray *rows;		      /* owned: struct dtc_profile_row, sorted */
	struct dtc_profile_cpu *cpus; /* owned: one per CPU of the history */
	struct dtc_profile_cpu total; /* their sum */
};

struct dtc_top_options {
	enum dtc_profile_column sort;
	bool has_threads; /* a row per thread, not per process */
};

/*
 * Array of struct dtc_top_node, for every node or for those on which somebody is meant. NULL with an error as of
 * dtc_selection_find. It borrows from engine. Free with g_array_unref.
 */
GArray *dtc_top_new(const DtcEngine *engine, const struct dtc_subject *subject, const struct dtc_top_options *options,
		    DtcFindings *findings, GError **error);
